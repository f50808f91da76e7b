//! Compares our ops with the log of fio itself, one by one.

use super::*;
use crate::op::Role;
use plumb_workload::OpKind;
use plumb_workload::blocks::fio::{FileChoice, SizeShare, Zone, ZoneStride};
use plumb_workload::files::{SyncRange, Syncs};
use plumb_workload::verify::VerifyMethod;
use std::process::{Command, Stdio};

/// An op in fio's I/O log.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Logged {
    file: u32,
    action: &'static str,
    offset: u64,
    length: u64,
}

fn actions() -> [(&'static str, OpKind); 7] {
    [
        ("read", OpKind::Read),
        ("write", OpKind::Write),
        ("trim", OpKind::Trim),
        ("sync", OpKind::Fsync),
        ("sync", OpKind::EndFsync),
        ("datasync", OpKind::Fdatasync),
        ("sync_file_range", OpKind::SyncRange),
    ]
}

/// Returns `true` if fio is installed, which CI requires.
fn has_fio() -> bool {
    let found = Command::new("fio").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    assert!(found || std::env::var_os("CI").is_none(), "CI must have fio installed");
    if !found {
        eprintln!("SKIPPED: fio is not installed");
    }
    found
}

/// Returns `true` if fio flushes only after writes, as from 3.38 on. Earlier versions
/// repeated the flush after each read.
fn flushes_behind_writes_only() -> bool {
    let version = Command::new("fio").arg("--version").output().expect("fio runs");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let mut numbers = version.trim().trim_start_matches("fio-").split(['.', '-']).map_while(|word| word.parse().ok());
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (3, 38)
}

/// Returns the logs of fio's first job with these options, and of its further ones.
fn fio(options: &str, jobs: usize) -> Vec<Vec<Logged>> {
    let dir = tempfile::tempdir().expect("a directory");
    let mut command = Command::new("fio");
    command.current_dir(dir.path()).args(["--output=out", "--eta=never"]);
    for job in 0..jobs {
        command.arg(format!("--name=j{job}")).arg(format!("--write_iolog=log{job}"));
        command.args(options.split_whitespace());
    }
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("fio runs");
    let output = std::fs::read_to_string(dir.path().join("out")).unwrap_or_default();
    assert!(status.success(), "fio {options} failed:\n{output}");
    (0..jobs)
        .map(|job| {
            let text = std::fs::read_to_string(dir.path().join(format!("log{job}"))).expect("a log");
            text.lines().filter_map(logged).collect()
        })
        .collect()
}

fn logged(line: &str) -> Option<Logged> {
    let mut words = line.split(' ').skip(1);
    let file = words.next()?.rsplit('.').next()?.parse().ok()?;
    let word = words.next()?;
    let (action, kind) = actions().into_iter().find(|(action, _)| *action == word)?;
    let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
    let (offset, length) = (number(), number());
    let moves = kind.moves_bytes();
    Some(Logged { file, action, offset: if moves { offset } else { 0 }, length: if moves { length } else { 0 } })
}

fn ours(job: &Tried, lengths: &[u64], handing: Handing, most: usize) -> Vec<Logged> {
    let plan = plan(job, lengths, handing).expect("a plan");
    let logged = |op: BlockOp| {
        let (action, kind) = actions().into_iter().find(|(_, kind)| *kind == op.kind)?;
        let (offset, length) = if kind.moves_bytes() { (op.offset, op.length.into()) } else { (0, 0) };
        Some(Logged { file: op.file, action, offset, length })
    };
    ops(&plan, most).into_iter().filter_map(logged).collect()
}

#[track_caller]
fn same(what: &str, expected: &[Logged], found: &[Logged]) {
    if let Some(at) = expected.iter().zip(found).position(|(expected, found)| expected != found) {
        let from = at.saturating_sub(3);
        let show = |ops: &[Logged]| {
            let line = |op: &Logged| format!("{} f{} {} {}", op.action, op.file, op.offset, op.length);
            ops[from..ops.len().min(at + 4)].iter().map(line).collect::<Vec<_>>().join(" | ")
        };
        panic!("fio {what}: op {at} differs\nfio:  {}\nours: {}", show(expected), show(found));
    }
    assert_eq!(expected.len(), found.len(), "fio {what}: number of ops");
}

/// Compares a job on one file of 1 MiB with fio's null engine, op by op.
#[track_caller]
fn compare(options: &str, stream: Stream) {
    compare_job(options, job(stream), &[MIB], Handing::Inline);
}

#[track_caller]
fn compare_job(options: &str, job: Tried, lengths: &[u64], handing: Handing) {
    if !has_fio() {
        return;
    }
    // fio's null engine logs an op again if it could not be queued.
    let engine = match handing {
        Handing::Inline => "null",
        Handing::Queued => "libaio --iodepth=4",
    };
    let expected = &fio(&format!("--ioengine={engine} --size=1m {options}"), 1)[0];
    assert!(!expected.is_empty(), "fio {options} logged nothing");
    same(options, expected, &ours(&job, lengths, handing, expected.len() * 3 + 100));
}

fn ranges(parts: &[(u64, u64)]) -> Vec<FileRange> {
    parts.iter().map(|&(start, length)| FileRange { start: Bytes(start), length: Bytes(length) }).collect()
}

fn range(low: u64, high: u64) -> ByKind<JobSize> {
    ByKind::all(JobSize::Range { low: Bytes(low), high: Bytes(high) })
}

pub(super) fn verify() -> Verify {
    Verify::new(VerifyMethod::Null)
}

const KINDS: [(&str, Does); 3] = [("read", Does::Read), ("write", Does::Write), ("trim", Does::Trim)];

#[test]
fn one_kind() {
    for (name, does) in KINDS {
        compare(&format!("--rw={name}"), stream(does, sequential()));
        compare(&format!("--rw=rand{name}"), stream(does, random()));
        compare(
            &format!("--rw=rand{name} --norandommap"),
            Stream { coverage: Coverage::Again, ..stream(does, random()) },
        );
    }
}

#[test]
fn mixes() {
    for percent in [50, 70, 3, 99] {
        compare(&format!("--rw=randrw --rwmixread={percent}"), stream(Does::Mix(percent), random()));
        compare(&format!("--rw=rw --rwmixread={percent}"), stream(Does::Mix(percent), sequential()));
    }
}

#[test]
fn seeds() {
    let mix = || stream(Does::Mix(50), random());
    compare("--rw=randrw --randseed=7", Stream { seed: 7, reseed_each_loop: false, ..mix() });
    compare(
        "--rw=randrw --randrepeat=0 --randseed=7",
        Stream { seed: 7, seeding: Seeding::All, reseed_each_loop: false, ..mix() },
    );
    compare("--rw=randrw --allrandrepeat=1", Stream { seeding: Seeding::None, ..mix() });
    compare(
        "--rw=randrw --randrepeat=0 --randseed=123456789012345",
        Stream { seed: 123_456_789_012_345, seeding: Seeding::All, reseed_each_loop: false, ..mix() },
    );
}

#[test]
fn copies_have_their_own_draws() {
    if !has_fio() {
        return;
    }
    let logs = fio("--ioengine=null --size=1m --rw=randrw --bsrange=4k-16k", 3);
    for (log, worker_number) in logs.iter().zip(1..) {
        let job = job(Stream { worker_number, sizes: range(4096, 16384), ..stream(Does::Mix(50), random()) });
        same(&format!("worker {worker_number}"), log, &ours(&job, &[MIB], Handing::Inline, log.len() + 100));
    }
}

#[test]
fn sizes() {
    for (name, order) in [("", sequential()), ("rand", random())] {
        for (kind, does) in [("read", Does::Read), ("rw", Does::Mix(50))] {
            let base = || Stream { sizes: range(4096, 16384), ..stream(does, order) };
            compare(&format!("--rw={name}{kind} --bsrange=4k-16k"), base());
            compare(
                &format!("--rw={name}{kind} --bsrange=4k-16k --norandommap"),
                Stream { coverage: Coverage::Again, ..base() },
            );
            let shares = |shares: &[(u64, u8)]| {
                let share = |&(size, percent): &(u64, u8)| SizeShare { size: Bytes(size), percent };
                JobSize::Split(shares.iter().map(share).collect())
            };
            let split = shares(&[(4096, 50), (16384, 30), (8192, 20)]);
            compare(
                &format!("--rw={name}{kind} --bssplit=4k/50:16k/30:8k/20"),
                Stream { sizes: ByKind::all(split.clone()), ..base() },
            );
        }
    }
    let read_write = ByKind {
        read: JobSize::Fixed(Bytes(8192)),
        write: JobSize::Fixed(Bytes(4096)),
        trim: JobSize::Fixed(Bytes(4096)),
    };
    compare("--rw=randrw --bs=8k,4k", Stream { sizes: read_write.clone(), ..stream(Does::Mix(50), random()) });
    compare("--rw=rw --bs=8k,4k", Stream { sizes: read_write, ..stream(Does::Mix(50), sequential()) });
    let odd = range(5000, 15000);
    compare("--rw=randread --bsrange=5000-15000", Stream { sizes: odd.clone(), ..stream(Does::Read, random()) });
    compare(
        "--rw=randread --bsrange=5000-15000 --bs_unaligned",
        Stream { sizes: odd, unaligned_sizes: true, ..stream(Does::Read, random()) },
    );
    let by_order = ByKind {
        read: JobSize::Fixed(Bytes(16384)),
        write: JobSize::Fixed(Bytes(4096)),
        trim: JobSize::Fixed(Bytes(4096)),
    };
    compare(
        "--rw=randread --bs=16k,4k --bs_is_seq_rand=1 --percentage_random=50 --norandommap",
        Stream {
            sizes: by_order,
            sizes_by_order: true,
            random_percent: ByKind::all(50),
            coverage: Coverage::Again,
            ..stream(Does::Read, random())
        },
    );
}

#[test]
fn alignment() {
    for align in [512, 8192] {
        compare(
            &format!("--rw=randread --ba={align}"),
            Stream { align: ByKind::all(Bytes(align)), ..stream(Does::Read, random()) },
        );
    }
}

#[test]
fn part_of_a_file() {
    for (name, order) in [("", sequential()), ("rand", random())] {
        let base = || Stream { ranges: ranges(&[(256 * KIB, 512 * KIB)]), ..stream(Does::Read, order) };
        let options = format!("--rw={name}read --offset=256k --size=512k");
        compare_job(&options, job(base()), &[768 * KIB], Handing::Inline);
        // A tail shorter than a block is not touched.
        let odd = || Stream { ranges: ranges(&[(0, 1_000_001)]), ..stream(Does::Read, order) };
        compare_job(&format!("--rw={name}read --size=1000001"), job(odd()), &[1_000_001], Handing::Inline);
    }
}

#[test]
fn limits() {
    for (name, order) in [("", sequential()), ("rand", random())] {
        for (kind, does) in [("read", Does::Read), ("write", Does::Write), ("rw", Does::Mix(50))] {
            let base = || stream(does, order);
            for handing in [Handing::Inline, Handing::Queued] {
                let check = |options: &str, stream: Stream| {
                    compare_job(&format!("--rw={name}{kind} {options}"), job(stream), &[MIB], handing)
                };
                check("--io_size=300k", Stream { io_bytes: Some(Bytes(300 * KIB)), ..base() });
                let again = || Stream { coverage: Coverage::Again, ..base() };
                // If a sequential mix moves more bytes than the file has, fio 3.42 wraps each kind
                // around separately, and 3.33 both together.
                if kind != "rw" || order != sequential() {
                    check("--io_size=2500k", Stream { io_bytes: Some(Bytes(2500 * KIB)), ..base() });
                    check("--io_size=2500k --norandommap", Stream { io_bytes: Some(Bytes(2500 * KIB)), ..again() });
                }
                check("--loops=3", Stream { loops: 3, ..base() });
                check("--number_ios=77", Stream { max_ops: Some(77), ..base() });
                check("--number_ios=300 --loops=2", Stream { max_ops: Some(300), loops: 2, ..base() });
                check("--loops=2 --norandommap", Stream { loops: 2, ..again() });
                check("--loops=2 --randseed=5", Stream { loops: 2, seed: 5, reseed_each_loop: false, ..base() });
            }
        }
    }
}

#[test]
fn sequences_with_steps() {
    for skip in [4096, 12288, -8192, -4096, 1 << 19] {
        compare(&format!("--rw=read:{skip}"), stream(Does::Read, AccessOrder::Sequential { skip_bytes: skip }));
    }
    let backwards = Stream {
        ranges: ranges(&[(128 * KIB, MIB)]),
        ..stream(Does::Write, AccessOrder::Sequential { skip_bytes: -8192 })
    };
    compare_job("--rw=write:-8k --offset=128k", job(backwards), &[MIB + 128 * KIB], Handing::Inline);
}

#[test]
fn draws_for_several_ops() {
    let order = AccessOrder::Random { ops_per_draw: 8 };
    for (does, name) in [(Does::Read, "randread"), (Does::Mix(50), "randrw")] {
        for (sequencer, word) in [(Sequencer::Sequential, "sequential"), (Sequencer::Identical, "identical")] {
            compare(&format!("--rw={name}:8 --rw_sequencer={word}"), Stream { sequencer, ..stream(does, order) });
        }
    }
}

#[test]
fn partly_random() {
    for percent in [0, 20, 80] {
        compare(
            &format!("--rw=randrw --percentage_random={percent}"),
            Stream { random_percent: ByKind::all(percent), ..stream(Does::Mix(50), random()) },
        );
    }
}

#[test]
fn generators() {
    compare(
        "--rw=randrw --bsrange=4k-8k --random_generator=tausworthe64",
        Stream { generator: RandomGenerator::Taus258, sizes: range(4096, 8192), ..stream(Does::Mix(50), random()) },
    );
    for loops in [1, 2] {
        compare(
            &format!("--rw=randread --random_generator=lfsr --loops={loops}"),
            Stream { coverage: Coverage::OnceByRegister, loops, ..stream(Does::Read, random()) },
        );
    }
}

#[test]
fn zoned_laws() {
    let zones = |zones: &[(u8, u8)]| {
        zones.iter().map(|&(access_percent, size)| Zone { access_percent, size }).collect::<Vec<_>>()
    };
    compare(
        "--rw=randrw --random_distribution=zoned:60/10:30/20:8/30:2/40",
        Stream {
            distribution: OffsetDistribution::Zoned(ByKind::all(zones(&[(60, 10), (30, 20), (8, 30), (2, 40)]))),
            ..stream(Does::Mix(50), random())
        },
    );
    let absolute = [(60, 128 * KIB), (40, 512 * KIB)]
        .map(|(access_percent, size)| Zone { access_percent, size: Bytes(size) })
        .to_vec();
    compare(
        "--rw=randread --random_distribution=zoned_abs:60/128k:40/512k",
        Stream { distribution: OffsetDistribution::ZonedBytes(ByKind::all(absolute)), ..stream(Does::Read, random()) },
    );
}

#[test]
fn trims_that_are_written_again() {
    compare("--rw=trimwrite", stream(Does::TrimWrite, sequential()));
    compare("--rw=randtrimwrite", stream(Does::TrimWrite, random()));
    compare(
        "--rw=randtrimwrite --bsrange=4k-16k",
        Stream { sizes: range(4096, 16384), ..stream(Does::TrimWrite, random()) },
    );
    compare(
        "--rw=randtrimwrite --norandommap --loops=2",
        Stream { coverage: Coverage::Again, loops: 2, ..stream(Does::TrimWrite, random()) },
    );
    compare(
        "--rw=trimwrite --number_ios=10 --loops=2",
        Stream { max_ops: Some(10), loops: 2, ..stream(Does::TrimWrite, sequential()) },
    );
}

#[test]
fn strides_of_zones() {
    for (name, order) in [("", sequential()), ("rand", random())] {
        for kind in [("read", Does::Read), ("rw", Does::Mix(50))] {
            for (size, within, skip) in [(64, 64, 64), (128, 64, 32), (32, 64, 0)] {
                let zones = ZoneStride { size: Bytes(size * KIB), range: Bytes(within * KIB), skip: Bytes(skip * KIB) };
                compare(
                    &format!(
                        "--rw={name}{} --zonemode=strided --zonesize={size}k --zonerange={within}k --zoneskip={skip}k",
                        kind.0
                    ),
                    Stream { zones: Some(zones), ..stream(kind.1, order) },
                );
            }
        }
    }
}

#[test]
fn several_files() {
    let choices = [
        ("roundrobin", FileChoice::RoundRobin { ops: 1 }),
        ("roundrobin:3", FileChoice::RoundRobin { ops: 3 }),
        ("sequential", FileChoice::Sequential),
        ("random", FileChoice::Random { ops: 1 }),
        ("random:5", FileChoice::Random { ops: 5 }),
    ];
    for (name, file_choice) in choices {
        for (order_name, order) in [("", sequential()), ("rand", random())] {
            for (kind, does) in [("read", Does::Read), ("rw", Does::Mix(50))] {
                let base = || Stream { file_choice, ranges: ranges(&[(0, 256 * KIB)]), ..stream(does, order) };
                let options = format!("--rw={order_name}{kind} --nrfiles=4 --file_service_type={name}");
                compare_job(&options, job(base()), &[256 * KIB; 4], Handing::Inline);
                let few = Stream { open_files: Some(2), loops: 2, ..base() };
                compare_job(&format!("{options} --openfiles=2 --loops=2"), job(few), &[256 * KIB; 4], Handing::Inline);
            }
        }
    }
}

#[test]
fn files_along_a_curve() {
    use plumb_workload::blocks::fio::Curve;
    let curves = [
        ("zipf:1.2", Curve::Zipf { theta: 1.2 }, None, 1),
        ("zipf:0.7", Curve::Zipf { theta: 0.7 }, None, 1),
        ("pareto:0.3", Curve::Pareto { h: 0.3 }, None, 1),
        ("normal:10", Curve::Normal { deviation: 10.0 }, None, 1),
    ];
    for (name, curve, center, ops) in curves {
        let choice = FileChoice::Curved { curve, center, ops };
        let base = Stream { file_choice: choice, ranges: ranges(&[(0, 256 * KIB)]), ..stream(Does::Read, random()) };
        let options = format!("--rw=randread --nrfiles=4 --file_service_type={name}");
        compare_job(&options, job(base), &[256 * KIB; 4], Handing::Inline);
    }
}

/// Protects: if fio's own draws are requested, positions along a curve match fio's for any number of blocks. They also
/// match by default if fio reaches every block.
#[test]
fn places_along_a_curve() {
    use plumb_workload::blocks::fio::{AsFio, AsFioWhen, Curve};
    /// fio's hashes of `j0.0.0` and `j0.0.1`.
    const NAME_HASHES: [u32; 2] = [0x4bdf_8118, 0xe4fc_5ca6];
    let curves = [
        ("zipf:1.2", Curve::Zipf { theta: 1.2 }, None),
        ("zipf:0.7", Curve::Zipf { theta: 0.7 }, None),
        ("zipf:1.1:0.25", Curve::Zipf { theta: 1.1 }, Some(0.25)),
        ("pareto:0.3", Curve::Pareto { h: 0.3 }, None),
        ("pareto:0.9:0.5", Curve::Pareto { h: 0.9 }, Some(0.5)),
        ("normal:10", Curve::Normal { deviation: 10.0 }, None),
        ("normal:5:0.2", Curve::Normal { deviation: 5.0 }, Some(0.2)),
        ("normal:30:0.8", Curve::Normal { deviation: 30.0 }, Some(0.8)),
    ];
    let when = [AsFioWhen::Always, AsFioWhen::EveryBlockReached];
    for ((name, curve, center), when) in curves.into_iter().flat_map(|curve| when.map(|when| (curve, when))) {
        for (does, word) in [(Does::Read, "randread"), (Does::Mix(50), "randrw")] {
            for (kib, count) in [(1024, 1), (1000, 1), (512, 2)] {
                let length: u64 = kib * KIB;
                let reaches_all =
                    length.is_power_of_two() && center.is_none() && !matches!(curve, Curve::Normal { .. });
                if when == AsFioWhen::EveryBlockReached && !reaches_all {
                    continue;
                }
                let as_fio = Some(AsFio { when, name_hashes: NAME_HASHES.to_vec() });
                let stream = Stream {
                    distribution: OffsetDistribution::Curved { curve, center, as_fio },
                    coverage: Coverage::Again,
                    ranges: ranges(&[(0, length)]),
                    ..stream(does, random())
                };
                let options = format!(
                    "--rw={word} --size={}k --nrfiles={count} --norandommap --random_distribution={name}",
                    kib * count as u64
                );
                compare_job(&options, job(stream), &vec![length; count], Handing::Inline);
            }
        }
    }
}

#[test]
fn flushes() {
    let syncs = |options: &str, syncs: Syncs| {
        for (name, order) in [("", sequential()), ("rand", random())] {
            for (kind, does) in [("write", Does::Write), ("rw", Does::Mix(50))] {
                if kind == "rw" && has_fio() && !flushes_behind_writes_only() {
                    eprintln!("SKIPPED: {name}rw {options}: this fio also flushes after reads");
                    continue;
                }
                let mut one = job(stream(does, order));
                one.syncs = syncs;
                compare_job(&format!("--rw={name}{kind} {options}"), one, &[MIB], Handing::Inline);
                let files = Stream { ranges: ranges(&[(0, 256 * KIB)]), ..stream(does, order) };
                let mut files = job(files);
                files.syncs = syncs;
                compare_job(
                    &format!("--rw={name}{kind} --nrfiles=4 {options}"),
                    files,
                    &[256 * KIB; 4],
                    Handing::Inline,
                );
            }
        }
    };
    syncs("--fsync=3", Syncs { fsync_every: 3, ..Syncs::default() });
    syncs("--fdatasync=1", Syncs { fdatasync_every: 1, ..Syncs::default() });
    syncs("--fsync=4 --fdatasync=6", Syncs { fsync_every: 4, fdatasync_every: 6, ..Syncs::default() });
    syncs("--fsync=5 --end_fsync=1", Syncs { fsync_every: 5, at_end: true, ..Syncs::default() });
    // An op in fio too, but it is logged only if something was written.
    let range = SyncRange { every: 4, wait_before: false, write: true, wait_after: false };
    let mut ranged = job(stream(Does::Write, random()));
    ranged.syncs = Syncs { range: Some(range), ..Syncs::default() };
    compare_job("--rw=randwrite --sync_file_range=write:4", ranged, &[MIB], Handing::Inline);
}

#[track_caller]
fn compare_verify(options: &str, stream: Stream, verify: Verify, lengths: &[u64]) {
    let mut verified = job(stream);
    verified.verify = Some(verify);
    compare_job(&format!("--verify=null {options}"), verified, lengths, Handing::Inline);
}

#[test]
fn read_back() {
    for (name, order) in [("", sequential()), ("rand", random())] {
        for (kind, does) in [("write", Does::Write), ("rw --rwmixread=40", Does::Mix(40)), ("read", Does::Read)] {
            let rw = format!("--rw={name}{kind}");
            let base = || stream(does, order);
            let again = || Stream { coverage: Coverage::Again, ..base() };
            compare_verify(&rw, base(), verify(), &[MIB]);
            compare_verify(&format!("{rw} --norandommap"), again(), verify(), &[MIB]);
            let sized = || Stream { sizes: range(4096, 16384), ..base() };
            compare_verify(&format!("{rw} --bsrange=4k-16k"), sized(), verify(), &[MIB]);
            let sized_again = Stream { coverage: Coverage::Again, ..sized() };
            compare_verify(&format!("{rw} --bsrange=4k-16k --norandommap"), sized_again, verify(), &[MIB]);
            // fio omits further loops of a job that only reads and verifies.
            if does != Does::Read {
                compare_verify(&format!("{rw} --loops=2"), Stream { loops: 2, ..base() }, verify(), &[MIB]);
                let more = Stream { loops: 2, seed: 3, reseed_each_loop: false, ..base() };
                compare_verify(&format!("{rw} --loops=2 --randseed=3"), more, verify(), &[MIB]);
            }
            let few = Stream { io_bytes: Some(Bytes(300 * KIB)), ..base() };
            compare_verify(&format!("{rw} --io_size=300k"), few, verify(), &[MIB]);
            let unread = Verify { read_back: false, ..verify() };
            compare_verify(&format!("{rw} --do_verify=0"), base(), unread, &[MIB]);
            let files = Stream { ranges: ranges(&[(0, 256 * KIB)]), ..base() };
            // fio 3.33 sorts sequential writes by file, 3.42 does not.
            if does == Does::Read || order != sequential() {
                compare_verify(&format!("{rw} --nrfiles=4"), files, verify(), &[256 * KIB; 4]);
            }
        }
    }
}

#[test]
fn read_back_during_the_load() {
    for (name, order) in [("", sequential()), ("rand", random())] {
        for (kind, does) in [("write", Does::Write), ("rw --rwmixread=40", Does::Mix(40))] {
            for (backlog, batch) in [(10, None), (32, Some(8)), (1, None), (7, Some(20))] {
                let rw = format!("--rw={name}{kind} --verify_backlog={backlog}");
                let batch_option = batch.map_or(String::new(), |batch| format!("--verify_backlog_batch={batch}"));
                let rules = || Verify { backlog: Some(backlog), backlog_batch: batch, ..verify() };
                compare_verify(&format!("{rw} {batch_option}"), stream(does, order), rules(), &[MIB]);
                let again = Stream { coverage: Coverage::Again, ..stream(does, order) };
                compare_verify(&format!("{rw} {batch_option} --norandommap"), again, rules(), &[MIB]);
            }
        }
    }
}

#[test]
fn only_read_back() {
    for (name, order) in [("", sequential()), ("rand", random())] {
        let rules = Verify { only: true, ..verify() };
        compare_verify(&format!("--rw={name}write --verify_only"), stream(Does::Write, order), rules, &[MIB]);
    }
}

#[test]
fn found_by_redrawing() {
    for (name, order) in [("", sequential()), ("rand", random())] {
        for (kind, does) in [("write", Does::Write), ("rw --rwmixread=40", Does::Mix(40))] {
            let rules = Verify { redraw: true, ..verify() };
            compare_verify(&format!("--rw={name}{kind} --experimental_verify=1"), stream(does, order), rules, &[MIB]);
        }
    }
}

#[test]
fn read_backs_carry_the_number_of_their_write() {
    let mut verified = job(Stream { coverage: Coverage::Again, loops: 2, ..stream(Does::Write, random()) });
    verified.verify = Some(verify());
    let plan = plan(&verified, &[MIB], Handing::Queued).expect("a plan");
    let mut last = std::collections::HashMap::new();
    for op in ops(&plan, 100_000) {
        match op.role {
            Role::Load | Role::LoadVerified => drop(last.insert(op.offset, op.number)),
            Role::ReadBack => assert_eq!(last.get(&op.offset), Some(&op.number), "of the write at {}", op.offset),
            Role::ReadTrimmed | Role::AtClose | Role::Note => panic!("{op:?} was not requested"),
        }
    }
}
