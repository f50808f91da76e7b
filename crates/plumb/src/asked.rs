//! Options that the user of a measuring command already set: the remedies of findings depend on them.

use crate::args::LoadArguments;
use plumb_trust::{Asked, Running, Typed};
use plumb_workload::{Nanos, Workload};
use plumb_workload_text::named::{NamedWorkload, Scale};

/// Whether an option was typed.
pub(crate) fn typed(is_typed: bool) -> Typed {
    if is_typed { Typed::Yes } else { Typed::No }
}

/// A command, and the load that was declared.
pub(crate) fn of(running: Running, load: LoadArguments) -> Asked {
    Asked { under_load: typed(load.under_load), ..Asked::of(running) }
}

/// Timed phases of a workload.
pub(crate) fn timed_phases(workload: &Workload) -> u32 {
    workload.phase.iter().filter(|phase| phase.stop.time.is_some()).count() as u32
}

/// Length of the timed phases of a workload, where they have one length.
pub(crate) fn time_ns(workload: &Workload) -> Option<u64> {
    let mut times = workload.phase.iter().filter_map(|phase| phase.stop.time);
    let Nanos(first) = times.next()?;
    times.all(|Nanos(time)| time == first).then_some(first)
}

/// Timed phases of the workload that has most of them.
pub(crate) fn most_timed_phases(works: &[&'static NamedWorkload], scale: &Scale) -> u32 {
    works.iter().map(|named| timed_phases(&named.workload(scale))).max().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Arguments;
    use clap::{CommandFactory, Parser};
    use plumb_result::Remedy;
    use plumb_trust::CHECKS;
    use plumb_trust::advice::{sentence, sentences};
    use plumb_workload_text::named;
    use plumb_workload_text::native::{self, Override};

    const SECOND: u64 = 1_000_000_000;

    /// One remedy of each kind with its value, and without where it may be unknown.
    fn samples() -> Vec<Remedy> {
        let phase = || Some("random-read".into());
        vec![
            Remedy::words("Stop the named process."),
            Remedy::LongerTime { phase: None, at_least_ns: Some(60 * SECOND) },
            Remedy::LongerTime { phase: phase(), at_least_ns: Some(3_700 * SECOND) },
            Remedy::LONGER_TIME,
            Remedy::LargerBudget { at_least_ns: Some(1_300 * SECOND) },
            Remedy::LargerBudget { at_least_ns: Some(30_000 * SECOND) },
            Remedy::LargerBudget { at_least_ns: None },
            Remedy::MoreRuns { at_least: 30 },
            Remedy::Settle { at_least_ns: Some(7 * SECOND) },
            Remedy::Settle { at_least_ns: None },
            Remedy::NamePhase { phase: "random-read".into() },
            Remedy::Precondition,
            Remedy::UntilSteady,
            Remedy::LargerFile { at_least_bytes: Some((16 << 30) + 5) },
            Remedy::LargerFile { at_least_bytes: None },
            Remedy::MorePlaces { per_side: 3, varying: Some("fs".into()) },
            Remedy::MorePlaces { per_side: 2, varying: None },
            Remedy::setting("cache", "cold", "Start with cold caches"),
            Remedy::MeasureFloor,
            Remedy::Interleave,
            Remedy::DeclareLoad,
            Remedy::RunAsRoot,
            Remedy::SeeChecks { codes: vec!["A1".to_owned(), "C1".to_owned()] },
        ]
    }

    /// A place for each kind, so that a new kind without a sample does not compile or is missed below.
    fn kind(remedy: &Remedy) -> usize {
        match remedy {
            Remedy::Words(_) => 0,
            Remedy::LongerTime { .. } => 1,
            Remedy::LargerBudget { .. } => 2,
            Remedy::MoreRuns { .. } => 3,
            Remedy::Settle { .. } => 4,
            Remedy::NamePhase { .. } => 5,
            Remedy::Precondition => 6,
            Remedy::UntilSteady => 7,
            Remedy::LargerFile { .. } => 8,
            Remedy::MorePlaces { .. } => 9,
            Remedy::Setting { .. } => 10,
            Remedy::MeasureFloor => 11,
            Remedy::Interleave => 12,
            Remedy::DeclareLoad => 13,
            Remedy::RunAsRoot => 14,
            Remedy::SeeChecks { .. } => 15,
        }
    }

    /// A command line of a command, to which advice adds its options. Nothing of Plumb's can be added to other tools' commands, nor
    /// to a study's.
    fn command_line(running: Running) -> Option<&'static [&'static str]> {
        match running {
            Running::Run => Some(&["run", "random-read"]),
            Running::Try => Some(&["try"]),
            Running::Compare => Some(&["compare", "A", "B"]),
            Running::Gate => Some(&["gate", "--baseline", "A", "--candidate", "B"]),
            Running::Noise => Some(&["noise"]),
            Running::Sweep => Some(&["sweep", "depth=1,2"]),
            Running::FitFor => Some(&["fit-for", "etcd"]),
            Running::Study | Running::Tool | Running::Documentation => None,
        }
    }

    fn parses(words: &[&str]) -> Result<(), String> {
        let words = std::iter::once("plumb").chain(words.iter().copied());
        Arguments::try_parse_from(words).map(|_| ()).map_err(|error| error.to_string())
    }

    /// Texts between backquotes.
    fn quoted(text: &str) -> impl Iterator<Item = &str> {
        text.split('`').skip(1).step_by(2)
    }

    fn is_an_option(name: &str) -> bool {
        let command = Arguments::command();
        let has = |command: &clap::Command| command.get_arguments().any(|one| one.get_long() == Some(name));
        command.get_subcommands().any(has)
    }

    /// Applies a setting to the named workloads: one of them must have it.
    fn is_a_setting(text: &str) -> bool {
        let Ok(setting) = text.parse::<Override>() else { return false };
        let scale = Scale::moderate(named::RunPlace::Directory);
        let works = ["random-read", "random-write", "stream-write", "log"];
        works
            .iter()
            .filter_map(|name| named::select(name).ok())
            .flatten()
            .any(|named| native::with_overrides(&named.workload(&scale), std::slice::from_ref(&setting)).is_ok())
    }

    /// Checks each command and option that a sentence names.
    fn accepts(running: Running, said: &str) {
        for piece in quoted(said) {
            let words: Vec<&str> = piece.split_whitespace().collect();
            match (words.first(), command_line(running)) {
                (Some(&"plumb"), _) => {
                    parses(&words[1..]).unwrap_or_else(|error| panic!("{running:?}: {said}\n{error}"));
                }
                (Some(first), Some(base)) if first.starts_with("--") => {
                    let all = [base, words.as_slice()].concat();
                    parses(&all).unwrap_or_else(|error| panic!("{running:?}: {said}\n{error}"));
                }
                (Some(first), None) if first.starts_with("--") => {
                    assert_eq!(running, Running::Documentation, "not an option of that command: {said}");
                    assert!(is_an_option(first.trim_start_matches('-')), "{said}");
                }
                _ => {}
            }
            let set = words.iter().position(|word| *word == "--set").and_then(|at| words.get(at + 1));
            if let Some(setting) = set.filter(|setting| !setting.starts_with("phase.")) {
                assert!(is_a_setting(setting), "{said}: no workload takes {setting}");
            }
        }
    }

    /// The command as typed without options, with options that could have been typed, and with long ones.
    fn askers(running: Running) -> [Asked; 3] {
        let plain = Asked::of(running);
        let typed = Asked {
            time_ns: Some(5 * SECOND),
            budget_ns: Some(300 * SECOND),
            settle_ns: Some(3 * SECOND),
            file_bytes: Some(256 << 20),
            runs: Some(16),
            timed_phases: 3,
            ..plain.clone()
        };
        let done = Asked {
            time_ns: Some(86_400 * SECOND),
            precondition: Typed::Yes,
            until_steady: Typed::Yes,
            under_load: Typed::Yes,
            ..typed.clone()
        };
        [plain, typed, done]
    }

    // Protects: advice is accepted by the command that prints it.
    #[test]
    fn every_command_accepts_every_advice_that_it_prints() {
        let samples = samples();
        let kinds = samples.iter().map(kind).max().unwrap_or(0);
        for number in 0..=kinds {
            assert!(samples.iter().any(|sample| kind(sample) == number), "no sample of kind {number}");
        }
        let of_checks = CHECKS.iter().flat_map(|check| check.fix);
        let mut said = 0;
        for remedy in samples.iter().chain(of_checks) {
            for &running in Running::ALL {
                for asked in askers(running) {
                    if let Some(sentence) = sentence(remedy, &asked) {
                        accepts(running, &sentence);
                        said += 1;
                    }
                }
            }
        }
        assert!(said > 1000, "only {said} sentences were tried");
        let refused = std::panic::catch_unwind(|| accepts(Running::FitFor, "Pause: `--settle 3s`."));
        assert!(refused.is_err(), "fit-for has no such option");
    }

    // Protects: joined remedies stay sentences.
    #[test]
    fn the_remedies_of_a_check_are_whole_sentences() {
        for check in CHECKS {
            for &running in Running::ALL {
                let said = sentences(check.fix, &Asked::of(running));
                assert!(said.is_empty() || said.ends_with('.'), "{} for {running:?}: {said}", check.code);
                assert!(!said.contains(".."), "{} for {running:?}: {said}", check.code);
            }
        }
    }
}
