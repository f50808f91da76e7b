//! Tests of typical command lines and scripts, of their workloads, and of the formats of reports.

mod aio;
mod reports;

use super::*;
use plumb_workload::program::{RecordOrder, Segments, Step, Transfer, Via, Wall};
use plumb_workload::{Pick, Target, Work};
use proptest::prelude::Strategy;

fn tests(line: &str, script: &str) -> Result<Vec<Test>, IorError> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match read(&words, None, &mut |_| Ok(script.to_owned()))? {
        Invocation::Run(tests, _) => Ok(tests),
        Invocation::Help => panic!("{line} asks for help"),
    }
}

fn test(line: &str) -> Test {
    tests(line, "").unwrap().remove(0)
}

fn error_of(line: &str) -> String {
    tests(line, "").unwrap_err().to_string()
}

fn lowered(line: &str) -> Lowered {
    let lowered = lower(&test(line), &Facts { seed: 7, ..Facts::default() });
    assert_eq!(plumb_workload_text::validate::validate(&lowered.workload), [], "{line}");
    let text = plumb_workload_text::native::to_toml(&lowered.workload).unwrap();
    assert_eq!(plumb_workload_text::native::parse("ior.toml", &text).unwrap(), lowered.workload, "{line}");
    lowered
}

fn steps(lowered: &Lowered, phase: usize, rank: usize) -> Vec<Step> {
    let Work::Program(program) = &lowered.workload.phase[phase].workers[rank].work else { panic!("a program") };
    program.steps.clone()
}

fn transfer(lowered: &Lowered, phase: usize, rank: usize) -> Transfer {
    let moves = |step: Step| if let Step::Transfer(transfer) = step { Some(transfer) } else { None };
    steps(lowered, phase, rank).into_iter().find_map(moves).unwrap()
}

fn segments(lowered: &Lowered, phase: usize, rank: usize) -> Segments {
    match transfer(lowered, phase, rank).order {
        RecordOrder::Segments(segments) => segments,
        order => panic!("{order:?}"),
    }
}

// Protects the layout: the offsets of each rank's blocks in a shared file, and in its own.
#[test]
fn blocks_have_iors_offsets() {
    let shared = lowered("-b 4m -t 1m -s 3 --plumb-ranks 4");
    let of_rank = segments(&shared, 0, 2);
    assert_eq!((of_rank.first.0, of_rank.stride.0, of_rank.count), (8 << 20, 16 << 20, 3));
    assert_eq!(transfer(&shared, 0, 2).count, 12);
    let own = lowered("-b 4m -t 1m -s 3 -F --plumb-ranks 4 -o t");
    let of_rank = segments(&own, 0, 2);
    assert_eq!((of_rank.first.0, of_rank.stride.0), (0, 4 << 20));
    assert_eq!(lower::first_file(&test("-F -o t"), 0), "t.00000000");
    assert_eq!(lower::first_file(&test("-o t -m"), 0), "t.0");
}

// Protects -C, -Q and -Z: the rank whose data is read, drawn as in IOR.
#[test]
fn ranks_read_the_data_of_others() {
    let nodes = |line: &str| lower(&test(line), &Facts { ranks_per_node: 1, ..Facts::default() });
    let read_by =
        |lowered: &Lowered| -> Vec<u64> { (0..4).map(|rank| segments(lowered, 1, rank).first.0 >> 20).collect() };
    assert_eq!(read_by(&nodes("-C --plumb-ranks 4")), [1, 2, 3, 0]);
    assert_eq!(read_by(&nodes("-C -Q 2 --plumb-ranks 4")), [2, 3, 0, 1]);
    assert_eq!(read_by(&lowered("-C --plumb-ranks 4")), [0, 1, 2, 3], "all ranks are on one node");
    let mut permuted = read_by(&nodes("-Z -Z -X 5 --plumb-ranks 4"));
    assert_ne!(permuted, [0, 1, 2, 3]);
    permuted.sort_unstable();
    assert_eq!(permuted, [0, 1, 2, 3]);
    let random = read_by(&nodes("-Z --plumb-ranks 4"));
    assert!((0..4).all(|rank| random[rank] != rank as u64), "at least a node away: {random:?}");
    let files = lower(&test("-C -F --plumb-ranks 2"), &Facts { ranks_per_node: 1, ..Facts::default() });
    let Step::Open(open) = &steps(&files, 1, 0)[0] else { panic!("it opens first") };
    assert_eq!(open.file, Pick::Nth(1));
}

// Protects the system calls of a phase and their order.
#[test]
fn phases_make_iors_calls() {
    let keys =
        |lowered: &Lowered, phase: usize| -> Vec<&str> { steps(lowered, phase, 0).iter().map(Step::key).collect() };
    let plain = lowered("-e -g");
    assert_eq!(keys(&plain, 0), ["open", "meet", "transfer", "fsync", "meet", "close"]);
    assert_eq!(keys(&plain, 1), ["open", "meet", "transfer", "meet", "close"]);
    let mapped = lowered("-a MMAP -e");
    assert_eq!(keys(&mapped, 0), ["open", "map", "transfer", "msync", "unmap", "close"]);
    let phases = |line: &str| lowered(line).workload.phase.iter().map(|phase| phase.name.clone()).collect::<Vec<_>>();
    assert_eq!(phases(""), ["write", "read", "remove"]);
    assert_eq!(phases("-k -w -W -R -G 3"), ["write", "write-check", "read"]);
    assert_eq!(phases("-k -r"), ["read"]);
}

// Protects files: the owner removes a test's files once, unless they are kept.
#[test]
fn files_are_removed_unless_they_are_kept() {
    let removers = |line: &str| {
        let lowered = lowered(line);
        let removal = lowered.workload.phase.iter().find(|phase| phase.name == "remove");
        removal.map_or(0, |phase| phase.workers.len())
    };
    assert_eq!(removers("--plumb-ranks 3"), 1);
    assert_eq!(removers("-F --plumb-ranks 3"), 3);
    assert_eq!(removers("-k --plumb-ranks 3"), 0);
}

// Protects the stonewall: which ranks stop or continue, and that reads stay within the written data.
#[test]
fn stonewalls_end_phases() {
    let second = plumb_workload::Nanos(1_000_000_000);
    let wall = |line: &str, phase: usize| transfer(&lowered(line), phase, 0).wall;
    assert_eq!(wall("-D 1", 0), Some(Wall::Ends(second)));
    assert_eq!(wall("-D 1 -O stoneWallingWearOut=1", 0), Some(Wall::After(second)));
    assert_eq!(wall("-D 1", 1), Some(Wall::AsFar));
    assert_eq!(wall("-r -D 1", 0), Some(Wall::Ends(second)));
    let later = lower(&test("-r -s 30"), &Facts { transfers_at_wall: Some(15), ..Facts::default() });
    assert_eq!(transfer(&later, 0, 0).count, 15);
}

const SCRIPT: &str = "text before\nior start # comment\n  api=posix, testFile = two\nblockSize=256k\ntransferSize=64k\nRUN\n\
                      segmentCount=2\nrun\nIOR STOP\nnonsense\n";

// Protects published scripts: text before and after, comments, spaces, commas, and inheritance between tests.
#[test]
fn scripts_parse_as_in_ior() {
    let both = tests("-f x -i 3", SCRIPT).unwrap();
    assert_eq!(both.iter().map(|test| (test.id, test.size.segments)).collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    assert!(both.iter().all(|test| (test.repetition.repetitions, test.size.block_bytes, test.files.names[0].as_str())
        == (3, 256 << 10, "two")));
    let last = tests("-f x", "IOR START\nblockSize=2m\nRUN\nblockSize=4m\n").unwrap();
    assert_eq!(last.len(), 2, "directives after the last RUN are a test too");
    let dashes = tests("-f x", "IOR START\n--posix.odirect=1\nreorderTasks=1\n").unwrap();
    assert_eq!((dashes[0].caching.direct, dashes[0].order.reorder), (true, Reorder::Constant));
    let message = |script: &str| tests("-f x", script).unwrap_err().to_string();
    assert_eq!(message("blockSize=1"), "x: no line `IOR START`; a script's tests follow one");
    assert_eq!(message("IOR START\n\nblokSize=1m\n"), "x:3: unknown option `blokSize=1m`; did you mean `blockSize`?");
    assert_eq!(message("IOR START\nscript=y\n"), "x:2: script works on the command line only; give it there");
    assert!(
        message("IOR START\nblockSize=99999999999p\n").starts_with("x:2: blockSize: `99999999999p` exceeds 64 bits")
    );
}

// Protects the order of arguments: the last occurrence of an option counts, as a directive or not.
#[test]
fn later_options_override_earlier_ones() {
    assert_eq!(test("-O segmentCount=2 -s 3").size.segments, 3);
    assert_eq!(test("-s 3 -O segmentCount=2,blockSize=2m").size.segments, 2);
}

// Protects from combinations that IOR rejects or crashes on, and from numbers that overflow.
#[test]
fn conflicts_are_refused() {
    for (line, text) in [
        ("-t 300k -b 1m", "multiple of transfer size"),
        ("-t 0", "zero transfer size"),
        ("-t 12 -b 24", "multiple of access size"),
        ("-s 0", "segment count"),
        ("-z -t 1m -b 1m", "larger than a transfer"),
        ("-z -z -w", "leave out -w"),
        ("-z -C", "needs -F"),
        ("-z -C -w", "needs -F"),
        ("-z -Z -w -W", "needs -F"),
        ("-C -Z", "choose one"),
        ("-r -R", "give -G"),
        ("-O stoneWallingStatusFile=x", "use -k"),
        ("-k -D 1 -O stoneWallingStatusFile=x", "needs stoneWallingWearOut"),
        ("-O stoneWallingWearOut=1", "give -D"),
        ("-b 8p -t 8k -s 2048", "exceeds 64 bits"),
        ("-a MPIIO --plumb-ranks 2", "use mpirun -n N instead of --plumb-ranks N"),
        ("-a MPIIO --posix.odirect", "IOR_HINT__MPI__direct_write=true"),
        ("-a MPIIO -c -z", "-z and -c do not go together"),
        ("-a MPIIO -z --mpiio.useFileView", "-z and --mpiio.useFileView do not go together"),
        ("-a MPIIO -t 2g -b 2g", "less than 2 GiB in a call"),
        ("-a MPIIO --mpiio.useFileView --mpiio.useStridedDatatype -F", "leave -F out"),
        ("-a MPIIO --mpiio.useFileView --mpiio.useStridedDatatype -r -C", "leave -C and -Z out"),
        ("-a MPIIO --mpiio.useFileView --mpiio.useStridedDatatype -W -Z", "leave -C and -Z out"),
        ("-a MPIIO --mpiio.useFileView --mpiio.useStridedDatatype -s 2 -Y", "moves -s transfers in a call"),
        ("-a MPIIO --mpiio.useFileView --mpiio.useStridedDatatype -s 2 -w -D 1", "moves -s transfers in a call"),
        ("-a HDFS", "not yet supported; measure it with IOR itself"),
        ("-a dfs", "a container that dfuse mounts can be measured with POSIX, but on another path"),
        ("-a DFS --dfs.pool=p", "`--dfs.pool=p` is an option of the back end DFS, which is not yet supported"),
        ("-O dfs.pool=p", "is an option of the back end DFS"),
        ("-a POSIX2", "is not a back end; use POSIX, AIO, MMAP, MPIIO or DUMMY"),
        ("-c", "add -a MPIIO"),
        ("-N 2", "raise --plumb-ranks"),
        ("-O summaryFormat=XML", "default, JSON or CSV"),
        ("-O nosuch=1", "unknown option `nosuch=1`"),
        ("--nosuch", "unknown option `--nosuch`"),
        ("-l x", "-l: `x` names unknown packets"),
        ("-M 5", "use a size such as 2g, or a share such as 75%"),
        ("-M 100%", "use one below 100%"),
        ("-M 2x", "unknown suffix `x`"),
        ("-u -F -o a@b", "name one with -o"),
        ("--randomPrefill=64k", "add -z"),
        ("-z --randomPrefill=96k", "must divide the block size"),
        ("-z --randomPrefill=64k -D 1", "leave -D out"),
        ("--minTimeDuration=2 -D 1", "choose one"),
        ("-O script=x", "script works on the command line only"),
        ("-O directives=segmentCount=2", "directives works on the command line only"),
        ("out", "unexpected argument `out`"),
    ] {
        assert!(error_of(line).contains(text), "{line}: {}", error_of(line));
    }
}

fn measured(name: &str, ranks: usize) -> plumb_result::PhaseMeasurement {
    use plumb_result::{OpMeasurement, PhaseMeasurement, WorkerMeasurement};
    use plumb_workload::OpKind;
    let op = |count: u64, bytes: u64, each_ns: u64| {
        let mut op = OpMeasurement { count, bytes, ..OpMeasurement::default() };
        op.service.record_n(each_ns, count);
        op
    };
    let ops = std::collections::BTreeMap::from([
        (OpKind::Open, op(1, 0, 1_000_000)),
        (if name == "write" { OpKind::Write } else { OpKind::Read }, op(4, 1 << 20, 2_000_000)),
        (OpKind::Close, op(1, 0, 1_000_000)),
    ]);
    let worker = WorkerMeasurement { bytes: 1 << 20, ops: ops.clone(), ..WorkerMeasurement::default() };
    PhaseMeasurement { name: name.to_owned(), ops, workers: vec![worker; ranks], ..PhaseMeasurement::default() }
}

/// Returns a phase whose second rank is slower: 3 ms to open, 5 ms per transfer, and 2 ms to close.
fn uneven(name: &str, ranks: usize) -> plumb_result::PhaseMeasurement {
    use plumb_workload::OpKind;
    let mut measured = measured(name, ranks);
    for (kind, op) in &mut measured.workers[1].ops {
        let each_ns = match kind {
            OpKind::Open => 3_000_000,
            OpKind::Close => 2_000_000,
            _ => 5_000_000,
        };
        op.service = Default::default();
        op.service.record_n(each_ns, op.count);
    }
    measured
}

fn done(line: &str) -> print::Done {
    let test = test(line);
    let ranks = test.tasks as usize;
    let access = |name: &str| Access::from_measurement(&measured(name, ranks), &test, 0).unwrap();
    print::Done {
        began: "Fri Nov 20 18:49:16 2026".to_owned(),
        file: "testFile".to_owned(),
        file_system: crate::aiori::FileSystem::default(),
        api_version: String::new(),
        accesses: vec![access("write"), access("read")],
        test,
    }
}

// Protects the numbers: times are those of the calls, over all ranks.
#[test]
fn rates_follow_from_the_times_of_ranks() {
    let near = |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 0.01, "{value} is not {expected}");
    let test = test("--plumb-ranks 2");
    let write = Access::from_measurement(&uneven("write", 2), &test, 0).unwrap();
    // The first rank opens until 1 ms, writes until 9 ms and closes until 10 ms; the second until 3, 23 and 25 ms.
    near(write.open_s, 0.003);
    near(write.transfer_s, 0.023 - 0.001);
    near(write.close_s, 0.025 - 0.009);
    near(write.total_s, 0.025);
    near(write.bandwidth(), (2 << 20) as f64 / 0.025);
    near(write.iops(&test), 8.0 / 0.022);
    near(write.ops(&test), 8.0 / 0.025);
    near(write.mean_transfer_s(), 0.002);
    // With barriers, no rank starts a part before all ranks have finished the previous one.
    let test = self::test("-g --plumb-ranks 2");
    let write = Access::from_measurement(&uneven("write", 2), &test, 0).unwrap();
    near(write.transfer_s, 0.020);
    near(write.close_s, 0.002);
    near(write.total_s, 0.003 + 0.020 + 0.002);
}

// Protects the exit code: a rank that failed or was killed is not a transfer with wrong data.
#[test]
fn only_wrong_data_counts_as_wrong() {
    let fault = |errno: Option<i32>, message: &str| plumb_result::Fault {
        op: plumb_workload::OpKind::Read,
        path: "f".into(),
        offset: 0,
        length: 4096,
        errno,
        message: message.to_owned(),
    };
    let test = test("-r -R -G 3 --plumb-ranks 3");
    let mut phase = measured("read", 3);
    phase.workers[0].fault_count = 2;
    phase.workers[1].fault_count = 1;
    phase.workers[1].ended_by = Some("read of f: Input/output error".to_owned());
    phase.workers[2].fault_count = 1;
    phase.workers[2].ended_by = Some("its process was killed by signal 9".to_owned());
    phase.fault_count = 4;
    phase.faults = vec![fault(None, "at byte 8"), fault(None, "at byte 16"), fault(Some(5), "Input/output error")];
    let access = Access::from_measurement(&phase, &test, 0).unwrap();
    assert_eq!((access.mismatched, access.failed.len()), (2, 1));
}

// Protects scripts that read the table: its lines equal those of IOR, column by column.
#[test]
fn the_table_has_iors_format() {
    let done = done("--plumb-ranks 4");
    let head = print::test_head(&done, 4);
    let golden = "access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter\n";
    assert!(head.ends_with("\nResults: \n") && head.contains("aggregate filesize  : 4 MiB\n"), "{head}");
    assert!(print::table_head(&done.test).contains(golden));
    let row = print::row(&done.test, &done.accesses[0]);
    let columns: Vec<usize> = row
        .char_indices()
        .filter(|&(at, c)| !c.is_whitespace() && row[..at].ends_with(' '))
        .map(|(at, _)| at)
        .collect();
    assert_eq!(columns, [10, 21, 32, 44, 55, 66, 77, 88, 99, 110], "{row}");
    assert!(row.starts_with("write     ") && row.ends_with(" 0   \n"), "{row}");
    let summary = print::summary(&[done], 4);
    let line = summary.lines().find(|line| line.starts_with("write")).unwrap();
    let golden = "        NA            NA     0      4   4    1   0     0        1         0    0      1  1048576   262144       4.0 POSIX      0";
    assert!(line.ends_with(golden), "{line}");
    assert!(summary.contains("Latency of single transfers"), "{summary}");
}

// Protects the output of `-v` and `-v -v`, which appears only with these options. Source: `ior-output.c` and `ior.c`
// of IOR.
#[test]
fn verbose_levels_equal_iors() {
    let quiet = done("--plumb-ranks 4");
    assert_eq!(print::test_tail(&quiet) + &print::data_stamp(&quiet.test, 7), "");
    assert_eq!(print::removal_row(&quiet.test, 0.5, 0) + &print::begins(&quiet.test, "write-check", &[], "now"), "");
    assert!(!print::test_head(&quiet, 4).contains("verbose"));
    let one = done("-v -w -r --plumb-ranks 4");
    assert!(print::test_head(&one, 4).contains("verbose             : 1\n"));
    let tail = print::test_tail(&one);
    let lines: Vec<&str> = tail.lines().map(|line| line.split_at(11).0).collect();
    assert_eq!(lines, ["Max Write: ", "Max Read:  "], "{tail}");
    assert!(tail.lines().all(|line| line.contains(" MiB/sec (") && line.ends_with(" MB/sec)")), "{tail}");
    assert_eq!(print::test_tail(&done("-v -w")).lines().count(), 1, "an access that was not requested has no maximum");
    assert_eq!(
        print::removal_row(&one.test, 0.000125, 2),
        "remove    -          -          -           -          -          -          -          -          0.000125   2   \n"
    );
    assert!(print::begins(&one.test, "write-check", &[], "now").starts_with("Verifying contents"));
    assert_eq!(print::data_stamp(&one.test, 7) + &print::begins(&one.test, "write", &[], "now"), "");
    let two = test("-v -v -w");
    assert_eq!(print::data_stamp(&two, 255), "Using Time Stamp 255 (0xff) for Data Signature\n");
    assert_eq!(print::data_stamp(&test("-v -v -w -G 16"), 255), "Using Time Stamp 16 (0x10) for Data Signature\n");
    assert_eq!(print::begins(&test("-vvv -r"), "read", &[1], "now"), "Commencing read performance test: now\n");
    let json = done("-v -w -r -O summaryFormat=JSON");
    let session = print::Session { command: String::new(), began: String::new(), machine: String::new() };
    let value: serde_json::Value = serde_json::from_str(&print::json(&session, &[json], "later", 1)).unwrap();
    assert!(value["tests"][0]["max"]["writeMiB"].is_number() && value["tests"][0]["max"]["readMB"].is_number());
}

// Protects programs that read JSON and CSV: JSON is valid with any text in it.
#[test]
fn json_is_valid_and_csv_has_a_row_per_result() {
    let mut done = done("-O summaryFormat=JSON");
    done.file = "a \"name\" \\ with\nall".to_owned();
    let session =
        print::Session { command: "ior -o \"x\"".to_owned(), began: "now".to_owned(), machine: "vm".to_owned() };
    let text = print::json(&session, &[done], "later", 1);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["tests"][0]["Results"][1]["access"], "read");
    assert_eq!(value["summary"][0]["numTasks"], 1);
    assert_eq!(value["tests"][0]["Path"], "a \"name\" \\ with\nall");
    let csv = self::done("-O summaryFormat=CSV");
    let head = print::table_head(&csv.test);
    let row = print::row(&csv.test, &csv.accesses[0]);
    assert_eq!(head.matches(',').count(), row.matches(',').count(), "{row}");
}

proptest::proptest! {
    // Protects against hostile scripts: each parses to tests or an error, and a test lowers to a workload.
    #[test]
    fn no_script_panics(
        lines in proptest::collection::vec(
            proptest::prop_oneof![
                proptest::string::string_regex("[a-zA-Z]{1,24} ?=? ?-?[0-9]{0,20}[kmgtpx]?").unwrap(),
                proptest::string::string_regex("(blockSize|transferSize|segmentCount|numTasks|repetitions)=[0-9]{1,19}[kmgtp]?").unwrap(),
                proptest::string::string_regex("(IOR ST(ART|OP)|RUN|#.*|,=,|--.*=.*)").unwrap(),
                ".{0,40}".prop_map(|text: String| text),
            ],
            0..12,
        ),
    ) {
        let script = format!("IOR START\n{}\n", lines.join("\n"));
        if let Ok(tests) = tests("-f x --plumb-ranks 3", &script) {
            for test in tests {
                let lowered = lower(&test, &Facts::default());
                proptest::prop_assert!(!lowered.workload.phase.is_empty());
            }
        }
    }

    // Protects against hostile command lines in the same way.
    #[test]
    fn no_command_line_panics(words in proptest::collection::vec("-{0,2}[a-zA-Z.]{0,12}=?-?[0-9]{0,20}[kmgtp]?", 0..8)) {
        if let Ok(Invocation::Run(tests, _)) = read(&words, None, &mut |_| Ok(String::new())) {
            for test in tests {
                lower(&test, &Facts::default());
            }
        }
    }
}

// Protects DUMMY: its files are only names, with the given delays, and its phases equal those of real files.
#[test]
fn dummy_files_are_only_names() {
    let line = "-F -e -Y --plumb-ranks 2 -o f";
    let dummy = lowered(&format!("-a DUMMY {line} --dummy.delay-xfer=9 --dummy.delay-close=2"));
    let Some(Target::Null(null)) = dummy.workload.target.get("files") else { panic!("{:?}", dummy.workload.target) };
    let files = null.files.as_ref().unwrap();
    assert_eq!((files.delays.transfer.0, files.delays.close.0, files.delays.create.0), (9000, 2000, 0));
    assert_eq!(dummy.workload.phase, lowered(line).workload.phase);
    for check in ["-W", "-R -w"] {
        assert!(error_of(&format!("-a DUMMY {check}")).contains("-a DUMMY does not keep"), "{check}");
    }
    assert!(error_of("-a HDF5").contains("measure it with IOR itself"));
}

// Protects -u: each rank's file has its own directory, which is created if missing, and which readers find.
#[test]
fn each_rank_has_its_own_directory() {
    let line = "-u -F -o /d/file --plumb-ranks 2 -C";
    let facts = Facts { missing_directories: [1].into(), ranks_per_node: 1, ..Facts::default() };
    let lowered = lower(&test(line), &facts);
    assert_eq!(plumb_workload_text::validate::validate(&lowered.workload), []);
    let Some(Target::Scratch(target)) = lowered.workload.target.get("files") else { panic!("files") };
    let paths: Vec<_> = (0..4).map(|number| target.names.path(number).unwrap()).collect();
    let expected = ["/d/0", "/d/1", "/d/0/file.00000000", "/d/1/file.00000001"].map(std::path::PathBuf::from);
    assert_eq!(paths, expected);
    assert_eq!(lower::first_file(&test(line), 0), "/d/0/file.00000000");
    let before = |phase: usize, rank: usize| match &lowered.workload.phase[phase].workers[rank].work {
        Work::Program(program) => program.before.iter().map(Step::key).collect::<Vec<_>>(),
        work => panic!("{work:?}"),
    };
    assert_eq!((before(0, 0), before(0, 1)), (vec!["unlink"], vec!["mkdir", "unlink"]));
    let Step::Open(open) = &steps(&lowered, 1, 0)[0] else { panic!("it opens first") };
    assert_eq!(open.file, Pick::Nth(3), "the other rank's file");
    assert_eq!(ior_names("-u -o file"), ["file"], "without -F there is only one file");
    assert_eq!(ior_names("-u -F -o file"), ["0", "0/file.00000000"]);
}

fn ior_names(line: &str) -> Vec<String> {
    let lowered = lowered(line);
    let Some(Target::Scratch(target)) = lowered.workload.target.get("files") else { panic!("files") };
    (0..target.names.count()).map(|number| target.names.path(number).unwrap().display().to_string()).collect()
}

// Protects -K, -M, minTimeDuration and randomPrefill: what each adds to which phase.
#[test]
fn further_options_change_the_workload() {
    use plumb_workload::{Bytes, Size};
    let phases = |lowered: &Lowered| {
        lowered.workload.phase.iter().map(|phase| (phase.name.clone(), phase.workers.len())).collect::<Vec<_>>()
    };
    let named =
        |phases: &[(&str, usize)]| phases.iter().map(|&(name, ranks)| (name.to_owned(), ranks)).collect::<Vec<_>>();
    let keeps = lowered("-K -w -R --plumb-ranks 3");
    assert_eq!(
        phases(&keeps),
        named(&[("write", 3), ("read", 3), ("remove", 3)]),
        "all ranks report the result of their reads"
    );
    let keys = |rank: usize| steps(&keeps, 2, rank).iter().map(Step::key).collect::<Vec<_>>();
    assert_eq!((keys(0), keys(1)), (vec!["end-if-wrong", "unlink"], vec!["end-if-wrong"]));
    let filled = lowered("-z -w --randomPrefill=512k -s 2 --plumb-ranks 2");
    assert_eq!(phases(&filled), named(&[("prefill", 2), ("write", 2), ("remove", 1)]));
    let fills = transfer(&filled, 0, 1);
    assert_eq!((fills.record.0, fills.count, segments(&filled, 0, 1).first.0), (512 << 10, 4, 1 << 20));
    let Work::Program(write) = &filled.workload.phase[1].workers[0].work else { panic!("a program") };
    assert_eq!(write.before, [], "a filled file is kept");
    assert_eq!(transfer(&lowered("--minTimeDuration=3"), 0, 0).repeats_for.map(|time| time.0), Some(3_000_000_000));

    let hog = |line: &str| lowered(line).workload.phase[0].memory_pressure;
    assert_eq!(hog("-M 75%"), Some(Size::Ram(0.75)));
    assert_eq!(
        hog("-M 64m --plumb-ranks 4"),
        Some(Size::Bytes(Bytes(64 << 20))),
        "one process takes the whole share of the node"
    );
    assert_eq!(hog("--memoryPerTask=64m --plumb-ranks 4"), Some(Size::Bytes(Bytes(256 << 20))));
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let launched = Launched { ranks: 4, nodes: 2, beside_rank_0: vec![0, 1] };
    let of_process = |line: &str| match read(&words(line), Some(&launched), &mut |_| Ok(String::new())).unwrap() {
        Invocation::Run(tests, _) => tests[0].caching.hog,
        Invocation::Help => None,
    };
    assert_eq!(of_process("-M 64m"), Some(Hog::Process(32 << 20)), "two processes share a node");
    assert_eq!(of_process("--memoryPerTask=64m"), Some(Hog::Process(64 << 20)));
    let message = read(&words("-O savePerOpDataCSV=x"), Some(&launched), &mut |_| Ok(String::new())).unwrap_err();
    assert!(message.to_string().contains("use --plumb-ranks without mpirun"), "{message}");
}

// Protects files of single transfers: they have IOR's names and format, and no phase overwrites another.
#[test]
fn files_of_transfers_have_iors_names_and_format() {
    let both = test("-O savePerOpDataCSV=op");
    assert_eq!(print::op_csv_name("op", &both, "read", 0, 0), "op-0-00000.csv");
    assert_eq!(print::op_csv_name("op", &both, "write", 2, 13), "op-write-2-00013.csv");
    assert_eq!(print::op_csv_name("op", &test("-w"), "write", 0, 0), "op-0-00000.csv");
    assert_eq!(
        crate::aiori::op_csv_row(both.size.transfer_bytes, 345_945, 123_024),
        "3.45945000e-04,1.23024000e-04,2.130836e+09\n"
    );
}

/// Parses a test with MPI-IO, whose ranks are processes.
fn by_mpi(line: &str, ranks: u32) -> Result<Test, IorError> {
    let words: Vec<String> = format!("-a MPIIO {line}").split_whitespace().map(str::to_owned).collect();
    let launched = Launched { ranks, nodes: 1, beside_rank_0: (0..ranks).collect() };
    match read(&words, Some(&launched), &mut |_| Ok(String::new()))? {
        Invocation::Run(mut tests, _) => Ok(tests.remove(0)),
        Invocation::Help => panic!("{line} asks for help"),
    }
}

// Protects MPI-IO: which ranks open a file together, which calls move records, where views start, and where IOR
// passes hints and preallocates.
#[test]
fn mpi_io_makes_iors_calls() {
    let hints = std::collections::BTreeMap::from([("cb_nodes".to_owned(), "2".to_owned())]);
    let facts = Facts { seed: 7, hints: hints.clone(), ..Facts::default() };
    let lowered = |line: &str| {
        let lowered = lower(&by_mpi(line, 4).unwrap(), &facts);
        assert_eq!(plumb_workload_text::validate::validate(&lowered.workload), [], "{line}");
        lowered
    };
    let opened = |lowered: &Lowered, phase: usize, rank: usize| match &steps(lowered, phase, rank)[0] {
        Step::Open(open) => open.mpi.as_deref().unwrap().clone(),
        step => panic!("{step:?}"),
    };
    let shared = lowered("-c -s 2 -N 3 --mpiio.useFileView --mpiio.preallocate");
    let (write, read) = (opened(&shared, 0, 2), opened(&shared, 1, 2));
    assert_eq!((write.ranks, &write.hints), (3, &hints));
    assert_eq!((write.preallocate.0, read.preallocate.0), (6 << 20, 0), "for all ranks, and only for writing");
    let view = write.view.unwrap();
    assert_eq!((view.first.0, view.block.0, view.stride.0, view.record.0), (2 << 20, 1 << 20, 3 << 20, 256 << 10));
    assert_eq!(transfer(&shared, 0, 2).via, Via::Mpi { together: true, strided: false });
    let own = lowered("-F -e");
    assert_eq!((opened(&own, 0, 1).ranks, opened(&own, 0, 1).view), (1, None));
    assert_eq!(transfer(&own, 0, 1).via, Via::Mpi { together: false, strided: false });
    assert_eq!(steps(&own, 0, 1).iter().map(Step::key).collect::<Vec<_>>(), ["open", "transfer", "fsync", "close"]);

    let strided = lowered("-s 3 --mpiio.useFileView --mpiio.useStridedDatatype");
    let (view, moves) = (opened(&strided, 0, 2).view, transfer(&strided, 0, 2).clone());
    assert_eq!((view, moves.via), (None, Via::Mpi { together: false, strided: true }), "each call has its own view");
    assert_eq!((moves.count, moves.bytes()), (4, 3 << 20), "calls for the first block move the blocks of all segments");
    let RecordOrder::Segments(segments) = &moves.order else { panic!("{moves:?}") };
    assert_eq!((segments.first.0, segments.stride.0, segments.count), (2 << 20, 4 << 20, 3));
    let alone = lowered("-s 3 --mpiio.useStridedDatatype");
    assert_eq!(
        transfer(&alone, 0, 2).via,
        Via::Mpi { together: false, strided: false },
        "without a view it has no effect"
    );

    let message =
        by_mpi("-w -O minTimeDuration=1 --mpiio.useFileView --mpiio.useStridedDatatype", 2).unwrap_err().to_string();
    assert!(message.contains("all tasks set a view together"), "{message}");
    let message = by_mpi("-w -c -O minTimeDuration=1", 2).unwrap_err().to_string();
    assert!(message.contains("each repeats by its own time"), "{message}");
    assert!(by_mpi("-F -w -c -O minTimeDuration=1", 2).is_ok(), "each rank has a file of its own");
    assert!(by_mpi("-c -D 1", 2).is_ok(), "all write as much as the first");
    assert!(by_mpi("-F -c -D 1", 2).is_err(), "each writes as much as it can");
}

// Protects the table of MPI-IO: how tasks move data, and the version of the library.
#[test]
fn the_table_describes_mpi_io() {
    let done = print::Done { api_version: "(3.1)".to_owned(), ..done("-a MPIIO -c") };
    let head = print::test_head(&done, 1);
    for line in ["api                 : MPIIO", "apiVersion          : (3.1)", "type                : collective"] {
        assert!(head.lines().any(|other| other == line), "{line}: {head}");
    }
}

// Protects IOR's own tests: a dash among letters is ignored, and directives after the last `RUN` are one more test,
// here with another back end.
#[test]
fn iors_own_tests_parse() {
    let dash = test("-r -z-k -t 100k -b 200k");
    assert!(dash.files.keeps && dash.phases.reads && !dash.phases.writes && dash.order.random == Random::InBlock);
    let script = "IOR START\n\treorderTasks=1\nRUN\n--dummy.delay-create=1000\nuseo_direct=0\napi=dummy\n  ior stop\n";
    let both = tests("-f s", script).unwrap();
    assert_eq!((both[0].api, both[0].order.reorder), (Api::Posix, Reorder::Constant));
    let Api::Dummy(delays) = both[1].api else { panic!("{:?}", both[1].api) };
    assert_eq!(delays.create.0, 1_000_000);
}
