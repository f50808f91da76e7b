//! A model, made from a recording in two passes.

use super::phases::changes;
use super::{
    BLOCK_BYTES, BUSY_MAX, How, LISTS, List, MEMORY_OPS, Model, Phase, RECENT_MAX, State, THREADS_MAX, VALUES, Whose,
    is_modelled,
};
use crate::error::TraceError;
use crate::iolog::Waits;
use crate::open::{Format, open_as};
use crate::record::{Record, RecordedAct};
use crate::show::{Character, Sheet};
use crate::survey::open_flag;
use plumb_sorted::short_list;
use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::path::Path;

/// Values of which the lists are made, at most; more are drawn from.
const SAMPLES: usize = 1024;

/// The share of all data ops from which a file has states of its own.
const BUSY_SHARE: f64 = 0.1;

/// Gaps of so many times the mean are long ones.
const LONG_GAPS: u64 = 16;

/// A model, and what it is made from.
pub struct Fitted {
    /// The model.
    pub model: Model,
    /// What the recording is like in the ops that are modelled.
    pub sheet: Sheet,
    /// Ops that are not modelled: those that failed, and acts that a model does not have.
    pub left_out: u64,
}

/// Makes a model: level 1 has phases, with what goes together in an op; level 2 as well what follows on what; level 3 as well when a
/// place is used again.
///
/// # Errors
/// The problem with the recording.
pub fn fit(path: &Path, waits: Waits, format: Option<Format>, level: u8) -> Result<Fitted, TraceError> {
    let mut reader = open_as(path, waits, format.clone())?;
    let mut character = Character::new();
    let (mut directories, mut ops, mut first_ns) = (Vec::new(), Vec::new(), None);
    let (mut data, mut left_out, mut largest) = (0_u64, 0, Vec::<u64>::new());
    for record in reader.by_ref() {
        let record = record?;
        let file = record.file as usize;
        if ops.len() <= file {
            directories.resize(file + 1, false);
            ops.resize(file + 1, 0_u64);
            largest.resize(file + 1, 0);
        }
        directories[file] |= is_directory(&record);
        if directories[file] || !is_modelled(record.act) || record.result < 0 {
            left_out += u64::from(record.act != RecordedAct::Add);
            continue;
        }
        character.add(&record);
        first_ns.get_or_insert(record.at_ns);
        if record.act.moves_data() {
            ops[file] += 1;
            data += 1;
            largest[file] = largest[file].max(record.offset.saturating_add(record.length));
        }
    }
    let sheet = character.finish(reader.names());
    let mut busy: Vec<usize> =
        (0..ops.len()).filter(|file| ops[*file] as f64 >= BUSY_SHARE * data as f64 && data > 0).collect();
    short_list::sort_by_key(&mut busy, |file| Reverse(ops[*file]));
    busy.truncate(BUSY_MAX);
    let rest = (0..ops.len()).filter(|file| !busy.contains(file)).map(|file| largest[file]).max();
    let mut reaches: Vec<u64> = busy.iter().map(|file| largest[*file]).collect();
    reaches.push(rest.unwrap_or(0));
    let in_flight = sheet.value("arrivals", "in flight p99").unwrap_or(1.0).max(1.0);
    let threads = sheet.value("mix", "threads").unwrap_or(1.0).clamp(1.0, in_flight.min(THREADS_MAX.into())) as u32;
    let mean_gap = sheet.value("arrivals", "mean gap").unwrap_or(0.0) as u64;

    let changes = changes(&sheet.rates);
    let mut gathers = Gathers::new(busy, level, mean_gap);
    let mut reader = open_as(path, waits, format)?;
    let mut phases = vec![Gathered::default()];
    for record in reader.by_ref() {
        let record = record?;
        let file = record.file as usize;
        if directories.get(file) != Some(&false) || !is_modelled(record.act) || record.result < 0 {
            continue;
        }
        let since_ns = record.at_ns.saturating_sub(first_ns.unwrap_or(0));
        if changes.get(phases.len() - 1).is_some_and(|change| since_ns >= *change) {
            phases.push(Gathered::default());
        }
        if let Some(phase) = phases.last_mut() {
            gathers.add(phase, &record);
        }
    }
    phases.retain(|phase| phase.ops > 0);
    let phases = phases.into_iter().map(|phase| phase.finish(level)).collect();
    Ok(Fitted { model: Model { seed: 1, threads, reaches, phases }, sheet, left_out })
}

/// Whether a record shows that its file is a directory.
fn is_directory(record: &Record) -> bool {
    match record.act {
        RecordedAct::Open => {
            record.aux & open_flag::DIRECTORY != 0 && record.aux & open_flag::TEMPORARY != open_flag::TEMPORARY
        }
        act => matches!(act, RecordedAct::List | RecordedAct::Mkdir | RecordedAct::Rmdir),
    }
}

/// What is known of a file.
#[derive(Clone, Copy, Default)]
struct Seen {
    end: u64,
    is_met: bool,
    is_touched: bool,
}

/// What all phases share while a recording is read.
struct Gathers {
    busy: Vec<usize>,
    level: u8,
    mean_gap: u64,
    files: Vec<Seen>,
    recent: VecDeque<u32>,
    last_ns: Option<u64>,
    last_use: HashMap<(u32, u64), u64>,
    uses: VecDeque<(u32, u64)>,
    used: u64,
}

impl Gathers {
    fn new(busy: Vec<usize>, level: u8, mean_gap: u64) -> Gathers {
        let (files, recent, uses) = (Vec::new(), VecDeque::new(), VecDeque::new());
        Gathers { busy, level, mean_gap, files, recent, last_ns: None, last_use: HashMap::new(), uses, used: 0 }
    }

    /// Data ops since a block was used, 0 if it was not.
    fn ago(&mut self, record: &Record) -> u64 {
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

    fn add(&mut self, phase: &mut Gathered, record: &Record) {
        let file = record.file as usize;
        if self.files.len() <= file {
            self.files.resize(file + 1, Seen::default());
        }
        let seen = self.files[file];
        let mut back = 0;
        let whose = match self.busy.iter().position(|busy| *busy == file) {
            Some(number) => Whose::Busy(number as u32),
            None => {
                let place = self.recent.iter().position(|recent| *recent == record.file);
                place.map(|place| self.recent.remove(place));
                self.recent.push_front(record.file);
                self.recent.truncate(RECENT_MAX);
                back = place.unwrap_or(RECENT_MAX);
                match place {
                    Some(0) => Whose::Same,
                    _ if seen.is_met => Whose::Other,
                    _ => Whose::New,
                }
            }
        };
        let gap = record.at_ns.saturating_sub(self.last_ns.unwrap_or(record.at_ns));
        self.last_ns = Some(self.last_ns.unwrap_or(0).max(record.at_ns));
        let band = u8::from(gap >= self.mean_gap) + u8::from(gap >= self.mean_gap.saturating_mul(LONG_GAPS));
        let is_data = record.act.moves_data();
        let how = match is_data {
            true if !seen.is_touched => How::First,
            true if record.offset == seen.end => How::Next,
            _ => How::Jump,
        };
        let seek = if record.act == RecordedAct::Trim || is_data { record.offset as i64 - seen.end as i64 } else { 0 };
        let ago = if is_data { self.ago(record) } else { 0 };
        let values = [
            Some(gap as i64),
            (record.length > 0).then_some(record.length as i64),
            (seek != 0).then_some(seek),
            (whose == Whose::Other).then_some(back as i64),
            (is_data && how == How::Jump && self.level >= 3).then_some(ago as i64),
        ];
        phase.add(Class { act: record.act, whose, how, band }, record.aux, values);
        let seen = &mut self.files[file];
        seen.is_met = true;
        if is_data {
            seen.end = record.offset.saturating_add(record.moved());
            seen.is_touched = true;
        } else if record.act == RecordedAct::Unlink
            || record.act == RecordedAct::Open && record.aux & (open_flag::TRUNCATE | open_flag::EXCLUSIVE) != 0
        {
            seen.end = 0;
        }
    }
}

/// What makes a state.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Class {
    act: RecordedAct,
    whose: Whose,
    how: How,
    /// Short, long or very long gaps before it.
    band: u8,
}

/// Values, as many as are kept.
#[derive(Default)]
struct Sample {
    kept: Vec<i64>,
    count: u64,
    sum: i128,
}

impl Sample {
    /// Each value is kept with the same chance (Vitter's algorithm R); what is random of it is the value's number, mixed.
    fn add(&mut self, value: i64) {
        self.count += 1;
        self.sum += i128::from(value);
        if self.kept.len() < SAMPLES {
            self.kept.push(value);
            return;
        }
        let mixed = (self.count.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.count).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let place = (u128::from(mixed ^ mixed >> 29) * u128::from(self.count)) >> 64;
        if let Some(kept) = usize::try_from(place).ok().and_then(|place| self.kept.get_mut(place)) {
            *kept = value;
        }
    }

    /// As few values as stand for all: each for as many, in order. Means add up to the sum of all.
    fn values(mut self, means: bool) -> Vec<i64> {
        short_list::sort_by_key(&mut self.kept, |value| *value);
        let (count, parts) = (self.kept.len(), VALUES.min(self.kept.len()));
        let mut values: Vec<i64> = (0..parts)
            .map(|part| {
                let slice = &self.kept[part * count / parts..(part + 1) * count / parts];
                if means { slice.iter().sum::<i64>() / slice.len() as i64 } else { slice[slice.len() / 2] }
            })
            .collect();
        // Few long gaps make up most of the time, and are not always kept.
        if let (true, [before @ .., last]) = (means, values.as_mut_slice()) {
            let all = self.sum * parts as i128 / i128::from(self.count);
            let rest = all - before.iter().map(|value| i128::from(*value)).sum::<i128>();
            *last = i64::try_from(rest).unwrap_or(*last).max(before.last().copied().unwrap_or(0));
        }
        values
    }
}

/// A state while a recording is read.
struct Gathering {
    class: Class,
    count: u64,
    aux: u64,
    samples: [Sample; LISTS.len() - 1],
    then: Vec<(usize, u64)>,
}

/// A phase while a recording is read.
#[derive(Default)]
struct Gathered {
    ops: u64,
    states: Vec<Gathering>,
    last: Option<usize>,
}

impl Gathered {
    fn add(&mut self, class: Class, aux: u64, values: [Option<i64>; LISTS.len() - 1]) {
        let number = self.states.iter().position(|state| state.class == class).unwrap_or_else(|| {
            self.states.push(Gathering { class, count: 0, aux, samples: Default::default(), then: Vec::new() });
            self.states.len() - 1
        });
        self.ops += 1;
        if let Some(last) = self.last.replace(number) {
            let then = &mut self.states[last].then;
            match then.iter_mut().find(|(state, _)| *state == number) {
                Some((_, count)) => *count += 1,
                None => then.push((number, 1)),
            }
        }
        let state = &mut self.states[number];
        state.count += 1;
        state
            .samples
            .iter_mut()
            .zip(values)
            .for_each(|(sample, value)| value.into_iter().for_each(|value| sample.add(value)));
    }

    fn finish(self, level: u8) -> Phase {
        let state = |state: Gathering| {
            let Class { act, whose, how, .. } = state.class;
            let mut lists: [Vec<i64>; LISTS.len()] = Default::default();
            for (list, (place, sample)) in lists.iter_mut().zip(state.samples.into_iter().enumerate()) {
                *list = sample.values(place == List::Gap as usize);
            }
            if level >= 2 {
                lists[List::Then as usize] =
                    state.then.iter().flat_map(|(state, count)| [*state as i64, *count as i64]).collect();
            }
            State { act, whose, how, count: state.count, aux: state.aux, lists }
        };
        Phase { ops: self.ops, states: self.states.into_iter().map(state).collect() }
    }
}
