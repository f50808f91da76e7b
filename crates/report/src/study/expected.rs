//! Counts that the study file expects, and the measured counts.

use crate::document::{ColumnHead, ReportPart, ReportTable};
use crate::style::Ink;
use crate::table::Align;
use plumb_result::study::StudyReport;

pub(super) fn expected(report: &StudyReport) -> Vec<ReportPart> {
    if report.expected.is_empty() {
        return Vec::new();
    }
    let columns = vec![
        ColumnHead::new("work", Align::Left, None),
        ColumnHead::new("levels", Align::Left, Some(2)),
        ColumnHead::new("count", Align::Left, None),
        ColumnHead::new("expected", Align::Right, None),
        ColumnHead::new("found", Align::Right, None),
        ColumnHead::new("", Align::Left, None),
        ColumnHead::new("because", Align::Left, Some(1)),
    ];
    let rows = report
        .expected
        .iter()
        .map(|one| {
            let levels: Vec<String> = one.levels.iter().map(|(name, level)| format!("{name} {level}")).collect();
            let word = match one.met {
                Some(true) => "met",
                Some(false) => "missed",
                None => "not counted",
            };
            vec![
                one.workload.clone(),
                levels.join(", "),
                one.metric.to_string(),
                one.wanted(),
                one.found(),
                word.to_owned(),
                one.because.clone(),
            ]
        })
        .collect();
    let mut table = ReportTable { columns, rows };
    super::without_empty(&mut table);
    let legend =
        "Each run has to meet the expectation of the study file; the smallest and largest counts found are shown.";
    vec![
        ReportPart::Heading("Expected counts".to_owned()),
        ReportPart::Table(table),
        ReportPart::Text(Ink::Faint, legend.to_owned()),
    ]
}
