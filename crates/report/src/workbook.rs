//! Workbooks over `rust_xlsxwriter`: cells whose errors name their place, and charts in one style.

use plumb_text::visible::visible_letters;
use rust_xlsxwriter::utility::row_col_to_cell;
use rust_xlsxwriter::{
    Chart, ChartAxis, ChartAxisCrossing, ChartAxisLabelPosition, ChartAxisTickType, ChartErrorBars, ChartErrorBarsType,
    ChartFont, ChartFormat, ChartLegendPosition, ChartLine, ChartLineDashType, ChartMarker, ChartMarkerType,
    ChartRange, ChartSolidFill, ChartType, DocProperties, ExcelDateTime, Format, Workbook, Worksheet, XlsxError,
};

/// Largest number of rows in a sheet. Source: Excel's limits.
pub const ROWS_MAX: u32 = 1_048_576;
/// Largest height of a row, in points. Source: Excel's limits.
const ROW_HEIGHT_MAX: f64 = 409.0;
/// Longest text alternative of a chart, in UTF-16 units. Source: Excel's limits.
const ALT_TEXT_MAX: usize = 255;
/// Paper size of A4 in a sheet's page set-up.
const A4: u8 = 9;

/// Format of numbers such as `12,345`.
pub const WHOLE: &str = "#,##0";
/// Format of numbers such as `12,345.6`.
pub const TENTHS: &str = "#,##0.0";
/// Format of numbers such as `12,345.678`, with at least one decimal.
pub(crate) const THOUSANDTHS: &str = "#,##0.0##";

/// Error from writing a workbook.
#[derive(Debug, thiserror::Error)]
pub enum WorkbookError {
    /// A cell is outside the sheet, or its text is too long.
    #[error("the workbook cannot be written: cell {cell} of sheet `{sheet}`: {cause} CSV has no such limits")]
    Cell {
        /// Name of the sheet in the workbook.
        sheet: String,
        /// Cell, such as `B4`.
        cell: String,
        /// The library's reason for rejecting it.
        cause: XlsxError,
    },
    /// Another part of a sheet is invalid: its name, a chart, a range of rows.
    #[error("the workbook cannot be written: sheet `{sheet}`: {cause}")]
    Sheet {
        /// Name of the sheet in the workbook.
        sheet: String,
        /// The library's reason for rejecting it.
        cause: XlsxError,
    },
    /// The file as a whole cannot be written.
    #[error("the workbook cannot be written: {0}")]
    File(XlsxError),
}

/// Rectangle of cells, including both corners. Rows and columns begin at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// Row and column of the upper left cell.
    pub first: (u32, u16),
    /// Row and column of the lower right cell.
    pub last: (u32, u16),
}

impl Area {
    /// Returns the cells of a column from one row to another.
    pub const fn of_column(column: u16, first_row: u32, last_row: u32) -> Area {
        Area { first: (first_row, column), last: (last_row, column) }
    }
}

/// Returns an empty workbook. Equal cells give equal bytes: the creation date is the earliest that ZIP archives can represent.
pub fn new_book() -> Workbook {
    let mut book = Workbook::new();
    if let Ok(created) = ExcelDateTime::from_ymd(1980, 1, 1) {
        book.set_properties(&DocProperties::new().set_creation_datetime(&created));
    }
    book
}

/// Returns the bytes of the file.
///
/// # Errors
/// Returns an error if two sheets have the same name, or a ZIP archive cannot hold the file.
pub fn finish(mut book: Workbook) -> Result<Vec<u8>, WorkbookError> {
    book.save_to_buffer().map_err(WorkbookError::File)
}

/// A sheet to which cells and charts are added.
pub struct Sheet<'a> {
    sheet: &'a mut Worksheet,
    name: String,
}

impl<'a> Sheet<'a> {
    /// Adds a sheet after the others, printed on A4, landscape, one page wide.
    ///
    /// # Errors
    /// Returns an error for names that spreadsheets reject.
    pub fn add(book: &'a mut Workbook, name: &str) -> Result<Sheet<'a>, WorkbookError> {
        let sheet = book.add_worksheet();
        sheet
            .set_name(name)
            .map_err(|cause| WorkbookError::Sheet { sheet: name.to_owned(), cause })?
            .set_paper_size(A4)
            .set_landscape()
            .set_print_fit_to_pages(1, 0);
        Ok(Sheet { sheet, name: name.to_owned() })
    }

    /// Writes a text, which never becomes a formula.
    ///
    /// # Errors
    /// Returns an error for cells outside the sheet, and for texts longer than 32,767 UTF-16 units.
    pub fn text(&mut self, row: u32, column: u16, text: &str, format: &Format) -> Result<(), WorkbookError> {
        let written = self.sheet.write_string_with_format(row, column, text, format).map(|_| ());
        self.located(row, column, written)
    }

    /// Writes a number, or its text if it is not finite.
    ///
    /// # Errors
    /// Returns an error for cells outside the sheet.
    pub fn number(&mut self, row: u32, column: u16, number: f64, format: &Format) -> Result<(), WorkbookError> {
        if !number.is_finite() {
            return self.text(row, column, &number.to_string(), format);
        }
        let written = self.sheet.write_number_with_format(row, column, number, format).map(|_| ());
        self.located(row, column, written)
    }

    /// Formats a cell and leaves it empty.
    ///
    /// # Errors
    /// Returns an error for cells outside the sheet.
    pub fn blank(&mut self, row: u32, column: u16, format: &Format) -> Result<(), WorkbookError> {
        let written = self.sheet.write_blank(row, column, format).map(|_| ());
        self.located(row, column, written)
    }

    /// Writes a text into cells of a row, which are merged into one.
    ///
    /// # Errors
    /// Returns an error for cells outside the sheet, and for texts that are too long.
    pub(crate) fn merged_text(
        &mut self,
        row: u32,
        columns: (u16, u16),
        text: &str,
        format: &Format,
    ) -> Result<(), WorkbookError> {
        let written = self.sheet.merge_range(row, columns.0, row, columns.1, text, format).map(|_| ());
        self.located(row, columns.0, written)
    }

    /// Sets the width of columns, from the first to the last, in characters.
    ///
    /// # Errors
    /// Returns an error for columns outside the sheet.
    pub fn widths(&mut self, first: u16, last: u16, characters: f64) -> Result<(), WorkbookError> {
        let set = self.sheet.set_column_range_width(first, last, characters).map(|_| ());
        self.named(set)
    }

    /// Sets the height of a row, in points.
    ///
    /// # Errors
    /// Returns an error for rows outside the sheet.
    pub fn height(&mut self, row: u32, points: f64) -> Result<(), WorkbookError> {
        let set = self.sheet.set_row_height(row, points.min(ROW_HEIGHT_MAX)).map(|_| ());
        self.named(set)
    }

    /// Keeps the first rows and columns visible while scrolling.
    ///
    /// # Errors
    /// Returns an error for cells outside the sheet.
    pub fn freeze(&mut self, rows: u32, columns: u16) -> Result<(), WorkbookError> {
        let set = self.sheet.set_freeze_panes(rows, columns).map(|_| ());
        self.named(set)
    }

    /// Adds filters to a table whose first row is its heading.
    ///
    /// # Errors
    /// Returns an error for cells outside the sheet.
    pub fn filter(&mut self, area: Area) -> Result<(), WorkbookError> {
        let set = self.sheet.autofilter(area.first.0, area.first.1, area.last.0, area.last.1).map(|_| ());
        self.named(set)
    }

    /// Sets the height of a print in pages (0 for as many as needed), and the number of first rows that each page repeats.
    ///
    /// # Errors
    /// Returns an error for rows outside the sheet.
    pub fn print(&mut self, pages_high: u16, repeated_rows: u32) -> Result<(), WorkbookError> {
        self.sheet.set_print_fit_to_pages(1, pages_high);
        let set = match repeated_rows.checked_sub(1) {
            Some(last) => self.sheet.set_repeat_rows(0, last).map(|_| ()),
            None => Ok(()),
        };
        self.named(set)
    }

    /// Colours the numbers of an area.
    ///
    /// # Errors
    /// Returns an error for cells outside the sheet.
    pub fn colour_scale(
        &mut self,
        area: Area,
        scale: &(impl rust_xlsxwriter::ConditionalFormat + Send + Sync),
    ) -> Result<(), WorkbookError> {
        let (first, last) = (area.first, area.last);
        let set = self.sheet.add_conditional_format(first.0, first.1, last.0, last.1, scale).map(|_| ());
        self.named(set)
    }

    /// Places a chart with its upper left corner at a cell. A chart without series is left
    /// out, because spreadsheets reject it.
    ///
    /// # Errors
    /// Returns an error for cells outside the sheet.
    pub fn chart(&mut self, row: u32, column: u16, chart: SheetChart) -> Result<(), WorkbookError> {
        if chart.colours.is_empty() {
            return Ok(());
        }
        let set = self.sheet.insert_chart(row, column, &chart.chart).map(|_| ());
        self.named(set)
    }

    /// Returns an area of this sheet, for a chart.
    pub fn range(&self, area: Area) -> ChartRange {
        ChartRange::new_from_range(&self.name, area.first.0, area.first.1, area.last.0, area.last.1)
    }

    fn located(&self, row: u32, column: u16, result: Result<(), XlsxError>) -> Result<(), WorkbookError> {
        // The library counts columns from 1 in 16 bits.
        let cell = || row_col_to_cell(row, column.min(u16::MAX - 1));
        result.map_err(|cause| WorkbookError::Cell { sheet: self.name.clone(), cell: cell(), cause })
    }

    fn named(&self, result: Result<(), XlsxError>) -> Result<(), WorkbookError> {
        result.map_err(|cause| WorkbookError::Sheet { sheet: self.name.clone(), cause })
    }
}

/// One set of values of a chart.
#[derive(Debug)]
pub struct Series<'a> {
    /// Name that the legend shows.
    pub name: &'a str,
    /// Colour as `#RRGGBB`. A line in the colour of an earlier one is dashed.
    pub colour: &'static str,
    /// Cells of the categories, or of a scatter chart's horizontal positions.
    pub categories: Area,
    /// Cells with the values themselves.
    pub values: Area,
    /// Intervals around the values, if any.
    pub intervals: Option<Intervals>,
    /// Marks that draw the values.
    pub mark: Mark,
}

/// Marks that draw the values of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Bars, in a chart of bars or columns.
    Bar,
    /// A line through all points.
    Line,
    /// Small discs on a line.
    LineWithDiscs,
    /// Small discs without a line.
    Disc,
    /// Large diamonds without a line.
    Diamond,
}

/// Intervals from cells: the distances from each point to its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intervals {
    /// Whether they extend along the categories of a scatter chart instead of along the values.
    pub are_of_categories: bool,
    /// Cells with the distance from the point to the upper end.
    pub above: Area,
    /// Cells with the distance from the point to the lower end.
    pub below: Area,
}

/// A native chart under construction.
pub struct SheetChart {
    chart: Chart,
    kind: ChartType,
    colours: Vec<&'static str>,
}

impl SheetChart {
    /// Returns a chart without series, of a size in pixels at 96 dpi.
    pub fn new(kind: ChartType, title: &str, alt_text: &str, (width_px, height_px): (u32, u32)) -> SheetChart {
        let mut chart = Chart::new(kind);
        chart.set_width(width_px).set_height(height_px).set_alt_text(described(alt_text));
        chart.title().set_name(&literal(title)).set_font(ChartFont::new().set_size(14).set_bold());
        let mut chart = SheetChart { chart, kind, colours: Vec::new() };
        let lies = kind == ChartType::Bar;
        let mut line = ChartLine::new();
        line.set_color("#808080").set_width(0.75);
        chart
            .categories()
            .set_format(&mut line)
            .set_major_gridlines(false)
            .set_major_tick_type(ChartAxisTickType::Outside)
            .set_label_position(ChartAxisLabelPosition::Low)
            // The library applies this position to the other axis. If the first bar is at the top, the last
            // one is at that axis.
            .set_crossing(if lies { ChartAxisCrossing::Max } else { ChartAxisCrossing::Min });
        if lies {
            chart.categories().set_reverse();
        }
        chart
            .values()
            .set_format(&mut line)
            .set_major_gridlines(true)
            .set_major_gridlines_line(ChartLine::new().set_color("#D9D9D9").set_width(0.5))
            .set_major_tick_type(ChartAxisTickType::Outside)
            .set_label_position(if lies { ChartAxisLabelPosition::High } else { ChartAxisLabelPosition::Low })
            .set_crossing(ChartAxisCrossing::Min);
        chart
    }

    /// Returns the axis of categories; of a scatter chart, the horizontal one.
    pub fn categories(&mut self) -> &mut ChartAxis {
        if self.kind == ChartType::Bar { self.chart.y_axis() } else { self.chart.x_axis() }
    }

    /// Returns the axis of values.
    pub fn values(&mut self) -> &mut ChartAxis {
        if self.kind == ChartType::Bar { self.chart.x_axis() } else { self.chart.y_axis() }
    }

    /// Draws the chart without a legend.
    pub(crate) fn hide_legend(&mut self) {
        self.chart.legend().set_hidden();
    }

    /// Moves the legend from the right to below the chart.
    pub fn legend_below(&mut self) {
        self.chart.legend().set_position(ChartLegendPosition::Bottom);
    }

    /// Adds a set of values from cells of the sheet.
    pub fn add(&mut self, sheet: &Sheet<'_>, series: &Series<'_>) {
        let is_again = self.colours.contains(&series.colour);
        let intervals = series.intervals.map(|intervals| {
            let mut bars = ChartErrorBars::new();
            bars.set_type(ChartErrorBarsType::Custom(sheet.range(intervals.above), sheet.range(intervals.below)))
                .set_format(ChartLine::new().set_color("#404040").set_width(0.75));
            // Horizontal bars have their values along the horizontal axis.
            (bars, intervals.are_of_categories != (self.kind == ChartType::Bar))
        });
        let one = self.chart.add_series();
        one.set_name(&literal(series.name))
            .set_categories(&sheet.range(series.categories))
            .set_values(&sheet.range(series.values));
        if series.mark == Mark::Bar {
            one.set_format(ChartSolidFill::new().set_color(series.colour)).set_gap(60);
        } else {
            one.set_format(&mut line_format(series, is_again)).set_marker(&marker(series));
        }
        if let Some((bars, are_horizontal)) = intervals {
            if are_horizontal {
                one.set_x_error_bars(&bars)
            } else {
                one.set_y_error_bars(&bars)
            };
        }
        self.colours.push(series.colour);
    }
}

/// Sets the text at an axis; an empty one is left out.
pub fn axis_title(axis: &mut ChartAxis, title: &str) {
    if !title.is_empty() {
        axis.set_name(&literal(title)).set_name_font(ChartFont::new().set_size(10).set_bold());
    }
}

fn line_format(series: &Series<'_>, is_again: bool) -> ChartFormat {
    let mut format = ChartFormat::new();
    if matches!(series.mark, Mark::Line | Mark::LineWithDiscs) {
        let dashes = if is_again { ChartLineDashType::Dash } else { ChartLineDashType::Solid };
        format.set_line(ChartLine::new().set_color(series.colour).set_width(1.5).set_dash_type(dashes));
    } else {
        format.set_no_line();
    }
    format
}

fn marker(series: &Series<'_>) -> ChartMarker {
    let mut marker = ChartMarker::new();
    let (form, points) = match series.mark {
        Mark::Bar | Mark::Line => {
            marker.set_none();
            return marker;
        }
        Mark::LineWithDiscs | Mark::Disc => (ChartMarkerType::Circle, 5),
        Mark::Diamond => (ChartMarkerType::Diamond, 9),
    };
    let mut format = ChartFormat::new();
    format
        .set_solid_fill(ChartSolidFill::new().set_color(series.colour))
        .set_line(ChartLine::new().set_color(series.colour).set_width(0.75));
    marker.set_type(form).set_size(points).set_format(&mut format);
    marker
}

/// Returns a title that the library does not mistake for cells: it parses `a!B1` and `=(…)` as references. Invisible
/// spaces at both ends prevent this.
fn literal(text: &str) -> String {
    let text = visible_letters(text);
    if text.contains('!') || text.starts_with('=') { format!(" {text} ") } else { text.into_owned() }
}

/// Shortens a description to the length that a chart can hold. The library writes it into an attribute, where XML
/// does not allow control characters.
fn described(text: &str) -> String {
    let text = visible_letters(text);
    let mut units = 0;
    let fits = |c: &char| {
        units += c.len_utf16();
        units <= ALT_TEXT_MAX
    };
    text.chars().take_while(fits).collect()
}

#[cfg(test)]
mod tests;
