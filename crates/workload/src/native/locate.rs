//! From a path or a span to a place in the text or in an override.

use super::error::{Diagnostic, NativeError, Origin};
use super::overrides::Override;
use super::{merge, wording};
use crate::keypath::{KeyPath, Segment};
use crate::validate::Problem;
use serde::de::DeserializeOwned;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// A document as the parser leaves it: every key and value knows its place.
pub type Tree<'d> = Spanned<DeTable<'d>>;

/// Something that makes no sense, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Where, in the common space of a [`Document`].
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// A text, its overrides and the texts that it builds on, in one space of byte positions: the text first, each override
/// behind it, then the bases.
///
/// The parser's tree keeps a position for every key and value. Values of overrides are put into the same tree under
/// positions of their own, so that any later error, of types or of meaning, leads back to the override that caused it.
pub struct Document<'a> {
    source_name: &'a str,
    /// The text, then a line for each override, then the bases.
    joined: String,
    text_len: usize,
    overrides: Vec<Placed<'a>>,
    bases: Vec<PlacedBase>,
}

/// A text that another one builds on, and where it lies in the common space.
struct PlacedBase {
    name: String,
    span: Range<usize>,
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
    /// A text and what is put into it. `source_name` is what errors call the text.
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

    /// The same with a further text beneath all that are there: what they do not say, it says.
    #[must_use]
    pub fn on_base(mut self, name: &str, text: &str) -> Document<'a> {
        self.joined.push('\n');
        let start = self.joined.len();
        self.joined.push_str(text);
        self.bases.push(PlacedBase { name: name.to_owned(), span: start..self.joined.len() });
        self
    }

    /// All texts and overrides as one tree.
    ///
    /// # Errors
    /// A text that is not TOML, or an override whose path leads nowhere.
    pub fn tree(&self) -> Result<Tree<'_>, NativeError> {
        let mut tree = DeTable::parse(self.text()).map_err(|error| self.syntax_error(&error))?;
        for base in &self.bases {
            let start = base.span.start;
            let beneath =
                DeTable::parse(&self.joined[base.span.clone()]).map_err(|error| self.misread(start, &error))?;
            let DeValue::Table(beneath) =
                moved(Spanned::new(0..0, DeValue::Table(beneath.into_inner())), start).into_inner()
            else {
                unreachable!("a table that is moved stays one")
            };
            merge::beneath(tree.get_mut(), beneath);
        }
        Ok(tree)
    }

    /// Puts every override into the tree, each by its full path.
    ///
    /// # Errors
    /// An override whose path leads nowhere.
    pub fn put_overrides<'d>(&'d self, tree: &mut Tree<'d>) -> Result<(), NativeError> {
        for placed in &self.overrides {
            merge::put_override(self, placed, tree.get_mut())?;
        }
        Ok(())
    }

    /// Reads a part of the tree as a form. A table whose errors have no place of their own is its own place.
    ///
    /// # Errors
    /// What does not fit, where it stands.
    pub fn read<'d, T: DeserializeOwned>(&self, part: &Spanned<DeValue<'d>>) -> Result<T, NativeError> {
        T::deserialize(ValueDeserializer::from(part.clone())).map_err(|error| self.misfit(part, &error))
    }

    /// An error of shape in a part of the tree. Where a form is chosen by one of its keys, serde loses places; the key that
    /// the message names is then looked up.
    fn misfit(&self, part: &Spanned<DeValue<'_>>, error: &toml::de::Error) -> NativeError {
        let (message, help) = wording::of_shape(error.message());
        let span = error.span().filter(|span| *span != part.span()).unwrap_or_else(|| {
            let named = error.message().split('`').nth(1).unwrap_or_default();
            let key = part.get_ref().as_table().and_then(|table| table.get_key_value(named));
            key.map_or(part.span(), |(key, _)| key.span())
        });
        self.failed(vec![self.diagnostic(span, message, help)])
    }

    /// Errors of meaning at places of the common space, in their order; the same one twice is told once.
    pub fn failures(&self, failures: impl IntoIterator<Item = Failure>) -> NativeError {
        let mut failures: Vec<Failure> = failures.into_iter().collect();
        failures.sort_by(|a, b| (a.span.start, &a.message).cmp(&(b.span.start, &b.message)));
        failures.dedup();
        self.failed(
            failures
                .into_iter()
                .map(|Failure { span, message, help }| self.diagnostic(span, message, Some(help)))
                .collect(),
        )
    }

    fn misread(&self, start: usize, error: &toml::de::Error) -> NativeError {
        let span = error.span().unwrap_or(0..0);
        let span = span.start + start..span.end + start;
        self.failed(vec![self.diagnostic(span, wording::of_syntax(error.message()), None)])
    }

    /// The text itself.
    pub fn text(&self) -> &str {
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
        if let Some(base) = self.bases.iter().rev().find(|base| base.span.start <= span.start) {
            let text = &self.joined[base.span.clone()];
            let span = span.start - base.span.start..span.end.saturating_sub(base.span.start);
            let origin = Origin::Base { name: base.name.clone(), text: text.to_owned() };
            return Diagnostic::new(origin, text, span, message, help);
        }
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

fn find(tree: &Spanned<DeTable<'_>>, path: &KeyPath) -> Range<usize> {
    place_of(tree.get_ref(), path)
}

/// The place of what a path leads to, or of the last thing on the way to it that is written down. A value is its own
/// place; a table is best pointed at by its key, for its own span may be many lines.
pub fn place_of(table: &DeTable<'_>, path: &KeyPath) -> Range<usize> {
    let mut place = 0..0;
    let mut table = Some(table);
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
