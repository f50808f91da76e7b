//! `bon_csv2txt`: turns CSV lines into tables.

use super::print::speed;
use super::{Version, html};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PrintedRun {
    /// On standard output.
    pub out: String,
    /// On standard error.
    pub err: String,
}

/// A row of a table: name, size and the values after it.
type Row<'a> = (&'a str, String, Vec<&'a str>);

/// Formats the tables of all lines of values.
pub fn text(lines: &str) -> PrintedRun {
    let mut printed = PrintedRun::default();
    let (mut large, mut small): (Vec<Row<'_>>, Vec<Row<'_>>) = (Vec::new(), Vec::new());
    for line in lines.lines().filter(|line| !line.starts_with("name,")) {
        let line = line.trim_end_matches('\r');
        let columns: Vec<&str> = line.split(',').collect();
        let column = |number: usize| columns.get(number).copied().unwrap_or_default();
        let format = Version::V200.format();
        if column(0) != format {
            printed.err.push_str(&format!("Expected {format}, got {} from {line}\n", column(0)));
            continue;
        }
        let size = (5..9).map(column).collect::<Vec<_>>().join(":").trim_end_matches(':').to_owned();
        let values: Vec<&str> = (9..21).chain(38..44).map(column).collect();
        if !size.is_empty() || values[..12].iter().any(|value| !value.is_empty()) {
            large.push((column(2), size, values));
        }
        let marks = ["", ":", ":", "/", ":"];
        let parts = marks.iter().zip(21..26).filter(|(_, number)| !column(*number).is_empty());
        let size: String = parts.map(|(mark, number)| format!("{mark}{}", column(number))).collect();
        let values: Vec<&str> = (26..38).chain(44..50).map(column).collect();
        if !size.is_empty() || values[..12].iter().any(|value| !value.is_empty()) {
            small.push((column(2), size, values));
        }
    }
    if !large.is_empty() {
        printed.out.push_str(&format!(
            "Version {:>9}   ------Sequential Output------ --Sequential Input- --Random-\n\
             {blank}-Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n\
             Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP\n",
            Version::V200.name(),
            blank = " ".repeat(20)
        ));
        large.iter().for_each(|row| printed.out.push_str(&rows(row, true)));
    }
    if !small.is_empty() {
        printed.out.push_str(&format!(
            "{blank}------Sequential Create------ --------Random Create--------\n\
             {blank}-Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--\n      \
             files:max:min  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP\n",
            blank = " ".repeat(20)
        ));
        small.iter().for_each(|row| printed.out.push_str(&rows(row, false)));
    }
    printed
}

fn rows((name, size, values): &Row<'_>, of_large: bool) -> String {
    let name = format!("{name}{}", " ".repeat(19));
    let length = size.chars().count();
    let described = match length < 18 {
        true => format!("{} {size}", name.chars().take(18 - length).collect::<String>()),
        false => size.clone(),
    };
    let mut text = format!("{described:>19}");
    for (number, pair) in values[..12].chunks(2).enumerate() {
        // A test that was too short keeps its marker; the Perl original prints 0.
        let rate = match html::leading_number(pair[0]) {
            Some(kib) if of_large && number < 5 => speed(kib),
            _ => pair[0].to_owned(),
        };
        text.push_str(&format!(" {rate:>5} {:>3}", pair[1]));
    }
    text.push('\n');
    if values[12..].iter().any(|value| !value.is_empty()) {
        text.push_str("Latency          ");
        values[12..].iter().for_each(|value| text.push_str(&format!(" {value:>9}")));
        text.push('\n');
    }
    text
}
