//! The workbook: a sheet a test with its numbers, a heat map and a chart, as spreadsheets have them.

use plumb_dialects::iozone::print::MeasuredPass;
use plumb_dialects::iozone::print::heat::Edges;
use plumb_dialects::iozone::print::report::Surface;
use plumb_dialects::iozone::print::throughput::ThroughputReport;
use plumb_dialects::iozone::{Rate, Settings};
use plumb_stats::estimate;
use rust_xlsxwriter::{
    Chart, ChartType, ConditionalFormat3ColorScale, Format, FormatBorder, Workbook, Worksheet, XlsxError,
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
        draw(sheet, surface, command, unit, edges)?;
    }
    if let Some(report) = &sheets.report {
        let sheet = workbook.add_worksheet();
        sheet.set_name("Throughput")?;
        bars(sheet, report, command, measured)?;
    }
    let sheet = workbook.add_worksheet();
    sheet.set_name("Rounds")?;
    rounds(sheet, settings, measured, unit)?;
    workbook.save_to_buffer()
}

/// The first row of numbers; above them the command, the unit and the record sizes.
const HEAD_ROW: u32 = 3;

fn draw(sheet: &mut Worksheet, surface: &Surface, command: &str, unit: &str, edges: Edges) -> Result<(), XlsxError> {
    let bold = Format::new().set_bold();
    sheet.write_with_format(0, 0, surface.title(), &bold)?;
    sheet.write(1, 0, command.trim_end())?;
    sheet.write(2, 0, format!("{unit}; the top row is record sizes in kB, the left column is file sizes in kB"))?;
    for (column, record_kb) in (1u16..).zip(&surface.records_kb) {
        sheet.write_with_format(HEAD_ROW, column, *record_kb as f64, &bold)?;
    }
    let last_column = u16::try_from(surface.records_kb.len()).unwrap_or(u16::MAX).max(1);
    let mut before = None;
    let mut row = HEAD_ROW;
    for (file_kb, values) in &surface.rows {
        row += 1;
        let edge = edges.between(before, *file_kb);
        before = Some(*file_kb);
        // A line above the first file that no cache holds.
        let line = match edge {
            Some(_) => Format::new().set_border_top(FormatBorder::Thick),
            None => Format::new(),
        };
        sheet.write_with_format(row, 0, *file_kb as f64, &line.clone().set_bold())?;
        for (column, value) in (1u16..).zip(values) {
            match *value > 0.0 {
                true => sheet.write_with_format(row, column, *value, &line)?,
                false => sheet.write_blank(row, column, &line)?,
            };
        }
        if let Some(edge) = edge {
            sheet.write(row, last_column + 1, edge)?;
        }
    }
    let scale = ConditionalFormat3ColorScale::new();
    sheet.add_conditional_format(HEAD_ROW + 1, 1, row, last_column, &scale)?;
    sheet.set_column_width(0, 12)?;
    let mut chart = Chart::new(ChartType::Line);
    for data_row in HEAD_ROW + 1..=row {
        let name = sheet.name();
        chart
            .add_series()
            .set_name((name.as_str(), data_row, 0))
            .set_categories((name.as_str(), HEAD_ROW, 1, HEAD_ROW, last_column))
            .set_values((name.as_str(), data_row, 1, data_row, last_column));
    }
    chart.title().set_name(surface.title().as_str());
    chart.x_axis().set_name("record size, kB");
    chart.y_axis().set_name(unit);
    chart.set_width(900).set_height(420);
    sheet.insert_chart(row + 2, 1, &chart)?;
    Ok(())
}

fn bars(
    sheet: &mut Worksheet,
    report: &ThroughputReport,
    command: &str,
    measured: &[MeasuredPass],
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
    for (column, count) in (1u16..).zip(&counts) {
        sheet.write_with_format(first, column, *count, &bold)?;
    }
    let mut row = first;
    let name = sheet.name();
    let mut chart = Chart::new(ChartType::Column);
    for (label, values) in &report.rates {
        row += 1;
        sheet.write_with_format(row, 0, label.trim(), &bold)?;
        for (column, value) in (1u16..).zip(values) {
            sheet.write(row, column, *value)?;
        }
    }
    for column in 1..=u16::try_from(counts.len()).unwrap_or(u16::MAX) {
        chart
            .add_series()
            .set_name((name.as_str(), first, column))
            .set_categories((name.as_str(), first + 1, 0, row, 0))
            .set_values((name.as_str(), first + 1, column, row, column));
    }
    chart.title().set_name("Throughput by number of processes");
    chart.set_width(900).set_height(420);
    sheet.set_column_width(0, 18)?;
    sheet.insert_chart(row + 2, 1, &chart)?;
    Ok(())
}

/// Every round of every test, with the mean and its interval.
fn rounds(sheet: &mut Worksheet, settings: &Settings, measured: &[MeasuredPass], unit: &str) -> Result<(), XlsxError> {
    let bold = Format::new().set_bold();
    let most = measured.iter().map(|one| one.rounds.len()).max().unwrap_or(0);
    let heads = ["test", "file, kB", "record, kB", "processes", "mean", "geometric mean from (95 %)", "to (95 %)"];
    for (column, head) in (0u16..).zip(heads) {
        sheet.write_with_format(0, column, head, &bold)?;
    }
    for round in 0..most {
        let column = heads.len() as u16 + u16::try_from(round).unwrap_or(u16::MAX - 16);
        sheet.write_with_format(0, column, format!("round {}", round + 1), &bold)?;
    }
    sheet.write(1, 0, unit)?;
    for (row, one) in (2u32..).zip(measured) {
        let rates = one.rates(settings.rate);
        sheet.write(row, 0, one.pass.title())?;
        sheet.write(row, 1, one.point.file_kb as f64)?;
        sheet.write(row, 2, one.point.record_bytes as f64 / 1024.0)?;
        sheet.write(row, 3, one.children.max(1))?;
        sheet.write(row, 4, one.rate(settings.rate))?;
        // One round has no interval.
        if let Ok(interval) = estimate::sample(&rates).and_then(|estimate| estimate.interval(CONFIDENCE)) {
            sheet.write(row, 5, interval.lo)?;
            sheet.write(row, 6, interval.hi)?;
        }
        for (column, rate) in (heads.len() as u16..).zip(&rates) {
            sheet.write(row, column, *rate)?;
        }
    }
    sheet.set_column_width(0, 18)?;
    Ok(())
}
