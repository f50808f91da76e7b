//! The first lines of a page: the storage, the amount of data, the duration.

use super::PageOptions;
use super::ranks;
use crate::facts;
use crate::format;
use crate::measure;
use crate::style::{Ink, Style};
use plumb_result::RunResult;
use plumb_result::assertion::PRECONDITIONING;
use plumb_workload::{Size, Target};

/// Returns `/mnt/data   ext4 on loop0 → vda (virtual disk)      1 GiB file, 25 s`, one line for each storage.
pub(super) fn head(result: &RunResult, options: &PageOptions<'_>, style: &Style) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    for facts in result.target.values() {
        let line = (facts.path.clone(), facts::storage(facts));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let about = about(result, options);
    let ranks = ranks::line(result, options.detail).map_or(String::new(), |line| format!("{}\n", style.wrap(&line, 2)));
    let mut text = String::new();
    if let Some(name) = options.name {
        text.push_str(&format!("{}\n", style.ink(Ink::Strong, name)));
    }
    for (number, (path, storage)) in lines.iter().enumerate() {
        let both = if storage.is_empty() { path.clone() } else { format!("{path}   {storage}") };
        let width = measure::width(&both);
        // The description of the work is at the right of the first line if it fits, and below it otherwise.
        if number == 0 && lines.len() == 1 && width + 3 + measure::width(&about) <= style.width {
            let room = style.width.min(HEAD_WIDTH.max(width + 3 + measure::width(&about))) - width;
            text.push_str(&format!("{}{}\n", style.ink(Ink::Strong, &both), measure::right(&about, room)));
            return text + &ranks + "\n";
        }
        text.push_str(&format!("{}\n", style.ink(Ink::Strong, &style.wrap(&both, 2))));
    }
    text.push_str(&format!("{}\n{ranks}\n", style.wrap(&about, 2)));
    text
}

/// Largest width of the head, which is that of the tables below, so that its right side aligns with theirs.
const HEAD_WIDTH: usize = 80;

/// Describes the work: `random-read, 1 GiB file, 25 s`.
fn about(result: &RunResult, options: &PageOptions<'_>) -> String {
    let mut words = Vec::new();
    if !super::survey::is_survey(result) && !result.workload.name.is_empty() {
        words.push(result.workload.name.clone());
    }
    words.extend(data(result));
    let measured = |name: &str| !name.starts_with(PRECONDITIONING);
    let wall_ns: u64 = result.phases.iter().filter(|phase| measured(&phase.name)).map(|phase| phase.wall_ns).sum();
    words.push(format::time_brief(wall_ns as f64));
    if options.runs > 1 {
        words.push(format!("medians of {} runs", options.runs));
    }
    words.join(", ")
}

/// Describes the largest file or device, and the number of files in a file set.
fn data(result: &RunResult) -> Vec<String> {
    let size = |target: &Target| match target {
        Target::File(file) => file.size.and_then(fixed),
        Target::Files(files) => fixed(files.size).map(|bytes| bytes * u64::from(files.count)),
        Target::Device(device) => device.size.and_then(fixed),
        Target::Sim(sim) => Some(sim.size.0),
        _ => None,
    };
    let bytes = result.workload.target.values().filter_map(size).max();
    let files: u64 = result
        .workload
        .target
        .values()
        .map(|target| if let Target::Tree(tree) = target { tree.files } else { 0 })
        .max()
        .unwrap_or(0);
    let is_device = result.workload.target.values().all(|target| matches!(target, Target::Device(_)));
    let what = if is_device { "" } else { " file" };
    let mut words: Vec<String> =
        bytes.map(|bytes| format!("{}{what}", format::bytes_brief(bytes as f64))).into_iter().collect();
    if words.is_empty() && files > 0 {
        words.push(format!("{files} files"));
    }
    if result.ranks.is_some() {
        words.iter_mut().for_each(|word| word.push_str(" per rank"));
    }
    words
}

fn fixed(size: Size) -> Option<u64> {
    size.fixed().map(|bytes| bytes.0)
}
