//! Ops, drawn from a model.

use super::{BLOCK_BYTES, How, List, MEMORY_OPS, Model, RECENT_MAX, State, Whose, wrong};
use crate::error::TraceError;
use crate::names::Names;
use crate::open::{FormatReader, Input};
use crate::record::{Record, RecordedAct, Task};
use crate::survey::open_flag;
use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, Read};
use std::path::Path;

/// Bytes of a model at most.
const TEXT_MAX: u64 = 64 << 20;

/// Files at most, so that memory stays limited.
const FILES_MAX: usize = 1 << 20;

/// Uses that are looked through for one that fits.
const TRIES: u64 = 32;

/// How a file is opened: the bits of open(2)'s flags, and those for both. Source: asm-generic/fcntl.h.
const ACCESS: u64 = 3;
const READ_AND_WRITE: u64 = 2;

/// A file of a model.
#[derive(Debug, Clone, Copy, Default)]
struct File {
    /// Where the last op ended.
    end: u64,
    is_touched: bool,
    is_gone: bool,
    /// Its length, where the model made it or cut it.
    length: Option<u64>,
}

/// Draws ops.
pub(crate) struct Drawn {
    model: Model,
    names: Names,
    /// Of the phases that are left, the first; and its ops that are left.
    phase: usize,
    left: u64,
    state: Option<usize>,
    random: u64,
    at_ns: u64,
    has_begun: bool,
    /// Descriptors are those of opens.
    has_opens: bool,
    files: Vec<File>,
    /// Files that are none of the busiest, the last one first.
    recent: VecDeque<u32>,
    /// Uses of places, the oldest first; and the number of the last use of each block.
    uses: VecDeque<(u32, u64)>,
    used: u64,
    last_use: HashMap<(u32, u64), u64>,
}

impl Drawn {
    pub(crate) fn new(input: Input, path: &Path) -> Result<Drawn, TraceError> {
        let mut model = Model::default();
        let io = |source| TraceError::Io { path: path.to_owned(), source };
        let at = |line: u64, text: &str, problem| {
            let text = text.chars().take(200).collect();
            TraceError::Line { path: path.to_owned(), line, text, problem }
        };
        let mut number = 0;
        for line in input.take(TEXT_MAX).lines() {
            let line = line.map_err(io)?;
            number += 1;
            model.line(&line).map_err(|problem| at(number, &line, problem))?;
        }
        if let Some(problem) = model.problem() {
            return Err(at(number, "", wrong(problem)));
        }
        let mut names = Names::default();
        for thread in 1..=model.threads.max(1) {
            names.task(Task { process: 1, thread, command: String::new() });
        }
        let busy = model.reaches.len() - 1;
        for file in 0..busy {
            names.path(&format!("file{file}"));
        }
        let has_opens = model.phases.iter().flat_map(|phase| &phase.states).any(|state| state.act == RecordedAct::Open);
        Ok(Drawn {
            random: model.seed,
            names,
            phase: 0,
            left: model.phases.first().map_or(0, |phase| phase.ops),
            state: None,
            at_ns: 0,
            has_begun: false,
            has_opens,
            files: vec![File::default(); busy],
            recent: VecDeque::new(),
            uses: VecDeque::new(),
            used: 0,
            last_use: HashMap::new(),
            model,
        })
    }

    /// A random number below `limit` (SplitMix64: Steele, Lea, Flood 2014).
    fn below(&mut self, limit: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ mixed >> 31) * u128::from(limit)) >> 64) as u64
    }

    fn one_of(&mut self, list: &[i64]) -> i64 {
        if list.is_empty() { 0 } else { list[self.below(list.len() as u64) as usize] }
    }

    /// The state that comes next.
    fn choose(&mut self, states: &[State]) -> usize {
        let then: &[i64] =
            self.state.and_then(|state| states.get(state)).map_or(&[], |state| &state.lists[List::Then as usize]);
        let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
        let of_then = sum(&mut then.chunks(2).map(|pair| pair[1] as u64));
        if of_then > 0 {
            let mut chosen = self.below(of_then);
            for pair in then.chunks(2) {
                match chosen.checked_sub(pair[1] as u64) {
                    Some(rest) => chosen = rest,
                    None => return pair[0] as usize,
                }
            }
        }
        let mut chosen = self.below(sum(&mut states.iter().map(|state| state.count)).max(1));
        for (number, state) in states.iter().enumerate() {
            match chosen.checked_sub(state.count) {
                Some(rest) => chosen = rest,
                None => return number,
            }
        }
        0
    }

    fn new_file(&mut self) -> u32 {
        let number = self.files.len();
        // A model that makes one file after another has those again that were not used for longest.
        if number >= FILES_MAX
            && let Some(oldest) = self.recent.pop_back()
        {
            self.recent.push_front(oldest);
            return oldest;
        }
        let name = format!("files/{:03}/{number:06}", number / 100 % 1000);
        self.files.push(File::default());
        let number = self.names.path(&name);
        self.recent.push_front(number);
        self.recent.truncate(RECENT_MAX);
        number
    }

    /// The file of an op. What is gone is only made again.
    fn file(&mut self, state: &State) -> u32 {
        let place = match state.whose {
            Whose::Busy(number) => return number,
            Whose::New => return self.new_file(),
            Whose::Same => 0,
            Whose::Other => self.one_of(&state.lists[List::Back as usize]).max(1) as usize,
        };
        let may_be_gone = state.act == RecordedAct::Open;
        let is_fit = |file: &u32| may_be_gone || !self.files[*file as usize].is_gone;
        // The first op on a file cannot be on one that had it.
        let is_first = state.how == How::First;
        let is_fit = |file: &u32| is_fit(file) && !(is_first && self.files[*file as usize].is_touched);
        // The nearest that fits.
        let is_there = |found: &usize| self.recent.get(*found).is_some_and(is_fit);
        let near = (0..self.recent.len())
            .find_map(|away| [place.checked_sub(away), place.checked_add(away)].into_iter().flatten().find(is_there));
        match near.and_then(|found| self.recent.remove(found)) {
            None => self.new_file(),
            Some(number) => {
                self.recent.push_front(number);
                number
            }
        }
    }

    /// Where a place was used about so many data ops ago, that was not used since.
    fn again(&mut self, state: &State, ops: u64) -> Option<(u32, u64)> {
        let oldest = self.used - self.uses.len() as u64;
        for step in 0..TRIES {
            // Nearby uses, in turn before and behind.
            let away = if step % 2 == 0 { ops + step / 2 } else { ops.saturating_sub(step / 2 + 1).max(1) };
            let Some(number) = self.used.checked_sub(away).filter(|number| *number >= oldest) else { continue };
            let (file, offset) = self.uses[(number - oldest) as usize];
            let is_last = self.last_use.get(&(file, offset / BLOCK_BYTES)) == Some(&number);
            let is_its = match state.whose {
                Whose::Busy(busy) => file == busy,
                Whose::Same => self.recent.front() == Some(&file),
                Whose::Other | Whose::New => file as usize + 1 >= self.model.reaches.len(),
            };
            if is_last && is_its && !self.files[file as usize].is_gone {
                return Some((file, offset));
            }
        }
        None
    }

    /// Notes the use of a place.
    fn is_used(&mut self, file: u32, offset: u64) {
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

    /// Where an op on a file begins that does not go on where the last one ended.
    fn jump(&mut self, state: &State, file: u32, length: u64) -> u64 {
        let end = self.files[file as usize].end as i64;
        let reach = self.model.reaches[(file as usize).min(self.model.reaches.len() - 1)];
        let room = 0..=i64::try_from(reach.saturating_sub(length)).unwrap_or(i64::MAX);
        for _ in 0..TRIES {
            let seek = self.one_of(&state.lists[List::Seek as usize]);
            for place in [end.saturating_add(seek), end.saturating_sub(seek)] {
                if room.contains(&place) {
                    return place as u64;
                }
            }
        }
        0
    }

    fn draw(&mut self, state: &State) -> Record {
        let gap = self.one_of(&state.lists[List::Gap as usize]).max(0) as u64;
        if std::mem::replace(&mut self.has_begun, true) {
            self.at_ns = self.at_ns.saturating_add(gap);
        }
        let length = self.one_of(&state.lists[List::Size as usize]).max(0) as u64;
        let is_data = state.act.moves_data();
        let ago = if is_data && state.how == How::Jump { self.one_of(&state.lists[List::Again as usize]) } else { 0 };
        let before = if ago > 0 { self.again(state, ago as u64) } else { None };
        let file = match before {
            Some((file, _)) => {
                if let Some(place) = self.recent.iter().position(|recent| *recent == file) {
                    self.recent.remove(place);
                    self.recent.push_front(file);
                }
                file
            }
            None => self.file(state),
        };
        let offset = match before {
            Some((_, offset)) => offset,
            None if !(is_data || state.act == RecordedAct::Trim) => 0,
            None if state.how == How::Next => self.files[file as usize].end,
            None => self.jump(state, file, length),
        };
        // A busy file that is gone must be made again before anything else.
        let act = if self.files[file as usize].is_gone { RecordedAct::Open } else { state.act };
        let mut record = Record::ranged(self.at_ns, file, act, offset, length);
        record.task = file % self.model.threads.max(1);
        record.aux = state.aux;
        let found = &mut self.files[file as usize];
        match act {
            RecordedAct::Open => {
                // What follows is drawn, and may be reads or writes.
                record.aux = record.aux & !(ACCESS | open_flag::APPEND) | READ_AND_WRITE;
                if std::mem::take(&mut found.is_gone) {
                    record.aux |= open_flag::CREATE;
                    found.length = Some(0);
                }
                if record.aux & (open_flag::TRUNCATE | open_flag::EXCLUSIVE) != 0 {
                    (found.end, found.length) = (0, Some(0));
                }
                (record.offset, record.length, record.result) = (0, 0, file.into());
            }
            RecordedAct::Truncate => found.length = Some(length),
            RecordedAct::Write => found.length = found.length.map(|known| known.max(offset.saturating_add(length))),
            // What is there of it.
            RecordedAct::Read => {
                let there = found.length.map_or(length, |known| known.saturating_sub(offset).min(length));
                record.result = there as i64;
            }
            RecordedAct::Unlink => (found.end, found.is_gone, found.length) = (0, true, None),
            _ => {}
        }
        let is_by_name = matches!(act, RecordedAct::Stat | RecordedAct::Unlink | RecordedAct::Truncate);
        if self.has_opens && !is_by_name {
            record.handle = file + 1;
        }
        if act.moves_data() {
            (found.end, found.is_touched) = (offset.saturating_add(record.moved()), true);
            self.is_used(file, offset);
        }
        record
    }
}

impl FormatReader for Drawn {
    fn next(&mut self) -> Option<Result<Record, TraceError>> {
        while self.left == 0 {
            self.phase += 1;
            self.left = self.model.phases.get(self.phase)?.ops;
            self.state = None;
        }
        self.left -= 1;
        let states = std::mem::take(&mut self.model.phases[self.phase].states);
        let chosen = self.choose(&states);
        self.state = Some(chosen);
        let record = self.draw(&states[chosen]);
        self.model.phases[self.phase].states = states;
        Some(Ok(record))
    }

    fn names(&self) -> &Names {
        &self.names
    }
}
