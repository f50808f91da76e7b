//! Programs that compile, and errors that name their place.

use crate::program::compile::{Branch, Chance, Choose, CompileError, Compiled, Instruction};
use crate::program::rules::Over;
use plumb_workload::program::{Choice, OpenStep, Pick, Step};
use plumb_workload::{Bytes, Distribution, OpKind};

fn compile(steps: Vec<Step>) -> Result<Compiled, CompileError> {
    Compiled::new(&steps, Over::FileSet, false)
}

fn mkdir() -> Step {
    Step::Mkdir { file: Pick::Usual, mode: None, may_exist: false }
}

fn rmdir() -> Step {
    Step::Rmdir { file: Pick::Usual }
}

fn stat() -> Step {
    Step::Stat { file: Pick::Random }
}

#[test]
fn loops_and_mixes_become_jumps() {
    let program = compile(vec![
        Step::Loop {
            times: 3,
            steps: vec![Step::Mix {
                choices: vec![
                    Choice { weight: 1.0, steps: vec![stat()] },
                    Choice { weight: 0.0, steps: vec![mkdir()] },
                    Choice { weight: 3.0, steps: vec![Step::Readdir {}, rmdir()] },
                ],
            }],
        },
        mkdir(),
    ])
    .unwrap();
    let by_call = |call| Instruction::Call { call, file: Choose::ByCall, other: Choose::ByCall };
    assert_eq!(
        program.code,
        [
            Instruction::Repeat { counter: 0, times: 3, after: 8 },
            Instruction::Choose { first: 0, count: 2 },
            Instruction::Call { call: 0, file: Choose::Random, other: Choose::ByCall },
            Instruction::Jump { to: 7 },
            by_call(1),
            by_call(2),
            Instruction::Jump { to: 7 },
            Instruction::Again { counter: 0, first: 1, chance: Chance::Mixed },
            by_call(3),
        ]
    );
    let kinds: Vec<OpKind> = program.calls.iter().map(|op| op.kind).collect();
    assert_eq!(kinds, [OpKind::Stat, OpKind::Readdir, OpKind::Rmdir, OpKind::Mkdir]);
    assert_eq!(program.branches, [Branch { below: 0.25, to: 2 }, Branch { below: 1.0, to: 4 }]);
}

/// Protects: a program that was not validated, and has no instruction, is refused. Values
/// are checked where they were written.
#[test]
fn programs_that_were_not_validated_are_refused() {
    let open = Step::Open(OpenStep { file: Pick::Random, handle: 1, ..OpenStep::default() });
    let gamma = Distribution::Gamma { mean: Bytes(9), shape: 0.0 };
    for (steps, place) in [
        (vec![Step::Stat { file: Pick::New }], "steps[0]"),
        (vec![stat(), Step::Loop { times: 1, steps: vec![Step::Stat { file: Pick::New }] }], "steps[1].steps[0]"),
        (vec![open, Step::ReadRandom { handle: 1, size: gamma }], "steps[1]"),
    ] {
        let error = compile(steps).unwrap_err().to_string();
        assert_eq!(error, format!("{place}: the program was not validated"));
    }
}

#[test]
fn programs_have_a_maximum_length() {
    let open = || Step::Open(OpenStep { file: Pick::Random, ..OpenStep::default() });
    let error = compile((0..70_000).map(|_| open()).collect()).unwrap_err().to_string();
    assert_eq!(error, "steps[65535]: the program has too many steps; use `loop` or `each`");
}
