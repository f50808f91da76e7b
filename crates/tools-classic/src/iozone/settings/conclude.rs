//! Checks across all options: conflicts, and the sizes to run.

use super::{IozoneSettings, RECORD_MAX_BYTES, Rate, Seen, TestMode, Trouble, WrittenContent};
use crate::iozone::IozoneUsageError;
use crate::iozone::pass::Test;
use crate::iozone::sweep::{CROSSOVER_KB, SizePoint, SizeSweep, SweepRange, steps};

fn trouble(code: u8, message: &str) -> Option<Trouble> {
    Some(Trouble { message: message.to_owned(), error: String::new(), code, after_table_head: false })
}

/// Returns the first conflict, in IOzone's order.
fn contradiction(settings: &IozoneSettings, seen: &Seen, auto: bool) -> Option<Trouble> {
    let telemetry = settings.telemetry.writes.is_some() || settings.telemetry.reads.is_some();
    if let (Some(least), Some(most)) = (seen.sizes.min_record, seen.sizes.max_record)
        && least > most
    {
        return trouble(
            23,
            &format!(
                "Error: minimum record size {} kB is greater than maximum record size {} kB\n ",
                least / 1024,
                most / 1024
            ),
        );
    }
    let whole = matches!(settings.buffers.content, WrittenContent::Whole(_) | WrittenContent::UniqueWords);
    let rules: [(bool, u8, &str); 16] = [
        (whole && telemetry, 17, "\n\tFull verification not supported in telemetry mode.\n\n"),
        (auto && telemetry, 17, "\n\tAuto mode not supported in telemetry mode.\n\tTry:   -i 0 -i 1 \n\n"),
        (
            !seen.sizes.files_kb.is_empty() && settings.telemetry.writes.is_some(),
            17,
            "\n\tSize of file is determined by telemetry file.\n\n",
        ),
        (
            !seen.sizes.records.is_empty() && settings.telemetry.writes.is_some(),
            17,
            "\n\tRecord size of file is determined by telemetry file.\n\n",
        ),
        (seen.stride && telemetry, 17, "\n\tStride size is determined by telemetry file.\n\n"),
        (seen.children.throughput && seen.usec, 17, "\n\tMicrosecond mode not supported in throughput mode.\n\n"),
        (
            seen.children.throughput
                && (auto
                    || seen.sizes.min_record.is_some()
                    || seen.sizes.max_record.is_some()
                    || seen.sizes.min_file_kb.is_some()
                    || seen.sizes.max_file_kb.is_some()),
            17,
            "\n\tCan not mix throughput mode and auto-mode flags.\n\n",
        ),
        (
            seen.files.one && seen.children.throughput,
            17,
            "\n\tYou must use -F when using multiple threads or processes.\n\n",
        ),
        (auto && seen.files.named, 17, "\n\tYou must use -f when using auto mode.\n\n"),
        (settings.calls.aio.is_some() && seen.calls.mapped, 18, "\n\tSorry ... Only mmap or async but not both\n\n"),
        (
            settings.files.existing && !settings.tests.selects,
            19,
            "You must specify which tests ( -i # ) when using -+E\n",
        ),
        (
            settings.files.existing
                && settings.tests.include.iter().any(|test| {
                    !matches!(
                        test,
                        Test::Read | Test::Backward | Test::Stride | Test::Fread | Test::Pread | Test::Random
                    )
                }),
            20,
            "You must disable any test that writes when using -+E\n",
        ),
        (settings.files.existing && !seen.files.one && !seen.files.named, 20, "You must use -f or -F when using -+E\n"),
        (seen.calls.copies && seen.calls.no_copies, 20, "\n\tCan not do both -H and -k\n"),
        (seen.content.duplicate.is_some() && seen.content.diagnostic, 20, "\n\tCan not do both -+d and -+w\n"),
        (
            seen.calls.mapped && settings.calls.direct,
            17,
            "\n\tA mapping always uses the page cache; use -B or -I, not both.\n\n",
        ),
    ];
    rules.into_iter().find(|(applies, ..)| *applies).and_then(|(_, code, message)| trouble(code, message))
}

fn ascending(mut sizes: Vec<u64>) -> Vec<u64> {
    sizes.sort();
    sizes.dedup();
    sizes
}

pub(super) fn conclude(settings: &mut IozoneSettings, mut seen: Seen) -> Result<(), IozoneUsageError> {
    let several_files = seen.sizes.files_kb.len() > 1;
    let several_records = seen.sizes.records.len() > 1;
    let auto = seen.sizes.auto || several_files || several_records;
    if several_files || several_records {
        seen.sizes.no_crossover = true;
    }
    if seen.usec {
        settings.reports.rate = Rate::Usec;
    }
    if seen.calls.mapped {
        settings.calls.mapped = Some(seen.calls.mapped_sync);
    }
    if seen.content.duplicate.is_some() || seen.content.compress.is_some() {
        // IOzone's duplicates consist of data that can be halved, unless -+a says otherwise.
        settings.buffers.content = WrittenContent::Reducible {
            compress: seen.content.compress.unwrap_or(50),
            duplicate: seen.content.duplicate.unwrap_or(0),
        };
    }
    if settings.buffers.purge && !settings.buffers.line_bytes.is_power_of_two() {
        return Err(IozoneUsageError::refuse(
            2,
            format!("-L {}: a cache line size must be a power of two", settings.buffers.line_bytes),
        ));
    }
    settings.messages.trouble = contradiction(settings, &seen, auto);
    silent(settings, &seen);
    telemetry_tests(settings);
    let record_bytes = seen.sizes.records.last().copied().unwrap_or(4096);
    let file_kb = seen.sizes.files_kb.last().copied().unwrap_or(512);
    let by_telemetry = settings
        .telemetry
        .reads
        .as_ref()
        .or(settings.telemetry.writes.as_ref())
        .map(|telemetry| telemetry.file_kb().max(1));
    let point = SizePoint { file_kb: by_telemetry.unwrap_or(file_kb), record_bytes };
    settings.mode = if seen.children.throughput {
        let least = seen.children.lower.unwrap_or(1);
        let most = seen.children.upper.unwrap_or(least).max(least);
        if seen.children.lower.is_some() || seen.children.upper.is_some() {
            settings.children.limits = Some((least, most));
        }
        let counts =
            if seen.children.counts.is_empty() { (least..=most).collect() } else { seen.children.counts.clone() };
        TestMode::Throughput { counts, point, threads: seen.children.threads }
    } else if auto {
        TestMode::Auto(sweep(settings, &seen))
    } else {
        TestMode::Single(point)
    };
    let (TestMode::Single(point) | TestMode::Throughput { point, .. }) = &settings.mode else { return Ok(()) };
    if point.record_bytes > point.file_kb.saturating_mul(1024)
        && by_telemetry.is_none()
        && settings.messages.trouble.is_none()
    {
        let (record, file) = (point.record_bytes, point.file_kb);
        let message = format!("Error: record length {record} is greater than filesize {file} kB\n ");
        let after_table_head = matches!(settings.mode, TestMode::Single(_));
        settings.messages.trouble = Some(Trouble { message, error: String::new(), code: 23, after_table_head });
    }
    Ok(())
}

fn sweep(settings: &mut IozoneSettings, seen: &Seen) -> SizeSweep {
    let (first_kb, last_kb) = match (seen.sizes.files_kb.first(), seen.sizes.files_kb.last()) {
        (Some(first), Some(last)) => (*first, *last),
        _ => (64, 512 << 10),
    };
    let (least_kb, most_kb) = (seen.sizes.min_file_kb.unwrap_or(first_kb), seen.sizes.max_file_kb.unwrap_or(last_kb));
    let files_kb = match seen.sizes.files_kb.len() > 1 {
        true => ascending(seen.sizes.files_kb.clone()),
        false => steps(least_kb, most_kb, seen.sizes.times),
    };
    let (first, last) = match (seen.sizes.records.first(), seen.sizes.records.last()) {
        (Some(first), Some(last)) => (*first, *last),
        _ => (4096, RECORD_MAX_BYTES),
    };
    let (least, most) = (seen.sizes.min_record.unwrap_or(first), seen.sizes.max_record.unwrap_or(last));
    let records = match seen.sizes.records.len() > 1 {
        true => ascending(seen.sizes.records.clone()),
        false => steps(least, most, seen.sizes.times),
    };
    let smallest_kb = files_kb.first().copied().unwrap_or(0);
    if least > smallest_kb.saturating_mul(1024) && settings.messages.trouble.is_none() {
        let message = format!("Error: record length {least} is greater than filesize {smallest_kb} kB\n ");
        settings.messages.trouble = Some(Trouble { message, error: String::new(), code: 23, after_table_head: true });
    }
    let has_records = !seen.sizes.records.is_empty()
        || seen.sizes.files_kb.len() == 1
        || seen.sizes.min_record.is_some()
        || seen.sizes.max_record.is_some();
    let crossover_kb = (!has_records && !seen.sizes.no_crossover).then_some(CROSSOVER_KB);
    SizeSweep::new(&SweepRange { files_kb, records, crossover_kb })
}

/// Records the tests that IOzone skips silently.
fn silent(settings: &mut IozoneSettings, seen: &Seen) {
    let mut notes: Vec<String> =
        seen.missing.iter().map(|what| format!("{what} is not in Debian's IOzone 3.489")).collect();
    let included = |test| settings.tests.include.contains(&test);
    if !seen.children.throughput {
        if included(Test::Mix) {
            notes.push("-i 8 is a throughput test; add -t".to_owned());
        }
        if !settings.tests.extended && (included(Test::Pwrite) || included(Test::Pread)) {
            notes.push("-i 9 and -i 10 need -E".to_owned());
        }
    }
    if seen.children.throughput && included(Test::RecordRewrite) {
        notes.push("-i 4 is not a throughput test".to_owned());
    }
    if !notes.is_empty() && !settings.strict {
        settings.messages.notes.push(format!("not run: {}", notes.join("; ")));
    }
}

/// Limits telemetry to the first two tests.
fn telemetry_tests(settings: &mut IozoneSettings) {
    if settings.telemetry.writes.is_none() && settings.telemetry.reads.is_none() {
        return;
    }
    settings.tests.selects = true;
    settings.tests.include.retain(|test| matches!(test, Test::Write | Test::Read | Test::Mix));
    if settings.telemetry.reads.is_some() && !settings.tests.include.contains(&Test::Read) {
        settings.tests.include.extend([Test::Write, Test::Read]);
    }
    if settings.telemetry.writes.is_some() && !settings.tests.include.contains(&Test::Write) {
        settings.tests.include.push(Test::Write);
    }
}
