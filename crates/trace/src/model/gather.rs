//! Gathers the states of a phase while a recording is read.

use super::{LISTS, List, PAUSES_MAX, Pause, Phase, Placement, State, Target, VALUES};
use crate::record::RecordedAct;
use std::collections::HashMap;

/// Maximum number of sampled values per list.
const SAMPLES: usize = 512;

/// Number of states in a phase above which only plain ones are added.
const MANY_STATES: usize = 1024;

/// Properties that identify a state.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Class {
    pub(super) act: RecordedAct,
    pub(super) target: Target,
    pub(super) placement: Placement,
    pub(super) is_short: bool,
    /// Flags of an open.
    pub(super) flags: u64,
    /// Class of the gap before it: short, long or very long.
    pub(super) band: u8,
    /// Magnitude of its size, or of the file's known state.
    pub(super) size: u8,
    /// Class of the number of data ops before it in this use of the file.
    pub(super) run: u8,
    /// Number of the kind of op that began this use of the file.
    pub(super) entry: u16,
    /// Last op on each of the busiest files.
    pub(super) before: u16,
}

impl Class {
    /// Returns the class without its most detailed properties.
    fn plain(self) -> Class {
        Class { band: 0, size: 0, run: 0, entry: 0, before: 0, ..self }
    }
}

/// A random sample of values.
#[derive(Default)]
struct Sample {
    kept: Vec<i64>,
    count: u64,
    sum: i128,
}

impl Sample {
    /// Adds a value. Each is kept with the same probability (Vitter's algorithm R). The randomness is a
    /// hash of the value's number.
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

    /// Reduces the sample to a few values, each for an equal share, in order. With `means`, they add up
    /// to the sum of all.
    fn values(mut self, means: bool) -> Vec<i64> {
        self.kept.sort_by_key(|value| *value);
        let (count, parts) = (self.kept.len(), VALUES.min(self.kept.len()));
        let mut values: Vec<i64> = (0..parts)
            .map(|part| {
                let slice = &self.kept[part * count / parts..(part + 1) * count / parts];
                if means { slice.iter().sum::<i64>() / slice.len() as i64 } else { slice[slice.len() / 2] }
            })
            .collect();
        // A few long gaps make up most of the time, and the sample may miss them.
        if let (true, [before @ .., last]) = (means, values.as_mut_slice()) {
            let all = self.sum * parts as i128 / i128::from(self.count);
            let rest = all - before.iter().map(|value| i128::from(*value)).sum::<i128>();
            *last = i64::try_from(rest).unwrap_or(*last).max(before.last().copied().unwrap_or(0));
        }
        values
    }
}

/// Maximum number of pauses kept while a recording is read.
const PAUSES_READ: usize = 1 << 16;

/// Pauses kept in a row, to preserve their order.
const PAUSES_IN_ROW: usize = 64;

/// The pauses of a phase, in order. If there are too many, rows from all over the phase are kept.
#[derive(Default)]
struct Pauses {
    kept: Vec<Pause>,
    count: usize,
    /// One row of 2^`thinned` is kept.
    thinned: u32,
    /// Ops since the last pause.
    ops: u64,
    sum: [u128; 2],
}

impl Pauses {
    fn add(&mut self, ns: u64) {
        let pause = Pause { ops: std::mem::take(&mut self.ops), ns };
        self.sum = [self.sum[0] + u128::from(pause.ops), self.sum[1] + u128::from(ns)];
        let row = self.count / PAUSES_IN_ROW;
        self.count += 1;
        if row.trailing_zeros() < self.thinned && row != 0 {
            return;
        }
        if self.kept.len() == PAUSES_READ {
            let rows = self.kept.chunks(PAUSES_IN_ROW).step_by(2);
            self.kept = rows.flatten().copied().collect();
            self.thinned += 1;
        }
        self.kept.push(pause);
    }

    fn finish(self) -> Vec<Pause> {
        let rows: Vec<&[Pause]> = self.kept.chunks(PAUSES_IN_ROW).collect();
        let step = rows.len().div_ceil(PAUSES_MAX / PAUSES_IN_ROW).max(1);
        let mut kept: Vec<Pause> = rows.into_iter().step_by(step).flatten().copied().collect();
        // Scale the kept pauses to represent all, in number and in total length.
        let sums =
            |kept: &[Pause]| kept.iter().fold([0.0; 2], |sum, one| [sum[0] + one.ops as f64, sum[1] + one.ns as f64]);
        let (of_kept, each) = (sums(&kept), kept.len() as f64 / self.count.max(1) as f64);
        let scale = |sum: u128, of_kept: f64| if of_kept > 0.0 { sum as f64 * each / of_kept } else { 1.0 };
        let [ops, ns] = [scale(self.sum[0], of_kept[0]), scale(self.sum[1], of_kept[1])];
        for pause in &mut kept {
            (pause.ops, pause.ns) = ((pause.ops as f64 * ops).round() as u64, (pause.ns as f64 * ns).round() as u64);
        }
        if self.ops > 0 && !kept.is_empty() {
            kept.push(Pause { ops: self.ops, ns: 0 });
        }
        kept
    }
}

/// Values of an op, for each list but the last.
pub(super) type Values = [Option<i64>; LISTS.len() - 1];

/// A state while a recording is read.
struct Gathering {
    class: Class,
    count: u64,
    aux: u64,
    samples: [Sample; LISTS.len() - 1],
    then: HashMap<usize, u64>,
}

/// A phase of a thread while a recording is read.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) ops: u64,
    states: Vec<Gathering>,
    number_of: HashMap<Class, usize>,
    last: Option<usize>,
    pauses: Pauses,
}

impl Gathered {
    /// Adds an op, and the pause before it in ns, if any.
    pub(super) fn add(&mut self, class: Class, aux: u64, values: Values, pause: Option<u64>) {
        self.pauses.ops += 1;
        pause.into_iter().for_each(|ns| self.pauses.add(ns));
        let is_new = !self.number_of.contains_key(&class);
        let class = if is_new && self.states.len() >= MANY_STATES { class.plain() } else { class };
        let number = match self.number_of.get(&class) {
            Some(number) => *number,
            None => {
                let then = HashMap::new();
                self.states.push(Gathering { class, count: 0, aux, samples: Default::default(), then });
                self.number_of.insert(class, self.states.len() - 1);
                self.states.len() - 1
            }
        };
        self.ops += 1;
        if let Some(last) = self.last.replace(number) {
            *self.states[last].then.entry(number).or_default() += 1;
        }
        let state = &mut self.states[number];
        state.count += 1;
        if class.act.moves_data() && state.aux != aux {
            state.aux = 0;
        }
        for (sample, value) in state.samples.iter_mut().zip(values) {
            value.into_iter().for_each(|value| sample.add(value));
        }
    }

    pub(super) fn finish(self, level: u8) -> Phase {
        let state = |state: Gathering| {
            let Class { act, target, placement, is_short, .. } = state.class;
            let mut lists: [Vec<i64>; LISTS.len()] = Default::default();
            for (list, (place, sample)) in lists.iter_mut().zip(state.samples.into_iter().enumerate()) {
                *list = sample.values(place == List::Gap as usize);
            }
            if level >= 2 {
                let mut then: Vec<(usize, u64)> = state.then.into_iter().collect();
                then.sort_by_key(|(state, _)| *state);
                lists[List::Then as usize] =
                    then.into_iter().flat_map(|(state, count)| [state as i64, count as i64]).collect();
            }
            State { is_short, count: state.count, aux: state.aux, lists, ..State::new(act, target, placement) }
        };
        let pauses = self.pauses.finish();
        Phase { ops: self.ops, pauses, states: self.states.into_iter().map(state).collect() }
    }
}
