//! The meaning of each option.

use super::number::{bytes_of, percent, record_max};
use super::telemetry::telemetry;
use super::{IozoneSettings, MixReaders, RECORD_MAX_BYTES, Rate, Seen, WrittenContent};
use crate::iozone::getopt::ReadOption;
use crate::iozone::pass::Test;
use crate::iozone::size::{size, whole};
use crate::iozone::{IozoneUsageError, Machine};
use plumb_workload::Nanos;
use plumb_workload::program::{Advice, OpenPromise};

/// Most processes.
const CHILDREN_MAX: i64 = 1024;

pub(super) fn take(
    settings: &mut IozoneSettings,
    seen: &mut Seen,
    said: &ReadOption,
    machine: &mut dyn Machine,
) -> Result<(), IozoneUsageError> {
    let word = said.value.as_deref().unwrap_or_default();
    let number = whole(word);
    settings.selects |= matches!(said.name, "i" | "A");
    let mut echo = |line: String| settings.echo.push(format!("\t{line}\n"));
    match said.name {
        "a" => {
            seen.auto = true;
            settings.purge = false;
            settings.many_buffers = false;
            echo("Auto Mode".to_owned());
        }
        "A" => {
            seen.auto = true;
            settings.only_writes_and_reads = true;
            seen.no_crossover = true;
            echo("Auto Mode 2. This option is obsolete. Use -az -i0 -i1 ".to_owned());
            settings.include.extend([Test::Write, Test::Read]);
        }
        "b" => {
            settings.report = true;
            settings.biff = Some(word.to_owned());
        }
        "B" => {
            echo("Using mmap files".to_owned());
            seen.mapped = true;
        }
        "D" => {
            echo("Using msync(MS_ASYNC) on mmap files".to_owned());
            seen.mapped = true;
            seen.mapped_sync = Some(false);
        }
        "G" => {
            echo("Using msync(MS_SYNC) on mmap files".to_owned());
            seen.mapped_sync = Some(true);
        }
        "c" => {
            echo("Include close in write timing".to_owned());
            settings.close = true;
        }
        "C" => settings.each_child = true,
        "d" => settings.start_delay = Nanos((number.max(0) as u64).saturating_mul(1000)),
        "e" => {
            echo("Include fsync in write timing".to_owned());
            settings.flush = true;
        }
        "E" => settings.extended = true,
        "f" => {
            if seen.named_files {
                return Err(IozoneUsageError::say(10, "invalid options: -f and -F are mutually exclusive\n"));
            }
            seen.file = true;
            settings.file = word.to_owned();
        }
        "g" | "n" => {
            let kb = (bytes_of(settings, said.name, word).max(0) as u64 / 1024).max(4);
            let which = if said.name == "g" { "maximum" } else { "minimum" };
            settings.echo.push(format!("\tUsing {which} file size of {kb} kilobytes.\n"));
            *(if said.name == "g" { &mut seen.max_file_kb } else { &mut seen.min_file_kb }) = Some(kb);
        }
        "H" | "k" => {
            let depth = number.max(0) as u32;
            if said.name == "H" {
                echo(format!("POSIX async I/O (with bcopy). Depth {depth}"));
                seen.copies = true;
            } else {
                echo(format!("POSIX Async I/O (no bcopy). Depth {depth} "));
                seen.no_copies = true;
            }
            settings.aio = Some((depth.max(1), said.name == "H"));
        }
        "i" => match (number.max(0), settings.strict) {
            (number @ 0..=10, _) => settings.include.push(Test::ALL[number as usize]),
            // The binary that Debian builds has no calls for it, and does nothing.
            (11, _) => seen.missing.push("-i 11 (pwritev)"),
            (_, false) => seen.missing.push("-i 12 (preadv) and above"),
            (_, true) => {
                echo("Selected test not available on the version.".to_owned());
                settings.include.push(Test::Write);
            }
        },
        "I" => {
            echo("O_DIRECT feature enabled".to_owned());
            settings.direct = true;
        }
        "j" => {
            settings.stride = number.max(0) as u64;
            seen.stride = true;
        }
        "J" => {
            settings.compute = Nanos((number.max(0) as u64).saturating_mul(1_000_000));
            settings.says_compute = true;
        }
        "K" => {
            echo("Disrupted read patterns selected.".to_owned());
            settings.disturbs = true;
        }
        "l" => {
            seen.lower = Some(children(number.max(1), 4)?);
            throughput(settings, seen, 5)?;
        }
        "u" => {
            seen.upper = Some(children(number.max(1), 6)?);
            throughput(settings, seen, 7)?;
        }
        "L" => settings.line_bytes = if number > 0 { number as u64 } else { 32 },
        "m" => {
            echo(format!("Multi_buffer. Work area {RECORD_MAX_BYTES} bytes"));
            settings.many_buffers = true;
        }
        "M" => settings.echo.push(format!("\n\tMachine = {}\n", machine.uname().trim_end())),
        "N" => {
            echo("Microseconds/op Mode. Output is in microseconds per operation.".to_owned());
            seen.usec = true;
        }
        "o" => {
            echo("SYNC Mode. ".to_owned());
            settings.promise = OpenPromise::Sync;
        }
        "O" => {
            echo("OPS Mode. Output is in operations per second.".to_owned());
            settings.rate = Rate::Ops;
        }
        "p" => {
            echo("Purge Mode On".to_owned());
            settings.purge = true;
        }
        "P" => {
            let first = u32::try_from(number).ok().filter(|first| *first < settings.processors).unwrap_or(0);
            echo(format!("Binding of processors beginning with {first} "));
            settings.bind = Some(first);
        }
        "q" | "y" => {
            let bytes = bytes_of(settings, said.name, word);
            let (which, fallback) = if said.name == "q" { ("Maximum", RECORD_MAX_BYTES) } else { ("Minimum", 4096) };
            let bytes = u64::try_from(bytes).ok().filter(|bytes| *bytes > 0).unwrap_or(fallback);
            record_max(bytes)?;
            settings.echo.push(format!("\tUsing {which} Record Size {} kB\n", bytes / 1024));
            *(if said.name == "q" { &mut seen.max_record } else { &mut seen.min_record }) = Some(bytes);
        }
        "Q" => {
            echo("Offset/latency files enabled.".to_owned());
            settings.latencies = true;
        }
        "r" => {
            let bytes = bytes_of(settings, "r", word);
            let bytes = u64::try_from(bytes).ok().filter(|bytes| *bytes > 0).unwrap_or(4096);
            settings.echo.push(format!("\tRecord Size {} kB\n", bytes / 1024));
            record_max(bytes)?;
            seen.records.push(bytes);
        }
        "R" => {
            echo("Excel chart generation enabled".to_owned());
            settings.report = true;
        }
        "s" => {
            let kb = bytes_of(settings, "s", word) / 1024;
            let kb = u64::try_from(kb).ok().filter(|kb| *kb > 0).unwrap_or(512);
            settings.echo.push(format!("\tFile size set to {kb} kB\n"));
            seen.files_kb.push(kb);
        }
        "S" => settings.cache_bytes = if number > 0 { (number as u64).saturating_mul(1024) } else { 1 << 20 },
        "t" => {
            if number > CHILDREN_MAX {
                return Err(IozoneUsageError::say(
                    14,
                    format!(
                        "invalid options: maximum streams for throughput is MAXSTREAMS\nNumchild {number} {word}\n"
                    ),
                ));
            }
            seen.children.push(if number <= 0 { 8 } else { number as u32 });
            throughput(settings, seen, 15)?;
        }
        "T" => seen.threads = true,
        "U" => {
            settings.remount = Some(word.to_owned());
            if seen.throughput {
                return Err(remounts(16));
            }
        }
        "V" => {
            let byte = match number as u8 {
                0 => 0xa5,
                byte => byte,
            };
            settings.content = WrittenContent::Whole(byte);
            echo(format!("Verify Mode. Pattern {byte:x}{byte:x}{byte:x}{byte:x}"));
            echo("Performance measurements are invalid in this mode.".to_owned());
        }
        "w" => {
            echo("Setting no_unlink".to_owned());
            settings.keep = true;
        }
        "W" => {
            settings.locks = true;
            echo("Lock file when reading/writing.".to_owned());
        }
        "x" => {
            echo("Stonewall disabled".to_owned());
            settings.stonewall = false;
        }
        "X" => {
            settings.writes = Some(telemetry(word, "write", machine)?);
            settings.echo.push(format!("\tUsing write telemetry file \"{word}\"\n"));
        }
        "Y" => {
            settings.reads = Some(telemetry(word, "read", machine)?);
            settings.echo.push(format!("\tUsing read telemetry file \"{word}\"\n"));
        }
        "z" => {
            echo("Cross over of record size disabled.".to_owned());
            seen.no_crossover = true;
        }
        "Z" => {
            echo("Enable mmap & file I/O mixing.".to_owned());
            settings.mixes_io = true;
        }
        name => take_plus(settings, seen, name, word)?,
    }
    Ok(())
}

fn take_plus(settings: &mut IozoneSettings, seen: &mut Seen, name: &str, word: &str) -> Result<(), IozoneUsageError> {
    let number = whole(word);
    let mut echo = |line: String| settings.echo.push(format!("\t{line}\n"));
    match name {
        "+a" => {
            seen.compress = Some(percent(word));
            // The blank belongs to the line.
            settings.echo.push(format!("\tZero Percent {}\n ", percent(word)));
        }
        "+w" => {
            seen.duplicate = Some(percent(word));
            echo(format!("Dedup activated {} percent.", percent(word)));
        }
        "+y" => {
            seen.duplicate = Some(seen.duplicate.unwrap_or(0).max(percent(word)));
            echo(format!("Dedup within & across {} percent.", percent(word)));
        }
        "+C" => {
            seen.duplicate = Some(seen.duplicate.unwrap_or(0).max(percent(word)));
            echo(format!("Dedup within {} percent.", percent(word)));
        }
        "+A" => {
            settings.advice = match number {
                1 => Advice::Random,
                2 => Advice::Sequential,
                3 => Advice::DontNeed,
                4 => Advice::WillNeed,
                _ => Advice::Normal,
            };
            echo(format!("Madvise enabled: {number}"));
        }
        "+b" => {
            let Some((burst, pause)) = word.split_once(',') else {
                return Err(IozoneUsageError::say(
                    144,
                    "-+b operand is of the format #,# (burst size (K/M/G) ,mili-second) !!\n",
                ));
            };
            let (bytes, pause_ms) = (size(burst).meant_bytes, whole(pause));
            if bytes <= 0 || pause_ms <= 0 {
                return Err(IozoneUsageError::say(144, format!("-+b  cannot parse burst size '{word}'!!\n")));
            }
            settings.burst = Some((bytes as u64, Nanos((pause_ms as u64).saturating_mul(1_000_000))));
        }
        "+B" => {
            echo(">>> Sequential Mixed workload. <<<".to_owned());
            settings.mix_sequential = true;
        }
        "+d" => {
            echo(">>> I/O Diagnostic mode enabled. <<<".to_owned());
            echo("Performance measurements are invalid in this mode.".to_owned());
            seen.diagnostic = true;
            settings.content = WrittenContent::Told;
        }
        "+D" => {
            echo(">>> O_DSYNC mode enabled. <<<".to_owned());
            settings.promise = OpenPromise::Dsync;
        }
        "+E" => {
            echo(">>> No Verify mode. <<<".to_owned());
            settings.content = WrittenContent::Theirs;
            settings.existing = true;
            settings.keep = true;
        }
        "+F" => settings.truncates_mix = true,
        "+J" => {
            echo(">>> Think time is included in throughput cal. <<<".to_owned());
            settings.compute_counts = true;
        }
        "+k" => settings.aggregate = true,
        "+K" => {
            settings.mix_readers = Some(MixReaders::Count(number.max(1) as u32));
            echo("Manual control of test 8. >>> Very Experimental. Sony special <<<".to_owned());
        }
        "+l" => {
            echo(">>> Record locking mode enabled. <<<".to_owned());
            settings.record_locks = true;
        }
        "+L" => {
            echo(">>> Record locking, shared file mode enabled. <<<".to_owned());
            settings.record_locks = true;
            settings.shared = true;
        }
        "+V" => {
            echo(">>> Shared file mode enabled. <<<".to_owned());
            settings.shared = true;
        }
        "+n" => {
            echo("No retest option selected".to_owned());
            settings.no_retest = true;
        }
        "+N" => settings.no_truncate = true,
        "+O" => {
            echo(format!("Rate control active {number} Ops/sec ."));
            settings.records_per_second = u32::try_from(number).ok().filter(|rate| *rate > 0);
        }
        "+p" => {
            let percent = number.clamp(1, 100) as u32;
            echo(format!("Percent read in mix test is {percent}"));
            settings.mix_readers = Some(MixReaders::Percent(percent));
        }
        "+q" => {
            settings.rest = Nanos((number.max(0) as u64).saturating_mul(1_000_000_000));
            echo(format!("Delay {number} seconds between tests enabled."));
        }
        "+r" => {
            echo("Read & Write sync mode active.".to_owned());
            settings.promise = OpenPromise::Rsync;
            settings.read_promise = true;
        }
        // It changes nothing that IOzone prints.
        "+T" if settings.strict => {}
        "+T" => settings.notes.push("-+T prints nothing, as in IOzone; `plumb show last` has the times".to_owned()),
        "+u" => {
            echo("CPU utilization Resolution = 0.000 seconds.".to_owned());
            echo("CPU utilization Excel chart enabled".to_owned());
            settings.cpu = true;
        }
        "+x" => seen.times = if number > 1 { number as u64 } else { 2 },
        "+X" => {
            echo("Short circuit mode. For".to_owned());
            echo(" filesystem development testing ONLY !".to_owned());
            settings.content = WrittenContent::Pages(0xbb);
        }
        "+z" => {
            echo("Histogram summary enabled.".to_owned());
            settings.histograms = true;
        }
        "+Z" => {
            echo("Using old data sets.".to_owned());
            echo(" Performance measurements may be invalid in this".to_owned());
            echo(" mode due to published hack.".to_owned());
            settings.content = WrittenContent::Pages(0xa5);
        }
        _ => return Err(IozoneUsageError::say(255, format!("Unsupported Plus option -> {name} <-\n"))),
    }
    Ok(())
}

fn children(number: i64, code: u8) -> Result<u32, IozoneUsageError> {
    match number > CHILDREN_MAX {
        true => Err(IozoneUsageError::say(code, "Invalid options: maximum streams for throughput is MAXSTREAMS\n")),
        false => Ok(number as u32),
    }
}

fn remounts(code: u8) -> IozoneUsageError {
    IozoneUsageError::say(code, "Can not run throughput tests with unmount & remounts.\n")
}

fn throughput(settings: &IozoneSettings, seen: &mut Seen, code: u8) -> Result<(), IozoneUsageError> {
    seen.throughput = true;
    if settings.remount.is_some() { Err(remounts(code)) } else { Ok(()) }
}
