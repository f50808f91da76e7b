//! Prints a report as a workbook: its text and tables, a sheet with a native chart for each of its charts, and every
//! number in a tidy sheet. Intervals are error bars, so that readers can change the charts and keep them.

use super::FullReport;
use crate::document::{ReportPart, ReportTable, fact_table};
use crate::table::Align;
use crate::workbook::{
    Area, Intervals, Mark, ROWS_MAX, Series, Sheet, SheetChart, THOUSANDTHS, WorkbookError, axis_title, finish,
    new_book,
};
use plumb_chart::{
    Bars, Body, Chart as Description, Density, DensityColumn, Forest, Format as ValueFormat, Heat, Lines, Panel, Point,
    Scale, SeriesShape, series_colour,
};
use plumb_result::tidy::TidyCell;
use rust_xlsxwriter::{ChartType, ConditionalFormat2ColorScale, Format, FormatAlign, FormatBorder};

/// Width of the first column of the text sheet, in characters.
const TEXT_COLUMN: f64 = 34.0;
/// Number of columns over which a text wraps.
const TEXT_COLUMNS: u16 = 7;

fn plain() -> Format {
    Format::new()
}

fn bold() -> Format {
    Format::new().set_bold()
}

/// Returns the format of long texts, which wrap and start at the top of the cell.
fn wrapped() -> Format {
    Format::new().set_text_wrap().set_align(FormatAlign::Top)
}

/// Returns the format of the numbers of charts.
fn chart_number() -> Format {
    Format::new().set_num_format(THOUSANDTHS)
}

pub(super) fn workbook(report: &FullReport) -> Result<Vec<u8>, WorkbookError> {
    let mut book = new_book();
    page(&mut Sheet::add(&mut book, "Report")?, report)?;
    let mut names: Vec<String> = vec!["Report".to_owned(), "Data".to_owned()];
    for description in report.charts() {
        let name = sheet_name(&description.title, &names);
        one_chart(&mut Sheet::add(&mut book, &name)?, &description)?;
        names.push(name);
    }
    data(&mut Sheet::add(&mut book, "Data")?, report)?;
    finish(book)
}

/// Largest length of a sheet's name in UTF-16 units. Source: Excel's limits.
const NAME_MAX: usize = 31;

/// Returns a valid and unused name for a sheet: at most 31 UTF-16 units, without the characters that Excel forbids.
fn sheet_name(title: &str, taken: &[String]) -> String {
    let allowed =
        |c: char| if c.is_control() || ['[', ']', ':', '*', '?', '/', '\\', '\''].contains(&c) { ' ' } else { c };
    let base: String = title.chars().map(allowed).collect();
    let base = base.split_whitespace().collect::<Vec<_>>().join(" ");
    let base = if base.is_empty() { "Chart".to_owned() } else { base };
    (1..)
        .map(|number: u32| {
            let ending = if number == 1 { String::new() } else { format!(" {number}") };
            let mut units = ending.len();
            let fits = |c: &char| {
                units += c.len_utf16();
                units <= NAME_MAX
            };
            let head: String = base.chars().take_while(fits).collect();
            format!("{}{ending}", head.trim_end())
        })
        .find(|name| !taken.iter().any(|known| known.to_lowercase() == name.to_lowercase()))
        .unwrap_or(base)
}

/// Writes the report's text and tables. Texts never become formulas.
fn page(sheet: &mut Sheet<'_>, report: &FullReport) -> Result<(), WorkbookError> {
    let strong = wrapped().set_bold();
    let weak = wrapped();
    sheet.widths(0, 0, TEXT_COLUMN)?;
    sheet.widths(1, 11, 16.0)?;
    sheet.text(0, 0, &report.title, &bold().set_font_size(16))?;
    let mut row: u32 = 2;
    for (index, part) in report.parts.iter().enumerate() {
        match part {
            // Charts have separate sheets.
            ReportPart::Heading(_) if matches!(report.parts.get(index + 1), Some(ReportPart::Chart(_))) => {}
            ReportPart::Heading(text) => {
                sheet.text(row + 1, 0, text, &bold().set_font_size(13))?;
                row += 2;
            }
            ReportPart::Text(_, text) if text.is_empty() => {}
            ReportPart::Text(crate::style::Ink::Strong, text) => paragraph(sheet, &mut row, text, &strong)?,
            ReportPart::Text(_, text) => paragraph(sheet, &mut row, text, &weak)?,
            ReportPart::List(items) => {
                for item in items {
                    let text = format!("{} {}", item.head.trim(), item.text);
                    paragraph(sheet, &mut row, text.trim_start(), &weak)?;
                }
            }
            ReportPart::Table(table) => one_table(sheet, &mut row, table)?,
            ReportPart::Facts(facts) => one_table(sheet, &mut row, &fact_table(facts))?,
            ReportPart::Chart(_) => {}
        }
    }
    let numbers = report.numbers.rows.len();
    if numbers > NUMBERS_MAX {
        let text = format!(
            "The sheet of data has the first {NUMBERS_MAX} of {numbers} numbers: a sheet holds no more. CSV has all."
        );
        paragraph(sheet, &mut row, &text, &strong)?;
    }
    Ok(())
}

fn paragraph(sheet: &mut Sheet<'_>, row: &mut u32, text: &str, format: &Format) -> Result<(), WorkbookError> {
    sheet.merged_text(*row, (0, TEXT_COLUMNS), text, format)?;
    // The height of a merged cell does not adjust automatically.
    let wide = TEXT_COLUMN + f64::from(TEXT_COLUMNS) * 16.0;
    let lines = (text.chars().count() as f64 / wide).ceil().max(1.0);
    sheet.height(*row, 15.0 * lines)?;
    *row += 1;
    Ok(())
}

fn one_table(sheet: &mut Sheet<'_>, row: &mut u32, table: &ReportTable) -> Result<(), WorkbookError> {
    let head_format = bold().set_border_bottom(FormatBorder::Thin);
    let (left, right) = (plain(), plain().set_align(FormatAlign::Right));
    for (column, head) in (0..).zip(&table.columns) {
        sheet.text(*row, column, &head.title, &head_format)?;
    }
    for cells in &table.rows {
        *row += 1;
        for (column, cell) in cells.iter().enumerate() {
            let is_right = table.columns.get(column).is_some_and(|head| head.align == Align::Right);
            sheet.text(*row, column as u16, cell, if is_right { &right } else { &left })?;
        }
    }
    *row += 2;
    Ok(())
}

/// Largest number of rows in the data sheet, whose first row is the heading.
const NUMBERS_MAX: usize = ROWS_MAX as usize - 1;

/// Writes every number in a row, so that spreadsheets can filter and pivot them.
fn data(sheet: &mut Sheet<'_>, report: &FullReport) -> Result<(), WorkbookError> {
    let format = plain();
    sheet.freeze(1, 0)?;
    let table = &report.numbers;
    for (column, name) in (0..).zip(&table.columns) {
        sheet.text(0, column, name, &bold())?;
        sheet.widths(column, column, name.len().max(14) as f64)?;
    }
    for (row, cells) in (1..).zip(table.rows.iter().take(NUMBERS_MAX)) {
        for (column, cell) in (0..).zip(cells) {
            match cell {
                TidyCell::Missing => {}
                TidyCell::Number(number) => sheet.number(row, column, *number, &format)?,
                TidyCell::Text(text) => sheet.text(row, column, text, &format)?,
            }
        }
    }
    if !table.columns.is_empty() && !table.rows.is_empty() {
        let last = (table.rows.len().min(NUMBERS_MAX) as u32, table.columns.len() as u16 - 1);
        sheet.filter(Area { first: (0, 0), last })?;
    }
    Ok(())
}

/// Returns the divisor for values of a chart in a sheet, and the resulting unit.
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

fn one_chart(sheet: &mut Sheet<'_>, description: &Description) -> Result<(), WorkbookError> {
    sheet.text(0, 0, &description.title, &bold())?;
    sheet.text(1, 0, &description.caption, &plain())?;
    sheet.widths(0, 0, TEXT_COLUMN)?;
    sheet.widths(1, 15, 14.0)?;
    match &description.body {
        Body::Bars(bars) => write_bars(sheet, description, bars)?,
        Body::Forest(forest) => write_forest(sheet, description, forest)?,
        Body::Lines(lines) => write_lines(sheet, description, lines)?,
        Body::Heat(heat) => write_heat(sheet, heat)?,
        Body::Density(density) => write_heat(sheet, &heat_of(density))?,
    }
    // Print the chart and its numbers on one page. Numbers of hundreds of rows would be too small on one page.
    if rows(&description.body) <= ROWS_OF_A_PAGE {
        sheet.print(1, 0)?;
    }
    Ok(())
}

/// Largest number of rows that fit on a printed page together with a chart.
const ROWS_OF_A_PAGE: usize = 80;

/// Returns the number of rows of a chart's numbers.
fn rows(body: &Body) -> usize {
    match body {
        Body::Bars(bars) => bars.groups.len(),
        Body::Forest(forest) => forest.rows.len(),
        Body::Lines(lines) => {
            lines.panels.iter().flat_map(|panel| &panel.series).map(|series| series.points.len()).max().unwrap_or(0)
        }
        Body::Heat(heat) => heat.cells.len(),
        Body::Density(_) => 0,
    }
}

/// Row where the numbers of a chart begin.
const TOP: u32 = 3;
/// First row below the headings.
const FIRST: u32 = TOP + 1;

fn number(sheet: &mut Sheet<'_>, row: u32, column: u16, value: Option<f64>) -> Result<(), WorkbookError> {
    match value.filter(|value| value.is_finite()) {
        Some(value) => sheet.number(row, column, value, &chart_number()),
        None => Ok(()),
    }
}

/// Writes the distances of an interval's ends from its value, above and below, into two columns.
fn interval(
    sheet: &mut Sheet<'_>,
    row: u32,
    column: u16,
    value: f64,
    (lo, hi): (f64, f64),
    scale: f64,
) -> Result<(), WorkbookError> {
    number(sheet, row, column, Some((hi - value).max(0.0) / scale))?;
    number(sheet, row, column + 1, Some((value - lo).max(0.0) / scale))
}

/// Returns error bars from two such columns.
const fn intervals(above: u16, last_row: u32, are_of_categories: bool) -> Intervals {
    Intervals {
        are_of_categories,
        above: Area::of_column(above, FIRST, last_row),
        below: Area::of_column(above + 1, FIRST, last_row),
    }
}

/// Creates a chart without series, whose height fits its rows.
fn empty_chart(kind: ChartType, description: &Description, rows: usize) -> SheetChart {
    SheetChart::new(kind, &description.title, &description.alt, (900, 320 + 24 * rows.min(40) as u32))
}

fn write_bars(sheet: &mut Sheet<'_>, description: &Description, bars: &Bars) -> Result<(), WorkbookError> {
    let (scale, _) = unit(bars.axis.format);
    let last = TOP + bars.groups.len() as u32;
    let mut chart = empty_chart(ChartType::Bar, description, bars.groups.len());
    for (row, group) in (FIRST..).zip(&bars.groups) {
        sheet.text(row, 0, &group.label, &plain())?;
    }
    for (series, title) in bars.series.iter().enumerate() {
        let column = 1 + 3 * series as u16;
        for (column, head) in (column..).zip([title.as_str(), "95 % above", "95 % below"]) {
            sheet.text(TOP, column, head, &bold())?;
        }
        for (row, group) in (FIRST..).zip(&bars.groups) {
            let Some(bar) = group.bars.iter().find(|bar| bar.series == series) else { continue };
            number(sheet, row, column, bar.value.map(|value| value / scale))?;
            if let (Some(value), Some(ends)) = (bar.value, bar.interval) {
                interval(sheet, row, column + 1, value, ends, scale)?;
            }
        }
        if !bars.groups.is_empty() {
            let one = Series {
                name: title,
                colour: series_colour(series),
                categories: Area::of_column(0, FIRST, last),
                values: Area::of_column(column, FIRST, last),
                intervals: Some(intervals(column + 1, last, false)),
                mark: Mark::Bar,
            };
            chart.add(sheet, &one);
        }
    }
    axis_title(chart.values(), &in_unit(&bars.axis.title, bars.axis.format));
    chart.values().set_min(0.0);
    sheet.chart(last + 3, 0, chart)
}

fn write_forest(sheet: &mut Sheet<'_>, description: &Description, forest: &Forest) -> Result<(), WorkbookError> {
    for (column, head) in (0..).zip(["number", "ratio", "95 % above", "95 % below", "height", "verdict"]) {
        sheet.text(TOP, column, head, &bold())?;
    }
    let rows = forest.rows.len();
    for (index, row) in forest.rows.iter().enumerate() {
        let at = FIRST + index as u32;
        sheet.text(at, 0, &row.label, &plain())?;
        number(sheet, at, 1, row.value)?;
        if let (Some(value), Some(ends)) = (row.value, row.interval) {
            interval(sheet, at, 2, value, ends, 1.0)?;
        }
        number(sheet, at, 4, Some((rows - index) as f64))?;
        sheet.text(at, 5, &row.words, &plain())?;
    }
    if rows == 0 {
        return Ok(());
    }
    let last = TOP + rows as u32;
    let ends = forest.rows.iter().flat_map(|row| {
        let (lo, hi) = row.interval.unwrap_or((1.0, 1.0));
        [lo, hi, 1.0].into_iter().chain(row.value)
    });
    let (least, most) = ends
        .filter(|end| end.is_finite() && *end > 0.0)
        .fold((1.0, 1.0), |(lo, hi): (f64, f64), end| (lo.min(end), hi.max(end)));
    // Intervals that are too wide to use would leave no room for others.
    let (least, most) = ((least * 0.95).max(0.05), (most * 1.05).min(20.0));
    let mut chart = empty_chart(ChartType::ScatterStraight, description, rows);
    axis_title(chart.categories(), &forest.axis_title);
    chart.categories().set_min((least * 20.0).floor() / 20.0).set_max((most * 20.0).ceil() / 20.0);
    axis_title(chart.values(), "row of the table, from below");
    chart.values().set_min(0.0).set_max(rows as f64 + 1.0);
    chart.hide_legend();
    let ratios = Series {
        name: "ratio",
        colour: series_colour(0),
        categories: Area::of_column(1, FIRST, last),
        values: Area::of_column(4, FIRST, last),
        intervals: Some(intervals(2, last, true)),
        mark: Mark::Diamond,
    };
    chart.add(sheet, &ratios);
    sheet.chart(last + 3, 0, chart)
}

fn write_lines(sheet: &mut Sheet<'_>, description: &Description, lines: &Lines) -> Result<(), WorkbookError> {
    let mut column: u16 = 0;
    let mut deepest = TOP;
    let mut charts: Vec<SheetChart> = Vec::new();
    for panel in &lines.panels {
        let mut chart = panel_chart(description, lines, panel);
        let mut drawn = 0;
        for one in &panel.series {
            let points = if one.shape == SeriesShape::Steps { corners(&one.points) } else { one.points.clone() };
            let has_intervals = columns_of(sheet, column, lines, panel, &one.name, &points)?;
            let last = TOP + points.len() as u32;
            deepest = deepest.max(last);
            if !points.is_empty() {
                let series = Series {
                    name: &one.name,
                    colour: series_colour(drawn),
                    categories: Area::of_column(column, FIRST, last),
                    values: Area::of_column(column + 1, FIRST, last),
                    intervals: has_intervals.then(|| intervals(column + 2, last, false)),
                    mark: match one.shape {
                        SeriesShape::Points => Mark::Disc,
                        _ if points.len() > 60 => Mark::Line,
                        _ => Mark::LineWithDiscs,
                    },
                };
                chart.add(sheet, &series);
                drawn += 1;
            }
            column += 5;
        }
        charts.push(chart);
    }
    for (index, chart) in (0..).zip(charts) {
        // There may be many numbers, so charts are placed at their side rather than above them.
        sheet.chart(FIRST + 20 * index, column, chart)?;
    }
    for (row, mark) in (deepest + 2..).zip(&lines.marks) {
        sheet.text(row, 0, &format!("{}: {}", lines.x.format.text(mark.at), mark.label), &plain())?;
    }
    Ok(())
}

/// Creates the chart of a panel, without series.
fn panel_chart(description: &Description, lines: &Lines, panel: &Panel) -> SheetChart {
    // An axis of names is an axis of categories.
    let has_names = !lines.x_names.is_empty();
    let kind = if has_names { ChartType::Line } else { ChartType::ScatterStraight };
    let title = format!("{}: {}", description.title, panel.y.title);
    let mut chart = SheetChart::new(kind, &title, &description.alt, (900, 360));
    axis_title(chart.categories(), &in_unit(&lines.x.title, lines.x.format));
    if lines.x.scale == Scale::Log && !has_names {
        chart.categories().set_log_base(if lines.x.format == ValueFormat::Time { 10 } else { 2 });
    }
    axis_title(chart.values(), &in_unit(&panel.y.title, panel.y.format));
    if panel.y.scale == Scale::Log {
        chart.values().set_log_base(10);
    } else if panel.y.scale == Scale::FromZero {
        chart.values().set_min(0.0);
    }
    chart
}

/// Writes the numbers of a curve into four columns. Returns `true` if some have intervals.
fn columns_of(
    sheet: &mut Sheet<'_>,
    column: u16,
    lines: &Lines,
    panel: &Panel,
    name: &str,
    points: &[Point],
) -> Result<bool, WorkbookError> {
    let ((x_scale, _), (y_scale, _)) = (unit(lines.x.format), unit(panel.y.format));
    let heads =
        [&*in_unit(&lines.x.title, lines.x.format), &*in_unit(name, panel.y.format), "95 % above", "95 % below"];
    for (column, head) in (column..).zip(heads) {
        sheet.text(TOP, column, head, &bold())?;
    }
    let mut has_intervals = false;
    for (row, point) in (FIRST..).zip(points) {
        match lines.x_names.get(point.x.round().max(0.0) as usize) {
            Some(name) => sheet.text(row, column, name, &plain())?,
            None => number(sheet, row, column, Some(point.x / x_scale))?,
        }
        number(sheet, row, column + 1, point.y.map(|y| y / y_scale))?;
        if let (Some(y), Some(ends)) = (point.y, point.interval) {
            has_intervals = true;
            interval(sheet, row, column + 2, y, ends, y_scale)?;
        }
    }
    Ok(has_intervals)
}

/// Converts a step curve to a line through its corners, because Excel has no step charts.
fn corners(points: &[Point]) -> Vec<Point> {
    let before = std::iter::once(None).chain(points.iter().map(|point| point.y));
    let corner = |(point, before): (&Point, Option<f64>)| {
        let foot = before.map(|y| Point { y: Some(y), interval: None, ..*point });
        foot.into_iter().chain([*point])
    };
    points.iter().zip(before).flat_map(corner).collect()
}

/// Converts columns of cells to a table with a row for each range of values, largest on top.
fn heat_of(density: &Density) -> Heat {
    let mut ranges: Vec<(f64, f64)> = Vec::new();
    for cell in density.columns.iter().flat_map(|column| &column.cells) {
        if !ranges.contains(&(cell.from, cell.to)) {
            ranges.push((cell.from, cell.to));
        }
    }
    ranges.sort_by(|a, b| b.0.total_cmp(&a.0));
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

/// Writes a coloured table as on the page, because Excel's surface charts are unreadable.
fn write_heat(sheet: &mut Sheet<'_>, heat: &Heat) -> Result<(), WorkbookError> {
    let (scale, _) = unit(heat.values);
    let head = format!("{} \\ {}: {}", heat.y_title, heat.x_title, heat.values_title);
    sheet.text(TOP, 0, &in_unit(&head, heat.values), &bold())?;
    for (column, x) in (1..).zip(&heat.x) {
        sheet.text(TOP, column, x, &bold())?;
    }
    for (row, cells) in heat.cells.iter().enumerate() {
        let at = FIRST + row as u32;
        sheet.text(at, 0, heat.y.get(row).map_or("", String::as_str), &bold())?;
        for (column, value) in (1..).zip(cells) {
            number(sheet, at, column, value.map(|value| value / scale))?;
        }
    }
    if !heat.cells.is_empty() && !heat.x.is_empty() {
        let last = (TOP + heat.cells.len() as u32, heat.x.len() as u16);
        let colours = ConditionalFormat2ColorScale::new().set_minimum_color("#F7F4DE").set_maximum_color("#2C7FAA");
        sheet.colour_scale(Area { first: (FIRST, 1), last }, &colours)?;
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
