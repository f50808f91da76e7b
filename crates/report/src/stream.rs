//! Data that a run sends while it is in progress, in the formats of monitoring systems.

pub mod influx;
pub mod openmetrics;

#[cfg(test)]
pub(crate) mod fixture {
    use plumb_result::stream::{STREAM_SCHEMA, StreamEvent, StreamMeasured, StreamOps, Streamed};
    use plumb_result::watch::DeviceUse;
    use plumb_result::{Finding, Histogram, Level, Tier};
    use plumb_workload::OpKind;

    /// Returns a line of this run, phase and event.
    pub(crate) fn line(event: StreamEvent, phase: Option<&str>) -> Streamed {
        Streamed {
            schema: STREAM_SCHEMA.to_owned(),
            at: "2026-01-01T00:00:00Z".to_owned(),
            event,
            run: "018f".to_owned(),
            workload: "try".to_owned(),
            place: "/mnt/data".to_owned(),
            part: None,
            phase: phase.map(str::to_owned),
            measured: None,
            finding: None,
        }
    }

    /// Returns a second of reads, all of which took `ns`.
    pub(crate) fn second(phase: &str, count: u64, ns: u64) -> Streamed {
        let mut times = Histogram::new();
        times.record_n(ns, count);
        let read = StreamOps::new(count, count * 4096, Some(&times), 1_000_000_000);
        let device = DeviceUse { name: "vda".to_owned(), queue_depth: 1.5, busy: 0.5, ..DeviceUse::default() };
        let measured = StreamMeasured {
            start_ns: 0,
            length_ns: 1_000_000_000,
            ops: [(OpKind::Read, read)].into(),
            in_flight: 1.5,
            depth_asked: 2,
            errors: 0,
            tier: Some(Tier::Mixed { device_share: 0.25 }),
            devices: vec![device],
        };
        Streamed { measured: Some(measured), ..line(StreamEvent::Interval, Some(phase)) }
    }

    /// Returns a finding about this phase, with this message.
    pub(crate) fn finding(event: StreamEvent, phase: &str, message: &str) -> Streamed {
        let finding = Finding {
            code: "A1".to_owned(),
            level: Level::Warn,
            phase: Some(phase.to_owned()),
            observed: String::new(),
            threshold: String::new(),
            message: message.to_owned(),
            remedy: String::new(),
            remedies: Vec::new(),
            at_ns: None,
        };
        Streamed { finding: Some(finding), ..line(event, Some(phase)) }
    }
}
