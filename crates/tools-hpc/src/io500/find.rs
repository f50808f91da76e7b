//! The phases that find: what it looks for, and what it prints.

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Find {
    /// Where: below this directory.
    pub root: String,
    /// Files that were changed later than this one, where it is said.
    pub newer_than: Option<String>,
    /// Files of this length, bytes, where it is said.
    pub bytes: Option<u64>,
    /// Threads or ranks, at most.
    pub threads: Option<u32>,
}

/// Names with this inside.
const PART: &str = "01";

impl Find {
    /// Whether a name is one that is looked for.
    pub fn takes(name: &[u8]) -> bool {
        name.windows(PART.len()).any(|part| part == PART.as_bytes())
    }

    /// As words of a command line.
    pub(super) fn words(&self) -> Vec<String> {
        let Find { root, newer_than, bytes, .. } = self;
        let mut words = ["find", root].map(str::to_owned).to_vec();
        words.extend(newer_than.iter().flat_map(|file| ["-newer".to_owned(), file.clone()]));
        words.extend(bytes.iter().flat_map(|bytes| ["-size".to_owned(), format!("{bytes}c")]));
        words.extend(["-name".to_owned(), format!("*{PART}*")]);
        words
    }
}

/// What a thread or a rank found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FoundByThread {
    /// Directories and files that could not be read.
    pub errors: u64,
    /// Files that are what was looked for.
    pub found: u64,
    /// Files.
    pub files: u64,
    /// Names that were read: files, directories and others.
    pub names: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FindResult {
    /// How long it took, s.
    pub time_s: f64,
    /// By thread, or by rank.
    pub threads: Vec<FoundByThread>,
    /// The first error.
    pub error: Option<String>,
}

impl FindResult {
    fn sum(&self, of: fn(&FoundByThread) -> u64) -> u64 {
        self.threads.iter().map(of).sum()
    }

    /// Files that are what was looked for.
    pub fn found(&self) -> u64 {
        self.sum(|thread| thread.found)
    }

    /// All files.
    pub fn files(&self) -> u64 {
        self.sum(|thread| thread.files)
    }

    /// What could not be read.
    pub fn errors(&self) -> u64 {
        self.sum(|thread| thread.errors)
    }

    /// Thousands of files per second.
    pub fn kiops(&self) -> f64 {
        if self.time_s > 0.0 { self.files() as f64 / self.time_s / 1e3 } else { 0.0 }
    }

    /// What `find.csv` and the like hold: IO500's first line and columns, as far as they are of any find.
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
