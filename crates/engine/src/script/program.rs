//! A script, compiled, and the ops that it yields.

use super::cursor::{Cursor, TransferPlan};
use super::op::{Call, CallOp};
use super::postmark::{Mill, Rules};
use crate::source::Source;
use plumb_workload::OpKind;
use plumb_workload::script::{
    FileOrder, FileStep, Held, MapStep, MissingFile, OpenStep, PostmarkStep, ScriptStep, Transfer, Which,
};
use std::sync::Arc;

/// What a call needs to know beyond its op.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum StepRules {
    Nothing,
    Open(OpenStep),
    Map(MapStep),
    Lock(plumb_workload::script::LockKind),
    Transfer(Transfer),
    Whole(super::postmark::WholeBlocks),
    OfFile(FileStep),
    Hold(Held),
}

/// Steps in the order of their making. Orders of files and records are reckoned.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Program {
    items: Vec<Item>,
    /// By the number that an op carries.
    pub(super) rules: Arc<Vec<StepRules>>,
    /// Deepest nesting.
    depth: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum Item {
    Call {
        op: CallOp,
        file: Which,
        other: Which,
    },
    Transfer(Box<TransferPlan>),
    Postmark(Box<(PostmarkStep, Rules)>),
    /// The steps up to `Again`, for each of these files.
    Each {
        files: Vec<u32>,
        behind: usize,
    },
    Again {
        each: usize,
    },
}

impl Program {
    /// Compiles one part of a script.
    ///
    /// # Errors
    /// In words: it has more steps than an op can tell apart.
    pub(super) fn compile(steps: &[ScriptStep]) -> Result<Program, String> {
        let mut program = Program::default();
        let mut rules = vec![StepRules::Nothing];
        program.add_all(steps, 0, &mut rules)?;
        program.rules = Arc::new(rules);
        Ok(program)
    }

    fn add_all(&mut self, steps: &[ScriptStep], depth: usize, rules: &mut Vec<StepRules>) -> Result<(), String> {
        self.depth = self.depth.max(depth);
        steps.iter().try_for_each(|step| self.add(step, depth, rules))
    }

    fn add(&mut self, step: &ScriptStep, depth: usize, all: &mut Vec<StepRules>) -> Result<(), String> {
        let mut rule = |rules: StepRules| {
            let number =
                u16::try_from(all.len()).map_err(|_| "the script has too many steps; use `each`".to_owned())?;
            all.push(rules);
            Ok::<u16, String>(number)
        };
        let kind = step.kinds().first().copied().unwrap_or(OpKind::Delay);
        let handle = step.handle().unwrap_or(0);
        let of = |call: Call| CallOp { handle, ..CallOp::of(kind, call) };
        let files: Vec<Which> = step.files().collect();
        let op = match step {
            ScriptStep::Open(open) => {
                let rules = rule(StepRules::Open(open.clone()))?;
                CallOp { rules, ..of(Call::Open) }
            }
            ScriptStep::Close { .. } => of(Call::Close),
            ScriptStep::Msync { .. } => of(Call::Msync),
            ScriptStep::Fsync { .. } => of(Call::Fsync),
            ScriptStep::Fdatasync { .. } => of(Call::Fdatasync),
            ScriptStep::Flush { .. } => of(Call::Flush),
            ScriptStep::Sync {} => of(Call::Sync),
            ScriptStep::Seek { to, .. } => CallOp { offset: to.0, ..of(Call::Seek) },
            ScriptStep::Truncate { length, .. } => CallOp { offset: length.0, ..of(Call::Truncate) },
            ScriptStep::Map(map) => {
                let rules = rule(StepRules::Map(*map))?;
                CallOp { rules, ..of(Call::Map) }
            }
            ScriptStep::Unmap { .. } => of(Call::Unmap),
            ScriptStep::Lock { kind, .. } => {
                let rules = rule(StepRules::Lock(*kind))?;
                CallOp { rules, ..of(Call::Lock) }
            }
            ScriptStep::Unlink { missing: MissingFile::Fails, .. } => of(Call::Unlink),
            ScriptStep::Unlink { missing: MissingFile::Passes, .. } => of(Call::UnlinkIfThere),
            ScriptStep::Stat { .. } => of(Call::Stat),
            ScriptStep::Access { .. } => of(Call::Access),
            ScriptStep::Link { .. } => of(Call::Link),
            ScriptStep::Symlink { .. } => of(Call::Symlink),
            ScriptStep::Mkdir { mode, .. } => CallOp { length: u64::from(*mode), ..of(Call::Mkdir) },
            ScriptStep::List { .. } => of(Call::List),
            ScriptStep::EndList {} => of(Call::EndList),
            ScriptStep::OfFile(step) => {
                let rules = rule(StepRules::OfFile(step.clone()))?;
                CallOp { rules, ..of(Call::OfFile) }
            }
            ScriptStep::HoldDirectories(held) => {
                let rules = rule(StepRules::Hold(*held))?;
                CallOp { rules, ..of(Call::HoldDirectories) }
            }
            ScriptStep::Rmdir { .. } => of(Call::Rmdir),
            ScriptStep::Pause { time } => CallOp { length: time.0, ..of(Call::Pause) },
            ScriptStep::Transfer(transfer) => {
                let rules = rule(StepRules::Transfer(transfer.clone()))?;
                self.items.push(Item::Transfer(Box::new(TransferPlan::new(transfer, rules))));
                return Ok(());
            }
            ScriptStep::Postmark(step) => {
                let rules = Rules::of(&step.run, &mut rule)?;
                self.items.push(Item::Postmark(Box::new((PostmarkStep::clone(step), rules))));
                return Ok(());
            }
            ScriptStep::Each(each) => {
                let numbers = each.first..each.first.saturating_add(each.count);
                let files = match &each.order {
                    FileOrder::Forward => numbers.collect(),
                    FileOrder::Backward => numbers.rev().collect(),
                    FileOrder::Listed(files) => files.clone(),
                };
                let begin = self.items.len();
                self.items.push(Item::Each { files, behind: 0 });
                self.add_all(&each.steps, depth + 1, all)?;
                self.items.push(Item::Again { each: begin });
                let end = self.items.len();
                if let Item::Each { behind, .. } = &mut self.items[begin] {
                    *behind = end;
                }
                return Ok(());
            }
        };
        let file = files.first().copied().unwrap_or_default();
        let other = files.get(1).copied().unwrap_or_default();
        self.items.push(Item::Call { op, file, other });
        Ok(())
    }

    /// One more than the largest number of a handle.
    pub(super) fn handles(&self) -> usize {
        let of_call = |op: &CallOp| usize::from(op.handle) + 1;
        let numbers = self.items.iter().filter_map(|item| match item {
            Item::Call { op, .. } => Some(of_call(op)),
            Item::Transfer(_) | Item::Postmark(_) | Item::Each { .. } | Item::Again { .. } => None,
        });
        numbers.max().unwrap_or(1)
    }
}

/// Yields the ops of a program.
pub(crate) struct ScriptSource {
    program: Arc<Program>,
    /// Number of the worker in its group: its own file.
    worker: u32,
    at: usize,
    cursor: Cursor,
    /// Places in the file lists of the surrounding `each`.
    places: Vec<Within>,
    transfers: bool,
    /// What PostMark's part does, where there is one.
    mill: Option<Box<Mill>>,
}

#[derive(Debug, Clone, Copy)]
struct Within {
    each: usize,
    place: usize,
    file: u32,
}

impl ScriptSource {
    pub(super) fn new(program: &Arc<Program>, worker: u32) -> ScriptSource {
        let mill = program.items.iter().find_map(|item| match item {
            Item::Postmark(part) => Some(Box::new(Mill::new(&part.0, part.1, worker))),
            _ => None,
        });
        ScriptSource {
            mill,
            program: Arc::clone(program),
            worker,
            at: 0,
            cursor: Cursor::default(),
            places: Vec::with_capacity(program.depth),
            transfers: true,
        }
    }

    /// From here on, without transfers and without what PostMark's part would do.
    pub(super) fn leave_out_transfers(&mut self) {
        self.transfers = false;
    }

    fn file(&self, which: Which) -> u32 {
        match which {
            Which::Nth(number) => number,
            Which::Own => self.places.last().map_or(self.worker, |within| within.file),
        }
    }
}

impl Source for ScriptSource {
    type Op = CallOp;

    #[inline(always)]
    fn next_alike(&mut self) -> Option<CallOp> {
        match self.program.items.get(self.at)? {
            Item::Transfer(plan) => plan.next_alike(&mut self.cursor),
            _ => None,
        }
    }

    #[inline]
    fn next(&mut self) -> Option<CallOp> {
        loop {
            match self.program.items.get(self.at)? {
                Item::Transfer(plan) => {
                    if self.transfers
                        && let Some(op) = plan.next(&mut self.cursor)
                    {
                        return Some(op);
                    }
                    self.cursor = Cursor::default();
                    self.at += 1;
                }
                Item::Postmark(_) => {
                    if self.transfers
                        && let Some(op) = self.mill.as_mut().and_then(|mill| mill.next())
                    {
                        return Some(op);
                    }
                    self.at += 1;
                }
                Item::Call { op, file, other } => {
                    self.at += 1;
                    let op = CallOp { file: self.file(*file), other: self.file(*other), ..*op };
                    let place = self.places.last().map_or(0, |within| within.place as u64);
                    return Some(if op.call == Call::OfFile { CallOp { offset: place, ..op } } else { op });
                }
                Item::Each { files, behind } => match files.first() {
                    Some(&file) => {
                        self.places.push(Within { each: self.at, place: 0, file });
                        self.at += 1;
                    }
                    None => self.at = *behind,
                },
                Item::Again { each } => {
                    let Item::Each { files, behind } = &self.program.items[*each] else { return None };
                    let within = self.places.last_mut()?;
                    debug_assert_eq!(within.each, *each);
                    within.place += 1;
                    match files.get(within.place) {
                        Some(&file) => {
                            within.file = file;
                            self.at = each + 1;
                        }
                        None => {
                            self.places.pop();
                            self.at = *behind;
                        }
                    }
                }
            }
        }
    }
}
