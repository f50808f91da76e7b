//! From a path or a span to a place in the text or in an override.

use super::error::{Diagnostic, NativeError, Origin};
use super::overrides::Override;
use super::wording;
use crate::keypath::{KeyPath, Segment};
use crate::validate::Problem;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A text and its overrides, in one space of byte positions: the text first, each override behind it.
///
/// The parser's tree keeps a position for every key and value. Values of overrides are put into the same tree under
/// positions of their own, so that any later error, of types or of meaning, leads back to the override that caused it.
pub(super) struct Document<'a> {
    source_name: &'a str,
    /// The text, then a line for each override.
    joined: String,
    text_len: usize,
    overrides: Vec<Placed<'a>>,
}

/// An override and where it lies in the common space.
pub(super) struct Placed<'a> {
    pub(super) given: &'a Override,
    /// Where the whole of it lies: `path=value`.
    pub(super) span: Range<usize>,
    /// Where its value starts.
    pub(super) value_start: usize,
}

impl<'a> Document<'a> {
    pub(super) fn new(source_name: &'a str, text: &str, overrides: &'a [Override]) -> Document<'a> {
        let mut joined = text.to_owned();
        let mut placed = Vec::with_capacity(overrides.len());
        for given in overrides {
            joined.push('\n');
            let start = joined.len();
            joined.push_str(&given.to_string());
            let span = start..joined.len();
            placed.push(Placed { given, value_start: span.end - given.value.len(), span });
        }
        Document { source_name, joined, text_len: text.len(), overrides: placed }
    }

    pub(super) fn text(&self) -> &str {
        &self.joined[..self.text_len]
    }

    pub(super) fn overrides(&self) -> &[Placed<'a>] {
        &self.overrides
    }

    /// The value of an override, as it was typed.
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

    /// A diagnostic of a position in the common space.
    fn diagnostic(&self, span: Range<usize>, message: String, help: Option<String>) -> Diagnostic {
        match self.overrides.iter().rev().find(|placed| placed.span.start <= span.start) {
            None => Diagnostic::new(Origin::Text, self.text(), span, message, help),
            Some(placed) => {
                let text = &self.joined[placed.span.clone()];
                let start = placed.span.start;
                let span = span.start - start..span.end.saturating_sub(start);
                Diagnostic::new(Origin::Override(text.to_owned()), text, span, message, help)
            }
        }
    }

    /// An error of the whole text.
    pub(super) fn whole(&self, message: String) -> NativeError {
        self.failed(vec![self.diagnostic(0..0, message, None)])
    }

    /// An error of one override.
    pub(super) fn bad_override(&self, placed: &Placed<'_>, message: String, help: String) -> NativeError {
        self.failed(vec![self.diagnostic(placed.span.start..placed.value_start, message, Some(help))])
    }

    /// An error of TOML's syntax.
    pub(super) fn syntax_error(&self, error: &toml::de::Error) -> NativeError {
        let span = error.span().unwrap_or(0..0);
        self.failed(vec![self.diagnostic(span, wording::of_syntax(error.message()), None)])
    }

    /// An error of shape or type.
    pub(super) fn error(&self, error: &toml::de::Error) -> NativeError {
        let span = error.span().unwrap_or(0..0);
        let (message, help) = wording::of_shape(error.message());
        self.failed(vec![self.diagnostic(span, message, help)])
    }

    /// Errors of meaning.
    pub(super) fn problems(&self, tree: &Spanned<DeTable<'_>>, problems: Vec<Problem>) -> NativeError {
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

/// The place of what a path leads to, or of the last thing on the way to it that is written down. A value is its own
/// place; a table is best pointed at by its key, for its own span may be many lines.
fn find(tree: &Spanned<DeTable<'_>>, path: &KeyPath) -> Range<usize> {
    let mut place = 0..0;
    let mut table = Some(tree.get_ref());
    let mut array = None;
    for segment in &path.0 {
        let (key_span, value) = match segment {
            Segment::Key(key) => match table.and_then(|table| table.get_key_value(key.as_str())) {
                Some((key, value)) => (Some(key.span()), value),
                None => return place,
            },
            Segment::Index(index) => match array.and_then(|array: &toml::de::DeArray<'_>| array.get(*index)) {
                Some(value) => (None, value),
                None => return place,
            },
        };
        table = value.get_ref().as_table();
        array = value.get_ref().as_array();
        place = match key_span {
            Some(key_span) if table.is_some() || array.is_some() => key_span,
            _ => value.span(),
        };
    }
    place
}

/// Moves a value and all in it to another place of the common space.
pub(super) fn moved(value: Spanned<DeValue<'_>>, by: usize) -> Spanned<DeValue<'_>> {
    let shift = |span: Range<usize>| span.start + by..span.end + by;
    let span = shift(value.span());
    let value = match value.into_inner() {
        DeValue::Array(mut array) => {
            for value in array.iter_mut() {
                let taken = std::mem::replace(value, Spanned::new(0..0, DeValue::Boolean(false)));
                *value = moved(taken, by);
            }
            DeValue::Array(array)
        }
        DeValue::Table(table) => DeValue::Table(
            table
                .into_iter()
                .map(|(key, value)| (Spanned::new(shift(key.span()), key.into_inner()), moved(value, by)))
                .collect(),
        ),
        scalar => scalar,
    };
    Spanned::new(span, value)
}
