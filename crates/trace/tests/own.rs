//! Plumb's own format: records survive a round trip, damage costs one chunk, and no damage panics.

use plumb_trace::iolog::Waits;
use plumb_trace::{
    Facts, FileName, Names, OutputFormat, OwnWriter, Record, RecordedAct, RecordingReader, Task, UNKNOWN_NS, convert,
    open, read,
};
use proptest::prelude::*;
use std::io::Cursor;
use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name)
}

fn of_bytes(bytes: Vec<u8>) -> RecordingReader {
    read(Box::new(Cursor::new(bytes)), Path::new("t.trace"), Waits::Manual).unwrap()
}

/// Formats each record without file and thread numbers, which may differ.
fn format_records(records: &[Record], reader: &RecordingReader) -> Vec<String> {
    let line = |record: &Record| {
        let file = |number: u32| reader.files()[number as usize].clone();
        let is_two = matches!(record.act, RecordedAct::Rename | RecordedAct::Link);
        let aux = if is_two { file(record.aux as u32).to_string() } else { record.aux.to_string() };
        let task = reader.tasks().get(record.task as usize).cloned().unwrap_or_default();
        let plain = Record { file: 0, task: 0, aux: 0, ..*record };
        format!("{plain:?} {} {aux} {task:?}", file(record.file))
    };
    records.iter().map(line).collect()
}

fn all(mut reader: RecordingReader) -> (Vec<String>, RecordingReader) {
    let records: Vec<Record> = reader.by_ref().collect::<Result<_, _>>().unwrap();
    (format_records(&records, &reader), reader)
}

fn own(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut facts = Facts::default();
    facts.set("source", "a golden\nfile");
    convert(&mut open(path, Waits::Manual).unwrap(), &mut bytes, path, OutputFormat::Own, &facts).unwrap();
    bytes
}

#[test]
fn every_recording_survives_a_round_trip() {
    for name in ["strace_y.txt", "strace_raw.txt", "loop.blktrace", "fio_v3.iolog", "msr.csv", "perf_script.txt"] {
        let bytes = own(&golden(name));
        let (expected, _) = all(open(&golden(name), Waits::Manual).unwrap());
        let (found, reader) = all(of_bytes(bytes));
        assert_eq!(found, expected, "{name}");
        assert_eq!(reader.losses(), []);
        assert_eq!(reader.facts().unwrap().get("source"), Some("a golden file"));
    }
}

/// Writes many records in several chunks. Each file occurs only in some chunks.
fn large(records: u64) -> Vec<u8> {
    let (mut names, mut bytes) = (Names::default(), Vec::new());
    let mut writer = OwnWriter::new(&mut bytes, &Facts::default()).unwrap();
    for number in 0..records {
        let file = names.path(&format!("/data/directory-{}/file", number / 100));
        let task = names.task(Task { process: 7, thread: 7 + number as u32 % 3, command: "load".to_owned() });
        let range = Record::ranged(number * 1_000, file, RecordedAct::Write, number % 100 * 4096, 4096);
        let record = Record { task, took_ns: if number % 2 == 0 { 55_000 } else { UNKNOWN_NS }, ..range };
        writer.push(record, &names).unwrap();
    }
    writer.finish(&names, &Facts::default()).unwrap();
    bytes
}

/// Returns the offsets of the chunks.
fn chunks(bytes: &[u8]) -> Vec<usize> {
    bytes.windows(4).enumerate().filter(|(_, window)| window == b"PTC1").map(|(at, _)| at).collect()
}

#[test]
fn damage_costs_the_chunk_that_it_hits() {
    let whole = large(100_000);
    let starts = chunks(&whole);
    assert_eq!(starts.len(), 7, "of 16,384 records each");
    let count = |bytes: Vec<u8>| {
        let mut reader = of_bytes(bytes);
        let records = reader.by_ref().map(Result::unwrap).count();
        (records, reader.losses().len())
    };
    assert_eq!(count(whole.clone()), (100_000, 0));
    // A bit of a chunk's content, and one of its header.
    for place in [starts[1] + 1000, starts[1] + 9] {
        let mut damaged = whole.clone();
        damaged[place] ^= 4;
        assert_eq!(count(damaged), (100_000 - 16_384, 1), "{place}");
    }
    // Truncated within the third chunk: the first two are complete, including names.
    let (torn, reader) = all(of_bytes(whole[..starts[2] + 500].to_vec()));
    assert_eq!((torn.len(), reader.losses().len()), (32_768, 1));
    assert_eq!(reader.losses()[0].at, starts[2] as u64);
    assert_eq!(reader.files()[327], FileName::Path("/data/directory-327/file".to_owned()));
    // Truncated between chunks: no record is lost, but the file is reported as not closed.
    assert_eq!(count(whole[..starts[3]].to_vec()), (49_152, 1));
    // Garbage between chunks.
    let stuffed = [&whole[..starts[2]], &[0xee; 777], &whole[starts[2]..]].concat();
    assert_eq!(count(stuffed), (100_000, 1));
}

/// Three threads of a program that write files one after another take about a byte per record.
#[test]
fn regular_work_needs_little_space() {
    let bytes = large(100_000).len();
    assert!(bytes < 100_000, "{bytes} bytes for 100,000 records");
}

#[test]
fn invalid_headers_are_reported_with_their_offset() {
    let whole = own(&golden("fio_v3.iolog"));
    let failure = |bytes: &[u8]| {
        let result = read(Box::new(Cursor::new(bytes.to_vec())), Path::new("t.trace"), Waits::Manual);
        result.err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(failure(&whole[..12]).contains("byte 0: the header is cut off"), "{}", failure(&whole[..12]));
    let mut other = whole.clone();
    other[8] = 2;
    assert!(failure(&other).contains("version 2 is not supported"), "{}", failure(&other));
    other = whole.clone();
    other[20] ^= 1;
    assert!(failure(&other).contains("checksum of the header"), "{}", failure(&other));
}

/// Corrects the checksums of a chunk.
fn mend_checksums(chunk: &mut [u8]) {
    let Some((header, rest)) = chunk.split_first_chunk_mut::<40>() else { return };
    let size = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
    if let Some(payload) = rest.get(..size) {
        header[12..16].copy_from_slice(&crc32c::crc32c(payload).to_le_bytes());
    }
    let crc = crc32c::crc32c(&header[..36]);
    header[36..].copy_from_slice(&crc.to_le_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Flips bits and truncates the file anywhere.
    #[test]
    fn no_damage_panics(flips in prop::collection::vec((0..6000_usize, 0..8_u8), 0..4), end in 100..6000_usize, fix in any::<bool>()) {
        let mut bytes = own(&golden("strace_y.txt"));
        for (place, bit) in flips {
            if let Some(byte) = bytes.get_mut(place) {
                *byte ^= 1 << bit;
            }
        }
        if fix {
            // With correct checksums, so that the decoder itself sees the damage.
            for start in chunks(&bytes) {
                mend_checksums(&mut bytes[start..]);
            }
        }
        bytes.truncate(end);
        if let Ok(reader) = read(Box::new(Cursor::new(bytes)), Path::new("t.trace"), Waits::Manual) {
            prop_assert!(reader.take(200_000).filter(Result::is_ok).count() < 200_000);
        }
    }
}
