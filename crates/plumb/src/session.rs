//! The surroundings of a command: store, terminal, signals, what may be overwritten.

use crate::common::Common;
use crate::exit::Stopped;
use crate::output;
use crate::output::error_line;
use plumb_engine::guard::{Allow, Permissions};
use plumb_engine::signals;
use plumb_engine::testdir::TestDirs;
use plumb_report::Style;
use plumb_report::style::Colour;
use plumb_store::{RecoveredRun, Store};
use plumb_study::Bench;
use std::io::IsTerminal;
use std::path::PathBuf;

/// The user's data directory for Plumb. Source: XDG Base Directory Specification.
pub fn data_directory() -> PathBuf {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
        .unwrap_or_else(|| PathBuf::from("/var/tmp"));
    base.join("plumb")
}

/// Where test directories are registered while they exist.
pub fn test_dirs() -> TestDirs {
    TestDirs::new(data_directory().join("testdirs"))
}

/// The store, and the runs in it that were found killed.
pub struct RecoveredStore {
    /// The store.
    pub store: Store,
    /// Runs that are marked as aborted from now on.
    pub recovered: Vec<RecoveredRun>,
}

/// Opens the store, and marks what a killed run left in it. Where there is none yet, it is made.
pub fn store(common: &Common) -> Result<Store, Stopped> {
    recovered_store(common).map(|found| found.store)
}

/// The same for commands that only look: a database that was named must be there, because its name may be mistyped.
pub fn named_store(common: &Common) -> Result<Store, Stopped> {
    match &common.db {
        Some(path) if !path.exists() => Err(Stopped::usage(format!(
            "there is no database {}; check `--db` and PLUMB_DB, or leave them out",
            path.display()
        ))),
        _ => store(common),
    }
}

/// The same, saying which runs were marked.
pub fn recovered_store(common: &Common) -> Result<RecoveredStore, Stopped> {
    let path = common.db.clone().unwrap_or_else(|| data_directory().join("plumb.db"));
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|error| {
            Stopped::io(format!(
                "cannot make {}: {error}; name another database with --db, or use --no-store",
                parent.display()
            ))
        })?;
    }
    let mut store = Store::open(&path)?;
    let recovered = store.recover()?;
    Ok(RecoveredStore { store, recovered })
}

/// What the user has typed that may be overwritten.
pub fn permissions(common: &Common) -> Permissions {
    let mut permissions = common.plumb_allow.as_deref().map_or_else(Permissions::none, Permissions::parse);
    // A serial is one word as typed; only PLUMB_ALLOW is a list.
    permissions.extend(Permissions { allow: common.destroy.iter().cloned().map(Allow::Named).collect() });
    permissions
}

/// Everything that a measuring command needs.
pub fn bench(common: &Common) -> Result<Bench, Stopped> {
    let store = if common.no_store { None } else { Some(store(common)?) };
    let stop = signals::install().map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
    let mut bench = Bench::new(store, stop, permissions(common), test_dirs());
    bench.recordings = Some(&crate::recordings::OnDisk);
    Ok(bench)
}

/// How pages on standard output are set: `NO_COLOR`, the terminal's width and pipes respected.
pub fn style() -> Style {
    style_of(std::io::stdout(), Style::PLAIN.width)
}

/// How lines on standard error are set: where it is no terminal they are not broken, so that each stays one line for
/// whoever filters them.
pub fn error_style() -> Style {
    style_of(std::io::stderr(), usize::MAX)
}

/// Says on standard error what is about to happen.
pub fn announce(text: &str) {
    error_line!("{}", error_style().wrap(text, 0));
}

fn style_of(stream: impl IsTerminal + std::os::fd::AsFd, width: usize) -> Style {
    let terminal = stream.is_terminal();
    let columns = if terminal { rustix::termios::tcgetwinsize(stream).map_or(0, |size| size.ws_col) } else { 0 };
    Style {
        width: match usize::from(columns) {
            0 => width,
            columns => columns.clamp(40, 140),
        },
        colour: colour(terminal),
    }
}

fn colour(terminal: bool) -> Colour {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if terminal && !plain { Colour::Ansi } else { Colour::Never }
}

/// Writes JSON to standard output.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Stopped> {
    let text = plumb_document::json::to_string_pretty(value).map_err(Stopped::io)?;
    output::print(&format!("{text}\n"));
    Ok(())
}

/// The command as typed, for the record.
pub fn command_line() -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    words.collect::<Vec<_>>().join(" ")
}
