//! Parses arguments into settings.

use super::parse::seconds;

/// The request of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Help,
    Run(VdbenchSettings),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VdbenchSettings {
    /// Path of the parameter file; `-` for standard input.
    pub file: String,
    /// Directory of `summary.html` and `flatfile.html`; `None` writes neither.
    pub output: Option<String>,
    /// Measured time of each run, seconds. It overrides the file.
    pub elapsed_s: Option<u64>,
    /// Length of an interval, seconds.
    pub interval_s: Option<u64>,
    /// Warm-up before each run, seconds.
    pub warmup_s: Option<u64>,
    /// Print the runs without executing them.
    pub simulates: bool,
}

/// Error in a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// The option does not exist.
    #[error("unknown option `{0}`")]
    Unknown(String),
    /// An option has no value.
    #[error("-{0} needs a value")]
    NoValue(char),
    /// The value of an option is not a time.
    #[error("-{0} {1}: a time such as 90, 30m or 2h expected")]
    NotSeconds(char, String),
    #[error("no parameter file; give one by -f FILE")]
    NoFile,
}

/// Returns the page of `-h`.
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

/// Parses the arguments after `vdbench`.
///
/// # Errors
/// The first invalid argument.
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
