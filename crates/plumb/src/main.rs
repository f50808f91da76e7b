//! The command line: the only crate that joins all the others.
// These macros panic when the reader of the output is gone; `output` does not.
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

mod args;
mod command_context;
mod commands;
mod help;

use args::{Arguments, FarEndArguments, K8sCommand, PlumbCommand, Tool};
use clap::Parser;
use commands::names::Names;
use commands::study::StudyCommand;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{error_line, error_text};
use plumb_cli::{output, ranks, session};
use plumb_engine::clock::Clock;
use plumb_engine::{panics, signals};

/// musl's allocator maps and unmaps memory for each block of medium size: see `Cargo.toml`.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    // On failure, SIGXFSZ kills the program at a file size limit, as before.
    let _ = signals::survive_file_size_limits();
    Clock::begin_calibration();
    panics::install_hook();
    // Unwinding removes test directories and unmounts what was mounted.
    let code = std::panic::catch_unwind(|| on_a_large_stack(command)).unwrap_or_else(|_| End::Io.number());
    // A panic is a defect of Plumb, so it never ends with the tool's exit code.
    let code = if panics::happened() { End::Io.number() } else { code };
    ranks::dismiss(code);
    signals::leave(code)
}

/// Runs a function on a stack of at least 1 MiB. Starts another thread if `ulimit -s` limits the main thread's stack.
fn on_a_large_stack(run: fn() -> u8) -> u8 {
    const LEAST_BYTES: u64 = 1 << 20;
    const USUAL_BYTES: usize = 8 << 20;
    let limit = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
    if limit.is_none_or(|bytes| bytes >= LEAST_BYTES) {
        return run();
    }
    match std::thread::Builder::new().stack_size(USUAL_BYTES).spawn(run) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(_) => run(),
    }
}

/// Runs the command line, and returns the exit code.
fn command() -> u8 {
    // Comes first, because agents and ranks make runs, too.
    session::register_shared_opener(commands::share::open_to_read);
    session::register_net_protocol(&plumb_tools_net_run::protocol::Iperf3);
    let mut words = std::env::args_os();
    let called = words.next().map(std::path::PathBuf::from).unwrap_or_default();
    if called.file_name().is_some_and(|name| name == "init") && std::process::id() == 1 {
        return exit_code(commands::agent::init(), false);
    }
    if is_far_end() {
        return exit_code(commands::agent::far_end(&FarEndArguments::parse_from(std::env::args_os().skip(1))), false);
    }
    match ranks::join(&mut commands::tool::TakesPart) {
        Ok(None) => {}
        Ok(Some(code)) => return code,
        Err(stopped) => return exit_code(Err(stopped), false),
    }
    let as_tool = commands::tool::run_link(&called, words).or_else(|| commands::tool::run_plain(std::env::args_os()));
    if let Some(ended) = as_tool {
        return exit_code(ended, true);
    }
    // clap treats options from the environment as typed.
    if std::env::args_os().len() <= 1 {
        error_text!("{}", help::groups::FIRST_PAGE);
        return exit_code(Ok(End::Usage), false);
    }
    match help::parse(std::env::args_os()) {
        Ok(arguments) => exit_code(run(&arguments), is_kept(&arguments)),
        Err(error) => {
            let text = error.render().to_string();
            // If an argument holds control characters, print the escaped text without clap's colours.
            match plumb_text::visible(&text) {
                std::borrow::Cow::Owned(shown) => error_text!("{shown}"),
                std::borrow::Cow::Borrowed(_) => {
                    let _ = error.print();
                }
            }
            u8::try_from(error.exit_code()).unwrap_or(End::Usage.number())
        }
    }
}

/// Returns `true` if another Plumb process started this one as a host's far end. A typed `plumb agent`
/// is parsed like any other command.
fn is_far_end() -> bool {
    const NOT_TYPED: [&str; 8] =
        ["--rank", "--with-parent", "--gently", "--port", "--state", "--silence", "--vm", "--detached"];
    let mut words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let is_agent = words.next().is_some_and(|word| word == "agent");
    let name = words.next().map(|word| word.split('=').next().unwrap_or_default().to_owned());
    is_agent && name.is_none_or(|name| NOT_TYPED.contains(&name.as_str()))
}

/// Prints the error that ended a command, and returns its exit code. `is_kept` comes from [`is_kept`].
fn exit_code(ended: Result<End, Stopped>, is_kept: bool) -> u8 {
    match ended {
        Ok(end) => match (output::lost(), is_kept) {
            (None, _) => end.number(),
            (Some(reason), true) => {
                error_line!("warning: standard output: {reason}");
                end.number()
            }
            (Some(reason), false) => {
                error_line!("error: standard output: {reason}");
                End::Io.number()
            }
        },
        Err(stopped) => {
            // Errors in a workload's text start with `error: ` themselves, one each.
            let head = if stopped.message.starts_with("error: ") { "" } else { "error: " };
            error_line!("{head}{}", stopped.message);
            stopped.end.number()
        }
    }
}

/// Returns `true` if a command leaves more than its output: a stored result, or the work of a tool's command line.
fn is_kept(arguments: &Arguments) -> bool {
    match &arguments.command {
        PlumbCommand::As { .. }
        | PlumbCommand::Import { .. }
        | PlumbCommand::Push { .. }
        | PlumbCommand::Pull { .. } => true,
        PlumbCommand::Try(_)
        | PlumbCommand::FitFor(_)
        | PlumbCommand::Compare(_)
        | PlumbCommand::Gate(_)
        | PlumbCommand::Noise(_)
        | PlumbCommand::Run(_)
        | PlumbCommand::Sweep(_)
        | PlumbCommand::Posix(_)
        | PlumbCommand::Study { command: StudyCommand::Run(_) | StudyCommand::Resume(_) } => !arguments.common.no_store,
        _ => false,
    }
}

fn run(arguments: &Arguments) -> Result<End, Stopped> {
    let common = &arguments.common;
    match &arguments.command {
        PlumbCommand::Try(arguments) => commands::try_storage::run(arguments, common),
        PlumbCommand::FitFor(arguments) => commands::fit_for::run(arguments, common),
        PlumbCommand::Workloads => commands::workloads::list(common),
        PlumbCommand::Compare(arguments) => commands::compare::run(arguments, common),
        PlumbCommand::Gate(arguments) => commands::gate::run(arguments, common),
        PlumbCommand::Noise(arguments) => commands::noise::run(arguments, common),
        PlumbCommand::Run(arguments) => commands::run::run(arguments, common),
        PlumbCommand::Sweep(arguments) => commands::sweep::run(arguments, common),
        PlumbCommand::Study { command } => commands::study::run(command, common),
        PlumbCommand::Trace { command } => commands::trace::run(command, common),
        PlumbCommand::Audit(arguments) => commands::audit::run(arguments, common),
        PlumbCommand::As { tool: Some(Tool::Words(words)) } => commands::tool::run(words, common),
        PlumbCommand::As { tool: None } => commands::tool::list(common),
        PlumbCommand::Posix(arguments) => commands::posix::run(arguments, common),
        PlumbCommand::Net(arguments) => commands::net::run(arguments, common),
        PlumbCommand::Check { path } => commands::check::run(path, common),
        PlumbCommand::VerifyCapacity(arguments) => commands::capacity::run(arguments, common),
        PlumbCommand::Agent(arguments) => commands::agent::run(arguments),
        PlumbCommand::K8s { command: K8sCommand::Render(arguments) } => commands::k8s::render(arguments),
        PlumbCommand::Watch(arguments) => commands::watch::run(arguments, common),
        PlumbCommand::Explain { code } => commands::explain::run(code.as_deref(), common),
        PlumbCommand::List { tag, number } => commands::store::list(tag.as_deref(), *number, common),
        PlumbCommand::Show { run, plot: true, anonymise, .. } => {
            commands::store::plot(run, Names::new(*anonymise), common)
        }
        PlumbCommand::Show { run, diff, anonymise, .. } => {
            commands::store::show(run, diff.as_deref(), Names::new(*anonymise), common)
        }
        PlumbCommand::Query { sql, timeout } => commands::store::query(sql.as_deref(), *timeout, common),
        PlumbCommand::Tag { run, tag, delete } => commands::store::tag(run, tag, *delete, common),
        PlumbCommand::Retract { run, reason, undo } => commands::marks::retract(run, reason, *undo, common),
        PlumbCommand::Annotate { run, note } => commands::marks::annotate(run, note, common),
        PlumbCommand::Report(arguments) => commands::report::run(arguments, common),
        PlumbCommand::Export(arguments) => commands::export::run(arguments, common),
        PlumbCommand::Import { files, from } => commands::store::import(files, from.as_deref(), common),
        PlumbCommand::Push { to } => commands::share::push(to, common),
        PlumbCommand::Expire { from, before, keep, yes } => commands::share::expire(from, *before, keep, *yes, common),
        PlumbCommand::Pull { from, host, since, tag } => {
            let filter = commands::share::filter(host.as_deref(), *since, tag.as_deref());
            commands::share::pull(from, &filter, common)
        }
        PlumbCommand::Site(arguments) => commands::site::run(arguments, common),
        PlumbCommand::Key(arguments) => commands::key::run(arguments, common),
        PlumbCommand::Verify(arguments) => commands::bundle::run_verify(arguments, common),
        PlumbCommand::Serve(_) => commands::serve::run(),
        PlumbCommand::Schema { form } => commands::schema::run(*form),
        PlumbCommand::Config => commands::config::run(common),
        PlumbCommand::Clean { paths } => commands::clean::run(paths, common),
        PlumbCommand::Completions { shell } => commands::shell::completions(*shell),
        PlumbCommand::Man { command, all } => commands::shell::man(command, all.as_deref()),
    }
}
