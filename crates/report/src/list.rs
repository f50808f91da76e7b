//! Lists of stored runs, and plain tables.

use crate::measure;
use crate::style::{Ink, Style};

/// A table of text: columns as wide as their widest cell, the head faint, numbers to the right.
pub fn table(head: &[&str], rows: &[Vec<String>], style: &Style) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_numbers_stand_to_the_right() {
        let rows = vec![vec!["a".to_owned(), "5".to_owned()], vec!["long".to_owned(), "1000".to_owned()]];
        assert_eq!(table(&["name", "n"], &rows, &Style::PLAIN), "name     n\na        5\nlong  1000\n");
    }
}
