//! Splits a recording, so that several processes can replay it together.

use super::is_replayed;
use super::lanes::lanes;
use crate::error::TraceError;
use crate::outline::Recorded;
use crate::own::has_other_file;
use crate::record::{FileName, Record, RecordedAct, end_of, open_flag};
use std::collections::HashMap;

/// Units that must stay together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apart {
    /// Ops of one thread.
    Threads,
    /// Ops on one file.
    Files,
    /// Ops of threads that change a shared resource: a file, a name, a directory above it, or a descriptor.
    Resources,
}

/// The split of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shares {
    /// Process of each thread, or of each file.
    pub process_of: Vec<u32>,
    /// Number of parts into which the recording could be split.
    pub parts: u32,
    /// Maximum number of simultaneous threads in a process.
    pub most_lanes: u32,
}

/// Users of one file or directory.
#[derive(Debug, Clone, Default)]
struct Users {
    tasks: Vec<u32>,
    is_changed: bool,
}

impl Users {
    fn add(&mut self, task: u32) {
        if !self.tasks.contains(&task) {
            self.tasks.push(task);
        }
    }
}

/// Groups of threads or files (union-find).
#[derive(Debug, Default)]
struct Groups {
    first_of: Vec<u32>,
    ops: Vec<u64>,
}

impl Groups {
    fn count(&mut self, unit: u32) {
        while self.first_of.len() <= unit as usize {
            self.first_of.push(self.first_of.len() as u32);
            self.ops.push(0);
        }
        self.ops[unit as usize] += 1;
    }

    fn first(&self, mut unit: u32) -> u32 {
        while self.first_of[unit as usize] != unit {
            unit = self.first_of[unit as usize];
        }
        unit
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.first(one), self.first(other));
        self.first_of[one.max(other) as usize] = one.min(other);
    }

    fn join_all(&mut self, units: &[u32]) {
        units.windows(2).for_each(|two| self.join(two[0], two[1]));
    }

    /// Assigns groups to processes, the largest first, each to the one with the fewest ops.
    fn deal(&self, processes: u32) -> (Vec<u32>, u32) {
        let mut sums: HashMap<u32, u64> = HashMap::new();
        for (unit, ops) in self.ops.iter().enumerate().filter(|(_, ops)| **ops > 0) {
            *sums.entry(self.first(unit as u32)).or_default() += ops;
        }
        let mut largest: Vec<(u64, u32)> = sums.into_iter().map(|(first, ops)| (ops, first)).collect();
        largest.sort_by_key(|&(ops, first)| (std::cmp::Reverse(ops), first));
        let mut loads = vec![0_u64; processes.max(1) as usize];
        let mut process_of_first: HashMap<u32, u32> = HashMap::new();
        for (ops, first) in &largest {
            let least = (0..loads.len()).min_by_key(|&process| loads[process]).unwrap_or(0);
            loads[least] += ops;
            process_of_first.insert(*first, least as u32);
        }
        let process_of = |unit| process_of_first.get(&self.first(unit)).copied().unwrap_or(0);
        ((0..self.ops.len() as u32).map(process_of).collect(), largest.len() as u32)
    }
}

/// Splits a recording for this many processes. `wanted` selects files.
///
/// # Errors
/// Returns the problem with the recording.
pub fn shares(
    mut reader: impl Recorded,
    wanted: impl Fn(&FileName) -> bool,
    apart: Apart,
    processes: u32,
) -> Result<Shares, TraceError> {
    let mut groups = Groups::default();
    let mut keeps: Vec<bool> = Vec::new();
    let mut users: Vec<Users> = Vec::new();
    let mut opened_by: HashMap<(u32, u32), u32> = HashMap::new();
    let mut alive: Vec<(u64, u64)> = Vec::new();
    while let Some(record) = reader.next() {
        let record = record?;
        let files = reader.names().files();
        while keeps.len() < files.len() {
            keeps.push(wanted(&files[keeps.len()]));
        }
        let other = has_other_file(record.act).then_some(record.aux as u32);
        let is_wanted = |file: u32| keeps.get(file as usize).copied().unwrap_or(false);
        if !is_replayed(record.act) || !is_wanted(record.file) || other.is_some_and(|other| !is_wanted(other)) {
            continue;
        }
        groups.count(if apart == Apart::Files { record.file } else { record.task });
        let task = record.task as usize;
        if alive.len() <= task {
            alive.resize(task + 1, (u64::MAX, 0));
        }
        alive[task] = (alive[task].0.min(record.at_ns), alive[task].1.max(end_of(&record)));
        if apart != Apart::Resources {
            continue;
        }
        if users.len() < files.len() {
            users.resize(files.len(), Users::default());
        }
        for file in [Some(record.file), other].into_iter().flatten() {
            let users = &mut users[file as usize];
            users.add(record.task);
            users.is_changed |= changes(&record);
        }
        if record.handle != 0 {
            let process = reader.names().tasks().get(task).map_or(0, |task| task.process);
            let opener = opened_by.entry((process, record.handle)).or_insert(record.task);
            if record.act == RecordedAct::Open {
                *opener = record.task;
            }
            groups.join(*opener, record.task);
        }
    }
    if apart == Apart::Resources {
        join_directory_users(reader.names().files(), &mut users);
        for users in users.iter().filter(|users| users.is_changed) {
            groups.join_all(&users.tasks);
        }
    }
    let (process_of, parts) = groups.deal(processes);
    let of = |process| {
        let own = |(task, times): (usize, &(u64, u64))| (process_of.get(task) == Some(&process)).then_some(*times);
        lanes(&alive.iter().enumerate().filter_map(own).collect::<Vec<_>>()).1
    };
    let most_lanes = if apart == Apart::Files { 1 } else { (0..processes).map(of).max().unwrap_or(1) };
    Ok(Shares { process_of, parts, most_lanes })
}

/// Whether it changes something that others may observe.
fn changes(record: &Record) -> bool {
    use RecordedAct::{Allocate, Link, Mkdir, Rename, Rmdir, Symlink, Trim, Truncate, Unlink, Write};
    match record.act {
        _ if record.result < 0 => false,
        RecordedAct::Open => record.aux & (open_flag::CREATE | open_flag::TRUNCATE) != 0,
        Write | Trim | Truncate | Allocate | Unlink | Mkdir | Rmdir | Rename | Link | Symlink => true,
        _ => false,
    }
}

/// Joins the users of a directory's contents with the users that create, remove or rename it.
fn join_directory_users(files: &[FileName], users: &mut [Users]) {
    let path = |file: &FileName| match file {
        FileName::Path(path) => path.trim_end_matches('/').to_owned(),
        FileName::Device { .. } => String::new(),
    };
    let changed: HashMap<String, usize> = files
        .iter()
        .zip(users.iter())
        .enumerate()
        .filter(|(_, (_, users))| users.is_changed)
        .map(|(number, (file, _))| (path(file), number))
        .collect();
    for number in 0..users.len() {
        let path = path(&files[number]);
        let mut above = path.as_str();
        while let Some((directory, _)) = above.rsplit_once('/') {
            if let Some(&changed) = changed.get(directory) {
                let tasks = users[number].tasks.clone();
                tasks.into_iter().for_each(|task| users[changed].add(task));
            }
            above = directory;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iolog::Waits;
    use std::io::Cursor;
    use std::path::Path;

    fn read_shares(text: &str, apart: Apart, processes: u32) -> Shares {
        let input = Box::new(Cursor::new(text.as_bytes().to_vec()));
        shares(crate::read(input, Path::new("r"), Waits::Manual).unwrap(), |_| true, apart, processes).unwrap()
    }

    /// Threads 1 and 2 share a file that 1 writes; 3 and 4 both read one; 5 works below a directory that 6 creates.
    const SIX: &str = "1 1.0 openat(AT_FDCWD</w>, \"a\", O_RDWR|O_CREAT, 0644) = 3</w/a> <0.1>\n\
                       2 1.1 stat(\"/w/a\", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0 <0.1>\n\
                       3 1.2 stat(\"/w/b\", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0 <0.1>\n\
                       4 1.3 stat(\"/w/b\", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0 <0.1>\n\
                       6 1.4 mkdir(\"/w/d\", 0755) = 0 <0.1>\n\
                       5 1.6 stat(\"/w/d/e\", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0 <0.1>\n";

    #[test]
    fn threads_that_change_shared_files_stay_together() {
        let found = read_shares(SIX, Apart::Resources, 2);
        let [one, two, three, four, six, five] = found.process_of[..] else { panic!("{found:?}") };
        assert_eq!((one, six), (two, five), "{found:?}");
        assert_ne!(three, four, "pure readers can be split");
        assert_eq!(found.parts, 4);
        assert_eq!(read_shares(SIX, Apart::Threads, 2).parts, 6);
    }

    #[test]
    fn each_process_has_about_as_many_ops() {
        let text: String = (0..40)
            .map(|op| format!("{} 1.{op:02} stat(\"/w/{op}\", 0x7ff) = -1 ENOENT (No such file) <0.000001>\n", op % 5))
            .collect();
        let found = read_shares(&text, Apart::Threads, 5);
        let mut processes = found.process_of.clone();
        processes.sort_unstable();
        assert_eq!((processes, found.parts, found.most_lanes), (vec![0, 1, 2, 3, 4], 5, 1));
        let files = read_shares("fio version 3 iolog\n0 a add\n0 b add\n1 a read 0 1\n2 b read 0 1\n", Apart::Files, 2);
        assert_eq!((files.process_of, files.parts), (vec![0, 1], 2));
    }
}
