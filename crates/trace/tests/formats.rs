//! Recordings of other tools, each compared with the tool's own output.

#![allow(clippy::disallowed_methods)] // tests write files

use plumb_trace::iolog::Waits;
use plumb_trace::{FileName, Format, Record, RecordedAct, RecordingReader, UNKNOWN_NS, flag, open, open_as, read};
use std::io::Cursor;
use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name)
}

fn all(mut reader: RecordingReader) -> (Vec<Record>, RecordingReader) {
    let records = reader.by_ref().collect::<Result<_, _>>().unwrap();
    (records, reader)
}

fn of_text(text: &str) -> (Vec<Record>, RecordingReader) {
    all(read(Box::new(Cursor::new(text.as_bytes().to_vec())), Path::new("recording"), Waits::Manual).unwrap())
}

/// Formats each record: act, file, offset, length and result.
fn format_records(records: &[Record], reader: &RecordingReader) -> Vec<String> {
    let line = |record: &Record| {
        let Record { act, offset, length, result, .. } = record;
        format!("{} {} {offset} {length} {result}", act.name(), reader.files()[record.file as usize])
    };
    records.iter().map(line).collect()
}

/// Returns only the traced program's own files, without those of the C library that it loads.
fn own(lines: Vec<String>) -> Vec<String> {
    lines.into_iter().filter(|line| line.contains("/data/g/")).collect()
}

const STRACE: [&str; 30] = [
    "mkdir /mnt/t/data/g/d 0 0 0",
    "open /mnt/t/data/g/a\"b\n.txt 0 0 5",
    "write /mnt/t/data/g/a\"b\n.txt 0 8 8",
    "write /mnt/t/data/g/a\"b\n.txt 4096 5 5",
    "fsync /mnt/t/data/g/a\"b\n.txt 0 0 0",
    "open /mnt/t/data/g/d/f1 0 0 6",
    "write /mnt/t/data/g/d/f1 100 5000 5000",
    "truncate /mnt/t/data/g/d/f1 0 3000 0",
    "fallocate /mnt/t/data/g/d/f1 0 8192 0",
    "seek /mnt/t/data/g/d/f1 10 0 0",
    "close /mnt/t/data/g/d/f1 0 0 0",
    "close /mnt/t/data/g/d/f1 0 0 0",
    "close /mnt/t/data/g/a\"b\n.txt 0 0 0",
    "rename /mnt/t/data/g/d/f1 0 0 0",
    "link /mnt/t/data/g/d/f2 0 0 0",
    "symlink /mnt/t/data/g/d/l 0 0 0",
    "unlink /mnt/t/data/g/d/f3 0 0 0",
    "stat /mnt/t/data/g/d/nope 0 0 -2",
    "stat /mnt/t/data/g/d/l 0 0 0",
    "open /mnt/t/data/g/d 0 0 5",
    "stat /mnt/t/data/g/d 0 0 0",
    "list /mnt/t/data/g/d 0 32768 96",
    "list /mnt/t/data/g/d 0 32768 0",
    "close /mnt/t/data/g/d 0 0 0",
    "open /mnt/t/data/g/d/f2 0 0 5",
    "mmap /mnt/t/data/g/d/f2 0 4096 0",
    "close /mnt/t/data/g/d/f2 0 0 0",
    "unlink /mnt/t/data/g/d/f2 0 0 0",
    "unlink /mnt/t/data/g/d/l 0 0 0",
    "rmdir /mnt/t/data/g/d 0 0 0",
];

/// Protects: two threads and a child, calls in two pieces, names with quotes and line ends, and paths relative to a
/// working directory that only other calls show.
#[test]
fn strace_yields_every_call_on_a_file() {
    let (records, reader) = all(open(&golden("strace_y.txt"), Waits::Manual).unwrap());
    assert_eq!(*reader.format(), Format::Strace);
    assert_eq!(own(format_records(&records, &reader)), STRACE);
    let flush = records.iter().find(|record| record.act == RecordedAct::Sync).unwrap();
    assert_eq!(flush.took_ns, 5_008_251_000);
    assert_eq!(reader.tasks()[flush.task as usize].process, 835, "thread 836 belongs to 835");
    let rename = records.iter().find(|record| record.act == RecordedAct::Rename).unwrap();
    assert_eq!(reader.files()[rename.aux as usize], FileName::Path("/mnt/t/data/g/d/f2".to_owned()));
    let open = records.iter().find(|record| record.act == RecordedAct::Open && record.result == 6).unwrap();
    assert_eq!((open.aux & 0xffff, open.aux >> 32, open.handle), (0o301, 0o644, 7));
    assert!(records.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns), "in the order of their beginnings");
}

/// Protects: numeric flags give the same records, although some calls are missing.
#[test]
fn strace_with_raw_numbers_gives_the_same() {
    let (records, reader) = all(open(&golden("strace_raw.txt"), Waits::Manual).unwrap());
    // In this run the thread also closed its file before the rename.
    assert_eq!(own(format_records(&records, &reader)), STRACE);
}

/// Protects: time differences, call numbers, and strings in hexadecimal.
#[test]
fn strace_in_hexadecimal_with_differences_of_times() {
    let (records, reader) = all(open(&golden("strace_hex.txt"), Waits::Manual).unwrap());
    let lines = format_records(&records, &reader);
    let write = lines.iter().position(|line| line.ends_with("/d/f1 100 5000 5000")).unwrap();
    assert!(lines.iter().any(|line| line.contains("a\"b\n.txt 0 8 8")), "{lines:?}");
    // The sum of all differences from the first line of this file to the write.
    assert_eq!(records[write].at_ns, 21_328_000);
}

/// Protects: blkparse's text and blktrace's records of one recording agree in queued requests and durations.
#[test]
fn blkparse_and_blktrace_agree() {
    let (text, text_reader) = all(open(&golden("loop.blkparse.txt"), Waits::Manual).unwrap());
    let (binary, binary_reader) = all(open(&golden("loop.blktrace"), Waits::Manual).unwrap());
    assert_eq!(*text_reader.format(), Format::Blkparse);
    let plain =
        |record: &Record| (record.at_ns, record.act, record.offset, record.length, record.took_ns, record.flags);
    assert_eq!(text.iter().map(plain).collect::<Vec<_>>(), binary.iter().map(plain).collect::<Vec<_>>());
    assert_eq!(text_reader.files(), binary_reader.files());
    // blkparse counts 78 reads and 34 writes, one of which is a discard; flushes come on top.
    let count = |act| text.iter().filter(|record| record.act == act).count();
    assert_eq!((count(RecordedAct::Read), count(RecordedAct::Write), count(RecordedAct::Trim)), (78, 30, 1));
    let ended = text.iter().filter(|record| record.took_ns != UNKNOWN_NS && record.act != RecordedAct::Sync).count();
    assert_eq!(ended, 109, "every request has its completion");
}

#[test]
fn perf_and_tracefs_yield_calls_and_requests() {
    let (records, reader) = all(open(&golden("perf_script.txt"), Waits::Manual).unwrap());
    assert_eq!(*reader.format(), Format::Events);
    let lines = format_records(&records, &reader);
    assert!(lines.contains(&"write device 254:0 164999340032 8192 8192".to_owned()), "{lines:?}");
    assert!(lines.contains(&"write process 1029 descriptor 7 100 5000 5000".to_owned()), "{lines:?}");
    let write = records.iter().find(|record| record.offset == 100).unwrap();
    assert_eq!(write.took_ns, 28_009);
    assert_eq!(reader.tasks()[write.task as usize].command, "mt");
    let (records, reader) = all(open(&golden("tracefs.txt"), Waits::Manual).unwrap());
    assert_eq!(format_records(&records, &reader), ["write process 3865 descriptor 6 100 5000 5000"]);
}

#[test]
fn elbencho_and_btrecord_are_read() {
    let (records, reader) = all(open(&golden("elbencho_opslog.txt"), Waits::Manual).unwrap());
    assert_eq!(*reader.format(), Format::OpsLog);
    assert_eq!(format_records(&records, &reader)[..2], ["write 3 0 4096 4096", "write 3 4096 4096 4096"]);
    assert_eq!(records.len(), 8);
    assert_eq!((records[4].at_ns, records[4].act), (1_000_000, RecordedAct::Read));
    // btrecord's own dump of this file has 111 packets in 15 bunches; its header says 110 in 14.
    let (records, reader) = all(open(&golden("loop.btrecord"), Waits::Manual).unwrap());
    assert_eq!(*reader.format(), Format::Btrecord);
    assert_eq!(records.len(), 111);
    assert_eq!((records[0].act, records[0].offset, records[0].length), (RecordedAct::Read, 3952 * 512, 128 * 512));
    assert_eq!(records[8].at_ns, 287_527);
}

/// Protects: each published format is detected, and its units are right.
#[test]
fn published_tables_are_recognised() {
    let first = |name: &str, format: &str| {
        let (records, reader) = all(open(&golden(name), Waits::Manual).unwrap());
        assert_eq!(reader.format().name(), format, "{name}");
        (records[1].at_ns, format_records(&records, &reader))
    };
    let expected =
        |at_ns: u64, lines: &[&str]| (at_ns, lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
    assert_eq!(
        first("spc.spc", "spc"),
        expected(
            2_335_000,
            &["write 0 10721927168 8192 8192", "write 0 10721198080 8192 8192", "read 1 1572864 4096 4096"]
        )
    );
    assert_eq!(
        first("msr.csv", "msr"),
        expected(1_332_052_600, &["read hm.1 383496192 32768 32768", "write hm.1 2822144 4096 4096"])
    );
    assert_eq!(
        first("alibaba_io_traces.csv", "alibaba"),
        expected(
            4_026_000,
            &["write 0 126703644672 4096 4096", "read 0 8126464 16384 16384", "write 419 8192 12288 12288"]
        )
    );
    assert_eq!(
        first("tencent_cbs.csv", "tencent"),
        expected(0, &["read 1063 6610407424 65536 65536", "write 1108 3154149376 4096 4096"])
    );
    assert_eq!(
        first("fiu_iodedup.txt", "fiu"),
        expected(845_762, &["write device 6:0 462983966720 4096 4096", "read device 6:0 260468133888 8192 8192"])
    );
    assert_eq!(
        first("fiu_nbw.txt", "fiu-files"),
        expected(100_000, &["read 131077 4096 8192 8192", "write 131077 65536 4096 4096", "fsync 131077 0 0 0"])
    );
    assert_eq!(
        first("darshan_dxt.txt", "dxt"),
        expected(
            3_800_000,
            &[
                "write /mnt/t/test.out 0 262144 262144",
                "write /mnt/t/test.out 262144 262144 262144",
                "read /mnt/t/test.out 0 524288 524288"
            ]
        )
    );
    // MPI-IO's calls on a file appear again as POSIX calls, and count once. Calls on a file
    // without POSIX calls are kept.
    let head = |name: &str| format!("\n# DXT, file_id: 1, file_name: {name}\n");
    let line = |layer: &str, length: u64| {
        format!("{layer}       0  write        0    0    {length}   0.0029   0.0032  [  3]\n")
    };
    let text = [
        head("/t/a"),
        line(" X_POSIX", 4096),
        head("/t/a"),
        line(" X_MPIIO", 8192),
        head("/t/b"),
        line(" X_MPIIO", 512),
    ];
    let (records, _) = of_text(text.concat().trim_start());
    assert_eq!(records.iter().map(|record| record.length).collect::<Vec<_>>(), [4096, 512]);
    let (records, _) = all(open(&golden("msr.csv"), Waits::Manual).unwrap());
    assert_eq!(records[0].took_ns, 11_373_600);
    let (records, reader) =
        of_text("# a preamble\nCopyright and words\n0.5 ; 8 ; 16 ; W ; 0.0 ; 0.000123\n1.0 ; 8 ; 8 ; R ; 0.0 ; 0.1\n");
    assert_eq!((reader.format().name(), records[0].took_ns, records[1].at_ns), ("blkreplay", 123_000, 500_000_000));
}

/// Protects: any table can be described.
#[test]
fn a_description_reads_an_unknown_table() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("own.tsv");
    std::fs::write(&path, "when|what|where|size\n10|W|2|4096\n12|R|3|512\n").unwrap();
    let format = Format::named("| time:ms,op,offset:4096,length").unwrap();
    let (records, _) = all(open_as(&path, Waits::Manual, Some(format)).unwrap());
    assert_eq!(records[1], Record { task: 0, ..Record::ranged(2_000_000, 0, RecordedAct::Read, 12_288, 512) });
    for wrong in ["nothing", ", time,op", ", time,op,offset,sise", ", time:h,op,offset,length"] {
        assert!(Format::named(wrong).is_err(), "{wrong}");
    }
}

/// vSCSI's two versions. Layouts from libCacheSim.
#[test]
fn vscsi_traces_are_read() {
    let mut first = Vec::new();
    for (sn, command, lbn, ts) in [(1_u32, 0x2a_u16, 8_u64, 1000_u64), (2, 0x28, 16, 1500)] {
        first.extend_from_slice(&sn.to_le_bytes());
        first.extend_from_slice(&4096_u32.to_le_bytes());
        first.extend_from_slice(&1_u32.to_le_bytes());
        first.extend_from_slice(&command.to_le_bytes());
        first.extend_from_slice(&0x0101_u16.to_le_bytes());
        first.extend_from_slice(&lbn.to_le_bytes());
        first.extend_from_slice(&ts.to_le_bytes());
    }
    let (records, reader) = all(read(Box::new(Cursor::new(first)), Path::new("v"), Waits::Manual).unwrap());
    assert_eq!(*reader.format(), Format::Vscsi);
    assert_eq!(
        records,
        [
            Record::ranged(0, 0, RecordedAct::Write, 4096, 4096),
            Record::ranged(500_000, 0, RecordedAct::Read, 8192, 4096)
        ]
    );
    let mut second = Vec::new();
    for (command, lbn, ts, rt) in [(0x88_u16, 8_u64, 1000_u64, 70_u64), (0x8a, 16, 1500, 80)] {
        second.extend_from_slice(&command.to_le_bytes());
        second.extend_from_slice(&0x0201_u16.to_le_bytes());
        for field in [1_u32, 512, 1] {
            second.extend_from_slice(&field.to_le_bytes());
        }
        for field in [lbn, ts, rt] {
            second.extend_from_slice(&field.to_le_bytes());
        }
    }
    let (records, _) = all(read(Box::new(Cursor::new(second)), Path::new("v"), Waits::Manual).unwrap());
    assert_eq!((records[0].took_ns, records[1].act, records[1].length), (70_000, RecordedAct::Write, 512));
}

/// Protects: a call without an end is marked as such, and does not hold back later ones.
#[test]
fn a_call_that_never_returned_does_not_hide_the_others() {
    let (records, _) = of_text("1 0.5 fsync(3</a> <unfinished ...>\n2 0.6 write(4</b>, \"\", 5) = 5 <0.1>\n");
    assert_eq!(records.iter().map(|record| record.act).collect::<Vec<_>>(), [RecordedAct::Write]);
    let (records, _) =
        of_text("  8,0 1 1 0.5 7 Q W 8 + 8 [a]\n  8,0 1 2 0.6 7 Q R 80 + 8 [a]\n  8,0 1 3 0.7 7 C R 80 + 8 [0]\n");
    assert_eq!((records[0].flags, records[1].took_ns), (flag::UNFINISHED, 100_000_000));
}
