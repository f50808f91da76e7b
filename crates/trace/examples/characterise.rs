//! Measures the speed of characterising a file: `characterise N FILE` writes N generated records to
//! a file, and shows it.

#![allow(clippy::disallowed_methods)] // tests write files

use plumb_trace::iolog::Waits;
use plumb_trace::show::show;
use plumb_trace::{Facts, Names, OwnWriter, Record, RecordedAct, Task};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::time::Instant;

fn main() {
    let mut words = std::env::args().skip(1);
    let count: u64 = words.next().and_then(|word| word.parse().ok()).expect("a number of records");
    let path = words.next().expect("a file");
    let path = Path::new(&path);
    if !path.exists() {
        generate(count, path);
    }
    let (begun, before) = (Instant::now(), processor_s());
    let shown = show(path, Waits::Manual, None).expect("it was just written");
    let (took, on_processor) = (begun.elapsed().as_secs_f64(), processor_s() - before);
    let ops = shown.sheet.value("mix", "ops").unwrap_or(0.0);
    println!(
        "{ops} records in {took:.2} s: {:.1} M/s; {:.0} ns of processor time each, {} KiB resident at most",
        ops / took / 1e6,
        on_processor / ops * 1e9,
        status("VmHWM:")
    );
}

/// Returns the processor time of all threads of this process in seconds, to a hundredth.
fn processor_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> =
        text.rsplit(") ").next().unwrap_or("").split(' ').map(|word| word.parse().unwrap_or(0.0)).collect();
    (fields[11] + fields[12]) / 100.0
}

fn status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap_or("");
    line.split_ascii_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Generates reads and writes of eight files by four threads, like `measure`.
fn generate(count: u64, path: &Path) {
    let mut names = Names::default();
    let files: Vec<u32> = (0..8).map(|number| names.path(&format!("/data/file-{number}"))).collect();
    let tasks: Vec<u32> =
        (0..4).map(|thread| names.task(Task { process: 1, thread: thread + 1, command: "load".to_owned() })).collect();
    let mut writer =
        OwnWriter::new(BufWriter::new(File::create(path).expect("a file")), &Facts::default()).expect("room");
    let (mut state, mut at_ns) = (1_u64, 0);
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..count {
        at_ns += random() % 20_000;
        let act = if random() % 10 < 7 { RecordedAct::Read } else { RecordedAct::Write };
        let length = if random() % 4 < 3 { 4096 } else { 16_384 };
        let range = Record::ranged(at_ns, files[(random() % 8) as usize], act, random() % (1 << 20) * 4096, length);
        let took_ns = 20_000 + random() % 40_000;
        writer.push(Record { task: tasks[(random() % 4) as usize], took_ns, ..range }, &names).expect("room");
    }
    writer.finish(&names, &Facts::default()).expect("room");
}
