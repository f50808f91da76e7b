//! Tests of correct study files, and of the error messages of wrong ones.

use super::{PlanOptions, StudyError, StudyFileError, StudyFiles, plan};
use crate::plan::{HostPlan, Plan};
use plumb_lab::protocol::HostWork;
use plumb_workload_text::native::{self, Override};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

struct Shelf(BTreeMap<&'static str, &'static [u8]>);

impl StudyFiles for Shelf {
    fn bytes(&mut self, path: &Path) -> Result<Vec<u8>, StudyFileError> {
        let name = path.to_string_lossy();
        self.0
            .get(&*name)
            .map(|bytes| bytes.to_vec())
            .ok_or_else(|| StudyFileError::Io(std::io::Error::from_raw_os_error(2)))
    }
}

fn shelf<const N: usize>(files: [(&'static str, &'static str); N]) -> Shelf {
    Shelf(files.into_iter().map(|(name, text)| (name, text.as_bytes())).collect())
}

/// The files that the sketches name.
fn sketch_shelf() -> Shelf {
    Shelf([("old/results_all.xls", include_bytes!("fixtures/old/results_all.xls").as_slice())].into())
}

pub(super) fn planned(text: &str) -> Plan {
    planned_with(text, &PlanOptions::default())
}

fn planned_with(text: &str, options: &PlanOptions) -> Plan {
    plan("study.toml", text, options, &mut shelf([])).unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn refused(text: &str) -> String {
    refused_with(text, &PlanOptions::default())
}

fn refused_with(text: &str, options: &PlanOptions) -> String {
    match plan("study.toml", text, options, &mut shelf([])) {
        Err(StudyError::File(error)) => error.to_string(),
        Err(other) => panic!("{other}"),
        Ok(plan) => panic!("a plan of {} runs:\n{text}", plan.runs.len()),
    }
}

/// A correct study on a simulated device.
pub(super) const SMALL: &str = r#"
[experiment]
name = "small"

[[factor]]
name = "device"
levels = ["sim:hdd", "sim:ssd"]
change = "hard"

[[factor]]
name = "depth"
levels = [1, 16]

[target]
path = "${device}"

[workload]
random-read = { size = "64MiB", depth = "${depth}", direct = true, time = "1s" }

[compare]
by = "device"
"#;

const SKETCHES: [(&str, &str); 4] = [
    ("three-distros", include_str!("fixtures/three-distros.toml")),
    ("raid4-vs-raid5", include_str!("fixtures/raid4-vs-raid5.toml")),
    ("mdadm-vs-gmirror", include_str!("fixtures/mdadm-vs-gmirror.toml")),
    ("ext3-kernels", include_str!("fixtures/ext3-kernels.toml")),
];

#[test]
fn the_sketches_are_studies() {
    for (name, text) in SKETCHES {
        let plan =
            plan(name, text, &PlanOptions::default(), &mut sketch_shelf()).unwrap_or_else(|error| panic!("{error}"));
        assert!(plan.is_intact());
        assert!(!plan.runs.is_empty() && !plan.plots.is_empty());
    }
}

#[test]
fn a_number_that_is_a_level_stays_a_number() {
    let plan = planned(SMALL);
    assert_eq!((plan.cells.len(), plan.plots.len(), plan.runs.len()), (4, 6, 24));
    for run in &plan.runs {
        let HostWork::Native { toml } = &run.work else { panic!("native") };
        let workload = native::parse("plan", toml).unwrap();
        let depth = &plan.cells[run.cell as usize].levels["depth"];
        assert_eq!(workload.phase[0].workers[0].depth.to_string(), *depth);
        assert!(toml.contains(&plan.cells[run.cell as usize].levels["device"]), "{toml}");
    }
    assert_eq!(plan.compare.by, "device");
    assert!(matches!(plan.hosts["local"], HostPlan::Local));
}

#[test]
fn a_recording_is_a_workload_and_its_levels_are_factors() {
    let work = "random-read = { size = \"64MiB\", depth = \"${depth}\", direct = true, time = \"1s\" }";
    let traced = |keys: &str| SMALL.replace(work, keys);
    let plan = planned(&traced("trace = \"/recordings/app.trace\"\nthreads = \"${depth}\"\ntiming = \"think-times\""));
    for run in &plan.runs {
        let HostWork::Native { toml } = &run.work else { panic!("native") };
        let workload = native::parse("plan", toml).unwrap();
        let group = &workload.phase[0].workers[0];
        let replay = group.work.replay().expect("it replays");
        assert_eq!(replay.path, Path::new("/recordings/app.trace"));
        assert_eq!(group.count.to_string(), plan.cells[run.cell as usize].levels["depth"]);
    }
    let relative = refused(&traced("trace = \"app.trace\"\nthreads = \"${depth}\""));
    assert!(relative.contains("absolute path"), "{relative}");
    let many = refused(&traced("trace = \"/app.trace\"\nthreads = 100\nbelow = \"/${depth}\""));
    assert!(many.contains("at most 64"), "{many}");
}

#[test]
fn errors_point_at_the_line_and_name_the_way_out() {
    for (from, to, place, message, help) in [
        ("by = \"device\"", "by = \"devize\"", "26:6", "unknown factor `devize`", "did you mean `device`?"),
        ("[compare]", "[compere]", "25:2", "unknown key `compere`", "did you mean `compare`?"),
        (
            "by = \"device\"",
            "by = \"device\"\nmetrics = [\"device.written-byte\"]",
            "27:11",
            "no device counter is called `device.written-byte`",
            "did you mean `device.written-bytes`?",
        ),
        ("${depth}", "${dpeth}", "22:43", "unknown factor `dpeth`", "did you mean `depth`?"),
        ("\"${depth}\"", "0", "", "0", ""),
        ("random-read =", "random-raed =", "22:1", "`size` does not apply", "did you mean `random-read`?"),
        ("depth = \"${depth}\",", "dpeth = 4,", "22:34", "unknown key `dpeth`", "did you mean `depth`?"),
        ("path = \"${device}\"", "path = \"data\"", "19:8", "`data` is relative", "full path"),
        ("levels = [1, 16]", "levels = [1, 1]", "16:10", "duplicate level", "remove one of the two"),
        ("change = \"hard\"", "change = \"heavy\"", "12:10", "`heavy` is not one of the choices", "`easy` and `hard`"),
    ] {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, SMALL, "{from}");
        // The text begins with an empty line.
        let error = refused(text.trim_start_matches('\n').replacen("[experiment]", "\n\n\n\n[experiment]", 1).as_str());
        assert!(error.contains(message) && error.contains(help), "{from} → {to}: {error}");
        assert!(error.contains("study.toml:") && error.contains('^'), "{place}: {error}");
    }
}

// Protects: a workload named `read` is refused at its name, and an unknown key at its position.
#[test]
fn keys_of_workloads_cannot_be_names_of_workloads() {
    let (head, rest) = SMALL.split_once("[workload]").unwrap();
    let (_, compare) = rest.split_once("[compare]").unwrap();
    let with = |workloads: &str| refused(&format!("{head}{workloads}\n[compare]{compare}"));
    let named = with("[workload.log]\nwrite = { size = \"1MiB\" }\n[workload.read]\nread = { size = \"1MiB\" }");
    assert!(named.contains("no workload can be named `read`") && named.contains("[workload.read-1]"), "{named}");
    let unknown = with("[workload]\nread = { size = \"1MiB\", cache = \"cold\" }\nlog = { size = \"1MiB\" }");
    assert!(unknown.contains("`log` is no key of a workload"), "{unknown}");
}

// Protects: incompatible levels are named as in the study, with the way to leave them out.
#[test]
fn an_engine_that_cannot_keep_the_depth_is_refused_until_it_is_left_out() {
    let factor = "[[factor]]\nname = \"engine\"\nlevels = [\"psync\", \"uring\"]\n\n[target]\npath = \"/mnt/x\"\n";
    let text =
        SMALL.replace("[target]\npath = \"${device}\"\n", factor).replace("\"sim:hdd\", \"sim:ssd\"", "\"a\", \"b\"");
    let text = text.replace("direct = true,", "direct = true, engine = \"${engine}\",");
    let error = refused(&text);
    assert!(error.contains("`psync` waits for each op") && error.contains("`exclude` in [design]"), "{error}");
    let plan =
        planned(&text.replace("[compare]", "[design]\nexclude = [{ engine = \"psync\", depth = 16 }]\n\n[compare]"));
    assert_eq!(plan.cells.len(), 6);
    // A simulated device keeps any depth, but the requested engine would not.
    let simulated = SMALL.replace("direct = true,", "direct = true, engine = \"psync\",");
    let error = refused(&simulated);
    assert!(error.contains("`psync` waits for each op and cannot keep 16 in flight"), "{error}");
    planned(&SMALL.replace("direct = true,", "direct = true, engine = \"uring\","));
}

#[test]
fn unknown_keys_of_a_step_are_reported_at_their_position() {
    let study = SKETCHES[1].1;
    for (from, to, message, help) in [
        ("kind    = \"mkfs\"", "kind    = \"mksf\"", "`mksf` is not one of the choices", "did you mean `mkfs`?"),
        ("chunk   = \"256k\"", "chunck  = \"256k\"", "unknown key `chunck`", "did you mean `chunk`?"),
        (
            "level   = \"${level}\"",
            "level   = \"${depth}\"",
            "a provisioning step depends on `depth`",
            "change = \"hard\"",
        ),
        ("depth = \"${depth}\", direct = true }", "depth = 0, direct = true }", "0", ""),
        ("engine = \"uring\"", "engine = \"urign\"", "unknown engine `urign`", "did you mean `uring`?"),
    ] {
        let text = study.replacen(from, to, 1);
        assert_ne!(text, study, "{from}");
        let error = refused(&text);
        assert!(error.contains(message) && error.contains(help), "{error}");
        let marked = error.lines().find(|line| line.starts_with(|c: char| c.is_ascii_digit())).unwrap();
        assert!(marked.contains(to.split('=').next().unwrap().trim()), "{error}");
    }
}

#[test]
fn arguments_of_other_tools_are_tried_before_anything_is_built() {
    let study = SKETCHES[3].1;
    for (from, to, message) in [
        ("transactions = 50000", "transacions = 50000", "PostMark has no setting `transacions`"),
        ("transactions = 50000", "transactions = \"many\"", "PostMark would not take `set transactions many`"),
        ("dialect = \"postmark\"", "dialect = \"postmrak\"", "unknown tool `postmrak`"),
    ] {
        let error = refused(&study.replacen(from, to, 1));
        assert!(error.contains(message), "{error}");
    }
    let error =
        refused(&SKETCHES[0].1.replacen("-i 0 -i 1", "-i 0 -i ninety", 1).replacen("-s ${size}", "--nothing", 1));
    assert!(error.contains("iozone would refuse this"), "{error}");
    let error = refused(&SKETCHES[0].1.replacen("cache   = \"cold\"", "cache   = \"warm\"", 1));
    assert!(error.contains("`cache` does not apply to iozone"), "{error}");
}

/// A bare number is kB to IOzone, and only the host knows its memory.
#[test]
fn sizes_of_memory_come_in_the_unit_of_the_tool() {
    let plan = plan("x", SKETCHES[0].1, &PlanOptions::default(), &mut shelf([])).unwrap();
    let words: BTreeSet<String> = plan
        .runs
        .iter()
        .filter_map(|run| match &run.work {
            HostWork::Dialect { args, .. } => args.windows(2).find(|pair| pair[0] == "-s").map(|pair| pair[1].clone()),
            HostWork::Native { .. } | HostWork::Conformance(_) => None,
        })
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(words, ["${ram*0.00390625}k", "512MiB", "64MiB"]);
}

/// The working set replaces the number of files: as many files of the mean size as have this size together.
#[test]
fn the_working_set_is_the_number_of_files() {
    let text = SKETCHES[3].1.replacen("levels = [\"ram*0.1\",", "levels = [\"50500000\", \"ram*0.1\",", 1);
    let plan = plan("x", &text, &PlanOptions::default(), &mut shelf([])).unwrap();
    let stdin = |files: &str, set: &str| {
        let found = plan.runs.iter().find(|run| {
            let levels = &plan.cells[run.cell as usize].levels;
            levels["files"] == files && levels["working-set"] == set
        });
        match &found.unwrap().work {
            HostWork::Dialect { stdin, .. } => stdin.clone(),
            HostWork::Native { .. } | HostWork::Conformance(_) => panic!("PostMark's"),
        }
    };
    assert_eq!(
        stdin("small", "50500000"),
        "set size 1000 100000\nset transactions 50000\nset number 1000\nrun\nquit\n"
    );
    // A half of memory over 50 500 bytes a file.
    let memory = stdin("small", "ram*0.5");
    let factor = memory.split("${ram*").nth(1).unwrap().split('}').next().unwrap().parse::<f64>().unwrap();
    assert!((factor * 50_500.0 - 0.5).abs() < 1e-9, "{memory}");
}

#[test]
fn a_reading_workload_takes_the_size_from_the_writing_one() {
    let plan = plan("x", SKETCHES[2].1, &PlanOptions::default(), &mut sketch_shelf()).unwrap();
    let run = plan.runs.iter().find(|run| plan.cells[run.cell as usize].workload == "stream-read").unwrap();
    let HostWork::Native { toml } = &run.work else { panic!("native") };
    let workload = native::parse("plan", toml).unwrap();
    assert_eq!(run.dir, "/raid");
    assert_eq!(workload.phase.len(), 3);
    let plumb_workload::Target::File(file) = &workload.target["f"] else { panic!("a file") };
    assert_eq!((file.path.to_str(), file.size), (Some("f"), Some(plumb_workload::Size::Ram(2.0))));
}

#[test]
fn one_provisioning_is_not_a_sample() {
    let text = format!("{SMALL}\n[design]\nplots = 1\n");
    let error = refused(&text);
    assert!(error.contains("single sample") && error.contains("--exploratory"), "{error}");
    let plan = planned_with(&text, &PlanOptions { exploratory: true, ..PlanOptions::default() });
    assert!(plan.exploratory && plan.estimate.detectable_ratio.is_none() && !plan.warnings.is_empty());
    assert!(planned(&format!("{text}exploratory = true\n")).exploratory);
    // With enough plots the option has no effect.
    assert!(!planned_with(SMALL, &PlanOptions { exploratory: true, ..PlanOptions::default() }).exploratory);
}

#[test]
fn a_base_provides_missing_parts() {
    const BASE: &str = "extends = \"../root.toml\"\n[design]\nplots = 4\nrepeat = 1\n";
    const STUDY: &str =
        "extends = \"bases/base.toml\"\n[design]\nplots = 5\n[[factor]]\nname = \"depth\"\nlevels = [2]\n";
    let mut files = shelf([("bases/base.toml", BASE), ("root.toml", SMALL)]);
    let found =
        plan("study.toml", STUDY, &PlanOptions::default(), &mut files).unwrap_or_else(|error| panic!("{error}"));
    // Five plots of two devices, one run of one depth each: factors of the same name are one factor.
    assert_eq!((found.plots.len(), found.runs.len(), found.cells.len()), (10, 10, 2));

    let mut misspelt = shelf([("bases/base.toml", "extends = \"../root.toml\"\n[desing]\n"), ("root.toml", SMALL)]);
    let error = plan("study.toml", STUDY, &PlanOptions::default(), &mut misspelt).unwrap_err().to_string();
    assert!(error.contains("bases/base.toml:2:2") && error.contains("did you mean `design`?"), "{error}");
    let mut round = shelf([("bases/base.toml", "extends = \"base.toml\"\n")]);
    let error = plan("study.toml", STUDY, &PlanOptions::default(), &mut round).unwrap_err().to_string();
    assert!(error.contains("extends itself"), "{error}");
    let error = plan("study.toml", STUDY, &PlanOptions::default(), &mut shelf([])).unwrap_err().to_string();
    assert!(error.contains("cannot read `bases/base.toml`") && error.contains("study.toml:1:11"), "{error}");
}

#[test]
fn a_scale_overrides_other_parts() {
    let text = format!(
        "{SMALL}\n[scale.small]\n\"design.plots\" = 2\nfactor = [{{ name = \"depth\", levels = [4] }}]\n\
         workload.random-read.size = \"1MiB\"\n"
    );
    let scaled = |name: &str| PlanOptions { scale: Some(name.to_owned()), ..PlanOptions::default() };
    let small = planned_with(&text, &scaled("small"));
    assert_eq!((small.scale.as_str(), small.plots.len(), small.cells.len()), ("small", 4, 2));
    let full = planned(&text);
    assert_eq!((full.scale.as_str(), full.plots.len(), full.cells.len()), ("full", 6, 4));
    let error = refused_with(&text, &scaled("smal"));
    assert!(error.contains("did you mean `small`?"), "{error}");
    let set = |text: &str| PlanOptions { set: vec![text.parse::<Override>().unwrap()], ..PlanOptions::default() };
    assert_eq!(planned_with(SMALL, &set("factor.depth.levels=[1]")).cells.len(), 2);
    let error = refused_with(SMALL, &set("design.plots=many"));
    assert!(error.contains("--set, for study.toml"), "{error}");
}

#[test]
fn conditions_leave_out_cells_and_steps() {
    const CONDITIONS: &str = r#"
[experiment]
name = "conditions"
[[factor]]
name = "level"
levels = [1, 4]
change = "hard"
[[factor]]
name = "depth"
levels = [1, 8, 16]
when = { workload = "deep" }
[[provision]]
kind = "cmd"
run = "true $${HOME} ${level}"
when = { level = 4 }
[target]
path = "sim:ssd"
[workload.deep]
random-read = { size = "1MiB", depth = "${depth}" }
[workload.flat]
read = { size = "1MiB" }
when = { level = [4] }
[design]
exclude = [{ level = 1, depth = 16 }]
"#;
    let plan = planned(CONDITIONS);
    let cells: Vec<(&str, &str, &str)> = plan
        .cells
        .iter()
        .map(|cell| (cell.levels["level"].as_str(), cell.levels["depth"].as_str(), cell.workload.as_str()))
        .collect();
    assert_eq!(
        cells,
        [
            ("1", "1", "deep"),
            ("1", "8", "deep"),
            ("4", "1", "deep"),
            ("4", "-", "flat"),
            ("4", "8", "deep"),
            ("4", "16", "deep")
        ]
    );
    for plot in &plan.plots {
        let steps = plumb_document::json::to_string(&plot.steps).unwrap();
        assert_eq!(steps.contains("true ${HOME} 4"), plot.levels["level"] == "4", "{steps}");
    }
}

#[test]
fn optional_repetitions_name_their_end() {
    let text = format!(
        "{SMALL}\n[design]\nrepeat = {{ min = 2, max = 5 }}\n[stop]\nmetric = \"read.iops\"\nhalf-width = \"5%\"\n"
    );
    let plan = planned(&text);
    assert_eq!(plan.runs.len(), 6 * 2 * 5);
    assert_eq!(plan.stop.map(|stop| (stop.repeats_min, stop.half_width)), Some((2, 0.05)));
}

#[test]
fn an_invalid_repeat_error_shows_a_valid_one() {
    for misspelt in ["-1", "\"three\"", "{ min = 2 }", "1.5"] {
        let text = format!(
            "[experiment]\nname = \"a\"\n[workload]\nrandom-read = {{ time = \"1s\" }}\n[design]\nrepeat = {misspelt}\n"
        );
        let error = refused(&text);
        assert!(error.contains("{ min = 2, max = 5 }") && !error.contains("untagged"), "{misspelt}: {error}");
    }
}

#[test]
fn placeless_and_hostless_studies_are_refused() {
    let error = refused(&SMALL.replacen("[target]\npath = \"${device}\"", "", 1));
    assert!(error.contains("no place to run is given"), "{error}");
    let error = refused(&format!("{SMALL}\n[hosts]\na = {{ ssh = \"a\" }}\nb = {{ ssh = \"b\" }}\n"));
    assert!(error.contains("no factor chooses between the hosts") && error.contains("binds"), "{error}");
    let error = refused(&SKETCHES[0].1.replacen("\"fedora\"]", "\"fedroa\"]", 1));
    assert!(error.contains("unknown host `fedroa`") && error.contains("`fedora`"), "{error}");
}

proptest! {
    /// Same seed, same plan; every block has every combination of hard levels once; every cell runs equally often.
    #[test]
    fn plans_are_balanced_and_repeatable(seed in 0..1u64 << 53, plots in 2..6u32, repeat in 1..4u32, abba: bool) {
        let order = if abba { "ABBA" } else { "randomized-blocks" };
        let text = format!("{SMALL}\n[design]\norder = \"{order}\"\nplots = {plots}\nrepeat = {repeat}\n");
        let options = PlanOptions { seed: Some(seed), ..PlanOptions::default() };
        let plan = planned_with(&text, &options);
        prop_assert_eq!(&plan, &planned_with(&text, &options));
        prop_assert!(plan.is_intact());
        let mut touched = plan.clone();
        touched.runs.swap(0, 1);
        prop_assert!(!touched.is_intact() || touched.runs[0] == touched.runs[1]);
        for block in 0..plots {
            let here: BTreeSet<_> = plan.plots.iter().filter(|plot| plot.block == block).map(|plot| &plot.levels).collect();
            prop_assert_eq!(here.len(), 2);
            prop_assert_eq!(plan.plots.iter().filter(|plot| plot.block == block).count(), 2);
        }
        for cell in 0..plan.cells.len() as u32 {
            prop_assert_eq!(plan.runs.iter().filter(|run| run.cell == cell).count() as u32, plots * repeat);
        }
        for run in &plan.runs {
            let plot = &plan.plots[run.plot as usize];
            let cell = &plan.cells[run.cell as usize];
            prop_assert!(plot.levels.iter().all(|(name, level)| cell.levels[name] == *level));
            let same = plan.runs.iter().find(|other| {
                plan.plots[other.plot as usize].block == plot.block && other.repeat == run.repeat && other.cell != run.cell
            });
            prop_assert_eq!(same.unwrap().seed, run.seed);
        }
    }

    /// A truncated study, a study with a changed letter, and any override: an error, never a panic.
    #[test]
    fn broken_studies_never_panic(which in 0..4usize, cut in 0..3000usize, letter in any::<char>(), key in "[a-z0-9.]{0,20}", value in "\\PC{0,12}") {
        let text = SKETCHES[which].1;
        let cut = (0..=cut.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap();
        let mut options = PlanOptions::default();
        options.set.extend(format!("{key}={value}").parse::<Override>());
        let mut changed = text.to_owned();
        changed.insert(cut, letter);
        for text in [&text[..cut], &changed, text] {
            if let Err(error) = plan("study.toml", text, &options, &mut sketch_shelf()) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}

/// A published study of two sides, one of which has a number.
const PUBLISHED: &str = r#"
[study]
title = "Old disks"
[[side]]
id = "a"
[[side]]
id = "b"
name = "the disk of 2014"
[[test]]
id = "t"
tool = "dd"
command = "dd if=x of=/dev/null bs=1M"
cell = [
  { side = "a", metric = "read", missing = "not in the text" },
  { side = "b", metric = "read", value = 33.1, unit = "MB/s", about = true },
]
"#;

/// Lines 22 to 27, after [`SMALL`].
const IMPORT: &str = r#"[import.old]
file = "old.toml"
dialect = "audit"
side = "b"
test = "t"
device = "sim:ssd"
"#;

fn importing(import: &str, published: &'static str) -> Result<Plan, String> {
    let text = format!("{SMALL}{import}");
    plan("study.toml", &text, &PlanOptions::default(), &mut shelf([("old.toml", published)]))
        .map_err(|error| error.to_string())
}

// Protects: published numbers are frozen with the plan, and another number makes another plan.
#[test]
fn published_numbers_are_frozen_in_the_plan() {
    let found = importing(IMPORT, PUBLISHED).unwrap_or_else(|error| panic!("{error}"));
    let [import] = found.imports.as_slice() else { panic!("{:?}", found.imports) };
    let [number] = import.numbers.as_slice() else { panic!("{:?}", import.numbers) };
    assert_eq!((number.printed.as_str(), number.value, number.about), ("~33.1 MB/s", 33.1e6, true));
    assert_eq!(number.conditions, "t on the disk of 2014: dd if=x of=/dev/null bs=1M");
    assert_eq!(number.metric().unwrap().to_string(), "read.bw");
    assert!(found.is_intact() && found.warnings.is_empty(), "{:?}", found.warnings);

    const OTHER: &str = "[study]\ntitle = \"x\"\n[[side]]\nid = \"b\"\n[[test]]\nid = \"t\"\ntool = \"dd\"\n\
                         cell = [{ side = \"b\", metric = \"read\", value = 33.2, unit = \"MB/s\" }]\n";
    assert_ne!(importing(IMPORT, OTHER).unwrap().hash, found.hash);
    let text = plumb_document::json::to_string(&found).unwrap();
    assert!(plumb_document::json::from_str::<Plan>(&text).unwrap().is_intact());

    let spread = plan("study.toml", SKETCHES[2].1, &PlanOptions::default(), &mut sketch_shelf()).unwrap();
    assert_eq!(spread.imports[0].numbers.len(), 36);
}

// Protects: a study that was frozen before its plan kept numbers can still be resumed and reported.
#[test]
fn a_plan_from_before_numbers_were_kept_is_intact() {
    let mut old = importing(IMPORT, PUBLISHED).unwrap();
    old.imports[0].numbers.clear();
    (old.imports[0].side, old.imports[0].test) = (None, None);
    old.hash = old.hash_of_rest();
    let mut json = plumb_document::json::to_value(&old).unwrap();
    let import = json["imports"][0].as_object_mut().unwrap();
    let keys: BTreeSet<&str> = import.keys().map(String::as_str).collect();
    assert_eq!(keys, BTreeSet::from(["label", "file", "dialect", "levels"]));
    let read: Plan = plumb_document::json::from_value(json).unwrap();
    assert!(read.is_intact() && read == old);
}

// Protects: a study can be resumed with a Plumb that estimates or warns differently, and so can one frozen when the
// hash still covered the estimate.
#[test]
fn the_estimate_does_not_change_the_hash() {
    let found = plan("study.toml", SMALL, &PlanOptions::default(), &mut shelf([])).unwrap();
    let mut better = found.clone();
    better.estimate.detectable_ratio = Some(2.5);
    better.warnings.push("a warning".to_owned());
    assert!(better.is_intact() && better.hash_of_rest() == found.hash);

    let mut old = found.clone();
    old.estimate.verdicts = 0;
    old.hash = old.hash_with_estimate();
    let text = plumb_document::json::to_string(&old).unwrap();
    assert!(!text.contains("\"verdicts\""), "{text}");
    let read: Plan = plumb_document::json::from_str(&text).unwrap();
    assert!(read.is_intact() && read.hash != read.hash_of_rest() && read.hash_of_rest() == found.hash);
    let touched = Plan { seed: read.seed + 1, ..read };
    assert!(!touched.is_intact());
}

// Protects: an unreadable import is refused before anything is built, at its position and with the way out.
#[test]
fn a_wrong_import_is_reported_at_its_position() {
    for (from, to, place, message, help) in [
        ("old.toml", "new.toml", "23:8", "cannot read `new.toml`: No such file", "relative to the study"),
        ("\"audit\"", "\"fio\"", "24:11", "published numbers of `fio` cannot be read", "`iozone` (its text"),
        ("\"b\"", "\"bb\"", "25:8", "unknown side `bb`", "did you mean `b`?"),
        ("\"b\"", "\"a\"", "25:8", "has no number of `a` in its test `t`", "another side"),
        ("\"t\"", "\"u\"", "26:8", "unknown test `u`", "did you mean `t`?"),
        ("side = \"b\"\n", "", "23:8", "has numbers of 2 sides", "say which with `side`: `a`, `b`"),
        ("\"audit\"", "\"iozone\"", "25:8", "a file of `iozone` has no side to choose", "leave it out"),
        ("\"audit\"\nside = \"b\"\ntest = \"t\"", "\"bonnie++\"", "23:8", "no Bonnie++ results", "CSV lines"),
        ("device = ", "devise = ", "27:10", "unknown factor `devise`", "did you mean `device`?"),
    ] {
        let import = IMPORT.replacen(from, to, 1);
        assert_ne!(import, IMPORT, "{from}");
        let error = importing(&import, PUBLISHED).unwrap_err();
        for part in [&format!("study.toml:{place}"), message, help] {
            assert!(error.contains(part), "{part} is missing in:\n{error}");
        }
    }
    let error = importing(IMPORT, "[study]\ntitel = \"x\"\n").unwrap_err();
    assert!(error.contains("old.toml:2:1"), "{error}");
}

// Protects: a misspelt level is reported, and a scale without it is not an error.
#[test]
fn an_import_for_no_cell_gives_a_warning() {
    let found = importing(&IMPORT.replacen("sim:ssd", "sim:tape", 1), PUBLISHED).unwrap();
    assert!(found.warnings[0].contains("no cell has the levels of import `old`"), "{:?}", found.warnings);
}

/// As much as an editor needs: the studies shown in the documentation are valid, and misspelt keys are not.
#[cfg(feature = "schema")]
#[test]
fn the_schema_names_every_key() {
    let schema = super::schema();
    let properties = schema["properties"].as_object().unwrap();
    for key in [
        "experiment",
        "hosts",
        "safety",
        "factor",
        "provision",
        "target",
        "workload",
        "design",
        "stop",
        "compare",
        "sweep",
        "import",
        "scale",
        "extends",
    ] {
        assert!(properties.contains_key(key), "{key}");
    }
    assert_eq!(schema["additionalProperties"], false);
    let kinds = schema["$defs"]["Provision"]["properties"]["kind"]["enum"].as_array().unwrap();
    assert!(kinds.len() > 10 && kinds.contains(&"mkfs".into()), "{kinds:?}");
}

// Protects hosts whose agents measure: they replace this machine or the file's own agents, and nothing else,
// and a plan records them.
#[test]
fn agents_replace_this_machine() {
    let on = |hosts: &[&str]| PlanOptions {
        hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
        ..Default::default()
    };
    let (alone, two) = (planned(SMALL), planned_with(SMALL, &on(&["a", "b"])));
    assert_eq!(two.hosts["agents"], HostPlan::Agents(vec!["a".to_owned(), "b".to_owned()]));
    assert!(two.plots.iter().all(|plot| plot.host == "agents") && two.hosts.len() == 1);
    assert_eq!(two.runs, alone.runs);
    assert_ne!(two.hash, alone.hash);
    assert_ne!(two.hash, planned_with(SMALL, &on(&["b", "a"])).hash);
    let mut factor = format!("{SMALL}\n[hosts]\none = {{ agents = [\"a\"] }}\ntwo = {{ agents = [\"a\", \"b\"] }}\n");
    let refused_here = refused_with(&factor, &on(&["c"]));
    assert!(refused_here.contains("chooses its own hosts (`one`, `two`)"), "{refused_here}");
    factor.push_str("[[factor]]\nname = \"clients\"\nbinds = \"host\"\nlevels = [\"one\", \"two\"]\n");
    let plan = planned(&factor);
    assert_eq!((plan.hosts.len(), plan.plots.len()), (2, 12));
    assert!(refused_with(&factor, &on(&["c"])).contains("study.toml:"));
    let step = "[[provision]]\nkind = \"tmpfs\"\nsize = \"1GiB\"\nmount = \"/mnt/x\"\n";
    // Only the agents know whether they build.
    let built = planned_with(&format!("{SMALL}{step}"), &on(&["a"]));
    assert!(built.plots.iter().all(|plot| plot.steps.len() == 1));
    let limited = "[[provision]]\nkind = \"loop\"\ndirectory = \"/mnt\"\nsize = \"1GiB\"\nlimits = { read-iops = 9 }\n";
    let refused_there = refused_with(&format!("{SMALL}{limited}"), &on(&["a"]));
    assert!(refused_there.contains("`limits` of a loop device do not hold on `agents`"), "{refused_there}");
}
