//! Random command lines from tables of options, run by the real tool and by ours. The exit code, the work and the form
//! of the output are the same.
//!
//! The draws are seeded. `PLUMB_DRAWS=SEED,LINES` sets another seed, and the number of lines for each tool.
//!
//! Known differences are left out of the tables: fio's `bsrange`, `bssplit` and `norandommap`, in which 3.33 differs
//! from 3.42, and `create_on_open` with reads; iozone's `-B -I`; netperf's `-r` of streams, `-N`, global `-o` and an
//! unknown `-K`, which is refused here; and iperf3's error texts, which name the option and the value here.

use super::{dd, iozone, iperf3, netperf, sysbench};
use crate::common::{CommandOutput, Home, needs};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

const SEED: u64 = 45;

/// An option with some of its values.
type Row = (&'static str, &'static [&'static str]);

/// SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[(self.next() % list.len() as u64) as usize]
    }

    /// Draws a value for each of these options, and for one in four of the others.
    fn options(&mut self, always: &[Row], some: &[Row]) -> Vec<(&'static str, &'static str)> {
        let mut drawn: Vec<(&str, &str)> = always.iter().map(|(name, values)| (*name, self.pick(values))).collect();
        for (name, values) in some {
            if self.next().is_multiple_of(4) {
                drawn.push((*name, self.pick(values)));
            }
        }
        drawn
    }
}

/// Returns the seed and the number of lines of a tool.
fn wanted(lines: usize) -> (Draws, usize) {
    let output = std::env::var("PLUMB_DRAWS").ok();
    let output = output.as_deref().and_then(|output| output.split_once(','));
    let (seed, lines) = output.map_or((SEED, lines), |(seed, lines)| (seed.parse().unwrap(), lines.parse().unwrap()));
    eprintln!("{lines} lines, seed {seed}");
    (Draws(seed), lines)
}

fn joined(options: &[(&str, &str)], sign: &str) -> String {
    let words = options.iter().map(|(name, value)| match *value {
        "" => (*name).to_owned(),
        value => format!("{name}{sign}{value}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn dd_copies_as_the_real_one() {
    let always: &[Row] = &[("if", &["f", "t", "/dev/zero"]), ("count", &["0", "1", "7", "33", "5000B"])];
    let some: &[Row] = &[
        ("bs", &["1", "512", "1000", "4k", "64K", "1kB", "2x3", "0", "bogus"]),
        ("ibs", &["7", "512", "4k"]),
        ("obs", &["3", "512", "9k"]),
        ("cbs", &["16", "80"]),
        ("skip", &["0", "2", "11B"]),
        ("seek", &["1", "3", "7B"]),
        ("conv", &["notrunc", "sync", "swab", "ucase", "lcase", "fdatasync", "noerror,sync", "block", "excl", "bogus"]),
        ("iflag", &["fullblock", "count_bytes", "skip_bytes", "nocache"]),
        ("oflag", &["append", "seek_bytes", "dsync", "sync"]),
        ("status", &["none", "noxfer"]),
    ];
    let (mut draws, lines) = wanted(80);
    let lines: Vec<String> =
        (0..lines).map(|_| format!("dd of=x {}", joined(&draws.options(always, some), "="))).collect();
    dd::compare(&lines.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn iozone_makes_the_calls_of_the_real_one() {
    if !needs::tools(&["iozone", "strace"]) {
        return;
    }
    let always: &[Row] =
        &[("-s", &["64k", "128k", "320k"]), ("-r", &["4k", "16k", "64k"]), ("-i 0 -i", &["1", "2", "3", "4", "5"])];
    let some: &[Row] = &[("-e", &[""]), ("-c", &[""]), ("-o", &[""]), ("-W", &[""]), ("-K", &[""]), ("-B", &[""])];
    let (mut draws, lines) = wanted(25);
    for _ in 0..lines {
        let words = format!("{} -f f", joined(&draws.options(always, some), " "));
        if let Err(why) = iozone::compared(&iozone::Line::new(&words, &["f"])) {
            panic!("{why}");
        }
    }
}

/// Returns a report with `#` for every number of any width, without the line of the version and a histogram.
fn shape(text: &str) -> String {
    let mut shape = String::new();
    let lines = text.lines().filter(|line| !line.starts_with("sysbench ") && !line.contains(" |"));
    for letter in lines.flat_map(|line| line.chars().chain(['\n'])) {
        match letter {
            '0'..='9' | '.' if shape.ends_with('#') => {}
            '0'..='9' => shape.push('#'),
            ' ' if shape.ends_with(' ') => {}
            other => shape.push(other),
        }
    }
    // The unit of a size depends on its magnitude.
    ["KiB", "MiB", "GiB"].iter().fold(shape, |shape, unit| shape.replace(unit, "B"))
}

#[test]
fn sysbench_makes_the_requests_of_the_real_one() {
    if !needs::tools(&["sysbench", "strace"]) {
        return;
    }
    let always: &[Row] = &[
        ("--file-test-mode", &["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"]),
        ("--events", &["40", "150", "400"]),
    ];
    let some: &[Row] = &[
        ("--file-block-size", &["4K", "16384", "10000", "0"]),
        ("--file-io-mode", &["sync", "mmap", "mmap", "bogus"]),
        ("--file-async-backlog", &["4", "0", "direct"]),
        ("--file-fsync-freq", &["0", "30", "-1"]),
        ("--file-fsync-all", &["", "on", "off", "maybe"]),
        ("--file-fsync-end", &["off", "0"]),
        ("--file-fsync-mode", &["fdatasync", "x"]),
        ("--file-merged-requests", &["0", "4"]),
        ("--file-rw-ratio", &["0.5", "3"]),
        ("--percentile", &["50", "0", "101"]),
        ("--rand-type", &["uniform", "special", "bogus"]),
        ("--max-requests", &["0", "60"]),
        ("--num-threads", &["1"]),
        ("--max-time", &["0", "100"]),
        ("--histogram", &["on"]),
        ("--rand-seed", &["7", "-1"]),
    ];
    let files = "fileio --file-num=3 --file-total-size=3M";
    let (mut draws, lines) = wanted(40);
    for _ in 0..lines {
        let words = format!("{files} {} run", joined(&draws.options(always, some), "="));
        let home = Home::new();
        let real = |words: &str| {
            let mut command = Command::new("sysbench");
            command.args(words.split_whitespace()).current_dir(home.work()).stdin(Stdio::null());
            command
        };
        assert!(real(&format!("{files} prepare")).output().unwrap().status.success());
        let theirs = real(&words).output().unwrap();
        let succeeds = theirs.status.success();
        let of_real = succeeds.then(|| sysbench::counts(&home, &real(&words)));
        assert!(real(&format!("{files} cleanup")).output().unwrap().status.success());
        home.plumb(&format!("as sysbench {files} prepare")).expect(0);
        let ours = home.plumb(&format!("as sysbench {words}"));
        assert_eq!(Some(ours.code), theirs.status.code(), "{words}: {ours:?}");
        let Some(of_real) = of_real else { continue };
        let reported = String::from_utf8_lossy(&theirs.stdout).into_owned();
        assert_eq!(shape(&ours.out), shape(&reported), "{words}");
        let of_ours = sysbench::counts(&home, &home.command(format!("as sysbench {words}").split_whitespace()));
        assert_eq!(of_ours, of_real, "{words}");
    }
}

/// Returns a report with `#` for every number, without unit prefixes (which follow
/// the numbers), and without addresses and ports.
fn shape_of_net(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // A test by count can end before or after the first interim result.
    for line in text.lines().filter(|line| !line.starts_with("Interim result")) {
        let words = line.split_whitespace().map(|word| {
            // `[  5][TX-C]`: stream numbers differ.
            let word = word.split_once("][").map_or(word, |(_, role)| role);
            let number = word.trim_matches(|letter: char| "[]()%,".contains(letter));
            // netperf divides by zero if the far end measured no time.
            let number = number.trim_start_matches('-').replace("nan", "0");
            if number.chars().all(|letter| letter.is_ascii_digit() || "./-+e:".contains(letter)) && !number.is_empty() {
                return "#".to_owned();
            }
            ["K", "M", "G", "T"]
                .iter()
                .find_map(|prefix| {
                    let unit = word.strip_prefix(prefix)?;
                    (unit.starts_with("Byte") || unit.starts_with("bit")).then(|| unit.to_owned())
                })
                .unwrap_or_else(|| word.to_owned())
        });
        // The real iperf3 prints sender columns in a receiver's intervals if the test ends before the first interval.
        let line = words
            .collect::<Vec<_>>()
            .join(" ")
            .replace("Interval Transfer Bitrate Retr Cwnd", "Interval Transfer Bitrate");
        // Intervals that differ only in number are merged.
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Returns a command line with the output of both tools.
fn both(tool: &str, words: &str, theirs: &CommandOutput, ours: &CommandOutput) -> String {
    let of = |output: &CommandOutput| format!("exit code {}\n{}{}", output.code, output.out, output.err);
    format!("{tool} {words}\n--- theirs, {}--- ours, {}", of(theirs), of(ours))
}

#[track_caller]
fn none_of(differences: &[String]) {
    assert!(differences.is_empty(), "{} command lines differ:\n{}", differences.len(), differences.join("\n\n"));
}

#[test]
fn netperf_reports_as_the_real_one() {
    if !needs::tools(&["netperf", "netserver"]) {
        return;
    }
    let always: &[Row] = &[
        (
            "-t",
            &[
                "TCP_STREAM",
                "TCP_MAERTS",
                "TCP_RR",
                "TCP_CRR",
                "TCP_CC",
                "UDP_RR",
                "tcp_stream",
                "TCP_SENDFILE",
                "OMNI",
            ],
        ),
        ("-l", &["-400", "-9000"]),
    ];
    let some: &[Row] = &[
        ("-P", &["0", "1"]),
        ("-v", &["0", "1", "2"]),
        ("-f", &["k", "K", "m", "M", "g", "G", "x"]),
        ("-c", &[""]),
        ("-C", &[""]),
        ("-D", &["0.2"]),
        ("-a", &["8,8"]),
        ("-S", &[""]),
        ("-B", &["brand"]),
        ("-n", &["2"]),
        ("-W", &["2,2"]),
        ("-j", &[""]),
        ("-w", &["10", "1,2"]),
        ("-b", &["3"]),
    ];
    let of_test: &[Row] = &[
        ("-m", &["1000", "64K", "7"]),
        ("-M", &["2000"]),
        ("-s", &["8K"]),
        ("-S", &["64K"]),
        ("-r", &["1", "10,20"]),
        ("-D", &[""]),
        ("-P", &["0", "0,0"]),
        ("-K", &["cubic"]),
    ];
    let (mut draws, lines) = wanted(40);
    let (home, mut differences) = (Home::new(), Vec::new());
    let server = netperf::Server::real();
    for _ in 0..lines {
        let words = format!("{} {}", server.at(), joined(&draws.options(always, some), " "));
        let mut of_test = draws.options(&[], of_test);
        of_test.retain(|(name, _)| *name != "-r" || words.contains("RR"));
        let words = format!("{words} -- {}", joined(&of_test, " "));
        let theirs = netperf::real(&words);
        let ours = home.plumb(&format!("as netperf {words}"));
        if ours.code != theirs.code || shape_of_net(&ours.out) != shape_of_net(&theirs.out) {
            differences.push(both("netperf", &words, &theirs, &ours));
        }
    }
    none_of(&differences);
}

/// Returns the paths of a document's members with the types of their values; the elements of a list are merged.
fn paths(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| paths(member, &format!("{at}/{name}"), found))
        }
        Value::Array(elements) => elements.iter().for_each(|element| paths(element, &format!("{at}/*"), found)),
        other => {
            let kind = match other {
                Value::String(_) => "text",
                Value::Bool(_) => "truth",
                _ => "number",
            };
            found.insert(format!("{at} {kind}"));
        }
    }
}

/// Returns the client's part of a report. The server's part depends on whether the last datagrams have arrived when the
/// client asks for it; ours waits for them.
fn client_of(report: &str) -> &str {
    report.split("\nServer output:").next().unwrap_or_default()
}

#[test]
fn iperf3_reports_as_the_real_one() {
    if !needs::tools(&["iperf3", "timeout"]) {
        return;
    }
    let always: &[Row] = &[("-c", &["127.0.0.1"]), ("-n", &["200K", "3M", "1000"])];
    let some: &[Row] = &[
        ("-R", &[""]),
        ("-u -b", &["20M", "0"]),
        ("-P", &["2", "3"]),
        ("-l", &["1000", "16K", "0"]),
        ("-w", &["64K"]),
        ("-N", &[""]),
        ("-S", &["0x10"]),
        ("-4", &[""]),
        ("-f", &["k", "m", "g", "K", "M", "G"]),
        ("-i", &["0", "0.1", "1"]),
        ("-J", &[""]),
        ("-Z", &[""]),
        ("--get-server-output", &[""]),
        ("--extra-data", &["more"]),
        ("--repeating-payload", &[""]),
        ("--connect-timeout", &["500", "0"]),
        ("--forceflush", &[""]),
        ("--bidir", &[""]),
        ("-C", &["cubic"]),
    ];
    // Most lines with one of these options end with an error.
    let wrong: &[Row] = &[
        ("-P", &["200"]),
        ("-l", &["9M"]),
        ("-w", &["1G"]),
        ("-M", &["99999"]),
        ("-S", &["256"]),
        ("-i", &["0.01", "100"]),
        ("-f", &["x"]),
        ("-C", &["bogus"]),
        ("--bogus", &[""]),
        ("-k", &["30"]),
    ];
    let (mut draws, lines) = wanted(40);
    let (home, mut differences) = (Home::new(), Vec::new());
    for _ in 0..lines {
        let mut options = draws.options(always, some);
        if draws.next().is_multiple_of(4) {
            let (name, values) = draws.pick(wrong);
            options.push((name, draws.pick(values)));
        }
        // Some ways of ending a test crash the real server.
        let server = iperf3::Server::ours(&home, "");
        let words = format!("-p {} {}", server.port(), joined(&options, " "));
        let theirs = CommandOutput::run(iperf3::run("timeout", &format!("20 iperf3 {words}")));
        let ours = home.plumb(&format!("as iperf3 {words}"));
        let mut say = |what: String| differences.push(format!("{what}: {}", both("iperf3", &words, &theirs, &ours)));
        if ours.code != theirs.code {
            say("exit codes".to_owned());
        } else if theirs.code == 0 && words.contains(" -J") {
            let [mut own, mut real] = [BTreeSet::new(), BTreeSet::new()];
            paths(&ours.json(), "", &mut own);
            paths(&theirs.json(), "", &mut real);
            // Newer versions have more members, which ours has as well.
            if !own.is_superset(&real) {
                say(format!("missing {:?}", &real - &own));
            }
        } else if theirs.code == 0 && shape_of_net(client_of(&ours.out)) != shape_of_net(client_of(&theirs.out)) {
            say("words".to_owned());
        }
    }
    none_of(&differences);
}

/// Returns ops and bytes of each kind, for each job.
fn done(out: &[u8]) -> Option<Vec<(String, Vec<u64>)>> {
    let text = String::from_utf8_lossy(out);
    let json: Value = serde_json::from_str(text.get(text.find('{')?..)?).ok()?;
    let of_job = |job: &Value| {
        let of_kind = |kind: &str| ["total_ios", "io_bytes"].map(|field| job[kind][field].as_u64().unwrap_or(0));
        let all = ["read", "write", "trim"].iter().flat_map(|kind| of_kind(kind)).collect();
        (job["jobname"].as_str().unwrap_or_default().to_owned(), all)
    };
    Some(json["jobs"].as_array()?.iter().map(of_job).collect())
}

/// The table contains options for which fio 3.33 and 3.42 agree. With 3.42,
/// random sizes and `norandommap` agree as well.
#[test]
fn fio_does_the_ops_of_the_real_one() {
    if !needs::tools(&["fio"]) {
        return;
    }
    let always: &[Row] = &[
        ("--name", &["a"]),
        ("--rw", &["read", "write", "randread", "randwrite", "rw", "randrw", "write:8k", "randread:4"]),
        ("--size", &["64k", "100k", "1m"]),
    ];
    let some: &[Row] = &[
        ("--bs", &["1k", "4k", "7k", "4k,8k", "64k", "0"]),
        ("--io_size", &["20k", "300k"]),
        ("--number_ios", &["9"]),
        ("--loops", &["2"]),
        ("--numjobs", &["2", "3"]),
        ("--nrfiles", &["2", "3"]),
        ("--ioengine", &["psync", "sync", "libaio", "pvsync", "bogus"]),
        ("--iodepth", &["1", "4", "0"]),
        ("--fsync", &["3"]),
        ("--offset", &["16k"]),
        ("--rwmixread", &["20", "80", "200"]),
        ("--group_reporting", &[""]),
        ("--end_fsync", &["1"]),
        ("--thread", &[""]),
        ("--file_service_type", &["sequential", "roundrobin"]),
        ("--verify", &["crc32c"]),
        ("--zonesize", &["16k"]),
        ("--unlink", &["1"]),
    ];
    let (mut draws, lines) = wanted(50);
    for _ in 0..lines {
        let words = format!("--output-format=json {}", joined(&draws.options(always, some), "="));
        let home = Home::new();
        let run = |mut command: Command, place: &str| {
            let place = home.work().join(place);
            std::fs::create_dir(&place).unwrap();
            command.current_dir(&place).stdin(Stdio::null()).output().unwrap()
        };
        let mut real = Command::new("fio");
        real.args(words.split_whitespace());
        let theirs = run(real, "theirs");
        let ours = run(home.command(format!("as fio {words}").split_whitespace()), "ours");
        let output = String::from_utf8_lossy(&ours.stderr);
        assert_eq!(ours.status.success(), theirs.status.success(), "fio {words}: {output}");
        if theirs.status.success() {
            assert_eq!(done(&ours.stdout), done(&theirs.stdout), "fio {words}: {output}");
            assert_eq!(names(&home.work().join("ours")), names(&home.work().join("theirs")), "fio {words}");
        }
    }
}

/// Returns names and sizes of the files that a run left. Verify states grew from version to version.
fn names(place: &Path) -> Vec<(String, u64)> {
    let named = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let bytes = if name.ends_with(".state") { 0 } else { entry.metadata().unwrap().len() };
        (name, bytes)
    };
    let mut names: Vec<(String, u64)> = std::fs::read_dir(place).unwrap().map(|entry| named(entry.unwrap())).collect();
    names.sort();
    names
}
