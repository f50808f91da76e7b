//! `plumb as postmark`.

mod lines;
mod run;

use crate::args::Common;
use crate::exit::{End, Stopped};
use crate::session;
use lines::Typed;
use plumb_dialects::postmark::{BANNER, CONFIGURATION, Compat, Language, Order, PROMPT};
use plumb_study::Bench;
use std::io::Write;

/// Files of commands that load one another.
const DEPTH_MAX: usize = 100;

/// As PostMark: commands come from the file that is named, else from `.pmrc`, and then from standard input until `quit`.
/// The code is 1 where a run failed.
pub fn as_postmark(words: &[String], common: &Common) -> Result<End, Stopped> {
    let (options, files): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with("--"));
    let mut compat = Compat::Meant;
    for option in options {
        compat = match option.as_str() {
            "--compat=strict" => Compat::Strict,
            "--compat=meant" => Compat::Meant,
            other => {
                complain(format!("there is no option `{other}`, only --compat=meant and --compat=strict"));
                return Ok(End::DialectFailed);
            }
        };
    }
    if files.len() > 1 && compat == Compat::Meant {
        complain(format!("one file of commands is read, not {}; use `load` for more", files.len()));
        return Ok(End::DialectFailed);
    }
    let mut shell = Shell { language: Language::default(), compat, common, bench: None, warned: false, end: End::Done };
    session::print(BANNER)?;
    // As the tool has it: of several files it takes none.
    let named = files.first().filter(|_| files.len() == 1);
    if shell.configuration(named.map(|file| file.as_str()))? == Then::GoOn {
        shell.typed()?;
    }
    Ok(shell.end)
}

/// What goes wrong is told on standard error.
fn complain(what: impl std::fmt::Display) {
    eprintln!("Error: {what}");
}

/// Whether a session goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    GoOn,
    Quit,
}

/// One session.
struct Shell<'a> {
    language: Language,
    compat: Compat,
    common: &'a Common,
    /// Made for the first run.
    bench: Option<Bench>,
    /// That times are told otherwise was said.
    warned: bool,
    end: End,
}

impl Shell<'_> {
    fn configuration(&mut self, named: Option<&str>) -> Result<Then, Stopped> {
        let path = named.unwrap_or(CONFIGURATION);
        match std::fs::read(path) {
            Ok(text) => self.file(path, &text, 0),
            Err(error) => {
                // The tool says nothing, and waits for commands.
                if named.is_some() && self.compat == Compat::Meant {
                    complain(format!("cannot read configuration file '{path}': {error}"));
                }
                Ok(Then::GoOn)
            }
        }
    }

    fn file(&mut self, path: &str, text: &[u8], depth: usize) -> Result<Then, Stopped> {
        session::print(&format!("Reading configuration from file '{path}'\n"))?;
        for line in String::from_utf8_lossy(text).lines() {
            let orders = self.language.obey(line);
            if self.obey(orders, depth)? == Then::Quit {
                return Ok(Then::Quit);
            }
        }
        Ok(Then::GoOn)
    }

    fn typed(&mut self) -> Result<(), Stopped> {
        let mut typed = Typed::default();
        loop {
            session::print(PROMPT)?;
            let stop = self.bench.as_ref().map(|bench| bench.stop);
            let Some(line) = typed.next(stop).map_err(|error| Stopped::io(format!("standard input: {error}")))? else {
                return Ok(());
            };
            let orders = self.language.obey_typed(&line);
            if self.obey(orders, 0)? == Then::Quit {
                return Ok(());
            }
        }
    }

    fn obey(&mut self, orders: Vec<Order>, depth: usize) -> Result<Then, Stopped> {
        for order in orders {
            match order {
                Order::Print(text) => session::print(&text)?,
                Order::Complain(text) => complain(text),
                Order::Shell(command) => shell(command.as_deref()),
                Order::Quit => return Ok(Then::Quit),
                Order::Load(path) => match std::fs::read(&path) {
                    Ok(_) if depth >= DEPTH_MAX => {
                        complain(format!("'{path}' is loaded within {DEPTH_MAX} other files; does it load itself?"));
                    }
                    // The end of a file that is loaded is the end of that file alone.
                    Ok(text) => drop(self.file(&path, &text, depth + 1)?),
                    Err(_) => complain(format!("cannot read configuration file '{path}'")),
                },
                Order::Show(to) => {
                    let here = std::env::current_dir().unwrap_or_default();
                    self.put(to.as_deref(), &self.language.settings.show(&here.display().to_string()))?;
                }
                Order::Run(to) => {
                    if self.run(to.as_deref())? == Then::Quit {
                        return Ok(Then::Quit);
                    }
                }
            }
        }
        Ok(Then::GoOn)
    }

    /// To the end of a file, or to standard output where there is none.
    fn put(&self, to: Option<&str>, text: &str) -> Result<(), Stopped> {
        let Some(path) = to else { return session::print(text) };
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        match file.and_then(|mut file| file.write_all(text.as_bytes())) {
            Ok(()) => Ok(()),
            Err(_) => {
                complain(format!("Cannot direct output to file '{path}'"));
                session::print(text)
            }
        }
    }
}

/// A command of the shell, or a shell.
fn shell(command: Option<&str>) {
    let status = match command {
        Some(command) => std::process::Command::new("sh").args(["-c", command]).status(),
        None => std::process::Command::new(std::env::var_os("SHELL").unwrap_or_else(|| "sh".into())).status(),
    };
    if let Err(error) = status {
        complain(format!("cannot run the shell: {error}"));
    }
}
