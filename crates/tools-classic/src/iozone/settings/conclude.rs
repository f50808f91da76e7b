//! Checks and conclusions over all options: conflicts, and the sizes to run.

use super::{IozoneSettings, RECORD_MAX_BYTES, Rate, Seen, TestMode, Trouble, WrittenContent};
use crate::iozone::IozoneUsageError;
use crate::iozone::pass::Test;
use crate::iozone::sweep::{CROSSOVER_KB, SizePoint, SizeSweep, SweepRange, steps};

fn trouble(code: u8, message: &str) -> Option<Trouble> {
    Some(Trouble { message: message.to_owned(), error: String::new(), code, behind_table: false })
}

/// What does not go together, in IOzone's order.
fn contradiction(settings: &IozoneSettings, seen: &Seen, auto: bool) -> Option<Trouble> {
    let telemetry = settings.writes.is_some() || settings.reads.is_some();
    if let (Some(least), Some(most)) = (seen.min_record, seen.max_record)
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
    let whole = matches!(settings.content, WrittenContent::Whole(_) | WrittenContent::Told);
    let rules: [(bool, u8, &str); 16] = [
        (whole && telemetry, 17, "\n\tFull verification not supported in telemetry mode.\n\n"),
        (auto && telemetry, 17, "\n\tAuto mode not supported in telemetry mode.\n\tTry:   -i 0 -i 1 \n\n"),
        (
            !seen.files_kb.is_empty() && settings.writes.is_some(),
            17,
            "\n\tSize of file is determined by telemetry file.\n\n",
        ),
        (
            !seen.records.is_empty() && settings.writes.is_some(),
            17,
            "\n\tRecord size of file is determined by telemetry file.\n\n",
        ),
        (seen.stride && telemetry, 17, "\n\tStride size is determined by telemetry file.\n\n"),
        (seen.throughput && seen.usec, 17, "\n\tMicrosecond mode not supported in throughput mode.\n\n"),
        (
            seen.throughput
                && (auto
                    || seen.min_record.is_some()
                    || seen.max_record.is_some()
                    || seen.min_file_kb.is_some()
                    || seen.max_file_kb.is_some()),
            17,
            "\n\tCan not mix throughput mode and auto-mode flags.\n\n",
        ),
        (seen.file && seen.throughput, 17, "\n\tYou must use -F when using multiple threads or processes.\n\n"),
        (auto && seen.named_files, 17, "\n\tYou must use -f when using auto mode.\n\n"),
        (settings.aio.is_some() && seen.mapped, 18, "\n\tSorry ... Only mmap or async but not both\n\n"),
        (settings.existing && !settings.selects, 19, "You must specify which tests ( -i # ) when using -+E\n"),
        (
            settings.existing
                && settings.include.iter().any(|test| {
                    !matches!(
                        test,
                        Test::Read | Test::Backward | Test::Stride | Test::Fread | Test::Pread | Test::Random
                    )
                }),
            20,
            "You must disable any test that writes when using -+E\n",
        ),
        (settings.existing && !seen.file && !seen.named_files, 20, "You must use -f or -F when using -+E\n"),
        (seen.copies && seen.no_copies, 20, "\n\tCan not do both -H and -k\n"),
        (seen.duplicate.is_some() && seen.diagnostic, 20, "\n\tCan not do both -+d and -+w\n"),
        (seen.mapped && settings.direct, 17, "\n\tA mapping always uses the page cache; use -B or -I, not both.\n\n"),
    ];
    rules.into_iter().find(|(wrong, ..)| *wrong).and_then(|(_, code, message)| trouble(code, message))
}

fn ascending(mut sizes: Vec<u64>) -> Vec<u64> {
    sizes.sort();
    sizes.dedup();
    sizes
}

pub(super) fn conclude(settings: &mut IozoneSettings, mut seen: Seen) -> Result<(), IozoneUsageError> {
    let several_files = seen.files_kb.len() > 1;
    let several_records = seen.records.len() > 1;
    let auto = seen.auto || several_files || several_records;
    if several_files || several_records {
        seen.no_crossover = true;
    }
    if seen.usec {
        settings.rate = Rate::Usec;
    }
    if seen.mapped {
        settings.mapped = Some(seen.mapped_sync);
    }
    if seen.duplicate.is_some() || seen.compress.is_some() {
        // IOzone's duplicates are of data that can be halved, unless -+a says otherwise.
        settings.content =
            WrittenContent::Reducible { compress: seen.compress.unwrap_or(50), duplicate: seen.duplicate.unwrap_or(0) };
    }
    if settings.purge && !settings.line_bytes.is_power_of_two() {
        return Err(IozoneUsageError::refuse(
            2,
            format!("-L {}: a cache line size must be a power of two", settings.line_bytes),
        ));
    }
    settings.trouble = contradiction(settings, &seen, auto);
    silent(settings, &seen);
    telemetry_tests(settings);
    let record_bytes = seen.records.last().copied().unwrap_or(4096);
    let file_kb = seen.files_kb.last().copied().unwrap_or(512);
    let by_telemetry = settings.reads.as_ref().or(settings.writes.as_ref()).map(|telemetry| telemetry.file_kb().max(1));
    let point = SizePoint { file_kb: by_telemetry.unwrap_or(file_kb), record_bytes };
    settings.mode = if seen.throughput {
        let least = seen.lower.unwrap_or(1);
        let most = seen.upper.unwrap_or(least).max(least);
        if seen.lower.is_some() || seen.upper.is_some() {
            settings.limits = Some((least, most));
        }
        let counts = if seen.children.is_empty() { (least..=most).collect() } else { seen.children.clone() };
        TestMode::Throughput { counts, point, threads: seen.threads }
    } else if auto {
        TestMode::Auto(sweep(settings, &seen))
    } else {
        TestMode::Single(point)
    };
    let (TestMode::Single(point) | TestMode::Throughput { point, .. }) = &settings.mode else { return Ok(()) };
    if point.record_bytes > point.file_kb.saturating_mul(1024) && by_telemetry.is_none() && settings.trouble.is_none() {
        let (record, file) = (point.record_bytes, point.file_kb);
        let message = format!("Error: record length {record} is greater than filesize {file} kB\n ");
        let behind_table = matches!(settings.mode, TestMode::Single(_));
        settings.trouble = Some(Trouble { message, error: String::new(), code: 23, behind_table });
    }
    Ok(())
}

/// The sizes of `-a`.
fn sweep(settings: &mut IozoneSettings, seen: &Seen) -> SizeSweep {
    let (first_kb, last_kb) = match (seen.files_kb.first(), seen.files_kb.last()) {
        (Some(first), Some(last)) => (*first, *last),
        _ => (64, 512 << 10),
    };
    let (least_kb, most_kb) = (seen.min_file_kb.unwrap_or(first_kb), seen.max_file_kb.unwrap_or(last_kb));
    let files_kb = match seen.files_kb.len() > 1 {
        true => ascending(seen.files_kb.clone()),
        false => steps(least_kb, most_kb, seen.times),
    };
    let (first, last) = match (seen.records.first(), seen.records.last()) {
        (Some(first), Some(last)) => (*first, *last),
        _ => (4096, RECORD_MAX_BYTES),
    };
    let (least, most) = (seen.min_record.unwrap_or(first), seen.max_record.unwrap_or(last));
    let records = match seen.records.len() > 1 {
        true => ascending(seen.records.clone()),
        false => steps(least, most, seen.times),
    };
    let smallest_kb = files_kb.first().copied().unwrap_or(0);
    if least > smallest_kb.saturating_mul(1024) && settings.trouble.is_none() {
        let message = format!("Error: record length {least} is greater than filesize {smallest_kb} kB\n ");
        settings.trouble = Some(Trouble { message, error: String::new(), code: 23, behind_table: true });
    }
    let said =
        !seen.records.is_empty() || seen.files_kb.len() == 1 || seen.min_record.is_some() || seen.max_record.is_some();
    let crossover_kb = (!said && !seen.no_crossover).then_some(CROSSOVER_KB);
    SizeSweep::new(&SweepRange { files_kb, records, crossover_kb })
}

/// Tests that IOzone skips silently.
fn silent(settings: &mut IozoneSettings, seen: &Seen) {
    let mut said: Vec<String> =
        seen.missing.iter().map(|what| format!("{what} is not in Debian's IOzone 3.489")).collect();
    let included = |test| settings.include.contains(&test);
    if !seen.throughput {
        if included(Test::Mix) {
            said.push("-i 8 is a throughput test; add -t".to_owned());
        }
        if !settings.extended && (included(Test::Pwrite) || included(Test::Pread)) {
            said.push("-i 9 and -i 10 need -E".to_owned());
        }
    }
    if seen.throughput && included(Test::RecordRewrite) {
        said.push("-i 4 is not a throughput test".to_owned());
    }
    if !said.is_empty() && !settings.strict {
        settings.notes.push(format!("not run: {}", said.join("; ")));
    }
}

/// Telemetry is of the first two tests.
fn telemetry_tests(settings: &mut IozoneSettings) {
    if settings.writes.is_none() && settings.reads.is_none() {
        return;
    }
    settings.selects = true;
    settings.include.retain(|test| matches!(test, Test::Write | Test::Read | Test::Mix));
    if settings.reads.is_some() && !settings.include.contains(&Test::Read) {
        settings.include.extend([Test::Write, Test::Read]);
    }
    if settings.writes.is_some() && !settings.include.contains(&Test::Write) {
        settings.include.push(Test::Write);
    }
}
