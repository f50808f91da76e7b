//! Rules for block I/O: sizes, ranges, patterns and mixes.

use super::Checker;
use super::targets::{Facts, Shape};
use plumb_workload::backend::Backend;
use plumb_workload::blocks::{BlockSize, Blocks, Pattern, Zone};
use plumb_workload::limits::{DIRECT_ALIGN_BYTES, MAX_OFFSET_BYTES};
use plumb_workload::phase::{CachePolicy, RunAs, WorkerGroup};
use plumb_workload::units::Bytes;

/// Tolerance in percent for the sum of shares, which rounding can move off 100 %, as in three times 33.3.
const PERCENT_TOLERANCE: f64 = 0.5;

pub(super) fn check(check: &mut Checker, cache: CachePolicy, group: &WorkerGroup, work: &Blocks, facts: Facts) {
    for (key, block) in sizes(work) {
        check.inside(key, |check| block_size(check, block));
    }
    if u64::from(work.mix.read) + u64::from(work.mix.write) + u64::from(work.mix.trim) == 0 {
        check.problem(["mix"], "the mix has neither reads nor writes nor trims", "use `mix.read = 100`, for example");
    }
    if let Some(align) = work.align {
        check.positive(["align"], "the alignment", align.0, "leave it out for the block's own size");
    }
    pattern(check, group, work);
    writes(check, group, work);
    if let Shape::Range { size, own_length } = facts.shape {
        range(check, group, work, size, own_length);
    }
    if cache == CachePolicy::Direct {
        direct(check, work);
    }
}

fn sizes(work: &Blocks) -> impl Iterator<Item = (&'static str, &BlockSize)> {
    [("block", Some(&work.block)), ("write-block", work.write_block.as_ref()), ("trim-block", work.trim_block.as_ref())]
        .into_iter()
        .filter_map(|(key, block)| Some((key, block?)))
}

fn block_size(check: &mut Checker, block: &BlockSize) {
    match block {
        BlockSize::Fixed(size) => check.request(["fixed"], size.0),
        BlockSize::Range { min, max, step } => check.inside("range", |check| {
            check.request(["min"], min.0);
            check.request(["max"], max.0);
            if min > max {
                check.problem(["min"], format!("`min` {min} is above `max` {max}"), "swap them");
            }
            if let Some(step) = step {
                check.positive(["step"], "the step", step.0, "leave it out to step by `min`");
                // Only multiples of the step within the range can be chosen.
                if step.0 > 0 && min <= max && max.0 / step.0 * step.0 < min.0 {
                    check.problem(
                        ["step"],
                        format!("there is no multiple of {step} between {min} and {max}"),
                        "use a step that divides `min` or `max`",
                    );
                }
            }
        }),
        BlockSize::Weighted(table) => check.inside("weighted", |check| {
            check.weighted(table, |check, size| check.request(["size"], size.0));
        }),
    }
}

fn pattern(check: &mut Checker, group: &WorkerGroup, work: &Blocks) {
    match &work.pattern {
        Pattern::Sequential | Pattern::Reverse | Pattern::Random | Pattern::Permutation => {}
        Pattern::Stride { stride } => {
            check.positive(["pattern", "stride", "stride"], "the stride", stride.0, "use `pattern = \"sequential\"`");
        }
        Pattern::Zipf { theta } => {
            check.above_zero(["pattern", "zipf", "theta"], "theta", *theta, "0.99 and 1.1 are usual");
        }
        Pattern::Latest { theta } => {
            check.above_zero(["pattern", "latest", "theta"], "theta", *theta, "0.99 is usual");
            if work.mix.trim > 0 {
                check.problem(["mix", "trim"], "the newest blocks cannot be trimmed", "use reads and writes");
            }
            if group.run_as != RunAs::Thread {
                check.problem(["run-as"], "processes cannot share the newest block", "use `run-as = \"thread\"`");
            }
        }
        Pattern::Pareto { h } => {
            if !(*h > 0.5 && *h < 1.0) {
                check.problem(
                    ["pattern", "pareto", "h"],
                    format!("`h` is {h}; it must be between 0.5 and 1"),
                    "0.8 sends 80 % of accesses to 20 % of blocks",
                );
            }
        }
        Pattern::Normal { center, deviation } => {
            if !(0.0..=1.0).contains(center) {
                check.problem(
                    ["pattern", "normal", "center"],
                    format!("the centre {center} is outside the range"),
                    "it is a share of the range, from 0 to 1",
                );
            }
            check.above_zero(
                ["pattern", "normal", "deviation"],
                "the deviation",
                *deviation,
                "it is a share of the range, such as 0.1",
            );
        }
        Pattern::Zoned(zones) => check.nested(&["pattern", "zoned"], |check| zoned(check, zones)),
        Pattern::ReuseWalk { walkers } => {
            check.positive(["pattern", "reuse-walk", "walkers"], "the number of walkers", u64::from(*walkers), "use 1");
        }
        Pattern::Runs { walkers, from_percent, to_percent, length_percent } => {
            check.positive(["pattern", "runs", "walkers"], "the number of walkers", u64::from(*walkers), "use 1");
            let all_inside = *from_percent >= 0.0
                && from_percent < to_percent
                && *length_percent > 0.0
                && to_percent + length_percent <= 100.0;
            if !all_inside {
                check.problem(
                    ["pattern", "runs", "to-percent"],
                    format!("runs from {from_percent} to {to_percent} % of {length_percent} % do not lie in the range"),
                    "make `from-percent` less than `to-percent`, and that with `length-percent` at most 100",
                );
            }
        }
        Pattern::List(offsets) => {
            if offsets.is_empty() {
                check.problem(["pattern", "list"], "the list has no offset", "give at least one, such as `[\"0\"]`");
            }
        }
    }
}

fn zoned(check: &mut Checker, zones: &[Zone]) {
    if zones.is_empty() {
        check.problem([], "the list of zones is empty", "give zones with `access-percent` and `span-percent`");
        return;
    }
    for (index, zone) in zones.iter().enumerate() {
        check.inside(index, |check| {
            if !(0.0..=100.0).contains(&zone.access_percent) {
                check.problem(
                    ["access-percent"],
                    format!("{} % is not a valid share of accesses", zone.access_percent),
                    "use 0 to 100",
                );
            }
            if !(zone.span_percent > 0.0 && zone.span_percent <= 100.0) {
                check.problem(
                    ["span-percent"],
                    format!("{} % is not a valid share of the range", zone.span_percent),
                    "use more than 0, up to 100",
                );
            }
        });
    }
    let access: f64 = zones.iter().map(|zone| zone.access_percent).sum();
    let span: f64 = zones.iter().map(|zone| zone.span_percent).sum();
    for (key, sum) in [("access-percent", access), ("span-percent", span)] {
        if sum.is_finite() && (sum - 100.0).abs() > PERCENT_TOLERANCE {
            check.problem([], format!("`{key}` of all zones adds up to {sum} %"), "make the zones add up to 100 %");
        }
    }
}

/// Checks that the backend can trim.
fn writes(check: &mut Checker, group: &WorkerGroup, work: &Blocks) {
    if work.mix.trim > 0 && matches!(group.backend, Backend::Mmap | Backend::Stdio) {
        check.problem(
            ["mix", "trim"],
            format!("the backend `{}` cannot trim", group.backend.name()),
            "use backend = \"psync\" or \"io-uring\"",
        );
    }
}

/// Checks offsets: the last worker's range must lie within the target and hold at least one block.
fn range(check: &mut Checker, group: &WorkerGroup, work: &Blocks, size: Option<u64>, own_length: bool) {
    let largest = sizes(work).map(|(_, block)| block.max().0).max().unwrap_or(0);
    if own_length && work.span.is_none() && (work.mix.write > 0 || work.mix.trim > 0) {
        check.problem(
            [],
            format!("writes need a limit, and `{}` has no size", group.target),
            "give the target a `size`, or the work a `span`",
        );
    }
    if let Some(span) = work.span {
        if span.0 < largest {
            check.problem(
                ["span"],
                format!("a span of {span} is smaller than one block of {}", Bytes(largest)),
                "make the span larger or the block smaller",
            );
        }
        if let Some(align) = work.align
            && align > span
        {
            check.problem(
                ["align"],
                format!("the alignment {align} is larger than the span {span}"),
                "use a smaller one",
            );
        }
    }
    let workers_after_first = u64::from(group.count.max(1)) - 1;
    let start = work
        .offset_increment
        .0
        .checked_mul(workers_after_first)
        .and_then(|moved| moved.checked_add(work.offset.0))
        .filter(|start| *start <= MAX_OFFSET_BYTES);
    let Some(start) = start else {
        check.problem(
            [if work.offset.0 > MAX_OFFSET_BYTES { "offset" } else { "offset-increment" }],
            "the last worker's offset is beyond the maximum file size",
            format!("the largest offset is {MAX_OFFSET_BYTES}"),
        );
        return;
    };
    let Some(end) = start.checked_add(work.span.map_or(largest, |span| span.0)).filter(|end| *end <= MAX_OFFSET_BYTES)
    else {
        check.problem(
            ["span"],
            "the range ends beyond the maximum file size",
            format!("the largest offset is {MAX_OFFSET_BYTES}"),
        );
        return;
    };
    if let Some(size) = size.filter(|size| end > *size) {
        let size = Bytes(size);
        let (key, message) = match (work.span, workers_after_first > 0 && work.offset_increment.0 > 0) {
            (_, true) => (
                "offset-increment",
                format!("the last worker's range ends at {}, beyond the target's end at {size}", Bytes(end)),
            ),
            (Some(_), false) => {
                ("span", format!("the range ends at {}, beyond the target's end at {size}", Bytes(end)))
            }
            (None, false) if work.offset.0 > 0 => {
                ("offset", format!("the target of {size} has no room for one block at offset {}", work.offset))
            }
            (None, false) => ("block", format!("a block of {} does not fit into the target of {size}", Bytes(largest))),
        };
        check.problem([key], message, "make the target larger or the range smaller");
    }
    if let Pattern::List(offsets) = &work.pattern {
        let limit = size.unwrap_or(MAX_OFFSET_BYTES);
        check.nested(&["pattern", "list"], |check| {
            for (index, offset) in offsets.iter().enumerate() {
                if offset.0.checked_add(largest).is_none_or(|end| end > limit) {
                    check.inside(index, |check| {
                        check.problem(
                            [],
                            format!("a block of {} at {offset} ends beyond the target", Bytes(largest)),
                            format!("the target ends at {}", Bytes(limit)),
                        );
                    });
                }
            }
        });
    }
}

/// Checks that all values that determine an offset or a length are multiples of 512, as `O_DIRECT` requires.
fn direct(check: &mut Checker, work: &Blocks) {
    let aligned = |check: &mut Checker, keys: &[&str], value: Bytes| {
        if !value.0.is_multiple_of(DIRECT_ALIGN_BYTES) {
            check.problem_at(
                keys,
                format!("direct I/O does not support {value}"),
                format!("use a multiple of {DIRECT_ALIGN_BYTES} (of 4096 on many devices), or another `cache`"),
            );
        }
    };
    for (key, block) in sizes(work) {
        match block {
            BlockSize::Fixed(size) => aligned(check, &[key, "fixed"], *size),
            BlockSize::Range { min, max, step } => {
                aligned(check, &[key, "range", "min"], *min);
                aligned(check, &[key, "range", "max"], *max);
                if let Some(step) = step {
                    aligned(check, &[key, "range", "step"], *step);
                }
            }
            BlockSize::Weighted(table) => check.nested(&[key, "weighted"], |check| {
                for (index, entry) in table.iter().enumerate() {
                    check.inside(index, |check| aligned(check, &["size"], entry.size));
                }
            }),
        }
    }
    aligned(check, &["offset"], work.offset);
    aligned(check, &["offset-increment"], work.offset_increment);
    if let Some(align) = work.align {
        aligned(check, &["align"], align);
    }
    match &work.pattern {
        Pattern::Stride { stride } => aligned(check, &["pattern", "stride", "stride"], *stride),
        Pattern::List(offsets) => check.nested(&["pattern", "list"], |check| {
            for (index, offset) in offsets.iter().enumerate() {
                check.inside(index, |check| aligned(check, &[], *offset));
            }
        }),
        _ => {}
    }
}
