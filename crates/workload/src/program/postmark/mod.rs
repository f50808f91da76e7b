//! PostMark's load: small files are created, read, appended to and deleted in an order fixed by the seed.
//!
//! PostMark 1.5x draws everything from one generator. It draws the text that files are filled with, then a location
//! and size for each file, then the action and file of each transaction. [`PostmarkDraws`] produces this sequence and
//! nothing else. The code that runs it, counts it and checks published numbers against it all sees the same sequence.

mod draws;
mod limits;
mod settings;
mod twister;

use crate::units::Bytes;
pub use draws::{Act, DrawnFile, PostmarkDraws, Totals};
pub use limits::Unsound;
pub use settings::{Postmark, PostmarkLocation, PostmarkPart, PostmarkStep};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
pub use twister::Twister;

impl Default for Postmark {
    fn default() -> Postmark {
        Postmark {
            low: Bytes(500),
            high: Bytes(10_000),
            number: 500,
            transactions: 500,
            seed: 42,
            locations: Vec::new(),
            subdirectories: 0,
            read_block: Bytes(512),
            write_block: Bytes(512),
            bias_read: Some(5),
            bias_create: Some(5),
            buffered: true,
            threads: 1,
        }
    }
}

impl Postmark {
    /// Returns the directories that contain `s0`, `s1` …, or the files if there are no subdirectories. Never empty.
    pub fn bases(&self) -> Vec<&Path> {
        match self.locations.is_empty() {
            true => vec![Path::new("")],
            false => self.locations.iter().map(|location| location.path.as_path()).collect(),
        }
    }

    /// Returns the number of subdirectories per base; 0 if there are none.
    pub fn subdirectories(&self) -> u32 {
        if self.subdirectories > 1 { self.subdirectories } else { 0 }
    }

    /// Returns the subdirectories of all bases.
    pub fn directories(&self) -> impl Iterator<Item = PathBuf> {
        let subdirectories = self.subdirectories();
        let of_base = move |base: &Path| {
            let base = base.to_owned();
            (0..subdirectories).map(move |number| base.join(format!("s{number}")))
        };
        self.bases().into_iter().flat_map(of_base)
    }

    /// Returns how many entries of [`Postmark::paths`] are directories. Directories come first.
    #[inline]
    pub fn directory_count(&self) -> u32 {
        self.subdirectories().saturating_mul(self.locations.len().max(1) as u32)
    }

    /// Returns the directories for files, indexed by [`DrawnFile::directory`].
    pub fn file_directories(&self) -> Vec<PathBuf> {
        match self.subdirectories() {
            0 => self.bases().into_iter().map(Path::to_owned).collect(),
            _ => self.directories().collect(),
        }
    }

    /// Returns the index of a file in [`Postmark::paths`].
    #[inline]
    pub fn place(&self, thread: u32, number: u32) -> u32 {
        self.directory_count() + self.number_of(thread, number) - 1
    }

    /// Returns the number in the name of a thread's file. Threads take turns with numbers; a single thread has
    /// all of them, from 1.
    #[inline]
    pub fn number_of(&self, thread: u32, number: u32) -> u32 {
        number.saturating_sub(1).saturating_mul(self.threads).saturating_add(thread + 1)
    }

    /// Returns the maximum bytes that all files of all threads occupy at once, in blocks of 4 KiB.
    pub fn peak_bytes(&self) -> u64 {
        self.totals().iter().map(|totals| totals.set_blocks_bytes_max).fold(0, u64::saturating_add)
    }

    /// Returns the totals of each thread. Drawing them takes a whole run, and the planner, the checks and the report
    /// all ask for them. The last result is therefore cached.
    pub fn totals(&self) -> Vec<Totals> {
        static LAST: Mutex<Option<(Postmark, Vec<Totals>)>> = Mutex::new(None);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((run, totals)) if run == self => totals.clone(),
            _ => {
                let totals: Vec<Totals> =
                    (0..self.threads).map(|thread| PostmarkDraws::new(self, thread).to_end()).collect();
                *last = Some((self.clone(), totals.clone()));
                totals
            }
        }
    }

    /// Returns the number of [`Postmark::paths`].
    pub fn count(&self) -> usize {
        if !self.is_sound() {
            return 0;
        }
        let last = |(thread, totals): (u32, &Totals)| self.number_of(thread, totals.created as u32);
        let files = (0..).zip(&self.totals()).map(last).max().unwrap_or(0);
        self.directory_count() as usize + files as usize
    }

    /// Returns one of [`Postmark::paths`].
    pub fn path(&self, place: u32) -> Option<PathBuf> {
        let directories = self.file_directories();
        match (place.checked_sub(self.directory_count()), directories.as_slice()) {
            _ if place as usize >= self.count() => None,
            (None, directories) => directories.get(place as usize).cloned(),
            (Some(before), [directory]) if self.threads == 1 => Some(directory.join((before + 1).to_string())),
            _ => self.paths().into_iter().nth(place as usize),
        }
    }

    /// Returns all names, the subdirectories first and then the files. Threads do not all create the same number of
    /// files; an unused number gets the name of the first file. Empty if the run is not [sound](Postmark::is_sound).
    ///
    /// A run creates a file in every other transaction. Callers that need single names should
    /// derive them from their [`DrawnFile`].
    pub fn paths(&self) -> Vec<PathBuf> {
        if !self.is_sound() {
            return Vec::new();
        }
        let directories = self.file_directories();
        let mut paths: Vec<PathBuf> = self.directories().collect();
        let mut files: Vec<PathBuf> = Vec::new();
        for thread in 0..self.threads {
            let mut draws = PostmarkDraws::new(self, thread);
            for part in [PostmarkPart::Create, PostmarkPart::Transactions] {
                while let Some(act) = draws.next(part) {
                    let Act::Create(file, _) = act else { continue };
                    let number = self.number_of(thread, file.number);
                    let place = number as usize - 1;
                    if files.len() <= place {
                        files.resize(place + 1, PathBuf::new());
                    }
                    files[place] = directories[file.directory as usize].join(number.to_string());
                }
            }
        }
        let first = files.first().cloned().unwrap_or_default();
        paths.extend(files.into_iter().map(|path| if path.as_os_str().is_empty() { first.clone() } else { path }));
        paths
    }
}
