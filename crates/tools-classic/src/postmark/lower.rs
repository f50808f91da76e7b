//! Turns a run into a workload: each part becomes a phase.

use super::Compat;
use super::settings::PostmarkSettings;
use plumb_workload::files::Names;
use plumb_workload::phase::{ClockScope, End, Flush, OnError, Phase};
use plumb_workload::program::postmark::Totals;
use plumb_workload::program::{
    Each, FileOrder, Pick, Postmark, PostmarkLocation, PostmarkPart, PostmarkStep, Program, ScratchTarget, Step,
};
use plumb_workload::{Bytes, Target, Work, WorkerGroup, Workload};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The phases of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum PhaseKind {
    /// Create subdirectories; not timed by PostMark.
    #[strum(serialize = "make-subdirectories")]
    MakeDirectories,
    Create,
    Transactions,
    Delete,
    /// Remove subdirectories; not timed by PostMark.
    #[strum(serialize = "remove-subdirectories")]
    RemoveDirectories,
}

impl PhaseKind {
    /// Returns the phase's name in results.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the phase with this name.
    pub fn from_name(name: &str) -> Option<PhaseKind> {
        name.parse().ok()
    }

    /// Returns the text that PostMark prints before it.
    pub fn announced(self) -> &'static str {
        match self {
            PhaseKind::MakeDirectories => "Creating subdirectories...",
            PhaseKind::Create => "Creating files...",
            PhaseKind::Transactions => "Performing transactions",
            PhaseKind::Delete => "Deleting files...",
            PhaseKind::RemoveDirectories => "Deleting subdirectories...",
        }
    }
}

/// A planned run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub workload: Workload,
    pub run: Postmark,
    /// Planned work of each thread.
    pub totals: Vec<Totals>,
}

impl Plan {
    /// Whether a thread runs out of files before the end of its transactions.
    pub fn runs_out_of_files(&self) -> bool {
        self.totals.iter().any(|totals| totals.transactions < u64::from(self.run.transactions))
    }

    /// Returns the number of ops in all transactions: three if a file is opened, one for a deletion.
    pub fn transaction_ops(&self) -> u64 {
        let ops = |totals: &Totals| {
            let created = totals.created.saturating_sub(self.run.number.into());
            3 * (created + totals.read + totals.appended) + totals.deleted
        };
        self.totals.iter().map(ops).sum()
    }

    /// Returns the number of transactions of the thread with the fewest.
    pub fn transactions(&self) -> u64 {
        self.totals.iter().map(|totals| totals.transactions).min().unwrap_or(0)
    }
}

/// The reason why settings cannot run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}: {help}")]
pub struct CannotRun {
    pub message: String,
    pub help: &'static str,
}

/// Returns the run of these settings, even if it is impossible.
pub fn run_of(settings: &PostmarkSettings) -> Postmark {
    let bias = |tenths: i32| u8::try_from(tenths).ok();
    let locations = settings
        .locations
        .iter()
        .map(|location| PostmarkLocation { path: PathBuf::from(&location.path), weight: location.weight });
    Postmark {
        low: Bytes(settings.low.into()),
        high: Bytes(settings.high.into()),
        number: settings.number,
        transactions: settings.transactions,
        seed: settings.seed,
        locations: locations.collect(),
        subdirectories: settings.subdirectories,
        read_block: Bytes(settings.read_block.into()),
        write_block: Bytes(settings.write_block.into()),
        bias_read: bias(settings.bias_read),
        bias_create: bias(settings.bias_create),
        buffered: settings.buffered,
        threads: settings.threads,
    }
}

/// Plans a run of these settings.
///
/// # Errors
///
/// The reason why a run is not possible, with a remedy.
pub fn lower(settings: &PostmarkSettings, compat: Compat) -> Result<Plan, CannotRun> {
    let run = run_of(settings);
    if let Some(problem) = run.problems().into_iter().next() {
        return Err(CannotRun { message: problem.message, help: problem.help });
    }
    let part = |part| vec![Step::Postmark(Box::new(PostmarkStep { part, run: run.clone() }))];
    let each = |order, step| {
        let steps = vec![step];
        vec![Step::Each(Each { first: 0, count: run.directory_count(), order, steps })]
    };
    let make = each(FileOrder::Forward, Step::Mkdir { file: Pick::Own, mode: Some(0o700), may_exist: false });
    let remove = each(FileOrder::Forward, Step::Rmdir { file: Pick::Own });
    let phases = [
        (PhaseKind::MakeDirectories, make, 1),
        (PhaseKind::Create, part(PostmarkPart::Create), run.threads),
        (PhaseKind::Transactions, part(PostmarkPart::Transactions), run.threads),
        (PhaseKind::Delete, part(PostmarkPart::Delete), run.threads),
        (PhaseKind::RemoveDirectories, remove, 1),
    ];
    let has_directories = run.directory_count() > 0;
    let phase = phases.into_iter().filter(|(kind, _, _)| {
        has_directories || !matches!(kind, PhaseKind::MakeDirectories | PhaseKind::RemoveDirectories)
    });
    let phase = phase.map(|(kind, steps, count)| {
        let workers = WorkerGroup {
            count,
            on_error: match compat {
                Compat::Meant => OnError::Stop,
                // PostMark does not check the result of writes.
                Compat::Strict => OnError::Continue,
            },
            ..WorkerGroup::new("files", Work::Program(Box::new(Program::new(steps))))
        };
        Phase { end: End { flush: Flush::None, clock: ClockScope::Outside }, ..Phase::new(kind.name(), vec![workers]) }
    });
    let names = Names::Postmark(Box::new(run.clone()));
    let typed = match run.locations.as_slice() {
        [] => vec![PathBuf::new()],
        locations => locations.iter().map(|location| location.path.clone()).collect(),
    };
    let target = Target::Scratch(ScratchTarget { path: PathBuf::new(), names, typed });
    let workload = Workload {
        name: "postmark".to_owned(),
        description: String::new(),
        seed: Workload::DEFAULT_SEED,
        target: BTreeMap::from([("files".to_owned(), target)]),
        phase: phase.collect(),
        repeat: None,
    };
    Ok(Plan { workload, totals: run.totals(), run })
}
