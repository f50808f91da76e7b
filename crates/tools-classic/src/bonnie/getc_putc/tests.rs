//! Tests against output of the real tool.

use super::lower::lower;
use super::print::{GetcPutcResults, table, values};
use super::*;
use plumb_workload::Work;
use plumb_workload::program::Program;

fn settings(words: &str) -> Result<GetcPutcSettings, Refusal> {
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    GetcPutcSettings::read("getc_putc", &words, "golden")
}

/// Sizes are KiB, or MiB with `m`, in multiples of 64 KiB; a smaller size is refused.
#[test]
fn sizes_are_steps_of_64_kib() {
    let size = |words: &str| settings(words).unwrap().size_kib;
    assert_eq!([size(""), size("-s 2m"), size("-s 1000"), size("-s 64x")], [524_288, 2048, 960, 64]);
    for words in ["-s 63", "-s 0", "-s x", "-s 1g"] {
        assert!(settings(words).unwrap().check().is_err(), "{words}");
    }
    assert_eq!(settings("-h").unwrap_err().0.lines().next(), Some("getc_putc: invalid option -- 'h'"));
}

/// Rates of the golden run of 256 MiB, computed from times, in the tool's format.
#[test]
fn a_run_prints_the_tools_lines() {
    let settings = settings("-s 256m").unwrap();
    let mut results = GetcPutcResults::default();
    let kib_s = [292.5, 2184.5, 215_274.5, 346_579.5, 218_903.5, 331_280.5, 366_399.5, 600_000.0];
    for (test, rate) in GetcPutcTest::ALL.iter().copied().zip(kib_s) {
        results.set(test, settings.moved_kib(test) as f64 / rate);
    }
    assert_eq!(
        table(&settings, &results),
        "Version 2.00a          write   read putcNT getcNT   putc   getc  putcU  getcU\n\
         golden                   292   2184 215274 346579 218903 331280 366399 ++++++\n"
    );
    assert_eq!(values(&settings, &results), "golden,292,2184,215274,346579,218903,331280,366399,++++++\n");
}

/// Each test moves the same amount as the tool, for any size. Locks differ between the strict and the corrected mode.
#[test]
fn each_test_moves_what_the_tool_moves() {
    let scripts = |words: &str| -> Vec<Program> {
        let phases = lower(&settings(words).unwrap(), 1).phase;
        let works = phases.into_iter().flat_map(|phase| phase.workers).map(|group| group.work);
        works.filter_map(|work| if let Work::Program(script) = work { Some(*script) } else { None }).collect()
    };
    let moved = |words: &str| -> Vec<u64> { scripts(words).iter().map(Program::reach_bytes).collect() };
    let kib = 1024;
    let whole = |size: u64| [&[size / 64; 2][..], &[size; 6]].concat();
    assert_eq!(moved("-s 960"), whole(960 * kib));
    assert_eq!(moved("-s 3m"), whole(3072 * kib));
    assert_ne!(scripts("-s 64")[4], scripts("--compat=strict -s 64")[4]);
    assert_eq!(scripts("-s 64")[6], scripts("--compat=strict -s 64")[6]);
}
