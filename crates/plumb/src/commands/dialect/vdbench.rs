//! `plumb as vdbench`.

use super::ToolCall;
use super::runner::{Dialect, Load, RunEnded, Step, conclude, page, refuse};
use crate::exit::End;
use crate::output::{self, error_line};
use plumb_dialects::vdbench::print::{self, Done, HEADER_EVERY};
use plumb_dialects::vdbench::{self, Action, Rate, Run, Script, Settings, lower};
use plumb_engine::PhaseNow;
use plumb_engine::signals::StopFlag;
use plumb_study::{Bench, Progress};
use plumb_workload::Workload;
use std::cell::{Cell, RefCell};
use std::io::Read;
use std::time::Duration;

const TOOL: &str = "vdbench";

/// A parameter file is no longer than this, bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// One run of a parameter file after another. The code is 1 where anything is wrong.
pub struct Vdbench {
    settings: Settings,
    script: Script,
    next: usize,
    /// What the first run of the curve at hand did, I/Os a second.
    largest: Cell<f64>,
    /// All that was printed.
    printed: RefCell<String>,
}

/// A run that is made.
pub struct OneRun {
    run: Run,
    workload: Workload,
}

fn clock() -> String {
    jiff::Zoned::now().strftime("%H:%M:%S.%3f").to_string()
}

fn read_file(path: &str) -> std::io::Result<String> {
    let mut text = String::new();
    let bytes = match path {
        "-" => std::io::stdin().lock().take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?,
        path => std::fs::File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?,
    };
    // A part of it would be another study.
    if bytes as u64 > FILE_BYTES_MAX {
        return Err(std::io::Error::other(format!("longer than {} MiB; split it", FILE_BYTES_MAX >> 20)));
    }
    Ok(text)
}

/// The length of a file or device.
fn length(path: &str) -> Option<u64> {
    let file = std::fs::File::open(path).ok()?;
    rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0)).ok()
}

impl Vdbench {
    fn say(&self, text: &str) {
        output::print(text);
        self.printed.borrow_mut().push_str(text);
    }

    /// The end of it all; what was printed goes to a file, where that is asked for.
    fn end(&self, end: End) -> End {
        if end == End::Done {
            let directory = self.settings.output.as_deref().unwrap_or("(none)");
            self.say(&format!(
                "{} Vdbench execution completed successfully. Output directory: {directory} \n",
                clock()
            ));
        }
        let Some(directory) = &self.settings.output else { return end };
        let path = std::path::Path::new(directory).join("summary.html");
        let page = format!("<title>Vdbench summary</title><pre>\n{}</pre>\n", self.printed.borrow());
        match std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&path, page)) {
            Ok(()) => end,
            Err(error) => {
                error_line!("{TOOL}: cannot write '{}': {error}", path.display());
                End::DialectFailed
            }
        }
    }
}

impl Dialect for Vdbench {
    const NAME: &'static str = TOOL;
    type Run = OneRun;
    type Listener<'a> = Watching<'a>;

    fn read(call: &ToolCall<'_>) -> Step<Vdbench> {
        let settings = match vdbench::read(call.words) {
            Ok(Action::Help) => return page(&vdbench::help()),
            Ok(Action::Run(settings)) => settings,
            Err(wrong) => return refuse(&format!("{TOOL}: {wrong}\n{}", vdbench::help())),
        };
        let text =
            read_file(&settings.file).or_else(|error| refuse(&format!("{TOOL}: {}: {error}\n", settings.file)))?;
        let script = Script::parse(&settings.file, &text, &settings);
        let script = script.or_else(|wrong| refuse(&format!("{TOOL}: {wrong}\n")))?;
        Ok(Vdbench { settings, script, next: 0, largest: Cell::new(0.0), printed: RefCell::default() })
    }

    fn next(&mut self, stop: Option<StopFlag>) -> Step<OneRun> {
        loop {
            if stop.is_some_and(|stop| stop.signal().is_some()) {
                return Err(self.end(End::Interrupted).into());
            }
            let Some(run) = self.script.runs.get(self.next).cloned() else {
                return Err(self.end(End::Done).into());
            };
            self.next += 1;
            if self.settings.simulates {
                self.say(&print::starting(&run, None, &clock(), true));
                continue;
            }
            if run.pause_s > 0 {
                match stop {
                    Some(stop) => _ = stop.sleep(Duration::from_secs(run.pause_s)),
                    None => std::thread::sleep(Duration::from_secs(run.pause_s)),
                }
            }
            let lengths: Vec<Option<u64>> = self.script.paths().map(length).collect();
            let rate = print::rate(&run, self.largest.get());
            let workload =
                lower(&self.script, &run, &lengths, rate, jiff::Timestamp::now().as_nanosecond() as u64 >> 1);
            let workload = workload.or_else(|wrong| refuse(&format!("{TOOL}: {wrong}\n")))?;
            self.say(&print::starting(&run, rate, &clock(), false));
            return Ok(OneRun { run, workload });
        }
    }

    fn load<'a>(&'a self, run: &'a OneRun) -> Load<'a> {
        Load::here(&run.workload)
    }

    fn listen<'a>(&'a self, run: &'a OneRun, _bench: &mut Bench) -> Step<Watching<'a>> {
        Ok(Watching { tool: self, run: &run.run, number: 0, last: Done::default() })
    }

    fn print<'a>(&'a self, run: &'a OneRun, watching: Watching<'a>, ended: &RunEnded) -> Step<()> {
        if let Some(phase) = ended.outcome().and_then(|outcome| outcome.measurement.phases.first()) {
            let (done, seconds) = (Done::of(&phase.ops), phase.wall_ns as f64 / 1e9);
            if run.run.rate == Rate::CurveMax {
                self.largest.set(done.rate(seconds));
            }
            let title = format!("avg_1-{}", watching.number.max(1));
            self.say(&print::line(&clock(), &title, &done, seconds));
        }
        match conclude(TOOL, ended) {
            End::Done => Ok(()),
            end => Err(self.end(end).into()),
        }
    }
}

/// Prints a line of each interval.
pub struct Watching<'a> {
    tool: &'a Vdbench,
    run: &'a Run,
    number: u64,
    last: Done,
}

impl Progress for Watching<'_> {
    fn tick_ns(&self) -> Option<u64> {
        Some(self.run.interval_s.saturating_mul(1_000_000_000))
    }

    fn tick(&mut self, now: &dyn PhaseNow) {
        let warmup_ns = self.run.warmup_s.saturating_mul(1_000_000_000);
        // Of the warm-up, nothing is counted.
        if now.elapsed_ns().saturating_sub(warmup_ns) < self.run.interval_s.saturating_mul(500_000_000) {
            return;
        }
        if self.number.is_multiple_of(HEADER_EVERY) {
            self.tool.say(&print::header(&jiff::Zoned::now().strftime("%b %d, %Y").to_string()));
        }
        self.number += 1;
        let done = Done::of(&now.measurement().ops);
        let seconds = self.run.interval_s as f64;
        self.tool.say(&print::line(&clock(), &self.number.to_string(), &done.since(&self.last), seconds));
        self.last = done;
    }
}
