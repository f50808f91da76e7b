//! Commands on stored results: `plumb list`, `show`, `query`, `tag`, `import`.

use super::names::Names;
use jiff::Timestamp;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use plumb_import::{ForeignFile, read_results};
use plumb_report::diff::ChangedSetting;
use plumb_report::format::{self, MISSING};
use plumb_report::run::short_id;
use plumb_report::{diff, list, run};
use plumb_result::reader::FILE_BYTES_MAX;
use plumb_result::{Interval, RunResult, RunVerdict};
use plumb_store::{FactDifference, Filter, Imported, QueryCell, QueryLimits, ResultStore, StoreError, TagChange};
use plumb_trust::{ComparisonSide, SideRecord};
use plumb_workload::Nanos;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) fn list(tag: Option<&str>, number: u32, common: &Common) -> Result<End, Stopped> {
    let store = session::store_to_read(common)?;
    let filter = Filter { tag: tag.map(str::to_owned), limit: Some(number), ..Filter::default() };
    let rows = store.list(&filter)?;
    if common.json {
        session::print_json(&rows)?;
        return Ok(End::Done);
    }
    if rows.is_empty() {
        output::print(&match tag {
            Some(tag) => format!("no run has the tag `{tag}`\n"),
            None => "no runs are stored; start with `plumb try`\n".to_owned(),
        });
        return Ok(End::Done);
    }
    // The local store of one host names it nowhere else.
    let hosts = BTreeSet::from_iter(rows.iter().filter_map(|row| row.host.as_deref()));
    let has_hosts = hosts.len() > 1;
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let host = has_hosts.then(|| row.host.clone().unwrap_or_default());
            let cells = vec![
                short_id(&row.id).to_owned(),
                row.started_at.get(..16).unwrap_or(&row.started_at).replace('T', " "),
                row.workload.clone(),
                row.paths.join(" "),
                row.status.name().to_owned(),
                match row.retraction() {
                    Some(_) => "retracted".to_owned(),
                    None => row.verdict.map_or(String::new(), |verdict| verdict.name().to_owned()),
                },
                row.tags.join(","),
            ];
            cells.into_iter().chain(host).collect()
        })
        .collect();
    let head = ["run", "started (UTC)", "workload", "path", "status", "trust", "tags", "host"];
    let head = &head[..head.len() - usize::from(!has_hosts)];
    const PATHS: usize = 3;
    output::print(&list::table_with_paths(head, &cells, PATHS, &session::table_style()));
    if rows.iter().any(|row| row.verdict == Some(RunVerdict::Reject)) {
        output::print("\nComparisons ignore rejected runs; `plumb show RUN` says why they were rejected.\n");
    }
    Ok(End::Done)
}

pub(crate) fn show(id: &str, other: Option<&str>, mut names: Names, common: &Common) -> Result<End, Stopped> {
    let end = show_named(id, other, &mut names, common)?;
    names.report();
    Ok(end)
}

fn show_named(id: &str, other: Option<&str>, names: &mut Names, common: &Common) -> Result<End, Stopped> {
    let store = session::store_to_read(common)?;
    let id = match store.find(id) {
        Err(not_found @ StoreError::NotFound { .. }) => match store.find_repeated(id)?.filter(|_| other.is_none()) {
            Some(repeated) => {
                let repeated = store.repeated(&repeated)?;
                names.learn_runs(&*store, &repeated.runs().runs)?;
                super::repeat::show(&super::repeat::named(repeated, names)?, common)?;
                return Ok(End::Done);
            }
            None => return Err(not_found.into()),
        },
        found => found?,
    };
    if let Some(other) = other {
        return show_difference(&*store, &id, &store.find(other)?, names, common);
    }
    let result = match store.get(&id) {
        Err(StoreError::NoResult { id, status, reason }) => {
            let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
            return show_series(&*store, &id, &names.text(format!("{status}{reason}")), common);
        }
        result => names.shown(result?)?,
    };
    if common.json {
        session::print_json(&result)?;
    } else {
        let detail = if common.verbose { run::Detail::Full } else { run::Detail::Brief };
        let options = run::PageOptions { detail, ..run::PageOptions::STORED };
        output::print(&run::page(&result, &options, &session::style()));
        let seed = match &result.imported {
            Some(_) => String::new(),
            None => format!("  seed {}", result.workload.seed),
        };
        output::print(&format!("{}  {}{seed}\n", result.id, result.started_at));
        for row in store.list(&Filter { ids: Some(vec![id]), ..Filter::default() })? {
            for line in super::marks::lines(&row) {
                output::print(&format!("{}\n", session::style().wrap(&names.text(line), 2)));
            }
        }
    }
    Ok(End::Done)
}

fn show_difference(
    store: &dyn ResultStore,
    id: &str,
    other: &str,
    names: &mut Names,
    common: &Common,
) -> Result<End, Stopped> {
    names.learn_runs(store, &[id.to_owned(), other.to_owned()])?;
    let mut differences = store.diff(id, other)?;
    for difference in &mut differences {
        difference.fact = names.text(std::mem::take(&mut difference.fact));
        for side in [&mut difference.left, &mut difference.right] {
            *side = side.take().map(|value| names.text(value));
        }
    }
    if common.json {
        session::print_json(&differences)?;
        return Ok(End::Done);
    }
    if differences.is_empty() {
        output::print("no differences: the two runs agree in everything that is stored\n");
        return Ok(End::Done);
    }
    if !common.verbose {
        let (left, right) = (names.shown(store.get(id)?)?, names.shown(store.get(other)?)?);
        let settings = changed_settings(&left, &right, &differences);
        output::print(&diff::page(&left, &right, &settings, &session::table_style()));
        return Ok(End::Done);
    }
    let rows: Vec<Vec<String>> = differences
        .iter()
        .map(|difference| {
            let side = |value: &Option<String>| value.clone().unwrap_or_else(|| MISSING.to_owned());
            vec![difference.fact.clone(), side(&difference.left), side(&difference.right)]
        })
        .collect();
    let head = ["fact", short_id(id), short_id(other)];
    output::print(&list::table(&head, &rows, &session::table_style()));
    Ok(End::Done)
}

pub(crate) fn plot(id: &str, mut names: Names, common: &Common) -> Result<End, Stopped> {
    if common.json {
        return Err(Stopped::usage("--plot has no JSON; `plumb show --json` has the numbers"));
    }
    let store = session::store_to_read(common)?;
    let result = names.shown(store.get(id)?)?;
    let mut phases = store.intervals(&result.id)?;
    phases.iter_mut().for_each(|phase| phase.name = names.text(std::mem::take(&mut phase.name)));
    let series: Vec<_> = phases.iter().map(|phase| (phase.name.as_str(), phase.intervals.as_slice())).collect();
    output::print(&plumb_report::plot::page(&result, &series, &session::style()));
    names.report();
    Ok(End::Done)
}

/// Returns changed settings of the work, then of the environment. Leaves out recorded facts that vary by themselves.
fn changed_settings(left: &RunResult, right: &RunResult, differences: &[FactDifference]) -> Vec<ChangedSetting> {
    let side = |value: &Option<String>| value.clone().unwrap_or_else(|| MISSING.to_owned());
    let of_work = differences.iter().filter_map(|difference| {
        // The target's path is listed already.
        let name = difference.fact.strip_prefix("workload.").filter(|name| !name.ends_with(".sim.device"))?;
        let name = name.strip_prefix("phase.").unwrap_or(name);
        Some(ChangedSetting { name: name.to_owned(), left: side(&difference.left), right: side(&difference.right) })
    });
    let record = SideRecord::default();
    let [a, b] = [left, right].map(|run| ComparisonSide {
        name: "",
        environment: &run.environment,
        targets: &run.target,
        runs: 1,
        record: &record,
    });
    let of_place = plumb_trust::differences(&a, &b).into_iter().map(|difference| ChangedSetting {
        name: difference.short().to_owned(),
        left: difference.baseline,
        right: difference.candidate,
    });
    let paths = left
        .target
        .values()
        .zip(right.target.values())
        .filter(|(a, b)| a.path != b.path)
        .map(|(a, b)| ChangedSetting { name: "path".to_owned(), left: a.path.clone(), right: b.path.clone() });
    let mut settings: Vec<ChangedSetting> = paths.collect();
    settings.extend(of_work);
    settings.extend(of_place);
    settings
}

/// JSON form of a run without a result.
#[derive(Serialize)]
struct PartialRun<'a> {
    id: &'a str,
    status: &'a str,
    partial: bool,
    phases: Vec<PartialPhase<'a>>,
}

/// Intervals that a phase measured, one per second.
#[derive(Serialize)]
struct PartialPhase<'a> {
    name: &'a str,
    intervals: &'a [Interval],
}

/// Shows a run without a result, because it was killed or failed: its intervals, one per second.
fn show_series(store: &dyn ResultStore, id: &str, status: &str, common: &Common) -> Result<End, Stopped> {
    let phases = store.intervals(id)?;
    if common.json {
        let phases = phases.iter().map(|phase| PartialPhase { name: &phase.name, intervals: &phase.intervals });
        session::print_json(&PartialRun { id, status, partial: true, phases: phases.collect() })?;
        return Ok(End::Done);
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for phase in &phases {
        for interval in &phase.intervals {
            let seconds = interval.length_ns as f64 / 1e9;
            let time = |ns: Option<u64>| ns.map_or(MISSING.to_owned(), |ns| format::time(ns as f64));
            for (kind, ops) in &interval.ops {
                rows.push(vec![
                    phase.name.clone(),
                    format::time((interval.start_ns + interval.length_ns) as f64),
                    kind.name().to_owned(),
                    format::per_second(ops.count as f64 / seconds),
                    if ops.bytes > 0 { format::rate_si(ops.bytes as f64 / seconds) } else { String::new() },
                    time(ops.p50_ns),
                    time(ops.p99_ns),
                ]);
            }
        }
    }
    output::print(&format!("Run {} has no result: {status}.\n", short_id(id)));
    if rows.is_empty() {
        output::print("Nothing was measured.\n");
        return Ok(End::Done);
    }
    output::print("Measured until then, second by second:\n\n");
    let head = ["phase", "until", "op", "rate", "bytes", "p50", "p99"];
    output::print(&list::table(&head, &rows, &session::table_style()));
    Ok(End::Done)
}

pub(crate) fn query(sql: Option<&str>, timeout: Nanos, common: &Common) -> Result<End, Stopped> {
    let store = session::store_to_read(common)?;
    let limits = QueryLimits { time: Duration::from_nanos(timeout.0), ..QueryLimits::default() };
    let table = match sql {
        Some(sql) => store.query_within(sql, &limits).map_err(Stopped::usage)?,
        None => store.tables()?,
    };
    if common.json {
        session::print_json(&table)?;
        return Ok(End::Done);
    }
    let cell = |cell: &QueryCell| match cell {
        QueryCell::Null => String::new(),
        QueryCell::Integer(number) => number.to_string(),
        QueryCell::Real(number) => number.to_string(),
        QueryCell::Text(text) => text.clone(),
        QueryCell::Blob(bytes) => format!("{} bytes", bytes.len()),
    };
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    let head: Vec<&str> = table.columns.iter().map(String::as_str).collect();
    output::print(&list::table(&head, &rows, &session::table_style()));
    Ok(End::Done)
}

pub(crate) fn tag(run: &str, tag: &str, delete: bool, common: &Common) -> Result<End, Stopped> {
    let mut store = session::store_to_change(common)?;
    let change = if delete { TagChange::Remove } else { TagChange::Add };
    store.tag(run, tag, change)?;
    Ok(End::Done)
}

/// Adds results from files to the store. Adds nothing if one of the results cannot be read.
pub(crate) fn import(files: &[PathBuf], from: Option<&str>, common: &Common) -> Result<End, Stopped> {
    let mut results: Vec<(&Path, Vec<RunResult>)> = Vec::with_capacity(files.len());
    for file in files {
        let (bytes, changed_at) = read_limited(file)?;
        let name = plumb_result::path_text(file);
        let foreign = ForeignFile { name: &name, bytes: &bytes, changed_at };
        let read =
            read_results(&foreign, from).map_err(|error| Stopped::usage(format!("{}: {error}", file.display())))?;
        results.push((file, read));
    }
    let mut store = session::store(common)?;
    let mut rows: Vec<ImportedRun> = Vec::new();
    for (file, results) in &results {
        for result in results {
            let imported = store
                .import(result)
                .map_err(|error| Stopped { message: format!("{}: {error}", file.display()), ..error.into() })?;
            rows.push(ImportedRun { run: result.id.clone(), workload: result.workload.name.clone(), imported });
        }
    }
    if common.json {
        session::print_json(&rows)?;
        return Ok(End::Done);
    }
    let line = |row: &ImportedRun| {
        let what = match row.imported {
            Imported::Added => "added",
            Imported::Completed => "added to its unfinished run",
            Imported::Unchanged => "already stored, unchanged",
            Imported::Reread => "already stored, completed by what this version reads",
        };
        format!("{}  {}: {what}\n", short_id(&row.run), row.workload)
    };
    output::print(&rows.iter().map(line).collect::<String>());
    if rows.is_empty() {
        output::print("nothing to import: the list of results is empty\n");
    }
    Ok(End::Done)
}

#[derive(Serialize)]
struct ImportedRun {
    run: String,
    workload: String,
    imported: Imported,
}

/// Reads all results of a file, of Plumb or of another tool.
pub(super) fn read_file(file: &Path) -> Result<Vec<RunResult>, Stopped> {
    let (bytes, changed_at) = read_limited(file)?;
    let name = plumb_result::path_text(file);
    let foreign = ForeignFile { name: &name, bytes: &bytes, changed_at };
    read_results(&foreign, None).map_err(|error| Stopped::usage(format!("{}: {error}", file.display())))
}

/// Reads a file, and returns its bytes and the time of its last change.
fn read_limited(file: &Path) -> Result<(Vec<u8>, Timestamp), Stopped> {
    let failed = |error: std::io::Error| Stopped::io(format!("{}: {error}", file.display()));
    let (mut source, changed_at): (Box<dyn Read>, Timestamp) = match file.to_str() {
        Some("-") => (Box::new(std::io::stdin()), Timestamp::now()),
        _ => {
            let opened = std::fs::File::open(file).map_err(failed)?;
            let changed = opened.metadata().and_then(|facts| facts.modified()).map_err(failed)?;
            (Box::new(opened), Timestamp::try_from(changed).unwrap_or_default())
        }
    };
    let mut text = Vec::new();
    let length = (&mut source).take(FILE_BYTES_MAX + 1).read_to_end(&mut text).map_err(failed)?;
    match length as u64 {
        length if length > FILE_BYTES_MAX => Err(Stopped::usage(format!(
            "{}: too long for a file of results; the limit is {}",
            file.display(),
            format::bytes_iec(FILE_BYTES_MAX as f64)
        ))),
        _ => Ok((text, changed_at)),
    }
}
