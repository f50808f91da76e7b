//! Environment of a command: store, terminal, signals, write permissions.

use crate::common::Common;
use crate::config::Config;
use crate::exit::Stopped;
use crate::output;
use crate::output::error_line;
use crate::ranks;
use plumb_bench::Bench;
use plumb_bench::not_stored::NotStored;
use plumb_engine::guard::space::{FillPlaces, WhenFull};
use plumb_engine::guard::{Allow, Database, OutputFile, Permissions, private_directory};
use plumb_engine::net::NetProtocol;
use plumb_engine::private_directory::{PrivateDirectoryError, own_directory, user_directory};
use plumb_engine::signals::{self, StopFlag};
use plumb_engine::testdir::TestDirs;
use plumb_lab::Surroundings;
use plumb_report::Style;
use plumb_report::style::Colour;
use plumb_store::{Queue, RecoveredRun, ResultStore, Store};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// Protocol for network work. The crates of tools depend on this one, so the program registers it.
static NET_PROTOCOL: OnceLock<&'static (dyn NetProtocol + Sync)> = OnceLock::new();

/// Registers the protocol for network work, for every later [`bench`], also of agents and ranks. Only the first call has an effect.
pub fn register_net_protocol(protocol: &'static (dyn NetProtocol + Sync)) {
    let _ = NET_PROTOCOL.set(protocol);
}

/// Opens the database of a team to read it.
pub type SharedOpener = fn(&str) -> Result<Box<dyn ResultStore>, Stopped>;

/// Opener of databases of a team. Only the program links their client, so it registers this function.
static SHARED_OPENER: OnceLock<SharedOpener> = OnceLock::new();

/// Registers the function that opens the database of a team. Only the first call has an effect.
pub fn register_shared_opener(opener: SharedOpener) {
    let _ = SHARED_OPENER.set(opener);
}

/// Returns the address of a team's database if `--db` or PLUMB_DB is one, and not a file.
pub fn shared_address(common: &Common) -> Option<&str> {
    let text = common.db.as_ref()?.to_str()?;
    ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)).then_some(text)
}

/// Returns the user's data directory for Plumb: `$XDG_DATA_HOME/plumb`, or `~/.local/share/plumb`. If neither variable
/// is set, returns a directory that only this user can use. Source: XDG Base Directory Specification.
///
/// # Errors
/// Neither variable is set, and that directory belongs to another user.
pub(crate) fn data_directory() -> Result<PathBuf, Stopped> {
    Ok(user_directory("XDG_DATA_HOME", ".local/share").map_err(no_directory)?.join("plumb"))
}

/// Returns what hosts need from this process. Fails like [`data_directory`].
pub fn surroundings(program: PathBuf) -> Result<Surroundings, Stopped> {
    Surroundings::of_environment(program).map_err(no_directory)
}

fn no_directory(error: PrivateDirectoryError) -> Stopped {
    Stopped::io(format!("{error}\nHOME is not set: set it to a directory of your own."))
}

/// Returns the registry of test directories.
pub fn test_dirs() -> Result<TestDirs, Stopped> {
    Ok(TestDirs::new(data_directory()?.join("testdirs")))
}

/// The store, and its runs that turned out to be killed.
pub struct RecoveredStore {
    pub store: Store,
    /// Runs that are now marked as aborted.
    pub recovered: Vec<RecoveredRun>,
}

/// Opens or creates the store, and marks killed runs.
pub fn store(common: &Common) -> Result<Store, Stopped> {
    recovered_store(common).map(|found| found.store)
}

/// Opens the results for commands that only read: the local store, or the database of a team that `--db` names.
///
/// # Errors
/// Fails like [`local_store_to_read`], and if the database of the team does not answer.
pub fn store_to_read(common: &Common) -> Result<Box<dyn ResultStore>, Stopped> {
    let Some(address) = shared_address(common) else { return Ok(Box::new(local_store_to_read(common)?)) };
    match SHARED_OPENER.get() {
        Some(open) => open(address),
        None => Err(Stopped::usage("this program reads no database of a team; name a file with --db")),
    }
}

/// Opens the local store for commands that only read. A named database must exist, because its name may be mistyped. Opens a
/// database that cannot be written, because the disk is full or another process has locked it, without marking killed runs.
pub fn local_store_to_read(common: &Common) -> Result<Store, Stopped> {
    refuse_shared(common)?;
    require_existing(common)?;
    let mut store = Store::open_to_read(&database(common)?)?;
    if let Some(link) = common.db.as_ref().filter(|path| path.is_symlink()) {
        store.import_queue_of_link(link);
    }
    report_queue(&store);
    // Mark killed runs if possible now; otherwise a later command does it.
    store.wait_at_most(BUSY_WHILE_READING)?;
    let _ = store.recover();
    Ok(store)
}

/// Opens the store for commands that change it.
pub fn store_to_change(common: &Common) -> Result<Store, Stopped> {
    refuse_shared(common)?;
    require_existing(common)?;
    store(common)
}

/// Time that a command that only reads waits for the lock to mark killed runs.
const BUSY_WHILE_READING: Duration = Duration::from_millis(200);

/// Refuses the address of a team's database where a local one is needed: a run must not wait for a network.
fn refuse_shared(common: &Common) -> Result<(), Stopped> {
    match shared_address(common) {
        Some(_) => Err(Stopped::usage(
            "--db or PLUMB_DB is the database of a team, which commands only read: results go to the local store first\n\
             Leave it out here, and copy the results afterwards: plumb push --to ADDRESS",
        )),
        None => Ok(()),
    }
}

fn require_existing(common: &Common) -> Result<(), Stopped> {
    match &common.db {
        Some(path) if !path.exists() => Err(Stopped::usage(format!(
            "there is no database {}; check `--db` and PLUMB_DB, or leave them out",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Returns the database file: `--db` or PLUMB_DB with links resolved once, or the default in the user's data directory.
///
/// # Errors
/// Fails for the address of a team's database, and if the directory cannot be used.
pub fn database(common: &Common) -> Result<PathBuf, Stopped> {
    refuse_shared(common)?;
    if let Some(path) = &common.db {
        return Ok(Database::followed(path)?);
    }
    let directory = data_directory()?;
    // Earlier versions created it by the umask. Ignore errors, so that a read-only home still works.
    if directory.exists() {
        let _ = private_directory(&directory);
    }
    Ok(directory.join("plumb.db"))
}

fn close_directory(directory: &Path) -> Result<(), Stopped> {
    private_directory(directory).map_err(|error| {
        Stopped::io(format!(
            "cannot create {}: {error}\nName another database with --db, or use --no-store.",
            directory.display()
        ))
    })
}

/// Opens or creates the store, and returns the runs that were marked as killed.
pub fn recovered_store(common: &Common) -> Result<RecoveredStore, Stopped> {
    let path = database(common)?;
    match (&common.db, path.parent()) {
        (None, Some(directory)) => close_directory(directory)?,
        (Some(_), Some(directory)) if !directory.as_os_str().is_empty() => {
            std::fs::create_dir_all(directory).map_err(|error| {
                Stopped::io(format!(
                    "cannot create {}: {error}\nName another database with --db, or use --no-store.",
                    directory.display()
                ))
            })?;
        }
        _ => {}
    }
    let mut store = Store::open(&path)?;
    if let Some(link) = common.db.as_ref().filter(|path| path.is_symlink()) {
        store.import_queue_of_link(link);
    }
    report_queue(&store);
    let recovered = store.recover()?;
    Ok(RecoveredStore { store, recovered })
}

/// Reports runs that are queued outside the database, and the reason.
fn report_queue(store: &Store) {
    if let Some(waiting) = store.waiting() {
        error_line!("note: runs in {} are not in the database yet: {}", waiting.directory.display(), waiting.reason);
    }
    for path in store.set_aside() {
        error_line!("warning: the file of a run is damaged, and its run is not in the database: {}", path.display());
    }
}

/// Returns the permissions given on the command line and in the environment.
pub fn typed(common: &Common) -> Permissions {
    let mut permissions = common.plumb_allow.as_deref().map_or_else(Permissions::none, Permissions::parse);
    // A serial is one word as typed; only PLUMB_ALLOW is a list.
    permissions.allow.extend(common.destroy.iter().cloned().map(Allow::Named));
    permissions
}

/// Returns all permissions, including the configuration file's. Fails if that file is invalid.
pub fn permissions(common: &Common) -> Result<Permissions, Stopped> {
    let mut permissions = typed(common);
    permissions.extend(Config::of_user()?.permissions());
    Ok(permissions)
}

/// Returns what tests of other tools do when a file system becomes full, from `PLUMB_FILL` and `fill` in the
/// configuration file. Fails if that file is invalid.
pub fn when_full(common: &Common) -> Result<WhenFull, Stopped> {
    let typed = std::env::var("PLUMB_FILL").unwrap_or_default();
    let at = FillPlaces::parse(&typed).into_iter().chain(Config::of_user()?.fill()).collect();
    let store = database(common).ok().and_then(|path| existing(path.parent()?));
    let never = FillPlaces::SYSTEM.map(PathBuf::from).into_iter().chain(store).collect();
    Ok(WhenFull::FilledAt(FillPlaces { at, never }))
}

/// Returns the directory, or its nearest existing ancestor.
fn existing(directory: &Path) -> Option<PathBuf> {
    let directory = std::path::absolute(directory).ok()?;
    directory.ancestors().find(|directory| directory.exists()).map(Path::to_owned)
}

/// Reports results of a series that could not be stored, and an error that ended it early. Returns `true` if there is any.
pub fn incomplete(bench: &Bench, what: &str, common: &Common) -> bool {
    if let Some(not_stored) = &bench.results.not_stored {
        report_unstored(not_stored, &format!("{what}, or a run of it,"), common);
    }
    if let Some(error) = &bench.series.cut_by {
        error_line!("error: {error}; {what} covers the runs before it");
    }
    bench.results.not_stored.is_some() || bench.series.cut_by.is_some()
}

/// Reports what could not be stored, where it was saved, and how to import it. `what` is a phrase such as `the result`.
pub fn report_unstored(not_stored: &NotStored, what: &str, common: &Common) {
    error_line!("error: {what} could not be stored: {}", not_stored.reason);
    let shown = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ");
    if !not_stored.results.is_empty() {
        let database = common.db.as_ref().map_or(String::new(), |path| format!("--db {} ", quoted(path)));
        // Shortens a long list to patterns: an import skips results that are stored already.
        let files = match not_stored.results.as_slice() {
            [] => String::new(),
            few @ ([_] | [_, _]) => few.iter().map(|path| quoted(path)).collect::<Vec<_>>().join(" "),
            many => patterns(many),
        };
        let saved = match not_stored.results.as_slice() {
            [only] => format!("It is saved to {}", only.display()),
            [one, other] => format!("They are saved to {} and {}", one.display(), other.display()),
            many => format!("{} results are saved to {files}", many.len()),
        };
        error_line!("{saved}\nAdd to the database with: plumb {database}import {files}");
    }
    if !not_stored.others.is_empty() {
        error_line!("Saved for reading: {}", shown(&not_stored.others));
    }
    if let Some(lost) = &not_stored.lost {
        error_line!("{lost}");
    }
}

/// Returns a shell pattern for each directory of results.
fn patterns(results: &[PathBuf]) -> String {
    let mut directories: Vec<&Path> = results.iter().filter_map(|path| path.parent()).collect();
    directories.dedup();
    let pattern = |directory: &Path| format!("{}/plumb-result-*.json", quoted(directory));
    directories.into_iter().map(pattern).collect::<Vec<_>>().join(" ")
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// Creates the test bench of a measuring command.
pub fn bench(common: &Common) -> Result<Bench, Stopped> {
    let permissions = permissions(common)?;
    let store = if common.no_store { None } else { Some(store(common)?) };
    bench_with(store, test_dirs()?, permissions)
}

/// Creates the test bench for another tool's command line. Scripts run such commands thousands of times, so it does not
/// open the database if a queue next to it accepts runs.
pub fn bench_of_tool(common: &Common) -> Result<Bench, Stopped> {
    let queue = if common.no_store { None } else { Queue::open(&database(common)?) };
    if queue.is_none() {
        return bench(common);
    }
    let mut bench = bench_with(None, test_dirs()?, permissions(common)?)?;
    bench.results.queue = queue;
    Ok(bench)
}

/// Creates the test bench for a process that changed its user after it opened the store.
pub fn bench_of_other_user(store: Store, common: &Common) -> Result<Bench, Stopped> {
    let own = own_directory(".local/share").map_err(no_directory)?;
    bench_with(Some(store), TestDirs::new(own.join("plumb/testdirs")), permissions(common)?)
}

/// Installs the signal handlers, and returns the flag that SIGINT and the like set.
pub fn stop_flag() -> Result<StopFlag, Stopped> {
    signals::install().map_err(|error| Stopped::io(format!("cannot set up signal handling: {error}")))
}

fn bench_with(store: Option<Store>, test_dirs: TestDirs, permissions: Permissions) -> Result<Bench, Stopped> {
    let stop = stop_flag()?;
    let mut bench = Bench::new(store, stop, permissions, test_dirs);
    bench.engine.say = announce;
    bench.engine.recordings = Some(&crate::recordings::OnDisk);
    bench.engine.net = NET_PROTOCOL.get().map(|protocol| *protocol as &dyn NetProtocol);
    bench.partners.ranks = ranks::joined();
    Ok(bench)
}

/// Creates the test bench of a rank other than the first. It stores and prints nothing, and gets its permissions from the first.
pub fn bench_of_rank() -> Result<Bench, Stopped> {
    let mut bench = bench_with(None, test_dirs()?, Permissions::none())?;
    bench.engine.say = |_| {};
    Ok(bench)
}

/// Returns the style of pages on standard output. Respects `NO_COLOR`, the terminal's width and pipes.
pub fn style() -> Style {
    if output::pages_are_elsewhere() {
        return style_of(std::io::stderr(), Style::PLAIN.width);
    }
    style_of(std::io::stdout(), Style::PLAIN.width)
}

/// Returns the style of tables on standard output. Without a terminal, each row stays one line, for tools that read lines.
pub fn table_style() -> Style {
    style_of(std::io::stdout(), usize::MAX)
}

/// Returns the style of lines on standard error. Without a terminal, lines are not wrapped, for tools that filter them.
pub fn error_style() -> Style {
    style_of(std::io::stderr(), usize::MAX)
}

/// Prints to standard error what is about to happen.
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

/// Prints annotations to standard output, or to standard error if a program reads standard output; the runner reads
/// both. Appends the summary to the runner's page. Source: "Workflow commands for GitHub Actions".
pub fn to_github(annotations: &str, summary: &str, is_for_program: bool) -> Result<(), Stopped> {
    output::print_commands(annotations, is_for_program);
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else { return Ok(()) };
    Ok(OutputFile::named("GITHUB_STEP_SUMMARY", &path).append_all(summary.as_bytes())?)
}

/// Writes JSON to standard output.
pub fn print_json(value: &(impl serde::Serialize + ?Sized)) -> Result<(), Stopped> {
    let text = plumb_document::json::to_string_pretty(value).map_err(Stopped::io)?;
    output::print(&format!("{text}\n"));
    Ok(())
}

/// Returns the command as typed; words that are not UTF-8 are quoted for a shell.
pub fn command_line() -> String {
    let words = std::env::args_os().map(|word| plumb_result::path_text(Path::new(&word)));
    words.collect::<Vec<_>>().join(" ")
}
