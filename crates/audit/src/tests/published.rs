//! The five published studies, with every finding in each.

use super::*;
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
            // dd overwrites the raw device under the mounted ext4; Bonnie++ then uses the damaged file system.
            (Fail, "P3", "destroys", "*"),
            // One buffer of 1 GiB in 1 GiB of memory.
            (Fail, "C9", "buffer", "dd.*"),
            // One flush for the whole GiB is not "cache removed".
            (Fail, "A3", "cache-remains", "dd.*"),
            (Warn, "A3", "one-flush", "dd.*"),
            (Warn, "A9", "zeros", "*"),
            // The first resync.
            (Warn, "C2", "resync", "*"),
            // dd measures no file system, and Bonnie++ does.
            (Warn, "D6", "layers", "*"),
            (Warn, "E1", "few-runs", "*"),
            // 1.5 % and 8.9 % from one run.
            (Warn, "E1", "beneath-noise", "dd.*"),
            (Warn, "E1", "beneath-noise", "bonnie.*"),
            (Warn, "E5", "order", ""),
            // The small-file results of -n 1, which the study does not show.
            (Warn, "E10", "unused", "bonnie.*"),
            // K/sec converted to megabytes by moving the point.
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
            // if and of are swapped.
            (Fail, "P4", "swapped", "dd-1g-read.read@linux"),
            // 169 against 22183: two generations of Bonnie++.
            (Fail, "E13", "tool-generations", "bonnie.*"),
            // Numbers in the text that differ from the listing.
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
            // File systems and operating systems differ, not only the mirrors.
            (Warn, "D5", "confounded", ""),
            (Warn, "D5", "brings-along", ""),
            (Warn, "D6", "flush-rules", "bonnie.*write@* iozone-*write@* dd-*write@*"),
            (Warn, "E1", "few-runs", all_shown),
            // Means over record sizes.
            (Warn, "E4", "average", "iozone-*"),
            (Warn, "E5", "order", ""),
            // Files of 16 MiB, and reads from memory, in less than five seconds.
            (Warn, "E7", "too-short", "iozone-16m.* iozone-128m.* !iozone-128m.random-write@* iozone-1g.*read@*"),
            (Warn, "E7", "too-short", DD_READ),
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
            // The settings of T2 cannot be those that were run.
            (Fail, "P8", "parameters", "t2.*"),
            // The stated 1.4 GB, 4.5 GB and 25 MB are really 3.5 GB, 10.6 GB and 47.1 MB.
            (Fail, "P8", "moved", "t1.*"),
            (Fail, "P8", "moved", "t2.*"),
            (Fail, "P8", "moved", "t3.*"),
            // The claim "exceeds memory and removes caching".
            (Fail, "B6", "not-beyond-memory", "t1.*"),
            (Fail, "B6", "not-beyond-memory", "t3.*"),
            // No flush within the measured time.
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
            // Shows only writeback, of three journal modes.
            (Warn, "E10", "selected", ""),
            // The heading "files/sec" above MB/s.
            (Warn, "E11", "heading", "t1.* t2.*"),
            (Warn, "E11", "heading", "t3.*"),
            // Total bytes over total time, shown twice.
            (Warn, "E12", "whole-run", "*"),
            (Warn, "E12", "one-measurement", "t1.*"),
            (Warn, "E12", "one-measurement", "t2.*"),
            (Warn, "E12", "one-measurement", "t3.*"),
            // Seed, buffering, block sizes and version are missing.
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
            // Measures the random number generator instead of the SSD.
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
