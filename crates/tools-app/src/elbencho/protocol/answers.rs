//! A service's answers: facts about the paths, the status of a phase, and its result.

use super::ANSWER_BYTES_MAX;
use super::property_tree::Node;
use crate::elbencho::lower::PathType;
use crate::elbencho::print::{Both, PhaseLatencies, WorkDone};
use std::str::FromStr;

/// Limit of a result's list. A service with more threads cannot be led.
const ITEMS_MAX: usize = 65_536;

/// Error from reading a service's answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("an answer of {bytes} bytes is longer than the limit of {ANSWER_BYTES_MAX}")]
    TooLong { bytes: usize },
    #[error("the answer is not JSON: {0}")]
    NotJson(String),
    #[error("the answer has no `{0}`")]
    Missing(String),
    #[error("the answer's `{name}` is `{value}`, which is not {expected}")]
    Value { name: String, value: String, expected: &'static str },
    #[error("the answer's list `{0}` is longer than {ITEMS_MAX}")]
    LongList(String),
    #[error("the answer's histogram `{name}` counts {counted} latencies and has {listed}")]
    Histogram { name: String, counted: u64, listed: u64 },
}

struct Answer(Node);

impl Answer {
    fn parse(body: &[u8]) -> Result<Answer, AnswerError> {
        if body.len() as u64 > ANSWER_BYTES_MAX {
            return Err(AnswerError::TooLong { bytes: body.len() });
        }
        serde_json::from_slice(body).map(Answer).map_err(|error| AnswerError::NotJson(error.to_string()))
    }

    fn text(&self, name: &str) -> Result<&str, AnswerError> {
        match self.0.get(name) {
            Some(Node::Text(text)) => Ok(text),
            Some(Node::Branch(_)) => Err(AnswerError::Value {
                name: name.to_owned(),
                value: "a list".to_owned(),
                expected: "a single value",
            }),
            None => Err(AnswerError::Missing(name.to_owned())),
        }
    }

    fn number<T: FromStr>(&self, name: &str) -> Result<T, AnswerError> {
        parse(name, self.text(name)?)
    }

    fn flag(&self, name: &str) -> Result<bool, AnswerError> {
        match self.text(name)? {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            value => {
                Err(AnswerError::Value { name: name.to_owned(), value: shortened(value), expected: "true or false" })
            }
        }
    }

    /// Returns the numbers of a list; an absent list is empty.
    fn list(&self, name: &str) -> Result<Vec<u64>, AnswerError> {
        match self.0.get(name) {
            None => Ok(Vec::new()),
            Some(Node::Text(text)) if text.is_empty() => Ok(Vec::new()),
            Some(Node::Text(text)) => {
                Err(AnswerError::Value { name: name.to_owned(), value: shortened(text), expected: "a list" })
            }
            Some(Node::Branch(items)) if items.len() > ITEMS_MAX => Err(AnswerError::LongList(name.to_owned())),
            Some(Node::Branch(items)) => items
                .iter()
                .map(|(_, item)| match item {
                    Node::Text(text) => parse(name, text),
                    Node::Branch(_) => Err(AnswerError::Value {
                        name: name.to_owned(),
                        value: "a list in a list".to_owned(),
                        expected: "a list of numbers",
                    }),
                })
                .collect(),
        }
    }

    /// Returns the work done; `suffix` selects the reads of a mix, which other phases leave out.
    fn done(&self, suffix: &str) -> Result<WorkDone, AnswerError> {
        let name = |what: &str| format!("{what}{suffix}");
        if !suffix.is_empty() && self.0.get(&name("NumEntriesDone")).is_none() {
            return Ok(WorkDone::default());
        }
        Ok(WorkDone {
            entries: self.number(&name("NumEntriesDone"))?,
            ios: self.number(&name("NumIOPSDone"))?,
            bytes: self.number(&name("NumBytesDone"))?,
        })
    }

    /// Returns a histogram; an absent one, of the reads of a mix, is empty.
    fn latencies(&self, prefix: &str) -> Result<PhaseLatencies, AnswerError> {
        let name = |what: &str| format!("{prefix}{what}");
        if prefix.contains(MIXED) && self.0.get(&name("LatNumValues")).is_none() {
            return Ok(PhaseLatencies::default());
        }
        let counted: u64 = self.number(&name("LatNumValues"))?;
        let sum_us: u64 = self.number(&name("LatMicroSecTotal"))?;
        let (min_us, max_us) = (self.number(&name("LatMinMicroSec"))?, self.number(&name("LatMaxMicroSec"))?);
        let buckets = self.list(&name("LatHistoList"))?;
        let listed = buckets.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
        let latencies = PhaseLatencies::from_buckets(&buckets, sum_us, min_us, max_us);
        latencies.filter(|_| listed == counted).ok_or(AnswerError::Histogram {
            name: name("LatHistoList"),
            counted,
            listed,
        })
    }
}

/// Suffix of names that concern the reads of a mix.
const MIXED: &str = "RWMixRead";

fn parse<T: FromStr>(name: &str, text: &str) -> Result<T, AnswerError> {
    let invalid =
        || AnswerError::Value { name: name.to_owned(), value: shortened(text), expected: "a number in range" };
    text.trim().parse().map_err(|_| invalid())
}

/// Cuts a value for a message.
fn shortened(value: &str) -> String {
    const CHARACTERS_MAX: usize = 80;
    value.chars().take(CHARACTERS_MAX).collect()
}

/// A service's answer to the options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServicePrepared {
    pub path_type: PathType,
    pub paths: u64,
    pub file_bytes: u64,
    pub block_bytes: u64,
    /// Bytes at random offsets, in all threads together.
    pub random_bytes: u64,
    /// Errors in the service's own words; empty without any.
    pub errors: String,
}

impl ServicePrepared {
    /// Parses the body of an answer.
    ///
    /// # Errors
    /// It is malformed, or longer than [`ANSWER_BYTES_MAX`].
    pub fn parse(body: &[u8]) -> Result<ServicePrepared, AnswerError> {
        let answer = Answer::parse(body)?;
        let path_type = match answer.text("BenchPathType")? {
            "0" => PathType::Directory,
            "1" => PathType::File,
            "2" => PathType::Device,
            value => {
                let (name, value) = ("BenchPathType".to_owned(), shortened(value));
                return Err(AnswerError::Value { name, value, expected: "a known kind of path" });
            }
        };
        Ok(ServicePrepared {
            path_type,
            paths: answer.number("NumBenchPaths")?,
            file_bytes: answer.number("size")?,
            block_bytes: answer.number("block")?,
            random_bytes: answer.number("randamount")?,
            errors: answer.text("ErrorHistory")?.to_owned(),
        })
    }
}

/// A running phase, as a service sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceStatus {
    /// The UUID with which the phase was started.
    pub id: String,
    /// Number of threads that have finished.
    pub threads_done: u64,
    /// Number of threads that failed.
    pub threads_failed: u64,
    /// Whether the first thread with work has finished.
    pub first_is_done: bool,
    /// Work done, without the reads of a mix, which are in `mixed`.
    pub done: WorkDone,
    pub mixed: WorkDone,
    /// CPU utilization, percent.
    pub cpu: u32,
    /// Errors in the service's own words; empty without any.
    pub errors: String,
}

impl ServiceStatus {
    /// Parses the body of an answer.
    ///
    /// # Errors
    /// It is malformed, or longer than [`ANSWER_BYTES_MAX`].
    pub fn parse(body: &[u8]) -> Result<ServiceStatus, AnswerError> {
        let answer = Answer::parse(body)?;
        Ok(ServiceStatus {
            id: answer.text("BenchID")?.to_owned(),
            threads_done: answer.number("NumWorkersDone")?,
            threads_failed: answer.number("NumWorkersDoneWithError")?,
            first_is_done: answer.flag("TriggerStoneWall")?,
            done: answer.done("")?,
            mixed: answer.done(MIXED)?,
            cpu: answer.number("CPUUtil")?,
            errors: answer.text("ErrorHistory").unwrap_or_default().to_owned(),
        })
    }
}

/// A service's result of a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceResult {
    /// The UUID with which the phase was started.
    pub id: String,
    /// Number of threads that have finished.
    pub threads_done: u64,
    /// Number of threads that failed.
    pub threads_failed: u64,
    /// Work done, without the reads of a mix, which are in `mixed`.
    pub done: WorkDone,
    pub mixed: WorkDone,
    /// CPU utilization, percent.
    pub cpu: Both<u32>,
    /// Elapsed time of each thread that had work, µs.
    pub elapsed_us: Vec<u64>,
    pub entries: PhaseLatencies,
    pub entries_mixed: PhaseLatencies,
    pub ios: PhaseLatencies,
    pub ios_mixed: PhaseLatencies,
    /// Errors in the service's own words; empty without any.
    pub errors: String,
}

impl ServiceResult {
    /// Parses the body of an answer.
    ///
    /// # Errors
    /// It is malformed, or longer than [`ANSWER_BYTES_MAX`].
    pub fn parse(body: &[u8]) -> Result<ServiceResult, AnswerError> {
        let answer = Answer::parse(body)?;
        Ok(ServiceResult {
            id: answer.text("BenchID")?.to_owned(),
            threads_done: answer.number("NumWorkersDone")?,
            threads_failed: answer.number("NumWorkersDoneWithError")?,
            done: answer.done("")?,
            mixed: answer.done(MIXED)?,
            cpu: Both { first: answer.number("CPUUtilStoneWall")?, last: answer.number("CPUUtil")? },
            elapsed_us: answer.list("ElapsedUSecList")?,
            entries: answer.latencies("Entries_")?,
            entries_mixed: answer.latencies("EntriesRWMixRead_")?,
            ios: answer.latencies("IOPS_")?,
            ios_mixed: answer.latencies("IOPSRWMixRead_")?,
            errors: answer.text("ErrorHistory")?.to_owned(),
        })
    }
}
