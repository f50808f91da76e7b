//! Tables of a page. Columns are as wide as their widest cell; narrow pages hide the less important ones.

use crate::measure;
use plumb_text::visible_line;
use std::borrow::Cow;

/// The space before each column.
pub(crate) const GAP: &str = "  ";

/// Indent of a line that continues a row.
pub(crate) const FOLD: &str = "    ";

/// Alignment of the cells in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// One column: its title, and one text for each row.
pub(crate) struct Column {
    pub(crate) title: String,
    pub(crate) cells: Vec<String>,
    pub(crate) align: Align,
    /// Columns with a lower number are hidden first if the page is too narrow; `None` is never hidden.
    pub(crate) hide_order: Option<u32>,
}

impl Column {
    pub(crate) fn width(&self) -> usize {
        self.cells.iter().map(|cell| measure::width(cell)).chain([measure::width(&self.title)]).max().unwrap_or(0)
    }

    fn set(&self, text: &str) -> String {
        let width = self.width();
        match self.align {
            Align::Right => measure::right(text, width),
            Align::Left => measure::left(text, width),
        }
    }
}

/// A table as lines without trailing spaces.
pub(crate) struct Lines {
    pub(crate) head: String,
    pub(crate) rows: Vec<String>,
}

/// Escapes hidden characters, and hides columns until the others fit a width.
pub(crate) fn fit(columns: &mut Vec<Column>, width: usize) {
    for column in columns.iter_mut() {
        column.title = visible_line(&column.title).into_owned();
        for cell in &mut column.cells {
            // A line feed in a name would end the row.
            if let Cow::Owned(line) = visible_line(cell) {
                *cell = line;
            }
        }
    }
    while width_of(columns) > width
        && let Some(first) = columns.iter().filter_map(|column| column.hide_order).min()
    {
        columns.retain(|column| column.hide_order != Some(first));
    }
}

/// Lays out columns with equal numbers of cells, within a width in terminal columns.
pub(crate) fn set(mut columns: Vec<Column>, width: usize) -> Lines {
    fit(&mut columns, width);
    let line = |cell: &dyn Fn(&Column) -> String| {
        let mut text = String::new();
        let mut taken = 0;
        for column in &columns {
            let needed = GAP.len() + column.width();
            // No further column can be hidden, so the rest of the row continues on a line of its own.
            if taken > 0 && taken + needed > width {
                text.truncate(text.trim_end().len());
                text.push_str(&format!("\n{FOLD}"));
                taken = FOLD.len();
            }
            text.push_str(&format!("{GAP}{}", cell(column)));
            taken += needed;
        }
        text.trim_end().to_owned()
    };
    let head = line(&|column| column.set(&column.title));
    // A first line of columns without titles is useless.
    let head = match head.split_once('\n') {
        Some((first, rest)) if first.trim().is_empty() => rest.to_owned(),
        _ => head,
    };
    let rows = columns.first().map_or(0, |column| column.cells.len());
    Lines { head, rows: (0..rows).map(|row| line(&|column| column.set(&column.cells[row]))).collect() }
}

/// Lays out columns without a gap before the first one.
pub(crate) fn set_flush(columns: Vec<Column>, width: usize) -> Lines {
    let Lines { head, rows } = set(columns, width.saturating_add(GAP.len()));
    let strip = |line: String| line.strip_prefix(GAP).map_or(line.clone(), str::to_owned);
    Lines { head: strip(head), rows: rows.into_iter().map(strip).collect() }
}

/// Returns the total width of columns laid out by [`set_flush`].
pub(crate) fn width_of_flush(columns: &[Column]) -> usize {
    width_of(columns).saturating_sub(GAP.len())
}

/// Returns the total width of columns.
pub(crate) fn width_of(columns: &[Column]) -> usize {
    columns.iter().map(|column| GAP.len() + column.width()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(title: &str, cells: [&str; 2], align: Align, hide_order: Option<u32>) -> Column {
        Column { title: title.to_owned(), cells: cells.map(str::to_owned).to_vec(), align, hide_order }
    }

    fn columns() -> Vec<Column> {
        vec![
            column("name", ["a", "long one"], Align::Left, None),
            column("n", ["5", "1000"], Align::Right, Some(2)),
            column("also", ["x", ""], Align::Left, Some(1)),
        ]
    }

    #[test]
    fn columns_line_up() {
        let lines = set(columns(), 80);
        assert_eq!(lines.head, "  name         n  also");
        assert_eq!(lines.rows, ["  a            5  x", "  long one  1000"]);
    }

    #[test]
    fn columns_are_hidden_in_their_order_and_the_last_stay() {
        assert_eq!(set(columns(), 17).head, "  name         n");
        assert_eq!(set(columns(), 5).head, "  name");
    }

    #[test]
    fn columns_that_cannot_be_hidden_continue_on_the_next_line() {
        let mut columns = columns();
        columns.iter_mut().for_each(|column| column.hide_order = None);
        let lines = set(columns, 17);
        assert_eq!(lines.head, "  name         n\n      also");
        assert_eq!(lines.rows, ["  a            5\n      x", "  long one  1000"]);
    }
}
