//! `plumb as vdbench`.

use plumb_bench::{Bench, Progress};
use plumb_cli::exit::End;
use plumb_cli::output::{self, error_line};
use plumb_engine::PhaseNow;
use plumb_engine::guard::OutputFile;
use plumb_engine::signals::StopFlag;
use plumb_result::measurement::PhaseMeasurement;
use plumb_tools_app::vdbench::flat;
use plumb_tools_app::vdbench::print::{self, Done, HEADER_EVERY};
use plumb_tools_app::vdbench::print_files::{self, FilesDone};
use plumb_tools_app::vdbench::{self, Action, Places, Rate, Run, Script, VdbenchSettings, lower};
use plumb_tools_run::ToolCall;
use plumb_tools_run::runner::{Dialect, Load, RunEnded, Step, conclude, page, refuse};
use plumb_workload::Workload;
use std::cell::{Cell, RefCell};
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

const TOOL: &str = "vdbench";

/// Size limit of a parameter file, bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// A vdbench command: the runs of a parameter file, one after another. The exit code is 1 on any failure.
pub struct Vdbench {
    settings: VdbenchSettings,
    script: Script,
    next: usize,
    /// Rate of the current curve's first run, I/Os per second.
    largest: Cell<f64>,
    /// All text printed so far, for `summary.html`.
    printed: RefCell<String>,
    /// Lines of `flatfile.html` so far.
    flat: RefCell<String>,
}

/// A run that is executed.
pub struct OneRun {
    run: Run,
    workload: Workload,
    /// Base directory of its files.
    base: PathBuf,
    /// Lengths of the storage, and the requested rate.
    lengths: Vec<Option<u64>>,
    rate: Option<f64>,
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
    // Only part of the file would be a different workload.
    if bytes as u64 > FILE_BYTES_MAX {
        return Err(std::io::Error::other(format!("longer than {} MiB; split it", FILE_BYTES_MAX >> 20)));
    }
    Ok(text)
}

/// Returns the length of a file or device.
fn length(path: &str) -> Option<u64> {
    let file = std::fs::File::open(path).ok()?;
    rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0)).ok()
}

/// Returns the directories for a run's files: one below each anchor, for the files of one file system.
fn directories(run: &Run) -> std::io::Result<Vec<PathBuf>> {
    // vdbench creates a missing anchor. Its parent is on the same storage.
    let found = |anchor: &str| {
        let anchor = std::path::absolute(anchor)?;
        let parent = anchor.parent().unwrap_or(&anchor);
        Ok(if anchor.is_dir() { anchor } else { parent.to_owned() })
    };
    run.anchors().map(found).collect()
}

impl Vdbench {
    fn starting(&self, run: &Run, rate: Option<f64>, simulates: bool) {
        let line = match run.has_files() {
            true => print_files::starting(run, rate, &clock(), simulates),
            false => print::starting(run, rate, &clock(), simulates),
        };
        self.say(&line);
    }

    fn say(&self, text: &str) {
        output::print(text);
        self.printed.borrow_mut().push_str(text);
    }

    /// Ends the program. The printed text goes to a file if `-o` is given.
    fn end(&self, end: End) -> End {
        if end == End::Done {
            let directory = self.settings.output.as_deref().unwrap_or("(none)");
            self.say(&format!(
                "{} Vdbench execution completed successfully. Output directory: {directory} \n",
                clock()
            ));
        }
        let Some(directory) = &self.settings.output else { return end };
        let directory = std::path::Path::new(directory);
        let page = |title: &str, text: &str| format!("<title>Vdbench {title}</title><pre>\n{text}</pre>\n");
        let has_files = self.script.runs.first().is_some_and(Run::has_files);
        let flat = flat::header(has_files) + &self.flat.borrow();
        let pages =
            [("summary.html", page("summary", &self.printed.borrow())), ("flatfile.html", page("flatfile", &flat))];
        for (name, text) in pages {
            let path = directory.join(name);
            let file = OutputFile::made_up("-o", &path);
            let made = std::fs::create_dir_all(directory).map_err(file.failed());
            if let Err(error) = made.and_then(|()| file.replace(text.as_bytes())) {
                error_line!("{TOOL}: {error}");
                return End::DialectFailed;
            }
        }
        end
    }

    /// Adds the line of an interval, or of the mean of all intervals, to the flat file.
    fn flat_line(&self, run: &OneRun, title: &str, done: &So, seconds: f64) {
        if self.settings.output.is_none() {
            return;
        }
        let now = jiff::Zoned::now();
        let date = now.strftime("%m/%d/%Y-%H:%M:%S-%Z").to_string();
        let moment = flat::Moment { time: now.strftime("%H:%M:%S.%3f").to_string(), date };
        let line = match done {
            So::Blocks(done) => {
                let of = (&self.script, &run.run, run.lengths.as_slice());
                flat::of_blocks(of, run.rate, &moment, title, (done, seconds))
            }
            So::Files(done) => flat::of_files(&run.run, run.rate, &moment, title, (done, seconds)),
        };
        self.flat.borrow_mut().push_str(&line);
    }
}

impl Dialect for Vdbench {
    const NAME: &'static str = TOOL;
    type Run = OneRun;
    type Listener<'a> = VdbenchProgress<'a>;

    fn read(call: &ToolCall<'_>) -> Step<Vdbench> {
        let settings = match vdbench::read(call.words) {
            Ok(Action::Help) => return page(&vdbench::help()),
            Ok(Action::Run(settings)) => settings,
            Err(error) => return refuse(&format!("{TOOL}: {error}\n{}", vdbench::help())),
        };
        let text =
            read_file(&settings.file).or_else(|error| refuse(&format!("{TOOL}: {}: {error}\n", settings.file)))?;
        let script = Script::parse(&settings.file, &text, &settings);
        let script = script.or_else(|error| refuse(&format!("{TOOL}: {error}\n")))?;
        for note in &script.notes {
            error_line!("{TOOL}: {note}");
        }
        Ok(Vdbench {
            settings,
            script,
            next: 0,
            largest: Cell::new(0.0),
            printed: RefCell::default(),
            flat: RefCell::default(),
        })
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
                self.starting(&run, None, true);
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
            if self.script.makes_anchors {
                let made = run.anchors().try_for_each(std::fs::create_dir_all);
                made.or_else(|error| refuse(&format!("{TOOL}: rd={}: create_anchors: {error}\n", run.name)))?;
            }
            let directories =
                directories(&run).or_else(|error| refuse(&format!("{TOOL}: rd={}: {error}\n", run.name)))?;
            let base = directories.first().cloned().unwrap_or_else(|| PathBuf::from("."));
            let several = if directories.len() > 1 { directories.as_slice() } else { &[] };
            let places = Places { lengths: &lengths, directories: several };
            let seed = jiff::Timestamp::now().as_nanosecond() as u64 >> 1;
            let workload = lower(&self.script, &run, places, rate, seed);
            let workload = workload.or_else(|error| refuse(&format!("{TOOL}: {error}\n")))?;
            self.starting(&run, rate, false);
            return Ok(OneRun { run, workload, base, lengths, rate });
        }
    }

    fn load<'a>(&'a self, run: &'a OneRun) -> Load<'a> {
        Load { workload: &run.workload, base: &run.base }
    }

    fn listen<'a>(&'a self, run: &'a OneRun, _bench: &mut Bench) -> Step<VdbenchProgress<'a>> {
        Ok(VdbenchProgress { tool: self, run, number: 0, last: So::none(&run.run) })
    }

    fn print<'a>(&'a self, run: &'a OneRun, watching: VdbenchProgress<'a>, ended: &RunEnded) -> Step<()> {
        if let Some(phase) = ended.outcome().and_then(|outcome| outcome.measurement.phases.first()) {
            let (done, seconds) = (So::far(&run.run, phase), phase.wall_ns as f64 / 1e9);
            if run.run.rate == Rate::CurveMax {
                self.largest.set(done.rate(&run.run, seconds));
            }
            if watching.number == 0 {
                self.say(&done.header(&run.run));
            }
            let title = format!("avg_1-{}", watching.number.max(1));
            self.say(&done.line(&run.run, &title, seconds));
            self.flat_line(run, &title, &done, seconds);
        }
        match conclude(TOOL, ended) {
            End::Done => Ok(()),
            end => Err(self.end(end).into()),
        }
    }
}

/// Totals of a run so far.
enum So {
    Blocks(Done),
    Files(FilesDone),
}

impl So {
    fn none(run: &Run) -> So {
        if run.has_files() { So::Files(FilesDone::default()) } else { So::Blocks(Done::default()) }
    }

    fn far(run: &Run, phase: &PhaseMeasurement) -> So {
        match run.has_files() {
            true => So::Files(FilesDone::from_ops(&phase.ops, phase.transactions.unwrap_or(0))),
            false => So::Blocks(Done::from_ops(&phase.ops)),
        }
    }

    fn since(&self, earlier: &So) -> So {
        match (self, earlier) {
            (So::Blocks(now), So::Blocks(earlier)) => So::Blocks(now.since(earlier)),
            (So::Files(now), So::Files(earlier)) => So::Files(now.since(earlier)),
            (So::Blocks(now), So::Files(_)) => So::Blocks(now.clone()),
            (So::Files(now), So::Blocks(_)) => So::Files(now.clone()),
        }
    }

    fn rate(&self, run: &Run, seconds: f64) -> f64 {
        match self {
            So::Blocks(done) => done.rate(seconds),
            So::Files(done) => done.rate(run, seconds),
        }
    }

    fn header(&self, run: &Run) -> String {
        let today = jiff::Zoned::now().strftime("%b %d, %Y").to_string();
        match self {
            So::Blocks(_) => print::header(&today),
            So::Files(_) => print_files::header(run, &today),
        }
    }

    fn line(&self, run: &Run, title: &str, seconds: f64) -> String {
        match self {
            So::Blocks(done) => print::line(&clock(), title, done, seconds),
            So::Files(done) => print_files::line(run, &clock(), title, done, seconds),
        }
    }
}

/// Prints a line for each interval.
pub struct VdbenchProgress<'a> {
    tool: &'a Vdbench,
    run: &'a OneRun,
    number: u64,
    last: So,
}

impl Progress for VdbenchProgress<'_> {
    fn tick_ns(&self) -> Option<u64> {
        Some(self.run.run.interval_s.saturating_mul(1_000_000_000))
    }

    fn tick(&mut self, now: &dyn PhaseNow) {
        let run = &self.run.run;
        let warmup_ns = run.warmup_s.saturating_mul(1_000_000_000);
        // The warm-up is not counted.
        if now.elapsed_ns().saturating_sub(warmup_ns) < run.interval_s.saturating_mul(500_000_000) {
            return;
        }
        if self.number.is_multiple_of(HEADER_EVERY) {
            self.tool.say(&self.last.header(run));
        }
        self.number += 1;
        let done = So::far(run, &now.measurement());
        let (seconds, title) = (run.interval_s as f64, self.number.to_string());
        let interval = done.since(&self.last);
        self.tool.say(&interval.line(run, &title, seconds));
        self.tool.flat_line(self.run, &title, &interval, seconds);
        self.last = done;
    }
}
