//! Lists of stored runs, and plain tables.

use crate::measure;
use crate::style::{Ink, Style};
use plumb_text::visible_line;

/// Formats a table of text: columns as wide as their widest cell, a faint heading, numbers right-aligned. If it is
/// wider than the page, each row becomes a block with a line for each non-empty cell.
pub fn table(head: &[&str], rows: &[Vec<String>], style: &Style) -> String {
    // Escape line feeds, which would break the row.
    let in_line = |row: &Vec<String>| row.iter().map(|cell| visible_line(cell).into_owned()).collect();
    let rows: &[Vec<String>] = &rows.iter().map(in_line).collect::<Vec<_>>();
    let columns = head.len();
    let cell = |row: &[String], column: usize| row.get(column).map_or(0, |text| measure::width(text));
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().map(|row| cell(row, column)).chain([measure::width(head[column])]).max().unwrap_or(0))
        .collect();
    let is_number: Vec<bool> = (0..columns)
        .map(|column| {
            !rows.is_empty() && rows.iter().all(|row| row.get(column).is_some_and(|text| text.parse::<f64>().is_ok()))
        })
        .collect();
    let whole: usize = widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1);
    if whole > style.width {
        return blocks(head, rows, style);
    }
    let line = |cells: &[String]| {
        let set: Vec<String> = cells
            .iter()
            .enumerate()
            .map(|(column, text)| {
                let width = widths.get(column).copied().unwrap_or(0);
                if is_number.get(column).copied().unwrap_or(false) {
                    measure::right(text, width)
                } else {
                    measure::left(text, width)
                }
            })
            .collect();
        set.join("  ").trim_end().to_owned()
    };
    let head: Vec<String> = head.iter().map(|&text| text.to_owned()).collect();
    let mut text = style.ink(Ink::Faint, &line(&head));
    text.push('\n');
    for row in rows {
        text.push_str(&line(row));
        text.push('\n');
    }
    text
}

/// Formats a table with one column of paths, which may be shortened at the front, down to 12 columns, to make the table fit.
pub fn table_with_paths(head: &[&str], rows: &[Vec<String>], paths: usize, style: &Style) -> String {
    const LEAST: usize = 12;
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| measure::width(cell)).max().unwrap_or(0)
    };
    let whole: usize =
        head.iter().enumerate().map(|(column, title)| width(column).max(measure::width(title)) + 2).sum::<usize>();
    let over = whole.saturating_sub(2).saturating_sub(style.width);
    let room = width(paths).saturating_sub(over);
    if over == 0 || room < LEAST {
        return table(head, rows, style);
    }
    let mut rows = rows.to_vec();
    for cell in rows.iter_mut().filter_map(|row| row.get_mut(paths)) {
        *cell = measure::cut_front(cell, room);
    }
    table(head, &rows, style)
}

/// Formats each row as lines such as `run      01a2091f-d406`, followed by an empty line.
fn blocks(head: &[&str], rows: &[Vec<String>], style: &Style) -> String {
    let width = head.iter().map(|title| measure::width(title)).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        for (title, cell) in head.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
            let title = style.ink(Ink::Faint, &measure::left(title, width));
            text.push_str(&format!("{title}  {}\n", style.wrap(cell, width + 2)));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_loses_its_beginning_before_a_table_becomes_blocks() {
        let rows = vec![vec!["01a2".to_owned(), "/a/long/way/to/the/data".to_owned(), "ok".to_owned()]];
        let style = Style { width: 26, ..Style::PLAIN };
        let text = table_with_paths(&["run", "path", "is"], &rows, 1, &style);
        assert_eq!(text, "run   path              is\n01a2  …way/to/the/data  ok\n");
        assert!(
            table_with_paths(&["run", "path", "is"], &rows, 1, &Style { width: 20, ..style })
                .starts_with("run   01a2\n")
        );
    }

    #[test]
    fn a_row_that_is_wider_than_the_page_becomes_a_block() {
        let rows = vec![vec!["01a2".to_owned(), "a path of several words".to_owned(), String::new()]];
        let style = Style { width: 26, ..Style::PLAIN };
        let text = table(&["run", "path", "tags"], &rows, &style);
        assert_eq!(text, "run   01a2\npath  a path of several\n      words\n\n");
    }

    #[test]
    fn columns_line_up_and_numbers_are_right_aligned() {
        let rows = vec![vec!["a".to_owned(), "5".to_owned()], vec!["long".to_owned(), "1000".to_owned()]];
        assert_eq!(table(&["name", "n"], &rows, &Style::PLAIN), "name     n\na        5\nlong  1000\n");
    }
}
