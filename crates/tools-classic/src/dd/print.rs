//! dd's messages on standard error.

use super::human::{self, Base};
use super::keywords::{Conv, Personality, Status};
use super::lower::Unreachable;
use super::operands::Dd;
use super::quote;
use plumb_result::copy::{CopyBlocks, CopyCounts, CopyEvent, CopyStep};
use std::io;

/// Prints dd's messages. The output depends on what was printed last.
#[derive(Debug, Clone)]
pub struct Reporter {
    program: String,
    personality: Personality,
    status: Status,
    input: String,
    output: String,
    passes_over_read_errors: bool,
    /// Number of characters that the next carriage return overwrites.
    progress_length: usize,
    /// Bytes in the last progress line.
    told_bytes: Option<u64>,
    has_failed: bool,
    reader_is_gone: bool,
    /// Whether an end could not be closed, which is dd's last message.
    is_over: bool,
}

impl Reporter {
    /// Creates a reporter for a command line. `program` is the name it was called by.
    pub fn new(dd: &Dd, program: &str) -> Reporter {
        let name = |path: &Option<String>, stream: &str| path.clone().unwrap_or_else(|| stream.to_owned());
        let streams = match dd.personality {
            Personality::Gnu => ["standard input", "standard output"],
            Personality::FreeBsd => ["stdin", "stdout"],
        };
        Reporter {
            program: program.to_owned(),
            personality: dd.personality,
            status: dd.status,
            input: name(&dd.input, streams[0]),
            output: name(&dd.output, streams[1]),
            passes_over_read_errors: dd.conversions.contains(&Conv::Noerror),
            progress_length: 0,
            told_bytes: None,
            has_failed: false,
            reader_is_gone: false,
            is_over: false,
        }
    }

    /// Whether something failed, so that dd exits with 1.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Whether the reader of the output is gone, which ends dd silently.
    pub fn reader_is_gone(&self) -> bool {
        self.reader_is_gone
    }

    /// Returns the text to print for an event; may be empty.
    pub fn hear(&mut self, event: CopyEvent, counts: &CopyCounts, elapsed_ns: u64) -> String {
        let is_silent = self.status == Status::None;
        if self.is_over {
            return String::new();
        }
        match event {
            CopyEvent::Second if self.status == Status::Progress => {
                self.progress(counts, elapsed_ns, &format!("{:.0}", elapsed_ns as f64 / 1e9))
            }
            CopyEvent::Second => String::new(),
            // A slow flush after the last line would look like a stalled copy.
            CopyEvent::Flushes if self.status == Status::Progress => match self.told_bytes {
                Some(printed) if printed < counts.written_bytes => {
                    self.progress(counts, elapsed_ns, &general(elapsed_ns as f64 / 1e9))
                }
                _ => String::new(),
            },
            CopyEvent::Flushes => String::new(),
            CopyEvent::SkippedPastEnd if is_silent => String::new(),
            CopyEvent::SkippedPastEnd => {
                self.message(&format!("{}: cannot skip to specified offset", quote::file_if_needed(&self.input)))
            }
            CopyEvent::ShortRead { .. } if is_silent || self.personality == Personality::FreeBsd => String::new(),
            CopyEvent::ShortRead { bytes } => {
                let unit = if bytes == 1 { "byte" } else { "bytes" };
                self.message(&format!("warning: partial read ({bytes} {unit}); suggest iflag=fullblock"))
            }
            CopyEvent::Failed { what: CopyStep::Write | CopyStep::WriteBlock, errno: EPIPE } => {
                self.reader_is_gone = true;
                String::new()
            }
            CopyEvent::Failed { what, errno } => self.failed(what, errno),
            CopyEvent::Ended if self.reader_is_gone => String::new(),
            CopyEvent::ProgressRequested | CopyEvent::PassesOver | CopyEvent::Ended | CopyEvent::Interrupted => {
                self.summary(counts, elapsed_ns)
            }
        }
    }

    fn failed(&mut self, what: CopyStep, errno: i32) -> String {
        let is_passed_over = what == CopyStep::Read && self.passes_over_read_errors;
        self.has_failed |= !is_passed_over && what != CopyStep::TurnOffDirect;
        self.is_over |= matches!(what, CopyStep::CloseInput | CopyStep::CloseOutput);
        let hidden = (is_passed_over || what == CopyStep::TurnOffDirect) && self.status == Status::None;
        if hidden {
            return String::new();
        }
        let reason = reason(errno);
        if self.personality == Personality::FreeBsd {
            return self.message(&format!("{}: {reason}", self.name_of(what)));
        }
        let name = quote::file(self.name_of(what));
        let plain = quote::file_if_needed(self.name_of(what));
        let subject = match what {
            CopyStep::LookAtInput | CopyStep::LookAtOutput => format!("cannot fstat {name}"),
            CopyStep::Skip => format!("{plain}: cannot skip"),
            CopyStep::Seek | CopyStep::PassOver => format!("{plain}: cannot seek"),
            CopyStep::Read => format!("error reading {name}"),
            CopyStep::Write => format!("error writing {name}"),
            CopyStep::WriteZeros | CopyStep::WriteBlock => format!("writing to {name}"),
            CopyStep::SetLength { bytes } => format!("failed to truncate to {bytes} bytes in output file {name}"),
            CopyStep::TurnOffDirect => format!("failed to turn off O_DIRECT: {plain}"),
            CopyStep::Fdatasync => format!("fdatasync failed for {name}"),
            CopyStep::Fsync => format!("fsync failed for {name}"),
            CopyStep::DropInput | CopyStep::DropOutput => format!("failed to discard cache for: {plain}"),
            CopyStep::CloseInput => format!("closing input file {name}"),
            CopyStep::CloseOutput => format!("closing output file {name}"),
        };
        self.message(&format!("{subject}: {reason}"))
    }

    fn name_of(&self, what: CopyStep) -> &str {
        match what {
            CopyStep::LookAtInput
            | CopyStep::Skip
            | CopyStep::PassOver
            | CopyStep::Read
            | CopyStep::DropInput
            | CopyStep::CloseInput => &self.input,
            _ => &self.output,
        }
    }

    /// Formats the error from opening the input.
    pub fn cannot_open_input(&mut self, errno: i32) -> String {
        let name = self.input.clone();
        self.cannot_open(&name, &reason(errno))
    }

    /// Formats the error from opening the output.
    pub fn cannot_open_output(&mut self, errno: i32) -> String {
        let name = self.output.clone();
        self.cannot_open(&name, &reason(errno))
    }

    fn cannot_open(&mut self, name: &str, reason: &str) -> String {
        self.has_failed = true;
        match self.personality {
            Personality::Gnu => self.message(&format!("failed to open {}: {reason}", quote::file(name))),
            Personality::FreeBsd => self.message(&format!("{name}: {reason}")),
        }
    }

    /// Formats Plumb's reason why a copy is not possible.
    pub fn cannot(&mut self, why: impl std::fmt::Display) -> String {
        self.has_failed = true;
        self.message(&why.to_string())
    }

    /// Formats the error from setting flags of a standard stream.
    pub fn cannot_set_flags(&mut self, is_input: bool, errno: i32) -> String {
        self.has_failed = true;
        let name = quote::file(if is_input { &self.input } else { &self.output });
        self.message(&format!("setting flags for {name}: {}", reason(errno)))
    }

    /// Formats the error for a start beyond the maximum length of a file. Nothing has been copied.
    pub fn cannot_reach(&mut self, unreachable: &Unreachable) -> String {
        match unreachable {
            Unreachable::Length { blocks, block_bytes } => self.cannot(format!(
                "offset too large: cannot truncate to a length of seek={blocks} ({block_bytes}-byte) blocks"
            )),
            Unreachable::Place(what) => {
                let failed = self.failed(*what, EOVERFLOW);
                failed + &self.summary(&CopyCounts::default(), 0)
            }
        }
    }

    /// Formats the error that there is no memory for a block.
    pub fn no_memory(&mut self, is_input: bool, bytes: u64) -> String {
        self.has_failed = true;
        let end = if is_input { "input" } else { "output" };
        self.message(&human::no_memory(end, bytes))
    }

    pub fn message(&mut self, text: &str) -> String {
        // After a progress line, an error starts on a new line.
        let head = if std::mem::take(&mut self.progress_length) > 0 { "\n" } else { "" };
        format!("{head}{}: {text}\n", self.program)
    }

    fn summary(&mut self, counts: &CopyCounts, elapsed_ns: u64) -> String {
        if self.status == Status::None {
            return String::new();
        }
        let mut text = String::new();
        if std::mem::take(&mut self.progress_length) > 0 {
            text.push('\n');
        }
        let CopyBlocks { whole, short } = counts.read;
        text.push_str(&format!("{whole}+{short} records in\n"));
        let CopyBlocks { whole, short } = counts.written;
        text.push_str(&format!("{whole}+{short} records out\n"));
        let cut = counts.cut_lines;
        match self.personality {
            Personality::Gnu if cut > 0 => {
                text.push_str(&format!("{cut} truncated record{}\n", if cut == 1 { "" } else { "s" }));
            }
            Personality::Gnu => {}
            Personality::FreeBsd => {
                let blocks = |count: u64| if count == 1 { "block" } else { "blocks" };
                if counts.odd_swaps > 0 {
                    text.push_str(&format!("{} odd length swab {}\n", counts.odd_swaps, blocks(counts.odd_swaps)));
                }
                if cut > 0 {
                    text.push_str(&format!("{cut} truncated {}\n", blocks(cut)));
                }
            }
        }
        if self.status != Status::Noxfer {
            text.push_str(&self.transfer_line(counts, elapsed_ns));
        }
        text
    }

    fn transfer_line(&mut self, counts: &CopyCounts, elapsed_ns: u64) -> String {
        let line = match self.personality {
            Personality::Gnu => {
                format!("{}\n", gnu_transfer(counts.written_bytes, elapsed_ns, &general(elapsed_ns as f64 / 1e9)))
            }
            Personality::FreeBsd => {
                let seconds = elapsed_ns.max(1) as f64 / 1e9;
                let rate = counts.written_bytes as f64 / seconds;
                format!("{} bytes transferred in {seconds:.6} secs ({rate:.0} bytes/sec)\n", counts.written_bytes)
            }
        };
        self.told_bytes = Some(counts.written_bytes);
        line
    }

    fn progress(&mut self, counts: &CopyCounts, elapsed_ns: u64, in_seconds: &str) -> String {
        self.told_bytes = Some(counts.written_bytes);
        let line = match self.personality {
            Personality::Gnu => gnu_transfer(counts.written_bytes, elapsed_ns, in_seconds),
            Personality::FreeBsd => {
                let [si, iec] = [Base::Si, Base::Iec].map(|base| human::bytes(counts.written_bytes, base));
                let seconds = elapsed_ns as f64 / 1e9;
                let rate = human::bytes((counts.written_bytes as f64 / seconds) as u64, Base::Si);
                format!("  {} bytes ({si}, {iec}) transferred {seconds:.3}s, {rate}/s", grouped(counts.written_bytes))
            }
        };
        let length = line.chars().count();
        // Erases the rest of a longer previous line.
        let wiping = " ".repeat(self.progress_length.saturating_sub(length));
        self.progress_length = length;
        format!("\r{line}{wiping}")
    }
}

/// The reader of the output is gone.
const EPIPE: i32 = 32;

/// A number is too large for the system.
const EOVERFLOW: i32 = 75;

fn gnu_transfer(bytes: u64, elapsed_ns: u64, seconds: &str) -> String {
    let rate = if elapsed_ns > 0 { human::rate(bytes, elapsed_ns) } else { "Infinity B/s".to_owned() };
    let [si, iec] = [Base::Si, Base::Iec].map(|base| human::bytes(bytes, base));
    let amount = match bytes {
        1 => "1 byte copied".to_owned(),
        0 | 2..1000 => format!("{bytes} bytes copied"),
        1000..1024 => format!("{bytes} bytes ({si}) copied"),
        _ => format!("{bytes} bytes ({si}, {iec}) copied"),
    };
    format!("{amount}, {seconds} s, {rate}")
}

/// Formats like C's `%g`: six significant digits, without trailing zeros.
fn general(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.5e}");
    let (digits, power) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    match power {
        -4..=5 => trimmed(&format!("{value:.*}", usize::try_from(5 - power).unwrap_or(0))),
        _ => format!("{}e{}{:02}", trimmed(digits), if power < 0 { '-' } else { '+' }, power.abs()),
    }
}

/// Formats digits in groups of three.
fn grouped(amount: u64) -> String {
    let digits = amount.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the system's text for an error.
fn reason(errno: i32) -> String {
    let text = io::Error::from_raw_os_error(errno).to_string();
    match text.rsplit_once(" (os error") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}
