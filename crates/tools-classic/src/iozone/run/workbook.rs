//! The workbook: a sheet per test with its numbers, a heat map and a chart.

use plumb_chart::series_colour;
use plumb_report::workbook::{
    Area, Mark, Series, Sheet, SheetChart, TENTHS, WHOLE, WorkbookError, axis_title, finish, new_book,
};
use plumb_stats::estimate;
use plumb_tools_classic::iozone::print::MeasuredPass;
use plumb_tools_classic::iozone::print::heat::Edges;
use plumb_tools_classic::iozone::print::report::Surface;
use plumb_tools_classic::iozone::print::throughput::ThroughputReport;
use plumb_tools_classic::iozone::{IozoneSettings, Rate};
use rust_xlsxwriter::{ChartType, ConditionalFormat3ColorScale, Format, FormatBorder};

/// Confidence of the intervals of repeated rounds.
const CONFIDENCE: f64 = 0.95;

/// The contents of a workbook.
pub(crate) struct Sheets {
    /// Surfaces of single-process tests.
    pub surfaces: Vec<Surface>,
    pub report: Option<ThroughputReport>,
}

/// Returns a workbook as bytes.
///
/// # Errors
///
/// There are more cells than a sheet can hold.
pub(super) fn write(
    settings: &IozoneSettings,
    command: &str,
    sheets: &Sheets,
    measured: &[MeasuredPass],
    edges: Edges,
) -> Result<Vec<u8>, WorkbookError> {
    let mut book = new_book();
    let unit = match settings.reports.rate {
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
        let in_mb = settings.reports.rate == Rate::Kb && !surface.is_cpu;
        draw(&mut Sheet::add(&mut book, &name)?, surface, command, Unit { name: unit, in_mb }, edges)?;
    }
    if let Some(report) = &sheets.report {
        bars(&mut Sheet::add(&mut book, "Throughput")?, report, command, measured, settings.reports.rate != Rate::Ops)?;
    }
    rounds(&mut Sheet::add(&mut book, "Rounds")?, settings, measured, unit)?;
    finish(book)
}

/// The unit of a surface's numbers.
#[derive(Clone, Copy)]
struct Unit<'a> {
    name: &'a str,
    /// Whether they are in units of 1024 bytes per second, and charted in MB/s.
    in_mb: bool,
}

/// Bytes of IOzone's kB, in MB.
const MB_OF_KB: f64 = 1024.0 / 1e6;

fn plain() -> Format {
    Format::new()
}

fn bold() -> Format {
    Format::new().set_bold()
}

/// With a thousands separator: rates have seven digits.
fn whole() -> Format {
    Format::new().set_num_format(WHOLE)
}

fn tenths() -> Format {
    Format::new().set_num_format(TENTHS)
}

/// Sizes at the edges of a table.
fn bold_whole() -> Format {
    whole().set_bold()
}

/// Formats a size from IOzone for people.
fn size_text(kb: u64) -> String {
    match kb {
        kb if kb > 0 && kb.is_multiple_of(1 << 20) => format!("{} GiB", kb >> 20),
        kb if kb > 0 && kb.is_multiple_of(1 << 10) => format!("{} MiB", kb >> 10),
        kb => format!("{kb} KiB"),
    }
}

/// First row of numbers; above it are the command, the unit and the record sizes.
const HEAD_ROW: u32 = 3;

fn draw(
    sheet: &mut Sheet<'_>,
    surface: &Surface,
    command: &str,
    unit: Unit<'_>,
    edges: Edges,
) -> Result<(), WorkbookError> {
    sheet.text(0, 0, &surface.title(), &bold())?;
    sheet.text(1, 0, command.trim_end(), &plain())?;
    let legend = format!("{}; the top row is record sizes in kB, the left column is file sizes in kB", unit.name);
    sheet.text(2, 0, &legend, &plain())?;
    for (column, record_kb) in (1u16..).zip(&surface.records_kb) {
        sheet.number(HEAD_ROW, column, *record_kb as f64, &bold_whole())?;
    }
    let last_column = u16::try_from(surface.records_kb.len()).unwrap_or(u16::MAX).max(1);
    let mut row = numbers(sheet, surface, edges, last_column)?;
    let area = Area { first: (HEAD_ROW + 1, 1), last: (row, last_column) };
    let colours = ConditionalFormat3ColorScale::new()
        .set_minimum_color("#F8696B")
        .set_midpoint_color("#FFEB84")
        .set_maximum_color("#63BE7B");
    if !surface.rows.is_empty() {
        sheet.colour_scale(area, &colours)?;
    }
    sheet.widths(0, 0, 12.0)?;
    sheet.widths(1, last_column, 11.0)?;
    sheet.freeze(HEAD_ROW + 1, 1)?;
    // A chart needs its numbers in its own unit.
    let (first_row, unit_name) = if unit.in_mb {
        let title_row = row + 2;
        sheet.text(title_row, 0, "MB/s (1 MB = 1 000 000 bytes)", &bold())?;
        for (at, (file_kb, values)) in (title_row + 1..).zip(&surface.rows) {
            sheet.number(at, 0, *file_kb as f64, &bold_whole())?;
            for (column, value) in (1u16..).zip(values).filter(|(_, value)| **value > 0.0) {
                sheet.number(at, column, *value * MB_OF_KB, &tenths())?;
            }
        }
        row = title_row + surface.rows.len() as u32;
        (title_row + 1, "MB/s")
    } else {
        (HEAD_ROW + 1, unit.name)
    };
    let of_row = |row| Area { first: (row, 1), last: (row, last_column) };
    let mut chart = empty_chart(ChartType::Line, &surface.title(), "record size, kB (1 kB = 1024 bytes)", unit_name);
    for (index, (file_kb, _)) in (0..).zip(&surface.rows) {
        let series = Series {
            name: &format!("{} file", size_text(*file_kb)),
            colour: series_colour(index as usize),
            categories: of_row(HEAD_ROW),
            values: of_row(first_row + index),
            intervals: None,
            mark: Mark::Line,
        };
        chart.add(sheet, &series);
    }
    sheet.chart(row + 2, 1, chart)?;
    sheet.print(1, 0)
}

/// Writes the numbers of a surface, and returns their last row.
fn numbers(sheet: &mut Sheet<'_>, surface: &Surface, edges: Edges, last_column: u16) -> Result<u32, WorkbookError> {
    let mut before = None;
    let mut row = HEAD_ROW;
    for (file_kb, values) in &surface.rows {
        row += 1;
        let edge = edges.between(before, *file_kb);
        before = Some(*file_kb);
        // A line above the first file that exceeds the cache.
        let border = if edge.is_some() { FormatBorder::Thick } else { FormatBorder::None };
        sheet.number(row, 0, *file_kb as f64, &bold_whole().set_border_top(border))?;
        let format = if surface.is_cpu { tenths() } else { whole() }.set_border_top(border);
        for (column, value) in (1u16..).zip(values) {
            match *value > 0.0 {
                true => sheet.number(row, column, *value, &format)?,
                false => sheet.blank(row, column, &format)?,
            }
        }
        if let Some(edge) = edge {
            sheet.text(row, last_column + 1, edge, &plain())?;
        }
    }
    Ok(row)
}

fn empty_chart(kind: ChartType, title: &str, along: &str, unit: &str) -> SheetChart {
    let mut chart = SheetChart::new(kind, title, title, (900, 420));
    axis_title(chart.categories(), along);
    chart.categories().set_num_format(WHOLE);
    axis_title(chart.values(), unit);
    chart.values().set_num_format(WHOLE);
    chart.legend_below();
    chart
}

/// Writes a table of rates with a header row, and returns its last row.
fn rates(
    sheet: &mut Sheet<'_>,
    report: &ThroughputReport,
    counts: &[u32],
    (first, title): (u32, &str),
    (times, format): (f64, &Format),
) -> Result<u32, WorkbookError> {
    sheet.text(first, 0, title, &bold())?;
    for (column, count) in (1u16..).zip(counts) {
        sheet.text(first, column, &children_text(*count), &bold())?;
    }
    let mut row = first;
    for (label, values) in &report.rates {
        row += 1;
        sheet.text(row, 0, label.trim(), &bold())?;
        for (column, value) in (1u16..).zip(values) {
            sheet.number(row, column, *value * times, format)?;
        }
    }
    Ok(row)
}

fn bars(
    sheet: &mut Sheet<'_>,
    report: &ThroughputReport,
    command: &str,
    measured: &[MeasuredPass],
    in_mb: bool,
) -> Result<(), WorkbookError> {
    sheet.text(0, 0, command.trim_end(), &plain())?;
    for (row, head) in (1u32..).zip(&report.heads) {
        sheet.text(row, 0, head, &plain())?;
    }
    let first = report.heads.len() as u32 + 1;
    let mut counts: Vec<u32> = Vec::new();
    for one in measured {
        if !counts.contains(&one.children) {
            counts.push(one.children);
        }
    }
    let last_column = u16::try_from(counts.len()).unwrap_or(u16::MAX);
    let mut head = first;
    let title = if in_mb { "kB/s" } else { "operations/s" };
    let mut row = rates(sheet, report, &counts, (first, title), (1.0, &whole()))?;
    if in_mb {
        head = row + 2;
        row = rates(sheet, report, &counts, (head, "MB/s"), (MB_OF_KB, &tenths()))?;
    }
    let unit = if in_mb { "MB/s" } else { "operations/s" };
    let mut chart = empty_chart(ChartType::Column, "Throughput by number of processes", "", unit);
    // Without rates there is no cell to draw.
    for (column, count) in (1..=last_column).zip(&counts).filter(|_| row > head) {
        let series = Series {
            name: &children_text(*count),
            colour: series_colour(usize::from(column - 1)),
            categories: Area::of_column(0, head + 1, row),
            values: Area::of_column(column, head + 1, row),
            intervals: None,
            mark: Mark::Bar,
        };
        chart.add(sheet, &series);
    }
    sheet.widths(0, 0, 18.0)?;
    sheet.widths(1, last_column.max(1), 14.0)?;
    sheet.freeze(first + 1, 1)?;
    sheet.chart(row + 2, 1, chart)?;
    sheet.print(1, 0)
}

fn children_text(count: u32) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

/// Writes every round of every test, with the mean and its interval.
fn rounds(
    sheet: &mut Sheet<'_>,
    settings: &IozoneSettings,
    measured: &[MeasuredPass],
    unit: &str,
) -> Result<(), WorkbookError> {
    let most = measured.iter().map(|one| one.rounds.len()).max().unwrap_or(0);
    let heads = ["test", "file, kB", "record, kB", "processes", "mean", "geometric mean from (95 %)", "to (95 %)"];
    for (column, head) in (0u16..).zip(heads) {
        sheet.text(1, column, head, &bold())?;
    }
    for round in 0..most {
        let column = heads.len() as u16 + u16::try_from(round).unwrap_or(u16::MAX - 16);
        sheet.text(1, column, &format!("round {}", round + 1), &bold())?;
    }
    sheet.text(0, 0, unit, &plain())?;
    for (row, one) in (2u32..).zip(measured) {
        let rates = one.rates(settings.reports.rate);
        sheet.text(row, 0, one.pass.title(), &plain())?;
        sheet.number(row, 1, one.point.file_kb as f64, &whole())?;
        let record_kb = one.point.record_bytes as f64 / 1024.0;
        sheet.number(row, 2, record_kb, &if record_kb < 1.0 { tenths() } else { whole() })?;
        sheet.number(row, 3, f64::from(one.children.max(1)), &plain())?;
        sheet.number(row, 4, one.rate(settings.reports.rate), &whole())?;
        // A single round has no interval.
        if let Ok(interval) = estimate::sample(&rates).and_then(|estimate| estimate.interval(CONFIDENCE)) {
            sheet.number(row, 5, interval.lo, &whole())?;
            sheet.number(row, 6, interval.hi, &whole())?;
        }
        for (column, rate) in (heads.len() as u16..).zip(&rates) {
            sheet.number(row, column, *rate, &whole())?;
        }
    }
    sheet.widths(0, 0, 18.0)?;
    let last = heads.len() as u16 + u16::try_from(most).unwrap_or(u16::MAX - 16);
    sheet.widths(1, last, 13.0)?;
    sheet.freeze(2, 1)?;
    // As many pages as needed, each with the header.
    sheet.print(0, 2)
}
