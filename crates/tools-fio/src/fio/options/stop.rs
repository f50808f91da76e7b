//! When the job ends, and what happens on errors.

use super::keywords::words;
use super::row::{Row, options, row};
use super::spec::UsageTier::{One, Two};
use crate::fio::value::choice::{ErrorsIgnored, SteadyCriterion};
use crate::fio::value::kind::Bare;
use crate::fio::value::syntax::{FLAG, IGNORE_ERROR, Plain, STEADY, SWITCH, Time, Word, choice};
use crate::fio::value::{Maybe, UnlessZero};
use plumb_workload::Nanos;

// Rows that other modules use.
pub(in crate::fio) const STEADYSTATE: Row<Maybe<Plain<SteadyCriterion>>> =
    row("steadystate", Two, Maybe(STEADY)).or("ss").default("iops_slope:0.01%");

options! {
    /// End of the job, and its handling of errors.
    pub struct StopOptions {
        /// Maximum run time; with time_based, the exact run time.
        runtime: Option<Nanos> = row("runtime", One, UnlessZero(Time(Bare::Seconds))).or("timeout").default("0");
        /// Repeat the job until runtime has elapsed.
        time_based: bool = row("time_based", One, FLAG);
        /// Time to run before measuring starts.
        ramp_time: Option<Nanos> = row("ramp_time", One, UnlessZero(Time(Bare::Seconds)));
        /// End all other jobs when this one ends.
        exitall: bool = row("exitall", One, FLAG);
        /// Jobs that exitall ends: the group, those up to the next stonewall, or all.
        exit_what: ExitWhat = row("exit_what", Two, choice::<ExitWhat>()).default("group");
        /// End all other jobs when this one fails.
        exitall_on_error: bool = row("exitall_on_error", Two, FLAG);
        /// Kinds of errors that do not end the job.
        continue_on_error: ContinueOnError = row("continue_on_error", Two, choice::<ContinueOnError>()).default("none");
        /// Error codes to ignore, for reads, writes and verification.
        ignore_error: ErrorsIgnored = row("ignore_error", Two, IGNORE_ERROR);
        /// Print every op that failed.
        error_dump: bool = row("error_dump", Two, SWITCH).default("0");
    } with {
        /// End of the job at a steady state.
        steady: SteadyOptions,
    }
}

options! {
    /// End of the job at a steady state.
    pub struct SteadyOptions {
        /// End the job when this criterion shows a steady state.
        criterion: Option<SteadyCriterion> = STEADYSTATE;
        /// Window over which the job must be steady.
        duration: Option<Nanos> = row("steadystate_duration", Two, UnlessZero(Time(Bare::Seconds)))
            .or("ss_dur")
            .default("0");
        /// Time at the start to ignore when checking for a steady state.
        ramp_time: Nanos = row("steadystate_ramp_time", Two, Time(Bare::Seconds)).or("ss_ramp").default("0");
        /// Interval between steady-state checks.
        check_interval: Nanos = row("steadystate_check_interval", Two, Time(Bare::Seconds)).or("ss_interval").default("1");
    }
}

impl SteadyOptions {
    /// Returns the criterion and its window; fio judges steadiness only if a window is given.
    pub fn judged(&self) -> Option<(SteadyCriterion, Nanos)> {
        self.criterion.zip(self.duration)
    }
}

words! {
    /// The jobs that `exitall` ends.
    ExitWhat:
    /// The jobs of its group.
    Group = "group",
    /// The jobs up to the next stonewall.
    Stonewall = "stonewall",
    All = "all",
}

words! {
    /// Kinds of errors that do not end the job.
    ContinueOnError:
    None = "none" | "0",
    Read = "read",
    Write = "write",
    /// Errors of reads and writes.
    Io = "io",
    Verify = "verify",
    All = "all" | "1",
}

#[cfg(test)]
mod tests {
    use super::super::Category;
    use super::super::tests::assert_each_sets;
    use super::*;
    use crate::fio::value::choice::{ErrorNumber, SteadyLimit};

    // Protects: each option sets its own field to the value of its text.
    #[test]
    fn each_option_sets_its_field() {
        assert_each_sets(
            Category::Stop,
            &[
                ("runtime=3s", |job| job.stop.runtime == Some(Nanos(3_000_000_000))),
                ("time_based", |job| job.stop.time_based),
                ("ramp_time=3s", |job| job.stop.ramp_time == Some(Nanos(3_000_000_000))),
                ("exitall", |job| job.stop.exitall),
                ("exit_what=stonewall", |job| job.stop.exit_what == ExitWhat::Stonewall),
                ("exitall_on_error", |job| job.stop.exitall_on_error),
                ("continue_on_error=io", |job| job.stop.continue_on_error == ContinueOnError::Io),
                ("ignore_error=EIO", |job| job.stop.ignore_error.read == [ErrorNumber::Name("EIO".to_owned())]),
                ("error_dump=1", |job| job.stop.error_dump),
                ("steadystate=iops:2%", |job| {
                    job.stop.steady.criterion.is_some_and(|criterion| criterion.limit == SteadyLimit::Percent(2.0))
                }),
                ("steadystate_duration=3s", |job| job.stop.steady.duration == Some(Nanos(3_000_000_000))),
                ("steadystate_ramp_time=3s", |job| job.stop.steady.ramp_time == Nanos(3_000_000_000)),
                ("steadystate_check_interval=3s", |job| job.stop.steady.check_interval == Nanos(3_000_000_000)),
            ],
        );
    }
}
