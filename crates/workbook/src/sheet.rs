//! A sheet: its cells, and what belongs to them.

use crate::chart::Chart;
use crate::part::Part;
use crate::style::{Style, Styles};

/// Rows of a sheet. Source: Excel's limits.
pub const ROWS_MAX: u32 = 1_048_576;
/// Columns of a sheet. Source: Excel's limits.
pub const COLUMNS_MAX: u16 = 16_384;
/// Characters of a cell, in UTF-16 units. Source: Excel's limits.
pub const TEXT_MAX: usize = 32_767;

/// A rectangle of cells, both corners in it. Rows and columns begin at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// The row and column of the upper left cell.
    pub first: (u32, u16),
    /// The row and column of the lower right cell.
    pub last: (u32, u16),
}

impl Area {
    /// The cells of a column from one row to another.
    pub const fn of_column(column: u16, first_row: u32, last_row: u32) -> Area {
        Area { first: (first_row, column), last: (last_row, column) }
    }

    /// `A1:B2`.
    pub(crate) fn name(self) -> String {
        format!("{}:{}", cell_name(self.first.0, self.first.1), cell_name(self.last.0, self.last.1))
    }

    /// `$A$1:$B$2`.
    pub(crate) fn fixed_name(self) -> String {
        let corner = |(row, column): (u32, u16)| format!("${}${}", letters(column), row + 1);
        format!("{}:{}", corner(self.first), corner(self.last))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Blank,
    Number(f64),
    Text(Box<str>),
}

#[derive(Debug)]
struct Cell {
    column: u16,
    style: Style,
    value: Value,
}

/// A sheet of a workbook. Of two values for one cell the later one stays.
#[derive(Debug)]
pub struct Sheet {
    pub(crate) name: String,
    rows: Vec<Vec<Cell>>,
    heights: Vec<(u32, f64)>,
    widths: Vec<(u16, u16, f64)>,
    merged: Vec<Area>,
    colours: Vec<(Area, &'static [&'static str])>,
    frozen: (u32, u16),
    pub(crate) filter: Option<Area>,
    pages_high: u16,
    pub(crate) repeated_rows: u32,
    pub(crate) charts: Vec<(u32, u16, Chart)>,
}

impl Sheet {
    pub(crate) fn new(name: &str) -> Sheet {
        Sheet {
            name: name.to_owned(),
            rows: Vec::new(),
            heights: Vec::new(),
            widths: Vec::new(),
            merged: Vec::new(),
            colours: Vec::new(),
            frozen: (0, 0),
            filter: None,
            pages_high: 0,
            repeated_rows: 0,
            charts: Vec::new(),
        }
    }

    fn put(&mut self, row: u32, column: u16, style: Style, value: Value) {
        // A row beyond the limit is found when the workbook is written: it keeps one place.
        let row = row.min(ROWS_MAX) as usize;
        if self.rows.len() <= row {
            self.rows.resize_with(row + 1, Vec::new);
        }
        let Some(cells) = self.rows.get_mut(row) else { return };
        let cell = Cell { column, style, value };
        match cells.last() {
            Some(last) if last.column >= column => {
                let at = cells.partition_point(|known| known.column < column);
                match cells.get_mut(at) {
                    Some(known) if known.column == column => *known = cell,
                    _ => cells.insert(at, cell),
                }
            }
            _ => cells.push(cell),
        }
    }

    /// A text, which never becomes a formula.
    pub fn text(&mut self, row: u32, column: u16, text: &str, style: Style) {
        self.put(row, column, style, Value::Text(text.into()));
    }

    /// A number. One that a cell cannot hold (not finite) is written as text.
    pub fn number(&mut self, row: u32, column: u16, number: f64, style: Style) {
        let value =
            if number.is_finite() { Value::Number(number) } else { Value::Text(number.to_string().into_boxed_str()) };
        self.put(row, column, style, value);
    }

    /// An empty cell that has a style.
    pub fn blank(&mut self, row: u32, column: u16, style: Style) {
        self.put(row, column, style, Value::Blank);
    }

    /// The width of columns, from the first to the last, in characters.
    pub fn widths(&mut self, first: u16, last: u16, characters: f64) {
        self.widths.push((first, last, characters));
    }

    /// The height of a row, points.
    pub fn height(&mut self, row: u32, points: f64) {
        self.heights.push((row, points));
    }

    /// Makes one cell of several.
    pub fn merge(&mut self, area: Area, style: Style) {
        for row in area.first.0..=area.last.0 {
            for column in area.first.1..=area.last.1 {
                self.blank(row, column, style);
            }
        }
        self.merged.push(area);
    }

    /// Colours numbers from the least to the greatest; two or three colours, `RRGGBB`.
    pub fn colour_scale(&mut self, area: Area, colours: &'static [&'static str]) {
        self.colours.push((area, colours));
    }

    /// Keeps the first rows and columns on the screen.
    pub fn freeze(&mut self, rows: u32, columns: u16) {
        self.frozen = (rows, columns);
    }

    /// Lets readers filter a table whose first row has the heads.
    pub fn filter(&mut self, area: Area) {
        self.filter = Some(area);
    }

    /// The pages that a print is high (0: as many as it takes), and how many of the first rows each page repeats. Sheets are
    /// printed on A4, landscape, one page wide.
    pub fn print(&mut self, pages_high: u16, repeated_rows: u32) {
        self.pages_high = pages_high;
        self.repeated_rows = repeated_rows;
    }

    /// Puts a chart with its upper left corner at a cell.
    pub fn chart(&mut self, row: u32, column: u16, chart: Chart) {
        self.charts.push((row, column, chart));
    }

    /// The name of the sheet.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn value(&self, row: u32, column: u16) -> Option<&Value> {
        let cells = self.rows.get(row as usize)?;
        let at = cells.binary_search_by_key(&column, |cell| cell.column).ok()?;
        cells.get(at).map(|cell| &cell.value)
    }

    /// The first cell that is not within Excel's limits.
    pub(crate) fn beyond_limits(&self) -> Option<String> {
        let rows = self.rows.iter().enumerate();
        let mut cells = rows.flat_map(|(row, cells)| cells.iter().map(move |cell| (row, cell)));
        let is_too_long = |value: &Value| match value {
            // Bytes are at least as many as UTF-16 units.
            Value::Text(text) => text.len() > TEXT_MAX && text.encode_utf16().count() > TEXT_MAX,
            _ => false,
        };
        let is_beyond = |row: usize, cell: &Cell| {
            row >= ROWS_MAX as usize || cell.column >= COLUMNS_MAX || is_too_long(&cell.value)
        };
        cells.find(|(row, cell)| is_beyond(*row, cell)).map(|(row, cell)| cell_name(row as u32, cell.column))
    }

    /// The part with the sheet; `is_first` is the one that is shown when the workbook is opened.
    pub(crate) fn part(&self, styles: &mut Styles, is_first: bool) -> Part {
        let mut part = Part::new();
        part.add("<worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"");
        part.add(" xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\">");
        part.add("<sheetPr><pageSetUpPr fitToPage=\"1\"/></sheetPr>");
        self.view(&mut part, is_first);
        part.add("<sheetFormatPr defaultRowHeight=\"15\"/>");
        if !self.widths.is_empty() {
            part.add("<cols>");
            for (first, last, characters) in &self.widths {
                part.add("<col");
                part.attribute("min", first + 1);
                part.attribute("max", last + 1);
                part.attribute("width", characters + CELL_PADDING);
                part.add(" customWidth=\"1\"/>");
            }
            part.add("</cols>");
        }
        self.cells(&mut part, styles);
        if let Some(area) = self.filter {
            part.add("<autoFilter");
            part.attribute("ref", area.name());
            part.add("/>");
        }
        if !self.merged.is_empty() {
            part.add("<mergeCells>");
            for area in &self.merged {
                part.add("<mergeCell");
                part.attribute("ref", area.name());
                part.add("/>");
            }
            part.add("</mergeCells>");
        }
        for (priority, (area, colours)) in (1..).zip(&self.colours) {
            colour_scale(&mut part, priority, *area, colours);
        }
        part.add(
            "<pageMargins left=\"0.7\" right=\"0.7\" top=\"0.75\" bottom=\"0.75\" header=\"0.3\" footer=\"0.3\"/>",
        );
        // 9 is A4.
        part.add("<pageSetup paperSize=\"9\" orientation=\"landscape\" fitToWidth=\"1\"");
        part.attribute("fitToHeight", self.pages_high);
        part.add("/>");
        if !self.charts.is_empty() {
            part.add("<drawing r:id=\"rId1\"/>");
        }
        part.add("</worksheet>");
        part
    }

    fn view(&self, part: &mut Part, is_first: bool) {
        part.add("<sheetViews><sheetView");
        if is_first {
            part.attribute("tabSelected", 1);
        }
        part.add(" workbookViewId=\"0\">");
        let (rows, columns) = self.frozen;
        if (rows, columns) != (0, 0) {
            part.add("<pane");
            for (name, count) in [("xSplit", u32::from(columns)), ("ySplit", rows)] {
                if count > 0 {
                    part.attribute(name, count);
                }
            }
            part.attribute("topLeftCell", cell_name(rows, columns));
            part.attribute(
                "activePane",
                match (rows, columns) {
                    (0, _) => "topRight",
                    (_, 0) => "bottomLeft",
                    _ => "bottomRight",
                },
            );
            part.add(" state=\"frozen\"/>");
        }
        part.add("</sheetView></sheetViews>");
    }

    fn cells(&self, part: &mut Part, styles: &mut Styles) {
        part.add("<sheetData>");
        for (row, cells) in (0u32..).zip(&self.rows) {
            let height = self.heights.iter().rev().find(|(of, _)| *of == row);
            if cells.is_empty() && height.is_none() {
                continue;
            }
            part.add("<row");
            part.attribute("r", row + 1);
            if let Some((_, points)) = height {
                part.attribute("ht", points);
                part.attribute("customHeight", 1);
            }
            part.add(">");
            for cell in cells {
                part.add("<c");
                part.attribute("r", cell_name(row, cell.column));
                match styles.index_of(cell.style) {
                    0 => {}
                    index => part.attribute("s", index),
                }
                match &cell.value {
                    Value::Blank => part.add("/>"),
                    Value::Number(number) => {
                        part.add("><v>");
                        part.number(number);
                        part.add("</v></c>");
                    }
                    Value::Text(text) => {
                        part.add(" t=\"inlineStr\"><is><t xml:space=\"preserve\">");
                        part.text(text);
                        part.add("</t></is></c>");
                    }
                }
            }
            part.add("</row>");
        }
        part.add("</sheetData>");
    }
}

/// What a column is wider than its characters.
const CELL_PADDING: f64 = 0.71;

fn colour_scale(part: &mut Part, priority: u32, area: Area, colours: &[&str]) {
    part.add("<conditionalFormatting");
    part.attribute("sqref", area.name());
    part.add("><cfRule type=\"colorScale\"");
    part.attribute("priority", priority);
    part.add("><colorScale><cfvo type=\"min\"/>");
    if colours.len() > 2 {
        part.add("<cfvo type=\"percentile\" val=\"50\"/>");
    }
    part.add("<cfvo type=\"max\"/>");
    for colour in colours {
        part.add("<color rgb=\"FF");
        part.add(colour);
        part.add("\"/>");
    }
    part.add("</colorScale></cfRule></conditionalFormatting>");
}

/// `AA10`, of a row and a column that begin at 0.
fn cell_name(row: u32, column: u16) -> String {
    format!("{}{}", letters(column), row + 1)
}

fn letters(column: u16) -> String {
    let mut left = u32::from(column) + 1;
    let mut name = String::new();
    while left > 0 {
        left -= 1;
        name.insert(0, char::from(b'A' + (left % 26) as u8));
        left /= 26;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_the_names_that_spreadsheets_show() {
        for (column, name) in [(0, "A"), (25, "Z"), (26, "AA"), (51, "AZ"), (701, "ZZ"), (702, "AAA"), (16_383, "XFD")]
        {
            assert_eq!(letters(column), name);
        }
        assert_eq!(Area::of_column(1, 3, 5).name(), "B4:B6");
        assert_eq!(Area { first: (0, 0), last: (9, 27) }.fixed_name(), "$A$1:$AB$10");
    }

    #[test]
    fn cells_are_in_the_order_of_columns_and_the_later_value_stays() {
        let mut sheet = Sheet::new("s");
        for (column, number) in [(3, 1.0), (1, 2.0), (2, 3.0), (3, 4.0), (1, 5.0)] {
            sheet.number(0, column, number, Style::PLAIN);
        }
        let cells: Vec<(u16, Value)> = sheet.rows[0].iter().map(|cell| (cell.column, cell.value.clone())).collect();
        assert_eq!(cells, [(1, Value::Number(5.0)), (2, Value::Number(3.0)), (3, Value::Number(4.0))]);
        assert_eq!(sheet.value(0, 2), Some(&Value::Number(3.0)));
        assert_eq!(sheet.value(0, 0), None);
        sheet.number(7, 0, f64::INFINITY, Style::PLAIN);
        assert_eq!(sheet.value(7, 0), Some(&Value::Text("inf".into())));
    }

    #[test]
    fn limits_are_found_by_their_cell() {
        let mut sheet = Sheet::new("s");
        sheet.text(2, 1, &"x".repeat(TEXT_MAX), Style::PLAIN);
        assert_eq!(sheet.beyond_limits(), None);
        sheet.text(2, 1, &"x".repeat(TEXT_MAX + 1), Style::PLAIN);
        assert_eq!(sheet.beyond_limits().as_deref(), Some("B3"));
        let mut sheet = Sheet::new("s");
        sheet.number(0, COLUMNS_MAX, 1.0, Style::PLAIN);
        assert_eq!(sheet.beyond_limits().as_deref(), Some("XFE1"));
        let mut sheet = Sheet::new("s");
        sheet.number(ROWS_MAX + 5, 0, 1.0, Style::PLAIN);
        assert_eq!(sheet.beyond_limits().as_deref(), Some("A1048577"));
    }
}
