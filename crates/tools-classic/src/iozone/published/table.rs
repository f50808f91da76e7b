//! Parses IOzone's text: the table of single-process tests, and the blocks of throughput tests.

use super::{number, sizes};
use crate::iozone::pass::Pass;
use crate::iozone::print::throughput::worker_names;
use crate::iozone::settings::Rate;
use plumb_result::PublishedNumber;
use plumb_result::published::Unread;

/// Column headings of rates, in the order of [`Pass::ALL`].
const HEADS: [&str; 17] = [
    "write", "rewrite", "read", "reread", "read", "write", "read", "rewrite", "read", "fwrite", "frewrite", "fread",
    "freread", "pwrite", "repwrite", "pread", "repread",
];

/// Maximum width of a column. A longer number is two numbers without a blank between them.
const DIGITS_MAX: usize = 10;

/// Returns the numbers of all tables and blocks, in order.
pub(super) fn numbers(text: &str) -> Result<Vec<PublishedNumber>, Unread> {
    let rate = rate(text);
    let mut found = Vec::new();
    let mut columns: Option<Vec<usize>> = None;
    let mut of_each = String::new();
    for (line, text) in (1..).zip(text.lines()) {
        if let Some(head) = head(text) {
            columns = Some(head);
        } else if let Some(ends) = &columns
            && is_row(text)
        {
            found.extend(row(text, ends, rate).map_err(|unread| Unread { place: format!("line {line}"), ..unread })?);
        } else {
            columns = None;
            let line = text.trim();
            if line.starts_with("Each ") && line.contains(" writes a ") {
                of_each = each(line);
            } else if let Some(of_all) = line.strip_prefix("Children see throughput for") {
                found.extend(block(of_all, &of_each, rate));
            }
        }
    }
    Ok(found)
}

/// Returns the unit of rates in the text.
pub(super) fn rate(text: &str) -> Rate {
    let has_line = |words: &str| text.lines().any(|line| line.trim().trim_matches('"').starts_with(words));
    if has_line("OPS Mode") || has_line("Output is in ops/sec") {
        Rate::Ops
    } else if has_line("Microseconds/op Mode") {
        Rate::Usec
    } else {
        Rate::Kb
    }
}

/// Returns the words of a line, each with the column after its end.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut at = 0;
    let mut found = Vec::new();
    for part in text.split(' ') {
        let end = at + part.len();
        let word = part.trim();
        if !word.is_empty() {
            found.push((end, word));
        }
        at = end + 1;
    }
    found
}

/// Returns the ends of the columns in a table's header; those of the sizes first.
fn head(text: &str) -> Option<Vec<usize>> {
    let words = words(text);
    let (sizes, rates) = words.split_at_checked(2)?;
    let is_head = sizes[0].1.eq_ignore_ascii_case("kb")
        && sizes[1].1 == "reclen"
        && !rates.is_empty()
        && rates.len() <= HEADS.len()
        && rates.iter().zip(HEADS).all(|((_, word), head)| *word == head);
    is_head.then(|| words.into_iter().map(|(end, _)| end).collect())
}

fn is_row(text: &str) -> bool {
    let first = text.split_whitespace().next();
    first.is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the numbers of a row. Each belongs to the heading that ends nearest to it.
fn row(text: &str, ends: &[usize], rate: Rate) -> Result<Vec<PublishedNumber>, Unread> {
    let error = |word: &str, what: &str| Unread {
        place: String::new(),
        message: format!("`{word}` {what}"),
        help: "give the table as IOzone printed it, or its `-R` report alone".to_owned(),
    };
    let words = words(text);
    let size = |at: usize| match words.get(at) {
        Some((_, word)) => word.parse::<u64>().map_err(|_| error(word, "is not a size in kB")),
        None => Err(error(text.trim(), "has no record size")),
    };
    let (file_kb, record_kb) = (size(0)?, size(1)?);
    let mut found = Vec::new();
    let mut next = 2;
    for (end, word) in words.iter().skip(2) {
        let value: f64 = match word.parse() {
            Ok(value) if word.starts_with(|digit: char| digit.is_ascii_digit()) => value,
            _ => return Err(error(word, "is not a number")),
        };
        if word.len() > DIGITS_MAX {
            return Err(error(word, "is two numbers run together"));
        }
        let column = (next..ends.len()).min_by_key(|column| ends[*column].abs_diff(*end));
        let pass = column.and_then(|column| Pass::ALL.get(column - 2));
        let (Some(column), Some(pass)) = (column, pass) else {
            return Err(error(word, "is not below any column"));
        };
        next = column + 1;
        found.extend(number(*pass, word, value, rate, sizes(file_kb, record_kb)));
    }
    Ok(found)
}

/// Describes the work of each of several processes.
fn each(line: &str) -> String {
    let mut numbers = line.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
    match numbers.next() {
        Some(file_kb) => sizes(file_kb, numbers.next().unwrap_or(0)),
        None => String::new(),
    }
}

/// Parses `  2 initial writers  = 1035802.88 kB/sec`, the total of all processes.
fn block(line: &str, of_each: &str, rate: Rate) -> Option<PublishedNumber> {
    let (who_text, value) = line.split_once('=')?;
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let who_text = plain(who_text);
    let count: u32 = who_text.split(' ').next()?.parse().ok()?;
    let pass = Pass::ALL.iter().find(|pass| plain(&worker_names(**pass, count)[0]) == who_text)?;
    let printed = value.split_whitespace().next()?;
    let of_each = if of_each.is_empty() { "iozone" } else { of_each };
    number(*pass, printed, printed.parse().ok()?, rate, format!("{of_each}, {count} at once"))
}
