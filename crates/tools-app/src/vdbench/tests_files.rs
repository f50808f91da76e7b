//! Tests of valid and invalid definitions of file systems, of their workloads, and of vdbench's output.

use super::print_files::{self, FilesDone};
use super::tests::places;
use super::*;
use plumb_result::histogram::Histogram;
use plumb_result::measurement::OpMeasurement;
use plumb_workload::program::{Pick, Step};
use plumb_workload::{Bytes, Distribution, OpKind, Target, WorkerGroup, Workload};
use std::collections::BTreeMap;

const FILES: &str = "\
fsd=default,depth=2,width=3,files=10
fsd=fsd1,anchor=/mnt/a,sizes=64k
fsd=fsd2,anchor=/mnt/b,sizes=(4k,75,1m,25)
fwd=default,xfersize=4k,fileselect=random
fwd=fwd1,fsd=fsd1,operation=read,fileio=random,threads=6
fwd=fwd2,fsd=fsd1,operation=write,fileio=sequential,xfersize=(8k,50,16k,50),threads=3
fwd=fwd3,fsd=fsd*,operation=getattr,threads=4
rd=rd1,fwd=(fwd1,fwd2),fwdrate=max,format=yes,elapsed=10
rd=rd2,fwd=fwd1,fwdrate=curve,curve=(50),elapsed=10,forrdpct=(75)
rd=rd3,fwd=fwd3,fwdrate=(100,200),elapsed=10,foroperations=(create,setattr),forfiles=(20)
";

fn script(text: &str) -> Script {
    Script::parse("f", text, &VdbenchSettings::default()).unwrap()
}

fn lowered(run: &Run, rate: Option<f64>) -> Workload {
    let script = Script::default();
    let workload = lower(&script, run, places(&[]), rate, 5).unwrap();
    assert_eq!(plumb_workload_text::validate::validate(&workload), [], "{}", run.name);
    let text = plumb_workload_text::native::to_toml(&workload).unwrap();
    assert_eq!(plumb_workload_text::native::parse("v.toml", &text).unwrap(), workload);
    workload
}

fn steps(group: &WorkerGroup) -> &[Step] {
    &group.work.program().unwrap().steps
}

fn tree<'a>(workload: &'a Workload, group: &WorkerGroup) -> &'a plumb_workload::TreeTarget {
    match workload.target.get(&group.target) {
        Some(Target::Tree(tree)) => tree,
        other => panic!("{other:?}"),
    }
}

#[test]
fn runs_on_files_follow_from_loops_and_rates() {
    let script = script(FILES);
    let described: Vec<String> =
        script.runs.iter().map(|run| format!("{} {:?} {}", run.name, run.rate, run.loops)).collect();
    assert_eq!(
        described,
        [
            "rd1 Max None",
            "rd2 CurveMax rdpct=75.0",
            "rd2 CurvePercent(50) rdpct=75.0",
            "rd3 PerSecond(100) operations=create files=20.0",
            "rd3 PerSecond(200) operations=create files=20.0",
            "rd3 PerSecond(100) operations=setattr files=20.0",
            "rd3 PerSecond(200) operations=setattr files=20.0",
        ]
    );
    assert_eq!(script.runs[3].anchors().collect::<Vec<_>>(), ["/mnt/a", "/mnt/b"]);
}

#[test]
fn each_workload_has_its_share_of_the_files() {
    let script = script(FILES);
    let first = lowered(&script.runs[0], None);
    let groups = &first.phase[0].workers;
    let described: Vec<(&str, u32, u64, u32)> = groups
        .iter()
        .map(|group| {
            let tree = tree(&first, group);
            (group.name.as_deref().unwrap(), group.count, tree.files, tree.preallocated_percent)
        })
        .collect();
    // 10 files in each of 9 directories, divided by threads.
    assert_eq!(described, [("fwd1.fsd1", 6, 60, 100), ("fwd2.fsd1", 3, 30, 100)]);
    let tree = tree(&first, &groups[0]);
    assert_eq!((tree.depth, tree.width, &tree.size), (2, 3, &Distribution::Fixed(Bytes(65_536))));
    let [Step::Open(open), Step::Loop { times, steps: inner }, Step::Close { .. }] = steps(&groups[0]) else {
        panic!("{:?}", groups[0]);
    };
    // A file of 64 KiB has 16 blocks of 4 KiB.
    assert_eq!((open.file, open.write, *times), (Pick::Random, false, 16));
    assert!(matches!(inner.as_slice(), [Step::ReadRandom { size: Distribution::Fixed(Bytes(4096)), .. }]));
    let [Step::Open(open), Step::Mix { choices }, Step::Close { .. }] = steps(&groups[1]) else {
        panic!("{:?}", groups[1]);
    };
    assert!(open.write && matches!(choices[1].steps[..], [Step::WriteWhole { request: Bytes(16_384), .. }]));
    let mixed = lowered(&script.runs[2], Some(1000.0));
    let group = &mixed.phase[0].workers[0];
    let [Step::Open(open), Step::Loop { steps: inner, .. }, _] = steps(group) else { panic!("{group:?}") };
    assert!(open.write && matches!(&inner[..], [Step::Mix { choices }] if choices[0].weight == 75.0), "{inner:?}");
    // 1,000 reads and writes per second are 1,125 calls, because each 16 need an open and a close.
    assert_eq!(group.pace.open.unwrap().rate.0, 1125.0);
    // Every operation lowers to a valid workload.
    let every = "fsd=a,anchor=/x,depth=1,width=1,files=4,sizes=4k\nfsd=c,anchor=/y,depth=1,width=1,files=4,sizes=4k\n\
                 fwd=b,fsd=a,target=c\nrd=r,fwd=b,fwdrate=max,foroperations=\
                 (read,write,mkdir,create,open,close,delete,getattr,setattr,access,rmdir,copy,move)";
    let every = self::script(every);
    assert_eq!(every.runs.len(), 13);
    every.runs.iter().for_each(|run| drop(lowered(run, None)));
    let create = lowered(&script.runs[4], Some(200.0));
    let described: Vec<(u32, u32, f64)> = create.phase[0]
        .workers
        .iter()
        .map(|group| (group.count, self::tree(&create, group).preallocated_percent, group.pace.open.unwrap().rate.0))
        .collect();
    // Two file systems, each with half of the threads and of the rate; a created file is closed.
    assert_eq!(described, [(2, 0, 200.0), (2, 0, 200.0)]);
}

// Copies go to the named file system, once each if sequential and repeatedly if random. There are as many directories
// as the file system has. A run that only creates files creates all of them, without a time limit.
#[test]
fn copies_directories_and_formats_have_their_sizes() {
    let text = "fsd=default,depth=2,width=3,files=5,sizes=10k\nfsd=from,anchor=/a\nfsd=to,anchor=/b\n\
                fwd=default,fsd=from,threads=2,xfersize=4k\nfwd=copy,operation=copy,target=to\n\
                fwd=move,operation=move,target=to,fileselect=random\nfwd=rmdir,operation=rmdir\nfwd=mkdir,operation=mkdir\n\
                fwd=format,threads=4,xfersize=64k\nrd=rd1,fwd=copy,fwdrate=100\nrd=rd2,fwd=move\nrd=rd3,fwd=rmdir\n\
                rd=rd4,fwd=mkdir\nrd=rd5,fwd=copy,format=only,fwdrate=100\nrd=rd6,fwd=*,format=(only,dir,limited),elapsed=7\n\
                rd=rd7,fwd=mkdir,format=(no,only)\n";
    let script = script(text);
    let workloads: Vec<Workload> = script.runs.iter().map(|run| lowered(run, None)).collect();
    let group = |run: usize| &workloads[run].phase[0].workers[0];
    let of = |run: usize| tree(&workloads[run], group(run));
    // 45 files, in equal numbers per thread.
    assert_eq!((of(0).files, group(0).limit.passes), (44, Some(22)));
    let [Step::Copy(copy)] = steps(group(0)) else { panic!("{:?}", group(0)) };
    assert_eq!((copy.to.as_str(), copy.request, copy.moves), ("copy.from.to", Bytes(4096), false));
    let Some(Target::Tree(to)) = workloads[0].target.get(&copy.to) else { panic!("{:?}", workloads[0].target) };
    assert_eq!((to.files, to.depth, to.preallocated_percent), (44, 2, 0));
    assert!(group(0).work.program().unwrap().count_transactions);
    let [Step::Copy(copy)] = steps(group(1)) else { panic!("{:?}", group(1)) };
    assert_eq!((copy.moves, copy.file, group(1).limit.passes, of(1).files), (true, Pick::Random, None, 45));
    // 3 directories, each with 3 subdirectories.
    assert_eq!((of(2).directories, of(2).preallocated_percent, group(3).limit.passes), (12, 0, Some(6)));
    // A copy has an open, a new file, 3 reads and writes, and 2 closes.
    assert_eq!(lowered(&script.runs[0], Some(100.0)).phase[0].workers[0].pace.open.unwrap().rate.0, 1000.0);
    let phase = &workloads[4].phase[0];
    assert_eq!((script.runs[4].name.as_str(), phase.workers.len(), phase.stop.time), ("format_for_rd5", 2, None));
    assert!(
        phase.workers.iter().all(|group| group.count == 4 && group.limit.passes == Some(12) && group.pace.is_closed())
    );
    assert!(matches!(
        steps(group(4)),
        [Step::Create { .. }, Step::WriteWhole { request: Bytes(65_536), .. }, Step::Close { .. }]
    ));
    assert_eq!(workloads[5].phase[0].stop.time.map(|time| time.0), Some(7_000_000_000));
    // Defaults: transfers of 128 KiB, independent of other definitions, and 8 threads.
    let usual = self::script(&text.replace("fwd=format,threads=4,xfersize=64k\n", ""));
    let usual = lowered(&usual.runs[4], None).phase[0].workers[0].clone();
    assert!(
        usual.count == 8 && matches!(&steps(&usual)[1], Step::WriteWhole { request: Bytes(131_072), .. }),
        "{usual:?}"
    );
    let small = self::script(&text.replace("fwd=format,threads=4,xfersize=64k", "fwd=format"));
    let small = lowered(&small.runs[4], None).phase[0].workers[0].clone();
    assert!(
        small.count == 2 && matches!(&steps(&small)[1], Step::WriteWhole { request: Bytes(131_072), .. }),
        "{small:?}"
    );
    assert!(matches!(steps(group(5)), [Step::Mkdir { .. }]));
    assert_eq!(script.runs[6].name, "rd7");
    // Anchors on several file systems.
    let directories = ["/a".into(), "/b".into()];
    let places = Places { lengths: &[], directories: &directories };
    let apart = lower(&Script::default(), &script.runs[0], places, None, 1).unwrap();
    let paths: Vec<String> = apart
        .target
        .values()
        .map(|target| match target {
            Target::Tree(tree) => tree.path.display().to_string(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(paths, ["/a/copy.from", "/b/copy.from.to"]);
    assert_eq!(plumb_workload_text::validate::validate(&apart), []);
}

// Hostile files: each is refused with its line and a reason.
#[test]
fn errors_in_file_definitions_name_their_line() {
    let fsd = "fsd=fsd1,anchor=/x,depth=1,width=1,files=1,sizes=4k";
    let with = |fwd: &str, rd: &str| format!("{fsd}\nfwd=fwd1,fsd=fsd1{fwd}\nrd=rd1,fwd=fwd1{rd}");
    for (text, message) in [
        (
            fsd.to_owned(),
            "f:1: an `sd=`, a `wd=` and an `rd=` expected, or an `fsd=`, an `fwd=` and an `rd=`; add what is missing",
        ),
        (
            format!("sd=sd1,lun=/y\n{fsd}\nwd=wd1,sd=sd1"),
            "f:2: `fsd` of a storage definition is not supported; use a file for storage and one for file systems",
        ),
        (with(",operation=dance", ""), "f:2: unknown operation `dance`; use one of WORDS"),
        (
            with(",fileio=(random,shared)", ""),
            "f:2: `fileio=(random,shared)` is not supported; threads do not share files or remove them first: use random or sequential",
        ),
        (with(",stopafter=5", ""), "f:2: fwd=fwd1: `stopafter` in sequence is not supported; use fileio=random"),
        (with(",skew=50", ""), "f:3: rd=rd1: a skew of files without a rate is not supported; use fwdrate=NUMBER"),
        (
            with("", ",format=clean"),
            "f:3: `format=clean` is not supported; no run leaves files behind: remove this one",
        ),
        (with("", ",format=limited"), "f:3: `format=limited` is not supported; use format=(only,limited)"),
        (
            with("", ",format=(only,some)"),
            "f:3: `format=some`: yes, no, restart, only, once, directories, limited or complete expected",
        ),
        (with("", ",fordepth=(30),forwidth=(9)"), "f:1: fsd=fsd1 has too many files or directories; make it smaller"),
        (with("", ",foroperations=(read,dance)"), "f:3: unknown operation `dance`; use one of WORDS"),
        (
            with("", "").replace("sizes=4k", "sizes=0"),
            "f:1: fsd=fsd1: files of 0 bytes cannot be read or written; use `sizes=` above 0",
        ),
        (with("", "").replace("width=1", "width=0"), "f:1: `width=0`: a number above 0 expected"),
        (
            with("", "").replace("fsd=fsd1\n", "fsd=fsd9\n"),
            "f:2: fwd=fwd1 uses no file system definition; name one by `fsd=`",
        ),
        (
            with("", "").replace("sizes=4k", "sizes=(4k,50)"),
            "f:1: the shares of `sizes` add up to 50 %; they must be 100",
        ),
        (
            with("", "").replace("sizes=4k", "openflags=o_sync"),
            "f:1: `openflags=o_sync` is not supported; use o_direct for files, or leave it out",
        ),
        (
            with("", "").replace("sizes=4k", "distribution=all"),
            "f:1: `distribution=all` is not supported; all files are in the directories of the last level: use distribution=bottom",
        ),
        (
            with("", "").replace("sizes=4k", "totalsize=1g"),
            "f:1: `totalsize` of a file system definition is not supported; use fewer `files=`",
        ),
        (with(",operation=copy", ""), "f:2: fwd=fwd1 has no `target=`; add it"),
        (with("", ",foroperations=(read,move)"), "f:2: fwd=fwd1 has no `target=`; add it"),
        (
            with(",operation=copy,target=fsd9", ""),
            "f:2: fwd=fwd1: its `target=` is not a file system definition; define it by `fsd=`",
        ),
        (
            with(",operation=copy,target=fsd1", ""),
            "f:2: fwd=fwd1: its `target=` is where its files are; name another file system definition",
        ),
        (
            format!("fsd=fsd2,anchor=/y,depth=1,width=1,files=2,sizes=4k\n{}", with(",operation=copy,target=fsd2", "")),
            "f:3: fwd=fwd1: its `target=` has other files or directories; give both the same `depth=`, `width=`, `files=` and \
             `sizes=`",
        ),
        (
            format!(
                "fsd=fsd2,anchor=/y,depth=1,width=1,files=1,sizes=4k\n{fsd}\nfwd=a,fsd=fsd1,operation=copy,target=fsd2\n\
                 fwd=b,fsd=fsd1,operation=read\nrd=r,fwd=(a,b)"
            ),
            "f:5: rd=r: copies or moves together with other operations cannot be told apart; use a run for each operation",
        ),
    ] {
        let Err(error) = Script::parse("f", &text, &VdbenchSettings::default()) else { panic!("{text}: {message}") };
        let words = "read, write, mkdir, create, open, close, delete, getattr, setattr, access, rmdir, copy, move";
        assert_eq!(error.to_string(), message.replace("WORDS", words), "{text}");
    }
    let few = script(&with(",threads=2", ""));
    let error = lower(&few, &few.runs[0], places(&[]), None, 1).unwrap_err().to_string();
    assert_eq!(error, "fwd=fwd1: 2 threads have only 1 files of fsd=fsd1; use more files, or fewer threads");
    let both = format!(
        "{fsd},openflags=directio\nfsd=fsd2,anchor=/y,depth=1,width=1,files=1,sizes=4k\nfwd=a,fsd=fsd1\nfwd=b,fsd=fsd2\nrd=r,fwd=(a,b)"
    );
    let both = script(&both);
    let error = lower(&both, &both.runs[0], places(&[]), None, 1).unwrap_err().to_string();
    assert_eq!(
        error,
        "rd=r: some files are opened with o_direct and some without; use it for all file systems, or for none"
    );
}

// The titles and widths are those that vdbench documents for file systems.
#[test]
fn lines_of_files_have_vdbenchs_columns() {
    let script = script(FILES);
    let ops = |count: u64, ns: u64, bytes: u64| {
        let mut service = Histogram::new();
        service.record_n(ns, count);
        OpMeasurement { count, bytes, service, ..OpMeasurement::default() }
    };
    let all = BTreeMap::from([
        (OpKind::Read, ops(300, 1_000_000, 300 * 4096)),
        (OpKind::Write, ops(100, 3_000_000, 100 * 4096)),
        (OpKind::Open, ops(20, 500_000, 0)),
        (OpKind::Close, ops(20, 10_000, 0)),
    ]);
    let done = FilesDone::from_ops(&all, 0);
    let run = &script.runs[1];
    let line = print_files::line(run, "14:17:03.059", "1", &done, 2.0);
    assert_eq!(
        line,
        "14:17:03.059          1  200.0  1.500  75.0  150.0  1.000   50.0  3.000  0.59  0.20   0.78    4096   0.0  0.000   0.0  0.000   0.0  0.000  10.0  0.500  10.0  0.010   0.0  0.000\n"
    );
    let header = print_files::header(run, "Feb 20, 2018");
    let above: Vec<&str> = header.lines().collect();
    assert_eq!(
        above[1],
        "Feb 20, 2018 .Interval. .ReqstdOps...  read ....read..... ....write.... ..mb/sec... mb/sec .xfer.. ...mkdir.... ...rmdir.... ...create... ....open.... ...close.... ...delete..."
    );
    assert_eq!((above[2].len(), line.trim_end().len()), (above[1].len(), above[1].len()));
    // The rate counts requested operations only, which are changes of times in this run.
    let setattr = &script.runs[5];
    assert_eq!(done.rate(setattr, 2.0), 0.0);
    assert!(print_files::header(setattr, "Feb 20, 2018").contains(" ..setattr..."));
    assert_eq!(
        print_files::starting(setattr, Some(100.0), "14:17:01.001", false),
        "14:17:01.001 Starting RD=rd3; elapsed=10; fwdrate=100; For loops: operations=setattr files=20.0\n"
    );
    // A copy includes all calls on its file.
    let copies = "fsd=default,depth=1,width=1,files=4,sizes=4k\nfsd=a,anchor=/a\nfsd=b,anchor=/b\nfwd=c,fsd=a,operation=copy,target=b\nrd=r,fwd=c";
    let copies = &self::script(copies).runs[0];
    let copied = FilesDone::from_ops(&all, 10);
    assert_eq!(copied.rate(copies, 2.0), 5.0);
    assert!(print_files::header(copies, "Feb 20, 2018").contains(" ....copy...."));
    // 300 ms of reads, 300 of writes, 10.2 of opens and closes.
    let line = print_files::line(copies, "14:17:03.059", "1", &copied, 2.0);
    assert!(line.contains(" 1    5.0 61.020  75.0 ") && line.trim_end().ends_with("   5.0 61.020"), "{line}");
    let later = FilesDone::from_ops(&BTreeMap::from([(OpKind::Read, ops(500, 1_000_000, 500 * 4096))]), 0);
    assert_eq!(later.since(&done).rate(run, 1.0), 200.0);
}

// Files with a typo at any place are refused or run; parsing, lowering and validating never panic.
#[test]
fn typos_do_not_panic() {
    let storage = "sd=sd1,lun=/x,size=10m,hitarea=2m,range=(0,50),align=8k,offset=1m\nwd=wd1,sd=sd*,xfersize=(4k,50,8k,50),rhpct=70\n\
                   wd=wd2,sd=sd1,stride=(64k,64k),iorate=9\nrd=r,wd=wd*,iorate=curve,forthreads=(1-4,d),elapsed=9\n";
    let copies = "fsd=default,depth=2,width=3,files=5,sizes=(1k,10,2k,90)\nfsd=a,anchor=/a\nfsd=b,anchor=/b\n\
                  fwd=c,fsd=a,operation=copy,target=b,threads=2,xfersize=1k\nrd=r,fwd=c,format=(only,limited),fordepth=(1-3,1)\n\
                  rd=s,fwd=c,fwdrate=10,foroperations=(move,rmdir,access)\n";
    let (mut read, mut refused) = (0, 0);
    for text in [storage, copies, FILES] {
        for at in 0..text.len() {
            for slip in ["", ",", "=", "(", ")", "-", "*", "0", "99999999999", "99999999t", "é"] {
                let slipped = [&text[..at], slip, &text[at + 1..]].concat();
                let Ok(script) = Script::parse("f", &slipped, &VdbenchSettings::default()) else {
                    refused += 1;
                    continue;
                };
                read += 1;
                for run in script.runs.iter().take(3) {
                    let lengths = vec![Some(1 << 30); script.paths().count()];
                    if let Ok(workload) = lower(&script, run, places(&lengths), Some(50.0), 1) {
                        plumb_workload_text::validate::validate(&workload);
                    }
                }
            }
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} {refused}");
}
