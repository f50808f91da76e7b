//! `plumb trace replay` end to end.

use crate::common::{CommandOutput, Home};
use serde_json::Value;

/// Two threads: one creates, writes, flushes, renames and removes; the other reads existing files, and looks up missing
/// ones.
const APP: &str = "\
11 1000.000000 mkdir(\"/data/new\", 0755) = 0 <0.000020>
11 1000.000100 openat(AT_FDCWD</data>, \"new/log\", O_WRONLY|O_CREAT|O_EXCL, 0644) = 3</data/new/log> <0.000021>
11 1000.000200 write(3</data/new/log>, \"\"..., 4096) = 4096 <0.000009>
11 1000.000300 fsync(3</data/new/log>) = 0 <0.000200>
11 1000.000600 close(3</data/new/log>) = 0 <0.000002>
12 1000.001000 openat(AT_FDCWD</data>, \"db\", O_RDONLY) = 4</data/db> <0.000012>
12 1000.001100 pread64(4</data/db>, \"\"..., 8192, 65536) = 8192 <0.000090>
12 1000.001300 stat(\"/data/absent\", 0x7ffc) = -1 ENOENT (No such file or directory) <0.000003>
11 1000.001600 rename(\"/data/new/log\", \"/data/old\") = 0 <0.000012>
11 1000.001700 unlink(\"/data/old\") = 0 <0.000012>
11 1000.001800 rmdir(\"/data/new\") = 0 <0.000012>
";

/// Returns a result. A replay may be rejected because other programs use the disk.
fn measured(output: CommandOutput) -> Value {
    assert!([0, 3].contains(&output.code), "{}: {}", output.code, output.err);
    output.json()
}

fn line<'a>(result: &'a Value, name: &str) -> &'a Value {
    let lines = result["phases"][0]["fidelity"].as_array().unwrap();
    lines.iter().find(|line| line["name"] == name).unwrap_or_else(|| panic!("no line `{name}`: {lines:?}"))
}

/// Nothing is left behind, and every call has its recorded outcome.
#[test]
fn calls_are_replayed_in_a_directory_of_their_own() {
    let home = Home::new();
    home.file("app.strace", APP);
    for order in ["thread", "resource", "inferred", "total"] {
        let result =
            measured(home.plumb_args(["trace", "replay", "app.strace", "--at", ".", "--order", order, "--json"]));
        assert_eq!(line(&result, "ops")["verdict"], "pass", "{order}");
        assert_eq!(line(&result, "bytes")["verdict"], "pass", "{order}");
        let outcomes = line(&result, "outcomes that differ");
        assert_eq!((&outcomes["verdict"], &outcomes["replayed"]), (&"pass".into(), &0.0.into()), "{order}: {outcomes}");
        assert_eq!(outcomes["about"], "1 failed as recorded");
        assert_eq!(result["phases"][0]["replay"]["recorded"]["stat"]["failed"], 1);
    }
    let left: Vec<_> = std::fs::read_dir(home.work()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["app.strace"], "the test directory is removed");
    assert!(!std::path::Path::new("/data/new").exists());
}

/// In virtual time nothing is late, and the page has the sheet.
#[test]
fn a_simulated_device_keeps_everything_and_the_page_reports_it() {
    let home = Home::new();
    home.file("app.strace", APP);
    let page = home.plumb("trace replay app.strace --at sim:nvme").expect(0).out;
    assert!(page.contains("Fidelity of replay: "), "{page}");
    for (name, verdict) in
        [("length", "PASS"), ("lag p99", "PASS"), ("ops", "PASS"), ("mix", "PASS"), ("bytes", "PASS")]
    {
        let line = page.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_else(|| panic!("{page}"));
        assert!(line.contains(verdict), "{line}");
    }
    let kept = home.plumb("show last --json").expect(0).json();
    assert_eq!(line(&kept, "length")["verdict"], "pass", "it is in the store");
    assert_eq!(
        kept["workload"]["phase"][0]["workers"][0]["work"]["replay"]["path"].as_str().unwrap().rsplit('/').next(),
        Some("app.strace")
    );
}

/// Only reads and writes are in flight together, and go to the requested target.
#[test]
fn block_io_is_replayed_from_one_queue() {
    let home = Home::new();
    let mut iolog = String::from("fio version 3 iolog\n0 dev add\n0 dev open\n");
    for number in 0..200 {
        let act = if number % 3 == 0 { "write" } else { "read" };
        iolog.push_str(&format!("{} dev {act} {} 4096\n", number * 50, (number * 7919 % 1000) * 4096));
    }
    iolog.push_str("10000 dev close\n");
    home.file("dev.iolog", &iolog);
    for at in [".", "sim:nvme"] {
        let result = measured(home.plumb_args(["trace", "replay", "dev.iolog", "--at", at, "--json"]));
        assert_eq!(
            (&line(&result, "ops")["replayed"], &line(&result, "ops")["verdict"]),
            (&200.0.into(), &"pass".into())
        );
        assert_eq!(line(&result, "bytes")["replayed"], 819_200.0);
        assert_eq!(line(&result, "overtaken")["about"], "from one queue");
    }
    let result = home
        .plumb(
            "trace replay dev.iolog --at sim:nvme --timing as-fast-as-possible --fold 1MiB --clones 2 --loops 3 --json",
        )
        .expect(0)
        .json();
    assert_eq!(line(&result, "ops")["replayed"], 1200.0);
    assert_eq!(line(&result, "length")["verdict"], "info", "nothing was promised of its length");
    // An existing file is not overwritten without permission.
    home.file("mine", "not a test file");
    let refused = home.plumb("trace replay dev.iolog --at mine").expect(5).err;
    assert!(refused.contains("mine"), "{refused}");
    assert_eq!(std::fs::read_to_string(home.work().join("mine")).unwrap(), "not a test file");
}

#[test]
fn a_part_of_a_recording_is_replayed_under_what_is_left_of_its_names() {
    let home = Home::new();
    home.file("app.strace", APP);
    let result = home.plumb("trace replay app.strace --at sim:ssd --below /data/new --json").expect(0).json();
    // The renamed file leaves the selected part, so the rename does not belong to it.
    assert_eq!(line(&result, "ops")["replayed"], 6.0);
    let refused = home.plumb("trace replay app.strace --at sim:ssd --below /elsewhere").expect(2).err;
    assert!(refused.contains("nothing to replay"), "{refused}");
}

/// The printed workload is the one that runs, and `plumb run` accepts it.
#[test]
fn a_replay_is_a_workload() {
    let home = Home::new();
    home.file("app.strace", APP);
    let toml =
        home.plumb("trace replay app.strace --at . --timing think-times --order total --translate").expect(0).out;
    assert!(toml.contains("[target.files.recorded]") && toml.contains("think-times"), "{toml}");
    home.file("replay.toml", &toml);
    let result = measured(home.plumb("run replay.toml --at . --json"));
    assert_eq!(line(&result, "ops")["verdict"], "pass");
    assert_eq!(line(&result, "overtaken")["verdict"], "pass");
}

#[test]
fn a_refused_replay_names_the_way_out() {
    let home = Home::new();
    home.file("app.strace", APP);
    for (words, expected) in [
        ("trace replay app.strace --at . --timing soon", "use recorded, as-fast-as-possible"),
        ("trace replay app.strace --at . --order any", "use none, thread, resource"),
        ("trace replay app.strace --at . --prepare up", "use write, allocate or sparse"),
        ("trace replay app.strace --at . --timing in-flight --speed 50", "--speed scales recorded times"),
        ("trace replay app.strace --at . --speed 0", "speed of 0 % is not possible"),
        ("trace replay app.strace --at . --depth 4", "--depth is for recordings of reads and writes alone"),
        ("trace replay app.strace --at app.strace", "has room for one only"),
        ("trace replay none --at .", "none: No such file"),
        ("trace replay app.strace --at nowhere", "`nowhere` cannot be used"),
    ] {
        let output = home.plumb(words).expect(2).err;
        assert!(output.contains(expected), "{words}: {output}");
    }
    home.file("bad.strace", &format!("{APP}11 1000.1 read(3</data/log>, \"\n"));
    let output = home.plumb("trace replay bad.strace --at .").expect(2).err;
    assert!(output.contains("line 12"), "{output}");
    // Without durations there are no think times.
    home.file(
        "untimed.strace",
        &APP.replace(" <0.0000", " #")
            .lines()
            .map(|line| format!("{}\n", line.split(" #").next().unwrap()))
            .collect::<String>(),
    );
    let output = home.plumb("trace replay untimed.strace --at . --timing think-times").expect(2).err;
    assert!(output.contains("does not contain the durations"), "{output}");
}

/// Whatever paths and links a recording contains, everything happens below the directory.
#[test]
fn a_hostile_recording_stays_below_its_directory() {
    let home = Home::new();
    let outside = home.work().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("keep"), "kept").unwrap();
    let up = "../".repeat(30);
    let target = outside.join("keep");
    let target = target.to_str().unwrap();
    let lines = [
        format!("openat(AT_FDCWD, \"{up}{target}\", O_RDWR|O_CREAT|O_TRUNC, 0777) = 3"),
        format!("symlink(\"{target}\", \"/way\") = 0"),
        "openat(AT_FDCWD, \"/way\", O_WRONLY|O_TRUNC) = 4".to_owned(),
        "openat(AT_FDCWD, \"/way/../keep\", O_WRONLY|O_TRUNC) = 5".to_owned(),
        format!("unlink(\"{up}{target}\") = 0"),
        format!("rename(\"/nothing\", \"{target}\") = 0"),
        "rmdir(\"/\") = 0".to_owned(),
        "unlink(\"/../..\") = 0".to_owned(),
        format!("truncate(\"{target}\", 0) = 0"),
        "pwrite64(3, \"\"..., 4096, 4611686018427387904) = 4096".to_owned(),
        "fallocate(3, 0, 0, 9223372036854775807) = 0".to_owned(),
    ];
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        text.push_str(&format!("7 1000.{number:06} {line} <0.000001>\n"));
    }
    home.file("hostile.strace", &text);
    for order in ["none", "resource", "total"] {
        // The files that it needs do not fit, or cannot exist; in both cases nothing else is touched.
        let output = home.plumb_args([
            "trace",
            "replay",
            "hostile.strace",
            "--at",
            ".",
            "--order",
            order,
            "--prepare",
            "sparse",
        ]);
        assert!([0, 3, 4, 5].contains(&output.code), "{order}: {} {}", output.code, output.err);
        assert_eq!(std::fs::read_to_string(outside.join("keep")).unwrap(), "kept", "{order}");
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1, "{order}");
    }
}

/// Returns twenty turns of the two threads, each ten milliseconds later.
fn turns() -> String {
    let turn = |turn: u64| {
        let line = |line: &str| {
            line.replacen("1000.00", &format!("1000.{turn:02}"), 1).replace("/new", &format!("/new{turn}")) + "\n"
        };
        APP.lines().map(line).collect::<String>()
    };
    (0..20).map(turn).collect()
}

/// A model is a workload, and every other command accepts it as a recording.
#[test]
fn a_model_is_run_and_read_like_a_recording() {
    let home = Home::new();
    home.file("app.strace", &turns());
    for level in ["0", "1", "2", "3"] {
        let fitted = home.plumb(&format!("trace fit app.strace --level {level} --json")).expect(0).json();
        crate::commands::fits(&home, "trace-fit", &fitted);
        // Level 0 has 60 reads, writes and flushes: too few gaps to compare.
        let gaps = fitted["goodness"].as_array().unwrap().iter().find(|line| line["name"] == "gaps");
        let most = if level == "1" { 0.2 } else { 0.05 };
        assert_eq!(gaps.is_none(), level == "0", "{fitted}");
        assert!(gaps.is_none_or(|gaps| gaps["distance"].as_f64().unwrap() < most), "{level}: {gaps:?}");
    }
    let sheet = home.plumb("trace fit app.strace --model app.model -o app.toml").expect(0).out;
    assert!(sheet.contains("PASS") && sheet.contains("Not compared: sizes, seeks"), "{sheet}");
    let text = std::fs::read_to_string(home.work().join("app.model")).unwrap();
    assert!(text.starts_with("plumb model 1\n") && !text.contains("data"), "no names are left: {text}");
    let shown = home.plumb("trace show app.model --json").expect(0).json();
    assert_eq!(shown["mix"]["ops"], 220);
    assert_eq!(shown["mix"]["threads"], 2);
    let result = measured(home.plumb("run app.toml --at . --json"));
    assert_eq!(line(&result, "outcomes that differ")["verdict"], "pass");
    assert_eq!(line(&result, "ops")["replayed"], 220.0);
    let result = home.plumb("trace replay app.model --at sim:ssd --json").expect(0).json();
    assert_eq!(line(&result, "ops")["replayed"], 220.0);
    let refused = home.plumb("trace fit app.strace --model app.model").expect(2).err;
    assert!(refused.contains("app.model exists"), "{refused}");
}

/// A study can compare the speed of a recording on two devices.
#[test]
fn a_study_asks_how_a_recording_does_elsewhere() {
    let home = Home::new();
    let recording = home.file("app.strace", &turns());
    let study = format!(
        "[experiment]\nname = \"elsewhere\"\n[[factor]]\nname = \"device\"\nlevels = [\"sim:ssd?cv=1%\", \"sim:ssd?cv=1%&slow=50%\"]\n\
         [target]\npath = \"${{device}}\"\n[workload]\ntrace = \"{}\"\ntiming = \"as-fast-as-possible\"\nthreads = 2\n\
         [design]\nplots = 2\nrepeat = 2\n[compare]\nby = \"device\"\nmetrics = [\"fsync.lat.p50\"]\n",
        recording.display()
    );
    home.file("elsewhere.toml", &study);
    home.plumb("study run elsewhere.toml").expect(0).expect_stdout(&["fsync.lat.p50"]);
    let runs = home.query("SELECT run_id FROM study_run");
    assert_eq!(runs.len(), 8);
    for run in runs {
        let shown = home.plumb(&format!("show {} --json", run[0].as_str().unwrap())).expect(0).json();
        assert_eq!(line(&shown, "ops")["replayed"], 220.0);
        assert_eq!(line(&shown, "outcomes that differ")["verdict"], "pass");
    }
}

/// Each repetition has its own files, so that created files do not exist yet.
#[test]
fn recordings_are_repeated_and_replayed_together() {
    let home = Home::new();
    home.file("app.strace", APP);
    home.file("other.strace", &APP.replace("/data", "/other"));
    for (words, ops) in [("--loops 3", 33.0), ("--with other.strace", 22.0), ("--with other.strace --loops 2", 44.0)] {
        let result = measured(home.plumb(&format!("trace replay app.strace --at . --strict --json {words}")));
        assert_eq!(line(&result, "ops")["replayed"], ops, "{words}");
        assert_eq!(line(&result, "outcomes that differ")["verdict"], "pass", "{words}");
    }
    let result = measured(home.plumb("trace replay app.strace --at . --with other.strace --cache cold --json"));
    assert_eq!(result["phases"][0]["replay"]["threads"], 4, "threads of two recordings are not the same");
}

/// The replay finds a file that was missing, and the other way round.
#[test]
fn strict_replays_end_with_an_error_where_something_differs() {
    let home = Home::new();
    // The second mkdir succeeded, because someone else removed the directory in between.
    home.file("odd.strace", "7 1.0 mkdir(\"/d\", 0755) = 0 <0.1>\n7 2.0 mkdir(\"/d\", 0755) = 0 <0.1>\n");
    let plain = home.plumb("trace replay odd.strace --at . --timing as-fast-as-possible --json");
    assert_ne!(plain.code, 1, "{}", plain.err);
    let strict = home.plumb("trace replay odd.strace --at . --timing as-fast-as-possible --strict").expect(1).err;
    assert!(strict.contains("1 ops had another outcome"), "{strict}");
    let refused = home.plumb("trace replay odd.strace --at . --cache hot").expect(2).err;
    assert!(refused.contains("use as-is, cold or warm"), "{refused}");
}
