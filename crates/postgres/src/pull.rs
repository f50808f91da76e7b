//! Results as they were pushed.

use crate::{ShareError, SharedStore};
use plumb_result::{RunResult, reader};
use plumb_store::{FurtherBlobs, ResultStore, StoreError};

impl SharedStore {
    /// Returns the series and histograms of a run.
    ///
    /// # Errors
    /// Fails if the server does.
    pub fn further_blobs(&self, run: &str) -> Result<FurtherBlobs, StoreError> {
        Ok(FurtherBlobs { phases: self.phase_blobs(run)?, histograms: self.histograms(run)? })
    }

    /// Returns the result of a run; `None` without such a run. Anybody with the right to write may have written it, so it is
    /// read like a file from elsewhere.
    ///
    /// # Errors
    /// Returns [`ShareError::Unreadable`] if it is not a result of this id.
    pub fn result(&self, id: &str) -> Result<Option<RunResult>, ShareError> {
        let failed = self.failed("reading a result");
        let unreadable = |reason: String| ShareError::Unreadable {
            destination: self.destination.clone(),
            id: id.to_owned(),
            reason,
        };
        let sql = "SELECT CASE WHEN octet_length(document::text) <= $2 THEN document::text END
                   FROM plumb.run WHERE id = $1::text::uuid";
        let limit = i32::try_from(reader::FILE_BYTES_MAX).unwrap_or(i32::MAX);
        let Some(row) = self.client.borrow_mut().query_opt(sql, &[&id, &limit]).map_err(&failed)? else {
            return Ok(None);
        };
        let text: Option<String> = row.try_get(0).map_err(&failed)?;
        let text = text.ok_or_else(|| unreadable("it is larger than 256 MiB".to_owned()))?;
        let results = reader::read(text.as_bytes()).map_err(|error| unreadable(error.to_string()))?;
        match <[RunResult; 1]>::try_from(results) {
            Ok([result]) if result.id == id => Ok(Some(result)),
            Ok([other]) => Err(unreadable(format!("it is the result of run {}", other.id))),
            Err(_) => Err(unreadable("it is not one result".to_owned())),
        }
    }
}
