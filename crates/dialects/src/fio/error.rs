//! What is wrong, and what is doubtful, each with the place where it was said.

use crate::fio::value::{Doubt, ValueError};
use std::fmt;
use std::sync::Arc;

/// Where something was said.
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
    #[error("{place}: `{name}` is no option of fio{}", .nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownOption {
        /// Where.
        place: WordLocation,
        /// What was said.
        name: String,
        /// The option most like it.
        nearest: Option<&'static str>,
    },
    /// The beginning of a name fits several options.
    #[error("{place}: `{name}` may be {}; write the name out", .candidates.join(", "))]
    Ambiguous {
        /// Where.
        place: WordLocation,
        /// What was said.
        name: String,
        /// The options it may be.
        candidates: Vec<&'static str>,
    },
    /// The option belongs to other engines.
    #[error("{place}: `{option}` is no option of the engine {engine}, but of {}; set `ioengine` or leave it out", .engines.join(", "))]
    OtherEngine {
        /// Where.
        place: WordLocation,
        /// The option.
        option: &'static str,
        /// The job's engine.
        engine: String,
        /// The engines that know it.
        engines: &'static [&'static str],
    },
    /// The value cannot be taken.
    #[error("{place}: {option}={text}: {reason}; it takes {wants}")]
    BadValue {
        /// Where.
        place: WordLocation,
        /// The option.
        option: &'static str,
        /// What was said.
        text: String,
        /// What is wrong with it.
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
    #[error("{place}: `{engine}` is no engine of fio{}", .nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownEngine {
        /// Where.
        place: WordLocation,
        /// What was said.
        engine: String,
        /// The engine most like it.
        nearest: Option<&'static str>,
    },
    /// An option of a file stands before any section.
    #[error("{place}: `{text}` stands before any section; put [global] or a job's name in brackets above it")]
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
    #[error("{place}: an included file may not open a section; include it inside one, and leave out {text}")]
    SectionInInclude {
        /// Where.
        place: WordLocation,
        /// The line.
        text: String,
    },
    /// Files include one another too deeply.
    #[error("{place}: files include one another more than {most} deep")]
    IncludeTooDeep {
        /// Where.
        place: WordLocation,
        /// So deep is allowed.
        most: usize,
    },
    /// A line is too long.
    #[error("{place}: the line is longer than {most} bytes, which fio would cut; split it")]
    LineTooLong {
        /// Where.
        place: WordLocation,
        /// So long is allowed.
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
        /// What was said.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A section that was asked for is not there.
    #[error("there is no section [{name}]")]
    NoSection {
        /// What was asked for.
        name: String,
    },
}

/// Everything that is wrong, in the order in which it was said.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct FioErrors(pub Vec<FioError>);

/// What is doubtful, but does not stop a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// fio reads the value otherwise than it was meant.
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
    /// The option is taken and does nothing, which is hardly what was meant.
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
                write!(f, "{place}: {option}: `{written}` is taken for {here}; fio {fio}")
            }
            Warning::DoesNothing { place, option, why } => {
                write!(f, "{place}: `{option}` is ignored: {}", why.trim_end_matches('.'))
            }
            Warning::CutByComment { place, kept, lost } => {
                write!(f, "{place}: `{kept}` ends where a comment begins; `{lost}` is ignored, as fio does")
            }
        }
    }
}
