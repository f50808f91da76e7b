//! Verdicts for other tools' runs: one line on standard error, exit code 3 under `--plumb-strict`, and silence if the
//! tool's known readers need it. Simulated devices make the verdicts certain.

use crate::common::{CommandOutput, Home};
use std::process::Stdio;

/// A neighbour occupies most of this device, so C1 rejects.
const BUSY: &str = "sim:ssd?background=60%";
/// A page cache answers all reads of this device.
const CACHED: &str = "sim:ssd?cached=100%";

/// Returns the lines that Plumb adds on standard error.
fn lines(output: &CommandOutput) -> Vec<&str> {
    output.err.lines().filter(|line| line.starts_with("plumb: ")).collect()
}

/// Returns a command for each kind of tool that reads from this device.
fn readers(device: &str) -> [String; 5] {
    [
        format!("as dd if={device} of=/dev/null bs=64k count=4000"),
        format!("as fio --name=a --rw=read --bs=64k --size=256m --direct=1 --filename={device}"),
        format!("as ior -a POSIX -w -r -k -b 64m -t 64k -o {device}"),
        format!("as iozone -f {device} -s 64m -r 64k -i 0 -i 1"),
        format!("as elbencho -w -r -t 1 -s 64m -b 64k {device}"),
    ]
}

// Protects: no tool's rejected run passes silently, although the tool itself ends with 0.
#[test]
fn a_rejected_run_is_one_line() {
    let home = Home::new();
    for command in readers(BUSY) {
        let output = home.plumb(&command).expect(0);
        let [line] = lines(&output)[..] else { panic!("{command}: {}", output.err) };
        assert!(line.starts_with("plumb: rejected: C1 "), "{command}: {line}");
        assert!(line.ends_with("; PLUMB_QUIET=1 silences this"), "{line}");
        assert_eq!(lines(&home.plumb(&format!("{command} --plumb-quiet")).expect(0)), [""; 0], "{command}");
    }
}

// Protects pipelines that must stop at a rejected run; the tool's own failure keeps its exit code.
#[test]
fn strict_ends_with_3() {
    let home = Home::new();
    for command in readers(BUSY) {
        home.plumb(&format!("{command} --plumb-strict")).expect(3).expect_stderr(&["plumb: rejected: C1 "]);
    }
    for command in readers("sim:ssd") {
        let output = home.plumb(&format!("{command} --plumb-strict")).expect(0);
        assert_eq!(lines(&output), [""; 0], "{command}");
    }
    home.plumb("as dd --plumb-strict if=nothing of=/dev/null").expect(1);
    home.plumb("as iperf3 -v --plumb-strict").expect(2).expect_stderr(&["makes no runs", "leave the option out"]);
}

// Protects: 935 MB/s from memory are not reported as a disk's.
#[test]
fn memory_is_named() {
    let home = Home::new();
    let [dd, fio, ..] = readers(CACHED);
    for command in [&dd, &fio] {
        let output = home.plumb(&command.replace(" --direct=1", "")).expect(0);
        let [line] = lines(&output)[..] else { panic!("{command}: {}", output.err) };
        assert!(line.starts_with("plumb: memory answered, not the device: read (A1"), "{command}: {line}");
    }
    home.plumb("as dd if=/dev/zero of=file bs=64k count=64").expect(0).expect_stderr(&["memory answered", ": write"]);
    home.plumb("as dd if=file of=/dev/null bs=64k").expect(0).expect_stderr(&["memory answered", ": read"]);
    assert_eq!(lines(&home.plumb("as dd -q if=file of=/dev/null bs=64k").expect(0)), [""; 0]);
    assert_eq!(home.plumb("as dd status=none if=file of=/dev/null bs=64k").expect(0).err, "");
    for (value, count) in [("1", 0), ("0", 1), ("", 1)] {
        let mut command = home.command(["as", "dd", "if=file", "of=/dev/null", "bs=64k"]);
        command.env("PLUMB_QUIET", value);
        assert_eq!(lines(&CommandOutput::run(command)).len(), count, "PLUMB_QUIET={value}");
    }
}

// Protects scripts: `fs_mark 2>&1 | tail -1` and `dbench 2>&1 | tail -1` read the result from the last line.
#[test]
fn the_last_line_is_the_result() {
    let home = Home::new();
    for (command, result) in
        [("as fs_mark -d m -n 50 -s 4096 -t 4 -L 1", " 200 "), ("as dbench -t 1 2 -D .", "Throughput ")]
    {
        let all = merged(&home, command);
        assert!(all.lines().last().unwrap().contains(result), "{command}: {all}");
    }
}

// Protects scripts: `dd 2>&1 | tail -1` and `awk 'END {…}'` read the rate from dd's last line.
#[test]
fn the_last_line_is_dds() {
    let home = Home::new();
    let [dd, ..] = readers(CACHED);
    let output = home.plumb(&dd).expect(0);
    let all: Vec<&str> = output.err.lines().collect();
    assert!(all[0].starts_with("plumb: memory answered"), "{all:?}");
    assert_eq!(all[1..3], ["4000+0 records in", "4000+0 records out"]);
    assert!(all[3].contains(" copied, ") && all.len() == 4, "{all:?}");
}

// Protects programs: bench_fio treats any text on standard error as a failure, and JSON stays valid after `2>&1`.
#[test]
fn formats_for_programs_stay_alone() {
    let home = Home::new();
    let [_, fio, ior, ..] = readers(BUSY);
    for format in ["json", "json+", "terse"] {
        let printed = home.plumb(&format!("{fio} --output-format={format}")).expect(0);
        assert_eq!(printed.err, "", "{format}");
        home.plumb(&format!("{fio} --output-format={format} --plumb-strict")).expect(3);
    }
    home.plumb(&format!("{fio} --output-format=normal,json")).expect(0).expect_stderr(&["plumb: rejected"]);
    let ior = format!("{ior} -O summaryFormat=JSON");
    home.plumb(&ior).expect(0).expect_stderr(&["plumb: rejected"]);
    let merged = merged(&home, &ior);
    plumb_document::json::from_str::<serde_json::Value>(&merged).unwrap_or_else(|error| panic!("{error}: {merged}"));
    let bonnie = "as bonnie++ -d sim:hdd?background=60% -s 1g -n 0 -r 0";
    home.plumb(bonnie).expect(0).expect_stderr(&["plumb: rejected"]);
    let text = self::merged(&home, bonnie);
    assert!(!text.contains("plumb: rejected"), "{text}");
    assert!(text.trim_end().lines().last().unwrap().contains(",2.00a,"), "{text}");
}

/// Returns standard output and standard error as one file.
fn merged(home: &Home, line: &str) -> String {
    let path = home.work().join("merged");
    let file = std::fs::File::create(&path).unwrap();
    let mut command = home.command(line.split_whitespace());
    command.stdout(Stdio::from(file.try_clone().unwrap())).stderr(Stdio::from(file));
    assert!(command.status().unwrap().success(), "{line}");
    std::fs::read_to_string(&path).unwrap()
}

// Protects readers of long tests: twelve runs have one line, with the number of rejected ones.
#[test]
fn several_runs_are_one_line() {
    let home = Home::new();
    let output = home.plumb(&format!("as ior -w -k -b 64m -t 64k -i 3 -o {BUSY}")).expect(0);
    let [line] = lines(&output)[..] else { panic!("{}", output.err) };
    assert!(line.starts_with("plumb: rejected (3 of 3 runs; this is the first): C1 "), "{line}");
}
