//! Selects stored runs: by tag, work, path, id, study and levels, or by SQL.

use crate::answer::{FactorLevels, QuestionError};
use crate::placed::{PlacedRun, StudyPlaces};
use plumb_store::{Filter, QueryCell, ResultStore, RunRow, StoreError};
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
    #[error("`{word}` is neither a tag nor a run{}; `plumb list` shows the stored runs", list_known(known))]
    Word { word: String, known: Vec<String> },
    /// No run matches the selection.
    #[error("`{text}` selects no run{}", list_known(known))]
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

fn list_known(known: &[String]) -> String {
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
    fn parse(word: &str) -> Condition<'_> {
        let colon = word.find(':').unwrap_or(usize::MAX);
        match word.find('=') {
            Some(equals) if equals < colon => Condition::Level(word),
            _ => word.split_once(':').map_or(Condition::Word(word), |(key, value)| Condition::Key(key, value)),
        }
    }
}

/// Returns the runs that a text selects, the oldest first. Each run meets all of its conditions, and one of
/// several words without a key.
pub(super) fn select(store: &dyn ResultStore, text: &str) -> Result<Vec<RunRow>, SelectionError> {
    if is_statement(text) {
        return find_by_statement(store, text);
    }
    let words: Vec<&str> = text.split_whitespace().flat_map(|word| words(word)).collect();
    let mut named: Option<BTreeSet<String>> = None;
    let mut study: Option<String> = None;
    let mut levels: Vec<&str> = Vec::new();
    let mut kept: Option<Vec<RunRow>> = None;
    let mut known: Vec<String> = Vec::new();
    for word in &words {
        match Condition::parse(word) {
            Condition::Word(word) => named.get_or_insert_default().extend(find_word(store, word)?),
            Condition::Level(level) => levels.push(level),
            Condition::Key("study", name) => study = Some(store.find_study(name)?),
            Condition::Key("run", id) => named.get_or_insert_default().extend([store.find(id)?]),
            Condition::Key(key, value) => {
                let key = Key::from_name(key)
                    .ok_or_else(|| SelectionError::Key { text: text.to_owned(), key: key.to_owned() })?;
                let having = |row: &RunRow| key.values(row).iter().any(|one| one == value);
                let before = kept.take();
                let rows = match &before {
                    Some(before) => before.iter().filter(|row| having(row)).cloned().collect(),
                    None => store.list(&key.filter(value))?,
                };
                if rows.is_empty() && known.is_empty() {
                    let others = before.map_or_else(|| newest(store), Ok)?;
                    known = BTreeSet::from_iter(others.iter().flat_map(|row| key.values(row))).into_iter().collect();
                }
                kept = Some(rows);
            }
        }
    }
    let mut kept = match (kept, &named, &study) {
        (Some(kept), _, _) => kept,
        (None, Some(named), _) => {
            store.list(&Filter { ids: Some(named.iter().cloned().collect()), ..Filter::default() })?
        }
        (None, None, Some(study)) => store.list(&Filter { study: Some(study.clone()), ..Filter::default() })?,
        (None, None, None) => Vec::new(),
    };
    kept.reverse();
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
    if kept.is_empty() {
        return Err(SelectionError::Nothing { text: text.to_owned(), known });
    }
    Ok(kept)
}

/// A property of runs that selects them.
#[derive(Debug, Clone, Copy)]
enum Key {
    Tag,
    Work,
    Path,
}

impl Key {
    fn from_name(name: &str) -> Option<Key> {
        match name {
            "tag" => Some(Key::Tag),
            "work" => Some(Key::Work),
            "path" => Some(Key::Path),
            _ => None,
        }
    }

    fn values(self, row: &RunRow) -> Vec<String> {
        match self {
            Key::Tag => row.tags.clone(),
            Key::Work => vec![row.workload.clone()],
            Key::Path => row.paths.clone(),
        }
    }

    fn filter(self, value: &str) -> Filter {
        let value = Some(value.to_owned());
        match self {
            Key::Tag => Filter { tag: value, ..Filter::default() },
            Key::Work => Filter { workload: value, ..Filter::default() },
            Key::Path => Filter { path: value, ..Filter::default() },
        }
    }
}

/// Returns the newest runs, whose tags, works and paths an error lists.
fn newest(store: &dyn ResultStore) -> Result<Vec<RunRow>, StoreError> {
    const RUNS: u32 = 10_000;
    store.list(&Filter { limit: Some(RUNS), ..Filter::default() })
}

/// Splits ids and tags at commas; a level or a path may contain commas itself.
fn words(word: &str) -> Vec<&str> {
    match Condition::parse(word) {
        Condition::Word(_) => word.split(',').filter(|part| !part.is_empty()).collect(),
        _ => vec![word],
    }
}

/// Returns runs with this tag, otherwise the run with this id.
fn find_word(store: &dyn ResultStore, word: &str) -> Result<Vec<String>, SelectionError> {
    let tagged = store.list(&Filter { tag: Some(word.to_owned()), ..Filter::default() })?;
    if !tagged.is_empty() {
        return Ok(tagged.into_iter().map(|row| row.id).collect());
    }
    match store.find(word) {
        Ok(id) => Ok(vec![id]),
        Err(StoreError::NotFound { .. }) => {
            let tags = newest(store)?.into_iter().flat_map(|row| row.tags);
            Err(SelectionError::Word { word: word.to_owned(), known: BTreeSet::from_iter(tags).into_iter().collect() })
        }
        Err(error) => Err(error.into()),
    }
}

fn of_study(
    store: &dyn ResultStore,
    study: &str,
    levels: &[&str],
    rows: Vec<RunRow>,
) -> Result<Vec<RunRow>, SelectionError> {
    let mut places = StudyPlaces::default();
    let plan = places.plan(store, study)?;
    let levels: Vec<FactorLevels> =
        levels.iter().map(|text| FactorLevels::of_text(plan, "selection", text)).collect::<Result<_, _>>()?;
    let ids: Vec<String> = rows.iter().map(|row| row.id.clone()).collect();
    let mut known = store.study_places(&ids)?;
    let mut kept = Vec::new();
    for row in rows {
        let Some(place) = known.remove(&row.id).filter(|place| place.study == study) else { continue };
        let place = places.placed(store, place)?;
        let holds = |place: &PlacedRun| {
            levels.iter().all(|one| place.levels.get(&one.factor).is_some_and(|level| one.levels.contains(level)))
        };
        if place.is_some_and(|place| holds(&place)) {
            kept.push(row);
        }
    }
    Ok(kept)
}

fn find_by_statement(store: &dyn ResultStore, text: &str) -> Result<Vec<RunRow>, SelectionError> {
    let query_error = |found: String| SelectionError::Query { text: text.to_owned(), found };
    let mut ids: BTreeSet<String> = BTreeSet::new();
    for row in store.query(text)?.rows {
        match row.into_iter().next() {
            Some(QueryCell::Text(id)) => drop(ids.insert(id)),
            Some(QueryCell::Null) => return Err(query_error("an empty cell".to_owned())),
            _ => return Err(query_error("a number".to_owned())),
        }
    }
    let is_id = |id: &&String| uuid::Uuid::try_parse(id).is_ok();
    if let Some(other) = ids.iter().find(|id| !is_id(id)) {
        return Err(query_error(format!("`{other}`")));
    }
    let mut kept = store.list(&Filter { ids: Some(ids.iter().cloned().collect()), ..Filter::default() })?;
    kept.reverse();
    if let Some(other) = ids.iter().find(|id| kept.iter().all(|row| row.id != **id)) {
        return Err(query_error(format!("`{other}`")));
    }
    if kept.is_empty() { Err(SelectionError::Nothing { text: text.to_owned(), known: Vec::new() }) } else { Ok(kept) }
}
