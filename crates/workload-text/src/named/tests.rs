use super::*;
use crate::native::{parse, to_toml};
use crate::validate::validate;
use plumb_workload::blocks::BlockSize;
use plumb_workload::named::Evidence;
use plumb_workload::phase::{Stop, Work, WorkerGroup};
use plumb_workload::target::Target;
use plumb_workload::units::Bytes;
use plumb_workload::{Backend, OpKind, Workload};
use std::collections::BTreeMap;

fn scales() -> Vec<Scale> {
    let mut scales = Vec::new();
    for place in [RunPlace::Directory, RunPlace::Sim("sim:hdd?slow=5%".parse().unwrap())] {
        scales.push(Scale::moderate(place.clone()));
        scales.push(Scale { file_bytes: 0, files: 0, time_ns: 0, ..Scale::moderate(place.clone()) });
        scales.push(Scale { file_bytes: u64::MAX / 4, files: 1 << 40, seed: 7, ..Scale::moderate(place) });
    }
    scales
}

fn all(scale: &Scale) -> Vec<Workload> {
    every().map(|named| named.workload(scale)).chain([try_workload(scale)]).collect()
}

#[test]
fn every_workload_is_valid_at_every_scale() {
    for scale in scales() {
        for workload in all(&scale) {
            assert_eq!(validate(&workload), [], "{} at {scale:?}", workload.name);
        }
    }
}

#[test]
fn every_workload_survives_its_native_form() {
    for scale in scales() {
        for workload in all(&scale) {
            let text = to_toml(&workload).unwrap();
            assert_eq!(parse("named", &text).unwrap_or_else(|error| panic!("{error}")), workload);
        }
    }
}

/// Protects comparisons: a headline metric that two phases report would compare different work.
#[test]
fn every_headline_metric_occurs_in_one_phase() {
    for named in every() {
        let workload = named.workload(&Scale::moderate(RunPlace::Directory));
        let mut phases: BTreeMap<&str, usize> = BTreeMap::new();
        for phase in &workload.phase {
            let mut kinds: Vec<&str> = phase.workers.iter().flat_map(subjects).collect();
            kinds.sort_unstable();
            kinds.dedup();
            kinds.into_iter().for_each(|kind| *phases.entry(kind).or_default() += 1);
        }
        for metric in named.headline {
            let subject = metric.split('.').next().unwrap();
            assert_eq!(phases.get(subject), Some(&1), "{}: {metric}", named.name);
        }
    }
}

/// Returns the first parts of the metric names that a group produces.
fn subjects(group: &WorkerGroup) -> Vec<&'static str> {
    let kinds: Vec<OpKind> = match &group.work {
        Work::Blocks(_) | Work::Program(_) => group.work.op_kinds().into_iter().collect(),
        Work::Copy(_) | Work::Replay(_) | Work::Net(_) => panic!("no named workload has copies or replays"),
    };
    let transactions = match &group.work {
        Work::Program(program) if program.count_transactions => Some("txn"),
        _ => None,
    };
    kinds.into_iter().map(OpKind::name).chain(transactions).collect()
}

#[test]
fn the_survey_takes_under_a_minute_and_writes_no_more_than_promised() {
    let scale = Scale::moderate(RunPlace::Directory);
    let survey = try_workload(&scale);
    let timed: u64 = survey.phase.iter().filter_map(|phase| phase.stop.time).map(|time| time.0).sum();
    assert!(timed <= 45_000_000_000, "{timed} ns");
    for phase in &survey.phase {
        for group in &phase.workers {
            if let Some(work) = group.work.blocks()
                && work.mix.write > 0
            {
                let bounded = group.limit.passes == Some(1) || phase.stop.bytes == Some(Bytes(scale.file_bytes));
                assert!(bounded, "{} may write without end", phase.name);
            }
        }
    }
}

/// Protects the order of phases: the phase that creates the files comes first and is not ended by time.
#[test]
fn small_files_phases_create_the_files_they_use() {
    let workload = file::small_files(&Scale::moderate(RunPlace::Directory), &NAMED[5]);
    let names: Vec<&str> = workload.phase.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["create", "stat", "read", "delete"]);
    for phase in &workload.phase {
        assert_eq!(phase.workers[0].limit.passes, Some(4000), "{}", phase.name);
    }
    assert_eq!(workload.phase[0].stop, Stop::default(), "the create phase always finishes");
}

#[test]
fn names_are_unique_and_typos_get_suggestions() {
    for named in every() {
        assert_eq!(select(named.name).unwrap()[0].name, named.name);
        assert!(!named.about.contains('\n'));
    }
    assert_eq!(select("all").unwrap().len(), NAMED.len());
    assert!(select("randomread").unwrap_err().to_string().contains("did you mean `random-read`?"));
    assert!(select("webserver").unwrap_err().to_string().contains("`mail`"));
    assert!(select("etcdwal").unwrap_err().to_string().contains("did you mean `etcd-wal`?"));
}

/// Protects portability: named workloads must run without io_uring, so the engine chooses the backend.
#[test]
fn no_backend_is_forced() {
    for workload in all(&Scale::moderate(RunPlace::Directory)) {
        for group in workload.phase.iter().flat_map(|phase| &phase.workers) {
            assert_eq!(group.backend, Backend::Auto, "{}", workload.name);
        }
    }
}

#[test]
fn mail_in_its_native_form() {
    let workload = select("mail").unwrap()[0].workload(&Scale::moderate(RunPlace::Directory));
    insta::assert_snapshot!(to_toml(&workload).unwrap());
}

#[test]
fn database_in_its_native_form() {
    let workload = select("database").unwrap()[0].workload(&Scale::moderate(RunPlace::Directory));
    insta::assert_snapshot!(to_toml(&workload).unwrap());
}

/// Protects names and sizes: a file's `name` is the name that users type, and the moderate scale runs it unchanged.
#[test]
fn loads_run_as_written_in_their_files() {
    for load in LOADS {
        let text = loads::file(load.name);
        let written = parse(load.name, text).unwrap_or_else(|error| panic!("{error}"));
        let run = load.workload(&Scale::moderate(RunPlace::Directory));
        assert_eq!(written.name, load.name);
        assert_eq!((&written.target, &written.phase), (&run.target, &run.phase), "{}", load.name);
    }
}

#[test]
fn a_scale_keeps_proportions() {
    let small =
        Scale { file_bytes: 256 << 20, files: 400, time_ns: 1_000_000_000, ..Scale::moderate(RunPlace::Directory) };
    let vm = find("vm-image").unwrap().workload(&small);
    assert_eq!(vm.phase[0].stop.time, Some(plumb_workload::Nanos(1_000_000_000)));
    let Target::File(image) = &vm.target["image"] else { panic!("{:?}", vm.target) };
    assert_eq!(image.size, Some(Bytes(64 << 20).into()));
    let homes = find("nfs-mix-2008-like").unwrap().workload(&small);
    let Target::Tree(tree) = &homes.target["home"] else { panic!("{:?}", homes.target) };
    assert_eq!(tree.files, 400);
    let tiny = find("nfs-mix-2008-like").unwrap().workload(&Scale { files: 4, ..small });
    assert_eq!(tiny.phase[0].workers[0].count, 1, "a worker needs files to choose from");
}

/// Names of organizations and benchmarks with rules that a load does not follow.
const STANDARDS: [&str; 9] = ["spc", "spec", "sfs", "mlperf", "snia", "pts", "tpc", "laddis", "iometer"];

/// Protects against false claims: loads known from memory never carry a standard's name, and
/// the others have a banner.
#[test]
fn standards_names_need_a_source_and_a_banner() {
    for load in LOADS {
        let explanation = load.explanation();
        let mentions_standard = |text: &str| {
            let text = text.to_lowercase();
            let mut words = text.split(|c: char| !c.is_alphanumeric());
            words.any(|word| STANDARDS.iter().any(|name| word.trim_end_matches(|c: char| c.is_ascii_digit()) == *name))
        };
        let carries = mentions_standard(load.name) || mentions_standard(load.about);
        let unverified = explanation.settings.iter().find(|one| one.evidence == Evidence::Memory);
        assert!(!carries || unverified.is_none(), "{}: {unverified:?}", load.name);
        assert!(!carries || load.banner.is_some(), "{} has no banner", load.name);
        assert!(!load.name.contains("mlperf") && !load.about.to_lowercase().contains("mlperf"), "{}", load.name);
        assert!(load.banner.is_none() || load.name.ends_with("-like"), "{} is {:?} itself", load.name, load.banner);
    }
}

/// Protects pages against lost sources: every comment at the end of a line is a source with its kind of evidence.
#[test]
fn every_comment_of_a_load_is_a_source_and_every_page_lists_deviations() {
    for load in LOADS {
        let text = loads::file(load.name);
        let comments = text.lines().filter(|line| !line.starts_with('#') && line.contains('#')).count();
        let explanation = load.explanation();
        let sources = explanation.settings.iter().filter(|one| !one.source.is_empty());
        for one in sources.clone() {
            let is_labelled = one.evidence != Evidence::Own || text.contains(&format!("# own: {}", one.source));
            assert!(is_labelled, "{}: `{}` has no letter", load.name, one.source);
        }
        assert_eq!(sources.count(), comments, "{}", load.name);
        assert!(explanation.notes.iter().any(|note| note.starts_with("Deviates: ")), "{}", load.name);
    }
}

#[test]
fn the_parts_of_a_page_are_named_as_in_the_file() {
    let explanation = find("etcd-wal").unwrap().explanation();
    let block = explanation.settings.iter().find(|one| one.setting.starts_with("work.blocks.block")).unwrap();
    assert_eq!((block.part.as_str(), block.evidence), ("phase wal, workers", Evidence::Vendor));
    assert_eq!(block.setting, "work.blocks.block = \"2300\"");
    let own = find("random-read").unwrap().explanation();
    assert!(own.settings.iter().all(|one| one.evidence == Evidence::Own), "{own:#?}");
    assert!(own.settings.iter().any(|one| one.setting == "depth = 32"), "{own:#?}");
}

/// Protects every use: its load and its metrics exist.
#[test]
fn every_use_has_its_load_and_its_phases() {
    for one in USES {
        let workload = load_of(one).workload(&Scale::moderate(RunPlace::Directory));
        let conditions = one.limits.iter().map(|limit| limit.condition);
        for number in one.numbers.iter().copied().chain(conditions) {
            let (phase, _) = number.split_once('/').unwrap();
            assert!(workload.phase.iter().any(|one| one.name == phase), "{}: {number}", one.name);
        }
        assert!(one.limits.iter().all(|limit| limit.source.len() > 10), "{}", one.name);
        assert_eq!(use_named(one.name).unwrap().load, one.load);
    }
    assert!(use_named("ectd").unwrap_err().to_string().contains("did you mean `etcd`?"));
}

/// Protects the SPC-1-like load. Together, its streams have the published statistics: 39.4 % reads, a mean of 8.01
/// KiB, and 59.6, 12.3 and 28.1 % of the operations on the three stores.
#[test]
fn the_streams_of_spc1_have_the_published_statistics() {
    let workload = find("spc1-like").unwrap().workload(&Scale::moderate(RunPlace::Directory));
    let (mut all, mut read, mut bytes) = (0.0, 0.0, 0.0);
    let mut stores: BTreeMap<&str, f64> = BTreeMap::new();
    for group in &workload.phase[0].workers {
        let rate = group.pace.open.unwrap().rate.0;
        let work = group.work.blocks().unwrap();
        let mean = match &work.block {
            BlockSize::Fixed(size) => size.0 as f64,
            BlockSize::Weighted(table) => {
                let weights: f64 = table.iter().map(|entry| entry.weight).sum();
                table.iter().map(|entry| entry.size.0 as f64 * entry.weight / weights).sum()
            }
            BlockSize::Range { .. } => panic!("{:?}", work.block),
        };
        all += rate;
        read += rate * f64::from(work.mix.read) / 100.0;
        bytes += rate * mean;
        *stores.entry(group.target.as_str()).or_insert(0.0) += rate;
    }
    assert!((all - 1000.0).abs() < 1e-9, "{all}");
    assert!((read / all - 0.394).abs() < 0.001, "{}", read / all);
    assert!((bytes / all / 1024.0 - 8.014).abs() < 0.001, "{}", bytes / all / 1024.0);
    for (store, share) in [("data-store", 0.596), ("user-store", 0.123), ("log", 0.281)] {
        assert!((stores[store] / all - share).abs() < 0.0006, "{store}: {}", stores[store] / all);
    }
}
