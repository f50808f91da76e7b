//! The directory of a site. Plumb replaces and removes only the files in it that it made before.

use plumb_cli::exit::{End, Stopped};
use plumb_engine::guard::OutputFile;
use plumb_text::bounded;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// File that marks a directory as a site, with the names of its files.
const MARKER: &str = "plumb-site.json";
/// Name and version of the marker's form.
const SITE_SCHEMA: &str = "plumb.site/1";
/// The page that lists all others.
pub(super) const INDEX: &str = "index.html";
/// Directories of a site.
pub(super) const RUNS: &str = "runs";
pub(super) const COMPARISONS: &str = "comparisons";
const ENDINGS: [&str; 3] = [".html", ".json", ".plumb"];

/// Content of the marker.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    schema: String,
    /// Files of the site, relative to its directory.
    files: BTreeSet<String>,
}

/// A directory that was checked, with its marker written.
#[derive(Debug)]
pub(super) struct SiteDirectory {
    path: PathBuf,
    /// Files that an earlier call made.
    earlier: BTreeSet<String>,
    /// Files of this call.
    files: BTreeSet<String>,
}

impl SiteDirectory {
    /// Prepares a directory for these files. Changes nothing if it is not new, empty or a site, or if a file that Plumb did not make
    /// has one of the names.
    pub(super) fn prepare(path: &Path, files: BTreeSet<String>) -> Result<SiteDirectory, Stopped> {
        let earlier = match std::fs::read_dir(path) {
            Ok(entries) => earlier_files(path, entries)?,
            Err(error) if error.kind() == ErrorKind::NotFound => BTreeSet::new(),
            Err(error) => return Err(Stopped::usage(format!("{}: {error}", path.display()))),
        };
        for directory in [RUNS, COMPARISONS] {
            let kind = path.join(directory).symlink_metadata().map(|found| found.file_type());
            if kind.is_ok_and(|kind| !kind.is_dir()) {
                return Err(refused(&path.join(directory), "is in the way of a directory of the site"));
            }
        }
        for name in files.difference(&earlier) {
            if path.join(name).symlink_metadata().is_ok() {
                return Err(refused(&path.join(name), "was not made by `plumb site`, and is not overwritten"));
            }
        }
        for directory in [RUNS, COMPARISONS] {
            let directory = path.join(directory);
            std::fs::create_dir_all(&directory)
                .map_err(|error| Stopped::io(format!("cannot create {}: {error}", directory.display())))?;
        }
        let site = SiteDirectory { path: path.to_owned(), earlier, files };
        // After a kill, the marker has every file that may exist.
        site.mark(site.earlier.union(&site.files))?;
        Ok(site)
    }

    /// Writes one of the files.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> Result<(), Stopped> {
        Ok(OutputFile::made_up("plumb site", &self.path.join(name)).replace(content)?)
    }

    /// Removes the files of earlier calls that are no longer part of the site, and returns their number.
    pub(super) fn finish(self) -> Result<usize, Stopped> {
        let mut removed = 0;
        for name in self.earlier.difference(&self.files) {
            let path = self.path.join(name);
            match std::fs::remove_file(&path) {
                Ok(()) => removed += 1,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(Stopped::io(format!("cannot remove {}: {error}", path.display()))),
            }
        }
        self.mark(self.files.iter())?;
        Ok(removed)
    }

    fn mark<'a>(&self, files: impl Iterator<Item = &'a String>) -> Result<(), Stopped> {
        let marker = Marker { schema: SITE_SCHEMA.to_owned(), files: files.cloned().collect() };
        let text = plumb_document::json::to_string_pretty(&marker).map_err(Stopped::io)?;
        self.write(MARKER, format!("{text}\n").as_bytes())
    }
}

/// Returns the files that earlier calls made in a directory; none in an empty one.
fn earlier_files(path: &Path, mut entries: std::fs::ReadDir) -> Result<BTreeSet<String>, Stopped> {
    let marker = path.join(MARKER);
    let is_file = marker.symlink_metadata().is_ok_and(|found| found.is_file());
    if !is_file {
        return match entries.next() {
            None => Ok(BTreeSet::new()),
            Some(_) => Err(refused(path, "is not empty, and not a site of Plumb; name a new or an empty directory")),
        };
    }
    let damaged = |why: &dyn std::fmt::Display| refused(&marker, &format!("is not the list of a site: {why}"));
    let text = bounded::read_to_string(&marker).map_err(|error| damaged(&error))?;
    let found: Marker = plumb_document::json::from_str(&text).map_err(|error| damaged(&error))?;
    if found.schema != SITE_SCHEMA {
        return Err(damaged(&"a newer Plumb wrote it"));
    }
    match found.files.iter().find(|name| !is_of_site(name)) {
        Some(name) => Err(damaged(&format!("it names {name:?}"))),
        None => Ok(found.files),
    }
}

/// Returns `true` for names that `plumb site` gives, so that a changed marker removes no other file.
fn is_of_site(name: &str) -> bool {
    let is_id = |id: &str| !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let is_file = |file: &str| ENDINGS.iter().any(|ending| file.strip_suffix(ending).is_some_and(is_id));
    name == INDEX
        || name
            .split_once('/')
            .is_some_and(|(directory, file)| [RUNS, COMPARISONS].contains(&directory) && is_file(file))
}

fn refused(path: &Path, why: &str) -> Stopped {
    Stopped { end: End::Refused, message: format!("{} {why}", path.display()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects other files from a changed marker, which decides which files are removed.
    #[test]
    fn only_names_of_a_site_are_accepted() {
        for name in ["index.html", "runs/018f-a.html", "runs/018f-a.plumb", "comparisons/1.json"] {
            assert!(is_of_site(name), "{name}");
        }
        for name in [
            "",
            "x.html",
            "/etc/passwd",
            "runs/../x.html",
            "runs/.html",
            "../runs/a.html",
            "runs/a/b.html",
            "runs/a.txt",
        ] {
            assert!(!is_of_site(name), "{name}");
        }
    }
}
