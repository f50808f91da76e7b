//! Tests of the rules for workloads that repeat.

use super::*;
use crate::named::{self, RunPlace, Scale};
use plumb_workload::repeat::{Cells, Figure, FullLoad, Ladder, Repeat, Rounds, TrackedFigure};

fn rounds(workload: &mut Workload, change: fn(&mut Rounds)) {
    let mut rounds = Rounds {
        first_only: Vec::new(),
        cells: None,
        steady: vec![TrackedFigure { phase: workload.phase[0].name.clone(), figure: Figure::Iops }],
        window: 5,
        range: 0.2,
        slope: 0.1,
        max_rounds: 25,
        show: vec![Figure::Iops],
    };
    change(&mut rounds);
    workload.repeat = Some(Repeat::Rounds(Box::new(rounds)));
}

fn ladder(workload: &mut Workload, change: fn(&mut Ladder)) {
    workload.phase.truncate(1);
    let mut ladder =
        Ladder { of: FullLoad::Peak, percent: vec![100.0, 10.0], again: Vec::new(), within: 0.05, limit: None };
    change(&mut ladder);
    workload.repeat = Some(Repeat::Ladder(Box::new(ladder)));
}

#[test]
fn rounds_repeat_existing_phases() {
    fn cells(read: u32, block: u64) -> Option<Cells> {
        Some(Cells { read: vec![read], block: vec![Bytes(block)] })
    }
    none_fires(&[|w| rounds(w, |_| {}), |w| ladder(w, |_| {})]);
    each_fires(&[
        (
            |w| rounds(w, |r| r.first_only = vec!["nowhere".to_owned()]),
            "repeat.rounds.first-only",
            "no phase named `nowhere`",
            "",
        ),
        (
            |w| {
                rounds(w, |_| {});
                let all = w.phase.iter().map(|phase| phase.name.clone()).collect();
                if let Some(Repeat::Rounds(rounds)) = &mut w.repeat {
                    rounds.first_only = all;
                }
            },
            "repeat.rounds.first-only",
            "no phase is left",
            "first-only",
        ),
        (|w| rounds(w, |r| r.steady.clear()), "repeat.rounds.steady", "no figure must be steady", "figure"),
        (
            |w| rounds(w, |r| r.steady[0].phase = "nowhere".to_owned()),
            "repeat.rounds.steady[0].phase",
            "no phase of a round is named `nowhere`",
            "",
        ),
        (|w| rounds(w, |r| r.window = 2), "repeat.rounds.window", "too few", "SNIA"),
        (|w| rounds(w, |r| r.max_rounds = 4), "repeat.rounds.max-rounds", "less than the window", "25"),
        (|w| rounds(w, |r| r.range = 0.0), "repeat.rounds.range", "above 0", "0.2"),
        (|w| rounds(w, |r| r.slope = f64::NAN), "repeat.rounds.slope", "NaN", "0.1"),
        (|w| rounds(w, |r| r.show.clear()), "repeat.rounds.show", "no figure", "iops"),
        (|w| rounds(w, |r| r.cells = cells(101, 4096)), "repeat.rounds.cells.read", "101 %", "0 to 100"),
        (|w| rounds(w, |r| r.cells = cells(50, 0)), "repeat.rounds.cells.block", "0 bytes", "4KiB"),
        (
            |w| rounds(w, |r| r.cells = Some(Cells { read: vec![0; 100], block: vec![Bytes(4096); 11] })),
            "repeat.rounds.cells",
            "too many cells",
            "1000",
        ),
        (
            |w| rounds(w, |r| r.cells = Some(Cells { read: vec![0, 0], block: vec![Bytes(4096)] })),
            "repeat.rounds.cells",
            "two phases of a round",
            "own name",
        ),
    ]);
}

#[test]
fn a_ladder_has_a_full_load() {
    each_fires(&[
        (|w| ladder(w, |l| l.percent.clear()), "repeat.ladder.percent", "no loads", "[100, 50, 10]"),
        (|w| ladder(w, |l| l.percent = vec![0.0]), "repeat.ladder.percent", "0 % is not a load", "above 0"),
        (|w| ladder(w, |l| l.again = vec![50.0]), "repeat.ladder.again", "not in `percent`", "of the ladder"),
        (|w| ladder(w, |l| l.within = 0.0), "repeat.ladder.within", "above 0", "0.05"),
        (|w| ladder(w, |l| l.of = FullLoad::Requested), "repeat.ladder.of", "sets no rate", "peak"),
        (
            |w| {
                ladder(w, |_| {});
                w.phase.push(Phase { name: "second".to_owned(), ..w.phase[0].clone() });
            },
            "repeat.ladder.percent",
            "needs one phase",
            "workload of their own",
        ),
    ]);
    let mut asked = named::find("spc1-like").unwrap().workload(&Scale::moderate(RunPlace::Directory));
    let peak = Ladder { of: FullLoad::Peak, percent: vec![100.0], again: Vec::new(), within: 0.05, limit: None };
    asked.repeat = Some(Repeat::Ladder(Box::new(peak)));
    let problems = validate(&asked);
    assert!(problems.iter().any(|problem| problem.message.contains("sets a rate")), "{problems:?}");
}
