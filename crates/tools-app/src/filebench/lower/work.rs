//! The work of Filebench's built-in flowops.

use super::Lowering;
use super::attributes::ScopedAttributes;
use super::flowops::unknown_flowop;
use crate::filebench::FilebenchUsageError;
use crate::filebench::lex::Place;
use crate::filebench::script::Flowop;
use crate::filebench::variables::Locals;
use plumb_workload::Bytes;
use plumb_workload::program::{Amount, EventUnit, FinishUnit, SharedFile, SharedPick, SharedTransfer, SharedWork};

impl Lowering<'_> {
    /// Returns the file that a flowop works on, and its work.
    pub(super) fn built_in(
        &self,
        flowop: &Flowop,
        locals: &Locals,
    ) -> Result<(SharedFile, SharedWork), FilebenchUsageError> {
        let reader = FlowopReader { lowering: self, flowop, seen: self.seen(&flowop.attributes, locals) };
        let file = reader.file()?;
        // Parsed even if the flowop does not use it, so that an invalid value is an error.
        reader.working_set()?;
        let does = reader.work()?;
        if does.needs_set() && file.set.is_none() {
            return Err(FilebenchUsageError::at(reader.place(), format!("`{}` names no file set", flowop.kind))
                .help("add `filesetname=…`"));
        }
        Ok((file, does))
    }

    /// Returns the target of a file set.
    fn target_of(&self, name: &str, place: Place) -> Result<String, FilebenchUsageError> {
        match self.plan.sets.iter().find(|(_, set)| *set == name) {
            Some((target, _)) => Ok(target.clone()),
            None => {
                let names = self.plan.sets.values().map(String::as_str);
                let error = FilebenchUsageError::at(place, format!("there is no file set `{name}`"));
                Err(error.nearest(name, names, "define it above `run`"))
            }
        }
    }

    fn positions(&self, name: &str, place: Place) -> Result<Vec<Bytes>, FilebenchUsageError> {
        self.definitions.positions.get(name).cloned().ok_or_else(|| {
            let names = self.definitions.positions.keys().map(String::as_str);
            let error = FilebenchUsageError::at(place, format!("there is no set of positions `{name}`"));
            error.nearest(name, names, "`define posset` it above `run`")
        })
    }
}

/// Reads the attributes of a flowop.
struct FlowopReader<'a> {
    lowering: &'a Lowering<'a>,
    flowop: &'a Flowop,
    seen: ScopedAttributes<'a>,
}

impl FlowopReader<'_> {
    fn place(&self) -> Place {
        self.flowop.attributes.place
    }

    fn file(&self) -> Result<SharedFile, FilebenchUsageError> {
        let set = match self.seen.text("filesetname")? {
            Some(name) => Some(self.lowering.target_of(&name, self.seen.place("filesetname"))?),
            None => None,
        };
        let pick = match (self.seen.boolean("opennext")?, self.seen.amount("indexed")?) {
            (true, _) => SharedPick::Turn,
            (false, Some(index)) => SharedPick::Indexed(index),
            (false, None) => SharedPick::Next,
        };
        Ok(SharedFile {
            set,
            handle: self.seen.narrow("fd", 0)?,
            pick,
            direct: self.seen.boolean("directio")?,
            sync: self.seen.boolean("dsync")?,
            no_read_ahead: self.seen.boolean("noreadahead")?,
        })
    }

    /// Returns the bytes per call; 0 if no size is given.
    fn size(&self) -> Result<Amount, FilebenchUsageError> {
        self.seen.amount("iosize").map(|size| size.unwrap_or(Amount::Fixed(0)))
    }

    /// Returns the bytes per call, which must not be 0.
    fn some_size(&self) -> Result<Amount, FilebenchUsageError> {
        match self.size()? {
            Amount::Fixed(0) => {
                let message = format!("`{}` moves nothing", self.flowop.kind);
                Err(FilebenchUsageError::at(self.seen.place("iosize"), message).help("add `iosize=8k`"))
            }
            size => Ok(size),
        }
    }

    fn working_set(&self) -> Result<u64, FilebenchUsageError> {
        self.seen.integer("workingset", 0)
    }

    fn value(&self) -> Result<Amount, FilebenchUsageError> {
        self.seen.amount("value").map(|value| value.unwrap_or(Amount::Fixed(0)))
    }

    /// Returns the flowop that this one wakes or pays.
    fn target(&self) -> Result<String, FilebenchUsageError> {
        self.counted()?.ok_or_else(|| {
            FilebenchUsageError::at(self.place(), format!("`{}` has no target", self.flowop.kind))
                .help("add `target=` and the name of a flowop")
        })
    }

    /// Returns the flowop that a limit counts; `None` counts all of them.
    fn counted(&self) -> Result<Option<String>, FilebenchUsageError> {
        self.seen.text("target").map(|target| target.filter(|target| !target.is_empty()))
    }

    fn transfer(&self) -> Result<SharedTransfer, FilebenchUsageError> {
        let random = self.seen.boolean("random")?;
        let places = match self.seen.text("possetname")?.filter(|_| random && self.flowop.kind != "aiowrite") {
            Some(name) => self.lowering.positions(&name, self.seen.place("possetname"))?,
            None => Vec::new(),
        };
        Ok(SharedTransfer { size: self.some_size()?, random, within: self.working_set()?, places })
    }

    fn work(&self) -> Result<SharedWork, FilebenchUsageError> {
        Ok(match self.flowop.kind.as_str() {
            "openfile" => SharedWork::Open,
            "createfile" => SharedWork::Create,
            "closefile" => SharedWork::Close,
            "deletefile" => SharedWork::Remove,
            "statfile" => SharedWork::Stat,
            "read" => SharedWork::Read(self.transfer()?),
            "write" => SharedWork::Write(self.transfer()?),
            "readwholefile" => SharedWork::ReadWhole { request: self.size()? },
            "writewholefile" => SharedWork::WriteWhole {
                request: self.size()?,
                like: self.seen.narrow("srcfd", 0)?,
                bytes: self.working_set()?,
            },
            "appendfile" => SharedWork::Append { size: self.some_size()?, up_to: false },
            "appendfilerand" => SharedWork::Append { size: self.some_size()?, up_to: true },
            "fsync" => SharedWork::Fsync,
            "fsyncset" => SharedWork::FsyncSet,
            "makedir" => SharedWork::MakeDirectory,
            "removedir" => SharedWork::RemoveDirectory,
            "listdir" => SharedWork::List,
            "aiowrite" => {
                if !self.seen.boolean("random")? {
                    return Err(FilebenchUsageError::at(self.place(), "`aiowrite` only writes at random offsets")
                        .help("add `random`"));
                }
                SharedWork::StartWrite(self.transfer()?)
            }
            "aiowait" => SharedWork::AwaitWrites,
            "block" => SharedWork::Sleep,
            "wakeup" => SharedWork::Wake { step: self.target()? },
            "semblock" => SharedWork::Take { credit: self.value()?, ahead: self.seen.integer("highwater", 1)? },
            "sempost" => {
                SharedWork::Give { step: self.target()?, credit: self.value()?, waits: self.seen.boolean("blocking")? }
            }
            "hog" => SharedWork::Spin { times: self.value()? },
            "delay" => SharedWork::Delay { seconds: self.value()? },
            "eventlimit" => SharedWork::TakeEvent,
            "iopslimit" => SharedWork::TakeEvents { unit: EventUnit::Transfers, step: self.counted()? },
            "opslimit" => SharedWork::TakeEvents { unit: EventUnit::Ops, step: self.counted()? },
            "bwlimit" => SharedWork::TakeEvents { unit: EventUnit::Mebibytes, step: self.counted()? },
            "finishoncount" => {
                SharedWork::Finish { after: self.value()?, unit: FinishUnit::Ops, step: self.counted()? }
            }
            "finishonbytes" => {
                SharedWork::Finish { after: self.value()?, unit: FinishUnit::Bytes, step: self.counted()? }
            }
            "print" => SharedWork::Note { text: self.seen.text("value")?.unwrap_or_default() },
            "testrandvar" => SharedWork::Sample { value: self.value()? },
            _ => return Err(unknown_flowop(self.flowop)),
        })
    }
}
