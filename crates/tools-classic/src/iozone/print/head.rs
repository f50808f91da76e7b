//! The banner and the lines below it.

use crate::iozone::settings::{IozoneSettings, Rate, TestMode};

/// Returns IOzone's first lines, with Plumb's own text where theirs would be untrue. `began` is in ctime(3) format.
pub fn banner(began: &str) -> String {
    format!(
        "\tIozone: Performance Test of File I/O\n\
         \t        Version $Revision: 3.489 $\n\
         \t\tCompiled for 64 bit mode.\n\
         \t\tBuild: linux-AMD64 \n\
         \n\
         \tRun by Plumb {}, which makes the calls of IOzone 3.489 (William Norcott, Don Capps and others).\n\
         \n\
         \tRun began: {began}\n\
         \n",
        env!("CARGO_PKG_VERSION")
    )
}

/// Size of the buffer for each of IOzone's lines about options; the buffers are adjacent in memory.
const LINE_BYTES: usize = 80;

/// Returns the lines about options as IOzone prints them. A line that fills its buffer, such as that of `-M`, has no
/// terminator, so IOzone prints the next line after it, and then once more.
fn lines_of(lines: &[String]) -> String {
    let mut text = Vec::new();
    for first in 0..lines.len() {
        for (number, line) in lines.iter().enumerate().skip(first) {
            let is_cut = line.len() >= LINE_BYTES && number + 1 < lines.len();
            text.extend_from_slice(if is_cut { &line.as_bytes()[..LINE_BYTES] } else { line.as_bytes() });
            if !is_cut {
                break;
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Prints the settings, up to IOzone's consistency check.
pub fn settings(settings: &IozoneSettings, command: &[String]) -> String {
    let mut text = lines_of(&settings.messages.echo);
    text.push_str("\tCommand line used:");
    for word in command {
        text.push(' ');
        text.push_str(word);
    }
    text.push('\n');
    if settings.reports.rate == Rate::Kb {
        text.push_str("\tOutput is in kBytes/sec\n");
    }
    text
}

pub fn rest(settings: &IozoneSettings) -> String {
    let mut text = compute(settings);
    // Plumb reads time in nanoseconds and subtracts nothing.
    text.push_str(match settings.strict {
        true => "\tTime Resolution = 0.000001 seconds.\n",
        false => "\tTime Resolution = 0.000000001 seconds.\n",
    });
    text.push_str(&format!("\tProcessor cache size set to {} kBytes.\n", settings.buffers.cache_bytes / 1024));
    text.push_str(&format!("\tProcessor cache line size set to {} bytes.\n", settings.buffers.line_bytes));
    text.push_str(&format!("\tFile stride size set to {} * record size.\n", settings.pattern.stride));
    if let Some((bytes, pause)) = settings.pace.burst {
        text.push_str(&format!(
            "\tBurst size set to {} Kbytes.\n\tBurst sleep duration set to {} msec\n",
            bytes / 1024,
            pause.0 / 1_000_000
        ));
    }
    if let TestMode::Throughput { counts, threads, .. } = &settings.mode {
        if let Some((least, most)) = settings.children.limits {
            let port = if *threads { "thread" } else { "process" };
            text.push_str(&format!("\tMin {port} = {least} \n\tMax {port} = {most} \n"));
        }
        let count = match settings.children.limits {
            Some((least, _)) => least,
            None => counts.last().copied().unwrap_or(1),
        };
        let port = match (threads, count > 1) {
            (true, true) => "threads",
            (true, false) => "thread",
            (false, true) => "processes",
            (false, false) => "process",
        };
        text.push_str(&format!("\tThroughput test with {count} {port}\n"));
    }
    text
}

/// Describes the computing between ops.
fn compute(settings: &IozoneSettings) -> String {
    let seconds = settings.pace.compute.0 as f64 / 1e9;
    let computes = settings.pace.has_compute;
    match (&settings.telemetry.reads, &settings.telemetry.writes) {
        (None, None) if computes => format!("\tCompute time {seconds:.6} seconds for reads and writes.\n"),
        (None, None) => String::new(),
        (reads, writes) => {
            let line = |what: &str, has_delays: Option<bool>| match (has_delays, computes) {
                (Some(true), _) => format!("\tCompute time from telemetry files for {what}.\n"),
                (_, true) => format!("\tCompute time {seconds:.6} seconds for {what}.\n"),
                (Some(false), false) if reads.is_some() && writes.is_some() => {
                    format!("\tNo compute time for {what}.\n")
                }
                (Some(false) | None, false) => String::new(),
            };
            line("reads", reads.as_ref().map(|reads| reads.has_delays))
                + &line("writes", writes.as_ref().map(|writes| writes.has_delays))
        }
    }
}
