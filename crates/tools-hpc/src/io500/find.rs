//! Conditions and results of the find phases.

/// Conditions of a find phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Find {
    /// Directory to search.
    pub root: String,
    /// Find files newer than this one, if given.
    pub newer_than: Option<String>,
    /// Find files of this length, bytes, if given.
    pub bytes: Option<u64>,
    /// Limit of threads or ranks.
    pub threads: Option<u32>,
}

/// Text that the names of found files contain.
const PART: &str = "01";

impl Find {
    /// Returns `true` if a file of this name may be found.
    pub fn matches(name: &[u8]) -> bool {
        name.windows(PART.len()).any(|part| part == PART.as_bytes())
    }

    /// Returns the conditions as arguments of `find`.
    pub(super) fn words(&self) -> Vec<String> {
        let Find { root, newer_than, bytes, .. } = self;
        let mut words = ["find", root].map(str::to_owned).to_vec();
        words.extend(newer_than.iter().flat_map(|file| ["-newer".to_owned(), file.clone()]));
        words.extend(bytes.iter().flat_map(|bytes| ["-size".to_owned(), format!("{bytes}c")]));
        words.extend(["-name".to_owned(), format!("*{PART}*")]);
        words
    }
}

/// Counts of one thread or rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FoundByThread {
    /// Directories and files that could not be read.
    pub errors: u64,
    /// Files that meet the conditions.
    pub found: u64,
    pub files: u64,
    /// All names: files, directories and others.
    pub names: u64,
}

/// Result of a find phase.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FindResult {
    /// Duration, s.
    pub time_s: f64,
    /// Counts by thread or rank.
    pub threads: Vec<FoundByThread>,
    pub error: Option<String>,
}

impl FindResult {
    fn sum(&self, of: fn(&FoundByThread) -> u64) -> u64 {
        self.threads.iter().map(of).sum()
    }

    /// Returns the number of files that meet the conditions.
    pub fn found(&self) -> u64 {
        self.sum(|thread| thread.found)
    }

    /// Returns the number of all files.
    pub fn files(&self) -> u64 {
        self.sum(|thread| thread.files)
    }

    /// Returns the number of errors.
    pub fn errors(&self) -> u64 {
        self.sum(|thread| thread.errors)
    }

    /// Returns the rate in thousands of files per second.
    pub fn kiops(&self) -> f64 {
        if self.time_s > 0.0 { self.files() as f64 / self.time_s / 1e3 } else { 0.0 }
    }

    /// Formats `find.csv`: IO500's first line and columns, as far as they apply to any find program.
    pub fn csv(&self) -> String {
        let mut text = format!(
            "runtime: {:.6} rate: {:.6}\nrank, errors, found, total, checked\n",
            self.time_s,
            self.kiops() * 1e3
        );
        for (number, thread) in self.threads.iter().enumerate() {
            let FoundByThread { errors, found, files, names } = thread;
            text.push_str(&format!("{number}, {errors}, {found}, {files}, {names}\n"));
        }
        text
    }
}
