//! Checks that programs and scripts for fio's output can parse Plumb's.

use super::{golden_json, golden_normal};
use crate::fio::Compat;
use crate::fio::print::*;
use regex::Regex;

/// The regular expressions of Phoronix' pts/fio 2.2.0, and of scripts that extract
/// the lines of `cpu`, depths and latencies.
#[test]
fn regular_expressions_in_use_match_normal() {
    for compat in [Compat::Strict, Compat::Meant] {
        let text = normal(&Report { compat, ..golden_normal::report() });
        for (expression, captured) in [
            (r"READ: bw=(\d+\.?\d*)(MiB/s|KiB/s)", "146"),
            (r"WRITE: bw=(\d+\.?\d*)(MiB/s|KiB/s)", "62.2"),
            (r"read: IOPS=(\d+\.?\d*)k?,", "37.3"),
            (r"write: IOPS=(\d+\.?\d*)k?,", "15.9"),
            (r"(?m)^ *cpu *: usr=([\d.]+)%, sys=[\d.]+%, ctx=\d+, majf=\d+, minf=\d+$", "3.50"),
            (r"lat \(usec\): min=\d+, max=\d+k?, avg=([\d.]+), stdev=[\d.]+", "79.06"),
            (r"99\.90th=\[ *(\d+)\]", "5407"),
            (r"err= *(\d+)", "0"),
            (r"util=([\d.]+)%", "75.32"),
        ] {
            let found = Regex::new(expression).unwrap().captures(&text).map(|found| found[1].to_owned());
            assert_eq!(found.as_deref().unwrap_or(""), captured, "{expression}");
        }
    }
}

/// Columns 7, 8, 48 and 49 of version 3, from 1: KiB/s and ops per second of reads and writes.
#[test]
fn terse_columns_used_by_scripts_keep_their_position() {
    let line = terse(&golden_json::report(), TerseVersion::V3);
    let fields: Vec<&str> = line.lines().next().unwrap().split(';').collect();
    assert_eq!((fields[6], fields[7]), ("111702", "27925"));
    assert_eq!(fields[48].parse::<u64>().unwrap(), 23_956 * 1000 / 2001, "ops a second of the writes");
    assert_eq!(fields[47].parse::<u64>().unwrap(), 23_956 * 4096 * 1000 / 2001 / 1024);
}

/// JSON members that fio-plot, cloud scripts and dashboards read.
#[test]
fn json_members_used_by_programs_are_numbers() {
    let text = json(&golden_json::report(), JsonFormat::Plain);
    let root: serde_json::Value = serde_json::from_str(&text).unwrap();
    for key in ["fio version", "global options", "jobs"] {
        assert!(root.get(key).is_some(), "{key}");
    }
    let job = &root["jobs"][0];
    for path in [
        "/read/bw",
        "/read/bw_bytes",
        "/read/iops",
        "/read/iops_stddev",
        "/read/runtime",
        "/read/lat_ns/mean",
        "/read/lat_ns/stddev",
        "/read/clat_ns/percentile/99.000000",
        "/write/bw",
        "/latency_us/250",
        "/latency_ms/>=2000",
        "/usr_cpu",
        "/sys_cpu",
        "/iodepth_level/8",
        "/sync/lat_ns/N",
    ] {
        assert!(job.pointer(path).is_some_and(serde_json::Value::is_number), "{path}");
    }
    assert!(job["job options"]["rw"].is_string());
}

/// With several formats in one file, scripts extract the JSON between the line `{` and the line `}`.
#[test]
fn several_formats_follow_fios_order() {
    let report = golden_json::report();
    let all = [Format::Normal, Format::Json(JsonFormat::Plain), Format::Terse(TerseVersion::V3)];
    let text = print(&report, &all);
    let (begin, end) = (text.find("\n{\n").unwrap() + 1, text.find("\n}\n").unwrap() + 3);
    assert_eq!(&text[..begin], terse(&report, TerseVersion::V3));
    assert_eq!(&text[begin..end], json(&report, JsonFormat::Plain));
    assert_eq!(&text[end..], normal(&report));
    let both = [Format::Json(JsonFormat::Plain), Format::Json(JsonFormat::Bins)];
    assert_eq!(print(&report, &both), json(&report, JsonFormat::Bins), "one document, not two");
}

/// Mistakes of fio that a script may depend on, and Plumb's output without them.
#[test]
fn strict_keeps_fios_mistakes() {
    let mut report = golden_normal::report();
    for job in &mut report.jobs {
        job.display.unit_base = UnitBase::Bits;
        job.name.push_str(";x");
    }
    assert!(normal(&report).contains("bw (  KiB/s): min=127436"), "fio forgets the bits on this line");
    assert_eq!(terse(&report, TerseVersion::V3).lines().next().unwrap().split(';').nth(3), Some("x"));
    report.compat = Compat::Meant;
    assert!(normal(&report).contains("bw (Mibit/s): min=  995"), "{}", normal(&report));
    assert_eq!(terse(&report, TerseVersion::V3).lines().next().unwrap().split(';').nth(2), Some("a,x"));
}
