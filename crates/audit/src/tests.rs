//! The five published studies, and every finding in each; clean studies, in which there is none.

use super::*;
use plumb_result::ClaimVerdict;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../audits").join(name).with_extension("toml");
    std::fs::read_to_string(path).unwrap()
}

fn audited(name: &str, text: &str) -> Audit {
    match read(name, text) {
        Ok(study) => audit(&study),
        Err(error) => panic!("{error}"),
    }
}

/// A finding that must be there: level, code, rule, and its cells as patterns with `*`; one that begins with `!` takes
/// cells away.
type Expected = (Level, &'static str, &'static str, &'static str);

/// All cells that have a number, and those that have none.
fn cells(audit: &Audit) -> Vec<String> {
    let of_row = |row: &AuditedRow| {
        let name = format!("{}.{}", row.test, row.metric);
        row.cells.iter().map(move |cell| format!("{name}@{}", cell.side)).collect::<Vec<_>>()
    };
    audit.rows.iter().flat_map(of_row).collect()
}

fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text
            .strip_prefix(before)
            .is_some_and(|rest| (0..=rest.len()).any(|at| rest.is_char_boundary(at) && fits(after, &rest[at..]))),
    }
}

fn expand(audit: &Audit, patterns: &str) -> BTreeSet<String> {
    let all = cells(audit);
    let mut chosen = BTreeSet::new();
    for pattern in patterns.split_whitespace() {
        let (pattern, takes_away) = match pattern.strip_prefix('!') {
            Some(pattern) => (pattern, true),
            None => (pattern, false),
        };
        let matching: Vec<&String> = all.iter().filter(|cell| fits(pattern, cell)).collect();
        assert!(!matching.is_empty(), "{pattern} names no cell");
        for cell in matching {
            if takes_away {
                chosen.remove(cell)
            } else {
                chosen.insert(cell.clone())
            };
        }
    }
    chosen
}

/// Exactly these findings, with exactly these cells.
#[track_caller]
fn assert_findings(audit: &Audit, expected: &[Expected]) {
    let mut missing: Vec<String> = Vec::new();
    let mut left: Vec<&AuditFinding> = audit.findings.iter().collect();
    for (level, code, rule, patterns) in expected {
        let wanted = expand(audit, patterns);
        let found = left.iter().position(|finding| {
            finding.level == *level
                && finding.code == *code
                && finding.rule == *rule
                && finding.cells.iter().cloned().collect::<BTreeSet<_>>() == wanted
        });
        match found {
            Some(at) => drop(left.remove(at)),
            None => missing.push(format!("{} {code} {rule}: {patterns}", level.name())),
        }
    }
    let surplus: Vec<String> = left
        .iter()
        .map(|finding| {
            format!("{} {} {}: {}", finding.level.name(), finding.code, finding.rule, finding.cells.join(" "))
        })
        .collect();
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "not found:\n{}\n\nnot expected:\n{}",
        missing.join("\n"),
        surplus.join("\n")
    );
}

fn verdicts(audit: &Audit) -> Vec<ClaimVerdict> {
    audit.claims.iter().map(|claim| claim.verdict).collect()
}

#[track_caller]
fn assert_says(audit: &Audit, code: &str, rule: &str, words: &[&str]) {
    let found: Vec<&AuditFinding> =
        audit.findings.iter().filter(|finding| finding.code == code && finding.rule == rule).collect();
    let says = |finding: &&&AuditFinding| {
        words.iter().all(|word| finding.message.contains(word) || finding.observed.contains(word))
    };
    assert!(found.iter().any(|finding| says(&finding)), "{code} {rule} does not say {words:?}: {found:#?}");
}

use Level::{Fail, Note, Warn};

const SHOWN_THREE: &str = "iozone-512m.write@ubuntu iozone-512m.write@mint iozone-512m.read@mint \
     iozone-1024m.write@ubuntu iozone-1024m.read@ubuntu iozone-1024m.read@mint bonnie.*@ubuntu bonnie.*@mint dd-*";
const IOZONE_THREE: &str = "iozone-512m.write@ubuntu iozone-512m.write@mint iozone-512m.read@mint \
     iozone-1024m.write@ubuntu iozone-1024m.read@ubuntu iozone-1024m.read@mint";
const WRITES_THREE: &str = "iozone-512m.write@ubuntu iozone-512m.write@mint iozone-1024m.write@ubuntu \
     bonnie.write@ubuntu bonnie.write@mint dd-write.*";

#[test]
fn three_systems() {
    let audit = audited("three-systems", &file("three-systems"));
    assert_findings(
        &audit,
        &[
            // Failed cells of Fedora plotted as 0.
            (Fail, "E9", "drawn-as-zero", "iozone-512m.*@fedora iozone-1024m.*@fedora"),
            // "Mint best" contradicts the dd rows.
            (Fail, "P10", "contradicted", "dd-write.* dd-read.read@mint dd-read.read@fedora"),
            (Warn, "A1", "read-from-memory", "dd-read.read@fedora"),
            (Warn, "A3", "not-flushed", "iozone-512m.write@ubuntu iozone-512m.write@mint iozone-1024m.write@ubuntu"),
            (Warn, "A3", "not-flushed", "bonnie.write@ubuntu bonnie.write@mint"),
            (Warn, "A9", "zeros", WRITES_THREE),
            // Files within the guest's memory …
            (Warn, "B6", "working-set", "iozone-512m.write@ubuntu iozone-512m.write@mint iozone-512m.read@mint"),
            (Warn, "B6", "working-set", "iozone-1024m.write@ubuntu iozone-1024m.read@ubuntu iozone-1024m.read@mint"),
            // … and far within the host's.
            (Warn, "B6", "working-set", IOZONE_THREE),
            (Warn, "B6", "working-set", "bonnie.*@ubuntu bonnie.*@mint"),
            (Warn, "B6", "working-set", "dd-read.*"),
            // Kernels, versions and desktops differ along with the system.
            (Warn, "D5", "brings-along", ""),
            // IOzone without -e, Bonnie++ without flush, dd with dsync.
            (Warn, "D6", "flush-rules", WRITES_THREE),
            (Warn, "E1", "few-runs", SHOWN_THREE),
            (Warn, "E1", "no-spread", SHOWN_THREE),
            (Warn, "E5", "order", ""),
            (Warn, "E10", "unused", "iozone-512m.*"),
            (Warn, "E10", "unused", "iozone-1024m.*"),
            (Warn, "E10", "unused", "bonnie.*"),
            // oflag=dsync on a read does nothing.
            (Warn, "P5", "idle-option", "dd-read.*"),
            // -S 1024 sets no cache; -n is times 1024.
            (Warn, "P6", "misread-option", "iozone-512m.*"),
            (Warn, "P6", "misread-option", "bonnie.*"),
            (Warn, "P7", "cannot-run", "dd-write.*"),
            (Warn, "P7", "cannot-run", "dd-read.*"),
            (Note, "C14", "virtual", ""),
            // 3.420 for i386 on 64-bit guests.
            (Note, "D5", "build", "iozone-*"),
            (Note, "D6", "sizes", WRITES_THREE),
            (Note, "D7", "version-not-stated", "dd-*"),
        ],
    );
    assert_says(&audit, "C14", "virtual", &["over the network"]);
    assert_says(&audit, "D6", "flush-rules", &["3 rules"]);
    assert_says(&audit, "P6", "misread-option", &["16 × 1024 = 16 384 files"]);
    assert_says(&audit, "B6", "working-set", &["12 GiB of memory of the host"]);
    assert_eq!(verdicts(&audit), [ClaimVerdict::Contradicted]);
}

#[test]
fn raid4_vs_raid5() {
    let audit = audited("raid4-vs-raid5", &file("raid4-vs-raid5"));
    assert_findings(
        &audit,
        &[
            // dd over the raw device beneath the mounted ext4; Bonnie++ on what was left.
            (Fail, "P3", "destroys", "*"),
            // One buffer of 1 GiB in 1 GiB of memory.
            (Fail, "C9", "buffer", "dd.*"),
            // One flush for the whole GiB is not "cache removed".
            (Fail, "A3", "cache-remains", "dd.*"),
            (Warn, "A3", "one-flush", "dd.*"),
            (Warn, "A9", "zeros", "*"),
            // The first resync.
            (Warn, "C2", "resync", "*"),
            // dd measures no file system, Bonnie++ does.
            (Warn, "D6", "layers", "*"),
            (Warn, "E1", "few-runs", "*"),
            // 1.5 % and 8.9 % from one run.
            (Warn, "E1", "beneath-noise", "dd.*"),
            (Warn, "E1", "beneath-noise", "bonnie.*"),
            (Warn, "E5", "order", ""),
            // Results of -n 1 that nobody used.
            (Warn, "E10", "unused", "bonnie.*"),
            // K/sec made megabytes by moving the point.
            (Warn, "E11", "point-moved", "bonnie.*"),
            (Warn, "P7", "cannot-run", "dd.*"),
            (Note, "C14", "virtual", ""),
            (Note, "D6", "sizes", "*"),
            (Note, "D7", "version-not-stated", "*"),
        ],
    );
    assert_says(&audit, "P3", "destroys", &["/dev/md0", "bonnie++ then ran on the damaged file system"]);
    assert_says(&audit, "E11", "point-moved", &["70.66 MB/s", "67.38 MiB/s"]);
    assert_says(&audit, "E1", "beneath-noise", &["8.9 %", "23 %"]);
    assert_says(&audit, "E5", "order", &["fixed order"]);
    use ClaimVerdict::{Contradicted, Unsupported};
    assert_eq!(verdicts(&audit), [Unsupported, Unsupported, Contradicted]);
}

const DD_READ: &str = "dd-4k-read.* dd-64k-read.* dd-1m-read.* dd-100m-read.*";

#[test]
fn mirrors() {
    let audit = audited("mirrors", &file("mirrors"));
    let all_shown = "* !bonnie-files.* !dd-1g-read.read@linux";
    let on_linux = "*@linux";
    assert_findings(
        &audit,
        &[
            // Reads at memory's speed, through a bus of 133 MB/s.
            (Fail, "A1", "read-from-memory", "iozone-*read@*"),
            (Fail, "A1", "read-from-memory", DD_READ),
            (Fail, "A6", "impossible-rate", DD_READ),
            (
                Fail,
                "A6",
                "impossible-rate",
                "iozone-*read@* iozone-16m.write@linux iozone-16m.random-write@linux iozone-16m.random-write@freebsd",
            ),
            (Fail, "A8", "zero-bytes", "dd-1g-read.read@linux"),
            // if and of exchanged.
            (Fail, "P4", "swapped", "dd-1g-read.read@linux"),
            // 169 against 22183: two generations of Bonnie++.
            (Fail, "E13", "tool-generations", "bonnie.*"),
            // Numbers of the text that are not those of the listing.
            (Fail, "P2", "quoted", "dd-64k-write.write@linux"),
            (Fail, "P2", "quoted", "dd-1m-write.write@linux"),
            // Seeks are per second.
            (Fail, "E11", "direction", "bonnie.seeks@*"),
            (Fail, "P10", "contradicted", "bonnie.seeks@*"),
            (Warn, "A3", "not-flushed", "bonnie.*write@linux"),
            (Warn, "A3", "not-flushed", "iozone-*write@*"),
            (Warn, "A3", "not-flushed", "dd-*write@*"),
            (Warn, "B6", "working-set", "iozone-16m.* iozone-128m.*"),
            (Warn, "B6", "working-set", "iozone-1g.*"),
            (Warn, "B6", "working-set", "dd-4k-* dd-64k-* dd-1m-* dd-100m-*"),
            (Warn, "B8", "alignment", on_linux),
            (Warn, "C2", "resync", on_linux),
            (Warn, "C9", "buffer", "dd-1g-*"),
            // File systems and systems differ, not only the mirrors.
            (Warn, "D5", "confounded", ""),
            (Warn, "D5", "brings-along", ""),
            (Warn, "D6", "flush-rules", "bonnie.*write@* iozone-*write@* dd-*write@*"),
            (Warn, "E1", "few-runs", all_shown),
            // Means over records.
            (Warn, "E4", "average", "iozone-*"),
            (Warn, "E5", "order", ""),
            (Warn, "E10", "unused", "iozone-*"),
            // MiB against MB.
            (Warn, "E11", "unit", "dd-*@freebsd"),
            (Warn, "E11", "mixed-units", "dd-* !dd-1g-read.*"),
            // "4 KB blocks" in every paragraph on reading.
            (Warn, "P2", "quoted", "dd-64k-read.* dd-1m-read.* dd-100m-read.* dd-1g-read.read@freebsd"),
            // -n 100 is 102 400 files.
            (Warn, "P6", "misread-option", "bonnie-files.*"),
            (Warn, "P9", "exchanged", "bonnie.random-create@linux bonnie.random-stat@linux"),
            (Note, "A9", "zeros", "bonnie.*write@* iozone-*write@* dd-*write@*"),
            (Note, "D6", "sizes", "bonnie.*write@* iozone-*write@* dd-*write@*"),
            (Note, "D7", "version-not-stated", "*"),
        ],
    );
    assert_says(&audit, "E11", "mixed-units", &["understates FreeBSD by 4.9 %"]);
    assert_says(&audit, "E11", "unit", &["10 rates of FreeBSD", "51.40 MB/s or 49.02 MiB/s"]);
    assert_says(&audit, "E13", "tool-generations", &["131 times"]);
    assert_says(&audit, "P2", "quoted", &["35.0", "38.0", "the number of dd-1m-write", "38.04 MB/s"]);
    assert_says(&audit, "P2", "quoted", &["23.9", "35.0", "the number of dd-4k-write"]);
    assert_says(&audit, "P4", "swapped", &["truncated testfile of 100 GiB"]);
    assert_says(&audit, "P6", "misread-option", &["100 × 1024 = 102 400 files"]);
    assert_says(&audit, "E10", "unused", &["gives 13 results; 9 of them", "stride-read"]);
    assert_eq!(verdicts(&audit), [ClaimVerdict::Contradicted]);
}

#[test]
fn ext3_kernels() {
    let audit = audited("ext3-kernels", &file("ext3-kernels"));
    assert_findings(
        &audit,
        &[
            // The settings of T2 cannot have been run.
            (Fail, "P8", "parameters", "t2.*"),
            // 1.4 GB, 4.5 GB and 25 MB are 3.5 GB, 10.6 GB and 47.1 MB.
            (Fail, "P8", "moved", "t1.*"),
            (Fail, "P8", "moved", "t2.*"),
            (Fail, "P8", "moved", "t3.*"),
            // "exceeds memory and removes caching".
            (Fail, "B6", "not-beyond-memory", "t1.*"),
            (Fail, "B6", "not-beyond-memory", "t3.*"),
            // No flush within the time.
            (Warn, "A3", "not-flushed", "*"),
            (Warn, "B6", "working-set", "t1.* t3.*"),
            (Warn, "B6", "working-set", "t2.*"),
            // The whole distribution changed.
            (Warn, "D5", "confounded", ""),
            (Warn, "D5", "brings-along", ""),
            (Warn, "E1", "few-runs", "*"),
            (Warn, "E1", "beneath-noise", "t1.*"),
            (Warn, "E1", "not-repeated", "t2.*"),
            (Warn, "E1", "not-repeated", "t3.*"),
            (Warn, "E5", "order", ""),
            (Warn, "E8", "clock", "t3.*@k26"),
            // Only writeback of three journal modes.
            (Warn, "E10", "selected", ""),
            // "files/sec" over MB/s.
            (Warn, "E11", "heading", "t1.* t2.*"),
            (Warn, "E11", "heading", "t3.*"),
            // Total bytes over total time, twice.
            (Warn, "E12", "whole-run", "*"),
            (Warn, "E12", "one-measurement", "t1.*"),
            (Warn, "E12", "one-measurement", "t2.*"),
            (Warn, "E12", "one-measurement", "t3.*"),
            // Seed, buffering, block sizes and version.
            (Note, "D7", "version-not-stated", "*"),
            (Note, "D7", "defaults", "*"),
        ],
    );
    assert_says(&audit, "E12", "one-measurement", &["233 s against 255 s"]);
    assert_says(&audit, "E12", "one-measurement", &["268 s against 99 s"]);
    assert_says(&audit, "P8", "parameters", &["1.1611", "1.0801 and 1.0808", "number = 2000 fits", "634 s"]);
    assert_says(&audit, "P8", "moved", &["1.4 GB", "3.5 GB"]);
    assert_says(&audit, "P8", "moved", &["25 MB", "47.1 MB"]);
    assert_says(&audit, "D7", "defaults", &["seed 42", "2 of 3 tests"]);
    use ClaimVerdict::{Contradicted, Unsupported};
    assert_eq!(verdicts(&audit), [Unsupported, Unsupported, Unsupported, Contradicted]);
}

#[test]
fn tools_survey() {
    let audit = audited("tools-survey", &file("tools-survey"));
    assert_findings(
        &audit,
        &[
            // 6.3 GB/s from a disk that writes 190 MB/s.
            (Warn, "A1", "read-from-memory", "dd-read.*"),
            // The random number generator, and not the SSD.
            (Warn, "B5", "source", "dd-ssd.*"),
            // 30 readers of the same blocks.
            (Warn, "B7", "same-blocks", "fio-read.*"),
            (Warn, "E1", "few-runs", "dd-write.* dd-read.*"),
            (Note, "D7", "version-not-stated", "*"),
        ],
    );
    assert_says(&audit, "A1", "read-from-memory", &["6.3 GB/s", "33.2 times", "not stated"]);
    assert_says(&audit, "B5", "source", &["/dev/urandom"]);
    assert_says(&audit, "B7", "same-blocks", &["30 jobs of fio"]);
    assert_eq!(verdicts(&audit), []);
}

/// What a study looks like that says what it did.
pub(crate) const CLEAN: &str = r#"
[study]
title = "noatime against relatime"
compares = ["mount"]
order = "randomised"
repetitions = 8

[machine]
ram = "4GiB"
link = "600MB/s"
sector = "4KiB"

[[side]]
id = "a"
facts = { os = "Debian 12", kernel = "6.1.0-30", fs = "ext4", mount = "relatime" }
tools = { dd = "9.1" }
devices = ["/dev/sdb1"]
partition-start = 2048

[[side]]
id = "b"
facts = { os = "Debian 12", kernel = "6.1.0-30", fs = "ext4", mount = "noatime" }
tools = { dd = "9.1" }
devices = ["/dev/sdb1"]
partition-start = 2048

[[test]]
id = "write"
tool = "dd"
command = "dd if=/mnt/source of=/mnt/t/file bs=1M count=20480 conv=fsync"
cell = [
  { side = "a", metric = "write", value = "143", unit = "MB/s", bytes = 21474836480, seconds = "150.2", spread = 0.012 },
  { side = "b", metric = "write", value = "151", unit = "MB/s", bytes = 21474836480, seconds = "142.2", spread = 0.011 },
]

[[test]]
id = "read"
tool = "dd"
cache = "cold"
command = "dd if=/mnt/t/file of=/dev/null bs=1M count=20480"
cell = [
  { side = "a", metric = "read", value = "160", unit = "MB/s", bytes = 21474836480, seconds = "134.2", spread = 0.02 },
  { side = "b", metric = "read", value = "162", unit = "MB/s", bytes = 21474836480, seconds = "132.6", spread = 0.02 },
]

[[claim]]
text = "noatime writes faster, by 5.6 %."
better = "b"
on = ["write"]
difference = "5.6%"
"#;

/// The other half of the truth: who does it right hears nothing.
#[test]
fn a_clean_study_has_no_finding() {
    let audit = audited("clean", CLEAN);
    let above: Vec<&AuditFinding> = audit.findings.iter().filter(|finding| finding.level > Note).collect();
    assert!(above.is_empty(), "{above:#?}");
    assert_eq!(verdicts(&audit), [ClaimVerdict::Stands]);
    assert_eq!(audit.verdict, RunVerdict::Pass);
    assert!(!audit.is_rejected());
}

/// A difference within its own uncertainty does not stand, however many runs there are.
#[test]
fn a_difference_within_the_spread_does_not_stand() {
    let text = CLEAN.replace("on = [\"write\"]\ndifference = \"5.6%\"", "on = [\"read\"]");
    let audit = audited("small", &text);
    assert_findings(&audit, &[(Warn, "E1", "beneath-noise", "read.*")]);
    assert_eq!(verdicts(&audit), [ClaimVerdict::Unsupported]);
}

/// The same in fio's words, with a rate stated twice: in bytes and in ops.
const CLEAN_FIO: &str = r#"
[study]
title = "mq-deadline against none"
compares = ["scheduler"]
order = "randomised"
repetitions = 10

[machine]
ram = "2GiB"
link = "600MB/s"

[[side]]
id = "a"
facts = { os = "Debian 12", fs = "ext4", scheduler = "mq-deadline" }
tools = { fio = "3.33" }

[[side]]
id = "b"
facts = { os = "Debian 12", fs = "ext4", scheduler = "none" }
tools = { fio = "3.33" }

[[test]]
id = "random"
tool = "fio"
command = "fio --name=x --rw=randread --bs=4k --size=1g --time_based --runtime=60 --ioengine=io_uring --direct=1 --iodepth=64"
cell = [
  { side = "a", metric = "random-read", value = "100", unit = "MB/s", spread = "1 %", quoted = [{ in = "text", value = "24.4", unit = "kIOPS" }] },
  { side = "b", metric = "random-read", value = "200", unit = "MB/s", spread = "2 MB/s", quoted = [{ in = "text", value = "48828", unit = "IOPS" }] },
]

[[test]]
id = "write"
tool = "fio"
command = "fio --name=y --rw=write --bs=1m --size=16g --end_fsync=1"
cell = [
  { side = "a", metric = "write", value = "150", unit = "MB/s", spread = "1%" },
  { side = "b", metric = "write", value = "180", unit = "MB/s", spread = "1%" },
]

[[claim]]
text = "Random reads are twice as fast."
better = "b"
on = ["random"]
difference = "100%"
"#;

/// fio's lines are read as fio reads them: who does it right hears nothing.
#[test]
fn a_clean_study_with_fio_has_no_finding() {
    let audit = audited("clean-fio", CLEAN_FIO);
    let above: Vec<&AuditFinding> = audit.findings.iter().filter(|finding| finding.level > Note).collect();
    assert!(above.is_empty(), "{above:#?}");
    assert_eq!(verdicts(&audit), [ClaimVerdict::Stands]);
}

/// A clean study, what to replace in it by what, and the code and rule that must speak.
type Planted = (&'static str, &'static str, &'static str, &'static str, &'static str);

const PLANTED: [Planted; 31] = [
    (CLEAN, "value = \"143\"", "value = \"134\"", "P1", "rate"),
    (CLEAN, "value = \"143\"", "value = \"14.3\"", "E11", "unit"),
    (CLEAN, "difference = \"5.6%\"", "difference = \"15%\"", "P1", "difference"),
    (CLEAN, "better = \"b\"", "better = \"a\"", "P10", "contradicted"),
    (CLEAN, "better = \"b\"", "better = \"b\"\nreads = \"lower\"", "E11", "direction"),
    (CLEAN, "conv=fsync", "", "A3", "not-flushed"),
    (CLEAN, "link = \"600MB/s\"", "link = \"100MB/s\"", "A6", "impossible-rate"),
    (CLEAN, "cache = \"cold\"", "file-size = \"4GiB\"", "B6", "working-set"),
    (CLEAN, "order = \"randomised\"", "order = \"fixed\"", "E5", "order"),
    (CLEAN, "repetitions = 8", "repetitions = 5", "E1", "few-runs"),
    (CLEAN, "partition-start = 2048", "partition-start = 63", "B8", "alignment"),
    (
        CLEAN,
        "kernel = \"6.1.0-30\", fs = \"ext4\", mount = \"noatime\"",
        "kernel = \"6.1.0-31\", fs = \"ext4\", mount = \"noatime\"",
        "D5",
        "confounded",
    ),
    (
        CLEAN,
        "tools = { dd = \"9.1\" }\ndevices = [\"/dev/sdb1\"]\npartition-start = 2048\n\n[[test]]",
        "tools = { dd = \"8.3\" }\ndevices = [\"/dev/sdb1\"]\npartition-start = 2048\n\n[[test]]",
        "E13",
        "tool-generations",
    ),
    (CLEAN, "dd if=/mnt/t/file of=/dev/null", "dd of=/mnt/t/file if=/dev/null", "P4", "swapped"),
    (CLEAN, "of=/dev/null bs=1M", "of=/dev/null oflag=sync bs=1M", "P5", "idle-option"),
    // 5.6 % on writes and 1.25 % on reads are 3.4 % on neither.
    (CLEAN, "on = [\"write\"]\ndifference = \"5.6%\"", "difference = \"3.4%\"", "E4", "averaged-difference"),
    (CLEAN_FIO, "io_uring --direct=1", "psync", "B1", "queue-depth"),
    (CLEAN_FIO, "io_uring --direct=1", "libaio", "B1", "queue-depth"),
    (CLEAN_FIO, "--direct=1", "", "B6", "working-set"),
    (CLEAN_FIO, "--runtime=60", "--runtime=1", "E7", "too-short"),
    (CLEAN_FIO, "\"24.4\"", "\"20.1\"", "P1", "iops"),
    (CLEAN_FIO, "\"48828\"", "\"12207\"", "P1", "iops"),
    (CLEAN_FIO, "--end_fsync=1", "", "A3", "not-flushed"),
    (CLEAN_FIO, "ram = \"2GiB\"", "ram = \"2GiB\"\nvirtual = \"VMware\"", "C14", "virtual"),
    (CLEAN_FIO, "spread = \"1 %\"", "spread = \"90 MB/s\"", "E1", "beneath-noise"),
    (CLEAN, "if=/mnt/source", "if=/dev/urandom", "B5", "source"),
    (CLEAN, "bs=1M count=20480 conv=fsync", "bs=3G count=7 conv=fsync", "C9", "buffer"),
    (CLEAN, "seconds = \"150.2\"", "seconds = \"15.02\"", "E11", "unit"),
    (CLEAN_FIO, "--rw=write --bs=1m", "--filename=/mnt/f --numjobs=4 --rw=write --bs=1m", "B7", "same-blocks"),
    (CLEAN_FIO, "repetitions = 10", "repetitions = 1", "E1", "few-runs"),
    (
        CLEAN_FIO,
        "\"180\", unit = \"MB/s\"",
        "\"180\", unit = \"MB/s\", mean-over = \"files of 1 to 16 GB\"",
        "E4",
        "average",
    ),
];

fn bent((clean, from, to, _, _): Planted) -> Audit {
    assert!(clean.contains(from), "{from}");
    audited("bent", &clean.replace(from, to))
}

/// Each change of a clean study breaks one thing, which its rule finds.
#[test]
fn each_defect_is_found_where_it_is_planted() {
    for planted in PLANTED {
        let (_, from, to, code, rule) = planted;
        let audit = bent(planted);
        let found: Vec<(&str, &str)> =
            audit.findings.iter().map(|finding| (finding.code.as_str(), finding.rule.as_str())).collect();
        assert!(found.contains(&(code, rule)), "{from} → {to}: {found:?}");
    }
    // Memory that the files still exceed is no defect.
    let larger = CLEAN.replace("ram = \"4GiB\"", "ram = \"13GiB\"");
    assert_eq!(audited("larger", &larger).verdict, RunVerdict::Pass);
}

// Protects: a table of IOPS beside one of MB/s, and IOPS beside the ops and seconds that they come from.
#[test]
fn iops_are_held_against_their_bytes_and_their_ops() {
    let line = "fio --name=x --rw=randread --bs=4k --size=64g --direct=1";
    let text = |iops: &str, ops: u64| {
        format!(
            r#"
        study.title = "two tables"
        [[side]]
        id = "a"
        [[test]]
        id = "rates"
        tool = "fio"
        command = "{line}"
        cell = [{{ side = "a", metric = "random-read", value = "100", unit = "MB/s" }}]
        [[test]]
        id = "ops"
        tool = "fio"
        command = "{line}"
        cell = [{{ side = "a", metric = "random-read", value = "{iops}", unit = "IOPS", ops = {ops}, seconds = 10 }}]"#
        )
    };
    let wrong = |iops: &str, ops: u64| -> Vec<(String, Vec<String>)> {
        let audit = audited("tables", &text(iops, ops));
        let of_p1 = audit.findings.into_iter().filter(|finding| finding.code == "P1");
        of_p1.map(|finding| (finding.rule, finding.cells)).collect()
    };
    let both = || vec!["rates.random-read@a".to_owned(), "ops.random-read@a".to_owned()];
    assert_eq!(wrong("24414", 244_140), []);
    assert_eq!(wrong("48828", 488_280), [("iops".to_owned(), both())]);
    assert_eq!(wrong("24414", 122_070), [("rate".to_owned(), vec!["ops.random-read@a".to_owned()])]);
}

// Protects: a dd without a count reads what an earlier one wrote, so that its size is known.
#[test]
fn what_dd_reads_to_its_end_has_the_size_that_was_written() {
    let text = r#"
        study.title = "dd"
        machine.ram = "8GiB"
        [[side]]
        id = "a"
        [[test]]
        id = "write"
        tool = "dd"
        command = "dd if=/mnt/source of=/mnt/t bs=1M count=4096 conv=fsync"
        cell = [{ side = "a", metric = "write", value = 190, unit = "MB/s" }]
        [[test]]
        id = "read"
        tool = "dd"
        command = "dd if=/mnt/t of=/dev/null bs=1M"
        cell = [{ side = "a", metric = "read", value = "6.3", unit = "GB/s" }]"#;
    let audit = audited("dd", text);
    assert_says(&audit, "B6", "working-set", &["4 GiB", "50 %"]);
    assert_says(&audit, "A1", "read-from-memory", &["fit in memory", "this is the speed of memory"]);
}

// Protects: a line whose every part says that nothing was measured does not carry a claim.
#[test]
fn a_second_of_reads_at_a_depth_in_name_only_bears_no_claim() {
    let text =
        CLEAN_FIO.replace("--time_based --runtime=60 --ioengine=io_uring --direct=1", "--runtime=1 --ioengine=psync");
    let audit = audited("published", &text);
    assert_says(&audit, "B1", "queue-depth", &["iodepth=64 has no effect with ioengine=psync"]);
    assert_says(&audit, "E7", "too-short", &["at most 1 s"]);
    assert_eq!(verdicts(&audit), [ClaimVerdict::Unsupported]);
}

/// All that reads the file is held against memory, not only what is called a read.
#[test]
fn seeks_in_a_file_that_fits_in_memory_are_found() {
    let text = r#"
        study.title = "seeks"
        machine.ram = "8GiB"
        [[side]]
        id = "a"
        [[test]]
        id = "bonnie"
        tool = "bonnie++"
        command = "bonnie++ -d /mnt -s 4g -n 0 -u root"
        cell = [
          { side = "a", metric = "read", value = 900, unit = "MB/s" },
          { side = "a", metric = "rewrite", value = 300, unit = "MB/s" },
          { side = "a", metric = "seeks", value = 9000, unit = "/s" },
        ]"#;
    let audit = audited("seeks", text);
    let found = audit.findings.iter().find(|finding| finding.rule == "working-set").expect("a finding");
    assert_eq!(found.cells, ["bonnie.read@a", "bonnie.rewrite@a", "bonnie.seeks@a"]);
}

/// An error names the place, what is wrong there, and the way out.
#[test]
fn errors_name_line_key_value_and_way_out() {
    for (from, to, message, help) in [
        (
            "side = \"a\", metric = \"write\"",
            "side = \"aa\", metric = \"write\"",
            "unknown side `aa`",
            "did you mean `a`?",
        ),
        (
            "metric = \"write\", value = \"143\"",
            "metric = \"wrote\", value = \"143\"",
            "`wrote`",
            "did you mean `write`?",
        ),
        ("unit = \"MB/s\", bytes", "unit = \"MB\", bytes", "unknown unit `MB`", "`MB/s`"),
        ("unit = \"MB/s\", bytes", "bytes", "the number has no unit", "add `unit`"),
        ("value = \"143\"", "value = \"fast\"", "`fast` is not a number as printed", ""),
        ("repetitions = 8", "repetition = 8", "unknown key `repetition`", "did you mean `repetitions`?"),
        ("on = [\"write\"]", "on = [\"wrte\"]", "unknown test or test.metric `wrte`", "did you mean `write`?"),
        ("id = \"b\"", "id = \"a\"", "`a` is used twice", "its own `id`"),
        ("value = \"143\"", "missing = \"lost\", value = \"143\"", "cannot be missing", "`drawn`"),
        ("spread = 0.012", "spread = 12", "not a spread", "0.03 is 3 %"),
        ("spread = 0.012", "spread = \"3 ms\"", "a spread in another kind of unit", "a share of it"),
        ("spread = 0.012", "spread = \"-3%\"", "`-3%` is not a spread", "4.1 MB/s"),
        ("seconds = \"150.2\"", "seconds = \"0\"", "nothing takes no time", "leave it out"),
        ("[[claim]]", "[[claim", "this is not TOML", ""),
    ] {
        let error = read("study.toml", &CLEAN.replacen(from, to, 1)).expect_err(to).to_string();
        let named = error.contains("study.toml:") && error.contains(message) && error.contains(help);
        assert!(named, "{to}:\n{error}");
    }
}

/// The schema is generated from the types that read, and names what the document names.
#[cfg(feature = "schema")]
#[test]
fn the_schema_is_of_the_form() {
    let schema = schema().to_string();
    for key in ["host-ram", "mean-over", "quoted", "asserts", "beyond-memory", "partition-start"] {
        assert!(schema.contains(&format!("\"{key}\"")), "{key}");
    }
}

fn any_file() -> impl Strategy<Value = String> {
    let base = prop::sample::select(vec![
        CLEAN.to_owned(),
        file("three-systems"),
        file("raid4-vs-raid5"),
        file("ext3-kernels"),
    ]);
    // A piece taken out, and one put in, anywhere.
    (
        base,
        0.0_f64..1.0,
        0_usize..40,
        prop::sample::select(vec![
            "",
            "0",
            "-1",
            "1e300",
            "\"",
            "[",
            "]",
            "{",
            "}",
            "=",
            "\n",
            "[[test]]\n",
            "nan",
            "true",
            "é",
            "\u{0}",
            "99999999999999999999",
            "value = 0",
            "seconds = 0",
            "bs=0",
            "count=0",
            "bs=99999999g",
            "set size 0 0",
            "set number 999999999999",
        ]),
    )
        .prop_map(|(text, at, take, put)| {
            let mut start = (text.len() as f64 * at) as usize;
            while !text.is_char_boundary(start) {
                start -= 1;
            }
            let mut end = (start + take).min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            format!("{}{put}{}", &text[..start], &text[end.max(start)..])
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Whatever is in a file, it is read and audited, or refused with words; numbers that come out are numbers.
    #[test]
    fn no_file_panics(text in any_file()) {
        match read("any.toml", &text) {
            Ok(study) => {
                let audit = audit(&study);
                prop_assert!(audit.findings.iter().all(|finding| !finding.message.contains("NaN")), "{:?}", audit.findings);
            }
            Err(error) => prop_assert!(!error.diagnostics.is_empty()),
        }
    }
}

/// The page that people read has the rules that decide.
#[test]
fn the_document_lists_the_rules() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, _) = text.split_once("regenerates it. -->\n\n").unwrap();
    let wanted = format!("{before}regenerates it. -->\n\n{}", rules_table());
    if std::env::var_os("PLUMB_BLESS").is_some() {
        std::fs::write(&page, &wanted).unwrap();
    }
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written == wanted, "docs/audit.md is out of date; run `PLUMB_BLESS=1 cargo test -p plumb-audit`");
}

/// A code without a check has its words here.
#[test]
fn codes_of_published_numbers_are_explained() {
    for rule in RULES {
        let text = explanation(&rule.code.to_lowercase(), 80).unwrap();
        let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(rule.name) && said.contains(rule.fix), "{text}");
    }
    assert!(explanation("P99", 80).is_none());
}
