//! The sentence above a study's answer that states whether its runs can be trusted.

use crate::document::ReportPart;
use crate::style::Ink;
use plumb_result::Level;
use plumb_result::study::{GatheredFinding, StudyReport};

/// Returns `Trusted: all 16 runs count.` or `Rejected: checks left 14 of 48 runs (C5: Workers waited …).`
pub(super) fn sentence(report: &StudyReport) -> ReportPart {
    let (ink, wording) = words(report);
    ReportPart::Text(ink, wording)
}

fn words(report: &StudyReport) -> (Ink, String) {
    let counts = &report.counts;
    let judged = counts.done + counts.rejected;
    let open = match counts.open {
        0 => String::new(),
        1 => " 1 run is still to come.".to_owned(),
        open => format!(" {open} runs are still to come."),
    };
    let failed = match counts.failed {
        0 => String::new(),
        failed => format!(" {failed} of {} runs failed.", counts.runs),
    };
    let (ink, wording) = match (counts.done, counts.rejected) {
        (0, 0) => (Ink::Faint, "Not judged: no run has a result yet.".to_owned()),
        (done, _) if counts.is_mostly_rejected() => {
            (Ink::Bad, format!("Rejected: checks left {done} of {judged} runs{}.", cause(report)))
        }
        (_, rejected) if rejected > 0 => {
            let wording = format!("checks left out {rejected} of {judged} runs{}", cause(report));
            (Ink::Caution, format!("Trusted with a caution: {wording}."))
        }
        (done, _) => match report.checks.iter().find(|finding| finding.level >= Level::Warn) {
            Some(finding) => {
                let wording = first_sentence(&finding.message);
                (Ink::Caution, format!("Trusted with a caution: {wording} ({}).", finding.code))
            }
            None => (Ink::Good, format!("Trusted: all {done} completed runs count.")),
        },
    };
    let declared =
        if report.under_load { " The load of other programs was declared a part of the set-up." } else { "" };
    (if counts.failed > 0 { Ink::Bad } else { ink }, format!("{wording}{declared}{failed}{open}"))
}

/// Returns the check that rejected most runs: ` (C5 in 30: Workers waited …)`.
fn cause(report: &StudyReport) -> String {
    let failing = report.findings.iter().filter(|finding| finding.level == Level::Fail);
    let most = failing.max_by_key(|finding| finding.runs);
    most.map_or(String::new(), |GatheredFinding { code, runs, message, .. }| {
        format!(" ({code} in {runs}: {})", first_sentence(message))
    })
}

fn first_sentence(message: &str) -> &str {
    message.find(". ").map_or(message, |end| &message[..end]).trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::super::tests::report;
    use super::*;

    // Protects: the first line alone states whether the results can be used.
    #[test]
    fn the_first_line_states_whether_runs_count() {
        let describe = |done: u32, rejected: u32, failed: u32, open: u32| {
            let mut report = report();
            report.checks.clear();
            let counts = &mut report.counts;
            (counts.done, counts.rejected, counts.failed, counts.open) = (done, rejected, failed, open);
            counts.runs = done + rejected + failed + open;
            report.findings = vec![GatheredFinding {
                code: "C5".to_owned(),
                level: Level::Fail,
                runs: rejected,
                of: done + rejected,
                message: "Workers waited 20 % of the time. More.".to_owned(),
                remedy: String::new(),
            }];
            words(&report)
        };
        assert_eq!(describe(16, 0, 0, 0), (Ink::Good, "Trusted: all 16 completed runs count.".to_owned()));
        let (ink, rejected) = describe(14, 34, 0, 0);
        assert_eq!(ink, Ink::Bad);
        assert_eq!(rejected, "Rejected: checks left 14 of 48 runs (C5 in 34: Workers waited 20 % of the time).");
        let (ink, some) = describe(15, 1, 0, 2);
        assert_eq!(ink, Ink::Caution);
        assert!(
            some.starts_with("Trusted with a caution: checks left out 1 of 16 runs")
                && some.ends_with(" 2 runs are still to come.")
        );
        assert!(describe(10, 0, 6, 0).1.ends_with(" 6 of 16 runs failed.") && describe(10, 0, 6, 0).0 == Ink::Bad);
        let declared = StudyReport { under_load: true, ..report() };
        assert!(words(&declared).1.contains("The load of other programs was declared"), "{}", words(&declared).1);
        assert_eq!(describe(0, 0, 0, 4).1, "Not judged: no run has a result yet. 4 runs are still to come.");
    }
}
