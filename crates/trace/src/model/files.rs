//! The files of drawn ops.

use super::{BLOCK_BYTES, MEMORY_OPS, RECENT_MAX, magnitude};
use crate::names::Names;
use crate::record::{Record, RecordedAct};
use std::collections::{HashMap, VecDeque};

/// Maximum number of files, which bounds memory.
const FILES_MAX: usize = 1 << 20;

/// Number of uses searched for a fitting one.
const TRIES: u64 = 32;

/// Parent of all created directories.
const DIRECTORIES: &str = "directories";

/// A file of a model.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct File {
    /// Offset where the last op ended.
    pub(super) end: u64,
    /// Highest offset that ops have reached.
    pub(super) extent: u64,
    pub(super) is_touched: bool,
    pub(super) is_gone: bool,
    /// Its length, if the model created it, truncated it or read to its end.
    pub(super) length: Option<u64>,
}

/// All files, and their recent uses.
#[derive(Default)]
pub(super) struct Files {
    pub(super) names: Names,
    busy: u32,
    /// Files by the number of their name.
    files: Vec<File>,
    made: usize,
    /// Files that are not among the busiest, the most recent first.
    pub(super) recent: VecDeque<u32>,
    /// Directories that exist, the newest last; and the current one.
    directories: Vec<u32>,
    directories_made: u32,
    directory: Option<u32>,
    links: u32,
    /// Uses of positions, the oldest first; and the number of the last use of each block.
    uses: VecDeque<(u32, u64)>,
    used: u64,
    last_use: HashMap<(u32, u64), u64>,
    /// Offset of the last op of each act and length in one of the busiest files.
    places: HashMap<(u32, RecordedAct, u64), u64>,
}

/// The earlier use to repeat.
pub(super) struct Wanted<'a> {
    /// Distance in data ops.
    pub(super) ops: u64,
    /// Distance from the end of the last op on the file.
    pub(super) seek: i64,
    /// Returns `true` for files that may be used.
    pub(super) is_allowed: &'a dyn Fn(u32) -> bool,
}

impl Files {
    pub(super) fn new(names: Names, busy: u32) -> Files {
        let mut files = Files { names, busy, ..Files::default() };
        (0..busy).for_each(|file| {
            files.name(&format!("file{file}"));
        });
        files
    }

    fn name(&mut self, path: &str) -> u32 {
        let number = self.names.path(path);
        if self.files.len() <= number as usize {
            self.files.resize(number as usize + 1, File::default());
        }
        number
    }

    pub(super) fn at(&mut self, file: u32) -> &mut File {
        &mut self.files[file as usize]
    }

    pub(super) fn is_busy(&self, file: u32) -> bool {
        file < self.busy
    }

    /// Returns a name that never exists.
    pub(super) fn absent(&mut self, number: u64) -> u32 {
        self.name(&format!("absent/{number:02}"))
    }

    pub(super) fn link(&mut self) -> u32 {
        self.links = (self.links + 1) % FILES_MAX as u32;
        let path = format!("links/{:06}", self.links);
        self.name(&path)
    }

    pub(super) fn new_file(&mut self) -> u32 {
        // After the maximum number of new files, reuse the least recently used ones.
        if self.made >= FILES_MAX
            && let Some(oldest) = self.recent.pop_back()
        {
            self.recent.push_front(oldest);
            return oldest;
        }
        let path = format!("files/{:03}/{:06}", self.made / 100 % 1000, self.made);
        self.made += 1;
        let number = self.name(&path);
        self.recent.push_front(number);
        self.recent.truncate(RECENT_MAX);
        number
    }

    /// Returns a fitting file that was used about `place` files ago, and marks it as most recent.
    pub(super) fn find_recent(&mut self, place: usize, is_fit: &dyn Fn(&File) -> bool) -> Option<u32> {
        let is_there = |found: &usize| self.recent.get(*found).is_some_and(|file| is_fit(&self.files[*file as usize]));
        let found = (0..self.recent.len())
            .find_map(|away| [place.checked_sub(away), place.checked_add(away)].into_iter().flatten().find(is_there))?;
        let number = self.recent.remove(found)?;
        self.recent.push_front(number);
        Some(number)
    }

    /// Marks a file as the most recently used one.
    pub(super) fn mark_recent(&mut self, file: u32) {
        if self.is_busy(file) || self.recent.front() == Some(&file) {
            return;
        }
        if let Some(place) = self.recent.iter().position(|recent| *recent == file) {
            self.recent.remove(place);
            self.recent.push_front(file);
        }
    }

    /// Creates a directory; `None` if there are too many.
    pub(super) fn make_directory(&mut self) -> Option<u32> {
        if self.directories.len() >= FILES_MAX {
            return None;
        }
        // The numbers wrap around, but earlier directories of these names are removed by then.
        let path = format!("{DIRECTORIES}/{:06}", self.directories_made);
        self.directories_made = (self.directories_made + 1) % (2 * FILES_MAX as u32);
        let number = self.name(&path);
        self.directories.push(number);
        self.directory = Some(number);
        Some(number)
    }

    pub(super) fn remove_directory(&mut self) -> Option<u32> {
        let removed = self.directories.pop();
        if self.directory == removed {
            self.directory = None;
        }
        removed
    }

    /// Switches to another existing directory, chosen by a random number.
    pub(super) fn change_directory(&mut self, random: u64) {
        self.directory = self.directories.iter().rev().nth(random as usize).copied();
    }

    pub(super) fn directory(&mut self) -> u32 {
        match self.directory {
            Some(directory) => directory,
            None => self.name(DIRECTORIES),
        }
    }

    /// Returns a position that was used about this many data ops ago and not since. Of the nearby uses, picks the one
    /// whose distance from the last op is most similar.
    pub(super) fn find_reuse(&self, wanted: &Wanted<'_>) -> Option<(u32, u64)> {
        let oldest = self.used - self.uses.len() as u64;
        let mut best: Option<(u8, (u32, u64))> = None;
        for step in 0..TRIES {
            // Nearby uses, alternately farther and closer.
            let ops = wanted.ops;
            let away = if step % 2 == 0 { ops + step / 2 } else { ops.saturating_sub(step / 2 + 1).max(1) };
            let Some(number) = self.used.checked_sub(away).filter(|number| *number >= oldest) else { continue };
            let (file, offset) = self.uses[(number - oldest) as usize];
            let is_last = self.last_use.get(&(file, offset / BLOCK_BYTES)) == Some(&number);
            let known = &self.files[file as usize];
            if !is_last || known.is_gone || offset == known.end || !(wanted.is_allowed)(file) {
                continue;
            }
            let off = magnitude(offset.abs_diff(known.end)).abs_diff(magnitude(wanted.seek.unsigned_abs()));
            if best.is_none_or(|(least, _)| off < least) {
                best = Some((off, (file, offset)));
            }
            if off == 0 {
                break;
            }
        }
        // Reject a position at a very different distance.
        best.filter(|(off, _)| *off <= 1).map(|(_, place)| place)
    }

    /// Returns the offset of the last op of this act and length in one of the busiest files.
    pub(super) fn place(&self, file: u32, act: RecordedAct, length: u64) -> Option<u64> {
        self.places.get(&(file, act, length)).copied()
    }

    /// Whether a position was used, as far as that is remembered.
    pub(super) fn was_used(&self, file: u32, offset: u64) -> bool {
        self.last_use.contains_key(&(file, offset / BLOCK_BYTES))
    }

    /// Records the use of a position.
    pub(super) fn note_use(&mut self, record: &Record) {
        let (file, offset) = (record.file, record.offset);
        if self.is_busy(file) {
            self.places.insert((file, record.act, record.length), offset);
        }
        if self.uses.len() == MEMORY_OPS
            && let Some((file, offset)) = self.uses.pop_front()
        {
            let key = (file, offset / BLOCK_BYTES);
            let oldest = self.used - MEMORY_OPS as u64;
            if self.last_use.get(&key) == Some(&oldest) {
                self.last_use.remove(&key);
            }
        }
        self.uses.push_back((file, offset));
        self.last_use.insert((file, offset / BLOCK_BYTES), self.used);
        self.used += 1;
    }
}
