//! Takes one setting of a workload through its levels, in randomised blocks, and reports
//! curves with intervals and findings.
//!
//! [`key`] parses the swept keys, [`plan`] turns them into points, [`apply`] applies a level to a workload, and
//! [`find`] evaluates the finished curves. The points run here.

pub mod apply;
mod carry;
pub mod find;
pub mod key;
mod objections;
pub mod plan;
mod points;

use apply::{ApplyError, CountedOps, RateOf, counted, set_time};
use carry::PlacedRun;
use find::{LevelRuns, RunNumbers, RunTimes, SizeFacts, spread};
use key::{Axis, auto_rates};
use objections::Objections;
use plan::{OfferedLoad, SweepSchedule, in_complete_block, may_end_after};
use plumb_bench::kept::with_kept_files;
use plumb_bench::not_stored::NotStored;
use plumb_bench::run::rejected_because;
use plumb_bench::{Bench, Parts, Policies, Progress, RunError, RunOutcome, RunRequest, settle};
use plumb_engine::sim::SimRun;
use plumb_result::compare::LeftOut;
use plumb_result::run::TierName;
use plumb_result::sweep::{Arrivals, CurveFindings, RunSpread, SWEEP_SCHEMA, SweepCurve, SweepRun};
use plumb_result::{Histogram, Level, Measurement, Metric, PhaseMeasurement, PhaseResult, RunVerdict, Sweep, SweepKey};
use plumb_stats::balanced_orders;
use plumb_store::TagChange;
use plumb_workload::{Nanos, OpKind, PerSecond, Phase, Workload};
use plumb_workload_text::validate::validate;
use points::{common_tier, shown};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// A request for a sweep.
pub struct SweepRequest<'a> {
    /// The workload without any level applied.
    pub workload: &'a Workload,
    /// Index of the phase that is swept and measured.
    pub phase: usize,
    /// The origin of its cache policies.
    pub policies: Policies,
    /// Directory that test data is made in.
    pub base: &'a Path,
    /// The place, as typed.
    pub path: &'a str,
    pub plan: &'a SweepSchedule,
    /// Duration of the timed phase of each run; if `None`, the workload's own.
    pub time: Option<Nanos>,
    /// A limit of the 99th percentile.
    pub p99_limit: Option<Nanos>,
    pub repeats: u32,
    /// No further block begins that would end after this time; the first one always runs.
    pub budget: Duration,
    /// Seed of the order, of every op and of simulated devices.
    pub seed: u64,
    /// Memory of the measured machine, [`Bench::ram_of_runs`].
    pub ram_bytes: u64,
    /// As typed, for the record.
    pub command: &'a str,
}

/// The outcome of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepOutcome {
    /// Its `verdict_note` is empty.
    pub sweep: Sweep,
}

impl SweepOutcome {
    /// Returns `true` if the checks rejected half of its runs or more: the rest may be a biased selection.
    pub fn is_mostly_rejected(&self) -> bool {
        let rejected = self.sweep.left_out.len();
        rejected > 0 && 2 * rejected >= self.sweep.runs.len()
    }

    /// Gives its runs one tag in the store, so that they can be found together.
    fn tag(&mut self, bench: &mut Bench) {
        let (Some(store), Some(first), None) =
            (&mut bench.results.store, self.sweep.runs.first(), &bench.results.not_stored)
        else {
            return;
        };
        // The beginning of the first run's id is the time in milliseconds.
        let tag = format!("sweep-{}", first.get(..13).unwrap_or(first));
        let tagged = self.sweep.runs.iter().try_for_each(|run| store.tag(run, &tag, TagChange::Add));
        match tagged {
            Ok(()) => self.sweep.tag = Some(tag),
            Err(error) => bench.results.not_stored = Some(NotStored::because(error.to_string())),
        }
    }
}

/// The reason why a sweep has no result.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The key does not apply to the workload.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// A run failed. Runs before it are in the store.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// A level of each key that is set.
type Settings = Vec<(SweepKey, f64)>;

/// One point while its runs are in progress.
#[derive(Default)]
struct PointUnderway {
    settings: Settings,
    runs: Vec<SweepRun>,
    blocks: BTreeMap<u32, RunNumbers>,
    /// Numbers of rejected runs, shown if a point has no others.
    rejected: BTreeMap<u32, RunNumbers>,
    tiers: Vec<(TierName, Option<f64>)>,
    checks: BTreeMap<String, Level>,
    b6: Option<Level>,
}

/// Whether the sweep continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Goes,
    Interrupted,
}

struct Sweeper<'a> {
    request: &'a SweepRequest<'a>,
    counted: CountedOps,
    started: Instant,
    runs: Vec<String>,
    left_out: Vec<LeftOut>,
    notes: Vec<String>,
    objections: Objections,
    /// Whether runs depend on the run before them; then findings from the curves are withheld.
    is_carried_over: bool,
}

/// Runs a sweep. Files that all points share are laid out once and removed at the end.
///
/// # Errors
/// [`SweepError`]. A signal is not an error: it gives a partial sweep.
pub fn sweep(
    bench: &mut Bench,
    request: &SweepRequest<'_>,
    progress: &mut dyn Progress,
) -> Result<SweepOutcome, SweepError> {
    bench.begin_comparison();
    check_points(bench, request)?;
    let label = format!("sweep {}", request.workload.name);
    let (mut outcome, left_behind) =
        with_kept_files(bench, request.workload, request.base, &label, |bench| run_stages(bench, request, progress))?;
    outcome.tag(bench);
    outcome.sweep.notes.extend(left_behind);
    outcome.sweep.settle = bench.series.settling.settled();
    outcome.sweep.notes.extend(settle::note(outcome.sweep.settle.as_ref()));
    Ok(outcome)
}

/// Keeps a sweep with its runs for later reports: in the store, or if that fails in a file. Curves without
/// stored runs would be useless.
pub fn keep_sweep(bench: &mut Bench, sweep: &Sweep) {
    let (Some(store), Some(_)) = (&mut bench.results.store, &sweep.tag) else { return };
    let id = uuid::Uuid::now_v7().to_string();
    if let Err(error) = store.save_sweep(&id, sweep) {
        let kept = NotStored::document(store.path(), error.to_string(), "sweep", &id, sweep);
        NotStored::add(&mut bench.results.not_stored, Some(kept));
    }
}

/// Checks that every point is valid before the first one runs.
fn check_points(bench: &Bench, request: &SweepRequest<'_>) -> Result<(), SweepError> {
    let rate = match request.plan.load {
        OfferedLoad::Rate(rate) => Some(rate.0),
        // Any rate will do: the question is whether the work can have one.
        OfferedLoad::Auto { .. } => Some(1000.0),
        OfferedLoad::AsWritten => None,
    };
    for mut settings in grid(&request.plan.axes) {
        settings.extend(rate.map(|rate| (SweepKey::Rate, rate)));
        let workload = bench.resolve(&workload_at(request, &settings)?, request.base)?;
        let problems = validate(&workload);
        if !problems.is_empty() {
            return Err(RunError::Workload(problems).into());
        }
    }
    Ok(())
}

/// Returns all combinations of levels; the first key varies fastest.
fn grid(axes: &[Axis]) -> Vec<Settings> {
    let mut points: Vec<Settings> = vec![Vec::new()];
    for axis in axes.iter().rev() {
        points = points
            .iter()
            .flat_map(|point| axis.levels.iter().map(|level| [&[(axis.key, *level)], point.as_slice()].concat()))
            .collect();
    }
    points
}

fn workload_at(request: &SweepRequest<'_>, settings: &[(SweepKey, f64)]) -> Result<Workload, ApplyError> {
    let mut workload = request.workload.clone();
    workload.seed = request.seed;
    for &(key, level) in settings {
        apply::apply(&mut workload, request.phase, key, level)?;
    }
    if let (Some(time), Some(phase)) = (request.time, workload.phase.get_mut(request.phase)) {
        set_time(phase, time);
    }
    Ok(workload)
}

fn run_stages(
    bench: &mut Bench,
    request: &SweepRequest<'_>,
    progress: &mut dyn Progress,
) -> Result<SweepOutcome, SweepError> {
    let SweepSchedule { axes, load } = request.plan;
    let phase = request.workload.phase.get(request.phase);
    let mut counted = phase.map_or(CountedOps { ops: Vec::new(), rate_of: RateOf::Ops }, counted);
    if request.plan.sweeps(SweepKey::Read) {
        counted.ops = vec![OpKind::Read, OpKind::Write];
    }
    let mut sweeper = Sweeper {
        request,
        counted,
        started: Instant::now(),
        runs: Vec::new(),
        left_out: Vec::new(),
        notes: Vec::new(),
        objections: Objections::default(),
        is_carried_over: false,
    };
    let mut curves = Vec::new();
    let mut flow = Flow::Goes;
    // The closed-loop maximum, over all levels of the key.
    let mut maximum: Option<RunSpread> = None;
    if !axes.is_empty() {
        let rate = if let OfferedLoad::Rate(rate) = load { Some(*rate) } else { None };
        // Half of the time is for the rates that follow.
        let share = if matches!(load, OfferedLoad::Auto { .. }) { 0.5 } else { 1.0 };
        let mut settings = grid(axes);
        for one in &mut settings {
            one.extend(rate.map(|PerSecond(rate)| (SweepKey::Rate, rate)));
        }
        let stage =
            MeasuredTogether { label: "", settings, repeats: request.repeats, budget: request.budget.mul_f64(share) };
        let points;
        (points, flow) = sweeper.run(bench, stage, progress)?;
        let fastest = points.iter().filter_map(|point| spread(&rates(point)));
        maximum = fastest.max_by(|a, b| a.value.total_cmp(&b.value));
        let arrivals = match rate.is_some() || axes[0].key == SweepKey::Rate {
            true => Arrivals::Poisson,
            false => Arrivals::Closed,
        };
        let across: Vec<Option<f64>> =
            axes.get(1).map_or(vec![None], |axis| axis.levels.iter().copied().map(Some).collect());
        let is_rate_across = axes.get(1).is_some_and(|axis| axis.key == SweepKey::Rate);
        let arrivals = if is_rate_across { Arrivals::Poisson } else { arrivals };
        for (chunk, across) in points.chunks(axes[0].levels.len()).zip(across) {
            let mut fixed: BTreeMap<SweepKey, f64> = BTreeMap::from_iter(rate.map(|rate| (SweepKey::Rate, rate.0)));
            if let (Some(axis), Some(level)) = (axes.get(1), across) {
                fixed.insert(axis.key, level);
            }
            curves.push(sweeper.curve(&axes[0], fixed, arrivals, None, chunk));
        }
    }
    if let (OfferedLoad::Auto { points: count }, Flow::Goes) = (load, flow) {
        if axes.is_empty() {
            let repeats = request.repeats.clamp(2, 3);
            let stage = MeasuredTogether {
                label: "closed-loop maximum, ",
                settings: vec![Vec::new()],
                repeats,
                budget: request.budget / 4,
            };
            let points;
            (points, flow) = sweeper.run(bench, stage, progress)?;
            maximum = points.first().and_then(|point| spread(&rates(point)));
        }
        match maximum {
            None => sweeper.note(
                "the checks rejected every closed-loop run: without a maximum there are no rates to sweep".to_owned(),
            ),
            Some(closed_loop_max) if flow == Flow::Goes => {
                let axis = auto_rates(closed_loop_max.value, Some(*count as u32));
                // Arrivals must not wait for a place in the queue: use the largest depth, or the most workers.
                let room: Option<(SweepKey, f64)> =
                    axes.first().and_then(|axis| Some((axis.key, *axis.levels.last()?)));
                let settings = axis
                    .levels
                    .iter()
                    .map(|rate| room.into_iter().chain([(SweepKey::Rate, *rate)]).collect())
                    .collect();
                let left = request.budget.saturating_sub(sweeper.started.elapsed());
                let budget = sweeper.started.elapsed() + left;
                let stage = MeasuredTogether { label: "", settings, repeats: request.repeats, budget };
                let (points, ended) = sweeper.run(bench, stage, progress)?;
                flow = ended;
                let fixed = BTreeMap::from_iter(room);
                curves.push(sweeper.curve(&axis, fixed, Arrivals::Poisson, Some(closed_loop_max), &points));
            }
            Some(_) => {}
        }
    }
    Ok(sweeper.finish(curves, flow, request.ram_bytes))
}

fn rates(point: &PointUnderway) -> Vec<f64> {
    point.blocks.values().map(|run| run.rate).collect()
}

/// Points that are measured together.
struct MeasuredTogether {
    label: &'static str,
    settings: Vec<Settings>,
    repeats: u32,
    /// Since the sweep's start.
    budget: Duration,
}

impl Sweeper<'_> {
    /// Runs every point once in each block, in an order that is balanced for the debt that a run
    /// leaves to the next one.
    fn run(
        &mut self,
        bench: &mut Bench,
        stage: MeasuredTogether,
        progress: &mut dyn Progress,
    ) -> Result<(Vec<PointUnderway>, Flow), SweepError> {
        let MeasuredTogether { label, settings, repeats, budget } = stage;
        let mut points: Vec<PointUnderway> =
            settings.into_iter().map(|settings| PointUnderway { settings, ..PointUnderway::default() }).collect();
        let began = Instant::now();
        let count = points.len();
        let repeats = in_complete_block(repeats, count);
        let orders = balanced_orders(self.request.seed, count, repeats as usize);
        let mut sequence = Vec::new();
        for (block, order) in (0..).zip(orders) {
            // A further block must fit, at the length of those before.
            let length = if block == 0 { Duration::ZERO } else { began.elapsed() / block };
            if block > 0 && may_end_after(block, repeats, count) && self.started.elapsed() + length > budget {
                self.note(format!("{block} of {repeats} repeats ran: another one would have exceeded the budget"));
                break;
            }
            for (number, at) in order.into_iter().enumerate() {
                let text = describe(&points[at].settings);
                let count = count as u32;
                progress.parts(Parts {
                    done: block * count + number as u32,
                    most: repeats * count,
                    budget: Some(budget.saturating_sub(began.duration_since(self.started))),
                });
                progress.block(&format!(
                    "{label}repeat {} of {repeats}, point {} of {count}, {text}",
                    block + 1,
                    number + 1
                ));
                if self.run_point(bench, &mut points[at], block + 1, progress)? == Flow::Interrupted {
                    return Ok((points, Flow::Interrupted));
                }
                sequence.push(PlacedRun { point: at, repeat: block + 1 });
            }
        }
        if let Some(spread) = carry::of_points(&sequence, |run| points[run.point].blocks.get(&run.repeat)) {
            self.is_carried_over = true;
            self.note(carry::note(spread));
        }
        Ok((points, Flow::Goes))
    }

    fn run_point(
        &mut self,
        bench: &mut Bench,
        point: &mut PointUnderway,
        repeat: u32,
        progress: &mut dyn Progress,
    ) -> Result<Flow, SweepError> {
        let request = self.request;
        let workload = workload_at(request, &point.settings)?;
        let run_index = self.runs.len() as u32;
        let outcome = bench.run_of_many(
            &RunRequest {
                workload: &workload,
                policies: request.policies,
                base: request.base,
                command: request.command,
                dialect: None,
                sim_run: SimRun { seed: request.seed, run_index, plot_index: 0 },
            },
            progress,
        )?;
        let Some(outcome) = outcome else { return Ok(Flow::Interrupted) };
        self.runs.push(outcome.result.id.clone());
        if outcome.result.partial {
            return Ok(Flow::Interrupted);
        }
        self.take(point, repeat, &outcome);
        Ok(Flow::Goes)
    }

    fn take(&mut self, point: &mut PointUnderway, repeat: u32, outcome: &RunOutcome) {
        let name = self.request.workload.phase.get(self.request.phase).map_or("", |phase| phase.name.as_str());
        let verdict = outcome.result.verdict;
        point.runs.push(SweepRun { id: outcome.result.id.clone(), repeat, verdict });
        for finding in outcome.result.checks.iter().filter(|finding| finding.level >= Level::Note) {
            let worst = point.checks.entry(finding.code.clone()).or_insert(finding.level);
            *worst = finding.level.max(*worst);
        }
        let cliff = outcome.result.checks.iter().find(|finding| {
            finding.code == "B6" && finding.level != Level::Skipped && finding.phase.as_deref() == Some(name)
        });
        point.b6 = point.b6.max(cliff.map(|finding| finding.level));
        if let Some(phase) = outcome.result.phases.iter().find(|phase| phase.name == name) {
            for note in &phase.notes {
                self.note(note.clone());
            }
        }
        self.objections.add(&describe(&point.settings), &outcome.result);
        let numbers = measured(&outcome.measurement, name).and_then(|measured| numbers(measured, &self.counted));
        if verdict == RunVerdict::Reject {
            point.rejected.extend(numbers.map(|numbers| (repeat, numbers)));
            self.left_out.push(LeftOut {
                run: outcome.result.id.clone(),
                side: describe(&point.settings),
                reason: rejected_because(&outcome.result),
            });
            return;
        }
        let Some(numbers) = numbers else {
            self.left_out.push(LeftOut {
                run: outcome.result.id.clone(),
                side: describe(&point.settings),
                reason: "no counted operation completed.".to_owned(),
            });
            return;
        };
        point.blocks.insert(repeat, numbers);
        let phase = outcome.result.phases.iter().find(|phase| phase.name == name);
        point.tiers.extend(phase.and_then(|phase| tier(phase, &self.counted)));
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn curve(
        &self,
        axis: &Axis,
        fixed: BTreeMap<SweepKey, f64>,
        arrivals: Arrivals,
        closed_loop_max: Option<RunSpread>,
        points: &[PointUnderway],
    ) -> SweepCurve {
        let levels: Vec<LevelRuns> = axis
            .levels
            .iter()
            .zip(points)
            .map(|(&level, point)| LevelRuns { level, blocks: point.blocks.clone() })
            .collect();
        let sizes: Vec<SizeFacts> =
            points.iter().map(|point| SizeFacts { tier: common_tier(point).0, b6: point.b6 }).collect();
        // At a given rate, more of another key is not more load.
        let is_load = !fixed.contains_key(&SweepKey::Rate) && !self.is_carried_over;
        let found = CurveFindings {
            knee: is_load.then(|| find::knee(axis.key, &levels)).flatten(),
            saturation: is_load.then(|| find::saturation(axis.key, &levels)).flatten(),
            within: self.request.p99_limit.map(|limit| find::find_highest_within(limit.0, &levels)),
            edge: if axis.key == SweepKey::Size { find::edge(&levels, &sizes) } else { None },
        };
        let points = levels.iter().zip(points).map(|(level, point)| shown(level, point)).collect();
        SweepCurve { key: axis.key, fixed, arrivals, closed_loop_max, points, found }
    }

    fn finish(self, curves: Vec<SweepCurve>, flow: Flow, memory_bytes: u64) -> SweepOutcome {
        let request = self.request;
        let phase = request.workload.phase.get(request.phase);
        let mut counted: Vec<String> = self.counted.ops.iter().map(|kind| kind.name().to_owned()).collect();
        if self.counted.rate_of == RateOf::Transactions {
            counted.insert(0, "txn".to_owned());
        }
        let timed = phase.and_then(|phase| phase.stop.time);
        let (run_checks, under_load) = self.objections.into_checks(self.runs.len() as u32);
        let sweep = Sweep {
            schema: SWEEP_SCHEMA.to_owned(),
            verdict_note: String::new(),
            path: request.path.to_owned(),
            workload: request.workload.name.clone(),
            phase: phase.map_or(String::new(), |phase| phase.name.clone()),
            counted,
            seed: request.seed,
            repeats: request.repeats,
            partial: flow == Flow::Interrupted,
            time_ns: timed.map(|own| request.time.unwrap_or(own).0),
            op_bytes: phase.filter(|_| !request.plan.sweeps(SweepKey::Block)).and_then(Phase::op_bytes),
            cache: phase.map(|phase| phase.cache_mode().to_owned()),
            memory_bytes,
            curves,
            runs: self.runs,
            tag: None,
            left_out: self.left_out,
            notes: self.notes,
            settle: None,
            under_load,
            run_checks,
        };
        SweepOutcome { sweep }
    }
}

/// Formats settings like `depth=8, block=4KiB`.
fn describe(settings: &[(SweepKey, f64)]) -> String {
    if settings.is_empty() {
        return "as fast as it goes".to_owned();
    }
    settings.iter().map(|(key, level)| format!("{}={}", key.name(), key.text(*level))).collect::<Vec<_>>().join(", ")
}

fn measured<'a>(measurement: &'a Measurement, phase: &str) -> Option<&'a PhaseMeasurement> {
    measurement.phases.iter().find(|measured| measured.name == phase)
}

/// Returns the numbers of one run; `None` if it did none of the counted ops.
fn numbers(measured: &PhaseMeasurement, counted: &CountedOps) -> Option<RunNumbers> {
    let mut service = Histogram::new();
    let mut response = Histogram::new();
    let (mut count, mut bytes) = (0, 0);
    for (kind, op) in &measured.ops {
        let accompanies = matches!(kind, OpKind::Open | OpKind::Close | OpKind::Evict | OpKind::Delay);
        if counted.ops.contains(kind) || (counted.ops.is_empty() && !accompanies) {
            count += op.count;
            bytes += op.bytes;
            service.merge(&op.service);
            if let Some(times) = &op.response {
                response.merge(times);
            }
        }
    }
    if let RateOf::Transactions = counted.rate_of {
        count = measured.transactions?;
    }
    if count == 0 {
        return None;
    }
    Some(RunNumbers {
        rate: measured.per_second(count)?,
        bandwidth: measured.per_second(bytes).filter(|rate| *rate > 0.0),
        in_flight: measured.in_flight_mean,
        service: times(&service),
        response: (!response.is_empty()).then(|| times(&response)),
    })
}

/// Returns quantiles only if the run has enough samples for them (E6).
fn times(histogram: &Histogram) -> RunTimes {
    let quantile = |share: f64| histogram.carried_quantile(share).map(|value| value as f64);
    RunTimes { mean: histogram.mean(), p50: quantile(0.5), p99: quantile(0.99), p999: quantile(0.999) }
}

/// Returns the tier of the counted ops' rate.
fn tier(phase: &PhaseResult, counted: &CountedOps) -> Option<(TierName, Option<f64>)> {
    let kinds = counted.ops.iter().copied().chain(OpKind::ALL.iter().copied());
    let metrics = kinds.flat_map(|kind| [Metric::bandwidth(kind), Metric::rate(kind)]);
    let value = metrics.filter_map(|metric| phase.metrics.get(&metric)).find(|value| value.value.is_some())?;
    Some((value.tier?, value.device_share))
}
