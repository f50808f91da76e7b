//! Verification: block headers and reading back.

use super::clone::JobClone;
use super::error::JobFault;
use super::facts::{Layout, largest, ops_limit, smallest};
use super::parts::pattern;
use crate::fio::options::verify::{VERIFY_HEADER_SEED, VERIFY_WRITE_SEQUENCE};
use crate::fio::value::direction::AccessOrder;
use plumb_workload::Bytes;
use plumb_workload::Verify;
use plumb_workload::verify::{StampLayout, VerifyMethod, VerifyState};
use std::path::PathBuf;

/// Bytes of a header without the part of its method. Source: `struct verify_header`, fio's verify.h.
const STAMP_BYTES: u64 = 48;

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Returns the verification rules, if requested.
pub(super) fn rules(copy: &mut JobClone<'_>, layout: &Layout) -> Option<Verify> {
    let options = &copy.job.verify;
    let Some(method) = options.method else {
        let only = options.only && copy.writes() && !copy.replays();
        if only {
            copy.fix("nothing is written, because verify_only is set; nothing is verified without `verify`");
        }
        return only.then(|| Verify { read_back: false, only, ..Verify::new(VerifyMethod::Null) });
    };
    let interval = interval(copy, options.interval.unwrap_or(0).into());
    if u64::from(options.offset) + STAMP_BYTES > interval {
        let why = "the header does not fit into its interval; use larger blocks or a smaller offset";
        copy.refuse(JobFault::Contradiction { first: "verify_offset", second: "verify_interval", why });
    }
    doubts(copy);
    let expects_number = options.write_sequence && !forgets_number(copy, layout);
    let expects_seed = options.header_seed && !forgets_seed(copy, layout);
    let state = format!("local-{}-{}-verify.state", copy.job.name.replace('/', "."), copy.thread_number - 1);
    let state = match copy.aux_path {
        Some(directory) => PathBuf::from(directory).join(state),
        None => PathBuf::from(state),
    };
    Some(Verify {
        method,
        layout: StampLayout::default(),
        read_back: options.do_verify,
        only: options.only,
        flushed_only: options.after_fsync,
        interval: Some(Bytes(interval)),
        stamp_at: Bytes(options.offset.into()),
        pattern: pattern(&options.pattern),
        pattern_interval: options.pattern_interval.map(|bytes| Bytes(bytes.into())),
        fatal: options.fatal,
        dump: options.dump,
        threads: options.async_threads,
        thread_cpus: options.async_cpus.clone().unwrap_or_default(),
        backlog: ops_limit(options.backlog),
        backlog_batch: options.backlog_batch,
        redraw: options.experimental,
        expects_number,
        expects_seed,
        state: VerifyState {
            load: options.state_load.then(|| state.clone()),
            save: options.state_save.then_some(state),
        },
    })
}

/// Returns the bytes per header: at most the smallest block, and a divisor of the smallest and the largest.
fn interval(copy: &mut JobClone<'_>, requested: u64) -> u64 {
    let sizes = copy.job.direction.sizes();
    let (low, high) = (smallest(&sizes.write).max(1), largest(&sizes.write).max(1));
    let mut interval = if requested == 0 && low != high { low } else { requested };
    if interval > low {
        interval = low;
    } else if copy.reads() && interval > smallest(&sizes.read) {
        interval = smallest(&sizes.read);
    }
    if interval == 0 || low % interval != 0 || high % interval != 0 {
        interval = gcd(low, high);
    }
    if requested != 0 && requested != interval {
        copy.fix(format!("verify_interval is {}, because it must divide every block size", Bytes(interval)));
    }
    interval
}

/// Whether a block may be written more than once, in an unknown order.
fn may_overlap(copy: &JobClone<'_>, layout: &Layout) -> bool {
    let work = &copy.job.direction;
    let moved = layout.io_bytes.map_or(layout.bytes, |bytes| bytes.0);
    let jumps = match work.rw.order {
        AccessOrder::Sequential { skip_bytes } => skip_bytes != 0,
        AccessOrder::Random { ops_per_draw } => ops_per_draw > 1,
    };
    copy.forgets_blocks() || work.random.softrandommap || jumps || moved > layout.bytes
}

fn forgets_number(copy: &mut JobClone<'_>, layout: &Layout) -> bool {
    if copy.is_given(&VERIFY_WRITE_SEQUENCE) {
        return false;
    }
    let out_of_order = copy.forgets_blocks() && copy.depth() > 1;
    let forgets = copy.job.verify.only || out_of_order || (copy.job.verify.experimental && may_overlap(copy, layout));
    if forgets {
        copy.fix("verify_write_sequence is off, because the sequence numbers cannot be known");
    }
    forgets
}

fn forgets_seed(copy: &mut JobClone<'_>, layout: &Layout) -> bool {
    if copy.is_given(&VERIFY_HEADER_SEED) {
        return false;
    }
    let forgets =
        copy.job.verify.only || !copy.writes() || copy.job.verify.backlog.is_some() || may_overlap(copy, layout);
    if forgets {
        copy.fix("verify_header_seed is off, because the seeds cannot be known");
    }
    forgets
}

fn doubts(copy: &mut JobClone<'_>) {
    let job = copy.job;
    let reads_back = copy.writes() && job.verify.do_verify;
    let names_are_shared =
        !job.files.names.filenames.is_empty() || !job.files.names.filename_format.to_lowercase().contains("$jobnum");
    if reads_back && job.identity.numjobs > 1 && names_are_shared && copy.number == 0 {
        copy.warnings.push(
            "several copies write to the same files, so verification may fail on blocks of another copy".to_owned(),
        );
    }
    let never_ends = job.stop.time_based && job.stop.runtime.is_some();
    if reads_back && never_ends && !copy.reads() && job.verify.backlog.is_none() {
        let text = "nothing is ever verified, because writing takes the whole runtime; remove `time_based` or set \
         `verify_backlog`";
        copy.warnings.push(text.to_owned());
    }
    let sizes = job.direction.sizes();
    let one_size = [&sizes.read, &sizes.write, &sizes.trim]
        .into_iter()
        .all(|each| smallest(each) == largest(each) && smallest(each) == smallest(&sizes.read));
    if copy.forgets_blocks() && !one_size {
        let text = "with norandommap, blocks of several sizes may overlap, so verification may miss errors";
        copy.warnings.push(text.to_owned());
    }
}
