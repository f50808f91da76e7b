//! `plumb watch`: shows the activity of devices, and of the processes that cause it.

mod choice;
mod screen;

use crate::args::WatchArguments;
use choice::DeviceChoice;
use jiff::Zoned;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{Early, write};
use plumb_cli::terminal::has_screen;
use plumb_engine::signals::{self, Slept, StopFlag};
use plumb_probe::blocks::BlockWatch;
use plumb_probe::others::IoWatch;
use plumb_report::watch::{plain, plain_opening};
use plumb_result::blocks::{BlockStat, MachineReading};
use plumb_result::watch::{CpuUse, DeviceUse, ProcessRate, WATCH_SCHEMA, Watched};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Shortest interval. The kernel counts whole milliseconds: a shorter one would mostly show rounding.
const SHORTEST: Duration = Duration::from_millis(100);

/// Runs until a signal or a key, or for the given number of intervals.
pub(crate) fn run(arguments: &WatchArguments, common: &Common) -> Result<End, Stopped> {
    let interval = Duration::from_nanos(arguments.interval.0);
    if interval < SHORTEST {
        return Err(Stopped::usage(format!(
            "--interval {}: the shortest is 100ms, since the kernel counts whole milliseconds",
            arguments.interval
        )));
    }
    let mut watcher = Watcher::new(&arguments.devices)?;
    let stop = signals::install().map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
    let beat = Beat { interval, left: arguments.count, next: Instant::now() };
    let has_screen = std::io::stdout().is_terminal() && has_screen();
    let outcome = if common.json {
        lines(&mut watcher, beat, stop, |seen| {
            Ok(format!("{}\n", plumb_document::json::to_string(seen).map_err(Stopped::io)?))
        })
    } else if arguments.plain || !has_screen {
        // Named devices are shown even if they were idle.
        let is_named = !arguments.devices.is_empty();
        write(&plain_opening())
            .and_then(|()| lines(&mut watcher, beat, stop, |seen| Ok(plain(seen, &clock(), is_named))))
    } else {
        screen::run(&mut watcher, beat, stop)
    };
    match outcome {
        // The reader closed the pipe, or the user quit.
        Ok(()) | Err(Early::Unread) => Ok(End::Done),
        Err(Early::Failed(stopped)) => Err(stopped),
    }
}

fn clock() -> String {
    Zoned::now().strftime("%H:%M:%S").to_string()
}

struct Beat {
    interval: Duration,
    /// Remaining intervals; `None` for no limit.
    left: Option<u64>,
    next: Instant,
}

impl Beat {
    /// Returns the end of the next interval. Skips intervals that passed while the machine slept.
    fn advance(&mut self) -> Instant {
        self.next += self.interval;
        if self.next < Instant::now() {
            self.next = Instant::now() + self.interval;
        }
        self.next
    }

    /// Counts a finished interval, and returns `true` if another one follows.
    fn continues(&mut self) -> bool {
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.left != Some(0)
    }
}

/// Prints each interval until the last one or a signal.
fn lines(
    watcher: &mut Watcher,
    mut beat: Beat,
    stop: StopFlag,
    format: impl Fn(&Watched) -> Result<String, Stopped>,
) -> Result<(), Early> {
    loop {
        let end = beat.advance();
        if stop.sleep(end.saturating_duration_since(Instant::now())) == Slept::Cut {
            return Ok(());
        }
        write(&format(&watcher.interval()?)?)?;
        if !beat.continues() {
            return Ok(());
        }
    }
}

/// Samples devices and processes, and computes their activity between two samples.
struct Watcher {
    choice: DeviceChoice,
    blocks: BlockWatch,
    processes: IoWatch,
    last: MachineReading,
}

impl Watcher {
    fn new(devices: &[String]) -> Result<Watcher, Stopped> {
        let mut blocks = BlockWatch::new();
        let last = blocks.read().map_err(Stopped::io)?;
        let choice = DeviceChoice::new(devices, &last)?;
        Ok(Watcher { choice, blocks, processes: IoWatch::start(), last })
    }

    /// Takes a sample, and returns the activity since the last one.
    fn interval(&mut self) -> Result<Watched, Stopped> {
        let now = self.blocks.read().map_err(Stopped::io)?;
        let everyone = self.processes.advance();
        let interval_ns = now.at_ns.saturating_sub(self.last.at_ns);
        let seconds = interval_ns as f64 / 1e9;
        let devices = now
            .devices
            .iter()
            .filter(|device| self.choice.has(device))
            .map(|device| {
                let before = self.last.devices.iter().find(|one| one.name == device.name);
                let before = before.map_or_else(BlockStat::default, |before| before.stat);
                DeviceUse::from_counters(&device.name, &device.stat.since(&before), seconds)
            })
            .collect();
        let seen = Watched {
            schema: WATCH_SCHEMA.to_owned(),
            at: jiff::Timestamp::now().to_string(),
            interval_ns,
            cpu: CpuUse::between(&self.last.cpu, &now.cpu),
            devices,
            processes: everyone.processes.iter().map(|one| ProcessRate::from_counters(one, seconds)).collect(),
            processes_readable: everyone.readable,
            processes_closed: everyone.closed,
            is_root: rustix::process::geteuid().is_root(),
        };
        self.last = now;
        Ok(seen)
    }
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Formats an interval for the title: `1 s`.
fn interval_text(interval: Duration) -> String {
    plumb_result::number::TIME.set(interval.as_nanos() as f64, plumb_result::number::Digits::Spoken)
}
