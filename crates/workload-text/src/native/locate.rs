//! Positions in texts and overrides, by path or span.

use super::error::{Diagnostic, NativeError, TextOrigin};
use super::given::Override;
use super::wording;
use crate::validate::Problem;
use plumb_document::toml::{self, SyntaxError};
use plumb_document::{Node, ReadError, Spanned, Table, Value};
use plumb_workload::former;
use plumb_workload::keypath::{KeyPath, Segment};
use plumb_workload::merge;
use serde::de::DeserializeOwned;
use std::ops::Range;

/// A document as parsed, with the position of every key and value.
pub type SpannedTable = Spanned<Table>;

/// An error of meaning and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocatedFailure {
    /// Position in the common space of a [`Document`].
    pub span: Range<usize>,
    pub message: String,
    /// How to fix it.
    pub help: String,
}

/// A text, its overrides and the texts that it builds on, in one space of byte positions. The text comes first, then
/// each override, then the bases.
///
/// The parser's tree has a position for every key and value. Values of overrides are put into the same tree at
/// positions of their own. Any later error of types or meaning therefore leads back to the override that caused it.
pub struct Document<'a> {
    source_name: &'a str,
    /// The text, a line per override, and the bases.
    joined: String,
    text_len: usize,
    overrides: Vec<Placed<'a>>,
    bases: Vec<PlacedBase>,
}

/// A text that another one builds on, and its position in the common space.
struct PlacedBase {
    name: String,
    span: Range<usize>,
}

/// An override and its position in the common space.
pub(super) struct Placed<'a> {
    pub(super) given: &'a Override,
    /// Position of the whole override, `path=value`.
    pub(super) span: Range<usize>,
    /// Start position of its value.
    pub(super) value_start: usize,
}

impl<'a> Document<'a> {
    /// Creates a document from a text and its overrides. `source_name` is the name of the text in errors.
    pub fn new(source_name: &'a str, text: &str, overrides: &'a [Override]) -> Document<'a> {
        let mut joined = text.to_owned();
        let mut placed = Vec::with_capacity(overrides.len());
        for given in overrides {
            joined.push('\n');
            let start = joined.len();
            joined.push_str(&given.to_string());
            let span = start..joined.len();
            placed.push(Placed { given, value_start: span.end - given.value.len(), span });
        }
        Document { source_name, joined, text_len: text.len(), overrides: placed, bases: Vec::new() }
    }

    /// Adds another base text, which provides the keys that no earlier text sets.
    #[must_use]
    pub fn on_base(mut self, name: &str, text: &str) -> Document<'a> {
        self.joined.push('\n');
        let start = self.joined.len();
        self.joined.push_str(text);
        self.bases.push(PlacedBase { name: name.to_owned(), span: start..self.joined.len() });
        self
    }

    /// Returns all texts and overrides as one tree.
    ///
    /// # Errors
    /// Fails for a text that is not TOML, and for an override with an invalid path.
    pub fn tree(&self) -> Result<SpannedTable, NativeError> {
        let mut tree = toml::parse(self.text()).map_err(|error| self.syntax_error(&error))?;
        for base in &self.bases {
            let start = base.span.start;
            let text = &self.joined[base.span.clone()];
            let base = toml::parse(text).map_err(|error| self.misread(start, &error))?;
            let Value::Table(base) = Node::from(Value::Table(base.into_inner())).moved(start).into_inner() else {
                unreachable!("moving a table keeps it a table")
            };
            merge::merge_base(tree.get_mut(), base);
        }
        former::upgrade_table(tree.get_mut());
        Ok(tree)
    }

    /// Reads a part of the tree as a form. Errors of a table without a position of their
    /// own get the table's position.
    ///
    /// # Errors
    /// Reports the first value that does not fit, with its position.
    pub fn read<T: DeserializeOwned>(&self, part: &Node) -> Result<T, NativeError> {
        plumb_document::read(part).map_err(|error| self.error(&error))
    }

    /// Reads the whole tree as a form.
    ///
    /// # Errors
    /// Reports the first value that does not fit, with its position.
    pub fn read_tree<T: DeserializeOwned>(&self, tree: &SpannedTable) -> Result<T, NativeError> {
        self.read(&Node::new(tree.span(), Value::Table(tree.get_ref().clone())))
    }

    /// Converts errors of meaning at positions of the common space. Sorts them and drops duplicates.
    pub fn failures(&self, mut failures: Vec<LocatedFailure>) -> NativeError {
        failures.sort_by(|a, b| (a.span.start, &a.message).cmp(&(b.span.start, &b.message)));
        failures.dedup();
        self.failed(
            failures
                .into_iter()
                .map(|LocatedFailure { span, message, help }| self.diagnostic(span, message, Some(help)))
                .collect(),
        )
    }

    /// Converts errors of meaning, finding their positions by path.
    pub fn misfits(&self, problems: Vec<Problem>, place: &dyn Fn(&KeyPath) -> Range<usize>) -> NativeError {
        let failure = |problem: Problem| LocatedFailure {
            span: place(&problem.path),
            message: problem.message,
            help: problem.help,
        };
        self.failures(problems.into_iter().map(failure).collect())
    }

    fn misread(&self, start: usize, error: &SyntaxError) -> NativeError {
        let span = error.span.start + start..error.span.end + start;
        self.failed(vec![self.diagnostic(span, wording::syntax_message(&error.message), None)])
    }

    /// Returns the text without overrides and bases.
    pub fn text(&self) -> &str {
        &self.joined[..self.text_len]
    }

    pub(super) fn overrides(&self) -> &[Placed<'a>] {
        &self.overrides
    }

    /// Returns the value of an override as typed.
    pub(super) fn value(&self, placed: &Placed<'_>) -> &str {
        &self.joined[placed.value_start..placed.span.end]
    }

    fn failed(&self, diagnostics: Vec<Diagnostic>) -> NativeError {
        NativeError {
            source_name: self.source_name.to_owned(),
            text: self.text().to_owned(),
            overrides: self.overrides.iter().map(|placed| placed.given.to_string()).collect(),
            diagnostics,
        }
    }

    /// Creates a diagnostic for a position in the common space.
    fn diagnostic(&self, span: Range<usize>, message: String, help: Option<String>) -> Diagnostic {
        if let Some(base) = self.bases.iter().rev().find(|base| base.span.start <= span.start) {
            let text = &self.joined[base.span.clone()];
            let span = span.start - base.span.start..span.end.saturating_sub(base.span.start);
            let origin = TextOrigin::Base { name: base.name.clone(), text: text.to_owned() };
            return Diagnostic::new(origin, text, span, message, help);
        }
        match self.overrides.iter().rev().find(|placed| placed.span.start <= span.start) {
            None => Diagnostic::new(TextOrigin::Text, self.text(), span, message, help),
            Some(placed) => {
                let text = &self.joined[placed.span.clone()];
                let start = placed.span.start;
                let span = span.start - start..span.end.saturating_sub(start);
                Diagnostic::new(TextOrigin::Override(text.to_owned()), text, span, message, help)
            }
        }
    }

    /// Returns an error for the whole text.
    pub(super) fn whole(&self, message: String) -> NativeError {
        self.failed(vec![self.diagnostic(0..0, message, None)])
    }

    /// Returns an error for one override.
    pub(super) fn bad_override(&self, placed: &Placed<'_>, message: String, help: String) -> NativeError {
        self.failed(vec![self.diagnostic(placed.span.start..placed.value_start, message, Some(help))])
    }

    /// Returns a TOML syntax error.
    pub(super) fn syntax_error(&self, error: &SyntaxError) -> NativeError {
        self.failed(vec![self.diagnostic(error.span.clone(), wording::syntax_message(&error.message), None)])
    }

    /// Returns an error of shape or type.
    pub(super) fn error(&self, error: &ReadError) -> NativeError {
        let span = error.span().unwrap_or(0..0);
        let (message, help) = wording::misfit_message(error.misfit());
        self.failed(vec![self.diagnostic(span, message, help)])
    }

    /// Returns errors of meaning.
    pub(super) fn problems(&self, tree: &Spanned<Table>, problems: Vec<Problem>) -> NativeError {
        let mut diagnostics: Vec<(usize, Diagnostic)> = problems
            .into_iter()
            .map(|problem| {
                let span = find(tree, &problem.path);
                (span.start, self.diagnostic(span, problem.message, Some(problem.help)))
            })
            .collect();
        diagnostics.sort_by_key(|(start, _)| *start);
        self.failed(diagnostics.into_iter().map(|(_, diagnostic)| diagnostic).collect())
    }
}

fn find(tree: &Spanned<Table>, path: &KeyPath) -> Range<usize> {
    place_of(tree.get_ref(), path)
}

/// Keys that have former names, which are still accepted.
pub(super) const FORMER: [&[&str]; 3] = [&["program", "flow", "script"], &["delay", "pause"], &["size", "length"]];

/// Returns the name under which the table contains a key: its current name or a former one.
pub(super) fn as_written<'k>(table: &Table, key: &'k str) -> &'k str {
    if table.contains_key(key) {
        return key;
    }
    let names = FORMER.iter().find(|names| names.contains(&key));
    names.and_then(|names| names.iter().copied().find(|name| table.contains_key(name))).unwrap_or(key)
}

/// Returns the position of a path, or of its last part that is written down. A value has its own position. A table
/// has the position of its key, because its own span may cover many lines.
pub fn place_of(table: &Table, path: &KeyPath) -> Range<usize> {
    let mut place = 0..0;
    let mut table = Some(table);
    let mut array = None;
    for segment in &path.0 {
        let (key_span, value) = match segment {
            Segment::Key(key) => match table.and_then(|table| table.get_key_value(as_written(table, key))) {
                Some((key, value)) => (Some(key.span()), value),
                None => return place,
            },
            Segment::Index(index) => match array.and_then(|array: &[Node]| array.get(*index)) {
                Some(value) => (None, value),
                None => return place,
            },
        };
        table = value.get_ref().as_table();
        array = value.get_ref().as_list();
        place = match key_span {
            Some(key_span) if table.is_some() || array.is_some() => key_span,
            _ => value.span(),
        };
    }
    place
}
