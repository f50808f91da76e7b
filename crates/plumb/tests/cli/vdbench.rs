//! `plumb as vdbench` end to end.

use crate::common::Home;
use serde_json::json;

/// Protects the whole path: files are created, each run has its lines and a stored result, a curve uses the result of
/// its first run, and the page is written.
#[test]
fn runs_follow_one_another() {
    let home = Home::new();
    home.file(
        "parmfile",
        "sd=sd1,lun=data,size=4m,threads=2\nwd=wd1,sd=sd1,rdpct=50,xfersize=4k\nrd=rd1,wd=wd1,iorate=curve,curve=(50),elapsed=1\n\
         rd=rd2,wd=wd1,iorate=200,elapsed=2,forthreads=(1,2)\n",
    );
    let run = home.plumb("as vdbench -f parmfile -o out").expect(0);
    let lines: Vec<&str> = run.out.lines().collect();
    let of = |word: &str| lines.iter().filter(|line| line.contains(word)).copied().collect::<Vec<_>>();
    assert_eq!(
        (of(" Starting RD=rd1;").len(), of(" Starting RD=rd2;").len(), of("avg_1-").len()),
        (2, 2, 4),
        "{}",
        run.out
    );
    assert!(of("RD=rd1;")[0].ends_with("I/O rate: Uncontrolled curve; elapsed=1; For loops: None"), "{}", run.out);
    assert!(of("RD=rd2;")[1].ends_with("I/O rate: 200; elapsed=2; For loops: threads=2.0"), "{}", run.out);
    let number = |line: &str, column: usize| line.split_whitespace().nth(column).unwrap().parse::<f64>().unwrap();
    // A rate of 200 at random times, half of them reads of 4 KiB.
    let last = of("avg_1-")[3];
    assert!((100.0..=260.0).contains(&number(last, 2)), "{last}");
    assert!(number(last, 4) == 4096.0 && (30.0..=70.0).contains(&number(last, 5)), "{last}");
    assert!(
        run.out.trim_end().ends_with("Vdbench execution completed successfully. Output directory: out"),
        "{}",
        run.out
    );
    assert!(std::fs::read_to_string(home.work().join("out/summary.html")).unwrap().contains("avg_1-"));
    // A line for each interval and each mean, with as many columns as names.
    let flat = std::fs::read_to_string(home.work().join("out/flatfile.html")).unwrap();
    let names = flat.lines().find(|line| line.starts_with(' ')).unwrap().split_whitespace().collect::<Vec<_>>();
    let rows = flat.lines().filter(|line| line.contains(" rd1 ") || line.contains(" rd2 "));
    let rows: Vec<Vec<&str>> = rows.map(|line| line.split_whitespace().collect()).collect();
    assert!(rows.len() >= 8 && rows.iter().all(|row| row.len() == names.len()), "{flat}");
    let of = |row: &[&str], name: &str| row[names.iter().position(|found| *found == name).unwrap()].to_owned();
    let means: Vec<String> =
        rows.iter().filter(|row| of(row, "Interval").starts_with("avg_1-")).map(|row| of(row, "reqrate")).collect();
    assert_eq!((means.len(), means[0].as_str(), means[3].as_str()), (4, "9999977.0000", "200.0000"), "{flat}");
    assert_eq!(std::fs::metadata(home.work().join("data")).unwrap().len(), 4 << 20);
    assert_eq!(home.query("select dialect, count(*) from run group by dialect"), [[json!("vdbench"), json!(4)]]);
    let shown = home.plumb("as vdbench -f parmfile -s").expect(0);
    assert_eq!(shown.out.matches(" Simulating RD=").count(), 4, "{}", shown.out);
    home.file("bad", "sd=sd1,lun=data,size=4m\nwd=wd1,sd=sd1,hotband=(5,10)\n");
    home.plumb("as vdbench -f bad")
        .expect(1)
        .expect_stderr(&["bad:2: `hotband` of a workload definition is not supported"]);
}

/// Protects published files: anchors are created with their parent directories, the amount of data ends a run, and
/// ignored parameters are reported.
#[test]
fn published_parameters_are_taken() {
    let home = Home::new();
    home.file(
        "anchors",
        "create_anchors=yes\nmonitor=/tmp/none\nhd=default,user=root,jvms=8\nhd=localhost\nfsd=fsd1,anchor=new/dir,depth=1,width=1,files=4,sizes=16kb\n\
         fwd=fwd1,fsd=fsd1,operation=read,xf=4kb,fileio=random,th=2\nrd=rd1,fwd=fwd1,fwdrate=max,format=yes,el=1,in=1\n",
    );
    home.plumb("as vdbench -f anchors").expect(0).expect_stderr(&["anchors:2: `monitor` is ignored"]);
    assert!(home.work().join("new/dir").is_dir());
    home.file(
        "limit",
        "sd=sd1,lun=data,size=4m,threads=2\nwd=wd1,sd=sd1,xfersize=64k,rdpct=0,seekpct=0,skew=0\n\
         rd=rd1,wd=wd1,iorate=100,elapsed=2h,maxdata=2m,interval=1\n",
    );
    home.plumb("as vdbench -f limit").expect(0);
    let run = home.plumb("show last --json").expect_measured().json();
    let written = run["phases"][0]["done"]["write"]["bytes"].as_u64().unwrap();
    assert!((2 << 20..3 << 20).contains(&written), "{written}");
}

/// Protects users from half a study: a parameter file that is too long is refused, not truncated.
#[test]
fn a_file_that_is_too_long_is_refused() {
    let home = Home::new();
    home.file("long.parm", &format!("sd=sd1,lun=f,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1\n{}", "*\n".repeat(8 << 20)));
    home.plumb("as vdbench -f long.parm -s").expect(1).expect_stderr(&["long.parm", "longer than 16 MiB"]);
}

/// Protects the whole path of file systems: files are created in the anchor and removed, each run has vdbench's
/// columns, reads have the requested size, a rate applies to requests, and a curve uses its first run.
#[test]
fn files_of_file_systems_are_read_and_made() {
    let home = Home::new();
    std::fs::create_dir(home.work().join("anchor")).unwrap();
    home.file(
        "parmfile",
        "fsd=fsd1,anchor=anchor,depth=2,width=2,files=10,sizes=64k\nfwd=fwd1,fsd=fsd1,operation=read,xfersize=8k,fileio=random,\
         fileselect=random,threads=2\nfwd=fwd2,fsd=fsd1,operation=create,threads=2\nrd=default,distribution=deterministic\nrd=rd1,fwd=fwd1,fwdrate=200,format=yes,elapsed=2\n\
         rd=rd2,fwd=fwd2,fwdrate=20,format=no,elapsed=1\nrd=rd3,fwd=fwd1,fwdrate=curve,curve=(50),elapsed=1,format=no\n",
    );
    let run = home.plumb("as vdbench -f parmfile").expect(0);
    let of = |word: &str| run.out.lines().filter(|line| line.contains(word)).map(str::to_owned).collect::<Vec<_>>();
    let starts = of(" Starting RD=");
    assert!(starts[0].ends_with("Starting RD=rd1; elapsed=2; fwdrate=200; For loops: None"), "{}", run.out);
    assert!(starts[2].ends_with("elapsed=1; fwdrate=curve. For loops: None") && starts.len() == 4, "{}", run.out);
    assert!(run.out.contains(" .Interval. .ReqstdOps...  read ....read....."), "{}", run.out);
    let averages = of("avg_1-");
    let number = |line: &str, column: usize| line.split_whitespace().nth(column).unwrap().parse::<f64>().unwrap();
    // Requested operations, percentage of reads, reads, bytes of a read.
    let reads = &averages[0];
    assert!((150.0..=260.0).contains(&number(reads, 2)), "{reads}");
    assert_eq!((number(reads, 4), number(reads, 5), number(reads, 12)), (100.0, number(reads, 2), 8192.0));
    // A newly created file has no contents.
    let creates = &averages[1];
    assert!((10.0..=30.0).contains(&number(creates, 2)) && number(creates, 17) == number(creates, 2), "{creates}");
    assert_eq!(number(creates, 5) + number(creates, 7), 0.0, "{creates}");
    assert!(number(&averages[3], 2) < number(&averages[2], 2), "{averages:?}");
    assert_eq!(std::fs::read_dir(home.work().join("anchor")).unwrap().count(), 0);
    assert_eq!(home.query("select dialect, count(*) from run group by dialect"), [[json!("vdbench"), json!(4)]]);
}

/// Protects operations on directories and between file systems: directories are removed as often as they exist, copies
/// are counted with all their calls, moved files are gone, and `format=only` creates every file once. Nothing is left
/// behind.
#[test]
fn files_are_copied_moved_and_formatted() {
    let home = Home::new();
    ["from", "to"].iter().for_each(|anchor| std::fs::create_dir(home.work().join(anchor)).unwrap());
    home.file(
        "parmfile",
        "fsd=default,depth=2,width=2,files=5,sizes=16k\nfsd=fsd1,anchor=from\nfsd=fsd2,anchor=to\n\
         fwd=default,fsd=fsd1,threads=2,xfersize=8k\nfwd=fwd1,operation=rmdir\nfwd=fwd2,operation=access,fileselect=random\n\
         fwd=fwd3,operation=copy,target=fsd2\nfwd=fwd4,operation=move,target=fsd2\nfwd=format,threads=4,xfersize=4k\n\
         rd=default,fwdrate=max,elapsed=5,format=yes\nrd=rd1,fwd=fwd1\nrd=rd2,fwd=fwd2,elapsed=1\nrd=rd3,fwd=fwd3\nrd=rd4,fwd=fwd4\n\
         rd=rd5,fwd=fwd3,format=only\n",
    );
    let run = home.plumb("as vdbench -f parmfile").expect(0);
    let of = |word: &str| run.out.lines().filter(|line| line.contains(word)).map(str::to_owned).collect::<Vec<_>>();
    assert!(of(" Starting RD=")[4].ends_with(" Starting RD=format_for_rd5"), "{}", run.out);
    assert!(
        run.out.contains(" ...access...") && run.out.contains(" ....copy....") && run.out.contains(" ....move....")
    );
    let exported: serde_json::Value = serde_json::from_str(&home.plumb("export").expect(0).out).unwrap();
    let done = |phase: &str, kind: &str| {
        let mut runs = exported.as_array().unwrap().iter().map(|run| &run["phases"][0]);
        runs.find(|found| found["name"] == phase).unwrap()["done"][kind]["ops"].as_u64().unwrap_or(0)
    };
    // 2 and 4 directories; 20 files of 2 transfers of 8 KiB, or of 4 of 4 KiB.
    assert_eq!(done("rd1", "rmdir"), 6);
    assert!(done("rd2", "access") > 20);
    let of_run = |phase: &str| ["open", "create", "read", "write", "close", "unlink"].map(|kind| done(phase, kind));
    assert_eq!(of_run("rd3"), [20, 20, 40, 40, 40, 0]);
    assert_eq!(of_run("rd4"), [20, 20, 40, 40, 40, 20]);
    // Both file systems are formatted, because the copies need both.
    assert_eq!(of_run("format_for_rd5"), [0, 40, 0, 160, 40, 0]);
    // Such a run has the columns of its operation, and its copies are the requested ones.
    let copied = of("avg_1-").swap_remove(2);
    let number = |place: usize| copied.split_whitespace().nth(place).unwrap().parse::<f64>().unwrap();
    let last = copied.split_whitespace().count() - 1;
    assert!(number(2) > 0.0 && (number(2) / number(last - 1) - 1.0).abs() < 0.01, "{copied}");
    assert_eq!(number(3), number(last), "{copied}");
    for anchor in ["from", "to"] {
        assert_eq!(std::fs::read_dir(home.work().join(anchor)).unwrap().count(), 0, "{anchor}");
    }
}
