//! `plumb trace` end to end.

use crate::common::{CommandOutput, Home, needs, wait_until};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(1).unwrap().join("trace/golden").join(name)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The page begins with the answer, and the JSON has the same numbers with their units.
#[test]
fn show_characterises_a_recording() {
    let home = Home::new();
    let page = home.plumb_args(["trace", "show", text(&golden("strace_y.txt"))]).expect(0).out;
    let first = page.split("\n\n").next().unwrap().replace('\n', " ");
    assert!(first.contains("(strace): 45 ops in 5.03 s on 7 files by 3 threads"), "{first}");
    assert!(page.contains("mapped into memory"), "{page}");
    // The recording contains a file name with a line break; no line of the page begins with the rest of it.
    assert!(!page.lines().any(|line| line.starts_with(".txt")), "{page}");
    let sheet = home.plumb_args(["trace", "show", text(&golden("loop.blktrace")), "--json"]).expect(0).json();
    assert_eq!(sheet["schema"], "plumb.trace-sheet/1");
    assert_eq!(sheet["mix"]["ops"], 112);
    assert_eq!(sheet["data_ops"]["size_p50_bytes"], 4096);
    let reads = sheet["ops"].as_array().unwrap().iter().find(|row| row["op"] == "read").unwrap();
    assert_eq!(reads["count"], 78, "as blkparse counts them");
    // blkparse: 1604 KiB read.
    assert_eq!(reads["data_bytes"], 1604 * 1024);
}

/// A dd of `if=/dev/zero of=file conv=fsync`: its own file on one screen, devices separately, and its writes as
/// durable.
#[test]
fn show_is_about_the_programs_own_files_on_one_screen() {
    let home = Home::new();
    let mut text = String::from(
        "1 1.000000 openat(AT_FDCWD</d>, \"/lib/x86_64-linux-gnu/libc.so.6\", O_RDONLY) = 3</lib/x86_64-linux-gnu/libc.so.6> <0.000020>\n\
         1 1.000050 read(3</lib/x86_64-linux-gnu/libc.so.6>, \"\"..., 832) = 832 <0.000009>\n\
         1 1.000100 openat(AT_FDCWD</d>, \"/dev/zero\", O_RDONLY) = 0</dev/zero> <0.000020>\n\
         1 1.000200 openat(AT_FDCWD</d>, \"out\", O_WRONLY|O_CREAT, 0644) = 1</d/out> <0.000020>\n",
    );
    for number in 0..40 {
        let at = 1.001 + f64::from(number) * 0.001;
        text.push_str(&format!("1 {at:.6} read(0</dev/zero>, \"\"..., 1048576) = 1048576 <0.000100>\n"));
        text.push_str(&format!("1 {:.6} write(1</d/out>, \"\"..., 1048576) = 1048576 <0.000100>\n", at + 0.0005));
    }
    home.file("unsynced.strace", &text);
    text.push_str("1 1.100000 fsync(1</d/out>) = 0 <0.010000>\n");
    home.file("dd.strace", &text);
    let output = home.plumb("trace show dd.strace").expect(0);
    let page = output.out.clone();
    let output = output.expect_stdout(&[
        "durable writes 100 %",
        "read 832 B",
        "written 40 MiB",
        "41 ops on /dev/zero (40 MiB) are left out",
    ]);
    assert!(page.lines().count() <= 24, "{page}");
    let files = output.out.split("busiest files").nth(1).unwrap();
    assert!(files.contains("/d/out") && !files.contains("libc.so"), "{page}");
    let full = home
        .plumb("trace show dd.strace -v")
        .expect(0)
        .expect_stdout(&["libc.so.6", "miss ratios", "working set", "gap p99"])
        .out;
    assert!(full.lines().count() > 40, "{full}");
    let sheet = |file: &str| home.plumb(&format!("trace show {file} --json")).expect(0).json();
    let (synced, unsynced) = (sheet("dd.strace"), sheet("unsynced.strace"));
    assert_eq!(
        (&synced["mix"]["durable_writes_share"], &unsynced["mix"]["durable_writes_share"]),
        (&1.into(), &0.into())
    );
    assert_eq!(synced["mix"]["written_bytes"], 40 << 20, "{synced:#}");
}

/// A converted recording equals the original, and other users cannot read it. A recording has its own open flags: with
/// only the phase's, it would be buffered.
#[test]
fn a_direct_replay_opens_its_files_directly() {
    let home = Home::new();
    let recording = golden("loop.blktrace");
    let replay = |more: &str| {
        let words = ["trace", "replay", text(&recording), "--at", "sim:ssd", "--translate"];
        home.plumb_args(words.into_iter().chain(more.split_whitespace())).expect(0).out
    };
    let (as_is, direct) = (replay(""), replay("--direct"));
    assert!(direct.contains("files.direct = true") && !as_is.contains("direct"), "{direct}");
}

/// A file that was removed can still be among the busiest.
#[test]
fn removed_files_are_among_the_busiest() {
    let home = Home::new();
    let text = "1 1.000000 openat(AT_FDCWD</d>, \"gone\", O_WRONLY|O_CREAT, 0644) = 3</d/gone> <0.000020>\n\
        1 1.000100 write(3</d/gone>, \"\"..., 10) = 10 <0.000009>\n\
        1 1.000200 close(3</d/gone>) = 0 <0.000002>\n\
        1 1.000300 unlink(\"/d/gone\") = 0 <0.000010>\n\
        1 1.000400 unlink(\"/d/other\") = -1 ENOENT (No such file or directory) <0.000010>\n";
    home.file("gone.strace", text);
    let shown = home.plumb("trace show gone.strace --json").expect(0).json();
    let busiest = &shown["busiest_files"][0];
    assert_eq!((busiest["file"].as_str(), busiest["ops"].as_u64()), (Some("/d/gone"), Some(4)), "{shown}");
    assert_eq!(shown["mix"]["files"], 2);
}

#[test]
fn convert_keeps_what_the_format_can_express() {
    let home = Home::new();
    let from = golden("strace_y.txt");
    let output = home.plumb_args(["trace", "convert", text(&from), "app.trace"]).expect(0).out;
    assert_eq!(output, "45 records written to app.trace\n");
    let mode = std::fs::metadata(home.work().join("app.trace")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let compared = home.plumb_args(["trace", "compare", text(&from), "app.trace", "--json"]).expect(0).json();
    let metrics = compared["metrics"].as_array().unwrap();
    assert!(metrics.len() > 20 && metrics.iter().all(|metric| metric["a"] == metric["b"]), "{compared}");
    let apart = |value: &Value| value["distance"].as_f64().unwrap();
    assert!(compared["distributions"].as_array().unwrap().iter().all(|one| apart(one) == 0.0));
    // The second time, the file exists.
    let refused = home.plumb_args(["trace", "convert", text(&from), "app.trace"]).expect(2).err;
    assert!(refused.contains("app.trace exists"), "{refused}");
    let output = home.plumb_args(["trace", "convert", "app.trace", "app.iolog"]).expect(0).out;
    assert!(output.contains("left out") && output.contains("1 files renamed"), "{output}");
    let lines = std::fs::read_to_string(home.work().join("app.iolog")).unwrap();
    assert!(lines.starts_with("fio version 3 iolog\n"), "{lines}");
    assert!(lines.contains(" /mnt/t/data/g/d/f1 write 100 5000\n"), "{lines}");
    // fio requires that every file is added and opened before it is used.
    let mut opened = std::collections::BTreeSet::new();
    for words in lines.lines().skip(1).map(|line| line.split(' ').collect::<Vec<_>>()) {
        match words[2] {
            "open" => assert!(opened.insert(words[1].to_owned()), "{words:?}"),
            "close" => assert!(opened.remove(words[1]), "{words:?}"),
            "add" => {}
            _ => assert!(opened.contains(words[1]), "{words:?}"),
        }
    }
}

/// An anonymised recording has the same numbers, and none of the names.
#[test]
fn names_can_be_hidden() {
    let home = Home::new();
    let from = golden("strace_y.txt");
    home.plumb_args(["trace", "convert", text(&from), "hidden.csv", "--anonymise"]).expect(0);
    let hidden = std::fs::read_to_string(home.work().join("hidden.csv")).unwrap();
    assert!(!hidden.contains("mnt") && !hidden.contains("data"), "{hidden}");
    home.plumb_args(["trace", "convert", text(&from), "hidden.trace", "--anonymise"]).expect(0);
    let compared = home.plumb_args(["trace", "compare", text(&from), "hidden.trace", "--json"]).expect(0).json();
    assert!(compared["metrics"].as_array().unwrap().iter().all(|metric| metric["a"] == metric["b"]), "{compared}");
    let bytes = std::fs::read(home.work().join("hidden.trace")).unwrap();
    assert!(bytes.windows(13).any(|window| window == b"anonymised: 1"));
}

/// A broken recording is an error with its place; a damaged one of Plumb's own is shown up to the damage.
#[test]
fn broken_recordings_are_reported_with_their_place() {
    let home = Home::new();
    home.file("bad.strace", "1 0.5 read(3</a>, \"\", 5) = 5\n1 0.6 read(3</a>, \"\n");
    let error = home.plumb("trace show bad.strace").expect(2).err;
    assert!(error.contains("line 2") && error.contains("no end"), "{error}");
    home.file("unknown", "neither this nor that\n");
    let error = home.plumb("trace show unknown").expect(2).err;
    assert!(error.contains("unknown recording format"), "{error}");
    let error = home.plumb("trace show unknown --from nothing").expect(2).err;
    assert!(error.contains("unknown format `nothing`; known: plumb, iolog"), "{error}");
    home.plumb_args(["trace", "convert", text(&golden("strace_y.txt")), "app.trace"]).expect(0);
    let bytes = std::fs::read(home.work().join("app.trace")).unwrap();
    std::fs::write(home.work().join("torn.trace"), &bytes[..bytes.len() - 400]).unwrap();
    let page = home.plumb("trace show torn.trace").expect(0).out.replace('\n', " ");
    assert!(page.contains("Damaged: byte"), "{page}");
    // A failed conversion leaves no partial file.
    let error = home.plumb("trace convert app.trace app.blktrace").expect(2).err;
    assert!(error.contains("convert it to iolog"), "{error}");
    assert!(!home.work().join("app.blktrace").exists());
}

/// fio cannot open a directory for writing, so a directory that is only flushed is omitted.
#[test]
fn directories_that_are_flushed_are_not_exported() {
    let home = Home::new();
    home.file(
        "db.strace",
        "5 1.0 openat(AT_FDCWD, \"/d/f\", O_RDWR) = 3</d/f> <0.1>\n5 1.1 openat(AT_FDCWD, \"/d\", O_RDONLY) = 4</d> <0.1>\n\
         5 1.2 fsync(4</d>) = 0 <0.1>\n5 1.3 pwrite64(3</d/f>, \"\", 512, 0) = 512 <0.1>\n5 1.4 fsync(3</d/f>) = 0 <0.1>\n\
         5 1.5 close(4</d>) = 0 <0.1>\n5 1.6 close(3</d/f>) = 0 <0.1>\n",
    );
    home.plumb("trace convert db.strace db.iolog").expect(0);
    let lines = std::fs::read_to_string(home.work().join("db.iolog")).unwrap();
    let lines: Vec<&str> =
        lines.lines().skip(1).filter_map(|line| line.split_once(' ')).map(|(_, rest)| rest).collect();
    assert_eq!(lines, ["/d/f add", "/d/f open", "/d/f write 0 512", "/d/f sync 0 0", "/d/f close"]);
}

/// Plumb's own fio dialect replays a file converted from strace.
#[test]
fn fio_replays_what_was_converted() {
    let home = Home::new();
    let data = home.work().join("data");
    std::fs::create_dir(&data).unwrap();
    let path = data.join("f");
    std::fs::write(&path, vec![1; 65_536]).unwrap();
    let path = text(&path);
    let lines = format!(
        "5 1.0 openat(AT_FDCWD, \"{path}\", O_RDONLY) = 3<{path}> <0.1>\n\
         5 1.1 pread64(3<{path}>, \"\", 4096, 8192) = 4096 <0.1>\n5 1.2 read(3<{path}>, \"\", 512) = 512 <0.1>\n\
         5 1.3 close(3<{path}>) = 0 <0.1>\n"
    );
    home.file("app.strace", &lines);
    home.plumb("trace convert app.strace app.iolog").expect(0);
    let output = home
        .plumb("as fio --name=r --read_iolog=app.iolog --replay_no_stall=1 --ioengine=psync --output-format=json")
        .expect(0);
    let result = output.json();
    assert_eq!(result["jobs"][0]["read"]["total_ios"], 2);
    assert_eq!(result["jobs"][0]["read"]["io_bytes"], 4608);
}

/// A shell with children: paths relative to its working directory, inherited descriptors, and files only.
#[test]
fn record_sees_what_a_program_and_its_children_do() {
    if !needs::root_and(&["sh", "mkdir", "dd", "mv", "cat"]) {
        return;
    }
    let home = Home::new();
    let script = "mkdir d; cd d; dd if=/dev/zero of=a bs=4096 count=100 conv=fsync 2>/dev/null; mv a b; cat b | cat > c; exec 5>>c; echo x >&5";
    let printed = home.plumb_args(["trace", "record", "-o", "sh.trace", "--", "sh", "-c", script]);
    if printed.code == 4 && printed.err.contains("cannot record") {
        // Root within a container, or a locked-down kernel.
        return needs::skip("the kernel lets nobody load programs");
    }
    let printed = printed.expect(0);
    assert!(printed.out.contains("ops recorded in sh.trace"), "{}", printed.out);
    let mode = std::fs::metadata(home.work().join("sh.trace")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    home.plumb("trace convert sh.trace sh.csv").expect(0);
    let csv = std::fs::read_to_string(home.work().join("sh.csv")).unwrap();
    let work = std::fs::canonicalize(home.work()).unwrap();
    let of = |act: &str, name: &str| -> Vec<Vec<String>> {
        let path = work.join(name).to_string_lossy().into_owned();
        let rows = csv.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        rows.filter(|row| row[2] == act && row[3] == path).collect()
    };
    assert_eq!(of("mkdir", "d").len(), 1, "{csv}");
    let writes = of("write", "d/a");
    let offsets: Vec<u64> = writes.iter().map(|row| row[4].parse().unwrap()).collect();
    assert_eq!(offsets, (0..100).map(|block| block * 4096).collect::<Vec<_>>());
    assert!(writes.iter().all(|row| row[5] == "4096" && row[6] == "4096" && row[9] == "dd"), "{writes:?}");
    assert_eq!(of("fsync", "d/a").len(), 1);
    assert_eq!(of("rename", "d/a").len(), 1);
    // The second cat inherited its standard output from the shell; it read from a pipe, not a file.
    let copied: u64 = of("write", "d/c").iter().map(|row| row[6].parse::<u64>().unwrap()).sum();
    assert_eq!(copied, 409_600 + 2);
    let last = of("write", "d/c").last().unwrap().clone();
    assert_eq!((last[4].as_str(), last[6].as_str()), ("409600", "2"), "it appends");
}

/// A program that cannot be started leaves no recording behind.
#[test]
fn record_of_nothing_is_an_error() {
    let home = Home::new();
    home.plumb("trace record").expect(2);
    home.plumb("trace record --pid 999999999").expect(2);
    if !needs::is_root() {
        return needs::skip("needs root");
    }
    let output = home.plumb("trace record -o nothing.trace -- ./there-is-no-such-program");
    assert!(output.code == 2 || output.err.contains("cannot record"), "{output:?}");
    assert!(!home.work().join("nothing.trace").exists());
}

/// Direct writes to a loop device: each is a request with its completion, and no other device is in the recording.
#[test]
fn record_sees_what_a_device_is_asked_for() {
    if !needs::root_and(&["dd", "losetup"]) {
        return;
    }
    let home = Home::new();
    let image = home.work().join("image");
    std::fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let Some(device) = Loop::attach(&image) else { return needs::skip("there are no loop devices") };
    let output = format!("of={}", device.0);
    for by in ["bpf", "tracefs"] {
        let name = format!("{by}.trace");
        let words = ["trace", "record", "--by", by, "-o", &name, "--dev", &device.0, "--"];
        let write = ["dd", "if=/dev/zero", &output, "bs=8k", "count=50", "oflag=direct"];
        let printed = home.plumb_args(words.iter().chain(&write));
        if printed.code == 4 && printed.err.contains("cannot record") {
            needs::skip("the kernel lets nobody record");
            continue;
        }
        printed.expect(0);
        home.plumb(&format!("trace convert {name} {by}.csv")).expect(0);
        let csv = std::fs::read_to_string(home.work().join(format!("{by}.csv"))).unwrap();
        let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        let writes: Vec<&Vec<&str>> = rows.iter().filter(|row| row[2] == "write").collect();
        let offsets: Vec<u64> = writes.iter().map(|row| row[4].parse().unwrap()).collect();
        assert_eq!(offsets, (0..50).map(|block| block * 8192).collect::<Vec<_>>(), "{csv}");
        let is_whole = |row: &&Vec<&str>| row[5] == "8192" && row[1].parse::<u64>().is_ok_and(|took| took > 0);
        assert!(writes.iter().all(is_whole), "{csv}");
        assert!(rows[1..].iter().all(|row| row[3] == rows[1][3]), "one device: {csv}");
    }
    home.plumb_args(["trace", "record", "--dev", "/dev/null"]).expect(2);
}

/// A device without a request queue, written by two processes at once: each write is one record with its end.
#[test]
fn record_sees_devices_without_queues() {
    if !needs::root_and(&["dd", "sh"]) {
        return;
    }
    let added = std::fs::read_to_string("/sys/class/zram-control/hot_add");
    let Ok(number) = added else { return needs::skip("this kernel has no zram") };
    let number = number.trim().to_owned();
    std::fs::write(format!("/sys/block/zram{number}/disksize"), "16M").unwrap();
    let home = Home::new();
    let device = format!("/dev/zram{number}");
    let script = format!(
        "dd if=/dev/zero of={device} bs=4k count=500 oflag=direct & \
         dd if=/dev/zero of={device} bs=4k count=500 seek=1000 oflag=direct & wait"
    );
    let counted = |by: &str| {
        let name = format!("{by}.trace");
        let words = ["trace", "record", "--by", by, "-o", &name, "--dev", &device, "--", "sh", "-c", &script];
        let output = home.plumb_args(words);
        if output.code == 4 && output.err.contains("cannot record") {
            return None;
        }
        output.expect(0);
        home.plumb(&format!("trace convert {name} {by}.csv")).expect(0);
        let csv = std::fs::read_to_string(home.work().join(format!("{by}.csv"))).unwrap();
        let rows = csv.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let mut writes: Vec<u64> = rows
            .filter(|row| row[2] == "write" && row[5] == "4096" && row[1].parse().is_ok_and(|took: u64| took > 0))
            .map(|row| row[4].parse().unwrap())
            .collect();
        writes.sort_unstable();
        Some(writes)
    };
    let all = [counted("bpf"), counted("tracefs")];
    let _ = std::fs::write("/sys/class/zram-control/hot_remove", &number);
    let expected: Vec<u64> = (0..500).chain(1000..1500).map(|block| block * 4096).collect();
    for writes in all {
        match writes {
            Some(writes) => assert_eq!(writes, expected),
            None => needs::skip("the kernel lets nobody record"),
        }
    }
}

/// A loop device, which is released at the end.
struct Loop(String);

impl Loop {
    /// Returns `None` if there are none. If another test takes one first, it tries again.
    fn attach(image: &Path) -> Option<Loop> {
        for _ in 0..20 {
            let output = std::process::Command::new("losetup").args(["--find", "--show"]).arg(image).output().ok()?;
            if output.status.success() {
                return Some(Loop(String::from_utf8(output.stdout).ok()?.trim().to_owned()));
            }
            eprintln!("losetup: {}", String::from_utf8_lossy(&output.stderr));
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        None
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = std::process::Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// The numbers of a sheet match its schema, and its charts have a text alternative.
#[test]
fn sheets_fit_their_schema_and_have_charts() {
    let home = Home::new();
    let mut text = String::from("fio version 3 iolog\n0 a add\n0 a open\n");
    (0..500).for_each(|n| {
        text.push_str(&format!("{} a {} {} 4096\n", n * 50, ["read", "write"][n % 2], n * 7919 % 900 * 4096))
    });
    home.file("a.iolog", &text);
    let sheet = home.plumb("trace show a.iolog --json --report one.html").expect(0).json();
    crate::commands::fits(&home, "trace-sheet", &sheet);
    assert_eq!(sheet["mix"]["reads_of_data_ops_share"], 0.5);
    let page = std::fs::read_to_string(home.work().join("one.html")).unwrap();
    for title in ["Ops over time", "Gaps between op starts", "Sizes of reads and writes", "Misses of a cache"] {
        assert!(page.contains(title), "{title}");
    }
    assert!(page.contains("<svg") && page.contains("half up to 49.2 µs"), "{page}");
    home.file("b.iolog", &text.replace(" 4096\n", " 8192\n"));
    let compared = home.plumb("trace compare a.iolog b.iolog --report two.md --json").expect(0).json();
    crate::commands::fits(&home, "trace-compare", &compared);
    let page = std::fs::read_to_string(home.work().join("two.md")).unwrap();
    assert!(page.contains("a.iolog: half up to 4.00 KiB") && page.contains("b.iolog: half up to 8.00 KiB"), "{page}");
}

/// Returns the ops of a recording on files below the working directory: act, file, offset, length and result.
fn ops_below(home: &Home, recording: &str) -> Vec<String> {
    home.plumb(&format!("trace convert {recording} {recording}.csv")).expect(0);
    let csv = std::fs::read_to_string(home.work().join(format!("{recording}.csv"))).unwrap();
    let work = std::fs::canonicalize(home.work()).unwrap().to_string_lossy().into_owned() + "/";
    let rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>()).filter(|row| row[3].starts_with(&work));
    // Descriptors that a shell opens for itself differ with its environment.
    let mut ops: Vec<String> = rows
        .filter(|row| row[2] != "open")
        .map(|row| [&row[2..3], &row[3..7]].concat().join(" ").replace(&work, ""))
        .collect();
    ops.sort();
    ops
}

/// Every method records the same ops; nothing is left in tracefs.
#[test]
fn every_way_records_the_same_ops() {
    if !needs::root_and(&["sh", "mkdir", "dd", "mv", "cat"]) {
        return;
    }
    let script = "mkdir d; cd d; dd if=/dev/zero of=a bs=4096 count=20 conv=fsync 2>/dev/null; mv a b; cat b | cat > c; \
        exec 5>>c; echo x >&5; (exec 6<b; rm b; cat <&6 >/dev/null)";
    let recorded = |by: &str| {
        let home = Home::new();
        let output = home.plumb_args(["trace", "record", "--by", by, "-o", "sh.trace", "--", "sh", "-c", script]);
        if output.code == 4 && output.err.contains("cannot record") {
            cannot_record(&output);
            return None;
        }
        assert!(output.expect(0).out.contains(&format!("By {by}: a recorded call takes about")));
        Some(ops_below(&home, "sh.trace"))
    };
    let stopped = recorded("ptrace").expect("everybody may follow programs of their own");
    let expected =
        ["fsync d/a 0 0 0", "mkdir d 0 0 0", "rename d/a 0 0 0", "unlink d/b 0 0 0", "write d/a 77824 4096 4096"];
    expected.iter().for_each(|op| assert!(stopped.iter().any(|known| known == op), "{op}: {stopped:#?}"));
    for by in ["tracefs", "bpf"] {
        if let Some(ops) = recorded(by) {
            assert_eq!(ops, stopped, "{by}");
        }
    }
    assert_eq!(instances(), [""; 0], "nothing is left in tracefs");
}

/// Returns the reason why kernel events were not available.
#[track_caller]
fn cannot_record(output: &CommandOutput) {
    match output.err.contains("PID namespace") {
        true => needs::not_shown("in a PID namespace the kernel's events have other process numbers"),
        false => needs::skip("the kernel lets nobody record by its events"),
    }
}

/// Protects containers: kernel events carry PIDs of the root namespace, so main finds no ops in a PID namespace. Plumb falls
/// back to ptrace there, and the other methods give the reason.
#[test]
fn in_a_pid_namespace_ops_are_recorded_by_ptrace() {
    if !needs::root_and(&["unshare", "dd"]) {
        return;
    }
    let home = Home::new();
    let plain = home.command("trace record -o a.trace -- dd if=/dev/zero of=a bs=4k count=3".split(' '));
    let mut command = std::process::Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc"]).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(home.work()).envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = CommandOutput::run(command).expect(0);
    assert!(output.out.contains("By ptrace: ") && output.err.contains("in a PID namespace: "), "{output:?}");
    assert_eq!(ops_below(&home, "a.trace").into_iter().filter(|op| op.starts_with("write a ")).count(), 3);
}

/// Returns leftover Plumb instances in tracefs. Mounts tracefs in a mount namespace, as the machine may not have it mounted.
fn instances() -> Vec<String> {
    let script = "mount -t tracefs tracefs /mnt && ls /mnt/instances";
    let listed = std::process::Command::new("unshare").args(["-m", "sh", "-c", script]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let is_left = |name: &&str| {
        let owner = name.strip_prefix("plumb-").and_then(|pid| pid.parse::<u32>().ok());
        owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists())
    };
    listed.lines().filter(is_left).map(str::to_owned).collect()
}

/// Protects machines without a mounted tracefs. Main falls back to ptrace there, which stops each call, and cannot record
/// devices without BTF. Plumb now mounts tracefs privately, invisible even to the recorded program.
#[test]
fn root_needs_no_mounted_tracefs() {
    if !needs::root_and(&["unshare", "umount", "sh", "dd", "cat"]) {
        return;
    }
    let home = Home::new();
    let unmount = "while umount /sys/kernel/tracing || umount /sys/kernel/debug; do :; done 2>/dev/null; exec \"$@\"";
    let mut methods = vec![Some("bpf"), Some("tracefs"), None];
    for by in methods.drain(..) {
        let name = by.unwrap_or("best");
        let (trace, mounts) = (format!("{name}.trace"), format!("{name}.mounts"));
        let script = format!("cat /proc/self/mountinfo > {mounts}; dd if=/dev/zero of=a bs=4k count=3 2>/dev/null");
        let mut words = vec!["trace", "record", "-o", &trace];
        words.extend(by.into_iter().flat_map(|by| ["--by", by]));
        words.extend(["--", "sh", "-c", &script]);
        let plain = home.command(&words);
        let mut command = std::process::Command::new("unshare");
        command.args(["-m", "sh", "-c", unmount, "sh"]).arg(plain.get_program()).args(plain.get_args());
        command.current_dir(home.work()).envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = CommandOutput::run(command);
        if output.err.contains("PID namespace") || by.is_some() && output.err.contains("Operation not permitted") {
            cannot_record(&output);
            continue;
        }
        let method = by.unwrap_or("bpf");
        assert!(output.out.contains(&format!("By {method}: a recorded call takes about")), "{output:?}");
        assert_eq!(output.code, 0, "{output:?}");
        let writes = ops_below(&home, &trace).into_iter().filter(|op| op.starts_with("write a "));
        assert_eq!(writes.count(), 3);
        let mounts = std::fs::read_to_string(home.work().join(mounts)).unwrap();
        assert!(!mounts.contains("tracefs"), "{mounts}");
    }
}

/// Protects: a killed `trace record` leaves no file or a readable one. Main leaves an empty file that no command can read.
#[test]
fn a_killed_recording_leaves_no_empty_file() {
    let home = Home::new();
    home.file("run.sh", "touch begun; while :; do echo x > again; sleep 0.01; done");
    let mut child = home.start("trace record --by ptrace -o killed.trace -- sh run.sh");
    wait_until("the program runs", || home.work().join("begun").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let path = home.work().join("killed.trace");
    assert!(!path.exists() || home.plumb("trace show killed.trace").code == 0);
    let names = std::fs::read_dir(home.work()).unwrap().flatten().map(|entry| entry.file_name());
    assert!(
        names.into_iter().all(|name| name == "killed.trace" || name == "run.sh" || name == "begun" || name == "again")
    );
}

/// Without privileges, ptrace remains: for programs, and for processes, which continue afterwards.
#[test]
fn ptrace_needs_no_rights() {
    if !needs::root_and(&["sh", "sleep"]) {
        return;
    }
    use std::os::unix::process::CommandExt;
    let home = Home::new();
    let open = |path: &Path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
    open(&home.work());
    let program = home.work().join("plumb");
    std::fs::copy(env!("CARGO_BIN_EXE_plumb"), &program).unwrap();
    let as_nobody = |words: &[&str]| {
        let mut command = home.command(words);
        let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        command = std::process::Command::new(&program);
        command.args(arguments).current_dir(home.work()).env("HOME", home.work()).uid(65534).gid(65534);
        CommandOutput::run(command)
    };
    let output = as_nobody(&["trace", "record", "-o", "a.trace", "--", "sh", "-c", "echo hello > made; exit 3"]);
    if output.err.contains("Permission denied") && !output.err.contains("cannot record") {
        return needs::skip("the directory for tests is closed to other users");
    }
    let output = output.expect(0);
    assert!(output.out.contains("By ptrace: a recorded call takes about"), "{output:?}");
    ["cannot record by bpf", "exit status: 3"].iter().for_each(|part| assert!(output.err.contains(part), "{output:?}"));
    assert!(ops_below(&home, "a.trace").contains(&"write made 0 6 6".to_owned()));

    let mut sleeps = std::process::Command::new("sh");
    sleeps.args(["-c", "while :; do echo x > again; sleep 0.02; done"]).current_dir(home.work()).uid(65534).gid(65534);
    let mut sleeps = sleeps.spawn().unwrap();
    let id = sleeps.id().to_string();
    let mut record = std::process::Command::new(&program);
    record.args(["trace", "record", "--pid", &id, "-o", "b.trace"]).current_dir(home.work()).env("HOME", home.work());
    record.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut record = record.uid(65534).gid(65534).spawn().unwrap();
    let traced = |id: u32| {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        !status.contains("TracerPid:\t0")
    };
    wait_until("the shell is followed", || traced(sleeps.id()));
    std::thread::sleep(std::time::Duration::from_millis(200));
    // A shell that starts the tests in the background makes them ignore SIGINT, and Plumb too.
    super::interrupted::signal(&record, rustix::process::Signal::TERM);
    record.wait().unwrap();
    assert!(!traced(sleeps.id()) && sleeps.try_wait().unwrap().is_none(), "it goes on, and nobody follows it");
    sleeps.kill().unwrap();
    sleeps.wait().unwrap();
    assert!(ops_below(&home, "b.trace").contains(&"write again 0 2 2".to_owned()));
}

/// An unsuitable method is an error, and leaves nothing.
#[test]
fn ptrace_does_not_see_devices() {
    let home = Home::new();
    let output = home.plumb("trace record --by ptrace --dev /dev/null -o no.trace");
    assert_eq!(output.code, 2, "it is no block device: {output:?}");
    assert!(!home.work().join("no.trace").exists());
}
