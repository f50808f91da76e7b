//! The job itself: its name, copies, order and group.

use super::kind::{ANY, Bare, Kind, Slots, between};
use super::{Category, Shelf, Tier, row};

/// The job itself: its name, copies, order and group.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Job,
    options: &[
        row("name", Tier::One, Kind::Text)
            .doc("The job's name; it labels results and begins the names of generated files."),
        row("description", Tier::One, Kind::Text).doc("A sentence for people, shown with the results."),
        row("numjobs", Tier::One, Kind::Whole(Slots::One, ANY))
            .default("1")
            .doc("Start so many copies of the job, each with files and offsets of its own."),
        row("thread", Tier::One, Kind::Flag).doc("Run the copies as threads of one process instead of as processes."),
        row("stonewall", Tier::One, Kind::Flag)
            .or("wait_for_previous")
            .doc("Wait for all earlier jobs to end before this one starts, and open a new group."),
        row("wait_for", Tier::Two, Kind::Text).doc("Wait for the named earlier job to end before this one starts."),
        row("new_group", Tier::One, Kind::Flag).doc("Report this job and those after it as a group of their own."),
        row("group_reporting", Tier::One, Kind::Flag).doc("Report the jobs of a group as one."),
        row("loops", Tier::One, Kind::Whole(Slots::One, ANY)).default("1").doc("Do the whole job so many times."),
        row("startdelay", Tier::One, Kind::Time(Slots::Two, Bare::Seconds))
            .default("0")
            .doc("Wait so long before the job starts; a range draws the delay at random."),
        row("nice", Tier::Two, Kind::Whole(Slots::One, between(-20, 19)))
            .default("0")
            .doc("Run the workers with this niceness."),
        row("uid", Tier::Two, Kind::Whole(Slots::One, ANY)).doc("Run the workers as this user."),
        row("gid", Tier::Two, Kind::Whole(Slots::One, ANY)).doc("Run the workers as this group."),
        row("exec_prerun", Tier::Two, Kind::Text).doc("Run this command line before the job."),
        row("exec_postrun", Tier::Two, Kind::Text).doc("Run this command line after the job."),
        row("comm", Tier::Three, Kind::Text).not_yet("Names of worker threads are Plumb's own for now."),
        row("profile", Tier::Three, Kind::Text).not_yet("The built-in profiles (act, tiobench) are not translated."),
        row("cgroup", Tier::Three, Kind::Text).doc(
            "Run the workers in this control group, below the root of the hierarchy that controls I/O; it is made.",
        ),
        row("cgroup_nodelete", Tier::Three, Kind::Switch).default("0").doc("Leave that group behind."),
        row("cgroup_weight", Tier::Three, Kind::Whole(Slots::One, between(100, 1000)))
            .doc("That group's share of I/O in proportion to others."),
    ],
};
