//! Numbers of many runs as one tidy table: a row for each number, a column for each property.

use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A table whose rows all have as many cells as there are columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TidyTable {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// One row for each number.
    pub rows: Vec<Vec<TidyCell>>,
}

/// One cell of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum TidyCell {
    /// Unknown or not measured; never represented by 0 or an empty text.
    #[default]
    Missing,
    /// A numeric value.
    Number(f64),
    /// A text, shared between the rows that contain it.
    Text(Arc<str>),
}

impl TidyCell {
    /// Creates a text cell; an empty text becomes missing.
    pub fn text(text: impl AsRef<str>) -> TidyCell {
        let text = text.as_ref();
        if text.is_empty() { TidyCell::Missing } else { TidyCell::Text(text.into()) }
    }

    /// Returns the text, or `None` for other cells.
    pub fn as_text(&self) -> Option<&str> {
        if let TidyCell::Text(text) = self { Some(text.as_ref()) } else { None }
    }

    /// Returns the number, or `None` for other cells.
    pub const fn as_number(&self) -> Option<f64> {
        if let TidyCell::Number(number) = self { Some(*number) } else { None }
    }
}

impl TidyTable {
    /// Applies `change` to every text of the table, including column names.
    pub fn map_texts(&mut self, change: &mut dyn FnMut(&str) -> String) {
        // Rows share texts, so change each one only once.
        let mut known: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
        self.columns.iter_mut().for_each(|column| *column = change(column));
        for cell in self.rows.iter_mut().flatten() {
            let TidyCell::Text(text) = cell else { continue };
            let changed = match known.get(&**text) {
                Some(changed) => Arc::clone(changed),
                None => {
                    let changed: Arc<str> = change(text).into();
                    known.insert(Arc::clone(text), Arc::clone(&changed));
                    changed
                }
            };
            *text = changed;
        }
    }

    /// Returns the index of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Returns `true` if a column holds numbers; all others hold texts.
    pub fn holds_numbers(column: &str) -> bool {
        matches!(column, "value" | "device_share")
    }

    /// Returns the table as CSV (RFC 4180, lines end in CR LF). A missing cell becomes an empty field.
    pub fn csv(&self) -> String {
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
        // Writing rows of equal length into memory cannot fail.
        let _ = writer.write_record(&self.columns);
        for row in &self.rows {
            let _ = writer.write_record(row.iter().map(csv_field).map(Cow::into_owned));
        }
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }

    /// Returns the table as JSON Lines, one object per row without its missing cells.
    pub fn ndjson(&self) -> String {
        let mut lines = String::new();
        for row in &self.rows {
            let mut object = Map::new();
            for (name, cell) in self.columns.iter().zip(row) {
                let value = match cell {
                    TidyCell::Missing => continue,
                    TidyCell::Number(number) => Value::from(*number),
                    TidyCell::Text(text) => Value::from(&**text),
                };
                object.insert(name.clone(), value);
            }
            lines.push_str(&format!("{}\n", Value::Object(object)));
        }
        lines
    }
}

/// Returns a cell as a CSV field. Spreadsheets treat a text with such a first character as a formula, and names in
/// imported files cannot be trusted. The leading apostrophe makes the spreadsheet treat it as text.
fn csv_field(cell: &TidyCell) -> Cow<'_, str> {
    match cell {
        TidyCell::Missing => Cow::Borrowed(""),
        TidyCell::Number(number) => Cow::Owned(number.to_string()),
        TidyCell::Text(text) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => Cow::Owned(format!("'{text}")),
        TidyCell::Text(text) => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_follow_rfc_4180() {
        let fields = ["plain", "a,b", "say \"x\"", "two\nlines", ""];
        let table = TidyTable {
            columns: ["a", "b, c", "d", "e", "f"].map(str::to_owned).to_vec(),
            rows: vec![fields.map(TidyCell::text).to_vec()],
        };
        assert_eq!(table.csv(), "a,\"b, c\",d,e,f\r\nplain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",\r\n");
    }

    // Protects: the name of an imported phase is never run as a formula, and a negative number stays a number.
    #[test]
    fn formulas_are_escaped_and_numbers_are_not() {
        let row = vec![TidyCell::text("=1+1"), TidyCell::Number(-1.0), TidyCell::text("write")];
        let table = TidyTable { columns: vec!["a".to_owned(); 3], rows: vec![row] };
        assert_eq!(table.csv(), "a,a,a\r\n'=1+1,-1,write\r\n");
    }

    // Protects: a missing value is neither 0 nor an empty text, in both formats.
    #[test]
    fn missing_values_stay_missing() {
        let table = TidyTable {
            columns: vec!["run".to_owned(), "value".to_owned(), "tier".to_owned()],
            rows: vec![
                vec![TidyCell::text("a"), TidyCell::Number(0.0), TidyCell::text("")],
                vec![TidyCell::text("b"), TidyCell::Missing, TidyCell::text("device")],
            ],
        };
        assert_eq!(table.csv(), "run,value,tier\r\na,0,\r\nb,,device\r\n");
        assert_eq!(table.ndjson(), "{\"run\":\"a\",\"value\":0.0}\n{\"run\":\"b\",\"tier\":\"device\"}\n");
    }
}
