//! The workbook: a sheet a test with its numbers, a heat map and a chart, as spreadsheets have them.

use plumb_chart::series_colour;
use plumb_dialects::iozone::print::MeasuredPass;
use plumb_dialects::iozone::print::heat::Edges;
use plumb_dialects::iozone::print::report::Surface;
use plumb_dialects::iozone::print::throughput::ThroughputReport;
use plumb_dialects::iozone::{Rate, Settings};
use plumb_stats::estimate;
use plumb_workbook::{
    Area, Axis, Book, Border, Chart, ChartKind, Legend, Marker, NumberFormat, Series, Sheet, Style, WorkbookError,
};

/// How sure the intervals of repeated rounds are.
const CONFIDENCE: f64 = 0.95;

/// What goes into a workbook.
pub struct Sheets {
    /// Of streams of their own.
    pub surfaces: Vec<Surface>,
    /// Of throughput tests.
    pub report: Option<ThroughputReport>,
}

/// A workbook as bytes.
///
/// # Errors
/// More cells than a sheet holds.
pub fn write(
    settings: &Settings,
    command: &str,
    sheets: &Sheets,
    measured: &[MeasuredPass],
    edges: Edges,
) -> Result<Vec<u8>, WorkbookError> {
    let mut book = Book::new();
    let unit = match settings.rate {
        Rate::Kb => "kB/s (1 kB = 1024 bytes)",
        Rate::Ops => "operations/s",
        Rate::Usec => "microseconds/operation",
    };
    for surface in &sheets.surfaces {
        let name = match surface.is_cpu {
            false => surface.pass.title().to_owned(),
            true => format!("{} CPU", surface.pass.title()),
        };
        let unit = if surface.is_cpu { "% of the elapsed time" } else { unit };
        let in_mb = settings.rate == Rate::Kb && !surface.is_cpu;
        draw(book.add_sheet(&name), surface, command, Unit { name: unit, in_mb }, edges);
    }
    if let Some(report) = &sheets.report {
        bars(book.add_sheet("Throughput"), report, command, measured, settings.rate != Rate::Ops);
    }
    rounds(book.add_sheet("Rounds"), settings, measured, unit);
    book.write()
}

/// The unit of a surface's numbers.
#[derive(Clone, Copy)]
struct Unit<'a> {
    name: &'a str,
    /// They are in units of 1024 bytes a second, and their chart is in MB/s.
    in_mb: bool,
}

/// Bytes of a kB of IOzone's, in MB.
const MB_OF_KB: f64 = 1024.0 / 1e6;

/// Thousands apart: rates have seven digits.
const WHOLE: Style = Style::number(NumberFormat::Whole);
/// The same with a digit behind the point.
const TENTHS: Style = Style::number(NumberFormat::Tenths);
/// Sizes at the edges of a table.
const BOLD_WHOLE: Style = Style { number: NumberFormat::Whole, ..Style::BOLD };

/// A size of IOzone's as people write it.
fn size_text(kb: u64) -> String {
    match kb {
        kb if kb > 0 && kb.is_multiple_of(1 << 20) => format!("{} GiB", kb >> 20),
        kb if kb > 0 && kb.is_multiple_of(1 << 10) => format!("{} MiB", kb >> 10),
        kb => format!("{kb} KiB"),
    }
}

/// The first row of numbers; above them the command, the unit and the record sizes.
const HEAD_ROW: u32 = 3;

fn draw(sheet: &mut Sheet, surface: &Surface, command: &str, unit: Unit<'_>, edges: Edges) {
    sheet.text(0, 0, &surface.title(), Style::BOLD);
    sheet.text(1, 0, command.trim_end(), Style::PLAIN);
    let says = format!("{}; the top row is record sizes in kB, the left column is file sizes in kB", unit.name);
    sheet.text(2, 0, &says, Style::PLAIN);
    for (column, record_kb) in (1u16..).zip(&surface.records_kb) {
        sheet.number(HEAD_ROW, column, *record_kb as f64, BOLD_WHOLE);
    }
    let last_column = u16::try_from(surface.records_kb.len()).unwrap_or(u16::MAX).max(1);
    let number = if surface.is_cpu { TENTHS } else { WHOLE };
    let mut before = None;
    let mut row = HEAD_ROW;
    for (file_kb, values) in &surface.rows {
        row += 1;
        let edge = edges.between(before, *file_kb);
        before = Some(*file_kb);
        // A line above the first file that no cache holds.
        let border = if edge.is_some() { Border::ThickAbove } else { Border::None };
        sheet.number(row, 0, *file_kb as f64, Style { border, ..BOLD_WHOLE });
        for (column, value) in (1u16..).zip(values) {
            let style = Style { border, ..number };
            match *value > 0.0 {
                true => sheet.number(row, column, *value, style),
                false => sheet.blank(row, column, style),
            }
        }
        if let Some(edge) = edge {
            sheet.text(row, last_column + 1, edge, Style::PLAIN);
        }
    }
    let numbers = Area { first: (HEAD_ROW + 1, 1), last: (row, last_column) };
    sheet.colour_scale(numbers, &["F8696B", "FFEB84", "63BE7B"]);
    sheet.widths(0, 0, 12.0);
    sheet.widths(1, last_column, 11.0);
    sheet.freeze(HEAD_ROW + 1, 1);
    // A chart needs its numbers in its own unit.
    let (first_row, unit_name) = if unit.in_mb {
        let title_row = row + 2;
        sheet.text(title_row, 0, "MB/s (1 MB = 1 000 000 bytes)", Style::BOLD);
        for (at, (file_kb, values)) in (title_row + 1..).zip(&surface.rows) {
            sheet.number(at, 0, *file_kb as f64, BOLD_WHOLE);
            for (column, value) in (1u16..).zip(values).filter(|(_, value)| **value > 0.0) {
                sheet.number(at, column, *value * MB_OF_KB, TENTHS);
            }
        }
        row = title_row + surface.rows.len() as u32;
        (title_row + 1, "MB/s")
    } else {
        (HEAD_ROW + 1, unit.name)
    };
    let of_row = |row| Area { first: (row, 1), last: (row, last_column) };
    let series = (0..).zip(&surface.rows).map(|(index, (file_kb, _))| Series {
        name: format!("{} file", size_text(*file_kb)),
        colour: series_colour(index as usize),
        categories: of_row(HEAD_ROW),
        values: of_row(first_row + index),
        error_bars: None,
        marker: Marker::None,
        has_line: true,
    });
    let chart = Chart {
        series: series.collect(),
        ..empty_chart(ChartKind::Lines, &surface.title(), "record size, kB (1 kB = 1024 bytes)", unit_name)
    };
    sheet.chart(row + 2, 1, chart);
    sheet.print(1, 0);
}

/// A chart without series.
fn empty_chart(kind: ChartKind, title: &str, along: &str, unit: &str) -> Chart {
    let axis = |title: &str| Axis { title: title.to_owned(), number: Some(NumberFormat::Whole), ..Axis::default() };
    Chart {
        kind,
        title: title.to_owned(),
        categories: axis(along),
        values: axis(unit),
        series: Vec::new(),
        legend: Legend::Below,
        width_px: 900,
        height_px: 420,
        alt_text: title.to_owned(),
    }
}

fn bars(sheet: &mut Sheet, report: &ThroughputReport, command: &str, measured: &[MeasuredPass], in_mb: bool) {
    sheet.text(0, 0, command.trim_end(), Style::PLAIN);
    for (row, head) in (1u32..).zip(&report.heads) {
        sheet.text(row, 0, head, Style::PLAIN);
    }
    let first = report.heads.len() as u32 + 1;
    let mut counts: Vec<u32> = Vec::new();
    for one in measured {
        if !counts.contains(&one.children) {
            counts.push(one.children);
        }
    }
    let last_column = u16::try_from(counts.len()).unwrap_or(u16::MAX);
    let mut table = |first: u32, title: &str, times: f64, style: Style| -> u32 {
        sheet.text(first, 0, title, Style::BOLD);
        for (column, count) in (1u16..).zip(&counts) {
            sheet.text(first, column, &children_text(*count), Style::BOLD);
        }
        let mut row = first;
        for (label, values) in &report.rates {
            row += 1;
            sheet.text(row, 0, label.trim(), Style::BOLD);
            for (column, value) in (1u16..).zip(values) {
                sheet.number(row, column, *value * times, style);
            }
        }
        row
    };
    let mut head = first;
    let mut row = table(first, if in_mb { "kB/s" } else { "operations/s" }, 1.0, WHOLE);
    if in_mb {
        head = row + 2;
        row = table(head, "MB/s", MB_OF_KB, TENTHS);
    }
    let series = (1..=last_column).zip(&counts).map(|(column, count)| Series {
        name: children_text(*count),
        colour: series_colour(usize::from(column - 1)),
        categories: Area::of_column(0, head + 1, row),
        values: Area::of_column(column, head + 1, row),
        error_bars: None,
        marker: Marker::None,
        has_line: false,
    });
    let unit = if in_mb { "MB/s" } else { "operations/s" };
    let chart = Chart {
        series: series.collect(),
        ..empty_chart(ChartKind::Columns, "Throughput by number of processes", "", unit)
    };
    sheet.widths(0, 0, 18.0);
    sheet.widths(1, last_column.max(1), 14.0);
    sheet.freeze(first + 1, 1);
    sheet.chart(row + 2, 1, chart);
    sheet.print(1, 0);
}

fn children_text(count: u32) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

/// Every round of every test, with the mean and its interval.
fn rounds(sheet: &mut Sheet, settings: &Settings, measured: &[MeasuredPass], unit: &str) {
    let most = measured.iter().map(|one| one.rounds.len()).max().unwrap_or(0);
    let heads = ["test", "file, kB", "record, kB", "processes", "mean", "geometric mean from (95 %)", "to (95 %)"];
    for (column, head) in (0u16..).zip(heads) {
        sheet.text(1, column, head, Style::BOLD);
    }
    for round in 0..most {
        let column = heads.len() as u16 + u16::try_from(round).unwrap_or(u16::MAX - 16);
        sheet.text(1, column, &format!("round {}", round + 1), Style::BOLD);
    }
    sheet.text(0, 0, unit, Style::PLAIN);
    for (row, one) in (2u32..).zip(measured) {
        let rates = one.rates(settings.rate);
        sheet.text(row, 0, one.pass.title(), Style::PLAIN);
        sheet.number(row, 1, one.point.file_kb as f64, WHOLE);
        let record_kb = one.point.record_bytes as f64 / 1024.0;
        sheet.number(row, 2, record_kb, if record_kb < 1.0 { TENTHS } else { WHOLE });
        sheet.number(row, 3, f64::from(one.children.max(1)), Style::PLAIN);
        sheet.number(row, 4, one.rate(settings.rate), WHOLE);
        // One round has no interval.
        if let Ok(interval) = estimate::sample(&rates).and_then(|estimate| estimate.interval(CONFIDENCE)) {
            sheet.number(row, 5, interval.lo, WHOLE);
            sheet.number(row, 6, interval.hi, WHOLE);
        }
        for (column, rate) in (heads.len() as u16..).zip(&rates) {
            sheet.number(row, column, *rate, WHOLE);
        }
    }
    sheet.widths(0, 0, 18.0);
    let last = heads.len() as u16 + u16::try_from(most).unwrap_or(u16::MAX - 16);
    sheet.widths(1, last, 13.0);
    sheet.freeze(2, 1);
    // As many pages as it takes, each with its head.
    sheet.print(0, 2);
}
