//! `plumb as io500` end to end.

use crate::common::{CommandOutput, Home};
use std::path::{Path, PathBuf};

const SMALL: &str = "[global]\ndatadir = data\nresultdir = results\ntimestamp-datadir = FALSE\ntimestamp-resultdir = FALSE\n\
                     [debug]\nstonewall-time = 1\n[ior-easy]\ntransferSize = 64k\nblockSize = 256k\n[ior-hard]\n\
                     segmentCount = 10\n[mdtest-easy]\nn = 120\n[mdtest-hard]\nn = 120\n";

const PHASES: [&str; 14] = [
    "ior-easy-write",
    "mdtest-easy-write",
    "timestamp",
    "ior-hard-write",
    "mdtest-hard-write",
    "find",
    "ior-easy-read",
    "mdtest-easy-stat",
    "ior-hard-read",
    "mdtest-hard-stat",
    "mdtest-easy-delete",
    "mdtest-hard-read",
    "mdtest-hard-delete",
    "ior-rnd4K-easy-read",
];

fn run(home: &Home, config: &str, line: &str) -> CommandOutput {
    home.file("c.ini", config);
    home.plumb(&format!("as io500 c.ini {line}"))
}

fn results(home: &Home, name: &str) -> String {
    let path: PathBuf = home.work().join("results").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the lines of phases: name, score, and the rest.
fn lines(out: &str) -> Vec<(String, f64, String)> {
    let of_phase = |line: &str| {
        let (kind, rest) = line.strip_prefix('[')?.split_once(']')?;
        let mut words = rest.split_whitespace().map(str::to_owned);
        let named = kind == "RESULT" || kind.trim().is_empty();
        named.then(|| {
            (words.next().unwrap(), words.next().unwrap().parse().unwrap(), words.collect::<Vec<_>>().join(" "))
        })
    };
    out.lines().filter_map(of_phase).collect()
}

/// Returns a value of a section of `result.txt`.
fn value(text: &str, section: &str, key: &str) -> String {
    let (_, rest) = text.split_once(&format!("[{section}]\n")).unwrap_or_else(|| panic!("no [{section}]: {text}"));
    let line = rest
        .lines()
        .take_while(|line| !line.starts_with('['))
        .find(|line| line.split(" = ").next().unwrap().trim() == key);
    line.unwrap_or_else(|| panic!("no {key} in [{section}]: {text}")).split_once(" = ").unwrap().1.to_owned()
}

/// Computes IO500's hash, implemented a second time.
fn hash(pairs: &[(&str, &str)]) -> String {
    let of = |text: String| text.bytes().fold(0u32, |hash, byte| hash.rotate_left(2).wrapping_add(byte.into()));
    format!("{:X}", pairs.iter().fold(0, |all, (key, value)| all ^ of(format!("{key}{value}"))))
}

/// Protects the whole path: all phases run in order, each has a result and its files, the score and the hash are those
/// of the printed numbers, and no data is left behind.
#[test]
fn all_phases_run_and_leave_their_results() {
    let home = Home::new();
    let output = run(&home, SMALL, "--plumb-ranks=2").expect(0);
    let output = output.expect_stdout(&[
        "io500-style-plumb-",
        "not an IO500 result",
        "ERROR INVALID stonewall-time 1s != 300s",
        "The result files are stored",
    ]);
    let lines = lines(&output.out);
    assert_eq!(lines.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>(), PHASES, "{}", output.out);
    for (name, score, rest) in &lines {
        assert_eq!(*score > 0.0, name != "timestamp", "{name}: {}", output.out);
        assert!(
            rest.starts_with(if name.starts_with("ior") { "GiB/s : time " } else { "kIOPS : time " }),
            "{name}: {rest}"
        );
        // Writing phases are too short, which is the only problem.
        assert_eq!(rest.ends_with("[INVALID]"), name.ends_with("-write"), "{name}: {rest}");
    }
    let result = results(&home, "result.txt");
    let geometric = |unit: &str| {
        let counted = lines
            .iter()
            .filter(|(name, score, rest)| rest.starts_with(unit) && *score > 0.0 && name != "ior-rnd4K-easy-read");
        let scores: Vec<f64> = counted.map(|(_, score, _)| *score).collect();
        scores.iter().product::<f64>().powf(1.0 / scores.len() as f64)
    };
    let score = |key: &str| value(&result, "SCORE", key);
    let number = |key: &str| score(key).split(' ').next().unwrap().parse::<f64>().unwrap();
    for (key, wanted) in [("BW", geometric("GiB/s")), ("MD", geometric("kIOPS"))] {
        assert!((number(key) / wanted - 1.0).abs() < 1e-3, "{key}: {wanted}: {result}");
    }
    assert!((number("SCORE") / (number("BW") * number("MD")).sqrt() - 1.0).abs() < 1e-3, "{result}");
    assert!(score("SCORE").ends_with(" [INVALID]"), "{result}");
    let version = value(&result, "run", "version");
    let scores: Vec<(&str, String)> = PHASES
        .into_iter()
        .filter(|&name| name != "timestamp" && name != "ior-rnd4K-easy-read")
        .map(|name| (name, value(&result, name, "score")))
        .chain(["MD", "BW"].map(|key| (key, score(key))))
        .collect();
    let total = score("SCORE").replace(" [INVALID]", "");
    let mut pairs: Vec<(&str, &str)> = scores.iter().map(|(key, value)| (*key, value.as_str())).collect();
    pairs.extend([("version", version.as_str()), ("SCORE", &total), ("valid", "NO")]);
    assert_eq!(score("hash"), hash(&pairs), "{result}");

    assert_eq!(results(&home, "config-orig.ini"), SMALL);
    assert!(results(&home, "config.ini").contains("\ntransferSize = 64k\n"));
    assert!(output.out.starts_with(results(&home, "result_summary.txt").lines().next().unwrap()));
    for name in PHASES.into_iter().filter(|name| !["timestamp", "find"].contains(name)) {
        let (text, head) =
            (results(&home, &format!("{name}.txt")), if name.starts_with("ior") { "IOR-" } else { "-- started" });
        assert!(text.starts_with(head), "{name}: {text}");
        assert!(results(&home, &format!("{name}.csv")).lines().count() >= 3, "{name}");
    }
    // The command line of a phase can be run.
    assert!(value(&result, "ior-hard-read", "exe").starts_with("ior --dataPacketType=timestamp -g -G "), "{result}");
    assert!(!home.work().join("data").exists(), "data is left");
    let stored = home.query("select count(*), count(distinct name) from run where dialect = 'io500'");
    assert_eq!(stored, [[serde_json::json!(12), serde_json::json!(12)]]);
}

/// Protects the find phase: it counts the files of the two mdtest phases and of IOR,
/// and matches those with the right name.
#[test]
fn find_counts_what_was_written() {
    let home = Home::new();
    // All files are created before the stonewall, even on a busy machine.
    let config = SMALL.replace("stonewall-time = 1", "stonewall-time = 4");
    run(&home, &config, "--plumb-ranks=3").expect(0);
    let result = results(&home, "result.txt");
    let find = |key: &str| value(&result, "find", key);
    // 120 empty files and 120 of 3901 bytes per rank, a file of IOR for each, and one for all; only
    // number 101 has 01 in its name.
    assert_eq!((find("total-files"), find("found"), find("nproc")), ("724".into(), "3".into(), "3".into()), "{result}");
    let csv = results(&home, "find.csv");
    let found: u64 = csv.lines().skip(2).map(|line| line.split(", ").nth(2).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!((found, csv.lines().count()), (3, 5), "{csv}");
}

/// Protects the extended mode: its phases run in IO500's order with separate results, do not count for the standard
/// score, and their data is removed.
#[test]
fn extended_phases_have_a_score_of_their_own() {
    let home = Home::new();
    let config = format!("{SMALL}[mdworkbench]\nprecreatePerSet = 6\nfilesPerProc = 4\n[find-hard]\nrun = FALSE\n");
    let output = run(&home, &config, "--mode=extended --plumb-ranks=2").expect(0);
    let lines = lines(&output.out);
    let extended: Vec<(usize, &str)> =
        lines.iter().map(|(name, ..)| name.as_str()).enumerate().filter(|(_, name)| !PHASES.contains(name)).collect();
    let places = [
        (2, "mdworkbench-create"),
        (4, "find-easy"),
        (8, "find-hard"),
        (9, "mdworkbench-bench"),
        (14, "mdworkbench-delete"),
    ];
    assert_eq!(extended, places, "{}", output.out);
    for (name, score, rest) in lines.iter().filter(|(name, ..)| !PHASES.contains(&name.as_str())) {
        assert_eq!(*score > 0.0, name != "find-hard", "{name}: {}", output.out);
        assert_eq!(rest.ends_with("[INVALID]"), name == "find-hard", "{name}: {}", output.out);
    }
    let result = results(&home, "result.txt");
    assert_eq!(value(&result, "run", "mode"), "extended");
    // 120 files per rank, of which only number 101 has 01 in its name.
    assert_eq!(
        (value(&result, "find-easy", "total-files"), value(&result, "find-easy", "found")),
        ("240".into(), "2".into())
    );
    assert!(value(&result, "mdworkbench-bench", "exe").contains(" -P=6 -I=4 -2 -R=2 -X "), "{result}");
    for key in ["maxOpTime", "scoreIteration0", "maxOpTime0"] {
        assert!(value(&result, "mdworkbench-bench", key).parse::<f64>().unwrap() > 0.0, "{key}: {result}");
    }
    let number =
        |section: &str, key: &str| value(&result, section, key).split(' ').next().unwrap().parse::<f64>().unwrap();
    assert_eq!(number("SCORE", "BW"), number("SCOREX", "BW"));
    let standard: Vec<f64> = lines
        .iter()
        .filter(|(name, _, rest)| PHASES.contains(&name.as_str()) && rest.starts_with("kIOPS") && name != "timestamp")
        .map(|(_, score, _)| *score)
        .collect();
    let with = [number("find-easy", "score"), number("mdworkbench-bench", "score")];
    let mean = |of: &[f64]| (of.iter().map(|score| score.ln()).sum::<f64>() / of.len() as f64).exp();
    assert!((number("SCORE", "MD") / mean(&standard) - 1.0).abs() < 1e-3, "{result}");
    assert!((number("SCOREX", "MD") / mean(&[&standard[..], &with].concat()) - 1.0).abs() < 1e-3, "{result}");
    assert!(results(&home, "mdworkbench-create.txt").starts_with("Args: md-workbench "));
    assert!(!home.work().join("data").exists(), "data is left");
}

/// Protects the stonewall of all four kinds: later phases cover exactly the data written before it, and verify.
#[test]
fn phases_after_the_stonewall_go_as_far() {
    let home = Home::new();
    // Small enough for memory, but more than a second of work at any rate.
    let config = "[global]\ndatadir = data\nresultdir = results\ntimestamp-datadir = FALSE\ntimestamp-resultdir = FALSE\n\
                  [debug]\nstonewall-time = 1\n[ior-easy]\ntransferSize = 64k\nblockSize = 16m\n[ior-hard]\nsegmentCount = 20\n\
                  [mdtest-easy]\nn = 100000000\n[mdtest-hard]\nn = 400\n";
    let output = run(&home, config, "--plumb-ranks=2").expect(0);
    let result = results(&home, "result.txt");
    assert!(value(&result, "mdtest-easy-write", "rate-stonewall").parse::<f64>().unwrap() > 0.0, "{result}");
    for (name, score, rest) in lines(&output.out) {
        assert_eq!(rest.ends_with("[INVALID]"), name.ends_with("-write"), "{name} {score} {rest}: {result}");
    }
    assert!(results(&home, "mdtest-easy-write.txt").contains("Continue stonewall hit min: "));
    // A phase that did not reach the stonewall has no rate at it, and each rank has its actual number of items.
    assert!(!results(&home, "result.txt").contains("throughput-stonewall"), "{result}");
    let csv = results(&home, "mdtest-easy-write.csv");
    let items: u64 = csv.lines().nth(1).unwrap().split(',').nth(1).unwrap().parse().unwrap();
    assert!((1..100_000_000).contains(&items), "{csv}");
    assert!(!Path::new(&home.work().join("data")).exists());
}

/// Protects against invalid results: a skipped phase is invalid, and the data of its kind stays.
#[test]
fn a_phase_that_is_left_out_is_invalid() {
    let home = Home::new();
    let output = run(&home, &format!("{SMALL}[find]\nrun = FALSE\n[ior-rnd4K-easy-read]\nrun = FALSE\n"), "").expect(0);
    for (name, score, rest) in lines(&output.out) {
        let is_left_out = name == "find" || name == "ior-rnd4K-easy-read";
        assert_eq!(score == 0.0, is_left_out || name == "timestamp", "{name}: {}", output.out);
        assert_eq!(rest.ends_with("[INVALID]"), is_left_out || name.ends_with("-write"), "{name}: {rest}");
    }
    // The mean of the others.
    assert!(value(&results(&home, "result.txt"), "SCORE", "MD").parse::<f64>().unwrap() > 0.0);
}

/// Protects other files: files of other runs stay, and an existing file is not overwritten.
#[test]
fn other_files_stay() {
    let home = Home::new();
    std::fs::create_dir_all(home.work().join("data/ior-hard")).unwrap();
    home.file("data/mine", "mine");
    home.file("data/ior-hard/mine", "mine");
    run(&home, SMALL, "").expect(0);
    for name in ["data/mine", "data/ior-hard/mine"] {
        assert_eq!(std::fs::read_to_string(home.work().join(name)).unwrap(), "mine");
    }
    assert!(!home.work().join("data/ior-easy").exists() && !home.work().join("data/ior-hard/file").exists());
    home.file("data/ior-hard/file", "mine");
    let output = run(&home, SMALL, "");
    assert_eq!(output.code, 5, "{} {}", output.out, output.err);
    let output = output.expect_stderr(&["ended early", "results", "data"]);
    assert!(output.out.contains("[INVALID]"), "{}", output.out);
    assert_eq!(std::fs::read_to_string(home.work().join("data/ior-hard/file")).unwrap(), "mine");
    // Earlier results are kept.
    assert!(value(&results(&home, "result.txt"), "ior-easy-write", "score").parse::<f64>().unwrap() > 0.0);
    assert!(value(&results(&home, "result.txt"), "SCORE", "SCORE").ends_with("[INVALID]"));
}

/// Protects against wrong data: the phase that reads it reports the amount, and is invalid.
#[test]
fn wrong_data_is_invalid() {
    let home = Home::new();
    // First only the writing phases, then only the reading ones.
    let off = |names: &[&str]| names.iter().map(|name| format!("[{name}]\nrun = FALSE\n")).collect::<String>();
    let later = ["mdtest-easy", "mdtest-hard", "find", "ior-easy", "ior-hard-read", "ior-rnd4K-easy-read"];
    run(&home, &format!("{SMALL}{}", off(&later)), "--timestamp=t1").expect(0);
    // Its data was removed; IOR's own command writes it again.
    let exe = value(&results(&home, "result.txt"), "ior-hard-write", "exe");
    std::fs::create_dir_all(home.work().join("data/ior-hard")).unwrap();
    home.plumb(&format!("as {exe}")).expect(0);
    let path = home.work().join("data/ior-hard/file");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[3 * 47008 + 100] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let reads = ["mdtest-easy", "mdtest-hard", "find", "ior-easy", "ior-hard-write", "ior-rnd4K-easy-read"];
    let output = run(&home, &format!("{SMALL}{}", off(&reads)), "--timestamp=t1").expect(0);
    output.expect_stdout(&["ERROR INVALID Transfers that did not match the written data: 1"]);
    assert!(path.exists(), "data of another run is removed");
}

/// Protects users from typos: errors have a line and a suggestion, and nothing is created.
#[test]
fn mistakes_are_reported_with_the_way_out() {
    let home = Home::new();
    let wrong = run(&home, "[global]\ndatdir = x\n", "").expect(1);
    wrong.expect_stderr(&["io500: c.ini:2: unknown key `datdir` in [global]; did you mean `datadir`?"]);
    run(&home, "[find]\nexternal-script = ./x\n", "").expect(1).expect_stderr(&["c.ini:2: ", "runs no programs"]);
    run(&home, SMALL, "--mode=short").expect(1).expect_stderr(&["standard and extended"]);
    home.plumb("as io500 none.ini").expect(1).expect_stderr(&["none.ini"]);
    home.plumb("as io500").expect(1).expect_stderr(&["give a configuration"]);
    home.plumb("as io500 -h").expect(0).expect_stdout(&["not an IO500 result", "--plumb-ranks"]);
    home.plumb("as io500 --list").expect(0).expect_stdout(&["[ior-easy]", "transferSize = 2m"]);
    run(&home, SMALL, "--dry-run")
        .expect(0)
        .expect_stdout(&["[ior-hard-write]", "exe = ior --dataPacketType=timestamp"]);
    run(&home, SMALL, "--config-hash").expect(0).expect_stdout(&["config-hash"]);
    assert!(!home.work().join("results").exists() && !home.work().join("data").exists());
}
