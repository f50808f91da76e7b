//! The `normal` text of fio 3.42, from a report with its numbers entered by hand. If fio rounds a number, a value was
//! chosen that rounds the same way.

use super::scene::{Step, shaped};
use crate::fio::Compat;
use crate::fio::print::*;

const GOLDEN: &str = include_str!("../../../../golden/fio/normal.txt");

const PERCENTS: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// Builds a histogram from percentiles that fio printed in microseconds, rounded up.
fn in_us(total: u64, values: [u64; 17]) -> plumb_result::Histogram {
    let step = |(percent, us): (f64, u64)| Step { percent, from_ns: (us - 1) * 1000 + 1, to_ns: us * 1000 };
    shaped(total, &PERCENTS.into_iter().zip(values).map(step).collect::<Vec<Step>>())
}

/// Builds a histogram from percentiles that fio printed in nanoseconds.
fn in_ns(total: u64, values: [u64; 17]) -> plumb_result::Histogram {
    let step = |(percent, ns): (f64, u64)| Step { percent, from_ns: ns, to_ns: ns };
    shaped(total, &PERCENTS.into_iter().zip(values).map(step).collect::<Vec<Step>>())
}

fn latency(count: u64, min_ns: u64, max_ns: u64, mean_ns: f64, stddev_ns: f64) -> Latency {
    Latency { count, min_ns, max_ns, mean_ns, stddev_ns, histogram: None }
}

fn samples(min: u64, max: u64, mean: f64, stddev: f64, count: u64) -> Figure<Samples> {
    Figure::Is(Samples { count, min, max, mean, stddev })
}

fn depths(eight: f64, complete_eight: f64) -> Depths {
    Depths {
        level: Figure::Is([0.1, 0.1, 0.1, eight, 0.0, 0.0, 0.0]),
        submit: Figure::Is([0.0, 100.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        complete: Figure::Is([0.0, 100.0, complete_eight, 0.0, 0.0, 0.0, 0.0]),
    }
}

fn mixed_job() -> JobReport {
    let read = 74_651;
    let write = 31_867;
    let display = Display::default();
    JobReport {
        name: "a".to_owned(),
        description: Some("mixed job".to_owned()),
        group: 0,
        members: 1,
        pid: 1101,
        display,
        io: Io::Separate(Split {
            read: DirectionReport {
                bytes: read * 4096,
                ios: read,
                runtime_ms: 2001,
                slat: Figure::Is(latency(read, 828, 4_465_100, 5861.05, 25_423.57)),
                clat: Figure::Is(Latency {
                    histogram: Some(in_us(
                        read,
                        [35, 64, 76, 88, 95, 102, 109, 115, 121, 131, 174, 347, 1598, 2835, 5407, 6783, 10_945],
                    )),
                    ..latency(read, 41, 17_852_000, 167_997.34, 405_343.60)
                }),
                lat: Figure::Is(latency(read, 1378, 17_854_000, 173_858.40, 405_871.47)),
                bandwidth: samples(127_436, 161_888, 149_202.67, 18_936.42, 3),
                iops: samples(31_859, 40_472, 37_300.67, 4734.11, 3),
                ..DirectionReport::default()
            },
            write: DirectionReport {
                bytes: write * 4096,
                ios: write,
                runtime_ms: 2001,
                slat: Figure::Is(latency(write, 278, 4_405_500, 8706.37, 78_822.75)),
                clat: Figure::Is(Latency {
                    histogram: Some(in_ns(
                        write,
                        [
                            302, 338, 2608, 6048, 9152, 12_224, 15_808, 22_400, 34_560, 43_776, 72_192, 114_176,
                            1_171_456, 2_375_680, 6_389_760, 9_633_792, 17_432_576,
                        ],
                    )),
                    ..latency(write, 216, 17_589_000, 70_353.48, 454_513.19)
                }),
                lat: Figure::Is(latency(write, 2500, 17_602_000, 79_060.0, 461_290.0)),
                bandwidth: samples(54_084, 68_912, 63_729.33, 8360.86, 3),
                iops: samples(13_521, 17_228, 15_932.33, 2090.21, 3),
                ..DirectionReport::default()
            },
            trim: DirectionReport::default(),
        }),
        sync: SyncReport {
            count: 124,
            latency: Figure::Is(Latency {
                histogram: Some(in_us(
                    124,
                    [
                        429, 758, 979, 1500, 1696, 1860, 2024, 2180, 2278, 2868, 5932, 9241, 19_006, 23_725, 23_725,
                        23_725, 23_725,
                    ],
                )),
                ..latency(124, 381_000, 23_640_000, 3_032_610.0, 3_618_040.0)
            }),
        },
        runtime_ms: 2000,
        cpu: CpuReport {
            user_ns: 70_000_000,
            system_ns: 681_000_000,
            context_switches: Figure::Is(31_689),
            major_faults: Figure::Is(0),
            minor_faults: Figure::Is(13),
        },
        depths: depths(100.1, 0.1),
        latency_shares: BucketShares {
            ns: [0.0, 0.0, 0.0, 0.0, 0.01, 0.01, 0.03, 2.10, 0.01, 0.09],
            us: [0.05, 2.04, 5.56, 7.61, 9.59, 27.53, 39.73, 2.41, 0.79, 0.77],
            ms: [0.91, 0.52, 0.21, 0.03, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        },
        latency_target: Some(LatencyTarget { depth: 8, target_ns: 0, window_us: 0, percentile: 100.0 }),
        ..JobReport::default()
    }
}

fn readers() -> JobReport {
    let read = 34_372;
    JobReport {
        name: "b".to_owned(),
        group: 1,
        members: 2,
        pid: 1769,
        io: Io::Separate(Split {
            read: DirectionReport {
                bytes: read * 65_536,
                ios: read,
                runtime_ms: 2005,
                slat: Figure::Is(latency(read, 395, 27_724_000, 14_443.66, 227_850.76)),
                clat: Figure::Is(Latency {
                    histogram: Some(in_us(
                        read,
                        [6, 50, 51, 52, 53, 54, 55, 57, 61, 79, 247, 9896, 15_139, 16_712, 20_841, 28_443, 51_643],
                    )),
                    ..latency(read, 45, 51_703_000, 917_352.28, 3_207_410.80)
                }),
                lat: Figure::Is(latency(read, 12_000, 51_703_000, 931_800.0, 3_214_600.0)),
                bandwidth: samples(901 * 1024, 1176 * 1024, 1073.85 * 1024.0, 56.06 * 1024.0, 8),
                iops: samples(14_422, 18_824, 17_181.50, 897.07, 8),
                ..DirectionReport::default()
            },
            ..Split::default()
        }),
        runtime_ms: 10_000,
        cpu: CpuReport {
            user_ns: 27_000_000,
            system_ns: 878_000_000,
            context_switches: Figure::Is(449),
            major_faults: Figure::Is(0),
            minor_faults: Figure::Is(272),
        },
        depths: depths(100.0, 0.1),
        latency_shares: BucketShares {
            ns: [0.0, 0.0, 0.0, 0.0, 0.01, 0.04, 0.16, 0.34, 0.31, 0.07],
            us: [0.01, 0.01, 0.18, 0.23, 4.63, 77.45, 6.64, 0.91, 0.18, 0.15],
            ms: [0.35, 1.43, 1.99, 4.75, 0.11, 0.02, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        },
        latency_target: Some(LatencyTarget { depth: 8, target_ns: 0, window_us: 0, percentile: 100.0 }),
        ..JobReport::default()
    }
}

pub(super) fn report() -> Report {
    Report {
        idleness: None,
        version: "fio-3.42-135-gf5344".to_owned(),
        at: ReportTime::at_offset(1_795_200_383_000, 0),
        global_options: Vec::new(),
        jobs: vec![mixed_job(), readers()],
        disks: Some(vec![DiskReport {
            name: "vda".to_owned(),
            counters: DiskUse {
                ios: ReadWriteCounts { read: 75_542, write: 31_059 },
                sectors: ReadWriteCounts { read: 4_665_832, write: 1_043_664 },
                merges: Figure::Is(ReadWriteCounts { read: 6, write: 19_012 }),
                ticks_ms: Figure::Is(ReadWriteCounts { read: 14_256, write: 28_497 }),
                in_queue_ms: 43_051,
                util_percent: 75.32,
            },
            below: None,
        }]),
        compat: Compat::Strict,
    }
}

fn before() -> RunOpening {
    let job = |name: &str, group, rw: &str, block: u64, copies| JobLine {
        name: name.to_owned(),
        group,
        rw: rw.to_owned(),
        blocks: [BlockRange { min_bytes: block, max_bytes: block }; 3],
        engine: "io_uring".to_owned(),
        depth: 8,
        copies,
        ..JobLine::default()
    };
    let layout = |job: &str| MissingFiles { job: job.to_owned(), files: 1, bytes: 16 << 20 };
    RunOpening {
        version: "fio-3.42-135-gf5344".to_owned(),
        jobs: vec![job("a", 0, "randrw", 4096, 1), job("b", 1, "read", 65_536, 2)],
        threads: 0,
        processes: 3,
        layouts: vec![layout("a"), layout("b"), layout("b")],
        compat: Compat::Strict,
    }
}

#[test]
fn normal_of_fio_is_printed_again_to_the_byte() {
    let printed = opening(&before()) + &normal(&report());
    for (number, (ours, fios)) in printed.lines().zip(GOLDEN.lines()).enumerate() {
        assert_eq!(ours, fios, "line {}", number + 1);
    }
    assert_eq!(printed, GOLDEN);
}

#[test]
fn a_date_is_that_of_ctime() {
    let text = |unix_ms, offset| ReportTime::at_offset(unix_ms, offset).text;
    assert_eq!(text(0, 0), "Thu Jan  1 00:00:00 1970");
    assert_eq!(text(951_782_400_000, 0), "Tue Feb 29 00:00:00 2000");
    assert_eq!(text(1_795_200_387_998, 0), "Fri Nov 20 18:46:27 2026");
    assert_eq!(text(1_795_200_387_998, 7200), "Fri Nov 20 20:46:27 2026");
    assert_eq!(text(0, -3600), "Wed Dec 31 23:00:00 1969");
}
