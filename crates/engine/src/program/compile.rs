//! Compiles a program's steps to a flat list of instructions: no recursion and no allocation at run time. Orders of
//! files and records are computed and shuffled here, before the barrier.

use super::cursor::TransferPlan;
use super::file_set::CopyPlan;
use super::op::{Call, CallOp};
use super::postmark::CallRules;
use super::rules::{OpenRules, Over, StepRules};
use crate::tree::TreeSizes;
use plumb_workload::limits::MAX_SET_REQUEST_BYTES;
use plumb_workload::program::{Choice, FileOrder, MissingFile, Needs, OpenStep, Pick, PostmarkStep, Step, TreeStep};
use plumb_workload::{Distribution, OpKind};
use std::sync::Arc;

/// Maximum number of instructions of a program.
const MAX_INSTRUCTIONS: usize = 1 << 20;
/// Permissions of a new file in a set.
const FILE_MODE: u32 = 0o644;
/// Permissions of a new directory in a set.
const DIRECTORY_MODE: u32 = 0o755;

/// A step that cannot be compiled, named by its path in the workload, such as `steps[2].loop.steps[0]`.
///
/// The validator checks meaning and values, because it knows where each was written. Here, only programs
/// that are too large are refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{at}: {reason}")]
pub(crate) struct CompileError {
    at: String,
    reason: Reason,
}

/// Reason why a step cannot be compiled.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
enum Reason {
    #[error("the program has too many steps; use `loop` or `each`")]
    TooLong,
    #[error("the program was not validated")]
    NotValidated,
}

impl Reason {
    fn at(self, at: &str) -> CompileError {
        CompileError { at: at.to_owned(), reason: self }
    }
}

/// One instruction. Numbers refer to the program's tables; `to` and similar fields to instructions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Instruction {
    Call {
        call: u32,
        file: Choose,
        other: Choose,
    },
    /// `truncate` or `fallocate` to a drawn size.
    Sized {
        call: u32,
        size: u32,
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
    /// Copies a file into another set; holds the number of the copy.
    Copy(u32),
    Transfer(u32),
    /// Like `Transfer`, with a check of a stonewall before each record.
    TransferToWall(u32),
    /// Work on trees; holds its number.
    Trees(u32),
    Postmark,
    /// Waits for all other workers of the phase.
    Meet,
    /// Like `Meet`, and ends if any worker has read data that was not written.
    EndIfWrong,
    Delay {
        time_ns: u64,
    },
    /// Sets a counter; jumps past the loop if it is 0.
    Repeat {
        counter: u16,
        times: u64,
        after: u32,
    },
    /// Decrements the counter, and jumps to the loop's first instruction until it is 0.
    Again {
        counter: u16,
        first: u32,
        chance: Chance,
    },
    /// Runs the instructions up to `NextFile` for each file of a list.
    Each {
        list: u32,
        after: u32,
    },
    NextFile {
        list: u32,
        first: u32,
    },
    /// Jumps to one of `count` entries of the table of choices.
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

/// Rule by which a step picks its file: [`Pick`] with the place of its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choose {
    /// For named files: the worker's own, or the current one of the list.
    Own,
    Nth(u32),
    /// For file sets, like all following variants: determined by the call, such as the file of its handle.
    ByCall,
    Random,
    Cursor(u16),
    Zipf(u16),
    Same,
}

/// Whether the steps that run are random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chance {
    /// Every pass runs the same steps. If nothing could be done in one pass, nothing ever can.
    Fixed,
    /// There is a mix.
    Mixed,
}

/// One entry of the table of choices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Branch {
    /// Cumulative weight up to and including this one, as a share of the whole.
    pub(super) below: f64,
    pub(super) to: u32,
}

/// A compiled program, shared by all workers that run it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Compiled {
    pub(super) code: Vec<Instruction>,
    pub(super) calls: Vec<CallOp>,
    pub(super) transfers: Vec<TransferPlan>,
    pub(super) copies: Vec<CopyPlan>,
    /// Steps on trees, each with the number of its rules.
    pub(super) trees: Vec<(TreeStep, u16)>,
    pub(super) postmark: Option<Box<(PostmarkStep, CallRules)>>,
    /// Rules by the number that an op carries.
    pub(super) rules: Arc<Vec<StepRules>>,
    pub(super) lists: Vec<Vec<u32>>,
    pub(super) sizes: Vec<TreeSizes>,
    pub(super) branches: Vec<Branch>,
    pub(super) thetas: Vec<f64>,
    pub(super) counters: u16,
    pub(super) cursors: u16,
    pub(super) chance: Chance,
    pub(super) needs_contents: bool,
    pub(super) count_transactions: bool,
    /// Highest number of a handle, plus one.
    pub(super) handles: usize,
    /// The largest single read or write over a file set, bytes, which determines the size of buffers.
    pub(super) max_request: u64,
}

/// The cursor that all `round-robin` picks share.
const ROUND_ROBIN: u16 = 0;

impl Compiled {
    /// Compiles steps.
    ///
    /// # Errors
    /// The program is too large, or was not validated.
    pub(crate) fn new(steps: &[Step], over: Over, count_transactions: bool) -> Result<Compiled, CompileError> {
        let program = Compiled {
            code: Vec::new(),
            calls: Vec::new(),
            transfers: Vec::new(),
            copies: Vec::new(),
            trees: Vec::new(),
            postmark: None,
            rules: Arc::default(),
            lists: Vec::new(),
            sizes: Vec::new(),
            branches: Vec::new(),
            thetas: Vec::new(),
            counters: 0,
            cursors: ROUND_ROBIN + 1,
            chance: Chance::Fixed,
            needs_contents: false,
            count_transactions,
            handles: 0,
            max_request: 0,
        };
        let mut compiler = Compiler { program, over, rules: vec![StepRules::Nothing] };
        compiler.program.chance = compiler.steps(steps, "steps")?;
        compiler.program.rules = Arc::new(compiler.rules);
        if !compiler.program.copies.is_empty() {
            // The last two handles are for the file and its copy.
            compiler.program.handles += 2;
        }
        Ok(compiler.program)
    }
}

struct Compiler {
    program: Compiled,
    over: Over,
    rules: Vec<StepRules>,
}

impl Compiler {
    fn steps(&mut self, steps: &[Step], at: &str) -> Result<Chance, CompileError> {
        let mut chance = Chance::Fixed;
        for (number, step) in steps.iter().enumerate() {
            let at = format!("{at}[{number}]");
            let inside = match step {
                Step::Loop { times, steps } => self.repeat(*times, steps, &at)?,
                Step::Mix { choices } => {
                    self.mix(choices, &at)?;
                    Chance::Mixed
                }
                Step::Each(each) => {
                    let numbers = each.first..each.first.saturating_add(each.count);
                    let files = match &each.order {
                        FileOrder::Forward => numbers.collect(),
                        FileOrder::Backward => numbers.rev().collect(),
                        FileOrder::Listed(files) => files.clone(),
                    };
                    self.each(files, &each.steps, &at)?
                }
                step => {
                    let instruction = self.step(step, &at)?;
                    self.emit(instruction, &at)?;
                    Chance::Fixed
                }
            };
            if inside == Chance::Mixed {
                chance = Chance::Mixed;
            }
        }
        Ok(chance)
    }

    fn repeat(&mut self, times: u64, steps: &[Step], at: &str) -> Result<Chance, CompileError> {
        let counter = self.program.counters;
        self.program.counters = counter.checked_add(1).ok_or_else(|| Reason::TooLong.at(at))?;
        let start = self.emit(Instruction::Repeat { counter, times, after: 0 }, at)?;
        let chance = self.steps(steps, &format!("{at}.steps"))?;
        self.emit(Instruction::Again { counter, first: start + 1, chance }, at)?;
        let after = self.next_position();
        self.program.code[start as usize] = Instruction::Repeat { counter, times, after };
        Ok(chance)
    }

    fn each(&mut self, files: Vec<u32>, steps: &[Step], at: &str) -> Result<Chance, CompileError> {
        debug_assert!(self.over == Over::Names, "{at}: only named files are listed");
        let list = self.program.lists.len() as u32;
        self.program.lists.push(files);
        let start = self.emit(Instruction::Each { list, after: 0 }, at)?;
        let chance = self.steps(steps, &format!("{at}.steps"))?;
        self.emit(Instruction::NextFile { list, first: start + 1 }, at)?;
        let after = self.next_position();
        self.program.code[start as usize] = Instruction::Each { list, after };
        Ok(chance)
    }

    fn mix(&mut self, choices: &[Choice], at: &str) -> Result<(), CompileError> {
        let total: f64 = choices.iter().map(|choice| choice.weight).sum();
        debug_assert!(total > 0.0 && total.is_finite(), "{at}: weights of {total}");
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
            self.program.branches[first as usize + branch].to = self.next_position();
            self.steps(&choice.steps, &format!("{at}.choices[{number}].steps"))?;
            ends.push(self.emit(Instruction::Jump { to: 0 }, at)?);
        }
        let after = self.next_position();
        for end in ends {
            self.program.code[end as usize] = Instruction::Jump { to: after };
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, at: &str) -> Result<Instruction, CompileError> {
        use Direction::{Read, Write};
        debug_assert!(self.has(step.needs()), "{at}: the step is for another kind of target");
        if let Some(handle) = step.handle() {
            self.program.handles = self.program.handles.max(usize::from(handle) + 1);
        }
        let is_set = self.over == Over::FileSet;
        let simple = match step {
            Step::Create { .. } => {
                let made = OpenStep { read: true, write: true, create: true, exclusive: true, ..OpenStep::default() };
                let rules = self
                    .rule(StepRules::Open(OpenRules::for_step(OpenStep { mode: FILE_MODE, ..made }, self.over)), at)?;
                let op = CallOp { rules, ..self.op(step, Call::Open) };
                return Ok(self.call(op, Choose::ByCall, Choose::ByCall));
            }
            Step::Open(open) => {
                let open = OpenStep { read: open.read || is_set, ..open.clone() };
                let rules = self.rule(StepRules::Open(OpenRules::for_step(open, self.over)), at)?;
                CallOp { rules, ..self.op(step, Call::Open) }
            }
            Step::Copy(copy) => {
                let read = OpenStep { read: true, ..OpenStep::default() };
                let open = self.rule(StepRules::Open(OpenRules::for_step(read, self.over)), at)?;
                let made =
                    OpenStep { write: true, create: true, exclusive: true, mode: FILE_MODE, ..OpenStep::default() };
                let create = self.rule(StepRules::Open(OpenRules::for_step(made, self.over)), at)?;
                self.request(copy.request.0);
                let (file, request) = (self.pick(&copy.file, at)?, copy.request.0);
                self.program.copies.push(CopyPlan { file, request, moves: copy.moves, open, create });
                return Ok(Instruction::Copy(self.program.copies.len() as u32 - 1));
            }
            Step::ReadWhole { handle, request } => return Ok(self.whole(Read, *handle, request.0)),
            Step::WriteWhole { handle, request } => return Ok(self.whole(Write, *handle, request.0)),
            Step::ReadRandom { handle, size } => return self.block(Read, *handle, Place::Random, size, at),
            Step::ReadAt { handle, offset, size } => return self.block(Read, *handle, Place::At(offset.0), size, at),
            Step::WriteRandom { handle, size } => return self.block(Write, *handle, Place::Random, size, at),
            Step::WriteAt { handle, offset, size } => return self.block(Write, *handle, Place::At(offset.0), size, at),
            Step::Append { handle, size } => return self.block(Write, *handle, Place::End, size, at),
            Step::Truncate { size, .. } | Step::Fallocate { size, .. } => {
                let call = if matches!(step, Step::Truncate { .. }) { Call::Truncate } else { Call::Fallocate };
                let op = self.op(step, call);
                let size = self.size(size, at)?;
                return Ok(Instruction::Sized { call: self.keep(op), size });
            }
            Step::Transfer(transfer) => {
                let rules = self.rule(StepRules::Transfer(transfer.clone()), at)?;
                self.program.transfers.push(TransferPlan::new(transfer, rules));
                let number = self.program.transfers.len() as u32 - 1;
                return Ok(match transfer.wall {
                    Some(_) => Instruction::TransferToWall(number),
                    None => Instruction::Transfer(number),
                });
            }
            Step::Trees(step) => {
                let rules = self.rule(StepRules::Tree(step.clone()), at)?;
                self.program.trees.push((TreeStep::clone(step), rules));
                return Ok(Instruction::Trees(self.program.trees.len() as u32 - 1));
            }
            Step::Postmark(step) => {
                let rules = CallRules::new(&step.run, &mut |rules| self.rule(rules, at))?;
                self.program.postmark = Some(Box::new((PostmarkStep::clone(step), rules)));
                return Ok(Instruction::Postmark);
            }
            Step::Meet {} => return Ok(Instruction::Meet),
            Step::EndIfWrong {} => return Ok(Instruction::EndIfWrong),
            Step::Delay { time } => return Ok(Instruction::Delay { time_ns: time.0 }),
            Step::Close { .. } => self.op(step, Call::Close),
            Step::Fsync { .. } => self.op(step, Call::Fsync),
            Step::Fdatasync { .. } => self.op(step, Call::Fdatasync),
            Step::Msync { .. } => self.op(step, Call::Msync),
            Step::Flush { .. } => self.op(step, Call::Flush),
            Step::Sync {} => self.op(step, Call::Sync),
            Step::Command { line } => {
                CallOp { rules: self.rule(StepRules::Command(line.clone()), at)?, ..self.op(step, Call::Command) }
            }
            Step::Seek { to, .. } => CallOp { offset: to.0, ..self.op(step, Call::Seek) },
            Step::Map(map) => CallOp { rules: self.rule(StepRules::Map(*map), at)?, ..self.op(step, Call::Map) },
            Step::Unmap { .. } => self.op(step, Call::Unmap),
            Step::Lock { kind, .. } => {
                CallOp { rules: self.rule(StepRules::Lock(*kind), at)?, ..self.op(step, Call::Lock) }
            }
            Step::Stat { .. } => self.op(step, Call::Stat),
            Step::Access { .. } => self.op(step, Call::Access),
            Step::Utimens { .. } => self.op(step, Call::Utimens),
            Step::Chmod { .. } => self.op(step, Call::Chmod),
            Step::Rename { .. } => {
                self.program.needs_contents = true;
                self.op(step, Call::Rename)
            }
            Step::Link { .. } => {
                self.program.needs_contents = true;
                self.op(step, Call::Link)
            }
            Step::Symlink { .. } => self.op(step, Call::Symlink),
            Step::Readlink { .. } => self.op(step, Call::Readlink),
            Step::Unlink { missing: MissingFile::Fails, .. } => self.op(step, Call::Unlink),
            Step::Unlink { missing: MissingFile::Passes, .. } => self.op(step, Call::UnlinkIfThere),
            Step::Mkdir { mode, may_exist, .. } => {
                let usual = if is_set { DIRECTORY_MODE } else { 0o777 };
                let call = if *may_exist { Call::MkdirIfMissing } else { Call::Mkdir };
                CallOp { other: u64::from(mode.unwrap_or(usual)), ..self.op(step, call) }
            }
            Step::Rmdir { .. } => self.op(step, Call::Rmdir),
            Step::Readdir {} => self.op(step, Call::Readdir),
            Step::List { .. } => self.op(step, Call::List),
            Step::EndList {} => self.op(step, Call::EndList),
            Step::OfFile(file) => {
                CallOp { rules: self.rule(StepRules::OfFile(file.clone()), at)?, ..self.op(step, Call::OfFile) }
            }
            Step::HoldDirectories(held) => {
                CallOp { rules: self.rule(StepRules::Hold(*held), at)?, ..self.op(step, Call::HoldDirectories) }
            }
            Step::Shared(_) | Step::LoadFile(_) => return Err(Reason::NotValidated.at(at)),
            Step::Each(_) | Step::Loop { .. } | Step::Mix { .. } => unreachable!("compiled by `steps`"),
        };
        let usual = if is_set { Choose::ByCall } else { Choose::Own };
        let file = match step {
            Step::Mkdir { .. } | Step::Rmdir { .. } if is_set => usual,
            step => step.file().map_or(Ok(usual), |file| self.pick(&file, at))?,
        };
        let link_target = step.link_target().map_or(Ok(usual), |file| self.pick(&file, at))?;
        // An op on a link has the link's target first; an op on a file has the file itself first.
        Ok(match simple.call {
            Call::Link | Call::Symlink if !is_set => self.call(simple, link_target, file),
            _ => self.call(simple, file, link_target),
        })
    }

    /// Returns the op of a step without further settings.
    fn op(&self, step: &Step, call: Call) -> CallOp {
        let kind = step.kinds().first().copied().unwrap_or(OpKind::Delay);
        let op = CallOp::new(kind, call);
        CallOp { handle: step.handle().unwrap_or(0), counts: op.counts || self.over == Over::FileSet, ..op }
    }

    fn keep(&mut self, op: CallOp) -> u32 {
        self.program.calls.push(op);
        self.program.calls.len() as u32 - 1
    }

    fn call(&mut self, op: CallOp, file: Choose, other: Choose) -> Instruction {
        Instruction::Call { call: self.keep(op), file, other }
    }

    fn rule(&mut self, rules: StepRules, at: &str) -> Result<u16, CompileError> {
        let number = u16::try_from(self.rules.len()).map_err(|_| Reason::TooLong.at(at))?;
        self.rules.push(rules);
        Ok(number)
    }

    fn has(&self, needs: Needs) -> bool {
        match needs {
            Needs::Files => true,
            Needs::Names => self.over == Over::Names,
            Needs::FileSet => self.over == Over::FileSet,
            // Compiled elsewhere, with the other programs of their phase.
            Needs::SharedSets => false,
        }
    }

    fn whole(&mut self, direction: Direction, handle: u16, request: u64) -> Instruction {
        self.request(request);
        self.program.needs_contents = true;
        Instruction::Whole { direction, handle, request }
    }

    fn block(
        &mut self,
        direction: Direction,
        handle: u16,
        place: Place,
        size: &Distribution,
        at: &str,
    ) -> Result<Instruction, CompileError> {
        let size = self.size(size, at)?;
        self.request(self.program.sizes[size as usize].max());
        Ok(Instruction::Block { direction, handle, place, size })
    }

    fn request(&mut self, bytes: u64) {
        debug_assert!((1..=MAX_SET_REQUEST_BYTES).contains(&bytes), "a request of {bytes} bytes");
        self.program.max_request = self.program.max_request.max(bytes);
    }

    fn size(&mut self, size: &Distribution, at: &str) -> Result<u32, CompileError> {
        let sizes = TreeSizes::new(size).map_err(|_| Reason::NotValidated.at(at))?;
        self.program.sizes.push(sizes);
        self.program.needs_contents = true;
        Ok(self.program.sizes.len() as u32 - 1)
    }

    fn pick(&mut self, pick: &Pick, at: &str) -> Result<Choose, CompileError> {
        let too_long = || Reason::TooLong.at(at);
        Ok(match (pick, self.over) {
            (Pick::Own | Pick::Usual, Over::Names) => Choose::Own,
            (Pick::Nth(number), Over::Names) => Choose::Nth(*number),
            (_, Over::Names) | (Pick::Own | Pick::Nth(_) | Pick::New, Over::FileSet) => {
                return Err(Reason::NotValidated.at(at));
            }
            (Pick::Random | Pick::Usual, _) => Choose::Random,
            (Pick::RoundRobin, _) => Choose::Cursor(ROUND_ROBIN),
            (Pick::Sequential, _) => {
                let cursor = self.program.cursors;
                self.program.cursors = cursor.checked_add(1).ok_or_else(too_long)?;
                Choose::Cursor(cursor)
            }
            (Pick::Zipf { theta }, _) => {
                let known = self.program.thetas.iter().position(|known| known == theta);
                let number = known.unwrap_or_else(|| {
                    self.program.thetas.push(*theta);
                    self.program.thetas.len() - 1
                });
                Choose::Zipf(u16::try_from(number).map_err(|_| too_long())?)
            }
            (Pick::Same, _) => Choose::Same,
        })
    }

    fn emit(&mut self, instruction: Instruction, at: &str) -> Result<u32, CompileError> {
        if self.program.code.len() >= MAX_INSTRUCTIONS {
            return Err(Reason::TooLong.at(at));
        }
        self.program.code.push(instruction);
        Ok(self.program.code.len() as u32 - 1)
    }

    fn next_position(&self) -> u32 {
        self.program.code.len() as u32
    }
}
