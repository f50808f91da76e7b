use super::super::answer;
use super::super::tests::{evidence, noisy};
use super::*;
use crate::conduct::fake::plan;
use plumb_result::ContrastVerdict;

/// Three systems, of which `b` is faster; the larger of two sizes is faster on all of them.
fn study() -> StudyEvidence {
    let speed = noisy(5, 0.02, 0.01);
    evidence(plan(&["a", "b", "c"], &["4k", "64k"], 4, 2), |levels, plot, run| {
        let gain = if levels["system"] == "b" { 1.3 } else { 1.0 };
        speed(plot, run) * gain * if levels["size"] == "64k" { 1.5 } else { 1.0 }
    })
}

fn question(by: &str, within: Option<&[&str]>, metrics: &[&str]) -> Question {
    Question {
        by: (!by.is_empty()).then(|| by.to_owned()),
        within: within.map(|within| within.join(",")),
        metrics: (!metrics.is_empty()).then(|| metrics.iter().map(|name| (*name).to_owned()).collect()),
    }
}

fn ask(question: &Question) -> StudyReport {
    answer_question(study(), question).unwrap()
}

fn refused(question: &Question) -> String {
    answer_question(study(), question).unwrap_err().to_string()
}

/// Returns baseline, candidate and context of each contrast.
fn shape(report: &StudyReport) -> Vec<(String, String, String)> {
    let of = |one: &StudyContrast| {
        let within = one.within.values().cloned().collect::<Vec<_>>().join(", ");
        (within, one.contrast.baseline.clone(), one.contrast.candidate.clone())
    };
    report.contrasts.iter().map(of).collect()
}

fn texts(all: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    all.iter().map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned())).collect()
}

// Protects: later questions never add or remove one of the study's own claims.
#[test]
fn undeclared_contrasts_are_exploratory() {
    let own = answer(&study());
    assert!(own.asked.is_none() && own.contrasts.iter().all(|one| one.primary && !one.exploratory));
    let report = ask(&question("size", None, &[]));
    // The plan separates sizes and compares systems; the reverse question separates systems.
    assert_eq!(
        shape(&report),
        texts(&[("a", "size 4k", "size 64k"), ("b", "size 4k", "size 64k"), ("c", "size 4k", "size 64k")])
    );
    for one in &report.contrasts {
        assert!(one.exploratory && !one.primary && one.is_judged());
        // Pairs of runs on one plot.
        assert_eq!((one.contrast.verdict, one.contrast.blocks), (ContrastVerdict::Faster, 8));
        // Corrected for these three alone.
        assert!(one.contrast.p_adjusted.unwrap() <= 3.0 * one.contrast.p.unwrap());
    }
    let second = report.asked.as_ref().unwrap();
    assert_eq!((second.declared, second.exploratory), (0, 3));
    assert_eq!((second.asked.by.as_str(), second.planned.by.as_str()), ("size", "system"));
    assert!(
        second
            .note
            .contains("3 contrasts that the plan did not declare: exploratory, corrected for their number (Holm)")
    );
    assert!(report.answer[0].starts_with("Exploratory: size 64k is faster than size 4k"), "{:?}", report.answer);
    assert_eq!(report.plan_hash, own.plan_hash, "the plan is the frozen one");
    assert_eq!(report.cells, own.cells, "and every cell is shown as before");
}

// Protects: asking for fewer numbers afterwards must not make a planned claim cheaper.
#[test]
fn declared_contrasts_keep_their_verdict_and_correction() {
    let own = answer(&study());
    let report = ask(&question("", Some(&["size=4k"]), &[]));
    assert_eq!(shape(&report), texts(&[("4k", "a", "b"), ("4k", "a", "c")]));
    for one in &report.contrasts {
        let planned = own.contrasts.iter().find(|known| known.words == one.words).unwrap();
        assert_eq!(one, planned);
        assert!(one.primary && !one.exploratory);
    }
    assert_eq!(
        report.asked.as_ref().unwrap().note.split(". ").last(),
        Some("The plan declared all of it: the verdicts are its own.")
    );
    // A further metric is exploratory next to it.
    let report = ask(&question("", None, &["bw", "iops"]));
    let is_planned = |one: &&StudyContrast| one.contrast.metric.to_string() == "write.bw";
    let (planned, more): (Vec<_>, Vec<_>) = report.contrasts.iter().partition(is_planned);
    assert!(planned.iter().all(|one| own.contrasts.contains(one)) && planned.len() == 4);
    // One measurement under two names is not judged twice.
    assert!(!more.is_empty() && more.iter().all(|one| !one.primary && !one.exploratory));
    let report = ask(&question("", None, &["iops"]));
    assert!(report.contrasts.iter().all(|one| one.exploratory), "the plan did not declare this number");
}

#[test]
fn levels_choose_the_baseline_and_what_is_compared_with_it() {
    let compared = |by: &str| shape(&ask(&question(by, Some(&[]), &[])));
    // Averaged over sizes, compared within each size.
    assert_eq!(compared("system=c,b"), texts(&[("", "c", "b")]));
    assert_eq!(compared("system=b"), texts(&[("", "b", "a"), ("", "b", "c")]));
    let swapped = ask(&question("system=b,a", None, &[]));
    let ratio = swapped.contrasts[0].contrast.ratio.unwrap();
    assert!(
        (ratio * 1.3 - 1.0).abs() < 0.05 && swapped.contrasts[0].exploratory,
        "another baseline is another contrast"
    );
    assert_eq!(swapped.asked.unwrap().asked.levels, ["b", "a"]);
    let report = ask(&question("size", Some(&["system=b", "system=c"]), &[]));
    assert_eq!(shape(&report), texts(&[("b", "size 4k", "size 64k"), ("c", "size 4k", "size 64k")]));
    assert_eq!(report.asked.unwrap().asked.within, ["system=b", "system=c"]);
}

// Protects: a level is any text of the user's, such as mount options, and may contain the separators of levels.
#[test]
fn levels_may_have_commas_and_equals_signs() {
    let plan = plan(&["data=ordered,noatime", "data=journal", "data=ordered"], &["4k", "64k"], 2, 1);
    let read = |text: &str| FactorLevels::of_text(&plan, "--by", text).map(|one| one.levels);
    assert_eq!(
        read("system=data=ordered,noatime,data=ordered").unwrap(),
        ["data=ordered,noatime".to_owned(), "data=ordered".to_owned()]
    );
    let list = FactorLevels::list(&plan, "--within", "size=4k,64k,system=data=ordered,noatime").unwrap();
    assert_eq!((list[0].levels.len(), list[1].levels.as_slice()), (2, ["data=ordered,noatime".to_owned()].as_slice()));
    let error = FactorLevels::list(&plan, "--within", "size=4k,system=data=writeback").unwrap_err().to_string();
    assert!(error.starts_with("--within system=data=writeback: `system` has no level `data=writeback`"), "{error}");
}

#[test]
fn unknown_names_are_refused_with_the_known_ones() {
    for (question, said) in [
        (question("sise", None, &[]), "--by sise: the study has no factor `sise`; there is `system`, `size`"),
        (question("64k", None, &[]), "--by 64k: the study has no factor `64k`; it is a level of `size`: `size=64k`"),
        (question("system=d", None, &[]), "--by system=d: `system` has no level `d`; there is `a`, `b`, `c`"),
        (
            question("system", Some(&["depth"]), &[]),
            "--within depth: the study has no factor `depth`; there is `system`, `size`",
        ),
        (
            question("system", Some(&["system"]), &[]),
            "--within system: `system` is what is compared; name other factors, or another one with --by",
        ),
        (
            question("", None, &["read.bw"]),
            "--metrics read.bw: no accepted run of the study has it; measured: write.bw, write.iops",
        ),
        (
            question("", None, &["wirte.bw"]),
            "--metrics wirte.bw: no accepted run of the study has it; did you mean `write.bw`? Measured: write.bw, write.iops",
        ),
    ] {
        assert_eq!(refused(&question), said);
    }
    let one = evidence(plan(&["a"], &["4k", "64k"], 3, 1), |_, _, run| 1e8 + f64::from(run));
    let error = answer_question(one, &question("system", None, &[])).unwrap_err().to_string();
    assert_eq!(error, "--by system: the study has one level of it, `a`; a comparison needs two");
}

// Protects: numbers of two works are compared only if the question is about the works.
#[test]
fn works_are_compared_across_their_phases() {
    let works = |phases: [&str; 2]| {
        let mut study = study();
        for cell in &mut study.plan.cells {
            cell.workload.clone_from(&cell.levels["size"]);
        }
        for (run, record) in study.plan.runs.iter().zip(&mut study.records) {
            let is_large = study.plan.cells[run.cell as usize].workload == "64k";
            record.result.as_mut().unwrap().phases[0].name = phases[usize::from(is_large)].to_owned();
        }
        answer_question(study, &question("size", Some(&[]), &[])).unwrap()
    };
    for (phases, place) in [(["write", "write"], "write write.bw"), (["write", "random-write"], "write.bw")] {
        let report = works(phases);
        let [one] = report.contrasts.as_slice() else { panic!("{:?}", report.contrasts) };
        assert!((one.contrast.ratio.unwrap() - 1.5).abs() < 0.02 && one.contrast.blocks == 24, "{one:?}");
        assert_eq!(one.contrast.workload, None);
        assert!(one.words.starts_with(&format!("{place}: size 64k is faster than size 4k")), "{}", one.words);
    }
}

/// Asks equal systems every question: unplanned questions find no more than chance allows in their own family.
#[test]
fn a_second_question_of_equal_systems_claims_as_rarely_as_the_first() {
    let mut claims = 0;
    const STUDIES: u64 = 150;
    for seed in 0..STUDIES {
        let speed = noisy(seed, 0.05, 0.02);
        let equal = evidence(plan(&["a", "b"], &["4k", "64k"], 6, 2), |_, plot, run| speed(plot, run));
        let report = answer_question(equal, &question("size", None, &[])).unwrap();
        let is_claim =
            |one: &StudyContrast| matches!(one.contrast.verdict, ContrastVerdict::Faster | ContrastVerdict::Slower);
        claims += u32::from(report.contrasts.iter().any(is_claim));
    }
    assert!(claims <= 13, "{claims} of {STUDIES}: more than 5 % and chance");
}
