//! A run that a file describes, and its conversion to a result.

use crate::{ForeignFile, RAW_BYTES_MAX};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use plumb_result::imported::{RawEncoding, RawText, TimeSource};
use plumb_result::metric::{Better, Metric, Quantity, Stat, Subject};
use plumb_result::observe::TargetFacts;
use plumb_result::run::{OpsDone, RESULT_SCHEMA, TierName};
use plumb_result::{Imported, ImportedNumber, MetricValue, PhaseResult, RunResult, RunVerdict};
use plumb_workload::{OpKind, Workload};
use std::collections::{BTreeMap, BTreeSet};

/// Longest name or setting, characters; longer ones are cut.
const TEXT_MAX: usize = 400;

/// Longest command, characters; longer ones are cut.
const COMMAND_MAX: usize = 4000;

/// A run as a file describes it.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// Format of the file, such as `JSON`.
    pub(crate) form: String,
    pub(crate) version: String,
    pub(crate) command: Option<String>,
    pub(crate) at: Option<Timestamp>,
    pub(crate) host: Option<String>,
    /// Paths under test.
    pub(crate) paths: BTreeSet<String>,
    pub(crate) settings: BTreeMap<String, String>,
    pub(crate) notes: Vec<String>,
    pub(crate) phases: Vec<PhaseRead>,
    /// Failure that the tool itself reports.
    pub(crate) error: Option<String>,
    /// Whether the bytes went over a network and not to storage.
    pub(crate) is_network: bool,
}

/// A phase as a file describes it.
#[derive(Debug, Default)]
pub(crate) struct PhaseRead {
    pub(crate) name: String,
    pub(crate) wall_ns: Option<f64>,
    metrics: BTreeMap<Metric, Option<f64>>,
    done: BTreeMap<OpKind, OpsDone>,
    numbers: Vec<ImportedNumber>,
}

impl Run {
    pub(crate) fn new(form: impl Into<String>) -> Run {
        Run { form: form.into(), ..Run::default() }
    }

    pub(crate) fn phase(&mut self, name: impl Into<String>) -> &mut PhaseRead {
        self.phases.push(PhaseRead { name: name.into(), ..PhaseRead::default() });
        self.phases.last_mut().expect("it was just added")
    }

    /// Returns the phase with this name; adds it if it does not exist.
    pub(crate) fn phase_named(&mut self, name: &str) -> &mut PhaseRead {
        match self.phases.iter().position(|phase| phase.name == name) {
            Some(at) => &mut self.phases[at],
            None => self.phase(name),
        }
    }

    /// Records a setting if the file has it.
    pub(crate) fn set(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value.map(|value| value.to_string()).filter(|value| !value.is_empty()) {
            self.settings.insert(name.to_owned(), value);
        }
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Counts the numbers.
    pub(crate) fn size(&self) -> usize {
        self.phases.iter().map(PhaseRead::size).sum()
    }

    /// Converts the run to a result. Its id depends on its time and on the file's content, so that repeated imports
    /// of a file give one result.
    pub(crate) fn result(self, tool: &str, number: usize, file: &ForeignFile<'_>) -> RunResult {
        let time = if self.at.is_some() { TimeSource::Tool } else { TimeSource::File };
        let at = self.at.unwrap_or(file.changed_at);
        let tier = if self.is_network { None } else { Some(TierName::Unknown) };
        let mut numbers = Vec::new();
        let mut phases: Vec<PhaseResult> = Vec::new();
        let mut names: BTreeMap<String, u32> = BTreeMap::new();
        for phase in self.phases {
            let mut name = clean(&phase.name);
            let count = names.entry(name.clone()).or_default();
            *count += 1;
            if *count > 1 {
                name = format!("{name} ({count})");
            }
            numbers.extend(phase.numbers.into_iter().map(|number| ImportedNumber { phase: name.clone(), ..number }));
            phases.push(PhaseResult {
                name,
                wall_ns: phase.wall_ns.filter(|ns| ns.is_finite() && *ns > 0.0).map_or(0, |ns| ns.round() as u64),
                metrics: BTreeMap::from_iter(
                    phase.metrics.into_iter().map(|(metric, value)| (metric, build_value(metric, value, tier))),
                ),
                done: phase.done,
                steps: Vec::new(),
                replay: None,
                fidelity: Vec::new(),
                network: Vec::new(),
                first_done: None,
                notes: Vec::new(),
                caches: None,
                limiter: None,
                ranks: None,
            });
        }
        let raw = raw(file.bytes);
        let target = self
            .paths
            .iter()
            .map(|path| clean(path))
            .map(|path| (path.clone(), TargetFacts { path, ..TargetFacts::default() }));
        let hostname = self.host.as_deref().map(clean).unwrap_or_default();
        let environment = plumb_result::observe::Environment { hostname, ..Default::default() };
        let imported = Imported {
            form: self.form,
            file: if file.name == "-" {
                String::new()
            } else {
                clean(file.name.rsplit('/').next().unwrap_or_default())
            },
            command: self.command.filter(|command| !command.trim().is_empty()).map(|one| cut(&one, COMMAND_MAX)),
            time,
            settings: BTreeMap::from_iter(self.settings.iter().map(|(name, value)| (clean(name), clean(value)))),
            numbers,
            notes: self.notes.iter().map(|note| clean(note)).collect(),
            raw,
        };
        RunResult {
            schema: RESULT_SCHEMA.to_owned(),
            id: id(tool, number, at, &imported.raw.blake3),
            started_at: at.to_string(),
            tool: plumb_result::Tool { name: tool.to_owned(), version: clean(&self.version) },
            workload: Workload {
                name: tool.to_owned(),
                description: String::new(),
                seed: 0,
                target: BTreeMap::new(),
                phase: Vec::new(),
                repeat: None,
            },
            environment,
            target: BTreeMap::from_iter(target),
            verdict: RunVerdict::Unknown,
            partial: self.error.is_some(),
            error: self.error.as_deref().map(clean),
            checks: Vec::new(),
            phases,
            ranks: None,
            imported: Some(Box::new(imported)),
            gated: None,
            under_load: None,
        }
    }
}

impl PhaseRead {
    pub(crate) fn size(&self) -> usize {
        self.metrics.len() + self.numbers.len()
    }

    /// Extends the phase to this duration if it is longer.
    pub(crate) fn extend_to(&mut self, ns: Option<f64>) {
        if let Some(ns) = ns {
            self.wall_ns = Some(self.wall_ns.map_or(ns, |known| known.max(ns)));
        }
    }

    /// Adds a metric. Negative and non-finite values count as not measured.
    pub(crate) fn metric(&mut self, metric: Metric, value: Option<f64>) {
        self.metrics.insert(metric, value.filter(|value| value.is_finite() && *value >= 0.0));
    }

    /// Adds a metric if the file has its number.
    pub(crate) fn metric_if(&mut self, metric: Metric, value: Option<f64>) {
        if value.is_some() {
            self.metric(metric, value);
        }
    }

    /// Adds bytes per second.
    pub(crate) fn bandwidth(&mut self, kind: OpKind, value: Option<f64>) {
        self.metric_if(Metric::bandwidth(kind), value);
    }

    /// Adds ops per second.
    pub(crate) fn rate(&mut self, kind: OpKind, value: Option<f64>) {
        self.metric_if(Metric::rate(kind), value);
    }

    /// Adds transactions per second.
    pub(crate) fn transactions(&mut self, value: Option<f64>) {
        self.metric_if(Metric { subject: Subject::Transaction, quantity: Quantity::Rate }, value);
    }

    /// Adds a latency, ns.
    pub(crate) fn latency(&mut self, kind: OpKind, stat: Stat, value_ns: Option<f64>) {
        self.metric_if(Metric::latency(kind, stat), value_ns);
    }

    pub(crate) fn has_latency(&self, kind: OpKind, stat: Stat) -> bool {
        self.metrics.contains_key(&Metric::latency(kind, stat))
    }

    /// Adds counts of ops and bytes.
    pub(crate) fn done(&mut self, kind: OpKind, ops: Option<f64>, bytes: Option<f64>) {
        // Beyond this, an `f64` no longer holds every integer.
        let count = |value: f64| (0.0..9e15).contains(&value).then_some(value as u64);
        if let (Some(ops), Some(bytes)) = (ops.and_then(count), bytes.and_then(count)) {
            self.done.insert(kind, OpsDone { ops, bytes });
        }
    }

    /// Adds a number without a metric if the file has it.
    pub(crate) fn number(&mut self, name: &str, value: Option<f64>, unit: &str, better: Option<Better>) {
        if value.is_some() {
            self.number_or_null(name, value, unit, better);
        }
    }

    /// Adds a number without a metric, even if it was not measured.
    pub(crate) fn number_or_null(&mut self, name: &str, value: Option<f64>, unit: &str, better: Option<Better>) {
        let value = value.filter(|value| value.is_finite());
        let number = ImportedNumber { phase: String::new(), name: clean(name), value, unit: clean(unit), better };
        self.numbers.push(number);
    }

    /// Adds a number that is better if higher.
    pub(crate) fn more(&mut self, name: &str, value: Option<f64>, unit: &str) {
        self.number(name, value, unit, Some(Better::Higher));
    }

    /// Adds a number that is better if lower.
    pub(crate) fn less(&mut self, name: &str, value: Option<f64>, unit: &str) {
        self.number(name, value, unit, Some(Better::Lower));
    }

    /// Adds a number without a direction.
    pub(crate) fn plain(&mut self, name: &str, value: Option<f64>, unit: &str) {
        self.number(name, value, unit, None);
    }
}

fn build_value(metric: Metric, value: Option<f64>, tier: Option<TierName>) -> MetricValue {
    let moves_bytes = match (metric.subject, metric.quantity) {
        (Subject::Op(kind), Quantity::Bandwidth | Quantity::Rate) => kind.moves_bytes(),
        _ => false,
    };
    MetricValue { value, unit: metric.unit(), tier: tier.filter(|_| moves_bytes), device_share: None }
}

/// Makes a text from a file safe to print and store: escapes control characters and those that change the writing
/// direction, and cuts it at [`TEXT_MAX`].
pub(crate) fn clean(text: &str) -> String {
    cut(text.trim(), TEXT_MAX)
}

fn cut(text: &str, longest: usize) -> String {
    let is_dangerous = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let mut cleaned = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count >= longest {
            cleaned.push('…');
            break;
        }
        match letter {
            '\t' => cleaned.push(' '),
            letter if is_dangerous(letter) => cleaned.extend(letter.escape_unicode()),
            letter => cleaned.push(letter),
        }
    }
    cleaned
}

/// Returns the whole file, or its beginning if it is long.
fn raw(bytes: &[u8]) -> RawText {
    let kept = &bytes[..bytes.len().min(RAW_BYTES_MAX)];
    // Drops a character that the limit cuts in two.
    let whole = match std::str::from_utf8(kept) {
        Err(error) if error.error_len().is_none() && kept.len() < bytes.len() => &kept[..error.valid_up_to()],
        _ => kept,
    };
    let is_text = |text: &str| !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    let (encoding, text, kept) = match std::str::from_utf8(whole) {
        Ok(text) if is_text(text) => (RawEncoding::Text, text.to_owned(), whole.len()),
        _ => (RawEncoding::Base64, STANDARD.encode(kept), kept.len()),
    };
    RawText {
        encoding,
        text,
        bytes: bytes.len() as u64,
        blake3: blake3::hash(bytes).to_hex().to_string(),
        kept_bytes: (kept < bytes.len()).then_some(kept as u64),
    }
}

/// Returns a UUIDv7 whose random part is a hash, so that the same run of the same file always has the same id. Runs of
/// a file with equal times are spread a millisecond apart, so that their short ids differ.
fn id(tool: &str, number: usize, at: Timestamp, content: &str) -> String {
    let hash = blake3::hash(format!("plumb import\n{tool}\n{number}\n{}\n{content}", at.as_nanosecond()).as_bytes());
    let random = hash.as_bytes();
    let millis = (at.as_millisecond().max(0) as u64).saturating_add(number as u64).min((1 << 48) - 1);
    let a = u16::from_be_bytes([random[0], random[1]]) & 0x0fff;
    let b = u16::from_be_bytes([random[2], random[3]]) & 0x3fff | 0x8000;
    let c = random[4..10].iter().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
    format!("{:08x}-{:04x}-7{a:03x}-{b:04x}-{c:012x}", millis >> 16, millis & 0xffff)
}
