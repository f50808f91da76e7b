//! IOMeter's built-in access specifications. Source: IOMeter 1.1.0, `AccessSpecList.cpp`.

use super::config::{Line, Spec};
use plumb_workload::Bytes;
use plumb_workload::blocks::accesses::AccessLine;

/// One size: bytes, prefix of the name, read percentages, and random percentages.
struct Sized {
    bytes: u64,
    words: &'static str,
    reads: &'static [u8],
    random: u8,
}

const ALL: &[u8] = &[100, 75, 50, 25, 0];
const FEW: &[u8] = &[100, 50, 0];

const SIZES: [Sized; 7] = [
    Sized { bytes: 512, words: "512 B", reads: ALL, random: 0 },
    Sized { bytes: 4096, words: "4 KiB", reads: ALL, random: 0 },
    Sized { bytes: 4096, words: "4 KiB aligned", reads: FEW, random: 100 },
    Sized { bytes: 16_384, words: "16 KiB", reads: ALL, random: 0 },
    Sized { bytes: 32_768, words: "32 KiB", reads: ALL, random: 0 },
    Sized { bytes: 65_536, words: "64 KiB", reads: FEW, random: 0 },
    Sized { bytes: 262_144, words: "256 KiB", reads: FEW, random: 0 },
];

/// Returns a line without delay, burst or reply.
pub(super) fn line(bytes: u64, percent: u8, read_percent: u8, random_percent: u8, align: u64) -> Line {
    let (size, align) = (Bytes(bytes), Bytes(align));
    let access = AccessLine { size, percent, read_percent, random_percent, burst: 1, align, reply: Bytes(0) };
    Line { access, delay_ms: 0 }
}

/// Returns all built-in specifications, in the order of IOMeter's list.
pub fn built_in() -> Vec<Spec> {
    let spec = |name: String, lines| Spec { name, assigned: 0, lines };
    // A new specification is aligned by its own size. Those below are aligned by sectors unless they say otherwise.
    let mut specs =
        vec![spec("Idle".to_owned(), Vec::new()), spec("Default".to_owned(), vec![line(2048, 100, 67, 100, 2048)])];
    let mut together = Vec::new();
    for Sized { bytes, words, reads, random } in &SIZES {
        let align = if *random > 0 { 4096 } else { 0 };
        for &read in *reads {
            specs.push(spec(
                format!("{words}; {read}% Read; {random}% random"),
                vec![line(*bytes, 100, read, *random, align)],
            ));
            together.push(line(*bytes, 0, read, *random, align));
        }
    }
    let count = together.len().max(1);
    for (number, line) in together.iter_mut().enumerate() {
        // Shares are whole numbers, as equal as possible.
        line.access.percent = (100 / count + usize::from(number < 100 % count)) as u8;
    }
    specs.push(spec("All in one".to_owned(), together));
    specs
}

const ASSIGNED: [&str; 4] = ["NONE", "ALL", "DISK", "NET"];

pub(super) const COLUMNS: &str = "'size,% of size,% reads,% random,delay,burst,align,reply";

/// Formats the numbers of a line.
pub(super) fn numbers(line: &Line) -> String {
    let AccessLine { size, percent, read_percent, random_percent, burst, align, reply } = line.access;
    let delay = line.delay_ms;
    format!("{},{percent},{read_percent},{random_percent},{delay},{burst},{},{}", size.0, align.0, reply.0)
}

/// Formats these specifications as the section of a configuration file.
pub fn section(specs: &[Spec]) -> String {
    let mut text = "'ACCESS SPECIFICATIONS =========================================================\n".to_owned();
    for spec in specs.iter().filter(|spec| !spec.lines.is_empty()) {
        let assigned = ASSIGNED.get(spec.assigned as usize).unwrap_or(&"NONE");
        text.push_str(&format!(
            "'Access specification name,default assignment\n\t{},{assigned}\n{COLUMNS}\n",
            spec.name
        ));
        spec.lines.iter().for_each(|line| text.push_str(&format!("\t{}\n", numbers(line))));
    }
    text.push_str("'END access specifications\n");
    text
}
