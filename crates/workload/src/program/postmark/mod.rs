//! PostMark's load: small files that are created, read, appended to and deleted, in an order that its seed fixes.
//!
//! What PostMark 1.5x does is one sequence of draws from one generator: the text that files are filled with, then for each
//! file its place and size, then for each transaction what is done to which file. [`PostmarkDraws`] makes that sequence, and does
//! nothing else; who runs it, who counts it and who checks a published number against it all see the same.

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
    /// Directories in which `s0` and its like lie, or files where there are none; never empty.
    pub fn bases(&self) -> Vec<&Path> {
        match self.locations.is_empty() {
            true => vec![Path::new("")],
            false => self.locations.iter().map(|location| location.path.as_path()).collect(),
        }
    }

    /// Subdirectories of each base; 0 where there are none.
    pub fn subdirectories(&self) -> u32 {
        if self.subdirectories > 1 { self.subdirectories } else { 0 }
    }

    /// The subdirectories of all bases.
    pub fn directories(&self) -> impl Iterator<Item = PathBuf> {
        let subdirectories = self.subdirectories();
        let of_base = move |base: &Path| {
            let base = base.to_owned();
            (0..subdirectories).map(move |number| base.join(format!("s{number}")))
        };
        self.bases().into_iter().flat_map(of_base)
    }

    /// How many names of [`Postmark::paths`] are directories; they are the first ones.
    #[inline]
    pub fn directory_count(&self) -> u32 {
        self.subdirectories().saturating_mul(self.locations.len().max(1) as u32)
    }

    /// Returns the directories that files are made in, by the number that [`DrawnFile::directory`] has.
    pub fn file_directories(&self) -> Vec<PathBuf> {
        match self.subdirectories() {
            0 => self.bases().into_iter().map(Path::to_owned).collect(),
            _ => self.directories().collect(),
        }
    }

    /// Returns the place of a file in [`Postmark::paths`].
    #[inline]
    pub fn place(&self, thread: u32, number: u32) -> u32 {
        self.directory_count() + self.number_of(thread, number) - 1
    }

    /// Returns the name of a thread's file: threads take turns with numbers. One thread has all of them, from 1.
    #[inline]
    pub fn number_of(&self, thread: u32, number: u32) -> u32 {
        number.saturating_sub(1).saturating_mul(self.threads).saturating_add(thread + 1)
    }

    /// Returns the most bytes that all files of all threads have at once, in blocks of 4 KiB.
    pub fn peak_bytes(&self) -> u64 {
        self.totals().iter().map(|totals| totals.set_blocks_bytes_max).fold(0, u64::saturating_add)
    }

    /// Returns what every thread does altogether, thread by thread. The planner, the checks and the report of a run ask for
    /// this, and the answer takes a whole run to draw: the last one is kept.
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

    /// Returns all names: first the subdirectories, then the files. Threads do not create equally many: where a number is left
    /// over, the first file's name stands. Empty where the run is not [sound](Postmark::is_sound).
    ///
    /// A run makes a file for every other transaction: what needs single names makes them of their [`DrawnFile`].
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
