//! Splits a parameter file into parameters with places: `sd=sd1,lun=/dev/sdb,threads=(1,2)`.

use super::usage_error::{Placed, Reason};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parameter {
    /// Keyword, in lower case.
    pub key: String,
    /// Values; more than one only if written in parentheses.
    pub values: Vec<String>,
    /// Line number, from 1.
    pub line: usize,
}

impl Parameter {
    /// Returns the values as written.
    pub(super) fn joined_values(&self) -> String {
        match self.values.as_slice() {
            [one] => one.clone(),
            several => format!("({})", several.join(",")),
        }
    }

    /// Returns the error for an invalid value.
    pub(super) fn value(&self, expected: &'static str) -> Reason {
        Reason::value(&self.key, &self.joined_values(), expected)
    }
}

/// Returns the parameters of a file up to `eof`. Lines that begin with `*`, `#` or `/` are comments, and so is the
/// text after a blank. A line that ends with a comma continues on the next.
///
/// # Errors
/// The line number and the problem.
pub(super) fn parameters(text: &str) -> Result<Vec<Parameter>, Placed> {
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
        let mut rest = before_comment(line);
        while !rest.is_empty() {
            let Some((key, after)) = rest.split_once('=') else {
                return Err((number, Reason::NotAParameter { text: rest.to_owned() }));
            };
            let (values, after) = match after.strip_prefix('(') {
                Some(inner) => {
                    let Some((inner, after)) = split_at_unquoted(inner, ')') else {
                        return Err((number, Reason::NotClosed { key: key.to_owned() }));
                    };
                    (values(inner), &after[1..])
                }
                None => {
                    let (value, after) = split_at_unquoted(after, ',').unwrap_or((after, ""));
                    (vec![value.replace('"', "")], after)
                }
            };
            if !after.is_empty() && !after.starts_with(',') {
                return Err((number, Reason::NoComma { key: key.to_owned(), text: after.to_owned() }));
            }
            if values.iter().any(String::is_empty) {
                return Err((number, Reason::NoValue { key: key.to_owned() }));
            }
            rest = after.trim_start_matches(',');
            found.push(Parameter { key: key.trim().to_ascii_lowercase(), values, line: number });
        }
    }
    Ok(found)
}

/// Splits at the first `letter` outside of double quotes.
fn split_at_unquoted(text: &str, letter: char) -> Option<(&str, &str)> {
    let mut is_quoted = false;
    let place = text.char_indices().find(|(_, found)| {
        is_quoted ^= *found == '"';
        !is_quoted && *found == letter
    });
    place.map(|(at, _)| text.split_at(at))
}

/// Returns the line up to its first unquoted blank. The rest is a comment.
fn before_comment(line: &str) -> &str {
    let mut is_quoted = false;
    let end = line.char_indices().find(|(_, found)| {
        is_quoted ^= *found == '"';
        !is_quoted && found.is_whitespace()
    });
    end.map_or(line, |(at, _)| &line[..at])
}

/// Splits a list into values without quotes.
fn values(mut list: &str) -> Vec<String> {
    let mut found = Vec::new();
    while let Some((value, after)) = split_at_unquoted(list, ',') {
        found.push(value.replace('"', ""));
        list = &after[1..];
    }
    found.push(list.replace('"', ""));
    found
}

/// Parses a number with an optional fraction and one of the units K, M, G, T or H, which may end in B: `512kb`,
/// `1.5g`.
pub(super) fn size(text: &str) -> Option<u64> {
    scaled(text, 1 << 20)
}

/// Parses a time in seconds, minutes (`90m`) or hours (`2h`). In a time, M means minutes.
pub(super) fn seconds(text: &str) -> Option<u64> {
    scaled(text.strip_suffix(['s', 'S']).unwrap_or(text), 60).filter(|seconds| *seconds <= u64::from(u32::MAX))
}

fn scaled(text: &str, m: u64) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(lower.len());
    let (number, unit) = lower.split_at(digits);
    let factor = match unit {
        "" => 1,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => m,
        "g" | "gb" => 1 << 30,
        "t" | "tb" => 1 << 40,
        "h" | "hb" => 3600,
        _ => return None,
    };
    let whole = match number.parse::<u64>() {
        Ok(number) => number.checked_mul(factor)?,
        // vdbench's values are `i64`. The saturating cast keeps larger ones above that limit.
        Err(_) if number.contains('.') => (number.parse::<f64>().ok()? * factor as f64) as u64,
        Err(_) => return None,
    };
    i64::try_from(whole).is_ok().then_some(whole)
}

/// Parses a list of numbers, or a range: `FIRST-LAST,STEP`, or `FIRST-LAST,d`, which doubles.
pub(super) fn numbers(values: &[String], read: fn(&str) -> Option<u64>) -> Option<Vec<u64>> {
    /// Limit of a list's length. More are probably a mistake.
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

pub(super) fn is_key(key: &str, full: &[&str]) -> bool {
    // As in vdbench, a prefix of a keyword is enough.
    key.len() > 1 && full.iter().any(|full| full.starts_with(key))
}
