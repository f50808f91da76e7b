//! Translates fio's jobs to Plumb without running them.

use super::{or_complain, warn};
use plumb_engine::guard::space::Space;
use plumb_tools_fio::fio::Fio;
use plumb_tools_fio::fio::lower::{self, Entropy, Lowered, Places, Unrunnable};
use plumb_tools_run::runner::Step;
use plumb_workload::{Target, Workload};
use plumb_workload_text::native;
use plumb_workload_text::validate::validate;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Returns the jobs as a native workload file, which `plumb run` accepts (`--translate`).
pub(super) fn translate(fio: &Fio, places: &mut dyn Places) -> Step<String> {
    let lowered = lowered(fio, places)?;
    let text = or_complain(native::to_toml(&lowered.workload).map_err(|error| [error]))?;
    Ok(format!("{}\n{text}", heading(fio, &lowered)))
}

/// Returns the plan: the files that the jobs use, how much they transfer, and when (`--plan`).
pub(super) fn plan(fio: &Fio, places: &mut dyn Places) -> Step<String> {
    let lowered = lowered(fio, places)?;
    let mut text = lower::plan(&lowered.plan);
    for line in beyond_the_space(&lowered) {
        text.push_str(&format!("\nwould be refused: {line}\n"));
    }
    Ok(text)
}

/// Predicts the write guard's verdict on free space: a sentence for each file system that is too small.
fn beyond_the_space(lowered: &Lowered) -> Vec<String> {
    let mut needed: BTreeMap<u64, (PathBuf, u64)> = BTreeMap::new();
    for target in lowered.workload.target.values() {
        let Target::JobFiles(files) = target else { continue };
        for number in 0..files.names.count() {
            let (Some(path), Some(length)) = (files.names.path(number), files.length(number)) else { continue };
            let there_bytes = match std::fs::metadata(&path) {
                Ok(found) if found.is_file() => found.blocks() * 512,
                Ok(_) => continue,
                Err(_) => 0,
            };
            let Some((device, place)) = place_of(&path) else { continue };
            let (_, bytes) = needed.entry(device).or_insert((place, 0));
            *bytes = bytes.saturating_add(length.0.saturating_sub(there_bytes));
        }
    }
    let refusal = |(place, bytes): &(PathBuf, u64)| {
        let space = Space::read(File::open(place).ok()?).ok()??;
        Space::admit(Some(space), place, *bytes).err().map(|refusal| refusal.to_string())
    };
    needed.values().filter_map(refusal).collect()
}

/// Returns the nearest existing directory and its file system.
fn place_of(path: &Path) -> Option<(u64, PathBuf)> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().skip(1).find_map(|place| Some((std::fs::metadata(place).ok()?.dev(), place.to_owned())))
}

/// Lowers the jobs and prints warnings.
fn lowered(fio: &Fio, places: &mut dyn Places) -> Step<Lowered> {
    // The output must not vary between calls, even with `randrepeat=0`.
    let lowered =
        or_complain(lower::lower(fio, places, Entropy(Workload::DEFAULT_SEED), validate).map_err(|errors| errors.0))?;
    warn(fio, &[], &lowered.warnings)?;
    Ok(lowered)
}

/// Returns the comment above the workload: its origin, and the parts that cannot run.
fn heading(fio: &Fio, lowered: &Lowered) -> String {
    let mut lines = vec!["# Translated from fio jobs.".to_owned()];
    let untold = |one: &Unrunnable| {
        format!("# Plumb cannot run the job {}: {}: {}.", one_line(&fio.jobs[one.job].name), one.what, one.why)
    };
    lines.extend(lowered.unrunnable.iter().map(untold));
    lines.join("\n")
}

/// Returns a name that cannot end the comment.
fn one_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
