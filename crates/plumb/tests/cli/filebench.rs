//! `plumb as filebench` end to end.

use super::leftovers::limited;
use crate::common::Home;
use regex::Regex;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Returns a script over a small file set in the working directory.
fn script(before: &str, flowops: &str, after: &str) -> String {
    format!(
        "define fileset name=set,path=.,entries=40,size=4k,dirwidth=8,{before}\n\
         define process name=p {{ thread name=t,instances=2 {{\n{flowops}\n}} }}\n{after}\n"
    )
}

const COPY: &str = "\
set mode quit alldone
define fileset name=from,path=.,entries=30,size=10k,dirwidth=5,prealloc
define fileset name=to,path=.,entries=30,size=10k,dirwidth=5
define process name=p { thread name=t,instances=3 {
  flowop openfile name=open,filesetname=from,fd=1
  flowop readwholefile name=read,fd=1,iosize=4k
  flowop createfile name=create,filesetname=to,fd=2
  flowop writewholefile name=write,fd=2,srcfd=1,iosize=4k
  flowop closefile name=close1,fd=1
  flowop closefile name=close2,fd=2
} }
run
";

/// Returns the ops in a line of the statistics.
fn ops(out: &str, name: &str) -> u64 {
    let line = Regex::new(&format!(r"(?m)^{name} +(\d+)ops")).unwrap();
    line.captures(out).unwrap_or_else(|| panic!("no {name} in\n{out}"))[1].parse().unwrap()
}

/// Returns all files below a directory.
fn paths(directory: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.metadata().unwrap().is_dir() {
            all.extend(paths(&entry.path()));
        } else {
            all.push(entry.path());
        }
    }
    all.sort();
    all
}

/// Returns the lengths of all files below a directory.
fn files(directory: &Path) -> Vec<u64> {
    paths(directory).iter().map(|path| path.metadata().unwrap().len()).collect()
}

/// A run that ends when all work is done does and counts all of it, in the tool's format. It is stored with its
/// statistics, and copies are as long as their originals.
#[test]
fn a_copy_is_counted_and_stored() {
    let home = Home::new();
    home.file("copy.f", COPY);
    let output = home.plumb("as filebench -f copy.f").expect(0);
    for name in ["open", "read", "create", "write"] {
        assert!(ops(&output.out, name) >= 30, "{name}: {}", output.out);
    }
    assert_eq!((ops(&output.out, "write"), ops(&output.out, "close2")), (30, 30));
    let first = "Filebench Version 1.5-alpha3\n";
    assert!(output.out.starts_with(first), "{}", output.out);
    for pattern in [
        r"(?m)^\d+\.\d{3}: Populating and pre-allocating filesets$",
        r"(?m)^\d+\.\d{3}: from populated: 30 files, avg\. dir\. width = 5, avg\. dir\. depth = 2\.1, 0 leafdirs, 0\.293MB total size$",
        r"(?m)^\d+\.\d{3}: Starting 1 p instances$",
        r"(?m)^\d+\.\d{3}: Running\.\.\.$",
        r"(?m)^write {16}30ops +\d+ops/s +\d+\.\dmb/s +\d+\.\d{3}ms/op \[\d+\.\d{3}ms - +\d+\.\d{3}ms\]$",
        r"(?m)^\d+\.\d{3}: IO Summary: +\d+ ops +\d+\.\d{3} ops/s \d+/\d+ rd/wr +\d+\.\dmb/s +\d+\.\d{3}ms/op$",
    ] {
        assert!(Regex::new(pattern).unwrap().is_match(&output.out), "{pattern} is not in\n{}", output.out);
    }
    assert_eq!(files(&home.work().join("to")), vec![10240; 30]);
    assert_eq!(home.query("select dialect, count(*) from run group by dialect"), [[json!("filebench"), json!(1)]]);
    // The tree of an earlier run is test data, so it is replaced.
    home.plumb("as filebench -f copy.f").expect(0);
}

/// Files are created and deleted in a set that all threads share: the files on disk match the counts.
#[test]
fn what_is_counted_is_what_exists() {
    let home = Home::new();
    let flowops = "flowop createfile name=c,filesetname=set,fd=1\nflowop closefile name=x,fd=1\n\
                   flowop deletefile name=d,filesetname=set\nflowop finishoncount name=f,value=50,target=d";
    home.file("churn.f", &script("prealloc=50", flowops, "set mode quit alldone\nrun"));
    let output = home.plumb("as filebench -f churn.f").expect(0);
    let (created, deleted) = (ops(&output.out, "c"), ops(&output.out, "d"));
    assert_eq!((created, deleted), (100, 100));
    assert_eq!(files(&home.work().join("set")).len(), files_before(&output.out));
}

/// Returns the number of files that a set had before its run.
fn files_before(out: &str) -> usize {
    // Half of 40, each by chance: the same in each run, because the seed is fixed.
    assert!(out.contains("set populated: 40 files"), "{out}");
    let home = Home::new();
    let flowops = "flowop delay name=d,value=0\nflowop finishoncount name=f,value=1,target=d";
    home.file("still.f", &script("prealloc=50", flowops, "set mode quit alldone\nrun"));
    home.plumb("as filebench -f still.f").expect(0);
    files(&home.work().join("set")).len()
}

/// If a set has no file left, the run ends with a message, and keeps its measurements.
#[test]
fn an_exhausted_set_keeps_what_was_measured() {
    let home = Home::new();
    let flowops = "flowop createfile name=c,filesetname=set,fd=1\nflowop closefile name=x,fd=1";
    home.file("full.f", &script("prealloc=0", flowops, "run 20"));
    let output =
        home.plumb("as filebench -f full.f").expect(0).expect_stderr(&["Run stopped early", "flowop c", "nfiles"]);
    assert_eq!(ops(&output.out, "c"), 40);
}

/// Threads wait for each other: one consumes what the other produces, and neither exceeds the limit.
#[test]
fn threads_meet() {
    let home = Home::new();
    home.file(
        "meet.f",
        "set mode quit firstdone\ndefine file name=f,path=.,size=4k,prealloc\n\
         define process name=giving { thread name=t {\n\
         flowop sempost name=post,target=take,value=1,blocking\n} }\n\
         define process name=taking { thread name=t {\n\
         flowop semblock name=take,value=5,highwater=10\nflowop delay name=d,value=1\nflowop wakeup name=wake,target=sleep\n\
         flowop finishoncount name=done,target=take,value=3\n} }\n\
         define process name=sleeping { thread name=t {\nflowop block name=sleep\nflowop read name=r,filename=f,iosize=4k\n} }\n\
         run 30",
    );
    let output = home.plumb("as filebench -f meet.f").expect(0);
    assert_eq!(ops(&output.out, "take"), 3);
    let posted = ops(&output.out, "post");
    assert!((15..=26).contains(&posted), "3 × 5 are taken, and at most 10 are ahead: {posted}");
    // The waker gives the sleeper a second to start waiting, because an earlier wake-up is lost.
    assert!((1..=3).contains(&ops(&output.out, "r")), "{}", output.out);
}

/// Errors have a place and an exit code, and create nothing.
#[test]
fn errors_run_nothing() {
    let home = Home::new();
    home.file("bad.f", &script("prealloc", "flowop statfile name=s,filesetnam=set", "run 1"));
    home.plumb("as filebench -f bad.f").expect(1).expect_stderr(&[
        "bad.f:3:24",
        "filesetnam",
        "did you mean `filesetname`?",
    ]);
    home.plumb("as filebench -f none.f").expect(1).expect_stderr(&["none.f"]);
    home.plumb("as filebench").expect(1).expect_stderr(&["no script"]);
    home.file("none.f", &script("prealloc", "flowop statfile name=s,filesetname=set", ""));
    let output = home.plumb("as filebench -f none.f").expect(0).expect_stderr(&["--run SECONDS"]);
    assert!(output.out.contains("Warning: no run command"), "{}", output.out);
    assert!(!home.work().join("set").exists());
    home.plumb("as filebench -f none.f --run 1").expect(0);
}

/// A directory that contains anything besides a file set's names is never removed.
#[test]
fn foreign_directories_are_kept() {
    let home = Home::new();
    home.file("s.f", &script("prealloc", "flowop statfile name=s,filesetname=set", "run 1"));
    let precious = home.work().join("set/thesis");
    std::fs::create_dir(home.work().join("set")).unwrap();
    std::fs::write(&precious, "precious").unwrap();
    home.plumb("as filebench -f s.f").expect(5).expect_stderr(&["thesis", "PLUMB_ALLOW="]);
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    // A user's dated photographs can also have numeric names.
    std::fs::remove_file(&precious).unwrap();
    let photograph = home.work().join("set/20240131/00012345");
    std::fs::create_dir(photograph.parent().unwrap()).unwrap();
    std::fs::write(&photograph, "precious").unwrap();
    home.plumb("as filebench -f s.f").expect(5).expect_stderr(&["no directory `00000001`", "PLUMB_ALLOW="]);
    assert_eq!(std::fs::read_to_string(&photograph).unwrap(), "precious");
}

/// A script runs no program unless the user allows it.
#[test]
fn programs_need_permission() {
    let home = Home::new();
    home.file("sys.f", "set $name=made\nsystem \"touch $name\"\n");
    home.plumb("as filebench -f sys.f").expect(1).expect_stderr(&["sys.f:2:1", "touch made", "--allow-system"]);
    assert!(!home.work().join("made").exists());
    home.plumb("as filebench -f sys.f --allow-system").expect(0);
    assert!(home.work().join("made").exists());
}

/// Every built-in workload runs, scaled to a second.
#[test]
fn personalities_run() {
    let home = Home::new();
    let small = |name: &str| match name {
        "randomread" | "randomwrite" => "--set filesize=1m",
        "oltp" => "--set filesize=256k --set logfilesize=512k --set nshadows=3 --set ndbwriters=2",
        "videoserver" => "--set filesize=1m --set numactivevids=3 --set numpassivevids=4 --set nthreads=2",
        "dss" => "--set filesize=1m",
        "netsfs" => "--set nfiles=200 --set eventrate=0",
        "fileserver" | "webproxy" | "webserver" | "varmail" => "--set nfiles=200 --set nthreads=3",
        _ => "--set nfiles=200",
    };
    let help = home.plumb("as filebench -h").expect(0).out;
    let names: Vec<&str> = help.lines().skip_while(|line| *line != "Personalities:").skip(1).map(first_word).collect();
    assert_eq!(names.len(), 13, "{help}");
    let summary = Regex::new(r"IO Summary: +(\d+) ops").unwrap();
    for name in names {
        let line = format!("as filebench --personality {name} --set dir=. --run 1 {}", small(name));
        let output = home.plumb(&line).expect(0);
        assert!(output.out.contains("IO Summary"), "{name}: {}", output.out);
        let counted: u64 = summary.captures(&output.out).unwrap()[1].parse().unwrap();
        assert!(counted > 0, "{name}: {}", output.out);
    }
}

fn first_word(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or("")
}

/// Snapshots are printed during the run, with histograms if the script asks for them, and flowops print their text.
#[test]
fn snapshots_are_printed() {
    let home = Home::new();
    let flowops =
        "flowop statfile name=s,filesetname=set\nflowop print name=says,value=\"hello\"\nflowop delay name=d,value=1";
    home.file("ps.f", &script("prealloc", flowops, "enable lathist\npsrun -1 3"));
    let output = home.plumb("as filebench -f ps.f").expect(0);
    assert!(output.out.matches("Per-Operation Breakdown").count() >= 2, "{}", output.out);
    let line = Regex::new(r"(?m)^s .*\]\t\[ (\d+ ){64}\]$").unwrap();
    assert!(line.is_match(&output.out), "{}", output.out);
    assert!(output.out.contains(": hello"), "{}", output.out);
}

/// Asynchronous writes go to their own file: the next opened file gets the same descriptor, and stays empty.
#[test]
fn closed_files_have_no_writes_in_flight() {
    let home = Home::new();
    home.file(
        "aio.f",
        "define fileset name=written,path=.,entries=8,size=4m,prealloc\n\
         define fileset name=empty,path=.,entries=400,size=4k,dirwidth=100\n\
         define process name=p { thread name=t {\n\
         flowop openfile name=open,filesetname=written,fd=1\n\
         flowop aiowrite name=write,fd=1,iosize=256k,random,iters=8\n\
         flowop closefile name=close,fd=1\n\
         flowop createfile name=create,filesetname=empty,fd=1\n\
         flowop closefile name=close,fd=1\n\
         } }\nset mode quit alldone\nrun\n",
    );
    let output = home.plumb("as filebench -f aio.f").expect(0);
    assert_eq!((ops(&output.out, "create"), ops(&output.out, "write")), (400, 401 * 8));
    assert_eq!(files(&home.work().join("empty")), vec![0; 400]);
    // Two flowops with the same name have two lines, the last one first.
    let counts: Vec<&str> = output.out.lines().filter(|line| line.starts_with("close ")).collect();
    assert!(counts.len() == 2 && counts[0].contains(" 400ops") && counts[1].contains(" 401ops"), "{counts:?}");
}

/// A failed write that no flowop waited for ends the run like any other failure.
#[test]
fn lost_writes_are_errors() {
    let home = Home::new();
    for (flowops, op) in [
        ("flowop aiowrite name=w,filesetname=set,fd=1,iosize=4k,random\nflowop closefile name=c,fd=1", "close"),
        ("flowop aiowrite name=w,filesetname=set,fd=1,iosize=4k,random\nflowop aiowait name=a", "write"),
        (
            "flowop aiowrite name=w,filesetname=set,fd=1,iosize=4k,random\n\
             flowop finishoncount name=f,value=1,target=w",
            "close",
        ),
    ] {
        home.file("lost.f", &script("prealloc,readonly", flowops, "set mode quit alldone\nrun"));
        home.plumb("as filebench -f lost.f").expect(1).expect_stderr(&[op, "set/00000001", "Bad file descriptor"]);
    }
}

/// A reused set is completed, and its valid files stay; a trusted set is not touched. Neither follows a link, nor
/// writes to a file with a second name.
#[test]
fn sets_are_reused() {
    let home = Home::new();
    let set = home.work().join("set");
    let run = |attribute: &str| {
        let attributes = format!("prealloc,{attribute}");
        home.file("reuse.f", &script(&attributes, "flowop listdir name=l,filesetname=set", "run 1"));
        home.plumb("as filebench -f reuse.f")
    };
    run("reuse").expect(0);
    let all = paths(&set);
    assert_eq!(all.len(), 40);
    std::fs::write(&all[0], [7; 4096]).unwrap();
    std::fs::write(&all[1], [7; 100]).unwrap();
    std::fs::write(&all[2], [7; 9000]).unwrap();
    std::fs::remove_file(&all[3]).unwrap();
    run("trusttree").expect(0);
    assert_eq!(paths(&set).len(), 39);
    run("reuse").expect(0);
    assert_eq!(files(&set), vec![4096; 40]);
    assert_eq!(std::fs::read(&all[0]).unwrap(), [7; 4096], "nothing was wrong with it");
    assert_ne!(std::fs::read(&all[1]).unwrap(), [7; 4096]);
    std::fs::hard_link(&all[1], home.work().join("other")).unwrap();
    for attribute in ["reuse", "trusttree", "reuse=false"] {
        run(attribute).expect(5).expect_stderr(&["hard link"]);
    }
    std::fs::remove_file(home.work().join("other")).unwrap();
    std::fs::rename(&set, home.work().join("real")).unwrap();
    std::os::unix::fs::symlink("real", &set).unwrap();
    run("reuse").expect(5).expect_stderr(&["symbolic link"]);
    std::fs::remove_file(&set).unwrap();
    std::fs::rename(home.work().join("real"), &set).unwrap();
    run("reuse=false").expect(0);
    assert_ne!(std::fs::read(&all[0]).unwrap(), [7; 4096], "it is made again");
}

// Protects: threads that keep many files open, as Filebench's oltp, share the process's limit of open files: they then
// keep fewer open, and the result says so.
#[test]
fn threads_share_the_limit_of_open_files() {
    let home = Home::new();
    home.file(
        "turn.f",
        "define fileset name=set,path=.,entries=40,size=8k,prealloc\n\
         define process name=p,instances=8 { thread name=t { flowop read name=r,filesetname=set,iosize=2k,random,opennext\n\
         flowop finishoncount name=f,value=4000 } }\nrun 20\n",
    );
    let run = limited(&home, "-n 600", "as filebench -f turn.f").expect(0);
    assert!(ops(&run.out, "r") >= 4000, "{}", run.out);
    let page = home.plumb("show last -v").expect(0).out;
    assert!(page.contains("files open, where Filebench keeps 128"), "{page}");
}
