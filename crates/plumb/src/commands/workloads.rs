//! `plumb workloads` and `plumb run NAME --explain`: lists the named workloads and the sources of their numbers.

use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use plumb_report::loads;
use plumb_workload::named::{Explanation, WorkloadTitle};
use plumb_workload_text::named::{self, LOADS, NAMED, NamedWorkload};

/// Output of `plumb workloads --json`.
#[derive(serde::Serialize)]
struct Listed<'a> {
    schema: &'a str,
    workloads: Vec<ListedWorkload<'a>>,
}

/// A named workload, as printed by `plumb workloads --json`.
#[derive(serde::Serialize)]
struct ListedWorkload<'a> {
    name: &'a str,
    about: &'a str,
    headline: &'a [&'a str],
    not_an_official_result_of: Option<&'a str>,
}

/// A workload with its sources, as printed by `plumb run NAME --explain --json`.
#[derive(serde::Serialize)]
struct ExplainedWorkload<'a> {
    schema: &'a str,
    #[serde(flatten)]
    workload: ListedWorkload<'a>,
    notes: &'a [String],
    settings: Vec<ExplainedSetting<'a>>,
}

#[derive(serde::Serialize)]
struct ExplainedSetting<'a> {
    part: &'a str,
    setting: &'a str,
    rests_on: &'a str,
    source: &'a str,
}

fn listed(named: &'static NamedWorkload) -> ListedWorkload<'static> {
    ListedWorkload {
        name: named.name,
        about: named.about,
        headline: named.headline,
        not_an_official_result_of: named.banner,
    }
}

pub(crate) fn list(common: &Common) -> Result<End, Stopped> {
    if common.json {
        let workloads = named::every().map(listed).collect();
        session::print_json(&Listed { schema: "plumb.workloads/1", workloads })?;
    } else {
        let [own, others] =
            [NAMED, LOADS].map(|all| all.iter().map(NamedWorkload::title).collect::<Vec<WorkloadTitle>>());
        output::print(&loads::list(&own, &others, &session::style()));
    }
    Ok(End::Done)
}

/// Prints the source of each number of a workload.
pub(crate) fn explain(name: &str, common: &Common) -> Result<End, Stopped> {
    let found = named::select(name).map_err(|error| {
        Stopped::usage(format!("{error}\n--explain is for named workloads: the comments of a file are its own"))
    })?;
    let [named] = found.as_slice() else {
        return Err(Stopped::usage(format!("`{name}` names several workloads; name one of them")));
    };
    let explanation: Explanation = named.explanation();
    if common.json {
        let settings = explanation.settings.iter().map(|one| ExplainedSetting {
            part: &one.part,
            setting: &one.setting,
            rests_on: one.evidence.name(),
            source: &one.source,
        });
        let explained = ExplainedWorkload {
            schema: "plumb.workload-explained/1",
            workload: listed(named),
            notes: &explanation.notes,
            settings: settings.collect(),
        };
        session::print_json(&explained)?;
    } else {
        output::print(&loads::page(&explanation, &session::style()));
    }
    Ok(End::Done)
}
