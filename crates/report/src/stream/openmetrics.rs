//! Text for Prometheus to scrape. Source: OpenMetrics 1.0.0, github.com/OpenObservability/OpenMetrics, "Text format".

use plumb_result::stream::{StreamEvent, StreamMeasured, StreamOps, Streamed};
use plumb_result::{Finding, Level, Tier};
use plumb_text::visible;
use plumb_workload::OpKind;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Media type of [`Exposition::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Largest number of phases whose counters are kept. The oldest are dropped, so that memory stays bounded
/// over any number of runs.
const KEPT: usize = 256;

/// The exposed metrics: counters since this process started, and gauges of the last second.
#[derive(Debug, Default)]
pub struct Exposition {
    version: &'static str,
    phases: BTreeMap<PhaseKey, PhaseTotals>,
    /// Number of phases begun so far, which orders them for dropping.
    begun: u64,
    /// The run in progress.
    run: Option<Streamed>,
    /// The phase in progress, with its last second.
    now: Option<(PhaseKey, Option<StreamMeasured>)>,
    findings: Vec<(PhaseKey, Finding)>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct PhaseKey {
    workload: String,
    place: String,
    phase: String,
}

#[derive(Debug, Default)]
struct PhaseTotals {
    number: u64,
    /// Sums of earlier runs.
    before: PhaseSums,
    /// Sums including the run in progress.
    sums: PhaseSums,
}

#[derive(Debug, Clone, Default)]
struct PhaseSums {
    ops: BTreeMap<OpKind, OpSums>,
    errors: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct OpSums {
    count: u64,
    bytes: u64,
    time_s: f64,
}

impl PhaseSums {
    fn add(&mut self, measured: &StreamMeasured) {
        self.errors += measured.errors;
        for (kind, ops) in &measured.ops {
            let sums = self.ops.entry(*kind).or_default();
            sums.count += ops.count;
            sums.bytes += ops.bytes;
            sums.time_s += ops.mean_ns.unwrap_or(0.0) * ops.count as f64 / 1e9;
        }
    }

    /// Keeps counters from falling because of rounding.
    fn at_least(&mut self, earlier: &PhaseSums) {
        self.errors = self.errors.max(earlier.errors);
        for (kind, earlier) in &earlier.ops {
            let sums = self.ops.entry(*kind).or_default();
            sums.count = sums.count.max(earlier.count);
            sums.bytes = sums.bytes.max(earlier.bytes);
            sums.time_s = sums.time_s.max(earlier.time_s);
        }
    }
}

impl Exposition {
    /// Creates an exposition for this version of the program, without any metrics yet.
    pub fn new(version: &'static str) -> Exposition {
        Exposition { version, ..Exposition::default() }
    }

    /// Records an event.
    pub fn add(&mut self, line: &Streamed) {
        let key = PhaseKey {
            workload: line.workload.clone(),
            place: line.place.clone(),
            phase: line.phase.clone().unwrap_or_default(),
        };
        match line.event {
            StreamEvent::RunBegins => {
                self.findings.clear();
                self.run = Some(line.clone());
            }
            StreamEvent::RunEnds => (self.run, self.now) = (None, None),
            StreamEvent::PhaseBegins => {
                self.begun += 1;
                let totals = self.phases.entry(key.clone()).or_default();
                totals.number = self.begun;
                totals.before = totals.sums.clone();
                self.now = Some((key, None));
                if self.phases.len() > KEPT {
                    let first = self.phases.iter().min_by_key(|(_, totals)| totals.number).map(|(key, _)| key.clone());
                    first.map(|key| self.phases.remove(&key));
                }
            }
            StreamEvent::Interval => {
                if let (Some(totals), Some(measured)) = (self.phases.get_mut(&key), &line.measured) {
                    totals.sums.add(measured);
                }
                self.now = Some((key, line.measured.clone()));
            }
            StreamEvent::PhaseEnds => {
                self.now = None;
                if let (Some(totals), Some(measured)) = (self.phases.get_mut(&key), &line.measured) {
                    let mut sums = totals.before.clone();
                    sums.add(measured);
                    sums.at_least(&totals.sums);
                    totals.sums = sums;
                }
            }
            StreamEvent::Finding => self.findings.extend(line.finding.clone().map(|finding| (key, finding))),
            StreamEvent::Withdrawn => {
                let withdrawn = line.finding.as_ref().map(|finding| &finding.code);
                self.findings.retain(|(known, finding)| *known != key || Some(&finding.code) != withdrawn);
            }
        }
    }

    /// Returns the whole text, which ends with the line `# EOF`.
    pub fn text(&self) -> String {
        let mut out = Text(String::new());
        out.family("plumb_build", "info", "", "The program.");
        out.sample("plumb_build_info", &[("version", self.version)], 1.0);
        if let Some(run) = &self.run {
            out.family(
                "plumb_run",
                "info",
                "",
                "The run that goes on; `plumb show` finds it by its id once it is stored.",
            );
            let part = run.part.as_deref().unwrap_or_default();
            let labels = [("run", &*run.run), ("workload", &*run.workload), ("place", &*run.place), ("part", part)];
            out.sample("plumb_run_info", &labels, 1.0);
        }
        out.family("plumb_running", "gauge", "", "1 while a phase is measured.");
        out.sample("plumb_running", &[], if self.now.is_some() { 1.0 } else { 0.0 });
        self.set_totals(&mut out);
        self.set_latency(&mut out);
        if let Some((key, Some(measured))) = &self.now {
            set_load(&mut out, key, measured);
            set_devices(&mut out, measured);
        }
        self.set_findings(&mut out);
        out.0.push_str("# EOF\n");
        out.0
    }

    /// Returns every kind of op of every phase.
    fn sums(&self) -> impl Iterator<Item = (Vec<(&str, &str)>, &PhaseKey, OpKind, &OpSums)> {
        self.phases.iter().flat_map(|(key, totals)| {
            totals.sums.ops.iter().map(move |(kind, sums)| (labels(key, Some(*kind)), key, *kind, sums))
        })
    }

    fn set_totals(&self, out: &mut Text) {
        out.family("plumb_ops", "counter", "", "Ops completed.");
        self.sums().for_each(|(labels, _, _, sums)| out.sample("plumb_ops_total", &labels, sums.count as f64));
        out.family("plumb_moved_bytes", "counter", "bytes", "Bytes moved by ops.");
        self.sums().for_each(|(labels, _, _, sums)| out.sample("plumb_moved_bytes_total", &labels, sums.bytes as f64));
        out.family("plumb_errors", "counter", "", "Errors of ops.");
        for (key, totals) in &self.phases {
            out.sample("plumb_errors_total", &labels(key, None), totals.sums.errors as f64);
        }
    }

    /// Writes latencies: quantiles of the last second, and counts and sums since the start.
    fn set_latency(&self, out: &mut Text) {
        let help = "Service time of ops: quantiles of the last second, 1 the largest; sum and count since the start.";
        out.family("plumb_latency_seconds", "summary", "seconds", help);
        for (labels, key, kind, sums) in self.sums() {
            let now = self.now.as_ref().filter(|(current, _)| current == key).and_then(|(_, last)| last.as_ref());
            if let Some(ops) = now.and_then(|measured| measured.ops.get(&kind)) {
                for (quantile, ns) in quantiles(ops) {
                    let with = [&labels[..], &[("quantile", quantile)]].concat();
                    out.sample("plumb_latency_seconds", &with, ns as f64 / 1e9);
                }
            }
            out.sample("plumb_latency_seconds_count", &labels, sums.count as f64);
            out.sample("plumb_latency_seconds_sum", &labels, sums.time_s);
        }
    }

    fn set_findings(&self, out: &mut Text) {
        out.family(
            "plumb_finding",
            "gauge",
            "",
            "1 for each finding of this run above `note`; `plumb explain CODE` explains it.",
        );
        let mut seen: Vec<(&PhaseKey, &str, Level)> = Vec::new();
        for (key, finding) in &self.findings {
            let this = (key, finding.code.as_str(), finding.level);
            if !seen.contains(&this) {
                seen.push(this);
                let about = [("code", finding.code.as_str()), ("level", finding.level.name())];
                out.sample("plumb_finding", &[&about[..], &labels(key, None)].concat(), 1.0);
            }
        }
    }
}

fn quantiles(ops: &StreamOps) -> impl Iterator<Item = (&'static str, u64)> {
    let all =
        [("0.5", ops.p50_ns), ("0.9", ops.p90_ns), ("0.99", ops.p99_ns), ("0.999", ops.p999_ns), ("1", ops.max_ns)];
    all.into_iter().filter_map(|(quantile, ns)| Some((quantile, ns?)))
}

fn labels(key: &PhaseKey, op: Option<OpKind>) -> Vec<(&str, &str)> {
    let mut labels = vec![("workload", &*key.workload), ("place", &*key.place), ("phase", &*key.phase)];
    labels.extend(op.map(|op| ("op", op.name())));
    labels
}

/// Writes the gauges of the last second.
fn set_load(out: &mut Text, key: &PhaseKey, measured: &StreamMeasured) {
    let labels = labels(key, None);
    let elapsed_s = (measured.start_ns + measured.length_ns) as f64 / 1e9;
    out.family("plumb_phase_elapsed_seconds", "gauge", "seconds", "How long the phase has been measured.");
    out.sample("plumb_phase_elapsed_seconds", &labels, elapsed_s);
    out.family("plumb_in_flight", "gauge", "", "Mean ops in flight over the last second.");
    out.sample("plumb_in_flight", &labels, measured.in_flight);
    out.family("plumb_depth_asked", "gauge", "", "Asked ops in flight.");
    out.sample("plumb_depth_asked", &labels, f64::from(measured.depth_asked));
    let share = match measured.tier {
        Some(Tier::Device | Tier::Server) => 1.0,
        Some(Tier::Cache) => 0.0,
        Some(Tier::Mixed { device_share }) => device_share,
        Some(Tier::Unknown) | None => return,
    };
    let help =
        "Share of the last second's bytes that the devices, or a file server, moved; the rest was served by memory.";
    out.family("plumb_device_share_ratio", "gauge", "ratio", help);
    out.sample("plumb_device_share_ratio", &labels, share);
}

fn set_devices(out: &mut Text, measured: &StreamMeasured) {
    type Pick = fn(&plumb_result::watch::DeviceUse) -> Option<f64>;
    let families: [(&str, &str, &str, Pick); 9] = [
        ("plumb_device_reads_per_second", "", "Read requests per second.", |device| Some(device.read.ops_per_s)),
        ("plumb_device_read_bytes_per_second", "", "Bytes read per second.", |device| Some(device.read.bytes_per_s)),
        ("plumb_device_read_latency_seconds", "seconds", "Mean time of a read request.", |device| {
            device.read.latency_ns.map(|ns| ns / 1e9)
        }),
        ("plumb_device_writes_per_second", "", "Write requests per second.", |device| Some(device.write.ops_per_s)),
        ("plumb_device_write_bytes_per_second", "", "Bytes written per second.", |device| {
            Some(device.write.bytes_per_s)
        }),
        ("plumb_device_write_latency_seconds", "seconds", "Mean time of a write request.", |device| {
            device.write.latency_ns.map(|ns| ns / 1e9)
        }),
        ("plumb_device_flushes_per_second", "", "Flush requests per second.", |device| Some(device.flushes_per_s)),
        ("plumb_device_queue_depth", "", "Mean requests in flight.", |device| Some(device.queue_depth)),
        (
            "plumb_device_busy_ratio",
            "ratio",
            "Share of the time with a request in flight; no measure of saturation.",
            |device| Some(device.busy),
        ),
    ];
    for (name, unit, help, pick) in families {
        let values: Vec<(&str, f64)> =
            measured.devices.iter().filter_map(|device| Some((device.name.as_str(), pick(device)?))).collect();
        if !values.is_empty() {
            out.family(name, "gauge", unit, help);
            values.iter().for_each(|(device, value)| out.sample(name, &[("device", device)], *value));
        }
    }
}

/// The text under construction.
struct Text(String);

impl Text {
    /// Writes the lines above the samples of a family. A unit is also the suffix of the family's name.
    fn family(&mut self, name: &str, kind: &str, unit: &str, help: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(self.0, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.0, "# HELP {name} {}", escaped(help));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0.push_str(name);
        for (number, (label, value)) in labels.iter().enumerate() {
            let _ = write!(self.0, "{}{label}=\"{}\"", if number == 0 { "{" } else { "," }, escaped(value));
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }
}

/// Escapes backslashes, double quotes and line breaks; everything else is unchanged.
fn escaped(text: &str) -> String {
    visible(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::fixture::{finding, line, second};

    fn exposed(lines: &[Streamed]) -> Exposition {
        let mut exposition = Exposition::new("1.0");
        lines.iter().for_each(|line| exposition.add(line));
        exposition
    }

    /// Returns the value of the sample whose line begins with `begin`.
    fn value(text: &str, begin: &str) -> Option<f64> {
        let line = text.lines().find(|line| line.starts_with(begin))?;
        line.rsplit(' ').next()?.parse().ok()
    }

    fn begun() -> Vec<Streamed> {
        vec![line(StreamEvent::RunBegins, None), line(StreamEvent::PhaseBegins, Some("p"))]
    }

    const OPS: &str = "plumb_ops_total{workload=\"try\",place=\"/mnt/data\",phase=\"p\",op=\"read\"}";

    // Protects the rules of OpenMetrics: one block for each family, its samples below it, a unit as suffix of
    // the name, and an end.
    #[test]
    fn the_text_has_the_form_of_openmetrics() {
        let mut lines = begun();
        lines.extend([second("p", 100, 5000), finding(StreamEvent::Finding, "p", "x")]);
        let text = exposed(&lines).text();
        assert!(text.ends_with("\n# EOF\n"), "{text}");
        let (mut family, mut families) = (String::new(), Vec::new());
        for line in text.lines().take_while(|line| *line != "# EOF") {
            match line.split(' ').collect::<Vec<_>>().as_slice() {
                ["#", "TYPE", name, _] => {
                    family = (*name).to_owned();
                    assert!(!families.contains(&family), "{family} twice");
                    families.push(family.clone());
                }
                ["#", "UNIT", name, unit] => assert!(*name == family && name.ends_with(&format!("_{unit}")), "{line}"),
                ["#", "HELP", name, ..] => assert_eq!(*name, family),
                [sample, ..] => {
                    let name = sample.split('{').next().unwrap();
                    let suffix = name.strip_prefix(family.as_str());
                    assert!(
                        matches!(suffix, Some("" | "_total" | "_info" | "_count" | "_sum")),
                        "{line} below {family}"
                    );
                }
                [] => panic!("an empty line"),
            }
        }
        assert_eq!(
            value(
                &text,
                "plumb_latency_seconds{workload=\"try\",place=\"/mnt/data\",phase=\"p\",op=\"read\",quantile=\"0.99\"}"
            ),
            Some(5e-6)
        );
        assert_eq!(value(&text, "plumb_device_share_ratio"), Some(0.25));
        assert_eq!(value(&text, "plumb_device_busy_ratio{device=\"vda\"}"), Some(0.5));
        assert_eq!(value(&text, "plumb_finding{code=\"A1\",level=\"warn\""), Some(1.0));
        // Nothing was read from the device, so there is no time of a read.
        assert!(!text.contains("plumb_device_read_latency_seconds"), "{text}");
    }

    // Protects: counters finally equal those of the result, continue over runs of the same work, and never fall.
    #[test]
    fn counters_continue_over_runs() {
        let mut lines = begun();
        lines.extend([second("p", 100, 5000), second("p", 50, 5000)]);
        let mut exposition = exposed(&lines);
        assert_eq!(value(&exposition.text(), OPS), Some(150.0));
        exposition.add(&Streamed { event: StreamEvent::PhaseEnds, ..second("p", 160, 5000) });
        exposition.add(&line(StreamEvent::RunEnds, None));
        let text = exposition.text();
        assert_eq!(value(&text, OPS), Some(160.0));
        assert_eq!(value(&text, "plumb_running"), Some(0.0));
        assert!(!text.contains("quantile=") && !text.contains("plumb_run_info"), "{text}");
        begun().iter().for_each(|line| exposition.add(line));
        exposition.add(&second("p", 10, 5000));
        assert_eq!(value(&exposition.text(), OPS), Some(170.0));
        exposition.add(&Streamed { event: StreamEvent::PhaseEnds, ..second("p", 9, 5000) });
        assert_eq!(value(&exposition.text(), OPS), Some(170.0));
    }

    // Protects: any path is a valid label, and a withdrawn finding is no longer exposed.
    #[test]
    fn labels_are_escaped_and_findings_go() {
        let mut lines = begun();
        for line in &mut lines {
            line.place = "/mnt/\"a\\b\"\nc".to_owned();
        }
        let text = exposed(&lines).text();
        assert!(text.contains("place=\"/mnt/\\\"a\\\\b\\\"\\nc\""), "{text}");
        assert!(
            text.lines().all(|line| line.starts_with('#') || line.rsplit(' ').next().unwrap().parse::<f64>().is_ok())
        );
        let mut lines = begun();
        lines.extend([finding(StreamEvent::Finding, "p", "x"), finding(StreamEvent::Withdrawn, "p", "x")]);
        assert!(!exposed(&lines).text().contains("plumb_finding{"));
    }

    // Protects: a study of thousands of phases does not fill memory.
    #[test]
    fn old_phases_are_forgotten() {
        let mut exposition = Exposition::new("1.0");
        for number in 0..KEPT + 10 {
            exposition.add(&line(StreamEvent::PhaseBegins, Some(&format!("p{number}"))));
            exposition.add(&second(&format!("p{number}"), 1, 1));
        }
        let text = exposition.text();
        assert_eq!(text.matches("plumb_errors_total{").count(), KEPT);
        assert!(!text.contains("phase=\"p9\"") && text.contains("phase=\"p10\""), "the oldest phases are dropped");
    }
}
