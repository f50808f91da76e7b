//! Reads `json+` of fio 3.42 and prints it again.

use crate::fio::Compat;
use crate::fio::print::*;
use plumb_result::Histogram;
use serde_json::Value;

const GOLDEN: &str = include_str!("../../../../golden/fio/jsonplus.json");

/// Returns the members of the `nth` object of this key in the order of the text; the parsed document has lost it.
fn options_in(text: &str, key: &str, nth: usize) -> Vec<GivenOption> {
    let begin = format!("\"{key}\" : {{\n");
    let body = text.split(&begin).nth(nth + 1).unwrap().split('}').next().unwrap();
    let member = |line: &str| {
        let (name, value) = line.trim().trim_end_matches(',').split_once(" : ")?;
        Some(GivenOption { name: name.trim_matches('"').to_owned(), value: value.trim_matches('"').to_owned() })
    };
    body.lines().filter_map(member).collect()
}

fn latency(json: &Value) -> Figure<Latency> {
    let histogram = json.get("bins").map(|bins| {
        let mut histogram = Histogram::new();
        for (value, count) in bins.as_object().unwrap() {
            histogram.record_n(value.parse().unwrap(), count.as_u64().unwrap());
        }
        histogram
    });
    Figure::Is(Latency {
        count: json["N"].as_u64().unwrap(),
        min_ns: json["min"].as_u64().unwrap(),
        max_ns: json["max"].as_u64().unwrap(),
        mean_ns: json["mean"].as_f64().unwrap(),
        stddev_ns: json["stddev"].as_f64().unwrap(),
        histogram,
    })
}

fn direction(json: &Value) -> DirectionReport {
    let samples = |min: &str, max: &str, mean: &str, dev: &str, count: &str| {
        Figure::Is(Samples {
            count: json[count].as_u64().unwrap(),
            min: json[min].as_u64().unwrap(),
            max: json[max].as_u64().unwrap(),
            mean: json[mean].as_f64().unwrap(),
            stddev: json[dev].as_f64().unwrap(),
        })
    };
    DirectionReport {
        bytes: json["io_bytes"].as_u64().unwrap(),
        ios: json["total_ios"].as_u64().unwrap(),
        short: Figure::Is(json["short_ios"].as_u64().unwrap()),
        dropped: Figure::Is(json["drop_ios"].as_u64().unwrap()),
        runtime_ms: json["runtime"].as_u64().unwrap(),
        slat: latency(&json["slat_ns"]),
        clat: latency(&json["clat_ns"]),
        lat: latency(&json["lat_ns"]),
        priorities: Vec::new(),
        bandwidth: samples("bw_min", "bw_max", "bw_mean", "bw_dev", "bw_samples"),
        iops: samples("iops_min", "iops_max", "iops_mean", "iops_stddev", "iops_samples"),
    }
}

fn shares<const N: usize>(json: &Value, names: &[&str]) -> [f64; N] {
    std::array::from_fn(|place| json[names[place]].as_f64().unwrap())
}

fn job(json: &Value, number: usize) -> JobReport {
    let runtime_ms = json["job_runtime"].as_u64().unwrap();
    // fio counts CPU time in milliseconds. A share is that time over the run time.
    let cpu_ns = |key: &str| (json[key].as_f64().unwrap() * runtime_ms as f64 / 100.0).round() as u64 * 1_000_000;
    let count = |key: &str| Figure::Is(json[key].as_u64().unwrap());
    let batches = ["0", "4", "8", "16", "32", "64", ">=64"];
    let times = BucketShares::NAMES;
    JobReport {
        name: json["jobname"].as_str().unwrap().to_owned(),
        description: json.get("desc").map(|text| text.as_str().unwrap().to_owned()),
        group: json["groupid"].as_u64().unwrap() as u32,
        members: 1,
        does_no_io: false,
        pid: 0,
        times: JobTimes {
            started_unix_ms: json["job_start"].as_u64().unwrap(),
            eta_s: json["eta"].as_u64().unwrap(),
            elapsed_s: json["elapsed"].as_u64().unwrap(),
        },
        failures: JobFailures::default(),
        options: options_in(GOLDEN, "job options", number),
        display: Display::default(),
        io: Io::Separate(Split {
            read: direction(&json["read"]),
            write: direction(&json["write"]),
            trim: direction(&json["trim"]),
        }),
        sync: SyncReport {
            count: json["sync"]["total_ios"].as_u64().unwrap(),
            latency: latency(&json["sync"]["lat_ns"]),
        },
        runtime_ms,
        cpu: CpuReport {
            user_ns: cpu_ns("usr_cpu"),
            system_ns: cpu_ns("sys_cpu"),
            context_switches: count("ctx"),
            major_faults: count("majf"),
            minor_faults: count("minf"),
        },
        depths: Depths {
            level: Figure::Is(shares(&json["iodepth_level"], &["1", "2", "4", "8", "16", "32", ">=64"])),
            submit: Figure::Is(shares(&json["iodepth_submit"], &batches)),
            complete: Figure::Is(shares(&json["iodepth_complete"], &batches)),
        },
        latency_shares: BucketShares {
            ns: shares(&json["latency_ns"], &times),
            us: shares(&json["latency_us"], &times),
            ms: shares(&json["latency_ms"], &times),
        },
        latency_target: Some(LatencyTarget {
            depth: json["latency_depth"].as_u64().unwrap() as u32,
            target_ns: json["latency_target_ns"].as_u64().unwrap(),
            window_us: json["latency_window_us"].as_u64().unwrap(),
            percentile: json["latency_percentile"].as_f64().unwrap(),
        }),
        steady: None,
        zone_resets: None,
    }
}

fn disk(json: &Value) -> DiskReport {
    let pair = |what: &str| ReadWriteCounts {
        read: json[format!("read_{what}")].as_u64().unwrap(),
        write: json[format!("write_{what}")].as_u64().unwrap(),
    };
    let counters = DiskUse {
        ios: pair("ios"),
        sectors: pair("sectors"),
        merges: Figure::Is(pair("merges")),
        ticks_ms: Figure::Is(pair("ticks")),
        in_queue_ms: json["in_queue"].as_u64().unwrap(),
        util_percent: json["util"].as_f64().unwrap(),
    };
    DiskReport { name: json["name"].as_str().unwrap().to_owned(), counters, below: None }
}

pub(super) fn report() -> Report {
    let json: Value = serde_json::from_str(GOLDEN).unwrap();
    Report {
        idleness: None,
        version: json["fio version"].as_str().unwrap().to_owned(),
        at: ReportTime {
            unix_ms: json["timestamp_ms"].as_u64().unwrap(),
            text: json["time"].as_str().unwrap().to_owned(),
        },
        global_options: options_in(GOLDEN, "global options", 0),
        jobs: json["jobs"].as_array().unwrap().iter().enumerate().map(|(number, one)| job(one, number)).collect(),
        disks: Some(json["disk_util"].as_array().unwrap().iter().map(disk).collect()),
        compat: Compat::Strict,
    }
}

fn assert_same_lines(printed: &str, golden: &str) {
    for (number, (ours, fios)) in printed.lines().zip(golden.lines()).enumerate() {
        assert_eq!(ours, fios, "line {}", number + 1);
    }
    assert_eq!(printed, golden);
}

#[test]
fn json_plus_of_fio_is_printed_again_to_the_byte() {
    assert_same_lines(&json(&report(), JsonFormat::Bins), GOLDEN);
}

#[test]
fn json_is_json_plus_without_the_bins() {
    let mut plain: Value = serde_json::from_str(GOLDEN).unwrap();
    fn strip(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.remove("bins");
                members.values_mut().for_each(strip);
            }
            Value::Array(values) => values.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut plain);
    let ours: Value = serde_json::from_str(&json(&report(), JsonFormat::Plain)).unwrap();
    assert_eq!(ours, plain);
}

/// fio reports a 99.99th percentile of 41,680,896 ns although the slowest op took 41,511,175 ns.
#[test]
fn a_percentile_does_not_exceed_the_slowest_op() {
    let mended = Report { compat: Compat::Meant, ..report() };
    let json: Value = serde_json::from_str(&json(&mended, JsonFormat::Plain)).unwrap();
    let clat = &json["jobs"][0]["read"]["clat_ns"];
    assert_eq!(clat["percentile"]["99.990000"], clat["max"]);
    assert_eq!(clat["percentile"]["99.000000"], 2_277_376);
    assert!(json["jobs"][0].get("not_measured").is_none(), "everything is measured");
}
