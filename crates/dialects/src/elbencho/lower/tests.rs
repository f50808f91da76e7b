//! What command lines become.

use super::{Found, Lowered, PhaseKind, Places, lower};
use plumb_workload::job::{FilePart, JobOps, Names, PatternPiece, SweepDraw, SweepOps, SweepOrder, SweepParts};
use plumb_workload::validate::validate;
use plumb_workload::{Bytes, Job, Target, Work};
use std::collections::BTreeMap;

/// A machine with two memory nodes and these paths.
struct Machine(BTreeMap<&'static str, Found>);

impl Places for Machine {
    fn look(&mut self, path: &str) -> Found {
        self.0.get(path).copied().unwrap_or(Found::Absent)
    }
    fn cpus_of_node(&mut self, node: u32) -> Option<Vec<u32>> {
        (node < 2).then(|| vec![node * 2, node * 2 + 1])
    }
    fn nodes(&mut self) -> Vec<u32> {
        vec![0, 1]
    }
    fn cpus(&mut self) -> Vec<u32> {
        (0..4).collect()
    }
}

fn machine() -> Machine {
    Machine(BTreeMap::from([
        ("d", Found::Directory),
        ("e", Found::Directory),
        ("f", Found::File { bytes: 10 << 20 }),
        ("/dev/x", Found::Device { bytes: 1 << 30 }),
    ]))
}

fn try_lowered(line: &str) -> Result<Lowered, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let settings = crate::elbencho::read(&words, &mut |_| Err(String::new())).unwrap();
    lower(&settings, &mut machine()).map_err(|error| error.to_string())
}

fn lowered(line: &str) -> Lowered {
    let lowered = try_lowered(line).unwrap();
    assert_eq!(validate(&lowered.workload), [], "{line}");
    lowered
}

fn job(lowered: &Lowered, phase: usize, thread: usize) -> &Job {
    match &lowered.workload.phase[phase].workers[thread].work {
        Work::Job(job) => job,
        other => panic!("{other:?}"),
    }
}

fn sweep(lowered: &Lowered, phase: usize, thread: usize) -> &plumb_workload::job::Sweep {
    match &job(lowered, phase, thread).ops {
        JobOps::Sweep(sweep) => sweep,
        other => panic!("{other:?}"),
    }
}

fn paths(lowered: &Lowered, phase: usize, thread: usize) -> Vec<String> {
    let target = &lowered.workload.phase[phase].workers[thread].target;
    let Some(Target::JobFiles(files)) = lowered.workload.target.get(target) else { panic!("{target}") };
    let path = |number| files.names.path(number).unwrap().display().to_string();
    (0..files.names.count()).map(path).collect()
}

// Protects the fixed order and the names under which one command line finds what another one made.
#[test]
fn phases_of_a_directory_have_elbencho_s_order_and_names() {
    let all = lowered("-D -F -r --stat -w -d -t 2 -n 2 -N 2 -s 8k -b 4k d");
    let kinds: Vec<&str> = all.phases.iter().map(|phase| phase.kind.name()).collect();
    assert_eq!(kinds, ["MKDIRS", "WRITE", "STAT", "READ", "RMFILES", "RMDIRS"]);
    assert_eq!(paths(&all, 0, 1), ["d/r1", "d/r1/d0", "d/r1/d1"]);
    assert_eq!(paths(&all, 1, 1), ["d/r1/d0/r1-f0", "d/r1/d0/r1-f1", "d/r1/d1/r1-f0", "d/r1/d1/r1-f1"]);
    assert_eq!(paths(&all, 5, 1), ["d/r1/d0", "d/r1/d1", "d/r1"]);
    assert_eq!((all.phases[0].rank_dirs, all.phases[0].entries_per_thread), (1, 2));
    assert_eq!((all.phases[1].entries_per_thread, all.phases[1].bytes_per_thread), (4, 32 << 10));
    assert!(matches!(sweep(&all, 4, 0).does, SweepOps::Call { passes_over_errno: None, .. }));
}

#[test]
fn directories_are_shared_spread_and_left_out() {
    assert_eq!(paths(&lowered("-w --dirsharing -t 2 -s 4k d"), 0, 1), ["d/r0/d0/r1-f0"]);
    assert_eq!(paths(&lowered("-w -n 0 -N 2 -t 2 -s 4k d"), 0, 1), ["d/r1-f0", "d/r1-f1"]);
    assert_eq!(paths(&lowered("-w -n 2 -t 2 -s 4k d e"), 0, 1), ["e/r1/d0/r1-f0", "d/r1/d1/r1-f0"]);
    assert_eq!(paths(&lowered("-w --rankoffset 5 -s 4k d"), 0, 0), ["d/r5/d0/r5-f0"]);
    let again = lowered("-d -D -i 2 d");
    let names: Vec<&str> = again.workload.phase.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["MKDIRS", "RMDIRS", "MKDIRS-2", "RMDIRS-2"]);
    assert!(again.phases[2].opens_iteration && !again.phases[3].opens_iteration);
}

fn parts(lowered: &Lowered, thread: usize) -> Vec<(u32, u64, u64)> {
    match &sweep(lowered, 0, thread).parts {
        SweepParts::Said(parts) => {
            parts.iter().map(|&FilePart { file, start, length }| (file, start.0, length.0)).collect()
        }
        other => panic!("{other:?}"),
    }
}

// Protects that threads cover all blocks of all files, each once, with what is left over at the last.
#[test]
fn blocks_of_files_are_shared_by_threads() {
    let three = lowered("-w -t 3 -b 4k -s 18k a b");
    assert_eq!(parts(&three, 0), [(0, 0, 12 << 10)]);
    assert_eq!(parts(&three, 1), [(0, 12 << 10, 6 << 10), (1, 0, 4 << 10)]);
    assert_eq!(parts(&three, 2), [(1, 4 << 10, 14 << 10)]);
    let strided = lowered("-w --strided -t 2 -b 4k -s 16k a");
    assert_eq!(sweep(&strided, 0, 1).order, SweepOrder::Strided { first: 1, step: 2 });
    let backward = lowered("-r --backward -b 4k f");
    assert_eq!((sweep(&backward, 0, 0).order, parts(&backward, 0)), (SweepOrder::Backward, vec![(0, 0, 10 << 20)]));
    let Some(Target::JobFiles(files)) = three.workload.target.get("paths") else { panic!() };
    assert_eq!(files.names, Names::Said(vec!["a".into(), "b".into()]));
}

#[test]
fn random_offsets_are_drawn_as_asked() {
    let of = |line: &str| (sweep(&lowered(line), 0, 1).order, sweep(&lowered(line), 0, 1).random_bytes);
    let mib = |mib: u64| Some(Bytes(mib << 20));
    assert_eq!(of("-w --rand -t 2 -b 4k f"), (SweepOrder::Random(SweepDraw::Once), mib(5)));
    assert_eq!(of("-r --rand -t 2 -b 4k --randamount 2m f"), (SweepOrder::Random(SweepDraw::Again), mib(1)));
    assert_eq!(of("-w --rand --randalgo fast -t 2 -b 4k f").0, SweepOrder::Random(SweepDraw::Again));
    assert_eq!(of("-r --rand --norandalign -t 2 -b 4k f").0, SweepOrder::Random(SweepDraw::Unaligned));
}

#[test]
fn mixes_limits_and_checks_are_put_in() {
    let mix = lowered("-w --rwmixpct 30 -t 2 -b 4k -s 64k a");
    assert_eq!(sweep(&mix, 0, 1).does, SweepOps::Mix { read_percent: 30, first: 1 });
    let threads = lowered("-w --rwmixthr 1 -t 2 -b 4k -s 64k a");
    assert_eq!(sweep(&threads, 0, 0).does, SweepOps::Read);
    assert!(matches!(sweep(&threads, 0, 1).does, SweepOps::Write { .. }));
    assert_eq!(threads.phases[0].reading_threads, 1);
    let limits = lowered("-r --limitread 1m --timelimit 5 --iodepth 4 f");
    let group = &limits.workload.phase[0].workers[0];
    assert_eq!((group.depth, group.limit.time.unwrap().0), (4, 5_000_000_000));
    assert_eq!(job(&limits, 0, 0).pace.bytes_per_second.read.unwrap().0, 1_048_576.0);
    let verify = lowered("-r --verify 7 -b 4k f");
    let rules = job(&verify, 0, 0).verify.as_ref().unwrap();
    assert_eq!(
        (rules.pattern.as_slice(), rules.pattern_interval),
        (&[PatternPiece::OffsetPlus(7)][..], Some(Bytes(8)))
    );
    let zones = lowered("-r --zones all -t 2 f");
    assert_eq!(job(&zones, 0, 1).process.any_of_cpus, [2, 3]);
    assert_eq!(lowered("-r --cores 3,1 -t 2 f").workload.phase[0].workers[1].cpus, [1]);
}

// Protects people from what elbencho would find out, and from damage.
#[test]
fn what_cannot_be_is_refused() {
    for (line, told) in [
        ("-r nowhere", "give --size"),
        ("-r -s 20m f", "write it first"),
        ("-r -s 2g /dev/x", "fewer than"),
        ("-F /dev/x", "cannot be removed"),
        ("-w -s 1m /dev/nothing", "nothing is made below /dev"),
        ("-d f", "need a directory"),
        ("--stat f", "needs a directory"),
        ("-w d f", "another kind"),
        ("-w -t 4 -b 1m -s 2m a", "not enough for 4 threads"),
        ("--lat d", "no phase"),
        ("-w --strided -s 1m d", "--strided"),
        ("-w --mmap -s 1m d", "--mmap"),
        ("-w --direct -b 100 -s 1000 a", "512"),
        ("-r --zones 9 f", "memory node 9"),
    ] {
        let found = try_lowered(line).map(|_| String::new()).unwrap_or_else(|error| error);
        assert!(found.contains(told), "{line}: {found}");
    }
}

#[test]
fn sizes_become_whole_blocks_where_they_must() {
    let direct = lowered("-w --direct -b 4k -s 10k a");
    assert_eq!(direct.geometry.file_bytes, 8192);
    assert_eq!(direct.notes.len(), 1);
    assert_eq!(lowered("-w -b 1m -s 10k a").geometry.block_bytes, 10_240);
    assert_eq!(lowered("-r -b 1m f").geometry.file_bytes, 10 << 20);
    assert_eq!(lowered("-r f").phases[0].kind, PhaseKind::Read);
}
