//! Machine formats are valid for arbitrary data.

use crate::fio::Compat;
use crate::fio::print::*;
use plumb_result::Histogram;
use proptest::prelude::*;

/// Decimals that a careless sum or quotient could yield.
fn any_float() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.0..1e12f64,
        1 => prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(-0.0), Just(1e300)],
    ]
}

/// Text with all characters that could break a format.
fn any_words() -> impl Strategy<Value = String> + Clone {
    let special = prop::sample::select(vec!['"', '\\', ';', '\n', '\r', '\t', '\0', '\u{1b}', '\u{7f}', '\u{85}']);
    prop::collection::vec(prop_oneof![2 => any::<char>(), 1 => special], 0..12).prop_map(String::from_iter).boxed()
}

fn figure<T: Clone + std::fmt::Debug>(value: impl Strategy<Value = T> + Clone) -> impl Strategy<Value = Figure<T>> {
    prop_oneof![
        3 => value.prop_map(Figure::Is),
        1 => Just(Figure::Off),
        1 => Just(Figure::Unknown("not \"counted\"\n".to_owned())),
    ]
}

fn any_latency() -> impl Strategy<Value = Latency> + Clone {
    let exact = prop::collection::vec((any::<u64>(), 1..1000u64), 0..6).prop_map(|values| {
        let mut histogram = Histogram::new();
        for (value, count) in values {
            histogram.record_n(value, count);
        }
        Latency::from_histogram(&histogram)
    });
    let odd = (any::<u64>(), any::<u64>(), any_floats()).prop_map(|(min_ns, max_ns, [mean_ns, stddev_ns])| Latency {
        count: 3,
        min_ns,
        max_ns,
        mean_ns,
        stddev_ns,
        histogram: None,
    });
    prop_oneof![2 => exact, 1 => odd].boxed()
}

fn any_floats() -> impl Strategy<Value = [f64; 2]> {
    [any_float(), any_float()]
}

fn any_samples() -> impl Strategy<Value = Samples> + Clone {
    (any::<u64>(), any::<u64>(), any::<u64>(), any_floats())
        .prop_map(|(count, min, max, [mean, stddev])| Samples { count, min, max, mean, stddev })
        .boxed()
}

fn any_direction() -> impl Strategy<Value = DirectionReport> + Clone {
    let counts = (any::<u64>(), any::<u64>(), 0..u64::MAX, figure(any::<u64>()));
    let times = (figure(any_latency()), figure(any_latency()), figure(any_latency()));
    let samples = (figure(any_samples()), figure(any_samples()));
    let used = (counts, times, samples).prop_map(|(counts, times, samples)| DirectionReport {
        bytes: counts.0,
        ios: counts.1,
        runtime_ms: counts.2,
        short: counts.3.clone(),
        dropped: counts.3,
        slat: times.0,
        clat: times.1,
        lat: times.2,
        priorities: Vec::new(),
        bandwidth: samples.0,
        iops: samples.1,
    });
    prop_oneof![3 => used, 1 => Just(DirectionReport::default())].boxed()
}

fn any_io() -> impl Strategy<Value = Io> {
    let split = (any_direction(), any_direction(), any_direction())
        .prop_map(|(read, write, trim)| Split { read, write, trim })
        .boxed();
    prop_oneof![
        3 => split.clone().prop_map(Io::Separate),
        1 => any_direction().prop_map(|mixed| Io::Mixed(Box::new(mixed))),
        1 => (split, any_direction()).prop_map(|(split, mixed)| Io::Both(split, Box::new(mixed))),
    ]
}

fn any_display() -> impl Strategy<Value = Display> {
    let list = prop::collection::vec(prop_oneof![0.0..=100.0f64, any_float()], 0..25);
    (0..=20u8, list, 0..=10u8, any::<[bool; 5]>()).prop_map(|(figures, percentiles, precision, flags)| Display {
        significant_figures: figures,
        kb_base: if flags[0] { KbBase::Binary } else { KbBase::Decimal },
        unit_base: if flags[1] { UnitBase::Bytes } else { UnitBase::Bits },
        percentiles,
        percentile_precision: precision,
        percentiles_of: PercentilesOf { slat: flags[2], clat: flags[3], lat: flags[4] },
    })
}

fn any_job() -> impl Strategy<Value = JobReport> {
    let words = (any_words(), prop::option::of(any_words()), (any_words(), any_words()));
    let failed = prop::option::of((any::<i32>(), any_words()));
    (words, failed, any_io(), any_display(), figure(any_latency()), any::<(u64, u64, u64)>(), 0..3u32, any::<bool>())
        .prop_map(|((name, description, option), failed, io, display, sync, numbers, group, steady)| JobReport {
            name,
            description,
            group,
            failures: JobFailures {
                error: failed.clone().map(|(code, text)| JobError { code, text }),
                continued: failed.map(|(code, text)| ContinuedErrors { total: 1, first_code: code, first_text: text }),
            },
            options: vec![GivenOption { name: option.0.clone(), value: option.1 }; 2],
            io,
            display,
            sync: SyncReport { count: numbers.0, latency: sync },
            runtime_ms: numbers.1,
            cpu: CpuReport { user_ns: numbers.2, ..CpuReport::default() },
            latency_target: Some(LatencyTarget { depth: 1, target_ns: 0, window_us: numbers.0, percentile: f64::NAN }),
            steady: steady.then(|| SteadyReport {
                of: SteadyOf::Latency,
                by: SteadyBy::Slope,
                limit: f64::NAN,
                scale: SteadyScale::Percent,
                duration_s: numbers.0,
                intervals: 0,
                attained: false,
                criterion: f64::INFINITY,
                max_deviation: 0.0,
                slope: 0.0,
                bytes_per_second: vec![numbers.0, numbers.1],
                iops: Vec::new(),
                latency_ns: vec![u64::MAX; 2],
            }),
            ..JobReport::default()
        })
}

fn any_report() -> impl Strategy<Value = Report> {
    let disk = (any_words(), any::<u64>(), any::<u64>(), any::<bool>()).prop_map(|(name, reads, writes, below)| {
        let counters = DiskUse {
            ios: ReadWriteCounts { read: reads, write: writes },
            util_percent: f64::NAN,
            ticks_ms: Figure::Unknown("no".to_owned()),
            ..DiskUse::default()
        };
        DiskReport { name, below: below.then(|| counters.clone()), counters }
    });
    let disks = prop::option::of(prop::collection::vec(disk, 0..3));
    (prop::collection::vec(any_job(), 0..4), disks, (any::<u64>(), any::<i32>(), any_words())).prop_map(
        |(jobs, disks, (unix_ms, offset, version))| Report {
            idleness: None,
            version,
            at: ReportTime::at_offset(unix_ms, offset),
            global_options: Vec::new(),
            jobs,
            disks,
            compat: Compat::Meant,
        },
    )
}

/// Whether the report's own texts contain this text.
fn contains_text(report: &Report, text: &str) -> bool {
    let of_job = |job: &JobReport| {
        [Some(job.name.clone()), job.description.clone(), job.failures.error.clone().map(|one| one.text)]
    };
    report.version.contains(text) || report.jobs.iter().flat_map(of_job).flatten().any(|word| word.contains(text))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn json_is_json_and_numbers_are_numbers(report in any_report()) {
        for format in [JsonFormat::Plain, JsonFormat::Bins] {
            let text = json(&report, format);
            let root: serde_json::Value = serde_json::from_str(&text).expect("valid JSON");
            let jobs = root["jobs"].as_array().unwrap();
            prop_assert_eq!(jobs.len(), report.jobs.len());
            for (ours, job) in jobs.iter().zip(&report.jobs) {
                prop_assert_eq!(ours["jobname"].as_str(), Some(job.name.as_str()));
                prop_assert!(ours["usr_cpu"].is_number() && ours["ctx"].is_number());
                for (name, _) in job.io.named() {
                    prop_assert!(ours[name]["iops"].is_number() && ours[name]["bw_agg"].is_number());
                }
            }
        }
    }

    #[test]
    fn a_terse_line_has_its_fields_whatever_is_in_them(report in any_report()) {
        for (version, head, block, blocks) in [
            (TerseVersion::V2, 4, 41, 3), (TerseVersion::V3, 5, 41, 2), (TerseVersion::V4, 5, 41, 3), (TerseVersion::V5, 5, 47, 3),
        ] {
            let text = terse(&report, version);
            // A name may contain the word; a number may not.
            for field in text.split([';', '\n']) {
                prop_assert!(!["nan", "-nan", "inf", "-inf", "nan%", "inf%"].contains(&field) || contains_text(&report, field));
            }
            let mut lines = text.lines();
            for job in &report.jobs {
                let blocks = match job.io {
                    Io::Separate(_) => blocks,
                    Io::Mixed(_) => 1,
                    Io::Both(..) => blocks + 1,
                };
                let disks: usize = report.disks.iter().flatten()
                    .map(|disk| if disk.below.is_some() { 18 } else { 9 })
                    .sum();
                let described = job.description.as_ref().is_some_and(|text| !text.is_empty());
                let fields = head + block * blocks + 5 + 7 + 10 + 12
                    + if version == TerseVersion::V2 { 0 } else { disks }
                    + if job.failures.continued.is_some() { 2 } else { 0 }
                    + usize::from(described && version != TerseVersion::V2);
                prop_assert_eq!(lines.next().unwrap().split(';').count(), fields);
                if described && version == TerseVersion::V2 {
                    prop_assert!(lines.next().unwrap().starts_with(';'));
                }
            }
            prop_assert!(lines.next().is_none());
        }
    }

    #[test]
    fn normal_prints_whatever_the_data(report in any_report()) {
        let text = normal(&report);
        for number in ["=nan", "=inf", "=-inf", "=NaN"] {
            prop_assert!(contains_text(&report, number) || !text.contains(number));
        }
    }
}
