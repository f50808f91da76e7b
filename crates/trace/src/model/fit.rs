//! Fits a model to a recording, in two passes.

use super::gather::{Class, Gathered, Values};
use super::phases::changes;
use super::{
    BLOCK_BYTES, BUSY_MAX, MEMORY_OPS, Model, Placement, RECENT_MAX, THREADS_MAX, Target, Thread, has_model,
    is_missing, magnitude,
};
use crate::error::TraceError;
use crate::iolog::Waits;
use crate::open::{Format, open_as};
use crate::own::has_other_file;
use crate::record::{Record, RecordedAct, open_flag};
use crate::show::{Character, Sheet};
use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::path::Path;

/// Share of all data ops above which a file gets states of its own.
const BUSY_SHARE: f64 = 0.1;

/// Gaps of at least this many times the mean are pauses.
const LONG_GAPS: u64 = 16;

/// Number of distinct ways in which the use of a file can begin. Further ones share one class.
const ENTRIES_MAX: usize = 256;

/// Number of data ops within a use of a file that are counted individually.
const RUN_MAX: u32 = 8;

/// Number of distinct missing names.
const MISSING_MAX: usize = 1023;

/// Flags of open(2) that distinguish states, without the mode.
const FLAGS: u64 = 0xffff_ffff;

/// A model, and the recording's characteristics.
pub struct Fitted {
    pub model: Model,
    /// Characteristics of the modelled part of the recording.
    pub sheet: Sheet,
    /// Number of ops that are not modelled: failed ones except on missing names, and unsupported acts.
    pub left_out: u64,
}

/// Results of the first pass.
#[derive(Default)]
struct Surveyed {
    /// Whether each file is a directory.
    directories: Vec<bool>,
    data_ops: Vec<u64>,
    largest: Vec<u64>,
    /// Number of ops and start time of each thread.
    threads: Vec<(u64, u64)>,
    data: u64,
    left_out: u64,
    first_ns: Option<u64>,
}

impl Surveyed {
    fn add(&mut self, record: &Record) -> bool {
        let file = record.file as usize;
        if self.data_ops.len() <= file {
            self.directories.resize(file + 1, false);
            self.data_ops.resize(file + 1, 0);
            self.largest.resize(file + 1, 0);
        }
        if !has_model(record) {
            self.left_out += u64::from(record.act != RecordedAct::Add);
            return false;
        }
        self.directories[file] |= is_directory(record);
        let first_ns = *self.first_ns.get_or_insert(record.at_ns);
        let task = record.task as usize;
        if self.threads.len() <= task {
            self.threads.resize(task + 1, (0, 0));
        }
        let (ops, began_ns) = &mut self.threads[task];
        if *ops == 0 {
            *began_ns = record.at_ns.saturating_sub(first_ns);
        }
        *ops += 1;
        if record.act.moves_data() {
            self.data_ops[file] += 1;
            self.data += 1;
            self.largest[file] = self.largest[file].max(record.offset.saturating_add(record.length));
        }
        true
    }

    /// Returns the busiest files, the busiest first.
    fn busy(&self) -> Vec<usize> {
        let least = BUSY_SHARE * self.data as f64;
        let mut busy: Vec<usize> = (0..self.data_ops.len())
            .filter(|file| self.data > 0 && self.data_ops[*file] as f64 >= least && !self.directories[*file])
            .collect();
        busy.sort_by_key(|file| Reverse(self.data_ops[*file]));
        busy.truncate(BUSY_MAX);
        busy
    }

    /// Returns the model's thread for each recorded thread, and their start times. The busiest threads stay apart;
    /// all others share the last one.
    fn threads(&self) -> (Vec<usize>, Vec<u64>) {
        let mut order: Vec<usize> = (0..self.threads.len()).filter(|task| self.threads[*task].0 > 0).collect();
        order.sort_by_key(|task| Reverse(self.threads[*task].0));
        let mut model_of = vec![0; self.threads.len()];
        let mut starts: Vec<u64> = Vec::new();
        for (place, task) in order.into_iter().enumerate() {
            let (number, began_ns) = (place.min(THREADS_MAX - 1), self.threads[task].1);
            model_of[task] = number;
            match starts.get_mut(number) {
                Some(start) => *start = began_ns.min(*start),
                None => starts.push(began_ns),
            }
        }
        (model_of, starts)
    }
}

/// Fits a model. Level 1 has phases and the joint properties of an op; level 2 adds the order of ops; level 3
/// adds the reuse of positions.
///
/// # Errors
/// Returns the problem with the recording.
pub fn fit(path: &Path, waits: Waits, format: Option<Format>, level: u8) -> Result<Fitted, TraceError> {
    let mut reader = open_as(path, waits, format.clone())?;
    let (mut character, mut surveyed) = (Character::new(), Surveyed::default());
    for record in reader.by_ref() {
        let record = record?;
        if surveyed.add(&record) {
            character.add(&record);
        }
    }
    let sheet = character.finish(reader.names());
    let busy = surveyed.busy();
    let rest = (0..surveyed.largest.len()).filter(|file| !busy.contains(file)).map(|file| surveyed.largest[file]).max();
    let mut reaches: Vec<u64> = busy.iter().map(|file| surveyed.largest[*file]).collect();
    reaches.push(rest.unwrap_or(0));
    let (model_of, starts) = surveyed.threads();
    let mean_gap = sheet.value("arrivals", "mean gap").unwrap_or(0.0) as u64;
    let changes = changes(&sheet.rates);
    let (left_out, first_ns) = (surveyed.left_out, surveyed.first_ns.unwrap_or(0));
    let mut gathers = FitState::new(busy, level, mean_gap.saturating_mul(starts.len().max(1) as u64), surveyed);
    let mut phases: Vec<Vec<Gathered>> =
        starts.iter().map(|_| (0..=changes.len()).map(|_| Gathered::default()).collect()).collect();
    for record in open_as(path, waits, format)? {
        let record = record?;
        if !has_model(&record) {
            continue;
        }
        let since_ns = record.at_ns.saturating_sub(first_ns);
        let thread = model_of.get(record.task as usize).copied().unwrap_or(0);
        let number = changes.partition_point(|change| *change <= since_ns);
        if let Some(phase) = phases.get_mut(thread).and_then(|phases| phases.get_mut(number)) {
            gathers.add(phase, thread, &record);
        }
    }
    let threads = phases.into_iter().zip(starts).map(|(phases, start_ns)| {
        let phases = phases.into_iter().filter(|phase| phase.ops > 0).map(|phase| phase.finish(level)).collect();
        Thread { start_ns, phases }
    });
    Ok(Fitted { model: Model { seed: 1, reaches, threads: threads.collect() }, sheet, left_out })
}

/// Whether a record shows that its file is a directory.
fn is_directory(record: &Record) -> bool {
    match record.act {
        RecordedAct::Open => {
            record.result >= 0
                && record.aux & open_flag::DIRECTORY != 0
                && record.aux & open_flag::TEMPORARY != open_flag::TEMPORARY
        }
        act => matches!(act, RecordedAct::List | RecordedAct::Mkdir | RecordedAct::Rmdir | RecordedAct::SyncAll),
    }
}

/// Known state of a file.
#[derive(Clone, Copy, Default)]
struct FileState {
    /// Offset where the last op ended.
    end: u64,
    /// Its length, as far as it was seen.
    length: u64,
    is_met: bool,
    is_touched: bool,
}

/// Known state of a thread.
#[derive(Clone, Copy, Default)]
struct ThreadState {
    last_ns: Option<u64>,
    /// Last file that is not one of the busiest.
    file: Option<u32>,
    entry: u16,
    /// Data ops in the current use of that file.
    run: u32,
}

/// The op that begins a use of a file, or the last op on one of the busiest files: its act, the kind of file, the
/// open flags or placement, and a magnitude.
type Entry = (RecordedAct, Target, u64, u8);

/// Returns the number of a key, from 1; 0 if there are too many.
fn numbered<K: std::hash::Hash + Eq>(known: &mut HashMap<K, u16>, key: K) -> u16 {
    let count = known.len();
    match known.get(&key) {
        Some(number) => *number,
        None if count >= ENTRIES_MAX => 0,
        None => *known.entry(key).or_insert(count as u16 + 1),
    }
}

/// Returns the number of a data op in its run; above a limit, logarithmic classes.
fn run_class(run: u32) -> u8 {
    match run {
        0..=RUN_MAX => run as u8,
        _ => (RUN_MAX + 32 - (run / RUN_MAX).leading_zeros()) as u8,
    }
}

/// State shared by all phases while a recording is read.
struct FitState {
    busy: Vec<usize>,
    level: u8,
    mean_gap: u64,
    directories: Vec<bool>,
    files: Vec<FileState>,
    threads: Vec<ThreadState>,
    /// Recently used files, the last one first.
    recent: VecDeque<u32>,
    entries: HashMap<Entry, u16>,
    /// Last op on each of the busiest files.
    before: [u16; BUSY_MAX],
    befores: HashMap<[u16; BUSY_MAX], u16>,
    missing: HashMap<u32, usize>,
    /// Offset of the last op of each act and length in one of the busiest files, and its distance
    /// from the op before it.
    places: HashMap<(u32, RecordedAct, u64), (u64, i64)>,
    last_use: HashMap<(u32, u64), u64>,
    uses: VecDeque<(u32, u64)>,
    used: u64,
}

impl FitState {
    fn new(busy: Vec<usize>, level: u8, mean_gap: u64, surveyed: Surveyed) -> FitState {
        FitState {
            busy,
            level,
            mean_gap,
            directories: surveyed.directories,
            files: Vec::new(),
            threads: vec![ThreadState::default(); THREADS_MAX],
            recent: VecDeque::new(),
            entries: HashMap::new(),
            before: [0; BUSY_MAX],
            befores: HashMap::new(),
            missing: HashMap::new(),
            places: HashMap::new(),
            last_use: HashMap::new(),
            uses: VecDeque::new(),
            used: 0,
        }
    }

    /// Returns the number of data ops since a block was used; 0 if it was not.
    fn reuse_distance(&mut self, record: &Record) -> u64 {
        let key = (record.file, record.offset / BLOCK_BYTES);
        if self.uses.len() == MEMORY_OPS
            && let Some(old) = self.uses.pop_front()
            && self.last_use.get(&old) == Some(&(self.used - MEMORY_OPS as u64))
        {
            self.last_use.remove(&old);
        }
        self.uses.push_back(key);
        let before = self.last_use.insert(key, self.used);
        self.used += 1;
        before.map_or(0, |before| self.used - 1 - before)
    }

    /// Returns the kind of the op's file, and how many other files were used since.
    fn target(&mut self, thread: usize, record: &Record) -> (Target, usize) {
        let file = record.file as usize;
        if self.directories.get(file) == Some(&true) {
            return (Target::Directory, 0);
        }
        if is_missing(record) {
            return (Target::New, 0);
        }
        if let Some(number) = self.busy.iter().position(|busy| *busy == file) {
            return (Target::Busy(number as u32), 0);
        }
        let place = self.recent.iter().position(|recent| *recent == record.file);
        place.map(|place| self.recent.remove(place));
        self.recent.push_front(record.file);
        self.recent.truncate(RECENT_MAX);
        let target = match self.threads[thread].file.replace(record.file) {
            Some(last) if last == record.file => Target::Same,
            _ if self.files[file].is_met => Target::Other,
            _ => Target::New,
        };
        (target, place.unwrap_or(RECENT_MAX))
    }

    fn add(&mut self, phase: &mut Gathered, thread: usize, record: &Record) {
        let file = record.file as usize;
        let other = has_other_file(record.act).then_some(record.aux as usize);
        let most = file.max(other.unwrap_or(0));
        if self.files.len() <= most {
            self.files.resize(most + 1, FileState::default());
        }
        let seen = self.files[file];
        let (target, back) = self.target(thread, record);
        let acting = &mut self.threads[thread];
        let gap = record.at_ns.saturating_sub(acting.last_ns.unwrap_or(record.at_ns));
        acting.last_ns = Some(acting.last_ns.unwrap_or(0).max(record.at_ns));
        let is_pause = gap > 0 && gap >= self.mean_gap.saturating_mul(LONG_GAPS);
        // Levels that keep the order of ops list their pauses separately.
        let follows = self.level >= 2;
        let band = u8::from(gap >= self.mean_gap) + u8::from(is_pause && !follows);
        let is_data = record.act.moves_data();
        let seek = if record.act == RecordedAct::Trim || is_data { record.offset as i64 - seen.end as i64 } else { 0 };
        let place = match target {
            Target::Busy(_) if is_data => {
                self.places.insert((record.file, record.act, record.length), (record.offset, seek))
            }
            _ => None,
        };
        let placement = match is_data {
            _ if is_missing(record) => Placement::Missing,
            false => Placement::Jump,
            true if !seen.is_touched => Placement::First,
            true if record.offset == seen.end => Placement::Next,
            true if record.offset == 0 => Placement::Start,
            true if record.offset == seen.length => Placement::Append,
            true if place.is_some_and(|(offset, before)| offset == record.offset && before != seek) => Placement::Place,
            true => Placement::Jump,
        };
        let is_short = record.act == RecordedAct::Read && record.moved() < record.length;
        let aux = match record.act {
            RecordedAct::Rename | RecordedAct::Link => {
                u64::from(other.is_some_and(|other| self.files[other].is_met && other != file))
            }
            // The offset plus 1, if it is the same for all ops of the state.
            _ if is_data && matches!(placement, Placement::First | Placement::Place | Placement::Jump) => {
                record.offset.saturating_add(1)
            }
            _ if is_data => 0,
            _ => record.aux,
        };
        let flags = match record.act {
            RecordedAct::Open => aux & FLAGS,
            RecordedAct::Rename | RecordedAct::Link => aux,
            _ => 0,
        };
        let end = magnitude(seen.end);
        let size = if is_data { magnitude(record.length).div_ceil(2) } else { 0 };
        let begins = matches!(target, Target::Other | Target::New) && placement != Placement::Missing;
        if begins || target == Target::Same && record.act == RecordedAct::Open {
            let entry = numbered(&mut self.entries, (record.act, target, flags, end.div_ceil(2)));
            (self.threads[thread].entry, self.threads[thread].run) = (entry, 0);
        }
        let before = numbered(&mut self.befores, self.before);
        if let Target::Busy(number) = target {
            self.before[number as usize] = numbered(&mut self.entries, (record.act, target, placement as u64, size));
        }
        let (entry, run) = match target {
            Target::Same => (self.threads[thread].entry, run_class(self.threads[thread].run)),
            _ => (0, 0),
        };
        self.threads[thread].run += u32::from(is_data);
        let missing = self.missing.len().min(MISSING_MAX);
        let back =
            if placement == Placement::Missing { *self.missing.entry(record.file).or_insert(missing) } else { back };
        let class = Class {
            act: record.act,
            target,
            placement,
            is_short,
            flags,
            band,
            size: match target {
                _ if !follows => 0,
                Target::Other if !is_data => end.div_ceil(2),
                _ => size,
            },
            run: if follows { run } else { 0 },
            entry: if follows { entry } else { 0 },
            before: if follows { before } else { 0 },
        };
        let ago = if is_data { self.reuse_distance(record) } else { 0 };
        let values: Values = [
            (!(follows && is_pause)).then_some(gap as i64),
            (record.length > 0).then_some(record.length as i64),
            (seek != 0).then_some(seek),
            (target == Target::Other || placement == Placement::Missing).then_some(back as i64),
            (target == Target::Other).then_some(end.into()),
            (is_data && placement == Placement::Jump && self.level >= 3).then_some(ago as i64),
            is_short.then_some(record.moved() as i64),
        ];
        phase.add(class, aux, values, (follows && is_pause).then_some(gap));
        self.after(record, other);
    }

    /// Applies an op to the state of its file.
    fn after(&mut self, record: &Record, other: Option<usize>) {
        if record.result < 0 {
            return;
        }
        let file = record.file as usize;
        let seen = &mut self.files[file];
        seen.is_met = true;
        match record.act {
            RecordedAct::Read | RecordedAct::Write => {
                seen.end = record.offset.saturating_add(record.moved());
                seen.length = seen.length.max(seen.end);
                seen.is_touched = true;
            }
            RecordedAct::Unlink => (seen.end, seen.length) = (0, 0),
            RecordedAct::Truncate => seen.length = record.length,
            RecordedAct::Open if record.aux & open_flag::TRUNCATE != 0 => seen.length = 0,
            RecordedAct::Rename | RecordedAct::Link => {
                let moved = *seen;
                if let Some(other) = other {
                    self.files[other] = moved;
                    self.recent.retain(|recent| *recent as usize != other);
                    self.recent.push_front(other as u32);
                }
            }
            _ => {}
        }
    }
}
