//! Results that the database refused. They are saved to files, so that no measurement is lost.

use plumb_document::json;
use plumb_result::RunResult;
use plumb_store::save_next_to;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Data missing from the database, and the files that hold it instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotStored {
    /// First reason that the database gave.
    pub reason: String,
    /// Run results, as files that `plumb import` reads.
    pub results: Vec<PathBuf>,
    /// Files with documents made from several runs, such as a comparison.
    pub others: Vec<PathBuf>,
    /// The reason for data that could not be saved to a file either; `None` if all of it was saved.
    pub lost: Option<String>,
}

impl NotStored {
    /// Saves the result of a run to a file.
    pub fn result(database: &Path, reason: String, result: &RunResult) -> NotStored {
        let mut not_stored = NotStored::because(reason);
        not_stored.save(database, &format!("plumb-result-{}.json", result.id), result, |kept, path| {
            kept.results.push(path);
        });
        not_stored
    }

    /// Saves a document made from several runs to a file. `what` names its kind, such as `compare`.
    pub fn document(database: &Path, reason: String, what: &str, id: &str, document: &impl Serialize) -> NotStored {
        let mut not_stored = NotStored::because(reason);
        not_stored.save(database, &format!("plumb-{what}-{id}.json"), document, |kept, path| kept.others.push(path));
        not_stored
    }

    /// Records only the reason, because the missing document can be made again from stored data.
    pub fn because(reason: String) -> NotStored {
        NotStored { reason, results: Vec::new(), others: Vec::new(), lost: None }
    }

    /// Merges `more` into `all`.
    pub fn add(all: &mut Option<NotStored>, more: Option<NotStored>) {
        match (all.as_mut(), more) {
            (Some(all), Some(more)) => {
                all.results.extend(more.results);
                all.others.extend(more.others);
                all.lost = all.lost.take().or(more.lost);
            }
            (None, more) => *all = more,
            (Some(_), None) => {}
        }
    }

    fn save(
        &mut self,
        database: &Path,
        name: &str,
        document: &impl Serialize,
        keep: impl FnOnce(&mut NotStored, PathBuf),
    ) {
        let text = match json::to_string_pretty(document) {
            Ok(text) => text + "\n",
            Err(error) => return self.lost = Some(error.to_string()),
        };
        match save_next_to(database, name, text.as_bytes()) {
            Ok(path) => keep(self, path),
            Err(error) => self.lost = Some(error.to_string()),
        }
    }
}
