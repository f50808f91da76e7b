//! Tests of whole scripts: each results in a workload, or in an error with its place.

use super::*;
use plumb_result::measurement::StepMeasurement;
use plumb_tools::FileError;
use plumb_workload::phase::When;
use plumb_workload::program::{Amount, Draw, SharedPick, SharedStep, SharedTree, SharedWork, TreeAccess};
use plumb_workload::{Bytes, OpKind, Target, Work, Workload};
use plumb_workload_text::validate::validate;

fn nothing(path: &str) -> Result<String, FileError> {
    Err(FileError::io(path)(std::io::ErrorKind::NotFound.into()))
}

/// Returns the text that a script prints before its run, and the run.
fn obeyed(
    text: &str,
    settings: &[(&str, &str)],
    run_s: Option<u64>,
) -> Result<(Vec<String>, Option<Plan>), FilebenchUsageError> {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let mut session = Session::new("t.f", text, &settings, run_s, &mut nothing)?;
    let mut printed = Vec::new();
    loop {
        match session.answer()? {
            Answer::Print(text) => printed.push(text),
            Answer::Remark(error) => printed.push(error.to_string()),
            Answer::System { line, .. } => printed.push(format!("system {line}")),
            Answer::Sleep(seconds) => printed.push(format!("sleep {seconds}")),
            Answer::Run(plan) => return Ok((printed, Some(*plan))),
            Answer::End => return Ok((printed, None)),
        }
    }
}

fn plan(text: &str) -> Plan {
    obeyed(text, &[], Some(1)).unwrap().1.unwrap()
}

fn error_of(text: &str) -> String {
    obeyed(text, &[], Some(1)).unwrap_err().to_string()
}

/// Returns a script around some flowops.
fn around(flowops: &str) -> String {
    format!(
        "define fileset name=set,path=/tmp/t,entries=10,size=4k,prealloc\n\
         define process name=p {{ thread name=t {{\n{flowops}\n}} }}"
    )
}

fn steps(workload: &Workload) -> Vec<SharedStep> {
    let groups = workload.phase.iter().flat_map(|phase| &phase.workers);
    let mut all = Vec::new();
    for program in groups.filter_map(|group| group.work.program()) {
        all.extend(program.shared_steps().into_iter().cloned());
    }
    all
}

fn tree<'a>(plan: &'a Plan, name: &str) -> &'a SharedTree {
    match &plan.workload.target[name] {
        Target::SharedTree(tree) => tree,
        other => panic!("{other:?}"),
    }
}

/// Every bundled workload is valid for any values of its variables, and has a description.
#[test]
fn personalities_are_valid() {
    for personality in PERSONALITIES {
        let (_, plan) = obeyed(personality.script, &[("dir", "/tmp/x y")], Some(2)).unwrap();
        let plan = plan.unwrap();
        assert_eq!(validate(&plan.workload), vec![], "{}", personality.name);
        assert!(!plan.lines.is_empty() && personality.about().len() > 20, "{}", personality.name);
    }
}

/// The published mail server becomes its workload: 13 ops a round on a set of 1000 files, 80 % of which exist.
#[test]
fn a_script_becomes_its_workload() {
    let script = PERSONALITIES.iter().find(|known| known.name == "varmail").unwrap().script;
    let (_, plan) = obeyed(script, &[("nfiles", "5k"), ("nthreads", "3"), ("runtime", "7")], None).unwrap();
    let plan = plan.unwrap();
    let phase = &plan.workload.phase[0];
    assert_eq!(phase.stop.time.unwrap().0, 7_000_000_000);
    let group = &phase.workers[0];
    assert_eq!((group.name.as_deref(), group.count), (Some("mail.user"), 3));
    let set = tree(&plan, "messages");
    assert_eq!((set.files, set.preallocated_percent), (5120, 80));
    assert!((set.size.mean().unwrap() - 16384.0).abs() < 1e-6);
    let kinds: Vec<OpKind> = steps(&plan.workload).iter().filter_map(|step| step.does.kind()).collect();
    use OpKind::*;
    let round = [Unlink, Create, Write, Fsync, Close, Open, Read, Write, Fsync, Close, Open, Read, Close];
    assert_eq!(kinds, round);
    let Work::Program(program) = &group.work else { panic!() };
    assert!(program.flushes(), "every write of the mail server is flushed before its file is closed");
    assert_eq!(program.memory.spread.unwrap().0, 10 << 20);
}

/// Errors have file, line and column, and a hint; nothing runs.
#[test]
fn errors_have_a_place_and_a_way_out() {
    for (script, says) in [
        (
            "set $dir=/tmp\ndefine bogus",
            "t.f:2:8: expected `fileset`, `file`, `process`, `flowop`, `posset` or `randvar`, found `bogus`",
        ),
        ("defin", "t.f:1:1: unknown command `defin`; did you mean `define`?"),
        (
            "define fileset name=a,entires=1",
            "t.f:1:23: unknown attribute `entires` of a file set; did you mean `entries`?",
        ),
        ("set $a=$b", "t.f:1:8: the variable `$b` is not set"),
        ("set $a=3 - 4", "t.f:1:12: 3 - 4 is not a number"),
        ("set $a=3 / 0", "t.f:1:12: 3 / 0 is not a number"),
        ("set $a=18446744073709551615 * 2", "is not a number from 0 to 2^64 - 1"),
        ("set mode quit never", "t.f:1:15: expected `timeout`, `firstdone` or `alldone`, found `never`"),
        ("define process name=p { thread name=t { flowop read } }", "expected an attribute, found `}`"),
        ("define process name=p { thread name=t {", "found the end of the script"),
        (&around("flowop read name=r,filesetname=set"), "t.f:3:1: `read` moves nothing; add `iosize=8k`"),
        (&around("flowop raed name=r,filesetname=set"), "t.f:3:1: unknown flowop `raed`; did you mean `read`?"),
        (
            &around("flowop openfile name=o,filesetname=sett"),
            "t.f:3:24: there is no file set `sett`; did you mean `set`?",
        ),
        (&around("flowop openfile name=o"), "`openfile` names no file set"),
        (&around("flowop wakeup name=w,target=nobody"), "`target=nobody`: no flowop has this name"),
        (&around("flowop aiowrite name=a,filesetname=set,iosize=4k"), "`aiowrite` only writes at random offsets"),
        (
            "set $x=randvar(type=tabular,randtable={{50,1,2}})\ndefine file name=f,path=/t,size=$x\nrun",
            "the shares of the table add up to 50 %",
        ),
        ("set $x=cvar(type=cvar-gama)\ndefine file name=f,path=/t,size=$x\nrun", "did you mean `cvar-gamma`?"),
        (
            "set $x=cvar(type=cvar-gamma,parameters=mean:x)\ndefine file name=f,path=/t,size=$x\nrun",
            "parameters are mean, gamma",
        ),
        ("load other", "t.f:1:1: cannot load `other`: other.f: entity not found"),
        (
            "foreach $x in 1,2 { echo \"$x\"\nload other }",
            "t.f:2:1: a loop cannot load a script; load it above the loop",
        ),
        ("psrun 9223372036854775808", "expected fewer seconds between two snapshots"),
        ("run 60", "there is nothing to run"),
    ] {
        let found = error_of(script);
        assert!(found.contains(says), "{script}\n  is: {found}\n  not: {says}");
    }
}

/// Variables of the command line override the script; misspelt ones are errors.
#[test]
fn variables_are_set_from_the_command_line() {
    let script = "set $nfiles=10\nset $size=1k\ndefine fileset name=s,path=/tmp/t,entries=$nfiles,size=$size\n\
                  set $nfiles=20\ndefine process name=p { thread name=t { flowop statfile name=s,filesetname=s } }\nrun 5";
    let (_, plan) = obeyed(script, &[("nfiles", "50000"), ("$size", "2m")], None).unwrap();
    let plan = plan.unwrap();
    assert_eq!(tree(&plan, "s").files, 50_000);
    assert_eq!(tree(&plan, "s").size, Amount::Fixed(2 << 20));
    // Otherwise the last value counts, because variables are resolved when the run begins.
    assert_eq!(tree(&obeyed(script, &[], None).unwrap().1.unwrap(), "s").files, 20);
    let error = obeyed(script, &[("nfile", "5")], None).unwrap_err().to_string();
    assert_eq!(error, "--set nfile: t.f has no variable `$nfile`; did you mean `nfiles`?");
    assert!(obeyed(script, &[("nfiles", "")], None).unwrap_err().to_string().contains("not a value"));
}

/// A variable may be set that the script only uses, wherever it does. Local variables do not count.
#[test]
fn used_variables_may_be_set() {
    for script in [
        "set $r=randvar(type=uniform)\nset $r.mean=$x",
        "set $r=randvar(type=tabular,randtable={{100,1,$x}})",
        "foreach $y in 1,$x { echo \"$y\" }",
        "echo \"${x}k\"",
        "system \"true $x\"",
        "echo $x",
        "define flowop name=f,iters=$x { flowop hog name=h,value=1 }",
        "define flowop name=f,$y=$x { flowop hog name=h,value=$y }",
        "define flowop name=f { flowop hog name=h,value=$x }",
    ] {
        assert!(obeyed(script, &[("x", "5")], None).is_ok(), "{script}");
    }
    for script in ["define flowop name=f,$x { flowop hog name=h,value=$x }", "echo \"\\$x\""] {
        assert!(obeyed(script, &[("x", "5")], None).is_err(), "{script}");
    }
}

/// The style of 1.4: calculations, random variables by name and by part, loops, and words without effect.
#[test]
fn the_older_style_parses() {
    let script = "set $rate=10\nset $n=10000\nset $total=$n * $rate\nset $half=$total / 2\nset $copy=$half\n\
                  define randvar name=$size,type=tabular,min=1k,randtable={{80,1k,4k},{20,4k,16k}}\n\
                  define randvar name=$gap,type=uniform\nset $gap.min=1\nset $gap.mean=5\n\
                  foreach $x in 1,2 { echo \"x is $x of $copy\" }\nusage \"none\"\nstats snap\ncreate filesets\n\
                  define fileset name=s,path=/tmp/t,entries=$total,filesize=$size,cached=true\n\
                  define process name=p { thread name=t { flowop hog name=h,value=$gap } }\nrun 1";
    let (printed, plan) = obeyed(script, &[], None).unwrap();
    assert_eq!(printed[..2], ["x is 1 of 50000", "x is 2 of 50000"]);
    assert!(printed[2].contains("`usage` has no effect"), "{printed:?}");
    let plan = plan.unwrap();
    assert_eq!(tree(&plan, "s").files, 100_000);
    assert_eq!(tree(&plan, "s").size.mean(), Some(0.8 * 2560.0 + 0.2 * 10240.0));
    assert!(plan.remarks.is_empty() && !tree(&plan, "s").uncached, "{:?}", plan.remarks);
    let SharedWork::Spin { times } = &steps(&plan.workload)[0].does else { panic!() };
    assert_eq!(times.mean(), Some(5.0));
}

// Protects 1.4 scripts with sets of positions: a seed gives Filebench's positions, and unused sets are reported.
#[test]
fn sets_of_positions_equal_those_of_the_c_library() {
    let script = "set $max=7516192768\ndefine posset name=places,type=rnd,entries=3,max=$max,seed=2\n\
                  define fileset name=s,path=/tmp/t,entries=1,size=8g\n\
                  define process name=p { thread name=t {\n\
                  flowop write name=w,filesetname=s,possetname=places,random,iosize=2k\n\
                  flowop read name=r,filesetname=s,possetname=places,iosize=2k\n\
                  flowop aiowrite name=a,filesetname=s,possetname=places,random,iosize=2k } }\nrun 1";
    let plan = plan(script);
    let places = |name: &str| match steps_named(&plan, name).does {
        SharedWork::Write(moves) | SharedWork::Read(moves) | SharedWork::StartWrite(moves) => moves.places,
        other => panic!("{other:?}"),
    };
    // srand(2); rand() of the GNU C library: 1505335290, 1738766719, 190686788.
    let part = |number: f64| {
        let all = (number / 2147483647.0 * u64::MAX as f64) as u64;
        Bytes(all / (u64::MAX / (7_516_192_768 + 512)) / 512 * 512)
    };
    assert_eq!(places("w"), [1_505_335_290.0, 1_738_766_719.0, 190_686_788.0].map(part));
    assert!(places("w").iter().all(|place| place.0 > 0 && place.0 <= 7_516_192_768));
    assert!(places("r").is_empty() && places("a").is_empty());
    let idle = "`possetname` has no effect: it is for `read` and `write` with `random`";
    let remarks: Vec<&str> = plan.remarks.iter().map(|remark| remark.message.as_str()).collect();
    assert_eq!(remarks, [idle, idle]);
    for (set, error) in [
        ("type=rnd,entries=3,max=1m", "no `name`"),
        ("name=x,entries=3,max=1m", "no `type`"),
        ("name=x,type=collection,entries=3,max=1m", "of type `collection`"),
        ("name=x,type=rnd,max=1m", "no `entries`"),
        ("name=x,type=rnd,entries=513,max=1m", "513 positions"),
        ("name=x,type=rnd,entries=3", "no `max`"),
    ] {
        let printed = obeyed(&format!("define posset {set}\nrun 1"), &[], None).unwrap_err().to_string();
        assert!(printed.contains(error), "{printed}");
    }
    let printed =
        obeyed(&script.replace("posset name=places", "posset name=other"), &[], None).unwrap_err().to_string();
    assert!(printed.contains("no set of positions `places`"), "{printed}");
}

/// A file set of 1.4 has random sizes, and is dropped from the page cache.
#[test]
fn sets_of_the_older_style_have_random_sizes_and_are_dropped() {
    let set = |attributes: &str| {
        let script = format!(
            "define fileset name=s,path=/tmp/t,entries=9,size=16k{attributes}\n\
             define process name=p {{ thread name=t {{ flowop hog name=h }} }}\nrun 1"
        );
        tree(&plan(&script), "s").clone()
    };
    assert_eq!((set("").size, set("").uncached), (Amount::Fixed(16384), false));
    assert_eq!(set(",filesizegamma=0,cached").size, Amount::Fixed(16384));
    let spread = set(",filesizegamma=1500,cached=false");
    assert_eq!((spread.size.mean(), spread.uncached), (Some(16384.0), true));
    assert!(matches!(&spread.size, Amount::Drawn(size) if size.draw == Draw::Gamma { shape: 1.5 }), "{spread:?}");
}

/// Composite flowops have local variables, bound where the composite is used. They nest, and other steps
/// can name the flowops inside.
#[test]
fn composites_have_local_variables() {
    let script = around(
        "flowop outer name=first,$set=set,$count=3\nflowop outer name=second,iters=2,$set=set\nflowop wakeup name=w,target=wait",
    );
    let script = format!(
        "define flowop name=inner,$where {{ flowop openfile name=open,filesetname=$where,fd=1\n\
         flowop block name=wait }}\n\
         define flowop name=outer,$set,$count=1 {{ flowop inner name=in,iters=$count,$where=$set }}\n{script}"
    );
    let plan = plan(&script);
    assert_eq!(validate(&plan.workload), vec![]);
    let names: Vec<&str> = plan.lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "first",
            "first.in",
            "first.in.open",
            "first.in.wait",
            "second",
            "second.in",
            "second.in.open",
            "second.in.wait",
            "w"
        ]
    );
    let all = steps(&plan.workload);
    let times: Vec<_> = all.iter().filter(|step| step.name == "in").map(|step| step.times.fixed()).collect();
    assert_eq!(times, [Some(3), Some(1)]);
    assert!(all.iter().any(|step| step.does == SharedWork::Wake { step: "first.in.wait".to_owned() }));
    let other = script.replace("$count=3", "$cuont=3");
    assert!(error_of(&other).contains("`outer` has no local variable `$cuont`"), "{}", error_of(&other));
    let circle = format!("define flowop name=a {{ flowop a name=b }}\n{}", around("flowop a name=x"));
    assert!(error_of(&circle).contains("nested too deeply"), "{}", error_of(&circle));
}

/// Flowops of one name are counted separately, each on its own line. A target of that name is the first one.
#[test]
fn flowops_of_one_name_are_counted_separately() {
    let plan = plan(&around(
        "flowop closefile name=close,fd=1\nflowop closefile name=close,fd=2\nflowop hog name=close-2,value=1\n\
         flowop finishoncount name=done,value=1,target=close",
    ));
    assert_eq!(validate(&plan.workload), vec![]);
    let named: Vec<_> = plan.lines.iter().map(|line| (line.name.as_str(), line.step.as_str())).collect();
    assert_eq!(named, [("close", "close"), ("close", "close-2"), ("close-2", "close-2-2"), ("done", "done")]);
    let step = |name: &str, count| StepMeasurement {
        name: name.to_owned(),
        group: "p.t".to_owned(),
        kind: Some(OpKind::Close),
        count,
        ..StepMeasurement::default()
    };
    let steps = [step("close", 3), step("close-2", 5)];
    let printed = statistics(&plan, &steps, 1.0);
    let lines: Vec<&str> = printed.lines().filter(|line| line.starts_with("close ")).collect();
    assert!(lines.len() == 2 && lines[0].contains(" 5ops") && lines[1].contains(" 3ops"), "{printed}");
    assert!(summary(&plan, &steps, 1.0).contains(" 8 ops"), "{}", summary(&plan, &steps, 1.0));
    let SharedWork::Finish { step: Some(meant), .. } = &steps_named(&plan, "done").does else { panic!() };
    assert_eq!(meant, "close");
}

fn steps_named(plan: &Plan, name: &str) -> SharedStep {
    steps(&plan.workload).into_iter().find(|step| step.name == name).unwrap()
}

/// Attributes without effect are reported: of sets, threads and random variables.
#[test]
fn attributes_without_effect_are_reported() {
    let script = "set $r=randvar(type=uniform,min=1,mean=2,seed=7,randsrc=urandom)\nset $r.seed=8\n\
                  define fileset name=s,path=/tmp/t,entries=1,size=1k,fstype=ufs\n\
                  define process name=p { thread name=t,useism { flowop hog name=h,value=$r } }\nrun 1";
    let (printed, plan) = obeyed(script, &[], None).unwrap();
    let own = "has no effect: each thread draws its own numbers, the same ones in each run";
    assert_eq!(
        printed,
        [format!("t.f:1:42: `seed` {own}"), format!("t.f:1:49: `randsrc` {own}"), format!("t.f:2:13: `seed` {own}")]
    );
    let remarks: Vec<String> = plan.unwrap().remarks.iter().map(FilebenchUsageError::to_string).collect();
    assert_eq!(remarks, ["t.f:3:53: `fstype` has no effect", "t.f:4:39: `useism` has no effect"]);
}

/// Attributes of flowops and file sets reach the steps; every type of flowop is known.
#[test]
fn attributes_reach_the_workload() {
    let plan = plan(
        "define file name=f,path=/tmp/t,size=1m,prealloc=50,trusttree,writeonly\n\
         define fileset name=s,path=/tmp/t,entries=5,size=1k,dirwidth=4,dirgamma=0,leafdirs=3,readonly,paralloc\n\
         set mode quit alldone\neventgen rate=7\n\
         define process name=p,instances=2,nice=5 { thread name=t,instances=3,ioprio=2,memsize=1m {\n\
         flowop read name=r,filename=f,fd=4,iosize=8k,random,workingset=64k,directio,dsync,noreadahead,iters=9\n\
         flowop openfile name=o,filesetname=s,opennext\nflowop statfile name=i,filesetname=s,indexed=2\n} }",
    );
    assert_eq!(validate(&plan.workload), vec![]);
    let (file, set) = (tree(&plan, "f"), tree(&plan, "s"));
    assert_eq!((file.files, file.spread, file.access), (1, 0.0, TreeAccess::Write));
    assert_eq!((set.leaf_directories, set.access, set.layout_threads), (3, TreeAccess::Read, 32));
    assert_eq!(set.path.to_str(), Some("/tmp/t/s"));
    let phase = &plan.workload.phase[0];
    assert_eq!((phase.stop.when, phase.workers[0].count), (When::AllDone, 6));
    assert_eq!(phase.workers[0].process.nice, Some(5));
    let together = phase.workers[0].work.program().unwrap().together.unwrap();
    assert_eq!((together.events_per_second, together.members), (Some(7), 3));
    let all = steps(&plan.workload);
    let SharedWork::Read(read) = &all[0].does else { panic!() };
    assert!(read.random && read.within == 64 << 10 && all[0].file.handle == 4);
    assert!(all[0].file.direct && all[0].file.sync && all[0].file.no_read_ahead && all[0].times.is(9));
    assert_eq!((&all[1].file.pick, &all[2].file.pick), (&SharedPick::Turn, &SharedPick::Indexed(Amount::Fixed(2))));
    for (kind, _) in table::FLOWOPS {
        let script = around(&format!(
            "flowop semblock name=s,value=1\nflowop block name=b\n\
             flowop {kind} name=x,filesetname=set,iosize=4k,random,value=1,target={}",
            if kind == "sempost" {
                "s"
            } else if kind == "wakeup" {
                "b"
            } else {
                "x"
            }
        ));
        let (_, plan) = obeyed(&script, &[], Some(1)).unwrap();
        assert_eq!(validate(&plan.unwrap().workload), vec![], "{kind}");
    }
}

/// A line of statistics has the exact format that parsers of Filebench's output expect.
#[test]
fn statistics_have_filebenchs_format() {
    let plan = plan(&around(
        "flowop closefile name=closefile4,fd=1\nflowop readwholefile name=readfile4,fd=1,filesetname=set",
    ));
    let step = |name: &str, kind, count, bytes, total_ns, min_ns, max_ns| StepMeasurement {
        name: name.to_owned(),
        group: "p.t".to_owned(),
        kind: Some(kind),
        count,
        bytes,
        total_ns,
        min_ns,
        max_ns,
        dry: 0,
        buckets: vec![],
    };
    let mib = 1048576.0;
    let steps = [
        step("closefile4", OpKind::Close, 3286, 0, 3_286_000, 200, 813_000),
        step("readfile4", OpKind::Read, 3286, (69.0 * 2.0 * mib) as u64, 32_860_000, 1_000, 111_000),
    ];
    assert_eq!(
        statistics(&plan, &steps, 2.0),
        "readfile4            3286ops     1643ops/s  69.0mb/s    0.010ms/op [0.001ms - 0.111ms]\n\
         closefile4           3286ops     1643ops/s   0.0mb/s    0.001ms/op [0.000ms - 0.813ms]\n"
    );
    assert_eq!(summary(&plan, &steps, 2.0), "IO Summary:  6572 ops 3286.000 ops/s 1643/0 rd/wr  69.0mb/s 0.005ms/op");
    let later = [StepMeasurement { count: 4000, ..steps[0].clone() }, steps[1].clone()];
    assert_eq!(since(&later, &steps)[0].count, 714);
}

/// Printed texts contain variables. Unset ones stay as typed.
#[test]
fn texts_may_contain_variables() {
    let (printed, plan) = obeyed(
        "set $nn=7\nset $s=\"a b\"\nset $rv=randvar(type=uniform,min=1,mean=2)\nset $cv=cvar(type=cvar-normal)\n\
         echo \"nn=$nn s=$s rv=$rv cv=$cv none=$zz ${nn}k \\$nn\"\nsystem \"ls $s\"\nsleep 2\nversion\nquit\necho \"never\"",
        &[],
        None,
    )
    .unwrap();
    assert_eq!(printed[0], "nn=7 s=a b rv=uniform random var cv=custom variable none=$zz 7k $nn");
    assert_eq!(printed[1..], ["system ls a b", "sleep 2", "Filebench Version: 1.5-alpha3"]);
    assert!(plan.is_none());
}

/// No script makes the parser crash or take long.
#[test]
fn hostile_scripts_are_errors() {
    let deep = format!("{}{}", "foreach $a in 1 { ".repeat(100), "}".repeat(100));
    let long = "foreach $a in 1,2,3,4,5,6,7,8,9,10 { ".repeat(8) + "echo \"x\"" + &"}".repeat(8);
    let threads = "define fileset name=s,path=/t,entries=9,size=1k\n\
                   define process name=p,instances=99999 { thread name=t,instances=99999 { flowop statfile name=s,filesetname=s } }";
    for script in [
        deep.as_str(),
        &long,
        threads,
        "set $a=$a",
        "set $x=randvar(min=$x)\ndefine file name=f,path=/t,size=$x\nrun",
        "set $x=randvar(gamma=0)\ndefine file name=f,path=/t,size=$x\nrun",
        "psrun -99999999999999999999",
        "define process name=p { thread name=t { flowop x name=y",
        "\u{0}",
        "\"",
        "set $",
        "set $x={",
        "echo",
        "load ../../etc/passwd",
    ] {
        assert!(obeyed(script, &[], Some(1)).is_err(), "{script}");
    }
    let script = PERSONALITIES.iter().find(|known| known.name == "varmail").unwrap().script;
    for cut in 0..script.len() {
        if let Some(part) = script.get(..cut) {
            let _ = obeyed(part, &[], Some(1));
        }
    }
}

/// Protects against hostile numbers: sets that are too large are refused before any file is created, and 90,000
/// flowops of one name are lowered without a search for each.
#[test]
fn large_numbers_are_refused_early() {
    let sets = "define fileset name=s,path=/t,entries=99999999999,size=17179869183g,leafdirs=18446744073709551615\n\
                define process name=p { thread name=t { flowop statfile name=s,filesetname=s } }";
    let found = validate(&plan(sets).workload);
    assert!(found.iter().filter(|problem| problem.to_string().contains("too many")).count() >= 2, "{found:?}");
    let same = around(&"flowop hog name=h,value=1\n".repeat(90_000));
    assert_eq!(plan(&same).lines.last().unwrap().step, "h-90000");
}

/// The command line has Filebench's options, and Plumb's own.
#[test]
fn the_command_line_parses() {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let Ok(Action::Run(call)) = read(&words("-f a.f --set nfiles=5 --set=x=y --run=3 --allow-system")) else {
        panic!()
    };
    assert_eq!((call.file.as_str(), call.run_s, call.allows_system), ("a.f", Some(3), true));
    assert_eq!(call.settings, [("nfiles".into(), "5".into()), ("x".into(), "y".into())]);
    for (text, says) in [
        ("", "no script"),
        ("-f", "needs a value"),
        ("-f a --run 0", "not a time"),
        ("--set x", "no value"),
        ("--allow-sytem", "did you mean `--allow-system`?"),
        ("--personality mail", "there are copyfiles"),
        ("--personality varmail -f x", "use one of them"),
        ("-c cvar-x", "unknown custom variable"),
    ] {
        let error = read(&words(text)).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
    let Ok(Action::Page(page)) = read(&words("-c cvar-gamma")) else { panic!() };
    assert!(page.contains("4096") && page.contains("1.5"), "{page}");
    assert!(help().contains("varmail"));
}
