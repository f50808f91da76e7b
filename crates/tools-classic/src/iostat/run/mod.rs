//! `plumb as iostat`.

mod names;

use jiff::Zoned;
use names::ThisMachine;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{Early, error_line, error_text, write};
use plumb_engine::signals::{self, Slept, StopFlag, StopSignal};
use plumb_probe::blocks::{BlockWatch, Elsewhere, processors};
use plumb_tools_classic::iostat::print::{FrameEnvironment, TimeFormat, palette};
use plumb_tools_classic::iostat::{
    self, Action, Columns, Compat, IostatSettings, IostatUsageError, OtherPlace, Session, TableLayout, USAGE,
};
use plumb_tools_run::ToolCall;
use plumb_tools_run::dashes;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Runs iostat. Errors go to standard error, with exit code 1.
pub fn as_iostat(call: &ToolCall<'_>) -> Result<End, Stopped> {
    dashes::hint(call);
    let posixly_correct = std::env::var_os("POSIXLY_CORRECT").is_some();
    match iostat::read(call.words, posixly_correct, &mut ThisMachine) {
        Ok(Action::Version) => written(write(iostat::VERSION)),
        Ok(Action::Report(settings)) => {
            warn(&settings);
            run(*settings)
        }
        Err(wrong) => {
            match &wrong {
                IostatUsageError::Usage(reason) => {
                    error_text!("{USAGE}");
                    // iostat itself gives no reason; this one is Plumb's.
                    error_line!("iostat: {reason}");
                }
                IostatUsageError::PersistentType { given } => {
                    error_line!("{wrong}");
                    error_line!("iostat: there is no /dev/disk/by-{}: -j {given}", given.to_lowercase());
                }
            }
            Ok(End::DialectFailed)
        }
    }
}

/// Warns once if other numbers are printed than by iostat.
fn warn(settings: &IostatSettings) {
    let has_parts = settings.layout == TableLayout::Parts && settings.columns == Columns::Extended;
    let shows_use = matches!(settings.columns, Columns::Extended | Columns::ExtendedShort);
    let differs = has_parts || (shows_use && settings.count != Some(1));
    if settings.compat == Compat::Meant && settings.list.has_groups() && differs {
        error_line!(
            "iostat: group totals are corrected; sysstat 12.6.1 divides %util by more devices in each report and \
             loses totals with --pretty (--compat=strict prints its numbers)"
        );
    }
}

/// A shell reports 128 plus the signal number for a program that a signal ends; iostat dies of SIGPIPE.
fn written(outcome: Result<(), Early>) -> Result<End, Stopped> {
    match outcome {
        Ok(()) => Ok(End::Done),
        Err(Early::Unread) => Ok(End::DialectCode(141)),
        Err(Early::Failed(stopped)) => Err(stopped),
    }
}

fn run(settings: IostatSettings) -> Result<End, Stopped> {
    let stop = signals::install().map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
    // As in iostat, SIGINT is handled even if it is ignored, as in scripts for a command with `&`.
    signals::hear(StopSignal::Interrupt).map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
    let ended = written(reports(settings, stop));
    match stop.signal() {
        Some(StopSignal::Terminate) => Ok(End::DialectCode(143)),
        Some(StopSignal::Hangup) => Ok(End::DialectCode(129)),
        // Without a count, Ctrl-C is the normal end.
        _ => ended,
    }
}

fn reports(settings: IostatSettings, stop: StopFlag) -> Result<(), Early> {
    let variable = |name: &str| std::env::var(name).ok();
    let format = TimeFormat::from_variable(variable("S_TIME_FORMAT").as_deref());
    let mut watch = BlockWatch::with_elsewhere(match settings.other_place.clone() {
        None => Elsewhere::Nowhere,
        Some(OtherPlace::Instead(directory)) => Elsewhere::Only(directory),
        Some(OtherPlace::Additional(directory)) => Elsewhere::AlsoIn(directory),
    });
    let uname = rustix::system::uname();
    let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_coloured = std::io::stdout().is_terminal() && !no_colour;
    let environment = FrameEnvironment {
        system: text(uname.sysname()),
        release: text(uname.release()),
        host: text(uname.nodename()),
        machine: text(uname.machine()),
        processors: processors(),
        date: Zoned::now().strftime(format.date).to_string(),
        palette: palette(variable("S_COLORS").as_deref(), variable("S_COLORS_SGR").as_deref(), is_coloured),
    };
    let interval = Duration::from_secs(settings.interval_s);
    let mut session = Session::new(settings, environment);
    write(&session.opening())?;
    let mut next = Instant::now();
    loop {
        let look = watch.read().map_err(Stopped::io)?;
        let time = Zoned::now().strftime(format.time).to_string();
        write(&session.report(&look, time, &mut ThisMachine))?;
        if !session.goes_on() {
            break;
        }
        next = after(next, interval);
        if stop.sleep(next.saturating_duration_since(Instant::now())) == Slept::Cut {
            break;
        }
        write(session.between())?;
    }
    write(session.closing())
}

/// Returns the next tick after now. Ticks that were missed while the machine slept are skipped.
fn after(last: Instant, interval: Duration) -> Instant {
    let late = last.elapsed().as_nanos() / interval.as_nanos().max(1);
    // A number that does not fit is far in the future.
    let beats = u32::try_from(late).unwrap_or(u32::MAX).saturating_add(1);
    interval
        .checked_mul(beats)
        .and_then(|time| last.checked_add(time))
        .unwrap_or_else(|| last + Duration::from_secs(1 << 32))
}
