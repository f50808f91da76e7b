//! Errors and warnings, each with the place in the job file or on the command line.

use crate::fio::value::{Doubt, ValueError};
use std::fmt;
use std::sync::Arc;

/// A place in a job file or on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordLocation {
    /// In a file.
    File {
        /// Its path as it was given; `-` is standard input.
        path: Arc<str>,
        /// The line, from 1.
        line: u32,
    },
    /// On the command line.
    CommandLine {
        /// The word, from 1.
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

/// Why jobs cannot be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FioError {
    /// There is no such option.
    #[error("{place}: unknown fio option `{name}`{}", .nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownOption {
        /// Where.
        place: WordLocation,
        /// As given.
        name: String,
        /// The closest match.
        nearest: Option<&'static str>,
    },
    /// An abbreviated name matches several options.
    #[error("{place}: `{name}` is ambiguous: {}; write the name in full", .candidates.join(", "))]
    Ambiguous {
        /// Where.
        place: WordLocation,
        /// As given.
        name: String,
        /// The options it may be.
        candidates: Vec<&'static str>,
    },
    /// The option belongs to other engines.
    #[error("{place}: the engine {engine} has no option `{option}`; it belongs to {}; set `ioengine` or remove it", .engines.join(", "))]
    OtherEngine {
        /// Where.
        place: WordLocation,
        /// The option.
        option: &'static str,
        /// The job's engine.
        engine: String,
        /// The engines that have it.
        engines: &'static [&'static str],
    },
    /// The value cannot be taken.
    #[error("{place}: {option}={text}: {reason}; it takes {wants}")]
    BadValue {
        /// Where.
        place: WordLocation,
        /// The option.
        option: &'static str,
        /// As given.
        text: String,
        /// Why.
        reason: ValueError,
        /// What kind of value the option takes.
        wants: &'static str,
    },
    /// The option is known, but not supported for now.
    #[error("{place}: `{option}` is not supported yet: {why}")]
    OptionNotYet {
        /// Where.
        place: WordLocation,
        /// The option.
        option: String,
        /// The reason.
        why: &'static str,
    },
    /// The option is known, and will not be supported.
    #[error("{place}: `{option}` is not supported, because {why}")]
    OptionNever {
        /// Where.
        place: WordLocation,
        /// The option.
        option: String,
        /// The reason.
        why: &'static str,
    },
    /// There is no such engine.
    #[error("{place}: unknown fio engine `{engine}`{}", .nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownEngine {
        /// Where.
        place: WordLocation,
        /// As given.
        engine: String,
        /// The closest match.
        nearest: Option<&'static str>,
    },
    /// An option of a file comes before any section.
    #[error("{place}: `{text}` comes before any section; add [global] or a job name in brackets above it")]
    BeforeSection {
        /// Where.
        place: WordLocation,
        /// The line.
        text: String,
    },
    /// A section's name has no end.
    #[error("{place}: `{text}` has no closing bracket")]
    OpenSection {
        /// Where.
        place: WordLocation,
        /// The line.
        text: String,
    },
    /// An included file opens a section.
    #[error("{place}: an included file cannot open a section; include it inside one and remove {text}")]
    SectionInInclude {
        /// Where.
        place: WordLocation,
        /// The line.
        text: String,
    },
    /// Files include each other too deeply.
    #[error("{place}: includes are nested more than {most} deep")]
    IncludeTooDeep {
        /// Where.
        place: WordLocation,
        /// Maximum depth.
        most: usize,
    },
    /// A line is too long.
    #[error("{place}: the line is longer than {most} bytes, where fio would truncate it; split it")]
    LineTooLong {
        /// Where.
        place: WordLocation,
        /// Maximum length.
        most: usize,
    },
    /// A file cannot be read.
    #[error("{}cannot read {path}: {reason}", .place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default())]
    Unreadable {
        /// Where it is named, unless on the command line.
        place: Option<WordLocation>,
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// An option of the command line needs a value.
    #[error("{place}: `--{option}` needs a value")]
    NoValue {
        /// Where.
        place: WordLocation,
        /// The option.
        option: String,
    },
    /// An option of the command line takes no value.
    #[error("{place}: `--{option}` takes no value")]
    UnwantedValue {
        /// Where.
        place: WordLocation,
        /// The option.
        option: String,
    },
    /// The value of an option of the command line cannot be taken.
    #[error("{place}: --{option}={text}: {reason}")]
    BadWord {
        /// Where.
        place: WordLocation,
        /// The option.
        option: &'static str,
        /// As given.
        text: String,
        /// Why.
        reason: String,
    },
    /// A requested section does not exist.
    #[error("unknown section [{name}]")]
    NoSection {
        /// As given.
        name: String,
    },
}

/// All errors, in the order of the input.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct FioErrors(pub Vec<FioError>);

/// Doubtful input that does not stop a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// fio reads the value differently from what was meant.
    Misread {
        /// Where.
        place: WordLocation,
        /// The option.
        option: &'static str,
        /// The two readings.
        doubt: Doubt,
    },
    /// A `;` or `#` inside a value ends it, as everywhere in a line.
    CutByComment {
        /// Where.
        place: WordLocation,
        /// What is left.
        kept: String,
        /// What is lost.
        lost: String,
    },
    /// The option is accepted without effect, which is hardly what was meant.
    DoesNothing {
        /// Where.
        place: WordLocation,
        /// The option.
        option: &'static str,
        /// The reason.
        why: &'static str,
    },
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
