//! Tests of typical command lines, of their workloads, and of the format of the report.

use super::*;
use plumb_result::PhaseMeasurement;
use plumb_workload::program::{ItemOrder, TreeStep, TreeWork, Wall};
use plumb_workload::{Step, Target, Work};

fn settings(line: &str) -> MdtestSettings {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    match read(&words, None).unwrap() {
        Invocation::Run(settings, _) => *settings,
        Invocation::Help => panic!("{line} asks for help"),
    }
}

fn error_of(line: &str) -> String {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    read(&words, None).unwrap_err().to_string()
}

fn lowered(line: &str) -> Lowered {
    let settings = settings(line);
    let lowered = lower(&settings, &Facts { tasks: settings.ranks, ..Facts::default() });
    if !lowered.workload.phase.is_empty() {
        assert_eq!(plumb_workload_text::validate::validate(&lowered.workload), [], "{line}");
        let text = plumb_workload_text::native::to_toml(&lowered.workload).unwrap();
        assert_eq!(plumb_workload_text::native::parse("mdtest.toml", &text).unwrap(), lowered.workload, "{line}");
    }
    lowered
}

fn phases(lowered: &Lowered) -> Vec<&str> {
    lowered.workload.phase.iter().map(|phase| phase.name.as_str()).collect()
}

/// Returns the steps of a phase, with its number of workers.
fn steps(lowered: &Lowered, phase: &str) -> (u32, Vec<TreeStep>) {
    let phase = lowered.workload.phase.iter().find(|other| other.name == phase).unwrap();
    let group = &phase.workers[0];
    let Work::Program(program) = &group.work else { panic!("{} is a program", phase.name) };
    let steps = program.steps.iter().filter_map(|step| match step {
        Step::Trees(step) => Some(TreeStep::clone(step)),
        _ => None,
    });
    (group.count, steps.collect())
}

// Protects mdtest's order: all phases by default, including renames; otherwise only the requested ones.
#[test]
fn phases_come_in_their_order() {
    let all = [
        "tree-create",
        "directory-create",
        "directory-stat",
        "directory-rename",
        "directory-remove",
        "file-create",
        "file-stat",
        "file-read",
        "file-remove",
        "tree-remove",
    ];
    assert_eq!(phases(&lowered("-n 10")), all);
    assert_eq!(phases(&lowered("-n 10 -F -C -T")), ["tree-create", "file-create", "file-stat"]);
    assert_eq!(phases(&lowered("-n 10 -D -r")), ["directory-remove", "tree-remove"]);
    assert_eq!(phases(&lowered("-n 10 -S -E")), ["file-read"]);
    assert_eq!(phases(&lowered("-n 1 -D -U")), Vec::<&str>::new(), "a single directory cannot be renamed");
}

// Protects the numbers of items by -n, -I, -z, -b and -L.
#[test]
fn items_are_counted_as_in_mdtest() {
    let items = |line: &str| lowered(line).items;
    assert_eq!(items("-n 100"), 100);
    assert_eq!(items("-I 10 -b 2 -z 2"), 70);
    assert_eq!(items("-n 40 -b 2 -z 2 -L"), 40);
    assert_eq!(items("-n 41 -b 2 -z 2"), 35, "rounded down to whole directories");
    assert_eq!(items("-n 40 -I 10"), 40);
    assert_eq!(lowered("-I 3 -b 2 -z 2").tree_directories, 7);
}

// Protects -N: later phases work on the items of other tasks, and own trees are shifted with them.
#[test]
fn phases_shift_the_tasks() {
    let shifted = lowered("-n 10 -F -N 1 --plumb-ranks 4");
    let shift = |phase: &str| steps(&shifted, phase).1[0].shift;
    assert_eq!(["file-create", "file-stat", "file-read", "file-remove"].map(shift), [0, 1, 2, 3]);
    assert_eq!(steps(&lowered("-n 10 -F -N 3 --plumb-ranks 4"), "file-read").1[0].shift, 2);
}

// Protects -u, -c and -S: which rank creates which items.
#[test]
fn ranks_create_their_items() {
    let count = |line: &str, phase: &str| steps(&lowered(line), phase).0;
    assert_eq!(count("-n 10 --plumb-ranks 4", "tree-create"), 1);
    assert_eq!(count("-n 10 -u --plumb-ranks 4", "tree-create"), 4);
    assert_eq!(count("-n 10 -c -u --plumb-ranks 4", "tree-create"), 1);
    assert_eq!(count("-n 10 -S --plumb-ranks 4", "file-create"), 4);
    assert_eq!(count("-n 10 -S --plumb-ranks 4", "file-remove"), 1);
    let collective = lowered("-n 10 -c -F -w 4k --plumb-ranks 4");
    let create = collective.workload.phase.iter().find(|phase| phase.name == "file-create").unwrap();
    assert_eq!(create.workers.iter().map(|group| group.count).collect::<Vec<_>>(), [1, 4]);
    assert_eq!(create.workers[1].start.after, ["rank-0"]);
}

// Protects the stonewall: only the creation of files stops, later phases cover the same items, and a status file
// limits later runs.
#[test]
fn later_phases_cover_the_items_before_the_stonewall() {
    let lowered_ = lowered("-n 1000000 -F -W 2");
    let wall = |phase: &str| steps(&lowered_, phase).1[0].wall;
    assert_eq!(wall("file-create"), Some(Wall::After(plumb_workload::Nanos(2_000_000_000))));
    assert_eq!(["file-stat", "file-read", "file-remove"].map(wall), [Some(Wall::AsFar); 3]);
    let later = settings("-n 1000000 -F -T -x sw");
    let facts = Facts { tasks: 1, items_at_wall: Some(77), ..Facts::default() };
    let later = lower(&later, &facts);
    assert_eq!((steps(&later, "file-stat").1[0].count, later.items), (Some(77), 77));
    // In a tree with branches, the items created first are not those with the lowest numbers.
    let branches = lowered("-n 1000000 -b 3 -z 2 -F -W 2");
    assert_eq!(steps(&branches, "file-stat").1[0].order, ItemOrder::DepthFirst);
}

// Protects -R after a stonewall if the files created first have the lowest numbers; also protects empty file names.
#[test]
fn random_order_works_after_a_stonewall_with_consecutive_numbers() {
    for line in
        ["-n 10 -F -R -W 1", "-n 8 -F -R -W 1 -b 2 -z 2 -L", "-n 10 -F -R -W 1 -z 3", "-n 9 -F -C -R -W 1 -b 2 -z 1"]
    {
        settings(line);
    }
    let unnamed = settings("-n 10 -F -T -x= --saveRankPerformanceDetails=");
    assert_eq!((unnamed.stonewall.status_file, unnamed.output.rank_csv), (None, None));
}

// Protects the counts of -c: files that rank 0 creates for all count once, and no rank takes another's place.
#[test]
fn collective_creation_counts_each_file_once() {
    let mut phase = measured("file-create", 30, 10);
    let rank = measured("file-create", 10, 10).workers.remove(0);
    phase.workers.extend([rank.clone(), rank]);
    let mut result = IterationResult::default();
    result.add(&phase, 2);
    let made = result.test(Test::FileCreation).unwrap();
    assert_eq!((made.items, made.latency.count()), (20, 20));
    assert_eq!(made.ranks.iter().map(|rank| rank.items).collect::<Vec<_>>(), [10, 10]);
}

// Protects the data of files: sizes, packets and order.
#[test]
fn files_are_written_and_read_as_requested() {
    let made = lowered("-n 10 -F -w 3901 -e 3901 -y -R --random-seed=5");
    let (_, create) = steps(&made, "file-create");
    let TreeWork::Make(item) = create[0].does else { panic!("{create:?}") };
    assert_eq!((item.bytes.0, item.flush), (3901, true));
    assert_eq!(steps(&made, "file-stat").1[0].order, ItemOrder::Shuffled { seed: 5 });
    assert_eq!(steps(&lowered("-n 10 -F -k"), "file-create").1[0].does, TreeWork::Mknod);
    assert!(steps(&lowered("-n 10 -F --posix.odirect"), "file-read").1[0].direct);
}

// Protects from options that mdtest cannot combine, and from numbers that overflow.
#[test]
fn conflicts_are_refused() {
    for (line, text) in [
        ("-S -c", "-c and -S"),
        ("-u -S", "-u and -S"),
        ("-d a@b", "several directories need -u"),
        ("-d a@b -u", "more directories than tasks"),
        ("-n 10 -I 5 -u", "give one of them"),
        ("-n 10 -I 3", "multiple of -I"),
        ("-k -w 1", "-k and -w"),
        ("-X -T", "-X needs the read phase"),
        ("-X", "-X needs bytes"),
        ("-e 10", "-e exceeds -w"),
        ("-B 1", "-B is not yet supported"),
        ("-a HDFS", "measure it with IOR itself"),
        ("-l 2", "raise --plumb-ranks"),
        ("-f 3 -l 2 --plumb-ranks 4", "-f exceeds -l"),
        ("-n 99999999999p", "exceeds 64 bits"),
        ("-n 4096p -b 1000 -z 9", "more than can be numbered"),
        ("-z 9999", "the tree is too deep"),
        ("--plumb-ranks 0", "use 1 to 4096"),
        ("-n -1", "is negative"),
        ("-n 10 -F -R -W 1 -b 2 -z 1", "-R after a stonewall"),
        ("-n 10 -F -T -R -x sw -b 2 -z 1", "-R after a stonewall"),
        ("--dataPacketType=x", "unknown packets"),
        ("--run-cmd-before-phase=ls", "would run `ls`; add --allow-system"),
        ("--run-cmd-after-phase=ls", "--run-cmd-after-phase is refused"),
        ("--verify-reads", "did you mean `--verify-read`?"),
    ] {
        assert!(error_of(line).contains(text), "{line}: {}", error_of(line));
    }
}

fn measured(name: &str, items: u64, ms: u64) -> PhaseMeasurement {
    use plumb_result::{OpMeasurement, WorkerMeasurement};
    let mut op = OpMeasurement { count: items, ..OpMeasurement::default() };
    op.service.record_n(1000, items);
    let ops = std::collections::BTreeMap::from([(plumb_workload::OpKind::Stat, op)]);
    let worker = WorkerMeasurement { wall_ns: ms * 1_000_000, ops: ops.clone(), ..WorkerMeasurement::default() };
    PhaseMeasurement {
        name: name.to_owned(),
        wall_ns: ms * 1_000_000,
        ops,
        workers: vec![worker],
        ..PhaseMeasurement::default()
    }
}

fn results() -> Vec<IterationResult> {
    [10, 20]
        .map(|ms| {
            let mut result = IterationResult::default();
            result.add(&measured("file-stat", 100, ms), 1);
            result.add(&measured("tree-create", 1, 1), 1);
            result
        })
        .into()
}

// Protects scripts that read the table: its lines equal those of mdtest, column by column.
#[test]
fn the_table_has_mdtests_format() {
    let text = print::report(&settings("-n 100 -F -i 2"), &results());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], "SUMMARY rate (in ops/sec): (of 2 iterations)");
    assert_eq!(lines[2], "   Operation                     Max            Min           Mean        Std Dev");
    assert_eq!(lines[3], "   ---------                     ---            ---           ----        -------");
    assert_eq!(lines[4], "   File creation                   0.000          0.000          0.000          0.000");
    assert_eq!(lines[5], "   File stat                   10000.000       5000.000       7500.000       3535.534");
    assert_eq!(lines[8], "   Tree creation                1000.000       1000.000       1000.000          0.000");
    assert!(text.contains("LATENCY (in ms)"), "{text}");
    let both = print::report(&settings("-n 100 -F -i 2 -P"), &results());
    assert!(both.contains("\nSUMMARY time (in ms/op): (of 2 iterations)"));
    assert!(
        both.contains("   File stat                       0.200          0.100          0.150          0.071"),
        "{both}"
    );
    let ranks = print::report(&settings("-n 100 -F -i 2 --showRankStatistics"), &results());
    let golden = "   Operation     per Rank: Max            Min           Mean      per Iteration: Max            Min           \
                  Mean        Std Dev";
    assert!(ranks.contains(golden), "{ranks}");
    let all = print::report(&settings("-n 100 -F --print-all-procs"), &results()[..1]);
    assert!(all.contains("Test File stat 1.000000e+04\n"), "{all}");
}

// Protects readers of the CSV file: a row for all, then one per rank and iteration.
#[test]
fn the_csv_file_has_mdtests_columns() {
    assert!(print::csv_head().starts_with("rank,items,rate-Directory creation,time-Directory creation,"));
    let text = print::csv(&results(), 100);
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows.len(), 3);
    assert!(rows[0].starts_with("all,100,,,,,,,,,,,,,1.0000000000e+04,1.0000000000e-02,,,,,"), "{}", rows[0]);
    assert!(rows[1].starts_with("0,,,,,,,,,,,,,,1.0000000000e+04,"), "{}", rows[1]);
}

// Protects --run-cmd-*: each task runs them once around each phase of items, before the clock and at its end after
// the sync, and not around trees.
#[test]
fn commands_run_around_phases_of_items() {
    let commands = "--allow-system --run-cmd-before-phase=b --run-cmd-after-phase=a";
    for line in ["-n 4 -Y", "-n 4 -c -Y", "-n 4 -S -Y"] {
        let made = lowered(&format!("{line} {commands} --plumb-ranks 3"));
        for phase in &made.workload.phase {
            let run = |part: fn(&plumb_workload::Program) -> Option<&Step>, wanted: &str| -> u32 {
                let groups = phase.workers.iter().filter(|group| {
                    let step = group.work.program().and_then(part);
                    matches!(step, Some(Step::Command { line }) if line == wanted)
                });
                groups.map(|group| group.count).sum()
            };
            let around = [run(|program| program.before.first(), "b"), run(|program| program.steps.last(), "a")];
            let wanted = if phase.name.starts_with("tree") { [0, 0] } else { [3, 3] };
            assert_eq!(around, wanted, "{line}: {}", phase.name);
        }
    }
    assert!(phases(&lowered(&format!("-n 4 {commands}"))).contains(&"directory-read"));
    lowered("-n 4 -c --allow-system --run-cmd-before-phase=b --plumb-ranks 2");
}

// Protects --savePerOpDataCSV: a file per test of files and rank, with the bytes that mdtest counts, and only those
// ops.
#[test]
fn operations_on_files_are_written_per_rank() {
    let line = "-n 10 -w 100 -e 40 -c --savePerOpDataCSV=op --plumb-ranks 4";
    let file = |phase: &str, worker: &str| {
        let file = print::op_file(&settings(line), phase, worker)?;
        Some(format!("{} {}", file.path, file.bytes))
    };
    assert_eq!(file("file-create", "rank-0/0"), None);
    assert_eq!(file("file-create", "workers.1/3").as_deref(), Some("op-File creation-00003.csv 100"));
    assert_eq!(file("file-stat", "workers.0/1").as_deref(), Some("op-File stat-00001.csv 1"));
    assert_eq!(file("file-read", "workers.0/0").as_deref(), Some("op-File read-00000.csv 40"));
    assert_eq!(file("file-remove", "workers.0/0").as_deref(), Some("op-File removal-00000.csv 100"));
    assert_eq!(file("directory-create", "workers.0/0"), None);
    assert_eq!(print::op_file(&settings("-n 10"), "file-stat", "workers.0/0"), None);
    let logs = |line: &str| -> Vec<String> {
        let phases = lowered(line).workload.phase;
        let of_phase = |phase: &plumb_workload::Phase| {
            phase.workers.iter().all(|group| group.work.program().is_some_and(|program| program.log_ops))
        };
        phases.iter().filter(|phase| of_phase(phase)).map(|phase| phase.name.clone()).collect()
    };
    assert_eq!(logs(line), ["file-create", "file-stat", "file-read", "file-remove"]);
    assert_eq!(logs("-n 10"), Vec::<String>::new());
    let launched = aiori::Launched { ranks: 2, nodes: 1, beside_rank_0: vec![0, 1] };
    let error = read(&["--savePerOpDataCSV=op".to_owned()], Some(&launched)).unwrap_err().to_string();
    assert!(error.contains("use --plumb-ranks without mpirun"), "{error}");
}

// Protects the header that parsers look for.
#[test]
fn the_head_names_tasks_and_command() {
    let command = ["mdtest", "-n", "10"].map(str::to_owned);
    let head = print::head(&settings("-n 10 --plumb-ranks 2"), &command, "11/20/2026 18:52:11");
    let golden = "-- started at 11/20/2026 18:52:11 --\n\nmdtest-4.1.0+dev was launched with 2 total task(s) on 1 node(s)\n\
                  Command line used: mdtest '-n' '10'\n\
                  WARNING: Read bytes is 0, thus, a read test will actually just open/close\nNodemap: 11\n";
    assert_eq!(head, golden);
    let tasks = |line: &str| print::tasks(&settings(line), &lowered(line));
    assert_eq!(tasks("-n 10 --plumb-ranks 2"), "2 tasks, 20 files/directories\n");
    assert_eq!(tasks("-n 10 -S --plumb-ranks 2"), "2 tasks, 1 file\n");
    assert_eq!(tasks("-n 10 -D"), "1 tasks, 10 directories\n");
    let mut result = IterationResult::default();
    assert_eq!(print::wall(&result, 10), None);
    result.at_wall = vec![2564, 3973];
    assert_eq!(print::wall(&result, 1 << 20).unwrap(), "Continue stonewall hit min: 2564 max: 3973 avg: 3268.5 \n\n");
}

proptest::proptest! {
    // Protects against hostile command lines: each is an error or settings that lower to a workload.
    #[test]
    fn no_command_line_panics(words in proptest::collection::vec("-{0,2}[a-zA-Z.]{0,12}=?-?[0-9]{0,20}[kmgtp]?", 0..8)) {
        if let Ok(Invocation::Run(settings, _)) = read(&words, None) {
            let lowered = lower(&settings, &Facts { tasks: settings.tasks.1, ..Facts::default() });
            print::tasks(&settings, &lowered);
        }
    }
}

/// Returns the trace of one finished iteration, without the prefix of the lines.
fn traced(line: &str, at_wall: &[u64]) -> Vec<String> {
    let settings = settings(line);
    let facts = Facts { tasks: settings.ranks, ..Facts::default() };
    let mut trace = trace::Trace::new(&settings, &facts).unwrap();
    let mut result = IterationResult::default();
    result.at_wall.extend(at_wall);
    let mut text = String::new();
    for phase in &lower(&settings, &facts).workload.phase {
        trace.print(Test::of_phase(&phase.name), &result, &mut |lines| text.push_str(lines));
    }
    trace.print(None, &result, &mut |lines| text.push_str(lines));
    let begins = |line: &str| line.strip_prefix("V-3: Rank   0 Line     0 ").map(str::to_owned);
    text.lines().map(|line| begins(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

// Protects mdtest's words and order: the trace of an iteration equals that of mdtest with the same options.
#[test]
fn traces_equal_mdtests() {
    let tree = "create_remove_items (start): temp_path is 'o/test-dir.0-0/mdtest_tree.0.0'";
    let below = "o/test-dir.0-0/mdtest_tree.0.0/mdtest_tree.0.1/";
    let walk = |does: &str, item: &str| {
        [
            tree.to_owned(),
            tree.to_owned(),
            format!("create_remove_items (for loop): temp_path is '{below}'"),
            format!("create_remove_items_helper (non-dirs {does}): curr_item is '{below}/{item}'"),
        ]
    };
    let end = format!("create_remove_items (start): temp_path is '{below}'");
    let made = walk("create", "file.mdtest.0.1");
    let removed = walk("remove", "file.mdtest.0.1");
    let root = "o/test-dir.0-0";
    let all = [
        &[format!(
            "main (create hierarchical directory loop-!collective_creates): Calling create_remove_directory_tree with '{root}'"
        )],
        &["i 1 nstride 0", "V-3: main: Copied unique_mk_dir, 'mdtest_tree.0.0', to topdir"].map(str::to_owned)[..],
        &["will file_test on mdtest_tree.0.0", "Entering file_test on mdtest_tree.0.0"].map(str::to_owned),
        &[format!("file_test: create path is '{root}/mdtest_tree.0.0'")],
        &made,
        &["create_remove_items_helper (non-collective, shared): open...", "create_remove_items_helper: close..."]
            .map(str::to_owned),
        std::slice::from_ref(&end),
        &[
            format!("file_test: stat path is '{root}/mdtest_tree.0.0'"),
            format!("mdtest_stat file: {below}file.mdtest.0.1"),
            format!("file_test: rm directories path is '{root}/mdtest_tree.0.0'"),
            format!("gonna remove {root}/mdtest_tree.0.0"),
        ],
        &removed,
        std::slice::from_ref(&end),
        &[
            format!("file_test: rm unique directories path is '{root}/'"),
            format!(
                "main (remove hierarchical directory loop-!collective): Calling create_remove_directory_tree with '{root}'"
            ),
        ],
    ]
    .concat();
    assert_eq!(traced("-C -T -r -F -I 1 -z 1 -b 1 -L -u -V=4 -d o", &[]), all);
}

// Protects the trace after a stonewall: rank 0 continues, and later tests cover the items of the fastest rank.
#[test]
fn traces_cover_the_items_before_the_wall() {
    let lines = traced("-n 100 -F -C -T -W 1 -v -v -v -d o --plumb-ranks 2", &[3, 5]);
    let items = |words: &str| -> Vec<String> {
        let after = |line: &String| line.strip_prefix(words).map(|path| path.trim_end_matches('\'').to_owned());
        lines.iter().filter_map(after).map(|path| path.rsplit('.').next().unwrap().to_owned()).collect()
    };
    let created = "create_remove_items_helper (non-dirs create): curr_item is '";
    assert_eq!(items(created), ["0", "1", "2", "3", "4"]);
    assert_eq!(items("mdtest_stat file: "), ["0", "1", "2", "3", "4"]);
    assert_eq!(lines.iter().filter(|line| line.starts_with("create_remove_items (start)")).count(), 2);
}

// Protects plain output: traces are printed only from -v -v -v on.
#[test]
fn traces_need_verbosity_3() {
    let of = |line: &str| trace::Trace::new(&settings(line), &Facts { tasks: 1, ..Facts::default() }).is_some();
    assert_eq!(["-v -v", "-V=2", "-v -v -v", "-V=3"].map(of), [false, false, true, true]);
    assert_eq!(trace::place(&settings("-n 1")), ["", ""]);
}

// Protects DUMMY: its files are only names, with the given delays, and comparing data is an error.
#[test]
fn dummy_files_are_only_names() {
    let dummy = lowered("-a DUMMY -I 20 -W 1 --dummy.delay-create=7 --dummy.delay-sync=3 -Y --plumb-ranks 2");
    let Some(Target::Null(null)) = dummy.workload.target.get("trees") else { panic!("{:?}", dummy.workload.target) };
    let files = null.files.as_ref().unwrap();
    assert_eq!((files.delays.create.0, files.delays.sync.0, files.delays.close.0), (7000, 3000, 0));
    assert_eq!(phases(&dummy), phases(&lowered("-I 20 -W 1 -Y --plumb-ranks 2")));
    assert!(error_of("-a dummy -w 8 -e 8 -X").contains("-X and --verify-write need data"));
    assert!(error_of("-a dummy -w 8 --verify-write").contains("DUMMY does not keep"));
    assert!(error_of("-a dummy --dummy.delay-only-rank0").contains("delay-only-rank0 is not yet supported"));
    assert!(error_of("-a MPIIO").contains("use POSIX or DUMMY"));
}
