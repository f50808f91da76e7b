//! When the job ends, and what happens on errors.

use super::keywords::{Word, words};
use super::kind::{Bare, Kind, Slots, Special};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;
use crate::fio::value::choice::{ErrorsIgnored, SteadyCriterion};
use plumb_workload::Nanos;

/// When the job ends, and what happens on errors.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Stop,
    options: &[
        row("runtime", UsageTier::One, Kind::Time(Slots::One, Bare::Seconds))
            .or("timeout")
            .default("0")
            .doc("Maximum run time; with time_based, the exact run time."),
        row("time_based", UsageTier::One, Kind::Flag).doc("Repeat the job until runtime has elapsed."),
        row("ramp_time", UsageTier::One, Kind::Time(Slots::One, Bare::Seconds))
            .doc("Time to run before measuring starts."),
        row("exitall", UsageTier::One, Kind::Flag).doc("End all other jobs when this one ends."),
        row("exit_what", UsageTier::Two, Kind::Choice(ExitWhat::WORDS))
            .default("group")
            .doc("Jobs that exitall ends: the group, those up to the next stonewall, or all."),
        row("exitall_on_error", UsageTier::Two, Kind::Flag).doc("End all other jobs when this one fails."),
        row("continue_on_error", UsageTier::Two, Kind::Choice(ContinueOnError::WORDS))
            .default("none")
            .doc("Kinds of errors that do not end the job."),
        row("ignore_error", UsageTier::Two, Kind::Special(Special::IgnoreError))
            .doc("Error codes to ignore, for reads, writes and verification."),
        row("error_dump", UsageTier::Two, Kind::Switch).default("0").doc("Print every op that failed."),
        row("steadystate", UsageTier::Two, Kind::Special(Special::Steady))
            .or("ss")
            .default("iops_slope:0.01%")
            .doc("End the job when this criterion shows a steady state."),
        row("steadystate_duration", UsageTier::Two, Kind::Time(Slots::One, Bare::Seconds))
            .or("ss_dur")
            .default("0")
            .doc("Window over which the job must be steady."),
        row("steadystate_ramp_time", UsageTier::Two, Kind::Time(Slots::One, Bare::Seconds))
            .or("ss_ramp")
            .default("0")
            .doc("Time at the start to ignore when checking for a steady state."),
        row("steadystate_check_interval", UsageTier::Two, Kind::Time(Slots::One, Bare::Seconds))
            .or("ss_interval")
            .default("1")
            .doc("Interval between steady-state checks."),
    ],
};

/// When the job ends, and what happens on errors.
#[derive(Debug, Clone, PartialEq)]
pub struct StopOptions {
    /// End after this long.
    pub runtime: Option<Nanos>,
    /// Do not end earlier either.
    pub time_based: bool,
    /// Time to run before measuring.
    pub ramp_time: Option<Nanos>,
    /// End the others when this one ends.
    pub exitall: bool,
    /// Whom.
    pub exit_what: ExitWhat,
    /// End the others when this one fails.
    pub exitall_on_error: bool,
    /// Which errors do not end it.
    pub continue_on_error: ContinueOnError,
    /// Which errors are none.
    pub ignore_error: ErrorsIgnored,
    /// Show every failed op.
    pub error_dump: bool,
    /// End when a figure is steady.
    pub steady: Option<SteadyStop>,
}

impl StopOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> StopOptions {
        StopOptions {
            runtime: values.time_unless_zero("runtime"),
            time_based: values.switch("time_based"),
            ramp_time: values.time_unless_zero("ramp_time"),
            exitall: values.switch("exitall"),
            exit_what: ExitWhat::of(values),
            exitall_on_error: values.switch("exitall_on_error"),
            continue_on_error: ContinueOnError::of(values),
            ignore_error: values.ignore_error("ignore_error").unwrap_or_default(),
            error_dump: values.switch("error_dump"),
            steady: steady(values),
        }
    }
}

/// End when a figure is steady.
#[derive(Debug, Clone, PartialEq)]
pub struct SteadyStop {
    /// Which figure, how judged, and how far it may be off.
    pub criterion: SteadyCriterion,
    /// Window over which the job must be steady.
    pub duration: Nanos,
    /// Time at the start that is ignored.
    pub ramp_time: Nanos,
    /// How often it is judged.
    pub check_interval: Nanos,
}

/// fio judges steadiness only where a window is given.
fn steady(values: &OptionValues) -> Option<SteadyStop> {
    let duration = values.time_unless_zero("steadystate_duration")?;
    Some(SteadyStop {
        criterion: values.steady("steadystate")?,
        duration,
        ramp_time: values.time("steadystate_ramp_time").unwrap_or(Nanos(0)),
        check_interval: values.time("steadystate_check_interval").unwrap_or(Nanos(1_000_000_000)),
    })
}

words! {
    /// The jobs that `exitall` ends.
    ExitWhat, "exit_what":
    /// The jobs of its group.
    Group = "group",
    /// The jobs up to the next stonewall.
    Stonewall = "stonewall",
    /// All jobs.
    All = "all",
}

words! {
    /// Kinds of errors that do not end the job.
    ContinueOnError, "continue_on_error":
    /// None.
    None = "none" | "0",
    /// Errors of reads.
    Read = "read",
    /// Errors of writes.
    Write = "write",
    /// Errors of reads and writes.
    Io = "io",
    /// Errors of verification.
    Verify = "verify",
    /// All.
    All = "all" | "1",
}
