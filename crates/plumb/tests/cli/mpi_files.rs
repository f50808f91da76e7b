//! Which files ranks read if each has its own: those of another rank, unless the workload says otherwise.

use crate::common::{CommandOutput, Home, needs};
use crate::mpi::{launchers, phase};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;

/// Writes files of all three kinds that each rank has for itself, with stamps that identify the rank, and reads them.
const KINDS: &str = "name = \"kinds\"\n[target.one.file]\npath = \"one\"\nsize = \"64KiB\"\nprepare = \"nothing\"\n\
    [target.many.files]\npath = \"many\"\nsize = \"16KiB\"\ncount = 3\n[target.tree.tree]\npath = \"tree\"\nfiles = 20\n\
    size = { uniform = { min = \"1KiB\", max = \"9KiB\" } }\npreallocated-percent = 50\n\
    [[phase]]\nname = \"write\"\n[[phase.workers]]\ntarget = \"one\"\nwork.blocks.mix.write = 100\nwork.blocks.block = \"4KiB\"\n\
    verify = { method = \"crc32c\", layout = \"plumb\" }\n[[phase.workers]]\ntarget = \"tree\"\nlimit.passes = 5\n\
    work.program.steps = [\"create\", { append = { size = \"4KiB\" } }, \"close\"]\n\
    [[phase]]\nname = \"read\"\n[[phase.workers]]\ntarget = \"one\"\nwork.blocks.block = \"4KiB\"\n\
    verify = { method = \"crc32c\", layout = \"plumb\" }\n[[phase.workers]]\ntarget = \"many\"\nwork.blocks.block = \"4KiB\"\n\
    [[phase.workers]]\ntarget = \"tree\"\nlimit.passes = 30\n\
    work.program.steps = [\"open\", { read-whole = { request = \"64KiB\" } }, \"close\"]\n";

/// Returns the test directories in which a rank wrote and read, as strace saw them.
fn directories(trace: &str, call: &str) -> BTreeSet<String> {
    let of_call = trace.lines().filter(|line| line.contains(&format!(" {call}(")));
    let paths = of_call.filter_map(|line| line.split_once('<')?.1.split_once('>')).map(|(path, _)| path);
    let names = paths.filter_map(|path| path.split('/').find(|name| name.starts_with("plumb-test-")));
    names.map(str::to_owned).collect()
}

// Protects: a phase that only reads uses the files of another rank, of every kind, with that rank's stamps and sizes,
// and one rank reads each rank's files. With `reads-own`, and for writes, it uses its own.
#[test]
fn ranks_read_what_another_rank_wrote() {
    if !needs::tools(&["strace"]) {
        return;
    }
    for launcher in launchers() {
        for (option, reads_own) in [("", false), (" --set reads-own=true", true)] {
            let home = Home::new();
            home.file("kinds.toml", KINDS);
            let script = "exec strace -f -qq -y -e trace=pread64,pwrite64 -o \"trace.$OMPI_COMM_WORLD_RANK$PMI_RANK\" \"$0\" \"$@\"";
            let line = format!("run kinds.toml --json{option}");
            let output = CommandOutput::run(launcher.command_after(&["sh", "-c", script], &home, 3, &line));
            let result = output.json();
            let faults: Vec<&Value> =
                result["phases"].as_array().unwrap().iter().map(|phase| &phase["faults"]).collect();
            assert!(faults.iter().all(|faults| faults.is_null()), "{output:?}");
            let of = &phase(&result, "read")["ranks"]["read_files_of"];
            assert_eq!(of.as_str(), (!reads_own).then_some("the next rank"), "{output:?}");
            assert!(phase(&result, "write")["ranks"]["read_files_of"].is_null());
            let notes = phase(&result, "read")["notes"].to_string();
            assert!(!notes.contains("reads-own"), "{notes}");
            let trace = |rank: u32| std::fs::read_to_string(home.work().join(format!("trace.{rank}"))).unwrap();
            let mut owners: BTreeMap<String, u32> = BTreeMap::new();
            for rank in 0..3 {
                let written = directories(&trace(rank), "pwrite64");
                assert_eq!(written.len(), 1, "{written:?}");
                owners.extend(written.into_iter().map(|directory| (directory, rank)));
            }
            for rank in 0..3 {
                let read: Vec<u32> = directories(&trace(rank), "pread64").iter().map(|name| owners[name]).collect();
                assert_eq!(read, [if reads_own { rank } else { (rank + 1) % 3 }], "rank {rank}");
                let text = trace(rank);
                for kind in ["/one>", "/many.2>", "/tree/"] {
                    assert!(text.lines().any(|line| line.contains(" pread64(") && line.contains(kind)), "{kind}");
                }
            }
        }
    }
}

// Protects: if ranks do not see each other's files, as on local file systems, each reads its own, and the result says
// so.
#[test]
fn ranks_that_do_not_see_each_other_s_files_read_their_own() {
    if !needs::root_and(&["unshare"]) {
        return;
    }
    for launcher in launchers().take(1) {
        let home = Home::new();
        home.file("kinds.toml", KINDS);
        std::fs::create_dir(home.work().join("local")).unwrap();
        let script = "mount -t tmpfs none local && exec \"$0\" \"$@\"";
        let before = ["unshare", "-m", "sh", "-c", script];
        let output = CommandOutput::run(launcher.command_after(&before, &home, 2, "run kinds.toml --at local --json"));
        let result = output.json();
        let notes = phase(&result, "read")["notes"].to_string();
        for name in ["one", "many", "tree"] {
            let why = format!(
                "reads-own: a rank reads its own files of `{name}`, because it cannot read those of another rank"
            );
            assert!(notes.contains(&why), "{notes}\n{output:?}");
        }
        assert!(phase(&result, "read")["ranks"]["read_files_of"].is_null());
        assert!(phase(&result, "read")["done"]["read"]["ops"].as_u64().is_some_and(|ops| ops > 0));
    }
}

// Protects --mpiio.showHints: rank 0 prints the hints that it passes and those of the opened file, once per open, and
// never into JSON.
#[test]
fn hints_of_mpi_io_are_shown() {
    for launcher in launchers() {
        let home = Home::new();
        let line = "as ior -a MPIIO --mpiio.showHints -w -r -b 64k -t 16k -o shared -k";
        let run = |more: &str| {
            let mut command = launcher.command_after(&[], &home, 2, &format!("{line}{more}"));
            command.env("IOR_HINT__MPI__cb_buffer_size", "65536");
            CommandOutput::run(command).expect_measured()
        };
        let output = run("");
        for heading in ["hints passed to MPI_File_open() {", "hints returned from opened file {"] {
            assert_eq!(output.out.matches(heading).count(), 2, "{}", output.out);
        }
        let given = output.out.split("hints passed to MPI_File_open() {").nth(1).unwrap().split('}').next().unwrap();
        assert_eq!(given.trim(), "cb_buffer_size = 65536");
        let taken = output.out.split("hints returned from opened file {").nth(1).unwrap().split('}').next().unwrap();
        assert!(taken.contains("cb_buffer_size = 65536"), "{taken}");
        let json = run(" -E -O summaryFormat=JSON");
        assert!(json.err.contains("hints returned from opened file"), "{}", json.err);
        json.json();
    }
}

// Protects --mpiio.useStridedDatatype: each call writes one transfer into all segments, in IOR's file layout. All of it
// counts, and reads return the written data, also if ranks call independently.
#[test]
fn strided_calls_fill_every_segment() {
    for launcher in launchers() {
        for (ranks, segments, more) in [(2, 1, ""), (3, 3, ""), (3, 4, " -c")] {
            let home = Home::new();
            let line = "as ior -a MPIIO -w -k -G 7 -l o -b 96k -t 32k";
            let run = |line: &str| CommandOutput::run(launcher.command_after(&[], &home, ranks, line));
            run(&format!("{line} -o plain")).expect(0);
            let strided = format!("{line} -r -R -s {segments}{more} --mpiio.useFileView --mpiio.useStridedDatatype");
            let output = run(&format!("{strided} -o strided -O summaryFormat=JSON")).expect(0);
            let file = |name: &str| std::fs::read(home.work().join(name)).unwrap();
            let segment = file("plain");
            assert_eq!(segment.len(), ranks as usize * (96 << 10));
            assert!(file("strided") == segment.repeat(segments), "{ranks} {segments}{more}");
            let json = output.json();
            let moved = (segment.len() * segments) as f64 / f64::from(1 << 20);
            for summary in json["summary"].as_array().unwrap() {
                assert_eq!(summary["xsizeMiB"].as_f64(), Some(moved), "{summary}");
            }
            // Wrong data is detected in a single transfer, whichever segment holds it.
            let mut wrong = segment;
            wrong.iter_mut().rev().take(100).for_each(|byte| *byte ^= 1);
            std::fs::write(home.work().join("strided"), wrong.repeat(segments)).unwrap();
            let output = run(&format!("{} -o strided", strided.replace("-w -k", "-k")));
            assert_eq!(output.code, 1, "{output:?}");
        }
    }
}

// Protects: a file that a single rank cannot open with MPI-IO ends the run, with that rank and its host named, and no
// rank waits in the library forever.
#[test]
fn a_file_that_one_rank_cannot_open_ends_the_run() {
    if !needs::root_and(&["unshare"]) {
        return;
    }
    for launcher in launchers() {
        let home = Home::new();
        std::fs::create_dir(home.work().join("there")).unwrap();
        std::fs::write(home.work().join("there/file"), vec![0; 3 * (64 << 10)]).unwrap();
        let script = "[ \"$OMPI_COMM_WORLD_RANK$PMI_RANK\" != 1 ] || \
                      exec unshare -m sh -c 'mount -t tmpfs none there && exec \"$0\" \"$@\"' \"$0\" \"$@\"; exec \"$0\" \"$@\"";
        let line = "as ior -a MPIIO -r -k -b 64k -t 64k -o there/file";
        let output = CommandOutput::run(launcher.command_after(&["sh", "-c", script], &home, 3, line));
        assert_ne!(output.code, 0, "{output:?}");
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        output.expect_stderr(&["MPI_File_open was not called", &format!("a rank on {host} cannot open the file")]);
    }
}

// Protects: no rank removes or creates a file before all of them have inspected theirs. Without this barrier, a rank
// that arrives late would find the others' file gone.
#[test]
fn files_stay_until_every_rank_is_let_pass() {
    if !needs::root_and(&["unshare"]) {
        return;
    }
    for launcher in launchers() {
        let home = Home::new();
        std::fs::create_dir(home.work().join("there")).unwrap();
        let line = "as ior -w -k -b 64k -t 64k -o there/file";
        home.plumb(line).expect(0);
        let kept = std::fs::metadata(home.work().join("there/file")).unwrap();
        let script = "[ \"$OMPI_COMM_WORLD_RANK$PMI_RANK\" != 1 ] || exec unshare -m sh -c \
                      'mount -t tmpfs none there && echo mine >there/file && exec \"$0\" \"$@\"' \"$0\" \"$@\"; exec \"$0\" \"$@\"";
        let output = CommandOutput::run(launcher.command_after(&["sh", "-c", script], &home, 2, line));
        assert_ne!(output.code, 0, "{output:?}");
        let found = std::fs::metadata(home.work().join("there/file")).unwrap();
        assert_eq!((found.ino(), found.mtime_nsec()), (kept.ino(), kept.mtime_nsec()), "{output:?}");
        output.expect_stderr(&["rank 1 on ", "there/file"]);
    }
}
