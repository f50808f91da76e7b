//! What compiles, and what is refused with its place.

use super::*;
use plumb_workload::flow::Choice;
use plumb_workload::{Bytes, Distribution};

fn compile(steps: Vec<Step>) -> Result<Program, FlowError> {
    Program::compile(&Flow { steps, count_transactions: false })
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
                    Choice { weight: 0.0, steps: vec![Step::Mkdir {}] },
                    Choice { weight: 3.0, steps: vec![Step::Readdir {}, Step::Rmdir {}] },
                ],
            }],
        },
        Step::Mkdir {},
    ])
    .unwrap();
    assert_eq!(
        program.code,
        [
            Instruction::Repeat { counter: 0, times: 3, behind: 8 },
            Instruction::Choose { first: 0, count: 2 },
            Instruction::Stat { pick: Choose::Random },
            Instruction::Jump { to: 7 },
            Instruction::Readdir,
            Instruction::Rmdir,
            Instruction::Jump { to: 7 },
            Instruction::Again { counter: 0, first: 1, chance: Chance::Mixed },
            Instruction::Mkdir,
        ]
    );
    assert_eq!(program.branches, [Branch { below: 0.25, to: 2 }, Branch { below: 1.0, to: 4 }]);
}

#[test]
fn mistakes_are_named_with_their_step() {
    let append = || Step::Append { handle: 1, size: Distribution::Fixed(Bytes(1)) };
    let nested = (0..40).fold(stat(), |inner, _| Step::Loop { times: 1, steps: vec![inner] });
    let open = |write| Step::Open { file: Pick::Random, handle: 1, write };
    for (steps, message) in [
        (vec![], "steps: there are no steps"),
        (vec![Step::Loop { times: 1, steps: vec![] }], "steps[0].steps: there are no steps"),
        (vec![stat(), append()], "steps[1]: handle 1 is never opened"),
        (vec![open(false), append()], "steps[1]: handle 1 is only ever opened for reading"),
        (vec![Step::Stat { file: Pick::New }], "steps[0]: this step works on a file that exists"),
        (vec![Step::Stat { file: Pick::Zipf { theta: -1.0 } }], "steps[0]: Zipf's exponent -1"),
        (vec![open(true), Step::ReadWhole { handle: 1, request: Bytes(0) }], "steps[1]: requests of 0 bytes"),
        (vec![Step::Mix { choices: vec![] }], "steps[0]: the weights"),
        (vec![nested], "nested more than"),
        (
            vec![open(true), Step::ReadRandom { handle: 1, size: Distribution::Gamma { mean: Bytes(9), shape: 0.0 } }],
            "steps[1]: gamma",
        ),
    ] {
        let error = compile(steps).unwrap_err().to_string();
        assert!(error.contains(message), "{error:?} should contain {message:?}");
    }
    // A handle that the pass before opened.
    compile(vec![append(), open(true)]).unwrap();
}
