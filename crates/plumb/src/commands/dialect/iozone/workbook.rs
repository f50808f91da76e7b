//! The workbook: a sheet a test with its numbers, a heat map and a chart, as spreadsheets have them.

use plumb_dialects::iozone::print::MeasuredPass;
use plumb_dialects::iozone::print::heat::Edges;
use plumb_dialects::iozone::print::report::Surface;
use plumb_dialects::iozone::print::throughput::ThroughputReport;
use plumb_dialects::iozone::{Rate, Settings};
use plumb_stats::estimate;
use rust_xlsxwriter::{
    Chart, ChartLegendPosition, ChartType, ConditionalFormat3ColorScale, Format, FormatBorder, Workbook, Worksheet,
    XlsxError,
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
/// The library's.
pub fn write(
    settings: &Settings,
    command: &str,
    sheets: &Sheets,
    measured: &[MeasuredPass],
    edges: Edges,
) -> Result<Vec<u8>, XlsxError> {
    let mut workbook = Workbook::new();
    let unit = match settings.rate {
        Rate::Kb => "kB/s (1 kB = 1024 bytes)",
        Rate::Ops => "operations/s",
        Rate::Usec => "microseconds/operation",
    };
    for surface in &sheets.surfaces {
        let sheet = workbook.add_worksheet();
        let name = match surface.is_cpu {
            false => surface.pass.title().to_owned(),
            true => format!("{} CPU", surface.pass.title()),
        };
        sheet.set_name(&name)?;
        let unit = if surface.is_cpu { "% of the elapsed time" } else { unit };
        let in_mb = settings.rate == Rate::Kb && !surface.is_cpu;
        draw(sheet, surface, command, Unit { name: unit, in_mb }, edges)?;
    }
    if let Some(report) = &sheets.report {
        let sheet = workbook.add_worksheet();
        sheet.set_name("Throughput")?;
        bars(sheet, report, command, measured, settings.rate != Rate::Ops)?;
    }
    let sheet = workbook.add_worksheet();
    sheet.set_name("Rounds")?;
    rounds(sheet, settings, measured, unit)?;
    workbook.save_to_buffer()
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
fn whole() -> Format {
    Format::new().set_num_format("#,##0")
}

/// The same with a digit behind the point.
fn tenths() -> Format {
    Format::new().set_num_format("#,##0.0")
}

/// On one page, whatever is in it; sheets that are longer than a page go on below it and repeat these rows.
fn fit_to_paper(sheet: &mut Worksheet, pages_high: u16, repeated_rows: u32) -> Result<(), XlsxError> {
    const A4: u8 = 9;
    sheet.set_paper_size(A4).set_landscape().set_print_fit_to_pages(1, pages_high);
    if repeated_rows > 0 {
        sheet.set_repeat_rows(0, repeated_rows - 1)?;
    }
    Ok(())
}

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

fn draw(
    sheet: &mut Worksheet,
    surface: &Surface,
    command: &str,
    unit: Unit<'_>,
    edges: Edges,
) -> Result<(), XlsxError> {
    let bold = Format::new().set_bold();
    let bold_whole = whole().set_bold();
    sheet.write_with_format(0, 0, surface.title(), &bold)?;
    sheet.write(1, 0, command.trim_end())?;
    sheet.write(
        2,
        0,
        format!("{}; the top row is record sizes in kB, the left column is file sizes in kB", unit.name),
    )?;
    for (column, record_kb) in (1u16..).zip(&surface.records_kb) {
        sheet.write_with_format(HEAD_ROW, column, *record_kb as f64, &bold_whole)?;
    }
    let last_column = u16::try_from(surface.records_kb.len()).unwrap_or(u16::MAX).max(1);
    let number = if surface.is_cpu { tenths() } else { whole() };
    let mut before = None;
    let mut row = HEAD_ROW;
    for (file_kb, values) in &surface.rows {
        row += 1;
        let edge = edges.between(before, *file_kb);
        before = Some(*file_kb);
        // A line above the first file that no cache holds.
        let lined = |format: &Format| match edge {
            Some(_) => format.clone().set_border_top(FormatBorder::Thick),
            None => format.clone(),
        };
        sheet.write_with_format(row, 0, *file_kb as f64, &lined(&bold_whole))?;
        for (column, value) in (1u16..).zip(values) {
            match *value > 0.0 {
                true => sheet.write_with_format(row, column, *value, &lined(&number))?,
                false => sheet.write_blank(row, column, &lined(&number))?,
            };
        }
        if let Some(edge) = edge {
            sheet.write(row, last_column + 1, edge)?;
        }
    }
    let scale = ConditionalFormat3ColorScale::new();
    sheet.add_conditional_format(HEAD_ROW + 1, 1, row, last_column, &scale)?;
    sheet.set_column_width(0, 12)?;
    sheet.set_column_range_width(1, last_column, 11)?;
    sheet.set_freeze_panes(HEAD_ROW + 1, 1)?;
    // A chart needs its numbers in its own unit.
    let (first_row, unit_name) = if unit.in_mb {
        let title_row = row + 2;
        sheet.write_with_format(title_row, 0, "MB/s (1 MB = 1 000 000 bytes)", &bold)?;
        for (at, (file_kb, values)) in (title_row + 1..).zip(&surface.rows) {
            sheet.write_with_format(at, 0, *file_kb as f64, &bold_whole)?;
            for (column, value) in (1u16..).zip(values).filter(|(_, value)| **value > 0.0) {
                sheet.write_with_format(at, column, *value * MB_OF_KB, &tenths())?;
            }
        }
        row = title_row + surface.rows.len() as u32;
        (title_row + 1, "MB/s")
    } else {
        (HEAD_ROW + 1, unit.name)
    };
    let mut chart = Chart::new(ChartType::Line);
    for (data_row, (file_kb, _)) in (first_row..).zip(&surface.rows) {
        let name = sheet.name();
        chart
            .add_series()
            .set_name(&format!("{} file", size_text(*file_kb)))
            .set_categories((name.as_str(), HEAD_ROW, 1, HEAD_ROW, last_column))
            .set_values((name.as_str(), data_row, 1, data_row, last_column));
    }
    chart.title().set_name(surface.title().as_str());
    chart.x_axis().set_name("record size, kB (1 kB = 1024 bytes)").set_num_format("#,##0");
    chart.y_axis().set_name(unit_name).set_num_format("#,##0");
    chart.legend().set_position(ChartLegendPosition::Bottom);
    chart.set_width(900).set_height(420);
    sheet.insert_chart(row + 2, 1, &chart)?;
    fit_to_paper(sheet, 1, 0)
}

fn bars(
    sheet: &mut Worksheet,
    report: &ThroughputReport,
    command: &str,
    measured: &[MeasuredPass],
    in_mb: bool,
) -> Result<(), XlsxError> {
    let bold = Format::new().set_bold();
    sheet.write(0, 0, command.trim_end())?;
    for (row, head) in (1u32..).zip(&report.heads) {
        sheet.write(row, 0, head)?;
    }
    let first = report.heads.len() as u32 + 1;
    let mut counts: Vec<u32> = Vec::new();
    for one in measured {
        if !counts.contains(&one.children) {
            counts.push(one.children);
        }
    }
    let last_column = u16::try_from(counts.len()).unwrap_or(u16::MAX);
    let mut table = |first: u32, title: &str, times: f64, number: &Format| -> Result<u32, XlsxError> {
        sheet.write_with_format(first, 0, title, &bold)?;
        for (column, count) in (1u16..).zip(&counts) {
            sheet.write_with_format(first, column, children_text(*count), &bold)?;
        }
        let mut row = first;
        for (label, values) in &report.rates {
            row += 1;
            sheet.write_with_format(row, 0, label.trim(), &bold)?;
            for (column, value) in (1u16..).zip(values) {
                sheet.write_with_format(row, column, *value * times, number)?;
            }
        }
        Ok(row)
    };
    let mut head = first;
    let mut row = table(first, if in_mb { "kB/s" } else { "operations/s" }, 1.0, &whole())?;
    if in_mb {
        head = row + 2;
        row = table(head, "MB/s", MB_OF_KB, &tenths())?;
    }
    let name = sheet.name();
    let mut chart = Chart::new(ChartType::Column);
    for (column, count) in (1..=last_column).zip(&counts) {
        chart
            .add_series()
            .set_name(&children_text(*count))
            .set_categories((name.as_str(), head + 1, 0, row, 0))
            .set_values((name.as_str(), head + 1, column, row, column));
    }
    chart.title().set_name("Throughput by number of processes");
    chart.y_axis().set_name(if in_mb { "MB/s" } else { "operations/s" }).set_num_format("#,##0");
    chart.legend().set_position(ChartLegendPosition::Bottom);
    chart.set_width(900).set_height(420);
    sheet.set_column_width(0, 18)?;
    sheet.set_column_range_width(1, last_column.max(1), 14)?;
    sheet.set_freeze_panes(first + 1, 1)?;
    sheet.insert_chart(row + 2, 1, &chart)?;
    fit_to_paper(sheet, 1, 0)
}

fn children_text(count: u32) -> String {
    if count == 1 { "1 process".to_owned() } else { format!("{count} processes") }
}

/// Every round of every test, with the mean and its interval.
fn rounds(sheet: &mut Worksheet, settings: &Settings, measured: &[MeasuredPass], unit: &str) -> Result<(), XlsxError> {
    let bold = Format::new().set_bold();
    let most = measured.iter().map(|one| one.rounds.len()).max().unwrap_or(0);
    let heads = ["test", "file, kB", "record, kB", "processes", "mean", "geometric mean from (95 %)", "to (95 %)"];
    for (column, head) in (0u16..).zip(heads) {
        sheet.write_with_format(1, column, head, &bold)?;
    }
    for round in 0..most {
        let column = heads.len() as u16 + u16::try_from(round).unwrap_or(u16::MAX - 16);
        sheet.write_with_format(1, column, format!("round {}", round + 1), &bold)?;
    }
    sheet.write(0, 0, unit)?;
    let (whole, tenths) = (whole(), tenths());
    for (row, one) in (2u32..).zip(measured) {
        let rates = one.rates(settings.rate);
        sheet.write(row, 0, one.pass.title())?;
        sheet.write_with_format(row, 1, one.point.file_kb as f64, &whole)?;
        let record_kb = one.point.record_bytes as f64 / 1024.0;
        sheet.write_with_format(row, 2, record_kb, if record_kb < 1.0 { &tenths } else { &whole })?;
        sheet.write(row, 3, one.children.max(1))?;
        sheet.write_with_format(row, 4, one.rate(settings.rate), &whole)?;
        // One round has no interval.
        if let Ok(interval) = estimate::sample(&rates).and_then(|estimate| estimate.interval(CONFIDENCE)) {
            sheet.write_with_format(row, 5, interval.lo, &whole)?;
            sheet.write_with_format(row, 6, interval.hi, &whole)?;
        }
        for (column, rate) in (heads.len() as u16..).zip(&rates) {
            sheet.write_with_format(row, column, *rate, &whole)?;
        }
    }
    sheet.set_column_width(0, 18)?;
    let last = heads.len() as u16 + u16::try_from(most).unwrap_or(u16::MAX - 16);
    sheet.set_column_range_width(1, last, 13)?;
    sheet.set_freeze_panes(2, 1)?;
    // As many pages as it takes, each with its head.
    fit_to_paper(sheet, 0, 2)
}
