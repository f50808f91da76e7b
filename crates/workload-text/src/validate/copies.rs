//! Rules for copies.

use super::{Checker, help_for_name};
use plumb_workload::backend::Backend;
use plumb_workload::copy::{CopySpec, LineRules};
use plumb_workload::limits::MAX_OP_BYTES;
use plumb_workload::phase::{CachePolicy, Limit, Phase, WorkerGroup};
use plumb_workload::target::Target;
use plumb_workload::{Bytes, Workload};

/// Checks a copy and its group.
pub(super) fn check(check: &mut Checker, workload: &Workload, phase: &Phase, group: &WorkerGroup, copy: &CopySpec) {
    let agrees = match phase.cache {
        CachePolicy::AsIs => true,
        CachePolicy::Direct => copy.input.direct || copy.output.direct,
        CachePolicy::Cold | CachePolicy::Warm => false,
    };
    if !agrees {
        check.problem(
            [],
            "a copy opens its files according to its own `input` and `output`, not to the phase's `cache`",
            "leave `cache` out, or use `cache = \"direct\"` together with `output.direct = true`",
        );
    }
    if group.count != 1 || group.depth != 1 {
        check.problem([], "a copy uses one worker and one block at a time", "use `count = 1` and `depth = 1`");
    }
    if group.backend != Backend::Auto {
        check.problem(
            [],
            format!("a copy makes its own system calls and cannot use the backend `{}`", group.backend.name()),
            "leave `backend` out",
        );
    }
    if group.limit != Limit::default() {
        check.problem(
            [],
            "a copy ends at the end of its input or at its `count`",
            "use `count`, and leave `limit` out",
        );
    }
    for (key, name) in [("from", &copy.from), ("to", &copy.to)] {
        let Some(name) = name else { continue };
        match workload.target.get(name) {
            Some(Target::JobFiles(files)) if files.names.count() == 1 => {}
            Some(Target::Sim(sim)) if sim.files.is_none() => {}
            Some(Target::Null(_)) => {}
            Some(_) => check.problem(
                [key],
                format!("`{name}` is not a single file or device with a path of its own"),
                "use a target such as `job-files = { names = { said = [\"PATH\"] } }`",
            ),
            None => check.problem(
                [key],
                format!("there is no target named `{name}`"),
                help_for_name(name, workload.target.keys()),
            ),
        }
    }
    let has_ends = copy.from.is_some() || copy.to.is_some();
    if has_ends && !copy.targets().any(|name| name == group.target) {
        check.problem(
            [],
            format!("`{}` is neither the source nor the destination of this copy", group.target),
            "name `to` or `from` as the target",
        );
    }
    block(check, "read-block", copy.read_block);
    block(check, "write-block", copy.write_block);
    if !copy.gathers && copy.read_block != copy.write_block {
        check.problem(
            ["gathers"],
            format!("the copy reads blocks of {} and writes blocks of {}", copy.read_block, copy.write_block),
            "use `gathers = true`, or blocks of one size",
        );
    }
    if !copy.conversion.is_nothing() && !copy.gathers {
        check.problem(["gathers"], "conversions change the length of blocks", "use `gathers = true`");
    }
    if let Some(LineRules::ToRecords(record) | LineRules::FromRecords(record)) = copy.conversion.lines {
        check.positive(["conversion", "lines"], "the length of a record", record.0, "use at least 1 byte");
    }
    for (key, extent, of) in [("skip", copy.skip, copy.read_block), ("seek", copy.seek, copy.write_block)] {
        if extent.length_bytes(of).is_none() {
            check.problem([key], "the length exceeds the maximum file size", "use a smaller number");
        }
    }
    for (key, flags) in [("input", copy.input), ("output", copy.output)] {
        if flags.direct && flags.nocache {
            check.problem(
                [key],
                "`direct` bypasses the page cache, so `nocache` has nothing to drop",
                "use one of them",
            );
        }
    }
}

fn block(check: &mut Checker, key: &'static str, block: Bytes) {
    check.positive([key], "a block", block.0, "use at least 1 byte");
    // Larger blocks take several calls, but must still fit into memory.
    if block.0 > MAX_OP_BYTES * 1024 {
        check.problem([key], format!("a block of {block} does not fit into memory"), "use a smaller block");
    }
}
