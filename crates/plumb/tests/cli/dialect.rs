//! `plumb as fio` end to end, compared with the real fio if it is installed.

use crate::common::Home;
use crate::common::needs::tools;
use std::process::Command;

/// The output that scripts check first.
#[test]
fn version_and_help_are_fio_s() {
    let home = Home::new();
    let version = home.plumb("as fio -v").expect(0).out;
    assert!(version.starts_with("fio-3.") && version.ends_with('\n'), "{version}");
    assert_eq!(home.plumb("as fio --version").expect(0).out, version);
    home.plumb("as fio --help").expect(0).expect_stdout(&["--output-format", "--parse-only"]);
    home.plumb("as fio --cmdhelp=iodepth").expect(0).expect_stdout(&["Queue depth: ops in flight.", "default: 1"]);
    home.plumb("as fio --cmdhelp").expect(0).expect_stdout(&["random_distribution"]);
    home.plumb("as fio --enghelp").expect(0).expect_stdout(&["Available IO engines:", "io_uring"]);
}

/// Protects: help and read-only actions end as in fio 3.33, with its exit codes and text.
#[test]
fn what_runs_nothing_ends_as_in_fio() {
    let home = Home::new();
    for (words, code, out, err) in [
        ("--parse-only --ss=iops:10 --ss_dur=10s", 0, "", ""),
        ("--parse-only", 0, "", ""),
        ("--showcmd", 0, "", ""),
        ("--cmdhelp=zzzzzzz", 0, "\n", "No such command: zzzzzzz"),
        ("--enghelp=psync", 1, "IO engine psync has no options\n", ""),
        ("--enghelp=io_uring,zzzzzzz", 1, "\n", "No such command: zzzzzzz"),
        ("--debug=nope --parse-only", 0, "", "fio: debug mask nope not found\n"),
    ] {
        let output = home.plumb(&format!("as fio {words}")).expect(code);
        assert_eq!((output.out.as_str(), output.err.as_str()), (out, err), "{words}");
    }
    let close =
        home.plumb("as fio --cmdhelp=idoepth").expect(0).expect_stdout(&["- showing closest match", "iodepth: Queue"]);
    assert_eq!(close.err, "No such command: idoepth");
    home.plumb("as fio --enghelp=nope").expect(1).expect_stdout(&["IO engine nope not found"]);
    home.plumb("as fio --enghelp=libaio").expect(0).expect_stdout(&["cmdprio_percentage"]);
    let areas =
        home.plumb("as fio --debug=help").expect(0).expect_stdout(&["fio: dumping debug options:process,file,io,"]);
    assert!(areas.out.ends_with("zbd,all\n"), "{}", areas.out);
    // The first such option ends parsing; an error before it does too.
    home.plumb("as fio --version --nope").expect(0).expect_stdout(&["fio-3."]);
    home.plumb("as fio --nope --version").expect(1).expect_stderr(&["unknown fio option `nope`"]);
}

/// Protects: the lines of `--debug=parse` that fio's steady-state test looks for.
#[test]
fn debug_parse_prints_how_options_are_read() {
    let home = Home::new();
    for (limit, line) in [
        ("iops:10", "set steady state IOPS threshold to 10.000000"),
        ("iops:.1%", "set steady state threshold to 0.100000%"),
        ("bw:12", "set steady state BW threshold to 12"),
    ] {
        let words = format!("as fio --parse-only --debug=parse --ss_dur=10s --ss={limit} --ss_ramp=5");
        home.plumb(&words).expect(0).expect_stdout(&[
            "fio: set debug option parse",
            "handle_option=steadystate, ptr=",
            line,
        ]);
    }
}

/// A link with the name of the tool works.
#[test]
fn a_link_named_fio_is_fio() {
    let home = Home::new();
    let link = home.work().join("fio");
    std::os::unix::fs::symlink(home.command([""]).get_program(), &link).unwrap();
    let output = Command::new(&link).arg("--version").output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("fio-3."));
}

/// An empty command line is an error, and so is an unknown tool.
#[test]
fn a_command_without_jobs_is_an_error() {
    let home = Home::new();
    home.plumb("as fio").expect(1).expect_stderr(&["no job given"]);
    home.plumb("as paper").expect(2).expect_stderr(&["unknown tool `paper`; supported: "]);
}

/// All warnings are on one line, and a run can be told to stop at them.
#[test]
fn doubts_are_one_line() {
    let home = Home::new();
    home.file("a.fio", "[a]\nruntime=5sec\nbs=1.5k\n");
    let output = home.plumb("as fio --parse-only a.fio").expect(0);
    assert_eq!(output.err.lines().count(), 1, "{}", output.err);
    let output = output.expect_stderr(&["a.fio:2: runtime: `5sec` is read as 5 s; fio reads 5 µs", "1536"]);
    assert!(output.err.contains("--compat=strict"));
    home.plumb("as fio --parse-only --warnings-fatal a.fio").expect(1);
    assert_eq!(home.plumb("as fio --compat=strict --parse-only a.fio").expect(0).err, "");
}

/// Options for section bodies that fio 3.33 and later know; some are invalid.
const LINES: &[&str] = &[
    "rw=randread",
    "rw=randread:8",
    "rw=write:4k",
    "rw=randraed",
    "readwrite=randrw",
    "rwmixread=70",
    "rwmixread=101",
    "bs=4k",
    "bs=4k,8k",
    "bs=8k,32k,",
    "bs=,8k",
    "bs=k",
    "bs=4kfoo",
    "bs=0",
    "blocksize=1.5k",
    "bsrange=1k-4k",
    "bsrange=4k",
    "bssplit=4k/60:64k/40",
    "size=1m",
    "size=50%",
    "size=1z",
    "size=lots",
    "io_size=4m",
    "filesize=1m-4m",
    "offset=4k",
    "number_ios=100",
    "iodepth=0",
    "iodepth=4",
    "iodepth=0x10",
    "direct=1",
    "direct=2",
    "buffered=0",
    "runtime=5sec",
    "runtime=1m30s",
    "runtime=abc",
    "time_based",
    "time_based=0",
    "thread",
    "group_reporting=1",
    "stonewall",
    "nice=-5",
    "nice=20",
    "percentage_random=10,20",
    "percentage_random=101",
    "random_distribution=zipf:1.2",
    "random_distribution=pareto:0.3",
    "random_distribution=zipf:1",
    "random_distribution=nowhere",
    "file_service_type=random:8",
    "percentile_list=50:99:99.9",
    "percentile_list=101",
    "verify=crc32c",
    "verify=none",
    "verify_pattern=0xff",
    "fsync=8",
    "sync_file_range=write:8",
    "rate=1m,500k",
    "rate_iops=100",
    "rate_process=poisson",
    "thinktime=50us",
    "startdelay=1-2",
    "fadvise_hint=random",
    "fallocate=keep",
    "fallocate=maybe",
    "description=hello world",
    "exec_prerun=echo hi; echo there",
    "filename=/dev/null:/dev/zero",
    "write_bw_log",
    "write_bw_log=name",
    "kb_base=1000",
    "foo=1",
    "verifysort=1",
    "threads=4",
    "hipri",
    "steadystate=iops_slope:0.3%",
    "steadystate=iops",
    "replay_align=3",
];

/// A small generator, so that every run tests the same jobs.
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}

/// Generates jobs of one line each, then jobs of several.
fn jobs() -> Vec<String> {
    let mut draw = Draw(42);
    let alone = LINES.iter().map(|line| format!("[job]\n{line}\n"));
    let mixed = (0..40).map(|_| {
        let mut text = String::new();
        for section in ["[global]", "[first]", "[second]"] {
            text += section;
            text.push('\n');
            for _ in 0..draw.below(4) {
                text += LINES[draw.below(LINES.len())];
                text.push('\n');
            }
        }
        text
    });
    alone.chain(mixed).collect()
}

/// Normalises a line of fio's. Intended differences are removed: blanks after `=`, quotes, and words in the middle of
/// the line.
fn plain(line: &str) -> String {
    let line = line.replace("Option verifysort is deprecated", "");
    line.replace("= ", "=").replace(['"', '\''], "").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Both accept and refuse the same jobs, and print the same line for accepted ones.
#[test]
fn fio_itself_agrees() {
    if !tools(&["fio"]) {
        return;
    }
    let home = Home::new();
    let mut differ = Vec::new();
    for text in jobs() {
        home.file("a.fio", &text);
        let theirs = Command::new("fio").args(["--showcmd", "a.fio"]).current_dir(home.work()).output().unwrap();
        let ours = home.plumb("as fio --compat=strict --showcmd a.fio");
        if theirs.status.success() != (ours.code == 0) {
            let words = String::from_utf8_lossy(&theirs.stderr).into_owned();
            differ
                .push(format!("{text}fio ends with {:?} {words}and we with {} {}", theirs.status, ours.code, ours.err));
        } else if ours.code == 0 {
            let theirs = plain(&String::from_utf8_lossy(&theirs.stdout));
            if theirs != plain(&ours.out) {
                differ.push(format!("{text}fio: {theirs}\nwe:  {}", plain(&ours.out)));
            }
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ.join("\n\n"));
}

/// Typographic dashes, pasted from a web page, are explained.
#[test]
fn typographic_dashes_are_pointed_out() {
    let home = Home::new();
    let hint = "begins with a typographic dash and is not an option; use";
    let output = home.plumb("as iozone –Ra -s 64k -i 0 -r 64k").expect(0);
    assert!(output.err.contains(&format!("`–Ra` {hint} `-Ra`")), "{}", output.err);
    assert!(output.out.contains("Command line used: iozone –Ra"), "it runs as the tool would: {}", output.out);
    let output = home.plumb("as iostat –mx 1 1").expect(0);
    assert!(output.err.contains(&format!("`–mx` {hint} `-mx`")), "{}", output.err);
    home.plumb("as fio –name=job --rw=read").expect_stderr(&[hint, "use `--name=job`"]);
    assert!(!home.plumb("as iozone -Ra -s 64k -i 0 -r 64k").err.contains(hint));
}
