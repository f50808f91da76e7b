//! The largest space that a run's data takes at once.

use crate::file::dialect::{self, NoFiles, NoMachine, NoPlaces};
use crate::plan::estimate;
use plumb_lab::protocol::HostWork;
use plumb_tools_app::elbencho;
use plumb_tools_classic::{bonnie, dd, iozone, postmark};
use plumb_tools_fio::fio;
use plumb_workload::{Target, Workload};
use plumb_workload_text::validate::validate;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Returns the bytes of the largest set of files that exists at once, on a host with this much memory; `None` if
/// unknown. `native` is the work, if it is Plumb's own.
pub(super) fn held_bytes(work: &HostWork, native: Option<&Workload>, ram_bytes: u64) -> Option<u64> {
    match (work, native) {
        (HostWork::Native { .. }, Some(workload)) => workload_holds(workload, ram_bytes),
        (HostWork::Native { .. }, None) | (HostWork::Conformance(_), _) => None,
        (HostWork::Dialect { tool, args, stdin }, _) => {
            let words: Vec<String> = args.iter().map(|word| dialect::with_memory(word, ram_bytes as f64)).collect();
            match tool.as_str() {
                "iozone" => iozone_holds(&words),
                "bonnie++" => bonnie_holds(&words, ram_bytes),
                "dd" => dd_holds(&words),
                "fio" => fio_holds(&words),
                "elbencho" => elbencho_holds(&words),
                "postmark" => Some(postmark_holds(&dialect::with_memory(stdin, ram_bytes as f64))),
                _ => None,
            }
        }
    }
}

/// All targets exist until the end.
fn workload_holds(workload: &Workload, ram_bytes: u64) -> Option<u64> {
    let mut sum = 0_u64;
    for target in workload.target.values() {
        let bytes = match target {
            Target::Sim(_) | Target::Null(_) => 0,
            Target::File(file) if file.size.is_none() => continue,
            Target::Device(device) if device.size.is_none() => continue,
            target => estimate::target_bytes(target, Some(ram_bytes))?,
        };
        sum = sum.saturating_add(bytes);
    }
    Some(sum)
}

fn iozone_holds(words: &[String]) -> Option<u64> {
    let iozone::Action::Run(settings) = iozone::read(words, &mut NoMachine).ok()? else { return None };
    match &settings.mode {
        iozone::TestMode::Single(point) => point.file_kb.checked_mul(1024),
        iozone::TestMode::Throughput { counts, point, .. } => {
            let most = u64::from(counts.iter().copied().max()?);
            point.file_kb.checked_mul(1024)?.checked_mul(most)
        }
        iozone::TestMode::Auto(_) => None,
    }
}

fn bonnie_holds(words: &[String], ram_bytes: u64) -> Option<u64> {
    let machine = bonnie::Machine { ram_mib: (ram_bytes >> 20) as i64, ..bonnie::Machine::default() };
    let settings = bonnie::BonnieSettings::read("bonnie++", words, &machine).ok()?;
    Some((settings.large.size_mib.max(0) as u64).saturating_mul(1 << 20))
}

/// Counts a file that it creates, but not a device.
fn dd_holds(words: &[String]) -> Option<u64> {
    let dd = dd::read(words, dd::Marks::Straight).ok()?;
    if dd.output.as_deref().is_none_or(|path| path.starts_with("/dev/")) {
        return None;
    }
    let count = dd.count.filter(|count| !count.counts_bytes && !count.is_zero_multiplier)?;
    let block = dd.block.or(dd.input_block).unwrap_or(512);
    count.value.checked_mul(block)
}

/// Counts files that jobs lay out, each once.
fn fio_holds(words: &[String]) -> Option<u64> {
    let read = fio::read(words, &fio::Machine::default(), &mut NoFiles).ok()?;
    let lowered = fio::lower::lower(&read, &mut NoPlaces, fio::lower::Entropy(0), validate).ok()?;
    let mut files: BTreeMap<PathBuf, u64> = BTreeMap::new();
    for target in lowered.workload.target.values() {
        let Target::JobFiles(job) = target else { continue };
        for number in 0..job.names.count() {
            if let (Some(path), Some(bytes)) = (job.names.path(number), job.length(number))
                && !path.starts_with("/dev")
            {
                let known = files.entry(path).or_default();
                *known = (*known).max(bytes.0);
            }
        }
    }
    (!files.is_empty()).then(|| files.values().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes)))
}

/// Counts files of the given size, for each thread in each of its directories if the path is a directory.
fn elbencho_holds(words: &[String]) -> Option<u64> {
    let settings = elbencho::read(words, &mut |_| Ok(String::new())).ok()?;
    if settings.tree.is_some() || settings.paths.iter().any(|path| path.starts_with("/dev/")) {
        return None;
    }
    // Only the host knows whether a path is a file or a directory: one file is the minimum.
    settings.dataset.size.checked_mul(settings.paths.len().max(1) as u64)
}

/// As many files are removed as are created: the pool keeps its initial size.
fn postmark_holds(stdin: &str) -> u64 {
    let mut language = postmark::Language::default();
    stdin.lines().for_each(|line| drop(language.obey_typed(line)));
    let settings = &language.settings;
    let mean = f64::midpoint(f64::from(settings.low), f64::from(settings.high));
    (f64::from(settings.number) * mean) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool_holds(tool: &str, args: &str, stdin: &str) -> Option<u64> {
        let args = args.split_whitespace().map(str::to_owned).collect();
        held_bytes(&HostWork::Dialect { tool: tool.to_owned(), args, stdin: stdin.to_owned() }, None, 1 << 30)
    }

    // Protects: data reported as too large is too large, because no tool's files are overestimated.
    #[test]
    fn the_files_of_each_tool_are_counted_once() {
        assert_eq!(tool_holds("iozone", "-i 0 -i 1 -s 64m -r 4k", ""), Some(64 << 20));
        // In the form that a study writes: a number of KiB.
        assert_eq!(tool_holds("iozone", "-i 0 -s ${ram*0.0009765625}k -r 4k", ""), Some(1 << 30));
        assert_eq!(tool_holds("iozone", "-t 4 -i 0 -s 1m -r 4k", ""), Some(4 << 20));
        assert_eq!(tool_holds("bonnie++", "-s 2048 -u root", ""), Some(2 << 30));
        assert_eq!(tool_holds("dd", "if=/dev/zero of=out bs=1M count=100", ""), Some(100 << 20));
        assert_eq!(tool_holds("dd", "if=in of=/dev/null bs=1M count=100", ""), None);
        let jobs = "--name=a --rw=read --size=8m --filename=x --name=b --rw=write --size=4m --filename=x --name=c --size=1m --rw=write";
        assert_eq!(tool_holds("fio", jobs, ""), Some(9 << 20));
        assert_eq!(tool_holds("postmark", "", "set number 100\nset size 1000 3000\n"), Some(200_000));
        assert_eq!(tool_holds("elbencho", "-w -s 1m -b 64k file1 file2", ""), Some(2 << 20));
    }
}
