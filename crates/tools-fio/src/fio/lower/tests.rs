//! Tests of lowering.

mod every_option;
mod examples;
mod plans;
mod replays;

use super::*;
use crate::fio::{self, Files, Machine, MissingFile};
use plumb_workload::blocks::ByKind;
use plumb_workload::blocks::fio::*;
use plumb_workload::blocks::trace::*;
use plumb_workload::content::BufferContent;
use plumb_workload::files::*;
use plumb_workload::pace::{SteadyFigure, SteadyJudged};
use plumb_workload::phase::ErrorOrigin;
use plumb_workload::{Activity, Backend, Bytes, Nanos, Target, WhenDone, WorkerGroup};
use plumb_workload_text::native;
use plumb_workload_text::validate::validate;
use proptest::prelude::*;
use std::collections::BTreeMap;

struct NoFiles;

impl Files for NoFiles {
    fn read(&mut self, path: &str) -> Result<String, MissingFile> {
        Err(MissingFile { reason: format!("there is no {path}") })
    }
}

struct OneFile(String);

impl Files for OneFile {
    fn read(&mut self, path: &str) -> Result<String, MissingFile> {
        if path == "a.fio" { Ok(self.0.clone()) } else { NoFiles.read(path) }
    }
}

/// A system with a few paths.
#[derive(Default)]
pub(super) struct Known(BTreeMap<String, Found>);

impl Places for Known {
    fn find(&mut self, path: &str) -> Found {
        self.0.get(path).copied().unwrap_or(Found::Absent)
    }

    fn free_bytes(&mut self, _path: &str) -> Option<u64> {
        Some(1 << 30)
    }

    fn files_below(&mut self, directory: &str) -> Vec<String> {
        let below = format!("{directory}/");
        self.0.keys().filter(|path| path.starts_with(&below)).cloned().collect()
    }

    fn recording(&mut self, asked: &RecordingRequest) -> Result<RecordedFiles, plumb_tools::FileError> {
        let Some(part) = asked.parts.first().filter(|part| part.path.starts_with("rec")) else {
            return Err(plumb_tools::FileError::Recording("there is no such recording".into()));
        };
        let name = match part.path.as_str() {
            "rec.bin" => RecordedName::Device { major: 7, minor: 7 },
            "rec.own" => RecordedName::Path("a.0.0".to_owned()),
            _ => RecordedName::Path("a".to_owned()),
        };
        let file = |name, end_bytes, reads| RecordedFile { name, end_bytes, reads, writes: 3, trims: 0 };
        let mut files = vec![file(name, 1 << 20, 2), file(RecordedName::Path("/x/b".to_owned()), 4096, 0)];
        if part.path == "rec.own" {
            files.truncate(1);
        }
        Ok(RecordedFiles { files, largest_bytes: 65_536, waits: u64::from(part.path == "rec.waits") })
    }

    fn device_node(&mut self, _major: u32, _minor: u32) -> Option<String> {
        self.0.keys().find(|path| path.starts_with("/dev/")).cloned()
    }

    fn cpus_of_node(&mut self, node: u32) -> Option<Vec<u32>> {
        (node < 2).then(|| vec![node * 2, node * 2 + 1])
    }
}

fn known(paths: &[(&str, Found)]) -> Known {
    Known(paths.iter().map(|(path, found)| ((*path).to_owned(), *found)).collect())
}

fn read(text: &str) -> fio::Fio {
    let words = ["a.fio".to_owned()];
    fio::read(&words, &Machine::default(), &mut OneFile(text.to_owned())).unwrap_or_else(|errors| panic!("{errors}"))
}

const GIB: u64 = 1 << 30;

fn on(paths: &[(&str, Found)], text: &str) -> Result<Lowered, LowerErrors> {
    lower(&read(text), &mut known(paths), Entropy(7), validate)
}

/// Lowers a job file, and checks that the workload survives a round trip through its native form.
fn lowered(text: &str) -> Lowered {
    let lowered = on(&[], text).unwrap_or_else(|errors| panic!("{errors}"));
    round_trip(&lowered);
    lowered
}

fn round_trip(lowered: &Lowered) {
    let toml = native::to_toml(&lowered.workload).unwrap_or_else(|error| panic!("{error}"));
    let back = native::parse("a.toml", &toml).unwrap_or_else(|error| panic!("{error}\n{toml}"));
    assert_eq!(back, lowered.workload, "{toml}");
}

fn refusal(text: &str) -> String {
    on(&[], text).expect_err("it must be refused").to_string()
}

fn group(lowered: &Lowered, copy: usize) -> &WorkerGroup {
    let copy = &lowered.jobs[copy];
    copy.group(&lowered.workload).expect("it does I/O")
}

fn content(lowered: &Lowered) -> &BufferContent {
    group(lowered, 0).content.as_ref().unwrap()
}

fn stream(lowered: &Lowered, copy: usize) -> &Stream {
    group(lowered, copy).work.fio().expect("a stream")
}

fn files(lowered: &Lowered, copy: usize) -> &JobFiles {
    match &lowered.workload.target[&group(lowered, copy).target] {
        Target::JobFiles(files) => files,
        other => panic!("{other:?} are not files"),
    }
}

fn fixes(lowered: &Lowered, copy: usize) -> String {
    let lines = lowered.plan[copy].lines.iter().filter(|line| line.about == "note");
    lines.map(|line| line.text.clone()).collect::<Vec<_>>().join("\n")
}

#[test]
fn copies_have_files_offsets_and_numbers_of_their_own() {
    let all = lowered("[a]\nnumjobs=3\nsize=1m\noffset_increment=2m\ndirectory=x:y\n[b]\nsize=1m\n");
    let copies: Vec<(u32, u32)> = all.jobs.iter().map(|copy| (copy.copy, copy.thread_number)).collect();
    // fio makes the copies after the first from the last one down.
    assert_eq!(copies, [(0, 1), (2, 2), (1, 3), (0, 4)]);
    let names: Vec<String> =
        (0..4).map(|copy| files(&all, copy).names.path(0).unwrap().display().to_string()).collect();
    assert_eq!(names, ["x/a.0.0", "x/a.2.0", "y/a.1.0", "b.0.0"]);
    assert_eq!(stream(&all, 1).ranges, [FileRange { start: Bytes(4 << 20), length: Bytes(1 << 20) }]);
    assert_eq!((stream(&all, 1).seed, stream(&all, 1).worker_number), (0x89, 2));
    let labels: Vec<&str> = all.jobs.iter().map(|copy| copy.group_name.as_str()).collect();
    assert_eq!(labels, ["a.0", "a.2", "a.1", "b"]);
    assert_eq!(all.workload.phase.len(), 1);
}

/// Protects: `file_append` writes, once, after the end of the file as it was before layout.
#[test]
fn appending_begins_where_the_file_ends() {
    let text = "[a]\nrw=write\nsize=1m\nfile_append=1\nfilename=x\n";
    let at = |paths: &[(&str, Found)]| {
        let all = on(paths, text).unwrap_or_else(|errors| panic!("{errors}"));
        assert!(!group(&all, 0).files.append, "the engine would begin after the laid-out data");
        (stream(&all, 0).ranges.clone(), files(&all, 0).lengths.clone())
    };
    let range = |start: u64| vec![FileRange { start: Bytes(start), length: Bytes(1 << 20) }];
    assert_eq!(at(&[("x", Found::Regular { bytes: 3 << 20 })]), (range(3 << 20), vec![Bytes(4 << 20)]));
    assert_eq!(at(&[]), (range(0), vec![Bytes(1 << 20)]), "a new file has no data to append to");
}

/// Protects: a job sees the files that earlier jobs lay out. fio 3.42 begins these copies at 0, 10 and 5 MiB.
#[test]
fn a_percentage_is_of_the_file_that_an_earlier_job_lays_out() {
    let text = "[a]\nrw=randread\noffset_increment=25%\nnumjobs=3\nfilename=x\nsize=2m\nfilesize=20m\n";
    let all = lowered(text);
    let starts: Vec<(u32, u64)> =
        (0..3).map(|at| (all.jobs[at].copy, stream(&all, at).ranges[0].start.0 >> 20)).collect();
    assert_eq!(starts, [(0, 0), (2, 10), (1, 5)]);
    assert_eq!(all.jobs.iter().map(|copy| copy.fresh_files).collect::<Vec<_>>(), [1, 0, 0]);
    let sized = lowered("[a]\nrw=write\nsize=3m\nfilename=x\n[b]\nstonewall\nrw=read\nfilename=x\n");
    assert_eq!(stream(&sized, 1).ranges[0].length, Bytes(3 << 20), "no size: that of the file");
    let later = "[a]\nrw=write\nsize=3m\nfilename=x\ncreate_on_open=1\n[b]\nrw=read\nfilename=x\n";
    assert!(refusal(later).contains("the size of its files is unknown"), "no job lays it out");
}

/// Protects: no count can exhaust memory or threads, and the error names its line. fio's limit is 4,096 jobs.
#[test]
fn counts_have_limits() {
    let files = |text: &str| fio::read(&["a.fio".to_owned()], &Machine::default(), &mut OneFile(text.to_owned()));
    for option in ["numjobs=4m", "numjobs=4097", "nrfiles=2m", "verify_async=5000"] {
        let errors = files(&format!("[a]\nsize=1m\n{option}\n")).expect_err(option).to_string();
        assert!(errors.contains("a.fio:3: ") && errors.contains(option), "{errors}");
    }
    let all = refusal("[global]\nsize=1m\nnumjobs=3000\n[a]\n[b]\nnumjobs=2000\n");
    assert_eq!(all, "a.fio:6: b: numjobs: 5000 jobs of this run are too many; use at most 4096");
    let many = refusal("[a]\nsize=1g\nnrfiles=1m\nnumjobs=5\n");
    assert_eq!(many, "a.fio:3: a: nrfiles: 5242880 files of all its jobs are too many; use at most 4194304");
    let deep = refusal("[a]\nsize=1m\nioengine=libaio\niodepth=40000\n");
    assert_eq!(deep, "a.fio:4: a: iodepth: 40000 ops in flight are too many; use at most 32768");
    assert_eq!(lowered("[a]\nsize=1m\niodepth=40000\n").jobs.len(), 1, "a synchronous engine has one");
    assert_eq!(lowered("[a]\nsize=1m\nnumjobs=4096\nthread\n").jobs.len(), 4096);
}

#[test]
fn a_stonewall_is_a_phase_and_groups_are_numbered() {
    let all = lowered("[global]\nsize=1m\n[a]\nstonewall\n[b]\n[c]\nnew_group\n[d]\nstonewall\nnumjobs=2\n[e]\n");
    let places: Vec<(usize, u32)> = all.jobs.iter().map(|copy| (copy.phase, copy.group_id)).collect();
    assert_eq!(places, [(0, 0), (0, 0), (0, 1), (1, 2), (1, 2), (1, 2)]);
}

#[test]
fn waits_are_for_groups_of_the_same_phase() {
    let all = lowered("[global]\nsize=1m\n[a]\nnumjobs=2\n[b]\nwait_for=a\n[c]\nstonewall\nwait_for=a\n");
    assert_eq!(group(&all, 2).start.after, ["a.0", "a.1"]);
    assert!(group(&all, 3).start.after.is_empty(), "the earlier phase has ended");
    assert!(refusal("[global]\nsize=1m\n[a]\nwait_for=b\n[b]\n").contains("no earlier job has this name"));
    assert!(refusal("[a]\nsize=1m\nwait_for=a\n").contains("cannot wait for itself"));
    assert!(refusal("[global]\nsize=1m\n[a]\n[a]\n[b]\nwait_for=a\n").contains("several earlier jobs"));
}

#[test]
fn exitall_ends_the_requested_jobs() {
    let end = |text: &str, copy: usize| group(&lowered(&format!("[global]\nsize=1m\n{text}")), copy).when_done.clone();
    // One `exitall` applies to all jobs.
    assert_eq!(end("[a]\nexitall\n[b]\n", 1), WhenDone::Phase);
    assert_eq!(end("[a]\nexitall\n[b]\nnew_group\n", 0), WhenDone::Groups(vec!["a".to_owned()]));
    assert_eq!(end("[a]\nexitall\nexit_what=all\n", 0), WhenDone::Run);
    assert_eq!(end("[a]\nexitall_on_error\nexit_what=all\n[b]\n", 0), WhenDone::RunIfFailed);
    assert_eq!(end("[a]\nexitall_on_error\nexit_what=all\n[b]\n", 1), WhenDone::Itself);
    assert_eq!(end("[a]\nexitall_on_error\n[b]\nnew_group\n", 0), WhenDone::GroupsIfFailed(vec!["a".to_owned()]));
}

#[test]
fn size_is_of_the_job_and_filesize_of_each_file() {
    let all = lowered("[a]\nsize=1m\nnrfiles=3\nbs=4k\n");
    // An incomplete block is left over.
    assert_eq!(stream(&all, 0).ranges, [FileRange { start: Bytes(0), length: Bytes(349_525) }]);
    assert_eq!(stream(&all, 0).io_bytes, None);
    // Remaining blocks go to the first files.
    let uneven = lowered("[a]\nsize=1040k\nnrfiles=1000\nbs=512\n");
    let lengths: Vec<u64> = stream(&uneven, 0).ranges.iter().map(|range| range.length.0).collect();
    assert_eq!(lengths, [1_064 + 512, 1_064]);
    let each = lowered("[a]\nfilesize=1m\nnrfiles=3\n");
    assert_eq!(stream(&each, 0).ranges, [FileRange { start: Bytes(0), length: Bytes(1 << 20) }]);
    assert_eq!(files(&each, 0).names, Names::Numbered { path: "a.0.{}".into(), count: 3, per_directory: None });
    assert_eq!(files(&each, 0).lengths, [Bytes(1 << 20)]);
    let more = lowered("[a]\nsize=1m\nio_size=3m\n");
    assert_eq!(stream(&more, 0).io_bytes, Some(Bytes(3 << 20)));
    assert_eq!(stream(&lowered("[a]\nsize=1m\nio_size=50%\n"), 0).io_bytes, Some(Bytes(1 << 19)));
    assert!(refusal("[a]\nrw=read\n").contains("set `size` or `filesize`"));
    assert!(refusal("[a]\nsize=1k\nbs=4k\n").contains("is smaller than one block"));
}

/// As in fio's manual, a rate is an average over the whole run unless it ignores pauses.
#[test]
fn pauses_are_made_up_for_unless_the_rate_ignores_them() {
    let catches_up =
        |options: &str| group(&lowered(&format!("[a]\nsize=1m\nrate=1m\n{options}")), 0).pace.catch_up_thinking;
    assert!(catches_up("thinktime=1s\n"));
    assert!(!catches_up("thinktime=1s\nrate_ignore_thinktime=1\n"));
    assert!(!catches_up(""), "there is nothing to make up for");
}

/// The default of one op between pauses would leave no time to work in.
#[test]
fn thinktime_iotime_alone_sets_no_op_count() {
    let think = |text: &str| {
        let all = lowered(&format!("[a]\nsize=1m\nthinktime=1s\n{text}"));
        let think = group(&all, 0).pace.think.unwrap();
        (think.every, think.work)
    };
    assert_eq!(think(""), (1, None));
    assert_eq!(think("thinktime_iotime=9\n"), (0, Some(Nanos(9_000_000_000))));
    assert_eq!(think("thinktime_iotime=9s\nthinktime_blocks=4\n"), (4, Some(Nanos(9_000_000_000))));
}

#[test]
fn percentages_refer_to_the_existing_file() {
    let disk = [("/dev/x", Found::Block { bytes: GIB }), ("f", Found::Regular { bytes: 10_000 })];
    let part = on(&disk, "[a]\nfilename=/dev/x\nsize=25%\noffset=50%\nrw=randwrite\n").unwrap();
    assert_eq!(stream(&part, 0).ranges, [FileRange { start: Bytes(GIB / 2), length: Bytes(GIB / 4) }]);
    assert!(files(&part, 0).lengths.is_empty(), "devices are not laid out");
    let whole = on(&disk, "[a]\nfilename=f\n").unwrap();
    assert_eq!(stream(&whole, 0).ranges, [FileRange { start: Bytes(0), length: Bytes(10_000) }]);
    let beyond = on(&disk, "[a]\nfilename=f\noffset=20k\n").unwrap_err().to_string();
    assert!(beyond.contains("is beyond the end of `f` (10000 bytes)"), "{beyond}");
    // A job named like a device works on that device.
    assert_eq!(files(&on(&disk, "[/dev/x]\nrw=read\n").unwrap(), 0).names, Names::Given(vec!["/dev/x".into()]));
}

#[test]
fn sizes_and_delays_equal_fios() {
    let all = lowered("[a]\nfilesize=4k-1m\nnrfiles=4\nstartdelay=1-10\n");
    let again = lowered("[a]\nfilesize=4k-1m\nnrfiles=4\nstartdelay=1-10\n");
    assert_eq!(all.workload, again.workload);
    let lengths: Vec<u64> = stream(&all, 0).ranges.iter().map(|range| range.length.0).collect();
    // Sizes that fio 3.33 lays out.
    assert_eq!(lengths, [151_552, 327_680, 311_296, 937_984]);
    let two = lowered("[x]\nsize=1m\n[b]\nfilesize=8k-64k\nnrfiles=3\nrandom_generator=tausworthe64\nrandseed=77\n");
    let lengths: Vec<u64> = stream(&two, 1).ranges.iter().map(|range| range.length.0).collect();
    assert_eq!(lengths, [40_960, 8_192, 28_672]);
    let delay = group(&all, 0).start.delay;
    assert!((Nanos(1_000_000_000)..=Nanos(10_000_000_000)).contains(&delay), "{delay}");
    assert_ne!(lowered("[a]\nfilesize=4k-1m\nnrfiles=4\nrandseed=5\n").workload.target, all.workload.target);
}

#[test]
fn an_explicit_seed_overrides_randrepeat() {
    let seed = |text: &str| lowered(&format!("[a]\nsize=1m\n{text}")).jobs[0].seed;
    assert_eq!(seed(""), 0x89);
    assert_eq!(seed("randrepeat=0\n"), 7);
    assert_eq!(seed("randrepeat=0\nrandseed=5\n"), 5);
    assert_eq!(seed("randseed=18446744073709551615\n"), u64::MAX);
}

/// Protects: sprandom becomes the steady-state rule with the capacity of the SSD,
/// and input that fio refuses is refused.
#[test]
fn sprandom_writes_the_physical_capacity() {
    let one = |text: &str| lowered(&format!("[a]\nsprandom=1\nsize=32m\n{text}"));
    let job = one("rw=randwrite\nspr_op=0.10\nspr_num_regions=50\nspr_cs=32k\nio_size=1g\n");
    let drawn = stream(&job, 0);
    let expected = SteadyState { over_provisioning: 0.1, regions: 50, cache: Bytes(32 << 10) };
    assert_eq!(drawn.distribution, OffsetDistribution::SteadyState(expected));
    assert_eq!((drawn.coverage, drawn.io_bytes), (Coverage::Again, Some(Bytes(36_909_056))));
    assert!(fixes(&job, 0).contains("random_generator=lfsr is set, because sprandom needs it"));
    let refused = |text: &str| on(&[], &format!("[a]\nsprandom=1\nsize=32m\n{text}")).expect_err(text).to_string();
    for (text, expected) in [
        ("rw=randread\n", "`sprandom` needs `rw=randwrite`"),
        ("rw=write\n", "`sprandom` needs `rw=randwrite`"),
        ("rw=randwrite\nrandom_generator=tausworthe\n", "`sprandom` needs `random_generator=lfsr`"),
        ("rw=randwrite\nnorandommap=0\n", "`sprandom` needs `norandommap=1`"),
        ("rw=randwrite\nnrfiles=2\n", "several files are not one SSD"),
        ("rw=randwrite\nrandom_distribution=zipf:1.2\n", "it spreads its writes itself"),
        ("rw=randwrite\nspr_op=1.2\n", "the over-provisioning 1.2 is not between 0 and 1"),
        ("rw=randwrite\nspr_num_regions=2000\nspr_cs=32k\n", "use at most 1177 regions"),
    ] {
        let message = refused(text);
        assert!(message.contains(expected), "{text}: {message}");
    }
}

/// Protects: engines with rules of their own are refused as in fio, and the donor is in the job's directory.
#[test]
fn page_fault_and_e4defrag_have_their_own_rules() {
    let memory = lowered("[a]\nioengine=page_fault\nsize=1m\nrw=randrw\n");
    assert_eq!(group(&memory, 0).backend, Backend::PageFault);
    assert!(matches!(memory.workload.target[&group(&memory, 0).target], Target::Null(_)), "no file is used");
    let defrag =
        lowered("[a]\nioengine=e4defrag\ndirectory=d\nfilename=f\nsize=1m\nrw=write\ndonorname=give\ninplace=1\n");
    assert_eq!(group(&defrag, 0).backend, Backend::MoveExtents { donor: "d/give".to_owned(), in_place: true });
    for (text, expected) in [
        ("ioengine=page_fault\nnrfiles=2\n", "memory stands for one file"),
        ("ioengine=page_fault\noffset=4k\n", "leave it out"),
        ("ioengine=page_fault\nsize=0\n", "the size of its files is unknown"),
        ("ioengine=e4defrag\nrw=write\n", "needs `donorname`"),
    ] {
        let message = refusal(&format!("[a]\nsize=1m\n{text}"));
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn fixups_follow_from_the_given_options() {
    let one = |text: &str| lowered(&format!("[a]\nsize=1m\n{text}"));
    assert!(group(&one("rw=read\n"), 0).files.prepare.write);
    assert!(!group(&one("rw=write\n"), 0).files.prepare.write);
    let aligned = one("rw=randread\nba=8k\n");
    assert_eq!(stream(&aligned, 0).coverage, Coverage::Again);
    assert!(fixes(&aligned, 0).contains("norandommap is set, because `ba`"));
    assert_eq!(stream(&one("rw=read\nba=8k\n"), 0).align.read, Bytes(4_096));
    assert_eq!(stream(&one("rw=randread\nrandom_distribution=zipf:1.2\n"), 0).coverage, Coverage::Again);
    assert_eq!(stream(&one("rw=randread\n"), 0).coverage, Coverage::Once);
    assert_eq!(stream(&one("rw=randread\nrandom_generator=lfsr\n"), 0).coverage, Coverage::OnceByRegister);
    let verified = one("rw=write\nverify=crc32c\nbs=3k-6k\nbsrange=3k-6k\n");
    assert!(content(&verified).refill);
    assert_eq!(group(&verified, 0).verify.as_ref().unwrap().interval, Some(Bytes(3_072)));
    assert!(!content(&one("rw=write\nverify=crc32c\nrefill_buffers=0\n")).refill);
    assert!(!group(&one("pre_read=1\n"), 0).files.drop_cached);
    let zero = one("rw=write\nbuffer_compress_percentage=100\n");
    assert!(content(&zero).zero && content(&zero).compress_percent == 0);
    assert!(content(&one("rw=write\nbuffer_compress_percentage=50\n")).refill);
    assert_eq!(group(&one("rw=randread\n"), 0).files.hint, AccessHint::Random);
    assert_eq!(group(&one("rw=read\nfadvise_hint=0\n"), 0).files.hint, AccessHint::None);
    assert!(group(&one("buffered=0\n"), 0).files.direct);
}

#[test]
fn only_engines_with_a_queue_have_a_depth() {
    let one = |text: &str| lowered(&format!("[a]\nsize=1m\niodepth=16\n{text}"));
    let sync = one("ioengine=psync\n");
    assert_eq!((group(&sync, 0).depth, group(&sync, 0).time_submission), (1, false));
    assert!(fixes(&sync, 0).contains("iodepth is 1 instead of 16"));
    assert_eq!(group(&one("ioengine=vsync\n"), 0).depth, 16);
    let queued = one("ioengine=libaio\niodepth_batch=32\niodepth_batch_complete_min=8\niodepth_low=4\n");
    let deep = group(&queued, 0);
    assert_eq!((deep.depth, deep.batch.submit, deep.batch.complete), (16, 16, 8));
    assert_eq!((deep.batch.refill_at, deep.batch.most_completions), (Some(4), Some(8)));
    let most = |text: &str| group(&one(&format!("ioengine=libaio\n{text}")), 0).batch.most_completions;
    assert_eq!(most(""), Some(1), "one is reaped and one submitted, so that the queue is full");
    assert_eq!(most("iodepth_batch_complete_max=6\n"), Some(6));
    assert_eq!(most("iodepth_batch_complete_min=8\niodepth_batch_complete_max=6\n"), Some(8));
    assert_eq!(most("iodepth_batch_complete_min=0\n"), None);
    assert_eq!(group(&one("ioengine=vsync\n"), 0).batch.most_completions, None);
    assert!(group(&queued, 0).time_submission);
    assert!(!group(&one("ioengine=libaio\ngtod_reduce=1\n"), 0).time_submission);
}

#[test]
fn errors_are_ignored_by_number() {
    let passed = |options: &str| {
        let lowered = lowered(&format!("[a]\nsize=4k\n{options}\n"));
        let ignored = group(&lowered, 0).errors.ignore.clone();
        ignored.into_iter().map(|ignored| (ignored.at, ignored.errno)).collect::<Vec<_>>()
    };
    assert_eq!(passed(""), []);
    assert_eq!(passed("continue_on_error=write"), [(ErrorOrigin::Write, 5), (ErrorOrigin::Write, 84)]);
    assert_eq!(passed("continue_on_error=write\nignore_error=,ENOSPC"), [(ErrorOrigin::Write, 28)]);
    assert_eq!(passed("ignore_error=EINVAL:5"), [(ErrorOrigin::Read, 22), (ErrorOrigin::Read, 5)]);
}

// Protects: as in fio, jobs that are reported together have one ramp.
#[test]
fn a_byte_ramp_is_shared_by_the_group() {
    let all = lowered("[global]\nsize=1m\nramp_size=64k\ngroup_reporting\n[a]\n[b]\n[c]\nnew_group\n");
    let untils: Vec<_> = all.workload.phase[0].workers.iter().map(|group| group.ramp_until.clone().unwrap()).collect();
    assert!(untils.iter().all(|until| until.bytes.0 == 65_536));
    let together: Vec<&[String]> = untils.iter().map(|until| &until.together[..]).collect();
    assert_eq!(together, [&["a".to_owned(), "b".to_owned()][..], &["a".to_owned(), "b".to_owned()][..], &[][..]]);
}

#[test]
fn a_control_group_goes_with_its_weight() {
    let of = |text: &str| {
        let all = lowered(&format!("[a]\nsize=1m\n{text}"));
        let group = &all.workload.phase[0].workers[0];
        group.process.cgroup.clone().map(|group| (group.name, group.weight, group.stays))
    };
    assert_eq!(of("cgroup=slow\ncgroup_weight=200\n"), Some(("slow".to_owned(), Some(200), false)));
    assert_eq!(of("cgroup=slow\ncgroup_nodelete=1\n"), Some(("slow".to_owned(), None, true)));
    assert_eq!(of("cgroup_weight=200\n"), None, "as fio, a weight is that of a group that is named");
}

#[test]
fn options_that_contradict_one_another_are_refused() {
    let refused_with = |text: &str, expected: &str| {
        let message = refusal(&format!("[a]\nsize=1m\n{text}"));
        assert!(message.contains(expected), "{message}");
    };
    refused_with("rate=1m\nrate_iops=10\n", "`rate` and `rate_iops` cannot be combined");
    refused_with("rate=1m\nrate_min=2m\n", "the minimum rate exceeds the rate limit");
    refused_with("zonemode=strided\n", "needs `zonesize`");
    refused_with("zonemode=none\nzonesize=64k\n", "cannot be combined");
    refused_with("zonesize=64k\nzoneskip=64k\n", "`zonesize` needs `zonemode=strided`");
    refused_with("numjobs=0\n", "numjobs=0: there are no copies of the job");
    refused_with("nrfiles=0\n", "nrfiles=0: there are no files");
    refused_with("rw=write\nverify=md5\nbs=512\nverify_offset=500\n", "the header does not fit");
    refused_with("ioengine=psync\natomic=1\nrw=write\n", "`atomic` needs");
    refused_with("ioengine=net\nport=1\nrw=randread\n", "a socket is sequential");
    refused_with("ioengine=net\n", "needs `port`");
    refused_with("ioengine=cpuio\n", "needs `cpuload`");
    refused_with("rw=randtrim\nnum_range=8\nioengine=libaio\n", "needs `ioengine=io_uring_cmd`");
    refused_with("ss=iops:1%\nss_dur=3\nss_interval=2\n", "a multiple of the interval");
    refused_with("numa_cpu_nodes=9\n", "no NUMA node 9");
    refused_with("offset=5z\n", "needs `zonemode=zbd`");
    refused_with("rw=read\nunlink_each_loop=1\nloops=2\n", "cannot be read again");
    let read_only = fio::read(
        &["--readonly".to_owned(), "a.fio".to_owned()],
        &Machine::default(),
        &mut OneFile("[a]\nsize=1m\nrw=write\n".to_owned()),
    );
    let refused = lower(&read_only.unwrap(), &mut known(&[]), Entropy(1), validate).unwrap_err().to_string();
    assert!(refused.contains("--readonly forbids"), "{refused}");
}

#[test]
fn an_engine_without_io_has_no_files() {
    let all = lowered(
        "[c]\nioengine=cpuio\ncpuload=50\n[e]\nioengine=exec\nprogram=/bin/true\n[n]\nioengine=null\nsize=1g\n",
    );
    let does = |copy: usize| &all.jobs[copy].companion(&all.workload).expect("it does no I/O").does;
    assert!(matches!(does(0), Activity::Busy(busy) if busy.percent == 50));
    assert!(matches!(does(1), Activity::Exec(exec) if exec.program == "/bin/true"));
    assert_eq!(all.jobs[0].target, None);
    let target = all.jobs[2].target.as_ref().unwrap();
    assert!(matches!(&all.workload.target[target], Target::Null(null) if null.size == Bytes(GIB)));
    let net = lowered("[n]\nioengine=net\nhostname=h\nport=8000\nnumjobs=2\nsize=1m\nrw=write\n");
    assert!(matches!(&group(&net, 1).backend, Backend::Socket { port: Some(8_001), listens: false, .. }));
}

#[test]
fn each_file_is_one_op_of_an_engine_that_calls_files() {
    let all = lowered("[a]\nioengine=filecreate\nnrfiles=200\nfilesize=16k\nbs=4k\nfallocate=none\n");
    let stream = stream(&all, 0);
    assert_eq!(stream.ranges, [FileRange { start: Bytes(0), length: Bytes(4_096) }]);
    assert_eq!(files(&all, 0).names.count(), 200);
    assert!(files(&all, 0).lengths.is_empty());
    assert!(fixes(&all, 0).contains("fio counts 4 ops"));
}

#[test]
fn unsupported_engines_are_translated_and_reported() {
    let all = lowered("[a]\nioengine=rbd\nrbdname=x\npool=p\nbs=8k\niodepth=4\nrw=randwrite\n");
    let Backend::Foreign { engine, options } = &group(&all, 0).backend else { panic!("it is foreign") };
    assert_eq!((engine.as_str(), options["rbdname"].as_str(), options["pool"].as_str()), ("rbd", "x", "p"));
    assert!(all.unrunnable[0].why.contains("an external library"), "{:?}", all.unrunnable);
    let zoned = lowered("[a]\nfilename=/dev/x\nzonemode=zbd\nsize=4z\nrw=write\n");
    assert_eq!(zoned.unrunnable[0].what, "zonemode=zbd");
    assert!(matches!(&group(&zoned, 0).backend, Backend::Foreign { engine, .. } if engine == "psync"));
}

#[test]
fn every_engine_that_works_has_a_backend() {
    for engine in fio::engines::ENGINES.iter().filter(|engine| engine.support == fio::options::Support::Works) {
        let text = format!(
            "[a]\nsize=1m\nioengine={}\n{}",
            engine.name,
            match engine.name {
                "net" => "port=1\nhostname=h\n",
                "cpuio" => "cpuload=1\n",
                "exec" => "program=x\n",
                "e4defrag" => "donorname=x\n",
                _ => "",
            }
        );
        let all = lowered(&text);
        assert!(all.unrunnable.is_empty(), "{}", engine.name);
        let group = all.jobs[0].group(&all.workload);
        assert!(!matches!(group.map(|group| &group.backend), Some(Backend::Foreign { .. })), "{}", engine.name);
    }
}

#[test]
fn steadiness_is_judged_per_reporting_group() {
    let all =
        lowered("[a]\nsize=1m\nss=bw_slope:0.5%\nss_dur=10\nnumjobs=2\ngroup_reporting\ntime_based\nruntime=60\n");
    let steady = group(&all, 0).steady.as_ref().unwrap();
    assert_eq!((steady.figure, steady.judged), (SteadyFigure::Bytes, SteadyJudged::Slope));
    assert_eq!(steady.together, ["a.0", "a.1"]);
    assert_eq!(group(&all, 0).limit.time, Some(Nanos(60_000_000_000)));
    assert!(stream(&all, 0).repeat_until_time);
}

#[test]
fn cpus_and_nodes() {
    let split = lowered("[a]\nsize=1m\nnumjobs=3\ncpus_allowed=4-5\ncpus_allowed_policy=split\n");
    let cpus: Vec<&[u32]> = (0..3).map(|copy| group(&split, copy).cpus.as_slice()).collect();
    assert_eq!(cpus, [&[4][..], &[5], &[4]]);
    assert_eq!(group(&lowered("[a]\nsize=1m\nnuma_cpu_nodes=1\n"), 0).process.any_of_cpus, [2, 3]);
}

#[test]
fn names_follow_the_format() {
    assert_eq!(names::generated("$JobName-$filenum.$jobnum$clientuid", "a", 2, ("7", "")), "a-7.2");
    assert_eq!(names::generated("", "a", 0, ("1", "")), "a.0.1");
    assert_eq!(names::generated("é$jobname$", "$jobnum", 0, ("1", "")), "é$jobnum$");
    let explicit = lowered("[a]\nfilename=x:y\ndirectory=/d/\nsize=1m\n");
    assert_eq!(files(&explicit, 0).names, Names::Given(vec!["/d/x".into(), "/d/y".into()]));
    assert_eq!(names::plain("  /dev/sda 1"), "dev-sda-1");
}

/// F6: fails if every `filename_format` counts as a generated name, even `precious.db`.
#[test]
fn a_format_without_a_number_is_a_name_that_the_user_typed() {
    let names = |format: &str| {
        let lowered = lowered(&format!("[p2.db]\nfilename_format={format}\ndirectory=d\nsize=1m\n"));
        files(&lowered, 0).names.clone()
    };
    for (format, name) in
        [("precious.db", "d/precious.db"), ("$jobname", "d/p2.db"), ("$JobName.$clientuid", "d/p2.db.")]
    {
        assert_eq!(names(format), Names::Given(vec![name.into()]), "{format}");
    }
    for (format, path) in [("$jobname.$JOBNUM", "d/p2.db.0"), ("x$filenum", "d/x0")] {
        assert_eq!(names(format), Names::Numbered { path: path.into(), count: 1, per_directory: None }, "{format}");
    }
}

proptest! {
    /// For arbitrary input, lowering returns a workload that can be printed and parsed, or reports the problem.
    #[test]
    fn lowering_never_panics(text in job_texts()) {
        let words = ["a.fio".to_owned()];
        if let Ok(fio) = fio::read(&words, &Machine::default(), &mut OneFile(text)) {
            let disk = known(&[("/dev/x", Found::Block { bytes: GIB }), ("f", Found::Regular { bytes: 5_000 })]);
            let mut disk = disk;
            if let Ok(lowered) = lower(&fio, &mut disk, Entropy(u64::MAX), validate) {
                round_trip(&lowered);
                prop_assert!(!plan(&lowered.plan).is_empty());
            }
        }
    }
}

// Protects: counts that fio accepts but TOML cannot hold are limited, so that the workload can be written.
#[test]
fn the_largest_counts_fit_a_workload_file() {
    let largest = u64::MAX;
    let lowered =
        lowered(&format!("[a]\nsize=1m\nrw=write\nverify=crc32c\nnumber_ios={largest}\nverify_backlog={largest}\n"));
    let toml = native::to_toml(&lowered.workload).unwrap();
    assert_eq!(toml.matches(&i64::MAX.to_string()).count(), 2, "{toml}");
}

/// Generates job files of options with all sorts of values.
fn job_texts() -> impl Strategy<Value = String> {
    use fio::options;
    let works: Vec<&'static options::OptionSpec> =
        options::all().filter(|option| option.support == options::Support::Works).collect();
    let value = prop_oneof![
        Just("0".to_owned()),
        Just("1".to_owned()),
        Just("7".to_owned()),
        Just("4k".to_owned()),
        Just("1m".to_owned()),
        Just("50%".to_owned()),
        Just("3z".to_owned()),
        Just("/dev/x".to_owned()),
        Just("f:g".to_owned()),
        Just("18446744073709551615".to_owned()),
        Just("9223372036854775807".to_owned()),
        Just("4k-1m".to_owned()),
        Just("randrw:8".to_owned()),
        Just("zipf:1.2".to_owned()),
        Just("md5".to_owned()),
        Just("strided".to_owned()),
        Just("0-3".to_owned()),
        Just("iops:1%".to_owned()),
        Just("split".to_owned()),
        Just("a".to_owned()),
    ];
    let option = (proptest::sample::select(works), value, any::<proptest::sample::Index>()).prop_map(
        |(option, value, choice)| match option.kind().choices() {
            [] if option.name == "numjobs" || option.name == "nrfiles" => format!("{}=3", option.name),
            [] if option.kind() == fio::value::kind::Kind::Flag => option.name.to_owned(),
            [] => format!("{}={value}", option.name),
            words => format!("{}={}", option.name, choice.get(words)),
        },
    );
    let engine = proptest::sample::select(vec!["psync", "libaio", "io_uring", "null", "mmap", "filecreate", "rbd"]);
    let job = (engine, proptest::collection::vec(option, 0..6));
    proptest::collection::vec(job, 1..3).prop_map(|jobs| {
        jobs.iter().fold(String::new(), |text, (engine, options)| {
            format!("{text}[a]\nsize=1m\nioengine={engine}\n{}\n", options.join("\n"))
        })
    })
}
