use super::count_tests::{find_contrast, on_disks, on_disks_of};
use super::*;
use crate::conduct::BuildRecord;
use crate::conduct::fake::{answer as ran, normal, plan};
use crate::plan::{HostPlan, Plan};
use crate::plan::{Import, ImportedClaim, Levels};
use plumb_lab::protocol::DeviceCounts;
use plumb_lab::vm::VmSpec;
use plumb_result::study::StudyContrast;
use plumb_result::{CellMetric, ContrastVerdict, PublishedNumber, Seen, Unit};
use plumb_store::StudyPlotRow;

/// A study with all runs completed, at these speeds.
pub(super) fn evidence(plan: Plan, speed: impl Fn(&Levels, u32, u32) -> f64) -> StudyEvidence {
    let records = plan
        .runs
        .iter()
        .enumerate()
        .map(|(seq, run)| {
            let answer = ran(speed(&plan.cells[run.cell as usize].levels, run.plot, seq as u32));
            StudyRun {
                conformance: None,
                status: StudyRunStatus::Done,
                reason: None,
                build: Some(1),
                seconds: Some(1.0),
                rejected_before: 0,
                result: answer.result,
                devices: answer.devices,
            }
        })
        .collect();
    let plots = (0..plan.plots.len() as u32)
        .map(|seq| StudyPlotRow {
            seq,
            state: StudyPlotState::Done,
            builds: 1,
            reason: None,
            build_s: Some(4.0),
            take_down_s: None,
            built: None,
        })
        .collect();
    let (id, created_at) = ("018f".to_owned(), "2024-05-01T12:00:00Z".to_owned());
    let builds = plan.plots.iter().map(|_| BuildRecord::default()).collect();
    StudyEvidence { id, created_at, plan, records, plots, builds }
}

/// 100 MB/s with a spread of plots and of runs.
pub(super) fn noisy(seed: u64, plots: f64, runs: f64) -> impl Fn(u32, u32) -> f64 {
    move |plot, run| {
        let of_plot = plots * normal(seed, 1_000_000 + u64::from(plot));
        1e8 * (of_plot + runs * normal(seed, u64::from(run))).exp()
    }
}

fn fail(evidence: &mut StudyEvidence, run: usize, status: StudyRunStatus, reason: &str) {
    let record = &mut evidence.records[run];
    record.status = status;
    record.reason = Some(reason.to_owned());
    if status == StudyRunStatus::Failed {
        record.result = None;
        record.devices.clear();
    }
}

fn only(report: &StudyReport) -> &StudyContrast {
    assert_eq!(report.contrasts.len(), 1, "{:?}", report.contrasts);
    &report.contrasts[0]
}

#[test]
fn a_planted_effect_of_a_hard_factor_is_found() {
    for (gain, verdict) in [(1.3, ContrastVerdict::Faster), (1.0 / 1.3, ContrastVerdict::Slower)] {
        let speed = noisy(3, 0.02, 0.01);
        let found = answer(&evidence(plan(&["a", "b"], &["4k"], 4, 3), |levels, plot, run| {
            speed(plot, run) * if levels["system"] == "b" { gain } else { 1.0 }
        }));
        let StudyContrast { contrast, words, .. } = only(&found);
        assert_eq!((contrast.verdict, contrast.blocks), (verdict, 4), "{words}");
        assert!((contrast.ratio.unwrap() / gain - 1.0).abs() < 0.05);
        assert!(words.starts_with(&format!("write (size 4k) write.bw: b is {} than a", verdict.name())), "{words}");
        assert!(found.answer[0].starts_with(&format!("b is {} than a", verdict.name())), "{:?}", found.answer);
    }
}

/// Protects: the effect of one plot is not attributed to the system. With runs as the unit, as is common, two of
/// three studies of equal systems end in a false claim.
#[test]
fn equal_systems_are_not_called_different_where_provisionings_vary() {
    let (mut by_plots, mut by_runs) = (0, 0);
    const STUDIES: u64 = 200;
    for seed in 0..STUDIES {
        let speed = noisy(seed, 0.06, 0.02);
        let evidence = evidence(plan(&["a", "b"], &["4k"], 3, 5), |_, plot, run| speed(plot, run));
        let verdict = only(&answer(&evidence)).contrast.verdict;
        by_plots += u32::from(matches!(verdict, ContrastVerdict::Faster | ContrastVerdict::Slower));
        let mut sides: [Vec<f64>; 2] = Default::default();
        for value in values::numbers(&evidence).into_values().flatten() {
            sides[value.cell as usize].push(value.value);
        }
        by_runs += u32::from(plumb_stats::welch(&sides[0], &sides[1]).unwrap().p() < 0.05);
    }
    assert!(by_plots <= 14, "{by_plots} of {STUDIES}");
    assert!(by_runs >= 70, "{by_runs} of {STUDIES}");
}

#[test]
fn one_provisioning_a_level_or_an_exploratory_plan_claims_nothing() {
    let gain = |levels: &Levels, _, run| if levels["system"] == "b" { 2e8 } else { 1e8 + f64::from(run) };
    let one = answer(&evidence(plan(&["a", "b"], &["4k"], 1, 9), gain));
    assert_eq!(only(&one).contrast.verdict, ContrastVerdict::CannotTell);
    assert!(only(&one).words.contains("one plot a side"), "{}", only(&one).words);
    let mut exploratory = plan(&["a", "b"], &["4k"], 4, 2);
    exploratory.exploratory = true;
    let explored = answer(&evidence(exploratory, gain));
    let contrast = &only(&explored).contrast;
    assert_eq!(
        (contrast.verdict, contrast.capped.as_ref().unwrap().code.as_str()),
        (ContrastVerdict::CannotTell, "E1")
    );
    assert_eq!(explored.checks[0].code, "E1");
}

/// Runs of one plot share its effect, so a factor that changes within the plot is compared in pairs there.
#[test]
fn an_easy_factor_is_compared_within_its_plot() {
    let mut plan = plan(&["a", "b"], &["4k", "64k"], 3, 2);
    plan.compare.by = "size".to_owned();
    plan.compare.within = Vec::new();
    let speed = noisy(5, 0.3, 0.01);
    let found =
        answer(&evidence(plan, |levels, plot, run| speed(plot, run) * if levels["size"] == "64k" { 1.1 } else { 1.0 }));
    let contrast = &only(&found).contrast;
    assert_eq!((contrast.verdict, contrast.blocks), (ContrastVerdict::Faster, 12), "{contrast:?}");
    assert_eq!((contrast.baseline.as_str(), contrast.candidate.as_str()), ("size 4k", "size 64k"));
}

#[test]
fn missing_runs_are_shown_with_reasons_and_excluded() {
    let speed = noisy(7, 0.01, 0.01);
    let mut evidence = evidence(plan(&["a", "b"], &["4k", "64k"], 3, 1), |_, plot, run| speed(plot, run));
    let of_cell = |cell: u32, evidence: &StudyEvidence| -> Vec<usize> {
        evidence.plan.runs.iter().enumerate().filter(|(_, run)| run.cell == cell).map(|(seq, _)| seq).collect()
    };
    for run in of_cell(3, &evidence) {
        fail(&mut evidence, run, StudyRunStatus::Failed, "exit code 4: no space left");
    }
    let rejected = of_cell(0, &evidence)[0];
    fail(&mut evidence, rejected, StudyRunStatus::Rejected, "A1 from memory");
    evidence.records[rejected].result.as_mut().unwrap().phases[0].metrics.values_mut().for_each(|value| {
        value.value = Some(1e15);
    });
    let found = answer(&evidence);
    assert_eq!(found.cells.len(), 4);
    let dead = &found.cells[3];
    assert_eq!((dead.failed, dead.done, dead.values.len(), dead.devices.len()), (3, 0, 0, 0));
    assert_eq!((dead.reasons[0].reason.as_str(), dead.reasons[0].runs), ("exit code 4: no space left", 3));
    let cell = &found.cells[0];
    assert_eq!((cell.rejected, cell.done, cell.values[0].runs), (1, 2, 2));
    assert!(cell.values[0].value < 2e8, "a rejected run is in no mean");
    assert!(cell.rejected_values.is_empty(), "other runs are left");
    assert_eq!((found.counts.cells_with_value, found.counts.cells), (3, 4));
    assert!(found.checks.iter().any(|check| check.code == "E10" && check.observed == "3 of 4 cells have a value"));
    // The context of size 4k has two complete blocks left; that of 64k has no candidate.
    assert_eq!(only(&found).contrast.blocks, 2);
    assert!(
        found.answer.iter().any(|sentence| sentence
            == "Of 12 runs, 3 failed and 1 was rejected by checks; they are excluded from all numbers.")
    );
}

#[test]
fn under_emulation_counts_are_reported_and_times_support_no_claim() {
    let mut plan = plan(&["a", "b"], &["4k"], 4, 2);
    plan.hosts.insert("local".to_owned(), HostPlan::Vm(plumb_document::json::from_str::<VmSpec>("{}").unwrap()));
    let virtualised = |name: &str| {
        let mut evidence = evidence(plan.clone(), |levels, plot, run| {
            noisy(1, 0.01, 0.01)(plot, run) * if levels["system"] == "b" { 2.0 } else { 1.0 }
        });
        for record in &mut evidence.records {
            record.result.as_mut().unwrap().environment.virtualisation = Seen::Yes(name.to_owned());
        }
        answer(&evidence)
    };
    let emulated = virtualised("qemu");
    assert!(emulated.emulated);
    let contrast = &only(&emulated).contrast;
    assert_eq!(
        (contrast.verdict, contrast.capped.as_ref().unwrap().code.as_str()),
        (ContrastVerdict::CannotTell, "C14")
    );
    assert_eq!(contrast.capped.as_ref().unwrap().verdict, ContrastVerdict::Faster);
    let device = &emulated.cells[0].devices[0];
    assert_eq!((device.device.as_str(), device.runs, device.writes.min, device.writes.max), ("sda", 8, 512, 512));
    assert!((device.written_per_byte.unwrap() - 1.5).abs() < 1e-6, "96 MiB for 64 MiB: {device:?}");
    assert_eq!(only(&virtualised("kvm")).contrast.verdict, ContrastVerdict::Faster);
}

#[test]
fn the_spread_is_reported_by_source() {
    let speed = noisy(11, 0.10, 0.01);
    let found = answer(&evidence(plan(&["a", "b"], &["4k"], 6, 3), |levels, plot, run| {
        speed(plot, run) * if levels["system"] == "b" { 3.0 } else { 1.0 }
    }));
    let spread = &found.spread[0];
    assert!(spread.plots_share > 0.9 && spread.plots_cv < 0.3, "the system's effect is not spread: {spread:?}");
    assert!(spread.advice.contains("between plots: add plots, not runs"), "{}", spread.advice);
    assert_eq!(spread.runs_per_plot, Some(1));
    let calm = noisy(11, 0.0, 0.05);
    let found = answer(&evidence(plan(&["a", "b"], &["4k"], 6, 3), |_, plot, run| calm(plot, run)));
    assert!(found.spread[0].runs_share > 0.6, "{:?}", found.spread[0]);
}

#[test]
fn interactions_and_main_effects_have_their_own_errors() {
    let speed = noisy(2, 0.02, 0.002);
    let found = answer(&evidence(plan(&["a", "b"], &["4k", "64k"], 4, 2), |levels, plot, run| {
        speed(plot, run) * if levels["system"] == "b" && levels["size"] == "64k" { 4.0 } else { 1.0 }
    }));
    let table = &found.effects[0];
    let line = |name: &str| table.lines.iter().find(|line| line.name == name).unwrap();
    for name in ["system", "size", "system × size"] {
        assert!((0.30..0.37).contains(&line(name).share.unwrap()), "{name}: {table:?}");
        assert!(line(name).p.unwrap() < 0.01);
    }
    let size = line("size");
    assert!((size.ratio.unwrap() - 2.0).abs() < 0.05 && size.lo.unwrap() < 2.0 && size.hi.unwrap() > 2.0, "{size:?}");
    assert!((line("system × size").ratio.unwrap() - 4.0).abs() < 0.1, "64k is 4 times better on b, and 1 on a");
    assert!(line("system").p > line("size").p, "the hard factor is compared with the plots: {table:?}");
}

fn names(table: &plumb_result::study::EffectTable) -> Vec<String> {
    let name = |line: &plumb_result::study::EffectLine| match line.levels.as_slice() {
        [] => line.name.clone(),
        levels => format!("{}: {} against {}", line.name, levels.join(", "), line.against.join(", ")),
    };
    table.lines.iter().map(name).collect()
}

// Protects: all factors are answered, whatever their number of levels.
#[test]
fn three_levels_have_a_line_each() {
    let speed = noisy(3, 0.01, 0.002);
    let found = answer(&evidence(plan(&["a", "b", "c"], &["4k", "64k"], 3, 1), |_, plot, run| speed(plot, run)));
    let table = &found.effects[0];
    assert_eq!(
        names(table),
        [
            "system: b against a",
            "system: c against a",
            "size: 64k against 4k",
            "system × size: b, 64k against a, 4k",
            "system × size: c, 64k against a, 4k",
            "between plots of one cell",
        ]
    );
    let shares: f64 = table.lines.iter().filter_map(|line| line.share).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    assert!(table.lines[..5].iter().all(|line| line.lo.is_some() && line.reason.is_none()));
}

// Protects: in the review, one rejected run per cell removed a whole table.
#[test]
fn a_rejected_run_costs_no_table() {
    let speed = noisy(3, 0.01, 0.002);
    let mut evidence = evidence(plan(&["a", "b"], &["4k", "64k"], 3, 2), |_, plot, run| speed(plot, run));
    for cell in 0..4 {
        let run = evidence.plan.runs.iter().position(|run| run.cell == cell).unwrap();
        fail(&mut evidence, run, StudyRunStatus::Rejected, "C1");
    }
    let found = answer(&evidence);
    assert!(found.effects[0].lines[..3].iter().all(|line| line.lo.is_some()), "{:?}", found.effects);
    // Without any value of a cell, lines that need it say so, and the others stay.
    for run in (0..evidence.plan.runs.len()).filter(|&run| evidence.plan.runs[run].cell == 0).collect::<Vec<_>>() {
        fail(&mut evidence, run, StudyRunStatus::Rejected, "C1");
    }
    let found = answer(&evidence);
    assert!(found.cells[0].values.is_empty() && !found.cells[0].rejected_values.is_empty(), "{:?}", found.cells[0]);
    let reason = found.effects[0].lines[0].reason.as_deref().unwrap();
    assert!(reason.starts_with("cannot be estimated: system a lacks values"), "{reason}");
}

/// D5: a difference that follows the factor's levels confounds it; one between two plots of one level does not.
#[test]
fn undeclared_differences_are_reported() {
    let speed = noisy(4, 0.01, 0.01);
    let evidence = |bend: &dyn Fn(&Levels, u32, &mut RunResult)| {
        let mut evidence = evidence(plan(&["a", "b"], &["4k"], 2, 1), |_, plot, run| speed(plot, run));
        for (run, record) in evidence.plan.runs.iter().zip(&mut evidence.records) {
            bend(&evidence.plan.cells[run.cell as usize].levels, run.plot, record.result.as_mut().unwrap());
        }
        answer(&evidence)
    };
    let alike = evidence(&|_, plot, result| {
        result.environment.facts.insert("vm.swappiness".to_owned(), plot.to_string());
    });
    assert!(alike.undeclared.is_empty(), "{:?}", alike.undeclared);
    let unlike = evidence(&|levels, _, result| {
        let ratio = if levels["system"] == "b" { "5" } else { "20" };
        result.environment.facts.insert("vm.dirty_ratio".to_owned(), ratio.to_owned());
    });
    assert_eq!(unlike.undeclared.len(), 1);
    assert_eq!(unlike.undeclared[0].factor, "sysctl");
    assert!(unlike.checks.iter().any(|check| check.code == "D5"));
}

/// D5: settings of two kernels are the kernels' own, and the C library of two systems is the systems' own.
#[test]
fn differences_that_come_with_a_machine_are_declared_by_it() {
    let speed = noisy(4, 0.01, 0.01);
    let undeclared = |machines: [&str; 2]| {
        let mut evidence = evidence(plan(&["a", "b"], &["4k"], 2, 1), |_, plot, run| speed(plot, run));
        for (name, text) in ["a", "b"].into_iter().zip(machines) {
            let vm = plumb_document::json::from_str::<VmSpec>(text).unwrap();
            evidence.plan.hosts.insert(name.to_owned(), HostPlan::Vm(vm));
        }
        for plot in &mut evidence.plan.plots {
            plot.host = plot.levels["system"].clone();
        }
        for (run, record) in evidence.plan.runs.iter().zip(&mut evidence.records) {
            let level = &evidence.plan.cells[run.cell as usize].levels["system"];
            let environment = &mut record.result.as_mut().unwrap().environment;
            environment.facts.insert("vm.min_free_kbytes".to_owned(), format!("of {level}"));
            environment.os = format!("system {level}");
        }
        let mut factors: Vec<String> = answer(&evidence).undeclared.into_iter().map(|one| one.factor).collect();
        factors.dedup();
        factors
    };
    assert_eq!(undeclared([r#"{"root": "/a"}"#, r#"{"root": "/b"}"#]), [""; 0]);
    assert_eq!(undeclared([r#"{"kernel": "6.1"}"#, r#"{"kernel": "6.12"}"#]), ["os"]);
}

#[test]
fn metrics_are_picked_by_name_or_last_parts() {
    let mut plan = plan(&["a", "b"], &["4k"], 2, 1);
    let is = |plan: &Plan, name: &str| values::is_compared(plan, name.parse().unwrap());
    plan.compare.metrics = vec!["bw".to_owned(), "lat.p99".to_owned(), "create.ops".to_owned()];
    assert!(is(&plan, "read.bw") && is(&plan, "write.bw") && is(&plan, "fsync.lat.p99") && is(&plan, "create.ops"));
    assert!(!is(&plan, "read.iops") && !is(&plan, "read.lat.p99.9") && !is(&plan, "stat.ops"));
    plan.compare.metrics.clear();
    assert!(is(&plan, "write.bw") && is(&plan, "create.ops") && is(&plan, "read.lat.p99") && !is(&plan, "cpu.user"));
}

#[test]
fn findings_of_runs_are_gathered_at_their_worst() {
    let mut evidence = evidence(plan(&["a", "b"], &["4k"], 2, 1), |_, _, _| 1e8);
    for (run, level) in [(0, Level::Warn), (1, Level::Note), (2, Level::Warn)] {
        evidence.records[run].result.as_mut().unwrap().checks.push(Finding {
            code: "B1".to_owned(),
            level,
            phase: None,
            at_ns: None,
            observed: String::new(),
            threshold: String::new(),
            message: format!("said of run {run}"),
            remedy: String::new(),
            remedies: Vec::new(),
        });
    }
    let found = answer(&evidence);
    let [b1] = found.findings.as_slice() else { panic!("{:?}", found.findings) };
    assert_eq!((b1.level, b1.runs, b1.of, b1.message.as_str()), (Level::Warn, 2, 4, "said of run 0"));
}

// Protects: a published number appears only next to our numbers of its kind and levels, without a conclusion.
#[test]
fn published_numbers_stand_next_to_ours_of_the_same_kind() {
    let number = |kind, value, unit| PublishedNumber::new(kind, String::new(), value, unit, String::new()).unwrap();
    let mut plan = plan(&["a", "b"], &["4k", "64k"], 3, 1);
    // A published metric need not be one that the plan compares.
    plan.compare.metrics = vec!["write.lat.p99".to_owned()];
    plan.imports.push(Import {
        label: "2014".to_owned(),
        file: "old.xls".to_owned(),
        dialect: "iozone".to_owned(),
        levels: [("system".to_owned(), "b".to_owned())].into(),
        side: None,
        test: None,
        numbers: vec![
            number(CellMetric::Write, 5e7, Unit::BytesPerSecond),
            number(CellMetric::Read, 5e7, Unit::BytesPerSecond),
            number(CellMetric::Elapsed, 5e7, Unit::Nanoseconds),
            number(CellMetric::Rewrite, 5e7, Unit::BytesPerSecond),
            number(CellMetric::RandomWrite, 5e7, Unit::BytesPerSecond),
        ],
    });
    let evidence = evidence(plan, |levels, _, _| if levels["system"] == "b" { 1e8 } else { 2e8 });
    let found = answer(&evidence);
    let [published] = found.published.as_slice() else { panic!("{:?}", found.published) };
    let [write, read, elapsed, rewrite, random] = published.numbers.as_slice() else {
        panic!("{:?}", published.numbers)
    };
    let sizes: Vec<&str> = write.ours.iter().map(|ours| ours.levels["size"].as_str()).collect();
    assert_eq!(sizes, ["4k", "64k"]);
    for ours in &write.ours {
        assert_eq!((ours.levels["system"].as_str(), ours.phase.as_str()), ("b", "write"));
        assert!((ours.value.unwrap() / 1e8 - 1.0).abs() < 1e-9 && (ours.ratio.unwrap() / 2.0 - 1.0).abs() < 1e-9);
    }
    assert!(read.metric.is_some() && read.ours.is_empty());
    assert!(elapsed.metric.is_none() && elapsed.ours.is_empty());
    // The phase is named `write`, so it is not a random write.
    assert_eq!((rewrite.ours.len(), random.ours.len()), (2, 0));
    let emulated = published::published(&evidence, true);
    assert!(emulated[0].numbers[0].ours.iter().all(|ours| ours.value.is_none() && ours.ratio.is_none()));
}

// Protects: a published claim appears next to the verdicts on its own levels and kind of number, and next to none
// if the scale has none.
#[test]
fn published_claims_stand_next_to_our_verdicts() {
    let mut plan = plan(&["a", "b"], &["4k", "64k"], 3, 1);
    let claim = |text: &str, levels: Option<&str>, kinds: &[CellMetric]| ImportedClaim {
        text: text.to_owned(),
        file: "old.toml".to_owned(),
        kinds: kinds.to_vec(),
        levels: levels.map(|size| [("size".to_owned(), size.to_owned())].into()),
    };
    plan.claims = vec![
        claim("b wrote faster", Some("64k"), &[CellMetric::Write]),
        claim("b read faster", Some("64k"), &[CellMetric::Read]),
        claim("b seeks faster", None, &[]),
    ];
    let found = answer(&evidence(plan, |levels, _, _| if levels["system"] == "b" { 1e8 } else { 2e8 }));
    let [wrote, read, seeks] = found.claims.as_slice() else { panic!("{:?}", found.claims) };
    assert_eq!(wrote.text, "b wrote faster");
    let of_size: Vec<&str> =
        found.contrasts.iter().filter(|one| one.within["size"] == "64k").map(|one| one.words.as_str()).collect();
    assert_eq!(wrote.ours, of_size);
    assert!(!wrote.ours.is_empty() && wrote.ours.len() < found.contrasts.len());
    assert!(read.ours.is_empty() && seeks.ours.is_empty());
    assert!(seeks.levels.is_none());
}

// Protects the reader from a list of equal sentences without a decision.
#[test]
fn reasons_without_a_verdict_are_listed_once_next_to_a_claim() {
    let mut evidence = on_disks_of(&["4k", "64k", "1m"], true, |_, _| 0);
    evidence.plan.compare.metrics = vec!["write.bw".to_owned()];
    evidence.plan.claims = vec![ImportedClaim {
        text: "b wrote faster".to_owned(),
        file: "old.toml".to_owned(),
        kinds: vec![CellMetric::Write],
        levels: Some(BTreeMap::new()),
    }];
    let found = answer(&evidence);
    let [ours] = found.claims[0].ours.as_slice() else { panic!("{:?}", found.claims[0].ours) };
    assert!(ours.starts_with("no verdict on 3 numbers: ") && ours.ends_with(" (3)"), "{ours}");
    assert_eq!(ours.matches("emulation").count(), 1, "{ours}");
}

/// RAID 4 of three disks: every write reads and writes data and parity. The parity disk is named
/// and decides the model's time.
#[test]
fn under_emulation_counts_per_op_and_a_models_time_are_the_answer() {
    let parity = |emulated: bool| {
        let mut evidence = on_disks(emulated, |_, _| 0);
        evidence.plan.compare.metrics = vec!["write.bw".to_owned()];
        for record in &mut evidence.records {
            let result = record.result.as_mut().unwrap();
            let writes = result.phases[0].done[&plumb_workload::OpKind::Write].ops;
            let names = ["vda", "vdb", "vdc"];
            let record_of = |disk: usize| {
                let count = if disk == 2 { writes } else { writes / 2 };
                let counts = DeviceCounts {
                    reads: count,
                    read_bytes: count << 12,
                    writes: count,
                    written_bytes: count << 12,
                    flushes: 0,
                };
                plumb_lab::protocol::DeviceRecord { role: Some(format!("@disks.{}", disk + 1)), counts }
            };
            record.devices = (0..3).map(|disk| (names[disk].to_owned(), record_of(disk))).collect();
            result.target.get_mut("data").unwrap().leaves = names.map(str::to_owned).into();
        }
        answer(&evidence)
    };
    let found = parity(true);
    let line = found.modelled.iter().find(|line| line.starts_with("write (size 4k, system a): each write of")).unwrap();
    assert!(line.contains("makes 2.00 reads, 2.00 writes and 0.00 flushes of 3 disks together"), "{line}");
    assert!(line.contains("1.00 of the writes on @disks.3 and 0.50 on each other"), "{line}");
    assert!(line.contains("Model `sim:hdd`: ") && line.ends_with("decided by @disks.3"), "{line}");
    assert!(found.modelled[0].starts_with("These are estimates of a model"));
    // The plan names no count: under emulation, bytes and flushes are still compared.
    assert!(
        find_contrast(&found, "device.written-bytes").primary && find_contrast(&found, "device.read-bytes").primary
    );
    let real = parity(false);
    assert!(real.contrasts.iter().all(|one| one.contrast.metric.device_count().is_none()));
}
