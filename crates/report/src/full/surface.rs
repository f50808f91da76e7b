//! IOzone's surface: a rate for each file size and record size, as a heat map and as curves by record size.

use super::charts::slug;
use crate::format;
use plumb_chart::{Axis, Body, Chart, Format, Heat, Lines, Panel, Point, Scale, Series, SeriesShape};
use plumb_result::metric::Quantity;
use plumb_result::{PhaseResult, RunResult};
use plumb_workload::Bytes;

/// Largest number of file sizes drawn as curves; more cannot be distinguished.
const CURVES_MAX: usize = 7;

/// Rate of one test for a file size and a record size.
struct Cell<'a> {
    test: &'a str,
    file_bytes: u64,
    record_bytes: u64,
    rate: f64,
}

/// Draws the charts of each test that ran over several file and record sizes.
pub(super) fn surfaces(result: &RunResult) -> Vec<Chart> {
    let cells: Vec<Cell<'_>> = result.phases.iter().filter_map(cell).collect();
    let mut tests: Vec<&str> = Vec::new();
    for cell in &cells {
        if !tests.contains(&cell.test) {
            tests.push(cell.test);
        }
    }
    tests.into_iter().flat_map(|test| charts(result, test, &cells)).collect()
}

/// Parses `write-1024k-4k` of `plumb as iozone`, and `write 1MiB by 4KiB` of an imported result.
fn cell(phase: &PhaseResult) -> Option<Cell<'_>> {
    let (rest, record) = phase.name.rsplit_once(" by ").or_else(|| phase.name.rsplit_once('-'))?;
    let (test, file) = rest.rsplit_once([' ', '-'])?;
    let Bytes(file_bytes) = file.parse().ok()?;
    let Bytes(record_bytes) = record.parse().ok()?;
    let rate = phase.metrics.iter().find(|(metric, _)| metric.quantity == Quantity::Bandwidth)?.1.value?;
    Some(Cell { test, file_bytes, record_bytes, rate })
}

fn charts(result: &RunResult, test: &str, cells: &[Cell<'_>]) -> Vec<Chart> {
    let cells: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.test == test).collect();
    let sizes = |of: fn(&Cell<'_>) -> u64| {
        let mut sizes: Vec<u64> = cells.iter().map(|cell| of(cell)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    let (files, records) = (sizes(|cell| cell.file_bytes), sizes(|cell| cell.record_bytes));
    if files.len() < 2 || records.len() < 2 {
        return Vec::new();
    }
    let rate = |file: u64, record: u64| {
        cells.iter().find(|cell| (cell.file_bytes, cell.record_bytes) == (file, record)).map(|cell| cell.rate)
    };
    let name = |bytes: &u64| format::bytes_brief(*bytes as f64);
    let ram_bytes = result.environment.ram_bytes;
    // Memory cannot hold a file of its own size completely.
    let behind = files.iter().position(|file| *file >= ram_bytes).filter(|behind| ram_bytes > 0 && *behind > 0);
    let all = || cells.iter().map(|cell| cell.rate);
    let (least, most) = (all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max));
    let alt = format!(
        "{test}: {} sizes of file from {} to {}, {} sizes of record from {} to {}; from {} to {}.",
        files.len(),
        name(&files[0]),
        name(&files[files.len() - 1]),
        records.len(),
        name(&records[0]),
        name(&records[records.len() - 1]),
        Format::Rate.text(least),
        Format::Rate.text(most)
    );
    let heat = Chart {
        name: format!("surface-{}", slug(test)),
        title: format!("{test} by size of file and of record"),
        caption: match behind {
            Some(_) => "Dark is fast. Files below the line are as large as memory or larger.",
            // The machine of an imported file is unknown.
            None if ram_bytes == 0 => "Dark is fast. The machine's memory size is unknown.",
            None => "Dark is fast. All files are smaller than memory.",
        }
        .to_owned(),
        alt: alt.clone(),
        body: Body::Heat(Heat {
            x: records.iter().map(name).collect(),
            x_title: "Size of record".to_owned(),
            y: files.iter().map(name).collect(),
            y_title: "Size of file".to_owned(),
            cells: files.iter().map(|file| records.iter().map(|record| rate(*file, *record)).collect()).collect(),
            values: Format::Rate,
            values_title: "Rate".to_owned(),
            print_values: true,
            edges: behind.map(|behind| (behind, "memory ends".to_owned())).into_iter().collect(),
        }),
    };
    // If there are many files, draw the largest ones: small files reveal least about storage.
    let shown = &files[files.len().saturating_sub(CURVES_MAX)..];
    let curve = |file: &u64| Series {
        name: format!("{} file", name(file)),
        shape: SeriesShape::Line,
        points: records
            .iter()
            .map(|record| Point { x: *record as f64, y: rate(*file, *record), interval: None })
            .collect(),
    };
    let curves = Chart {
        name: format!("records-{}", slug(test)),
        title: format!("{test} by size of record"),
        caption: "One curve per file size; if there are many, the largest files.".to_owned(),
        alt,
        body: Body::Lines(Lines {
            x: Axis { title: "Size of record".to_owned(), format: Format::Bytes, scale: Scale::Log },
            x_names: Vec::new(),
            panels: vec![Panel {
                y: Axis { title: "Rate: more is better".to_owned(), format: Format::Rate, scale: Scale::FromZero },
                height: 180.0,
                series: shown.iter().map(curve).collect(),
            }],
            marks: Vec::new(),
        }),
    };
    vec![heat, curves]
}
