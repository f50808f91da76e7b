//! Tests of typical command lines, of their workloads, and of the format of the report.

use super::part::Part;
use super::*;
use plumb_result::histogram::Histogram;
use plumb_result::measurement::OpMeasurement;
use plumb_result::{PhaseMeasurement, WorkerMeasurement};
use plumb_workload::program::{TreeStep, TreeWork, Wall};
use plumb_workload::{Nanos, OnError, OpKind, Step, Target, Work, Workload};
use std::collections::BTreeMap;

/// Output of md-workbench with two ranks, preceded by its arguments.
const GOLDEN: &str = include_str!("../../golden/md-workbench/run.out");
const GOLDEN_LINE: &str = "-a POSIX -D 2 -P 10 -I 5 -R 2 -o mdw --plumb-ranks 2";

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn settings(line: &str) -> MdWorkbenchSettings {
    match read(&words(line), None).unwrap() {
        Invocation::Run(settings, _) => *settings,
        Invocation::Help => panic!("{line} asks for help"),
    }
}

fn error_of(line: &str) -> String {
    read(&words(line), None).unwrap_err().to_string()
}

fn lowered(line: &str, start: u64) -> Workload {
    let workload = lower(&settings(line), &Facts { seed: 3, start });
    assert_eq!(plumb_workload_text::validate::validate(&workload), [], "{line}");
    let text = plumb_workload_text::native::to_toml(&workload).unwrap();
    assert_eq!(plumb_workload_text::native::parse("mdw.toml", &text).unwrap(), workload, "{line}");
    workload
}

fn phases(workload: &Workload) -> Vec<&str> {
    workload.phase.iter().map(|phase| phase.name.as_str()).collect()
}

fn steps(workload: &Workload, phase: &str) -> Vec<TreeStep> {
    let phase = workload.phase.iter().find(|other| other.name == phase).unwrap();
    let Work::Program(program) = &phase.workers[0].work else { panic!("{} is a program", phase.name) };
    let step = |step: &Step| match step {
        Step::Trees(step) => TreeStep::clone(step),
        other => panic!("{other:?}"),
    };
    program.steps.iter().map(step).collect()
}

// Protects the order of phases: all unless some are requested. Adaptive iterations have eight phases each.
#[test]
fn phases_come_in_their_order() {
    let of = |line: &str| phases(&lowered(line, 0)).join(" ");
    assert_eq!(of("-R 2"), "precreate benchmark-0 benchmark-1 cleanup");
    assert_eq!(of("-1"), "precreate");
    assert_eq!(of("-2 -R 1"), "benchmark-0");
    assert_eq!(of("-13"), "precreate cleanup");
    let adaptive = lowered("-2 -R 2 -T", 0);
    assert_eq!(phases(&adaptive).len(), 16);
    assert_eq!(phases(&adaptive)[..2], ["benchmark-0-wait-0", "benchmark-0-wait-0.0625"]);
    let waits: Vec<u64> = phases(&adaptive).iter().map(|phase| steps(&adaptive, phase)[0].waits_ppm).collect();
    assert_eq!(waits[..8], [0, 62_500, 125_000, 250_000, 500_000, 1_000_000, 2_000_000, 4_000_000]);
    assert_eq!(waits[..8], waits[8..]);
}

// Protects the work of phases: numbers of created, renewed and removed objects, the first object, and the ranks.
#[test]
fn options_change_the_work_of_phases() {
    let workload = lowered("-D 4 -P 20 -I 7 -R 1 -S 100 -O 5 -w 2 -W -X -t 0.5 --plumb-ranks 3", 0);
    let (names, group) = (workload.target["data-sets"].names().unwrap(), &workload.phase[1].workers[0]);
    assert_eq!(names.path(0).unwrap().display().to_string(), "./out");
    assert_eq!((group.count, group.on_error), (3, OnError::Continue));
    let [made_sets, made] = steps(&workload, "precreate").try_into().unwrap();
    assert_eq!((made_sets.does, made.count, made.made_bytes()), (TreeWork::MakeDirectories, Some(20), 100));
    let [renewed] = steps(&workload, "benchmark-0").try_into().unwrap();
    let TreeWork::Renew(renewal) = renewed.does else { panic!("{renewed:?}") };
    assert_eq!((renewal.items, renewal.stride, renewal.bytes.0, renewal.reads_only), (20, 2, 100, false));
    assert_eq!((renewed.count, renewed.waits_ppm), (Some(7), 500_000));
    assert_eq!(renewed.wall, Some(Wall::After(Nanos(2_000_000_000))));
    let [removed, removed_sets] = steps(&workload, "cleanup").try_into().unwrap();
    assert_eq!((removed.count, removed_sets.does), (Some(20), TreeWork::RemoveDirectories));
    let later = lowered("-2 -P 20 -R 1 -w 1 -O=-1 --read-only --plumb-ranks 3", 33);
    let [read] = steps(&later, "benchmark-0").try_into().unwrap();
    assert_eq!((read.first, read.wall), (33, Some(Wall::Ends(Nanos(1_000_000_000)))));
    assert!(matches!(read.does, TreeWork::Renew(renewal) if renewal.stride == 2 && renewal.reads_only));
    let on_error = |line: &str| lowered(line, 0).phase[0].workers[0].on_error;
    assert_eq!(on_error("-1"), OnError::Stop);
    assert_eq!(on_error("-1 --ignore-precreate-errors"), OnError::Continue);
    let dummy = lowered("-a dummy --dummy.delay-create=7", 0);
    assert!(matches!(&dummy.target["data-sets"], Target::Null(null) if null.files.is_some()));
}

// Protects from runs that do nothing, or something unintended.
#[test]
fn errors_name_the_option_and_contain_a_hint() {
    assert!(error_of("-a MPIIO").contains("use POSIX or DUMMY"));
    assert!(error_of("-a DUMMY -X").contains("-X needs data"));
    for option in ["-D", "-P", "-I"] {
        assert!(error_of(&format!("{option} 0")).contains("use at least 1"), "{option}");
    }
    assert!(error_of("-t fast").contains("not a share of time"));
    assert!(error_of("-t=-1").contains("from 0 to 1000"));
    assert!(error_of("-R 10001").contains("at most 10000"));
    assert!(error_of("--start-item 3000").contains("nothing would be created"));
    assert!(error_of("-D 10000000 -P 2000000000 -I 2000000000 -R 10000").contains("more than can be numbered"));
    assert!(error_of("--process-report").contains("did you mean `--process-reports`"));
}

/// Returns a phase of two ranks with these operations each, of 1 ms each.
fn measured(name: &str, counts: &[(OpKind, u64)]) -> PhaseMeasurement {
    let op = |count: u64| {
        let mut service = Histogram::new();
        service.record_n(1_000_000, count);
        OpMeasurement { count, service, ..OpMeasurement::default() }
    };
    let rank = |wall_ns: u64| WorkerMeasurement {
        wall_ns,
        ops: counts.iter().map(|&(kind, count)| (kind, op(count))).collect::<BTreeMap<_, _>>(),
        ..WorkerMeasurement::default()
    };
    PhaseMeasurement {
        name: name.to_owned(),
        workers: vec![rank(1_000_000_000), rank(500_000_000)],
        ..PhaseMeasurement::default()
    }
}

fn printed(line: &str, measured: &PhaseMeasurement) -> String {
    let settings = settings(line);
    let part = Part::all(&settings).into_iter().find(|part| part.phase(&settings) == measured.name).unwrap();
    print::phase(&settings, &part, measured)
}

/// Removes every number from a line.
fn form(line: &str) -> String {
    let mut form = String::new();
    for word in line.split_inclusive([' ', ':', '(', ',']) {
        let number = word.find(|c: char| c.is_ascii_digit()).unwrap_or(word.len());
        let end = word.rfind(|c: char| c.is_ascii_digit()).map_or(word.len(), |last| last + 1);
        form.push_str(&word[..number]);
        form.push_str(if number < word.len() { "0" } else { "" });
        form.push_str(&word[end..]);
    }
    form
}

const RENEWED: [(OpKind, u64); 4] =
    [(OpKind::Stat, 10), (OpKind::Read, 10), (OpKind::Unlink, 10), (OpKind::Create, 10)];

// Protects readers of the report: every line equals md-workbench's, except for numbers.
#[test]
fn lines_equal_those_of_the_tool() {
    let mut ours = print::head(
        &settings(GOLDEN_LINE),
        &words("md-workbench -a POSIX -D 2 -P 10 -I 5 -R 2 -o mdw"),
        "2026-11-20 18:54:20",
    );
    let head: String = GOLDEN.lines().take(3).map(|line| format!("{line}\n")).collect();
    assert_eq!(ours, head);
    let made = [(OpKind::Mkdir, 2), (OpKind::Create, 20)];
    let removed = [(OpKind::Rmdir, 2), (OpKind::Unlink, 20)];
    for (name, counts) in
        [("precreate", &made[..]), ("benchmark-0", &RENEWED), ("benchmark-1", &RENEWED), ("cleanup", &removed)]
    {
        ours.push_str(&printed(GOLDEN_LINE, &measured(name, counts)));
    }
    ours.push_str(&print::tail(&settings(GOLDEN_LINE), 0.4, "2026-11-20 18:54:20"));
    let forms = |text: &str| text.lines().map(form).collect::<Vec<_>>();
    assert_eq!(forms(&ours), forms(GOLDEN));
}

// Protects the numbers: rates are of all ranks over the slowest one's time, and quantiles are of single operations.
#[test]
fn numbers_cover_all_ranks() {
    let line = printed(&format!("{GOLDEN_LINE} -t 0.125"), &measured("benchmark-0", &RENEWED));
    let ms = "1.0000e-03s";
    let all = [ms; 7].join(", ");
    assert_eq!(
        line,
        format!(
            "benchmark process max:1.00s min:0.50s mean: 0.75s balance:50.0 stddev:0.4 rate:80.0 iops/s objects:20 rate:20.0 obj/s \
             tp:0.1 MiB/s op-max:{ms} waiting_factor:0.12 (0 errs) read({all}) stat({all}) create({all}) delete({all})\n"
        )
    );
    let line = printed(GOLDEN_LINE, &measured("cleanup", &[(OpKind::Rmdir, 2), (OpKind::Unlink, 20)]));
    assert!(line.contains(
        "rate:44.0 iops/s objects:40 dsets: 4 rate:40.0 obj/s rate:4.000 dset/s op-max:1.0000e-03s (0 errs) delete("
    ));
    let reads = printed("-R 1 --read-only -q", &measured("benchmark-0", &RENEWED[..2]));
    assert!(reads.contains("rate:40.0 iops/s objects:20") && !reads.contains("errs"), "{reads}");
}

// Protects against hidden failures: errors are marked as in md-workbench, for each phase and rank.
#[test]
fn errors_are_marked() {
    let mut failed = measured("benchmark-0", &RENEWED);
    (failed.fault_count, failed.workers[1].fault_count) = (2, 2);
    let text = printed(&format!("{GOLDEN_LINE} --process-reports -q"), &failed);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].contains("(2 errs!!!)") && lines[2].starts_with("1: benchmark process max:0.50s rate:80.0 iops/s"),
        "{text}"
    );
    assert!(!lines[1].contains("errs") && lines[2].contains("(2 errs!!!)"), "{text}");
    let text = printed(&format!("{GOLDEN_LINE} --print-detailed-stats"), &failed);
    assert_eq!(text, "benchmark \t0\t0\t20\t20\t20\t20\t1.000s\t1.000s\t0.15 MiB/s 1.0000e-03\nbenchmark err\t2\n");
}

// Protects -w, -W and the next run: the report has the progress of all ranks, and the position is that of rank 0.
#[test]
fn the_stonewall_reports_the_progress_of_ranks() {
    let mut met = measured("benchmark-0", &RENEWED);
    (met.workers[0].items_at_wall, met.workers[1].items_at_wall) = (Some(3), Some(4));
    let line = "-D 2 -P 10 -I 5 -R 2 -w 1 --plumb-ranks 2";
    let text = printed(&format!("{line} -W"), &met);
    assert!(
        text.starts_with("stonewall wear out 1.000000s (4 iter)\nbenchmark process")
            && text.contains(" stonewall-iter:4 "),
        "{text}"
    );
    assert!(printed(line, &met).starts_with("benchmark process"));
    let position = |line: &str| {
        let settings = settings(line);
        print::renewed(&settings, &Part::all(&settings)[1], &met)
    };
    assert_eq!(position(&format!("{line} -W")), 4);
    assert_eq!(position(line), 3);
    assert_eq!(position(&format!("{line} --read-only")), 0);
    assert_eq!(print::position(&print::status(17)), Some(17));
    for text in ["", "pos:", "pos: x", "17", "pos: -1"] {
        assert_eq!(print::position(text), None, "{text}");
    }
}

// Protects -L: files have md-workbench's names and columns.
#[test]
fn latency_files_equal_those_of_the_tool() {
    let settings = settings("-R 1 -T -L lat");
    let names = |part: &Part| {
        part.ops().iter().map(|(_, name)| print::latency_file(&settings, "lat", part, name)).collect::<Vec<_>>()
    };
    let parts = Part::all(&settings);
    assert_eq!(names(&parts[0]), ["lat-0.00-0-precreate.csv"]);
    let of = ["read", "stat", "create", "delete"].map(|name| format!("lat-0.06-0-{name}.csv"));
    assert_eq!(names(&parts[2]), of);
    assert_eq!(names(parts.last().unwrap()), ["lat-8.00-1-cleanup.csv"]);
    assert_eq!(print::latency_row(70_100, 30_041), "0.0000701,3.0041e-05\n");
}

proptest::proptest! {
    // Protects against hostile command lines: each is an error or settings that lower to a workload.
    #[test]
    fn no_command_line_panics(words in proptest::collection::vec("-{0,2}[a-zA-Z1-3.]{0,12}=?-?[0-9]{0,20}[kmgtp]?", 0..8)) {
        if let Ok(Invocation::Run(settings, _)) = read(&words, None) && settings.phases.iterations < 100 {
            lower(&settings, &Facts { seed: 0, start: u64::MAX });
            print::head(&settings, &words, "");
        }
    }
}
