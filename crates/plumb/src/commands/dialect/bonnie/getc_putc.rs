//! `plumb as getc_putc`: single bytes by six ways of moving them.

use super::{run, user};
use crate::args::Common;
use crate::exit::{End, Stopped};
use crate::session;
use plumb_dialects::bonnie::Refusal;
use plumb_dialects::bonnie::getc_putc::print::{self, Results};
use plumb_dialects::bonnie::getc_putc::{Settings, Test, lower, usage};
use plumb_result::PhaseMeasurement;
use plumb_study::Progress;
use std::path::Path;

/// As `getc_putc`: what is wrong goes to standard error, and the code is then 1. `called` is the program's own name.
pub fn as_getc_putc(called: &str, words: &[String], common: &Common) -> Result<End, Stopped> {
    match prepared(called, words) {
        Ok(settings) => measured(&settings, common),
        Err(Refusal(text)) => {
            eprint!("{text}");
            Ok(End::DialectFailed)
        }
    }
}

fn prepared(called: &str, words: &[String]) -> Result<Settings, Refusal> {
    let node = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let settings = Settings::read(called, words, &node)?;
    if settings.user.is_some() || settings.group.is_some() {
        let told = user::become_user(settings.user.as_deref(), settings.group.as_deref())?;
        if !settings.quiet {
            eprint!("{told}");
        }
    } else if rustix::process::geteuid().is_root() {
        return Err(usage("You must use the \"-u\" switch when running as root.\n"));
    }
    settings.check()?;
    if let Some(directory) = settings.directory.as_ref().filter(|directory| !Path::new(directory).is_dir()) {
        return Err(usage(&format!("Can't create file \"{directory}/getc_putc.{}\".\n", std::process::id())));
    }
    Ok(settings)
}

fn measured(settings: &Settings, common: &Common) -> Result<End, Stopped> {
    if let Some(correction) = settings.correction() {
        eprintln!("plumb: {correction}; `--compat=strict` does as it does");
    }
    let mut bench = session::bench(common)?;
    let base = Path::new(settings.directory.as_deref().unwrap_or("."));
    let workload = lower::lower(settings, std::process::id());
    let mut watching = Watching { settings, results: Results::default(), refused: None };
    if !settings.quiet {
        session::print("Extending file...")?;
    }
    let failed = run::measure(&workload, base, "getc_putc", &mut bench, &mut watching);
    let Watching { results, refused, .. } = watching;
    if let Some(end) = run::ended(&bench, &workload, base, [failed, refused]) {
        return Ok(end);
    }
    // The last test's end and the line of values are all that its standard output gets besides.
    if !settings.quiet {
        session::print("done\n")?;
    }
    eprint!("{}", print::table(settings, &results));
    session::print(&print::values(settings, &results))?;
    Ok(End::Done)
}

/// Tells how far it has come, and keeps what was measured.
struct Watching<'a> {
    settings: &'a Settings,
    results: Results,
    /// The op that failed.
    refused: Option<String>,
}

impl Progress for Watching<'_> {
    fn clock_starts(&mut self, phase: &str) {
        let Some(test) = Test::of_phase(phase).filter(|_| !self.settings.quiet) else { return };
        // The file is there, or the test before has ended.
        eprint!("done\n{}", test.beginning());
    }

    fn phase_ended(&mut self, measured: &PhaseMeasurement) {
        let Some(test) = Test::of_phase(&measured.name) else { return };
        self.results.add(test, measured);
        if let Some(fault) = measured.faults.first() {
            let text = format!("{} of {}: {}", fault.op.name(), fault.path.display(), fault.message);
            self.refused.get_or_insert(text);
        }
    }
}
