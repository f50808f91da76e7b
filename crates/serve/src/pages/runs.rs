//! The list of runs, with filters.

use super::frame::{Frame, Section, html};
use super::words::{Link, Mark, counted, minute, trust};
use crate::app::App;
use crate::fault::Fault;
use crate::parameters::{Parameters, key_text};
use crate::readers::Effort;
use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Html;
use plumb_report::full::headlines;
use plumb_report::run::short_id;
use plumb_result::RunVerdict;
use plumb_result::assertion::PRECONDITIONING;
use plumb_result::run::TierName;
use plumb_store::{Filter, FoundRun, KnownValues, PhaseNumbers, ServedStore};
use std::sync::Arc;
use strum::VariantArray;

/// Runs on a page.
const RUNS: u32 = 50;

/// Largest number of runs on a page, by `n=`.
const RUNS_MAX: u32 = 200;

/// Phases whose numbers a line of the list has.
const PHASES: usize = 3;

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    frame: Frame,
    count: String,
    /// Whether a condition leaves out runs.
    is_filtered: bool,
    /// Whether the database has no run at all.
    is_empty: bool,
    choices: Vec<Choice>,
    from: String,
    until: String,
    text: String,
    runs: Vec<RunLine>,
    newest: Option<String>,
    older: Option<String>,
}

/// A field of the filter.
struct Choice {
    name: &'static str,
    label: &'static str,
    chosen: String,
    values: Vec<String>,
}

struct RunLine {
    id: String,
    short: String,
    started: String,
    workload: String,
    tool: String,
    paths: Vec<String>,
    /// Host and file systems, as far as they are known.
    place: Vec<String>,
    numbers: Vec<NumberLine>,
    more: Option<String>,
    trust: Mark,
    tags: Vec<Link>,
}

struct NumberLine {
    phase: String,
    /// The phase with a space after it; empty where the line names it already.
    shown: String,
    what: &'static str,
    rate: String,
    tier: Option<Mark>,
}

pub(crate) async fn page(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Result<Html<String>, Fault> {
    let parameters = Parameters::parse(query.as_deref())?;
    let conditions = parameters.filter()?;
    let is_filtered = conditions != Filter::default();
    let limit = Some(parameters.number("n", RUNS, RUNS_MAX)?);
    let filter = Filter { after: parameters.after()?, limit, ..conditions };
    let read = move |store: &dyn ServedStore| Ok((store.search(&filter)?, store.known_values()?));
    let (found, known) = app.readers.read(Effort::Brief, read).await?;
    let text = parameters.get("q").unwrap_or_default().to_owned();
    let frame = Frame { search: text.clone(), ..Frame::new("Runs", Section::Runs) };
    let next = found.next.as_ref().map(key_text);
    let page = RunsPage {
        frame,
        count: counted(found.total, "run", "runs"),
        is_filtered,
        is_empty: found.total == 0 && !is_filtered,
        choices: choices(known, &parameters),
        from: parameters.get("from").unwrap_or_default().to_owned(),
        until: parameters.get("until").unwrap_or_default().to_owned(),
        text,
        runs: found.runs.into_iter().map(|run| line(run, &parameters)).collect(),
        newest: parameters.get("after").map(|_| parameters.with("/runs", "after", None)),
        older: next.map(|next| parameters.with("/runs", "after", Some(&next))),
    };
    Ok(html(&page))
}

fn choices(known: KnownValues, parameters: &Parameters) -> Vec<Choice> {
    let verdicts = RunVerdict::VARIANTS.iter().map(|verdict| verdict.name().to_owned()).collect();
    let fields = [
        ("workload", "Workload", known.workloads),
        ("host", "Host", known.hosts),
        ("model", "Device", known.models),
        ("fs", "File system", known.filesystems),
        ("kernel", "Kernel", known.kernels),
        ("tool", "Tool", known.tools),
        ("tag", "Tag", known.tags),
        ("verdict", "Trust", verdicts),
    ];
    let choice = |(name, label, mut values): (&'static str, &'static str, Vec<String>)| {
        let chosen = parameters.get(name).unwrap_or_default().to_owned();
        // A value that nothing has any more stays visible.
        if !chosen.is_empty() && !values.contains(&chosen) {
            values.push(chosen.clone());
        }
        Choice { name, label, chosen, values }
    };
    fields.into_iter().map(choice).filter(|choice| !choice.values.is_empty()).collect()
}

fn line(run: FoundRun, parameters: &Parameters) -> RunLine {
    let numbers: Vec<NumberLine> = run
        .phases
        .iter()
        .filter(|phase| is_measured(phase))
        .flat_map(|phase| numbers(phase, &run.row.workload))
        .collect();
    let shown_phases = {
        let mut names: Vec<&str> = numbers.iter().map(|number| number.phase.as_str()).collect();
        names.dedup();
        names.len()
    };
    let mut shown: Vec<NumberLine> = Vec::new();
    let mut phases = 0;
    for number in numbers {
        if shown.last().is_none_or(|last| last.phase != number.phase) {
            phases += 1;
        }
        if phases > PHASES {
            break;
        }
        shown.push(number);
    }
    let hidden = shown_phases.saturating_sub(PHASES) as u64;
    let further = run.phase_count.saturating_sub(run.phases.len() as u64);
    let more = hidden + further;
    let tag = |name: &String| Link { name: name.clone(), address: parameters.with("/runs", "tag", Some(name)) };
    RunLine {
        short: short_id(&run.row.id).to_owned(),
        started: minute(&run.row.started_at),
        trust: trust(&run.row),
        tags: run.row.tags.iter().map(tag).collect(),
        place: run.row.host.into_iter().chain(run.filesystems).filter(|word| !word.is_empty()).collect(),
        numbers: shown,
        more: (more > 0).then(|| format!("and {}", counted(more, "more phase", "more phases"))),
        workload: run.row.workload,
        tool: run.tool,
        paths: run.row.paths,
        id: run.row.id,
    }
}

fn is_measured(phase: &PhaseNumbers) -> bool {
    !phase.name.starts_with(PRECONDITIONING)
}

fn numbers(phase: &PhaseNumbers, workload: &str) -> Vec<NumberLine> {
    let number = |headline: plumb_report::full::Headline| NumberLine {
        phase: phase.name.clone(),
        // A phase that is named for its workload or its op needs no second word.
        shown: if phase.name == workload { String::new() } else { format!("{} ", phase.name) },
        what: if phase.name != workload && phase.name.ends_with(headline.what) { "" } else { headline.what },
        rate: headline.rate,
        tier: headline.tier.map(tier),
    };
    headlines(&phase.metrics).into_iter().map(number).collect()
}

fn tier(tier: TierName) -> Mark {
    let class = match tier {
        TierName::Device | TierName::Server => "good",
        TierName::Mixed => "caution",
        TierName::Cache => "bad",
        TierName::Unknown => "faint",
    };
    Mark { word: tier.name(), class }
}
