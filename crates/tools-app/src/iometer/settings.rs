//! From words to settings.

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The help.
    Help,
    /// The built-in access specifications.
    List,
    /// A run.
    Run(IometerSettings),
}

/// A command line, understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IometerSettings {
    /// The configuration file.
    pub config: String,
    /// Where results go, behind what is there; standard output when absent.
    pub results: Option<String>,
}

/// Why a command line cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// No switch of IOMeter.
    #[error("unknown switch `{0}`")]
    Unknown(String),
    /// A switch without its value.
    #[error("/{0} lacks its value")]
    NoValue(char),
    /// A switch, twice.
    #[error("/{0} is there twice")]
    Twice(char),
    /// A switch, and what is no number.
    #[error("/{0} {1}: a number expected")]
    NotANumber(char, String),
    /// More words than there are parameters, or one behind switches.
    #[error("unexpected parameter `{0}`")]
    TooMany(String),
    /// There is nothing to run.
    #[error("no configuration file; give one by /c FILE")]
    NoConfig,
}

/// What `/?` prints.
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

/// The letter of a switch. A word of several letters is a path, where IOMeter would find fault with it.
fn switch(word: &str) -> Option<char> {
    let mut letters = word.strip_prefix(['/', '-'])?.chars();
    let letter = letters.next()?;
    letters.next().is_none().then(|| letter.to_ascii_lowercase())
}

/// Reads the words behind `iometer`.
///
/// # Errors
/// The first word that is wrong.
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
