//! Tests of the busiest device's counts, and of counts that a study expects.

use super::answer;
use super::count_tests::{find_contrast, on_disks};
use super::evidence::StudyEvidence;
use crate::plan::ExpectedCount;
use plumb_result::ContrastVerdict;

/// A study of two disks; on side `b` the first is written `times` as much as the second.
fn uneven(times: u64) -> StudyEvidence {
    let mut evidence = on_disks(true, |_, _| 32 << 20);
    evidence.plan.compare.metrics =
        ["device.written-bytes", "device.busiest-written-per-byte", "device.busiest-written-share"]
            .map(str::to_owned)
            .into();
    let both = 64 << 20;
    for (run, record) in evidence.plan.runs.iter().zip(&mut evidence.records) {
        if evidence.plan.cells[run.cell as usize].levels["system"] == "b" {
            for (name, written) in [("vda", both * times / (times + 1)), ("vdb", both / (times + 1))] {
                record.devices.get_mut(name).unwrap().counts.written_bytes = written;
            }
        }
    }
    evidence
}

// Protects: RAID 4's parity disk is written twice as much as the others, which an equal sum of all disks hides.
#[test]
fn the_busiest_device_is_a_number_of_its_own() {
    let found = answer(&uneven(3));
    assert_eq!(find_contrast(&found, "device.written-bytes").contrast.verdict, ContrastVerdict::Equivalent);
    for (metric, ratio) in [("device.busiest-written-per-byte", 1.5), ("device.busiest-written-share", 1.5)] {
        let busiest = &find_contrast(&found, metric).contrast;
        assert_eq!((busiest.verdict, busiest.word()), (ContrastVerdict::Slower, "more"), "{metric}");
        let counted = busiest.candidate_value.unwrap() / busiest.baseline_value.unwrap();
        assert!((counted - ratio).abs() < 1e-6, "{metric}: {counted}");
    }
    let share = find_contrast(&found, "device.busiest-written-share").contrast.candidate_value.unwrap();
    assert!((share - 1.5).abs() < 1e-9, "48 MiB over a mean of 32: {share}");
    assert!(
        found.answer[0].contains("more in 2 of 3 numbers") && found.answer[0].contains("1.50 times"),
        "{:?}",
        found.answer
    );
}

// Protects: the busiest disk's writes follow the sum from run to run, and still get their own verdict.
#[test]
fn the_busiest_device_is_not_a_duplicate_of_the_sum() {
    let mut evidence = uneven(3);
    for (seq, record) in evidence.records.iter_mut().enumerate() {
        for device in record.devices.values_mut() {
            device.counts.written_bytes += device.counts.written_bytes / 4096 * (seq as u64 % 7);
        }
    }
    let found = answer(&evidence);
    assert!(find_contrast(&found, "device.written-bytes").primary);
    let busiest = find_contrast(&found, "device.busiest-written-per-byte");
    assert!(busiest.primary, "{}", busiest.words);
    assert_eq!(busiest.contrast.verdict, ContrastVerdict::Slower, "{}", busiest.words);
}

// Protects: counts that the study states are checked in every run, and a miss appears in the answer.
#[test]
fn expected_counts_are_met_or_missed() {
    let count = |metric: &str, least, most: Option<f64>, system: Option<&str>| ExpectedCount {
        metric: metric.to_owned(),
        least,
        most,
        levels: system.map(|level| ("system".to_owned(), vec![level.to_owned()])).into_iter().collect(),
        because: String::new(),
    };
    let mut evidence = uneven(3);
    evidence.plan.expect = vec![
        count("device.written-per-byte", 1.0, Some(1.0), None),
        count("device.busiest-written-share", 0.0, Some(1.1), None),
        count("device.busiest-read-share", 1.0, None, Some("a")),
    ];
    let found = answer(&evidence);
    let met: Vec<(&str, Option<bool>)> =
        found.expected.iter().map(|one| (one.levels["system"].as_str(), one.met)).collect();
    assert_eq!(met, [("a", Some(true)), ("b", Some(true)), ("a", Some(true)), ("b", Some(false)), ("a", None)]);
    let sentence = found.answer.iter().find(|sentence| sentence.starts_with("Expected counts")).unwrap();
    assert!(sentence.starts_with("Expected counts: 3 of 5 met, 1 missed, 1 not counted: "), "{sentence}");
    assert!(
        sentence.contains("device.busiest-written-share of write (size 4k, system b) is 1.5 instead of at most 1.1"),
        "{sentence}"
    );
    // A single run is enough to miss it.
    let b = evidence.plan.runs.iter().position(|run| evidence.plan.cells[run.cell as usize].levels["system"] == "a");
    evidence.records[b.unwrap()].devices.get_mut("vda").unwrap().counts.written_bytes += 4096;
    assert_eq!(answer(&evidence).expected[0].met, Some(false));
    assert!(answer(&on_disks(true, |_, _| 8)).expected.is_empty());
}
