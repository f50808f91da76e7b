//! State of each file of a job. A job can have a hundred thousand files, so state that only some jobs need is kept in
//! separate arrays, which are empty in other jobs.

use super::curve::{self, PlaceCurve};
use super::parts::Part;
use super::random_map::{Map, Register, SmallMap};
use super::script::{Kind, Mix, PlannedCoverage, Script};
use super::steady_state::SteadyBlocks;

/// Start of the last op before there was one. Files end before this offset, so no op starts there.
const NOWHERE: u64 = u64::MAX;

/// The last op of a kind in a file.
#[derive(Debug, Clone, Copy)]
struct Last {
    end: u64,
    /// [`NOWHERE`] before the first op.
    start: u64,
}

/// Whether a file is open, and whether it is done.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    open: bool,
    done: bool,
}

/// Tracks the used blocks of each file.
#[derive(Debug, Clone)]
enum Covers {
    Maps(Box<[Map]>),
    /// For files with few blocks.
    SmallMaps(Box<[SmallMap]>),
    /// `None` if no register fits; blocks are then drawn.
    Registers(Box<[Option<Register>]>),
    /// For a job's only file, on the way to a steady state.
    SteadyState(Option<Box<SteadyBlocks>>),
    Again,
}

/// A range of bytes in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) from: u64,
    pub(super) to: u64,
}

/// The state of a job's files.
#[derive(Debug, Clone)]
pub(super) struct Files {
    states: Box<[State]>,
    /// Number of kinds of op per file.
    kinds: usize,
    /// Index of each [`Kind`] among them.
    place: [usize; 3],
    /// Last ops: one entry per file and kind.
    lasts: Box<[Last]>,
    /// Current first byte of each file; empty unless zones move it.
    firsts: Box<[u64]>,
    covers: Covers,
    /// Curve of each file; empty if offsets follow no curve.
    curves: Box<[Option<PlaceCurve>]>,
    /// Range written since the last flush, by file; empty unless a flush needs it.
    written: Box<[Option<Span>]>,
}

impl Files {
    pub(super) fn new(script: &Script) -> Files {
        let parts = &script.parts;
        let count = parts.count();
        let (kinds, place) = match script.mix {
            Mix::Only(_) => (1, [0, 0, 0]),
            // One entry for reads or trims, and one for writes.
            Mix::ReadWrite(_) | Mix::TrimWrite => (2, [0, 1, 0]),
        };
        let all = || (0..count).map(|file| parts.get(file));
        let last = |part: &Part| Last { end: part.start, start: NOWHERE };
        Files {
            states: vec![State::default(); count].into(),
            kinds,
            place,
            lasts: all().flat_map(|part| std::iter::repeat_n(last(part), kinds)).collect(),
            firsts: if script.zones.is_some() { all().map(|part| part.start).collect() } else { Box::default() },
            covers: match script.covers() {
                PlannedCoverage::Map if parts.distinct().all(|part| part.mapped <= SmallMap::BLOCKS_MAX) => {
                    Covers::SmallMaps(vec![SmallMap::default(); count].into())
                }
                PlannedCoverage::Map => Covers::Maps(all().map(|part| Map::new(part.mapped)).collect()),
                PlannedCoverage::Register => {
                    let register = |part: &Part| Register::new(part.mapped, script.seeding.seeds.offset);
                    Covers::Registers(all().map(register).collect())
                }
                PlannedCoverage::Again => match script.steady_state() {
                    Some(steady) => Covers::SteadyState(SteadyBlocks::new(steady, script).map(Box::new)),
                    None => Covers::Again,
                },
            },
            curves: match script.is_curved() {
                true => all().enumerate().map(|(file, part)| curve::build_curve(script, part, file)).collect(),
                false => Box::default(),
            },
            written: if script.flushing.range_every > 0 { vec![None; count].into() } else { Box::default() },
        }
    }

    /// Returns the number of files.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.states.len()
    }

    /// Resets a file to the state of a newly opened file.
    pub(super) fn reset(&mut self, script: &Script, file: usize) {
        let first = self.first(script, file);
        self.lasts[file * self.kinds..][..self.kinds].fill(Last { end: first, start: NOWHERE });
        match &mut self.covers {
            Covers::Maps(maps) => maps[file].clear(),
            Covers::SmallMaps(maps) => maps[file].clear(),
            Covers::Registers(registers) => registers[file].iter_mut().for_each(Register::reset),
            Covers::SteadyState(blocks) => blocks.iter_mut().for_each(|blocks| blocks.reset()),
            Covers::Again => {}
        }
    }

    /// Marks all files as not done, for a new loop.
    pub(super) fn begin_again(&mut self, script: &Script) {
        self.states.iter_mut().for_each(|state| state.done = false);
        self.firsts.iter_mut().enumerate().for_each(|(file, first)| *first = script.parts.get(file).start);
    }

    #[inline]
    pub(super) fn is_open(&self, file: usize) -> bool {
        self.states[file].open
    }

    pub(super) fn set_open(&mut self, file: usize, open: bool) {
        self.states[file].open = open;
    }

    #[inline]
    pub(super) fn is_done(&self, file: usize) -> bool {
        self.states[file].done
    }

    pub(super) fn set_done(&mut self, file: usize) {
        self.states[file].done = true;
    }

    /// Returns the current first byte, which zones move.
    #[inline]
    pub(super) fn first(&self, script: &Script, file: usize) -> u64 {
        match self.firsts.get(file) {
            Some(first) => *first,
            None => script.parts.get(file).start,
        }
    }

    /// Moves the first byte, if there are zones.
    pub(super) fn set_first(&mut self, file: usize, first: u64) {
        if let Some(now) = self.firsts.get_mut(file) {
            *now = first;
        }
    }

    #[inline]
    fn last(&self, file: usize, kind: Kind) -> &Last {
        &self.lasts[file * self.kinds + self.place[kind as usize]]
    }

    #[inline]
    fn last_mut(&mut self, file: usize, kind: Kind) -> &mut Last {
        &mut self.lasts[file * self.kinds + self.place[kind as usize]]
    }

    /// Returns the end of the last op of this kind.
    #[inline]
    pub(super) fn end(&self, file: usize, kind: Kind) -> u64 {
        self.last(file, kind).end
    }

    #[inline]
    pub(super) fn set_end(&mut self, file: usize, kind: Kind, end: u64) {
        self.last_mut(file, kind).end = end;
    }

    /// Returns the start of the last op of this kind.
    #[inline]
    pub(super) fn start(&self, file: usize, kind: Kind) -> Option<u64> {
        Some(self.last(file, kind).start).filter(|start| *start != NOWHERE)
    }

    #[inline]
    pub(super) fn set_last(&mut self, file: usize, kind: Kind, start: u64, end: u64) {
        *self.last_mut(file, kind) = Last { end, start };
    }

    /// Forgets the start of the last op of this kind.
    pub(super) fn forget_start(&mut self, file: usize, kind: Kind) {
        self.last_mut(file, kind).start = NOWHERE;
    }

    /// Marks blocks from `block` on, at most `wanted`, up to the first used one. Returns how many it marked; `None`
    /// without a map.
    #[inline]
    pub(super) fn mark_run(&mut self, file: usize, block: u64, wanted: u64) -> Option<u64> {
        match &mut self.covers {
            Covers::Maps(maps) => Some(maps[file].mark_run(block, wanted)),
            Covers::SmallMaps(maps) => Some(maps[file].mark_run(block, wanted)),
            _ => None,
        }
    }

    /// Returns the next block: from the register if there is one, else drawn, and moved to the next free block if a map
    /// is kept. `None` if all are used.
    #[inline]
    pub(super) fn block(
        &mut self,
        script: &Script,
        file: usize,
        blocks: u64,
        share: impl FnOnce() -> f64,
    ) -> Option<u64> {
        let drawn = || (blocks as f64 * share()) as u64;
        match &mut self.covers {
            Covers::Registers(registers) => match &mut registers[file] {
                Some(register) => register.next(),
                None => Some(drawn()),
            },
            Covers::Maps(maps) => maps[file].free_from(drawn()),
            Covers::SmallMaps(maps) => maps[file].free_from(drawn(), script.parts.get(file).mapped),
            Covers::SteadyState(_) | Covers::Again => Some(drawn()),
        }
    }

    /// Returns the next block on the way to a steady state. `share` draws whether the returned block is rewritten later.
    pub(super) fn steady_block(&mut self, file: usize, kind: Kind, share: impl FnOnce() -> f64) -> Option<u64> {
        debug_assert_eq!(file, 0, "the plan refuses more files");
        match &mut self.covers {
            Covers::SteadyState(Some(blocks)) if kind == Kind::Write => blocks.next_write(share),
            Covers::SteadyState(Some(blocks)) => blocks.next_unwritten(),
            _ => None,
        }
    }

    /// Returns `true` once an SSD has reached its steady state.
    pub(super) fn is_steady(&self) -> bool {
        matches!(&self.covers, Covers::SteadyState(Some(blocks)) if blocks.is_over())
    }

    /// Draws the next block along the curve.
    #[inline]
    pub(super) fn along_curve(&mut self, file: usize) -> Option<u64> {
        self.curves.get_mut(file)?.as_mut().map(PlaceCurve::next)
    }

    /// Extends the range written since the last flush.
    #[inline]
    pub(super) fn wrote(&mut self, file: usize, offset: u64, length: u64) {
        let Some(span) = self.written.get_mut(file) else { return };
        let end = offset + length;
        *span = Some(match *span {
            Some(Span { from, to }) => Span { from: from.min(offset), to: to.max(end) },
            None => Span { from: offset, to: end },
        });
    }

    /// Returns the range written since the last flush, if it is tracked.
    pub(super) fn written(&self, file: usize) -> Option<Span> {
        self.written.get(file).copied().flatten()
    }

    pub(super) fn flushed(&mut self, file: usize) {
        if let Some(span) = self.written.get_mut(file) {
            *span = None;
        }
    }
}
