//! Conditions on a run: assertions about its numbers, and steadiness.
//!
//! An assertion is `[PHASE/]METRIC OP VALUE`, such as `read.lat.p99 < 5ms` or `seq-read/read.bw >= 1GB/s`. The value is in
//! the metric's unit: a time, a byte rate, a rate, or a number of processors.

use crate::measurement::PhaseMeasurement;
use crate::metric::{Metric, Unit};
use crate::run::RunResult;
use crate::utilisation::Utilisation;
use plumb_workload::suggest::nearest;
use plumb_workload::{Bytes, Nanos, PerSecond, Phase};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// A condition on one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Assertion {
    /// The assertion, exactly as it was typed.
    pub text: String,
    /// Name of the only phase to check; `None` for every phase that measures the metric.
    pub phase: Option<String>,
    /// The metric that is checked.
    pub metric: Metric,
    /// Comparison of the measured number with `value`.
    pub op: Comparator,
    /// Bound in the metric's unit.
    pub value: f64,
}

/// A comparison operator between a metric and a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparator {
    /// The operator `<`.
    Less,
    /// The operator `<=`.
    AtMost,
    /// The operator `>`.
    More,
    /// The operator `>=`.
    AtLeast,
}

impl Comparator {
    const ALL: [(&'static str, Comparator); 4] =
        [("<=", Comparator::AtMost), (">=", Comparator::AtLeast), ("<", Comparator::Less), (">", Comparator::More)];

    /// Returns `true` if the comparison holds.
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Comparator::Less => left < right,
            Comparator::AtMost => left <= right,
            Comparator::More => left > right,
            Comparator::AtLeast => left >= right,
        }
    }
}

/// Error from parsing an assertion: the position, and how to correct it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssertionError {
    /// The rejected text, exactly as it was typed.
    pub text: String,
    /// Byte range of the text that is in error.
    pub span: Range<usize>,
    /// The problem that was found.
    pub message: String,
    /// Correction to suggest to the user.
    pub help: String,
}

impl std::error::Error for AssertionError {}

/// Formats the error as compilers do: message, place, caret, help.
impl fmt::Display for AssertionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.text.get(..self.span.start).map_or(0, |text| text.chars().count());
        let marked = self.text.get(self.span.clone()).map_or(0, |text| text.chars().count()).max(1);
        let shown: String = self.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        writeln!(f, "error: {}", self.message)?;
        writeln!(f, " --> --assert")?;
        writeln!(f, "  |")?;
        writeln!(f, "1 | {shown}")?;
        writeln!(f, "  | {}{}", " ".repeat(before), "^".repeat(marked))?;
        write!(f, "  = help: {}", self.help)
    }
}

impl FromStr for Assertion {
    type Err = AssertionError;

    fn from_str(text: &str) -> Result<Assertion, AssertionError> {
        let error = |span: Range<usize>, message: String, help: String| AssertionError {
            text: text.to_owned(),
            span,
            message,
            help,
        };
        let example = || "write METRIC OP VALUE, such as `read.lat.p99 < 5ms`".to_owned();
        let Some(at) = text.find(['<', '>', '=', '!']) else {
            let message = if text.trim().is_empty() { "there is no condition" } else { "there is no comparison" };
            return Err(error(text.len()..text.len(), message.to_owned(), example()));
        };
        let rest = &text[at..];
        let length = rest.find(|c| !['<', '>', '=', '!'].contains(&c)).unwrap_or(rest.len());
        let Some((_, op)) = Comparator::ALL.into_iter().find(|(name, _)| *name == &rest[..length]) else {
            let message = format!("`{}` does not compare measured numbers", &rest[..length]);
            return Err(error(at..at + length, message, "use <, <=, > or >=".to_owned()));
        };
        let left = &text[..at];
        let name_end = left.trim_end().len();
        let name_start = left.len() - left.trim_start().len();
        let name = left.trim();
        let (phase, metric_start) = match name.rfind('/') {
            Some(slash) => (Some(&name[..slash]), name_start + slash + 1),
            None => (None, name_start),
        };
        if phase.is_some_and(|phase| phase.trim().is_empty()) {
            return Err(error(name_start..metric_start, "the phase has no name".to_owned(), example()));
        }
        let metric_name = text.get(metric_start..name_end).unwrap_or_default();
        let metric: Metric = metric_name.parse().map_err(|_| {
            let of_runs = Metric::all().into_iter().filter(|metric| metric.device_count().is_none());
            let names: Vec<String> = of_runs.map(|metric| metric.to_string()).collect();
            let help = match nearest(metric_name, names.iter().map(String::as_str)) {
                Some(name) => format!("did you mean `{name}`?"),
                None => "examples are `read.bw`, `write.iops`, `fsync.lat.p99`, `read.resp.p99`".to_owned(),
            };
            error(metric_start..name_end.max(metric_start), format!("unknown metric `{metric_name}`"), help)
        })?;
        if metric.device_count().is_some() {
            let message = format!("a single run has no `{metric}`: devices are counted in studies");
            return Err(error(metric_start..name_end, message, "put it into a study's `metrics`".to_owned()));
        }
        let value_text = &text[at + length..];
        let value_start = at + length + (value_text.len() - value_text.trim_start().len());
        let value = value_of(value_text.trim(), metric.unit()).ok_or_else(|| {
            let (kind, example) = wanted(metric.unit());
            error(
                value_start..value_start + value_text.trim().len(),
                format!("`{}` is not {kind}, and `{metric}` is one", value_text.trim()),
                format!("write {example}"),
            )
        })?;
        Ok(Assertion {
            text: text.trim().to_owned(),
            phase: phase.map(|phase| phase.trim().to_owned()),
            metric,
            op,
            value,
        })
    }
}

const fn wanted(unit: Unit) -> (&'static str, &'static str) {
    match unit {
        Unit::BytesPerSecond => ("a byte rate", "it with its unit, such as `500MB/s` or `200MiB/s`"),
        Unit::OpsPerSecond => ("a rate", "it as `10000/s` or `10k`"),
        Unit::Nanoseconds => ("a time", "it with its unit, such as `5ms` or `200us`"),
        Unit::Cpus => ("a number of processors", "it as `0.5` or `50%`"),
        // An assertion never has these units: see `from_str`.
        Unit::Bytes | Unit::Ops | Unit::BytesPerOp | Unit::BytesPerByte => ("a number", "it as `512`"),
    }
}

/// Parses a value in its unit; `None` if it is malformed.
fn value_of(text: &str, unit: Unit) -> Option<f64> {
    match unit {
        Unit::Nanoseconds => text.parse::<Nanos>().ok().map(|time| time.0 as f64),
        Unit::BytesPerSecond => text.strip_suffix("/s")?.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64),
        Unit::OpsPerSecond => text.parse::<PerSecond>().ok().map(|rate| rate.0),
        Unit::Bytes | Unit::Ops | Unit::BytesPerOp | Unit::BytesPerByte => None,
        Unit::Cpus => {
            let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim_end(), 0.01));
            number
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite() && *number >= 0.0)
                .map(|number| number * scale)
        }
    }
}

/// The outcome of one assertion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asserted {
    /// The assertion, exactly as it was typed.
    pub assertion: String,
    /// Whether it holds in every phase concerned. It does not hold if a number was not measured.
    pub holds: bool,
    /// Unit of the metric and the observed numbers.
    pub unit: Unit,
    /// Measured numbers of the phases concerned.
    pub observed: Vec<Observed>,
    /// Reason why it does not hold, unless the numbers show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Measured number of one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Observed {
    /// Name of the measured phase.
    pub phase: String,
    /// The measured number; `null` if not measured.
    pub value: Option<f64>,
}

/// Prefix of the names of phases that prepare the storage for measured ones. Assertions without a phase skip these phases.
pub const PRECONDITIONING: &str = "preconditioning";

impl Assertion {
    /// Checks the assertion against a result.
    pub fn check(&self, result: &RunResult) -> Asserted {
        let asked = |name: &str| match &self.phase {
            Some(phase) => phase == name,
            None => !name.starts_with(PRECONDITIONING),
        };
        let observed: Vec<Observed> = result
            .phases
            .iter()
            .filter(|phase| asked(&phase.name))
            .filter_map(|phase| {
                let value = phase.metrics.get(&self.metric)?.value;
                Some(Observed { phase: phase.name.clone(), value })
            })
            .collect();
        let without = observed.iter().find(|one| one.value.is_none());
        let reason = match (observed.is_empty(), without, &self.phase) {
            (true, _, Some(phase)) => Some(format!("not measured: `{phase}` has no {}", self.metric)),
            (true, _, None) => Some(format!("not measured: no phase has {}", self.metric)),
            (false, Some(one), _) => {
                Some(format!("not measured: `{}` completed too few of these ops for {}", one.phase, self.metric))
            }
            (false, None, _) => None,
        };
        let holds = reason.is_none()
            && observed.iter().all(|one| one.value.is_some_and(|value| self.op.holds(value, self.value)));
        Asserted { assertion: self.text.clone(), holds, unit: self.metric.unit(), observed, reason }
    }
}

/// Whether a phase that should run until it is steady became so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Steadiness {
    /// Name of the measured phase.
    pub phase: String,
    /// Number of whole rounds measured.
    pub rounds: u32,
    /// Number of rounds after which the phase gives up.
    pub rounds_max: u32,
    /// Length of a round, ns.
    pub round_ns: u64,
    /// Whether the rule for steadiness was met.
    pub reached: bool,
}

impl Steadiness {
    /// Returns the steadiness of a measured phase; `None` if it had no such rule. Like the rule,
    /// it counts only whole intervals.
    pub fn from_phase(plan: &Phase, measured: &PhaseMeasurement) -> Option<Steadiness> {
        let rule = plan.stop.steady?;
        let round_ns = rule.round.0.max(1);
        let (mut rounds, mut length_ns) = (0, 0);
        for interval in &measured.intervals {
            length_ns += interval.length_ns;
            if length_ns >= round_ns {
                rounds += 1;
                length_ns = 0;
            }
        }
        Some(Steadiness {
            phase: plan.name.clone(),
            rounds: rounds.min(rule.max_rounds),
            rounds_max: rule.max_rounds,
            round_ns,
            reached: measured.steady.unwrap_or(false),
        })
    }

    /// Returns a phrase such as `steady after 7 rounds of 1s`.
    pub fn words(&self) -> String {
        let Steadiness { rounds, rounds_max, round_ns, reached, .. } = *self;
        let plural = if rounds == 1 { "" } else { "s" };
        let counted = format!("{rounds} round{plural} of {}", Nanos(round_ns));
        if reached {
            format!("steady after {counted}")
        } else if rounds < rounds_max {
            format!("ended by its own limit after {counted}, before it was steady: transient")
        } else {
            format!("not steady after {counted}: transient")
        }
    }
}

/// A result with the outcomes of its conditions, as `--json` prints it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "RunResult"))]
pub struct ConditionedResult<'a> {
    #[serde(flatten)]
    /// The result of the run.
    pub result: Cow<'a, RunResult>,
    /// Outcomes of all `--assert` options.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assertions: Vec<Asserted>,
    /// Steadiness of the phases that should run until they are steady.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steady: Vec<Steadiness>,
    /// Utilisation of emulated consumers of the bytes read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub utilisation: Vec<Utilisation>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::OpKind;
    use proptest::prelude::*;

    fn parse(text: &str) -> Assertion {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn values_are_in_the_unit_of_the_metric() {
        for (text, value) in [
            ("read.lat.p99 < 5ms", 5e6),
            ("read.bw>=1GB/s", 1e9),
            ("write.bw > 200MiB/s", 209_715_200.0),
            ("read.iops >= 10000/s", 1e4),
            ("read.iops >= 10k", 1e4),
            ("txn.ops>50", 50.0),
            ("cpu.user <= 50%", 0.5),
            ("read.resp.p99.9 <= 1.5ms", 1.5e6),
        ] {
            assert_eq!(parse(text).value, value, "{text}");
        }
        let named = parse(" seq-read/read.bw >= 1GB/s ");
        assert_eq!((named.phase.as_deref(), named.metric), (Some("seq-read"), Metric::bandwidth(OpKind::Read)));
        assert_eq!((named.op, named.text.as_str()), (Comparator::AtLeast, "seq-read/read.bw >= 1GB/s"));
    }

    /// The caret points to the error, and the help shows the correction.
    #[test]
    fn errors_point_at_the_place_and_help() {
        let message = |text: &str| text.parse::<Assertion>().unwrap_err().to_string();
        let near = message("read.lat.p9 < 5ms");
        assert!(near.contains("1 | read.lat.p9 < 5ms\n  | ^^^^^^^^^^^\n"), "{near}");
        assert!(near.contains("did you mean `read.lat.p9"), "{near}");
        let unit = message("read.lat.p99 < 5MB/s");
        assert!(unit.contains("`5MB/s` is not a time") && unit.contains("  |                ^^^^^\n"), "{unit}");
        let of_studies = message("device.reads < 5");
        assert!(of_studies.contains("devices are counted in studies"), "{of_studies}");
        assert!(message("read.bw > 5MB").contains("is not a byte rate"));
        assert!(message("read.bw == 5MB/s").contains("use <, <=, > or >="));
        assert!(message("read.bw").contains("no comparison"));
        assert!(message("").contains("no condition"));
        assert!(message("/read.bw > 1MB/s").contains("no name"));
        assert!(message("read.bw >").contains("is not a byte rate"));
        assert!(message("größe > 1ms").contains("^^^^^\n"));
    }

    #[test]
    fn comparisons_match_their_operators() {
        for (op, at, above) in [
            (Comparator::Less, false, false),
            (Comparator::AtMost, true, false),
            (Comparator::More, false, true),
            (Comparator::AtLeast, true, true),
        ] {
            assert_eq!((op.holds(5.0, 5.0), op.holds(6.0, 5.0)), (at, above), "{op:?}");
        }
    }

    #[test]
    fn rounds_are_counted_as_the_rule_counts_them() {
        let mut plan = Phase::new("write", Vec::new());
        let interval = |length_ns| crate::Interval { length_ns, ..Default::default() };
        let mut measured = PhaseMeasurement {
            intervals: [1_000_000_000, 1_000_000_000, 3_000_000_000, 1_000_000_000, 400].map(interval).to_vec(),
            steady: Some(true),
            ..PhaseMeasurement::default()
        };
        assert_eq!(Steadiness::from_phase(&plan, &measured), None);
        plan.stop.steady = Some(plumb_workload::Steady { round: Nanos(2_000_000_000), ..Default::default() });
        let found = Steadiness::from_phase(&plan, &measured).unwrap();
        assert_eq!((found.rounds, found.words().as_str()), (2, "steady after 2 rounds of 2s"));
        measured.steady = Some(false);
        assert!(Steadiness::from_phase(&plan, &measured).unwrap().words().contains("its own limit after 2 rounds"));
        measured.intervals = vec![interval(2_000_000_000); 30];
        assert_eq!(
            Steadiness::from_phase(&plan, &measured).unwrap().words(),
            "not steady after 25 rounds of 2s: transient"
        );
    }

    fn value(unit: Unit) -> BoxedStrategy<(String, f64)> {
        match unit {
            Unit::Nanoseconds => (1u64..1_000_000).prop_map(|n| (format!("{n}us"), n as f64 * 1e3)).boxed(),
            Unit::BytesPerSecond => (1u64..1_000_000).prop_map(|n| (format!("{n}MB/s"), n as f64 * 1e6)).boxed(),
            Unit::OpsPerSecond => (1u64..1_000_000).prop_map(|n| (format!("{n}/s"), n as f64)).boxed(),
            Unit::Cpus => (0u32..64).prop_map(|n| (n.to_string(), f64::from(n))).boxed(),
            other => panic!("no number of a run is in {other:?}"),
        }
    }

    proptest! {
        /// Every assertion that can be written parses to its parts, regardless of spacing.
        #[test]
        fn written_assertions_parse_back(
            (metric, (text, number)) in prop::sample::select(Metric::all())
                .prop_filter("of runs", |metric| metric.device_count().is_none())
                .prop_flat_map(|metric| (Just(metric), value(metric.unit()))),
            (name, op) in prop::sample::select(Comparator::ALL.to_vec()),
            phase in prop::option::of("[a-z][a-z0-9-]{0,8}"),
            blanks in "[ ]{0,3}",
        ) {
            let place = phase.as_ref().map_or(String::new(), |phase| format!("{phase}/"));
            let read = parse(&format!("{blanks}{place}{metric}{blanks}{name}{blanks}{text}{blanks}"));
            prop_assert_eq!((read.metric, read.op, read.phase), (metric, op, phase));
            prop_assert!((read.value - number).abs() <= 1e-9 * number.max(1.0));
        }

        /// Every text is parsed or rejected, with an error position inside the text.
        #[test]
        fn no_text_causes_a_panic(text in "\\PC{0,40}") {
            if let Err(error) = text.parse::<Assertion>() {
                prop_assert!(error.span.end <= text.len() && error.to_string().starts_with("error: "));
            }
        }
    }
}
