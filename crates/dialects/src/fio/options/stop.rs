//! When it ends, and what errors do.

use super::kind::{Bare, Kind, Slots, Special};
use super::{Category, Shelf, Tier, row};

/// When it ends, and what errors do.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Stop,
    options: &[
        row("runtime", Tier::One, Kind::Time(Slots::One, Bare::Seconds))
            .or("timeout")
            .default("0")
            .doc("End after this long; with time_based, not earlier either."),
        row("time_based", Tier::One, Kind::Flag).doc("Start over until the runtime is up."),
        row("ramp_time", Tier::One, Kind::Time(Slots::One, Bare::Seconds)).doc("Run so long before measuring begins."),
        row("exitall", Tier::One, Kind::Flag).doc("When this job ends, end the others too."),
        row("exit_what", Tier::Two, Kind::Choice(&["group", "stonewall", "all"]))
            .default("group")
            .doc("Whom exitall ends: the group, up to the next stonewall, or all."),
        row("exitall_on_error", Tier::Two, Kind::Flag).doc("When this job fails, end the others too."),
        row("continue_on_error", Tier::Two, Kind::Choice(&["none", "read", "write", "io", "verify", "all", "0", "1"]))
            .default("none")
            .doc("Which errors do not end the job."),
        row("ignore_error", Tier::Two, Kind::Special(Special::IgnoreError))
            .doc("Which error numbers are no errors, for reads, writes and verification."),
        row("error_dump", Tier::Two, Kind::Switch).default("0").doc("Show every op that ended in an error."),
        row("steadystate", Tier::Two, Kind::Special(Special::Steady))
            .or("ss")
            .default("iops_slope:0.01%")
            .doc("End when a figure has become steady: the criterion and its limit."),
        row("steadystate_duration", Tier::Two, Kind::Time(Slots::One, Bare::Seconds))
            .or("ss_dur")
            .default("0")
            .doc("The window that must be steady."),
        row("steadystate_ramp_time", Tier::Two, Kind::Time(Slots::One, Bare::Seconds))
            .or("ss_ramp")
            .default("0")
            .doc("Ignore so much of the beginning when judging steadiness."),
        row("steadystate_check_interval", Tier::Two, Kind::Time(Slots::One, Bare::Seconds))
            .or("ss_interval")
            .default("1")
            .doc("How often steadiness is judged."),
    ],
};
