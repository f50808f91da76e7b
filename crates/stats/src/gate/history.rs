//! Compares new sessions with a history that may be unstable: machines change level, drift, and have slow days.
//!
//! The t test of [`SessionSides`] assumes that sessions are independent draws around one level. If they are not,
//! it reports a regression too often, most of all after a search for the last level in the same data. Its answer
//! is therefore only the first of several conditions, each of which covers cases that the others miss. Their
//! constants were chosen by simulating histories with a known truth; docs/calibration.md has the results of the
//! whole path in each of them.

use super::sessions::{SESSIONS_MIN, SessionSides, mean, squares};
use super::{Design, GateEvidence, Objection};
use crate::StatsError;
use crate::change::{ChangePoint, History, history};
use crate::estimate::{Estimate, t_above};
use crate::summary::{geometric_mean, median};
use crate::verdict::Better;

/// p below which a change of level counts as one that the machine made by itself. It is ten times that of the search
/// for the last level, because an overlooked change would make the machine look more stable than it is.
const CHANGE_P: f64 = 0.01;

/// If a change of level for the worse is more likely than this in any session, a session must be worse than every
/// level so far, not only than the last one: the search found that level in the data that it judges.
const LAST_LEVEL_CHANCE: f64 = 0.03;

/// If that chance is above this, even a new level must be further down than [`BEYOND`] times
/// the largest change so far.
const NEW_LEVEL_CHANCE: f64 = 0.06;

/// If two slow sessions in a row are more likely than this by accident, they must be slower
/// than [`BEYOND`] times the slowest.
const SLOW_PAIR_CHANCE: f64 = 0.05;

/// Factor by which a step must exceed every change that the machine made by itself.
const BEYOND: f64 = 1.25;

/// A session this many times the spread of a typical one below its level is a slow session.
const SLOW: f64 = 5.0;

/// A normal distribution's standard deviation over its median absolute deviation.
const MAD: f64 = 1.4826;

/// Chance, over all numbers, that the new sessions of an unchanged machine pass the rank condition.
const RANK_CHANCE: f64 = 0.05;

/// One session of a history in this many may be as bad as the new ones: more would let one-session spikes through.
const RANK_SHARE: usize = 7;

/// One-sided p below which a history may be falling. Then new sessions must also lie below its line …
const FALLING_P: f64 = 0.3;

/// … with this p, shared by all numbers.
const BELOW_LINE_P: f64 = 0.015;

/// Number of sessions before a step that it is measured from.
const STEP_SESSIONS: usize = 4;

/// The sessions of one number, in time order.
#[derive(Debug, Clone, Copy)]
pub struct NumberHistory<'a> {
    /// Values of both sides. The baseline is the whole history with all its levels.
    pub sides: SessionSides<'a>,
    /// Direction in which the number improves.
    pub better: Better,
}

/// The evidence of a number's sessions for [`super::assess`], with the levels of its history.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEvidence {
    /// Comparison with the sessions since the last change of level.
    pub evidence: GateEvidence,
    /// Index of the first baseline session that the estimate uses.
    pub since: usize,
    /// Changes of level, in the unit of the values.
    pub changes: Vec<ChangePoint>,
}

/// Returns the evidence of all numbers of a gate. `family` also counts the numbers of other gates that share the
/// error rate. A change of level in one number is evidence about the machine, and so counts for all of them.
///
/// # Errors
/// A value is not above 0.
pub fn of_histories(numbers: &[NumberHistory<'_>], family: usize) -> Result<Vec<HistoryEvidence>, StatsError> {
    let series: Vec<Series> = numbers.iter().map(Series::from_history).collect::<Result<_, _>>()?;
    let calm = Calm::new(&series, family);
    numbers.iter().zip(series).map(|(number, series)| series.evidence(number, &calm, family)).collect()
}

/// Session means of a number on a log scale, with the sign chosen so that lower is worse.
struct Series {
    history: Vec<f64>,
    candidate: Vec<f64>,
    changes: Vec<ChangePoint>,
    /// Number of changes at the cautious p.
    changes_maybe: usize,
    /// Distances from the median of their level.
    residuals: Vec<f64>,
}

impl Series {
    fn from_history(number: &NumberHistory<'_>) -> Result<Series, StatsError> {
        let sign = match number.better {
            Better::Higher => 1.0,
            Better::Lower => -1.0,
        };
        let means = |side: &[Vec<f64>]| -> Result<Vec<f64>, StatsError> {
            side.iter().filter(|runs| !runs.is_empty()).map(|runs| geometric_mean(runs)).collect()
        };
        let (history_means, candidate) = (means(number.sides.baseline)?, means(number.sides.candidate)?);
        let logs = |means: &[f64]| means.iter().map(|value| sign * value.ln()).collect::<Vec<f64>>();
        let changes = history(&history_means, &History::default())?;
        let changes_maybe = history(&history_means, &History { p: CHANGE_P, ..History::default() })?.len();
        let (history, candidate) = (logs(&history_means), logs(&candidate));
        let residuals = levels(&history, &changes).flat_map(|level| {
            let middle = median(level).unwrap_or(0.0);
            level.iter().map(move |value| value - middle).collect::<Vec<f64>>()
        });
        let residuals = residuals.collect();
        Ok(Series { residuals, history, candidate, changes, changes_maybe })
    }

    /// Returns the distances of slow sessions below their level.
    fn slow(&self) -> impl Iterator<Item = f64> {
        let spread = MAD * median(&self.residuals.iter().map(|one| one.abs()).collect::<Vec<f64>>()).unwrap_or(0.0);
        self.residuals.iter().filter(move |one| **one < -SLOW * spread).map(|one| -one)
    }

    /// Returns the largest distance of two neighbouring levels.
    fn largest_change(&self) -> f64 {
        self.changes.iter().map(|change| (change.after / change.before).ln().abs()).fold(0.0, f64::max)
    }

    fn evidence(self, number: &NumberHistory<'_>, calm: &Calm, family: usize) -> Result<HistoryEvidence, StatsError> {
        let all = self.history.len();
        let last = self.changes.last().map_or(0, |change| change.at);
        // A level with fewer sessions says too little about their spread: then all sessions count, levels included.
        let since = if all - last >= SESSIONS_MIN as usize { last } else { 0 };
        let baseline: Vec<Vec<f64>> =
            number.sides.baseline.iter().filter(|runs| !runs.is_empty()).skip(since).cloned().collect();
        let (units, candidates) = (baseline.len() as u32, self.candidate.len() as u32);
        let sides = SessionSides { baseline: &baseline, candidate: number.sides.candidate };
        let estimate = sides.estimate(self.resemblance(baseline.len()))?.map(|estimate| match number.better {
            Better::Higher => estimate,
            Better::Lower => Estimate { log_mean: -estimate.log_mean, ..estimate },
        });
        let evidence = GateEvidence {
            estimate,
            units,
            design: Design::Sessions { baseline: units, candidate: candidates },
            p_sign_flip: None,
            objection: self.objection(since, last, calm, family),
        };
        Ok(HistoryEvidence { evidence, since, changes: self.changes })
    }

    /// Returns the correlation of neighbours beyond changes of level; 0 if chance explains it.
    fn resemblance(&self, sessions: usize) -> f64 {
        let count = sessions.max(1) as f64;
        // The estimate of a short series is too low by about 1 / n (Kendall, Biometrika 41, 1954).
        let found = (neighbours(&self.residuals) + 1.0 / count).clamp(0.0, 0.9);
        if found < 1.0 / count.sqrt() { 0.0 } else { found }
    }

    /// Returns the first other explanation for sessions that are significantly worse.
    fn objection(&self, since: usize, last: usize, calm: &Calm, family: usize) -> Option<Objection> {
        if self.candidate.is_empty() || self.history.len() < SESSIONS_MIN as usize {
            return None;
        }
        let recent = &self.history[since..];
        let compared = if calm.level_chance <= LAST_LEVEL_CHANCE { recent } else { &self.history };
        if let Some(objection) = by_rank(compared, &self.candidate, family) {
            return Some(objection);
        }
        let drop = mean(&self.history[last..]) - mean(&self.candidate);
        if calm.level_chance > NEW_LEVEL_CHANCE && drop < BEYOND * calm.largest_change {
            return Some(Objection::LevelsChange);
        }
        if calm.slow_pair_chance > SLOW_PAIR_CHANCE && drop < BEYOND * calm.slowest {
            return Some(Objection::SlowSessions);
        }
        if self.candidate.len() > 1 && falling(&self.history).is_some_and(|p| p < FALLING_P) {
            let level = BELOW_LINE_P / family.max(1) as f64;
            let is_below = |history: &[f64]| below_line(history, &self.candidate).is_some_and(|p| p < level);
            if !(is_below(recent) && is_below(&self.history)) {
                return Some(Objection::Falling);
            }
        }
        let wanders =
            |values: &[f64]| neighbours(values) + 1.0 / values.len() as f64 > 2.0 / (values.len() as f64).sqrt();
        if (wanders(recent) || wanders(&self.history)) && !is_largest_step(recent, &self.candidate) {
            return Some(Objection::Wanders);
        }
        None
    }
}

/// The machine's own changes, over all numbers.
struct Calm {
    /// Chance that any number changes its level for the worse in a session.
    level_chance: f64,
    largest_change: f64,
    /// Chance that any number has two slow sessions in a row.
    slow_pair_chance: f64,
    slowest: f64,
}

impl Calm {
    fn new(series: &[Series], family: usize) -> Calm {
        let sessions = series.iter().map(|one| one.history.len()).max().unwrap_or(0);
        let changes: usize = series.iter().map(|one| one.changes_maybe).sum();
        // Changes in numbers of other gates are assumed to be as frequent.
        let others = family as f64 / series.len().max(1) as f64;
        // Half a change more than observed (Jeffreys), of which half are for the worse.
        let level_chance = others * (changes as f64 + 0.5) / (2.0 * sessions.saturating_sub(1).max(1) as f64);
        let values: usize = series.iter().map(|one| one.history.len()).sum();
        let slow: Vec<f64> = series.iter().flat_map(Series::slow).collect();
        let share = slow.len() as f64 / values.max(1) as f64;
        Calm {
            level_chance,
            largest_change: series.iter().map(Series::largest_change).fold(0.0, f64::max),
            slow_pair_chance: family as f64 * share * share,
            slowest: slow.into_iter().fold(0.0, f64::max),
        }
    }
}

/// Splits values at the changes of level.
fn levels<'a>(values: &'a [f64], changes: &'a [ChangePoint]) -> impl Iterator<Item = &'a [f64]> {
    let starts = std::iter::once(0).chain(changes.iter().map(|change| change.at));
    let ends = changes.iter().map(|change| change.at).chain([values.len()]);
    starts.zip(ends).map(|(start, end)| &values[start..end])
}

/// Objects unless each new session is below all sessions of the history but a few. Two new sessions of an unchanged
/// machine, in random order with the history, are both below that rank with a chance of at most [`RANK_CHANCE`] over
/// all numbers. No distribution is assumed.
fn by_rank(history: &[f64], candidate: &[f64], family: usize) -> Option<Objection> {
    let count = history.len();
    // Both of two sessions are among the lowest k + 2 of n + 2.
    let pairs = |count: usize| (count + 2) as f64 * (count + 1) as f64 / 2.0;
    let chance = |below: usize| family.max(1) as f64 * pairs(below) / pairs(count);
    if chance(0) > RANK_CHANCE {
        return Some(Objection::TooFewForFamily);
    }
    let mut below = 0;
    while below < count / RANK_SHARE && chance(below + 1) <= RANK_CHANCE {
        below += 1;
    }
    let mut sorted = history.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let bound = sorted[below.min(count - 1)];
    candidate.iter().any(|value| *value >= bound).then_some(Objection::SeenBefore)
}

/// Correlation of neighbouring values (lag 1).
fn neighbours(values: &[f64]) -> f64 {
    let (middle, all) = (mean(values), squares(values));
    if all == 0.0 {
        return 0.0;
    }
    values.windows(2).map(|pair| (pair[0] - middle) * (pair[1] - middle)).sum::<f64>() / all
}

/// The least-squares line through a history.
struct Line {
    middle: f64,
    at: f64,
    slope: f64,
    /// Sum of squared distances of positions from their mean.
    width: f64,
    /// Sum of squared distances of values from the line.
    rest: f64,
}

impl Line {
    fn fit(history: &[f64]) -> Option<Line> {
        let count = history.len() as f64;
        if history.len() < 3 {
            return None;
        }
        let (at, middle) = ((count - 1.0) / 2.0, mean(history));
        let width = count * (count * count - 1.0) / 12.0;
        let slope =
            history.iter().enumerate().map(|(i, value)| (i as f64 - at) * (value - middle)).sum::<f64>() / width;
        let rest = (squares(history) - slope * slope * width).max(0.0);
        Some(Line { middle, at, slope, width, rest })
    }
}

/// Returns the one-sided p that a history does not fall.
fn falling(history: &[f64]) -> Option<f64> {
    let line = Line::fit(history)?;
    let freedom = history.len() as f64 - 2.0;
    let error = (line.rest / freedom / line.width).sqrt();
    if error == 0.0 { Some(f64::from(line.slope >= 0.0)) } else { Some(t_above(-line.slope / error, freedom)) }
}

/// Returns the one-sided p that new sessions do not lie below the extrapolated line of the history.
fn below_line(history: &[f64], candidate: &[f64]) -> Option<f64> {
    let line = Line::fit(history)?;
    let (count, new) = (history.len() as f64, candidate.len() as f64);
    let freedom = count - 2.0 + new - 1.0;
    let away = count - 1.0 + f64::midpoint(new, 1.0) - line.at;
    let variance = (line.rest + squares(candidate)) / freedom;
    let error = (variance * (1.0 / count + 1.0 / new + away * away / line.width)).sqrt();
    let distance = line.middle + line.slope * away - mean(candidate);
    if error == 0.0 { Some(f64::from(distance <= 0.0)) } else { Some(t_above(distance / error, freedom)) }
}

/// Returns `true` if the step to the new sessions goes further down than any step within the history. A step goes
/// from the mean of the sessions before it to the mean of as many sessions as there are new ones. In a series that
/// wanders steadily, each step is equally likely to be the largest.
fn is_largest_step(history: &[f64], candidate: &[f64]) -> bool {
    let (before, new) = (STEP_SESSIONS.min(history.len().saturating_sub(1)), candidate.len());
    let step = mean(candidate) - mean(&history[history.len() - before..]);
    let steps = (before..=history.len().saturating_sub(new))
        .map(|at| mean(&history[at..at + new]) - mean(&history[at - before..at]));
    steps.into_iter().all(|other| other > step)
}

#[cfg(test)]
mod tests;
