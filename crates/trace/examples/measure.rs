//! Measures the cost of the own format: bytes per record, and the speed of writing and reading. `measure FILE…` takes
//! recordings of any format; `measure N` generates N records. Rates are per second of processor time, so that other
//! load on the machine matters little.

use plumb_trace::iolog::Waits;
use plumb_trace::{Facts, Names, OwnWriter, Record, RecordedAct, Task, open, read};
use std::io::Cursor;
use std::path::Path;

fn main() {
    for word in std::env::args().skip(1) {
        let (records, names) = match word.parse() {
            Ok(count) => generated(count),
            Err(_) => recorded(Path::new(&word)),
        };
        let begun = on_processor_s();
        let mut bytes = Vec::new();
        let mut writer = OwnWriter::new(&mut bytes, &Facts::default()).expect("memory takes it");
        for record in &records {
            writer.push(*record, &names).expect("memory takes it");
        }
        writer.finish(&names, &Facts::default()).expect("memory takes it");
        let written = on_processor_s() - begun;
        let size = bytes.len() as f64;
        let begun = on_processor_s();
        let reader =
            read(Box::new(Cursor::new(bytes)), Path::new("memory"), Waits::Manual).expect("it was just written");
        let sum = reader.map(Result::unwrap).fold(0, |sum: u64, record| sum.wrapping_add(record.at_ns));
        let read = on_processor_s() - begun;
        let count = records.len() as f64;
        println!(
            "{word}: {count} records, {:.2} B a record, written at {:.1} M/s, read at {:.1} M/s ({sum:x})",
            size / count,
            count / written / 1e6,
            count / read / 1e6,
        );
    }
}

/// Returns the processor time of this thread in seconds.
fn on_processor_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}

fn recorded(path: &Path) -> (Vec<Record>, Names) {
    let mut reader = open(path, Waits::Manual).unwrap_or_else(|error| panic!("{error}"));
    let records: Vec<Record> = reader.by_ref().collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}"));
    let mut names = Names::default();
    reader.files().iter().for_each(|file| {
        names.file(file.clone());
    });
    reader.tasks().iter().for_each(|task| {
        names.task(task.clone());
    });
    (records, names)
}

/// Generates reads and writes of a device at random times, three quarters of them of 4 KiB.
fn generated(count: u64) -> (Vec<Record>, Names) {
    let mut names = Names::default();
    let file = names.device(8, 0);
    let task = names.task(Task { process: 1, thread: 1, command: "generated".to_owned() });
    let (mut state, mut at_ns) = (1_u64, 0);
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let records = (0..count).map(|_| {
        at_ns += (-((random() >> 11) as f64 / (1_u64 << 53) as f64).max(1e-9).ln() * 20_000.0) as u64;
        let act = if random() % 10 < 7 { RecordedAct::Read } else { RecordedAct::Write };
        let length = if random() % 4 < 3 { 4096 } else { 65_536 };
        let took_ns = 60_000 + random() % 40_000;
        Record { task, took_ns, ..Record::ranged(at_ns, file, act, random() % (1 << 24) * 4096, length) }
    });
    (records.collect(), names)
}
