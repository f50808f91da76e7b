//! Parses arguments into settings.

/// The request of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Help,
    /// List the built-in access specifications.
    List,
    Run(IometerSettings),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IometerSettings {
    /// Path of the configuration file.
    pub config: String,
    /// File to which results are appended; `None` for standard output.
    pub results: Option<String>,
}

/// Error in a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// The switch does not exist.
    #[error("unknown switch `{0}`")]
    Unknown(String),
    /// A switch has no value.
    #[error("/{0} needs a value")]
    NoValue(char),
    /// A switch is given twice.
    #[error("/{0} is given twice")]
    Twice(char),
    /// The value of a switch is not a number.
    #[error("/{0} {1}: a number expected")]
    NotANumber(char, String),
    /// There are too many parameters, or one follows switches.
    #[error("unexpected parameter `{0}`")]
    TooMany(String),
    /// No configuration file is given.
    #[error("no configuration file; give one by /c FILE")]
    NoConfig,
}

/// Returns the page of `/?`.
pub fn help() -> String {
    "Usage: iometer /c FILE [/r FILE]\n\
     \x20      iometer FILE [FILE]\n\
     \x20 /c FILE  configuration file (.icf)\n\
     \x20 /r FILE  file for results (.csv), which are appended; standard output without it\n\
     \x20 /l       print the built-in access specifications (not in IOMeter)\n\
     \x20 /?       print this\n\
     /t, /p and /m are accepted without effect: there are no Dynamos to wait for. Switches may begin with - as well.\n"
        .to_owned()
}

/// Returns the letter of a switch. IOMeter would reject a word of several letters; here it is a path.
fn switch(word: &str) -> Option<char> {
    let mut letters = word.strip_prefix(['/', '-'])?.chars();
    let letter = letters.next()?;
    letters.next().is_none().then(|| letter.to_ascii_lowercase())
}

/// Parses the arguments after `iometer`.
///
/// # Errors
/// The first invalid argument.
pub fn read(words: &[String]) -> Result<Action, Misuse> {
    let mut found = [None, None, None, None, None];
    let mut place = |number: usize, letter: char, value: &str| {
        let number_is_wrong = number > 1 && value.parse::<u32>().is_err();
        if number_is_wrong {
            return Err(Misuse::NotANumber(letter, value.to_owned()));
        }
        match found[number].replace(value.to_owned()) {
            Some(_) => Err(Misuse::Twice(letter)),
            None => Ok(()),
        }
    };
    let (mut rest, mut plain, mut has_switch) = (words.iter(), 0, false);
    while let Some(word) = rest.next() {
        match switch(word) {
            Some('?') => return Ok(Action::Help),
            Some('l') => return Ok(Action::List),
            Some(letter) => {
                let Some(number) = "crtpm".find(letter) else { return Err(Misuse::Unknown(word.clone())) };
                let value = rest.next().ok_or(Misuse::NoValue(letter))?;
                has_switch = true;
                place(number, letter, value)?;
            }
            None if word.starts_with('-') => return Err(Misuse::Unknown(word.clone())),
            None if has_switch || plain > 2 => return Err(Misuse::TooMany(word.clone())),
            None => {
                place(plain, ['c', 'r', 't'][plain], word)?;
                plain += 1;
            }
        }
    }
    let [config, results, ..] = found;
    Ok(Action::Run(IometerSettings { config: config.ok_or(Misuse::NoConfig)?, results }))
}
