//! Gates on history: `plumb gate --keep`, session after session, on simulated devices whose sessions vary.

use super::scenario::{Bar, Counted, Line, Scenario, Trial};
use super::trial::Outcome;
use anyhow::{Context, Result, bail};
use plumb_result::{Gate, GateAnswer};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use xtask::tools::{Profile, plumb, target_directory};

/// A pipeline: one gate per session, each with `--keep`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pipeline {
    /// Session faults of the device.
    pub faults: &'static str,
    /// Workloads and metrics of each session.
    pub work: Work,
    /// Change of the device during the pipeline.
    pub change: Option<Change>,
    /// Sessions after which a line evaluates the answer, in ascending order.
    pub sessions: &'static [u32],
}

/// A device that becomes slower after some sessions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    /// Number of sessions before the change.
    pub after: u32,
    /// Fault added to the device's name.
    pub fault: &'static str,
}

/// Workloads of a session, and the judged metrics.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    /// Named workloads: each varies independently, because its draws are its own.
    works: &'static str,
    metrics: &'static str,
    time: &'static str,
}

const ONE: Work = Work { works: "random-read", metrics: "read.iops", time: "13ms" };
/// Metrics that only one of the workloads has, so that there are four.
const FOUR: Work = Work {
    works: "random-read,fsync-log,small-files,mail",
    metrics: "read.lat.p99,fdatasync.ops,stat.ops,txn.ops",
    time: "100ms",
};
/// The metrics of random reads in a comparison: both follow the session.
const DEFAULT: Work = Work { metrics: "read.iops,read.lat.p99", ..ONE };

/// The program, built once.
static PLUMB: OnceLock<PathBuf> = OnceLock::new();

/// Builds the program, or uses the named one.
pub(super) fn prepare(binary: Option<&Path>) -> Result<()> {
    if PLUMB.get().is_none() {
        let _ = PLUMB.set(plumb(binary, Profile::Dev)?);
    }
    Ok(())
}

/// Answers of a pipeline, one per session.
struct Answers(Vec<Answer>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Answer {
    answer: GateAnswer,
    suspected: bool,
}

impl Answers {
    /// Returns the answer to the first session after `sessions`, or to the second one if the first asks for it. `None`
    /// if the history itself waits for its second session.
    fn after(&self, sessions: u32) -> Option<Answer> {
        let at = sessions as usize;
        if self.0[at - 1].suspected {
            return None;
        }
        let first = self.0[at];
        Some(if first.suspected { self.0[at + 1] } else { first })
    }

    fn classify(&self, counted: Counted) -> Result<Outcome> {
        let is = |sessions: u32, answer: GateAnswer| match self.after(sessions) {
            None => Outcome::NotCounted,
            Some(found) => Outcome::from_hit(found.answer == answer),
        };
        Ok(match counted {
            Counted::RegressionAfter(sessions) => is(sessions, GateAnswer::Regression),
            Counted::CannotTellAfter(sessions) => is(sessions, GateAnswer::CannotTell),
            Counted::SuspectedAfter(sessions) => match self.0[sessions as usize - 1].suspected {
                true => Outcome::NotCounted,
                false => Outcome::from_hit(self.0[sessions as usize].suspected),
            },
            Counted::AnyRegression => Outcome::from_hit(self.0.iter().any(|one| one.answer == GateAnswer::Regression)),
            other => bail!("pipelines have no {other:?}"),
        })
    }
}

/// Runs a pipeline, and returns each line's outcome.
pub(super) fn run<'a>(
    pipeline: &Pipeline,
    seed: u64,
    counted: impl Iterator<Item = &'a Counted>,
) -> Result<Vec<Outcome>> {
    let answers = answers(pipeline, seed)?;
    counted.map(|counted| answers.classify(*counted)).collect()
}

/// Formats the answers of a pipeline, a word per session.
pub(super) fn tell(pipeline: &Pipeline, seed: u64) -> Result<String> {
    let word = |one: &Answer| if one.suspected { "suspected" } else { one.answer.name() };
    Ok(answers(pipeline, seed)?.0.iter().map(word).collect::<Vec<&str>>().join(", "))
}

fn answers(pipeline: &Pipeline, seed: u64) -> Result<Answers> {
    let binary = PLUMB.get().context("the program was not prepared")?;
    std::fs::create_dir_all(target_directory())?;
    let folder = tempfile::Builder::new().prefix("calibrate-gate-").tempdir_in(target_directory())?;
    // The last session, and the second one that it may ask for.
    let last = pipeline.sessions.last().copied().unwrap_or(0) + 1;
    let mut answers = Vec::new();
    for session in 0..=last {
        answers.push(session_answer(binary, folder.path(), pipeline, seed, session)?);
    }
    Ok(Answers(answers))
}

/// Runs the program once. One run of each workload makes a session: six would only reduce the spread within it.
fn session_answer(binary: &Path, folder: &Path, pipeline: &Pipeline, seed: u64, session: u32) -> Result<Answer> {
    let Work { works, metrics, time } = pipeline.work;
    let fault = pipeline.change.filter(|change| session >= change.after).map_or("", |change| change.fault);
    let device = format!("sim:ssd?cv=0.4%&{}{fault}", pipeline.faults);
    let seed = seed.to_string();
    let mut command = Command::new(binary);
    command.args(["gate", "--candidate", &device, "--keep", "kept.json", "--for", works, "--metrics", metrics]);
    command.args(["--time", time, "--budget", "1ms", "--size", "8MiB", "--seed", &seed, "--json", "--no-store"]);
    command.current_dir(folder).env("PLUMB_DB", folder.join("plumb.db")).env("XDG_STATE_HOME", folder);
    let output = command.output().with_context(|| format!("cannot start {}", binary.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let gate: Gate = plumb_document::json::from_str(&text)
        .with_context(|| format!("{command:?}: {text}{}", String::from_utf8_lossy(&output.stderr)))?;
    let code = output.status.code();
    let expected = match (gate.answer, gate.suspected, gate.rejected) {
        (GateAnswer::Pass, ..) => 0,
        (GateAnswer::Regression, ..) => 1,
        (GateAnswer::CannotTell, _, true) => 3,
        (GateAnswer::CannotTell, true, _) => 7,
        (GateAnswer::CannotTell, ..) => 6,
    };
    if code != Some(expected) {
        bail!("{command:?} ended with {code:?}, and its answer is {:?}", gate.answer);
    }
    Ok(Answer { answer: gate.answer, suspected: gate.suspected })
}

const UNCHANGED: &[Line] = &[
    Line { what: "regression after 14 sessions", counted: Counted::RegressionAfter(14), bar: Bar::AtMost(0.05) },
    Line { what: "regression after 30 sessions", counted: Counted::RegressionAfter(30), bar: Bar::AtMost(0.05) },
    Line { what: "cannot tell after 14 sessions", counted: Counted::CannotTellAfter(14), bar: Bar::Printed },
    Line { what: "cannot tell after 30 sessions", counted: Counted::CannotTellAfter(30), bar: Bar::Printed },
    Line { what: "any regression in 32 sessions", counted: Counted::AnyRegression, bar: Bar::Printed },
];

/// An unchanged device. `small N` adds N of its pipelines, with 32 runs of the program each, to the small scale.
macro_rules! unchanged {
    ($name:literal, $about:literal, $work:expr, $faults:literal$(, small $small:literal)?) => {
        Scenario {
            name: $name,
            about: $about,
            trial: Trial::Gates {
                pipelines: &[Pipeline { faults: $faults, work: $work, change: None, sessions: &[14, 30] }],
            },
            trials: 300,
            trials_small: 0 $(+ $small)?,
            lines: UNCHANGED,
        }
    };
}

macro_rules! slower {
    ($name:literal, $about:literal, $work:expr, $least:literal, $faults:literal, $fault:literal$(, small $small:literal)?) => {
        Scenario {
            name: $name,
            about: $about,
            trial: Trial::Gates {
                pipelines: &[Pipeline {
                    faults: $faults,
                    work: $work,
                    change: Some(Change { after: 14, fault: $fault }),
                    sessions: &[14],
                }],
            },
            trials: 300,
            trials_small: 0 $(+ $small)?,
            lines: &[
                Line {
                    what: "regression, after its second session",
                    counted: Counted::RegressionAfter(14),
                    bar: Bar::AtLeast($least),
                },
                Line {
                    what: "suspected in its first session",
                    counted: Counted::SuspectedAfter(14),
                    bar: Bar::Printed,
                },
            ],
        }
    };
}

/// Scenarios in the order of the table of docs/calibration.md.
pub(super) static GATES: &[Scenario] = &[
    unchanged!("gate-normal", "gate, unchanged, sessions ± 3 %", ONE, "session=3%", small 3),
    unchanged!("gate-normal-4", "gate, unchanged, sessions ± 3 %, 4 numbers", FOUR, "session=3%"),
    unchanged!("gate-t3", "gate, unchanged, heavy tails (t3)", ONE, "session=3%&session-tails"),
    unchanged!("gate-t3-4", "gate, unchanged, heavy tails (t3), 4 numbers", FOUR, "session=3%&session-tails"),
    unchanged!(
        "gate-slow",
        "gate, unchanged, 20 % of sessions 10 % slow",
        ONE,
        "session=1%&session-slow=20%&session-slow-by=11%"
    ),
    unchanged!(
        "gate-slow-4",
        "gate, unchanged, 20 % of sessions 10 % slow, 4 numbers",
        FOUR,
        "session=1%&session-slow=20%&session-slow-by=11%"
    ),
    unchanged!(
        "gate-spike",
        "gate, unchanged, 8 % of sessions 30 % slow",
        ONE,
        "session=2%&session-slow=8%&session-slow-by=42%"
    ),
    unchanged!(
        "gate-spike-4",
        "gate, unchanged, 8 % of sessions 30 % slow, 4 numbers",
        FOUR,
        "session=2%&session-slow=8%&session-slow-by=42%"
    ),
    unchanged!(
        "gate-sticky-10",
        "gate, unchanged, two levels, 10 % of sessions switch",
        ONE,
        "session=1%&session-switch=10%&session-switch-by=11%",
        small 3
    ),
    unchanged!(
        "gate-sticky-10-4",
        "gate, unchanged, two levels, 10 % of sessions switch, 4 numbers",
        FOUR,
        "session=1%&session-switch=10%&session-switch-by=11%"
    ),
    unchanged!(
        "gate-sticky-20",
        "gate, unchanged, two levels, 20 % of sessions switch",
        ONE,
        "session=1%&session-switch=20%&session-switch-by=11%"
    ),
    unchanged!(
        "gate-sticky-20-4",
        "gate, unchanged, two levels, 20 % of sessions switch, 4 numbers",
        FOUR,
        "session=1%&session-switch=20%&session-switch-by=11%"
    ),
    unchanged!("gate-memory", "gate, unchanged, autocorrelation 0.8", ONE, "session=3%&session-memory=80%"),
    unchanged!(
        "gate-memory-4",
        "gate, unchanged, autocorrelation 0.8, 4 numbers",
        FOUR,
        "session=3%&session-memory=80%"
    ),
    unchanged!("gate-walk", "gate, unchanged, a random walk", ONE, "session=1.5%&session-walk=1.5%"),
    unchanged!("gate-walk-4", "gate, unchanged, a random walk, 4 numbers", FOUR, "session=1.5%&session-walk=1.5%"),
    unchanged!("gate-drift", "gate, each session 0.5 % slower", ONE, "session=3%&session-drift=0.5%", small 3),
    unchanged!("gate-drift-4", "gate, each session 0.5 % slower, 4 numbers", FOUR, "session=3%&session-drift=0.5%"),
    slower!(
        "gate-found",
        "gate, a rate 10 % lower, sessions ± 3 %, 14 of them",
        ONE,
        0.85,
        "session=3%",
        "&slow=11.1%",
        small 6
    ),
    slower!(
        "gate-found-9",
        "gate, a rate 9.1 % lower, sessions ± 3 %, 14 of them",
        ONE,
        0.8,
        "session=3%",
        "&slow=10%"
    ),
    slower!(
        "gate-found-2",
        "gate, two numbers that follow each other 10 % worse, sessions ± 3 %, 14 of them",
        DEFAULT,
        0.8,
        "session=3%",
        "&slow=11.1%"
    ),
    slower!(
        "gate-found-sticky",
        "gate, a rate 10 % lower, two levels, 10 % of sessions switch, 14 of them",
        ONE,
        0.4,
        "session=1%&session-switch=10%&session-switch-by=11%",
        "&slow=11.1%"
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(text: &str) -> Answers {
        let one = |c: char| match c {
            'p' => Answer { answer: GateAnswer::Pass, suspected: false },
            'r' => Answer { answer: GateAnswer::Regression, suspected: false },
            's' => Answer { answer: GateAnswer::CannotTell, suspected: true },
            _ => Answer { answer: GateAnswer::CannotTell, suspected: false },
        };
        Answers(text.chars().map(one).collect())
    }

    #[test]
    fn a_suspected_session_counts_by_its_second_one() {
        let look = |text: &str, counted| answers(text).classify(counted).unwrap();
        assert_eq!(look("ccsr", Counted::RegressionAfter(2)), Outcome::Hit);
        assert_eq!(look("ccsp", Counted::RegressionAfter(2)), Outcome::Miss);
        assert_eq!(look("cccr", Counted::RegressionAfter(2)), Outcome::Miss, "it was not the next one");
        assert_eq!(look("csrp", Counted::RegressionAfter(2)), Outcome::NotCounted, "the history itself was waiting");
        assert_eq!(look("csrp", Counted::AnyRegression), Outcome::Hit);
        assert_eq!(look("ccsc", Counted::CannotTellAfter(2)), Outcome::Hit);
        assert_eq!(look("ccsc", Counted::SuspectedAfter(2)), Outcome::Hit);
        assert!(answers("cccc").classify(Counted::Claim).is_err());
    }

    #[test]
    fn every_device_can_be_read() {
        for scenario in GATES {
            let Trial::Gates { pipelines } = scenario.trial else { panic!("{}", scenario.name) };
            for pipeline in pipelines {
                let fault = pipeline.change.map_or("", |change| change.fault);
                let device = format!("sim:ssd?cv=0.4%&{}{fault}", pipeline.faults);
                device.parse::<plumb_workload::SimDevice>().unwrap();
            }
        }
    }
}
