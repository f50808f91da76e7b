//! Throughput tests: passes with several processes, and the division of work in the mix.

use super::TARGET;
use super::program::{self, PassStep};
use crate::iozone::pass::{Pass, Test};
use crate::iozone::settings::{IozoneSettings, MixReaders};
use crate::iozone::sweep::SizePoint;
use plumb_workload::phase::Start;
use plumb_workload::program::Pick;
use plumb_workload::{Nanos, RunAs, Work, WorkerGroup};

/// Position of a pass among those with the same number of processes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) first: bool,
    pub(super) last: bool,
}

/// Returns the passes in IOzone's order.
pub(super) fn passes(settings: &IozoneSettings) -> Vec<Pass> {
    let all = [
        (Test::Write, Pass::Write),
        (Test::Write, Pass::Rewrite),
        (Test::Read, Pass::Read),
        (Test::Read, Pass::Reread),
        (Test::Backward, Pass::Backward),
        (Test::Stride, Pass::Stride),
        (Test::Random, Pass::RandomRead),
        (Test::Mix, Pass::Mix),
        (Test::Random, Pass::RandomWrite),
        (Test::Pwrite, Pass::Pwrite),
        (Test::Pread, Pass::Pread),
        (Test::Fwrite, Pass::Fwrite),
        (Test::Fread, Pass::Fread),
    ];
    let plain = settings.calls.mapped.is_none() && settings.calls.aio.is_none();
    let wanted = |(test, pass): &(Test, Pass)| {
        let needs_plain = matches!(test, Test::Pwrite | Test::Pread | Test::Fwrite | Test::Fread);
        let writes = settings.files.existing && (pass.writes() || *pass == Pass::Mix);
        settings.includes(*test) && (plain || !needs_plain) && !writes && !(settings.tests.no_retest && pass.repeats())
    };
    all.into_iter().filter(wanted).map(|(_, pass)| pass).collect()
}

/// Returns the pass of a child in the mix.
fn mixed(settings: &IozoneSettings, child: u32, count: u32) -> Pass {
    let reads = match settings.pattern.mix_readers {
        // Whole children, rounded down: 70 % of two is one.
        Some(MixReaders::Percent(percent)) => u64::from(child) < u64::from(percent) * u64::from(count) / 100,
        Some(MixReaders::Count(readers)) => child < readers,
        None => child.is_multiple_of(2),
    };
    match (reads, settings.pattern.mix_sequential) {
        (true, false) => Pass::RandomRead,
        (false, false) => Pass::RandomWrite,
        (true, true) => Pass::Read,
        (false, true) => Pass::Rewrite,
    }
}

/// Returns the worker groups of a pass, and the uncounted pause of each worker in nanoseconds.
pub(super) fn groups(
    settings: &IozoneSettings,
    pass: Pass,
    point: SizePoint,
    count: u32,
    run_as: RunAs,
    place: Place,
) -> (Vec<WorkerGroup>, u64) {
    let alike = pass != Pass::Mix && settings.children.start_delay.is_zero();
    let is_mix = pass == Pass::Mix;
    let step = |pass: Pass, child: u32, alone: bool| PassStep {
        pass,
        in_mix: is_mix,
        point,
        file: match (settings.files.shared, alone) {
            (true, _) => Some(Pick::Nth(0)),
            (false, true) => Some(Pick::Nth(child)),
            (false, false) => None,
        },
        // A single child flushes dirty data and deletes the shared file.
        first: place.first,
        last: place.last && (!settings.files.shared || child == 0),
        in_throughput: true,
    };
    let cpus = |child: u32, count: u32| -> Vec<u32> {
        let bound = |first: u32| {
            (0..count).map(move |number| (first + child + number) % settings.children.processors).collect()
        };
        settings.children.bind.map(bound).unwrap_or_default()
    };
    if alike && !(settings.files.shared && place.last) {
        let (program, uncounted_ns) = program::lower_pass(settings, &step(pass, 0, false));
        let mut group = WorkerGroup::new(TARGET, Work::Program(Box::new(program)));
        group.name = Some("child".to_owned());
        group.count = count;
        group.run_as = run_as;
        group.cpus = cpus(0, count.min(settings.children.processors));
        return (vec![group], uncounted_ns);
    }
    let mut longest_ns = 0;
    let groups = (0..count).map(|child| {
        let own = if pass == Pass::Mix { mixed(settings, child, count) } else { pass };
        let (program, uncounted_ns) = program::lower_pass(settings, &step(own, child, true));
        longest_ns = longest_ns.max(uncounted_ns);
        let mut group = WorkerGroup::new(TARGET, Work::Program(Box::new(program)));
        group.name = Some(format!("child{child}"));
        group.run_as = run_as;
        group.cpus = cpus(child, 1);
        let delay = Nanos(settings.children.start_delay.0.saturating_mul(child.into()));
        group.start = Start { delay, ..Start::default() };
        group
    });
    let groups = groups.collect();
    (groups, longest_ns)
}
