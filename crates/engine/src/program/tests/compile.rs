//! What compiles, and what is refused with its place.

use crate::program::compile::{Branch, Chance, Choose, CompileError, Compiled, Instruction};
use crate::program::rules::Over;
use plumb_workload::program::{Choice, OpenStep, Pick, Step};
use plumb_workload::{Bytes, Distribution, OpKind};

fn compile(steps: Vec<Step>) -> Result<Compiled, CompileError> {
    Compiled::new(&steps, Over::FileSet, false)
}

fn mkdir() -> Step {
    Step::Mkdir { file: Pick::Usual, mode: None }
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
            Instruction::Repeat { counter: 0, times: 3, behind: 8 },
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

#[test]
fn mistakes_are_named_with_their_step() {
    let nested = (0..40).fold(stat(), |inner, _| Step::Loop { times: 1, steps: vec![inner] });
    let open = |write| Step::Open(OpenStep { file: Pick::Random, handle: 1, write, ..OpenStep::default() });
    for (steps, message) in [
        (vec![], "steps: there are no steps"),
        (vec![Step::Loop { times: 1, steps: vec![] }], "steps[0].steps: there are no steps"),
        (vec![Step::Stat { file: Pick::New }], "steps[0]: this step works on a file that exists"),
        (vec![Step::Stat { file: Pick::Zipf { theta: -1.0 } }], "steps[0]: Zipf's exponent -1"),
        (vec![open(true), Step::ReadWhole { handle: 1, request: Bytes(0) }], "steps[1]: requests of 0 bytes"),
        (vec![Step::Mix { choices: vec![] }], "steps[0]: the weights"),
        (vec![nested], "nested more than"),
        (vec![stat(), Step::Sync {}], "steps[1]: this step needs files under their own names"),
        (vec![Step::Stat { file: Pick::Own }], "steps[0]: this step needs files under their own names"),
        (
            vec![open(true), Step::ReadRandom { handle: 1, size: Distribution::Gamma { mean: Bytes(9), shape: 0.0 } }],
            "steps[1]: gamma",
        ),
    ] {
        let error = compile(steps).unwrap_err().to_string();
        assert!(error.contains(message), "{error:?} should contain {message:?}");
    }
}

#[test]
fn what_is_drawn_needs_a_file_set() {
    for step in [stat(), Step::Create { handle: 0 }, Step::Readdir {}] {
        let error = Compiled::new(&[step], Over::Names, false).unwrap_err().to_string();
        assert!(error.contains("steps[0]: this step needs a file set"), "{error}");
    }
}
