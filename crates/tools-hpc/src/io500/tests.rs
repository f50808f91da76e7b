//! Tests of valid and hostile configurations, of their phases, and of the results of a real run.

use super::score::{Counts, Scores};
use super::*;
use crate::aiori::Launched;
use crate::mdtest;
use plumb_tools::support::Support;
use plumb_workload::program::{Moves, RecordOrder, Step, Transfer, Wall};
use plumb_workload::{Bytes, Nanos, Workload};
use proptest::prelude::Strategy;

/// Configuration of the golden run.
const DEBUG_RUN: &str = "[global]\ndatadir = /mnt/t/io500data\ntimestamp-datadir = FALSE\ntimestamp-resultdir = FALSE\n\n[debug]\n\
                         stonewall-time = 1\n\n\n[mdtest-easy]\nn = 20000\n[mdtest-hard]\nn = 20000\n";

fn read_line(line: &str, text: &str, launched: Option<&Launched>) -> Result<Invocation, Io500Error> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    read(&words, launched, "2026.11.20-18.55.39", &mut |_| Ok(text.to_owned()))
}

fn plan(line: &str, text: &str) -> Plan {
    match read_line(line, text, None).unwrap() {
        Invocation::Run(given) => given.plan,
        other => panic!("{line}: {other:?}"),
    }
}

fn error_of(text: &str) -> String {
    read_line("dbg.ini", text, None).unwrap_err().to_string()
}

fn task(plan: &Plan, phase: Phase) -> &Task {
    plan.tasks.iter().find(|task| task.phase == phase).unwrap()
}

/// Sorts the words of a line. A seed may be attached to its option or not.
fn sorted(line: &str) -> Vec<String> {
    let line = line.replace("-G=", "-G ");
    let mut words: Vec<String> = line.split_whitespace().map(|word| word.trim_matches('\'').to_owned()).collect();
    words.sort();
    words
}

// Protects the equality of work: the command lines equal those of IO500's run of this configuration, word for word.
#[test]
fn command_lines_equal_those_of_io500() {
    const LINES: &[(Phase, &str)] = &[
        (
            Phase::IorEasyWrite,
            "ior --dataPacketType=timestamp -g -G 36989777 -k -e -o /mnt/t/io500data/ior-easy/ior_file_easy -C -Q 1 -O stoneWallingStatusFile=./results/ior-easy.stonewall -t 2m -b 9920000m -F -w -D 1 -O stoneWallingWearOut=1 -a POSIX -O saveRankPerformanceDetailsCSV=./results/ior-easy-write.csv",
        ),
        (
            Phase::MdtestEasyWrite,
            "mdtest --dataPacketType=timestamp -n 20000 -u -L -F -P -G -1888949423 -N 1 -d /mnt/t/io500data/mdtest-easy -x ./results/mdtest-easy.stonewall -C -Y -W 1 --saveRankPerformanceDetails=./results/mdtest-easy-write.csv -a POSIX",
        ),
        (
            Phase::IorHardWrite,
            "ior --dataPacketType=timestamp -C -Q 1 -g -G=36992449 -k -e -o /mnt/t/io500data/ior-hard/file -O stoneWallingStatusFile=./results/ior-hard.stonewall -t 47008 -b 47008 -s 10000000 -w -D 1 -a POSIX -O saveRankPerformanceDetailsCSV=./results/ior-hard-write.csv -O stoneWallingWearOut=1",
        ),
        (
            Phase::MdtestHardWrite,
            "mdtest --dataPacketType=timestamp -n 20000 -t -w 3901 -e 3901 -P -G=-1888946751 -N 1 -F -d /mnt/t/io500data/mdtest-hard -x ./results/mdtest-hard.stonewall -C -Y -W 1 --saveRankPerformanceDetails=./results/mdtest-hard-write.csv -a POSIX",
        ),
        (
            Phase::IorEasyRead,
            "ior --dataPacketType=timestamp -g -G 36989777 -k -e -o /mnt/t/io500data/ior-easy/ior_file_easy -C -Q 1 -O stoneWallingStatusFile=./results/ior-easy.stonewall -t 2m -b 9920000m -F -r -R -a POSIX -O saveRankPerformanceDetailsCSV=./results/ior-easy-read.csv",
        ),
        (
            Phase::MdtestEasyStat,
            "mdtest --dataPacketType=timestamp -n 20000 -u -L -F -P -G -1888949423 -N 1 -d /mnt/t/io500data/mdtest-easy -x ./results/mdtest-easy.stonewall -T --saveRankPerformanceDetails=./results/mdtest-easy-stat.csv -a POSIX",
        ),
        (
            Phase::IorHardRead,
            "ior --dataPacketType=timestamp -C -Q 1 -g -G=36992449 -k -e -o /mnt/t/io500data/ior-hard/file -O stoneWallingStatusFile=./results/ior-hard.stonewall -t 47008 -b 47008 -s 10000000 -r -R -a POSIX -O saveRankPerformanceDetailsCSV=./results/ior-hard-read.csv",
        ),
        (
            Phase::MdtestHardStat,
            "mdtest --dataPacketType=timestamp -n 20000 -t -w 3901 -e 3901 -P -G=-1888946751 -N 1 -F -d /mnt/t/io500data/mdtest-hard -x ./results/mdtest-hard.stonewall -T --saveRankPerformanceDetails=./results/mdtest-hard-stat.csv -a POSIX",
        ),
        (
            Phase::MdtestEasyDelete,
            "mdtest --dataPacketType=timestamp -n 20000 -u -L -F -P -G -1888949423 -N 1 -d /mnt/t/io500data/mdtest-easy -x ./results/mdtest-easy.stonewall -r --saveRankPerformanceDetails=./results/mdtest-easy-delete.csv -a POSIX",
        ),
        (
            Phase::MdtestHardRead,
            "mdtest --dataPacketType=timestamp -n 20000 -t -w 3901 -e 3901 -P -G=-1888946751 -N 1 -F -d /mnt/t/io500data/mdtest-hard -x ./results/mdtest-hard.stonewall -E -X --saveRankPerformanceDetails=./results/mdtest-hard-read.csv -a POSIX",
        ),
        (
            Phase::MdtestHardDelete,
            "mdtest --dataPacketType=timestamp -n 20000 -t -w 3901 -e 3901 -P -G=-1888946751 -N 1 -F -d /mnt/t/io500data/mdtest-hard -x ./results/mdtest-hard.stonewall -r --saveRankPerformanceDetails=./results/mdtest-hard-delete.csv -a POSIX",
        ),
        (
            Phase::IorRandomRead,
            "ior --dataPacketType=timestamp -g -G 36989777 -k -e -o /mnt/t/io500data/ior-easy/ior_file_easy -F -r -D 1 -z -z -a POSIX -O saveRankPerformanceDetailsCSV=./results/ior-rnd4K-easy-read.csv -t=4096 -b=4096 -s=10000000 -O stoneWallingWearOut=1 -C -Q 2",
        ),
    ];
    let plan = plan("dbg.ini --timestamp=t1", DEBUG_RUN);
    for (phase, line) in LINES {
        let mut words = task(&plan, *phase).words.clone();
        words.sort();
        assert_eq!(words, sorted(line), "{phase:?}");
    }
    let find = task(&plan, Phase::Find).words.join(" ");
    assert_eq!(find, "find /mnt/t/io500data -newer ./results/timestampfile -size 3901c -name *01*");
    let standard = Phase::ALL.iter().copied().filter(|phase| !phase.is_extended());
    assert_eq!(plan.tasks.iter().map(|task| task.phase).collect::<Vec<_>>(), standard.collect::<Vec<_>>());
}

// Protects the extended mode: its phases are in order, with IO500's arguments, as its `--dry-run` prints them.
#[test]
fn extended_phases_equal_those_of_io500() {
    let plan = plan("dbg.ini --mode=extended --timestamp=T --plumb-ranks=2", DEBUG_RUN);
    assert_eq!(plan.tasks.iter().map(|task| task.phase).collect::<Vec<_>>(), Phase::ALL);
    let words = |phase: Phase| task(&plan, phase).words.join(" ");
    assert_eq!(words(Phase::FindEasy), format!("find {}/mdtest-easy -name *01*", plan.data));
    let hard = format!("find {}/mdtest-hard -newer {} -size 3901c -name *01*", plan.data, plan.timestamp_file());
    assert_eq!(words(Phase::FindHard), hard);
    let create = format!(
        "md-workbench --dataPacketType=timestamp --process-reports -a POSIX -o={}/mdworkbench -t=0.0 -O=1 \
         --run-info-file={}/mdworkbench.status -D=10 -G=",
        plan.data, plan.results
    );
    assert!(words(Phase::WorkbenchCreate).starts_with(&create), "{}", words(Phase::WorkbenchCreate));
    assert!(words(Phase::WorkbenchCreate).ends_with(" -1 --plumb-ranks=2"));
    assert!(words(Phase::WorkbenchBench).ends_with(" -2 -R=2 -X --plumb-ranks=2"));
    assert!(words(Phase::WorkbenchDelete).ends_with(" -3 --plumb-ranks=2"));
    // The files take a minute, or the stonewall's time, at mdtest's rate. They are divided between 10 sets of each
    // rank.
    let sized = task(&plan, Phase::WorkbenchCreate).clone().with_files_per_set(plan.files_per_set(2.0).unwrap());
    assert!(sized.words.contains(&format!("-P={}", 100 * plan.wall_s().min(60))), "{:?}", sized.words);
    let Work::Workbench(settings) = &sized.work else { panic!("a run of md-workbench") };
    assert_eq!(
        (settings.dataset.objects, settings.dataset.renewals),
        (100 * plan.wall_s().min(60), 100 * plan.wall_s().min(60))
    );
    let changed = "[mdworkbench]\nprecreatePerSet = 9\nfilesPerProc = 4\nwaitingTime = 0.5\n[find-easy]\nrun = FALSE\n";
    let changed = self::plan("a.ini --mode extended", changed);
    assert_eq!(changed.files_per_set(2.0), None);
    assert!(task(&changed, Phase::FindEasy).is_left_out);
    assert!(task(&changed, Phase::WorkbenchBench).words.join(" ").contains(" -P=9 -I=4 "));
    assert!(error_of("[mdworkbench]\nfilesPerProc = 4").contains("give both or neither"));
}

/// Phases of the golden: score, time and validity. Scores have the digits of its CSV files, if these have more.
fn golden() -> Vec<(Phase, Outcome)> {
    let scores = [
        (0.094_283_368, 2.032, false),
        (1.298_731_465_6, 2.117, false),
        (0.0, 0.011, true),
        (0.341_429_032, 1.817, false),
        (1.358_571_606_1, 2.223, false),
        (4_190.882_132_316, 0.001, true),
        (1.010384, 0.979, true),
        (1_386.937_536_9, 1.170, true),
        (2.261_783_9, 0.276, true),
        (988.737_931_28, 1.027, true),
        (259.300_989_33, 1.046, true),
        (104.772_945_05, 1.078, true),
        (0.964_333_128_96, 2.675, true),
        (1.530646, 1.160, true),
    ];
    let of = |(phase, (score, time_s, is_valid)): (Phase, (f64, f64, bool))| {
        let invalid = if is_valid { Vec::new() } else { vec!["Runtime is smaller than expected".to_owned()] };
        (phase, Outcome { score, time_s, invalid, ..Outcome::default() })
    };
    Phase::ALL.iter().copied().filter(|phase| !phase.is_extended()).zip(scores).map(of).collect()
}

// Protects the score and its hash: both are reproduced from the golden's numbers.
#[test]
fn score_and_hash_equal_the_golden() {
    let golden = golden();
    let counts = Counts::Standard;
    let scores = Scores::from_outcomes(&golden, counts);
    assert_eq!(
        format!("{:.6} {:.6} {:.6}", scores.bandwidth, scores.metadata, scores.total),
        "0.520797 63.539052 5.752472"
    );
    let version = "io500-isc26_v2-26-g02091cf254d8";
    assert_eq!(scores.hash(version, &golden, counts, false), Hash(0xBAEC_7B2A));
    assert_ne!(scores.hash(version, &golden, counts, true), Hash(0xBAEC_7B2A));
    assert_ne!(scores.hash(&print::version("1"), &golden, counts, false), Hash(0xBAEC_7B2A));
    let lines = "\n[SCORE]\nMD              = 63.539052\nBW              = 0.520797\nSCORE           = 5.752472 [INVALID]\nhash            = BAEC7B2A\n";
    assert_eq!(print::result_scores(&golden, version, counts, false), lines);
    // Phases of the extended mode change only the extended score.
    let found = Outcome { score: 4e9, ..Outcome::default() };
    let more = [golden.clone(), vec![(Phase::FindEasy, found)]].concat();
    assert_eq!(Scores::from_outcomes(&more, counts), scores);
    assert_eq!(scores.hash(version, &more, counts, false), Hash(0xBAEC_7B2A));
    let extended = Scores::from_outcomes(&more, Counts::All);
    assert!(extended.metadata > scores.metadata && extended.bandwidth == scores.bandwidth);
    assert!(print::result_scores(&more, version, Counts::All, true).starts_with("\n[SCOREX]\nMD "));
    assert!(print::score_line(&extended, Counts::All, true).starts_with("[SCOREX] Bandwidth 0.520797 GiB/s : IOPS "));
    // A phase without a result does not make the score 0.
    let half: Vec<_> = golden.into_iter().filter(|(phase, _)| *phase != Phase::Find).collect();
    assert!(Scores::from_outcomes(&half, counts).metadata > 0.0);
    assert_eq!(Scores::from_outcomes(&[], counts), Scores::default());
}

// Protects the lines that people and scripts read.
#[test]
fn lines_equal_the_golden() {
    let lines: String = golden().iter().map(|(phase, outcome)| print::line(*phase, outcome)).collect();
    let wanted = "\
[RESULT]       ior-easy-write        0.094283 GiB/s : time 2.032 seconds [INVALID]
[RESULT]    mdtest-easy-write        1.298731 kIOPS : time 2.117 seconds [INVALID]
[      ]            timestamp        0.000000 kIOPS : time 0.011 seconds
[RESULT]       ior-hard-write        0.341429 GiB/s : time 1.817 seconds [INVALID]
[RESULT]    mdtest-hard-write        1.358572 kIOPS : time 2.223 seconds [INVALID]
[RESULT]                 find     4190.882132 kIOPS : time 0.001 seconds
[RESULT]        ior-easy-read        1.010384 GiB/s : time 0.979 seconds
[RESULT]     mdtest-easy-stat     1386.937537 kIOPS : time 1.170 seconds
[RESULT]        ior-hard-read        2.261784 GiB/s : time 0.276 seconds
[RESULT]     mdtest-hard-stat      988.737931 kIOPS : time 1.027 seconds
[RESULT]   mdtest-easy-delete      259.300989 kIOPS : time 1.046 seconds
[RESULT]     mdtest-hard-read      104.772945 kIOPS : time 1.078 seconds
[RESULT]   mdtest-hard-delete        0.964333 kIOPS : time 2.675 seconds
[      ]  ior-rnd4K-easy-read        1.530646 GiB/s : time 1.160 seconds
";
    assert_eq!(lines, wanted);
    let scores = print::score_line(&Scores::from_outcomes(&golden(), Counts::Standard), Counts::Standard, false);
    assert_eq!(scores, "[SCORE ] Bandwidth 0.520797 GiB/s : IOPS 63.539052 kiops : TOTAL 5.752472 [INVALID]\n");
    let outcome = Outcome {
        score: 0.094283,
        time_s: 2.0325,
        details: vec![("throughput-stonewall", "0.10".to_owned())],
        invalid: vec!["Runtime is smaller than expected minimum runtime".to_owned()],
    };
    let exe = ["ior".to_owned(), "-w".to_owned()];
    assert_eq!(
        print::result_phase(Phase::IorEasyWrite, &exe, &outcome, "2026-11-20 18:55:39", "2026-11-20 18:55:41"),
        "\n[ior-easy-write]\nt_start         = 2026-11-20 18:55:39\nexe             = ior -w\nthroughput-stonewall = 0.10\n\
         ; ERROR INVALID Runtime is smaller than expected minimum runtime\nscore           = 0.094283\n\
         t_delta         = 2.0325\nt_end           = 2026-11-20 18:55:41\n"
    );
}

// Protects that no result is mistaken for one of IO500: every place with the program's name states what it is.
#[test]
fn no_result_passes_for_one_of_io500() {
    let version = print::version("0.1.0");
    assert!(version.starts_with("io500-style-plumb-"));
    let plan = plan("dbg.ini", DEBUG_RUN);
    let head = print::result_head(&plan, &version, "now");
    for text in [print::head(&plan, &version), head, help()] {
        let text = text.to_ascii_lowercase();
        assert!(text.contains("io500-style") && text.contains("not an io500 result"), "{text}");
    }
}

/// `config.ini` as IO500 wrote it for [`DEBUG_RUN`].
const GOLDEN_CONFIG: &str = include_str!("../../golden/io500/config.ini");

// Protects the table and `config.ini`: every name and default equals the golden.
#[test]
fn config_equals_the_golden() {
    let config = plan("dbg.ini", DEBUG_RUN).config;
    let all = config.text_of_all();
    assert_eq!(all, GOLDEN_CONFIG);
    // Output of IO500 (02091cf) with --config-hash, for this configuration and for an empty one. The golden's own
    // hash is for another directory, whose name was not kept.
    assert_eq!(config.hash(), Hash(0x3CB3_A1B3));
    assert_eq!(Config::parse("a.ini", "[global]\n").unwrap().hash(), Hash(0x9736_CCCB));
    // `config.ini` and the output of `--list` parse to the same configuration.
    assert_eq!(Config::parse("config.ini", &all).unwrap().hash(), config.hash());
    let empty = Config::parse("a.ini", "").unwrap();
    assert_eq!(Config::parse("list", &table::list()).unwrap().hash(), empty.hash());
    assert_eq!(Config::parse("b.ini", "[FIND]\nrun = true ; yes\n").unwrap().hash(), empty.hash());
}

fn transfers(workload: &Workload, phase: usize) -> Vec<Transfer> {
    let groups = &workload.phase[phase].workers;
    let programs = groups.iter().filter_map(|group| group.work.program());
    programs.flat_map(|program| program.transfers().cloned().collect::<Vec<_>>()).collect()
}

// Protects the lowered work: one shared file in turns, and random reads until the wall.
#[test]
fn phases_lower_to_their_work() {
    let plan = plan("dbg.ini --plumb-ranks 2 --mode=extended", DEBUG_RUN);
    let facts = crate::ior::Facts { file_bytes: Some(1 << 30), ..Default::default() };
    let lowered = |phase: Phase| match &task(&plan, phase).work {
        Work::Ior(test) => crate::ior::lower(test, &facts).workload,
        Work::Mdtest(settings) => mdtest::lower(settings, &mdtest::Facts { tasks: 2, ..Default::default() }).workload,
        Work::Workbench(settings) => crate::md_workbench::lower(settings, &crate::md_workbench::Facts::default()),
        other => panic!("{other:?}"),
    };
    let hard = transfers(&lowered(Phase::IorHardWrite), 0);
    let RecordOrder::Segments(of_rank_1) = &hard[1].order else { panic!("{hard:?}") };
    assert_eq!((of_rank_1.first, of_rank_1.stride, of_rank_1.count), (Bytes(47008), Bytes(2 * 47008), 10_000_000));
    assert_eq!((hard.len(), hard[0].wall), (2, Some(Wall::After(Nanos(1_000_000_000)))));
    let random = transfers(&lowered(Phase::IorRandomRead), 0);
    assert_eq!((random[0].does, random[0].record, random[0].wall.is_some()), (Moves::Read, Bytes(4096), true));
    let names = |phase: Phase| lowered(phase).phase.iter().map(|phase| phase.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(Phase::MdtestHardWrite), ["tree-create", "file-create"]);
    assert_eq!(names(Phase::MdtestEasyDelete), ["file-remove", "tree-remove"]);
    let stat = lowered(Phase::MdtestHardStat);
    let Some(Step::Trees(step)) = stat.phase[0].workers[0].work.program().and_then(|program| program.steps.first())
    else {
        panic!("{stat:?}")
    };
    assert_eq!(step.shift, 1);
    let has_none = |phase: &Phase| phase.name().starts_with("find") || *phase == Phase::Timestamp;
    for phase in Phase::ALL.iter().copied().filter(|phase| !has_none(phase)) {
        assert_eq!(plumb_workload_text::validate::validate(&lowered(phase)), [], "{phase:?}");
    }
}

// Protects the keys: each changes its own setting only.
#[test]
fn keys_change_their_own_setting() {
    let words = |text: &str, phase: Phase| task(&plan("a.ini", text), phase).words.join(" ");
    let shared = "[ior-easy]\nfilePerProc = FALSE\ntransferSize = 1m\nblockSize=4m";
    assert!(
        words(shared, Phase::IorEasyWrite).contains("-t 1m -b 4m -C -Q 1 "),
        "{}",
        words(shared, Phase::IorEasyWrite)
    );
    assert!(!words(shared, Phase::IorRandomRead).contains("-F"));
    let direct = "[global]\napi = POSIX --posix.odirect\n[ior-hard-read]\nAPI = MMAP";
    assert!(words(direct, Phase::MdtestEasyStat).ends_with("-a POSIX --posix.odirect"));
    assert!(words(direct, Phase::IorHardRead).ends_with("-a MMAP"));
    let together = "[ior-hard]\nAPI = MPIIO\ncollective = TRUE\n[ior-hard-read]\ncollective = FALSE";
    assert!(words(together, Phase::IorHardWrite).contains(" -c "), "{}", words(together, Phase::IorHardWrite));
    assert!(words(together, Phase::IorHardWrite).ends_with("-a MPIIO"));
    assert!(!words(together, Phase::IorHardRead).contains(" -c "));
    assert!(!words(together, Phase::IorEasyWrite).contains(" -c "));
    let several = plan("a.ini", "[mdtest-hard]\nn = 100\nfiles-per-dir = 10\n[global]\nscc = TRUE\n[find]\nnproc = 3");
    assert!(!task(&several, Phase::MdtestHardWrite).words.contains(&"-W".to_owned()));
    assert!(task(&several, Phase::MdtestHardWrite).words.contains(&"-I=10".to_owned()));
    assert_eq!(several.invalid(), ["stonewall-time 300s != 30s", "files-per-dir is set"]);
    assert!(matches!(&task(&several, Phase::Find).work, Work::Find(find) if find.threads == Some(3)));
    let off = plan("a.ini", "[mdtest-easy]\nrun = 0\n[find]\nrun = false");
    let left_out = off.tasks.iter().filter(|task| task.is_left_out).map(|task| task.phase);
    let wanted = [Phase::MdtestEasyWrite, Phase::Find, Phase::MdtestEasyStat, Phase::MdtestEasyDelete];
    assert_eq!(left_out.collect::<Vec<_>>(), wanted);
    let stamped = plan("a.ini --timestamp T", "");
    assert_eq!((stamped.data.as_str(), stamped.results.as_str()), ("./datafiles/T", "./results/T"));
    assert_eq!(stamped.invalid(), [""; 0]);
    let Invocation::Run(given) = read_line("a.ini", "[global]\nverbosity = 3\n[find-easy]\nrun = FALSE", None).unwrap()
    else {
        panic!("a run")
    };
    let ignored: Vec<&str> = given.ignored.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(ignored, ["[global] verbosity", "[find-easy] run"]);
}

// Protects users of mpirun: its processes are the ranks.
#[test]
fn processes_of_a_launcher_are_the_ranks() {
    let launched = Launched { ranks: 4, nodes: 2, beside_rank_0: vec![0, 2] };
    let Invocation::Run(given) = read_line("a.ini", DEBUG_RUN, Some(&launched)).unwrap() else { panic!("a run") };
    assert_eq!(given.plan.ranks, 4);
    assert!(matches!(&task(&given.plan, Phase::IorHardWrite).work, Work::Ior(test) if test.tasks == 4));
    let error = read_line("a.ini --plumb-ranks 2", DEBUG_RUN, Some(&launched)).unwrap_err().to_string();
    assert!(error.contains("leave it out under mpirun"), "{error}");
}

// Protects against invalid or hostile configurations: each error has its line number and a hint.
#[test]
fn errors_have_a_line_and_a_hint() {
    let long = format!("[global]\ndatadir = {}", "d".repeat(5000));
    let cases: &[(&str, &[&str])] = &[
        ("[globl]", &["dbg.ini:1: unknown section [globl]", "did you mean `global`?", "--list"]),
        ("\n\n[find]\nnprocs = 2", &["dbg.ini:4: unknown key `nprocs` in [find]", "did you mean `nproc`?"]),
        ("datadir = x", &["dbg.ini:1: `datadir` is before the first section", "[global]"]),
        ("[global]\nhello", &["dbg.ini:2: `hello` is neither [section] nor key = value"]),
        ("[global", &["dbg.ini:1: `[global`"]),
        ("[]", &["dbg.ini:1: `[]`"]),
        ("[global]\n= x", &["dbg.ini:2: "]),
        ("[global]\ndatadir = a;b", &["dbg.ini:2: "]),
        ("[global]\ndatadir = a\u{0}b", &["dbg.ini:2: "]),
        ("[global]\nscc = maybe", &["dbg.ini:2: scc: `maybe` is neither TRUE nor FALSE"]),
        ("[debug]\nstonewall-time = 0", &["dbg.ini:2: stonewall-time: `0` is too small; use 1 or more"]),
        ("[debug]\nstonewall-time = -5", &["too small"]),
        ("[debug]\nstonewall-time = 5s", &["is not a whole number"]),
        ("[mdtest-easy]\nn = 99999999999999999999", &["dbg.ini:2: n: ", "exceeds 64 bits"]),
        ("[ior-easy]\ntransferSize = 2x", &["dbg.ini:2: transferSize: `2x` has the unknown suffix `x`"]),
        ("[ior-easy]\nblockSize = 9999999999p", &["dbg.ini:2: ", "exceeds 64 bits"]),
        ("[ior-easy]\nblockSize = -4m", &["too small"]),
        ("[ior-easy]\nblockSize = 4 m", &["dbg.ini:2: blockSize: `4 m` holds a blank"]),
        (
            "[ior-easy]\ntransferSize = 3m",
            &["dbg.ini: [ior-easy-write]: block size must be a multiple of transfer size"],
        ),
        ("[debug]\nstonewall-time = 99999999999", &["dbg.ini: [ior-easy-write]: ", "exceeds 32 bits"]),
        ("[ior-hard]\nsegmentCount = 9000000000000000000", &["[ior-hard-write]", "exceeds 64 bits"]),
        (
            "[find]\nexternal-script = ./find.sh",
            &["dbg.ini:2: external-script = ./find.sh is not supported", "runs no programs"],
        ),
        ("[global]\ndrop-caches = TRUE", &["dbg.ini:2: drop-caches = TRUE is not supported yet"]),
        ("[ior-hard-read]\ncollective = TRUE", &["[ior-hard-read]", "-c needs MPI-IO"]),
        ("[global]\ndataPacketType = zeros", &["dbg.ini:2: dataPacketType: `zeros` names unknown packets"]),
        ("[global]\napi = POSIX -o /etc/passwd", &["dbg.ini:2: api: ", "`-o`", "not an option of posix"]),
        ("[ior-easy]\nAPI = POSIX --posix.odirect=1 --testFile=/etc/passwd", &["dbg.ini:2: API: ", "--testFile"]),
        ("[global]\napi = DAOS", &["dbg.ini: [ior-easy-write]: -a: `DAOS`"]),
        ("[global]\ndatadir = a@b", &["dbg.ini:2: datadir: `a@b` holds an @"]),
        ("[global]\ndatadir = sim:ssd", &["dbg.ini:2: datadir: ", "real files"]),
        ("[global]\nresultdir = r,keepFile=0", &["dbg.ini:2: resultdir: ", "comma"]),
        (&long, &["dbg.ini:2: datadir is longer than 4096 bytes"]),
        ("[mdtest-hard]\nn = 100\nfiles-per-dir = 7", &["[mdtest-hard-write]: -n must be a multiple of -I"]),
    ];
    for (text, says) in cases {
        let error = error_of(text);
        for part in *says {
            assert!(error.contains(part), "{text}: {error} lacks {part}");
        }
    }
    for (line, part) in [
        ("", "give a configuration"),
        ("a.ini b.ini", "a single configuration"),
        ("a.ini --timestap=x", "did you mean `--timestamp`?"),
        ("a.ini --timestamp=../../etc", "at most 64 letters"),
        ("a.ini --timestamp", "needs a value"),
        ("a.ini --plumb-ranks 0", "use 1 to 4096"),
        ("a.ini --mode=exetnded", "standard and extended"),
        ("a.ini --cleanup", "remove the datadir"),
    ] {
        let error = read_line(line, "", None).unwrap_err().to_string();
        assert!(error.contains(part), "{line}: {error}");
    }
}

// Protects the table: every name is unique, and every default is a valid value.
#[test]
fn the_table_is_consistent() {
    for section in table::SECTIONS {
        assert_eq!(table::SECTIONS.iter().filter(|other| other.name.eq_ignore_ascii_case(section.name)).count(), 1);
        for key in section.keys {
            assert_eq!(section.keys.iter().filter(|other| other.name.eq_ignore_ascii_case(key.name)).count(), 1);
            if matches!(key.support, Support::Works)
                && let Some(default) = key.default.filter(|text| !text.is_empty())
            {
                let text = format!("[{}]\n{} = {default}\n", section.name, key.name);
                let read = Config::parse("a.ini", &text).unwrap();
                assert_eq!(read.text(section.name, key.name), Some(default));
            }
        }
    }
    for &phase in Phase::ALL {
        assert!(table::SECTIONS.iter().any(|section| section.name == phase.name()), "{phase:?}");
    }
}

// Protects the find phase: its matches and its counts.
#[test]
fn find_counts_files() {
    assert!(
        Find::matches(b"file.mdtest.0.101")
            && Find::matches(b"01")
            && !Find::matches(b"file.mdtest.0.11")
            && !Find::matches(b"")
    );
    // Counts of the golden's ranks.
    let thread = |found, files, names| FoundByThread { errors: 0, found, files, names };
    let result =
        FindResult { time_s: 0.000713, threads: vec![thread(7, 1417, 1417), thread(7, 1572, 1581)], error: None };
    assert_eq!((result.found(), result.files(), result.errors()), (14, 2989, 0));
    assert!((result.kiops() - 4190.88).abs() < 3.0, "{}", result.kiops());
    assert!(result.csv().ends_with("\n0, 0, 7, 1417, 1417\n1, 0, 7, 1572, 1581\n"), "{}", result.csv());
    assert_eq!(FindResult::default().kiops(), 0.0);
}

proptest::proptest! {
    // Protects against hostile configurations: each is a plan or an error, and a plan's phases lower to workloads.
    #[test]
    fn no_configuration_panics(
        lines in proptest::collection::vec(
            proptest::prop_oneof![
                proptest::sample::select(table::SECTIONS).prop_map(|section| format!("[{}]", section.name)),
                (
                    proptest::sample::select(table::SECTIONS.iter().flat_map(|section| section.keys).map(|key| key.name).collect::<Vec<_>>()),
                    "(-?[0-9]{1,20}[kmgtpx]?|TRUE|false|[a-zA-Z./@, -]{0,30})",
                ).prop_map(|(key, value)| format!("{key} = {value}")),
                proptest::string::string_regex("[\\[\\]=;# a-z0-9]{0,30}").unwrap(),
                ".{0,40}".prop_map(|text: String| text),
            ],
            0..12,
        ),
    ) {
        if let Ok(Invocation::Run(given)) = read_line("a.ini --plumb-ranks 3 --mode=extended", &lines.join("\n"), None) {
            for task in &given.plan.tasks {
                match &task.work {
                    Work::Ior(test) => drop(crate::ior::lower(test, &crate::ior::Facts::default())),
                    Work::Mdtest(settings) => {
                        drop(mdtest::lower(settings, &mdtest::Facts { tasks: 3, ..Default::default() }));
                    }
                    Work::Workbench(settings) => {
                        drop(crate::md_workbench::lower(settings, &crate::md_workbench::Facts::default()));
                    }
                    Work::Timestamp | Work::Find(_) => {}
                }
            }
            let again = Config::parse("again.ini", &given.plan.config.text_of_all());
            proptest::prop_assert_eq!(again.map(|config| config.hash()), Ok(given.plan.config.hash()));
        }
    }
}
