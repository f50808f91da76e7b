//! Factors with their levels, combinations of levels, and the substitution of levels into texts.

use super::level_form::{Binds, LevelForm, WhenLevels};
use plumb_document::{Node, Spanned, Table, Value};
use plumb_workload::suggest::nearest;
use plumb_workload_text::native::LocatedFailure;
use std::collections::BTreeMap;
use std::ops::Range;

/// Stands for the level of a factor in a combination in which it is not varied.
pub(super) const NONE: &str = "-";

#[derive(Debug, Clone)]
pub(crate) struct StudyFactor {
    pub name: String,
    pub levels: Vec<FactorLevel>,
    /// Whether a change needs a new plot.
    pub hard: bool,
    /// Kind of object that its levels name.
    pub binds: Option<Binds>,
    /// Levels of other factors with which it is varied.
    pub when: WhenLevels,
    /// Commands run on this machine before a plot.
    pub on_enter: Vec<String>,
    /// Commands run on this machine after a plot.
    pub on_leave: Vec<String>,
    /// Position of its name in the file.
    pub place: Range<usize>,
}

/// A level, as text and as a TOML value.
#[derive(Debug, Clone)]
pub(crate) struct FactorLevel {
    pub text: String,
    /// As written in the file.
    pub value: Value,
}

/// One combination: a level of every factor.
pub(crate) type Combination = BTreeMap<String, String>;

/// Returns `true` if a condition holds for a combination. Factors missing from the combination count as matching.
pub(super) fn holds(when: &WhenLevels, combination: &Combination) -> bool {
    when.iter().all(|(factor, levels)| {
        combination.get(factor).is_none_or(|level| levels.as_slice().iter().any(|wanted| wanted.to_string() == *level))
    })
}

/// Returns errors for unknown names in a condition.
pub(crate) fn unknown_names(when: &WhenLevels, factors: &[StudyFactor], place: &Range<usize>) -> Vec<LocatedFailure> {
    let mut failures = Vec::new();
    for (name, levels) in when {
        let Some(factor) = factors.iter().find(|factor| factor.name == *name) else {
            failures.push(unknown("factor", name, factors.iter().map(|factor| factor.name.as_str()), place));
            continue;
        };
        for level in levels.as_slice().iter().map(LevelForm::to_string) {
            if !factor.levels.iter().any(|known| known.text == level) {
                let what = format!("level of `{name}`");
                failures.push(unknown(&what, &level, factor.levels.iter().map(|level| level.text.as_str()), place));
            }
        }
    }
    failures
}

/// Builds the error for an unknown name; it suggests the nearest one, or lists all.
pub(super) fn unknown<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
    place: &Range<usize>,
) -> LocatedFailure {
    let help = match nearest(name, known.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => match known.collect::<Vec<_>>() {
            names if names.is_empty() => format!("no {what} is defined"),
            names => format!("there is `{}`", names.join("`, `")),
        },
    };
    LocatedFailure { span: place.clone(), message: format!("unknown {what} `{name}`"), help }
}

/// The meaning of `${…}` in texts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LevelScope<'a> {
    pub factors: &'a [StudyFactor],
    /// The combination whose levels are substituted.
    pub combination: &'a Combination,
    /// Whether only hard factors may appear: a build does not change within a plot.
    pub hard_only: bool,
    /// Unit of sizes that only the host knows, in the arguments of a tool.
    pub ram_unit: RamUnit,
}

/// The form of a size that depends on memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RamUnit {
    /// `ram*2`, which Plumb's own format understands.
    Native,
    /// `${ram*2}`, which the host converts to bytes.
    Bytes,
    /// A number of KiB, with a `k`.
    KibiWithLetter,
    /// A number of MiB, without a unit.
    Mebi,
}

impl RamUnit {
    fn text(self, factor: f64) -> String {
        let times = |by: f64| {
            let text = format!("{:.15}", factor * by);
            let text = text.trim_end_matches('0').trim_end_matches('.').to_owned();
            format!("${{ram*{text}}}")
        };
        match self {
            RamUnit::Native => format!("ram*{factor}"),
            RamUnit::Bytes => times(1.0),
            RamUnit::KibiWithLetter => format!("{}k", times(1.0 / 1024.0)),
            RamUnit::Mebi => times(1.0 / f64::from(1 << 20)),
        }
    }
}

/// Returns the factor of `ram*2` (2) or `ram` (1).
pub(crate) fn ram_factor(text: &str) -> Option<f64> {
    match text.trim().parse() {
        Ok(plumb_workload::Size::Ram(factor)) => Some(factor),
        _ => None,
    }
}

/// One piece of a text.
enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// Splits a text into pieces; `$${` is a literal `${`.
fn pieces(text: &str) -> Result<Vec<Piece<'_>>, ()> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            found.push(Piece::Text(&rest[..at - 1]));
            found.push(Piece::Text("${"));
            rest = &rest[at + 2..];
            continue;
        }
        found.push(Piece::Text(&rest[..at]));
        let (name, behind) = rest[at + 2..].split_once('}').ok_or(())?;
        found.push(Piece::Name(name.trim()));
        rest = behind;
    }
    found.push(Piece::Text(rest));
    Ok(found)
}

/// Collects the names of the factors that the texts of a tree use.
pub(super) fn names_in(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Text(text) => {
            for piece in pieces(text).unwrap_or_default() {
                if let Piece::Name(name) = piece {
                    found.push(name.to_owned());
                }
            }
        }
        Value::List(array) => array.iter().for_each(|value| names_in(value.get_ref(), found)),
        Value::Table(table) => table.values().for_each(|value| names_in(value.get_ref(), found)),
        _ => {}
    }
}

/// Collects the names of the factors in the conditions of a tree.
pub(super) fn conditions_in(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::List(list) => list.iter().for_each(|value| conditions_in(value.get_ref(), names)),
        Value::Table(table) => {
            for (key, value) in table {
                match value.get_ref() {
                    Value::Table(when) if key.get_ref() == "when" => {
                        names.extend(when.keys().map(|key| key.get_ref().to_string()));
                    }
                    other => conditions_in(other, names),
                }
            }
        }
        _ => {}
    }
}

impl LevelScope<'_> {
    /// Returns a tree with all levels substituted. A text that is only `${factor}` becomes the level's own value,
    /// which may be a number.
    pub(crate) fn substitute(&self, value: &Node, failures: &mut Vec<LocatedFailure>) -> Node {
        let span = value.span();
        let put = match value.get_ref() {
            Value::Text(text) => self.value_of(text, &span, failures),
            Value::List(array) => {
                let mut list = Vec::new();
                array.iter().for_each(|value| list.push(self.substitute(value, failures)));
                Value::List(list)
            }
            Value::Table(table) => {
                let mut put = Table::new();
                for (key, value) in table {
                    put.insert(key.clone(), self.substitute(value, failures));
                }
                Value::Table(put)
            }
            scalar => scalar.clone(),
        };
        Spanned::new(span, put)
    }

    fn value_of(&self, text: &str, span: &Range<usize>, failures: &mut Vec<LocatedFailure>) -> Value {
        if self.ram_unit == RamUnit::Native
            && let Ok(pieces) = pieces(text)
            && let [Piece::Text(""), Piece::Name(name), Piece::Text("")] = pieces.as_slice()
            && let Some(level) = self.level(name)
        {
            return level.value.clone();
        }
        Value::Text(self.text(text, span, failures))
    }

    fn level(&self, name: &str) -> Option<&FactorLevel> {
        let factor = self.factors.iter().find(|factor| factor.name == name && (factor.hard || !self.hard_only))?;
        let text = self.combination.get(name)?;
        factor.levels.iter().find(|level| level.text == *text)
    }

    /// Returns a text with all levels substituted.
    pub(super) fn text(&self, text: &str, span: &Range<usize>, failures: &mut Vec<LocatedFailure>) -> String {
        let Ok(pieces) = pieces(text) else {
            failures.push(LocatedFailure {
                span: span.clone(),
                message: "a `${` is never closed".to_owned(),
                help: "close it with `}`, or write `$${` for a plain one".to_owned(),
            });
            return String::new();
        };
        let mut put = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => put.push_str(text),
                Piece::Name(name) => match self.named(name, span) {
                    Ok(text) => put.push_str(&text),
                    Err(failure) => failures.push(*failure),
                },
            }
        }
        put
    }

    fn named(&self, name: &str, span: &Range<usize>) -> Result<String, Box<LocatedFailure>> {
        if let Some(factor) = ram_factor(name) {
            return Ok(self.ram_unit.text(factor));
        }
        if let Some(level) = self.level(name) {
            return Ok(match (self.ram_unit, ram_factor(&level.text)) {
                (RamUnit::Native, _) | (_, None) => level.text.clone(),
                (unit, Some(factor)) => unit.text(factor),
            });
        }
        let failed = |message: String, help: &str| {
            Err(Box::new(LocatedFailure { span: span.clone(), message, help: help.to_owned() }))
        };
        match self.factors.iter().find(|factor| factor.name == name) {
            Some(factor) if self.hard_only && !factor.hard => failed(
                format!("a provisioning step depends on `{name}`, which changes from run to run"),
                "give that factor `change = \"hard\"`: each of its levels then gets plots of its own",
            ),
            Some(_) => {
                failed(format!("`{name}` has no level here, because its `when` is false"), "give this the same `when`")
            }
            None => {
                let mut failure = unknown("factor", name, self.factors.iter().map(|factor| factor.name.as_str()), span);
                failure.help.push_str("; a `${` of the shell's is written `$${`");
                Err(Box::new(failure))
            }
        }
    }
}
