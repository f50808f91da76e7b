//! Conformance of each set-up.

use super::levels;
use crate::document::{ColumnHead, Item, ReportPart, ReportTable};
use crate::format::MISSING;
use crate::run::Detail;
use crate::style::Ink;
use crate::table::Align;
use plumb_result::PosixOutcome;
use plumb_result::study::{DifferingCase, SetupConformance, StudyConformance, StudyReport};

/// Largest number of failing cases shown in brief.
const SHOWN: usize = 40;

pub(super) fn conformance(report: &StudyReport, detail: Detail) -> Vec<ReportPart> {
    report.conformance.iter().flat_map(|one| describe_work(one, detail)).collect()
}

fn describe_work(one: &StudyConformance, detail: Detail) -> Vec<ReportPart> {
    let mut parts = vec![
        ReportPart::Heading(format!("Conformance: {}", one.workload)),
        ReportPart::Table(ReportTable { columns: counted(), rows: one.setups.iter().map(counts).collect() }),
    ];
    let failing: Vec<&DifferingCase> = one.differing.iter().filter(|case| case.fails).collect();
    let untested: Vec<&DifferingCase> = one.differing.iter().filter(|case| !case.fails).collect();
    let most = if detail == Detail::Full { usize::MAX } else { SHOWN };
    if failing.is_empty() {
        parts.push(ReportPart::Text(Ink::Good, "No rule is broken anywhere.".to_owned()));
    } else {
        parts.push(ReportPart::Text(Ink::Strong, "Broken or known to differ somewhere:".to_owned()));
        parts.push(ReportPart::Table(cases(one, &failing[..failing.len().min(most)])));
        let item = |case: &&DifferingCase| Item { ink: Ink::Faint, head: case.id.clone(), text: case.found.clone() };
        parts.push(ReportPart::List(failing.iter().take(most).map(item).collect()));
        if failing.len() > most {
            parts.push(ReportPart::Text(Ink::Faint, format!("{} more cases: -v", failing.len() - most)));
        }
    }
    if !untested.is_empty() && detail == Detail::Full {
        parts.push(ReportPart::Text(Ink::Strong, "Tested on some only:".to_owned()));
        parts.push(ReportPart::Table(cases(one, &untested)));
    } else if !untested.is_empty() {
        parts.push(ReportPart::Text(Ink::Faint, format!("{} cases could be tested on some only: -v", untested.len())));
    }
    parts
}

/// Returns the name of a set-up: its levels, or its file system if it has none.
fn name(setup: &SetupConformance) -> String {
    if setup.levels.is_empty() { setup.filesystem.clone() } else { levels(&setup.levels) }
}

fn counted() -> Vec<ColumnHead> {
    let (left, right) = (Align::Left, Align::Right);
    vec![
        ColumnHead::new("set-up", left, None),
        ColumnHead::new("file system", left, Some(3)),
        ColumnHead::new("kernel", left, Some(4)),
        ColumnHead::new("runs", right, Some(2)),
        ColumnHead::new("rules broken", right, None),
        ColumnHead::new("failed", right, None),
        ColumnHead::new("expected failures", right, None),
        ColumnHead::new("blocked", right, None),
        ColumnHead::new("skipped", right, None),
        ColumnHead::new("passed", right, None),
    ]
}

fn counts(setup: &SetupConformance) -> Vec<String> {
    let of = |outcome| setup.count(outcome);
    let failed: u32 = PosixOutcome::ALL.iter().copied().filter(|outcome| outcome.is_failure()).map(of).sum();
    let mut row = vec![name(setup), setup.filesystem.clone(), setup.kernel.clone()];
    let numbers = [
        setup.runs,
        setup.broken_rules,
        failed,
        of(PosixOutcome::ExpectedFail),
        of(PosixOutcome::Blocked),
        of(PosixOutcome::Skip) + of(PosixOutcome::Timeout),
        of(PosixOutcome::Pass) + of(PosixOutcome::UnexpectedPass),
    ];
    row.extend(numbers.map(|number| number.to_string()));
    row
}

fn cases(one: &StudyConformance, cases: &[&DifferingCase]) -> ReportTable {
    let mut columns = vec![ColumnHead::new("case", Align::Left, None), ColumnHead::new("level", Align::Left, Some(2))];
    columns.extend(one.setups.iter().map(|setup| ColumnHead::new(&name(setup), Align::Left, None)));
    let row = |case: &&DifferingCase| {
        let mut row = vec![case.id.clone(), case.level.clone()];
        row.extend(case.outcomes.iter().map(|outcome| outcome.map_or(MISSING, PosixOutcome::name).to_owned()));
        row
    };
    ReportTable { columns, rows: cases.iter().map(row).collect() }
}
