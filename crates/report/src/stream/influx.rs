//! InfluxDB's line protocol. Source: docs.influxdata.com, "Line protocol" (v2): `measurement,tags fields timestamp`.

use plumb_result::Tier;
use plumb_result::stream::{StreamEvent, StreamMeasured, Streamed};
use std::fmt::Write;

/// Returns the lines of one event, each with the time `at_ns` (since 1970). Intervals are in `plumb_ops`,
/// `plumb_load` and `plumb_device`; whole phases in `plumb_phase_ops`, `plumb_phase_load` and `plumb_phase_device`;
/// the rest in `plumb_event` and `plumb_finding`. The id of the run is a field, because as a tag it would create a
/// new series for every run.
pub fn lines(line: &Streamed, at_ns: i64) -> String {
    let mut text = String::new();
    if let Some(measured) = &line.measured {
        let prefix = if line.event == StreamEvent::PhaseEnds { "plumb_phase" } else { "plumb" };
        set_measured(&mut text, prefix, measured, line, at_ns);
    }
    if let Some(finding) = &line.finding {
        let state = if line.event == StreamEvent::Withdrawn { "withdrawn" } else { "found" };
        Point::new("plumb_finding", line)
            .tag("code", &finding.code)
            .tag("level", finding.level.name())
            .text("state", state)
            .text("message", &finding.message)
            .text("observed", &finding.observed)
            .end(&mut text, at_ns);
    }
    let name = match line.event {
        StreamEvent::RunBegins => "run-begins",
        StreamEvent::PhaseBegins => "phase-begins",
        StreamEvent::PhaseEnds => "phase-ends",
        StreamEvent::RunEnds => "run-ends",
        StreamEvent::Interval | StreamEvent::Finding | StreamEvent::Withdrawn => return text,
    };
    Point::new("plumb_event", line).tag("event", name).opt_text("part", line.part.as_deref()).end(&mut text, at_ns);
    text
}

fn set_measured(text: &mut String, prefix: &str, measured: &StreamMeasured, line: &Streamed, at_ns: i64) {
    for (kind, ops) in &measured.ops {
        Point::new(&format!("{prefix}_ops"), line)
            .tag("op", kind.name())
            .integer("count", ops.count)
            .integer("bytes", ops.bytes)
            .float("ops_per_s", Some(ops.ops_per_s))
            .float("bytes_per_s", Some(ops.bytes_per_s))
            .float("mean_ns", ops.mean_ns)
            .opt_integer("p50_ns", ops.p50_ns)
            .opt_integer("p90_ns", ops.p90_ns)
            .opt_integer("p99_ns", ops.p99_ns)
            .opt_integer("p999_ns", ops.p999_ns)
            .opt_integer("max_ns", ops.max_ns)
            .end(text, at_ns);
    }
    Point::new(&format!("{prefix}_load"), line)
        .integer("length_ns", measured.length_ns)
        .float("in_flight", Some(measured.in_flight))
        .integer("depth_asked", u64::from(measured.depth_asked))
        .integer("errors", measured.errors)
        .opt_text("tier", measured.tier.map(Tier::name))
        .end(text, at_ns);
    for device in &measured.devices {
        Point::new(&format!("{prefix}_device"), line)
            .tag("device", &device.name)
            .float("reads_per_s", Some(device.read.ops_per_s))
            .float("read_bytes_per_s", Some(device.read.bytes_per_s))
            .float("read_latency_ns", device.read.latency_ns)
            .float("writes_per_s", Some(device.write.ops_per_s))
            .float("write_bytes_per_s", Some(device.write.bytes_per_s))
            .float("write_latency_ns", device.write.latency_ns)
            .float("discard_bytes_per_s", Some(device.discard.bytes_per_s))
            .float("flushes_per_s", Some(device.flushes_per_s))
            .float("queue_depth", Some(device.queue_depth))
            .float("busy", Some(device.busy))
            .integer("in_flight", u64::from(device.in_flight))
            .end(text, at_ns);
    }
}

/// A line under construction.
struct Point {
    head: String,
    fields: String,
}

impl Point {
    fn new(measurement: &str, line: &Streamed) -> Point {
        let point = Point { head: measurement.to_owned(), fields: String::new() };
        point
            .tag("workload", &line.workload)
            .tag("place", &line.place)
            .tag("phase", line.phase.as_deref().unwrap_or_default())
            .text("run", &line.run)
    }

    /// Adds a tag. Empty values are left out, because the protocol does not allow them.
    fn tag(mut self, key: &str, value: &str) -> Point {
        if !value.is_empty() {
            let _ = write!(self.head, ",{key}={}", tag_value(value));
        }
        self
    }

    fn field(mut self, key: &str, value: &str) -> Point {
        let comma = if self.fields.is_empty() { "" } else { "," };
        let _ = write!(self.fields, "{comma}{key}={value}");
        self
    }

    /// Adds an integer, which is a signed 64-bit number.
    fn integer(self, key: &str, value: u64) -> Point {
        self.field(key, &format!("{}i", value.min(i64::MAX as u64)))
    }

    fn opt_integer(self, key: &str, value: Option<u64>) -> Point {
        match value {
            Some(value) => self.integer(key, value),
            None => self,
        }
    }

    /// Adds a float. Values that are not finite are left out, because the protocol cannot represent them.
    fn float(self, key: &str, value: Option<f64>) -> Point {
        match value.filter(|value| value.is_finite()) {
            Some(value) => self.field(key, &value.to_string()),
            None => self,
        }
    }

    fn text(self, key: &str, value: &str) -> Point {
        self.field(key, &string_value(value))
    }

    fn opt_text(self, key: &str, value: Option<&str>) -> Point {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    fn end(self, text: &mut String, at_ns: i64) {
        let _ = writeln!(text, "{} {} {at_ns}", self.head, self.fields);
    }
}

/// Escapes commas, equals signs and spaces. Control characters become `_`, as do backslashes before an escaped
/// character or at the end, because the protocol cannot represent them in a tag.
fn tag_value(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut letters = value.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ',' | '=' | ' ' => text.extend(['\\', letter]),
            '\\' if letters.peek().is_none_or(|next| matches!(next, ',' | '=' | ' ' | '\\') || next.is_control()) => {
                text.push('_');
            }
            letter if letter.is_control() => text.push('_'),
            letter => text.push(letter),
        }
    }
    text
}

/// Quotes a string, escaping double quotes and backslashes. A line break would end the line, so it becomes a space.
fn string_value(value: &str) -> String {
    let mut text = String::with_capacity(value.len() + 2);
    text.push('"');
    for letter in value.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            letter if letter.is_control() => text.push(' '),
            letter => text.push(letter),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::fixture::{finding, line, second};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A parsed line, following the rules of the protocol and independent of the printer.
    #[derive(Debug, PartialEq)]
    struct Read {
        measurement: String,
        tags: BTreeMap<String, String>,
        fields: BTreeMap<String, String>,
        at_ns: i64,
    }

    /// Splits at `by` unless it is escaped or in double quotes.
    fn split(text: &str, by: char) -> Vec<&str> {
        let (mut parts, mut begin, mut escaped, mut quoted) = (Vec::new(), 0, false, false);
        for (at, letter) in text.char_indices() {
            match letter {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => quoted = !quoted,
                letter if letter == by && !quoted => {
                    parts.push(&text[begin..at]);
                    begin = at + letter.len_utf8();
                }
                _ => {}
            }
        }
        parts.push(&text[begin..]);
        parts
    }

    /// Splits tags, in which quotes have no meaning.
    fn split_tags(text: &str, by: char) -> Vec<String> {
        let marked = text.replace('"', "\u{1}");
        split(&marked, by).into_iter().map(|part| part.replace('\u{1}', "\"")).collect()
    }

    fn unescaped(text: &str, escapable: &[char]) -> String {
        let mut out = String::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match (letter, letters.peek()) {
                ('\\', Some(next)) if escapable.contains(next) => out.extend(letters.next()),
                _ => out.push(letter),
            }
        }
        out
    }

    fn read(text: &str) -> Read {
        // Tags end at the first unescaped space; quotes have no meaning in them.
        let mut escaped = false;
        let end = text
            .char_indices()
            .find(|(_, letter)| {
                let ends = *letter == ' ' && !escaped;
                escaped = *letter == '\\' && !escaped;
                ends
            })
            .unwrap()
            .0;
        let (head, rest) = (&text[..end], &text[end + 1..]);
        let parts = split(rest, ' ');
        let [fields, at] = parts.as_slice() else { panic!("{text}: {parts:?}") };
        let mut head = split_tags(head, ',').into_iter();
        let measurement = head.next().unwrap();
        let pair = |text: &str, parts: Vec<String>| match parts.as_slice() {
            [key, value] => (key.clone(), value.clone()),
            _ => panic!("{text}"),
        };
        let tags = head.map(|tag| {
            let (key, value) = pair(&tag, split_tags(&tag, '='));
            (key, unescaped(&value, &[',', '=', ' ']))
        });
        let fields = split(fields, ',').into_iter().map(|field| {
            let (key, value) = pair(field, split(field, '=').into_iter().map(str::to_owned).collect());
            let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            (key, inner.map_or(value.clone(), |text| unescaped(text, &['"', '\\'])))
        });
        Read { measurement, tags: tags.collect(), fields: fields.collect(), at_ns: at.parse().unwrap() }
    }

    // Protects: the format that InfluxDB and Telegraf parse: integers end in `i`, floats do not, text is quoted.
    #[test]
    fn a_second_in_lines() {
        let text = lines(&second("seq-read", 100, 5000), 1_700_000_000_000_000_001);
        let all: Vec<&str> = text.lines().collect();
        assert_eq!(
            all[0],
            "plumb_ops,workload=try,place=/mnt/data,phase=seq-read,op=read run=\"018f\",count=100i,bytes=409600i,ops_per_s=100,\
             bytes_per_s=409600,mean_ns=5000,p50_ns=5000i,p90_ns=5000i,p99_ns=5000i,p999_ns=5000i,max_ns=5000i \
             1700000000000000001"
        );
        assert!(all[1].contains(",depth_asked=2i,errors=0i,tier=\"mixed\" "), "{text}");
        assert!(all[2].starts_with("plumb_device,workload=try,place=/mnt/data,phase=seq-read,device=vda "), "{text}");
        // Nothing was read from the device, and a mean of nothing is not a number.
        assert!(all[2].contains(",busy=0.5,") && !all[2].contains("latency"), "{text}");
        assert_eq!(all.len(), 3);
    }

    // Protects: a query that sums a measurement does not add a phase's totals to its seconds.
    #[test]
    fn phases_have_measurements_of_their_own() {
        let ended = Streamed { event: StreamEvent::PhaseEnds, ..second("p", 1, 1) };
        let text = lines(&ended, 1);
        let names: Vec<&str> = text.lines().map(|line| line.split(',').next().unwrap()).collect();
        assert_eq!(names, ["plumb_phase_ops", "plumb_phase_load", "plumb_phase_device", "plumb_event"]);
        assert_eq!(lines(&line(StreamEvent::RunBegins, None), 7).matches("event=run-begins").count(), 1);
    }

    proptest! {
        // Protects: every name and message is one line that parses back, except for characters
        // that the protocol cannot represent.
        #[test]
        fn written_lines_parse_back(name in any::<String>(), message in any::<String>()) {
            let mut line = finding(StreamEvent::Finding, "p", &message);
            line.place.clone_from(&name);
            let text = lines(&line, -5);
            prop_assert_eq!(text.matches('\n').count(), 1);
            let read = read(text.trim_end_matches('\n'));
            let blank = |text: &str| text.replace(char::is_control, " ");
            prop_assert_eq!(read.fields["message"].as_str(), blank(&message));
            prop_assert_eq!(read.at_ns, -5);
            prop_assert_eq!(read.fields["state"].as_str(), "found");
            let place = read.tags.get("place").cloned().unwrap_or_default();
            prop_assert_eq!(place.chars().count(), name.chars().count());
            if !name.contains('\\') {
                prop_assert_eq!(place, name.replace(char::is_control, "_"));
            }
        }

        // Protects: special characters, which random text seldom has next to each other.
        #[test]
        fn special_characters_are_escaped(name in "[a,= \\\\\"\n]{0,8}") {
            let mut line = finding(StreamEvent::Withdrawn, "p", &name);
            line.workload.clone_from(&name);
            let read = read(lines(&line, 1).trim_end_matches('\n'));
            prop_assert_eq!(read.fields["message"].as_str(), name.replace('\n', " "));
            let workload = read.tags.get("workload").cloned().unwrap_or_default();
            prop_assert_eq!(workload.chars().count(), name.chars().count());
            prop_assert_eq!(read.tags["code"].as_str(), "A1");
        }
    }
}
