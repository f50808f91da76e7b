//! Tracks the open files, directories and file positions of recorded processes, to turn system calls into records.

use crate::calls::{Argument, Call, Effect};
use crate::names::Names;
use crate::record::{FileName, Record, RecordedAct, Task, flag};
use std::collections::HashMap;

/// Flags of open(2) on Linux. Source: asm-generic/fcntl.h; O_DIRECT is that of x86.
const O_TRUNC: u64 = 0o1000;
const O_APPEND: u64 = 0o2000;
const O_DIRECT: u64 = 0o40000;
const O_DSYNC: u64 = 0o10000;
const O_CLOEXEC: u64 = 0o2_000_000;

/// Makes unlinkat(2) remove a directory.
const AT_REMOVEDIR: u64 = 0x200;

/// Value of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// A number, or the bits of one.
    Number(i64),
    /// A descriptor, with its path if the recording has it.
    Descriptor(i64, Option<String>),
    Path(String),
    /// An argument that could not be parsed.
    Unknown,
}

impl Value {
    fn number(&self) -> Option<i64> {
        match self {
            Value::Number(number) | Value::Descriptor(number, _) => Some(*number),
            _ => None,
        }
    }
}

/// A call that has returned.
#[derive(Debug, Clone)]
pub(crate) struct Returned<'a> {
    pub(crate) call: &'static Call,
    pub(crate) arguments: &'a [Value],
    /// Result, as the kernel returns it.
    pub(crate) result: i64,
    /// Path of a returned descriptor, if the recording has it.
    pub(crate) result_path: Option<&'a str>,
    pub(crate) thread: u32,
    pub(crate) at_ns: u64,
    pub(crate) took_ns: u64,
    /// Whether a clone creates a thread, which shares its parent's descriptors.
    pub(crate) is_thread: bool,
}

#[derive(Debug, Clone, Copy)]
struct Opened {
    file: u32,
    position: u64,
    flags: u64,
    /// Return time of the call that opened it, ns; 0 if it was not seen.
    since_ns: u64,
    /// Previous file of the descriptor, while its close has not returned yet.
    before: Option<u32>,
}

impl Opened {
    fn new(file: u32) -> Opened {
        Opened { file, position: 0, flags: 0, since_ns: 0, before: None }
    }
}

/// The state of all processes of a recording.
#[derive(Debug, Default)]
pub(crate) struct World {
    /// Process of each thread that is not its process's only one.
    processes: HashMap<u32, u32>,
    directories: HashMap<u32, String>,
    /// Last known directory; the default for unknown processes.
    last_directory: String,
    opened: HashMap<(u32, i64), Opened>,
    /// Sizes of files that were seen to grow, bytes.
    sizes: HashMap<u32, u64>,
    commands: HashMap<u32, String>,
    /// Whether the recording is complete, so that a descriptor without a seen open is not a file.
    only_known: bool,
}

/// Returns `false` for descriptors of pipes, sockets and the like.
fn is_file(path: &str) -> bool {
    path.starts_with('/') && !path.starts_with("/proc/") && !path.starts_with("/dev/pts/")
}

impl World {
    /// Creates the state for a complete recording.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn complete() -> World {
        World { only_known: true, ..World::default() }
    }

    /// Returns the process of a thread.
    pub(crate) fn process(&self, thread: u32) -> u32 {
        self.processes.get(&thread).copied().unwrap_or(thread)
    }

    /// Sets the process and program of a thread.
    pub(crate) fn set_process(&mut self, thread: u32, process: u32, command: &str) {
        if thread != process {
            self.processes.insert(thread, process);
        }
        if self.commands.get(&thread).is_none_or(|known| known != command) {
            self.commands.insert(thread, command.to_owned());
        }
    }

    /// Sets the program of a thread.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn set_program(&mut self, thread: u32, command: &str) {
        self.commands.insert(thread, command.to_owned());
    }

    /// Returns the program that a thread runs; empty if unknown.
    pub(crate) fn command(&self, thread: u32) -> String {
        self.commands.get(&thread).cloned().unwrap_or_default()
    }

    /// Sets the working directory of a thread.
    pub(crate) fn set_directory(&mut self, thread: u32, directory: &str) {
        let process = self.process(thread);
        self.last_directory = directory.to_owned();
        self.directories.insert(process, directory.to_owned());
    }

    /// Makes a path absolute, by names alone: `..` drops the last name.
    fn absolute(&self, process: u32, base: Option<&str>, path: &str) -> String {
        let base = match base {
            _ if path.starts_with('/') => "",
            Some(base) => base,
            None => self.directories.get(&process).map_or(self.last_directory.as_str(), String::as_str),
        };
        let mut names: Vec<&str> = Vec::new();
        for name in base.split('/').chain(path.split('/')) {
            match name {
                "" | "." => {}
                ".." => {
                    names.pop();
                }
                name => names.push(name),
            }
        }
        format!("/{}", names.join("/"))
    }

    /// Returns the record of a returned call; `None` if it did nothing to a file.
    pub(crate) fn record(&mut self, returned: &Returned<'_>, names: &mut Names) -> Option<Record> {
        let process = self.process(returned.thread);
        let (mut descriptor, mut directory): (Option<(i64, Option<&str>)>, Option<String>) = (None, None);
        let (mut path, mut other): (Option<String>, Option<String>) = (None, None);
        let (mut length, mut offset, mut aux, mut flags, mut mode) = (None, None, None, 0_u64, 0_u64);
        for (argument, value) in returned.call.arguments().zip(returned.arguments) {
            let number = || value.number().map(|number| number as u64);
            match (argument, value) {
                (Argument::Descriptor, Value::Descriptor(number, path)) => {
                    descriptor = Some((*number, path.as_deref()))
                }
                (Argument::Descriptor, Value::Number(number)) => descriptor = Some((*number, None)),
                (Argument::Directory, Value::Descriptor(number, at)) => {
                    directory.clone_from(at);
                    match (at, number) {
                        // AT_FDCWD.
                        (Some(at), -100) => self.set_directory(returned.thread, at),
                        (None, number) => directory = self.path_of(process, *number, names),
                        _ => {}
                    }
                }
                (Argument::Directory, Value::Number(number)) => directory = self.path_of(process, *number, names),
                (Argument::Path | Argument::OtherPath, Value::Path(text)) => {
                    let whole = match directory.as_deref() {
                        // An empty path refers to the directory's descriptor itself.
                        Some(directory) if text.is_empty() => directory.to_owned(),
                        base => self.absolute(process, base, text),
                    };
                    *(if argument == Argument::Path { &mut path } else { &mut other }) = Some(whole);
                }
                (Argument::Length, _) => length = number(),
                (Argument::Offset, _) => offset = number(),
                (Argument::Aux, _) => aux = number(),
                (Argument::OpenFlags, _) => flags = number().unwrap_or(0),
                (Argument::Mode, _) => mode = number().unwrap_or(0),
                _ => {}
            }
        }
        let result = returned.result;
        let act = match returned.call.effect {
            Effect::Act(act) => act,
            effect => {
                self.change(effect, returned, process, descriptor, path.as_deref(), names);
                return None;
            }
        };
        let known = descriptor.and_then(|(number, _)| self.opened.get(&(process, number))).copied();
        let file = match (&path, descriptor) {
            (Some(path), _) => {
                // An opened file is named after its resolved path.
                let opened = returned.result_path.filter(|_| act == RecordedAct::Open).unwrap_or(path);
                is_file(opened).then(|| names.path(opened))?
            }
            (None, Some((_, Some(path)))) => is_file(path).then(|| names.path(path))?,
            (None, Some((number, None))) => match known {
                Some(opened) => opened.file,
                None if self.only_known || act == RecordedAct::Map || act == RecordedAct::Close || number < 3 => {
                    return None;
                }
                None => names.path(&format!("process {process} descriptor {number}")),
            },
            (None, None) if act == RecordedAct::SyncAll => names.path("/"),
            (None, None) => return None,
        };
        let task = Task { process, thread: returned.thread, command: self.command(returned.thread) };
        let mut record = Record {
            took_ns: returned.took_ns,
            result,
            task: names.task(task),
            handle: descriptor.map_or(0, |(number, _)| (number + 1) as u32),
            length: length.unwrap_or(0),
            offset: offset.unwrap_or(0),
            aux: aux.unwrap_or(0),
            ..Record::new(returned.at_ns, file, act)
        };
        match act {
            RecordedAct::Open => {
                record.aux = flags & 0xffff_ffff | mode << 32;
                if result >= 0 {
                    record.handle = (result + 1) as u32;
                    let since_ns = returned.at_ns.checked_add(returned.took_ns).unwrap_or(0);
                    let before = self.opened.get(&(process, result)).map(|before| before.file);
                    self.opened.insert((process, result), Opened { flags, since_ns, before, ..Opened::new(file) });
                    if flags & O_TRUNC != 0 {
                        self.sizes.remove(&file);
                    }
                }
            }
            RecordedAct::Close => {
                let number = descriptor.map_or(-1, |(number, _)| number);
                match known {
                    // Another thread got the descriptor while this close was running: it closed the previous file.
                    Some(Opened { since_ns, before, .. }) if since_ns > returned.at_ns => {
                        record.file = before.unwrap_or(record.file);
                    }
                    _ => drop(self.opened.remove(&(process, number))),
                }
            }
            RecordedAct::Read | RecordedAct::Write => self.moved(&mut record, process, descriptor, length, offset),
            RecordedAct::Seek if result >= 0 => {
                record.offset = result as u64;
                let number = descriptor.map_or(-1, |(number, _)| number);
                let fresh = Opened::new(file);
                self.opened.entry((process, number)).or_insert(fresh).position = result as u64;
                record.result = 0;
            }
            RecordedAct::Truncate if result >= 0 => {
                self.sizes.insert(file, record.length);
            }
            RecordedAct::Unlink if aux.unwrap_or(0) & AT_REMOVEDIR != 0 => {
                (record.act, record.aux) = (RecordedAct::Rmdir, 0);
            }
            RecordedAct::Rename | RecordedAct::Link => record.aux = names.path(other.as_deref()?).into(),
            // A map returns an address.
            RecordedAct::Map if !(-4095..0).contains(&result) => record.result = 0,
            _ => {}
        }
        Some(record)
    }

    /// Handles moved bytes: finds the offset if the call has none, and advances the position.
    fn moved(
        &mut self,
        record: &mut Record,
        process: u32,
        descriptor: Option<(i64, Option<&str>)>,
        length: Option<u64>,
        offset: Option<u64>,
    ) {
        let moved = u64::try_from(record.result).unwrap_or(0);
        // For a list of buffers, only the moved length is known.
        record.length = length.unwrap_or(moved);
        let Some((number, _)) = descriptor else { return };
        let size = self.sizes.get(&record.file).copied().unwrap_or(0);
        let fresh = Opened::new(record.file);
        let opened = self.opened.entry((process, number)).or_insert(fresh);
        if opened.file != record.file {
            *opened = fresh;
        }
        if offset.is_none() {
            let appends = opened.flags & O_APPEND != 0 && record.act == RecordedAct::Write;
            record.offset = if appends { size } else { opened.position };
            opened.position = record.offset.saturating_add(moved);
        }
        record.flags |= if opened.flags & O_DIRECT != 0 { flag::DIRECT } else { 0 };
        record.flags |= if opened.flags & O_DSYNC != 0 { flag::SYNC } else { 0 };
        if record.act == RecordedAct::Write {
            let end = record.offset.saturating_add(moved);
            self.sizes.insert(record.file, size.max(end));
        }
    }

    fn path_of(&self, process: u32, number: i64, names: &Names) -> Option<String> {
        let opened = self.opened.get(&(process, number))?;
        match names.files().get(opened.file as usize)? {
            FileName::Path(path) => Some(path.clone()),
            FileName::Device { .. } => None,
        }
    }

    fn change(
        &mut self,
        effect: Effect,
        returned: &Returned<'_>,
        process: u32,
        descriptor: Option<(i64, Option<&str>)>,
        path: Option<&str>,
        names: &Names,
    ) {
        if returned.result < 0 {
            return;
        }
        match effect {
            Effect::Duplicates => {
                self.duplicate(process, descriptor.map_or(-1, |(number, _)| number), returned.result);
            }
            Effect::Moves => {
                let of_descriptor = || {
                    descriptor.and_then(|(number, path)| {
                        path.map(str::to_owned).or_else(|| self.path_of(process, number, names))
                    })
                };
                if let Some(directory) = path.map(str::to_owned).or_else(of_descriptor) {
                    self.set_directory(returned.thread, &directory);
                }
            }
            Effect::Forks => {
                let Ok(child) = u32::try_from(returned.result) else { return };
                if returned.is_thread {
                    self.processes.insert(child, process);
                } else {
                    self.inherit(process, child);
                }
            }
            Effect::Execs => {
                self.opened.retain(|(owner, _), opened| *owner != process || opened.flags & O_CLOEXEC == 0)
            }
            Effect::Act(_) => {}
        }
    }

    /// Notes that another descriptor refers to the same file. Clears it if the source is unknown, such as a pipe.
    pub(crate) fn duplicate(&mut self, process: u32, descriptor: i64, other: i64) {
        match self.opened.get(&(process, descriptor)).copied() {
            Some(opened) => self.opened.insert((process, other), opened),
            None => self.opened.remove(&(process, other)),
        };
    }

    /// Whether a descriptor is known to refer to a file.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn has_descriptor(&self, process: u32, descriptor: i64) -> bool {
        self.opened.contains_key(&(process, descriptor))
    }

    /// Adds a running process, with its directory and descriptors from /proc.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn add_running(&mut self, process: u32, names: &mut Names) {
        let link = |path: String| std::fs::read_link(path).ok().map(|path| path.to_string_lossy().into_owned());
        if let Some(directory) = link(format!("/proc/{process}/cwd")) {
            self.set_directory(process, &directory);
        }
        for entry in std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten() {
            let Ok(number) = entry.file_name().to_string_lossy().parse::<i64>() else { continue };
            let Some(path) = link(format!("/proc/{process}/fd/{number}")).filter(|path| is_file(path)) else {
                continue;
            };
            let about = std::fs::read_to_string(format!("/proc/{process}/fdinfo/{number}")).unwrap_or_default();
            let field =
                |name: &str| about.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("").trim().to_owned();
            let position = field("pos:").parse().unwrap_or(0);
            let flags = u64::from_str_radix(&field("flags:"), 8).unwrap_or(0);
            self.opened.insert((process, number), Opened { position, flags, ..Opened::new(names.path(&path)) });
        }
    }

    /// Copies the parent's state to a new process.
    pub(crate) fn inherit(&mut self, parent: u32, child: u32) {
        if let Some(directory) = self.directories.get(&parent).cloned() {
            self.directories.insert(child, directory);
        }
        let inherited: Vec<_> = self.opened.iter().filter(|((process, _), _)| *process == parent).collect();
        let inherited: Vec<_> =
            inherited.into_iter().map(|((_, number), opened)| ((child, *number), *opened)).collect();
        self.opened.extend(inherited);
    }
}
