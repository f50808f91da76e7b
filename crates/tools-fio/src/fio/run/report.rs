//! Reports during and after a run.

use super::idle::IdleWatch;
use super::output::Output;
use super::progress::unix_ms;
use plumb_cli::exit::Stopped;
use plumb_result::{Measurement, Observations};
use plumb_tools_fio::fio::lower::{Lowered, LoweredJob};
use plumb_tools_fio::fio::print::{
    self, DiskStats, Grouping, Heading, JobCopy, JobMember, JobReport, Report, ReportTime, Stage, sources,
};
use plumb_tools_fio::fio::{self, Fio};
use std::time::Instant;

/// Makes reports of a run and prints them.
pub struct Reporter<'a> {
    fio: &'a Fio,
    copies: Vec<JobCopy>,
    began: Instant,
    pub output: Output,
    pub idle: Option<IdleWatch>,
    /// Clock start of each phase, in milliseconds since 1970.
    pub phase_starts_unix_ms: Vec<u64>,
}

impl<'a> Reporter<'a> {
    /// Creates a reporter for a run that starts now.
    pub fn new(fio: &'a Fio, lowered: &Lowered, output: Output) -> Reporter<'a> {
        let copy = |one: &LoweredJob| JobCopy {
            job: one.job,
            member: JobMember {
                phase: one.phase,
                group: one.group_name.clone(),
                priority: one.group(&lowered.workload).and_then(|group| group.process.io_priority),
            },
        };
        let copies = lowered.jobs.iter().map(copy).collect();
        let idle = fio.invocation.idle.map(IdleWatch::new);
        Reporter { fio, copies, began: Instant::now(), output, idle, phase_starts_unix_ms: Vec::new() }
    }

    /// Prints the results so far.
    pub fn so_far(&mut self, measurement: &Measurement) -> Result<(), Stopped> {
        let report = self.report(Grouping::AsAsked, Stage::SoFar, measurement, None)?;
        self.output.report(&report)
    }

    /// Prints the final results and returns the jobs that failed.
    pub fn end(&mut self, measurement: &Measurement, observations: &Observations) -> Result<Vec<JobReport>, Stopped> {
        let report = self.report(Grouping::AsAsked, Stage::Final, measurement, Some(observations))?;
        self.output.report(&report)?;
        let apart = self.report(Grouping::Apart, Stage::Final, measurement, None)?;
        Ok(apart.jobs.into_iter().filter(|job| job.failures.error.is_some()).collect())
    }

    fn report(
        &self,
        grouping: Grouping,
        stage: Stage,
        measurement: &Measurement,
        observations: Option<&Observations>,
    ) -> Result<Report, Stopped> {
        let heading = Heading {
            version: fio::VERSION.to_owned(),
            at: now(),
            global_options: print::given(&self.fio.globals),
            compat: self.fio.invocation.compat,
            disks: disks(self.fio),
            stage,
            phase_starts_unix_ms: self.phase_starts_unix_ms.clone(),
            elapsed_s: self.began.elapsed().as_secs() + 1,
            idleness: self.idle.as_ref().filter(|_| stage == Stage::Final).map(IdleWatch::idleness),
        };
        let sources = sources(self.fio, &self.copies, grouping);
        print::report_of(heading, sources, measurement, observations).map_err(Stopped::io)
    }
}

/// As in fio, `disk_util=0` in any job hides the disks.
fn disks(fio: &Fio) -> DiskStats {
    if fio.jobs.iter().all(|job| job.statistics.disk_util) { DiskStats::Shown } else { DiskStats::Off }
}

/// Returns the local time, formatted like ctime(3).
pub(super) fn now() -> ReportTime {
    ReportTime::at_offset(unix_ms(), jiff::Zoned::now().offset().seconds())
}
