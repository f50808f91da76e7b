//! `plumb trace show` and `plumb trace compare`.

use super::{InputArguments, stopped};
use crate::args::ReportFile;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::{output, session};
use plumb_report::trace::{answer, brief, comparison, likeness, page};
use plumb_trace::show::{Sheet, differences, distances, show as characterise};
use std::path::Path;

/// Returns a recording's sheet, with notes on lost events, and its format.
fn sheet(path: &Path, input: &InputArguments) -> Result<(Sheet, String), Stopped> {
    let mut shown = characterise(path, input.waits(), input.format()?).map_err(stopped)?;
    let notes = &mut shown.sheet.notes;
    let lost = shown.losses.len();
    if let Some(first) = shown.losses.first() {
        let more = if lost > 1 { format!(", and {} more places", lost - 1) } else { String::new() };
        notes.insert(0, format!("Damaged: byte {}: {}{more}. All else is shown.", first.at, first.reason));
    }
    if let Some(drops) = shown.facts.get("drops").filter(|drops| *drops != "0") {
        notes.insert(0, format!("{drops} events were lost while it was recorded: counts and gaps are wrong."));
    }
    if let Some(calls) = shown.facts.get("without-path") {
        notes.insert(0, format!("{calls} calls are missing: nothing said which file they were about."));
    }
    if shown.facts.get("io-uring").is_some_and(|value| value.contains("not recorded")) {
        notes.push("io_uring was used, and its ops are missing.".to_owned());
    }
    Ok((shown.sheet, shown.format.name().to_owned()))
}

pub(super) fn show(path: &Path, input: &InputArguments, report: &ReportFile, common: &Common) -> Result<End, Stopped> {
    report.writable()?;
    let (sheet, form) = sheet(path, input)?;
    let name = path.display().to_string();
    output::print(&match (common.json, common.verbose) {
        (true, _) => sheet.to_json(),
        (false, true) => page(&name, &form, &sheet, &session::style()),
        (false, false) => brief(&name, &form, &sheet, &session::style()),
    });
    report.recordings(&[&name], &[&sheet], || answer(&name, &form, &sheet))?;
    Ok(End::Done)
}

pub(super) fn compare(
    paths: [&Path; 2],
    input: &InputArguments,
    report: &ReportFile,
    common: &Common,
) -> Result<End, Stopped> {
    report.writable()?;
    let [one, other] = [sheet(paths[0], input)?.0, sheet(paths[1], input)?.0];
    let names = paths.map(|path| path.display().to_string());
    report.recordings(&[&names[0], &names[1]], &[&one, &other], || likeness([&one, &other]))?;
    if common.json {
        let metric = |found: &plumb_trace::show::Difference| {
            let [a, b] = found.values;
            format!(
                "\n    {{\"section\": \"{}\", \"name\": \"{}\", \"a\": {a}, \"b\": {b}}}",
                found.metric.section, found.metric.name
            )
        };
        let metrics: Vec<String> = differences(&one, &other).iter().map(metric).collect();
        let distance = |(name, value): &(&str, f64)| format!("\n    {{\"name\": \"{name}\", \"distance\": {value}}}");
        let distances: Vec<String> = distances(&one, &other).iter().map(distance).collect();
        output::print(&format!(
            "{{\n  \"schema\": \"plumb.trace-compare/1\",\n  \"metrics\": [{}\n  ],\n  \"distributions\": [{}\n  ]\n}}\n",
            metrics.join(","),
            distances.join(",")
        ));
    } else {
        output::print(&comparison([&names[0], &names[1]], [&one, &other], &session::style()));
    }
    Ok(End::Done)
}
