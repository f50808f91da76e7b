//! `plumb as postmark`.

mod lines;
mod run;

use lines::Typed;
use plumb_bench::Bench;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line};
use plumb_engine::guard::OutputFile;
use plumb_engine::signals::StopFlag;
use plumb_tools_classic::postmark::{Answer, BANNER, CONFIGURATION, Compat, Language, PROMPT};
use plumb_tools_run::ToolCall;
use plumb_tools_run::runner::{Dialect, Load, RunEnded, Step};
use plumb_tools_run::verdicts::LinePlace;
use run::{PostmarkProgress, Run};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io::ErrorKind;

/// Maximum nesting of command files that load one another.
const DEPTH_MAX: usize = 100;

/// A session. Commands come from the named file or from `.pmrc`, and then from standard input until `quit`. The exit
/// code is 1 if a run failed.
pub struct Shell {
    language: Language,
    compat: Compat,
    /// Sources of commands; the last one is read first.
    sources: Vec<Source>,
    /// Whether the warning about different times has been printed.
    warned: Cell<bool>,
    end: Cell<End>,
}

struct Source {
    lines: Lines,
    /// Pending actions of the last line.
    orders: VecDeque<Answer>,
    /// Whether its end ends the session.
    ends_all: bool,
}

enum Lines {
    Typed(Typed),
    File(std::vec::IntoIter<String>),
}

impl Source {
    fn new(lines: Lines, ends_all: bool) -> Source {
        Source { lines, orders: VecDeque::new(), ends_all }
    }
}

impl Dialect for Shell {
    const NAME: &'static str = "postmark";
    type Run = Run;
    type Listener<'a> = PostmarkProgress<'a>;

    fn read(call: &ToolCall<'_>) -> Step<Shell> {
        let (options, files): (Vec<&String>, Vec<&String>) = call.words.iter().partition(|word| word.starts_with("--"));
        let mut compat = Compat::Meant;
        for option in options {
            compat = match option.as_str() {
                "--compat=strict" => Compat::Strict,
                "--compat=meant" => Compat::Meant,
                other => {
                    complain(format!("unknown option `{other}`; use --compat=meant or --compat=strict"));
                    return Err(End::DialectFailed.into());
                }
            };
        }
        if files.len() > 1 && compat == Compat::Meant {
            complain(format!("one command file expected, got {}; use `load` for more", files.len()));
            return Err(End::DialectFailed.into());
        }
        let mut shell = Shell {
            language: Language::default(),
            compat,
            sources: vec![Source::new(Lines::Typed(Typed::default()), true)],
            warned: Cell::new(false),
            end: Cell::new(End::Done),
        };
        output::print(BANNER);
        // As in PostMark, several files are ignored.
        let named = files.first().filter(|_| files.len() == 1);
        shell.configuration(named.map(|file| file.as_str()))?;
        Ok(shell)
    }

    fn next(&mut self, stop: Option<StopFlag>) -> Step<Run> {
        loop {
            match self.order(stop)? {
                Answer::Print(text) => output::print(&text),
                Answer::Complain(text) => complain(text),
                Answer::Shell(command) => shell(command.as_deref()),
                Answer::Quit => self.quit()?,
                Answer::Load(path) => self.load_commands(&path)?,
                Answer::Show(to) => {
                    let here = std::env::current_dir().unwrap_or_default();
                    put(to.as_deref(), &self.language.settings.show(&here.display().to_string()));
                }
                Answer::Run(to) => match self.run(to)? {
                    Some(run) => return Ok(run),
                    None => self.end.set(End::DialectFailed),
                },
            }
        }
    }

    fn load<'a>(&'a self, run: &'a Run) -> Load<'a> {
        Load::here(&run.plan.workload)
    }

    fn listen<'a>(&'a self, run: &'a Run, _bench: &mut Bench) -> Step<PostmarkProgress<'a>> {
        Ok(PostmarkProgress::new(&run.plan))
    }

    /// The last line contains all numbers of its terse report.
    fn line_place(&self) -> LinePlace {
        LinePlace::BeforeReport
    }

    fn print<'a>(&'a self, run: &'a Run, listener: PostmarkProgress<'a>, ended: &RunEnded) -> Step<()> {
        self.print_report(run, listener, ended)
    }
}

/// Prints an error on standard error.
fn complain(what: impl std::fmt::Display) {
    error_line!("Error: {what}");
}

impl Shell {
    fn configuration(&mut self, named: Option<&str>) -> Result<(), Stopped> {
        let path = named.unwrap_or(CONFIGURATION);
        match plumb_text::bounded::read(path) {
            Ok(text) => self.file(path, &text, true)?,
            // PostMark prints nothing and waits for commands.
            Err(error)
                if named.is_some() && (self.compat == Compat::Meant || error.kind() == ErrorKind::FileTooLarge) =>
            {
                complain(format!("cannot read configuration file '{path}': {error}"));
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn file(&mut self, path: &str, text: &[u8], ends_all: bool) -> Result<(), Stopped> {
        output::print(&format!("Reading configuration from file '{path}'\n"));
        let lines: Vec<String> = String::from_utf8_lossy(text).lines().map(str::to_owned).collect();
        self.sources.push(Source::new(Lines::File(lines.into_iter()), ends_all));
        Ok(())
    }

    fn load_commands(&mut self, path: &str) -> Result<(), Stopped> {
        let loaded = self.sources.iter().filter(|source| !source.ends_all).count();
        match plumb_text::bounded::read(path) {
            Ok(_) if loaded >= DEPTH_MAX => {
                complain(format!("'{path}' is nested in {DEPTH_MAX} other files; does it load itself?"));
            }
            Ok(text) => self.file(path, &text, false)?,
            Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                complain(format!("cannot read configuration file '{path}': {error}"));
            }
            Err(_) => complain(format!("cannot read configuration file '{path}'")),
        }
        Ok(())
    }

    /// Returns the next action, or the end of the session after the last one.
    fn order(&mut self, stop: Option<StopFlag>) -> Step<Answer> {
        loop {
            let Some(source) = self.sources.last_mut() else { return Err(self.end.get().into()) };
            if let Some(order) = source.orders.pop_front() {
                return Ok(order);
            }
            let orders = match &mut source.lines {
                Lines::File(lines) => lines.next().map(|line| self.language.obey(&line)),
                Lines::Typed(typed) => {
                    output::print(PROMPT);
                    let line = typed.next(stop).map_err(|error| Stopped::io(format!("standard input: {error}")))?;
                    line.map(|line| self.language.obey_typed(&line))
                }
            };
            match orders {
                Some(orders) => source.orders.extend(orders),
                None => drop(self.sources.pop()),
            }
        }
    }

    /// Ends the current source. The end of a loaded file ends only that file.
    fn quit(&mut self) -> Step<()> {
        match self.sources.pop() {
            Some(source) if !source.ends_all => Ok(()),
            _ => Err(self.end.get().into()),
        }
    }
}

/// Appends text to a file, or prints it without one.
fn put(to: Option<&str>, text: &str) {
    let Some(path) = to else { return output::print(text) };
    if let Err(error) = OutputFile::named("run", path).append_all(text.as_bytes()) {
        complain(format!("Cannot direct output to file '{path}'"));
        if error.is_refusal() {
            complain(error.to_string());
        }
        output::print(text);
    }
}

/// Runs a shell command, or an interactive shell.
fn shell(command: Option<&str>) {
    let status = match command {
        Some(command) => std::process::Command::new("sh").args(["-c", command]).status(),
        None => std::process::Command::new(std::env::var_os("SHELL").unwrap_or_else(|| "sh".into())).status(),
    };
    if let Err(error) = status {
        complain(format!("cannot run the shell: {error}"));
    }
}
