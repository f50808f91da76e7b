//! Prints a report as one HTML file without network access or scripts. Charts are SVG in the page, in two widths.

use super::{FullReport, PageLink};
use crate::document::{ReportPart, ReportTable, fact_table};
use crate::table::Align;
use askama::Template;
use plumb_chart::{NARROW, WIDE};

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    title: &'a str,
    rules: String,
    links: &'a [PageLink],
    parts: Vec<HtmlPart>,
    document: Option<&'a str>,
}

/// The content of a page: its title, its parts and its document.
#[derive(Template)]
#[template(path = "parts.html")]
struct Content<'a> {
    title: &'a str,
    parts: Vec<HtmlPart>,
    document: Option<&'a str>,
}

enum HtmlPart {
    Heading(String),
    Text { class: &'static str, text: String },
    List(Vec<HtmlItem>),
    Table { name: String, head: Vec<HtmlCell>, rows: Vec<Vec<HtmlCell>> },
    Figure { title: String, caption: String, wide: String, narrow: String },
}

struct HtmlItem {
    class: &'static str,
    head: String,
    text: String,
}

struct HtmlCell {
    is_number: bool,
    text: String,
}

/// Returns the page.
pub(super) fn page(report: &FullReport) -> String {
    let page = Page {
        title: &report.title,
        rules: if report.links.is_empty() { style_sheet() } else { site_style_sheet() },
        links: &report.links,
        parts: parts(report),
        document: report.document.as_deref(),
    };
    // Rendering into memory cannot fail.
    page.render().unwrap_or_default()
}

/// Returns the page's content without the document around it.
pub(super) fn content(report: &FullReport) -> String {
    let content = Content { title: &report.title, parts: parts(report), document: report.document.as_deref() };
    content.render().unwrap_or_default()
}

/// Returns the style sheet of pages and contents.
pub fn style_sheet() -> String {
    format!("{}\n{}", plumb_chart::style_sheet(), include_str!("../../templates/page.css"))
}

fn parts(report: &FullReport) -> Vec<HtmlPart> {
    let mut parts: Vec<HtmlPart> = report.parts.iter().filter(|part| !is_empty(part)).map(part).collect();
    name_tables(&mut parts);
    parts
}

/// Gives each table a name for screen readers: the heading above it, numbered if the heading has several tables.
fn name_tables(parts: &mut [HtmlPart]) {
    let (mut heading, mut number) = (String::new(), 0);
    for part in parts {
        match part {
            HtmlPart::Heading(text) => (heading, number) = (text.clone(), 0),
            HtmlPart::Table { name, .. } => {
                number += 1;
                *name = if number == 1 { format!("Table: {heading}") } else { format!("Table {number}: {heading}") };
            }
            _ => {}
        }
    }
}

fn is_empty(part: &ReportPart) -> bool {
    matches!(part, ReportPart::Text(_, text) if text.is_empty())
}

/// Returns the style sheet of pages that are part of a site.
pub(crate) fn site_style_sheet() -> String {
    format!("{}{}", style_sheet(), include_str!("../../templates/site.css"))
}

fn part(part: &ReportPart) -> HtmlPart {
    match part {
        ReportPart::Heading(text) => HtmlPart::Heading(text.clone()),
        ReportPart::Text(ink, text) => HtmlPart::Text { class: ink.class(), text: text.clone() },
        ReportPart::List(items) => {
            let item = |item: &crate::document::Item| HtmlItem {
                class: item.ink.class(),
                head: item.head.trim().to_owned(),
                text: item.text.clone(),
            };
            HtmlPart::List(items.iter().map(item).collect())
        }
        ReportPart::Table(it) => table(it),
        ReportPart::Facts(facts) => table(&fact_table(facts)),
        ReportPart::Chart(chart) => HtmlPart::Figure {
            title: chart.title.clone(),
            caption: chart.caption.clone(),
            wide: chart.inline(WIDE),
            narrow: chart.inline(NARROW),
        },
    }
}

fn table(table: &ReportTable) -> HtmlPart {
    let is_number = |column: usize| table.columns.get(column).is_some_and(|head| head.align == Align::Right);
    let cell = |(column, text): (usize, &String)| HtmlCell { is_number: is_number(column), text: text.clone() };
    HtmlPart::Table {
        name: String::new(),
        head: table.columns.iter().map(|head| &head.title).enumerate().map(cell).collect(),
        rows: table.rows.iter().map(|row| row.iter().enumerate().map(cell).collect()).collect(),
    }
}
