//! A parameter file as parameters, each with its place: `sd=sd1,lun=/dev/sdb,threads=(1,2)`.

use super::wrong::{Placed, Reason};

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// In lower case.
    pub key: String,
    /// Its values; several only in parentheses.
    pub values: Vec<String>,
    /// Its line, from 1.
    pub line: usize,
}

impl Parameter {
    /// Its values as they were written.
    pub(super) fn said(&self) -> String {
        match self.values.as_slice() {
            [one] => one.clone(),
            several => format!("({})", several.join(",")),
        }
    }

    /// Its value means nothing.
    pub(super) fn value(&self, expected: &'static str) -> Reason {
        Reason::value(&self.key, &self.said(), expected)
    }
}

/// The parameters of a file up to `eof`. Lines that begin with `*`, `#` or `/` are comments, and so is what stands behind a blank;
/// a line that ends with a comma goes on in the next.
///
/// # Errors
/// The line, and what is wrong with it.
pub fn parameters(text: &str) -> Result<Vec<Parameter>, Placed> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.starts_with("eof") {
            break;
        }
        if line.is_empty() || line.starts_with(['*', '#', '/']) {
            continue;
        }
        if line.starts_with("include=") {
            let way_out = "put the file's lines here";
            return Err((number, Reason::General { key: "include".to_owned(), way_out }));
        }
        let mut rest = line.split(char::is_whitespace).next().unwrap_or(line);
        while !rest.is_empty() {
            let Some((key, behind)) = rest.split_once('=') else {
                return Err((number, Reason::NotAParameter { text: rest.to_owned() }));
            };
            let (values, behind) = match behind.strip_prefix('(') {
                Some(inner) => {
                    let Some((inner, behind)) = inner.split_once(')') else {
                        return Err((number, Reason::NotClosed { key: key.to_owned() }));
                    };
                    (inner.split(',').map(str::to_owned).collect(), behind)
                }
                None => {
                    let (value, behind) = behind.split_at(behind.find(',').unwrap_or(behind.len()));
                    (vec![value.to_owned()], behind)
                }
            };
            if !behind.is_empty() && !behind.starts_with(',') {
                return Err((number, Reason::NoComma { key: key.to_owned(), text: behind.to_owned() }));
            }
            if values.iter().any(String::is_empty) {
                return Err((number, Reason::NoValue { key: key.to_owned() }));
            }
            rest = behind.trim_start_matches(',');
            found.push(Parameter { key: key.trim().to_ascii_lowercase(), values, line: number });
        }
    }
    Ok(found)
}

/// A number with K, M, G or T.
pub fn size(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(lower.len());
    let (number, unit) = lower.split_at(digits);
    let power = match unit {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1024u64.pow(power)).filter(|bytes| i64::try_from(*bytes).is_ok())
}

/// The numbers of a list: single ones, and `FIRST-LAST,STEP` or `FIRST-LAST,d`, which doubles.
pub fn numbers(values: &[String], read: fn(&str) -> Option<u64>) -> Option<Vec<u64>> {
    /// More than this nobody has written on purpose.
    const NUMBERS_MAX: usize = 1000;
    if let [range, step] = values
        && let Some((first, last)) = range.split_once('-')
    {
        let (first, last) = (read(first)?, read(last)?);
        let step = if step.eq_ignore_ascii_case("d") { None } else { Some(read(step).filter(|step| *step > 0)?) };
        let mut found = Vec::new();
        let mut at = first;
        while at <= last && found.len() < NUMBERS_MAX && !(at == 0 && step.is_none()) {
            found.push(at);
            at = match step {
                Some(step) => at.checked_add(step)?,
                None => at.checked_mul(2)?,
            };
        }
        return (!found.is_empty()).then_some(found);
    }
    values.iter().map(|value| read(value)).collect()
}
