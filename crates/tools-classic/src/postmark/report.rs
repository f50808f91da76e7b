//! The two reports.
//!
//! PostMark chooses the divisors of rates: the time of the whole run for files created and deleted and for all bytes;
//! the time of the transactions for their work; and their own time for creation alone and deletion alone.

use super::Compat;
pub(super) use super::amount::scaled;
use super::lower::{PhaseKind, Plan};
use super::settings::ReportForm;
use plumb_result::PhaseMeasurement;
use plumb_workload::OpKind;
use std::fmt::Write;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Counts {
    pub transactions: u64,
    /// Files created before the transactions.
    pub created_alone: u64,
    pub created_mixed: u64,
    pub read: u64,
    pub appended: u64,
    pub deleted_mixed: u64,
    /// Files deleted after the transactions.
    pub deleted_alone: u64,
    pub bytes_read: f64,
    pub bytes_written: f64,
}

impl Counts {
    /// Sums the measurement of a run in which all phases completed.
    pub fn measured(plan: &Plan, phases: &[PhaseMeasurement]) -> Counts {
        let count = |kind: PhaseKind, op: OpKind| {
            let phase = phases.iter().find(|phase| phase.name == kind.name());
            phase.and_then(|phase| phase.ops.get(&op)).map_or((0, 0), |op| (op.count, op.bytes))
        };
        let of = |kind, op| count(kind, op).0;
        let bytes = |op| (count(PhaseKind::Create, op).1 + count(PhaseKind::Transactions, op).1) as f64;
        let created_mixed = of(PhaseKind::Transactions, OpKind::Create);
        Counts {
            transactions: plan.totals.iter().map(|totals| totals.transactions).sum(),
            created_alone: of(PhaseKind::Create, OpKind::Create),
            created_mixed,
            read: of(PhaseKind::Transactions, OpKind::Read),
            // Each created file is written once; all other writes are appends.
            appended: of(PhaseKind::Transactions, OpKind::Write).saturating_sub(created_mixed),
            deleted_mixed: of(PhaseKind::Transactions, OpKind::Unlink),
            deleted_alone: of(PhaseKind::Delete, OpKind::Unlink),
            bytes_read: bytes(OpKind::Read),
            bytes_written: bytes(OpKind::Write),
        }
    }

    /// Returns PostMark's own numbers: the requested work, regardless of its results, with bytes added in single precision.
    pub fn requested(plan: &Plan) -> Counts {
        let sum = |of: fn(&plumb_workload::program::postmark::Totals) -> u64| plan.totals.iter().map(of).sum::<u64>();
        let single = |of: fn(&plumb_workload::program::postmark::Totals) -> f32| {
            f64::from(plan.totals.iter().map(of).fold(0.0f32, |sum, bytes| sum + bytes))
        };
        let created_alone = u64::from(plan.run.number) * u64::from(plan.run.threads);
        Counts {
            transactions: sum(|totals| totals.transactions),
            created_alone,
            created_mixed: sum(|totals| totals.created) - created_alone,
            read: sum(|totals| totals.read),
            appended: sum(|totals| totals.appended),
            deleted_mixed: sum(|totals| totals.deleted),
            deleted_alone: sum(|totals| totals.left),
            bytes_read: single(|totals| totals.single_read),
            bytes_written: single(|totals| totals.single_written),
        }
    }
}

/// Duration of each part in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spent {
    pub total_s: f64,
    pub create_s: f64,
    pub transactions_s: f64,
    pub delete_s: f64,
}

impl Spent {
    pub fn measured(phases: &[PhaseMeasurement]) -> Spent {
        let [create_s, transactions_s, delete_s] = times(phases).map(|ns| ns as f64 / 1e9);
        Spent { total_s: create_s + transactions_s + delete_s, create_s, transactions_s, delete_s }
    }

    /// Converts to whole seconds, for a run that began `began_ns` after a full second; 0 becomes 1.
    pub fn whole_seconds(phases: &[PhaseMeasurement], began_ns: u64) -> Spent {
        let mut at = began_ns;
        let [first, second, third] = times(phases).map(|ns| {
            at += ns;
            at / 1_000_000_000
        });
        let between = |from: u64, to: u64| (to - from).max(1) as f64;
        let start = began_ns / 1_000_000_000;
        Spent {
            total_s: between(start, third),
            create_s: between(start, first),
            transactions_s: between(first, second),
            delete_s: between(second, third),
        }
    }
}

/// Returns the wall times of the three parts in nanoseconds, each at least 1.
fn times(phases: &[PhaseMeasurement]) -> [u64; 3] {
    [PhaseKind::Create, PhaseKind::Transactions, PhaseKind::Delete]
        .map(|kind| phases.iter().find(|phase| phase.name == kind.name()).map_or(0, |phase| phase.wall_ns).max(1))
}

/// Formats the report of a run.
pub fn report(form: ReportForm, counts: &Counts, spent: &Spent, compat: Compat) -> String {
    match form {
        ReportForm::Verbose => verbose(counts, spent, compat),
        ReportForm::Terse => terse(counts, spent, compat),
    }
}

fn verbose(counts: &Counts, spent: &Spent, compat: Compat) -> String {
    let seconds = |seconds: f64| match compat {
        Compat::Meant => format!("{seconds:.3}"),
        Compat::Strict => format!("{seconds}"),
    };
    let per = |count: u64, seconds: f64| (count as f64 / seconds) as u64;
    let Spent { total_s, create_s, transactions_s, delete_s } = *spent;
    let mut text = String::new();
    let mut files = |indent: &str, what: &str, count: u64, seconds: f64| {
        let _ =
            writeln!(text, "{indent}{} ({} per second)", what.replace('#', &count.to_string()), per(count, seconds));
    };
    let (created, deleted) = (counts.created_alone + counts.created_mixed, counts.deleted_alone + counts.deleted_mixed);
    files("\t", "# created", created, total_s);
    files("\t\t", "Creation alone: # files", counts.created_alone, create_s);
    files("\t\t", "Mixed with transactions: # files", counts.created_mixed, transactions_s);
    files("\t", "# read", counts.read, transactions_s);
    files("\t", "# appended", counts.appended, transactions_s);
    files("\t", "# deleted", deleted, total_s);
    files("\t\t", "Deletion alone: # files", counts.deleted_alone, delete_s);
    files("\t\t", "Mixed with transactions: # files", counts.deleted_mixed, transactions_s);
    let data = |what: &str, bytes: f64| {
        format!("\t{} {what} ({} per second)\n", scaled(bytes), scaled(divided(bytes, total_s, compat)))
    };
    format!(
        "Time:\n\t{} seconds total\n\t{} seconds of transactions ({} per second)\n\nFiles:\n{text}\nData:\n{}{}",
        seconds(total_s),
        seconds(transactions_s),
        per(counts.transactions, transactions_s),
        data("read", counts.bytes_read),
        data("written", counts.bytes_written)
    )
}

fn terse(counts: &Counts, spent: &Spent, compat: Compat) -> String {
    let Spent { total_s, create_s, transactions_s, delete_s } = *spent;
    let (created, deleted) = (counts.created_alone + counts.created_mixed, counts.deleted_alone + counts.deleted_mixed);
    let mut text = match compat {
        Compat::Meant => format!("{total_s:.3} {transactions_s:.3}"),
        Compat::Strict => format!("{total_s} {transactions_s}"),
    };
    for (amount, seconds) in [
        (counts.transactions as f64, transactions_s),
        (created as f64, total_s),
        (counts.created_alone as f64, create_s),
        (counts.created_mixed as f64, transactions_s),
        (counts.read as f64, transactions_s),
        (counts.appended as f64, transactions_s),
        (deleted as f64, total_s),
        (counts.deleted_alone as f64, delete_s),
        (counts.deleted_mixed as f64, transactions_s),
        (counts.bytes_read, total_s),
        (counts.bytes_written, total_s),
    ] {
        let _ = write!(text, " {:.2}", divided(amount, seconds, compat));
    }
    text.push('\n');
    text
}

fn divided(amount: f64, seconds: f64, compat: Compat) -> f64 {
    match compat {
        Compat::Meant => amount / seconds,
        Compat::Strict => f64::from(amount as f32 / seconds as f32),
    }
}

/// Returns the number of dots after `done` transactions: one after the first of each tenth.
pub fn dots(done: u64, transactions: u64) -> u64 {
    // PostMark cannot compute a tenth of less than ten.
    done.div_ceil((transactions / 10).max(1))
}
