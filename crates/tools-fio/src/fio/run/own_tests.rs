//! fio's self-tests, run with Plumb's own code: `--crctest`, `--cpuclock-test`, and the unit of work of `--idle-prof`.

use super::{Step, complain};
use plumb_cli::exit::End;
use plumb_cli::output;
use plumb_engine::clock::Clock;
use plumb_engine::content::compute;
use plumb_tools_fio::fio::print::UnitWork;
use plumb_workload::verify::VerifyMethod;
use std::time::{Duration, Instant};

/// fio's names of the checksums.
const CHECKSUMS: [(&str, VerifyMethod); 14] = [
    ("md5", VerifyMethod::Md5),
    ("crc64", VerifyMethod::Crc64),
    ("crc32", VerifyMethod::Crc32),
    ("crc32c", VerifyMethod::Crc32c),
    ("crc16", VerifyMethod::Crc16),
    ("crc7", VerifyMethod::Crc7),
    ("sha1", VerifyMethod::Sha1),
    ("sha256", VerifyMethod::Sha256),
    ("sha512", VerifyMethod::Sha512),
    ("xxhash", VerifyMethod::XxHash),
    ("sha3-224", VerifyMethod::Sha3_224),
    ("sha3-256", VerifyMethod::Sha3_256),
    ("sha3-384", VerifyMethod::Sha3_384),
    ("sha3-512", VerifyMethod::Sha3_512),
];

/// Bytes per checksum call, as in fio.
const CHUNK_BYTES: usize = 128 << 10;
/// Minimum time to measure a checksum.
const MEASURED: Duration = Duration::from_millis(20);

/// Returns bytes without a pattern that a checksum could exploit.
fn content(bytes: usize) -> Vec<u8> {
    let mut content = vec![0; bytes];
    let mut state = 0x8989u64;
    for word in content.chunks_mut(8) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        word.copy_from_slice(&state.to_ne_bytes()[..word.len()]);
    }
    content
}

/// Measures the speed of checksums (`--crctest`).
pub(super) fn checksums<T>(asked: Option<&str>) -> Step<T> {
    let list = || CHECKSUMS.iter().map(|(name, _)| format!("{name}\n")).collect::<String>();
    let chosen: Vec<&(&str, VerifyMethod)> = match asked.filter(|asked| !asked.is_empty()) {
        None => CHECKSUMS.iter().collect(),
        Some("help" | "list") => {
            output::print(&list());
            return Err(End::DialectFailed.into());
        }
        Some(names) => CHECKSUMS.iter().filter(|(name, _)| names.split(',').any(|asked| asked == *name)).collect(),
    };
    if chosen.is_empty() {
        complain(format!("unknown hash `{}`. Available:", asked.unwrap_or_default()));
        output::print(&list());
        return Err(End::DialectFailed.into());
    }
    let content = content(CHUNK_BYTES);
    for (name, method) in chosen {
        compute(*method, &content);
        let (began, mut chunks) = (Instant::now(), 0u32);
        while began.elapsed() < MEASURED {
            compute(*method, &content);
            chunks += 1;
        }
        let mib_per_second =
            f64::from(chunks) * CHUNK_BYTES as f64 / f64::from(1 << 20) / began.elapsed().as_secs_f64();
        let gap = if name.len() >= 7 { "\t" } else { "\t\t" };
        output::print(&format!("{name}:{gap}{mib_per_second:8.2} MiB/sec\n"));
    }
    Err(End::Done.into())
}

/// Checks that Plumb's clock agrees on all processors (`--cpuclock-test`).
pub(super) fn clocks<T>() -> Step<T> {
    let clock = Clock::best();
    output::print(&format!("cs: clock: {}\n", clock.kind().name()));
    let cpus = super::disk::allowed_cpus();
    let found = match clock.compare_processors(&cpus, Duration::from_secs(1)) {
        Ok(found) => found,
        Err(error) => {
            complain(format!("--cpuclock-test: {error}"));
            return Err(End::DialectFailed.into());
        }
    };
    output::print(&format!("cs: {} readings on {} CPUs\n", found.readings, cpus.len()));
    if found.backwards == 0 {
        output::print("cs: Pass!\n");
        return Err(End::Done.into());
    }
    output::print(&format!(
        "cs: CPU clock mismatch (diff={})\ncs: Failed: {}\n",
        found.largest_step_back, found.backwards
    ));
    Err(End::DialectFailed.into())
}

/// Number of units of work to measure.
const UNITS: usize = 64;

/// Measures the unit of work of `--idle-prof`: a CRC-32C of 128 KiB.
pub(super) fn unit_work() -> UnitWork {
    let content = content(CHUNK_BYTES);
    compute(VerifyMethod::Crc32c, &content);
    let times: Vec<f64> = (0..UNITS)
        .map(|_| {
            let began = Instant::now();
            compute(VerifyMethod::Crc32c, &content);
            began.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    let mean_us = times.iter().sum::<f64>() / UNITS as f64;
    let squares: f64 = times.iter().map(|time| (time - mean_us).powi(2)).sum();
    UnitWork { mean_us, stddev_us: (squares / (UNITS - 1) as f64).sqrt() }
}
