//! A report as a workbook: the report's text and tables, a sheet with a native chart for each of its charts, and every number in a tidy
//! sheet. Intervals are error bars, so that a reader can change the chart and keep them.

use super::FullReport;
use crate::document::{ReportPart, fact_table};
use crate::table::Align;
use plumb_chart::{
    Bars, Body, Chart as Description, Density, DensityColumn, Forest, Format as ValueFormat, Heat, Lines, Point, Scale,
    SeriesShape,
};
use plumb_result::tidy::TidyCell;
use plumb_sorted::short_list;
use rust_xlsxwriter::{
    Chart, ChartErrorBars, ChartErrorBarsType, ChartMarker, ChartMarkerType, ChartRange, ChartType,
    ConditionalFormat2ColorScale, Format, FormatAlign, Workbook, Worksheet, XlsxError,
};

/// Why there is no workbook.
#[derive(Debug)]
pub struct WorkbookError(XlsxError);

impl std::fmt::Display for WorkbookError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the workbook cannot be written: {}", self.0)
    }
}

impl std::error::Error for WorkbookError {}

impl From<XlsxError> for WorkbookError {
    fn from(error: XlsxError) -> WorkbookError {
        WorkbookError(error)
    }
}

/// Width of the first column of the sheet of text, characters.
const TEXT_COLUMN: f64 = 34.0;
/// A text is broken over this many columns.
const TEXT_COLUMNS: u16 = 7;
/// Rows of a sheet. Source: Excel's limits.
const ROWS_MAX: usize = 1_048_576;

pub(super) fn workbook(report: &FullReport) -> Result<Vec<u8>, WorkbookError> {
    let mut book = Workbook::new();
    let text = page(book.add_worksheet(), report)?;
    text.set_name("Report")?;
    let mut names: Vec<String> = vec!["Report".to_owned(), "Data".to_owned()];
    for description in report.charts() {
        let name = sheet_name(&description.title, &names);
        names.push(name.clone());
        let sheet = book.add_worksheet();
        sheet.set_name(&name)?;
        printed(sheet);
        one_chart(sheet, &name, &description)?;
    }
    data(book.add_worksheet(), report)?;
    Ok(book.save_to_buffer()?)
}

/// At most 31 characters, none of those that Excel forbids, and not one that is taken.
fn sheet_name(title: &str, taken: &[String]) -> String {
    let allowed =
        |c: char| if c.is_control() || ['[', ']', ':', '*', '?', '/', '\\', '\''].contains(&c) { ' ' } else { c };
    let base: String = title.chars().map(allowed).collect();
    let base = base.split_whitespace().collect::<Vec<_>>().join(" ");
    let base = if base.is_empty() { "Chart".to_owned() } else { base };
    (1..)
        .map(|number: u32| {
            let ending = if number == 1 { String::new() } else { format!(" {number}") };
            let head: String = base.chars().take(31 - ending.len()).collect();
            format!("{}{ending}", head.trim_end())
        })
        .find(|name| !taken.iter().any(|known| known.eq_ignore_ascii_case(name)))
        .unwrap_or(base)
}

/// Landscape, one page wide.
fn printed(sheet: &mut Worksheet) {
    sheet.set_landscape();
    sheet.set_paper_size(9);
    sheet.set_print_fit_to_pages(1, 0);
}

fn bold() -> Format {
    Format::new().set_bold()
}

/// The report's text and tables. Texts are texts: none of them becomes a formula.
fn page<'a>(sheet: &'a mut Worksheet, report: &FullReport) -> Result<&'a mut Worksheet, WorkbookError> {
    printed(sheet);
    sheet.set_column_width(0, TEXT_COLUMN)?;
    for column in 1..12 {
        sheet.set_column_width(column, 16)?;
    }
    let wrapped = Format::new().set_text_wrap().set_align(FormatAlign::Top);
    let strong = wrapped.clone().set_bold();
    let heading = Format::new().set_bold().set_font_size(13);
    let mut row: u32 = 0;
    sheet.write_string_with_format(row, 0, &report.title, &Format::new().set_bold().set_font_size(16))?;
    row += 2;
    let paragraph = |sheet: &mut Worksheet, row: &mut u32, text: &str, format: &Format| -> Result<(), WorkbookError> {
        sheet.merge_range(*row, 0, *row, TEXT_COLUMNS, "", format)?;
        sheet.write_string_with_format(*row, 0, text, format)?;
        // A merged cell does not grow by itself.
        let wide = TEXT_COLUMN + f64::from(TEXT_COLUMNS) * 16.0;
        let lines = (text.chars().count() as f64 / wide).ceil().max(1.0);
        sheet.set_row_height(*row, 15.0 * lines)?;
        *row += 1;
        Ok(())
    };
    for (index, part) in report.parts.iter().enumerate() {
        match part {
            // Charts have sheets of their own.
            ReportPart::Heading(_) if matches!(report.parts.get(index + 1), Some(ReportPart::Chart(_))) => {}
            ReportPart::Heading(text) => {
                row += 1;
                sheet.write_string_with_format(row, 0, text, &heading)?;
                row += 1;
            }
            ReportPart::Text(_, text) if text.is_empty() => {}
            ReportPart::Text(crate::style::Ink::Strong, text) => paragraph(sheet, &mut row, text, &strong)?,
            ReportPart::Text(_, text) => paragraph(sheet, &mut row, text, &wrapped)?,
            ReportPart::List(items) => {
                for item in items {
                    paragraph(sheet, &mut row, format!("{} {}", item.head.trim(), item.text).trim_start(), &wrapped)?;
                }
            }
            ReportPart::Table(_) | ReportPart::Facts(_) => {
                let facts;
                let table = match part {
                    ReportPart::Table(table) => table,
                    ReportPart::Facts(it) => {
                        facts = fact_table(it);
                        &facts
                    }
                    _ => continue,
                };
                for (column, head) in table.columns.iter().enumerate() {
                    sheet.write_string_with_format(
                        row,
                        column as u16,
                        &head.title,
                        &bold().set_border_bottom(rust_xlsxwriter::FormatBorder::Thin),
                    )?;
                }
                row += 1;
                for cells in &table.rows {
                    for (column, cell) in cells.iter().enumerate() {
                        let right = table.columns.get(column).is_some_and(|head| head.align == Align::Right);
                        let format = if right { Format::new().set_align(FormatAlign::Right) } else { Format::new() };
                        sheet.write_string_with_format(row, column as u16, cell, &format)?;
                    }
                    row += 1;
                }
                row += 1;
            }
            ReportPart::Chart(_) => {}
        }
    }
    Ok(sheet)
}

/// Every number, a line each: what spreadsheets filter and pivot.
fn data(sheet: &mut Worksheet, report: &FullReport) -> Result<(), WorkbookError> {
    sheet.set_name("Data")?;
    printed(sheet);
    sheet.set_freeze_panes(1, 0)?;
    let table = &report.numbers;
    for (column, name) in table.columns.iter().enumerate() {
        sheet.write_string_with_format(0, column as u16, name, &bold())?;
        sheet.set_column_width(column as u16, name.len().max(14) as f64)?;
    }
    for (row, cells) in table.rows.iter().take(ROWS_MAX - 1).enumerate() {
        for (column, cell) in cells.iter().enumerate() {
            let (row, column) = (row as u32 + 1, column as u16);
            match cell {
                TidyCell::Missing => {}
                TidyCell::Number(number) if number.is_finite() => {
                    sheet.write_number(row, column, *number)?;
                }
                TidyCell::Number(number) => {
                    sheet.write_string(row, column, number.to_string())?;
                }
                TidyCell::Text(text) => {
                    sheet.write_string(row, column, &**text)?;
                }
            }
        }
    }
    if !table.columns.is_empty() && !table.rows.is_empty() {
        sheet.autofilter(0, 0, table.rows.len().min(ROWS_MAX - 1) as u32, table.columns.len() as u16 - 1)?;
    }
    Ok(())
}

/// What values of a chart are divided by in a sheet, and the unit that is left.
const fn unit(format: ValueFormat) -> (f64, &'static str) {
    match format {
        ValueFormat::Rate => (1e6, "MB/s"),
        ValueFormat::Bits => (1e6, "Mbit/s"),
        ValueFormat::Iops => (1.0, "IOPS"),
        ValueFormat::Ops => (1.0, "ops/s"),
        ValueFormat::Bytes => (1_048_576.0, "MiB"),
        ValueFormat::Time => (1e6, "ms"),
        ValueFormat::Count => (1.0, ""),
        ValueFormat::Ratio => (1.0, "×"),
        ValueFormat::Share => (0.01, "%"),
    }
}

fn in_unit(title: &str, format: ValueFormat) -> String {
    let unit = unit(format).1;
    if unit.is_empty() { title.to_owned() } else { format!("{title} ({unit})") }
}

fn one_chart(sheet: &mut Worksheet, name: &str, description: &Description) -> Result<(), WorkbookError> {
    sheet.write_string_with_format(0, 0, &description.title, &bold())?;
    sheet.write_string(1, 0, &description.says)?;
    sheet.set_column_width(0, TEXT_COLUMN)?;
    for column in 1..16 {
        sheet.set_column_width(column, 14)?;
    }
    match &description.body {
        Body::Bars(bars) => of_bars(sheet, name, description, bars),
        Body::Forest(forest) => of_forest(sheet, name, description, forest),
        Body::Lines(lines) => of_lines(sheet, name, description, lines),
        Body::Heat(heat) => of_heat(sheet, heat),
        Body::Density(density) => of_heat(sheet, &heat_of(density)),
    }
}

/// Where the numbers of a chart begin.
const TOP: u32 = 3;

/// Digits as a column of numbers shows them.
fn number_format() -> Format {
    Format::new().set_num_format("#,##0.0##")
}

fn write_number(sheet: &mut Worksheet, row: u32, column: u16, value: Option<f64>) -> Result<(), WorkbookError> {
    if let Some(value) = value.filter(|value| value.is_finite()) {
        sheet.write_number_with_format(row, column, value, &number_format())?;
    }
    Ok(())
}

/// Error bars from two columns: how far the interval reaches beyond the value, and below it.
fn error_bars(name: &str, (first, last): (u32, u32), plus: u16) -> ChartErrorBars {
    let range = |column: u16| ChartRange::new_from_range(name, first, column, last, column);
    let mut bars = ChartErrorBars::new();
    bars.set_type(ChartErrorBarsType::Custom(range(plus), range(plus + 1)));
    bars
}

fn of_bars(sheet: &mut Worksheet, name: &str, description: &Description, bars: &Bars) -> Result<(), WorkbookError> {
    let (scale, _) = unit(bars.axis.format);
    let last = TOP + bars.groups.len() as u32;
    let mut chart = Chart::new(ChartType::Bar);
    for (index, group) in bars.groups.iter().enumerate() {
        sheet.write_string(TOP + 1 + index as u32, 0, &group.label)?;
    }
    for (series, title) in bars.series.iter().enumerate() {
        let column = 1 + 3 * series as u16;
        for (offset, head) in [title.as_str(), "95 % above", "95 % below"].into_iter().enumerate() {
            sheet.write_string_with_format(TOP, column + offset as u16, head, &bold())?;
        }
        for (index, group) in bars.groups.iter().enumerate() {
            let row = TOP + 1 + index as u32;
            let Some(bar) = group.bars.iter().find(|bar| bar.series == series) else { continue };
            write_number(sheet, row, column, bar.value.map(|value| value / scale))?;
            if let (Some(value), Some((lo, hi))) = (bar.value, bar.interval) {
                write_number(sheet, row, column + 1, Some((hi - value).max(0.0) / scale))?;
                write_number(sheet, row, column + 2, Some((value - lo).max(0.0) / scale))?;
            }
        }
        if !bars.groups.is_empty() {
            let one = chart.add_series();
            one.set_name((name, TOP, column)).set_categories((name, TOP + 1, 0, last, 0)).set_values((
                name,
                TOP + 1,
                column,
                last,
                column,
            ));
            one.set_x_error_bars(&error_bars(name, (TOP + 1, last), column + 1));
        }
    }
    chart.title().set_name(&description.title);
    // Of lying bars, x is the axis of values.
    chart.x_axis().set_name(&in_unit(&bars.axis.title, bars.axis.format)).set_min(0.0);
    // The first row above.
    chart.y_axis().set_reverse();
    place(sheet, &mut chart, last, &description.alt, bars.groups.len())
}

/// A chart below its numbers, as high as its rows need.
fn place(sheet: &mut Worksheet, chart: &mut Chart, last: u32, alt: &str, rows: usize) -> Result<(), WorkbookError> {
    chart
        .set_width(900)
        .set_height(320 + 24 * rows.min(40) as u32)
        .set_alt_text(alt.chars().take(255).collect::<String>());
    sheet.insert_chart(last + 3, 0, chart)?;
    Ok(())
}

fn of_forest(
    sheet: &mut Worksheet,
    name: &str,
    description: &Description,
    forest: &Forest,
) -> Result<(), WorkbookError> {
    for (column, head) in ["number", "ratio", "95 % above", "95 % below", "height", "verdict"].into_iter().enumerate() {
        sheet.write_string_with_format(TOP, column as u16, head, &bold())?;
    }
    let rows = forest.rows.len();
    for (index, row) in forest.rows.iter().enumerate() {
        let at = TOP + 1 + index as u32;
        sheet.write_string(at, 0, &row.label)?;
        write_number(sheet, at, 1, row.value)?;
        if let (Some(value), Some((lo, hi))) = (row.value, row.interval) {
            write_number(sheet, at, 2, Some((hi - value).max(0.0)))?;
            write_number(sheet, at, 3, Some((value - lo).max(0.0)))?;
        }
        write_number(sheet, at, 4, Some((rows - index) as f64))?;
        sheet.write_string(at, 5, &row.words)?;
    }
    if rows == 0 {
        return Ok(());
    }
    let last = TOP + rows as u32;
    let mut chart = Chart::new(ChartType::Scatter);
    let series = chart.add_series();
    series.set_name("ratio").set_categories((name, TOP + 1, 1, last, 1)).set_values((name, TOP + 1, 4, last, 4));
    series.set_x_error_bars(&error_bars(name, (TOP + 1, last), 2));
    series.set_marker(ChartMarker::new().set_type(ChartMarkerType::Diamond).set_size(9));
    chart.title().set_name(&description.title);
    chart.legend().set_hidden();
    let ends = forest.rows.iter().flat_map(|row| {
        let (lo, hi) = row.interval.unwrap_or((1.0, 1.0));
        [lo, hi, 1.0].into_iter().chain(row.value)
    });
    let (least, most) = ends
        .filter(|end| end.is_finite() && *end > 0.0)
        .fold((1.0, 1.0), |(lo, hi): (f64, f64), end| (lo.min(end), hi.max(end)));
    // Intervals too wide to use leave no room for others.
    let (least, most) = ((least * 0.95).max(0.05), (most * 1.05).min(20.0));
    chart
        .x_axis()
        .set_name(&forest.axis_title)
        .set_min((least * 20.0).floor() / 20.0)
        .set_max((most * 20.0).ceil() / 20.0);
    chart.y_axis().set_name("row of the table, from below").set_min(0.0).set_max(rows as f64 + 1.0);
    place(sheet, &mut chart, last, &description.alt, rows)
}

fn of_lines(sheet: &mut Worksheet, name: &str, description: &Description, lines: &Lines) -> Result<(), WorkbookError> {
    let mut column: u16 = 0;
    let mut charts: Vec<Chart> = Vec::new();
    let mut deepest = TOP;
    let (x_scale, _) = unit(lines.x.format);
    for panel in &lines.panels {
        // An axis of names is one of categories.
        let has_names = !lines.x_names.is_empty();
        let mut chart = Chart::new(if has_names { ChartType::Line } else { ChartType::ScatterStraightWithMarkers });
        let (y_scale, _) = unit(panel.y.format);
        for series in &panel.series {
            let heads = [
                in_unit(&lines.x.title, lines.x.format),
                in_unit(&series.name, panel.y.format),
                "95 % above".to_owned(),
                "95 % below".to_owned(),
            ];
            for (offset, head) in heads.into_iter().enumerate() {
                sheet.write_string_with_format(TOP, column + offset as u16, head, &bold())?;
            }
            let mut has_intervals = false;
            let points =
                if series.shape == SeriesShape::Steps { corners(&series.points) } else { series.points.clone() };
            for (index, point) in points.iter().enumerate() {
                let row = TOP + 1 + index as u32;
                match lines.x_names.get(point.x.round().max(0.0) as usize) {
                    Some(name) => {
                        sheet.write_string(row, column, name)?;
                    }
                    None => write_number(sheet, row, column, Some(point.x / x_scale))?,
                }
                write_number(sheet, row, column + 1, point.y.map(|y| y / y_scale))?;
                if let (Some(y), Some((lo, hi))) = (point.y, point.interval) {
                    has_intervals = true;
                    write_number(sheet, row, column + 2, Some((hi - y).max(0.0) / y_scale))?;
                    write_number(sheet, row, column + 3, Some((y - lo).max(0.0) / y_scale))?;
                }
            }
            let last = TOP + points.len() as u32;
            deepest = deepest.max(last);
            if !points.is_empty() {
                let one = chart.add_series();
                one.set_name(series.name.as_str());
                one.set_categories((name, TOP + 1, column, last, column)).set_values((
                    name,
                    TOP + 1,
                    column + 1,
                    last,
                    column + 1,
                ));
                if has_intervals {
                    one.set_y_error_bars(&error_bars(name, (TOP + 1, last), column + 2));
                }
                if has_names {
                    one.set_marker(ChartMarker::new().set_automatic());
                }
                if points.len() > 60 {
                    one.set_marker(ChartMarker::new().set_none());
                }
                if series.shape == SeriesShape::Points {
                    one.set_format(rust_xlsxwriter::ChartFormat::new().set_no_line());
                }
            }
            column += 5;
        }
        chart.title().set_name(&format!("{}: {}", description.title, panel.y.title));
        chart.x_axis().set_name(&in_unit(&lines.x.title, lines.x.format));
        chart.y_axis().set_name(&in_unit(&panel.y.title, panel.y.format));
        if lines.x.scale == Scale::Log && !has_names {
            chart.x_axis().set_log_base(if lines.x.format == ValueFormat::Time { 10 } else { 2 });
        }
        match panel.y.scale {
            Scale::Log => {
                chart.y_axis().set_log_base(10);
            }
            Scale::FromZero => {
                chart.y_axis().set_min(0.0);
            }
            Scale::Linear | Scale::Nines => {}
        }
        charts.push(chart);
    }
    for (index, chart) in charts.iter_mut().enumerate() {
        chart.set_width(900).set_height(360).set_alt_text(description.alt.chars().take(255).collect::<String>());
        // Numbers may be many: charts stand above none of them, at the side.
        sheet.insert_chart(TOP + 1 + 20 * index as u32, column, chart)?;
    }
    for (index, mark) in lines.marks.iter().enumerate() {
        sheet.write_string(
            deepest + 2 + index as u32,
            0,
            format!("{}: {}", lines.x.format.text(mark.at), mark.label),
        )?;
    }
    Ok(())
}

/// A curve of steps as a line through its corners: Excel has no steps.
fn corners(points: &[Point]) -> Vec<Point> {
    let before = std::iter::once(None).chain(points.iter().map(|point| point.y));
    let corner = |(point, before): (&Point, Option<f64>)| {
        let foot = before.map(|y| Point { y: Some(y), interval: None, ..*point });
        foot.into_iter().chain([*point])
    };
    points.iter().zip(before).flat_map(corner).collect()
}

/// Columns of cells as a table with a row for each range of values, the greatest above.
fn heat_of(density: &Density) -> Heat {
    let mut ranges: Vec<(f64, f64)> = Vec::new();
    for cell in density.columns.iter().flat_map(|column| &column.cells) {
        if !ranges.contains(&(cell.from, cell.to)) {
            ranges.push((cell.from, cell.to));
        }
    }
    short_list::sort_by(&mut ranges, |a, b| b.0.total_cmp(&a.0));
    let value = |column: &DensityColumn, range: &(f64, f64)| {
        column.cells.iter().find(|cell| (cell.from, cell.to) == *range).map(|cell| cell.value)
    };
    Heat {
        x: density.columns.iter().map(|column| density.x.format.text(column.from)).collect(),
        x_title: density.x.title.clone(),
        y: ranges
            .iter()
            .map(|(from, to)| format!("{} – {}", density.y.format.text(*from), density.y.format.text(*to)))
            .collect(),
        y_title: density.y.title.clone(),
        cells: ranges.iter().map(|range| density.columns.iter().map(|column| value(column, range)).collect()).collect(),
        values: density.values,
        values_title: density.values_title.clone(),
        print_values: false,
        edges: Vec::new(),
    }
}

/// Excel has no surface that can be read: a table with colours, as the page has it.
fn of_heat(sheet: &mut Worksheet, heat: &Heat) -> Result<(), WorkbookError> {
    let (scale, _) = unit(heat.values);
    sheet.write_string_with_format(
        TOP,
        0,
        in_unit(&format!("{} \\ {}: {}", heat.y_title, heat.x_title, heat.values_title), heat.values),
        &bold(),
    )?;
    for (column, x) in heat.x.iter().enumerate() {
        sheet.write_string_with_format(TOP, 1 + column as u16, x, &bold())?;
    }
    for (row, cells) in heat.cells.iter().enumerate() {
        let at = TOP + 1 + row as u32;
        sheet.write_string_with_format(at, 0, heat.y.get(row).map_or("", String::as_str), &bold())?;
        for (column, value) in cells.iter().enumerate() {
            write_number(sheet, at, 1 + column as u16, value.map(|value| value / scale))?;
        }
    }
    if !heat.cells.is_empty() && !heat.x.is_empty() {
        let colours = ConditionalFormat2ColorScale::new().set_minimum_color("F7F4DE").set_maximum_color("2C7FAA");
        sheet.add_conditional_format(TOP + 1, 1, TOP + heat.cells.len() as u32, heat.x.len() as u16, &colours)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sheets_are_what_excel_takes() {
        let taken = vec!["Report".to_owned(), "Data".to_owned()];
        assert_eq!(sheet_name("data", &taken), "data 2");
        assert_eq!(sheet_name("a/b [c]: *?", &[]), "a b c");
        assert_eq!(sheet_name("", &[]), "Chart");
        let long = "a title that is longer than a name may be";
        let first = sheet_name(long, &[]);
        assert!(first.chars().count() <= 31);
        let second = sheet_name(long, std::slice::from_ref(&first));
        assert!(second.chars().count() <= 31 && second.ends_with(" 2") && second != first);
    }
}
