//! A fake host that computes its results, with planted effects, spread and faults; and plans for it.

use super::Hosts;
use crate::plan::{
    ComparePlan, Correction, FactorPlan, HostPlan, Levels, PLAN_SCHEMA, Plan, PlanCell, PlanEstimate, PlannedRun, Plot,
};
use crate::preflight::Inspected;
use plumb_engine::signals::StopFlag;
use plumb_lab::host::Listener;
use plumb_lab::preflight::{Inspection, Objection, PlannedBuild, PlannedWork};
use plumb_lab::protocol::{DeviceCounts, HostFacts, HostWork, RunAnswer, RunJob};
use plumb_lab::step::{MadeNames, Safety};
use plumb_lab::{Host, HostError, LineError, Step};
use plumb_result::observe::Environment;
use plumb_result::run::{OpsDone, RESULT_SCHEMA, TierName};
use plumb_result::{Metric, MetricValue, PhaseResult, RunResult, RunVerdict, Tool};
use plumb_workload::{NullTarget, OpKind, Target, Workload};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A call to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Inspect,
    Open,
    Build(u32),
    Run(u32),
    Undo,
    Close,
    Command,
}

/// The speed of a run, from its levels, plot and number.
pub(crate) type Model = Box<dyn Fn(&Levels, u32, u32) -> f64>;
/// Returns the error of a call, if it fails.
pub(crate) type Faults = Box<dyn FnMut(Call) -> Option<HostError>>;
/// Returns the objections of an inspection of builds and works.
pub(crate) type InspectionModel = Box<dyn Fn(&Inspection) -> Vec<Objection>>;
/// Changes an answer.
pub(crate) type Mutation = Box<dyn Fn(u32, &mut RunAnswer)>;

/// State shared by all fake hosts.
pub(crate) struct World {
    pub(crate) model: Model,
    pub(crate) faults: Faults,
    pub(crate) mutate: Mutation,
    pub(crate) inspect: InspectionModel,
    pub(crate) calls: Vec<Call>,
    /// The process dies at this call.
    pub(crate) dies_at: Option<usize>,
    /// Number of plots that are built.
    pub(crate) standing: i32,
}

pub(crate) type Shared = Rc<RefCell<World>>;

pub(crate) fn world(model: impl Fn(&Levels, u32, u32) -> f64 + 'static) -> Shared {
    Rc::new(RefCell::new(World {
        model: Box::new(model),
        faults: Box::new(|_| None),
        mutate: Box::new(|_, _| {}),
        inspect: Box::new(|_| Vec::new()),
        calls: Vec::new(),
        dies_at: None,
        standing: 0,
    }))
}

fn call(world: &Shared, call: Call) -> Result<(), HostError> {
    let mut world = world.borrow_mut();
    world.calls.push(call);
    if world.dies_at == Some(world.calls.len()) {
        world.dies_at = None;
        drop(world);
        std::panic::resume_unwind(Box::new("killed"));
    }
    match (world.faults)(call) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

pub(crate) struct FakeHosts(pub(crate) Shared);

impl Hosts for FakeHosts {
    fn open(&mut self, _: &str, _: &HostPlan, _: Listener<'_>) -> Result<Box<dyn Host>, HostError> {
        call(&self.0, Call::Open)?;
        let facts =
            HostFacts { version: 1, system: "Linux".to_owned(), kernel: "6.1".to_owned(), ram_bytes: 1 << 30, cpus: 1 };
        Ok(Box::new(FakeHost { world: self.0.clone(), facts }))
    }

    fn inspect(
        &mut self,
        _: &str,
        _: &HostPlan,
        of: &dyn Fn(u64) -> Inspection,
        _: Listener<'_>,
    ) -> Result<Inspected, HostError> {
        call(&self.0, Call::Inspect)?;
        let (inspect, inspection) = (&self.0.borrow().inspect, of(1 << 30));
        Ok(Inspected { what: "Linux 6.1".to_owned(), objections: inspect(&inspection), ..Inspected::default() })
    }

    fn command(&mut self, line: &str, _: Option<StopFlag>, _: Listener<'_>) -> Result<(), LineError> {
        let failed = |status: String| LineError::Failed { status, stderr: String::new() };
        call(&self.0, Call::Command).map_err(|error| failed(error.to_string()))?;
        if line == "false" { Err(failed("exit code 1".to_owned())) } else { Ok(()) }
    }
}

struct FakeHost {
    world: Shared,
    facts: HostFacts,
}

impl Host for FakeHost {
    fn facts(&self) -> &HostFacts {
        &self.facts
    }

    fn inspect(&mut self, inspection: &Inspection) -> Result<Vec<Objection>, HostError> {
        Ok((self.world.borrow().inspect)(inspection))
    }

    fn fits(&mut self, work: &[PlannedWork]) -> Result<Vec<Objection>, HostError> {
        let build = PlannedBuild { steps: Vec::new(), work: work.to_vec() };
        Ok((self.world.borrow().inspect)(&Inspection { builds: vec![build], safety: Safety::default() }))
    }

    fn build(&mut self, tag: &str, _: &[Step], _: &Safety, _: Listener<'_>) -> Result<MadeNames, HostError> {
        let plot = tag.rsplit('/').next().and_then(|plot| plot.parse().ok()).expect("a tag ends with the plot");
        call(&self.world, Call::Build(plot))?;
        self.world.borrow_mut().standing += 1;
        Ok(MadeNames::new())
    }

    fn run(&mut self, job: &RunJob, _: Listener<'_>) -> Result<RunAnswer, HostError> {
        let place = job.sim.expect("a study says which run it is");
        call(&self.world, Call::Run(place.run))?;
        let HostWork::Native { toml } = &job.work else { panic!("fake plans have native work") };
        let levels: Levels = plumb_document::json::from_str(toml).expect("the levels");
        let world = self.world.borrow();
        let mut answer = answer((world.model)(&levels, place.plot, place.run));
        (world.mutate)(place.run, &mut answer);
        Ok(answer)
    }

    fn undo(&mut self, _: Listener<'_>) -> Result<(), HostError> {
        call(&self.world, Call::Undo)?;
        self.world.borrow_mut().standing -= 1;
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<(), HostError> {
        call(&self.world, Call::Close)
    }
}

/// A good run at this speed, bytes/s.
pub(crate) fn answer(speed: f64) -> RunAnswer {
    let bandwidth = Metric::bandwidth(OpKind::Write);
    let iops = Metric::rate(OpKind::Write);
    let value = |metric: Metric, value: f64| {
        let value = MetricValue {
            value: Some(value),
            unit: metric.unit(),
            tier: Some(TierName::Device),
            device_share: Some(1.0),
        };
        (metric, value)
    };
    let wall_ns = (64.0 * 1024.0 * 1024.0 / speed * 1e9) as u64;
    let result = RunResult {
        schema: RESULT_SCHEMA.to_owned(),
        id: uuid::Uuid::now_v7().to_string(),
        started_at: "2024-05-01T12:00:00Z".to_owned(),
        tool: Tool { name: "plumb".to_owned(), version: "0.1.0".to_owned() },
        workload: Workload {
            name: "seq".to_owned(),
            description: String::new(),
            seed: 1,
            target: [("data".to_owned(), Target::Null(NullTarget::with_size(plumb_workload::Bytes(1 << 20))))].into(),
            phase: Vec::new(),
            repeat: None,
        },
        environment: Environment { hostname: "box".to_owned(), ..Environment::default() },
        target: BTreeMap::new(),
        verdict: RunVerdict::Pass,
        partial: false,
        error: None,
        checks: Vec::new(),
        ranks: None,
        imported: None,
        gated: None,
        under_load: None,
        phases: vec![PhaseResult {
            name: "write".to_owned(),
            wall_ns,
            metrics: [value(bandwidth, speed), value(iops, speed / 4096.0)].into(),
            done: [(OpKind::Write, OpsDone { ops: 16384, bytes: 64 << 20 })].into(),
            steps: Vec::new(),
            replay: None,
            fidelity: Vec::new(),
            network: Vec::new(),
            first_done: None,
            notes: Vec::new(),
            caches: None,
            limiter: None,
            ranks: None,
        }],
    };
    let counts = DeviceCounts { reads: 0, read_bytes: 0, writes: 512, written_bytes: 96 << 20, flushes: 1 };
    RunAnswer {
        conformance: None,
        exit_code: 0,
        result: Some(result),
        devices: [("sda".to_owned(), counts.into())].into(),
        stderr: String::new(),
    }
}

/// `system` is hard, `size` is easy; every block has each level of `system` once, in alternating order.
pub(crate) fn plan(systems: &[&str], sizes: &[&str], blocks: u32, repeat: u32) -> Plan {
    let texts = |levels: &[&str]| levels.iter().map(|level| (*level).to_owned()).collect::<Vec<String>>();
    let levels = |system: &str, size: &str| -> Levels {
        [("system".to_owned(), system.to_owned()), ("size".to_owned(), size.to_owned())].into()
    };
    let cells: Vec<PlanCell> = systems
        .iter()
        .flat_map(|system| {
            sizes.iter().map(|size| PlanCell { levels: levels(system, size), workload: "write".to_owned() })
        })
        .collect();
    let mut plots = Vec::new();
    let mut runs = Vec::new();
    for block in 0..blocks {
        for position in 0..systems.len() {
            let system = if block % 2 == 0 { position } else { systems.len() - 1 - position };
            let number = plots.len() as u32;
            plots.push(Plot {
                block,
                levels: [("system".to_owned(), systems[system].to_owned())].into(),
                host: "local".to_owned(),
                on_enter: Vec::new(),
                steps: Vec::new(),
                on_leave: Vec::new(),
            });
            for again in 0..repeat {
                for size in 0..sizes.len() {
                    let cell = system * sizes.len() + size;
                    runs.push(PlannedRun {
                        plot: number,
                        cell: cell as u32,
                        repeat: again,
                        work: HostWork::Native {
                            toml: plumb_document::json::to_string(&cells[cell].levels).expect("JSON"),
                        },
                        dir: "/tmp".to_owned(),
                        seed: u64::from(block),
                        timeout_s: 60,
                    });
                }
            }
        }
    }
    Plan {
        schema: PLAN_SCHEMA.to_owned(),
        hash: "0123456789abcdef".to_owned(),
        name: "fake".to_owned(),
        question: "Which system is faster?".to_owned(),
        scale: "full".to_owned(),
        seed: 1,
        exploratory: false,
        under_load: false,
        hosts: [("local".to_owned(), HostPlan::Local)].into(),
        safety: Safety::default(),
        factors: vec![
            FactorPlan { name: "system".to_owned(), levels: texts(systems), hard: true },
            FactorPlan { name: "size".to_owned(), levels: texts(sizes), hard: false },
        ],
        cells,
        plots,
        runs,
        compare: ComparePlan {
            by: "system".to_owned(),
            within: vec!["size".to_owned()],
            metrics: vec!["write.bw".to_owned()],
            primary: Vec::new(),
            equivalence: 0.05,
            correction: Correction::Holm,
            effects: vec!["system".to_owned(), "size".to_owned()],
        },
        stop: None,
        settle_ns: None,
        budget_s: None,
        imports: Vec::new(),
        expect: Vec::new(),
        claims: Vec::new(),
        estimate: PlanEstimate::default(),
        warnings: Vec::new(),
    }
}

/// Returns a standard normal number that depends only on seed and key.
pub(crate) fn normal(seed: u64, key: u64) -> f64 {
    let mix = |value: u64| {
        let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let unit = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let (u, v) = (unit(mix(mix(seed) ^ key)), unit(mix(mix(seed ^ 0xabcd) ^ key)));
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}
