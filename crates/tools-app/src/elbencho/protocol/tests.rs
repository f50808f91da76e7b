//! Comparisons with what a real elbencho 3.1-10 sent and answered, and malformed answers.

use super::*;
use crate::elbencho::print::{Both, PhaseContext, WorkDone};
use crate::elbencho::read;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;

const REQUESTS: &str = include_str!("../../../golden/elbencho/service_requests.jsonl");
const ANSWERS: &str = include_str!("../../../golden/elbencho/service_answers.json");

fn settings(line: &str) -> ElbenchoSettings {
    let words: Vec<String> = format!("--hosts a,b {line}").split_whitespace().map(str::to_owned).collect();
    read(&words, &mut |_| Err(plumb_tools::FileError::NotPublished { path: String::new() })).unwrap()
}

fn sent(line: &str, number: u32) -> BTreeMap<String, String> {
    let mut settings = settings(line);
    settings.paths.iter_mut().for_each(|path| *path = format!("/bench/{path}"));
    serde_json::from_str(&options(&settings, ServicePlace { number, services: 2 }).unwrap()).unwrap()
}

// Protects services from options that mean something else: each has the name and value that the real client sends.
#[test]
fn options_are_those_of_the_real_client() {
    assert!(REQUESTS.lines().count() >= 5);
    for line in REQUESTS.lines() {
        let golden: Value = serde_json::from_str(line).unwrap();
        let words = golden["line"].as_str().unwrap();
        let first: BTreeMap<String, String> = serde_json::from_value(golden["first"].clone()).unwrap();
        let differs: BTreeMap<String, String> = serde_json::from_value(golden["second_differs"].clone()).unwrap();
        let mut second = first.clone();
        second.extend(differs);
        assert_eq!(sent(words, 0), first, "{words}");
        assert_eq!(sent(words, 1), second, "{words}");
    }
}

#[test]
fn paths_that_a_service_would_split_are_refused() {
    for path in ["/a,b", "/a@b", "/a\nb"] {
        let mut settings = settings("-w -s 1m f");
        settings.paths = vec![path.to_owned()];
        let error = options(&settings, ServicePlace { number: 0, services: 1 }).unwrap_err().to_string();
        assert!(error.contains("splits paths"), "{error}");
    }
}

fn recorded(service: usize, prepared: usize, phase: &str, what: &str) -> String {
    let answers: Value = serde_json::from_str(ANSWERS).unwrap();
    let prepared = &answers[service]["prepared"][prepared];
    let body = if phase.is_empty() { &prepared[what] } else { &prepared["phases"][phase][what] };
    body.as_str().unwrap().to_owned()
}

// Golden: recorded answers of two services, each with 2 threads, 2 directories and 20 files of 16 blocks per thread.
#[test]
fn recorded_answers_are_read_and_merged() {
    let prepared = ServicePrepared::parse(recorded(0, 0, "", "answer").as_bytes()).unwrap();
    assert_eq!((prepared.paths, prepared.file_bytes, prepared.block_bytes), (1, 65536, 4096));
    assert_eq!((prepared.path_type.name(), prepared.errors.as_str()), ("dir", ""));
    let status = ServiceStatus::parse(recorded(0, 0, "4", "status").as_bytes()).unwrap();
    assert_eq!((status.threads_done, status.threads_failed, status.first_is_done), (2, 0, true));
    let results = [0, 1].map(|service| {
        let result = ServiceResult::parse(recorded(service, 0, "4", "result").as_bytes()).unwrap();
        (format!("h{service}"), result)
    });
    let whole = WorkDone { entries: 80, ios: 1280, bytes: 80 << 16 };
    for (_, result) in &results {
        assert_eq!((result.done, result.mixed, result.elapsed_us.len()), (whole, WorkDone::default(), 2));
        assert_eq!((result.ios.count(), result.entries.count(), result.ios_mixed.count()), (1280, 80, 0));
        assert_eq!(result.id.len(), 36);
    }
    let half = FirstDone { done: WorkDone { entries: 7, ios: 112, bytes: 7 << 16 }, mixed: WorkDone::default() };
    let all = report(PhaseKind::Write, "WRITE", PhaseContext::default(), &results, Some(&[half, half])).unwrap();
    assert_eq!((all.done.first.entries, all.done.last.entries, all.done.last.bytes), (14, 160, 160 << 16));
    assert_eq!((all.each_ms.len(), all.services.len(), all.ios.count()), (4, 2, 2560));
    let times: Vec<u64> = results.iter().flat_map(|(_, result)| result.elapsed_us.clone()).collect();
    let (first, last) = (*times.iter().min().unwrap(), *times.iter().max().unwrap());
    assert_eq!(all.elapsed_us, Both { first, last });
    // Without a poll that saw the first end, the totals take its place.
    let all = report(PhaseKind::Write, "WRITE", PhaseContext::default(), &results, None).unwrap();
    assert_eq!(all.done.first, all.done.last);
    assert_eq!(report(PhaseKind::Write, "WRITE", PhaseContext::default(), &[], None), None);
}

#[test]
fn recorded_reads_of_a_mix_are_counted_separately() {
    let result = ServiceResult::parse(recorded(0, 1, "4", "result").as_bytes()).unwrap();
    assert_eq!(result.done.ios + result.mixed.ios, 128);
    assert!(result.mixed.ios > 20 && result.ios_mixed.count() == result.mixed.ios, "{:?}", result.mixed);
}

// Golden: the hash that the real client sent for this line.
#[test]
fn a_secret_has_the_form_that_services_compare() {
    let answers: Value = serde_json::from_str(ANSWERS).unwrap();
    assert_eq!(answers[0]["secret"], secret("s3cret h\u{e9}"));
    assert_eq!(prepare_target("0f"), "/preparephase?ProtocolVersion=3.1.3&PwHash=0f");
    assert_eq!(tree_target(""), "/preparefile?ProtocolVersion=3.1.3&FileName=treefile.txt&PwHash=");
    assert_eq!(start_target(PhaseKind::Stat, "u"), "/startphase?PhaseCode=9&BenchID=u");
}

#[test]
fn only_versions_are_versions() {
    assert_eq!(version("3.1.3"), Some("3.1.3"));
    assert_eq!(version(" 4.0\n"), Some("4.0"));
    for other in ["", "3", "3.", ".3", "3.x", "<html>", "3.1.3.1.3.1.3.1.3.1.3.1.3.1.3.1.3.1.3"] {
        assert_eq!(version(other), None, "{other}");
    }
}

// Protects the order of elbencho's run: actions before the first and after each phase, rotation between phases only.
#[test]
fn steps_are_in_elbenchos_order() {
    use PhaseKind::{Read, Sync, Write};
    use RunStep::{Between, Iteration, Next, Phase};
    assert_eq!(
        steps(&settings("-r -w --sync -i 2 -s 1m f")),
        [0, 1]
            .map(|number| {
                [Iteration(number), Between(Sync), Phase(Write), Between(Sync), Next, Phase(Read), Between(Sync)]
            })
            .concat()
    );
}

/// Replaces one value of a recorded result.
fn changed(from: &str, to: &str) -> String {
    let result = recorded(0, 0, "4", "result");
    assert!(result.contains(from), "{from}: {result}");
    result.replacen(from, to, 1)
}

// Protects a client from services that are broken or hostile: a typed error, and neither a panic nor a number.
#[test]
fn malformed_answers_are_errors_that_name_the_value() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let items = r#""item":"1","#.repeat(70_000);
    let long = changed(r#""ElapsedUSecList": {"#, &format!(r#""ElapsedUSecList": {{{items}"#));
    let cases = [
        (String::new(), "not JSON"),
        ("3.1.3".to_owned(), "not JSON"),
        ("{}".to_owned(), "has no `BenchID`"),
        (deep, "not JSON"),
        (" ".repeat(9 << 20), "longer than the limit"),
        (long, "list `ElapsedUSecList` is longer"),
        (changed(r#""NumWorkersDone": "2""#, r#""NumWorkersDone": "-2""#), "`NumWorkersDone` is `-2`"),
        (changed(r#""NumWorkersDone": "2""#, r#""NumWorkersDone": {"a": "2"}"#), "not a single value"),
        (changed(r#""NumBytesDone": ""#, r#""NumBytesDone": "99999999999999999999"#), "`NumBytesDone` is `9999"),
        (changed(r#""IOPS_LatNumValues": "1280""#, r#""IOPS_LatNumValues": "1281""#), "counts 1281 latencies"),
        (changed(r#""item": "0""#, r#""item": "18446744073709551615""#), "histogram"),
        (changed(r#""item": "0""#, r#""item": "0","item": "0","item": "0""#), "histogram"),
        (changed(r#""ElapsedUSecList": {"#, r#""ElapsedUSecList": {"x": {},"#), "a list in a list"),
        (changed(r#""ErrorHistory""#, r#""Errors""#), "has no `ErrorHistory`"),
    ];
    for (body, expected) in cases {
        let error = ServiceResult::parse(body.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected) && error.len() < 400, "{expected}: {error}");
    }
    let prepared = recorded(0, 0, "", "answer").replace(r#""BenchPathType": "0""#, r#""BenchPathType": "7""#);
    let error = ServicePrepared::parse(prepared.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("`BenchPathType` is `7`"), "{error}");
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..64),
        at in any::<prop::sample::Index>(),
        by in any::<u8>(),
    ) {
        let _ = ServiceResult::parse(&bytes);
        let _ = ServiceStatus::parse(&bytes);
        let _ = ServicePrepared::parse(&bytes);
        let mut result = recorded(0, 0, "4", "result").into_bytes();
        let at = at.index(result.len());
        result[at] = by;
        if let Ok(result) = ServiceResult::parse(&result) {
            let both = [("a".to_owned(), result.clone()), ("b".to_owned(), result)];
            let _ = report(PhaseKind::Write, "WRITE", PhaseContext::default(), &both, None);
        }
    }
}
