//! Detects the steady state of a job, by fio's rule.

use plumb_result::{SteadyOutcome, SteadySample};
use plumb_workload::pace::{SteadyFigure, SteadyJudged, SteadyRule};
use std::collections::VecDeque;

/// Judges consecutive time pieces as they are measured.
///
/// Only the last pieces count, as many as the rule's window holds. They are steady if the figure's slope, or its
/// largest deviation from the mean, is below the limit.
#[derive(Debug, Clone)]
pub(crate) struct SteadyJudge {
    rule: SteadyRule,
    /// Number of pieces in the window.
    length: usize,
    window: VecDeque<SteadySample>,
    attained: bool,
}

/// Mean, slope and deviation of the window's values.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Trend {
    mean: f64,
    max_deviation: f64,
    /// Slope per piece; `None` for a single piece.
    slope: Option<f64>,
}

impl Trend {
    /// Computes the trend of these values, which must not be empty.
    fn fit(values: &[f64]) -> Trend {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let max_deviation = values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max);
        let middle = (count - 1.0) / 2.0;
        let (mut products, mut squares) = (0.0, 0.0);
        for (place, value) in values.iter().enumerate() {
            let distance = place as f64 - middle;
            products += distance * (value - mean);
            squares += distance * distance;
        }
        Trend { mean, max_deviation, slope: (squares > 0.0).then(|| products / squares) }
    }
}

impl SteadyJudge {
    /// Creates a judge that has no pieces yet.
    pub(crate) fn new(rule: &SteadyRule) -> SteadyJudge {
        let length = (rule.window.0 / rule.check_every.0.max(1)).max(1) as usize;
        SteadyJudge { rule: rule.clone(), length, window: VecDeque::new(), attained: false }
    }

    /// Adds the next piece, which began `began_ns` after the job. Returns `true` once the job is steady; later pieces
    /// are not checked. Pieces that began in the rule's own ramp are ignored.
    pub(crate) fn push(&mut self, began_ns: u64, sample: SteadySample) -> bool {
        if self.attained || began_ns < self.rule.ramp.0 {
            return self.attained;
        }
        if self.window.len() == self.length {
            self.window.pop_front();
        }
        self.window.push_back(sample);
        self.attained = self
            .trend()
            .and_then(|trend| self.criterion(trend))
            .is_some_and(|criterion| criterion.abs() < self.rule.limit);
        self.attained
    }

    /// Returns the outcome at the end of the job.
    pub(crate) fn outcome(&self) -> SteadyOutcome {
        let trend = self.trend();
        SteadyOutcome {
            attained: self.attained,
            criterion: trend.and_then(|trend| self.criterion(trend)),
            max_deviation: trend.map(|trend| trend.max_deviation),
            slope: trend.and_then(|trend| trend.slope),
            samples: self.window.iter().copied().collect(),
        }
    }

    /// Returns the trend of the rule's figure; `None` before the window is full.
    fn trend(&self) -> Option<Trend> {
        if self.window.len() < self.length {
            return None;
        }
        let figure = |sample: &SteadySample| match self.rule.figure {
            SteadyFigure::Ops => sample.ops_per_second,
            SteadyFigure::Bytes => sample.bytes_per_second,
            SteadyFigure::Latency => sample.latency_ns,
        };
        Some(Trend::fit(&self.window.iter().map(figure).collect::<Vec<f64>>()))
    }

    /// Returns the value that is compared with the limit. `None` if it is undefined: a job that stands
    /// still is not steady in percent.
    fn criterion(&self, trend: Trend) -> Option<f64> {
        let judged = match self.rule.judged {
            SteadyJudged::Deviation => trend.max_deviation,
            SteadyJudged::Slope => trend.slope?,
        };
        match self.rule.limit_is_percent {
            true => (trend.mean > 0.0).then(|| 100.0 * judged / trend.mean),
            false => Some(judged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::Nanos;

    const SECOND: u64 = 1_000_000_000;

    fn rule(judged: SteadyJudged, limit: f64, limit_is_percent: bool, pieces: u64) -> SteadyRule {
        SteadyRule {
            figure: SteadyFigure::Ops,
            judged,
            limit,
            limit_is_percent,
            window: Nanos(pieces * SECOND),
            check_every: Nanos(SECOND),
            ramp: Nanos(0),
            together: Vec::new(),
        }
    }

    fn ops(ops_per_second: f64) -> SteadySample {
        SteadySample { ops_per_second, bytes_per_second: ops_per_second * 4096.0, latency_ns: 1e9 / ops_per_second }
    }

    /// Returns the number of the piece, from 1, that made the job steady.
    fn steady_with(judge: &mut SteadyJudge, values: &[f64]) -> Option<usize> {
        let pushed = values.iter().enumerate();
        pushed
            .map(|(number, &value)| judge.push(number as u64 * SECOND, ops(value)))
            .position(|steady| steady)
            .map(|at| at + 1)
    }

    #[test]
    fn the_slope_is_least_squares_in_percent_of_the_mean() {
        // Computed by hand: x 0..4, y 100 110 90 105 120; Sxy = -2*-5 + -1*5 + 0 + 1*0 + 2*15 = 35, Sxx = 10, mean 105.
        let mut judge = SteadyJudge::new(&rule(SteadyJudged::Slope, 1.0, true, 5));
        assert_eq!(steady_with(&mut judge, &[100.0, 110.0, 90.0, 105.0, 120.0]), None);
        let outcome = judge.outcome();
        assert_eq!(outcome.slope, Some(3.5));
        assert!((outcome.criterion.unwrap() - 100.0 * 3.5 / 105.0).abs() < 1e-12);
        assert_eq!(outcome.max_deviation, Some(15.0));
    }

    #[test]
    fn a_fall_is_no_steadier_than_a_rise() {
        let mut judge = SteadyJudge::new(&rule(SteadyJudged::Slope, 1.0, false, 3));
        assert_eq!(steady_with(&mut judge, &[30.0, 20.0, 10.0]), None);
        assert_eq!(judge.outcome().criterion, Some(-10.0), "the slope keeps its sign");
    }

    #[test]
    fn only_the_last_pieces_count() {
        let mut judge = SteadyJudge::new(&rule(SteadyJudged::Deviation, 5.0, true, 3));
        assert_eq!(steady_with(&mut judge, &[10.0, 50.0, 99.0, 104.0, 100.0, 101.0]), Some(5), "99, 104 and 100");
        let outcome = judge.outcome();
        assert!(outcome.attained);
        assert_eq!(
            outcome.samples.iter().map(|sample| sample.ops_per_second).collect::<Vec<_>>(),
            [99.0, 104.0, 100.0]
        );
        assert_eq!(outcome.max_deviation, Some(3.0));
    }

    #[test]
    fn a_partial_window_gives_no_verdict() {
        let mut judge = SteadyJudge::new(&rule(SteadyJudged::Slope, 1.0, true, 4));
        assert_eq!(steady_with(&mut judge, &[100.0; 3]), None);
        let outcome = judge.outcome();
        assert_eq!((outcome.criterion, outcome.slope, outcome.samples.len()), (None, None, 3));
        assert_eq!(steady_with(&mut judge, &[100.0]), Some(1));
    }

    #[test]
    fn the_limit_itself_is_not_below_the_limit() {
        let mut judge = SteadyJudge::new(&rule(SteadyJudged::Deviation, 5.0, false, 2));
        assert_eq!(steady_with(&mut judge, &[90.0, 100.0]), None);
        assert_eq!(steady_with(&mut judge, &[91.0]), Some(1));
    }

    #[test]
    fn standing_still_is_not_steady() {
        for judged in [SteadyJudged::Slope, SteadyJudged::Deviation] {
            let mut judge = SteadyJudge::new(&rule(judged, 50.0, true, 2));
            assert_eq!(steady_with(&mut judge, &[0.0; 10]), None);
        }
    }

    #[test]
    fn the_ramp_of_the_rule_is_excluded() {
        let mut judge =
            SteadyJudge::new(&SteadyRule { ramp: Nanos(3 * SECOND), ..rule(SteadyJudged::Slope, 1.0, true, 2) });
        assert_eq!(steady_with(&mut judge, &[100.0; 10]), Some(5), "the pieces that begin at 3 s and 4 s");
    }

    #[test]
    fn each_figure_is_judged_by_itself() {
        let samples = [1.0, 2.0, 3.0].map(|number| SteadySample {
            ops_per_second: 100.0,
            bytes_per_second: 100.0 * number,
            latency_ns: 50.0 - number,
        });
        let slope = |figure| {
            let mut judge = SteadyJudge::new(&SteadyRule { figure, ..rule(SteadyJudged::Slope, 0.0, false, 3) });
            assert!(samples.iter().all(|sample| !judge.push(0, *sample)));
            judge.outcome().slope.unwrap()
        };
        assert_eq!([SteadyFigure::Ops, SteadyFigure::Bytes, SteadyFigure::Latency].map(slope), [0.0, 100.0, -1.0]);
    }
}
