//! Compiles a flow's steps to a flat list of instructions: no recursion and no allocation at run time.

use super::Access;
use crate::tree::{Sizes, SizesError};
use plumb_workload::{Flow, Pick, Step};
use std::collections::BTreeMap;

/// Largest single read or write, bytes.
pub const MAX_REQUEST: u64 = 1 << 30;
/// Deepest nesting of loops and mixes.
pub const MAX_NESTING: usize = 32;
/// Most instructions of a program.
pub const MAX_INSTRUCTIONS: usize = 1 << 20;

/// Why a flow cannot be run. Every message names the step, as `steps[2].steps[0]`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FlowError {
    /// Nothing to do.
    #[error("{at}: there are no steps; give at least one")]
    NoSteps {
        /// Where.
        at: String,
    },
    /// Loops and mixes within each other.
    #[error("{at}: loops and mixes are nested more than {MAX_NESTING} deep; flatten them")]
    TooDeep {
        /// Where.
        at: String,
    },
    /// Too many steps.
    #[error("{at}: the flow has more than {MAX_INSTRUCTIONS} steps; use `loop`")]
    TooLong {
        /// Where.
        at: String,
    },
    /// A handle that no step opens.
    #[error("{at}: handle {handle} is never opened; add an `open` or `create` step with `handle = {handle}`")]
    NeverOpened {
        /// Where.
        at: String,
        /// The handle.
        handle: u16,
    },
    /// A handle that is only opened for reading.
    #[error("{at}: handle {handle} is only ever opened for reading; give its `open` step `write = true`")]
    ReadOnly {
        /// Where.
        at: String,
        /// The handle.
        handle: u16,
    },
    /// A step on an existing file that is to work on a file that does not exist.
    #[error("{at}: this step works on a file that exists, so `file = \"new\"` cannot be; use `random`, say")]
    PickNew {
        /// Where.
        at: String,
    },
    /// An exponent that is no number of 0 or more.
    #[error("{at}: Zipf's exponent {theta} must be a number of 0 or more; 0.99 is usual")]
    Theta {
        /// Where.
        at: String,
        /// What was given.
        theta: f64,
    },
    /// A request of no or too many bytes.
    #[error("{at}: requests of {bytes} bytes; use 1 byte to 1 GiB")]
    Request {
        /// Where.
        at: String,
        /// What was given.
        bytes: u64,
    },
    /// A size that cannot be drawn.
    #[error("{at}: {source}")]
    Sizes {
        /// Where.
        at: String,
        /// Why.
        source: SizesError,
    },
    /// A mix without anything to choose.
    #[error("{at}: the weights of a mix need at least one above 0 and none below; found a total of {total}")]
    Weights {
        /// Where.
        at: String,
        /// Sum of the weights.
        total: f64,
    },
}

/// One instruction. Numbers refer to the program's tables; `to` and the like to instructions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Instruction {
    Create {
        handle: u16,
    },
    Open {
        pick: Choose,
        handle: u16,
        access: Access,
    },
    Close {
        handle: u16,
    },
    Whole {
        direction: Direction,
        handle: u16,
        request: u64,
    },
    Block {
        direction: Direction,
        handle: u16,
        place: Place,
        size: u32,
    },
    Flush {
        handle: u16,
        flush: Flush,
    },
    Truncate {
        handle: u16,
        size: u32,
    },
    Fallocate {
        handle: u16,
        size: u32,
    },
    Stat {
        pick: Choose,
    },
    Utimens {
        pick: Choose,
    },
    Chmod {
        pick: Choose,
    },
    Rename {
        pick: Choose,
    },
    Link {
        pick: Choose,
    },
    Symlink {
        pick: Choose,
    },
    Readlink {
        pick: Choose,
    },
    Unlink {
        pick: Choose,
    },
    Mkdir,
    Rmdir,
    Readdir,
    Delay {
        time_ns: u64,
    },
    /// Sets a counter; goes behind the loop for 0 times.
    Repeat {
        counter: u16,
        times: u64,
        behind: u32,
    },
    /// Counts down, and goes to the loop's first instruction until the counter is 0.
    Again {
        counter: u16,
        first: u32,
        chance: Chance,
    },
    /// Goes to one of `count` entries of the table of choices.
    Choose {
        first: u32,
        count: u32,
    },
    Jump {
        to: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Random,
    At(u64),
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flush {
    All,
    Data,
}

/// How a step picks its file: [`Pick`] with its state's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choose {
    Random,
    Cursor(u16),
    Zipf(u16),
    Same,
}

/// Whether chance decides which steps run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chance {
    /// Every time through does the same steps: where nothing could be done once, nothing ever can.
    Fixed,
    /// There is a mix.
    Mixed,
}

/// One entry of the table of choices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Branch {
    /// Sum of the weights up to and including this one, as a share of the whole.
    pub(super) below: f64,
    pub(super) to: u32,
}

/// A compiled flow, shared by all workers that run it.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    pub(super) code: Vec<Instruction>,
    pub(super) sizes: Vec<Sizes>,
    pub(super) branches: Vec<Branch>,
    pub(super) thetas: Vec<f64>,
    pub(super) counters: u16,
    pub(super) cursors: u16,
    pub(super) handles: usize,
    pub(super) chance: Chance,
    pub(super) needs_contents: bool,
    pub(super) count_transactions: bool,
    max_request: u64,
}

/// The cursor that all `round-robin` picks share.
const ROUND_ROBIN: u16 = 0;

impl Program {
    /// Compiles a flow.
    pub fn compile(flow: &Flow) -> Result<Program, FlowError> {
        let mut compiler = Compiler {
            program: Program {
                code: Vec::new(),
                sizes: Vec::new(),
                branches: Vec::new(),
                thetas: Vec::new(),
                counters: 0,
                cursors: ROUND_ROBIN + 1,
                handles: 0,
                chance: Chance::Fixed,
                needs_contents: false,
                count_transactions: flow.count_transactions,
                max_request: 0,
            },
            opened: BTreeMap::new(),
            uses: Vec::new(),
        };
        if flow.steps.is_empty() {
            return Err(FlowError::NoSteps { at: "steps".to_owned() });
        }
        compiler.program.chance = compiler.steps(&flow.steps, "steps", 0)?;
        compiler.check_handles()?;
        Ok(compiler.program)
    }

    /// The largest single read or write, bytes; 0 for a flow that does neither. Buffers are made to fit it.
    pub fn max_request(&self) -> u64 {
        self.max_request
    }

    /// How many handles a worker needs: one more than the highest number.
    pub fn handles(&self) -> usize {
        self.handles
    }
}

struct Compiler {
    program: Program,
    /// Handles that are opened, and the most that any of their openers allows.
    opened: BTreeMap<u16, Access>,
    uses: Vec<Use>,
}

struct Use {
    at: String,
    handle: u16,
    access: Access,
}

impl Compiler {
    fn steps(&mut self, steps: &[Step], at: &str, depth: usize) -> Result<Chance, FlowError> {
        if depth > MAX_NESTING {
            return Err(FlowError::TooDeep { at: at.to_owned() });
        }
        let mut chance = Chance::Fixed;
        for (number, step) in steps.iter().enumerate() {
            let at = format!("{at}[{number}]");
            match step {
                Step::Loop { times, steps } => {
                    if self.repeat(*times, steps, &at, depth)? == Chance::Mixed {
                        chance = Chance::Mixed;
                    }
                }
                Step::Mix { choices } => {
                    self.mix(choices, &at, depth)?;
                    chance = Chance::Mixed;
                }
                step => {
                    let instruction = self.step(step, &at)?;
                    self.emit(instruction, &at)?;
                }
            }
        }
        Ok(chance)
    }

    fn repeat(&mut self, times: u64, steps: &[Step], at: &str, depth: usize) -> Result<Chance, FlowError> {
        if steps.is_empty() {
            return Err(FlowError::NoSteps { at: format!("{at}.steps") });
        }
        let counter = self.program.counters;
        self.program.counters = counter.checked_add(1).ok_or_else(|| FlowError::TooLong { at: at.to_owned() })?;
        let start = self.emit(Instruction::Repeat { counter, times, behind: 0 }, at)?;
        let chance = self.steps(steps, &format!("{at}.steps"), depth + 1)?;
        self.emit(Instruction::Again { counter, first: start + 1, chance }, at)?;
        let behind = self.here();
        self.program.code[start as usize] = Instruction::Repeat { counter, times, behind };
        Ok(chance)
    }

    fn mix(&mut self, choices: &[plumb_workload::flow::Choice], at: &str, depth: usize) -> Result<(), FlowError> {
        let total: f64 = choices.iter().map(|choice| choice.weight).sum();
        let below = choices.iter().any(|choice| choice.weight.is_nan() || choice.weight < 0.0);
        if below || !total.is_finite() || total <= 0.0 {
            return Err(FlowError::Weights { at: at.to_owned(), total });
        }
        let first = self.program.branches.len() as u32;
        let chosen: Vec<_> = choices.iter().enumerate().filter(|(_, choice)| choice.weight > 0.0).collect();
        let mut sum = 0.0;
        for (_, choice) in &chosen {
            sum += choice.weight;
            self.program.branches.push(Branch { below: sum / total, to: 0 });
        }
        self.emit(Instruction::Choose { first, count: chosen.len() as u32 }, at)?;
        let mut ends = Vec::new();
        for (branch, (number, choice)) in chosen.iter().enumerate() {
            self.program.branches[first as usize + branch].to = self.here();
            self.steps(&choice.steps, &format!("{at}.choices[{number}].steps"), depth + 1)?;
            ends.push(self.emit(Instruction::Jump { to: 0 }, at)?);
        }
        let behind = self.here();
        for end in ends {
            self.program.code[end as usize] = Instruction::Jump { to: behind };
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, at: &str) -> Result<Instruction, FlowError> {
        use Direction::{Read, Write};
        Ok(match step {
            Step::Create { handle } => {
                self.opens(*handle, Access::ReadWrite);
                Instruction::Create { handle: *handle }
            }
            Step::Open { file, handle, write } => {
                let access = if *write { Access::ReadWrite } else { Access::Read };
                self.opens(*handle, access);
                Instruction::Open { pick: self.pick(file, at)?, handle: *handle, access }
            }
            Step::Close { handle } => Instruction::Close { handle: self.reads(*handle, at) },
            Step::ReadWhole { handle, request } => self.whole(Read, *handle, request.0, at)?,
            Step::WriteWhole { handle, request } => self.whole(Write, *handle, request.0, at)?,
            Step::ReadRandom { handle, size } => self.block(Read, *handle, Place::Random, size, at)?,
            Step::ReadAt { handle, offset, size } => self.block(Read, *handle, Place::At(offset.0), size, at)?,
            Step::WriteRandom { handle, size } => self.block(Write, *handle, Place::Random, size, at)?,
            Step::WriteAt { handle, offset, size } => self.block(Write, *handle, Place::At(offset.0), size, at)?,
            Step::Append { handle, size } => self.block(Write, *handle, Place::End, size, at)?,
            Step::Fsync { handle } => Instruction::Flush { handle: self.reads(*handle, at), flush: Flush::All },
            Step::Fdatasync { handle } => Instruction::Flush { handle: self.reads(*handle, at), flush: Flush::Data },
            Step::Truncate { handle, size } => {
                Instruction::Truncate { handle: self.writes(*handle, at), size: self.size(size, at)? }
            }
            Step::Fallocate { handle, size } => {
                Instruction::Fallocate { handle: self.writes(*handle, at), size: self.size(size, at)? }
            }
            Step::Stat { file } => Instruction::Stat { pick: self.pick(file, at)? },
            Step::Utimens { file } => Instruction::Utimens { pick: self.pick(file, at)? },
            Step::Chmod { file } => Instruction::Chmod { pick: self.pick(file, at)? },
            Step::Rename { file } => {
                self.program.needs_contents = true;
                Instruction::Rename { pick: self.pick(file, at)? }
            }
            Step::Link { file } => {
                self.program.needs_contents = true;
                Instruction::Link { pick: self.pick(file, at)? }
            }
            Step::Symlink { file } => Instruction::Symlink { pick: self.pick(file, at)? },
            Step::Readlink { file } => Instruction::Readlink { pick: self.pick(file, at)? },
            Step::Unlink { file } => Instruction::Unlink { pick: self.pick(file, at)? },
            Step::Mkdir {} => Instruction::Mkdir,
            Step::Rmdir {} => Instruction::Rmdir,
            Step::Readdir {} => Instruction::Readdir,
            Step::Delay { time } => Instruction::Delay { time_ns: time.0 },
            Step::Loop { .. } | Step::Mix { .. } => unreachable!("compiled by `steps`"),
        })
    }

    fn whole(&mut self, direction: Direction, handle: u16, request: u64, at: &str) -> Result<Instruction, FlowError> {
        self.request(request, at)?;
        Ok(Instruction::Whole { direction, handle: self.moves(direction, handle, at), request })
    }

    fn block(
        &mut self,
        direction: Direction,
        handle: u16,
        place: Place,
        size: &plumb_workload::Distribution,
        at: &str,
    ) -> Result<Instruction, FlowError> {
        let size = self.size(size, at)?;
        self.request(self.program.sizes[size as usize].max(), at)?;
        Ok(Instruction::Block { direction, handle: self.moves(direction, handle, at), place, size })
    }

    fn request(&mut self, bytes: u64, at: &str) -> Result<(), FlowError> {
        if bytes == 0 || bytes > MAX_REQUEST {
            return Err(FlowError::Request { at: at.to_owned(), bytes });
        }
        self.program.max_request = self.program.max_request.max(bytes);
        Ok(())
    }

    fn size(&mut self, size: &plumb_workload::Distribution, at: &str) -> Result<u32, FlowError> {
        let sizes = Sizes::new(size).map_err(|source| FlowError::Sizes { at: at.to_owned(), source })?;
        self.program.sizes.push(sizes);
        self.program.needs_contents = true;
        Ok(self.program.sizes.len() as u32 - 1)
    }

    fn pick(&mut self, pick: &Pick, at: &str) -> Result<Choose, FlowError> {
        Ok(match pick {
            Pick::Random => Choose::Random,
            Pick::RoundRobin => Choose::Cursor(ROUND_ROBIN),
            Pick::Sequential => {
                let cursor = self.program.cursors;
                self.program.cursors = cursor.checked_add(1).ok_or_else(|| FlowError::TooLong { at: at.to_owned() })?;
                Choose::Cursor(cursor)
            }
            Pick::Zipf { theta } if !(theta.is_finite() && *theta >= 0.0) => {
                return Err(FlowError::Theta { at: at.to_owned(), theta: *theta });
            }
            Pick::Zipf { theta } => {
                let known = self.program.thetas.iter().position(|known| known == theta);
                let number = known.unwrap_or_else(|| {
                    self.program.thetas.push(*theta);
                    self.program.thetas.len() - 1
                });
                Choose::Zipf(u16::try_from(number).map_err(|_| FlowError::TooLong { at: at.to_owned() })?)
            }
            Pick::New => return Err(FlowError::PickNew { at: at.to_owned() }),
            Pick::Same => Choose::Same,
        })
    }

    fn emit(&mut self, instruction: Instruction, at: &str) -> Result<u32, FlowError> {
        if self.program.code.len() >= MAX_INSTRUCTIONS {
            return Err(FlowError::TooLong { at: at.to_owned() });
        }
        self.program.code.push(instruction);
        Ok(self.program.code.len() as u32 - 1)
    }

    fn here(&self) -> u32 {
        self.program.code.len() as u32
    }

    fn opens(&mut self, handle: u16, access: Access) {
        let most = self.opened.entry(handle).or_insert(access);
        if access == Access::ReadWrite {
            *most = access;
        }
        self.program.handles = self.program.handles.max(usize::from(handle) + 1);
    }

    fn moves(&mut self, direction: Direction, handle: u16, at: &str) -> u16 {
        self.program.needs_contents = true;
        match direction {
            Direction::Read => self.reads(handle, at),
            Direction::Write => self.writes(handle, at),
        }
    }

    fn reads(&mut self, handle: u16, at: &str) -> u16 {
        self.uses.push(Use { at: at.to_owned(), handle, access: Access::Read });
        handle
    }

    fn writes(&mut self, handle: u16, at: &str) -> u16 {
        self.uses.push(Use { at: at.to_owned(), handle, access: Access::ReadWrite });
        handle
    }

    /// After all steps are known, because a later step may open a handle for an earlier one of the next pass.
    fn check_handles(&self) -> Result<(), FlowError> {
        for Use { at, handle, access } in &self.uses {
            match (self.opened.get(handle), access) {
                (None, _) => return Err(FlowError::NeverOpened { at: at.clone(), handle: *handle }),
                (Some(Access::Read), Access::ReadWrite) => {
                    return Err(FlowError::ReadOnly { at: at.clone(), handle: *handle });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
