//! A workbook: its sheets, and the file that they become.

use crate::part::Part;
use crate::sheet::{COLUMNS_MAX, ROWS_MAX, Sheet, TEXT_MAX};
use crate::style::Styles;
use crate::zip::{Archive, TooLarge};
use std::fmt::{self, Display};

/// Characters of a sheet's name. Source: Excel's limits.
const NAME_MAX: usize = 31;

/// Why there is no workbook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkbookError {
    /// A sheet's name is empty, longer than 31 characters, taken, or has one of `[]:*?/\` or `'`.
    Name(String),
    /// A cell is beyond the last row or column, or its text is too long.
    Cell {
        /// The sheet's name.
        sheet: String,
        /// The cell, such as `B4`.
        cell: String,
    },
    /// The file would have 4 GiB or more.
    TooLarge,
}

impl Display for WorkbookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the workbook cannot be written: ")?;
        match self {
            WorkbookError::Name(name) => write!(
                f,
                "a sheet cannot be called `{name}`; a name has 1 to {NAME_MAX} characters, none of []:*?/\\', and is not taken"
            ),
            WorkbookError::Cell { sheet, cell } => write!(
                f,
                "cell {cell} of sheet `{sheet}`: a sheet has {ROWS_MAX} rows and {COLUMNS_MAX} columns, a cell {TEXT_MAX} \
                 characters; CSV has no such limits"
            ),
            WorkbookError::TooLarge => f.write_str("it would have 4 GiB or more; write CSV"),
        }
    }
}

impl std::error::Error for WorkbookError {}

impl From<TooLarge> for WorkbookError {
    fn from(TooLarge: TooLarge) -> WorkbookError {
        WorkbookError::TooLarge
    }
}

/// A workbook.
#[derive(Debug, Default)]
pub struct Book {
    sheets: Vec<Sheet>,
}

const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const WORKSHEET_TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml";
const DRAWING_TYPE: &str = "application/vnd.openxmlformats-officedocument.drawing+xml";
const CHART_TYPE: &str = "application/vnd.openxmlformats-officedocument.drawingml.chart+xml";
const WORKBOOK_TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml";
const STYLES_TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml";

impl Book {
    /// An empty one.
    pub fn new() -> Book {
        Book::default()
    }

    /// Adds a sheet behind the others.
    pub fn add_sheet(&mut self, name: &str) -> &mut Sheet {
        self.sheets.push(Sheet::new(name));
        let last = self.sheets.len() - 1;
        &mut self.sheets[last]
    }

    /// The file's bytes. The same workbook makes the same bytes.
    ///
    /// # Errors
    /// A name or a cell that spreadsheets do not take; a file of 4 GiB or more.
    pub fn write(&self) -> Result<Vec<u8>, WorkbookError> {
        self.check()?;
        let mut archive = Archive::default();
        let mut styles = Styles::new();
        let mut content_types: Vec<(String, &str)> =
            vec![("/xl/workbook.xml".to_owned(), WORKBOOK_TYPE), ("/xl/styles.xml".to_owned(), STYLES_TYPE)];
        let mut drawings = 0;
        let mut charts = 0;
        for (number, sheet) in (1..).zip(&self.sheets) {
            let name = format!("xl/worksheets/sheet{number}.xml");
            archive.add(&name, sheet.part(&mut styles, number == 1).finish())?;
            content_types.push((format!("/{name}"), WORKSHEET_TYPE));
            if sheet.charts.is_empty() {
                continue;
            }
            drawings += 1;
            let related = relations(&[("drawing", format!("../drawings/drawing{drawings}.xml"))]);
            archive.add(&format!("xl/worksheets/_rels/sheet{number}.xml.rels"), related.finish())?;
            let mut drawing = Part::new();
            drawing.add("<xdr:wsDr xmlns:xdr=\"http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing\"");
            drawing.add(" xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\"");
            drawing.attribute("xmlns:r", RELATIONS);
            drawing.add(">");
            let mut drawn = Vec::new();
            for (of_sheet, (row, column, chart)) in (1..).zip(&sheet.charts) {
                charts += 1;
                chart.anchor(&mut drawing, *row, *column, of_sheet);
                let name = format!("xl/charts/chart{charts}.xml");
                archive.add(&name, chart.part(sheet).finish())?;
                content_types.push((format!("/{name}"), CHART_TYPE));
                drawn.push(("chart", format!("../charts/chart{charts}.xml")));
            }
            drawing.add("</xdr:wsDr>");
            let name = format!("xl/drawings/drawing{drawings}.xml");
            archive.add(&name, drawing.finish())?;
            content_types.push((format!("/{name}"), DRAWING_TYPE));
            archive.add(&format!("xl/drawings/_rels/drawing{drawings}.xml.rels"), relations(&drawn).finish())?;
        }
        archive.add("xl/styles.xml", styles.part().finish())?;
        archive.add("xl/workbook.xml", self.part().finish())?;
        let sheets = (1..=self.sheets.len()).map(|number| ("worksheet", format!("worksheets/sheet{number}.xml")));
        let parts: Vec<_> = sheets.chain([("styles", "styles.xml".to_owned())]).collect();
        archive.add("xl/_rels/workbook.xml.rels", relations(&parts).finish())?;
        archive.add("_rels/.rels", relations(&[("officeDocument", "xl/workbook.xml".to_owned())]).finish())?;
        archive.add("[Content_Types].xml", types(&content_types).finish())?;
        Ok(archive.finish()?)
    }

    fn check(&self) -> Result<(), WorkbookError> {
        for (index, sheet) in self.sheets.iter().enumerate() {
            let name = &sheet.name;
            let is_taken = self.sheets.iter().take(index).any(|known| known.name.eq_ignore_ascii_case(name));
            let is_forbidden = |c: char| c.is_control() || "[]:*?/\\'".contains(c);
            if name.is_empty() || name.chars().count() > NAME_MAX || name.contains(is_forbidden) || is_taken {
                return Err(WorkbookError::Name(name.clone()));
            }
            if let Some(cell) = sheet.beyond_limits() {
                return Err(WorkbookError::Cell { sheet: name.clone(), cell });
            }
        }
        Ok(())
    }

    /// The part that names the sheets.
    fn part(&self) -> Part {
        let mut part = Part::new();
        part.add("<workbook xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"");
        part.attribute("xmlns:r", RELATIONS);
        part.add("><bookViews><workbookView/></bookViews><sheets>");
        for (number, sheet) in (1..).zip(&self.sheets) {
            part.add("<sheet name=\"");
            part.text(&sheet.name);
            part.add("\"");
            part.attribute("sheetId", number);
            part.attribute("r:id", format_args!("rId{number}"));
            part.add("/>");
        }
        part.add("</sheets>");
        let of_filters = self.sheets.iter().enumerate().filter_map(|(index, sheet)| {
            Some((index, sheet, "_FilterDatabase\" hidden=\"1", sheet.filter?.fixed_name()))
        });
        let of_heads = self.sheets.iter().enumerate().filter(|(_, sheet)| sheet.repeated_rows > 0);
        let of_heads =
            of_heads.map(|(index, sheet)| (index, sheet, "Print_Titles", format!("$1:${}", sheet.repeated_rows)));
        let names: Vec<_> = of_filters.chain(of_heads).collect();
        if !names.is_empty() {
            part.add("<definedNames>");
            for (index, sheet, name, place) in names {
                part.add("<definedName name=\"_xlnm.");
                part.add(name);
                part.add("\"");
                part.attribute("localSheetId", index);
                part.add(">");
                part.text(&format!("'{}'!{place}", sheet.name));
                part.add("</definedName>");
            }
            part.add("</definedNames>");
        }
        part.add("</workbook>");
        part
    }
}

/// What a part refers to: the last word of each relation's type, and its place. They are called `rId1`, `rId2` and so on.
fn relations(all: &[(&str, String)]) -> Part {
    let mut part = Part::new();
    part.add("<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">");
    for (number, (kind, target)) in (1..).zip(all) {
        part.add("<Relationship");
        part.attribute("Id", format_args!("rId{number}"));
        part.attribute("Type", format_args!("{RELATIONS}/{kind}"));
        part.attribute("Target", target);
        part.add("/>");
    }
    part.add("</Relationships>");
    part
}

fn types(all: &[(String, &str)]) -> Part {
    let mut part = Part::new();
    part.add("<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">");
    part.add("<Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>");
    part.add("<Default Extension=\"xml\" ContentType=\"application/xml\"/>");
    for (name, content_type) in all {
        part.add("<Override");
        part.attribute("PartName", name);
        part.attribute("ContentType", content_type);
        part.add("/>");
    }
    part.add("</Types>");
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;

    #[test]
    fn what_spreadsheets_do_not_take_is_named() {
        let of = |name: &str| {
            let mut book = Book::new();
            book.add_sheet("Data");
            book.add_sheet(name);
            book.write().map(|_| ())
        };
        assert_eq!(of("Report"), Ok(()));
        for name in ["", "data", "a/b", "it's", &"x".repeat(32)] {
            assert_eq!(of(name), Err(WorkbookError::Name(name.to_owned())));
        }
        let mut book = Book::new();
        book.add_sheet("Data").number(0, COLUMNS_MAX, 1.0, Style::PLAIN);
        let error = book.write().unwrap_err();
        assert!(error.to_string().contains("cell XFE1 of sheet `Data`"), "{error}");
    }

    #[test]
    fn the_same_workbook_makes_the_same_bytes() {
        let make = || {
            let mut book = Book::new();
            book.add_sheet("a").text(3, 2, "text", Style::BOLD);
            book.write().unwrap()
        };
        assert_eq!(make(), make());
        assert!(make().starts_with(b"PK\x03\x04"));
    }
}
