use super::{Found, Lowered, PhaseKind, Places, lower};
use crate::elbencho::hosts::DataSetPart;
use crate::elbencho::tree::Entry;
use plumb_workload::blocks::sweep::{FilePart, SweepDraw, SweepOps, SweepOrder, SweepParts};
use plumb_workload::content::PatternPiece;
use plumb_workload::files::{Advices, FileAdvice, MappingAdvice, Names, RecordLock};
use plumb_workload::{Bytes, Target, WorkerGroup};
use plumb_workload_text::validate::validate;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// A simulated system with two NUMA nodes and these paths.
struct Machine(BTreeMap<&'static str, Found>);

impl Places for Machine {
    fn find(&mut self, path: &str) -> Found {
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
    fn tree_file(&mut self, path: &str) -> Result<Vec<u8>, plumb_tools::FileError> {
        match path {
            "tree" => Ok(TREE.into()),
            "huge" => Ok(format!("f {0} a\nf {0} b\nf 9 c\n", u64::MAX).into()),
            other => Err(plumb_tools::FileError::NotPublished { path: other.to_owned() }),
        }
    }
    fn look_through(&mut self, _path: &str) -> Result<Vec<Entry>, plumb_tools::FileError> {
        let (dir, file) = (b"d ".to_vec(), b"d /f".to_vec());
        Ok(vec![Entry::Directory { path: dir }, Entry::File { path: file, bytes: 9 }])
    }
    fn keep_tree(&mut self, path: &str, text: &str) -> Result<(), plumb_tools::FileError> {
        assert_eq!((path, text), ("kept", "# encoding=base64\nd ZCA=\nf 9 ZCAvZg==\n"));
        Ok(())
    }
}

/// With blocks of 4 KiB and a share size of 12 KiB: two files are small, two are shared, and one is empty.
const TREE: &str = "d a/b\nd a\nf 20480 a/big\nf 5000 a/b/y\nf 5000 a/b/x\nf 14000 z\nf 0 a/none\n";

fn machine() -> Machine {
    Machine(BTreeMap::from([
        ("d", Found::Directory),
        ("e", Found::Directory),
        ("f", Found::File { bytes: 10 << 20 }),
        ("/dev/x", Found::Device { bytes: 1 << 30 }),
    ]))
}

/// Lowers the parts of several services.
fn services(line: &str, hosts: u32) -> Vec<Lowered> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let mut settings =
        crate::elbencho::read(&words, &mut |_| Err(plumb_tools::FileError::NotPublished { path: String::new() }))
            .unwrap();
    let part = |host: u32| {
        settings.part = DataSetPart { host, hosts };
        let lowered = lower(&settings, &mut machine()).unwrap();
        assert_eq!(validate(&lowered.workload), [], "{line}, {host} of {hosts}");
        lowered
    };
    (0..hosts).map(part).collect()
}

/// Returns the groups of a phase, with the parts of files that they work on.
fn done(lowered: &Lowered, phase: usize) -> Vec<(String, Vec<FilePart>)> {
    let groups = lowered.workload.phase[phase].workers.iter();
    let parts = |group: &WorkerGroup| match &group.work.stream() {
        Some(plumb_workload::BlockStream::Sweep(sweep)) => match &sweep.parts {
            SweepParts::Listed(parts) => parts.clone(),
            SweepParts::Files { .. } => Vec::new(),
        },
        _ => Vec::new(),
    };
    groups.map(|group| (group.name.clone().unwrap(), parts(group))).collect()
}

// Protects a data set that services share: each block belongs to one thread of one host. It is the thread that would
// have had it in a single process with as many threads.
#[test]
fn services_divide_the_work_of_one_process() {
    for line in ["-r -b 64k f", "-r -b 64k --backward f", "-w -r -b 4k --sharesize 12k --treefile tree d"] {
        let alone = services(&format!("{line} -t 6"), 1);
        let together = services(&format!("{line} -t 2"), 3);
        for phase in 0..alone[0].phases.len() {
            let is_idle = |lowered: &&Lowered| lowered.phases[phase].is_idle;
            let found: Vec<_> =
                together.iter().filter(|one| !is_idle(one)).flat_map(|lowered| done(lowered, phase)).collect();
            assert_eq!(found, done(&alone[0], phase), "{line}");
        }
        assert!(together.iter().all(|one| one.phases.len() == alone[0].phases.len()));
    }
    // With `--nosvcshare`, each host has the whole data set.
    let apart = services("-r -b 64k -t 2 --nosvcshare f", 3);
    assert_eq!(done(&apart[0], 0), done(&apart[2], 0));
    // Directories have the ranks of a single process with as many threads.
    let names = |lowered: &Lowered, phase| done(lowered, phase).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let together = services("-d -w -t 2 -n 2 -N 3 -s 4k --rotatehosts 1 d", 2);
    assert_eq!(
        (names(&together[0], 0), names(&together[1], 0)),
        (vec!["r0".into(), "r1".into()], vec!["r2".into(), "r3".into()])
    );
    assert_eq!(
        (names(&together[0], 1), names(&together[1], 1)),
        (vec!["r2".into(), "r3".into()], vec!["r0".into(), "r1".into()])
    );
    assert_eq!(together[0].phases[1].first_rank, 2);
}

proptest! {
    // Protects services from their coordinator: any arguments are refused or lowered to a sound workload, and never
    // panic.
    #[test]
    fn any_words_are_lowered_or_refused(
        words in prop::collection::vec(prop::sample::select(vec![
            "-w", "-r", "-d", "-D", "-F", "--stat", "--rand", "--strided", "--backward", "--direct", "--mmap", "--infloop",
            "--dirsharing", "--nosvcshare", "--treeroundrob", "--treefile=tree", "--treefile=huge", "--norandalign", "--rwmixpct=30",
            "--rwmixthr=1", "--rwmixthrpct=50", "-n=0", "-N=0", "--verify=3", "--rotatehosts=4294967295", "--sharesize=1", "--nopathexp",
        ]), 0..6),
        path in prop::sample::select(vec!["d", "f", "/dev/x", "new", "[1-2]"]),
        numbers in prop::array::uniform5(prop::sample::select(vec![0, 1, 2, 7, 4096, 1 << 20, u64::MAX >> 1, u64::MAX])),
        (threads, host) in (1u32..5, 0u32..3),
    ) {
        let [size, block, rank, amount, round] = numbers;
        let fixed = format!("-s {size} -b {block} --rankoffset {} --randamount {amount} --treeroundup {round} -t {threads}", rank as u32);
        let all = fixed.split(' ').chain(words).chain([path]).map(str::to_owned).collect::<Vec<_>>();
        let read = crate::elbencho::read(&all, &mut |_| Err(plumb_tools::FileError::NotPublished { path: String::new() }));
        if let Ok(mut settings) = read {
            settings.part = DataSetPart { host, hosts: 3 };
            if let Ok(lowered) = lower(&settings, &mut machine()) {
                prop_assert_eq!(lowered.phases.len(), lowered.workload.phase.len());
                validate(&lowered.workload);
            }
        }
    }
}

// Protects the phase count: a service without work in a phase still has the phase, with an empty workload.
#[test]
fn a_service_without_work_waits() {
    let together = services("-d -w -D -b 4k --sharesize 12k --treefile tree -t 4 d", 9);
    // The last service has the remainder of the shared files.
    let last = &together[7];
    assert_eq!(last.phases.iter().map(|phase| phase.is_idle).collect::<Vec<_>>(), [true, true, true]);
    assert_eq!(done(last, 1), [("r28".to_owned(), Vec::new())]);
    assert!(together[0].phases.iter().all(|phase| !phase.is_idle));
}

fn try_lowered(line: &str) -> Result<Lowered, String> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let settings =
        crate::elbencho::read(&words, &mut |_| Err(plumb_tools::FileError::NotPublished { path: String::new() }))
            .unwrap();
    lower(&settings, &mut machine()).map_err(|error| error.to_string())
}

fn lowered(line: &str) -> Lowered {
    let lowered = try_lowered(line).unwrap();
    assert_eq!(validate(&lowered.workload), [], "{line}");
    lowered
}

fn group(lowered: &Lowered, phase: usize, thread: usize) -> &WorkerGroup {
    &lowered.workload.phase[phase].workers[thread]
}

fn sweep(lowered: &Lowered, phase: usize, thread: usize) -> &plumb_workload::blocks::sweep::Sweep {
    group(lowered, phase, thread).work.sweep().expect("a sweep")
}

fn paths(lowered: &Lowered, phase: usize, thread: usize) -> Vec<String> {
    let target = &lowered.workload.phase[phase].workers[thread].target;
    let Some(Target::JobFiles(files)) = lowered.workload.target.get(target) else { panic!("{target}") };
    let path = |number| files.names.path(number).unwrap().display().to_string();
    (0..files.names.count()).map(path).collect()
}

// Protects scripts that read a dry run: order, counts and bytes equal elbencho's output.
#[test]
fn dry_runs_equal_elbenchos() {
    let golden =
        |name: &str| std::fs::read_to_string(format!("{}/golden/elbencho/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    for (line, name) in [
        ("-d -w --stat -r -F -D -t 2 -n 2 -N 3 -s 4k d", "dryrun_directories.txt"),
        ("-w -r -F -t 2 -s 100001 -b 64k f1 f2 f3", "dryrun_files.txt"),
        ("-w -t 2 -s 1m --rand --randamount 96k -b 4k f1", "dryrun_random.txt"),
    ] {
        let words: Vec<String> = format!("--dryrun {line}").split_whitespace().map(str::to_owned).collect();
        let settings =
            crate::elbencho::read(&words, &mut |_| Err(plumb_tools::FileError::NotPublished { path: String::new() }))
                .unwrap();
        assert_eq!(crate::elbencho::print::dryrun::phases(&lowered(line), &settings), golden(name), "{line}");
    }
}

// Protects: a new file in a missing directory is an error before anything runs.
#[test]
fn a_new_file_needs_its_directory() {
    assert!(try_lowered("-w -s 1m none/f").unwrap_err().contains("the directory none does not exist"));
    assert!(try_lowered("-w -s 1m d/new").is_ok());
}

// Protects: a mapping never counts as direct I/O, and the error names the options.
#[test]
fn a_mapping_is_not_direct() {
    assert!(try_lowered("-w --mmap --direct -s 1m f").unwrap_err().contains("remove --direct"));
}

// Protects the fixed order, and the names by which one command line finds the files that another created.
#[test]
fn phases_of_a_directory_have_elbenchos_order_and_names() {
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
        SweepParts::Listed(parts) => {
            parts.iter().map(|&FilePart { file, start, length }| (file, start.0, length.0)).collect()
        }
        other => panic!("{other:?}"),
    }
}

// Protects: threads cover all blocks of all files, each once, and the last thread has the remainder.
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
    assert_eq!(files.names, Names::Given(vec!["a".into(), "b".into()]));
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
    let limited = &limits.workload.phase[0].workers[0];
    assert_eq!((limited.depth, limited.limit.time.unwrap().0), (4, 5_000_000_000));
    assert_eq!(limited.pace.bytes_per_second.read.unwrap().0, 1_048_576.0);
    let verify = lowered("-r --verify 7 -b 4k f");
    let rules = verify.workload.phase[0].workers[0].verify.as_ref().unwrap();
    assert_eq!(
        (rules.pattern.as_slice(), rules.pattern_interval),
        (&[PatternPiece::OffsetPlus(7)][..], Some(Bytes(8)))
    );
    let content = |line: &str| lowered(line).workload.phase[0].workers[0].content.clone().unwrap();
    let half = content("-w --blockvarpct 50 -b 4k -s 64k a");
    assert_eq!((half.refill, half.refill_percent), (true, 50));
    assert!(content("-w -b 4k -s 64k a").refill && !content("-w --blockvarpct 0 -b 4k -s 64k a").refill);
    let zones = lowered("-r --zones all -t 2 f");
    assert_eq!(group(&zones, 0, 1).process.any_of_cpus, [2, 3]);
    assert_eq!(lowered("-r --cores 3,1 -t 2 f").workload.phase[0].workers[1].cpus, [1]);
}

// Protects the meaning of limits: in a mix, the write limit applies to reads and writes together.
#[test]
fn limits_apply_to_the_ops_that_elbencho_counts() {
    let pace = |line: &str, thread: usize| {
        let pace = lowered(line).workload.phase[0].workers[thread].pace;
        let bytes = pace.bytes_per_second;
        (bytes.read.map(|rate| rate.0), bytes.write.map(|rate| rate.0), pace.reads_count_as_writes)
    };
    let both = "--limitread 1k --limitwrite 2k -t 2 -b 4k -s 64k";
    assert_eq!(pace(&format!("-w --rwmixpct 30 {both} a"), 0), (None, Some(2048.0), true));
    assert_eq!(pace(&format!("-w --rwmixpct 100 {both} a"), 0), (Some(2048.0), None, false));
    assert_eq!(pace("-w --rwmixpct 30 --limitread 1k -b 4k -s 64k a", 0), (None, None, false));
    assert_eq!(pace(&format!("-w --rwmixthr 1 {both} a"), 0), (Some(1024.0), None, false));
    assert_eq!(pace(&format!("-w --rwmixthr 1 {both} a"), 1), (None, Some(2048.0), false));
    assert_eq!(pace(&format!("-r --verify 3 {both} f"), 0), (Some(1024.0), None, false));
}

// Protects other processes that use the files: each op takes the requested lock.
#[test]
fn locks_are_those_asked_for() {
    let lock = |line: &str| group(&lowered(line), 0, 0).files.record_lock;
    assert_eq!(lock("-w --flock range -b 4k -s 64k a"), Some(RecordLock::OpRange));
    assert_eq!(lock("-r --flock full --iodepth 4 -b 4k f"), Some(RecordLock::WholeFile));
    assert_eq!((lock("-r --flock= f"), lock("-r f")), (None, None));
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let refused = |line: &str| {
        crate::elbencho::read(&words(line), &mut |_| Err(plumb_tools::FileError::NotPublished { path: String::new() }))
            .unwrap_err()[0]
            .to_string()
    };
    assert!(refused("-w --flock full --iodepth 4 -s 64k a").contains("--flock range"));
    assert!(refused("-w --flock some -s 64k a").contains("range or full"));
}

// Protects from submitting larger batches than elbencho.
#[test]
fn each_op_of_a_queue_is_submitted_alone() {
    let group = lowered("-r --iodepth 4 -b 4k f").workload.phase[0].workers[0].clone();
    assert_eq!((group.depth, group.batch.submit), (4, 1));
}

/// Returns path, first byte and length of each part of a thread.
fn tree_parts(lowered: &Lowered, phase: usize, thread: usize) -> Vec<(String, u64, u64)> {
    let paths = paths(lowered, phase, thread);
    match &sweep(lowered, phase, thread).parts {
        SweepParts::Listed(parts) => {
            parts.iter().map(|part| (paths[part.file as usize].clone(), part.start.0, part.length.0)).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn part(path: &str, start: u64, length: u64) -> (String, u64, u64) {
    (path.to_owned(), start, length)
}

const SHARED: &str = "--treefile tree --sharesize 12k -b 4k -t 2";

// Protects: threads get elbencho's shares of a list: small files in turn by size, blocks of large ones in a row.
#[test]
fn files_of_a_tree_are_dealt_out_and_shared() {
    let two = lowered(&format!("-w --stat -F {SHARED} d"));
    let first = [part("d/a/none", 0, 0), part("d/a/b/y", 0, 5000), part("d/a/big", 0, 16384)];
    let second = [part("d/a/b/x", 0, 5000), part("d/a/big", 16384, 4096), part("d/z", 0, 14000)];
    for phase in 0..3 {
        assert_eq!(tree_parts(&two, phase, 0), first, "{phase}");
        assert_eq!(tree_parts(&two, phase, 1), second, "{phase}");
        assert_eq!(two.phases[phase].whole_files, [2, 2], "a part of a file is not an entry; a whole shared file is");
    }
    assert_eq!(paths(&two, 0, 1), ["d/a/b/x", "d/z", "d/a/big"], "whole files come first");
    assert_eq!((two.phases[0].entries_per_thread, two.phases[0].bytes_per_thread), (2, 22240));
    let in_turn = lowered(&format!("-r --treeroundrob {SHARED} d"));
    let blocks = |file: &str, firsts: &[u64]| firsts.iter().map(|at| part(file, *at, 4096)).collect::<Vec<_>>();
    assert_eq!(
        tree_parts(&in_turn, 0, 0)[2..],
        [blocks("d/a/big", &[0, 8192, 16384]), blocks("d/z", &[4096]), vec![part("d/z", 12288, 1712)]].concat()
    );
    assert_eq!(
        tree_parts(&in_turn, 0, 1)[1..],
        [blocks("d/a/big", &[4096, 12288]), blocks("d/z", &[0, 8192])].concat()
    );
    let alone = lowered("-r --treefile tree --sharesize -1 --treeroundup 4k -b 4k -t 2 d");
    assert_eq!(tree_parts(&alone, 0, 0).last(), Some(&part("d/a/big", 0, 20480)));
    assert_eq!(tree_parts(&alone, 0, 1), [part("d/a/b/x", 0, 8192), part("d/z", 0, 16384)]);
    assert!(alone.phases[0].whole_files.is_empty() && !group(&alone, 0, 0).log_ops);
    let offset = lowered(&format!("-r --rankoffset 1 {SHARED} d"));
    assert_eq!(
        tree_parts(&offset, 0, 1),
        [part("d/a/b/y", 0, 5000), part("d/z", 12288, 1712)],
        "the third of two threads"
    );
}

// Protects trees whose directories can only be created or removed in this order.
#[test]
fn all_threads_make_the_directories_of_a_tree_and_one_removes_them() {
    let both = lowered(&format!("-d -D {SHARED} d"));
    assert_eq!((paths(&both, 0, 0), paths(&both, 0, 1)), (vec!["d/a".to_owned()], vec!["d/a/b".to_owned()]));
    assert!(matches!(sweep(&both, 0, 1).does, SweepOps::Call { makes_parents: true, passes_over_errno: Some(17), .. }));
    assert_eq!(both.workload.phase[1].workers.len(), 1);
    assert_eq!(paths(&both, 1, 0), ["d/a/b", "d/a"]);
    let scanned = lowered("-d -w --treescan /src --treefile kept d");
    assert_eq!((paths(&scanned, 0, 0), paths(&scanned, 1, 0)), (vec!["d/d ".to_owned()], vec!["d/d /f".to_owned()]));
    assert!(scanned.notes[0].contains("1 files and 1 directories"), "{:?}", scanned.notes);
}

// Protects access to the files that a run leaves: the modes of files and directories are elbencho's, in every phase.
#[test]
fn files_and_directories_are_made_with_elbenchos_modes() {
    let all = lowered(&format!("-d -w -r -F {SHARED} d"));
    let groups = all.workload.phase.iter().flat_map(|phase| &phase.workers);
    let modes: Vec<_> = groups.map(|group| group.files.new.all().map(|(_, mode)| mode)).collect();
    assert!(modes.len() >= 4 && modes.iter().all(|modes| *modes == [0o664, 0o664, 0o777]), "{modes:?}");
}

// Protects repeatability: a thread shuffles its files the same way in each run.
#[test]
fn files_of_a_tree_are_shuffled_the_same_in_every_run() {
    let order = |line: &str| tree_parts(&lowered(line), 0, 0);
    let line = "-r --treefile tree --sharesize -1 -b 4k d";
    let (sorted, shuffled) = (order(line), order(&format!("{line} --treerand")));
    assert_ne!(sorted, shuffled);
    assert_eq!(shuffled, order(&format!("{line} --treerand")));
    let mut again = shuffled;
    again.sort_by_key(|part| sorted.iter().position(|other| other == part));
    assert_eq!(again, sorted);
}

// Protects the balance of bytes for any number of readers and writers.
#[test]
fn readers_and_writers_have_the_requested_weights() {
    let balanced = lowered("-w -t 4 --rwmixthr 1 --rwmixthrpct 30 -b 4k -s 64k a");
    let weight = |thread: usize| balanced.workload.phase[0].workers[thread].pace.flow.unwrap().weight;
    let (reads, writes) = (weight(0), weight(1) + weight(2) + weight(3));
    assert_eq!(reads * 70, writes * 30);
    let read = lowered("-r -t 4 --rwmixthr 1 --rwmixthrpct 30 -b 4k f");
    assert_eq!(read.workload.phase[0].workers[0].pace.flow, None, "only the write phase mixes");
    let refused = |line: &str| {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        crate::elbencho::read(&words, &mut |_| Err(plumb_tools::FileError::NotPublished { path: String::new() }))
            .unwrap_err()[0]
            .to_string()
    };
    assert!(refused("-w --rwmixthrpct 30 a").contains("needs --rwmixthr,"));
    assert!(refused("-w --rwmixthr 1 --rwmixthrpct 100 a").contains("1 to 99"));
    assert!(refused("-w --rwmixthr 1 --rwmixthrpct 30 --limitread 1m a").contains("cannot be combined"));
}

// Protects the page cache: pages are dropped before anything is read ahead, whatever the order of the options.
#[test]
fn advice_is_in_elbenchos_order() {
    let advice = |line: &str| group(&lowered(line), 0, 0).files.advice.clone();
    let file = vec![
        FileAdvice::DontNeed,
        FileAdvice::NoReuse,
        FileAdvice::Sequential,
        FileAdvice::Random,
        FileAdvice::WillNeed,
    ];
    let mapping = vec![MappingAdvice::DontNeed, MappingAdvice::Random, MappingAdvice::HugePage];
    let advised = "-r --fadv willneed,seq,,rand,dontneed,noreuse,seq --madv hugepage,rand,dontneed";
    assert_eq!(advice(&format!("{advised} --mmap f")), Advices { file: file.clone(), mapping });
    assert_eq!(advice(&format!("{advised} f")), Advices { file, mapping: Vec::new() }, "without a mapping");
    assert!(advice("-r f").is_nothing());
}

// Protects writers from SIGBUS: a new file has no bytes to map.
#[test]
fn mapped_files_of_directories_have_their_size_before_they_are_written() {
    let mapped = lowered("-w -r --mmap -s 64k -b 4k d");
    assert!(group(&mapped, 0, 0).files.at_open.to_length);
    assert!(!group(&mapped, 1, 0).files.at_open.to_length);
}

// Protects readers of tables, CSV and JSON, who identify phases by name.
#[test]
fn names_show_which_ops_a_phase_mixes() {
    let first = |line: &str| {
        let phase = lowered(line).phases.remove(0);
        (phase.name, phase.mixes, phase.times_entries)
    };
    let named = |name: &str, mixes, times_entries| (name.to_owned(), mixes, times_entries);
    assert_eq!(first("-w --rwmixpct 30 -b 4k -s 64k a"), named("RWMIX30", true, false));
    assert_eq!(first("-w --rwmixthr 1 -t 2 -s 4k d"), named("MIX-T1", true, true));
    assert_eq!(first("-w --statinline --readinline -s 4k d"), named("WRITE+s+r", false, true));
    assert_eq!(first("-r --statinline -s 4k d"), named("READ+s", false, true));
    assert_eq!(first("-w --readinline -b 4k -s 4k a"), named("WRITE", false, false), "files are not opened in turn");
}

// Protects users: errors that elbencho would find during the run, and damaging commands, are refused at once.
#[test]
fn impossible_commands_are_refused() {
    for (line, text) in [
        ("-r nowhere", "does not exist"),
        ("-r -s 1m nowhere", "does not exist"),
        ("-r -s 1m empty", "write it first"),
        ("-r -s 20m f", "write it first"),
        ("-r -s 2g /dev/x", "less than"),
        ("-F /dev/x", "cannot delete a block device"),
        ("-F nowhere", "does not exist"),
        ("-w -s 1m /dev/nothing", "Plumb creates nothing below /dev"),
        ("-d f", "need a directory"),
        ("--stat f", "needs a directory"),
        ("-w d f", "a different kind"),
        ("-w -t 4 -b 1m -s 2m a", "not enough for 4 threads"),
        ("--lat d", "no phase"),
        ("-w --strided -s 1m d", "--strided"),
        ("-w --direct -b 100 -s 1000 a", "512"),
        ("-r --zones 9 f", "NUMA node 9"),
        ("-w --size 0 -b 0 new", "--size 0 leaves nothing to write or read"),
        ("-w --treefile tree f", "needs one directory"),
        ("-w --treefile tree d e", "needs one directory"),
        ("-w --treefile none d", "--treefile: none was not published"),
        ("-w --strided --treefile tree d", "--treeroundrob"),
        ("-w --direct --rand -b 4k --treefile tree d", "--treeroundup 4096"),
        ("-w -b 0 --treefile tree d", "--block is 0"),
    ] {
        let found = try_lowered(line).map(|_| String::new()).unwrap_or_else(|error| error);
        assert!(found.contains(text), "{line}: {found}");
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
    assert_eq!(lowered("-F f").geometry.file_bytes, 10 << 20);
}
