//! The frame that all pages have around their content.

use crate::assets::{ICON_ADDRESS, STYLE_SHEET_ADDRESS};
use askama::Template;
use axum::response::Html;

/// Parts of the site that the menu names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Runs,
    Compare,
    History,
    Machines,
    Studies,
    Gates,
    Conformance,
    /// A page that the menu does not name.
    None,
}

/// The menu, in order: section, address and name.
const MENU: &[(Section, &str, &str)] = &[
    (Section::Runs, "/runs", "Runs"),
    (Section::Compare, "/compare", "Compare"),
    (Section::History, "/history", "History"),
    (Section::Machines, "/machines", "Machines"),
    (Section::Studies, "/studies", "Studies"),
    (Section::Gates, "/gates", "Gates"),
    (Section::Conformance, "/conformance", "Conformance"),
];

/// The frame of a page: its title, the menu and the search box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub title: String,
    pub style_sheet: &'static str,
    pub icon: &'static str,
    pub version: &'static str,
    pub menu: Vec<MenuEntry>,
    /// Text of the search box.
    pub search: String,
}

/// An entry of the menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MenuEntry {
    pub address: &'static str,
    pub name: &'static str,
    pub is_here: bool,
}

impl Frame {
    pub(crate) fn new(title: &str, here: Section) -> Frame {
        let entry = |&(section, address, name): &(Section, &'static str, &'static str)| MenuEntry {
            address,
            name,
            is_here: section == here,
        };
        Frame {
            title: title.to_owned(),
            style_sheet: &STYLE_SHEET_ADDRESS,
            icon: &ICON_ADDRESS,
            version: env!("CARGO_PKG_VERSION"),
            menu: MENU.iter().map(entry).collect(),
            search: String::new(),
        }
    }
}

/// Renders a page. Rendering into memory cannot fail.
pub(crate) fn html(page: &impl Template) -> Html<String> {
    Html(page.render().unwrap_or_default())
}
