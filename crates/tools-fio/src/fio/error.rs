//! Errors and warnings, each with the place in the job file or on the command line.

use crate::fio::value::{Doubt, ValueError};
use std::fmt;
use std::sync::Arc;

/// A place in a job file or on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordLocation {
    File {
        /// Path as the user gave it; `-` is standard input.
        path: Arc<str>,
        /// Line number, from 1.
        line: u32,
    },
    CommandLine {
        /// Word number, from 1.
        word: u32,
    },
}

impl fmt::Display for WordLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WordLocation::File { path, line } => write!(f, "{path}:{line}"),
            WordLocation::CommandLine { word } => write!(f, "command line, word {word}"),
        }
    }
}

/// An error in a job file or on the command line.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FioError {
    #[error("{place}: unknown fio option `{name}`{}", .nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownOption { place: WordLocation, name: String, nearest: Option<&'static str> },
    /// An abbreviated name matches several options.
    #[error("{place}: `{name}` is ambiguous: {}; write the name in full", .candidates.join(", "))]
    Ambiguous {
        place: WordLocation,
        name: String,
        /// The options that the abbreviation matches.
        candidates: Vec<&'static str>,
    },
    /// The option belongs to other engines.
    #[error("{place}: the engine {engine} has no option `{option}`; it belongs to {}; set `ioengine` or remove it", .engines.join(", "))]
    OtherEngine {
        place: WordLocation,
        option: &'static str,
        engine: String,
        /// The engines that have this option.
        engines: &'static [&'static str],
    },
    #[error("{place}: {option}={text}: {reason}; it takes {wants}")]
    BadValue {
        place: WordLocation,
        option: &'static str,
        text: String,
        reason: ValueError,
        /// Description of the values that the option takes.
        wants: &'static str,
    },
    /// A known option that is not supported yet.
    #[error("{place}: `{option}` is not supported yet: {why}")]
    OptionNotYet { place: WordLocation, option: String, why: &'static str },
    /// A known option that will not be supported.
    #[error("{place}: `{option}` is not supported, because {why}")]
    OptionNever { place: WordLocation, option: String, why: &'static str },
    #[error("{place}: unknown fio engine `{engine}`{}", .nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownEngine { place: WordLocation, engine: String, nearest: Option<&'static str> },
    /// A job file gives an option before its first section.
    #[error("{place}: `{text}` comes before any section; add [global] or a job name in brackets above it")]
    BeforeSection { place: WordLocation, text: String },
    /// A section name lacks its closing bracket.
    #[error("{place}: `{text}` has no closing bracket")]
    OpenSection { place: WordLocation, text: String },
    /// An included file opens a section.
    #[error("{place}: an included file cannot open a section; include it inside one and remove {text}")]
    SectionInInclude { place: WordLocation, text: String },
    /// Includes are nested too deeply.
    #[error("{place}: includes are nested more than {most} deep")]
    IncludeTooDeep { place: WordLocation, most: usize },
    /// A line is too long.
    #[error("{place}: the line is longer than {most} bytes, where fio would truncate it; split it")]
    LineTooLong { place: WordLocation, most: usize },
    /// A file cannot be read.
    #[error("{}cannot read {path}: {reason}", .place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default())]
    Unreadable {
        /// Place of the `include`; `None` for a file named on the command line.
        place: Option<WordLocation>,
        path: String,
        reason: String,
    },
    /// A command-line option lacks its value.
    #[error("{place}: `--{option}` needs a value")]
    NoValue { place: WordLocation, option: String },
    /// A command-line option was given a value that it does not take.
    #[error("{place}: `--{option}` takes no value")]
    UnwantedValue { place: WordLocation, option: String },
    /// A command-line option has an invalid value.
    #[error("{place}: --{option}={text}: {reason}")]
    BadWord { place: WordLocation, option: &'static str, text: String, reason: String },
    /// A requested section does not exist.
    #[error("unknown section [{name}]")]
    NoSection { name: String },
}

/// All errors, in the order of the input.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct FioErrors(pub Vec<FioError>);

/// Doubtful input that does not stop a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// fio reads the value differently from its obvious meaning.
    Misread { place: WordLocation, option: &'static str, doubt: Doubt },
    /// A `;` or `#` inside a value starts a comment, as anywhere else in a line.
    CutByComment { place: WordLocation, kept: String, lost: String },
    /// The option is accepted but has no effect, which the user probably does not expect.
    DoesNothing { place: WordLocation, option: &'static str, why: &'static str },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Misread { place, option, doubt: Doubt { written, here, fio } } => {
                write!(f, "{place}: {option}: `{written}` is read as {here}; fio {fio}")
            }
            Warning::DoesNothing { place, option, why } => {
                write!(f, "{place}: `{option}` is ignored: {}", why.trim_end_matches('.'))
            }
            Warning::CutByComment { place, kept, lost } => {
                write!(f, "{place}: the value `{kept}` ends at the comment character; `{lost}` is ignored, as in fio")
            }
        }
    }
}
