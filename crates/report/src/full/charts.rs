//! Converts results to charts that several reports draw.

use crate::format;
use plumb_chart::{Axis, Body, Chart, Forest, ForestRow, Format, Mark, Scale};
use plumb_result::{Contrast, ContrastVerdict, Metric, Unit};

/// Returns the format in which an axis prints a metric.
pub(super) fn format_of(metric: Metric) -> Format {
    match metric.unit() {
        Unit::BytesPerSecond => Format::Rate,
        Unit::OpsPerSecond if metric.to_string().ends_with(".iops") => Format::Iops,
        Unit::OpsPerSecond => Format::Ops,
        Unit::Nanoseconds => Format::Time,
        Unit::Bytes | Unit::BytesPerOp => Format::Bytes,
        Unit::Cpus | Unit::Ops => Format::Count,
        Unit::BytesPerByte => Format::Ratio,
    }
}

/// Returns the axis of a metric, titled with its unit and the better direction.
pub(super) fn axis_of(metric: Metric, scale: Scale) -> Axis {
    let title = match format_of(metric) {
        Format::Rate => "Bytes per second: more is better",
        Format::Bits => "Bits per second: more is better",
        Format::Iops | Format::Ops => "Operations per second: more is better",
        Format::Time => "Time: less is better",
        Format::Bytes => "Bytes: less is better",
        Format::Ratio => "Bytes moved for each byte of work: less is better",
        Format::Count | Format::Share => "Count: less is better",
    };
    Axis { title: title.to_owned(), format: format_of(metric), scale }
}

/// Returns text as a part of a file name: letters, digits and hyphens.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => slug.push(c.to_ascii_lowercase()),
            _ if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// Returns a contrast as a row of a forest plot, better to the right. Device counts are worded as in tables:
/// how many times as many.
pub(super) fn forest_row(label: String, contrast: &Contrast, is_judged: bool) -> ForestRow {
    let mark = match contrast.verdict {
        _ if !is_judged => Mark::Unjudged,
        ContrastVerdict::Faster => Mark::Better,
        ContrastVerdict::Slower => Mark::Worse,
        ContrastVerdict::Equivalent => Mark::Equal,
        ContrastVerdict::CannotTell | ContrastVerdict::Fragile => Mark::Open,
    };
    let word = if is_judged { contrast.word() } else { "secondary" };
    let interval = contrast.lo.zip(contrast.hi);
    let is_count = contrast.metric.device_count().is_some();
    let shown = |ratio: f64| if is_count { 1.0 / ratio } else { ratio };
    let many = if is_count { " as many" } else { "" };
    let words = match (contrast.ratio.map(shown), interval.map(|(lo, hi)| (shown(lo), shown(hi)))) {
        (Some(ratio), Some((lo, hi))) => {
            let between = format::interval(lo.min(hi), lo.max(hi));
            // The interval of an equivalence has a lower coverage.
            let coverage = match (contrast.confidence * 100.0).round() {
                95.0 => String::new(),
                other => format!("{other:.0} %: "),
            };
            format!("{}×{many} ({coverage}{between}) {word}", format::ratio(ratio))
        }
        (Some(ratio), None) => format!("{}×{many} {word}", format::ratio(ratio)),
        (None, _) => word.to_owned(),
    };
    ForestRow { label, value: contrast.ratio, interval, mark, words }
}

/// Largest number of rows in a forest plot. More would bury the text after it; the tables contain all.
const FOREST_ROWS_MAX: usize = 40;

/// Returns the clearest rows in their original order: better or worse ones first, then equal ones, then
/// those with the narrowest intervals.
fn clearest(rows: Vec<ForestRow>) -> Vec<ForestRow> {
    let width = |row: &ForestRow| row.interval.map_or(f64::INFINITY, |(lo, hi)| (hi / lo).ln().abs());
    let rank = |row: &ForestRow| match row.mark {
        Mark::Better | Mark::Worse => 0,
        Mark::Equal => 1,
        Mark::Open | Mark::Unjudged => 2,
    };
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|&one, &other| {
        let (one, other) = (&rows[one], &rows[other]);
        rank(one).cmp(&rank(other)).then(width(one).total_cmp(&width(other)))
    });
    order.truncate(FOREST_ROWS_MAX);
    order.sort_unstable();
    let mut rows: Vec<Option<ForestRow>> = rows.into_iter().map(Some).collect();
    order.into_iter().filter_map(|index| rows[index].take()).collect()
}

/// Draws ratios with their intervals and the band of equivalence.
pub(super) fn forest(title: &str, better: &str, band: Option<f64>, rows: Vec<ForestRow>) -> Chart {
    let all = rows.len();
    let rows = clearest(rows);
    let left_out = match all - rows.len() {
        0 => String::new(),
        _ => format!(" These are the {} clearest of {all}; the tables have all.", rows.len()),
    };
    let wording: Vec<String> = rows.iter().take(12).map(|row| format!("{}: {}", row.label, row.words)).collect();
    let band_says = band.map_or(String::new(), |margin| {
        format!(" The band is ± {}: equal for practical purposes.", format::percent(margin))
    });
    Chart {
        name: "verdicts".to_owned(),
        title: title.to_owned(),
        caption: format!(
            "Each line is the interval of a ratio: 95 %, unless it says otherwise. Disc: better, diamond: worse, square: equivalent, triangle: cannot tell, \
             cross: no verdict asked.{band_says}{left_out}"
        ),
        alt: format!("{title}. {}.", wording.join("; ")),
        body: Body::Forest(Forest {
            axis_title: better.to_owned(),
            band: band.map(|margin| (1.0 / (1.0 + margin), 1.0 + margin)),
            rows,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: all charts have the same direction. Twice as many writes are worse, so they are drawn left of 1 and
    // worded as twice as many, like in tables. The 94 % interval of an equivalence is not labelled 95 %.
    #[test]
    fn counts_and_coverage_are_worded_as_in_tables() {
        let contrast = |metric: &str, confidence: f64| -> Contrast {
            let json = serde_json::json!({
                "metric": metric, "phase": "p", "baseline": "a", "candidate": "b", "baseline_value": 1.0, "candidate_value": 2.0,
                "baseline_cv": null, "candidate_cv": null, "ratio": 0.5, "lo": 0.4, "hi": 0.625, "confidence": confidence,
                "p_sign_flip": null, "verdict": "slower", "blocks": 8, "blocks_needed": null
            });
            plumb_document::json::from_str(&json.to_string()).unwrap()
        };
        let count = forest_row("x".to_owned(), &contrast("device.writes", 0.95), true);
        assert_eq!((count.value, count.mark), (Some(0.5), Mark::Worse));
        assert!(count.words.starts_with("2.00× as many (1.60 – 2.50)"), "{}", count.words);
        let rate = forest_row("x".to_owned(), &contrast("write.bw", 0.94), true);
        assert!(rate.words.starts_with("0.50× (94 %: 0.40 – 0.62)"), "{}", rate.words);
    }

    // Protects: the chart of a study with many cells keeps the verdicts in their order and states how many it leaves out.
    #[test]
    fn the_clearest_of_many_ratios_are_drawn() {
        let row = |number: usize| ForestRow {
            label: format!("row {number}"),
            value: Some(1.0),
            interval: Some((1.0, 1.0 + number as f64)),
            mark: if number == 99 { Mark::Worse } else { Mark::Open },
            words: String::new(),
        };
        let chart = forest("b against a", "better", None, (0..100).map(row).collect());
        let Body::Forest(drawn) = &chart.body else { panic!("a forest") };
        let labels: Vec<&str> = drawn.rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels.len(), FOREST_ROWS_MAX);
        assert_eq!((labels[0], labels[38], labels[39]), ("row 0", "row 38", "row 99"));
        assert!(chart.caption.ends_with("These are the 40 clearest of 100; the tables have all."), "{}", chart.caption);
        let few = forest("b against a", "better", None, (0..40).map(row).collect());
        assert!(!few.caption.contains("clearest"), "{}", few.caption);
    }

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(slug("random-read, 4 KiB / ext4"), "random-read-4-kib-ext4");
        assert_eq!(slug("../../x"), "x");
        assert_eq!(slug("é"), "");
    }
}
