//! `--debug=io`: each op as a line of fio's. fio prints the lines while it works. Plumb prints them at the end of a
//! phase, from its record of single ops, so that printing slows down no op.

use plumb_engine::LoggedOp;
use plumb_tools_fio::fio::debug::line;
use plumb_tools_fio::fio::lower::LoweredJob;
use plumb_workload::OpKind;

/// Bytes of text to buffer before writing.
const GATHERED_BYTES: usize = 1 << 16;

/// Prints ops while passing them on.
pub(crate) struct DebugOps<'a, W: FnMut(&str)> {
    ops: &'a mut dyn Iterator<Item = LoggedOp>,
    paths: Vec<String>,
    text: String,
    write: W,
}

impl<'a, W: FnMut(&str)> DebugOps<'a, W> {
    /// Prints the ops of one copy of a job.
    pub(super) fn new(ops: &'a mut dyn Iterator<Item = LoggedOp>, copy: &LoweredJob, write: W) -> DebugOps<'a, W> {
        let paths = (0..copy.names.count()).filter_map(|number| copy.names.path(number));
        let paths = paths.map(|path| path.to_string_lossy().into_owned()).collect();
        DebugOps { ops, paths, text: String::new(), write }
    }

    fn add(&mut self, op: &LoggedOp) {
        let Some(direction) = direction(op.kind) else { return };
        let path = self.paths.get(op.file as usize).map_or("", String::as_str);
        let pid = std::process::id();
        for step in ["fill", "prep", "queue", "complete"] {
            let what =
                format!("{step}: io_u 0x1: off=0x{:x},len=0x{:x},ddir={direction},file={path}", op.offset, op.length);
            self.text.push_str(&line("io", pid, &what));
        }
        if self.text.len() >= GATHERED_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        (self.write)(&self.text);
        self.text.clear();
    }
}

impl<W: FnMut(&str)> Iterator for DebugOps<'_, W> {
    type Item = LoggedOp;

    fn next(&mut self) -> Option<LoggedOp> {
        let op = self.ops.next();
        match &op {
            Some(op) => self.add(op),
            None => self.flush(),
        }
        op
    }
}

/// Returns fio's number for the direction of an op, or `None` if it has none.
fn direction(kind: OpKind) -> Option<u8> {
    match kind {
        OpKind::Read => Some(0),
        OpKind::Write => Some(1),
        OpKind::Trim => Some(2),
        OpKind::Fsync => Some(3),
        OpKind::Fdatasync => Some(4),
        OpKind::SyncRange => Some(5),
        _ => None,
    }
}
