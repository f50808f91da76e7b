//! Converts a plan to the view that its page prints.

use plumb_lab::protocol::HostWork;
use plumb_report::study_plan::{CostView, FactorView, PlanView, PlannedCell, PlotView, PowerView};
use plumb_result::study::bounds_in_words;
use plumb_study::earlier::EarlierSpread;
use plumb_study::plan::power::{ASSUMED_SPREAD, PlannedUnit, PlannedVerdicts};
use plumb_study::plan::{Correction, ExpectedCount, HostPlan, Levels, Plan, words};
use plumb_workload::{CachePolicy, Phase, Target, Workload};

/// Formats an expected count: `device.written-per-byte 1.47 to 1.53 where level 4, 5: parity`.
fn expected(count: &ExpectedCount) -> String {
    let levels: Vec<String> =
        count.levels.iter().map(|(factor, levels)| format!("{factor} {}", levels.join(", "))).collect();
    let mut text = format!("{} {}", count.metric, bounds_in_words(count.least, count.most));
    if !levels.is_empty() {
        text = format!("{text} where {}", levels.join(" and "));
    }
    if !count.because.is_empty() {
        text = format!("{text}: {}", count.because);
    }
    text
}

pub(super) fn build_view(plan: &Plan, earlier: Option<&EarlierSpread>) -> PlanView {
    let least = plan.repeats_least();
    PlanView {
        name: plan.name.clone(),
        question: plan.question.clone(),
        scale: plan.scale.clone(),
        seed: plan.seed,
        hash: plan.hash.chars().take(16).collect(),
        factors: plan
            .factors
            .iter()
            .map(|factor| FactorView { name: factor.name.clone(), levels: factor.levels.clone(), hard: factor.hard })
            .collect(),
        cells: plan
            .cells
            .iter()
            .enumerate()
            .map(|(index, cell)| {
                let mut runs = plan.runs.iter().filter(|run| run.cell as usize == index);
                PlannedCell {
                    levels: plan.factors.iter().map(|factor| level(&cell.levels, &factor.name)).collect(),
                    workload: cell.workload.clone(),
                    work: runs.clone().next().map(|run| work(&run.work, &run.dir)).unwrap_or_default(),
                    runs: runs.by_ref().count() as u32,
                }
            })
            .collect(),
        plots: plan
            .plots
            .iter()
            .enumerate()
            .map(|(index, plot)| {
                let mut orders: Vec<Vec<u32>> = Vec::new();
                for run in plan.runs.iter().filter(|run| run.plot as usize == index) {
                    if orders.len() <= run.repeat as usize {
                        orders.resize(run.repeat as usize + 1, Vec::new());
                    }
                    orders[run.repeat as usize].push(run.cell);
                }
                PlotView {
                    block: plot.block,
                    levels: words::levels(&plot.levels),
                    host: plot.host.clone(),
                    steps: plot.steps_in_words(),
                    runs: orders,
                }
            })
            .collect(),
        agents: plan
            .hosts
            .iter()
            .filter_map(|(name, host)| match host {
                HostPlan::Agents(agents) => Some(format!("{name}: {}", agents.join(", "))),
                HostPlan::Local | HostPlan::Ssh { .. } | HostPlan::Vm(_) => None,
            })
            .collect(),
        compare: compared(plan),
        expected: plan.expect.iter().map(expected).collect(),
        expendable: plan
            .safety
            .expendable
            .iter()
            .map(|device| match (&device.path, &device.serial) {
                (Some(path), Some(serial)) => format!("{path}, if its serial is {serial}"),
                (Some(path), None) => path.clone(),
                (None, Some(serial)) => format!("the device with the serial {serial}"),
                (None, None) => "nothing".to_owned(),
            })
            .collect(),
        imports: plan
            .imports
            .iter()
            .map(|import| {
                let mut parts = vec![import.dialect.clone()];
                parts.extend(import.side.iter().map(|side| format!("side {side}")));
                parts.extend(import.test.iter().map(|test| format!("test {test}")));
                parts.extend(Some(words::levels(&import.levels)).filter(|levels| !levels.is_empty()));
                let count = import.numbers.len();
                let numbers = if count == 1 { "1 number".to_owned() } else { format!("{count} numbers") };
                format!("{}: {numbers} of {} ({})", import.label, import.file, parts.join(", "))
            })
            .collect(),
        cost: CostView {
            optional_runs: plan.runs.iter().filter(|run| run.repeat >= least).count(),
            seconds: plan.estimate.seconds,
            written_bytes: plan.estimate.written_bytes,
        },
        power: power(plan, earlier),
        warnings: plan.warnings.clone(),
    }
}

fn power(plan: &Plan, earlier: Option<&EarlierSpread>) -> PowerView {
    let verdicts = PlannedVerdicts::of_plan(plan);
    let spread = earlier.map(|earlier| verdicts.as_in(earlier));
    PowerView {
        exploratory: plan.exploratory,
        detectable_ratio: match spread {
            Some(spread) => verdicts.claimable_ratio(spread, plan.compare.equivalence),
            None => plan.estimate.detectable_ratio,
        },
        spread: spread_of(verdicts, earlier),
        spread_from: earlier.map(|earlier| format!("study {}", earlier.id)),
        spread_freedom: spread.and_then(|spread| spread.freedom),
        verdicts: plan.estimate.verdicts,
        counted: counted(verdicts),
    }
}

/// Describes what varies, and by how much.
fn spread_of(verdicts: PlannedVerdicts, earlier: Option<&EarlierSpread>) -> String {
    let percent = |share: f64| format!("a spread of {}", plumb_report::format::percent(share));
    let Some(earlier) = earlier else {
        let unit = if verdicts.unit == PlannedUnit::Plot { "plot" } else { "run" };
        return format!("{} from one {unit} to the next", percent(ASSUMED_SPREAD));
    };
    let runs = percent(earlier.runs.cv);
    match (verdicts.unit, earlier.effects) {
        (PlannedUnit::Plot, _) => {
            let of_one = verdicts.as_in(earlier).of_log_ratio / 2f64.sqrt();
            format!("{} from one plot to the next", percent(of_one))
        }
        (PlannedUnit::PairsOnPlot, Some(effects)) => format!(
            "{runs} from one run to the next, and of the effect of {} from one plot to the next",
            plumb_report::format::percent(effects.cv)
        ),
        _ => format!("{runs} from one run to the next"),
    }
}

fn counted(verdicts: PlannedVerdicts) -> String {
    let counted = |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    match verdicts.unit {
        PlannedUnit::Plot => format!("{} a side", counted(verdicts.units, "plot")),
        PlannedUnit::PairsOnPlot => format!("{} that hold both sides", counted(verdicts.units, "plot")),
        PlannedUnit::Pair => format!("{} a side", counted(verdicts.units, "run")),
    }
}

fn level(levels: &Levels, factor: &str) -> String {
    levels.get(factor).cloned().unwrap_or_default()
}

fn compared(plan: &Plan) -> String {
    let compare = &plan.compare;
    let Some(by) = plan.factors.iter().find(|factor| factor.name == compare.by) else {
        return "Nothing: there is no factor with two levels.".to_owned();
    };
    let Some((baseline, candidates)) = by.levels.split_first().filter(|(_, others)| !others.is_empty()) else {
        return format!("Nothing: `{}` has one level.", by.name);
    };
    let within = match compare.within.as_slice() {
        [] => "each workload".to_owned(),
        names => format!("each {} and workload", names.join(", ")),
    };
    let metrics = if compare.metrics.is_empty() {
        "byte rates, rates of ops that move no bytes, and the 99 % latency".to_owned()
    } else {
        compare.metrics.join(", ")
    };
    let correction = match compare.correction {
        Correction::Holm => "corrected for their number (Holm)",
        Correction::BenjaminiHochberg => "corrected for their number (Benjamini and Hochberg)",
        Correction::None => "not corrected for their number",
    };
    format!(
        "{}: {} against {baseline}, for {within}, by {metrics}; ratios within {} are equivalent, claims are {correction}.",
        by.name,
        candidates.join(" and "),
        plumb_report::format::percent(compare.equivalence)
    )
}

fn work(work: &HostWork, dir: &str) -> String {
    match work {
        HostWork::Dialect { tool, args, stdin } => {
            let mut line = format!("in {dir}: {tool} {}", args.join(" ")).trim_end().to_owned();
            if !stdin.is_empty() {
                line.push_str(&format!(" < {}", stdin.trim_end().replace('\n', "; ")));
            }
            line
        }
        HostWork::Conformance(work) => format!("posix {dir} {}", work.words().join(" ")),
        HostWork::Native { toml } => match plumb_workload_text::native::parse("plan", toml) {
            Ok(workload) => {
                let phases: Vec<String> = workload.phase.iter().map(|phase| phase_text(phase, &workload)).collect();
                let made = workload.target.values().find_map(|target| match target {
                    Target::Device(device) => device.path.to_str()?.strip_prefix("/${made.")?.strip_suffix('}'),
                    _ => None,
                });
                let place = made.map_or_else(|| format!("in {dir}"), |name| format!("on @{name}"));
                format!("{place}: {}", phases.join("; "))
            }
            Err(_) => format!("in {dir}: {} lines of TOML", toml.lines().count()),
        },
    }
}

/// Describes a phase in a few words: `write 8GiB by 1MiB, depth 16, direct`.
fn phase_text(phase: &Phase, workload: &Workload) -> String {
    let mut parts = vec![phase.name.clone()];
    if let [group] = phase.workers.as_slice()
        && let Some(blocks) = group.work.blocks()
    {
        let size = match workload.target.get(&group.target) {
            Some(Target::File(file)) => file.size.map(|size| size.to_string()),
            Some(Target::Files(files)) => Some(format!("{} × {}", files.count, files.size)),
            Some(Target::Sim(sim)) => Some(format!("{} of {}", sim.size, sim.device)),
            _ => None,
        };
        let by = if blocks.block.min() == blocks.block.max() {
            format!(" by {}", blocks.block.min())
        } else {
            String::new()
        };
        parts[0].push_str(&format!("{}{by}", size.map(|size| format!(" {size}")).unwrap_or_default()));
        if group.depth > 1 {
            parts.push(format!("depth {}", group.depth));
        }
        if group.count > 1 {
            parts.push(format!("{} workers", group.count));
        }
        if blocks.fsync_every > 0 {
            parts.push(format!("a flush after every {} writes", blocks.fsync_every));
        }
    }
    match phase.cache {
        CachePolicy::AsIs => {}
        CachePolicy::Cold => parts.push("cold".to_owned()),
        CachePolicy::Warm => parts.push("warm".to_owned()),
        CachePolicy::Direct => parts.push("direct".to_owned()),
    }
    if let Some(time) = phase.stop.time {
        parts.push(format!("for {time}"));
    }
    parts.join(", ")
}
