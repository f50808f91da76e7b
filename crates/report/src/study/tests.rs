use super::verdicts::sentences;
use super::*;
use plumb_result::compare::{Capped, Difference, Replicate};
use plumb_result::run::TierName;
use plumb_result::study::{
    AskedQuestion, CellDevice, CellReason, CellValue, ClaimBeside, ComparedLevels, OurNumber, Published,
    PublishedBeside, RunCount, STUDY_SCHEMA, SpreadSources, StudyContrast, StudyCounts, StudyExpectation, StudySystem,
    SystemFact,
};
use plumb_result::{CellMetric, Contrast, ContrastVerdict, Metric, PublishedNumber, Unit};

fn metric() -> Metric {
    "write.bw".parse().unwrap()
}

fn levels(of: &[(&str, &str)]) -> BTreeMap<String, String> {
    of.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect()
}

fn contrast(load: &str, verdict: ContrastVerdict, ratio: f64, words: &str) -> StudyContrast {
    StudyContrast {
        primary: true,
        exploratory: false,
        within: levels(&[("load", load)]),
        words: words.to_owned(),
        contrast: Contrast {
            metric: metric(),
            phase: "write".to_owned(),
            baseline: "level 4".to_owned(),
            candidate: "level 5".to_owned(),
            baseline_value: Some(3.15e8),
            candidate_value: Some(3.15e8 * ratio),
            baseline_cv: Some(0.02),
            candidate_cv: Some(0.03),
            ratio: Some(ratio),
            lo: Some(ratio * 0.95),
            hi: Some(ratio * 1.05),
            confidence: 0.95,
            p: Some(0.0004),
            p_adjusted: Some(0.0008),
            p_sign_flip: None,
            verdict,
            blocks: 4,
            blocks_needed: None,
            workload: Some("write".to_owned()),
            unit: Replicate::Plot,
            note: None,
            capped: None,
            floor: None,
            baseline_tier: Some(TierName::Device),
            candidate_tier: Some(TierName::Device),
            baseline_modes: Vec::new(),
            candidate_modes: Vec::new(),
            outliers: Vec::new(),
            without_outliers: None,
            rejected: false,
            unseen: None,
        },
    }
}

fn cell(level: &str, load: &str, value: Option<f64>) -> StudyCell {
    let exact = |count: u64| RunCount::from_counts(&[count]).unwrap();
    StudyCell {
        levels: levels(&[("level", level), ("load", load)]),
        workload: "write".to_owned(),
        planned: 8,
        done: if value.is_some() { 8 } else { 0 },
        rejected: 0,
        failed: if value.is_some() { 0 } else { 8 },
        open: 0,
        not_needed: 0,
        reasons: match value {
            Some(_) => Vec::new(),
            None => vec![CellReason { reason: "exit code 4: a_b|c: no space left".to_owned(), runs: 8 }],
        },
        values: value
            .map(|value| CellValue {
                phase: "write".to_owned(),
                metric: metric(),
                value,
                cv: Some(0.02),
                plots: 4,
                runs: 8,
                tier: Some(TierName::Device),
            })
            .into_iter()
            .collect(),
        rejected_values: Vec::new(),
        devices: value
            .map(|_| CellDevice {
                device: "sda".to_owned(),
                names: Vec::new(),
                runs: 8,
                reads: exact(0),
                read_bytes: exact(0),
                writes: exact(512),
                written_bytes: RunCount::from_counts(&[96 << 20, 98 << 20]).unwrap(),
                flushes: exact(1),
                written_per_byte: Some(1.5),
                read_per_byte: None,
            })
            .into_iter()
            .collect(),
    }
}

fn published() -> Published {
    let number = |kind, printed: &str, value, unit| {
        PublishedNumber::new(kind, printed.to_owned(), value, unit, "bonnie on RAID 4: bonnie++ -s 2048".to_owned())
    };
    let ours = |load: &str, value: f64| OurNumber {
        levels: levels(&[("level", "4"), ("load", load)]),
        workload: "write".to_owned(),
        phase: "write".to_owned(),
        value: Some(value),
        ratio: Some(value / 70_658_048.0),
    };
    let write = number(CellMetric::Write, "69002 K/sec", 70_658_048.0, Unit::BytesPerSecond).unwrap();
    let elapsed = number(CellMetric::Elapsed, "~30 s", 30e9, Unit::Nanoseconds).unwrap();
    Published {
        label: "2014, RAID 4".to_owned(),
        file: "../audits/raid4-vs-raid5.toml".to_owned(),
        dialect: "audit".to_owned(),
        levels: levels(&[("level", "4")]),
        numbers: vec![
            PublishedBeside {
                metric: write.metric(),
                number: write,
                ours: vec![ours("one-stream", 3.0e8), ours("sixteen-writers", 3.15e8)],
            },
            PublishedBeside { metric: None, number: PublishedNumber { about: true, ..elapsed }, ours: Vec::new() },
        ],
    }
}

fn system(level: &str) -> StudySystem {
    let fact = |name: &str, value: &str| SystemFact { name: name.to_owned(), values: vec![value.to_owned()] };
    StudySystem {
        levels: levels(&[("level", level)]),
        host: "local".to_owned(),
        facts: vec![
            fact("kernel", "6.1.0-35-amd64 x86_64"),
            fact("devices", &format!("md raid{level} (chunk 256 KiB) → 3 × disk (spinning, 1.00 TiB)")),
            fact("mdadm", "mdadm - v4.2 - 2021-12-30"),
        ],
        steps: vec![format!("mdadm level={level} devices=@expendable"), "mkfs fs=ext4 device=@array".to_owned()],
        commands: vec![format!("mdadm --create /dev/md0 --level={level}"), "mkfs.ext4 -q -F /dev/md0".to_owned()],
    }
}

pub(super) fn report() -> StudyReport {
    let finding = |code: &str, level, message: &str, remedy: &str| Finding {
        code: code.to_owned(),
        level,
        phase: None,
        at_ns: None,
        observed: String::new(),
        threshold: String::new(),
        message: message.to_owned(),
        remedy: remedy.to_owned(),
        remedies: Vec::new(),
    };
    StudyReport {
        conformance: Vec::new(),
        schema: STUDY_SCHEMA.to_owned(),
        id: "018f0000-0000-7000-8000-00000000000a".to_owned(),
        name: "raid4-vs-raid5".to_owned(),
        question: "Is RAID 4 really faster than RAID 5?".to_owned(),
        scale: "full".to_owned(),
        plan_hash: "0123456789abcdef".to_owned(),
        created_at: "2024-05-01T12:00:00Z".to_owned(),
        under_load: false,
        answer: vec!["level 5 is faster than level 4 (1.31×).".to_owned()],
        counts: StudyCounts {
            made_again: 2,
            plots: 8,
            plots_failed: 0,
            runs: 32,
            done: 24,
            rejected: 0,
            failed: 8,
            open: 0,
            not_needed: 0,
            cells: 4,
            cells_with_value: 3,
        },
        by: "level".to_owned(),
        asked: None,
        correction: "holm".to_owned(),
        contrasts: vec![contrast(
            "sixteen-writers",
            ContrastVerdict::Faster,
            1.31,
            "write (load sixteen-writers) write.bw: level 5 is faster than level 4: 1.31× (95 % 1.24 – 1.38), 4 plots a side",
        )],
        checks: vec![
            finding("E10", Level::Warn, "1 of 4 planned cells has no value.", "see the reasons"),
            finding("E5", Level::Note, "not worth a line", ""),
        ],
        findings: vec![GatheredFinding {
            code: "B1".to_owned(),
            level: Level::Warn,
            runs: 6,
            of: 24,
            message: "Asked for 16 in flight, got 12.4.".to_owned(),
            remedy: "more workers".to_owned(),
        }],
        undeclared: vec![Difference {
            fact: "environment.facts.vm.dirty_ratio".to_owned(),
            factor: "sysctl".to_owned(),
            baseline: "20".to_owned(),
            candidate: "5".to_owned(),
        }],
        spread: vec![SpreadSources {
            workload: "write".to_owned(),
            phase: "write".to_owned(),
            metric: metric(),
            plots_share: 0.78,
            runs_share: 0.22,
            plots_cv: 0.04,
            runs_cv: 0.02,
            plots_freedom: 4,
            runs_freedom: 6,
            runs_per_plot: Some(2),
            advice: "78 % of the spread is between plots: add plots, not runs".to_owned(),
        }],
        effects: vec![plumb_result::study::EffectTable {
            workload: "write".to_owned(),
            phase: "write".to_owned(),
            metric: metric(),
            method: "contrasts".to_owned(),
            lines: vec![
                EffectLine {
                    factors: vec!["level".to_owned()],
                    name: "level".to_owned(),
                    levels: vec!["5".to_owned()],
                    against: vec!["4".to_owned()],
                    share: Some(0.7),
                    ratio: Some(1.31),
                    lo: Some(1.18),
                    hi: Some(1.45),
                    p: Some(0.002),
                    reason: None,
                },
                EffectLine {
                    factors: vec!["level".to_owned(), "load".to_owned()],
                    name: "level × load".to_owned(),
                    levels: vec!["5".to_owned(), "sixteen-writers".to_owned()],
                    against: vec!["4".to_owned(), "one-stream".to_owned()],
                    share: None,
                    ratio: None,
                    lo: None,
                    hi: None,
                    p: None,
                    reason: Some("cannot be estimated: level 5 lacks values".to_owned()),
                },
                EffectLine {
                    factors: Vec::new(),
                    name: "between plots of one cell".to_owned(),
                    levels: Vec::new(),
                    against: Vec::new(),
                    share: Some(0.3),
                    ratio: None,
                    lo: None,
                    hi: None,
                    p: None,
                    reason: None,
                },
            ],
        }],
        cells: vec![
            cell("4", "one-stream", Some(3.0e8)),
            cell("4", "sixteen-writers", Some(3.15e8)),
            cell("5", "one-stream", None),
            cell("5", "sixteen-writers", Some(4.12e8)),
        ],
        systems: ["4", "5"].map(system).into(),
        claims: vec![ClaimBeside {
            text: "RAID 4 wrote faster in dd, by 1.5 %.".to_owned(),
            file: "../audits/raid4-vs-raid5.toml".to_owned(),
            levels: Some([("load".to_owned(), "buffered".to_owned())].into()),
            ours: vec!["level 5 is faster than level 4 (1.31×).".to_owned()],
        }],
        published: vec![published()],
        emulated: false,
        modelled: Vec::new(),
        expected: Vec::new(),
        notes: vec!["plot 3 was built 2 times (lost under run 9)".to_owned()],
    }
}

#[test]
fn a_page_begins_with_the_answer_and_shows_every_cell() {
    insta::assert_snapshot!(page(&report(), Detail::Brief, &Style { width: 120, ..Style::PLAIN }));
}

#[test]
fn markdown_has_the_same_content_and_escapes_names() {
    let page = page_markdown(&report());
    assert!(page.contains("a\\_b\\|c"), "{page}");
    insta::assert_snapshot!(page);
}

// Protects: the answer to a second question must not look like the study's own answer.
#[test]
fn undeclared_contrasts_are_marked_in_every_format() {
    let mut report = report();
    let levels = ComparedLevels {
        by: "load".to_owned(),
        levels: vec!["one-stream".to_owned(), "sixteen-writers".to_owned()],
        within: vec!["level".to_owned()],
        metrics: Vec::new(),
    };
    report.asked = Some(AskedQuestion {
        note: "Asked: load. The plan asks: level. 1 contrast that the plan did not declare: exploratory.".to_owned(),
        asked: levels.clone(),
        planned: ComparedLevels { by: "level".to_owned(), ..levels },
        declared: 0,
        exploratory: 1,
    });
    report.by = "load".to_owned();
    let one = &mut report.contrasts[0];
    one.within = [("level".to_owned(), "5".to_owned())].into();
    (one.contrast.baseline, one.contrast.candidate) = ("one-stream".to_owned(), "sixteen-writers".to_owned());
    (one.primary, one.exploratory) = (false, true);
    for page in [
        page(&report, Detail::Brief, &Style { width: 160, ..Style::PLAIN }),
        page(&report, Detail::Full, &Style { width: 160, ..Style::PLAIN }),
        page_markdown(&report),
    ] {
        assert!(page.contains("1 contrast that the plan did not declare: exploratory."), "{page}");
        assert!(page.contains("exploratory  ") || page.contains("| exploratory |"), "the verdicts' column: {page}");
        assert!(page.contains("Results by load"), "{page}");
    }
    // Next to a verdict of the plan, each exploratory one is marked individually.
    let mut planned = report.contrasts[0].clone();
    (planned.primary, planned.exploratory) = (true, false);
    planned.contrast.metric = "write.iops".parse().unwrap();
    report.contrasts.push(planned);
    let page = page(&report, Detail::Brief, &Style { width: 160, ..Style::PLAIN });
    assert_eq!(page.matches("faster (exploratory)").count(), 1, "{page}");
}

// Protects: the full page and Markdown contain what the brief page leaves out.
#[test]
fn each_contrast_each_cell_and_each_command_are_in_full() {
    let brief = page(&report(), Detail::Brief, &Style { width: 160, ..Style::PLAIN });
    for full in [page(&report(), Detail::Full, &Style { width: 160, ..Style::PLAIN }), page_markdown(&report())] {
        for text in
            ["Every contrast\n", "4 plots, 8 runs", "mkfs.ext4 -q -F /dev/md0", "mdadm --create /dev/md0 --level=5"]
        {
            assert!(full.contains(text), "{text}: {full}");
            assert!(!brief.contains(text), "{text}: {brief}");
        }
    }
    assert!(brief.contains("mdadm - v4.2") && brief.contains("(level 5) md raid5"), "{brief}");
}

/// Protects: a value that means nothing by itself must not look as if it did.
#[test]
fn values_under_emulation_are_in_brackets_and_counts_are_not() {
    let mut report = report();
    report.emulated = true;
    report.contrasts[0].contrast.verdict = ContrastVerdict::CannotTell;
    report.contrasts[0].contrast.capped =
        Some(Capped { verdict: ContrastVerdict::Faster, code: "C14".to_owned(), reason: "under emulation".to_owned() });
    let page = page(&report, Detail::Brief, &Style { width: 160, ..Style::PLAIN });
    assert!(page.contains("[300 MB/s]") && !page.contains(" 300 MB/s"), "{page}");
    assert!(page.contains(" 512 ") && page.contains("mean nothing"), "{page}");
}

// Protects: the answer stays short even with many cells. Modelled times come after the
// measured counts, below their assumptions.
#[test]
fn a_models_times_stand_below_the_counts() {
    let mut report = report();
    report.emulated = true;
    report.modelled = vec!["These are estimates.".to_owned(), "write (size 4k): 0.1 to 0.2 s a run".to_owned()];
    let page = page(&report, Detail::Brief, &Style { width: 160, ..Style::PLAIN });
    let (above, below) = page.split_once("a model's times").unwrap();
    assert!(above.contains("Device operations per run") && !above.contains("0.1 to 0.2 s"), "{above}");
    assert!(below.find("These are estimates.") < below.find("write (size 4k)"), "{below}");
    assert!(below.contains("0.1 to 0.2 s a run"), "{below}");
}

// Protects: values that mean nothing under emulation are not compared with published ones.
#[test]
fn published_numbers_stand_alone_under_emulation() {
    let mut report = report();
    report.emulated = true;
    let page = page(&report, Detail::Brief, &Style { width: 200, ..Style::PLAIN });
    let (_, section) = page.split_once("Published numbers and ours").unwrap();
    assert!(section.contains("70.7 MB/s") && section.contains("are left out here"), "{section}");
    assert!(!section.contains("300 MB/s") && !section.contains("4.25"), "{section}");
}

// Protects: a number that represents many cells does not overwhelm the page, and shows their range.
#[test]
fn a_number_of_many_cells_has_one_row_per_phase() {
    let mut report = report();
    let number = &mut report.published[0].numbers[0];
    let first = number.ours[0].clone();
    number.ours = (1..=6).map(|times| OurNumber { value: Some(1e8 * f64::from(times)), ..first.clone() }).collect();
    let page = page(&report, Detail::Brief, &Style { width: 200, ..Style::PLAIN });
    assert_eq!(page.matches("69002 K/sec").count(), 1, "{page}");
    assert!(page.contains("6 cells") && page.contains("100 MB/s – 600 MB/s"), "{page}");
}

/// Protects: a narrow terminal hides columns, but never cells.
#[test]
fn a_narrow_page_still_has_every_cell() {
    let page = page(&report(), Detail::Brief, &Style { width: 60, ..Style::PLAIN });
    for text in ["one-stream", "sixteen-writers", "8 failed"] {
        assert!(page.contains(text), "{text}: {page}");
    }
}

/// Protects: seventy sentences with the same meaning must not hide the answer.
#[test]
fn the_same_undecided_verdict_is_printed_once() {
    let untold = |load: &str| contrast(load, ContrastVerdict::CannotTell, 1.0, &format!("{load}: nothing is claimed"));
    let faster = contrast("d", ContrastVerdict::Faster, 1.2, "d: nothing is claimed");
    let text = |contrasts: &[StudyContrast]| -> Vec<String> {
        sentences(&contrasts.iter().collect::<Vec<_>>()).into_iter().map(|item| item.text).collect()
    };
    assert_eq!(
        text(&[untold("a"), faster, untold("b"), untold("c")]),
        ["3 numbers of the table: nothing is claimed", "d: nothing is claimed"]
    );
    assert_eq!(text(&[untold("a"), untold("b")]), ["a: nothing is claimed", "b: nothing is claimed"]);
}

// Protects: a count that differs from theory is on the page, with both numbers.
#[test]
fn expected_counts_are_met_or_missed_on_the_page() {
    let expectation = |load: &str, found: Option<f64>, met: Option<bool>| StudyExpectation {
        metric: "device.written-per-byte".parse().unwrap(),
        workload: load.to_owned(),
        levels: levels(&[("load", load)]),
        at_least: 1.5,
        at_most: Some(1.5),
        because: "2 chunks of data and 1 of parity".to_owned(),
        runs: 2,
        found_least: found,
        found_most: found,
        met,
    };
    let mut report = report();
    report.expected = vec![
        expectation("whole", Some(1.5), Some(true)),
        expectation("part", Some(1.76), Some(false)),
        expectation("none", None, None),
    ];
    let text = page(&report, Detail::Brief, &Style { width: 160, ..Style::PLAIN });
    let row =
        |load: &str| text.lines().find(|line| line.trim_start().starts_with(load) && line.contains("written-per-byte"));
    assert!(row("whole").is_some_and(|row| row.contains("met")), "{text}");
    assert!(row("part").is_some_and(|row| row.contains("1.76") && row.contains("missed")), "{text}");
    assert!(row("none").is_some_and(|row| row.contains("nothing") && row.contains("not counted")), "{text}");
    assert!(page_markdown(&report).contains("2 chunks of data and 1 of parity"));
}
