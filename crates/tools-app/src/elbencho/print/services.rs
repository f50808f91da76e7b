//! Merges the reports of several services.
//!
//! Each service reports its own threads, without regard to other services ([`PhaseReport::numbers`]). FIRST DONE is
//! the time of the first thread of any service, and LAST DONE that of the last one. At FIRST DONE, the work of a
//! slower service is estimated in proportion to the time until its own first thread finished, because all its threads
//! worked until then.

use super::latency::PhaseLatencies;
use super::report::{Both, PhaseContext, PhaseReport, ServiceDone, WorkDone};
use crate::elbencho::lower::LoweredPhase;

impl PhaseReport {
    /// Encodes the report for the coordinator.
    pub fn numbers(&self) -> Vec<u64> {
        let mut numbers = vec![self.elapsed_us.first, self.elapsed_us.last];
        numbers.extend([self.seen.cpu.first, self.seen.cpu.last].map(u64::from));
        for done in [self.done.first, self.done.last, self.mixed.first, self.mixed.last] {
            numbers.extend([done.entries, done.ios, done.bytes]);
        }
        for latencies in [&self.entries, &self.entries_mixed, &self.ios, &self.ios_mixed] {
            latencies.numbers(&mut numbers);
        }
        numbers.extend(&self.each_ms);
        numbers
    }

    /// Decodes a service's report; `None` if it is malformed.
    pub fn from_numbers(phase: &LoweredPhase, numbers: &[u64]) -> Option<PhaseReport> {
        let mut numbers = numbers.iter().copied();
        let all = &mut numbers;
        let elapsed_us = Both { first: all.next()?, last: all.next()? };
        let mut percent = || u32::try_from(all.next()?).ok();
        let cpu = Both { first: percent()?, last: percent()? };
        let mut work = || Some(WorkDone { entries: all.next()?, ios: all.next()?, bytes: all.next()? });
        let done = Both { first: work()?, last: work()? };
        let mixed = Both { first: work()?, last: work()? };
        let (entries, entries_mixed) = (PhaseLatencies::read(all)?, PhaseLatencies::read(all)?);
        let (ios, ios_mixed) = (PhaseLatencies::read(all)?, PhaseLatencies::read(all)?);
        let (kind, name, seen) = (phase.kind, phase.name.clone(), PhaseContext { cpu, ..PhaseContext::default() });
        let (each_ms, services) = (numbers.collect(), Vec::new());
        Some(PhaseReport {
            kind,
            name,
            seen,
            elapsed_us,
            each_ms,
            services,
            done,
            mixed,
            entries,
            entries_mixed,
            ios,
            ios_mixed,
        })
    }
}

/// Merges the named reports of services; `None` if there are none. Reports without any working thread are ignored,
/// and so are their times.
pub fn of_services(reports: &[(String, PhaseReport)], seen: PhaseContext) -> Option<PhaseReport> {
    let (_, first) = reports.first()?;
    let mut all = PhaseReport::timed(first.kind, seen, 0);
    all.name.clone_from(&first.name);
    all.each_ms.clear();
    let busy = || reports.iter().map(|(_, report)| report).filter(|report| !report.each_ms.is_empty());
    let first_us = busy().map(|report| report.elapsed_us.first).min().unwrap_or(0);
    all.elapsed_us = Both { first: first_us, last: busy().map(|report| report.elapsed_us.last).max().unwrap_or(0) };
    for report in busy() {
        let own_us = report.elapsed_us.first;
        all.each_ms.extend(&report.each_ms);
        all.done.first.add(by_then(report.done.first, first_us, own_us));
        all.done.last.add(report.done.last);
        all.mixed.first.add(by_then(report.mixed.first, first_us, own_us));
        all.mixed.last.add(report.mixed.last);
        all.entries.merge(&report.entries);
        all.entries_mixed.merge(&report.entries_mixed);
        all.ios.merge(&report.ios);
        all.ios_mixed.merge(&report.ios_mixed);
    }
    let mean = |read: fn(&PhaseReport) -> u32| {
        let sum: u64 = reports.iter().map(|(_, report)| u64::from(read(report))).sum();
        (sum / reports.len() as u64) as u32
    };
    all.seen.cpu = Both { first: mean(|report| report.seen.cpu.first), last: mean(|report| report.seen.cpu.last) };
    let done = |(name, report): &(String, PhaseReport)| ServiceDone { name: name.clone(), us: report.elapsed_us.last };
    all.services = reports.iter().map(done).collect();
    Some(all)
}

/// Returns the work done by `us`, estimated from the work counted at `counted_us`.
fn by_then(done: WorkDone, us: u64, counted_us: u64) -> WorkDone {
    let part = |of: u64| match us < counted_us {
        true => u64::try_from(u128::from(of) * u128::from(us) / u128::from(counted_us)).unwrap_or(u64::MAX),
        false => of,
    };
    WorkDone { entries: part(done.entries), ios: part(done.ios), bytes: part(done.bytes) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::phase;
    use super::*;
    use crate::elbencho::lower::PhaseKind;
    use proptest::prelude::*;

    fn phase_report(first_us: u64, last_us: u64, first: u64, last: u64) -> PhaseReport {
        let work = |count: u64| WorkDone { entries: count, ios: 4 * count, bytes: count << 20 };
        let mut report = PhaseReport::timed(PhaseKind::Read, PhaseContext::default(), 0);
        report.elapsed_us = Both { first: first_us, last: last_us };
        report.each_ms = vec![first_us / 1000, last_us / 1000];
        report.done = Both { first: work(first), last: work(last) };
        report.entries.add(first_us * 10);
        report.ios.add(last_us);
        report.seen.cpu = Both { first: 10, last: 30 };
        report
    }

    fn merged(reports: &[PhaseReport]) -> PhaseReport {
        let named: Vec<_> =
            reports.iter().zip(["a:1", "b:2", "c:3"]).map(|(r, name)| (name.to_owned(), r.clone())).collect();
        of_services(&named, PhaseContext::default()).unwrap()
    }

    // Protects the table over hosts: totals at the last end; at the first end of all, estimates for the slower
    // services.
    #[test]
    fn services_are_added_up() {
        let all = merged(&[phase_report(2_000_000, 3_000_000, 100, 130), phase_report(4_000_000, 5_000_000, 300, 330)]);
        assert_eq!(all.elapsed_us, Both { first: 2_000_000, last: 5_000_000 });
        assert_eq!((all.done.first.entries, all.done.last.entries), (100 + 150, 460));
        assert_eq!((all.done.first.bytes, all.done.last.ios), (250 << 20, 1840));
        assert_eq!((all.entries.count(), all.ios.count(), all.each_ms.len()), (2, 2, 4));
        assert_eq!(all.seen.cpu, Both { first: 10, last: 30 });
        let done: Vec<_> = all.services.iter().map(|service| (service.name.as_str(), service.us)).collect();
        assert_eq!(done, [("a:1", 3_000_000), ("b:2", 5_000_000)]);
    }

    // Protects FIRST DONE: a service without work does not count.
    #[test]
    fn a_service_without_work_is_not_the_first() {
        let mut idle = phase_report(0, 0, 0, 0);
        idle.each_ms.clear();
        let all = merged(&[idle.clone(), phase_report(2_000, 3_000, 1, 2)]);
        assert_eq!((all.elapsed_us.first, all.done.last.entries, all.services.len()), (2_000, 2, 2));
        assert_eq!(merged(&[idle]).elapsed_us, Both { first: 0, last: 0 });
    }

    // Protects the encoding, and a coordinator from malformed reports.
    #[test]
    fn reports_decode_to_the_same_values() {
        let sent = phase_report(1_234_567, 2_345_678, 9, 90);
        let mut phase = phase(PhaseKind::Read);
        phase.name = sent.name.clone();
        assert_eq!(PhaseReport::from_numbers(&phase, &sent.numbers()), Some(sent.clone()));
        let numbers = sent.numbers();
        for cut in 0..numbers.len() - 2 {
            assert_eq!(PhaseReport::from_numbers(&phase, &numbers[..cut]), None, "{cut}");
        }
    }

    proptest! {
        #[test]
        fn any_numbers_are_read_or_refused(numbers in prop::collection::vec(prop_oneof![0u64..200, any::<u64>()], 0..64)) {
            let phase = phase(PhaseKind::Read);
            if let Some(report) = PhaseReport::from_numbers(&phase, &numbers) {
                let both = [("a".to_owned(), report.clone()), ("b".to_owned(), report)];
                let all = of_services(&both, PhaseContext::default()).unwrap();
                prop_assert_eq!(all.services.len(), 2);
            }
        }
    }
}
