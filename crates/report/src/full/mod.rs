//! Full reports: the answer first, then the numbers, their trustworthiness, charts, and the method. Each has one
//! description that is printed as HTML, Markdown and a workbook; its charts are also available as separate files.

mod charts;
mod compare;
mod ecdf;
mod gate;
mod html;
mod interactions;
mod method;
mod net;
mod numbers;
mod over_time;
mod repeat;
mod run;
mod runs;
mod study;
mod surface;
mod sweep;
mod trace;
mod workbook;

pub use compare::comparison_report;
pub use gate::gate_report;
pub(crate) use html::site_style_sheet;
pub use html::style_sheet;
pub use net::networks_report;
pub use over_time::PhaseOverTime;
pub use repeat::{ladder_report, rounds_report};
pub(crate) use run::headline;
pub use run::{Headline, headlines, run_report};
pub use runs::runs_report;
pub use study::study_report;
pub use sweep::sweep_report;
pub use trace::recordings_report;

use crate::document::{ReportPart, markdown};
use crate::workbook::WorkbookError;
use plumb_chart::Chart;
use plumb_result::tidy::TidyTable;
use plumb_text::markdown::escaped;

#[derive(Debug, Clone, PartialEq)]
pub struct FullReport {
    /// Title, which names the subject.
    pub title: String,
    parts: Vec<ReportPart>,
    numbers: TidyTable,
    /// JSON form of the subject.
    document: Option<String>,
    /// Links above the title of the HTML page.
    links: Vec<PageLink>,
}

/// A link of an HTML page that is part of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLink {
    pub text: String,
    /// Address relative to the page.
    pub address: String,
    /// Whether a browser saves the file instead of showing it.
    pub is_download: bool,
}

impl FullReport {
    fn new(title: String, parts: Vec<ReportPart>, numbers: TidyTable) -> FullReport {
        FullReport { title, parts, numbers, document: None, links: Vec::new() }
    }

    /// Adds the JSON form of the subject, which the HTML page shows at its end on request.
    pub fn with_document(self, json: String) -> FullReport {
        FullReport { document: Some(json), ..self }
    }

    /// Adds links above the title of the HTML page, for a page of a site.
    pub fn with_links(self, links: Vec<PageLink>) -> FullReport {
        FullReport { links, ..self }
    }

    /// Applies `change` to every text of the report: title, paragraphs, tables, charts and numbers.
    pub fn map_texts(&mut self, change: &mut dyn FnMut(&str) -> String) {
        self.title = change(&self.title);
        self.parts.iter_mut().for_each(|part| part.map_texts(change));
        self.numbers.map_texts(change);
        self.document = self.document.take().map(|json| change(&json));
    }

    /// Returns the report as one HTML file that needs neither network nor scripts.
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// Returns the content of the HTML file, for a page that has the rules of [`style_sheet`] and a frame of its own.
    pub fn html_content(&self) -> String {
        html::content(self)
    }

    /// Returns the report as Markdown. A chart becomes a link to `IMAGES/NAME.svg` if `images` is given,
    /// and its text alternative otherwise.
    pub fn markdown(&self, images: Option<&str>) -> String {
        let parts: Vec<ReportPart> = self
            .parts
            .iter()
            .map(|part| match (part, images) {
                (ReportPart::Chart(chart), None) => ReportPart::Text(crate::style::Ink::Faint, chart.alt.clone()),
                (part, _) => part.clone(),
            })
            .collect();
        format!("# {}\n\n{}", escaped(&self.title), markdown(&parts, images.unwrap_or_default()))
    }

    /// Returns a workbook for Excel and LibreOffice: the answer, a sheet with its own charts for
    /// each question, and every number.
    ///
    /// # Errors
    /// Returns an error if a sheet cannot be written, such as beyond a million rows.
    pub fn workbook(&self) -> Result<Vec<u8>, WorkbookError> {
        workbook::workbook(self)
    }

    /// Returns the charts, each with a unique name.
    pub fn charts(&self) -> Vec<Chart> {
        let mut charts: Vec<Chart> = Vec::new();
        for part in &self.parts {
            let ReportPart::Chart(chart) = part else { continue };
            let mut chart = (**chart).clone();
            let base = chart.name.clone();
            let mut number = 2;
            while charts.iter().any(|known| known.name == chart.name) {
                chart.name = format!("{base}-{number}");
                number += 1;
            }
            charts.push(chart);
        }
        charts
    }
}
