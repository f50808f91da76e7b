//! Tests of device counts under a study's systems.

use super::tests::{evidence, noisy};
use super::*;
use crate::conduct::fake::plan;
use crate::plan::{HostPlan, Levels};
use plumb_lab::protocol::{DeviceCounts, DeviceRecord};
use plumb_lab::vm::VmSpec;
use plumb_result::metric::DeviceCount;
use plumb_result::observe::TargetFacts;
use plumb_result::{ContrastVerdict, Seen};
use plumb_workload::program::{Postmark, PostmarkPart, PostmarkStep, Step};
use plumb_workload::{DeviceTarget, Phase, Target};

/// The same study with counts of two disks under a RAID; `counts` returns them.
pub(super) fn on_disks(emulated: bool, counts: impl Fn(&Levels, u32) -> u64) -> StudyEvidence {
    on_disks_of(&["4k"], emulated, counts)
}

pub(super) fn on_disks_of(sizes: &[&str], emulated: bool, counts: impl Fn(&Levels, u32) -> u64) -> StudyEvidence {
    let mut plan = plan(&["a", "b"], sizes, 3, 2);
    plan.compare.metrics =
        ["write.bw", "device.written-bytes", "device.written-per-byte", "device.read-bytes"].map(str::to_owned).into();
    if emulated {
        plan.hosts.insert("local".to_owned(), HostPlan::Vm(plumb_document::json::from_str::<VmSpec>("{}").unwrap()));
    }
    let mut evidence = evidence(plan, |_, plot, run| noisy(1, 0.01, 0.01)(plot, run));
    for (seq, (run, record)) in evidence.plan.runs.iter().zip(&mut evidence.records).enumerate() {
        let written_bytes = counts(&evidence.plan.cells[run.cell as usize].levels, seq as u32);
        let disk = DeviceCounts { written_bytes, writes: 1, ..DeviceCounts::default() };
        let names = ["vda", "vdb", "md0"];
        record.devices = names.map(|name| (name.to_owned(), disk.into())).into();
        let result = record.result.as_mut().unwrap();
        result.environment.virtualisation = Seen::Yes("qemu".to_owned());
        let leaves = names[..2].iter().map(|name| (*name).to_owned()).collect();
        result.target = [("data".to_owned(), TargetFacts { leaves, ..TargetFacts::default() })].into();
    }
    direct(&mut evidence);
    evidence
}

fn device() -> DeviceTarget {
    plumb_document::json::from_str(r#"{"path": "/dev/sdb"}"#).unwrap()
}

/// Makes the runs bypass the page cache, as they do on a device.
fn direct(evidence: &mut StudyEvidence) {
    let phase: Phase =
        plumb_document::json::from_str(r#"{"name": "write", "cache": "direct", "workers": []}"#).unwrap();
    for result in evidence.records.iter_mut().filter_map(|record| record.result.as_mut()) {
        result.workload.target = [("data".to_owned(), Target::Device(device()))].into();
        result.workload.phase = vec![phase.clone()];
    }
}

pub(super) fn find_contrast<'a>(report: &'a StudyReport, metric: &str) -> &'a StudyContrast {
    report.contrasts.iter().find(|one| one.contrast.metric.to_string() == metric).unwrap()
}

#[test]
fn counts_of_the_leaves_are_claimed_under_emulation_and_are_exact_where_none_varies() {
    let half_more = |levels: &Levels, _| if levels["system"] == "b" { 48 << 20 } else { 32 << 20 };
    let found = answer(&on_disks(true, half_more));
    let written = find_contrast(&found, "device.written-bytes");
    assert_eq!((written.contrast.verdict, written.contrast.word()), (ContrastVerdict::Slower, "more"));
    assert_eq!((written.contrast.p, written.contrast.capped.is_some()), (None, false));
    assert_eq!(
        written.words,
        "write (size 4k) device.written-bytes: b has more than a: exactly 1.50 times (96.0 MiB against 64.0 MiB), the same \
         in every run of 3 plots a side",
        "the two disks and not the array above them"
    );
    let per_byte = &find_contrast(&found, "device.written-per-byte").contrast;
    assert!((per_byte.baseline_value.unwrap() - 1.0).abs() < 1e-6, "64 MiB for 64 MiB: {per_byte:?}");
    let reads = find_contrast(&found, "device.read-bytes");
    assert_eq!((reads.contrast.verdict, reads.contrast.ratio), (ContrastVerdict::Equivalent, None));
    assert!(
        reads.words.ends_with("a and b have exactly as many: 0 B in every run of 3 plots a side"),
        "{}",
        reads.words
    );
    assert_eq!(find_contrast(&found, "write.bw").contrast.capped.as_ref().unwrap().code, "C14");
    assert_eq!(
        found.answer[0],
        "On the devices: b against a: more in 2 of 3 numbers, the same in 1; the largest difference is in \
         device.written-bytes of write, 1.50 times."
    );
    assert!(found.answer[1].starts_with("No claim about a and b"), "{:?}", found.answer);
    let cell = found.cells[0].values.iter().find(|value| value.metric.to_string() == "device.read-bytes").unwrap();
    assert_eq!((cell.value, cell.runs), (0.0, 6), "a counted 0 is a value");
    plumb_document::json::from_str::<StudyReport>(&plumb_document::json::to_string(&found).unwrap())
        .expect("no number is NaN");
}

/// Returns the numbers of a report that support claims.
fn primary(report: &StudyReport) -> Vec<String> {
    let all = report.contrasts.iter().filter(|one| one.primary);
    all.map(|one| one.contrast.metric.to_string()).collect()
}

// Protects: a family of 66 contrasts claims nothing, and one measurement costs Holm only once.
#[test]
fn a_study_decides_on_few_numbers() {
    let speed = noisy(3, 0.01, 0.002);
    let compared = |metrics: &[&str], primary: &[&str]| {
        let mut plan = plan(&["a", "b"], &["4k"], 3, 2);
        plan.compare.metrics = metrics.iter().map(|name| (*name).to_owned()).collect();
        plan.compare.primary = primary.iter().map(|name| (*name).to_owned()).collect();
        answer(&evidence(plan, |levels, plot, run| speed(plot, run) * if levels["system"] == "b" { 2.0 } else { 1.0 }))
    };
    // The rate in bytes and that in ops are one measurement: the first one stands for both.
    let both = compared(&["write.bw", "write.iops"], &[]);
    assert_eq!((primary(&both), both.contrasts.len()), (vec!["write.bw".to_owned()], 2));
    let secondary = &find_contrast(&both, "write.iops");
    assert_eq!(secondary.contrast.verdict, ContrastVerdict::CannotTell);
    assert!(secondary.contrast.lo.is_some(), "its interval is shown");
    assert!(secondary.words.contains("secondary: shown without a verdict"), "{}", secondary.words);
    assert_eq!(primary(&compared(&["write.bw", "write.iops"], &["iops"])), ["write.iops"]);
    assert_eq!(primary(&compared(&[], &[])), ["write.bw"], "one of each workload");
    assert_eq!(
        find_contrast(&both, "write.bw").contrast.p,
        find_contrast(&both, "write.bw").contrast.p_adjusted,
        "a family of one"
    );
}

// Protects: writes by a file system's timers are not an exact count, even if two plots are equal.
#[test]
fn equal_counts_through_a_file_system_are_not_called_exact() {
    let mut evidence = on_disks(true, |levels, _| if levels["system"] == "b" { 9 } else { 8 });
    for result in evidence.records.iter_mut().filter_map(|record| record.result.as_mut()) {
        result.workload.target.clear();
    }
    let written = find_contrast(&answer(&evidence), "device.written-bytes").clone();
    assert_eq!(written.contrast.verdict, ContrastVerdict::CannotTell);
    let words = "each counted the same in all its runs, in 3 plots; a verdict needs 6";
    assert!(written.words.contains(words), "{}", written.words);
    let mut alike = on_disks(true, |_, _| 8);
    for result in alike.records.iter_mut().filter_map(|record| record.result.as_mut()) {
        result.workload.target.clear();
    }
    let written = find_contrast(&answer(&alike), "device.written-bytes").words.clone();
    assert!(written.contains("both counted the same in every run of 3 plots; a verdict needs 6"), "{written}");
}

// Protects: 1.000 in each row, for any loop device that the kernel assigns to a plot.
#[test]
fn a_device_is_known_by_its_role() {
    let mut evidence = on_disks(true, |_, _| 64 << 20);
    for (run, record) in evidence.records.iter_mut().enumerate() {
        let disk = record.devices["vda"].counts;
        let name = format!("loop{}", run % 3);
        record.devices = [(name.clone(), DeviceRecord { role: Some("@disks.1".to_owned()), counts: disk })].into();
        record.result.as_mut().unwrap().target.get_mut("data").unwrap().leaves = vec![name];
    }
    for cell in answer(&evidence).cells {
        let [device] = &cell.devices[..] else { panic!("one device: {:?}", cell.devices) };
        assert_eq!((device.device.as_str(), device.runs, device.names.len()), ("@disks.1", 6, 3));
        assert!((device.written_per_byte.unwrap() - 1.0).abs() < 1e-9, "{device:?}");
    }
    // As in older results: each device has its own row, with the work of its own runs.
    for record in &mut evidence.records {
        record.devices.values_mut().for_each(|device| device.role = None);
    }
    for cell in answer(&evidence).cells {
        assert_eq!(cell.devices.len(), 3);
        assert!(cell.devices.iter().all(|device| (device.written_per_byte.unwrap() - 1.0).abs() < 1e-9));
    }
}

#[test]
fn counts_that_vary_are_judged_by_plots() {
    let varying = |levels: &Levels, run: u32| {
        let base = if levels["system"] == "b" { 16 << 20 } else { 32 << 20 };
        base + u64::from(run % 5) * 4096
    };
    let found = answer(&on_disks(true, varying));
    let written = find_contrast(&found, "device.written-bytes");
    assert_eq!((written.contrast.verdict, written.contrast.word()), (ContrastVerdict::Faster, "fewer"));
    assert!(written.contrast.p_adjusted.unwrap() < 0.05);
    assert!(
        written.words.contains("b has fewer than a: 0.50 times (32.0 MiB against 64.0 MiB) (95 % 0.50 – 0.50)"),
        "{}",
        written.words
    );
    // A count above 0 against 0: no logarithm, and the other claims stand.
    let found =
        answer(&on_disks(false, |levels, run| if levels["system"] == "b" { u64::from(run % 3) } else { 1 << 20 }));
    let written = find_contrast(&found, "device.written-bytes");
    assert_eq!(written.contrast.verdict, ContrastVerdict::CannotTell);
    assert!(written.words.contains("no ratio"), "{}", written.words);
    assert_eq!(find_contrast(&found, "write.bw").contrast.verdict, ContrastVerdict::Equivalent);
}

#[test]
fn effects_on_counts_that_never_vary_are_numbers() {
    for counts in
        [|_: &Levels, _| 1 << 20, |levels: &Levels, _| if levels["system"] == "b" { 2 << 20 } else { 1 << 20 }]
    {
        let found = answer(&on_disks_of(&["4k", "64k"], true, counts));
        plumb_document::json::from_str::<StudyReport>(&plumb_document::json::to_string(&found).unwrap())
            .expect("no share is NaN");
    }
}

/// Uses PostMark's own transactions, otherwise the counted ops.
#[test]
fn bytes_are_reported_per_transaction() {
    let mut evidence = on_disks(false, |_, _| 1 << 20);
    let bytes = |evidence: &StudyEvidence| {
        let record = &evidence.records[0];
        devices::value(DeviceCount::BytesPerTransaction, record, record.result.as_ref().unwrap()).unwrap()
    };
    let writes = (64.0 * 1024.0 * 1024.0 / 4096.0_f64).round();
    assert!((bytes(&evidence) - f64::from(2 << 20) / writes).abs() < 0.5);
    let run = Postmark { transactions: 64, threads: 2, ..Postmark::default() };
    let step = Step::Postmark(Box::new(PostmarkStep { part: PostmarkPart::Transactions, run }));
    let step = plumb_document::json::to_value(&step).unwrap();
    let phase: Phase = plumb_document::json::from_value(serde_json::json!({
        "name": "transactions",
        "workers": [{ "target": "data", "work": { "script": { "steps": [step] } } }],
    }))
    .unwrap();
    evidence.records[0].result.as_mut().unwrap().workload.phase = vec![phase];
    assert_eq!(bytes(&evidence), f64::from(2 << 20) / 128.0);
    evidence.records[0].result.as_mut().unwrap().target.clear();
    let record = &evidence.records[0];
    assert_eq!(devices::value(DeviceCount::Writes, record, record.result.as_ref().unwrap()), None, "no leaf is known");
}

/// E5 and E12 examine the runs of alike cells in their order.
#[test]
fn drift_and_duplicate_numbers_are_reported() {
    let mut plan = plan(&["a", "b"], &["4k", "64k"], 4, 4);
    plan.compare.metrics = vec!["write.bw".to_owned(), "write.iops".to_owned()];
    let found = |slope: f64| {
        let speed = noisy(9, 0.02, 0.01);
        let drifting = |_: &Levels, plot, run: u32| speed(plot, run) * (1.0 - slope * f64::from(run % 8));
        answer(&evidence(plan.clone(), drifting))
    };
    let has = |report: &StudyReport, code: &str| report.checks.iter().any(|check| check.code == code);
    assert!(!has(&found(0.0), "E5"));
    let drifting = found(0.05);
    let drift = drifting.checks.iter().find(|check| check.code == "E5").expect("5 % a run on each plot");
    assert!(drift.message.contains("write (size "), "{}", drift.message);
    let same = drifting.checks.iter().find(|check| check.code == "E12").expect("bytes and ops of one block size");
    assert_eq!(same.level, Level::Note);
    let mut evidence = evidence(plan, |_, _, run| 1e8 + f64::from(run));
    evidence.records[0].result.as_mut().unwrap().tool.name = "fio".to_owned();
    assert!(has(&answer(&evidence), "D7"));
}
