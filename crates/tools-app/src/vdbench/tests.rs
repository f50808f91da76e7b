//! Tests of valid and invalid parameter files, of their workloads, and of vdbench's output.

use super::print::Done;
use super::*;
use plumb_result::histogram::Histogram;
use plumb_result::measurement::OpMeasurement;
use plumb_workload::blocks::fio::{AccessOrder, JobSize, OffsetDistribution, Stream, Zone};
use plumb_workload::{Bytes, OpKind, WorkerGroup, Workload};
use std::collections::BTreeMap;

const BASIC: &str = "\
* Two devices, a curve
sd=default,threads=4
sd=sd1,lun=/tmp/a,size=10m
sd=sd2,lun=/tmp/b,size=20m,openflags=o_direct   a comment
wd=default,xfersize=4k
wd=wd1,sd=sd*,rdpct=70
wd=wd2,sd=sd2,seekpct=seq,xfersize=(1k,25,8k,75),skew=10
rd=rd1,wd=wd*,iorate=curve,curve=(50,100),elapsed=10,interval=2
rd=rd2,wd=wd1,iorate=(100,200),forthreads=(1-4,d),
 forxfersize=(2k),warmup=3
eof
nonsense
";

/// Returns places with storage of these lengths.
pub(super) fn places(lengths: &[Option<u64>]) -> Places<'_> {
    Places { lengths, directories: &[] }
}

fn script(text: &str) -> Script {
    Script::parse("f", text, &VdbenchSettings::default()).unwrap()
}

fn lowered(script: &Script, run: &Run, rate: Option<f64>) -> Workload {
    let workload = lower(script, run, places(&[None, None]), rate, 5).unwrap();
    assert_eq!(plumb_workload_text::validate::validate(&workload), [], "{}", run.name);
    let text = plumb_workload_text::native::to_toml(&workload).unwrap();
    assert_eq!(plumb_workload_text::native::parse("v.toml", &text).unwrap(), workload);
    workload
}

fn stream(group: &WorkerGroup) -> &Stream {
    group.work.fio().unwrap()
}

// Protects runs: one for each point of a curve, each rate, and each value of a loop, with its own parameters.
#[test]
fn definitions_become_runs() {
    let script = script(BASIC);
    let described: Vec<String> = script
        .runs
        .iter()
        .map(|run| format!("{} {:?} {}+{} {}", run.name, run.rate, run.warmup_s, run.elapsed_s, run.loops))
        .collect();
    assert_eq!(
        described[..3],
        ["rd1 CurveMax 0+10 None", "rd1 CurvePercent(50) 0+10 None", "rd1 CurvePercent(100) 0+10 None"]
    );
    assert_eq!(described.len(), 3 + 3 * 2);
    assert_eq!(described[3], "rd2 PerSecond(100) 3+30 threads=1.0 xfersize=2k");
    assert_eq!(described[8], "rd2 PerSecond(200) 3+30 threads=4.0 xfersize=2k");
    let shorter =
        VdbenchSettings { elapsed_s: Some(1), interval_s: Some(1), warmup_s: Some(0), ..VdbenchSettings::default() };
    let all = Script::parse("f", BASIC, &shorter).unwrap().runs;
    assert!(all.iter().all(|run| (run.elapsed_s, run.warmup_s) == (1, 0)));
}

#[test]
fn runs_become_workloads() {
    let script = script(BASIC);
    let curve = lowered(&script, &script.runs[0], None);
    let groups = &curve.phase[0].workers;
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["wd1.sd1", "wd1.sd2", "wd2.sd2"]);
    // 90 % on two devices and 10 % on one; the workloads share the threads of the second.
    let weights: Vec<u32> = groups.iter().map(|group| group.pace.flow.unwrap().weight).collect();
    assert_eq!((weights, groups[0].depth, groups[2].depth), (vec![4500, 4500, 1000], 4, 2));
    assert_eq!((groups[0].files.direct, groups[2].files.direct), (false, true));
    let mixed = stream(&groups[2]);
    assert_eq!(mixed.order, AccessOrder::Sequential { skip_bytes: 0 });
    assert!(matches!(&mixed.sizes.read, JobSize::Split(shares) if shares.len() == 2 && shares[1].percent == 75));
    assert_eq!((stream(&groups[0]).read_percent, stream(&groups[0]).ranges[0].length), (Some(70), Bytes(10 << 20)));
    let paced = lowered(&script, &script.runs[3], Some(100.0));
    let group = &paced.phase[0].workers[0];
    assert_eq!((group.pace.ops_per_second.write.unwrap().0, group.pace.flow), (50.0, None));
    assert_eq!(stream(group).sizes.read, JobSize::Fixed(Bytes(2048)));
    let part = "sd=a,lun=/x,size=1000k,offset=8k\nwd=w,sd=a,range=(50,100),seekpct=30,wrpct=40\nrd=r,wd=w";
    let part = Script::parse("f", part, &VdbenchSettings::default()).unwrap();
    let part = lower(&part, &part.runs[0], places(&[None]), None, 1).unwrap();
    let part = stream(&part.phase[0].workers[0]).clone();
    assert_eq!((part.read_percent, part.random_percent.read), (Some(60), 30));
    assert_eq!((part.ranges[0].start.0, part.ranges[0].length.0), (516_096, 507_904));
}

// Hostile files: each is refused with its line and a reason.
#[test]
fn errors_in_a_parameter_file_name_their_line() {
    let with = |line: &str| format!("sd=sd1,lun=/x,size=1m\nwd=wd1,sd=sd1\n{line}");
    for (text, message) in [
        (
            String::new(),
            "f:1: an `sd=`, a `wd=` and an `rd=` expected, or an `fsd=`, an `fwd=` and an `rd=`; add what is missing",
        ),
        ("sd=sd1,size=1m\nwd=w,sd=sd1\nrd=r,wd=w".to_owned(), "f:1: sd=sd1 has no `lun=`; add it"),
        (with("rd=r,wd=wd2"), "f:3: rd=r uses no workload definition; name one by `wd=`"),
        (with("wd=wd2,sd=sd9\nrd=r,wd=wd2"), "f:3: wd=wd2 uses no storage definition; name one by `sd=`"),
        (with("wd=wd2,sd=sd1,skew=110"), "f:3: `skew=110`: a percentage from 0 to 100 expected"),
        (
            with("wd=a,sd=sd1,skew=60\nwd=b,sd=sd1,skew=60\nrd=r,wd=(a,b)"),
            "f:5: rd=r: the skews of its workloads add up to 120 %; they must be 100",
        ),
        (with("rd=r,wd=wd1,iorate=0"), "f:3: `iorate=0`: max, curve, or rates of at least 1 expected"),
        (with("rd=r,wd=wd1,curve=(0,10)"), "f:3: `curve=(0,10)`: percentages from 1 to 100 expected"),
        (
            with("rd=r,wd=wd1,forthreads=(1-x,2)"),
            "f:3: `forthreads=(1-x,2)`: numbers such as (1,2,4), (10-100,10) or (1-64,d) expected",
        ),
        (
            with("rd=r,wd=wd1,forthreads=(0-4,d)"),
            "f:3: `forthreads=(0-4,d)`: numbers such as (1,2,4), (10-100,10) or (1-64,d) expected",
        ),
        (with("rd=r,wd=wd1,forthreads=9999"), "f:3: `forthreads=9999`: a number from 1 to 4096 expected"),
        (
            with("rd=r,wd=wd1,forhitarea=1m"),
            "f:3: `forhitarea` of a run definition is not supported; use forthreads, forxfersize, forrdpct or forseekpct, or \
             for files fordepth, forwidth, forfiles, forsizes or foroperations",
        ),
        (with("rd=r,wd=wd1,elapsed=x"), "f:3: `elapsed=x`: a time such as 90, 30m or 2h expected"),
        (
            with("rd=r,wd=wd1,maxdataread=1m,rdpct=50"),
            "f:3: rd=r: `maxdataread` of a run that does more than read is not supported; use maxdata=BYTES",
        ),
        (
            with("rd=r,wd=wd1,elapsd=5"),
            "f:3: `elapsd` of a run definition is not supported; vdbench has no such parameter: check its spelling",
        ),
        (with("rd=r,wd=wd1,iorate"), "f:3: `iorate` is not a parameter; write KEY=VALUE"),
        (with("rd=r,wd=(wd1"), "f:3: `wd`: the list has no `)`; close it"),
        (with("rd=r,wd=(wd1)x"), "f:3: `x` after the value of `wd`: put a comma between them"),
        (with("rd=,wd=wd1"), "f:3: `rd` has no value; write rd=VALUE"),
        (
            with("rd=r,wd=wd1,distribution=uniform"),
            "f:3: `distribution=uniform` is not supported; use exponential or deterministic",
        ),
        (with("wd=b,sd=sd1,xfersize=(4k,50,8k,40)"), "f:3: the shares of `xfersize` add up to 90 %; they must be 100"),
        (
            with("wd=b,sd=sd1,xfersize=99999999999999999999"),
            "f:3: `xfersize=99999999999999999999`: a size from 1 to 1g, or (SIZE,PERCENT,…) expected",
        ),
        (with("wd=b,sd=sd1,rdpct=101"), "f:3: `rdpct=101`: a percentage from 0 to 100 expected"),
        (with("wd=b,sd=sd1,range=(50,40)"), "f:3: `range=(50,40)`: (FROM,TO), percent of the storage, expected"),
        (
            with("wd=b,sd=sd1,hotband=(10,20)"),
            "f:3: `hotband` of a workload definition is not supported; use `rhpct=` and `whpct=` with the storage's `hitarea=`",
        ),
        (
            with("wd=b,sd=sd1,rhpct=10,seekpct=seq\nrd=r,wd=b"),
            "f:3: wd=b: `rhpct` and `whpct` are for random transfers; use seekpct=random",
        ),
        (
            with("wd=b,sd=sd1,stride=(1m,1m),rhpct=5\nrd=r,wd=b"),
            "f:3: wd=b: `stride` with `rhpct` or `whpct` is not supported; use one of them",
        ),
        (
            with("wd=b,sd=sd1,stride=(1m,2m)"),
            "f:3: `stride=(1m,2m)` is not supported; use the same size twice, such as stride=(1m,1m)",
        ),
        (with("wd=b,sd=sd1,stride=(2m,1m)"), "f:3: `stride=(2m,1m)`: (MIN,MAX), two sizes up to 1t, expected"),
        (
            with("wd=b,sd=sd1,seekpct=poisson"),
            "f:3: `seekpct=poisson` is not supported; use `plumb run` with a pattern, or seekpct=random",
        ),
        (with("wd=b,sd=sd1,iorate=10,skew=10\nrd=r,wd=b"), "f:3: wd=b: it has both a rate and a skew; use one of them"),
        ("sd=sd1,lun=/x,align=100".to_owned(), "f:1: `align=100`: a multiple of 512 expected"),
        (
            "sd=sd1,lun=/x,openflags=fsync".to_owned(),
            "f:1: `openflags=fsync` is not supported; use o_direct, directio, o_sync or o_dsync",
        ),
        ("sd=sd1,lun=/x,count=4".to_owned(), "f:1: `count=4`: (START,COUNT), from 1 to 10000 definitions, expected"),
        (
            with("rd=r,wd=wd1,forthreads=(1-1000,1),forxfersize=(1k-1000k,1k)"),
            "f:3: rd=r: more than 10000 runs; use shorter lists",
        ),
        ("validate=yes".to_owned(), "f:1: `validate` is not supported; use `plumb run` with `verify`"),
        ("include=b".to_owned(), "f:1: `include` is not supported; put the file's lines here"),
        ("rg=g,devices=1".to_owned(), "f:1: `rg` is not supported; use `plumb trace replay` for replays"),
        (
            with("rd=r,wd=wd1").replace("sd=sd1,", "hd=one,system=node7,jvms=2\nsd=sd1,"),
            "f:1: host `node7` is not this one; use `plumb run --hosts` for other hosts, or `hd=localhost`",
        ),
        (
            with("wd=wd2,sd=sd1,host=two"),
            "f:3: host `two` is not this one; use `plumb run --hosts` for other hosts, or `hd=localhost`",
        ),
        (
            "hd=localhost,clients=4".to_owned(),
            "f:1: `clients` of a host definition is not supported; use `plumb run --hosts` with a host for each client",
        ),
        ("loop=1h".to_owned(), "f:1: `loop=3600`: a number from 1 to 1000 expected"),
    ] {
        assert_eq!(Script::parse("f", &text, &VdbenchSettings::default()).unwrap_err().to_string(), message, "{text}");
    }
    let small = script("sd=a,lun=/x,size=1k\nwd=w,sd=a\nrd=r,wd=w");
    let error = lower(&small, &small.runs[0], places(&[None]), None, 1).unwrap_err();
    assert_eq!(error.to_string(), "wd=w: sd=a is smaller than a transfer of 4096 bytes");
    // Hits need an area, and must leave room for misses.
    for hit_area in ["7k", "1m"] {
        let hits = script(&format!("sd=a,lun=/x,size=1m,hitarea={hit_area}\nwd=w,sd=a,rhpct=50\nrd=r,wd=w"));
        let error = lower(&hits, &hits.runs[0], places(&[None]), None, 1).unwrap_err().to_string();
        assert!(error.starts_with("wd=w: the hit area of sd=a, ") && error.ends_with("set its `hitarea=`"), "{error}");
    }
}

// Offsets and pace follow the keywords of storage and workload definitions.
#[test]
fn keywords_of_storage_and_workloads_have_an_effect() {
    let text = "sd=sd1,lun=/x,size=10m,hitarea=2m,range=(0,50),align=8k,threads=16,openflags=o_direct\n\
                sd=sd2,lun=/y,size=10m\nwd=default,sd=sd1,xfersize=4k\nwd=hits,rhpct=70,whpct=20,rdpct=50\n\
                wd=steps,stride=(64k,64k)\nwd=own,iorate=300,threads=2,openflags=o_sync,range=(50,100),sd=(sd1,sd2)\n\
                rd=r,wd=*";
    let script = script(text);
    let workload = lower(&script, &script.runs[0], places(&[None, None]), None, 1).unwrap();
    assert_eq!(plumb_workload_text::validate::validate(&workload), []);
    let groups = &workload.phase[0].workers;
    let hits = stream(&groups[0]);
    let OffsetDistribution::ZonedBytes(zones) = &hits.distribution else { panic!("{hits:?}") };
    let described =
        |zones: &[Zone<Bytes>]| zones.iter().map(|zone| (zone.access_percent, zone.size.0)).collect::<Vec<_>>();
    // Half of the storage is used; 2 MiB of that are for hits.
    assert_eq!(described(&zones.read), [(70, 2 << 20), (30, 3 << 20)]);
    assert_eq!(described(&zones.write), [(20, 2 << 20), (80, 3 << 20)]);
    assert_eq!((hits.ranges[0].length.0, hits.align.read.0, groups[0].files.direct), (5 << 20, 8192, true));
    assert_eq!(stream(&groups[1]).order, AccessOrder::Sequential { skip_bytes: 65_536 });
    // The workload's rate is divided between its two storages, on whose upper halves it works. The others share the
    // rest.
    let own: Vec<_> =
        groups[2..].iter().map(|group| (group.pace.ops_per_second.write.unwrap().0, group.pace.flow)).collect();
    assert_eq!(own, [(150.0, None), (150.0, None)]);
    assert!(groups[..2].iter().all(|group| group.pace.flow.is_some_and(|flow| flow.weight == 5000)));
    assert_eq!((stream(&groups[2]).ranges[0].start.0, groups[3].depth, groups[2].files.direct), (5 << 20, 2, false));
}

#[test]
fn arguments_name_the_file_and_the_times() {
    let of = |line: &str| read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    let settings = VdbenchSettings {
        file: "p".into(),
        output: Some("o".into()),
        elapsed_s: Some(5),
        interval_s: Some(2),
        warmup_s: Some(0),
        simulates: true,
    };
    assert_eq!(of("-f p -o o -e5 -i 2 -w 0 -s"), Ok(Action::Run(settings)));
    assert_eq!(of("-h"), Ok(Action::Help));
    for (line, why) in [
        ("", "no parameter file; give one by -f FILE"),
        ("-f", "-f needs a value"),
        ("-fp -e x", "-e x: a time such as 90, 30m or 2h expected"),
        ("-fp -v", "unknown option `-v`"),
    ] {
        assert_eq!(of(line).unwrap_err().to_string(), why);
    }
}

// The widths are those of the format strings that vdbench documents.
#[test]
fn lines_have_vdbenchs_columns() {
    let mut service = Histogram::new();
    service.record_n(1_000_000, 100);
    let reads = OpMeasurement { count: 100, bytes: 409_600, service, ..OpMeasurement::default() };
    let done = Done::from_ops(&BTreeMap::from([(OpKind::Read, reads)]));
    let line = print::line("14:17:03.059", "1", &done, 1.0);
    let expected =
        "14:17:03.059         1     100.00     0.39    4096 100.00    1.000    1.000    0.000    1.000    0.0";
    assert!(line.starts_with(expected), "{line}");
    let header = print::header("Feb 20, 2018");
    let above: Vec<&str> = header.lines().collect();
    assert_eq!(above[1].find("interval").unwrap() + 8, 22);
    assert_eq!(
        (above[1].len(), above[2].len(), above[2].len()),
        (above[2].len(), line.trim_end().len(), above[1].len())
    );
    let script = script(BASIC);
    assert_eq!(
        print::starting(&script.runs[4], Some(200.0), "14:17:01.001", false),
        "14:17:01.001 Starting RD=rd2; I/O rate: 200; elapsed=30 warmup=3; For loops: threads=1.0 xfersize=2k\n"
    );
    assert_eq!((print::rate(&script.runs[1], 4321.0), print::rate(&script.runs[1], 80.0)), (Some(2200.0), Some(40.0)));
}

/// Returns a file with this line before all definitions, and these parameters in its definitions.
fn with_parameters([general, storage, work, run]: [&str; 4]) -> Script {
    script(&format!("{general}\nsd=sd1,lun=/x,size=16m{storage}\nwd=wd1,sd=sd1{work}\nrd=rd1,wd=wd1{run}\n"))
}

// Writing out a documented default has no effect.
#[test]
fn defaults_can_be_written_out() {
    let plain = with_parameters(["*", "", "", ""]);
    let defaults = [
        ["*", ",threads=8,offset=0,align=0,hitarea=1m,range=(0,100)", "", ""],
        ["*", "", ",skew=0,rdpct=100,xfersize=4096,seekpct=100,rhpct=0,whpct=0,iorate=0,host=*", ""],
        ["*", "", "", ",iorate=max,elapsed=30,interval=1,warmup=0,pause=0,distribution=exponential"],
        ["compratio=1\ndedupratio=1\nvalidate=no\njournal=no\nformatsds=no\nconcatenatesds=no\nloop=1", "", "", ""],
    ];
    for written in defaults {
        let written = with_parameters(written);
        assert_eq!(lowered(&written, &written.runs[0], None), lowered(&plain, &plain.runs[0], None));
    }
    // Workloads without skews have equal shares.
    let even = "sd=sd1,lun=/x,size=1m\nwd=a,sd=sd1,skew=0\nwd=b,sd=sd1,skew=0\nrd=r,wd=*";
    assert!(script(even).runs[0].works.iter().all(|work| work.skew == Some(50.0)));
    let files = script("fsd=f1,anchor=/x\nfwd=w1,fsd=f1,skew=0,threads=1,operation=read\nrd=r,fwd=*,fwdrate=10");
    let written = "fsd=f1,anchor=/x,depth=1,width=1,files=10,sizes=4k,distribution=bottom,shared=no\n\
                   fwd=w1,fsd=f1\nrd=r,fwd=*,fwdrate=10,format=no";
    let written = script(written);
    let workloads = [files, written].map(|script| lower(&script, &script.runs[0], places(&[]), None, 1).unwrap());
    assert_eq!(workloads[0], workloads[1]);
}

#[test]
fn numbers_have_units_and_times_too() {
    for (text, expected) in [
        ("512", Some(512)),
        ("512kb", Some(512 << 10)),
        ("1MB", Some(1 << 20)),
        ("1.5g", Some(3 << 29)),
        ("2Tb", Some(2 << 40)),
        ("8b", None),
        ("k", None),
        ("1e3", None),
        ("-1", None),
        (".", None),
        ("9999999t", None),
    ] {
        assert_eq!(super::parse::size(text), expected, "{text}");
    }
    for (text, expected) in [
        ("90", Some(90)),
        ("1m", Some(60)),
        ("2h", Some(7200)),
        ("24H", Some(86_400)),
        ("0.5h", Some(1800)),
        ("10s", Some(10)),
        ("m", None),
        ("99999999h", None),
    ] {
        assert_eq!(super::parse::seconds(text), expected, "{text}");
    }
    let run = &with_parameters(["*", "", "", ",el=2h,in=1m,wa=1m,pa=1m,th=4,xf=64kb"]).runs[0];
    assert_eq!((run.elapsed_s, run.interval_s, run.warmup_s, run.pause_s, run.threads), (7200, 60, 60, 60, Some(4)));
    assert_eq!(run.works[0].transfers, super::storage::Transfers::Fixed(64 << 10));
}

// Every documented abbreviation of a keyword is accepted.
#[test]
fn keywords_may_be_abbreviated() {
    let long = with_parameters([
        "*",
        ",threads=4,openflags=o_direct",
        ",rdpct=50,xfersize=8k,seekpct=seq",
        ",iorate=100,elapsed=5,distribution=deterministic",
    ]);
    let short = with_parameters(["*", ",th=4,op=directio", ",rdp=50,xf=8k,se=seq", ",io=100,el=5,di=det"]);
    assert_eq!(lowered(&long, &long.runs[0], Some(100.0)), lowered(&short, &short.runs[0], Some(100.0)));
}

// Parameters that affect neither the load nor its results are accepted; ignored ones are reported.
#[test]
fn parameters_without_effect_on_the_load_are_accepted() {
    let general = "create_anchors=yes\nreport=(host,slave)\nreport_run_totals=yes\nhistogram=(total,\"1m,2m\")\nmessagescan=no\n\
                   port=5555\ndata_errors=100000\nabort_failed_skew=5\nios_per_jvm=200000\nfwd_thread_adjust=no\nmonitor=/tmp/m\n\
                   hd=default,user=root,shell=ssh,vdbench=/opt/vdbench,jvms=8\nhd=localhost\nhd=two,system=127.0.0.1";
    let (with, without) = (with_parameters([general, "", ",host=two", ""]), with_parameters(["*", "", "", ""]));
    assert_eq!(lowered(&with, &with.runs[0], None), lowered(&without, &without.runs[0], None));
    assert_eq!(
        (with.makes_anchors, with.notes),
        (true, vec!["f:11: `monitor` is ignored: stop a run by Ctrl-C".to_owned()])
    );
    assert_eq!(with_parameters(["loop=3", "", "", ""]).runs.len(), 3);
}

#[test]
fn data_ends_a_run() {
    let ends = |parameters: &str| {
        let script = with_parameters(["*", "", "", parameters]);
        lowered(&script, &script.runs[0], None).phase[0].stop.bytes.map(|bytes| bytes.0)
    };
    assert_eq!((ends(",maxdata=8m"), ends(",maxdata=2"), ends("")), (Some(8 << 20), Some(32 << 20), None));
    assert_eq!((ends(",maxdataread=4m"), ends(",rdpct=0,maxdatawritten=0.5")), (Some(4 << 20), Some(8 << 20)));
}

#[test]
fn definitions_are_counted() {
    let script = script(
        "sd=sd,lun=/x/f%03d,size=1m,count=(9,2)\nsd=d,lun=/y,size=1m,count=(1,2)\nwd=w,sd=sd*\nrd=r,wd=w\nrd=s,wd=w,sd=(d1-d2)",
    );
    assert_eq!(script.paths().collect::<Vec<_>>(), ["/x/f009", "/x/f010", "/y1", "/y2"]);
    assert_eq!(script.runs[0].works[0].storage, ["sd9", "sd10"]);
    assert_eq!(script.runs[1].works[0].storage, ["d1", "d2"]);
}

// Readers identify columns by name, and the line of names by its leading blank.
#[test]
fn the_flat_file_has_named_columns() {
    let mut service = Histogram::new();
    service.record_n(1_000_000, 100);
    let reads = OpMeasurement { count: 100, bytes: 409_600, service, ..OpMeasurement::default() };
    let done = Done::from_ops(&BTreeMap::from([(OpKind::Read, reads.clone())]));
    let moment = flat::Moment { time: "14:17:03.059".into(), date: "02/20/2026-14:17:03-UTC".into() };
    let column = |header: &str, line: &str, name: &str| {
        let names = header.lines().find(|line| line.starts_with(' ')).unwrap().to_owned();
        assert_eq!(names.split_whitespace().count(), line.split_whitespace().count(), "{names}\n{line}");
        let place = names.split_whitespace().position(|found| found == name).unwrap();
        line.split_whitespace().nth(place).unwrap().to_owned()
    };
    let script = with_parameters(["*", "", ",xfersize=4k", ",iorate=max"]);
    let line = flat::of_blocks((&script, &script.runs[0], &[None]), None, &moment, "avg_1-3", (&done, 1.0));
    let of = |name: &str| column(&flat::header(false), &line, name);
    let expected = ["rd1", "avg_1-3", "9999988.0000", "100.0000", "0.3906", "4096", "1.0000", "8", "0.0156", "n/a"];
    let names = ["Run", "Interval", "reqrate", "rate", "MB/sec", "bytes/io", "resp", "threads", "lunsize", "cpu_used"];
    assert_eq!(names.map(of), expected);
    let script = script_of_files();
    let done = print_files::FilesDone::from_ops(&BTreeMap::from([(OpKind::Read, reads)]), 0);
    let line = flat::of_files(&script.runs[0], Some(50.0), &moment, "1", (&done, 2.0));
    let of = |name: &str| column(&flat::header(true), &line, name);
    let names = ["reqrate", "rate", "resp", "Read_rate", "Xfersize", "Mkdir_rate", "Copy_rate", "tod"];
    let expected = ["50.0000", "50.0000", "1.0000", "50.0000", "4096", "0.0000", "0.0000", "14:17:03.059"];
    assert_eq!(names.map(of), expected);
}

fn script_of_files() -> Script {
    script("fsd=f1,anchor=/x\nfwd=w1,fsd=f1\nrd=r,fwd=*,fwdrate=50")
}
