//! Tables of a screen.

use crate::measure;
use crate::style::{Colour, Ink};
use crate::table::{Align, Column, FOLD, GAP, fit};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Row, Table, Widget};

/// A table whose rows continue on the next line if the window is too narrow for all columns that cannot be hidden.
pub(crate) struct Grid {
    /// Columns of the first line of a row, of the second, and so on.
    lines: Vec<Vec<Column>>,
    indent: u16,
}

impl Grid {
    /// Arranges columns within a width, after an indent.
    pub(crate) fn new(mut columns: Vec<Column>, indent: u16, width: u16) -> Grid {
        let room = usize::from(width.saturating_sub(indent)) + GAP.len();
        fit(&mut columns, room);
        let mut lines = Vec::new();
        let mut current: Vec<Column> = Vec::new();
        let mut taken = 0;
        for column in columns {
            let needed = GAP.len() + column.width();
            if !current.is_empty() && taken + needed > room {
                lines.push(std::mem::take(&mut current));
                taken = FOLD.len();
            }
            taken += needed;
            current.push(column);
        }
        lines.push(current);
        Grid { lines, indent }
    }

    /// Returns the number of lines of the head, which is that of each row.
    pub(crate) fn pitch(&self) -> usize {
        self.lines.len()
    }

    /// Draws the head, and below it the rows with `free` empty lines after each.
    pub(crate) fn render(
        &self,
        free: u16,
        style_of_row: impl Fn(usize) -> Style,
        colour: Colour,
        area: Rect,
        buf: &mut Buffer,
    ) {
        let pitch = u16::try_from(self.pitch()).unwrap_or(u16::MAX);
        for (down, columns) in (0..area.height).zip(&self.lines) {
            let fold = if down == 0 { 0 } else { FOLD.len() as u16 };
            let right = (self.indent + fold).min(area.width);
            let part =
                Rect { x: area.x + right, y: area.y + down, width: area.width - right, height: area.height - down };
            let rows = columns.first().map_or(0, |column| column.cells.len());
            let row = |cell: &dyn Fn(&Column) -> String, below: u16| {
                Row::new(columns.iter().map(|column| aligned(&cell(column), column.align))).bottom_margin(below)
            };
            let head = row(&|column| column.title.clone(), pitch - 1).style(colour.cell(Ink::Strong));
            let rows = (0..rows).map(|number| {
                row(&|column| column.cells[number].clone(), pitch - 1 + free).style(style_of_row(number))
            });
            let widths = columns.iter().map(|column| Constraint::Length(super::height(column.width())));
            Table::new(rows, widths).header(head).column_spacing(GAP.len() as u16).render(part, buf);
        }
    }
}

fn aligned(text: &str, align: Align) -> Line<'static> {
    let line = Line::raw(measure::cut(text, usize::MAX));
    match align {
        Align::Left => line,
        Align::Right => line.right_aligned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::{column, drawn};

    struct Whole(Grid);

    impl Widget for Whole {
        fn render(self, area: Rect, buf: &mut Buffer) {
            self.0.render(1, |_| Style::new(), Colour::Never, area, buf);
        }
    }

    fn columns() -> Vec<Column> {
        let rows = ["disk\u{1b}", "other"];
        let rows: Vec<&&str> = rows.iter().collect();
        vec![
            column(&rows, "name", Align::Left, None, |name| (*name).to_owned()),
            column(&rows, "letters", Align::Right, None, |name| name.len().to_string()),
            column(&rows, "extra", Align::Right, Some(1), |_| "1".to_owned()),
        ]
    }

    fn drawn(width: u16, rows: u16) -> String {
        drawn::text(Whole(Grid::new(columns(), 2, width)), width, rows)
    }

    // Protects: columns are hidden in their order, then rows continue on the next line, and no cell is lost.
    #[test]
    fn narrow_windows_lose_what_matters_least() {
        let wide = "  name        letters  extra\n  disk\\u001b        5      1\n\n  other             5      1";
        assert_eq!(drawn(30, 6), wide);
        assert!(!drawn(24, 6).contains("extra") && drawn(24, 6).contains("letters"));
        let lines: Vec<String> = drawn(13, 8).lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 7, "{lines:#?}");
        assert_eq!((lines[0].as_str(), lines[1].as_str()), ("  name", "      letters"));
        assert_eq!((lines[5].as_str(), lines[6].as_str()), ("  other", "            5"));
    }

    // Protects: windows of any size can be drawn.
    #[test]
    fn every_window_can_be_drawn_in() {
        for width in 1..30 {
            for rows in 1..9 {
                drawn(width, rows);
            }
        }
    }
}
