//! Selects stored runs: by tag, work, path, id, study and levels, or by SQL.

use crate::answer::{FactorLevels, QuestionError};
use crate::placed::StudyPlaces;
use plumb_store::{Filter, QueryCell, RunRow, Store, StoreError};
use std::collections::BTreeSet;

/// The reason why a selection gives nothing to compare.
#[derive(Debug, thiserror::Error)]
pub enum SelectionError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The study has no such factor or level.
    #[error(transparent)]
    Level(#[from] QuestionError),
    /// The key cannot select runs.
    #[error(
        "`{text}` selects by `{key}`, which is none of tag, work, path, run and study; see `plumb compare --help`, or write a SELECT statement"
    )]
    Key { text: String, key: String },
    /// A level needs the study of its factor.
    #[error("`{text}` names a level (`{level}`) without its study: add study:NAME")]
    NoStudy { text: String, level: String },
    /// A word is neither a tag nor a run.
    #[error("`{word}` is neither a tag nor a run{}; `plumb list` shows the stored runs", there(known))]
    Word { word: String, known: Vec<String> },
    /// No run matches the selection.
    #[error("`{text}` selects no run{}", there(known))]
    Nothing {
        text: String,
        /// Existing values of the requested kind.
        known: Vec<String>,
    },
    /// A query must return ids of runs.
    #[error(
        "`{text}`: the first column must be ids of runs, and has {found}; such as SELECT id FROM run WHERE name = 'mail'"
    )]
    Query {
        text: String,
        /// The content of its first column.
        found: String,
    },
}

fn there(known: &[String]) -> String {
    const SHOWN: usize = 12;
    let more = if known.len() > SHOWN { format!(" and {} more", known.len() - SHOWN) } else { String::new() };
    let shown: Vec<String> = known.iter().take(SHOWN).map(|one| format!("`{one}`")).collect();
    if shown.is_empty() { String::new() } else { format!("; there is {}{more}", shown.join(", ")) }
}

/// Returns `true` if a selection is an SQL statement.
pub(super) fn is_statement(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
    matches!(first.as_str(), "SELECT" | "WITH")
}

/// A condition on runs: `tag:nightly`, `depth=16`, or a bare word.
enum Condition<'a> {
    Key(&'a str, &'a str),
    Level(&'a str),
    Word(&'a str),
}

impl Condition<'_> {
    fn of(word: &str) -> Condition<'_> {
        let colon = word.find(':').unwrap_or(usize::MAX);
        match word.find('=') {
            Some(equals) if equals < colon => Condition::Level(word),
            _ => word.split_once(':').map_or(Condition::Word(word), |(key, value)| Condition::Key(key, value)),
        }
    }
}

/// Returns the runs that a text selects, the oldest first. Each run meets all of its conditions, and one of
/// several words without a key.
pub(super) fn select(store: &Store, text: &str) -> Result<Vec<RunRow>, SelectionError> {
    let mut all = store.list(&Filter::default())?;
    all.reverse();
    if is_statement(text) {
        return of_statement(store, text, all);
    }
    let words: Vec<&str> = text.split_whitespace().flat_map(|word| words(word)).collect();
    let mut named: Option<BTreeSet<String>> = None;
    let mut study: Option<String> = None;
    let mut levels: Vec<&str> = Vec::new();
    let mut known: Vec<String> = Vec::new();
    let mut kept = all.clone();
    for word in &words {
        match Condition::of(word) {
            Condition::Word(word) => named.get_or_insert_default().extend(of_word(store, word, &all)?),
            Condition::Level(level) => levels.push(level),
            Condition::Key("study", name) => study = Some(store.find_study(name)?),
            Condition::Key("run", id) => named.get_or_insert_default().extend([store.find(id)?]),
            Condition::Key(key, value) => {
                let has: fn(&RunRow) -> Vec<String> = match key {
                    "tag" => |row| row.tags.clone(),
                    "work" => |row| vec![row.workload.clone()],
                    "path" => |row| row.paths.clone(),
                    _ => return Err(SelectionError::Key { text: text.to_owned(), key: key.to_owned() }),
                };
                if kept.iter().flat_map(has).all(|one| one != value) {
                    known = BTreeSet::from_iter(kept.iter().flat_map(has)).into_iter().collect();
                }
                kept.retain(|row| has(row).iter().any(|one| one == value));
            }
        }
    }
    if let Some(named) = named {
        kept.retain(|row| named.contains(&row.id));
    }
    match (study, levels.first()) {
        (Some(study), _) => kept = of_study(store, &study, &levels, kept)?,
        (None, Some(level)) => {
            return Err(SelectionError::NoStudy { text: text.to_owned(), level: (*level).to_owned() });
        }
        (None, None) => {}
    }
    if kept.is_empty() || words.is_empty() {
        return Err(SelectionError::Nothing { text: text.to_owned(), known });
    }
    Ok(kept)
}

/// Splits ids and tags at commas; a level or a path may contain commas itself.
fn words(word: &str) -> Vec<&str> {
    match Condition::of(word) {
        Condition::Word(_) => word.split(',').filter(|part| !part.is_empty()).collect(),
        _ => vec![word],
    }
}

/// Returns runs with this tag, otherwise the run with this id.
fn of_word(store: &Store, word: &str, all: &[RunRow]) -> Result<Vec<String>, SelectionError> {
    let tagged: Vec<String> =
        all.iter().filter(|row| row.tags.iter().any(|tag| tag == word)).map(|row| row.id.clone()).collect();
    if !tagged.is_empty() {
        return Ok(tagged);
    }
    match store.find(word) {
        Ok(id) => Ok(vec![id]),
        Err(StoreError::NotFound { .. }) => {
            let known = BTreeSet::from_iter(all.iter().flat_map(|row| row.tags.iter().cloned())).into_iter().collect();
            Err(SelectionError::Word { word: word.to_owned(), known })
        }
        Err(error) => Err(error.into()),
    }
}

fn of_study(store: &Store, study: &str, levels: &[&str], rows: Vec<RunRow>) -> Result<Vec<RunRow>, SelectionError> {
    let mut places = StudyPlaces::default();
    let plan = places.plan(store, study)?;
    let levels: Vec<FactorLevels> =
        levels.iter().map(|text| FactorLevels::of_text(plan, "selection", text)).collect::<Result<_, _>>()?;
    let mut kept = Vec::new();
    for row in rows {
        let place = places.of(store, &row.id)?.filter(|place| place.study == study);
        let holds = |place: &crate::placed::PlacedRun| {
            levels.iter().all(|one| place.levels.get(&one.factor).is_some_and(|level| one.levels.contains(level)))
        };
        if place.is_some_and(|place| holds(&place)) {
            kept.push(row);
        }
    }
    Ok(kept)
}

fn of_statement(store: &Store, text: &str, all: Vec<RunRow>) -> Result<Vec<RunRow>, SelectionError> {
    let query_error = |found: String| SelectionError::Query { text: text.to_owned(), found };
    let mut ids: BTreeSet<String> = BTreeSet::new();
    for row in store.query(text)?.rows {
        match row.into_iter().next() {
            Some(QueryCell::Text(id)) if all.iter().any(|row| row.id == id) => drop(ids.insert(id)),
            Some(QueryCell::Text(other)) => return Err(query_error(format!("`{other}`"))),
            Some(QueryCell::Null) => return Err(query_error("an empty cell".to_owned())),
            _ => return Err(query_error("a number".to_owned())),
        }
    }
    let kept: Vec<RunRow> = all.into_iter().filter(|row| ids.contains(&row.id)).collect();
    if kept.is_empty() { Err(SelectionError::Nothing { text: text.to_owned(), known: Vec::new() }) } else { Ok(kept) }
}
