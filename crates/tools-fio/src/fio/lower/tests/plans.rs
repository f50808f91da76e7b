//! The text of plans.

use super::{GIB, known, read};
use crate::fio::lower::{Entropy, Found, lower, plan};
use plumb_workload_text::validate::validate;

fn plan_of(text: &str) -> String {
    let mut disk = known(&[("/dev/x", Found::Block { bytes: GIB })]);
    let lowered = lower(&read(text), &mut disk, Entropy(1), validate).unwrap_or_else(|errors| panic!("{errors}"));
    plan(&lowered.plan)
}

#[test]
fn a_plan_contains_work_and_timing() {
    insta::assert_snapshot!(plan_of(
        "[global]\nbs=8k\ndirect=1\n[fill]\nrw=write\nsize=64m\nnrfiles=4\nend_fsync=1\n[read]\nstonewall\nnumjobs=2\n\
         rw=randread\nsize=64m\nioengine=io_uring\niodepth=32\ntime_based\nruntime=30\nramp_time=5\n\
         random_distribution=zipf:1.1\nstartdelay=2\n[late]\nwait_for=read\nfilename=/dev/x\nrw=randrw\nrwmixread=70\n\
         iodepth=8\nsize=50%\nio_size=2g\n"
    ));
}

#[test]
fn a_plan_contains_companions_and_unsupported_jobs() {
    insta::assert_snapshot!(plan_of(
        "[burn]\nioengine=cpuio\ncpuload=30\nexit_on_io_done=1\n[image]\nioengine=rbd\nrbdname=i\nrw=randwrite\nverify=md5\n\
         [null]\nioengine=null\nsize=1g\nnrfiles=2\nloops=3\n[make]\nioengine=filecreate\nnrfiles=100\nfilesize=4k\n\
         [again]\nread_iolog=recorded.log\nreplay_redirect=/dev/x\n"
    ));
}
