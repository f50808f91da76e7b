//! `plumb as iozone`.

mod machine;
mod run;
mod watching;
mod workbook;

use crate::args::Common;
use crate::exit::{End, Stopped};
use crate::session;
use machine::Here;
use plumb_dialects::iozone::{self, Action, Wrong};

/// As IOzone: what is wrong goes to standard output, with IOzone's codes. `called` is the program's own name.
pub fn as_iozone(called: &str, words: &[String], common: &Common) -> Result<End, Stopped> {
    let words = behind(words);
    match iozone::read(&words, &mut Here) {
        Ok(Action::Print(text)) => {
            session::print(&text)?;
            Ok(End::Done)
        }
        Ok(Action::Run(settings)) => {
            let command: Vec<String> = std::iter::once(called.to_owned()).chain(words).collect();
            run::run(&settings, &command, common)
        }
        Err(Wrong { out, err, code }) => {
            session::print(&out)?;
            eprint!("{err}");
            Ok(code_of(code))
        }
    }
}

/// `--xlsx FILE` and `--repeat N` as `--xlsx=FILE` and `--repeat=N`.
fn behind(words: &[String]) -> Vec<String> {
    let mut words = words.iter();
    let mut joined = Vec::new();
    while let Some(word) = words.next() {
        let value = match word.as_str() {
            "--xlsx" | "--repeat" | "--compat" => words.next(),
            _ => None,
        };
        joined.push(value.map_or_else(|| word.clone(), |value| format!("{word}={value}")));
    }
    joined
}

/// How a run ends that IOzone ends with this code.
fn code_of(code: u8) -> End {
    if code == 0 { End::Done } else { End::DialectCode(code) }
}
