//! `plumb as fio --translate` and `--plan` end to end.

use crate::common::Home;

const JOB: &str = "[global]\nsize=1m\nrw=randread\n[a]\nnumjobs=2\n[b]\nstonewall\nioengine=rbd\nrbdname=image\n";

/// Jobs become a native workload, and jobs that cannot run say so.
#[test]
fn jobs_are_translated() {
    let home = Home::new();
    home.file("a.fio", JOB);
    let output = home.plumb("as fio --translate a.fio").expect(0);
    let output = output.expect_stdout(&[
        "[target.\"a.0\".job-files]",
        "name = \"2-b\"",
        "engine = \"rbd\"",
        "rbdname = \"image\"",
    ]);
    output.expect_stdout(&["# Plumb cannot run the job b: the engine `rbd`: it needs an external library"]);
    home.plumb("as fio --translate --name=a --wait_for=b --size=1m").expect(1).expect_stderr(&["no earlier job"]);
}

/// The plan describes the work, and creates nothing.
#[test]
fn jobs_are_planned() {
    let home = Home::new();
    home.file("a.fio", JOB);
    let plan = home.plumb("as fio --plan a.fio").expect(0);
    plan.expect_stdout(&["Phase 2", "reads of 4KiB, random", "a.0.0, to lay out", "1MiB in 256 ops"]);
    assert!(!home.work().join("a.0.0").exists());
}
