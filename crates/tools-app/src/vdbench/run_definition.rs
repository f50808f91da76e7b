//! Run definitions, and their loops.

use super::file_systems::operation;
use super::operation::OPERATIONS;
use super::parse::{Parameter, is_key, size};
use super::script::{Rate, Run};
use super::usage_error::{Placed, Reason};
use super::values::THREADS_MAX;

/// A run definition, before its loops are expanded.
pub(super) struct RunDefinition {
    pub(super) run: Run,
    pub(super) line: usize,
    pub(super) works: Vec<String>,
    pub(super) file_works: Vec<String>,
    /// Storage or file systems, which override those of the workload definitions.
    pub(super) storage: Vec<String>,
    pub(super) rates: Vec<Rate>,
    pub(super) loops: Vec<(Loop, Vec<u64>)>,
}

/// The parameter that a loop changes from run to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loop {
    Threads,
    Transfers,
    Reads,
    Random,
    Depth,
    Width,
    Files,
    Sizes,
    Operations,
}

impl Loop {
    pub(super) fn name(self) -> &'static str {
        match self {
            Loop::Threads => "threads",
            Loop::Transfers => "xfersize",
            Loop::Reads => "rdpct",
            Loop::Random => "seekpct",
            Loop::Depth => "depth",
            Loop::Width => "width",
            Loop::Files => "files",
            Loop::Sizes => "sizes",
            Loop::Operations => "operations",
        }
    }
}

/// Returns `true` for keywords that workload definitions also have, and that start a loop in a run definition.
pub(super) fn is_loop(key: &str) -> bool {
    /// `loop_of` rejects the last of them as unsupported.
    const WORDS: [&str; 16] = [
        "xfersizes",
        "threads",
        "rdpct",
        "rhpct",
        "whpct",
        "seekpct",
        "hitarea",
        "compratio",
        "depth",
        "width",
        "files",
        "sizes",
        "operations",
        "totalsize",
        "wss",
        "workingsetsize",
    ];
    is_key(key, &WORDS)
}

/// Parses a value of a loop.
type ReadValue = fn(&str) -> Option<u64>;

/// Returns the loop of a parameter in a run definition, and the parser of its values.
pub(super) fn loop_of(parameter: &Parameter) -> Result<(Loop, ReadValue), Reason> {
    let loops: [(&[&str], Loop, ReadValue); 9] = [
        (&["threads"], Loop::Threads, size),
        (&["xfersizes"], Loop::Transfers, size),
        (&["rdpct", "readpct"], Loop::Reads, size),
        (&["seekpct"], Loop::Random, size),
        (&["depth"], Loop::Depth, size),
        (&["width"], Loop::Width, size),
        (&["files"], Loop::Files, size),
        (&["sizes"], Loop::Sizes, size),
        (&["operations"], Loop::Operations, |text| operation(text).ok()),
    ];
    let key = parameter.key.strip_prefix("for").unwrap_or(&parameter.key);
    let found = loops.into_iter().find(|(full, ..)| key.len() > 1 && full.iter().any(|full| full.starts_with(key)));
    let (_, what, read) = found.ok_or_else(|| Reason::Key {
        key: parameter.key.clone(),
        definition: "run definition",
        way_out: "use forthreads, forxfersize, forrdpct or forseekpct, or for files fordepth, forwidth, forfiles, forsizes or \
                  foroperations",
    })?;
    if what == Loop::Operations {
        // An error that names the unknown operation is more helpful than one about the list.
        parameter.values.iter().try_for_each(|text| operation(text).map(|_| ()))?;
    }
    Ok((what, read))
}

impl Loop {
    /// Returns the smallest and the largest value.
    pub(super) fn limits(self) -> (u64, u64) {
        match self {
            Loop::Threads => (1, THREADS_MAX),
            Loop::Transfers => (1, 1 << 30),
            Loop::Reads | Loop::Random => (0, 100),
            Loop::Depth | Loop::Width | Loop::Files => (1, 1 << 32),
            Loop::Sizes => (1, 1 << 50),
            Loop::Operations => (0, OPERATIONS.len() as u64),
        }
    }
}

impl RunDefinition {
    /// Returns the name for messages.
    pub(super) fn name(&self) -> String {
        format!("rd={}", self.run.name)
    }

    pub(super) fn uses_none(&self, what: &'static str, key: &'static str) -> Placed {
        (self.line, Reason::UsesNone { definition: self.name(), what, key })
    }

    pub(super) fn skews(&self, sum: f64) -> Placed {
        (self.line, Reason::Skews { definition: self.name(), sum: sum.to_string() })
    }

    pub(super) fn together(&self, found: &'static str, way_out: &'static str) -> Placed {
        (self.line, Reason::together(self.name(), found, way_out))
    }
}
