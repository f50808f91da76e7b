//! Name, copies, order and reporting group.

use super::row::{Row, options, row};
use super::spec::UsageTier::{One, Three, Two};
use crate::fio::value::kind::{ANY, Bare, at_most, between};
use crate::fio::value::syntax::{Count, FLAG, Plain, Range, SWITCH, TEXT, Time, Whole};
use crate::fio::value::{Between, Map, Maybe};
use plumb_workload::Nanos;

/// Maximum number of copies of all jobs of a run. Source: fio's `REAL_MAX_JOBS`.
pub const JOBS_MAX: u64 = 4096;

// Rows that other modules use.
pub(in crate::fio) const NAME: Row<Plain<String>> = row("name", One, TEXT);

pub(in crate::fio) const NUMJOBS: Row<Count> = row("numjobs", One, Count(at_most(JOBS_MAX as i64))).default("1");

pub(in crate::fio) const STONEWALL: Row<Plain<bool>> = row("stonewall", One, FLAG).or("wait_for_previous");

pub(in crate::fio) const LOOPS: Row<Count> = row("loops", One, Count(ANY)).default("1");

pub(in crate::fio) const PROFILE: Row<Plain<String>> =
    row("profile", Three, TEXT).not_yet("profiles belong on the command line: --profile=tiobench or --profile=act.");

options! {
    /// Name, copies, order and reporting group.
    pub struct JobOptions {
        _ = NAME.doc("Job name; labels results and prefixes generated file names.");
        /// Free-text description, shown with the results.
        description: Option<String> = row("description", One, Maybe(TEXT));
        /// Number of copies of the job, each with its own files and offsets.
        numjobs: u32 = NUMJOBS;
        /// Run workers as threads instead of processes.
        thread: bool = row("thread", One, FLAG);
        /// Start this job only after all earlier jobs have finished; begins a new reporting group.
        stonewall: bool = STONEWALL;
        /// Start this job only after the named earlier job has finished.
        wait_for: Option<String> = row("wait_for", Two, Maybe(TEXT));
        /// Begin a new reporting group with this job.
        new_group: bool = row("new_group", One, FLAG);
        /// Report one result per group instead of one per job.
        group_reporting: bool = row("group_reporting", One, FLAG);
        /// Repeat the whole job this many times.
        loops: u32 = LOOPS;
        /// Delay before the job starts; with a range, the delay is random.
        start_delay: Between<Nanos> = row("startdelay", One, Range(Time(Bare::Seconds))).default("0");
        /// Niceness of the workers.
        nice: i32 = row("nice", Two, Map(Whole(between(-20, 19)), |nice| i32::try_from(nice).unwrap_or(0))).default("0");
        /// User ID the workers run as.
        uid: Option<u32> = row("uid", Two, Maybe(Count(ANY)));
        /// Group ID the workers run as.
        gid: Option<u32> = row("gid", Two, Maybe(Count(ANY)));
        /// Shell command to run before the job.
        exec_prerun: Option<String> = row("exec_prerun", Two, Maybe(TEXT));
        /// Shell command to run after the job.
        exec_postrun: Option<String> = row("exec_postrun", Two, Maybe(TEXT));
        /// Name of the workers' processes or threads; the kernel keeps 15 bytes.
        comm: Option<String> = row("comm", Three, Maybe(TEXT));
        _ = PROFILE;
        /// Run the workers in this control group, created below the root of the I/O controller's hierarchy.
        cgroup: Option<String> = row("cgroup", Three, Maybe(TEXT));
        /// Keep that control group after the run.
        cgroup_nodelete: bool = row("cgroup_nodelete", Three, SWITCH).default("0");
        /// I/O weight of that control group.
        cgroup_weight: Option<u32> = row("cgroup_weight", Three, Maybe(Count(between(100, 1000))));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Category;
    use super::super::tests::assert_each_sets;
    use super::*;

    // Protects: each option sets its own field to the value of its text.
    #[test]
    fn each_option_sets_its_field() {
        assert_each_sets(
            Category::Job,
            &[
                ("name=x", |job| job.name == "x"),
                ("description=x", |job| job.identity.description.as_deref() == Some("x")),
                ("numjobs=7", |job| job.identity.numjobs == 7),
                ("thread", |job| job.identity.thread),
                ("stonewall", |job| job.identity.stonewall),
                ("wait_for=x", |job| job.identity.wait_for.as_deref() == Some("x")),
                ("new_group", |job| job.identity.new_group),
                ("group_reporting", |job| job.identity.group_reporting),
                ("loops=7", |job| job.identity.loops == 7),
                ("startdelay=1-2", |job| {
                    job.identity.start_delay == Between { low: Nanos(1_000_000_000), high: Nanos(2_000_000_000) }
                }),
                ("nice=-5", |job| job.identity.nice == -5),
                ("uid=7", |job| job.identity.uid == Some(7)),
                ("gid=7", |job| job.identity.gid == Some(7)),
                ("exec_prerun=x", |job| job.identity.exec_prerun.as_deref() == Some("x")),
                ("exec_postrun=x", |job| job.identity.exec_postrun.as_deref() == Some("x")),
                ("comm=x", |job| job.identity.comm.as_deref() == Some("x")),
                ("cgroup=x", |job| job.identity.cgroup.as_deref() == Some("x")),
                ("cgroup_nodelete=1", |job| job.identity.cgroup_nodelete),
                ("cgroup_weight=101", |job| job.identity.cgroup_weight == Some(101)),
            ],
        );
    }
}
