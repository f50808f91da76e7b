//! Jobs: files under their own names, created, used and left by the rules of each job.

use super::common::*;
use plumb_result::PhaseMeasurement;
use plumb_workload::OpKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const MIB: u64 = 1 << 20;

/// The varying text of a job with one worker.
pub(crate) struct JobText {
    pub name: &'static str,
    /// Settings of its group.
    pub group: String,
    /// Settings of its stream.
    pub stream: String,
    /// Settings of the job.
    pub job: String,
}

impl JobText {
    pub(crate) fn reads(name: &'static str) -> JobText {
        JobText::with(name, "read-percent = 100", "files.prepare.write = true")
    }

    pub(crate) fn writes(name: &'static str) -> JobText {
        JobText::with(name, "read-percent = 0", "")
    }

    pub(crate) fn with(name: &'static str, stream: &str, job: &str) -> JobText {
        JobText { name, group: String::new(), stream: stream.to_owned(), job: job.to_owned() }
    }

    pub(crate) fn group(mut self, more: &str) -> JobText {
        self.group += &format!("\n{more}");
        self
    }

    pub(crate) fn stream(mut self, more: &str) -> JobText {
        self.stream += &format!("\n{more}");
        self
    }

    pub(crate) fn job(mut self, more: &str) -> JobText {
        self.job += &format!("\n{more}");
        self
    }
}

/// Returns a workload of one phase with these jobs on one target with these names, each file of 1 MiB.
pub(crate) fn jobs(names: &str, jobs: &[JobText]) -> String {
    let files = format!("[target.data.job-files]\nnames.{names}\nlengths = [\"1MiB\"]\n");
    on_target(&files, jobs)
}

/// Like [`jobs`], on another target, called `data`.
pub(crate) fn on_target(target: &str, jobs: &[JobText]) -> String {
    let mut text = format!("name = \"jobs\"\n{target}\n[[phase]]\nname = \"only\"\nend.flush = \"none\"\n");
    for (number, job) in jobs.iter().enumerate() {
        let worker = number + 1;
        let JobText { name, group, stream, job } = job;
        let order = if stream.contains("order") { "" } else { "order = { sequential = {} }" };
        let ranges = if stream.contains("ranges") { "" } else { "ranges = [{ start = \"0\", length = \"1MiB\" }]" };
        text += &format!(
            r#"
            [[phase.workers]]
            name = "{name}"
            target = "data"
            on-error = "leave"
            {group}
            {job}
            [phase.workers.work.blocks.fio]
            {order}
            sizes = {{ read = "4KiB", write = "4KiB", trim = "4KiB" }}
            align = {{ read = "4KiB", write = "4KiB", trim = "4KiB" }}
            seed = 137
            worker-number = {worker}
            {ranges}
            {stream}
            "#
        );
    }
    text
}

pub(crate) fn assert_no_faults(phase: &PhaseMeasurement) {
    consistent(phase);
    assert_eq!((phase.fault_count, phase.short_count), (0, 0), "{:?}", phase.faults);
    for worker in &phase.workers {
        assert_eq!(worker.ended_by, None, "{}", worker.name);
    }
}

fn length(path: &Path) -> u64 {
    path.metadata().unwrap_or_else(|error| panic!("{}: {error}", path.display())).len()
}

#[test]
fn a_job_that_reads_finds_its_file_written_in_full_and_the_file_stays() {
    let place = Place::new();
    let text = jobs("numbered = { path = \"job.0.{}\", count = 1 }", &[JobText::reads("job")]);
    for _ in 0..2 {
        let phase = place.phase(&text);
        assert_no_faults(&phase);
        assert_eq!((count(&phase, OpKind::Read), bytes(&phase, OpKind::Read)), (256, MIB));
        let path = place.base().join("job.0.0");
        assert_eq!(length(&path), MIB);
        let content = std::fs::read(&path).unwrap();
        assert!(content.chunks(4096).all(|block| block.iter().any(|&byte| byte != 0)), "no block is a hole");
    }
}

#[test]
fn laid_out_files_have_the_content_of_the_jobs_writes() {
    let place = Place::new();
    let job = JobText::reads("job").job("content.pattern = [{ hex = \"c0ffee\" }]");
    assert_no_faults(&place.phase(&jobs("numbered = { path = \"job.{}\", count = 1 }", &[job])));
    let content = std::fs::read(place.base().join("job.0")).unwrap();
    assert!(content.starts_with(&[0xc0, 0xff, 0xee, 0xc0]), "{:x?}", &content[..8]);
    let job = JobText::reads("job").job("content.zero = true");
    assert_no_faults(&place.phase(&jobs("numbered = { path = \"zero.{}\", count = 1 }", &[job])));
    assert!(std::fs::read(place.base().join("zero.0")).unwrap().iter().all(|&byte| byte == 0));
}

#[test]
fn the_layout_is_not_in_the_result() {
    let place = Place::new();
    let phase = place.phase(&jobs("numbered = { path = \"job.{}\", count = 4 }", &[JobText::reads("job")]));
    assert_no_faults(&phase);
    assert_eq!(count(&phase, OpKind::Write), 0);
    assert_eq!(count(&phase, OpKind::Fsync), 0);
    assert_eq!(phase.workers[0].bytes, 4 * MIB);
    assert_eq!(phase.workers[0].ops[&OpKind::Read].count, 1024, "each worker has its own ops");
}

#[test]
fn files_that_are_only_written_are_allocated_but_not_prewritten() {
    let place = Place::new();
    for (rule, expects) in [
        ("native", (MIB, true)),
        ("posix", (MIB, true)),
        ("keep", (0, true)),
        ("truncate", (MIB, false)),
        ("none", (0, false)),
    ] {
        let job =
            JobText::writes("job").job(&format!("files.prepare.allocation = \"{rule}\"\nfiles.create-only = true"));
        let name = format!("{rule}.0");
        assert_no_faults(&place.phase(&jobs(&format!("numbered = {{ path = \"{rule}.{{}}\", count = 1 }}"), &[job])));
        let meta = place.base().join(name).metadata().unwrap();
        assert_eq!((meta.len(), meta.blocks() > 0), expects, "{rule}");
    }
}

#[test]
fn a_longer_file_is_not_truncated() {
    let place = Place::new();
    std::fs::write(place.base().join("job.0"), vec![7; 3 << 20]).unwrap();
    let phase = place.phase(&jobs("numbered = { path = \"job.{}\", count = 1 }", &[JobText::reads("job")]));
    assert_no_faults(&phase);
    assert_eq!(bytes(&phase, OpKind::Read), MIB, "the job's part of the file");
    assert_eq!(std::fs::read(place.base().join("job.0")).unwrap(), vec![7; 3 << 20]);
}

#[test]
fn two_jobs_on_one_file_have_their_own_descriptors_and_parts() {
    let place = Place::new();
    let part = |start: &str| format!("ranges = [{{ start = \"{start}\", length = \"512KiB\" }}]");
    let text = jobs(
        "numbered = { path = \"shared\", count = 1 }",
        &[
            JobText::reads("first").stream(&part("0")).job("files.hint = \"sequential\""),
            JobText::writes("second")
                .stream(&part("512KiB"))
                .job("files.advice.file = [\"dont-need\", \"will-need\"]")
                .group("run-as = \"process\""),
        ],
    );
    let phase = place.phase(&text);
    assert_no_faults(&phase);
    assert_eq!((phase.workers[0].bytes, phase.workers[1].bytes), (MIB / 2, MIB / 2));
    assert_eq!(phase.workers[1].ops[&OpKind::Write].count, 128);
    assert!(!phase.workers[1].ops.contains_key(&OpKind::Read));
}

#[test]
fn direct_jobs_bypass_the_cache_or_name_the_file_system() {
    let place = Place::new();
    let text = jobs("numbered = { path = \"job.{}\", count = 1 }", &[JobText::reads("job").job("files.direct = true")]);
    assert_no_faults(&place.phase(&text));
    let Some(memory) = Mounted::tmpfs(64 << 20) else { return };
    let outcome = Place::on(memory.path()).try_run(&text, &mut plumb_engine::Nobody);
    // Since Linux 6.6, tmpfs accepts O_DIRECT and ignores it.
    let message = match outcome {
        Err(error) => error.to_string(),
        Ok(measurement) => measurement.phases[0].workers[0].ended_by.clone().unwrap_or_default(),
    };
    assert!(message.is_empty() || (message.contains("O_DIRECT") && message.contains("tmpfs")), "{message}");
}

#[test]
fn files_are_removed_if_the_job_asks_for_it() {
    let place = Place::new();
    let text = jobs(
        "numbered = { path = \"job.{}\", count = 3 }",
        &[JobText::reads("job").job("files.unlink = true").group("run-as = \"process\"")],
    );
    assert_no_faults(&place.phase(&text));
    assert_eq!(tree_files(place.base()), Vec::<std::path::PathBuf>::new());
}

#[test]
fn missing_directories_and_files_are_named() {
    let place = Place::new();
    let fails = |names: &str, job: JobText| {
        place.try_run(&jobs(names, &[job]), &mut plumb_engine::Nobody).unwrap_err().to_string()
    };
    let message = fails("numbered = { path = \"nowhere/job.{}\", count = 1 }", JobText::reads("job"));
    assert!(message.contains("nowhere") && message.contains("mkdir -p"), "{message}");
    let message = fails("said = [\"absent\"]", JobText::reads("job").job("files.prepare.create = false"));
    assert!(message.contains("absent") && message.contains("allow_file_create"), "{message}");
    assert_eq!(tree_files(place.base()), Vec::<std::path::PathBuf>::new(), "nothing was created");
}

#[test]
fn many_files_need_only_as_many_descriptors_as_may_be_open() {
    let place = Place::new();
    let text = jobs(
        "numbered = { path = \"job.{}\", count = 10000 }",
        &[JobText::reads("job").stream("ranges = [{ start = \"0\", length = \"4KiB\" }]\nopen-files = 10")],
    )
    .replace("lengths = [\"1MiB\"]", "lengths = [\"4KiB\"]");
    let most = std::cell::Cell::new(0);
    let phase = {
        let mut spy = Spy {
            at_interval: Some(Box::new(|_| {
                most.set(most.get().max(std::fs::read_dir("/proc/self/fd").unwrap().count()));
            })),
            ..Spy::default()
        };
        place.watch(&text, &mut spy).phases.remove(0)
    };
    assert_no_faults(&phase);
    assert_eq!(count(&phase, OpKind::Read), 10_000);
    assert!(most.get() < 2_000, "{} descriptors", most.get());
}

#[test]
fn filling_a_file_system_ends_a_job_without_an_error() {
    let Some(small) = Mounted::on_loop("ext4", 16 << 20) else { return };
    let place = Place::on(small.path());
    let job = JobText::writes("job")
        .stream("fill-device = true\nranges = [{ start = \"0\", length = \"1GiB\" }]")
        .job("files.prepare.allocation = \"none\"");
    let phase = place.phase(&jobs("numbered = { path = \"job.{}\", count = 1 }", &[job]));
    assert_eq!(phase.fault_count, 0, "{:?}", phase.faults);
    assert_eq!(phase.workers[0].ended_by, None);
    assert!(bytes(&phase, OpKind::Write) > 4 * MIB);
}

// Protects: a ramp that lasts until a number of bytes is moved comes to its end, for all jobs whose bytes count
// together. A job's time starts there, so without the end it would never run out.
#[test]
fn a_ramp_of_bytes_comes_to_its_end() {
    let job = |name| {
        JobText::reads(name)
            .stream("repeat-until-time = true")
            .group("limit.time = \"50ms\"\nramp-until = { bytes = \"256KiB\", together = [\"a\", \"b\"] }")
    };
    let text = jobs("numbered = { path = \"shared\", count = 1 }", &[job("a"), job("b")]);
    let phase = within(WATCHDOG, move || Place::new().phase(&text));
    assert_no_faults(&phase);
    assert_eq!(phase.workers.len(), 2);
    assert!(phase.workers.iter().all(|worker| worker.ops.contains_key(&OpKind::Read)), "{:?}", phase.workers);
}

#[test]
fn flushes_at_the_end_are_the_jobs_own_ops() {
    let place = Place::new();
    let names = "numbered = { path = \"job.{}\", count = 2 }";
    let phase = place.phase(&jobs(names, &[JobText::writes("job").job("syncs.at-end = true")]));
    assert_no_faults(&phase);
    assert_eq!(count(&phase, OpKind::EndFsync), 2);
    let stopped = JobText::writes("job")
        .stream("repeat-until-time = true")
        .job("syncs.at-end = true")
        .group("limit.time = \"200ms\"");
    let phase = place.phase(&jobs(names, &[stopped]));
    assert_no_faults(&phase);
    assert!(count(&phase, OpKind::EndFsync) >= 2, "a job that ends by time also flushes");
}

#[test]
fn without_files_there_are_none() {
    let place = Place::new();
    let phase = place.phase(&on_target("[target.data.null]\nsize = \"1MiB\"", &[JobText::reads("job")]));
    assert_no_faults(&phase);
    assert_eq!(count(&phase, OpKind::Read), 256);
    assert_eq!(tree_files(place.base()), Vec::<std::path::PathBuf>::new());
}

#[test]
fn commands_run_before_and_after_and_one_that_fails_fails_the_job() {
    let place = Place::new();
    let names = "numbered = { path = \"job.{}\", count = 1 }";
    let job = JobText::reads("job").job("process = { run-before = \"echo before\", run-after = \"ls job.0\" }");
    assert_no_faults(&place.phase(&jobs(names, &[job])));
    let text = |name: &str| std::fs::read_to_string(place.base().join(name)).unwrap();
    assert_eq!((text("job.prerun.txt"), text("job.postrun.txt")), ("before\n".to_owned(), "job.0\n".to_owned()));
    // Protects: copies of a job that write to one file, as fio's do.
    let named = |name| JobText::reads(name).job("process = { run-before = \"echo named\", run-name = \"both\" }");
    assert_no_faults(&place.phase(&jobs(names, &[named("a"), named("b")])));
    assert_eq!(text("both.prerun.txt"), "named\n");
    let job = JobText::reads("job").job("process.run-before = \"exit 7\"");
    let phase = place.phase(&jobs(names, &[job]));
    let message = phase.workers[0].ended_by.clone().unwrap_or_default();
    assert!(message.contains("exit 7"), "{message}");
}

#[test]
fn locks_separate_the_ops_of_two_jobs_and_both_end() {
    let place = Place::new();
    let lock = "files.lock = \"exclusive\"";
    let text = jobs(
        "numbered = { path = \"shared\", count = 1 }",
        &[JobText::writes("first").job(lock), JobText::reads("second").job(lock).group("run-as = \"process\"")],
    );
    let phase = place.phase(&text);
    assert_no_faults(&phase);
    assert_eq!((count(&phase, OpKind::Read), count(&phase, OpKind::Write)), (256, 256));
}

#[test]
fn a_worker_process_that_is_killed_is_a_failed_job_and_the_others_go_on() {
    let place = Place::new();
    // The shell's parent is the worker.
    let killed =
        JobText::reads("killed").group("run-as = \"process\"").job("process.run-before = \"kill -9 $PPID; sleep 60\"");
    let other = JobText::reads("other").group("run-as = \"process\"");
    let phase = place.phase(&jobs("numbered = { path = \"shared\", count = 1 }", &[killed, other]));
    assert!(phase.workers[0].ended_by.clone().unwrap_or_default().contains("kill"), "{:?}", phase.workers[0].ended_by);
    assert_eq!(phase.workers[1].ended_by, None);
    assert_eq!(phase.workers[1].ops[&OpKind::Read].count, 256);
}

// Protects: submission and completion times add up to the service times of the same ops, so
// that reports of the three agree.
#[test]
fn parts_of_service_times_add_up() {
    let place = Place::new();
    let job = JobText::reads("job").group("backend.libaio = {}\ndepth = 8").job("time-submission = true");
    let phase = place.phase(&jobs("numbered = { path = \"job.{}\", count = 1 }", &[job]));
    assert_no_faults(&phase);
    let read = &phase.workers[0].ops[&OpKind::Read];
    let (submission, completion) = (read.submission.as_ref().unwrap(), read.completion.as_ref().unwrap());
    assert_eq!([submission.count(), completion.count(), read.count], [256; 3]);
    let parts = submission.sum() + completion.sum();
    assert!(read.service.sum().abs_diff(parts) <= 256, "{parts} of {}", read.service.sum());
    assert!(completion.max() <= read.service.max());
}

// Protects: two ends of a link in one phase find each other, although the sender starts later,
// and neither ends with its ramp.
#[test]
fn both_ends_of_a_link_can_be_jobs_of_one_phase() {
    for ramp in ["", "\nramp = \"150ms\""] {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let end = |name, stream: &str, more: &str, link: &str| {
            let group = format!("{more}\nbackend.socket = {{ kind = \"tcp\", port = {port}, {link} }}");
            JobText::with(name, stream, "").group(&group)
        };
        let sender = end("sender", "read-percent = 0", "start.delay = \"300ms\"", "host = \"127.0.0.1\"");
        let jobs = [end("receiver", "read-percent = 100", ramp, "listens = true"), sender];
        let text = on_target("[target.data.null]\nsize = \"1MiB\"", &jobs);
        let phase = within(WATCHDOG, move || Place::new().phase(&text));
        assert_no_faults(&phase);
        assert_eq!(count(&phase, OpKind::Write), 256);
        // Data received in the ramp is not measured; that is nothing, or the first read.
        assert!(count(&phase, OpKind::Read) >= 255, "{}", count(&phase, OpKind::Read));
        // Reads come one after another. If none of them includes the wait for the sender, they take little longer than
        // the receiver's remaining time when the sender starts. The first read may begin when the sender has connected
        // but not yet read its clock. On a busy machine that takes a while, but far less than the wait.
        let [receiver, sender] = [&phase.workers[0], &phase.workers[1]];
        let waited_ns = sender.started_ns.saturating_sub(receiver.started_ns);
        let left_ns = (receiver.started_ns + receiver.wall_ns).saturating_sub(sender.started_ns);
        let reads_ns = receiver.ops.get(&OpKind::Read).map_or(0, |read| read.service.sum());
        assert!(
            reads_ns <= u128::from(left_ns + (waited_ns / 2).max(100_000_000)),
            "an op's time includes the wait for the other side, {waited_ns}: {reads_ns} of {left_ns}"
        );
    }
}

// Protects: a job that waits for the other side does not count the wait as its own time, as in fio, but
// does not wait beyond the phase.
#[test]
fn a_link_that_nobody_makes_ends_with_its_phase() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let group = format!("backend.socket = {{ kind = \"tcp\", port = {port}, listens = true }}");
    let job = JobText::with("receiver", "read-percent = 100", "").group(&group);
    let text = on_target("[target.data.null]\nsize = \"1MiB\"", &[job]);
    let text = text.replacen("[[phase]]\n", "[[phase]]\nstop.time = \"200ms\"\n", 1);
    let phase = within(WATCHDOG, move || Place::new().phase(&text));
    assert_eq!((phase.fault_count, phase.count()), (0, 0));
}
