//! Rules for targets.

use super::{Checker, programs, streams};
use plumb_workload::content::Content;
use plumb_workload::limits::MAX_OFFSET_BYTES;
use plumb_workload::replay::RecordedTree;
use plumb_workload::sim::{FAULTS, SimDevice};
use plumb_workload::target::{SimTarget, Target, TreeTarget};
use plumb_workload::units::Bytes;
use plumb_workload::{Phase, Size, Workload};
use std::collections::BTreeMap;
use std::path::{Component, Path};

/// Maximum number of files in one target, all of them open. Source: the largest
/// `RLIMIT_NOFILE` of Linux, `fs.nr_open`.
const FILES_MAX: u32 = 1 << 20;

/// Maximum number of directories in a tree; more is a typo.
const DIRECTORIES_MAX: u64 = 1 << 24;

pub(super) fn check(check: &mut Checker, workload: &Workload) {
    let needs_none = |phase: &Phase| phase.workers.is_empty() && !phase.companions.is_empty();
    if workload.target.is_empty() && (workload.phase.is_empty() || !workload.phase.iter().all(needs_none)) {
        check.problem(
            ["target"],
            "the workload has no target",
            "add one, such as `[target.data.file]` with a path and a size",
        );
    }
    let mut paths: BTreeMap<&Path, &str> = BTreeMap::new();
    for (name, target) in &workload.target {
        check.inside("target", |check| {
            check.inside(name.as_str(), |check| {
                check.name([], "a target", name);
                check.inside(target.kind(), |check| one(check, target));
                shared(check, workload, name, target);
                if let Some(path) = target.path()
                    && let Some(other) = paths.insert(path, name)
                {
                    check.problem(
                        [target.kind(), "path"],
                        format!("the targets `{other}` and `{name}` are the same path"),
                        "let workers share one target, or give each target its own path",
                    );
                }
            });
        });
    }
}

fn one(check: &mut Checker, target: &Target) {
    if let Some(path) = target.path() {
        path_is_sane(check, path);
    }
    match target {
        Target::File(target) => {
            content(check, target.content);
            match target.size {
                Some(size) => check.size(["size"], size),
                None if target.path.is_relative() => check.problem(
                    [],
                    "a file that Plumb creates needs a size",
                    "add `size = \"1GiB\"`; only an existing file with an absolute path can do without one",
                ),
                None => {}
            }
        }
        Target::Files(target) => {
            content(check, target.content);
            check.positive(["count"], "the number of files", target.count.into(), "use at least 1");
            if target.count > FILES_MAX {
                let message = format!("{} files are too many to be open at once", target.count);
                check.problem(["count"], message, format!("use at most {FILES_MAX}, or a `tree`"));
            }
            check.size(["size"], target.size);
        }
        Target::Tree(target) => tree(check, target),
        Target::Device(target) => {
            content(check, target.content);
            if target.path.is_relative() {
                check.problem(
                    ["path"],
                    format!("`{}` is a relative path; a device needs its full path", target.path.display()),
                    "use `/dev/disk/by-id/…`",
                );
            }
            if let Some(size) = target.size {
                check.size(["size"], size);
            }
            if target.destroy_serial.as_deref().is_some_and(|serial| serial.trim().is_empty()) {
                check.problem(["destroy-serial"], "the serial is empty", "copy it from `lsblk -o NAME,SERIAL`");
            }
        }
        Target::Null(target) => {
            check.length(["size"], target.size.0);
            if let Some(files) = &target.files {
                check.inside("files", |check| super::names::names(check, &files.names));
            }
        }
        Target::Sim(target) => sim(check, target),
        // Checked together with the protocol that uses the address.
        Target::Host(_) => {}
        Target::JobFiles(target) => streams::files(check, target),
        Target::Scratch(target) => programs::target(check, target),
        Target::Recorded(target) => recorded(check, target),
        Target::SharedTree(target) => {
            content(check, target.content);
            programs::shared_tree(check, target);
        }
    }
}

fn path_is_sane(check: &mut Checker, path: &Path) {
    let Some(text) = path.to_str() else {
        check.problem(["path"], format!("the path {path:?} is not UTF-8"), "use a symbolic link with a UTF-8 name");
        return;
    };
    if text.is_empty() {
        check.problem(["path"], "the path is empty", "give it a name such as `data`");
    } else if text.contains('\0') {
        check.problem(["path"], "the path contains a NUL byte", "file names cannot contain it");
    } else if path.is_relative() && path.components().any(|part| part == Component::ParentDir) {
        check.problem(
            ["path"],
            format!("`{text}` is outside the test directory"),
            "leave `..` out, or use an absolute path",
        );
    } else if path.is_relative() && path.components().all(|part| part == Component::CurDir) {
        check.problem(
            ["path"],
            format!("`{text}` is the test directory itself"),
            "name something inside it, such as `data`",
        );
    }
}

fn content(check: &mut Checker, content: Content) {
    if let Content::Reducible { compress_percent, duplicate_percent } = content {
        for (key, percent) in [("compress-percent", compress_percent), ("duplicate-percent", duplicate_percent)] {
            percent_is_sane(check, ["content", "reducible", key], percent.into());
        }
    }
}

pub(super) fn percent_is_sane<const N: usize>(check: &mut Checker, keys: [&str; N], percent: u32) {
    if percent > 100 {
        check.problem(keys, format!("{percent} % is more than 100 %"), "use 0 to 100");
    }
}

fn tree(check: &mut Checker, tree: &TreeTarget) {
    content(check, tree.content);
    check.positive(["files"], "the number of files", tree.files, "use at least 1");
    check.positive(["width"], "the width", tree.width.into(), "1 means one sub-directory per directory");
    percent_is_sane(check, ["preallocated-percent"], tree.preallocated_percent);
    if tree.files > MAX_OFFSET_BYTES {
        check.problem(["files"], format!("{} files are too many", tree.files), "use fewer");
    }
    if tree.path.is_absolute() && tree.path.file_name().is_none() {
        let message = format!("`{}` does not end with the name of a directory", tree.path.display());
        check.problem(["path"], message, "name one, such as `/mnt/data/files`");
    }
    if u64::from(tree.directories) > DIRECTORIES_MAX {
        let message = format!("{} further directories are too many", tree.directories);
        check.problem(["directories"], message, format!("use at most {DIRECTORIES_MAX}"));
    }
    match directories(tree.width, tree.depth) {
        Some(count) if count <= DIRECTORIES_MAX => {}
        _ => check.problem(
            ["depth"],
            format!("`width` {} and `depth` {} make more than {DIRECTORIES_MAX} directories", tree.width, tree.depth),
            "use a smaller `depth` or `width`",
        ),
    }
    check.inside("size", |check| {
        // A file of 0 bytes is valid; metadata is measured with those.
        check.distribution(&tree.size, |check, keys, size| {
            if size.0 > MAX_OFFSET_BYTES {
                check.length(keys, size.0);
            }
        });
    });
}

/// Returns the number of directories below the root of a tree; `None` if it overflows.
fn directories(width: u32, depth: u32) -> Option<u64> {
    if width == 1 {
        return Some(depth.into());
    }
    let mut level: u64 = 1;
    let mut all: u64 = 0;
    // After 64 levels, any width above 1 has overflowed, and 0 is still 0.
    for _ in 0..depth.min(65) {
        level = level.checked_mul(width.into())?;
        all = all.checked_add(level)?;
    }
    Some(all)
}

/// Checks that a recording's files are in the test directory, since the calls on them are unknown beforehand.
fn recorded(check: &mut Checker, target: &RecordedTree) {
    content(check, target.content);
    if target.path.is_absolute() {
        check.problem(
            ["path"],
            format!("`{}` is absolute, but a recording is replayed only in the test directory", target.path.display()),
            "use a relative path, such as `replay`, and choose the directory with `--at`",
        );
    }
}

/// Checks that a shared device belongs to another target and is the same device.
fn shared(check: &mut Checker, workload: &Workload, name: &str, target: &Target) {
    let Target::Sim(SimTarget { device, shares: Some(owner), .. }) = target else { return };
    match workload.target.get(owner) {
        Some(Target::Sim(sim)) if owner != name && sim.shares.is_none() && sim.device == *device => {}
        _ => check.problem(
            ["sim", "shares"],
            format!("`{owner}` is not another simulated target that has its own `{device}`"),
            "name such a target, or leave `shares` out for a device of its own",
        ),
    }
}

fn sim(check: &mut Checker, target: &SimTarget) {
    check.length(["size"], target.size.0);
    if let Some(files) = target.files {
        check.positive(["files"], "the number of files", files, "leave `files` out for one range of offsets");
        if files > target.size.0 {
            check.problem(
                ["files"],
                format!("{files} files do not fit into {}", target.size),
                "each needs at least one byte: use fewer files or a larger `size`",
            );
        }
    }
    percent_is_sane(check, ["preallocated-percent"], target.preallocated_percent);
    faults(check, &target.device);
}

/// Checks combinations of faults, and devices built by code. The text form already checks each fault alone.
fn faults(check: &mut Checker, device: &SimDevice) {
    for fault in FAULTS {
        let (Some(value), Some(largest)) = (fault.share(device), fault.largest_share) else { continue };
        if !(0.0..=largest).contains(&value) {
            let range = if largest > 1.0 {
                "it must be between 0 and 100 times"
            } else if largest < 1.0 {
                "part of the device must remain"
            } else {
                "it is a share of all"
            };
            let name = fault.name;
            check.problem(["device"], format!("the fault `{name}` is {value}; {range}"), format!("use 0 to {largest}"));
        }
    }
    let taken = device.background + device.resync;
    if taken > 0.95 {
        check.problem(
            ["device"],
            format!("`background` and `resync` together take {:.0} % of the device", taken * 100.0),
            "leave at least 5 % of it",
        );
    }
}

/// Facts about a target that the rules for workers need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    pub(super) kind: Kind,
    pub(super) shape: Shape,
}

/// Storage behind a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Files,
    /// A device. The write guard, which knows its serial number, decides whether it may be written.
    Device,
    Null,
    Sim,
    Host,
}

/// Shape of a target, as seen by a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Recorded,
    /// A range of offsets, whose length may not be known yet.
    Range {
        size: Option<u64>,
        own_length: bool,
    },
    Named {
        files: usize,
    },
    Shared,
    Host,
    /// A file set.
    Tree {
        files: u64,
        preallocated_percent: u32,
    },
}

pub(super) fn facts(target: &Target) -> Facts {
    let fixed = |size: Size| size.fixed().map(|Bytes(bytes)| bytes);
    let range = |size: Option<u64>| Shape::Range { size, own_length: false };
    match target {
        Target::File(target) => Facts {
            kind: Kind::Files,
            shape: Shape::Range { size: target.size.and_then(fixed), own_length: target.size.is_none() },
        },
        // Block I/O addresses the files as if they were one, one after another.
        Target::Files(target) => Facts {
            kind: Kind::Files,
            shape: range(fixed(target.size).map(|each| each.saturating_mul(u64::from(target.count)))),
        },
        Target::Tree(target) => Facts {
            kind: Kind::Files,
            shape: Shape::Tree { files: target.files, preallocated_percent: target.preallocated_percent },
        },
        Target::JobFiles(target) => Facts { kind: Kind::Files, shape: Shape::Named { files: target.names.count() } },
        Target::Scratch(target) => Facts { kind: Kind::Files, shape: Shape::Named { files: target.names.count() } },
        Target::SharedTree(_) => Facts { kind: Kind::Files, shape: Shape::Shared },
        Target::Recorded(_) => Facts { kind: Kind::Files, shape: Shape::Recorded },
        Target::Host(_) => Facts { kind: Kind::Host, shape: Shape::Host },
        Target::Device(target) => Facts { kind: Kind::Device, shape: range(target.size.and_then(fixed)) },
        Target::Null(target) => Facts {
            kind: Kind::Null,
            shape: match &target.files {
                Some(files) => Shape::Named { files: files.names.count() },
                None => range(Some(target.size.0)),
            },
        },
        Target::Sim(target) => Facts {
            kind: Kind::Sim,
            shape: match target.files {
                Some(files) => Shape::Tree { files, preallocated_percent: target.preallocated_percent },
                None => range(Some(target.size.0)),
            },
        },
    }
}
