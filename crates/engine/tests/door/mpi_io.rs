//! Files opened by MPI-IO, with a mock library that makes the calls on real files and logs them.

use super::common::*;
use plumb_engine::{MpiFile, MpiIo, MpiIoError, Nobody};
use plumb_workload::OpKind;
use plumb_workload::program::OpenStep;
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A mock library with its behavior.
#[derive(Clone)]
struct Library {
    /// File that is opened instead of the named one.
    opens: Option<PathBuf>,
    /// Number of the write that fails, from 0.
    fails_at: Option<usize>,
    calls: Arc<Mutex<Vec<String>>>,
}

impl Library {
    fn new() -> Library {
        Library { opens: None, fails_at: None, calls: Arc::default() }
    }

    fn note(&self, call: &str) {
        self.calls.lock().unwrap().push(call.to_owned());
    }

    fn calls(&self) -> String {
        self.calls.lock().unwrap().join(" ")
    }
}

impl MpiIo for Library {
    fn ranks(&self) -> u32 {
        2
    }

    fn prepare(&self, ranks: u32) -> Result<(), MpiIoError> {
        self.note(&format!("prepare{ranks}"));
        Ok(())
    }

    fn broadcast_first(&self, ranks: u32, says: bool) -> Result<bool, MpiIoError> {
        self.note(&format!("first{ranks}"));
        Ok(says)
    }

    fn open(&self, path: &CStr, step: &OpenStep) -> Result<Box<dyn MpiFile>, MpiIoError> {
        self.note("open");
        let named = PathBuf::from(OsStr::from_bytes(path.to_bytes()));
        let path = self.opens.clone().unwrap_or(named);
        let opened = File::options().read(step.read).write(step.write).create(step.create).truncate(false).open(path);
        Ok(Box::new(Opened { library: self.clone(), file: opened.unwrap(), shown: (0, 0), writes: 0 }))
    }
}

struct Opened {
    library: Library,
    file: File,
    /// Offset of the first strided record, and the distance between records.
    shown: (u64, u64),
    writes: usize,
}

impl MpiFile for Opened {
    fn read(&mut self, offset: u64, into: &mut [u8], together: bool) -> Result<u64, MpiIoError> {
        self.library.note(&format!("read{}{}", into.len(), if together { "-all" } else { "" }));
        Ok(self.file.read_at(into, offset).unwrap() as u64)
    }

    fn write(&mut self, offset: u64, from: &[u8], together: bool) -> Result<u64, MpiIoError> {
        self.library.note(&format!("write{}{}", from.len(), if together { "-all" } else { "" }));
        self.writes += 1;
        if self.library.fails_at == Some(self.writes - 1) {
            return Err(MpiIoError { message: "MPI_File_write_at: the disk is tired".to_owned(), errno: 28 });
        }
        Ok(self.file.write_at(from, offset).unwrap() as u64)
    }

    fn show_strided(&mut self, first: u64, record: u64, stride: u64) -> Result<(), MpiIoError> {
        self.library.note(&format!("show{record}@{first}+{stride}"));
        self.shown = (first, stride);
        Ok(())
    }

    fn read_strided(&mut self, records: u64, into: &mut [u8], together: bool) -> Result<u64, MpiIoError> {
        let (first, stride) = self.shown;
        (0..records).map(|record| self.read(first + record * stride, into, together)).sum()
    }

    fn write_strided(&mut self, records: u64, from: &[u8], together: bool) -> Result<u64, MpiIoError> {
        let (first, stride) = self.shown;
        (0..records).map(|record| self.write(first + record * stride, from, together)).sum()
    }

    fn preallocate(&mut self, bytes: u64) -> Result<(), MpiIoError> {
        self.library.note("preallocate");
        self.file.set_len(bytes).unwrap();
        Ok(())
    }

    fn sync(&mut self) -> Result<(), MpiIoError> {
        self.library.note("sync");
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<(), MpiIoError> {
        self.library.note("close");
        Ok(())
    }
}

/// Two blocks of two records, every other block of a file that two ranks share.
fn workload(does: &str, open: &str, mpi: &str, via: &str, rest: &str) -> String {
    format!(
        "name = \"mpi\"\n[target.data.scratch]\nnames = {{ said = [\"f\"] }}\n[[phase]]\nname = \"p\"\n\
         [[phase.workers]]\ntarget = \"data\"\n[phase.workers.work.script]\n\
         steps = [{{ open = {{ read = true, {open} mpi = {{ ranks = 2, {mpi} }} }} }}, {{ transfer = {{ does = \"{does}\", \
         record = 4096, count = 4, via = {{ mpi = {{ {via} }} }}, {rest} order = {{ segments = {{ first = 8192, block = 8192, \
         stride = 16384, count = 2 }} }} }} }}, {{ fsync = {{}} }}, \"close\"]\ncontent = {{ told = {{ seed = 7 }} }}\nchecks = true\n"
    )
}

const MADE: &str = "write = true, create = true,";
const VIEW: &str = "view = { first = 8192, record = 4096, block = 8192, stride = 16384 }";

fn place(library: &Library) -> Place {
    let mut place = Place::new();
    place.mpi_io = Some(Arc::new(library.clone()));
    place
}

/// Protects: data is written to its place and read back unchanged, by view and by offset. Afterwards the file is
/// known as one that Plumb made.
#[test]
fn records_move_by_the_library() {
    for (mpi, via) in [("", ""), ("", "together = true"), (VIEW, "")] {
        let library = Library::new();
        let place = place(&library);
        let together = if via.is_empty() { "" } else { "-all" };
        let measured = place.phase(&workload("write", MADE, mpi, via, ""));
        assert_eq!((measured.ops[&OpKind::Write].bytes, measured.fault_count), (16384, 0));
        let write = format!("write4096{together}");
        assert_eq!(library.calls(), format!("prepare2 open {write} {write} {write} {write} sync close"));
        let written = std::fs::metadata(place.base().join("f")).unwrap().len();
        // The mock library has no views: the blocks are contiguous.
        assert_eq!(written, if mpi.is_empty() { 32768 } else { 16384 });
        let read = place.phase(&workload("read", "", mpi, via, ""));
        assert_eq!((read.ops[&OpKind::Read].bytes, read.fault_count), (16384, 0), "{:?}", read.faults);
        // Write again, over the existing data.
        assert_eq!(place.phase(&workload("write", MADE, mpi, via, "")).fault_count, 0);
    }
}

/// Protects: nothing is written to a file that the guard has not admitted, whatever file the library opens under its
/// name. Others still find this worker where they wait for it.
#[test]
fn only_the_admitted_file_is_written() {
    let library = Library::new();
    let mut place = place(&library);
    let other = place.base().join("precious");
    std::fs::write(&other, "precious").unwrap();
    place.mpi_io = Some(Arc::new(Library { opens: Some(other.clone()), ..library.clone() }));
    let measured = place.phase(&workload("write", MADE, "", "", ""));
    assert!(measured.faults[0].message.contains("write guard"), "{:?}", measured.faults);
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "precious");
    assert_eq!(library.calls(), "prepare2 open sync close", "no write");
    let measured = place.phase(&workload("write", MADE, "preallocate = \"1MiB\"", "", ""));
    assert!(measured.faults[0].message.contains("write guard"), "{:?}", measured.faults);
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "precious");
    assert!(library.calls().ends_with(" prepare2 open"), "no space reserved: {}", library.calls());
}

/// Protects: a worker that fails by itself still participates in collective calls, without moving data. A worker
/// whose collective call fails does not.
#[test]
fn a_failed_worker_still_takes_part() {
    for (via, rest, calls) in [
        ("", "", "write4096 write4096 sync close"),
        ("", "flushes = true,", "write4096 sync write4096 sync sync sync sync close"),
        ("together = true", "", "write4096-all write4096-all"),
    ] {
        let library = Library { fails_at: Some(1), ..Library::new() };
        let measured = place(&library).phase(&workload("write", MADE, "", via, rest));
        assert_eq!(measured.faults[0].message, "MPI_File_write_at: the disk is tired");
        assert_eq!(library.calls(), format!("prepare2 open {calls}"), "{via} {rest}");
    }
}

/// Protects: each call for a record of the first block moves it to or from its place in every
/// block, and all bytes moved count.
#[test]
fn strided_calls_move_a_record_of_every_block() {
    for (via, all) in [("strided = true", ""), ("strided = true, together = true", "-all")] {
        let library = Library::new();
        let place = place(&library);
        let text = |does: &str, open: &str| workload(does, open, "", via, "").replace("count = 4", "count = 2");
        let measured = place.phase(&text("write", MADE));
        let write = &measured.ops[&OpKind::Write];
        assert_eq!((write.count, write.bytes, measured.fault_count), (2, 16384, 0), "{:?}", measured.faults);
        let call = |first: u64| format!("show4096@{first}+16384 write4096{all} write4096{all}");
        assert_eq!(library.calls(), format!("prepare2 open {} {} sync close", call(8192), call(12288)));
        let written = std::fs::read(place.base().join("f")).unwrap();
        assert_eq!(written.len(), 32768);
        assert!(written[8192..16384] == written[24576..] && written[8192..].iter().any(|&byte| byte != 0));
        let read = place.phase(&text("read", ""));
        assert_eq!((read.ops[&OpKind::Read].bytes, read.fault_count), (16384, 0), "{:?}", read.faults);
        File::options().write(true).open(place.base().join("f")).unwrap().set_len(30000).unwrap();
        let short = place.phase(&text("read", ""));
        assert!(short.faults[0].message.contains("is the file long enough?"), "{:?}", short.faults);
    }
}

/// Protects: a worker that fails by itself still sets the view of strided calls with the others, which would otherwise
/// wait forever. After a failed strided call it does not, because the library may keep the file locked.
#[test]
fn a_failed_worker_still_sets_views() {
    let [first, second] = ["show4096@8192+16384", "show4096@12288+16384"];
    for (via, all) in [("strided = true", ""), ("strided = true, together = true", "-all")] {
        let text = workload("write", MADE, "", via, "").replace("count = 4", "count = 2");
        let library = Library { fails_at: Some(1), ..Library::new() };
        let measured = place(&library).phase(&text);
        assert_eq!(measured.faults[0].message, "MPI_File_write_at: the disk is tired");
        assert_eq!(library.calls(), format!("prepare2 open {first} write4096{all} write4096{all}"));

        let mut place = place(&library);
        let other = place.base().join("precious");
        std::fs::write(&other, "precious").unwrap();
        let library = Library { opens: Some(other), ..Library::new() };
        place.mpi_io = Some(Arc::new(library.clone()));
        let measured = place.phase(&text);
        assert!(measured.faults[0].message.contains("write guard"), "{:?}", measured.faults);
        let nothing = if all.is_empty() { "" } else { "write0-all " };
        assert_eq!(library.calls(), format!("prepare2 open {first} {second} {nothing}sync close"));
    }
}

/// Protects: ranks that move each record together pass a wall together. Each asks the first rank
/// before each record but the first.
#[test]
fn a_wall_is_met_in_step() {
    let library = Library::new();
    let rest = "wall = { ends = \"1m\" },";
    place(&library).phase(&workload("write", MADE, "", "together = true", rest));
    let record = "first2 write4096-all";
    assert_eq!(library.calls(), format!("prepare2 open write4096-all {record} {record} {record} sync close"));
    let apart = Library::new();
    place(&apart).phase(&workload("write", MADE, "", "", rest));
    assert_eq!(apart.calls(), "prepare2 open write4096 write4096 write4096 write4096 sync close");
}

/// Protects: nothing starts without a library, with too few ranks, or with a name that MPI-IO would misinterpret.
#[test]
fn files_that_cannot_be_opened_are_reported_before_the_start() {
    let error = |place: &Place, text: &str| place.try_run(text, &mut Nobody).unwrap_err().to_string();
    let text = workload("write", MADE, "", "", "");
    assert!(error(&Place::new(), &text).contains("no MPI library was started"));
    let library = Library::new();
    let place = place(&library);
    assert!(
        error(&place, &text.replace("ranks = 2", "ranks = 3"))
            .contains("3 ranks open its files together, but there are 2")
    );
    assert!(error(&place, &text.replace("[\"f\"]", "[\"ufs:f\"]")).contains("contains a colon"));
    assert_eq!(library.calls(), "");
}
