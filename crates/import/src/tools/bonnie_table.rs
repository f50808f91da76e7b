//! Bonnie++'s tables, for texts without a CSV line. Each becomes a line of 1.03's CSV, which has the same columns. The
//! row of latencies is kept separately, since that line has no place for it.

use crate::amount::time_ns;

/// Number of tests in one table.
const TESTS: usize = 6;

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) version: String,
    pub(super) concurrency: Option<String>,
    machine: String,
    size: String,
    files: String,
    /// Rates and CPU shares: of file contents, and of files.
    numbers: [Vec<String>; 2],
    /// Latencies of all tests, ns.
    pub(super) latencies_ns: [Vec<Option<f64>>; 2],
}

impl Table {
    /// Formats a line of 1.03's CSV.
    pub(super) fn csv(&self) -> String {
        let numbers = |at: usize| match self.numbers[at].is_empty() {
            true => vec![String::new(); 2 * TESTS],
            false => self.numbers[at].clone(),
        };
        let parts = [vec![self.machine.clone(), self.size.clone()], numbers(0), vec![self.files.clone()], numbers(1)];
        parts.concat().join(",")
    }

    fn is_empty(&self) -> bool {
        self.numbers.iter().all(Vec::is_empty)
    }
}

/// Returns the positions where words end, in characters.
fn ends(line: &str) -> Vec<usize> {
    words(line).into_iter().map(|(_, end)| end).collect()
}

/// Returns the words of a line, each with the position of its end.
fn words(line: &str) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut goes_on = false;
    for (at, letter) in line.chars().enumerate() {
        if letter.is_whitespace() {
            goes_on = false;
            continue;
        }
        match found.last_mut().filter(|_| goes_on) {
            Some((word, end)) => {
                word.push(letter);
                *end = at + 1;
            }
            None => found.push((letter.to_string(), at + 1)),
        }
        goes_on = true;
    }
    found
}

/// Assigns words to the columns with the nearest ends. If there is one word per column, assigns them in order.
fn in_columns(words: &[(String, usize)], columns: &[usize]) -> Vec<String> {
    if words.len() == columns.len() {
        return words.iter().map(|(word, _)| word.clone()).collect();
    }
    let mut cells = vec![String::new(); columns.len()];
    for (word, end) in words {
        let nearest = columns.iter().enumerate().min_by_key(|(_, column)| column.abs_diff(*end));
        if let Some((at, _)) = nearest {
            cells[at].clone_from(word);
        }
    }
    cells
}

/// Converts `1024k` or `15m` of version 2 to 1.03's unit, K per second.
fn in_k(text: &str) -> String {
    let factor = match text.chars().last() {
        Some('k' | 'K') => 1.0,
        Some('m' | 'M') => 1024.0,
        Some('g' | 'G') => 1_048_576.0,
        _ => return text.to_owned(),
    };
    text[..text.len() - 1].parse::<f64>().map_or_else(|_| text.to_owned(), |value| (value * factor).round().to_string())
}

/// Returns the index of the table that a header line begins, and the ends of its six pairs of columns.
fn head(line: &str) -> Option<(usize, Vec<usize>)> {
    let titles = words(line);
    let pairs = titles.iter().filter(|(word, _)| word == "%CP").count();
    let is_files = titles.iter().any(|(word, _)| word == "files" || word.starts_with("files:"));
    let ends = ends(line);
    (pairs == TESTS && ends.len() > 2 * TESTS).then(|| (usize::from(is_files), ends[ends.len() - 2 * TESTS..].to_vec()))
}

/// Returns the tables of a text, grouped by run.
pub(super) fn tables(text: &str) -> Vec<Table> {
    let mut found: Vec<Table> = Vec::new();
    let mut now = Table::default();
    let mut columns: Option<(usize, Vec<usize>)> = None;
    let mut last = 0;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("Version ") {
            now.version = rest.split_whitespace().next().unwrap_or_default().to_owned();
        }
        if let Some(rest) = line.strip_prefix("Concurrency ") {
            now.concurrency = rest.split_whitespace().next().map(str::to_owned);
        }
        if let Some((at, ends)) = head(line) {
            // First table of another run.
            if at == 0 && !now.is_empty() {
                let next =
                    Table { version: now.version.clone(), concurrency: now.concurrency.clone(), ..Table::default() };
                found.push(std::mem::replace(&mut now, next));
            }
            columns = Some((at, ends));
        } else if let Some((at, ends)) = columns.take() {
            row(&mut now, line, at, &ends);
            last = at;
        } else if let Some(rest) = line.strip_prefix("Latency ") {
            let times: Vec<Option<f64>> = rest.split_whitespace().map(time_ns).collect();
            if times.len() == TESTS {
                now.latencies_ns[last] = times;
            }
        }
    }
    if !now.is_empty() {
        found.push(now);
    }
    found
}

fn row(table: &mut Table, line: &str, at: usize, columns: &[usize]) {
    let all = words(line);
    // The name and the size come before the first column, which is five characters wide.
    let (before, numbers): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, end)| end + 5 <= columns[0]);
    let cells = in_columns(&numbers, columns);
    if cells.iter().all(String::is_empty) {
        return;
    }
    let before: Vec<String> = before.into_iter().map(|(word, _)| word).collect();
    match (at, before.as_slice()) {
        (0, [machine, size, ..]) => (table.machine, table.size) = (machine.clone(), size.clone()),
        // Version 2 joins the name and the size.
        (0, [both]) => {
            let (machine, size) = both.split_once(':').unwrap_or((both, ""));
            (table.machine, table.size) = (machine.to_owned(), size.to_owned());
        }
        (_, [.., files]) => table.files.clone_from(files),
        _ => {}
    }
    // Seeks, the last pair of the first table, count operations.
    let is_bytes = |place: usize| at == 0 && place.is_multiple_of(2) && place < 2 * (TESTS - 1);
    table.numbers[at] =
        cells.into_iter().enumerate().map(|(place, cell)| if is_bytes(place) { in_k(&cell) } else { cell }).collect();
}
