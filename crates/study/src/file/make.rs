//! Turns a study into its plan.

use super::agents;
use super::dialect;
use super::error::StudyError;
use super::factors::{self, Combined, WORKING_SET};
use super::files::StudyFiles;
use super::form::StudyForm;
use super::level_form::{OneOrMany, WhenLevels};
use super::levels::{self, Combination, LevelScope, NONE, RamUnit};
use super::options::PlanOptions;
use super::short::FileSizes;
use super::study::{LOCAL, PLOTS, PLOTS_MIN, Study, repeats};
use super::workload::{self, MadeWork, WorkloadReader, WorkloadText};
use crate::plan::estimate::{self, RunCost};
use crate::plan::order::{self, RunOrder};
use crate::plan::{
    ComparePlan, FactorPlan, HostPlan, PLAN_SCHEMA, Plan, PlanCell, PlanEstimate, PlannedRun, Plot, StopPlan,
};
use plumb_document::{Node, Spanned, Value};
use plumb_lab::Step;
use plumb_lab::protocol::HostWork;
use plumb_workload::Size;
use plumb_workload_text::native::{Document, LocatedFailure};
use std::collections::BTreeMap;
use std::ops::Range;

/// More runs than this are not a realistic study.
const RUNS_MAX: u64 = 100_000;

/// Plans a study whose texts have been merged into one tree.
///
/// # Errors
/// The study makes no sense.
pub(super) fn plan(
    document: &Document<'_>,
    tree: &Node,
    scale: &str,
    options: &PlanOptions,
    files: &mut dyn StudyFiles,
) -> Result<Plan, StudyError> {
    let mut form: StudyForm = document.read(tree)?;
    let table = tree.get_ref().as_table().expect("a document is a table");
    let workloads = workload::all(document, table, &form.experiment.name)?;
    agents::replace_hosts(document, table, &mut form, &options.hosts)?;
    let factors = factors::read(&form, table, &workloads).map_err(|failures| document.failures(failures))?;
    let study = Study { document, table, form, workloads, factors, warnings: Vec::new() };
    study.check()?;
    let combined = study
        .factors
        .combinations(&study.form, &study.workloads)
        .map_err(|failure| document.failures(vec![failure]))?;
    study.planned(scale, options, &combined, files)
}

/// A kind of plot, with its hard levels substituted.
struct Built {
    levels: Combination,
    host: String,
    steps: Vec<Step>,
    mount: Option<String>,
    on_enter: Vec<String>,
    on_leave: Vec<String>,
}

impl Built {
    /// Creates a plot of this kind.
    fn plot(&self, block: u32) -> Plot {
        Plot {
            block,
            levels: self.levels.clone(),
            host: self.host.clone(),
            on_enter: self.on_enter.clone(),
            steps: self.steps.clone(),
            on_leave: self.on_leave.clone(),
        }
    }
}

/// Plots and runs in the order in which they are made.
#[derive(Default)]
struct Sequence {
    plots: Vec<Plot>,
    runs: Vec<PlannedRun>,
}

/// A cell that can be run.
struct Ready {
    cell: PlanCell,
    built: usize,
    work: HostWork,
    dir: String,
    cost: RunCost,
}

impl<'d> Study<'d> {
    /// Returns the kind of order that the file asks for.
    pub(super) fn run_order(&self) -> RunOrder {
        match self.form.design.order {
            super::form::OrderForm::RandomizedBlocks => RunOrder::Randomized,
            super::form::OrderForm::Abba => RunOrder::Abba,
            super::form::OrderForm::Listed => RunOrder::Listed,
        }
    }

    fn planned(
        mut self,
        scale: &str,
        options: &PlanOptions,
        combined: &[Combined],
        files: &mut dyn StudyFiles,
    ) -> Result<Plan, StudyError> {
        let exploratory = options.exploratory || self.form.design.exploratory;
        let plots = self.plots(exploratory)?;
        let built = self.build(combined)?;
        let ready = self.ready(combined, &built, files)?;
        let imports = self.imports(combined, files)?;
        let expect = self.expectations(combined)?;
        let claims = self.claims(&imports, combined, files)?;
        let (least, most) = repeats(&self.form);
        let all_runs = ready.len() as u64 * u64::from(plots) * u64::from(most);
        if all_runs > RUNS_MAX {
            return Err(self.failed(
                self.place(&["design"]),
                format!("that makes {all_runs} runs"),
                format!("a study has {RUNS_MAX} at most; use fewer levels, plots or repetitions"),
            ));
        }
        let seed =
            options.seed.or(self.form.experiment.seed).unwrap_or_else(|| order::seed_of(&self.form.experiment.name));
        let Sequence { plots: plan_plots, runs } = self.sequence(&built, &ready, plots, most, seed);
        let compare = self.compare();
        self.check_metrics(&compare)?;
        self.check_device_metrics(&compare)?;
        let costs: Vec<RunCost> = runs.iter().map(|run| ready[run.cell as usize].cost).collect();
        let hosts = self.hosts(&built);
        let factors: Vec<FactorPlan> = self
            .factors
            .all
            .iter()
            .map(|factor| FactorPlan {
                name: factor.name.clone(),
                levels: factor.levels.iter().map(|level| level.text.clone()).collect(),
                hard: factor.hard,
            })
            .collect();
        let cells: Vec<PlanCell> = ready.into_iter().map(|ready| ready.cell).collect();
        self.check_safety()?;
        let form = &self.form;
        let mut plan = Plan {
            schema: PLAN_SCHEMA.to_owned(),
            hash: String::new(),
            name: form.experiment.name.clone(),
            question: form.experiment.question.clone(),
            scale: scale.to_owned(),
            seed,
            exploratory: exploratory && plots < PLOTS_MIN,
            under_load: options.under_load || self.form.design.under_load,
            hosts,
            safety: form.safety.clone(),
            factors,
            cells,
            plots: plan_plots,
            runs,
            compare,
            stop: form.stop.as_ref().filter(|_| least < most).map(|stop| StopPlan {
                metric: stop.metric.clone(),
                half_width: stop.half_width.0,
                repeats_min: least,
            }),
            settle_ns: form.design.settle.map(|time| time.0),
            budget_s: form.experiment.budget.map(|budget| budget.0 / 1_000_000_000),
            imports,
            expect,
            claims,
            estimate: PlanEstimate::default(),
            warnings: Vec::new(),
        };
        plan.estimate = estimate::all(&costs, &plan);
        self.warn(&plan, exploratory);
        plan.warnings = self.warnings;
        plan.hash = plan.hash_of_rest();
        Ok(plan)
    }

    /// Puts plots and runs in order.
    fn sequence(&self, built: &[Built], ready: &[Ready], plots: u32, repeats: u32, seed: u64) -> Sequence {
        let order = self.run_order();
        let timeout_s = self.form.design.timeout.map(|time| (time.0 / 1_000_000_000).max(1));
        let mut sequence = Sequence::default();
        // The runs in all plots of a kind are one sequence: each plot continues where the plot before it ended.
        let cells_of: Vec<Vec<usize>> =
            (0..built.len()).map(|kind| (0..ready.len()).filter(|&cell| ready[cell].built == kind).collect()).collect();
        let within: Vec<Vec<Vec<usize>>> = cells_of
            .iter()
            .enumerate()
            .map(|(kind, cells)| order::blocks(order, cells.len(), plots * repeats, seed, &format!("kind {kind}")))
            .collect();
        for (block, kinds) in (0..).zip(order::blocks(order, built.len(), plots, seed, "plots")) {
            for kind in kinds {
                let plot = sequence.plots.len() as u32;
                sequence.plots.push(built[kind].plot(block));
                let orders = within[kind].iter().skip((block * repeats) as usize).take(repeats as usize);
                for (repeat, positions) in (0..).zip(orders) {
                    sequence.runs.extend(positions.iter().map(|&position| {
                        let number = cells_of[kind][position];
                        let cell = &ready[number];
                        PlannedRun {
                            plot,
                            cell: number as u32,
                            repeat,
                            work: cell.work.clone(),
                            dir: cell.dir.clone(),
                            seed: order::run_seed(seed, block, repeat),
                            timeout_s: timeout_s.unwrap_or_else(|| estimate::timeout_s(cell.cost)),
                        }
                    }));
                }
            }
        }
        sequence
    }

    /// Checks that the file grants no permission that only a command line can.
    fn check_safety(&self) -> Result<(), StudyError> {
        if self.form.safety.typed.is_empty() {
            return Ok(());
        }
        Err(self.failed(
            self.place(&["safety", "typed"]),
            "a study file cannot authorise what must be typed on the command line",
            "leave it out, and name the device with `--destroy` when the study is run",
        ))
    }

    fn plots(&self, exploratory: bool) -> Result<u32, StudyError> {
        let plots = self.form.design.plots.unwrap_or(PLOTS);
        let varies_hard = self.factors.all.iter().any(|factor| factor.hard);
        if plots < PLOTS_MIN && varies_hard && !exploratory {
            return Err(self.failed(
                self.place(&["design", "plots"]),
                "one plot per level is a single sample: its effect cannot be separated from the level's",
                format!("use at least {PLOTS_MIN} plots, {PLOTS} for a sound answer, or `--exploratory` for numbers without claims"),
            ));
        }
        Ok(plots)
    }

    pub(super) fn scope<'a>(&'a self, combination: &'a Combination, hard_only: bool) -> LevelScope<'a> {
        LevelScope { factors: &self.factors.all, combination, hard_only, ram_unit: RamUnit::Native }
    }

    /// Returns every combination of hard levels, with its build steps.
    fn build(&self, combined: &[Combined]) -> Result<Vec<Built>, StudyError> {
        let mut found: Vec<Built> = Vec::new();
        for cell in combined {
            let levels = self.factors.hard_part(&cell.levels);
            if found.iter().any(|built| built.levels == levels) {
                continue;
            }
            let (steps, mount) = self.steps(&levels)?;
            let mut failures = Vec::new();
            let mut texts = |leave: bool| -> Vec<String> {
                let scope = self.scope(&levels, true);
                let hard = self
                    .factors
                    .all
                    .iter()
                    .filter(|factor| levels.get(&factor.name).is_some_and(|level| level != NONE));
                let texts = hard.flat_map(|factor| {
                    let texts = if leave { &factor.on_leave } else { &factor.on_enter };
                    texts.iter().map(|text| (factor.place.clone(), text))
                });
                texts.map(|(place, text)| scope.text(text, &place, &mut failures)).collect()
            };
            let (on_enter, mut on_leave) = (texts(false), texts(true));
            on_leave.reverse();
            if !failures.is_empty() {
                return Err(self.document.failures(failures).into());
            }
            let host = self.host(&levels)?;
            self.agents_build(&host, &steps)?;
            found.push(Built { host, levels, steps, mount, on_enter, on_leave });
        }
        Ok(found)
    }

    fn host(&self, levels: &Combination) -> Result<String, StudyError> {
        if let Some(factor) = self.factors.chooses_host {
            return Ok(levels[&self.factors.all[factor].name].clone());
        }
        let mut names = self.form.hosts.keys();
        match (names.next(), names.next()) {
            (None, _) => Ok(LOCAL.to_owned()),
            (Some(only), None) => Ok(only.clone()),
            (Some(_), Some(second)) => Err(self.failed(
                self.place(&["hosts", second]),
                "no factor chooses between the hosts",
                "give a factor `binds = \"host\"` and the hosts' names as levels",
            )),
        }
    }

    /// Returns the steps of a plot, and the mount point of the last one that mounts something.
    fn steps(&self, levels: &Combination) -> Result<(Vec<Step>, Option<String>), StudyError> {
        let Some(value) = self.table.get("provision") else { return Ok((Vec::new(), None)) };
        let Some(list) = value.get_ref().as_list() else {
            return Err(self.failed(value.span(), "steps are a list", "write `[[provision]]`, with two brackets"));
        };
        let (mut steps, mut mount) = (Vec::new(), None);
        for value in list.iter() {
            let Some(table) = value.get_ref().as_table() else {
                return Err(self.failed(value.span(), "a step is a table", "such as `{ kind = \"mkfs\", … }`"));
            };
            let mut table = table.clone();
            if let Some(when) = table.remove("when") {
                let place = when.span();
                let when: WhenLevels = self.document.read(&when)?;
                let mut failures = levels::unknown_names(&when, &self.factors.all, &place);
                failures.extend(self.easy_names(&when, &place));
                if !failures.is_empty() {
                    return Err(self.document.failures(failures).into());
                }
                if !levels::holds(&when, levels) {
                    continue;
                }
            }
            if !table.contains_key("kind") {
                return Err(self.failed(value.span(), "the step has no `kind`", "such as `kind = \"mkfs\"`"));
            }
            let mut failures = Vec::new();
            let value = Spanned::new(value.span(), Value::Table(table));
            let value = self.scope(levels, true).substitute(&value, &mut failures);
            if !failures.is_empty() {
                return Err(self.document.failures(failures).into());
            }
            steps.push(self.document.read::<Step>(&value)?);
            let mounted = value.get_ref().as_table().and_then(|table| table.get("mount"));
            if let Some(Value::Text(path)) = mounted.map(Spanned::get_ref) {
                mount = Some(path.to_string());
            }
        }
        Ok((steps, mount))
    }

    fn easy_names(&self, when: &WhenLevels, place: &Range<usize>) -> Vec<LocatedFailure> {
        let easy = |name: &&String| self.factors.all.iter().any(|factor| factor.name == **name && !factor.hard);
        when.keys()
            .filter(easy)
            .map(|name| LocatedFailure {
                span: place.clone(),
                message: format!("a provisioning step depends on `{name}`, which changes from run to run"),
                help: "give that factor `change = \"hard\"`: each of its levels then gets plots of its own".to_owned(),
            })
            .collect()
    }

    fn ready(
        &self,
        combined: &[Combined],
        built: &[Built],
        files: &mut dyn StudyFiles,
    ) -> Result<Vec<Ready>, StudyError> {
        let mut found = Vec::with_capacity(combined.len());
        for cell in combined {
            let hard = self.factors.hard_part(&cell.levels);
            let index = built.iter().position(|built| built.levels == hard).expect("built for every combination");
            let text = &self.workloads[cell.workload];
            let place = self.plot_place(&cell.levels, &built[index].steps, built[index].mount.as_deref())?;
            let sizes: FileSizes = workload::sizes(self.document, &self.workloads, &place);
            let reader = WorkloadReader {
                document: self.document,
                scope: self.scope(&cell.levels, false),
                place: &place,
                sizes: &sizes,
                working_set: self.working_set(text, &cell.levels)?,
            };
            let MadeWork { work, native } = reader.read(text, files)?;
            self.agents_run(&built[index].host, text, &work)?;
            let ram = estimate::ram_bytes(self.form.hosts.get(&built[index].host).and_then(|host| host.vm.as_ref()));
            let cost = match &native {
                Some(workload) => estimate::of_workload(workload, ram),
                None if matches!(work, HostWork::Conformance(_)) => estimate::OF_CONFORMANCE,
                None => dialect::moved_bytes(&work, ram)
                    .map_or(RunCost::UNKNOWN, |(read, written)| estimate::of_bytes(read, written)),
            };
            found.push(Ready {
                cell: PlanCell { levels: cell.levels.clone(), workload: text.name.clone() },
                built: index,
                work,
                dir: place.dir,
                cost,
            });
        }
        Ok(found)
    }

    /// Returns the level of the working set, if the workload does not set its own size.
    fn working_set(&self, text: &WorkloadText, levels: &Combination) -> Result<Option<Size>, StudyError> {
        let Some(level) = levels.get(WORKING_SET).filter(|level| *level != NONE) else { return Ok(None) };
        if text.uses.iter().any(|name| name == WORKING_SET) {
            return Ok(None);
        }
        match level.parse() {
            Ok(size) => Ok(Some(size)),
            Err(error) => {
                let place = self
                    .factors
                    .all
                    .iter()
                    .find(|factor| factor.name == WORKING_SET)
                    .map(|factor| factor.place.clone());
                let error: plumb_workload::units::UnitError = error;
                Err(self.failed(place.unwrap_or(0..0), error.to_string(), "levels of the working set are sizes"))
            }
        }
    }

    fn hosts(&self, built: &[Built]) -> BTreeMap<String, HostPlan> {
        let used = |name: &str| built.iter().any(|built| built.host == name);
        let named = self.form.hosts.iter().filter(|(name, _)| used(name));
        let mut hosts = BTreeMap::from_iter(named.filter_map(|(name, host)| {
            let plan = match (&host.ssh, &host.vm) {
                _ if let Some(agents) = &host.agents => HostPlan::Agents(agents.clone()),
                (Some(destination), _) => HostPlan::Ssh {
                    destination: destination.clone(),
                    boot: host.boot.clone(),
                    kernel: host.kernel.clone(),
                    agent: host.agent.clone(),
                },
                (None, Some(vm)) => HostPlan::Vm(vm.clone()),
                (None, None) => return None,
            };
            Some((name.clone(), plan))
        }));
        if used(LOCAL) {
            hosts.insert(LOCAL.to_owned(), HostPlan::Local);
        }
        hosts
    }

    /// Returns the factor whose levels are compared.
    pub(super) fn compared_factor(&self) -> String {
        let all = &self.factors.all;
        let default =
            || all.iter().find(|factor| factor.hard).or_else(|| all.first()).map(|factor| factor.name.clone());
        self.form.compare.by.clone().or_else(default).unwrap_or_default()
    }

    fn compare(&mut self) -> ComparePlan {
        let form = &self.form.compare;
        let mut within = form.within.clone();
        let by = self.compared_factor();
        within.retain(|name| *name != by);
        ComparePlan {
            by,
            within,
            metrics: form.metrics.iter().map(|name| known_metric(name)).collect(),
            primary: form.primary.iter().map(|name| known_metric(name)).collect(),
            equivalence: form.equivalence.0,
            correction: form.correction,
            effects: effects(&self.form),
        }
    }
}

/// Parses `"a * b"`, or a list.
pub(super) fn effects(form: &StudyForm) -> Vec<String> {
    let lists = form.compare.effects.as_ref().map(OneOrMany::as_slice).unwrap_or_default();
    lists
        .iter()
        .flat_map(|text| text.split('*'))
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

/// Converts other tools' names of a metric to Plumb's name.
pub(crate) fn known_metric(name: &str) -> String {
    match name {
        "transactions.rate" | "transactions.ops" => "txn.ops",
        "delete.ops" => "unlink.ops",
        other => other,
    }
    .to_owned()
}
