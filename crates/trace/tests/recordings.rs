//! Recordings of real tools, and damaged ones, through the crate's public interface.

#![allow(clippy::disallowed_methods)] // tests write files

use plumb_trace::iolog::Waits;
use plumb_trace::merge::{MergeInput, merge};
use plumb_trace::{FileName, Format, Record, RecordedAct, RecordingReader, TraceError, flag, open, read, read_as};
use proptest::prelude::*;
use std::io::Cursor;
use std::path::Path;

fn golden(name: &str) -> RecordingReader {
    open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name), Waits::Manual).unwrap()
}

fn of_bytes(bytes: &[u8], waits: Waits) -> Result<RecordingReader, TraceError> {
    read(Box::new(Cursor::new(bytes.to_vec())), Path::new("recording"), waits)
}

fn of_text(text: &str) -> Vec<Record> {
    of_bytes(text.as_bytes(), Waits::Manual).unwrap().collect::<Result<_, _>>().unwrap()
}

fn failure(bytes: &[u8]) -> String {
    match of_bytes(bytes, Waits::Manual) {
        Err(error) => error.to_string(),
        Ok(mut reader) => match reader.find_map(Result::err) {
            Some(error) => error.to_string(),
            None => panic!("nothing was wrong"),
        },
    }
}

/// Protects: fio logs these flushes without their range or file system, and skips them in a replay.
#[test]
fn flushes_without_a_range_are_skipped() {
    let text = "fio version 3 iolog\n0 a add\n0 a open\n5 a write 0 4096\n9 a sync_file_range 0 0\n9 . syncfs 0 0\n";
    let acts: Vec<RecordedAct> = of_text(text).iter().map(|record| record.act).collect();
    assert_eq!(acts, [RecordedAct::Add, RecordedAct::Open, RecordedAct::Write]);
}

/// Protects: blktrace yields every queued op that blkparse prints.
#[test]
fn a_blktrace_yields_the_queued_ops_of_blkparse() {
    let mut reader = golden("loop.blktrace");
    assert_eq!(*reader.format(), Format::Blktrace);
    let records: Vec<Record> = reader.by_ref().collect::<Result<_, _>>().unwrap();
    let queued = include_str!("../golden/loop.queued.csv");
    // blkparse shows a flush without bytes as well.
    let queued: Vec<Vec<&str>> =
        queued.lines().map(|line| line.split(',').collect()).filter(|line: &Vec<&str>| line[4] != "0").collect();
    assert_eq!(records.iter().filter(|record| record.length > 0).count(), queued.len());
    let first_ns = nanos(queued[0][0]);
    for (record, line) in records.iter().filter(|record| record.length > 0).zip(&queued) {
        assert_eq!(record.at_ns, nanos(line[0]) - first_ns, "{line:?}");
        let act = match line[2].chars().find(|letter| "RWD".contains(*letter)) {
            Some('R') => RecordedAct::Read,
            Some('D') => RecordedAct::Trim,
            _ => RecordedAct::Write,
        };
        assert_eq!(record.act, act, "{line:?}");
        assert_eq!((record.offset, record.length), (line[3].parse::<u64>().unwrap() * 512, line[4].parse().unwrap()));
    }
    assert_eq!(reader.files(), [FileName::Device { major: 7, minor: 7 }]);
}

fn nanos(time: &str) -> u64 {
    let (seconds, rest) = time.split_once('.').unwrap();
    seconds.parse::<u64>().unwrap() * 1_000_000_000 + rest.parse::<u64>().unwrap()
}

#[test]
fn an_iolog_of_version_3_has_times_in_microseconds_and_flushes_without_a_place() {
    let mut reader = golden("fio_v3_fsync.iolog");
    let records: Vec<Record> = reader.by_ref().collect::<Result<_, _>>().unwrap();
    assert_eq!(reader.files(), [FileName::Path("ff".to_owned())]);
    let acts: Vec<RecordedAct> = records.iter().map(|record| record.act).collect();
    use RecordedAct::{Add, Close, Open, Sync, Write};
    assert_eq!(acts, [Add, Open, Write, Write, Write, Write, Sync, Write, Write, Write, Write, Close]);
    assert_eq!(records[2], Record::ranged(112_000, 0, Write, 0, 4096));
    assert_eq!(records[6], Record::ranged(149_000, 0, Sync, 0, 0));
}

/// Protects: the manual and fio differ, and both readings are supported.
#[test]
fn waits_of_version_2_follow_the_option() {
    let text = "fio version 2 iolog\nf add\nf open\nf wait 200\nf read 0 4096\nf wait 300\nf write 4096 512\nf close\n";
    let times =
        |waits| -> Vec<u64> { of_bytes(text.as_bytes(), waits).unwrap().map(|record| record.unwrap().at_ns).collect() };
    assert_eq!(times(Waits::Manual), [0, 0, 200_000, 500_000, 500_000]);
    assert_eq!(times(Waits::Fio), [0, 0, 200_000_000, 300_000_000, 300_000_000]);
}

#[test]
fn files_are_numbered_in_order_of_appearance() {
    let records = of_text("fio version 3 iolog\n5 a add\n5 b add\n9 b read 1 2\n12 a trim 3 4\n");
    let found: Vec<(u32, RecordedAct)> = records.iter().map(|record| (record.file, record.act)).collect();
    assert_eq!(found, [(0, RecordedAct::Add), (1, RecordedAct::Add), (1, RecordedAct::Read), (0, RecordedAct::Trim)]);
    assert_eq!(records[3].at_ns, 7_000);
}

/// Protects: a problem is reported with its position and the expected form.
#[test]
fn broken_recordings_are_reported_with_their_position() {
    assert!(failure(b"hello\n").contains("unknown recording format"), "{}", failure(b"hello\n"));
    assert!(failure(b"").contains("unknown recording format"));
    assert!(failure(b"fio version 1 iolog\n").contains("version 1"));
    let line = failure(b"fio version 3 iolog\n1 f add\n2 f reed 0 1\n");
    assert!(line.contains("line 3") && line.contains("`reed`"), "{line}");
    assert!(failure(b"fio version 3 iolog\n1 f read 0\n").contains("length is missing"));
    assert!(failure(b"fio version 3 iolog\n1 my file read 0 4096\n").contains("`file`"));
    assert!(failure(b"fio version 2 iolog\nf read x 1\n").contains("`x` is not a valid offset"));
    let whole = include_bytes!("../golden/loop.blktrace");
    assert!(
        failure(&whole[..whole.len() - 3]).contains("truncated")
            || failure(&whole[..whole.len() - 3]).contains("within a record")
    );
    let mut other = whole.to_vec();
    other[0] = 9;
    assert!(failure(&other).contains("version 9"));
    let garbled = [whole.as_slice(), &[0xee; 48]].concat();
    assert!(failure(&garbled).contains("not the magic number"), "{}", failure(&garbled));
}

/// Protects: both byte orders and both record lengths give the same result.
#[test]
fn byte_order_and_version_make_no_difference() {
    // READ and QUEUE categories, action Q; one sector at sector 5.
    let action: u64 = (1 | 0x10) << 16 | 1;
    let v7 = |big: bool| -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |value: u64, width: usize| {
            let all = if big { value.to_be_bytes() } else { value.to_le_bytes() };
            bytes.extend_from_slice(if big { &all[8 - width..] } else { &all[..width] });
        };
        put(0x6561_7407, 4);
        put(1, 4);
        put(77, 8);
        put(5, 8);
        put(512, 4);
        put(action, 4);
        put(1234, 4);
        put(7 << 20 | 3, 4);
        put(0, 4);
        put(0, 2);
        put(0, 2);
        bytes
    };
    let mut v8 = Vec::new();
    v8.extend_from_slice(&0x6561_7408_u32.to_le_bytes());
    v8.extend_from_slice(&1_u32.to_le_bytes());
    v8.extend_from_slice(&77_u64.to_le_bytes());
    v8.extend_from_slice(&5_u64.to_le_bytes());
    v8.extend_from_slice(&512_u32.to_le_bytes());
    v8.extend_from_slice(&1234_u32.to_le_bytes());
    v8.extend_from_slice(&action.to_le_bytes());
    v8.extend_from_slice(&(7_u32 << 20 | 3).to_le_bytes());
    v8.extend_from_slice(&[0; 4 + 2 + 2 + 12]);
    assert_eq!(v8.len(), 64);
    for bytes in [v7(false), v7(true), v8] {
        let mut reader = of_bytes(&bytes, Waits::Manual).unwrap();
        let record = reader.next().unwrap().unwrap();
        // Its end is not in the recording.
        let expected = Record { flags: flag::UNFINISHED, ..Record::ranged(0, 0, RecordedAct::Read, 2560, 512) };
        assert_eq!(record, expected);
        assert_eq!(reader.tasks()[0].process, 1234);
        assert_eq!(reader.files(), [FileName::Device { major: 7, minor: 3 }]);
    }
}

#[test]
fn merged_recordings_come_in_the_order_of_their_stretched_times() {
    let one = of_text("fio version 3 iolog\n0 a add\n10 a read 0 1\n20 a read 1 1\n");
    let two = of_text("fio version 3 iolog\n0 b add\n8 b write 0 1\n9 b write 1 1\n");
    let source = |records: Vec<Record>, percent, first_file| MergeInput {
        records: records.into_iter().map(Ok),
        percent,
        first_file,
    };
    // The second recording at half its speed.
    let merged: Vec<(u64, u32)> = merge(vec![source(one, 100.0, 0), source(two, 200.0, 1)])
        .unwrap()
        .map(|record| record.map(|record| (record.at_ns, record.file)).unwrap())
        .collect();
    assert_eq!(merged, [(0, 0), (0, 1), (10_000, 0), (16_000, 1), (18_000, 1), (20_000, 0)]);
    assert!(merge(vec![source(Vec::new(), 0.0, 0)]).is_err());
}

/// Pieces of all text formats, in any order.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "7 ",
        "1.5 ",
        "0.000000 ",
        "[pid 3] ",
        "[ 1] ",
        "read(",
        "openat(",
        "AT_FDCWD",
        "3</a>",
        "4<pipe:[1]>",
        "<",
        ">",
        "\"a\\",
        "\"",
        "\\x",
        ", ",
        ")",
        " = ",
        "-1 ENOENT",
        "?",
        "18446744073709551615",
        "-9223372036854775808",
        " <unfinished ...>",
        "<... read resumed>",
        "O_CREAT|",
        "0x",
        "{",
        "[",
        "/*",
        " */",
        "8,0 ",
        " 1 ",
        "Q ",
        "C ",
        "D ",
        "W ",
        "FWS ",
        " + ",
        "a-12 [000] ",
        ": ",
        "sys_enter_read: ",
        "sys_exit_read: ",
        "block:block_rq_issue: ",
        "fd: 0x3, ",
        "->",
        ",",
        ";",
        "Read",
        "# file_name: ",
        "\"date\": \"T:\"",
        "é",
        "\t",
        "\n",
    ]);
    prop::collection::vec(word, 0..60).prop_map(|words| words.concat())
}

proptest! {
    /// Protects: no text panics in any format's reader.
    #[test]
    fn no_text_panics(text in words()) {
        let names = ["iolog", "blkparse", "strace", "events", "elbencho", "spc", "msr", "alibaba", "tencent", "systor", "fiu", "fiu-files", "dxt", "csv"];
        for name in names {
            let format = Some(Format::named(name).unwrap());
            let start = if name == "iolog" { "fio version 3 iolog\n" } else { "" };
            let input = Box::new(Cursor::new([start, &text].concat().into_bytes()));
            let Ok(reader) = read_as(input, Path::new("recording"), Waits::Manual, format) else { continue };
            prop_assert!(reader.take(1000).take_while(Result::is_ok).count() < 1000);
        }
    }

    /// Protects: no bytes panic, or are read forever.
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), start in 0usize..6) {
        let btrecord = [0_u8, 0, 1, 0, 0, 0, 0, 0];
        let vscsi = [0x2a_u8, 0, 1, 2, 0, 0];
        let starts: [&[u8]; 6] =
            [b"", b"fio version 3 iolog\n", b"fio version 2 iolog\n", b"\x07\x74\x61\x65", &btrecord, &vscsi];
        let whole = [starts[start], &bytes].concat();
        if let Ok(reader) = of_bytes(&whole, Waits::Fio) {
            prop_assert!(reader.take(1000).take_while(Result::is_ok).count() < 1000);
        }
    }
}

/// Protects: blktrace's files, one per processor, are one recording from whichever is opened. Ops get their ends from
/// other processors, and an error names the damaged file with the byte.
#[test]
fn files_of_processors_are_one_recording() {
    let whole = include_bytes!("../golden/loop.blktrace");
    let mut files = [Vec::new(), Vec::new(), Vec::new()];
    let mut at = 0;
    while at < whole.len() {
        let word = |place: usize| u32::from_le_bytes(*whole[at + place..].first_chunk().unwrap());
        let end = at + 48 + (word(44) >> 16) as usize;
        // Neighbours on different processors: the time decides, and not the order within a file.
        files[usize::from(word(40) > 0)].extend_from_slice(&whole[at..end]);
        at = end;
    }
    assert!(!files[1].is_empty(), "two processors");
    let directory = tempfile::tempdir().unwrap();
    let path = |number: usize| directory.path().join(format!("loop.blktrace.{number}"));
    files.iter().enumerate().for_each(|(number, file)| std::fs::write(path(number), file).unwrap());
    // Threads are numbered in order of appearance, which may differ.
    let anybody = |record: Result<Record, TraceError>| Record { task: 0, ..record.unwrap() };
    let read_all = |path: &Path| open(path, Waits::Manual).unwrap().map(anybody).collect::<Vec<_>>();
    let expected: Vec<Record> = golden("loop.blktrace").map(anybody).collect();
    assert!(read_all(&path(0)) == expected && read_all(&path(1)) == expected);
    std::fs::write(path(1), &files[1][..files[1].len() - 1]).unwrap();
    let broken = open(&path(0), Waits::Manual).map(|reader| reader.filter_map(Result::err).next());
    let error = match broken {
        Ok(error) => error.unwrap().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(error.contains("loop.blktrace.1: byte ") && error.contains("ends within a record"), "{error}");
    std::fs::write(path(1), b"no trace at all").unwrap();
    assert_eq!(read_all(&path(0)).len(), open_alone(&files[0]), "another file of that name is no part of it");
}

fn open_alone(bytes: &[u8]) -> usize {
    let input = Box::new(std::io::Cursor::new(bytes.to_vec()));
    plumb_trace::read(input, Path::new("alone"), Waits::Manual).unwrap().map(Result::unwrap).count()
}

/// Protects: a format that another program must convert is named, with the command.
#[test]
fn formats_of_other_programs_are_named() {
    for (bytes, way) in
        [(&b"PERFILE2h"[..], "perf script"), (b"\x1f\x8b\x08", "gzip -d"), (b"\x28\xb5\x2f\xfd", "zstd -d")]
    {
        let input = Box::new(std::io::Cursor::new(bytes.to_vec()));
        let error = plumb_trace::read(input, Path::new("a"), Waits::Manual).err().unwrap().to_string();
        assert!(error.contains(way), "{error}");
    }
}
