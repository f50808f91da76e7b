//! `plumb as bonnie++`, the two readers of its lines, and what else comes with it.

mod getc_putc;
mod run;
mod user;
mod zcav;

pub use getc_putc::GetcPutc;
pub use run::Bonnie;
pub use zcav::Zcav;

use super::Call;
use crate::exit::{End, Stopped};
use crate::session;
use plumb_dialects::bonnie::table::Printed;
use plumb_dialects::bonnie::{Machine, Meeting, Refusal, Settings, Test, html, table};
use plumb_engine::semaphore::Semaphores;
use std::io::Read;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The key of its semaphores, of which there is one for each test.
const SEMAPHORE_KEY: i32 = 4711;
const SEMAPHORES: u16 = Test::ALL.len() as u16;

/// What comes before a run, done.
enum Prepared {
    Run(Box<Settings>, Machine),
    Done(String),
}

fn prepared(called: &str, words: &[String]) -> Result<Prepared, Refusal> {
    let machine = machine();
    let settings = Settings::read(called, words, &machine)?;
    if let Some(directory) = &settings.directory
        && !Path::new(directory).is_dir()
    {
        return Err(settings.usage(&format!("Can't change to directory \"{directory}\".\n")));
    }
    if settings.user.is_some() || settings.group.is_some() {
        let told = user::become_user(settings.user.as_deref(), settings.group.as_deref())?;
        if !settings.quiet {
            eprint!("{told}");
        }
    } else if rustix::process::geteuid().is_root() {
        return Err(settings.usage("You must use the \"-u\" switch when running as root.\n"));
    }
    settings.check_meeting()?;
    let refused = |what: &'static str| move |error| Refusal(format!("{what}: {error}\n"));
    match settings.meeting {
        Meeting::Make(count) => {
            Semaphores::make(SEMAPHORE_KEY, SEMAPHORES, count).map_err(refused("Can't get semaphore"))?;
            return Ok(Prepared::Done(format!("Creating semaphore for {count} procs.\n")));
        }
        Meeting::Remove => {
            let found = Semaphores::find(SEMAPHORE_KEY, 1).map_err(refused("Can't get semaphore ID"))?;
            found.remove().map_err(refused("Can't get remove semaphore"))?;
            return Ok(Prepared::Done("Semaphore removed.\n".to_owned()));
        }
        _ => {}
    }
    settings.check()?;
    Ok(Prepared::Run(Box::new(settings), machine))
}

fn machine() -> Machine {
    let page_bytes = rustix::param::page_size() as u64;
    let info = rustix::system::sysinfo();
    let ram_bytes = u64::from(info.mem_unit) * info.totalram as u64;
    Machine {
        // In its own steps, which round down twice.
        ram_mib: (page_bytes / 1024 * (ram_bytes / page_bytes / 1024)) as i64,
        node: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        pid: std::process::id(),
        time_s: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
    }
}

/// As `bon_csv2html`: a page of the lines of a file, or of standard input.
pub fn csv2html(call: &Call<'_>) -> Result<End, Stopped> {
    convert(call.words.first(), html::page)
}

/// As `bon_csv2txt`: tables of the lines on standard input.
pub fn csv2txt(_call: &Call<'_>) -> Result<End, Stopped> {
    convert(None, table::text)
}

fn convert(file: Option<&String>, reader: fn(&str) -> Printed) -> Result<End, Stopped> {
    let mut bytes = Vec::new();
    let read = match file {
        Some(path) => std::fs::read(path).map(|read| bytes = read),
        None => std::io::stdin().read_to_end(&mut bytes).map(drop),
    };
    if let Err(error) = read {
        let name = file.map_or("standard input", String::as_str);
        eprintln!("{name}: {error}");
        return Ok(End::DialectFailed);
    }
    let printed = reader(&String::from_utf8_lossy(&bytes));
    eprint!("{}", printed.err);
    session::print(&printed.out)?;
    Ok(End::Done)
}
