//! Compares two sides that were measured at different times: the spread of a machine between sessions
//! is part of the error.

use crate::StatsError;
use crate::estimate::Estimate;
use crate::summary::logs;

/// Fewer baseline sessions than this say too little about the spread between sessions.
pub const SESSIONS_MIN: u32 = 5;

/// Values of both sides, one list per session. Runs of one session share the state of the machine, so a session is
/// one sample, however many runs it has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SessionSides<'a> {
    /// Sessions of the baseline.
    pub baseline: &'a [Vec<f64>],
    /// Sessions of the candidate; possibly a single one.
    pub candidate: &'a [Vec<f64>],
}

impl SessionSides<'_> {
    /// Returns the numbers of sessions with values, of baseline and candidate.
    pub fn sessions(&self) -> (u32, u32) {
        let counted = |side: &[Vec<f64>]| side.iter().filter(|runs| !runs.is_empty()).count() as u32;
        (counted(self.baseline), counted(self.candidate))
    }

    /// Estimates the logarithm of candidate / baseline; `None` with fewer than two sessions of the baseline, or
    /// without any of the candidate.
    ///
    /// The error is that of a prediction: the mean of k sessions predicts the mean of m further ones, with a variance
    /// of s² (1/k + 1/m). Here s² is the variance of session means, pooled over both sides. If the candidate's
    /// sessions have fewer runs than the baseline's, the variance between their runs is added.
    ///
    /// `resemblance` is the correlation of neighbouring sessions, 0 if they are independent. Correlated sessions are
    /// worth fewer independent ones, k (1 − r) / (1 + r), and their true variance is larger than the observed one.
    ///
    /// Sources: Hahn and Meeker, "Statistical intervals", 1991, §4.8 (prediction of the mean of m future
    /// observations); Bayley and Hammersley, "The effective number of independent observations in an autocorrelated
    /// time series", Supplement to the Journal of the Royal Statistical Society 8, 1946.
    ///
    /// # Errors
    /// A value is not above 0.
    pub fn estimate(&self, resemblance: f64) -> Result<Option<Estimate>, StatsError> {
        let sessions = |side: &[Vec<f64>]| -> Result<Vec<Vec<f64>>, StatsError> {
            side.iter().filter(|runs| !runs.is_empty()).map(|runs| logs(runs)).collect()
        };
        let (baseline, candidate) = (sessions(self.baseline)?, sessions(self.candidate)?);
        if baseline.len() < 2 || candidate.is_empty() {
            return Ok(None);
        }
        let means = |side: &[Vec<f64>]| side.iter().map(|runs| mean(runs)).collect::<Vec<f64>>();
        let (a, b) = (means(&baseline), means(&candidate));
        let (k, m) = (a.len() as f64, b.len() as f64);
        let worth = (k * (1.0 - resemblance) / (1.0 + resemblance)).clamp(k.min(2.0), k);
        let shown = (1.0 - 1.0 / worth) / (1.0 - 1.0 / k);
        let between = (squares(&a) + squares(&b)) / (k + m - 2.0) / shown;
        let further_error =
            (pooled_variance(&baseline, &candidate) * (per_run(&candidate) - per_run(&baseline))).max(0.0);
        let of_candidate = (1.0 + (m - 1.0) * resemblance) / m;
        let variance = between * (1.0 / worth + of_candidate) + further_error / m;
        let freedom = (worth + m - 2.0).max(1.0);
        Ok(Some(Estimate { log_mean: mean(&b) - mean(&a), log_error: variance.sqrt(), freedom }))
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(super) fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// Returns the variance of the runs of a session, pooled over all; 0 if no session has two runs.
fn pooled_variance(baseline: &[Vec<f64>], candidate: &[Vec<f64>]) -> f64 {
    let all = || baseline.iter().chain(candidate);
    let freedom = all().map(|runs| runs.len() - 1).sum::<usize>();
    if freedom == 0 { 0.0 } else { all().map(|runs| squares(runs)).sum::<f64>() / freedom as f64 }
}

/// Returns the mean of 1 / runs of a session.
fn per_run(sessions: &[Vec<f64>]) -> f64 {
    sessions.iter().map(|runs| 1.0 / runs.len() as f64).sum::<f64>() / sessions.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_vecs(sessions: &[&[f64]]) -> Vec<Vec<f64>> {
        sessions.iter().map(|runs| runs.to_vec()).collect()
    }

    fn estimate(baseline: &[&[f64]], candidate: &[&[f64]]) -> Option<Estimate> {
        SessionSides { baseline: &to_vecs(baseline), candidate: &to_vecs(candidate) }.estimate(0.0).unwrap()
    }

    // Protects: a hundred runs of one session are one sample of the spread between sessions.
    #[test]
    fn more_runs_of_a_session_do_not_count_as_more_sessions() {
        let few = estimate(&[&[100.0], &[104.0], &[98.0]], &[&[101.0]]).unwrap();
        let many = estimate(&[&[100.0; 50], &[104.0; 50], &[98.0; 50]], &[&[101.0; 50]]).unwrap();
        assert_eq!(few.freedom, 2.0);
        assert!((few.log_error - many.log_error).abs() < 1e-12 && (few.log_mean - many.log_mean).abs() < 1e-12);
    }

    #[test]
    fn the_error_is_that_of_a_prediction() {
        // R: x <- log(c(100, 104, 98, 101)); sd(x) * sqrt(1 / 4 + 1)
        let found = estimate(&[&[100.0], &[104.0], &[98.0], &[101.0]], &[&[90.0]]).unwrap();
        let logs: Vec<f64> = [100.0f64, 104.0, 98.0, 101.0].iter().map(|value| value.ln()).collect();
        let mean = logs.iter().sum::<f64>() / 4.0;
        let sd = (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 3.0).sqrt();
        assert!((found.log_error - sd * 1.25f64.sqrt()).abs() < 1e-12);
        assert!((found.log_mean - (90.0f64.ln() - mean)).abs() < 1e-12);
        assert_eq!(found.freedom, 3.0);
    }

    // Protects: correlated sessions count as fewer independent ones.
    #[test]
    fn resemblance_widens_the_error() {
        let sides =
            (to_vecs(&[&[100.0], &[101.0], &[104.0], &[103.0], &[99.0], &[98.0]]), to_vecs(&[&[97.0], &[96.0]]));
        let error = |resemblance: f64| {
            let sides = SessionSides { baseline: &sides.0, candidate: &sides.1 };
            sides.estimate(resemblance).unwrap().unwrap().log_error
        };
        assert!(error(0.4) > 1.3 * error(0.0) && error(0.8) > 1.15 * error(0.4), "{} {}", error(0.0), error(0.4));
    }

    #[test]
    fn a_candidate_of_one_noisy_run_is_less_certain_than_one_of_many() {
        let noisy: [&[f64]; 3] =
            [&[90.0, 110.0, 100.0, 101.0], &[95.0, 106.0, 99.0, 104.0], &[92.0, 108.0, 97.0, 103.0]];
        let one = estimate(&noisy, &[&[100.0]]).unwrap();
        let many = estimate(&noisy, &[&[91.0, 109.0, 98.0, 103.0]]).unwrap();
        assert!(one.log_error > 1.5 * many.log_error, "{one:?} {many:?}");
    }

    #[test]
    fn without_two_sessions_there_is_no_error() {
        assert!(estimate(&[&[100.0, 101.0]], &[&[90.0]]).is_none());
        assert!(estimate(&[&[100.0], &[101.0]], &[&[]]).is_none());
    }
}
