//! Repeated workloads: in [rounds] until figures are steady, or at each load of a [ladder]. Each is one
//! run with all its evidence.

mod ladder;
mod rounds;

pub use ladder::ladder;
pub use rounds::rounds;

use jiff::Timestamp;
use plumb_bench::not_stored::NotStored;
use plumb_bench::run::rejected_because;
use plumb_bench::{Bench, Progress, RunError, RunOutcome, RunRequest};
use plumb_engine::sim::SimRun;
use plumb_result::compare::LeftOut;
use plumb_result::repeat::{Repeated, RepeatedRuns};
use plumb_result::run::TierName;
use plumb_result::{Histogram, Metric, PhaseMeasurement, PhaseResult, RunVerdict};
use plumb_store::TagChange;
use plumb_workload::{OpKind, Workload};

/// A request for a repeated workload.
pub struct RepeatRequest<'a> {
    /// The workload and where it runs.
    pub run: RunRequest<'a>,
    /// The place, as typed.
    pub path: &'a str,
    /// Notice that the numbers are not an official result of a benchmark.
    pub banner: Option<&'a str>,
}

struct RepeatedSoFar<'a> {
    request: &'a RepeatRequest<'a>,
    of: RepeatedRuns,
    /// The checks' verdict on each run.
    verdicts: Vec<RunVerdict>,
    /// The error that ended the last run early.
    error: Option<RunError>,
}

impl<'a> RepeatedSoFar<'a> {
    fn new(request: &'a RepeatRequest<'a>) -> RepeatedSoFar<'a> {
        let of = RepeatedRuns {
            banner: request.banner.map(str::to_owned),
            workload: request.run.workload.name.clone(),
            path: request.path.to_owned(),
            started_at: Timestamp::now().to_string(),
            seed: request.run.workload.seed,
            ..RepeatedRuns::default()
        };
        RepeatedSoFar { request, of, verdicts: Vec::new(), error: None }
    }

    /// Makes one more run. Returns `None` if a signal or an error ended it early; then it is the last one.
    fn run(
        &mut self,
        bench: &mut Bench,
        workload: &Workload,
        label: &str,
        progress: &mut dyn Progress,
    ) -> Result<Option<RunOutcome>, RunError> {
        progress.block(label);
        let run_index = self.of.runs.len() as u32;
        let sim_run = SimRun { run_index, ..self.request.run.sim_run };
        let outcome = match bench.run(&RunRequest { workload, sim_run, ..self.request.run }, progress) {
            Err(error) if self.of.runs.is_empty() => return Err(error),
            // The runs before the error are worth a report.
            Err(error) => {
                self.of.partial = true;
                self.of.notes.push(format!("{label}: {error}"));
                self.error = Some(error);
                return Ok(None);
            }
            Ok(outcome) => outcome,
        };
        let result = &outcome.result;
        self.of.runs.push(result.id.clone());
        self.verdicts.push(result.verdict);
        if result.verdict == RunVerdict::Reject {
            let reason = rejected_because(result);
            self.of.rejected.push(LeftOut { run: result.id.clone(), side: label.to_owned(), reason });
        }
        for note in result.phases.iter().flat_map(|phase| &phase.notes) {
            if !self.of.notes.contains(note) {
                self.of.notes.push(note.clone());
            }
        }
        if result.partial {
            self.of.partial = true;
            return Ok(None);
        }
        Ok(Some(outcome))
    }

    /// Gives the runs one tag in the store, so that they can be found together.
    fn tag(&mut self, bench: &mut Bench, kind: &str) {
        let (Some(store), Some(first), None) =
            (&mut bench.results.store, self.of.runs.first(), &bench.results.not_stored)
        else {
            return;
        };
        // The beginning of the first run's id is the time in milliseconds.
        let tag = format!("{kind}-{}", first.get(..13).unwrap_or(first));
        let tagged = self.of.runs.iter().try_for_each(|run| store.tag(run, &tag, TagChange::Add));
        match tagged {
            Ok(()) => self.of.tag = Some(tag),
            Err(error) => bench.results.not_stored = Some(NotStored::because(error.to_string())),
        }
    }
}

/// Keeps the repetition with its runs for later reports: in the store, or if that fails in a file. Curves without
/// stored runs would be useless.
pub fn keep(bench: &mut Bench, repeated: &Repeated) {
    let (Some(store), Some(_)) = (&mut bench.results.store, &repeated.runs().tag) else { return };
    let id = uuid::Uuid::now_v7().to_string();
    if let Err(error) = store.save_repeated(&id, repeated) {
        let (path, error) = (store.path(), error.to_string());
        let kept = match repeated {
            Repeated::Rounds(rounds) => NotStored::document(path, error, "rounds", &id, &**rounds),
            Repeated::Ladder(ladder) => NotStored::document(path, error, "ladder", &id, &**ladder),
        };
        NotStored::add(&mut bench.results.not_stored, Some(kept));
    }
}

/// The work of a phase: all its reads, writes and other calls together.
struct Done {
    rate: Option<f64>,
    bandwidth: Option<f64>,
    service: Histogram,
    response: Histogram,
}

impl Done {
    fn from_measurement(measured: &PhaseMeasurement) -> Done {
        let mut done = Done { rate: None, bandwidth: None, service: Histogram::new(), response: Histogram::new() };
        let (mut count, mut bytes) = (0, 0);
        for (kind, op) in &measured.ops {
            // A pace counts opens and closes, too.
            if matches!(kind, OpKind::Evict | OpKind::Delay) {
                continue;
            }
            count += op.count;
            bytes += op.bytes;
            done.service.merge(&op.service);
            if let Some(times) = &op.response {
                done.response.merge(times);
            }
        }
        done.rate = measured.per_second(count).filter(|_| count > 0);
        done.bandwidth = measured.per_second(bytes).filter(|_| bytes > 0);
        done
    }

    /// Returns the times from when an op was due, if known.
    fn times(&self) -> &Histogram {
        if self.response.is_empty() { &self.service } else { &self.response }
    }
}

/// Returns the tier of a phase's bytes; `mixed` if reads and writes differ.
fn tier(phase: &PhaseResult) -> Option<TierName> {
    let kinds = [OpKind::Read, OpKind::Write];
    together(kinds.iter().filter_map(|kind| phase.metrics.get(&Metric::bandwidth(*kind))?.tier))
}

/// Combines several tiers into one; `mixed` if they differ.
fn together(mut tiers: impl Iterator<Item = TierName>) -> Option<TierName> {
    let first = tiers.next()?;
    Some(if tiers.all(|tier| tier == first) { first } else { TierName::Mixed })
}

/// Combines the verdicts of all runs: rejected if one of them is.
fn verdict(verdicts: &[RunVerdict]) -> RunVerdict {
    let of = |one: RunVerdict| verdicts.contains(&one);
    match () {
        () if of(RunVerdict::Reject) => RunVerdict::Reject,
        () if verdicts.is_empty() || of(RunVerdict::Unknown) => RunVerdict::Unknown,
        () if of(RunVerdict::Caution) => RunVerdict::Caution,
        () => RunVerdict::Pass,
    }
}
