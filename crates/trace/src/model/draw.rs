//! Draws ops from a model.

use super::files::{File, Files, Wanted};
use super::{List, Model, NOT_THERE, Placement, State, Target, invalid, magnitude};
use crate::error::TraceError;
use crate::format_reader::{FormatReader, Input};
use crate::names::Names;
use crate::record::{Record, RecordedAct, Task, open_flag};
use std::io::{BufRead, Read};
use std::path::Path;

/// Maximum size of a model, in bytes.
const TEXT_MAX: u64 = 64 << 20;

/// Attempts to draw a position within the file.
const TRIES: u64 = 32;

/// Maximum number of distinct missing names.
const ABSENT_MAX: i64 = 1023;

/// Number of recent directories that are listed and opened.
const DIRECTORIES: u64 = 8;

/// Access mode bits of open(2), and their value for read and write. Source: asm-generic/fcntl.h.
const ACCESS: u64 = 3;
const READ_AND_WRITE: u64 = 2;

/// Progress of a thread.
#[derive(Default)]
struct Running {
    /// Current phase, and its remaining ops.
    phase: usize,
    left: u64,
    /// Next state and its time; `None` after the last op.
    next: Option<(usize, u64)>,
    /// Last state in this phase.
    last: Option<usize>,
    /// Last file that is not one of the busiest.
    file: Option<u32>,
    /// Pauses of this phase so far, and ops since the last one.
    pauses: usize,
    since_pause: u64,
}

/// Draws ops from a model.
pub(crate) struct Drawn {
    model: Model,
    threads: Vec<Running>,
    random: u64,
    /// Whether the model opens files, so that ops have descriptors.
    has_opens: bool,
    files: Files,
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
            return Err(at(number, "", invalid(problem)));
        }
        let mut names = Names::default();
        for thread in 1..=model.threads.len() as u32 {
            names.task(Task { process: 1, thread, command: String::new() });
        }
        let mut states = model.threads.iter().flat_map(|thread| &thread.phases).flat_map(|phase| &phase.states);
        let has_opens = states.any(|state| state.act == RecordedAct::Open && state.placement != Placement::Missing);
        let files = Files::new(names, model.reaches.len() as u32 - 1);
        let threads = model.threads.iter().map(|_| Running::default()).collect();
        let mut drawn = Drawn { random: model.seed, threads, has_opens, files, model };
        for thread in 0..drawn.threads.len() {
            drawn.threads[thread].left = drawn.model.threads[thread].phases[0].ops;
            let start_ns = drawn.model.threads[thread].start_ns;
            drawn.plan(thread, None);
            if let Some((_, at_ns)) = &mut drawn.threads[thread].next {
                *at_ns = start_ns;
            }
        }
        Ok(drawn)
    }

    /// Returns a random number below `limit` (SplitMix64: Steele, Lea, Flood 2014).
    fn below(&mut self, limit: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ mixed >> 31) * u128::from(limit)) >> 64) as u64
    }

    /// Draws a value from a list without replacement, until all were drawn.
    fn draw_value(&mut self, state: &mut State, list: List) -> i64 {
        let (list, left) = (&mut state.lists[list as usize], &mut state.left[list as usize]);
        if list.is_empty() {
            return 0;
        }
        if *left == 0 {
            *left = list.len() as u32;
        }
        let chosen = self.below((*left).into()) as usize;
        *left -= 1;
        list.swap(chosen, *left as usize);
        list[*left as usize]
    }

    /// Draws an index with probability proportional to its count; `None` if all counts are 0.
    fn draw_by_count(&mut self, counts: impl Iterator<Item = u64> + Clone) -> Option<usize> {
        let all = counts.clone().fold(0, u64::saturating_add);
        let mut chosen = self.below(all);
        counts.into_iter().position(|count| match chosen.checked_sub(count) {
            Some(rest) => {
                chosen = rest;
                false
            }
            None => true,
        })
    }

    /// Chooses the state after `last`. Keeps each pair's frequency and each state's total to those of the
    /// model, as far as possible.
    fn choose(&mut self, states: &mut [State], last: Option<usize>) -> usize {
        // A phase begins with its first state.
        if last.is_none() && states[0].used == 0 {
            return 0;
        }
        let followed = last.and_then(|last| {
            let then = states[last].lists[List::Then as usize].chunks(2);
            let used = states[last].used_then.iter().copied().chain(std::iter::repeat(0));
            // A state that replaced another one because of a short read may exceed its count.
            let left = then.zip(used).map(|(pair, used)| match states[pair[0] as usize] {
                ref state if state.used < state.count => (pair[1] as u64).saturating_sub(used),
                _ => 0,
            });
            let place = self.draw_by_count(left)?;
            Some((last, place, states[last].lists[List::Then as usize][2 * place] as usize))
        });
        if let Some((last, place, number)) = followed {
            let used = &mut states[last].used_then;
            used.resize(used.len().max(place + 1), 0);
            used[place] += 1;
            return number;
        }
        if let Some(number) = self.draw_by_count(states.iter().map(|state| state.count.saturating_sub(state.used))) {
            return number;
        }
        for state in states.iter_mut() {
            state.used = 0;
            state.used_then.clear();
        }
        self.draw_by_count(states.iter().map(|state| state.count)).unwrap_or(0)
    }

    /// Plans the thread's next op, after one at `at_ns`.
    fn plan(&mut self, thread: usize, at_ns: Option<u64>) {
        while self.threads[thread].left == 0 {
            let running = &mut self.threads[thread];
            running.phase += 1;
            (running.last, running.pauses, running.since_pause) = (None, 0, 0);
            match self.model.threads[thread].phases.get(running.phase) {
                Some(phase) => running.left = phase.ops,
                None => {
                    running.next = None;
                    return;
                }
            }
        }
        let phase = self.threads[thread].phase;
        let mut states = std::mem::take(&mut self.model.threads[thread].phases[phase].states);
        let chosen = self.choose(&mut states, self.threads[thread].last);
        let pause = self.pause(thread, phase);
        let gap = pause.unwrap_or_else(|| self.draw_value(&mut states[chosen], List::Gap).max(0) as u64);
        self.model.threads[thread].phases[phase].states = states;
        self.threads[thread].next = Some((chosen, at_ns.unwrap_or(0).saturating_add(gap)));
    }

    /// Returns the pause before the next op in ns, if there is one.
    fn pause(&mut self, thread: usize, phase: usize) -> Option<u64> {
        let (running, pauses) = (&mut self.threads[thread], &self.model.threads[thread].phases[phase].pauses);
        let pause = pauses.get(running.pauses % pauses.len().max(1))?;
        running.since_pause += 1;
        if running.since_pause < pause.ops {
            return None;
        }
        (running.pauses, running.since_pause) = (running.pauses + 1, 0);
        Some(pause.ns).filter(|ns| *ns > 0)
    }

    /// Chooses the file of an op. A removed file can only be created again.
    fn file(&mut self, thread: usize, state: &mut State) -> u32 {
        let is_first = state.placement == Placement::First;
        let may_be_gone = state.act == RecordedAct::Open && state.aux & open_flag::CREATE != 0;
        // The first data op on a file must be on an untouched one.
        let is_fit = |file: &File| (may_be_gone || !file.is_gone) && !(is_first && file.is_touched);
        let file = match state.target {
            Target::Busy(number) => return number,
            Target::New | Target::Directory => self.files.new_file(),
            Target::Same => match self.threads[thread].file {
                Some(file) if is_fit(self.files.at(file)) => {
                    self.files.mark_recent(file);
                    file
                }
                _ => self.files.find_recent(0, &is_fit).unwrap_or_else(|| self.files.new_file()),
            },
            Target::Other => {
                let place = self.draw_value(state, List::Back).max(1) as usize;
                let end = self.draw_value(state, List::End);
                let is_alike = |file: &File| is_fit(file) && i64::from(magnitude(file.end)) == end;
                let recent =
                    self.files.find_recent(place, &is_alike).or_else(|| self.files.find_recent(place, &is_fit));
                recent.unwrap_or_else(|| self.files.new_file())
            }
        };
        self.threads[thread].file = Some(file);
        file
    }

    /// Draws the offset of an op that does not continue where the last one ended.
    fn draw_jump(&mut self, state: &mut State, file: u32, length: u64) -> u64 {
        let known = self.files.at(file);
        let end = known.end as i64;
        let number = (file as usize).min(self.model.reaches.len() - 1);
        // A read must stay within the file.
        let reach = match (state.act, known.length) {
            (RecordedAct::Read, Some(there)) => there,
            _ => self.model.reaches[number],
        };
        let room = 0..=i64::try_from(reach.saturating_sub(length)).unwrap_or(i64::MAX);
        // Prefer an unused position if the state asks for one.
        let wants_new = !state.lists[List::Again as usize].is_empty();
        let mut found = 0;
        for _ in 0..TRIES {
            let seek = self.draw_value(state, List::Seek);
            for place in [end.saturating_add(seek), end.saturating_sub(seek)] {
                if room.contains(&place) {
                    found = place as u64;
                    if !wants_new || !self.files.was_used(file, found) {
                        return found;
                    }
                }
            }
        }
        found
    }

    /// Draws an op on a missing name, on a directory, or the creation of a link. Returns `None` for any other op.
    fn draw_without_file(&mut self, state: &mut State, at_ns: u64) -> Option<Record> {
        let new = |file, act| Record::new(at_ns, file, act);
        if state.placement == Placement::Missing {
            let number = self.draw_value(state, List::Back).clamp(0, ABSENT_MAX) as u64;
            let aux = if state.act == RecordedAct::Open { state.aux & !open_flag::CREATE } else { 0 };
            let file = self.files.absent(number);
            return Some(Record { result: NOT_THERE, aux, ..new(file, state.act) });
        }
        if state.act == RecordedAct::Symlink {
            let file = self.files.link();
            return Some(new(file, state.act));
        }
        if state.target != Target::Directory {
            return None;
        }
        Some(match state.act {
            RecordedAct::Mkdir | RecordedAct::Rmdir => {
                let changed = match state.act {
                    RecordedAct::Mkdir => self.files.make_directory(),
                    _ => self.files.remove_directory(),
                };
                match changed {
                    Some(directory) => new(directory, state.act),
                    None => new(self.files.directory(), RecordedAct::Stat),
                }
            }
            RecordedAct::Open => {
                let random = self.below(DIRECTORIES);
                self.files.change_directory(random);
                let file = self.files.directory();
                let (result, aux) = (i64::from(file), open_flag::DIRECTORY);
                Record { result, aux, handle: file + 1, ..new(file, state.act) }
            }
            act => {
                let file = self.files.directory();
                let is_by_name = matches!(act, RecordedAct::Stat | RecordedAct::Attribute | RecordedAct::SyncAll);
                // Any other act on a file that is a directory by now.
                let act = if is_of_directories(act) { act } else { RecordedAct::Stat };
                let handle = if is_by_name || act == RecordedAct::Stat { 0 } else { file + 1 };
                Record { handle, ..new(file, act) }
            }
        })
    }

    fn draw(&mut self, thread: usize, state: &mut State, at_ns: u64) -> Record {
        if let Some(record) = self.draw_without_file(state, at_ns) {
            return record;
        }
        let length = self.draw_value(state, List::Size).max(0) as u64;
        let is_data = state.act.moves_data();
        let fixed = if is_data { state.aux.checked_sub(1) } else { None };
        let ago = if is_data && state.placement == Placement::Jump && fixed.is_none() {
            self.draw_value(state, List::Again)
        } else {
            0
        };
        let before = if ago > 0 { self.find_reuse(thread, state, ago as u64) } else { None };
        let file = match before {
            Some((file, _)) => {
                self.files.mark_recent(file);
                file
            }
            None => self.file(thread, state),
        };
        let known = *self.files.at(file);
        let offset = match (before, state.placement) {
            (Some((_, offset)), _) => offset,
            _ if fixed.is_some() => fixed.unwrap_or(0),
            _ if !(is_data || state.act == RecordedAct::Trim) => 0,
            (None, Placement::Next) => known.end,
            (None, Placement::Start) => 0,
            (None, Placement::Append) => known.length.unwrap_or(known.extent),
            (None, Placement::Place) => match self.files.place(file, state.act, length) {
                Some(place) => place,
                None => self.draw_jump(state, file, length),
            },
            _ => self.draw_jump(state, file, length),
        };
        // A busy file that was removed must first be created again.
        let act = if known.is_gone { RecordedAct::Open } else { state.act };
        let mut record = Record::ranged(at_ns, file, act, offset, length);
        record.aux = if is_data { 0 } else { state.aux };
        self.apply(state, &mut record);
        record
    }

    /// Returns a position that was used about this many data ops ago.
    fn find_reuse(&mut self, thread: usize, state: &mut State, ops: u64) -> Option<(u32, u64)> {
        let seek = self.draw_value(state, List::Seek);
        let (same, busy) = (self.threads[thread].file, self.model.reaches.len() as u32 - 1);
        let is_allowed = |file: u32| match state.target {
            Target::Busy(number) => file == number,
            Target::Same => same == Some(file),
            _ => file >= busy,
        };
        let found = self.files.find_reuse(&Wanted { ops, seek, is_allowed: &is_allowed })?;
        if !self.files.is_busy(found.0) {
            self.threads[thread].file = Some(found.0);
        }
        Some(found)
    }

    /// Applies an op to its file, and sets its result.
    fn apply(&mut self, state: &mut State, record: &mut Record) {
        use RecordedAct::{Attribute, Link, Open, Read, Rename, Stat, Truncate, Unlink, Write};
        let (file, act, offset, length) = (record.file, record.act, record.offset, record.length);
        let moved = if state.is_short { self.draw_value(state, List::Moved).max(0) as u64 } else { length };
        let mut known = *self.files.at(file);
        match act {
            Open => {
                // The ops that follow are drawn, and may be reads or writes.
                record.aux = state.aux & !(ACCESS | open_flag::APPEND) | READ_AND_WRITE;
                let is_new = state.target == Target::New && state.aux & open_flag::CREATE != 0 && state.act == Open;
                if std::mem::take(&mut known.is_gone) || is_new {
                    record.aux |= open_flag::CREATE;
                    known.length = Some(0);
                } else {
                    record.aux &= !open_flag::EXCLUSIVE;
                }
                if record.aux & open_flag::TRUNCATE != 0 {
                    known.length = Some(0);
                }
                if known.length == Some(0) {
                    known.extent = 0;
                }
                (record.offset, record.length, record.result) = (0, 0, file.into());
            }
            Truncate => (known.length, known.extent) = (Some(length), length),
            Write => known.length = known.length.map(|there| there.max(offset.saturating_add(length))),
            Read => {
                if state.is_short && known.length.is_none() {
                    known.length = Some(known.extent.max(offset.saturating_add(moved)));
                }
                // Bytes that exist in the range.
                let there = known.length.map_or(length, |there| there.saturating_sub(offset).min(length));
                record.result = there as i64;
            }
            Unlink => known = File { is_touched: known.is_touched, is_gone: true, ..File::default() },
            _ => {}
        }
        let is_by_name = matches!(act, Stat | Unlink | Truncate | Rename | Link | Attribute);
        if self.has_opens && !is_by_name {
            record.handle = file + 1;
        }
        if act.moves_data() {
            known.end = offset.saturating_add(record.moved());
            (known.extent, known.is_touched) = (known.extent.max(known.end), true);
            self.files.note_use(record);
        }
        if matches!(act, Rename | Link) {
            let is_there = |file: &File| !file.is_gone;
            let other = if state.aux == 1 { self.files.find_recent(1, &is_there) } else { None };
            let other = other.filter(|other| *other != file).unwrap_or_else(|| self.files.new_file());
            *self.files.at(other) = known;
            if act == Rename {
                known = File { is_touched: known.is_touched, is_gone: true, ..File::default() };
            } else if state.aux == 1 {
                // An existing name cannot be linked to.
                record.act = Rename;
                known.is_gone = true;
            }
            record.aux = other.into();
        }
        *self.files.at(file) = known;
    }

    /// Returns the state that matches the drawn op's outcome. A read may reach the end of its file, or
    /// not, unlike the drawn state.
    fn actual_state(states: &[State], last: Option<usize>, drawn: usize, record: &Record) -> usize {
        let state = &states[drawn];
        let is_short = record.act == RecordedAct::Read && record.result >= 0 && record.moved() < record.length;
        if is_short == state.is_short || record.act != state.act {
            return drawn;
        }
        let is_twin = |other: &State| {
            (other.act, other.target, other.placement, other.is_short)
                == (state.act, state.target, state.placement, is_short)
        };
        let then = last.map_or(&[] as &[i64], |last| &states[last].lists[List::Then as usize]);
        let followers = then.chunks(2).map(|pair| (pair[1] as u64, pair[0] as usize));
        let near = followers.filter(|(_, number)| is_twin(&states[*number])).max();
        let any = || (0..states.len()).filter(|number| is_twin(&states[*number])).max_by_key(|n| states[*n].count);
        near.map(|(_, number)| number).or_else(any).unwrap_or(drawn)
    }
}

/// Whether the act can be done to an open directory or to its name.
fn is_of_directories(act: RecordedAct) -> bool {
    use RecordedAct::{Attribute, Close, Datasync, List, Stat, Sync, SyncAll};
    matches!(act, Attribute | Close | Datasync | List | Stat | Sync | SyncAll)
}

impl FormatReader for Drawn {
    fn next(&mut self) -> Option<Result<Record, TraceError>> {
        let due = |(number, thread): (usize, &Running)| thread.next.map(|(state, at_ns)| (at_ns, number, state));
        let (at_ns, thread, chosen) = self.threads.iter().enumerate().filter_map(due).min()?;
        let phase = self.threads[thread].phase;
        let mut states = std::mem::take(&mut self.model.threads[thread].phases[phase].states);
        let mut record = self.draw(thread, &mut states[chosen], at_ns);
        record.task = thread as u32;
        let actual = Drawn::actual_state(&states, self.threads[thread].last, chosen, &record);
        states[actual].used += 1;
        self.model.threads[thread].phases[phase].states = states;
        let running = &mut self.threads[thread];
        running.last = Some(actual);
        running.left -= 1;
        self.plan(thread, Some(at_ns));
        Some(Ok(record))
    }

    fn names(&self) -> &Names {
        &self.files.names
    }
}
