//! Tests that parse one file, list its tests, lower and print them; and tests of invalid files.

use super::config::{Record, TestType};
use super::*;
use plumb_result::histogram::Histogram;
use plumb_result::measurement::{OpMeasurement, PhaseMeasurement, WorkerMeasurement};
use plumb_workload::{BlockStream, Bytes, OpKind, Work, Workload};
use plumb_workload_text::validate::validate;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A file of IOMeter 1.1.0, with two workers on files.
const FILE: &str = "Version 1.1.0 \n\
'TEST SETUP ====================================================================\n\
'Test Description\n\tAn evening, and more\n\
'Run Time\n'\thours      minutes    seconds\n\t0          1          30\n\
'Ramp Up Time (s)\n\t5\n\
'Default Disk Workers to Spawn\n\tNUMBER_OF_CPUS\n\
'Default Network Workers to Spawn\n\t0\n\
'Record Results\n\tALL\n\
'Worker Cycling\n'\tstart      step       step type\n\t1          1          LINEAR\n\
'Disk Cycling\n'\tstart      step       step type\n\t1          1          LINEAR\n\
'Queue Depth Cycling\n'\tstart      end        step       step type\n\t1          8          2          EXPONENTIAL\n\
'Test Type\n\tNORMAL\n\
'END test setup\n\
'RESULTS DISPLAY ===============================================================\n\
'Record Last Update Results,Update Frequency,Update Type\n\tDISABLED,1,WHOLE_TEST\n\
'END results display\n\
'ACCESS SPECIFICATIONS =========================================================\n\
'Access specification name,default assignment\n\tDatabase,NONE\n\
'size,% of size,% reads,% random,delay,burst,align,reply\n\t8192,100,67,100,0,1,0,0\n\
'Access specification name,default assignment\n\tmixed lines,ALL\n\
'size,% of size,% reads,% random,delay,burst,align,reply\n\t4096,60,100,50,10,4,4096,0\n\t65536,40,0,0,10,4,0,0\n\
'END access specifications\n\
'MANAGER LIST ==================================================================\n\
'Manager ID, manager name\n\t1,HOST\n\
'Manager network address\n\t\n\
'Worker\n\tWorker 1\n'Worker type\n\tDISK\n\
'Default target settings for worker\n\
'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value\n\
\t16,DISABLED,1,ENABLED,4711\n\
'Disk maximum size,starting sector,Data pattern\n\t20480,2048,2\n\
'End default target settings for worker\n\
'Assigned access specs\n\tdatabase\n\tMixed Lines\n\tIdle\n'End assigned access specs\n\
'Target assignments\n'Target\n\t/mnt/a\n'Target type\n\tDISK\n'End target\n\
'Target\n\t/mnt/b, c\n'Target type\n\tDISK\n'End target\n'End target assignments\n\
'End worker\n\
'Worker\n\tWorker 2\n'Worker type\n\tDISK\n\
'Default target settings for worker\n\
'Number of outstanding IOs,test connection rate,transactions per connection\n\t1,DISABLED,1\n\
'Disk maximum size,starting sector\n\t20480,0\n\
'End default target settings for worker\n\
'Assigned access specs\n\tDatabase\n\t4 KiB; 50% Read; 0% random\n'End assigned access specs\n\
'Target assignments\n'Target\n\t/mnt/a\n'Target type\n\tDISK\n'End target\n'End target assignments\n\
'End worker\n\
'End manager\n\
'END manager list\n\
Version 1.1.0 \n";

fn config() -> Config {
    Config::parse("f.icf", FILE).unwrap()
}

fn place(name: &str) -> Place {
    Place { path: PathBuf::from(name).join("iobw.tst"), length: None, is_device: false }
}

fn lowered(config: &Config, test: &Test) -> Workload {
    let workload = lower(config, test, place, 1).unwrap();
    assert_eq!(validate(&workload), []);
    workload
}

#[test]
fn a_file_assigns_work_to_workers() {
    let config = config();
    let setup = &config.setup;
    assert_eq!((setup.run_s, setup.ramp_s, setup.record), (90, 5, Record::All));
    assert_eq!((setup.description.as_str(), config.manager.as_str()), ("An evening, and more", "HOST"));
    let names: Vec<&str> = config.workers[0].specs.iter().map(|&number| config.specs[number].name.as_str()).collect();
    assert_eq!(names, ["Database", "mixed lines", "Idle"]);
    assert_eq!(config.workers[0].targets, ["/mnt/a", "/mnt/b, c"]);
    let tests = config.tests().unwrap();
    // In the third test, no worker would do anything.
    let specs_and_targets: Vec<(usize, &[usize])> =
        tests.iter().map(|test| (test.spec_number, test.targets.as_slice())).collect();
    assert_eq!(specs_and_targets, [(0, [2, 1].as_slice()), (1, [2, 1].as_slice())]);
    let windows = FILE.replace('\n', "\r\n");
    assert_eq!(Config::parse("f.icf", &windows).unwrap(), config);
    let built_in = built_in();
    // Source: IOMeter's own list, preceded by "Idle".
    assert_eq!((built_in.len(), built_in[1].lines[0].access.align), (32, Bytes(2048)));
    let together = built_in.last().unwrap();
    assert_eq!((together.name.as_str(), together.lines.len()), ("All in one", 29));
    let shares: Vec<u8> = together.lines.iter().map(|line| line.access.percent).collect();
    assert_eq!((shares[12], shares[13], shares.iter().map(|share| u32::from(*share)).sum::<u32>()), (4, 3, 100));
    // The printed section parses.
    let listed = FILE.replace("'ACCESS SPEC", &format!("{}'ACCESS SPEC", section(&built_in)));
    assert_eq!(Config::parse("f.icf", &listed).unwrap().specs.len(), config.specs.len());
}

#[test]
fn tests_become_workloads() {
    let config = config();
    let tests = config.tests().unwrap();
    let first = lowered(&config, &tests[0]);
    let groups = &first.phase[0].workers;
    let described: Vec<(&str, u32, &str)> =
        groups.iter().map(|group| (group.name.as_deref().unwrap(), group.depth, group.target.as_str())).collect();
    assert_eq!(
        described,
        [("worker-1.1", 16, "target-1"), ("worker-1.2", 16, "target-2"), ("worker-2.3", 1, "target-1"),]
    );
    let accesses = |group: &plumb_workload::WorkerGroup| match &group.work {
        Work::Blocks(stream) => match &**stream {
            BlockStream::Accesses(accesses) => (**accesses).clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let database = accesses(&groups[0]);
    // 2,048 sectors from the beginning, 20,480 of them.
    assert_eq!((database.start, database.length), (Bytes(1 << 20), Bytes(10 << 20)));
    assert_eq!((database.lines[0].read_percent, database.lines[0].random_percent), (67, 100));
    assert_eq!(
        (first.seed, first.phase[0].stop.time.unwrap().0, first.phase[0].ramp.0),
        (4711, 90_000_000_000, 5_000_000_000)
    );
    let second = lowered(&config, &tests[1]);
    let mixed = &second.phase[0].workers[0];
    let think = mixed.pace.think.unwrap();
    assert_eq!((think.every, think.pause.0, think.at_once), (4, 10_000_000, true));
    assert_eq!(accesses(mixed).lines.len(), 2);
    let device = |_: &str| Place { path: PathBuf::from("/dev/x"), length: Some(4 << 20), is_device: true };
    let on_device = lower(&config, &tests[0], device, 1).unwrap();
    assert_eq!(accesses(&on_device.phase[0].workers[0]).length, Bytes(3 << 20));
    let small = |_: &str| Place { path: PathBuf::from("/dev/x"), length: Some(512), is_device: true };
    assert_eq!(
        lower(&config, &tests[0], small, 1).unwrap_err().to_string(),
        "worker `Worker 1`: '/dev/x' has 512 bytes, and the worker begins at byte 1048576 of it"
    );
    let mut all = config.clone();
    all.workers[0].sectors = 0;
    let error = lower(&all, &tests[0], place, 1).unwrap_err().to_string();
    assert!(error.contains("a maximum size of 0 would fill the disk"), "{error}");
    all.specs.iter_mut().for_each(|spec| spec.lines.iter_mut().take(1).for_each(|line| line.delay_ms += 1));
    let error = lower(&all, &tests[1], |_| Place { length: Some(1 << 30), ..place("") }, 1).unwrap_err().to_string();
    assert!(error.starts_with("`mixed lines`: its lines have different delays"), "{error}");
}

// The order of tests. Source: IOMeter's manual, and the order in which IOMeter runs its tests.
#[test]
fn cycles_make_series_of_tests() {
    let series = |test_type: TestType| {
        let mut config = config();
        config.setup.test_type = test_type;
        config.workers.iter_mut().for_each(|worker| worker.specs.truncate(1));
        let tests = config.tests().unwrap();
        tests.into_iter().map(|test| (test.targets, test.depth.unwrap_or(0))).collect::<Vec<_>>()
    };
    let plain = |all: &[[usize; 2]]| all.iter().map(|targets| (targets.to_vec(), 0)).collect::<Vec<_>>();
    assert_eq!(series(TestType::CycleTargets), plain(&[[1, 1], [2, 1]]));
    assert_eq!(series(TestType::CycleWorkers), plain(&[[2, 0], [2, 1]]));
    assert_eq!(series(TestType::IncrementTargetsSerial), plain(&[[1, 0], [2, 0], [2, 1]]));
    assert_eq!(series(TestType::CycleWorkersAndTargets), plain(&[[1, 0], [2, 0], [1, 1], [2, 1]]));
    assert_eq!(series(TestType::CycleQueue), [1, 2, 4, 8].map(|depth| (vec![2, 1], depth)));
    let both: Vec<(Vec<usize>, u64)> =
        [[1, 1], [2, 1]].iter().flat_map(|targets| [1, 2, 4, 8].map(|depth| (targets.to_vec(), depth))).collect();
    assert_eq!(series(TestType::CycleQueueAndTargets), both);
    let mut endless = config();
    endless.setup.test_type = TestType::CycleQueue;
    endless.setup.queue.step = 0;
    assert_eq!(endless.tests(), None);
}

// Hostile files: each is refused with its line and a reason.
#[test]
fn errors_in_a_file_name_their_line() {
    let cut = |at: &str| FILE[..FILE.find(at).unwrap() + at.len()].to_owned();
    let with = |old: &str, new: &str| FILE.replacen(old, new, 1);
    for (text, message) in [
        (String::new(), "f:1: the first line must be a version, such as `Version 1.1.0`"),
        (
            "'Version 1997.03.26\n".to_owned(),
            "f:1: version 19970326 has a form that is not supported; save the file with a later IOMeter",
        ),
        (
            "Version 1.1.0\n".to_owned(),
            "f:1: no worker has both a target and an access specification; assign some in IOMeter, or write them",
        ),
        ("Version 1.1.0\nhello".to_owned(), "f:2: `hello` is not in a section"),
        (cut("'Run Time"), "f:2: the section that begins here has no `'END test setup`"),
        (cut("8192,100,67,100,0,1,0,0\n"), "f:32: the section that begins here has no `'END access specifications`"),
        (cut("'Target\n\t/mnt/a\n"), "f:64: the section that begins here has no `'End target`"),
        (with("\t0          1          30", "\t0 x 30"), "f:7: `0 x 30`: hours, minutes and seconds expected"),
        (with("EXPONENTIAL", "SQUARE"), "f:24: `SQUARE`: one of LINEAR, EXPONENTIAL expected"),
        (with("'Test Type", "'Kind of Test"), "f:25: unknown heading `'Kind of Test` in the test setup"),
        (with("8192,100,67", "8192,90,67"), "f:34: the lines of `Database` add up to 90 % of size; they must be 100"),
        (with("8192,100,67", "8192,100,670"), "f:36: `670`: the share of reads must be a number from 0 to 100"),
        (with("8192,100,67", "0,100,67"), "f:36: `0`: the size must be a number from 1 to 4294967295"),
        (
            with("\t16,DISABLED", "\t0,DISABLED"),
            "f:54: `0`: the number of outstanding I/Os must be a number from 1 to 4096",
        ),
        (
            with("\t16,DISABLED", "\t16,ENABLED"),
            "f:54: closing targets between transactions (test connection rate) is not supported; set it to DISABLED",
        ),
        (with("\tdatabase\n", "\tno such\n"), "f:59: worker `Worker 1`: there is no access specification `no such`"),
        (
            with("'Worker type\n\tDISK", "'Worker type\n\tNETWORK,TCP"),
            "f:51: a network worker is not supported; use `plumb net`",
        ),
        (
            with("'END manager list", "'Manager ID, manager name\n\t2,OTHER\n'END manager list"),
            "f:99: a second manager is not supported; run a file with one manager on each host",
        ),
    ] {
        let error = Config::parse("f", &text).unwrap_err().to_string();
        let line = |text: &str| text.split(':').nth(2).map(str::to_owned);
        assert_eq!(line(&error), line(message), "{error}");
        assert_eq!(error, message);
    }
}

#[test]
fn arguments_name_the_file_and_the_results() {
    let of = |line: &str| read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    let run_action = |results: Option<&str>| {
        Ok(Action::Run(IometerSettings { config: "a.icf".into(), results: results.map(str::to_owned) }))
    };
    assert_eq!(of("/c a.icf /r r.csv /t 10"), run_action(Some("r.csv")));
    assert_eq!(of("-C a.icf -R /tmp/r.csv"), run_action(Some("/tmp/r.csv")));
    assert_eq!(of("a.icf r.csv 10"), run_action(Some("r.csv")));
    assert_eq!(of("a.icf"), run_action(None));
    assert_eq!((of("/?"), of("/l")), (Ok(Action::Help), Ok(Action::List)));
    for (line, why) in [
        ("", "no configuration file; give one by /c FILE"),
        ("/c", "/c needs a value"),
        ("/c a /c b", "/c is given twice"),
        ("/c a /t x", "/t x: a number expected"),
        ("/x a", "unknown switch `/x`"),
        ("--help", "unknown switch `--help`"),
        ("/c a b", "unexpected parameter `b`"),
        ("a b 1 c", "unexpected parameter `c`"),
    ] {
        assert_eq!(of(line).unwrap_err().to_string(), why, "{line}");
    }
}

#[test]
fn results_have_iometers_columns() {
    let config = config();
    let test = &config.tests().unwrap()[0];
    let worker = |reads_ns: u64| {
        let mut service = Histogram::new();
        service.record_n(reads_ns, 100);
        let reads = OpMeasurement { count: 100, bytes: 819_200, service, ..OpMeasurement::default() };
        WorkerMeasurement { ops: BTreeMap::from([(OpKind::Read, reads)]), ..WorkerMeasurement::default() }
    };
    let workers = vec![worker(1_500_000), worker(1_500_000), worker(4_800_000_000)];
    let measured = PhaseMeasurement { wall_ns: 2_000_000_000, workers, ..PhaseMeasurement::default() };
    let text = print::results(&config, test, &measured, "2026-02-20 14:17:01:003");
    let lines: Vec<&str> = text.lines().collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "'Results",
            "'Target Type",
            "ALL",
            "MANAGER",
            "WORKER",
            "DISK",
            "DISK",
            "WORKER",
            "DISK",
            "'Time Stamp",
            "2026-02-20 14:17:01:003"
        ]
    );
    let headers: Vec<&str> = lines[1].split(',').collect();
    assert_eq!(headers.len(), 80);
    let cell = |row: usize, column: &str| {
        let cells: Vec<&str> = lines[row].split(',').collect();
        assert_eq!(cells.len(), headers.len(), "{}", lines[row]);
        cells[headers.iter().position(|header| *header == column).unwrap()]
    };
    let all = [
        "# Managers",
        "# Workers",
        "# Disks",
        "IOps",
        "Read IOps",
        "MBps (Decimal)",
        "Queue Depth",
        "1 to 2 mS",
        "4.7 to 5 s",
    ];
    assert_eq!(
        all.map(|column| cell(2, column)),
        ["1", "2", "3", "150.000000", "150.000000", "1.228800", "-1", "200", "100"]
    );
    let worker = [
        "Target Name",
        "Access Specification Name",
        "# Disks",
        "Average Response Time",
        "Starting Sector",
        "Maximum Size",
        "Queue Depth",
    ];
    assert_eq!(worker.map(|column| cell(4, column)), ["Worker 1", "Database", "2", "1.500000", "2048", "20480", "16"]);
    let disk = ["Target Name", "Read I/Os", "Total Raw Read Response Time", "Total Raw Run Time", "Processor Speed"];
    assert_eq!(disk.map(|column| cell(6, column)), ["/mnt/b  c", "100", "150000000", "2000000000", "1000000000"]);
    assert_eq!(
        print::head(&config, "T"),
        "'Test Type,Test Description\n0,An evening, and more\n'Version\n1.1.0 \n'Time Stamp\nT\n"
    );
    assert_eq!(
        print::specs(&config, test),
        "'Access specifications\n'Access specification name,default assignment\nDatabase,0\n\
         'size,% of size,% reads,% random,delay,burst,align,reply\n8192,100,67,100,0,1,0,0,\n'End access specifications\n"
    );
}
