//! The version 3 log of `write_iolog` and `read_iolog`: microseconds since its start, file, action.

/// Returns the first line, with its line end.
pub fn iolog_header() -> &'static str {
    "fio version 3 iolog\n"
}

/// A file event in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IologAction {
    /// Adds the file to the log; must come before its other events.
    Add,
    Open,
    Close,
    Read(LoggedExtent),
    Write(LoggedExtent),
    Trim(LoggedExtent),
    Sync(LoggedExtent),
    Datasync(LoggedExtent),
    SyncFileRange(LoggedExtent),
    Syncfs(LoggedExtent),
}

/// A range in a file, in bytes. A flush has no offset: fio prints the last use of the flush's buffer ([`UsedBuffers`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoggedExtent {
    pub offset: u64,
    /// fio writes 0 for a flush.
    pub length: u64,
}

/// Formats one line, with its line end. fio's format cannot quote blanks, so a file name
/// that contains one cannot be read back.
pub fn iolog_line(since_start_us: u64, file: &str, action: IologAction) -> String {
    let (name, extent) = match action {
        IologAction::Add => ("add", None),
        IologAction::Open => ("open", None),
        IologAction::Close => ("close", None),
        IologAction::Read(extent) => ("read", Some(extent)),
        IologAction::Write(extent) => ("write", Some(extent)),
        IologAction::Trim(extent) => ("trim", Some(extent)),
        IologAction::Sync(extent) => ("sync", Some(extent)),
        IologAction::Datasync(extent) => ("datasync", Some(extent)),
        IologAction::SyncFileRange(extent) => ("sync_file_range", Some(extent)),
        IologAction::Syncfs(extent) => ("syncfs", Some(extent)),
    };
    match extent {
        None => format!("{since_start_us} {file} {name}\n"),
        Some(LoggedExtent { offset, length }) => format!("{since_start_us} {file} {name} {offset} {length}\n"),
    }
}

/// The buffers of a job's queue, each with the offset of its last use. fio takes the buffer that was freed last.
#[derive(Debug, Clone)]
pub struct UsedBuffers {
    free: Vec<u64>,
    /// Offsets and completion times in nanoseconds.
    in_flight: Vec<(u64, u64)>,
}

impl UsedBuffers {
    /// Creates the unused buffers of a queue of this depth.
    pub fn new(depth: u32) -> UsedBuffers {
        UsedBuffers { free: vec![0; depth.max(1) as usize], in_flight: Vec::new() }
    }

    /// Records an op with its submission and completion times in nanoseconds, and returns the offset that it leaves in
    /// its buffer. `offset` is `None` for an op without one.
    pub fn used_by(&mut self, submit_ns: u64, complete_ns: u64, offset: Option<u64>) -> u64 {
        self.in_flight.sort_by_key(|(_, complete_ns)| *complete_ns);
        let over = self.in_flight.partition_point(|(_, complete_ns)| *complete_ns <= submit_ns);
        self.free.extend(self.in_flight.drain(..over).map(|(offset, _)| offset));
        if self.free.is_empty() && !self.in_flight.is_empty() {
            // A completion at exactly the time of the next op is reaped first.
            self.free.push(self.in_flight.remove(0).0);
        }
        let before = self.free.pop().unwrap_or(0);
        let offset = offset.unwrap_or(before);
        self.in_flight.push((offset, complete_ns));
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_version_3() {
        assert_eq!(iolog_line(0, "/x/a.0.0", IologAction::Add), "0 /x/a.0.0 add\n");
        let extent = LoggedExtent { offset: 8192, length: 4096 };
        assert_eq!(iolog_line(17, "/x/a.0.0", IologAction::Write(extent)), "17 /x/a.0.0 write 8192 4096\n");
    }

    /// As logged by fio 3.42: `sync 8192 0` after writes at 0, 4096 and 8192 of one op at a time. With a queue, it is
    /// the offset of the buffer that was freed last.
    #[test]
    fn flushes_have_the_offset_of_their_buffer() {
        let mut one = UsedBuffers::new(1);
        let writes: Vec<u64> = (0..3).map(|at| one.used_by(at * 10, at * 10 + 10, Some(at * 4096))).collect();
        assert_eq!(writes, [0, 4096, 8192]);
        assert_eq!(one.used_by(30, 40, None), 8192);
        assert_eq!(one.used_by(40, 50, None), 8192, "the flush before had it, too");
        let mut two = UsedBuffers::new(2);
        two.used_by(0, 30, Some(4096));
        assert_eq!(two.used_by(0, 20, None), 0, "the other buffer is new");
        assert_eq!(two.used_by(25, 40, Some(8192)), 8192);
        assert_eq!(two.used_by(35, 50, None), 4096);
        let extent = LoggedExtent { offset: 4096, length: 0 };
        assert_eq!(
            iolog_line(9, "a", IologAction::SyncFileRange(extent)) + &iolog_line(9, ".", IologAction::Syncfs(extent)),
            "9 a sync_file_range 4096 0\n9 . syncfs 4096 0\n"
        );
    }
}
