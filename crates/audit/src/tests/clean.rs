//! Clean studies without findings, and defects planted in them.

use super::*;
use Level::{Note, Warn};

/// A study that documents what it did.
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

/// Protects: a sound study gets no findings.
#[test]
fn a_clean_study_has_no_finding() {
    let audit = audited("clean", CLEAN);
    let above: Vec<&AuditFinding> = audit.findings.iter().filter(|finding| finding.level > Note).collect();
    assert!(above.is_empty(), "{above:#?}");
    assert_eq!(verdicts(&audit), [ClaimVerdict::Stands]);
    assert_eq!(audit.verdict, RunVerdict::Pass);
    assert!(!audit.is_rejected());
}

/// Protects: a difference within its own uncertainty does not stand, for any number of runs.
#[test]
fn a_difference_within_the_spread_does_not_stand() {
    let text = CLEAN.replace("on = [\"write\"]\ndifference = \"5.6%\"", "on = [\"read\"]");
    let audit = audited("small", &text);
    assert_findings(&audit, &[(Warn, "E1", "beneath-noise", "read.*"), (Note, "E1", "bars", "*")]);
    assert_eq!(verdicts(&audit), [ClaimVerdict::Unsupported]);
}

/// A clean study with fio, with a rate stated twice: in bytes and in ops.
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

/// Protects: fio's options are read as fio reads them, and a sound study gets no findings.
#[test]
fn a_clean_study_with_fio_has_no_finding() {
    let audit = audited("clean-fio", CLEAN_FIO);
    let above: Vec<&AuditFinding> = audit.findings.iter().filter(|finding| finding.level > Note).collect();
    assert!(above.is_empty(), "{above:#?}");
    assert_eq!(verdicts(&audit), [ClaimVerdict::Stands]);
}

/// A clean study, a text in it, its replacement, and the code and rule of the expected finding.
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
    // 5.6 % on writes and 1.25 % on reads average to 3.4 %, which is true of neither.
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

/// Protects: each change of a clean study breaks one thing, and its rule finds it.
#[test]
fn each_defect_is_found_where_it_is_planted() {
    for planted in PLANTED {
        let (_, from, to, code, rule) = planted;
        let audit = bent(planted);
        let found: Vec<(&str, &str)> =
            audit.findings.iter().map(|finding| (finding.code.as_str(), finding.rule.as_str())).collect();
        assert!(found.contains(&(code, rule)), "{from} → {to}: {found:?}");
    }
    // Memory that is still smaller than the files is not a defect.
    let larger = CLEAN.replace("ram = \"4GiB\"", "ram = \"13GiB\"");
    assert_eq!(audited("larger", &larger).verdict, RunVerdict::Pass);
}

// Protects: IOPS are compared with MB/s of another table, and with the ops and seconds that they come from.
#[test]
fn iops_are_compared_with_their_bytes_and_their_ops() {
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

// Protects: a dd without a count reads what an earlier one wrote, so its size is known.
#[test]
fn a_dd_without_count_reads_the_size_that_was_written() {
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

// Protects: a command whose parts all show that nothing was measured does not support a claim.
#[test]
fn a_second_of_reads_at_an_ineffective_depth_supports_no_claim() {
    let text =
        CLEAN_FIO.replace("--time_based --runtime=60 --ioengine=io_uring --direct=1", "--runtime=1 --ioengine=psync");
    let audit = audited("published", &text);
    assert_says(&audit, "B1", "queue-depth", &["iodepth=64 has no effect with ioengine=psync"]);
    assert_says(&audit, "E7", "too-short", &["at most 1 s"]);
    assert_eq!(verdicts(&audit), [ClaimVerdict::Unsupported]);
}

/// Protects: every test that reads the file is compared with memory, not only those named reads.
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
