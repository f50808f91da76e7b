//! Where a job's ops are in each of its files. A job can have a hundred thousand of them: what only some jobs keep is
//! kept beside, and only there.

use super::curve::{self, PlaceCurve};
use super::parts::Part;
use super::random_map::{Map, Register, SmallMap};
use super::script::{Kind, Mix, PlannedCoverage, Script};
use super::steady_state::SteadyBlocks;

/// No op was there yet. No op starts at this place, since files end before it.
const NOWHERE: u64 = u64::MAX;

/// The last op of a kind in a file.
#[derive(Debug, Clone, Copy)]
struct Last {
    end: u64,
    /// [`NOWHERE`] before the first.
    start: u64,
}

/// Whether a file is open, and whether nothing is left to do in it.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    open: bool,
    done: bool,
}

/// Which blocks of each file were used.
#[derive(Debug, Clone)]
enum Covers {
    Maps(Box<[Map]>),
    /// Of files that have few blocks.
    SmallMaps(Box<[SmallMap]>),
    /// None where a file has no register.
    Registers(Box<[Option<Register>]>),
    /// Of the only file.
    SteadyState(Option<Box<SteadyBlocks>>),
    Again,
}

/// Bytes of a file from one place to another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) from: u64,
    pub(super) to: u64,
}

/// The files of a job.
#[derive(Debug, Clone)]
pub(super) struct Files {
    states: Box<[State]>,
    /// Kinds of op that each file has.
    kinds: usize,
    /// By [`Kind`]: its place among them.
    place: [usize; 3],
    /// This many of each file as there are kinds.
    lasts: Box<[Last]>,
    /// First byte of each now, where zones move it.
    firsts: Box<[u64]>,
    covers: Covers,
    /// Places along a curve, where there is one.
    curves: Box<[Option<PlaceCurve>]>,
    /// What was written since the last flush, where a flush asks for it.
    written: Box<[Option<Span>]>,
}

impl Files {
    pub(super) fn new(script: &Script) -> Files {
        let parts = &script.parts;
        let count = parts.count();
        let (kinds, place) = match script.mix {
            Mix::Only(_) => (1, [0, 0, 0]),
            // Reads or trims, and writes.
            Mix::ReadWrite(_) | Mix::TrimWrite => (2, [0, 1, 0]),
        };
        let all = || (0..count).map(|file| parts.of(file));
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
                true => all().enumerate().map(|(file, part)| curve::of(script, part, file)).collect(),
                false => Box::default(),
            },
            written: if script.flushing.range_every > 0 { vec![None; count].into() } else { Box::default() },
        }
    }

    /// How many.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.states.len()
    }

    /// As it is after it was opened.
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

    /// A loop begins.
    pub(super) fn begin_again(&mut self, script: &Script) {
        self.states.iter_mut().for_each(|state| state.done = false);
        self.firsts.iter_mut().enumerate().for_each(|(file, first)| *first = script.parts.of(file).start);
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

    /// First byte now; zones move it.
    #[inline]
    pub(super) fn first(&self, script: &Script, file: usize) -> u64 {
        match self.firsts.get(file) {
            Some(first) => *first,
            None => script.parts.of(file).start,
        }
    }

    /// Moves the first byte, where there are zones.
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

    /// Where the last op of this kind ended.
    #[inline]
    pub(super) fn end(&self, file: usize, kind: Kind) -> u64 {
        self.last(file, kind).end
    }

    #[inline]
    pub(super) fn set_end(&mut self, file: usize, kind: Kind, end: u64) {
        self.last_mut(file, kind).end = end;
    }

    /// Where the last op of this kind started.
    #[inline]
    pub(super) fn start(&self, file: usize, kind: Kind) -> Option<u64> {
        Some(self.last(file, kind).start).filter(|start| *start != NOWHERE)
    }

    #[inline]
    pub(super) fn set_last(&mut self, file: usize, kind: Kind, start: u64, end: u64) {
        *self.last_mut(file, kind) = Last { end, start };
    }

    /// The last op of this kind started elsewhere than is known.
    pub(super) fn forget_start(&mut self, file: usize, kind: Kind) {
        self.last_mut(file, kind).start = NOWHERE;
    }

    /// Marks blocks as used; returns how many of them, from the first on, were not.
    #[inline]
    pub(super) fn mark_run(&mut self, file: usize, block: u64, wanted: u64) -> Option<u64> {
        match &mut self.covers {
            Covers::Maps(maps) => Some(maps[file].mark_run(block, wanted)),
            Covers::SmallMaps(maps) => Some(maps[file].mark_run(block, wanted)),
            _ => None,
        }
    }

    /// The block for a share of all `blocks`, or the next that may be used; `None` where there is none left.
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
            Covers::SmallMaps(maps) => maps[file].free_from(drawn(), script.parts.of(file).mapped),
            Covers::SteadyState(_) | Covers::Again => Some(drawn()),
        }
    }

    /// The next block on the way to a steady state; `share` is drawn for blocks that may be written again.
    pub(super) fn steady_block(&mut self, file: usize, kind: Kind, share: impl FnOnce() -> f64) -> Option<u64> {
        debug_assert_eq!(file, 0, "the plan refuses more files");
        match &mut self.covers {
            Covers::SteadyState(Some(blocks)) if kind == Kind::Write => blocks.next_write(share),
            Covers::SteadyState(Some(blocks)) => blocks.next_unwritten(),
            _ => None,
        }
    }

    /// Whether an SSD has come to its steady state.
    pub(super) fn is_steady(&self) -> bool {
        matches!(&self.covers, Covers::SteadyState(Some(blocks)) if blocks.is_over())
    }

    /// The next block along the curve.
    #[inline]
    pub(super) fn along_curve(&mut self, file: usize) -> Option<u64> {
        self.curves.get_mut(file)?.as_mut().map(PlaceCurve::next)
    }

    /// Keeps what was written.
    #[inline]
    pub(super) fn wrote(&mut self, file: usize, offset: u64, length: u64) {
        let Some(span) = self.written.get_mut(file) else { return };
        let end = offset + length;
        *span = Some(match *span {
            Some(Span { from, to }) => Span { from: from.min(offset), to: to.max(end) },
            None => Span { from: offset, to: end },
        });
    }

    /// What was written since the last flush, where that is kept.
    pub(super) fn written(&self, file: usize) -> Option<Span> {
        self.written.get(file).copied().flatten()
    }

    pub(super) fn flushed(&mut self, file: usize) {
        if let Some(span) = self.written.get_mut(file) {
            *span = None;
        }
    }
}
