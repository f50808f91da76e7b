//! `/metrics`: what the server did and what the database holds, in OpenMetrics text.

use crate::app::App;
use crate::fault::Fault;
use crate::readers::Effort;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use plumb_result::RunVerdict;
use plumb_store::{Filter, ServedStore};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use strum::VariantArray;

/// Classes of answers, by the first digit of their status.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Counts since the server started.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    answers: [AtomicU64; CLASSES.len()],
    /// Runs that were uploaded, also those that were stored already.
    pub uploaded: AtomicU64,
}

impl Counters {
    pub(crate) fn count(&self, status: StatusCode) {
        if let Some(answers) = self.answers.get(usize::from(status.as_u16() / 100).wrapping_sub(1)) {
            answers.fetch_add(1, Ordering::Relaxed);
        }
    }
}

pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Result<Response, Fault> {
    let runs = |store: &dyn ServedStore| -> Result<Vec<(&'static str, u64)>, Fault> {
        let count = |verdict: &RunVerdict| {
            let filter = Filter { verdict: Some(*verdict), limit: Some(0), ..Filter::default() };
            Ok((verdict.name(), store.search(&filter)?.total))
        };
        RunVerdict::VARIANTS.iter().map(count).collect()
    };
    let runs = app.readers.read(Effort::Brief, runs).await?;
    let kind = [(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")];
    Ok((kind, text(&app.counters, &runs)).into_response())
}

/// Writes the metrics. Source: OpenMetrics 1.0, "Text format".
fn text(counters: &Counters, runs: &[(&str, u64)]) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        // Writing into memory cannot fail.
        let _ = writeln!(text, "{line}");
    };
    line("# TYPE plumb_serve_answers counter".to_owned());
    line("# HELP plumb_serve_answers Answers since the start, by class of status.".to_owned());
    for (class, answers) in CLASSES.iter().zip(&counters.answers) {
        line(format!("plumb_serve_answers_total{{class=\"{class}\"}} {}", answers.load(Ordering::Relaxed)));
    }
    line("# TYPE plumb_serve_uploaded_runs counter".to_owned());
    line(
        "# HELP plumb_serve_uploaded_runs Runs in uploads since the start, also those that were stored already."
            .to_owned(),
    );
    line(format!("plumb_serve_uploaded_runs_total {}", counters.uploaded.load(Ordering::Relaxed)));
    line("# TYPE plumb_store_runs gauge".to_owned());
    line("# HELP plumb_store_runs Stored runs with a result, by whether their numbers can be trusted.".to_owned());
    for (verdict, count) in runs {
        line(format!("plumb_store_runs{{verdict=\"{verdict}\"}} {count}"));
    }
    line("# EOF".to_owned());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects scrapers: a format error makes them drop all of it.
    #[test]
    fn the_text_has_the_form_of_openmetrics() {
        let counters = Counters::default();
        counters.count(StatusCode::OK);
        counters.count(StatusCode::NOT_FOUND);
        let text = text(&counters, &[("pass", 7)]);
        assert!(text.contains("plumb_serve_answers_total{class=\"2xx\"} 1\n"), "{text}");
        assert!(text.contains("plumb_store_runs{verdict=\"pass\"} 7\n"));
        assert!(text.ends_with("# EOF\n"));
        let is_sample = |line: &&str| !line.starts_with('#');
        assert!(text.lines().filter(is_sample).all(|line| line.split(' ').count() == 2));
    }
}
