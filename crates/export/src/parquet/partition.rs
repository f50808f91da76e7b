//! Directories and names of Parquet files, in the layout of Hive: `site=NAME/month=YYYY-MM/HASH.parquet`.
//!
//! DuckDB, pyarrow, polars and Spark read the values in the names of directories as columns, and skip directories that a
//! query excludes.

use crate::flat::FlatRun;
use std::fmt::Write;
use std::path::PathBuf;

/// Hive's word for a missing value.
const MISSING: &str = "__HIVE_DEFAULT_PARTITION__";
/// Longest value in the name of a directory. File systems allow 255 bytes for the whole name.
const VALUE_BYTES_MAX: usize = 200;

/// A directory of the layout. Names are as they appear in the path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Partition {
    site: String,
    month: String,
}

impl Partition {
    /// Returns the partition of a run: the month in which it began, UTC, and the given site, else its host.
    pub fn for_run(run: &FlatRun, site: Option<&str>) -> Partition {
        let started = run.started_at.parse::<jiff::Timestamp>().ok();
        let month = started.map(|time| time.to_string().get(..7).unwrap_or(MISSING).to_owned());
        let site = site.or(run.site.host.as_deref()).filter(|site| !site.is_empty());
        Partition {
            site: site.map_or_else(|| MISSING.to_owned(), escaped),
            month: month.unwrap_or_else(|| MISSING.to_owned()),
        }
    }

    /// Returns the path of the directory, relative to the export's.
    pub fn directory(&self) -> PathBuf {
        PathBuf::from(format!("site={}", self.site)).join(format!("month={}", self.month))
    }
}

/// Returns the name of a file with this content. Equal content has an equal name, so that writing it twice adds nothing.
pub fn file_name(content: &[u8]) -> String {
    format!("{}.parquet", blake3::hash(content).to_hex())
}

/// Writes a value as Hive does: all but letters, digits, `.`, `_` and `-` as `%XX`.
fn escaped(value: &str) -> String {
    // A byte takes at most three characters.
    let value = crate::shortened(value, VALUE_BYTES_MAX / 3);
    let mut escaped = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => escaped.push(char::from(byte)),
            byte => {
                let _ = write!(escaped, "%{byte:02X}");
            }
        }
    }
    escaped
}
