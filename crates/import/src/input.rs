//! A file as readers see it: its bytes, its text and its JSON.

use crate::error::unread;
use crate::json::{Repeated, WithRepeated};
use crate::stamps;
use crate::{ForeignFile, VALUES_MAX};
use plumb_result::published::Unread;
use serde::de::DeserializeSeed;
use serde_json::Value;
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};

/// Length of the beginning in which tools are recognised, bytes.
const HEAD_BYTES: usize = 1 << 16;

/// Length, bytes, above which a file is read only up to its first invalid UTF-8 byte: replacing each invalid byte would triple it.
const REPLACED_BYTES_MAX: usize = 16 << 20;

pub(crate) struct Input<'a> {
    pub(crate) name: &'a str,
    pub(crate) bytes: &'a [u8],
    text: OnceCell<Cow<'a, str>>,
    json: OnceCell<Result<Value, Unread>>,
    /// Keys that its JSON has more than once.
    repeated: RefCell<Repeated>,
}

impl<'a> Input<'a> {
    pub(crate) fn new(file: &ForeignFile<'a>) -> Input<'a> {
        Input {
            name: file.name,
            bytes: file.bytes,
            text: OnceCell::new(),
            json: OnceCell::new(),
            repeated: RefCell::default(),
        }
    }

    /// Removes time stamps that a logger put before each line. Returns `None` if there are none.
    pub(crate) fn without_stamps(&self, kinds: stamps::Kinds) -> Option<Input<'a>> {
        let text = stamps::without(self.text(), kinds)?;
        let input = Input {
            name: self.name,
            bytes: self.bytes,
            text: OnceCell::new(),
            json: OnceCell::new(),
            repeated: RefCell::default(),
        };
        input.text.get_or_init(|| Cow::Owned(text));
        Some(input)
    }

    /// Returns the paths of JSON keys that occurred more than once, each with its count.
    pub(crate) fn repeated(&self) -> Repeated {
        self.repeated.borrow().clone()
    }

    /// Returns the whole file as text, with invalid UTF-8 replaced.
    pub(crate) fn text(&self) -> &str {
        self.text.get_or_init(|| {
            // UTF-16, which PowerShell writes for redirected output.
            match self.bytes {
                [0xff, 0xfe, rest @ ..] => {
                    let units: Vec<u16> =
                        rest.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect();
                    Cow::Owned(String::from_utf16_lossy(&units))
                }
                [0xef, 0xbb, 0xbf, rest @ ..] => replaced(rest),
                bytes => replaced(bytes),
            }
        })
    }

    /// Returns the beginning, in which a tool is recognised.
    pub(crate) fn head(&self) -> &str {
        let text = self.text();
        let mut end = HEAD_BYTES.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        &text[..end]
    }

    /// Returns `true` if a line of the beginning, without indentation, starts with this text.
    pub(crate) fn has_line(&self, beginning: &str) -> bool {
        self.head().lines().any(|line| line.trim_start().starts_with(beginning))
    }

    /// Returns `true` if the beginning contains this text.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.head().contains(text)
    }

    /// Returns `true` if JSON starts at the start of some line.
    pub(crate) fn is_json(&self) -> bool {
        json_start(self.head()).is_some()
    }

    /// Returns the first JSON value. Skips lines before it, which some tools print.
    pub(crate) fn json(&self) -> Result<&Value, Unread> {
        self.json.get_or_init(|| self.json_values_up_to(1)?.pop().ok_or_else(no_json)).as_ref().map_err(Clone::clone)
    }

    /// Returns all JSON values in sequence.
    pub(crate) fn json_values(&self) -> Result<Vec<Value>, Unread> {
        self.json_values_up_to(usize::MAX)
    }

    fn json_values_up_to(&self, most: usize) -> Result<Vec<Value>, Unread> {
        let text = self.text();
        let Some(start) = json_start(text) else { return Err(no_json()) };
        let text = ready(&text[start..])?;
        let mut found = Vec::new();
        let (mut rest, mut lines) = (text.as_ref(), 0);
        while found.len() < most && !rest.trim_start().is_empty() {
            let mut deserializer = serde_json::Deserializer::from_str(rest);
            let value = WithRepeated::new(&self.repeated).deserialize(&mut deserializer);
            found.push(value.map_err(|error| invalid_json(&error, lines))?);
            let behind = after_value(rest);
            lines += rest[..rest.len() - behind.len()].matches('\n').count();
            rest = behind;
        }
        Ok(found)
    }

    /// Creates the error for a file without results.
    pub(crate) fn nothing(&self, what: &str) -> Unread {
        unread("", "the file contains no results", format!("Plumb reads {what}"))
    }
}

fn replaced(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(error) if bytes.len() > REPLACED_BYTES_MAX => String::from_utf8_lossy(&bytes[..error.valid_up_to()]),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

fn json_start(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        if trimmed.starts_with(['{', '[']) {
            return Some(at + line.len() - trimmed.len());
        }
        at += line.len();
    }
    None
}

/// Returns the text after its first value, which must be valid.
fn after_value(text: &str) -> &str {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => &text[values.byte_offset()..],
        _ => "",
    }
}

fn no_json() -> Unread {
    unread("", "the file contains no JSON", "pass the file as the tool wrote it")
}

/// Converts a JSON error; `before` lines precede the text that its line numbers refer to.
fn invalid_json(error: &serde_json::Error, before: usize) -> Unread {
    let help =
        if error.is_eof() { "the file is cut short; copy it again" } else { "pass the file as the tool wrote it" };
    unread(format!("line {}", error.line() + before), format!("not JSON: {error}"), help)
}

/// Replaces `nan` and `inf`, which tools print after a division by 0, with `null`. Counts the values first,
/// before memory is allocated for them.
fn ready(text: &str) -> Result<Cow<'_, str>, Unread> {
    let bytes = text.as_bytes();
    let (mut values, mut at, mut in_string, mut copied) = (0usize, 0, false, 0);
    let mut out = String::new();
    while at < bytes.len() {
        let byte = bytes[at];
        if in_string {
            match byte {
                b'\\' => at += 1,
                b'"' => in_string = false,
                _ => {}
            }
            at += 1;
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b',' | b'[' | b'{' => values += 1,
            b'-' | b'n' | b'N' | b'i' | b'I' => {
                let word = word_at(bytes, at);
                let name = word.strip_prefix('-').unwrap_or(word);
                if ["nan", "inf", "infinity"].iter().any(|one| name.eq_ignore_ascii_case(one)) {
                    out.push_str(&text[copied..at]);
                    out.push_str("null");
                    at += word.len();
                    copied = at;
                    continue;
                }
                at += word.len().max(1);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    if values > VALUES_MAX {
        return Err(unread("", format!("{values} values of JSON; the limit is {VALUES_MAX}"), "split the file"));
    }
    if copied == 0 {
        return Ok(Cow::Borrowed(text));
    }
    out.push_str(&text[copied..]);
    Ok(Cow::Owned(out))
}

/// Returns the ASCII word at a position.
fn word_at(bytes: &[u8], at: usize) -> &str {
    let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'-').count();
    std::str::from_utf8(&bytes[at..at + length]).unwrap_or_default()
}

/// Returns the JSON value at a path of keys.
pub(crate) fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// Returns the number at a path; accepts numbers written as text.
pub(crate) fn number_at(value: &Value, path: &[&str]) -> Option<f64> {
    match at(value, path)? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Returns the text at a path; numbers and `true` or `false` as they are written.
pub(crate) fn text_at(value: &Value, path: &[&str]) -> Option<String> {
    match at(value, path)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(word) => Some(word.to_string()),
        _ => None,
    }
}

/// Returns the values of the list at a path.
pub(crate) fn list_at<'v>(value: &'v Value, path: &[&str]) -> &'v [Value] {
    at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
