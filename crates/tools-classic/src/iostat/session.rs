//! Consecutive reports, each since the previous sample.

use super::print::{self, FrameEnvironment};
pub(crate) use super::report::{CpuShares, Report};
use super::{DeviceNames, IostatSettings, TableLayout};
use plumb_result::blocks::{CpuTicks, MachineReading};

/// The reports of one command line, in order.
#[derive(Debug)]
pub struct Session {
    settings: IostatSettings,
    environment: FrameEnvironment,
    cpu: CpuTicks,
    uptime_cs: u64,
    left: Option<u64>,
    /// Whether the report since boot must be skipped.
    skip: bool,
}

impl Session {
    pub fn new(settings: IostatSettings, environment: FrameEnvironment) -> Session {
        let left = settings.count;
        let skip = settings.omit_first && settings.interval_s > 0;
        Session { settings, environment, cpu: CpuTicks::default(), uptime_cs: 0, left, skip }
    }

    /// Returns the text before the first report.
    pub fn opening(&self) -> String {
        print::opening(&self.settings, &self.environment)
    }

    /// Returns the report since the last sample, or since boot; empty if it is omitted.
    pub fn report(&mut self, sample: &MachineReading, time: String, names: &mut dyn DeviceNames) -> String {
        let report = self.measure(sample, time, names);
        if self.skip {
            return String::new();
        }
        self.left = self.left.map(|left| left.saturating_sub(1));
        print::report(&report, &self.settings, &self.environment)
    }

    fn measure(&mut self, sample: &MachineReading, time: String, names: &mut dyn DeviceNames) -> Report {
        self.settings.list.add_sample(&sample.devices, self.settings.which);
        let cpu = shares(&sample.cpu, &self.cpu);
        let interval_cs = sample.uptime_cs.saturating_sub(self.uptime_cs).max(1);
        (self.cpu, self.uptime_cs) = (sample.cpu, sample.uptime_cs);
        let parts = if self.settings.has_parts() { 4 } else { 1 };
        let mut list = std::mem::take(&mut self.settings.list);
        let rows = (1..=parts).map(|part| list.rows(&self.settings, part, names)).collect();
        self.settings.list = list;
        Report { time, cpu, interval_cs, parts: rows }
    }

    /// Whether more reports follow.
    pub fn goes_on(&self) -> bool {
        self.left != Some(0)
    }

    /// Returns the text between two reports, after the wait.
    pub fn between(&mut self) -> &'static str {
        let first_is_next = std::mem::replace(&mut self.skip, false);
        if self.settings.layout == TableLayout::Json && !first_is_next { ",\n" } else { "\n" }
    }

    /// Returns the text after the last report, however the session ended.
    pub fn closing(&self) -> &'static str {
        match self.settings.layout {
            TableLayout::Json => "\n\t\t\t]\n\t\t}\n\t]\n}}\n",
            _ => "\n",
        }
    }
}

impl IostatSettings {
    /// Whether a report has four parts.
    pub(super) fn has_parts(&self) -> bool {
        self.layout == TableLayout::Parts && self.columns == super::Columns::Extended
    }
}

fn shares(now: &CpuTicks, before: &CpuTicks) -> CpuShares {
    let ticks = now.total().wrapping_sub(before.total()).max(1);
    // Times can decrease slightly, for instance idle time.
    let share = |now: u64, before: u64| now.saturating_sub(before) as f64 / ticks as f64 * 100.0;
    CpuShares {
        user: share(now.user, before.user),
        nice: share(now.nice, before.nice),
        system: share(now.kernel(), before.kernel()),
        iowait: share(now.iowait, before.iowait),
        steal: share(now.steal, before.steal),
        idle: share(now.idle, before.idle),
    }
}
