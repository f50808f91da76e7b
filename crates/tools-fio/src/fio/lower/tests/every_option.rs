//! No option is silently ignored: each one changes the workload or the plan of some job, is refused, or warns.

use super::*;
use crate::fio::options::{self, OptionSpec, Support};
use crate::fio::value::kind::{Kind, Slots, Special};

/// Placeholder for an option in a job file.
const PLACE: &str = "@@";

/// Job files for options that take effect only together with another job.
const FILES: &[&str] = &[
    "[x]\nsize=1m\n[a]\nsize=1m\n@@\n",
    "[global]\nsize=1m\nramp_size=64k\n[x]\n@@\n[a]\n@@\n",
    "[x]\nsize=1m\nflow=8\n@@\n[a]\nsize=1m\nflow=1\n",
    "[x]\nsize=1m\nexitall\n@@\n[a]\nsize=1m\n",
];

/// Jobs for all other options.
const JOBS: &[&str] = &[
    "rw=read",
    "rw=randrw\nbs=4k\nioengine=libaio\niodepth=8\nnumjobs=2\nnrfiles=2",
    "rw=randwrite\nverify=crc32c\nverify_backlog=8\nioengine=io_uring\niodepth=4",
    "rw=randwrite\nrate_iops=100\nthinktime=10\nlatency_target=100000\nlatency_window=1000\nruntime=10\ntime_based",
    "rw=randrw\ntrim_percentage=20\nverify=md5\ntrim_backlog=4",
    "rw=randwrite\nloops=2\nrandom_distribution=zipf:1.2\nbuffer_pattern=0x12\ndedupe_percentage=50",
    "rw=write\nzonemode=strided\nzonesize=64k\nrandom_generator=lfsr",
    "rw=read\nread_iolog=rec\nss=iops:1%\nss_dur=10",
    "rw=randread\nmem=mmaphuge\ndirect=1\nprio=3\ncgroup=a\ncpus_allowed=0",
    "rw=write\nwrite_bw_log\nwrite_lat_log\nwrite_iops_log\nwrite_hist_log",
    "rw=read\nioengine=cpuio\ncpuload=50",
    "rw=read\nioengine=net\nport=1\nhostname=localhost",
    "rw=write\nioengine=falloc",
    "rw=read\nioengine=pvsync2",
    "rw=read\nioengine=exec\nprogram=true",
    "rw=write\nfill_device=1\nverify=md5\nsize=50%\ncompress=1",
    "rw=randwrite\nnum_range=2",
    "rw=randread\nzonemode=zbd\nzonesize=64k",
    "rw=write\nioengine=filestat",
    "rw=write\nioengine=mmap",
    "rw=randwrite\nsprandom=1\nrandom_generator=lfsr\nnorandommap=1",
    "rw=randread\noffset=10%\nfilename=there",
    "rw=randread\nrandom_distribution=sequence:1,2,3",
    "rw=read\nrate=1m\nrate_min=1k",
    "rw=read\nread_iolog=rec:rec\nmerge_blktrace_file=merged",
    "rw=write\nioengine=rdma\nport=1\nhostname=localhost",
];

const PRINT: &str = "src/fio/print/source.rs";
const LOGS: &str = "src/fio/run/logs.rs";

/// Options that change no workload, each with the source file that uses it and the expression there.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    ("description", PRINT, "description"),
    ("stats", PRINT, "statistics.stats"),
    ("clat_percentiles", PRINT, "clat_percentiles"),
    ("lat_percentiles", PRINT, "lat_percentiles"),
    ("slat_percentiles", PRINT, "slat_percentiles"),
    ("percentile_list", PRINT, "percentiles"),
    ("significant_figures", PRINT, "significant_figures"),
    ("disk_util", "src/fio/print/report.rs", "disk_util"),
    ("disable_lat", PRINT, "measures_lat"),
    ("disable_clat", PRINT, "measures_clat"),
    ("unified_rw_reporting", PRINT, "unified"),
    ("unit_base", PRINT, "unit_base"),
    ("log_avg_msec", LOGS, "avg_ms"),
    ("log_hist_msec", LOGS, "hist_ms"),
    ("log_hist_coarseness", LOGS, "hist_coarseness"),
    ("log_window_value", LOGS, "window_value"),
    ("log_offset", LOGS, "offset"),
    ("log_prio", LOGS, "prio"),
    ("per_job_logs", LOGS, "per_job"),
    ("log_store_compressed", LOGS, "store_compressed"),
    ("log_alternate_epoch", LOGS, "alternate_epoch"),
    ("ioscheduler", "src/fio/run/schedulers.rs", "scheduler"),
    // Applies to jobs that another host sent.
    ("unique_filename", "src/fio/lower/names.rs", "unique_filename"),
];

fn candidates(option: &OptionSpec) -> Vec<String> {
    let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    match option.kind() {
        Kind::Whole(..) => own(&["0", "1", "2", "3", "8", "96", "100", "1000", "4096"]),
        Kind::Wide(..) => own(&["0", "1", "512", "4k", "64k", "1m"]),
        Kind::Time(slots, _) => match slots {
            Slots::Two => own(&["1-2", "3"]),
            _ => own(&["1", "7", "1000000"]),
        },
        Kind::Region => own(&["64k", "10%", "1z"]),
        Kind::Switch => own(&["0", "1"]),
        Kind::Flag => own(&["", "0"]),
        Kind::Text | Kind::Names => own(&["some", "/x", "rec"]),
        Kind::Choice(words) | Kind::Choices(words) => own(words),
        Kind::Floats { .. } => own(&["0.5", "1", "50", "10:90"]),
        Kind::Ranges => own(&["4k-8k"]),
        Kind::Special(special) => own(match special {
            Special::Direction => &["randread", "write:8", "trim"],
            Special::Split => &["4k/60:64k/40"],
            Special::Distribution => &["zipf:1.2", "random", "zoned:60/10:40/90"],
            Special::Pattern => &["0xff"],
            Special::Cpus => &["0", "0-1"],
            Special::NumaPolicy => &["bind:0", "local", "0"],
            Special::IgnoreError => &["EIO"],
            Special::Steady => &["iops:2%"],
            Special::SyncRange => &["write:8", "wait_before:4"],
            Special::FileService => &["random", "sequential", "zipf:1.2"],
            Special::Memory => &["malloc", "mmap", "shm"],
            Special::LogName => &["", "prefix"],
            Special::PrioritySplit => &["4k/10/1/0:64k/90"],
        }),
    }
}

/// Returns a job's workload, plan and warnings as text, or the reason of its refusal.
fn outcome(text: &str) -> String {
    let words = ["a.fio".to_owned()];
    let fio = match fio::read(&words, &Machine::default(), &mut OneFile(text.to_owned())) {
        Ok(fio) => fio,
        Err(errors) => return format!("refused: {errors}"),
    };
    let warnings: Vec<String> = fio.warnings.iter().map(ToString::to_string).collect();
    match lower(&fio, &mut known(&[("there", Found::Regular { bytes: 1 << 20 })]), Entropy(7), validate) {
        Ok(lowered) => format!(
            "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{warnings:?}",
            lowered.workload, lowered.jobs, lowered.plan, lowered.warnings, lowered.unrunnable
        ),
        Err(errors) => format!("refused: {errors}"),
    }
}

/// Returns the files without the option under test.
fn files() -> Vec<String> {
    let jobs = JOBS.iter().map(|job| format!("[a]\nsize=1m\n{job}\n{PLACE}\n"));
    FILES.iter().map(|file| (*file).to_owned()).chain(jobs).collect()
}

/// Whether some value of the option changes an outcome; `without` holds the outcomes of the files without it.
fn acts(option: &OptionSpec, without: &[(String, String)]) -> bool {
    without.iter().any(|(file, without)| {
        candidates(option).iter().any(|text| {
            let line = if text.is_empty() { option.name.to_owned() } else { format!("{}={text}", option.name) };
            let with = outcome(&file.replace(PLACE, &line));
            // An invalid value proves nothing.
            with != *without && !with.contains("; it takes ")
        })
    })
}

#[test]
fn every_option_acts_is_refused_or_warns() {
    let without: Vec<(String, String)> =
        files().into_iter().map(|file| (file.clone(), outcome(&file.replace(PLACE, "")))).collect();
    let elsewhere = |option: &OptionSpec| ELSEWHERE.iter().any(|(name, ..)| *name == option.name);
    let silent: Vec<&str> = options::all()
        .filter(|option| option.support == Support::Works && !elsewhere(option) && !acts(option, &without))
        .map(|option| option.name)
        .collect();
    assert_eq!(silent, Vec::<&str>::new());
}

// Protects the list above: the named sources use these options.
#[test]
fn options_that_act_elsewhere_are_read_there() {
    for (option, file, word) in ELSEWHERE {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(text.contains(word), "{option} is not read in {file}");
    }
}

// Protects: an option without effect warns, unless its value is the default.
#[test]
fn options_without_effect_warn() {
    for option in options::all().filter(|option| matches!(option.support, Support::Ignored(_))) {
        let Some(text) = candidates(option).into_iter().find(|text| {
            Some(text.as_str()) != option.default && {
                let line = if text.is_empty() { option.name.to_owned() } else { format!("{}={text}", option.name) };
                !outcome(&format!("[a]\nsize=1m\nrw=read\n{line}\n")).starts_with("refused")
            }
        }) else {
            panic!("no value of {} can be read", option.name);
        };
        let line = if text.is_empty() { option.name.to_owned() } else { format!("{}={text}", option.name) };
        let outcome_text = outcome(&format!("[a]\nsize=1m\nrw=read\n{line}\n"));
        assert!(outcome_text.contains(&format!("`{}` is ignored", option.name)), "{line}: {outcome_text}");
    }
}
