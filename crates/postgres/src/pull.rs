//! Pull: results that the local store lacks.

use crate::{ShareError, SharedStore};
use plumb_result::{RunResult, reader};

/// Selection of runs to pull; an empty filter selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullFilter {
    /// Name of the host that measured.
    pub host: Option<String>,
    /// Earliest start, Unix nanoseconds.
    pub since_ns: Option<i64>,
    pub tag: Option<String>,
}

/// A run of the shared database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedRow {
    pub id: String,
    /// Tags of the run, sorted.
    pub tags: Vec<String>,
}

impl SharedStore {
    /// Returns the runs that match a filter, oldest first.
    ///
    /// # Errors
    /// Fails if the server does.
    pub fn runs(&mut self, filter: &PullFilter) -> Result<Vec<SharedRow>, ShareError> {
        let failed = self.failed("listing runs");
        let sql = "SELECT run.id::text, ARRAY(SELECT tag FROM plumb.run_tag WHERE run_id = run.id ORDER BY tag)
                   FROM plumb.run
                   LEFT JOIN plumb.environment ON environment.id = run.environment_id
                   LEFT JOIN plumb.machine ON machine.id = environment.machine_id
                   WHERE ($1::text IS NULL OR machine.hostname = $1) AND ($2::bigint IS NULL OR run.started_at >= $2)
                     AND ($3::text IS NULL OR EXISTS (SELECT FROM plumb.run_tag WHERE run_id = run.id AND tag = $3))
                   ORDER BY run.started_at, run.id";
        let rows = self.client.query(sql, &[&filter.host, &filter.since_ns, &filter.tag]).map_err(&failed)?;
        rows.iter()
            .map(|row| Ok(SharedRow { id: row.try_get(0).map_err(&failed)?, tags: row.try_get(1).map_err(&failed)? }))
            .collect()
    }

    /// Returns the result of a run. Anybody with the right to write may have written it, so it is read like a file
    /// from elsewhere.
    ///
    /// # Errors
    /// Returns [`ShareError::Unreadable`] if it is not a result of this id.
    pub fn result(&mut self, id: &str) -> Result<RunResult, ShareError> {
        let failed = self.failed("reading a result");
        let unreadable = |destination: &str, reason: String| ShareError::Unreadable {
            destination: destination.to_owned(),
            id: id.to_owned(),
            reason,
        };
        let sql = "SELECT CASE WHEN octet_length(document::text) <= $2 THEN document::text END
                   FROM plumb.run WHERE id = $1::text::uuid";
        let limit = i32::try_from(reader::FILE_BYTES_MAX).unwrap_or(i32::MAX);
        let row = self.client.query_opt(sql, &[&id, &limit]).map_err(&failed)?;
        let text: Option<String> = match row {
            Some(row) => row.try_get(0).map_err(&failed)?,
            None => return Err(unreadable(&self.destination, "it was removed meanwhile".to_owned())),
        };
        let text = text.ok_or_else(|| unreadable(&self.destination, "it is larger than 256 MiB".to_owned()))?;
        let results =
            reader::read(text.as_bytes()).map_err(|error| unreadable(&self.destination, error.to_string()))?;
        match <[RunResult; 1]>::try_from(results) {
            Ok([result]) if result.id == id => Ok(result),
            Ok([other]) => Err(unreadable(&self.destination, format!("it is the result of run {}", other.id))),
            Err(_) => Err(unreadable(&self.destination, "it is not one result".to_owned())),
        }
    }
}
