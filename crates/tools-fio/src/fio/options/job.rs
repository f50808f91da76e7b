//! Name, copies, order and reporting group.

use super::kind::{ANY, Bare, Kind, Slots, at_most, between};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;
use crate::fio::value::Between;
use plumb_workload::Nanos;

/// All copies of all jobs of a run. Source: fio's `REAL_MAX_JOBS`.
pub const JOBS_MAX: u64 = 4096;

/// Name, copies, order and reporting group.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Job,
    options: &[
        row("name", UsageTier::One, Kind::Text).doc("Job name; labels results and prefixes generated file names."),
        row("description", UsageTier::One, Kind::Text).doc("Free-text description, shown with the results."),
        row("numjobs", UsageTier::One, Kind::Whole(Slots::One, at_most(JOBS_MAX as i64)))
            .default("1")
            .doc("Number of copies of the job, each with its own files and offsets."),
        row("thread", UsageTier::One, Kind::Flag).doc("Run workers as threads instead of processes."),
        row("stonewall", UsageTier::One, Kind::Flag)
            .or("wait_for_previous")
            .doc("Start this job only after all earlier jobs have finished; begins a new reporting group."),
        row("wait_for", UsageTier::Two, Kind::Text)
            .doc("Start this job only after the named earlier job has finished."),
        row("new_group", UsageTier::One, Kind::Flag).doc("Begin a new reporting group with this job."),
        row("group_reporting", UsageTier::One, Kind::Flag).doc("Report one result per group instead of one per job."),
        row("loops", UsageTier::One, Kind::Whole(Slots::One, ANY))
            .default("1")
            .doc("Repeat the whole job this many times."),
        row("startdelay", UsageTier::One, Kind::Time(Slots::Two, Bare::Seconds))
            .default("0")
            .doc("Delay before the job starts; with a range, the delay is random."),
        row("nice", UsageTier::Two, Kind::Whole(Slots::One, between(-20, 19)))
            .default("0")
            .doc("Niceness of the workers."),
        row("uid", UsageTier::Two, Kind::Whole(Slots::One, ANY)).doc("User ID the workers run as."),
        row("gid", UsageTier::Two, Kind::Whole(Slots::One, ANY)).doc("Group ID the workers run as."),
        row("exec_prerun", UsageTier::Two, Kind::Text).doc("Shell command to run before the job."),
        row("exec_postrun", UsageTier::Two, Kind::Text).doc("Shell command to run after the job."),
        row("comm", UsageTier::Three, Kind::Text)
            .doc("Name of the workers' processes or threads; the kernel keeps 15 bytes."),
        row("profile", UsageTier::Three, Kind::Text)
            .not_yet("profiles belong on the command line: --profile=tiobench or --profile=act."),
        row("cgroup", UsageTier::Three, Kind::Text)
            .doc("Run the workers in this control group, created below the root of the I/O controller's hierarchy."),
        row("cgroup_nodelete", UsageTier::Three, Kind::Switch)
            .default("0")
            .doc("Keep that control group after the run."),
        row("cgroup_weight", UsageTier::Three, Kind::Whole(Slots::One, between(100, 1000)))
            .doc("I/O weight of that control group."),
    ],
};

/// Name, copies, order and reporting group.
#[derive(Debug, Clone, PartialEq)]
pub struct JobOptions {
    /// A sentence for human readers.
    pub description: Option<String>,
    /// Name of the workers' processes or threads.
    pub comm: Option<String>,
    /// Number of copies, each with its own files and offsets.
    pub numjobs: u32,
    /// The copies are threads of one process.
    pub thread: bool,
    /// Wait for all earlier jobs, and open a new group.
    pub stonewall: bool,
    /// Wait for this earlier job.
    pub wait_for: Option<String>,
    /// Open a new group.
    pub new_group: bool,
    /// Report the jobs of the group as one.
    pub group_reporting: bool,
    /// Repeat it all this many times.
    pub loops: u32,
    /// Delay before the start.
    pub start_delay: Between<Nanos>,
    /// Niceness, -20 to 19.
    pub nice: i32,
    /// Run as this user.
    pub uid: Option<u32>,
    /// Run as this group.
    pub gid: Option<u32>,
    /// The control group that it runs in.
    pub cgroup: Option<String>,
    /// That group's share of I/O.
    pub cgroup_weight: Option<u32>,
    /// That group stays.
    pub cgroup_nodelete: bool,
    /// Run this command line before.
    pub exec_prerun: Option<String>,
    /// Run this command line after.
    pub exec_postrun: Option<String>,
}

impl JobOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> JobOptions {
        JobOptions {
            description: values.text("description"),
            comm: values.text("comm"),
            numjobs: values.count("numjobs"),
            thread: values.switch("thread"),
            stonewall: values.switch("stonewall"),
            wait_for: values.text("wait_for"),
            new_group: values.switch("new_group"),
            group_reporting: values.switch("group_reporting"),
            loops: values.count("loops"),
            start_delay: values.time_between("startdelay").unwrap_or(Between { low: Nanos(0), high: Nanos(0) }),
            nice: values.maybe_whole("nice").and_then(|nice| i32::try_from(nice).ok()).unwrap_or(0),
            uid: values.maybe_count("uid"),
            gid: values.maybe_count("gid"),
            cgroup: values.text("cgroup"),
            cgroup_weight: values.maybe_count("cgroup_weight"),
            cgroup_nodelete: values.switch("cgroup_nodelete"),
            exec_prerun: values.text("exec_prerun"),
            exec_postrun: values.text("exec_postrun"),
        }
    }
}
