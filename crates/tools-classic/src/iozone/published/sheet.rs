//! Parses IOzone's reports: tables of file sizes by record sizes, as quoted text or as a raw BIFF 2 stream.

use super::{number, sizes, table};
use crate::iozone::pass::Pass;
use crate::iozone::print::throughput::label;
use crate::iozone::settings::Rate;
use crate::iozone::{Action, Machine, read};
use plumb_result::PublishedNumber;
use plumb_result::published::Unread;
use std::collections::BTreeMap;

/// Start of a sheet: its first record, four bytes long.
const BEGINNING: [u8; 4] = [9, 0, 4, 0];
const NUMBER: u16 = 3;
const LABEL: u16 = 4;
/// Bytes of a cell's position and attributes, which precede its content.
const CELL_BYTES: usize = 7;

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Text(String),
    /// A number and its original text.
    Number(f64, String),
}

/// Cells by row and column.
type Rows = BTreeMap<usize, BTreeMap<usize, Value>>;

/// Whether these bytes are a sheet.
pub(super) fn is_sheet(bytes: &[u8]) -> bool {
    bytes.starts_with(&BEGINNING)
}

/// Returns the numbers of a spreadsheet.
pub(super) fn of_records(bytes: &[u8]) -> Result<Vec<PublishedNumber>, Unread> {
    let rows = records(bytes)?;
    let first = rows.values().next().and_then(|row| row.get(&0));
    let rate = match first {
        Some(Value::Text(command)) => rate_of_command(command),
        _ => Rate::Kb,
    };
    Ok(numbers(&rows, rate))
}

/// Returns the numbers of the reports in a text.
pub(super) fn of_text(text: &str) -> Result<Vec<PublishedNumber>, Unread> {
    let mut rows = Rows::new();
    for (line, text) in (1..).zip(text.lines()) {
        // The first column of an indented line is empty.
        let indent = usize::from(text.starts_with([' ', '\t']));
        let cells = fields(text).ok_or_else(|| Unread {
            place: format!("line {line}"),
            message: format!("`{}` has an unbalanced quotation mark", text.trim()),
            help: "give the report as IOzone printed it".to_owned(),
        });
        // Other lines may contain anything.
        if text.trim_start().starts_with('"') {
            rows.insert(line, BTreeMap::from_iter((indent..).zip(cells?)));
        }
    }
    Ok(numbers(&rows, table::rate(text)))
}

/// Splits a line into fields: in quotation marks, or separated by blanks.
fn fields(text: &str) -> Option<Vec<Value>> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (field, after) = match rest.strip_prefix('"') {
            Some(inner) => inner.split_once('"')?,
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        found.push(match field.trim().parse::<f64>() {
            Ok(value) => Value::Number(value, field.trim().to_owned()),
            Err(_) => Value::Text(field.to_owned()),
        });
        rest = after.trim_start();
    }
    Some(found)
}

/// Returns the cells of a stream of records.
fn records(bytes: &[u8]) -> Result<Rows, Unread> {
    let mut rows = Rows::new();
    let mut at = 0;
    while at < bytes.len() {
        let record = record(&bytes[at..]).ok_or_else(|| Unread {
            place: format!("byte {at}"),
            message: "the spreadsheet ends within a record".to_owned(),
            help: "it was cut short; copy it again".to_owned(),
        })?;
        at += 4 + record.data.len();
        if let Some((row, column, value)) = record.cell() {
            rows.entry(row).or_default().insert(column, value);
        }
    }
    Ok(rows)
}

struct Record<'a> {
    kind: u16,
    data: &'a [u8],
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn record(bytes: &[u8]) -> Option<Record<'_>> {
    let length = usize::from(word(bytes, 2)?);
    Some(Record { kind: word(bytes, 0)?, data: bytes.get(4..4 + length)? })
}

impl Record<'_> {
    fn cell(&self) -> Option<(usize, usize, Value)> {
        let value = match self.kind {
            NUMBER => {
                let value = f64::from_le_bytes(self.data.get(CELL_BYTES..CELL_BYTES + 8)?.try_into().ok()?);
                Value::Number(value, value.to_string())
            }
            LABEL => {
                let length = usize::from(*self.data.get(CELL_BYTES)?);
                let text = self.data.get(CELL_BYTES + 1..CELL_BYTES + 1 + length)?;
                Value::Text(String::from_utf8_lossy(text).into_owned())
            }
            _ => return None,
        };
        Some((usize::from(word(self.data, 0)?), usize::from(word(self.data, 2)?), value))
    }
}

/// Returns the rate unit of an IOzone command line; kB/s by default.
fn rate_of_command(command: &str) -> Rate {
    struct Nobody;
    impl Machine for Nobody {
        fn file(&mut self, path: &str) -> Result<String, plumb_tools::FileError> {
            Err(plumb_tools::FileError::NotPublished { path: path.to_owned() })
        }
        fn uname(&mut self) -> String {
            String::new()
        }
        fn processors(&mut self) -> u32 {
            1
        }
    }
    let words: Vec<String> = command.split_whitespace().skip(1).map(str::to_owned).collect();
    match read(&words, &mut Nobody) {
        Ok(Action::Run(settings)) => settings.reports.rate,
        _ => Rate::Kb,
    }
}

/// The contents of the rows below a title.
enum Section {
    Other,
    /// Rates of a pass, with the record sizes in kB by column once they are known.
    Surface(Pass, Option<BTreeMap<usize, u64>>),
    /// A line per pass, a column per number of processes; with a description of the records.
    Throughput(String),
}

impl Section {
    fn of_title(title: &str, before: &Section) -> Section {
        let title = title.trim();
        let is_report = |pass: &&Pass| title.eq_ignore_ascii_case(&format!("{} report", pass.title()));
        if let Some(pass) = Pass::ALL.iter().find(is_report) {
            return Section::Surface(*pass, None);
        }
        match before {
            _ if title.starts_with("Throughput report") => Section::Throughput(String::new()),
            Section::Throughput(_) if title.starts_with("Record size") => Section::Throughput(title.to_owned()),
            Section::Throughput(records) if title.starts_with("Output is in ") && !title.ends_with("CPU%") => {
                Section::Throughput(records.clone())
            }
            _ => Section::Other,
        }
    }
}

fn numbers(rows: &Rows, rate: Rate) -> Vec<PublishedNumber> {
    let mut found = Vec::new();
    let mut section = Section::Other;
    for row in rows.values() {
        let values = row.iter().filter_map(|(column, value)| match value {
            Value::Number(value, printed) => Some((*column, *value, printed)),
            Value::Text(_) => None,
        });
        let title = match row.get(&0) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        };
        match (&mut section, title) {
            (_, Some(title)) if row.len() == 1 => section = Section::of_title(title, &section),
            (Section::Surface(_, records @ None), None) => {
                *records = Some(BTreeMap::from_iter(values.map(|(column, record_kb, _)| (column, record_kb as u64))));
            }
            (Section::Surface(pass, Some(records)), None) => {
                let Some(Value::Number(file_kb, _)) = row.get(&0) else { continue };
                let of_row = values.filter(|(column, ..)| *column > 0).filter_map(|(column, value, printed)| {
                    let conditions = sizes(*file_kb as u64, *records.get(&column)?);
                    number(*pass, printed, value, rate, conditions)
                });
                found.extend(of_row);
            }
            (Section::Throughput(records), Some(title)) => {
                let Some(pass) = Pass::ALL.iter().find(|pass| label(**pass) == title.trim()) else { continue };
                let of_row = (1..).zip(values).filter_map(|(place, (_, value, printed))| {
                    let conditions = format!("iozone, {records}, column {place} of its processes");
                    number(*pass, printed, value, rate, conditions)
                });
                found.extend(of_row);
            }
            _ => {}
        }
    }
    found
}
