//! Rules about the commands themselves.

use super::rule::{AppliedTo, Draft, Rule, distinct, grouped, ids, listed};
use crate::command::{self, CommandAction, DdCommand, FioCommand};
use crate::form::Explained;
use crate::numbers::PrintedUnit;
use crate::view::{CellView, View};
use plumb_result::Level;
use plumb_trust::text::{bytes, bytes_exact, count, nanos, percent};

pub(crate) static ONE_FLUSH: Rule = Rule {
    code: "A3",
    name: "one-flush",
    what: "A flag that flushes each write, on a command that makes one write.",
    fix: "Use the block size of the real workload, or flush once at the end and say so.",
    stage: AppliedTo::Study(one_flush),
};

pub(crate) static QUEUE_DEPTH: Rule = Rule {
    code: "B1",
    name: "queue-depth",
    what: "A queue depth that the I/O engine cannot keep.",
    fix: "Use io_uring, or libaio with direct=1, or state depth 1.",
    stage: AppliedTo::Study(queue_depth),
};

pub(crate) static SOURCE: Rule = Rule {
    code: "B5",
    name: "source",
    what: "Writes that are fed by a random number generator while the clock runs.",
    fix: "Make a file of random data first, in memory, and copy that.",
    stage: AppliedTo::Study(source),
};

pub(crate) static SAME_BLOCKS: Rule = Rule {
    code: "B7",
    name: "same-blocks",
    what: "Streams that go over the same blocks: the first one reads them, and a cache serves the others.",
    fix: "Give each stream a part of its own (offset_increment), or a file of its own.",
    stage: AppliedTo::Study(same_blocks),
};

pub(crate) static TOO_SHORT: Rule = Rule {
    code: "E7",
    name: "too-short",
    what: "A run of a few seconds, by its run time or by bytes and rate, which shows neither full caches nor writeback.",
    fix: "Run for at least 30 seconds, or say that only the first seconds were measured.",
    stage: AppliedTo::Study(too_short),
};

pub(crate) static RESYNC: Rule = Rule {
    code: "C2",
    name: "resync",
    what: "Tests on a newly created array, without mention of waiting for its first resync.",
    fix: "Wait for the resync (mdadm --wait) before the first test.",
    stage: AppliedTo::Study(resync),
};

pub(crate) static BUFFER: Rule = Rule {
    code: "C9",
    name: "buffer",
    what: "A block size close to the size of memory, so that the buffer alone makes the system swap.",
    fix: "Use blocks of at most a few MiB.",
    stage: AppliedTo::Study(buffer),
};

pub(crate) static DESTROYS: Rule = Rule {
    code: "P3",
    name: "destroys",
    what: "A command that overwrites a device while a file system on it is mounted.",
    fix: "Write to a file on the file system, or to an unused device.",
    stage: AppliedTo::Study(destroys),
};

pub(crate) static SWAPPED: Rule = Rule {
    code: "P4",
    name: "swapped",
    what: "A dd with /dev/null as input: input and output are swapped, and the file that it should read is truncated.",
    fix: "Read with if=FILE of=/dev/null.",
    stage: AppliedTo::Study(swapped),
};

pub(crate) static IDLE_OPTION: Rule = Rule {
    code: "P5",
    name: "idle-option",
    what: "An option without effect in its command.",
    fix: "Leave it out, or use the option that does what was intended.",
    stage: AppliedTo::Study(idle_option),
};

pub(crate) static MISREAD_OPTION: Rule = Rule {
    code: "P6",
    name: "misread-option",
    what: "An option that does not do what the study says.",
    fix: "Read the tool's manual for the unit and the meaning of the option.",
    stage: AppliedTo::Study(misread_option),
};

pub(crate) static CANNOT_RUN: Rule = Rule {
    code: "P7",
    name: "cannot-run",
    what: "A command that the tool rejects as printed, so something else was run.",
    fix: "Generate the printed commands from what was run.",
    stage: AppliedTo::Study(cannot_run),
};

fn dds(actions: &[CommandAction]) -> impl Iterator<Item = &DdCommand> {
    actions.iter().filter_map(|action| match action {
        CommandAction::Dd(dd) => Some(dd.as_ref()),
        _ => None,
    })
}

/// Drafts a finding for each distinct `dd` that `says` objects to, with its cells.
fn by_dd<'a, 'v>(
    view: &'a View<'v>,
    says: impl Fn(&CellView<'_>, &DdCommand) -> Option<(Level, String, String)>,
) -> Vec<Draft> {
    let mut found: Vec<Draft> = Vec::new();
    for cell in &view.cells {
        for dd in dds(&cell.actions) {
            let Some((level, observed, message)) = says(cell, dd) else { continue };
            match found.iter_mut().find(|draft| draft.message == message) {
                Some(draft) => draft.cells.push(cell.id()),
                None => found.push(Draft { level, cells: vec![cell.id()], observed, message }),
            }
        }
    }
    found
}

/// Drafts a finding for each distinct `fio` that `says` objects to, with its cells.
fn by_fio<'a, 'v>(view: &'a View<'v>, says: impl Fn(&FioCommand) -> Option<(String, String)>) -> Vec<Draft> {
    let mut found: Vec<Draft> = Vec::new();
    for cell in &view.cells {
        for action in &cell.actions {
            let CommandAction::Fio(fio) = action else { continue };
            let Some((observed, message)) = says(fio) else { continue };
            match found.iter_mut().find(|draft| draft.message == message) {
                Some(draft) => draft.cells.push(cell.id()),
                None => found.push(Draft { level: Level::Warn, cells: vec![cell.id()], observed, message }),
            }
        }
    }
    found
}

fn queue_depth(view: &View<'_>) -> Vec<Draft> {
    by_fio(view, |fio| {
        let (depth, engine, why) = fio.ineffective_depth()?;
        Some((
            format!("iodepth={depth} with ioengine={engine}"),
            format!("iodepth={depth} has no effect with ioengine={engine}: {why}, so the depth was 1."),
        ))
    })
}

fn source(view: &View<'_>) -> Vec<Draft> {
    by_dd(view, |_, dd| {
        let generator = dd.generator().filter(|_| !dd.is_read())?;
        Some((
            Level::Warn,
            format!("if={generator}"),
            format!(
                "dd wrote what {generator} made while the clock ran: the rate may be the generator's, not the disk's."
            ),
        ))
    })
}

fn same_blocks(view: &View<'_>) -> Vec<Draft> {
    by_fio(view, |fio| {
        let streams = fio.streams_over_the_same_blocks();
        (streams > 1).then(|| {
            (
                format!("{streams} streams"),
                format!(
                    "{streams} jobs of fio went over the same blocks in sequence: what one has fetched, caches serve to the \
                     others, and the sum of the rates is not the disk's."
                ),
            )
        })
    })
}

/// Below this, even a steady trend is indistinguishable from chance (see check E7).
const SECONDS_MIN: f64 = 5.0;

fn too_short(view: &View<'_>) -> Vec<Draft> {
    let mut found = by_fio(view, |fio| {
        let seconds = fio.runtime_seconds().filter(|seconds| *seconds < SECONDS_MIN)?;
        Some((
            format!("runtime {seconds} s"),
            format!(
                "fio ran for at most {seconds} s: a longer run may differ, and a trend could not be seen in so short a time."
            ),
        ))
    });
    let known: Vec<String> = found.iter().flat_map(|draft| draft.cells.clone()).collect();
    let bursts = view.cells.iter().filter_map(|cell| {
        let seconds = seconds_taken(cell).filter(|seconds| *seconds < SECONDS_MIN)?;
        (!known.contains(&cell.id())).then_some((cell, seconds))
    });
    found.extend(grouped(bursts, |(cell, _)| cell.test.tool.clone()).into_iter().map(|(tool, cells)| {
        let shortest = cells.iter().map(|(_, seconds)| *seconds).fold(f64::INFINITY, f64::min);
        let longest = cells.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
        let times = if shortest == longest {
            nanos(longest * 1e9)
        } else {
            format!("{} to {}", nanos(shortest * 1e9), nanos(longest * 1e9))
        };
        Draft {
            level: Level::Warn,
            cells: ids(cells.iter().map(|(cell, _)| *cell)),
            observed: times.clone(),
            message: format!(
                "{} of {tool} took {times}, by bytes and rate: a burst, which caches of devices and writeback absorb.",
                count(cells.len() as u64, "number")
            ),
        }
    }));
    found
}

/// Returns the seconds of a test: as printed, or computed from its rate if the command fixes its bytes.
fn seconds_taken(cell: &CellView<'_>) -> Option<f64> {
    let rate = cell.value.filter(|value| *value > 0.0)?;
    if !(cell.cell.metric.reads() || cell.cell.metric.writes()) {
        return None;
    }
    if let Some(seconds) = &cell.cell.seconds {
        return Some(seconds.value());
    }
    let per_second = match cell.unit? {
        PrintedUnit::Bytes { .. } => rate,
        PrintedUnit::PerSecond { .. } => rate * cell.actions.iter().find_map(CommandAction::block_bytes)? as f64,
        PrintedUnit::Time { .. } => return None,
    };
    let fixed = cell.actions.iter().find_map(CommandAction::transfer_bytes);
    // A size stated next to the command means one pass over it, unless a time limit ends it.
    let stated = || {
        let is_open = cell.actions.iter().any(|action| action.is_timed() || matches!(action, CommandAction::Fio(_)));
        cell.test.file_size.filter(|_| !is_open).map(|size| size.0)
    };
    let moved = cell.cell.bytes.or(fixed).or_else(stated).filter(|bytes| *bytes > 0)?;
    Some(moved as f64 / per_second)
}

fn one_flush(view: &View<'_>) -> Vec<Draft> {
    by_dd(view, |_, dd| {
        let flag = dd.flush_each_flag()?;
        if !dd.is_one_block() || dd.is_read() {
            return None;
        }
        let block = bytes(dd.block()?);
        Some((
            Level::Warn,
            format!("1 write of {block}, 1 flush"),
            format!(
                "oflag={flag} flushes after each write, and there is only one write of {block}: one flush, not a disk \
                 without cache."
            ),
        ))
    })
}

fn resync(view: &View<'_>) -> Vec<Draft> {
    let mut arrays: Vec<(String, Option<String>, Option<String>)> = Vec::new();
    for step in &view.study.setup {
        for action in command::read(&step.command) {
            match action {
                CommandAction::CreateArray { device, level, resyncs: true } => {
                    arrays.push((device, level, step.side.clone()));
                }
                CommandAction::WaitForArray => arrays.retain(|(_, _, side)| *side != step.side),
                _ => {}
            }
        }
    }
    let devices = distinct(arrays.iter().map(|(device, _, _)| device.clone()));
    devices
        .into_iter()
        .map(|device| {
            let of_device = || arrays.iter().filter(|(known, _, _)| *known == device);
            let levels: Vec<String> = distinct(of_device().filter_map(|(_, level, _)| level.clone()));
            let everywhere = of_device().any(|(_, _, side)| side.is_none());
            let hit = view.cells.iter().filter(|cell| {
                everywhere || of_device().any(|(_, _, side)| side.as_deref() == Some(cell.cell.side.as_str()))
            });
            Draft {
                level: Level::Warn,
                cells: ids(hit),
                observed: format!("mdadm --create of {device}, level {}", listed(&levels)),
                message: format!(
                    "mdadm starts a resync of {device} when it creates it, and the study does not mention waiting for it: \
                     the tests may have competed with it for the disks."
                ),
            }
        })
        .collect()
}

fn buffer(view: &View<'_>) -> Vec<Draft> {
    const WARN: f64 = 0.5;
    const FAIL: f64 = 0.9;
    let Some(ram) = view.study.machine.ram.map(|ram| ram.0).filter(|ram| *ram > 0) else { return Vec::new() };
    by_dd(view, |_, dd| {
        let block = dd.block()?;
        let share = block as f64 / ram as f64;
        if share < WARN {
            return None;
        }
        Some((
            if share >= FAIL { Level::Fail } else { Level::Warn },
            format!("{} of {} ({})", bytes(block), bytes_exact(ram), percent(share)),
            format!(
                "dd needs a buffer of one block, {}, with {} of memory: {}, perhaps to the disk under test.",
                bytes(block),
                bytes_exact(ram),
                if share >= FAIL { "the system has to swap" } else { "the system may have swapped" }
            ),
        ))
    })
}

/// A mounted device and its mount point.
struct MountedDisk {
    device: String,
    at: String,
}

fn destroys(view: &View<'_>) -> Vec<Draft> {
    let mut mounted: Vec<MountedDisk> = Vec::new();
    let mut follow = |action: &CommandAction| match action {
        CommandAction::Mount { device, at } => mounted.push(MountedDisk { device: device.clone(), at: at.clone() }),
        CommandAction::Unmount(what) => mounted.retain(|mount| mount.device != *what && mount.at != *what),
        _ => {}
    };
    for step in &view.study.setup {
        command::read(&step.command).iter().for_each(&mut follow);
    }
    let mut found = Vec::new();
    for (index, test) in view.tests.iter().enumerate() {
        let overwritten = dds(&test.actions).find_map(|dd| {
            let device = dd.overwrites_device()?;
            mounted.iter().find(|mount| mount.device == device)
        });
        let Some(MountedDisk { device, at }) = overwritten else { continue };
        // Later tests on that file system use the damaged one.
        let after: Vec<&CellView<'_>> =
            view.cells.iter().filter(|cell| cell.test_index > index && works_in(cell, at)).collect();
        let tools = distinct(after.iter().map(|cell| cell.test.tool.clone()));
        let and_then = if tools.is_empty() {
            String::new()
        } else {
            format!("; {} then ran on the damaged file system", listed(&tools))
        };
        found.push(Draft {
            level: Level::Fail,
            cells: ids(view.of_test(index).chain(after)),
            observed: format!("of={device}, mounted at {at}"),
            message: format!("dd overwrote {device} under the file system mounted at {at}{and_then}."),
        });
    }
    found
}

fn works_in(cell: &CellView<'_>, directory: &str) -> bool {
    let inside = |path: &&str| path.trim_end_matches('/').starts_with(directory.trim_end_matches('/'));
    cell.actions.iter().any(|action| action.paths().iter().any(inside))
}

fn swapped(view: &View<'_>) -> Vec<Draft> {
    by_dd(view, |cell, dd| {
        if !dd.is_swapped() {
            return None;
        }
        let file = dd.output().unwrap_or("its output");
        let lost = dd.bytes().map(|size| format!(" of {}", bytes(size))).unwrap_or_default();
        let missing = if cell.cell.missing.is_some() { ", which is why the number is missing" } else { "" };
        Some((
            Level::Fail,
            format!("if=/dev/null of={file}"),
            format!("dd has input and output swapped: it read nothing and truncated {file}{lost}{missing}."),
        ))
    })
}

fn idle_option(view: &View<'_>) -> Vec<Draft> {
    by_dd(view, |_, dd| {
        let flags = dd.flush_flags();
        (dd.is_read() && !flags.is_empty()).then(|| {
            (
                Level::Warn,
                format!("{} with of=/dev/null", listed(&flags)),
                format!(
                    "{} applies to the output, which is /dev/null here: it has no effect on a read, and the page cache stays.",
                    listed(&flags)
                ),
            )
        })
    })
}

/// The effect of an option, and words of which a correct explanation contains at least one.
struct Meaning {
    does: String,
    words: Vec<String>,
}

/// Returns the effect of options that are often misread. Sources: bonnie++(8), by which the number of files is times
/// 1024; IOzone's manual and code, by which `-S` aligns buffers to a cache size, and does not set the size.
fn meaning(actions: &[CommandAction], tool: &str, option: &str) -> Option<Meaning> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    match (tool.to_lowercase().as_str(), option.split_whitespace().next()?) {
        ("bonnie++" | "bonnie", "-n") => {
            let bonnie = actions.iter().find_map(|action| match action {
                CommandAction::Bonnie(bonnie) => Some(bonnie),
                _ => None,
            })?;
            let files = bonnie.files_1024().saturating_mul(1024);
            let stated = match bonnie.stated_files_1024() {
                Some(number) => format!("{number} × 1024"),
                None => format!("by default {} × 1024", bonnie.files_1024()),
            };
            let spaced = format!("{} {:03}", files / 1000, files % 1000);
            Some(Meaning {
                does: format!("makes {stated} = {spaced} files"),
                words: [words(&["1024"]), vec![files.to_string(), spaced]].concat(),
            })
        }
        ("iozone", "-S") => Some(Meaning {
            does: "only sets the size to which IOzone aligns its buffers".to_owned(),
            words: words(&["align"]),
        }),
        ("iozone", "-R") => {
            Some(Meaning { does: "only prints a report".to_owned(), words: words(&["report", "excel"]) })
        }
        ("dd", "oflag=dsync") => Some(Meaning {
            does: "makes each write of bs bytes durable before the next".to_owned(),
            words: words(&["sync", "each write"]),
        }),
        _ => None,
    }
}

fn misread_option(view: &View<'_>) -> Vec<Draft> {
    let mut found = Vec::new();
    for (index, test) in view.tests.iter().enumerate() {
        for Explained { option, words } in &test.test.explained {
            let Some(meaning) = meaning(&test.actions, &test.test.tool, option) else { continue };
            let explanation = words.to_lowercase();
            if meaning.words.iter().any(|word| explanation.contains(word)) {
                continue;
            }
            found.push(Draft {
                level: Level::Warn,
                cells: ids(view.of_test(index)),
                observed: format!("{option}: {}", meaning.does),
                message: format!("{option} of {} is explained as \"{words}\", but {}.", test.test.tool, meaning.does),
            });
        }
    }
    found
}

fn cannot_run(view: &View<'_>) -> Vec<Draft> {
    by_dd(view, |cell, dd| {
        let on_linux = cell.side.is_some_and(View::is_linux);
        let bsd = if on_linux { dd.only_bsd.as_slice() } else { &[] };
        let refused: Vec<String> = bsd.iter().chain(&dd.refused).map(|word| format!("`{word}`")).collect();
        (!refused.is_empty()).then(|| {
            (
                Level::Warn,
                listed(&refused),
                format!("GNU dd rejects {}: what was run is not what was printed.", listed(&refused)),
            )
        })
    })
}
