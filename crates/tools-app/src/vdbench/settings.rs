//! From words to settings.

use super::parse::seconds;

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The help.
    Help,
    /// A run.
    Run(VdbenchSettings),
}

/// A command line, understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VdbenchSettings {
    /// The parameter file; `-` is standard input.
    pub file: String,
    /// Where `summary.html` and `flatfile.html` go; nowhere when absent.
    pub output: Option<String>,
    /// Seconds of each run, whatever the file says.
    pub elapsed_s: Option<u64>,
    /// Seconds of an interval.
    pub interval_s: Option<u64>,
    /// Seconds before each run.
    pub warmup_s: Option<u64>,
    /// Only print what would be run.
    pub simulates: bool,
}

/// Why a command line cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// No option of vdbench.
    #[error("unknown option `{0}`")]
    Unknown(String),
    /// An option without its value.
    #[error("-{0} lacks its value")]
    NoValue(char),
    /// An option, and what is no number of seconds.
    #[error("-{0} {1}: a time such as 90, 30m or 2h expected")]
    NotSeconds(char, String),
    /// `-f` is missing.
    #[error("no parameter file; give one by -f FILE")]
    NoFile,
}

/// What `-h` prints.
pub fn help() -> String {
    "Usage: vdbench -f FILE [options]\n\
     \x20 -f FILE     parameter file; - is standard input\n\
     \x20 -o DIR      also write DIR/summary.html and DIR/flatfile.html\n\
     \x20 -e SECONDS  elapsed time of each run\n\
     \x20 -i SECONDS  length of an interval\n\
     \x20 -w SECONDS  warm-up of each run\n\
     \x20 -s          only print what would be run\n\
     \x20 -h          print this\n"
        .to_owned()
}

/// Reads the words behind `vdbench`.
///
/// # Errors
/// The first word that is wrong.
pub fn read(words: &[String]) -> Result<Action, Misuse> {
    let mut settings = VdbenchSettings::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let letter = word.strip_prefix('-').and_then(|short| short.chars().next());
        let Some(letter) = letter.filter(|letter| "foeiwsh".contains(*letter)) else {
            return Err(Misuse::Unknown(word.clone()));
        };
        match letter {
            's' if word == "-s" => settings.simulates = true,
            'h' if word == "-h" => return Ok(Action::Help),
            's' | 'h' => return Err(Misuse::Unknown(word.clone())),
            _ => {
                let joined = &word[2..];
                let value = if joined.is_empty() { rest.next().map(String::as_str) } else { Some(joined) };
                let value = value.ok_or(Misuse::NoValue(letter))?;
                let seconds = || seconds(value).ok_or_else(|| Misuse::NotSeconds(letter, value.to_owned()));
                match letter {
                    'f' => settings.file = value.to_owned(),
                    'o' => settings.output = Some(value.to_owned()),
                    'e' => settings.elapsed_s = Some(seconds()?.max(1)),
                    'i' => settings.interval_s = Some(seconds()?.max(1)),
                    _ => settings.warmup_s = Some(seconds()?),
                }
            }
        }
    }
    if settings.file.is_empty() {
        return Err(Misuse::NoFile);
    }
    Ok(Action::Run(settings))
}
