//! Collects the options already given to a measuring command: remedies of findings depend on them.

use crate::args::LoadArguments;
use plumb_trust::{CommandContext, Running, Typed};
use plumb_workload::{Nanos, Workload};
use plumb_workload_text::named::{NamedWorkload, Scale};

pub(crate) fn typed(is_typed: bool) -> Typed {
    if is_typed { Typed::Yes } else { Typed::No }
}

/// Returns the options of a command that were given, starting with the declared load.
pub(crate) fn for_command(running: Running, load: LoadArguments) -> CommandContext {
    CommandContext { under_load: typed(load.under_load), ..CommandContext::for_command(running) }
}

pub(crate) fn timed_phases(workload: &Workload) -> u32 {
    workload.phase.iter().filter(|phase| phase.stop.time.is_some()).count() as u32
}

/// Returns the length of the timed phases, or `None` if their lengths differ.
pub(crate) fn time_ns(workload: &Workload) -> Option<u64> {
    let mut times = workload.phase.iter().filter_map(|phase| phase.stop.time);
    let Nanos(first) = times.next()?;
    times.all(|Nanos(time)| time == first).then_some(first)
}

/// Returns the largest number of timed phases that one of the workloads has.
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

    /// Returns one remedy of each kind, with its value and, where the value may be unknown, without it.
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

    /// Returns an index for each kind. A new kind fails to compile here, and a kind without a sample fails the test below.
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

    /// Returns a command line to which advice appends its options. `None` for other tools' commands and for studies,
    /// which take no options of Plumb.
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

    /// Returns the texts between backquotes.
    fn quoted(text: &str) -> impl Iterator<Item = &str> {
        text.split('`').skip(1).step_by(2)
    }

    fn is_an_option(name: &str) -> bool {
        let command = Arguments::command();
        let has = |command: &clap::Command| command.get_arguments().any(|one| one.get_long() == Some(name));
        command.get_subcommands().any(has)
    }

    /// Returns `true` if at least one of the named workloads accepts the setting.
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
    fn accepts(running: Running, sentence: &str) {
        for piece in quoted(sentence) {
            let words: Vec<&str> = piece.split_whitespace().collect();
            match (words.first(), command_line(running)) {
                (Some(&"plumb"), _) => {
                    parses(&words[1..]).unwrap_or_else(|error| panic!("{running:?}: {sentence}\n{error}"));
                }
                (Some(first), Some(base)) if first.starts_with("--") => {
                    let all = [base, words.as_slice()].concat();
                    parses(&all).unwrap_or_else(|error| panic!("{running:?}: {sentence}\n{error}"));
                }
                (Some(first), None) if first.starts_with("--") => {
                    assert_eq!(running, Running::Documentation, "not an option of that command: {sentence}");
                    assert!(is_an_option(first.trim_start_matches('-')), "{sentence}");
                }
                _ => {}
            }
            let set = words.iter().position(|word| *word == "--set").and_then(|at| words.get(at + 1));
            if let Some(setting) = set.filter(|setting| !setting.starts_with("phase.")) {
                assert!(is_a_setting(setting), "{sentence}: no workload takes {setting}");
            }
        }
    }

    /// Returns the command without options, with realistic options, and with long times.
    fn askers(running: Running) -> [CommandContext; 3] {
        let plain = CommandContext::for_command(running);
        let typed = CommandContext {
            time_ns: Some(5 * SECOND),
            budget_ns: Some(300 * SECOND),
            settle_ns: Some(3 * SECOND),
            file_bytes: Some(256 << 20),
            runs: Some(16),
            timed_phases: 3,
            ..plain.clone()
        };
        let done = CommandContext {
            time_ns: Some(86_400 * SECOND),
            precondition: Typed::Yes,
            until_steady: Typed::Yes,
            under_load: Typed::Yes,
            ..typed.clone()
        };
        [plain, typed, done]
    }

    // Protects: each command accepts the advice that it prints.
    #[test]
    fn every_command_accepts_every_advice_that_it_prints() {
        let samples = samples();
        let kinds = samples.iter().map(kind).max().unwrap_or(0);
        for number in 0..=kinds {
            assert!(samples.iter().any(|sample| kind(sample) == number), "no sample of kind {number}");
        }
        let of_checks = CHECKS.iter().flat_map(|check| check.fix);
        let mut tried = 0;
        for remedy in samples.iter().chain(of_checks) {
            for &running in Running::ALL {
                for asked in askers(running) {
                    if let Some(sentence) = sentence(remedy, &asked) {
                        accepts(running, &sentence);
                        tried += 1;
                    }
                }
            }
        }
        assert!(tried > 1000, "only {tried} sentences were tried");
        let refused = std::panic::catch_unwind(|| accepts(Running::FitFor, "Pause: `--settle 3s`."));
        assert!(refused.is_err(), "fit-for has no such option");
    }

    // Protects: joined remedies form whole sentences.
    #[test]
    fn the_remedies_of_a_check_are_whole_sentences() {
        for check in CHECKS {
            for &running in Running::ALL {
                let sentence = sentences(check.fix, &CommandContext::for_command(running));
                assert!(sentence.is_empty() || sentence.ends_with('.'), "{} for {running:?}: {sentence}", check.code);
                assert!(!sentence.contains(".."), "{} for {running:?}: {sentence}", check.code);
            }
        }
    }
}
