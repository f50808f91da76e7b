//! The files that ops are drawn on.

use super::{BLOCK_BYTES, MEMORY_OPS, RECENT_MAX, magnitude};
use crate::names::Names;
use crate::record::{Record, RecordedAct};
use std::collections::{HashMap, VecDeque};

/// Files at most, so that memory stays limited.
const FILES_MAX: usize = 1 << 20;

/// Uses that are looked through for one that fits.
const TRIES: u64 = 32;

/// Where directories are made.
const DIRECTORIES: &str = "directories";

/// A file of a model.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct File {
    /// Where the last op ended.
    pub(super) end: u64,
    /// How far ops have come.
    pub(super) extent: u64,
    pub(super) is_touched: bool,
    pub(super) is_gone: bool,
    /// Its length, where the model made it, cut it or came to its end.
    pub(super) length: Option<u64>,
}

/// All of them, and when they were used.
#[derive(Default)]
pub(super) struct Files {
    pub(super) names: Names,
    busy: u32,
    /// By the number of the name.
    files: Vec<File>,
    made: usize,
    /// Files that are none of the busiest, the last one first.
    pub(super) recent: VecDeque<u32>,
    /// Directories that were made and not removed, the last one last; and the one that is used.
    directories: Vec<u32>,
    directories_made: u32,
    directory: Option<u32>,
    links: u32,
    /// Uses of places, the oldest first; and the number of the last use of each block.
    uses: VecDeque<(u32, u64)>,
    used: u64,
    last_use: HashMap<(u32, u64), u64>,
    /// Where the last op of an act and a length began in one of the busiest files.
    places: HashMap<(u32, RecordedAct, u64), u64>,
}

/// Which use of a place is wanted again.
pub(super) struct Wanted<'a> {
    /// Data ops ago.
    pub(super) ops: u64,
    /// From where the last op on the file ended.
    pub(super) seek: i64,
    /// Whether the file is one of those that may be used.
    pub(super) is_its: &'a dyn Fn(u32) -> bool,
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

    /// A name that is never there.
    pub(super) fn absent(&mut self, number: u64) -> u32 {
        self.name(&format!("absent/{number:02}"))
    }

    pub(super) fn link(&mut self) -> u32 {
        self.links += 1;
        let path = format!("links/{:06}", self.links);
        self.name(&path)
    }

    pub(super) fn new_file(&mut self) -> u32 {
        // A model that makes one file after another has those again that were not used for longest.
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

    /// The file that was used about so many files ago and fits, used once more.
    pub(super) fn near(&mut self, place: usize, is_fit: &dyn Fn(&File) -> bool) -> Option<u32> {
        let is_there = |found: &usize| self.recent.get(*found).is_some_and(|file| is_fit(&self.files[*file as usize]));
        let found = (0..self.recent.len())
            .find_map(|away| [place.checked_sub(away), place.checked_add(away)].into_iter().flatten().find(is_there))?;
        let number = self.recent.remove(found)?;
        self.recent.push_front(number);
        Some(number)
    }

    /// A file is the one that was used last.
    pub(super) fn comes_first(&mut self, file: u32) {
        if self.is_busy(file) || self.recent.front() == Some(&file) {
            return;
        }
        if let Some(place) = self.recent.iter().position(|recent| *recent == file) {
            self.recent.remove(place);
            self.recent.push_front(file);
        }
    }

    pub(super) fn make_directory(&mut self) -> u32 {
        let path = format!("{DIRECTORIES}/{:06}", self.directories_made);
        self.directories_made += 1;
        let number = self.name(&path);
        self.directories.push(number);
        self.directory = Some(number);
        number
    }

    pub(super) fn remove_directory(&mut self) -> Option<u32> {
        let removed = self.directories.pop();
        if self.directory == removed {
            self.directory = None;
        }
        removed
    }

    /// Goes on with another directory that is there, by a random number.
    pub(super) fn change_directory(&mut self, random: u64) {
        self.directory = self.directories.iter().rev().nth(random as usize).copied();
    }

    pub(super) fn directory(&mut self) -> u32 {
        match self.directory {
            Some(directory) => directory,
            None => self.name(DIRECTORIES),
        }
    }

    /// Where a place was used about so many data ops ago, that was not used since: of those nearby, the one whose distance is most like
    /// the one that is wanted.
    pub(super) fn again(&self, wanted: &Wanted<'_>) -> Option<(u32, u64)> {
        let oldest = self.used - self.uses.len() as u64;
        let mut best: Option<(u8, (u32, u64))> = None;
        for step in 0..TRIES {
            // Nearby uses, in turn before and behind.
            let ops = wanted.ops;
            let away = if step % 2 == 0 { ops + step / 2 } else { ops.saturating_sub(step / 2 + 1).max(1) };
            let Some(number) = self.used.checked_sub(away).filter(|number| *number >= oldest) else { continue };
            let (file, offset) = self.uses[(number - oldest) as usize];
            let is_last = self.last_use.get(&(file, offset / BLOCK_BYTES)) == Some(&number);
            let known = &self.files[file as usize];
            if !is_last || known.is_gone || offset == known.end || !(wanted.is_its)(file) {
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
        // One at quite another distance is not like it.
        best.filter(|(off, _)| *off <= 1).map(|(_, place)| place)
    }

    /// Where the last op like this one began in its file, which is one of the busiest.
    pub(super) fn place(&self, file: u32, act: RecordedAct, length: u64) -> Option<u64> {
        self.places.get(&(file, act, length)).copied()
    }

    /// Whether a place was used, as far as that is remembered.
    pub(super) fn was_used(&self, file: u32, offset: u64) -> bool {
        self.last_use.contains_key(&(file, offset / BLOCK_BYTES))
    }

    /// Notes the use of a place.
    pub(super) fn is_used(&mut self, record: &Record) {
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
