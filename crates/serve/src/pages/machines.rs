//! Machines and their storage, and what changed between two runs.

use super::frame::{Frame, Section, html};
use super::words::{Link, counted, minute};
use crate::app::App;
use crate::fault::Fault;
use crate::parameters::{Parameters, address};
use crate::readers::Effort;
use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Html;
use plumb_report::facts;
use plumb_report::format::{MISSING, bytes_iec};
use plumb_report::run::short_id;
use plumb_result::observe::TargetFacts;
use plumb_store::{FactDifference, MachineRow, ServedStore, StorageRow};
use std::sync::Arc;

#[derive(Template)]
#[template(path = "machines.html")]
struct MachinesPage {
    frame: Frame,
    machines: Vec<Machine>,
}

struct Machine {
    host: String,
    hardware: String,
    kernels: String,
    runs: Link,
    last: String,
    storage: Vec<Storage>,
}

struct Storage {
    path: String,
    stack: String,
    models: String,
    options: String,
    runs: String,
    last: String,
}

pub(crate) async fn page(State(app): State<Arc<App>>) -> Result<Html<String>, Fault> {
    let machines = app.readers.read(Effort::Brief, |store: &dyn ServedStore| Ok(store.machines()?)).await?;
    let page = MachinesPage {
        frame: Frame::new("Machines", Section::Machines),
        machines: machines.into_iter().map(machine).collect(),
    };
    Ok(html(&page))
}

fn machine(row: MachineRow) -> Machine {
    let mut hardware =
        vec![row.cpu, counted(row.cpus, "processor", "processors"), bytes_iec(row.ram_bytes as f64), row.arch];
    match row.virtualisation.as_deref() {
        Some("none") => hardware.push("not virtual".to_owned()),
        Some(name) => hardware.push(format!("virtual ({name})")),
        None => {}
    }
    hardware.retain(|word| !word.is_empty());
    Machine {
        hardware: hardware.join(", "),
        kernels: row.kernels.join(", "),
        runs: Link { name: counted(row.runs, "run", "runs"), address: address("/runs", "host", &row.host) },
        last: minute(&row.last_at),
        storage: row.storage.into_iter().map(storage).collect(),
        host: row.host,
    }
}

fn storage(row: StorageRow) -> Storage {
    let of = |word: fn(&TargetFacts) -> String| row.facts.as_ref().map(word).unwrap_or_default();
    Storage {
        stack: of(facts::storage),
        models: of(models),
        options: of(|facts| facts.filesystem.value().map(|fs| fs.options.join(",")).unwrap_or_default()),
        runs: counted(row.runs, "run", "runs"),
        last: minute(&row.last_at),
        path: row.path,
    }
}

/// Returns the models of the disks in a stack, with their sizes.
fn models(facts: &TargetFacts) -> String {
    let model = |layer: &plumb_result::observe::BlockLayer| {
        let model = layer.model.as_deref().filter(|model| !model.is_empty())?;
        Some(format!("{model} ({})", bytes_iec(layer.size_bytes as f64)))
    };
    facts.stack.iter().filter_map(model).collect::<Vec<_>>().join(", ")
}

#[derive(Template)]
#[template(path = "changes.html")]
struct ChangesPage {
    frame: Frame,
    sides: [Link; 2],
    compare: String,
    groups: Vec<ChangeGroup>,
}

/// Facts that changed, of one kind.
struct ChangeGroup {
    title: &'static str,
    rows: Vec<Change>,
}

struct Change {
    fact: String,
    left: String,
    right: String,
}

/// What changed between two runs: `/changes?a=ID&b=ID`.
pub(crate) async fn changes(State(app): State<Arc<App>>, RawQuery(query): RawQuery) -> Result<Html<String>, Fault> {
    let parameters = Parameters::parse(query.as_deref())?;
    let side = |name: &str| {
        let missing = || Fault::Request(format!("`{name}` is missing: name two runs, as in /changes?a=ID&b=ID"));
        parameters.get(name).map(str::to_owned).ok_or_else(missing)
    };
    let (left, right) = (side("a")?, side("b")?);
    let read = move |store: &dyn ServedStore| {
        let (left, right) = (store.find(&left)?, store.find(&right)?);
        let rows = [store.run(&left)?, store.run(&right)?];
        Ok((store.diff(&left, &right)?, rows))
    };
    let (differences, rows) = app.readers.read(Effort::Long, read).await?;
    let sides = rows.each_ref().map(|row| Link {
        name: format!("{} of {}, {}", row.workload, minute(&row.started_at), short_id(&row.id)),
        address: format!("/runs/{}", row.id),
    });
    let [a, b] = rows.each_ref().map(|row| format!("run:{}", row.id));
    let page = ChangesPage {
        frame: Frame::new("What changed", Section::Machines),
        sides,
        compare: Parameters::new([("a", &a), ("b", &b)]).address("/compare"),
        groups: groups(differences),
    };
    Ok(html(&page))
}

/// Sorts facts by kind, without measured numbers: the comparison of the two runs has those, with the digits that they support.
fn groups(differences: Vec<FactDifference>) -> Vec<ChangeGroup> {
    const KINDS: [(&str, &str); 4] =
        [("Machine and settings", "environment."), ("Storage", "target."), ("Workload", "workload."), ("Outcome", "")];
    let mut groups: Vec<ChangeGroup> = KINDS.iter().map(|(title, _)| ChangeGroup { title, rows: Vec::new() }).collect();
    for FactDifference { fact, left, right } in differences {
        if fact.starts_with("phases.") {
            continue;
        }
        let Some(kind) = KINDS.iter().position(|(_, start)| fact.starts_with(start)) else { continue };
        let name = fact.strip_prefix(KINDS[kind].1).unwrap_or(&fact).to_owned();
        let side = |value: Option<String>| value.unwrap_or_else(|| MISSING.to_owned());
        groups[kind].rows.push(Change { fact: name, left: side(left), right: side(right) });
    }
    groups.retain(|group| !group.rows.is_empty());
    groups
}
