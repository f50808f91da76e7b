//! Puts remedies into words. Only this module knows which command accepts which option, and
//! what its user already set.

use plumb_result::{Finding, Remedy};
use plumb_workload::{Bytes, Nanos};
use strum::VariantArray;

pub use plumb_result::remedy::budget_text;

/// The command that prints a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, VariantArray)]
pub enum Running {
    /// `plumb run`, with its own options.
    Run,
    /// `plumb try`, with its own options.
    Try,
    /// `plumb compare`, with its own options.
    Compare,
    /// `plumb gate`, with its own options.
    Gate,
    /// `plumb noise`, with its own options.
    Noise,
    /// `plumb sweep`, with its own options.
    Sweep,
    /// `plumb fit-for`, with its own options.
    FitFor,
    /// `plumb study run`, whose settings are in a file.
    Study,
    /// Another tool's command, without Plumb's options.
    #[default]
    Tool,
    /// The documentation, which names the options of all commands.
    Documentation,
}

impl Running {
    /// Every command, and the documentation.
    pub const ALL: &[Running] = Running::VARIANTS;
}

/// Whether the user typed an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Typed {
    Yes,
    #[default]
    No,
}

/// The current command, and the options that its user set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandContext {
    pub running: Running,
    /// Length of each timed phase in ns, as typed or chosen.
    pub time_ns: Option<u64>,
    /// Time for all runs together, in ns.
    pub budget_ns: Option<u64>,
    /// The pause between runs, in ns.
    pub settle_ns: Option<u64>,
    pub file_bytes: Option<u64>,
    /// Smallest number of runs that the command plans to make.
    pub runs: Option<u32>,
    /// Number of timed phases in a run.
    pub timed_phases: u32,
    pub precondition: Typed,
    pub until_steady: Typed,
    pub under_load: Typed,
}

impl CommandContext {
    /// The documentation, which has no options.
    pub(crate) const DOCUMENTATION: CommandContext = CommandContext {
        running: Running::Documentation,
        time_ns: None,
        budget_ns: None,
        settle_ns: None,
        file_bytes: None,
        runs: None,
        timed_phases: 0,
        precondition: Typed::No,
        until_steady: Typed::No,
        under_load: Typed::No,
    };

    /// Creates the context of a command without typed options.
    pub fn for_command(running: Running) -> CommandContext {
        CommandContext { running, ..CommandContext::default() }
    }
}

/// Words the remedies of findings for a command.
pub fn reword(findings: &mut [Finding], context: &CommandContext) {
    for finding in findings.iter_mut().filter(|finding| !finding.remedies.is_empty()) {
        finding.remedy = sentences(&finding.remedies, context);
    }
}

/// Returns remedies as complete sentences; the first can stand alone. A remedy that the user
/// already applied is left out.
pub fn sentences(remedies: &[Remedy], context: &CommandContext) -> String {
    let all: Vec<String> = remedies.iter().filter_map(|remedy| sentence(remedy, context)).collect();
    let mut text = String::new();
    for one in all {
        if text.is_empty() {
            text = one;
        } else {
            text.push_str(&format!(" Or {}", lower_first(&one)));
        }
    }
    text
}

/// Returns one remedy as a sentence; `None` if it was already applied, or there is nothing to say.
pub fn sentence(remedy: &Remedy, context: &CommandContext) -> Option<String> {
    match remedy {
        Remedy::Words(text) => (!text.is_empty()).then(|| text.to_string()),
        Remedy::LongerTime { phase, at_least_ns } => longer_time(phase.as_deref(), *at_least_ns, context),
        Remedy::LargerBudget { at_least_ns } => larger_budget(*at_least_ns, context),
        Remedy::MoreRuns { at_least } => more_runs(*at_least, context),
        Remedy::Settle { at_least_ns } => settle(*at_least_ns, context),
        Remedy::NamePhase { phase } => name_phase(phase, context),
        Remedy::Precondition => precondition(context),
        Remedy::UntilSteady => until_steady(context),
        Remedy::LargerFile { at_least_bytes } => larger_file(*at_least_bytes, context),
        Remedy::MorePlaces { per_side, varying } => Some(more_places(*per_side, varying.as_deref(), context)),
        Remedy::Setting { key, value, purpose } => Some(setting(key, value, purpose, context)),
        Remedy::MeasureFloor => Some("Measure the noise floor again: `plumb noise`.".to_owned()),
        Remedy::Interleave => {
            Some("Measure both sides again with `plumb compare A B`, which measures them by turns.".to_owned())
        }
        Remedy::DeclareLoad => declare_load(context),
        Remedy::RunAsRoot => Some("Run as root on the host, who sees the I/O of every process.".to_owned()),
        Remedy::SeeChecks { codes } => Some(see_checks(codes)),
    }
}

/// Formats `Request: `option``; without an option that the command accepts, only the request.
fn request(what: &str, option: Option<String>) -> String {
    option.map_or_else(|| format!("{what}."), |option| format!("{what}: `{option}`."))
}

fn longer_time(phase: Option<&str>, at_least_ns: Option<u64>, context: &CommandContext) -> Option<String> {
    if at_least_ns.is_some_and(|least| context.time_ns.is_some_and(|time| time >= least)) {
        return None;
    }
    let time = at_least_ns.map(|least| whole_seconds(least.max(context.time_ns.map_or(0, |time| time + 1))));
    let twice = context.time_ns.map(|time| whole_seconds(time.saturating_mul(2)));
    let time = time.or(twice);
    let Some(time) = time.filter(|_| context.running != Running::Documentation) else {
        return Some(match context.running {
            Running::Documentation => "Run longer (`--time`).".to_owned(),
            _ => "Run longer.".to_owned(),
        });
    };
    let what = match context.time_ns {
        Some(now) => format!("Run longer than the {} of now", short_time(now)),
        None => "Run longer".to_owned(),
    };
    let time_text = Nanos(time).to_string();
    Some(match context.running {
        Running::Run => match phase.filter(|_| context.timed_phases > 1) {
            Some(phase) => request(&what, Some(format!("--set phase.{phase}.stop.time={time_text}"))),
            None => request(&what, Some(format!("--time {time_text}"))),
        },
        Running::Try => request(&what, Some(format!("--time {time_text}"))),
        Running::FitFor => request(&what, Some(format!("--time {time_text}"))),
        Running::Compare | Running::Gate | Running::Noise | Running::Sweep => {
            let budget = budget_for(time, context).map_or_else(String::new, |budget| format!(" --budget {budget}"));
            request(&what, Some(format!("--time {time_text}{budget}")))
        }
        Running::Study => format!("{what}: `time = \"{time_text}\"` in the study file."),
        Running::Tool | Running::Documentation => format!("Run longer, for at least {}.", short_time(time)),
    })
}

/// Returns the budget for the same number of runs at a longer time; `None` if the current budget is enough.
fn budget_for(time_ns: u64, context: &CommandContext) -> Option<String> {
    // Between timed phases, files are laid out and caches dropped: the same time again, up to three seconds a run.
    const AROUND_NS: u64 = 3_000_000_000;
    let runs = u64::from(context.runs?);
    let timed_ns = time_ns.saturating_mul(u64::from(context.timed_phases.max(1)));
    let all_ns = timed_ns.saturating_add(timed_ns.min(AROUND_NS)).saturating_mul(runs);
    (context.budget_ns? < all_ns).then(|| budget_text(all_ns))
}

fn larger_budget(at_least_ns: Option<u64>, context: &CommandContext) -> Option<String> {
    const WHAT: &str = "Run more blocks";
    match context.running {
        Running::Documentation => Some(format!("{WHAT} (`--budget`).")),
        Running::Compare | Running::Gate | Running::Noise | Running::Sweep => {
            let doubled = context.budget_ns.map(|budget| budget.saturating_mul(2));
            let least =
                at_least_ns.filter(|least| context.budget_ns.is_none_or(|budget| *least > budget)).or(doubled)?;
            Some(request(WHAT, Some(format!("--budget {}", budget_text(least)))))
        }
        Running::Run | Running::Try | Running::FitFor | Running::Study | Running::Tool => Some(format!("{WHAT}.")),
    }
}

fn more_runs(at_least: u32, context: &CommandContext) -> Option<String> {
    if context.runs.is_some_and(|runs| runs >= at_least) && context.running != Running::Compare {
        return None;
    }
    Some(match context.running {
        Running::Compare => request("Run more blocks", Some(format!("--blocks {at_least}"))),
        Running::Sweep => request("Run each point more often", Some(format!("--repeat {at_least}"))),
        Running::Run | Running::Try | Running::FitFor => request("Run more often", Some(format!("--runs {at_least}"))),
        Running::Documentation => "Run more blocks (`--blocks`).".to_owned(),
        Running::Gate | Running::Noise | Running::Study | Running::Tool => "Run more often.".to_owned(),
    })
}

fn settle(at_least_ns: Option<u64>, context: &CommandContext) -> Option<String> {
    let doubled = context.settle_ns.map(|pause| pause.saturating_mul(2));
    let is_longer = |least: &u64| context.settle_ns.is_none_or(|pause| *least > pause);
    let pause = at_least_ns.filter(is_longer).or(doubled).filter(|pause| *pause > 0);
    let what = if context.settle_ns.is_some() { "Pause longer between the runs" } else { "Pause between the runs" };
    Some(match (context.running, pause) {
        (Running::Documentation, _) => {
            "Pause between the runs (`--settle`) for longer than what a run leaves behind lasts.".to_owned()
        }
        (Running::Compare | Running::Gate | Running::Sweep, pause) => {
            request(what, Some(format!("--settle {}", Nanos(pause.unwrap_or(10_000_000_000)))))
        }
        (_, Some(pause)) => format!("{what}, for {} or more.", short_time(pause)),
        (_, None) => format!("{what}."),
    })
}

fn name_phase(phase: &str, context: &CommandContext) -> Option<String> {
    match context.running {
        Running::Documentation => Some("Compare the numbers of fewer phases (`--phase`).".to_owned()),
        Running::Compare | Running::Sweep => {
            Some(request("Measure the phase that matters", Some(format!("--phase {phase}"))))
        }
        _ => None,
    }
}

/// A command that measures one workload, for remedies that the current command has no option for.
const RUN: &str = "plumb run WORKLOAD";

fn precondition(context: &CommandContext) -> Option<String> {
    const WHAT: &str = "Bring the storage to a steady state first";
    match (context.running, context.precondition) {
        (_, Typed::Yes) => None,
        (Running::Documentation, _) => Some(format!("{WHAT} (`{RUN} --precondition`).")),
        (Running::Run, Typed::No) => Some(request(WHAT, Some("--precondition".to_owned()))),
        (_, Typed::No) => Some(request(WHAT, Some(format!("{RUN} --precondition")))),
    }
}

fn until_steady(context: &CommandContext) -> Option<String> {
    const WHAT: &str = "Measure until the rate is steady";
    match (context.running, context.until_steady) {
        // Longer rounds are steadier.
        (Running::Run, Typed::Yes) => Some(request("Make the rounds longer", Some("--until steady:10s".to_owned()))),
        (_, Typed::Yes) => None,
        (Running::Documentation, _) => Some(format!("{WHAT} (`{RUN} --until steady`).")),
        (Running::Run, Typed::No) => Some(request(WHAT, Some("--until steady".to_owned()))),
        (_, Typed::No) => Some(request(WHAT, Some(format!("{RUN} --until steady")))),
    }
}

fn larger_file(at_least_bytes: Option<u64>, context: &CommandContext) -> Option<String> {
    if at_least_bytes.is_some_and(|least| context.file_bytes.is_some_and(|bytes| bytes >= least)) {
        return None;
    }
    let what = "Use a file larger than memory";
    let size = at_least_bytes.map(|bytes| Bytes(bytes.next_multiple_of(1 << 30)));
    let option = match (context.running, size) {
        (Running::Documentation, _) => return Some(format!("{what} (`--size`).")),
        (_, None) | (Running::FitFor | Running::Study | Running::Tool, _) => None,
        (Running::Run, Some(size)) => Some(format!("--set size={size}")),
        (Running::Try | Running::Compare | Running::Gate | Running::Noise | Running::Sweep, Some(size)) => {
            Some(format!("--size {size}"))
        }
    };
    Some(request(what, option))
}

fn more_places(per_side: u32, varying: Option<&str>, context: &CommandContext) -> String {
    let varying = varying.map_or_else(String::new, |factor| format!(" --varying {factor}"));
    let places = |letter: char| (1..=per_side).map(|number| format!("{letter}{number}")).collect::<Vec<_>>().join(",");
    let without =
        if varying.is_empty() { "" } else { " Without a factor the verdict is about the two places as they are." };
    match context.running {
        Running::Study | Running::Tool => format!("Provision each side {per_side} times, and name all places."),
        _ => format!(
            "Provision each side {per_side} times and name all places: `plumb compare {} {}{varying}` (`plumb compare \
             sim:ssd sim:hdd --plots {per_side}` for simulated devices).{without}",
            places('A'),
            places('B')
        ),
    }
}

fn setting(key: &str, value: &str, purpose: &str, context: &CommandContext) -> String {
    match context.running {
        Running::Run | Running::Sweep => request(purpose, Some(format!("--set {key}={value}"))),
        Running::Documentation => format!("{purpose} (`--set {key}={value}`)."),
        Running::Try | Running::Compare | Running::Gate | Running::Noise | Running::FitFor => {
            request(purpose, Some(format!("{RUN} --set {key}={value}")))
        }
        Running::Study | Running::Tool => format!("{purpose}."),
    }
}

fn declare_load(context: &CommandContext) -> Option<String> {
    const WHAT: &str = "If this load belongs to what you measure, declare it";
    match (context.running, context.under_load) {
        (_, Typed::Yes) | (Running::Tool, _) => None,
        (Running::Study, _) => {
            Some(format!("{WHAT}: `under-load = true` in `[design]`, or `plumb study run FILE --under-load`."))
        }
        (Running::Documentation, _) => Some(format!("{WHAT} (`--under-load`).")),
        _ => Some(request(WHAT, Some("--under-load".to_owned()))),
    }
}

fn see_checks(codes: &[String]) -> String {
    let commands: Vec<String> = codes.iter().map(|code| format!("`plumb explain {code}`")).collect();
    format!(
        "Fix what the runs were rejected for (see {}): more of the same runs would be rejected too.",
        commands.join(", ")
    )
}

/// Rounds up to whole seconds.
fn whole_seconds(ns: u64) -> u64 {
    const SECOND_NS: u64 = 1_000_000_000;
    ns.div_ceil(SECOND_NS).saturating_mul(SECOND_NS)
}

fn short_time(ns: u64) -> String {
    crate::text::nanos(ns as f64)
}

/// Lowercases the start, for use within a sentence; a word in capitals stays.
fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(_), Some(second)) if second.is_uppercase() => text.to_owned(),
        (Some(first), _) => first.to_lowercase().chain(letters).collect(),
        (None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    const SECOND: u64 = 1_000_000_000;

    fn longer(at_least: u64) -> Remedy {
        Remedy::LongerTime { phase: None, at_least_ns: Some(at_least * SECOND) }
    }

    // Protects: a remedy has a value that helps, in the option of the command that prints it.
    #[test]
    fn the_same_remedy_is_worded_for_each_command() {
        let worded = |context: &CommandContext| sentences(&[longer(30)], context);
        assert_eq!(worded(&CommandContext::for_command(Running::Try)), "Run longer: `--time 30s`.");
        assert_eq!(worded(&CommandContext::for_command(Running::Tool)), "Run longer, for at least 30 s.");
        assert_eq!(worded(&CommandContext::DOCUMENTATION), "Run longer (`--time`).");
        let compare = CommandContext {
            time_ns: Some(5 * SECOND),
            budget_ns: Some(300 * SECOND),
            runs: Some(16),
            timed_phases: 1,
            ..CommandContext::for_command(Running::Compare)
        };
        assert_eq!(worded(&compare), "Run longer than the 5 s of now: `--time 30s --budget 9m`.");
        let enough = CommandContext { budget_ns: Some(3600 * SECOND), ..compare };
        assert_eq!(worded(&enough), "Run longer than the 5 s of now: `--time 30s`.");
        let phase = Remedy::LongerTime { phase: Some(Cow::Borrowed("seq-write")), at_least_ns: Some(30 * SECOND) };
        let run = CommandContext { timed_phases: 3, ..CommandContext::for_command(Running::Run) };
        assert_eq!(sentences(&[phase], &run), "Run longer: `--set phase.seq-write.stop.time=30s`.");
    }

    // Protects: advice leaves out options that were typed.
    #[test]
    fn applied_remedies_are_not_advised() {
        let long = CommandContext { time_ns: Some(60 * SECOND), ..CommandContext::for_command(Running::Compare) };
        assert_eq!(
            sentences(&[longer(30), Remedy::words("Flush inside the clock.")], &long),
            "Flush inside the clock."
        );
        let run = CommandContext { precondition: Typed::Yes, ..CommandContext::for_command(Running::Run) };
        assert_eq!(sentences(&[Remedy::Precondition], &run), "");
        assert_eq!(
            sentences(&[Remedy::Precondition], &CommandContext::for_command(Running::Run)),
            "Bring the storage to a steady state first: `--precondition`."
        );
        let settled = CommandContext { settle_ns: Some(20 * SECOND), ..CommandContext::for_command(Running::Sweep) };
        let pause = Remedy::Settle { at_least_ns: Some(10 * SECOND) };
        assert_eq!(sentences(&[pause], &settled), "Pause longer between the runs: `--settle 40s`.");
        let declared = CommandContext { under_load: Typed::Yes, ..CommandContext::for_command(Running::Try) };
        assert_eq!(sentences(&[Remedy::DeclareLoad], &declared), "");
    }

    #[test]
    fn several_remedies_are_alternatives() {
        let both = [Remedy::words("Stop dd."), Remedy::DeclareLoad];
        assert_eq!(
            sentences(&both, &CommandContext::for_command(Running::Try)),
            "Stop dd. Or if this load belongs to what you measure, declare it: `--under-load`."
        );
    }
}
