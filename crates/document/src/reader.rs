//! Types from documents.

use crate::error::{LIST, ReadError, Segment, TABLE};
use crate::node::{Node, Spanned, Table, Value};
use std::ops::Range;

/// A type that is read from a document. `#[derive(FromDocument)]` reads structs and enums by what `#[serde(…)]` says of them.
pub trait FromDocument: Sized {
    /// Reads it. Who calls this gives the error its place.
    ///
    /// # Errors
    /// What does not fit.
    fn from_document(reader: Reader<'_>) -> Result<Self, ReadError>;

    /// What it is where its key is not there.
    ///
    /// # Errors
    /// It must be there.
    fn from_nothing(key: &'static str) -> Result<Self, ReadError> {
        Err(ReadError::missing_key(key))
    }
}

/// Reads a document as a type.
///
/// # Errors
/// What does not fit, with its place.
pub fn read<T: FromDocument>(node: &Node) -> Result<T, ReadError> {
    T::from_document(Reader::new(node)).map_err(|error| error.or_at(node.place()))
}

/// A value that is to be read.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    value: &'a Value,
    place: &'a Range<usize>,
    /// Keys of the table that were read already.
    read_already: &'static [&'static str],
    /// It is a key of a table: a text, even where a number is wanted.
    is_key: bool,
}

static NOWHERE: Range<usize> = 0..0;

static NOTHING: Value = Value::Null;

/// The keys of a choice that was written as a word: none.
static NO_KEYS: Value = Value::Table(Table::EMPTY);

impl<'a> Reader<'a> {
    pub(crate) fn new(node: &'a Node) -> Reader<'a> {
        Reader { value: node.get_ref(), place: node.place(), read_already: &[], is_key: false }
    }

    /// The value itself.
    pub fn value(self) -> &'a Value {
        self.value
    }

    /// The error of a value that is not what is wanted: "a size such as `4k`".
    #[cold]
    pub fn unexpected(self, expected: &str) -> ReadError {
        ReadError::unexpected(self.value, expected)
    }

    /// A text.
    ///
    /// # Errors
    /// Anything else.
    pub fn text(self) -> Result<&'a str, ReadError> {
        match self.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.unexpected("text in quotes")),
        }
    }

    /// A whole number within limits.
    #[inline(never)]
    pub(crate) fn integer(self, least: i128, most: i128) -> Result<i128, ReadError> {
        let number = match self.value {
            Value::Integer(number) => Some(*number),
            Value::Text(text) if self.is_key => text.parse().ok(),
            _ => None,
        };
        number.filter(|number| (least..=most).contains(number)).ok_or_else(|| {
            self.unexpected(&match (least, most) {
                (0, most) if most == u64::MAX.into() => "a whole number, 0 or more".to_owned(),
                _ => format!("a whole number from {least} to {most}"),
            })
        })
    }

    #[inline(never)]
    pub(crate) fn list(self) -> Result<&'a [Node], ReadError> {
        match self.value {
            Value::List(list) => Ok(list),
            _ => Err(self.unexpected(LIST)),
        }
    }

    fn table(self) -> Result<&'a Table, ReadError> {
        match self.value {
            Value::Table(table) => Ok(table),
            _ => Err(self.unexpected(TABLE)),
        }
    }

    /// The keys that are left, with their values.
    pub(crate) fn entries(self) -> Result<impl Iterator<Item = &'a Entry>, ReadError> {
        let entries = self.table()?.as_entries().iter();
        Ok(entries.filter(move |(key, _)| !self.read_already.contains(&key.get_ref().as_str())))
    }

    /// A table's values, by the fields that they belong to.
    ///
    /// # Errors
    /// No table; a key that is unknown and must not be, or there twice.
    pub fn fields(self, shape: &'static Shape) -> Result<Fields<'a>, ReadError> {
        let table = self.table()?;
        let mut entries = [None; MOST_FIELDS];
        for entry in table.as_entries() {
            let (key, _) = entry;
            let name = key.get_ref().as_str();
            match shape.names.index_of(name).and_then(|index| Some((index, entries.get_mut(index)?))) {
                Some((_, place)) if place.is_none() => *place = Some(entry),
                Some((index, _)) => {
                    return Err(ReadError::duplicate_key(shape.names.name(index)).or_at(key.place()));
                }
                None if shape.is_closed && !self.read_already.contains(&name) => {
                    return Err(ReadError::unknown_key(name, shape.names.all).or_at(key.place()));
                }
                None => {}
            }
        }
        Ok(Fields(Box::new(Found { entries, reader: self, shape })))
    }

    /// One of several.
    ///
    /// # Errors
    /// It is none of them.
    pub fn choice(self, choices: &'static Choices) -> Result<Choice<'a>, ReadError> {
        let names = &choices.names;
        let named = match &choices.style {
            Style::Named => self.named(names)?,
            Style::Short(bare) => self.short(bare, names)?,
            Style::Bare(bare) => self.bare(bare, names)?,
            Style::Tagged(tag) => self.tagged(tag)?,
        };
        let index = names.index_of(named.name);
        let index = index.ok_or_else(|| ReadError::unknown_choice(named.name, names.all).or_at(named.place))?;
        Ok(Choice { index, name: named.name, body: named.body, is_step: named.is_step })
    }

    /// One of several that hold nothing: which.
    ///
    /// # Errors
    /// It is none of them, or holds something.
    pub fn word(self, choices: &'static Choices) -> Result<usize, ReadError> {
        let choice = self.choice(choices)?;
        choice.nothing().map(|()| choice.index).map_err(|error| choice.at(error))
    }

    /// A word is a choice without keys, a table of one key a choice with what it holds.
    fn named(self, names: &Names) -> Result<Named<'a>, ReadError> {
        match self.value {
            Value::Text(name) => Ok(Named { name, place: self.place, body: None, is_step: true }),
            Value::Table(table) => match table.as_entries() {
                [(key, value)] => {
                    Ok(Named { name: key.get_ref(), place: key.place(), body: Some(Reader::new(value)), is_step: true })
                }
                [] => Err(ReadError::custom("a choice has one key; this table is empty")),
                [_, (second, _), ..] => {
                    let second = second.get_ref();
                    Err(ReadError::custom(format_args!("a choice has one key; `{second}` is a second one")))
                }
            },
            _ => Err(self.unexpected(&names.one_of(""))),
        }
    }

    /// The same; a word is a choice all of whose keys have defaults, and what is no choice's name belongs to `bare`.
    fn short(self, bare: &'static str, names: &Names) -> Result<Named<'a>, ReadError> {
        match self.value {
            Value::Text(word) if bare.is_empty() || names.index_of(word).is_some() => {
                let body = Reader { value: &NO_KEYS, ..self };
                Ok(Named { name: word, place: self.place, body: Some(body), is_step: true })
            }
            Value::Text(_) | Value::Integer(0..) if !bare.is_empty() => {
                Ok(Named { name: bare, place: self.place, body: Some(self), is_step: true })
            }
            Value::Table(_) => self.named(names),
            _ => Err(self.unexpected(&names.one_of(if bare.is_empty() { "" } else { "a size, or " }))),
        }
    }

    /// A table with a choice's name is that choice; any other belongs to `bare`, and so does an empty one.
    fn bare(self, bare: &'static str, names: &Names) -> Result<Named<'a>, ReadError> {
        match self.value {
            Value::Table(table) if !table.keys().any(|key| names.index_of(key.get_ref()).is_some()) => {
                // No step: what lies in it lies here.
                Ok(Named { name: bare, place: self.place, body: Some(self), is_step: false })
            }
            _ => self.named(names),
        }
    }

    /// A table that a key of its own chooses.
    fn tagged(self, tag: &'static [&'static str; 1]) -> Result<Named<'a>, ReadError> {
        let Some(choice) = self.table()?.get(tag[0]) else { return Err(ReadError::missing_key(tag[0])) };
        match choice.get_ref() {
            Value::Text(name) => {
                let body = Some(Reader { read_already: tag, ..self });
                Ok(Named { name, place: choice.place(), body, is_step: false })
            }
            other => Err(ReadError::unexpected(other, "text in quotes").or_at(choice.place())),
        }
    }
}

/// A key of a table, and its value.
pub(crate) type Entry = (Spanned<String>, Node);

/// What fields or choices are called.
#[derive(Debug)]
pub struct Names {
    /// The name of each, then what else some are called.
    pub all: &'static [&'static str],
    /// The index of the field or choice that each of the other names belongs to.
    pub others: &'static [u8],
}

impl Names {
    fn index_of(&self, name: &str) -> Option<usize> {
        let at = self.all.iter().position(|known| *known == name)?;
        match at.checked_sub(self.all.len() - self.others.len()) {
            Some(other) => self.others.get(other).map(|index| usize::from(*index)),
            None => Some(at),
        }
    }

    fn name(&self, index: usize) -> &'static str {
        self.all.get(index).copied().unwrap_or_default()
    }

    fn one_of(&self, before: &str) -> String {
        let mut text = format!("{before}one of ");
        for (index, name) in self.all.iter().enumerate() {
            text.push_str(if index == 0 { "`" } else { ", `" });
            text.push_str(name);
            text.push('`');
        }
        text
    }
}

/// The fields of a type.
#[derive(Debug)]
pub struct Shape {
    /// Their keys.
    pub names: Names,
    /// Other keys are errors.
    pub is_closed: bool,
}

/// As many fields as a type may have; the derive macro checks that.
const MOST_FIELDS: usize = 96;

/// A table's values, by the fields that they belong to. All methods take a field's index.
#[derive(Debug)]
pub struct Fields<'a>(Box<Found<'a>>);

/// On the heap: each of hundreds of readers would move it.
#[derive(Debug)]
struct Found<'a> {
    entries: [Option<&'a Entry>; MOST_FIELDS],
    reader: Reader<'a>,
    shape: &'static Shape,
}

// Each is compiled once for each type, and called for each field.
impl<'a> Fields<'a> {
    fn entry(&self, index: usize) -> Option<&'a Entry> {
        self.0.entries.get(index).copied().flatten()
    }

    /// A field that must be there, unless its type may be absent.
    ///
    /// # Errors
    /// What does not fit.
    #[inline(never)]
    pub fn required<T: FromDocument>(&self, index: usize) -> Result<T, ReadError> {
        match self.entry(index) {
            Some(entry) => value_of(entry),
            None => T::from_nothing(self.0.shape.names.name(index)),
        }
    }

    /// A field with its type's default.
    ///
    /// # Errors
    /// What does not fit.
    #[inline(never)]
    pub fn or_default<T: FromDocument + Default>(&self, index: usize) -> Result<T, ReadError> {
        match self.entry(index) {
            Some(entry) => value_of(entry),
            None => Ok(T::default()),
        }
    }

    /// A field with a default of its own.
    ///
    /// # Errors
    /// What does not fit.
    #[inline(never)]
    pub fn or_made<T: FromDocument>(&self, index: usize, make: fn() -> T) -> Result<T, ReadError> {
        match self.entry(index) {
            Some(entry) => value_of(entry),
            None => Ok(make()),
        }
    }

    /// A field of a type with a default.
    ///
    /// # Errors
    /// What does not fit.
    #[inline(never)]
    pub fn or_value<T: FromDocument>(&self, index: usize, default: T) -> Result<T, ReadError> {
        match self.entry(index) {
            Some(entry) => value_of(entry),
            None => Ok(default),
        }
    }

    /// A field that is read in its own way.
    ///
    /// # Errors
    /// What does not fit.
    pub fn with<T>(&self, index: usize, read: fn(Reader<'_>) -> Result<T, ReadError>) -> Result<T, ReadError> {
        match self.entry(index) {
            Some(entry) => read(Reader::new(&entry.1)).map_err(|error| of_value(error, entry)),
            None => Err(ReadError::missing_key(self.0.shape.names.name(index))),
        }
    }

    /// What the keys hold that belong to no field.
    ///
    /// # Errors
    /// What does not fit.
    pub fn rest<T: FromDocument>(&self) -> Result<T, ReadError> {
        T::from_document(Reader { read_already: self.0.shape.names.all, ..self.0.reader })
    }
}

#[inline(never)]
pub(crate) fn value_of<T: FromDocument>(entry: &Entry) -> Result<T, ReadError> {
    T::from_document(Reader::new(&entry.1)).map_err(|error| of_value(error, entry))
}

/// A key, where it is not a field's.
pub(crate) fn key_of<T: FromDocument>(entry: &Entry) -> Result<T, ReadError> {
    let text = Value::Text(entry.0.get_ref().clone());
    let reader = Reader { value: &text, place: entry.0.place(), read_already: &[], is_key: true };
    T::from_document(reader).map_err(|error| error.or_at(entry.0.place()))
}

pub(crate) fn element_of<T: FromDocument>(node: &Node, index: usize) -> Result<T, ReadError> {
    T::from_document(Reader::new(node)).map_err(|error| of_element(error, node, index))
}

// What is seldom needed is compiled once, and not into the reader of each type.

#[cold]
#[inline(never)]
fn of_element(error: ReadError, node: &Node, index: usize) -> ReadError {
    error.or_at(node.place()).within(Segment::Index(index))
}

#[cold]
#[inline(never)]
fn of_value(error: ReadError, (key, node): &Entry) -> ReadError {
    error.or_at(node.place()).within(Segment::Key(key.get_ref().clone()))
}

/// The choices of an enum.
#[derive(Debug)]
pub struct Choices {
    /// What they are called.
    pub names: Names,
    /// How they are written.
    pub style: Style,
}

/// How a choice is written: this crate's page.
#[derive(Debug)]
pub enum Style {
    /// By its name.
    Named,
    /// By a key of its table.
    Tagged([&'static str; 1]),
    /// Its name alone stands for it with all defaults; what is no name is this choice, if any.
    Short(&'static str),
    /// A table without a name is this choice.
    Bare(&'static str),
}

/// What was found to name a choice.
struct Named<'a> {
    name: &'a str,
    place: &'a Range<usize>,
    body: Option<Reader<'a>>,
    is_step: bool,
}

/// A choice that was made.
#[derive(Debug)]
pub struct Choice<'a> {
    index: usize,
    name: &'a str,
    /// A table that holds it alone, or the rest of the table that chose it.
    body: Option<Reader<'a>>,
    /// Its name is a key on the way to what lies in it.
    is_step: bool,
}

impl<'a> Choice<'a> {
    /// Which it is.
    pub fn index(&self) -> usize {
        self.index
    }

    /// A choice that holds nothing.
    ///
    /// # Errors
    /// It holds something.
    pub fn nothing(&self) -> Result<(), ReadError> {
        match self.body.map(|body| (body.read_already, body.value)) {
            None | Some(([_, ..], _) | ([], Value::Null)) => Ok(()),
            Some(([], Value::Table(table))) => match table.as_entries().first() {
                None => Ok(()),
                Some((key, _)) => Err(ReadError::unknown_key(key.get_ref(), &[]).or_at(key.place())),
            },
            Some(([], other)) => Err(ReadError::unexpected(other, "nothing")),
        }
    }

    /// What a choice holds. A word alone is a choice that holds nothing, where it may.
    ///
    /// # Errors
    /// What does not fit.
    pub fn held<T: FromDocument>(&self) -> Result<T, ReadError> {
        match self.body {
            Some(body) => T::from_document(body),
            None => {
                let nothing = Reader { value: &NOTHING, place: &NOWHERE, read_already: &[], is_key: false };
                T::from_document(nothing).map_err(|_| self.bodyless())
            }
        }
    }

    /// The fields of a choice.
    ///
    /// # Errors
    /// As [`Reader::fields`].
    pub fn fields(&self, shape: &'static Shape) -> Result<Fields<'a>, ReadError> {
        self.body.ok_or_else(|| self.bodyless())?.fields(shape)
    }

    #[cold]
    fn bodyless(&self) -> ReadError {
        ReadError::custom(format_args!("`{0}` alone is not enough: write `{{ {0} = … }}`", self.name))
    }

    /// Gives an error the place of the choice, and the step to it.
    #[cold]
    pub fn at(&self, error: ReadError) -> ReadError {
        let Some(body) = self.body else { return error };
        let error = error.or_at(body.place);
        if self.is_step { error.within(Segment::Key(self.name.to_owned())) } else { error }
    }
}
