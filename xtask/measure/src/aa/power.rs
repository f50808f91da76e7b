//! `cargo xtask aa power`: gates compared with their promised bars, on simulated devices with
//! a known truth, and on real storage.

use super::places::{self, Mounted, Storage, TRIAL};
use crate::binomial::{Interval, exact_interval};
use crate::mount::{FileSystem, Overlay, Tmpfs};
use anyhow::{Context, Result, bail, ensure};
use plumb_result::{Gate, GateAnswer};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug)]
pub(crate) struct Options {
    trials: u64,
    only: String,
    binary: Option<PathBuf>,
    /// Directory for real file systems; `None` for simulated devices.
    real: Option<PathBuf>,
}

impl Options {
    /// Reads the arguments after `aa power`.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Options> {
        let mut options = Options { trials: 200, only: String::new(), binary: None, real: None };
        let mut arguments = arguments.iter();
        while let Some(&argument) = arguments.next() {
            if argument == "--real" {
                (options.trials, options.real) = (40, Some(xtask::tools::target_directory().join("aa")));
                continue;
            }
            let value = arguments.next().copied().with_context(|| format!("{argument} needs a value"))?;
            match argument {
                "--trials" => options.trials = value.parse().context("--trials takes a number")?,
                "--only" => options.only = value.to_owned(),
                "--binary" => options.binary = Some(PathBuf::from(value)),
                other => bail!("aa power knows no `{other}`; there are --real, --trials, --only and --binary"),
            }
        }
        Ok(options)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    /// Minimum percentage of gates that find an existing regression.
    Found(u32),
    /// Maximum percentage of gates that find a nonexistent regression.
    False(u32),
    /// Minimum percentage of gates without a verdict that decide when repeated with the time that they ask for.
    Decided(u32),
}

struct Scenario {
    name: &'static str,
    sides: Sides,
    /// Options that set the work and the judged numbers.
    work: &'static [&'static str],
    /// Budget of the (first) gate, in the devices' own time.
    budget: &'static str,
    time: &'static str,
    counted: Counted,
}

/// The two sides of a gate.
#[derive(Debug, Clone, Copy)]
enum Sides {
    /// Simulated devices: faults of both sides, faults of the candidate only.
    Simulated([&'static str; 2]),
    /// A directory of a tmpfs, and an overlay over directories of the same tmpfs.
    Overlay,
    /// Two new file systems of one kind.
    Twins(Storage),
}

const fn scenario(
    name: &'static str,
    faults: [&'static str; 2],
    [budget, time]: [&'static str; 2],
    counted: Counted,
) -> Scenario {
    Scenario { name, sides: Sides::Simulated(faults), work: &[], budget, time, counted }
}

/// A device that is slower by 10 % takes 1.1 times as long, and has a rate lower by 9.1 %.
const SLOWER: &str = "slow=10%";
/// Short runs of a simulated device cost little and are as noisy as long ones: its spread is one draw per run.
const SHORT: &str = "200ms";

const SCENARIOS: &[Scenario] = &[
    scenario("10 % slower, spread 3 %, 5 min", ["cv=3%", SLOWER], ["5min", "2s"], Counted::Found(80)),
    scenario("10 % slower, spread 6 %, 5 min", ["cv=6%", SLOWER], ["5min", "2s"], Counted::Found(80)),
    scenario("unchanged, spread 1 %", ["cv=1%", ""], ["6s", SHORT], Counted::False(5)),
    scenario("unchanged, spread 3 %", ["cv=3%", ""], ["6s", SHORT], Counted::False(5)),
    scenario("unchanged, spread 6 %", ["cv=6%", ""], ["6s", SHORT], Counted::False(5)),
    scenario("unchanged, spread 12 %", ["cv=12%", ""], ["30s", SHORT], Counted::False(5)),
    scenario("unchanged, drift", ["cv=2%&drift=0.5%", ""], ["6s", SHORT], Counted::False(5)),
    scenario("unchanged, slow mode", ["cv=2%&bimodal=20%", ""], ["6s", SHORT], Counted::False(5)),
    scenario("unchanged, spread 6 %, asks", ["cv=6%", ""], ["3s", SHORT], Counted::Decided(70)),
    scenario("unchanged, spread 12 %, asks", ["cv=12%", ""], ["3s", SHORT], Counted::Decided(70)),
    scenario("unchanged, spread 20 %, asks", ["cv=20%", ""], ["4s", SHORT], Counted::Decided(70)),
    scenario("10 % slower, spread 6 %, asks", ["cv=6%", SLOWER], ["3s", SHORT], Counted::Decided(70)),
    scenario("10 % slower, spread 12 %, asks", ["cv=12%", SLOWER], ["3s", SHORT], Counted::Decided(70)),
    scenario("5 % slower, spread 6 %, asks", ["cv=6%", "slow=5%"], ["3s", SHORT], Counted::Decided(70)),
];

/// The overlay's slowdown depends on work, machine and kernel; the last column shows the observed ratio.
const REAL: &[Scenario] = &[
    Scenario {
        name: "tmpfs against an overlay on it, random reads, 5 min",
        sides: Sides::Overlay,
        work: &["--for", "random-read"],
        budget: "5min",
        time: "1s",
        counted: Counted::Found(80),
    },
    Scenario {
        name: "tmpfs against an overlay on it, a log's fdatasync, 5 min",
        sides: Sides::Overlay,
        work: &["--for", "fsync-log", "--metrics", "fdatasync.ops"],
        budget: "5min",
        time: "1s",
        counted: Counted::Found(80),
    },
    Scenario {
        name: "equal ext4, asks",
        sides: Sides::Twins(Storage::Disk(FileSystem::Ext4)),
        work: &[],
        budget: "18s",
        time: "500ms",
        counted: Counted::Decided(70),
    },
    Scenario {
        name: "equal tmpfs, asks",
        sides: Sides::Twins(Storage::Memory),
        work: &[],
        budget: "18s",
        time: "500ms",
        counted: Counted::Decided(70),
    },
];

/// File size of gates on real storage: two files and the file system's metadata fit
/// into the smallest of those made here.
const REAL_SIZE: &str = "64MiB";
const MEMORY_BYTES: u64 = 400 << 20;

/// Runs every scenario, prints the results, and fails if a bar is missed beyond chance.
pub(crate) fn run(options: &Options) -> Result<()> {
    let plumb = xtask::tools::plumb(options.binary.as_deref(), xtask::tools::Profile::Release)?;
    if let Some(work) = &options.real {
        ensure!(xtask::packages::is_root(), "--real makes file systems and mounts them: run it as root");
        std::fs::create_dir_all(work).with_context(|| format!("making {}", work.display()))?;
        places::take_down_leftovers(&work.canonicalize()?)?;
    }
    let scenarios = if options.real.is_some() { REAL } else { SCENARIOS };
    println!(
        "| scenario | gates | counted | rate | exact 95 % interval | bar | pass | regression | cannot tell | median ratio (least–most) |"
    );
    println!("|---|---:|---:|---:|---|---|---:|---:|---:|---|");
    let mut missed = Vec::new();
    for scenario in scenarios.iter().filter(|scenario| scenario.name.contains(&options.only)) {
        let setup = Setup { plumb: &plumb, work: options.real.as_deref() };
        let counts = trials(&setup, scenario, options.trials)?;
        let Interval { lo, hi } = exact_interval(counts.hits, counts.of);
        let (bar, is_missed) = match scenario.counted {
            Counted::Found(least) | Counted::Decided(least) => (format!("≥ {least} %"), hi < f64::from(least) / 100.0),
            Counted::False(most) => (format!("≤ {most} %"), lo > f64::from(most) / 100.0),
        };
        let [pass, regression, open] = counts.answers;
        println!(
            "| {} | {} | {} | {:.1} % | {:.1}–{:.1} % | {bar} | {pass} | {regression} | {open} | {} |",
            scenario.name,
            counts.of,
            counts.hits,
            100.0 * counts.hits as f64 / counts.of.max(1) as f64,
            lo * 100.0,
            hi * 100.0,
            counts.ratios_line()
        );
        if is_missed {
            missed.push(scenario.name);
        }
    }
    ensure!(missed.is_empty(), "missed beyond chance: {}", missed.join("; "));
    Ok(())
}

#[derive(Default)]
struct Counts {
    hits: u64,
    of: u64,
    /// Answers of each trial's last gate: pass, regression, cannot tell.
    answers: [u64; 3],
    /// Ratio of candidate to baseline in each trial's last gate.
    ratios: Vec<f64>,
}

impl Counts {
    fn ratios_line(&self) -> String {
        let least = self.ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.ratios.iter().copied().fold(0.0, f64::max);
        let Some(median) = plumb_stats::summary::median(&self.ratios) else { return "—".to_owned() };
        format!("{median:.3}× ({least:.3}–{most:.3})")
    }
}

struct Setup<'a> {
    plumb: &'a Path,
    /// Directory for real file systems.
    work: Option<&'a Path>,
}

fn trials(setup: &Setup<'_>, scenario: &Scenario, trials: u64) -> Result<Counts> {
    let mut counts = Counts::default();
    for trial in 0..trials {
        let first = gate(setup, scenario, &["--budget", scenario.budget], 2 * trial + 1)?;
        let last = match (scenario.counted, &first.needed) {
            (Counted::Decided(_), Some(needed)) => {
                let options = needed.options.clone().unwrap_or_default();
                gate(setup, scenario, &options.split(' ').collect::<Vec<_>>(), 2 * trial + 2)?
            }
            // A gate that decided at once, or named no time, did not use the time.
            (Counted::Decided(_), None) => continue,
            _ => first,
        };
        counts.of += 1;
        counts.ratios.extend(last.numbers.first().and_then(|number| number.ratio));
        counts.answers[match last.answer {
            GateAnswer::Pass => 0,
            GateAnswer::Regression => 1,
            GateAnswer::CannotTell => 2,
        }] += 1;
        counts.hits += u64::from(match scenario.counted {
            Counted::Found(_) | Counted::False(_) => last.answer == GateAnswer::Regression,
            Counted::Decided(_) => last.answer != GateAnswer::CannotTell,
        });
    }
    Ok(counts)
}

/// Both sides of a gate, and the resources to release with them.
struct GatePlaces {
    baseline: String,
    candidate: String,
    _overlay: Option<Overlay>,
    _memory: Option<Tmpfs>,
    _mounted: Vec<Mounted>,
    _folder: Option<tempfile::TempDir>,
}

impl GatePlaces {
    fn create(sides: Sides, work: Option<&Path>) -> Result<GatePlaces> {
        let folder = work.map(|work| tempfile::Builder::new().prefix(TRIAL).tempdir_in(work)).transpose()?;
        let word = |path: &Path| path.to_string_lossy().into_owned();
        let mut places = GatePlaces {
            baseline: String::new(),
            candidate: String::new(),
            _overlay: None,
            _memory: None,
            _mounted: Vec::new(),
            _folder: None,
        };
        match (sides, &folder, work) {
            (Sides::Simulated([both, candidate]), ..) => {
                let device = |faults: &[&str]| {
                    let faults: Vec<&str> = faults.iter().copied().filter(|fault| !fault.is_empty()).collect();
                    format!("sim:ssd?{}", faults.join("&"))
                };
                (places.baseline, places.candidate) = (device(&[both]), device(&[both, candidate]));
            }
            (Sides::Overlay, Some(folder), _) => {
                let memory = Tmpfs::below(folder.path(), MEMORY_BYTES)?.context("no tmpfs can be mounted here")?;
                let overlay = Overlay::on(&memory)?.context("no overlay can be mounted here")?;
                let plain = memory.place().join("plain");
                std::fs::create_dir(&plain)?;
                (places.baseline, places.candidate) = (word(&plain), word(overlay.place()));
                (places._memory, places._overlay) = (Some(memory), Some(overlay));
            }
            (Sides::Twins(storage), Some(folder), Some(work)) => {
                let [a, b] = ['a', 'b'].map(|letter| Mounted::mount(storage, work, folder.path(), letter));
                let (a, b) = (a?, b?);
                (places.baseline, places.candidate) = (word(a.place()), word(b.place()));
                places._mounted = vec![a, b];
            }
            (Sides::Overlay | Sides::Twins(_), ..) => bail!("real storage needs a place"),
        }
        places._folder = folder;
        Ok(places)
    }
}

fn gate(setup: &Setup<'_>, scenario: &Scenario, budget: &[&str], seed: u64) -> Result<Gate> {
    let places = GatePlaces::create(scenario.sides, setup.work)?;
    let (a, b, seed) = (&places.baseline, &places.candidate, seed.to_string());
    let words = ["gate", "--baseline", a, "--candidate", b, "--seed", &seed, "--json", "--no-store"];
    let mut command = Command::new(setup.plumb);
    command.args(words).args(scenario.work).args(budget);
    if !budget.contains(&"--time") {
        command.args(["--time", scenario.time]);
    }
    if setup.work.is_some() {
        command.args(["--size", REAL_SIZE]);
    }
    let output = command.output().with_context(|| format!("cannot start {}", setup.plumb.display()))?;
    plumb_document::json::from_slice(&output.stdout)
        .with_context(|| format!("no answer in JSON: {}", String::from_utf8_lossy(&output.stderr)))
}
