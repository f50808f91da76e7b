//! Options of fio's built-in profiles. fio accepts them in any job, without effect.

use super::row::{Row, row, unbound};
use super::spec::OptionSpec;
use super::spec::UsageTier::Three;
use crate::fio::value::syntax::{FLAG, Plain, TEXT};

const TIOBENCH: &str = "It belongs to --profile=tiobench on the command line and has no effect in a job.";
const ACT: &str = "It belongs to --profile=act on the command line and has no effect in a job.";

// Rows that other modules use.
pub(in crate::fio) const BLOCK: Row<Plain<String>> = row("block", Three, TEXT).ignored(TIOBENCH);

pub(in crate::fio) const NUMRUNS: Row<Plain<String>> = row("numruns", Three, TEXT).ignored(TIOBENCH);

pub(in crate::fio) const DIR: Row<Plain<String>> = row("dir", Three, TEXT).ignored(TIOBENCH);

pub(in crate::fio) const THREADS: Row<Plain<String>> = row("threads", Three, TEXT).ignored(TIOBENCH);

pub(in crate::fio) const DEVICE_NAMES: Row<Plain<String>> = row("device-names", Three, TEXT).ignored(ACT);

pub(in crate::fio) const LOAD: Row<Plain<String>> = row("load", Three, TEXT).ignored(ACT);

pub(in crate::fio) const TEST_DURATION: Row<Plain<String>> = row("test-duration", Three, TEXT).ignored(ACT);

pub(in crate::fio) const THREADS_PER_QUEUE: Row<Plain<String>> = row("threads-per-queue", Three, TEXT).ignored(ACT);

pub(in crate::fio) const READ_REQ_NUM_512_BLOCKS: Row<Plain<String>> =
    row("read-req-num-512-blocks", Three, TEXT).ignored(ACT);

pub(in crate::fio) const LARGE_BLOCK_OP_KBYTES: Row<Plain<String>> =
    row("large-block-op-kbytes", Three, TEXT).ignored(ACT);

pub(in crate::fio) const PREP: Row<Plain<bool>> = row("prep", Three, FLAG).ignored(ACT);

/// Returns the rows, for any type of job.
pub(super) const fn rows<J>() -> &'static [OptionSpec<J>] {
    unbound![
        BLOCK,
        NUMRUNS,
        DIR,
        THREADS,
        DEVICE_NAMES,
        LOAD,
        TEST_DURATION,
        THREADS_PER_QUEUE,
        READ_REQ_NUM_512_BLOCKS,
        LARGE_BLOCK_OP_KBYTES,
        PREP,
    ]
}
