//! `plumb serve`: starts the program `plumb-serve`, a package of its own, so that no other command pays for a web server.

use plumb_cli::exit::{End, Stopped};
use plumb_cli::serve::PROGRAM;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Global options that take the next word as their value.
const WITH_VALUE: [&str; 3] = ["--db", "--destroy", "--plumb-allow"];

/// Replaces this process by `plumb-serve`, with the same words. Returns only if that fails.
pub(crate) fn run() -> Result<End, Stopped> {
    let words = without_command(std::env::args_os().skip(1));
    let failed = |program: PathBuf, error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Stopped::usage(
            "this command needs the program `plumb-serve`, which is neither next to `plumb` nor in PATH\n\
             Install a package of this version, which has both, or build it from source: cargo build --release -p plumb-serve",
        ),
        _ => Stopped::io(format!("cannot start {}: {error}", program.display())),
    };
    let program = next_to_this_program().unwrap_or_else(|| PathBuf::from(PROGRAM));
    let error = Command::new(&program).args(words).exec();
    Err(failed(program, error))
}

/// Returns the program in the directory of this one, links resolved or not, if it is there.
fn next_to_this_program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let resolved = own.canonicalize().ok();
    let candidates = std::iter::once(own).chain(resolved).map(|own| own.with_file_name(PROGRAM));
    candidates.into_iter().find(|program| program.is_file())
}

/// Removes the word `serve`: the first one that is not the value of an option.
fn without_command(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut kept: Vec<OsString> = Vec::new();
    let mut found = false;
    for word in words {
        let is_value = kept.last().is_some_and(|last| WITH_VALUE.iter().any(|option| last == option));
        if !found && !is_value && word == "serve" {
            found = true;
        } else {
            kept.push(word);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects a database that is called `serve`.
    #[test]
    fn only_the_command_is_removed() {
        let rest = |text: &str| {
            let words = without_command(text.split(' ').map(OsString::from));
            words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(rest("serve --listen [::1]:0"), "--listen [::1]:0");
        assert_eq!(rest("--db serve serve --listen [::1]:0"), "--db serve --listen [::1]:0");
        assert_eq!(rest("serve --db serve"), "--db serve");
    }
}
