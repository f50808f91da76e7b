//! `plumb as iometer`.

use plumb_bench::{Bench, Progress};
use plumb_cli::exit::End;
use plumb_cli::output::{self, error_line};
use plumb_engine::guard::OutputFile;
use plumb_engine::signals::StopFlag;
use plumb_tools_app::iometer::{self, Action, Config, IometerSettings, Place, Test, lower, print};
use plumb_tools_run::ToolCall;
use plumb_tools_run::runner::{Dialect, Load, RunEnded, Step, conclude, page, refuse};
use plumb_workload::Workload;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

const TOOL: &str = "iometer";

/// Size limit of a configuration file, bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Name of IOMeter's test file in a directory.
const TEST_FILE: &str = "iobw.tst";

/// An IOMeter command: the tests of a configuration, one after another. The exit code is 1 on any failure.
pub struct IoMeter {
    settings: IometerSettings,
    config: Config,
    tests: Vec<Test>,
    next: usize,
}

pub struct OneTest {
    test: Test,
    workload: Workload,
}

fn now() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%d %H:%M:%S:%3f").to_string()
}

fn read_file(path: &str) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    let count = std::fs::File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    // Only part of the file would be a different configuration.
    if count as u64 > FILE_BYTES_MAX {
        return Err(std::io::Error::other(format!("longer than {} MiB; split it", FILE_BYTES_MAX >> 20)));
    }
    // Names may be in an old encoding. They only have to match each other.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the place of a target: a device by its name, as on Linux, or by its path; a file; or the
/// test file in a directory.
fn place(name: &str) -> Place {
    let device = Path::new("/dev").join(name);
    let path = if !name.contains('/') && device.exists() { device } else { PathBuf::from(name) };
    let path = if path.is_dir() { path.join(TEST_FILE) } else { path };
    let is_device = std::fs::metadata(&path).is_ok_and(|found| found.file_type().is_block_device());
    let length = std::fs::File::open(&path).ok().and_then(|file| {
        let length = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0)).ok();
        length.filter(|bytes| *bytes > 0)
    });
    Place { path, length, is_device }
}

/// Returns `true` for a name of a Windows drive: `C:`, `PHYSICALDRIVE:1`.
fn is_of_windows(name: &str) -> bool {
    let drive = name.as_bytes();
    (drive.first().is_some_and(u8::is_ascii_alphabetic) && drive.get(1) == Some(&b':'))
        || name.to_ascii_uppercase().contains("PHYSICALDRIVE")
}

impl IoMeter {
    /// Appends text to the results.
    fn write(&self, text: &str) -> Step<()> {
        if self.config.setup.record_is_off() {
            return Ok(());
        }
        let Some(path) = &self.settings.results else {
            output::print(text);
            return Ok(());
        };
        OutputFile::named("/r", path).append_all(text.as_bytes()).or_else(|error| refuse(&format!("{TOOL}: {error}\n")))
    }
}

impl Dialect for IoMeter {
    const NAME: &'static str = TOOL;
    type Run = OneTest;
    type Listener<'a> = Silent;

    fn read(call: &ToolCall<'_>) -> Step<IoMeter> {
        let settings = match iometer::read(call.words) {
            Ok(Action::Help) => return page(&iometer::help()),
            Ok(Action::List) => return page(&iometer::section(&iometer::built_in())),
            Ok(Action::Run(settings)) => settings,
            Err(error) => return refuse(&format!("{TOOL}: {error}\n{}", iometer::help())),
        };
        let text =
            read_file(&settings.config).or_else(|error| refuse(&format!("{TOOL}: {}: {error}\n", settings.config)))?;
        let config = Config::parse(&settings.config, &text);
        let config = config.or_else(|error| refuse(&format!("{TOOL}: {error}\n")))?;
        let targets = config.workers.iter().flat_map(|worker| &worker.targets);
        if let Some(name) = targets.clone().find(|name| is_of_windows(name)) {
            return refuse(&format!(
                "{TOOL}: {}: `{name}` is a Windows drive; write the path of a directory or of a device below `'Target`\n",
                settings.config
            ));
        }
        let Some(tests) = config.tests() else {
            let path = &settings.config;
            return refuse(&format!("{TOOL}: {path}: it makes more than 10000 tests; make its cycles shorter\n"));
        };
        Ok(IoMeter { settings, config, tests, next: 0 })
    }

    fn next(&mut self, stop: Option<StopFlag>) -> Step<OneTest> {
        if stop.is_some_and(|stop| stop.signal().is_some()) {
            self.write(print::ABORTED)?;
            return Err(End::Interrupted.into());
        }
        let Some(test) = self.tests.get(self.next).cloned() else {
            self.write(print::END)?;
            return Err(End::Done.into());
        };
        let seed = jiff::Timestamp::now().as_nanosecond() as u64 >> 1;
        let workload = lower(&self.config, &test, place, seed);
        let workload = workload.or_else(|error| refuse(&format!("{TOOL}: {}: {error}\n", self.settings.config)))?;
        if self.next == 0 {
            self.write(&print::head(&self.config, &now()))?;
        }
        if test.is_first {
            self.write(&print::specs(&self.config, &test))?;
        }
        self.next += 1;
        if self.settings.results.is_some() {
            error_line!("{TOOL}: test {} of {}", self.next, self.tests.len());
        }
        Ok(OneTest { test, workload })
    }

    fn load<'a>(&'a self, run: &'a OneTest) -> Load<'a> {
        Load::here(&run.workload)
    }

    fn listen<'a>(&'a self, _run: &'a OneTest, _bench: &mut Bench) -> Step<Silent> {
        Ok(Silent)
    }

    fn print<'a>(&'a self, run: &'a OneTest, _silent: Silent, ended: &RunEnded) -> Step<()> {
        if let Some(phase) = ended.outcome().and_then(|outcome| outcome.measurement.phases.first()) {
            self.write(&print::results(&self.config, &run.test, phase, &now()))?;
        }
        match conclude(TOOL, ended) {
            End::Done => Ok(()),
            end => {
                self.write(print::ABORTED)?;
                Err(end.into())
            }
        }
    }
}

/// IOMeter without a window prints nothing during a test.
pub struct Silent;

impl Progress for Silent {}
