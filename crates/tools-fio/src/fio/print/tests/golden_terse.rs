//! Reads `terse` of fio 3.42 and prints it again. A line contains whole microseconds, so parsing it cannot yield more.

use super::scene::{Step, shaped};
use crate::fio::Compat;
use crate::fio::print::*;

const VERSIONS: [(TerseVersion, &str); 4] = [
    (TerseVersion::V2, include_str!("../../../../golden/fio/terse_v2.txt")),
    (TerseVersion::V3, include_str!("../../../../golden/fio/terse_v3.txt")),
    (TerseVersion::V4, include_str!("../../../../golden/fio/terse_v4.txt")),
    (TerseVersion::V5, include_str!("../../../../golden/fio/terse_v5.txt")),
];

struct Fields<'a>(std::vec::IntoIter<&'a str>);

impl<'a> Fields<'a> {
    fn text(&mut self) -> &'a str {
        self.0.next().expect("a field is missing")
    }

    fn whole(&mut self) -> u64 {
        self.text().parse().unwrap()
    }

    fn float(&mut self) -> f64 {
        self.text().trim_end_matches('%').parse().unwrap()
    }

    fn latency(&mut self) -> Latency {
        Latency {
            count: 0,
            min_ns: self.whole() * 1000,
            max_ns: self.whole() * 1000,
            mean_ns: self.float() * 1000.0,
            stddev_ns: self.float() * 1000.0,
            histogram: None,
        }
    }
}

fn direction(fields: &mut Fields, version: TerseVersion) -> DirectionReport {
    let (kib, _rate, _iops, runtime_ms) = (fields.whole(), fields.whole(), fields.whole(), fields.whole());
    let slat = fields.latency();
    let mut clat = fields.latency();
    let mut steps = Vec::new();
    for place in 0..20 {
        let (percent, value_us) = fields.text().split_once("%=").unwrap();
        let value_us: u64 = value_us.parse().unwrap();
        if place < 17 {
            let percent: f64 = percent.parse().unwrap();
            steps.push(Step { percent, from_ns: value_us * 1000, to_ns: value_us * 1000 + 999 });
        } else {
            assert_eq!((percent, value_us), ("0", 0));
        }
    }
    // Both golden jobs use a single block size, which gives the number of ops.
    let ios = kib * 1024 / if kib > 1_000_000 { 65_536 } else { 4096 };
    if ios > 0 {
        clat.count = ios;
        clat.histogram = Some(shaped(ios, &steps));
    }
    let lat = fields.latency();
    let (min, max, _share, mean, stddev) =
        (fields.whole(), fields.whole(), fields.float(), fields.float(), fields.float());
    let mut bandwidth = Samples { count: u64::from(max > 0), min, max, mean, stddev };
    let mut iops = Samples::default();
    if version == TerseVersion::V5 {
        bandwidth.count = fields.whole();
        iops.min = fields.whole();
        iops.max = fields.whole();
        iops.mean = fields.float();
        iops.stddev = fields.float();
        iops.count = fields.whole();
    }
    DirectionReport {
        bytes: kib * 1024,
        ios,
        runtime_ms,
        slat: Figure::Is(slat),
        clat: Figure::Is(clat),
        lat: Figure::Is(lat),
        bandwidth: Figure::Is(bandwidth),
        iops: Figure::Is(iops),
        ..DirectionReport::default()
    }
}

struct Line {
    job: JobReport,
    version: String,
    disk: Option<DiskReport>,
}

fn line(text: &str, version: TerseVersion) -> Line {
    let fields: Vec<&str> = text.split(';').collect();
    let mut fields = Fields(fields.into_iter());
    fields.text();
    let fio = if version == TerseVersion::V2 { String::new() } else { fields.text().to_owned() };
    let name = fields.text().to_owned();
    let group = fields.whole() as u32;
    assert_eq!(fields.whole(), 0, "no error");
    let (read, write) = (direction(&mut fields, version), direction(&mut fields, version));
    let trim = if version == TerseVersion::V3 { DirectionReport::default() } else { direction(&mut fields, version) };
    // The line lacks the sum of the members' run times. Any value that reproduces the shares will do.
    let runtime_ms = 1_000_000;
    let mut cpu_ns = || (fields.float() * 1e6 / 100.0 * 1e6).round() as u64;
    let (user_ns, system_ns) = (cpu_ns(), cpu_ns());
    let mut count = || Figure::Is(fields.whole());
    let (context_switches, major_faults, minor_faults) = (count(), count(), count());
    let level = std::array::from_fn(|_| fields.float());
    let us = std::array::from_fn(|_| fields.float());
    let ms = std::array::from_fn(|_| fields.float());
    let mut disk = None;
    if version != TerseVersion::V2 {
        let name = fields.text().to_owned();
        let mut pair = || ReadWriteCounts { read: fields.whole(), write: fields.whole() };
        let (ios, merges, ticks) = (pair(), pair(), pair());
        let counters = DiskUse {
            ios,
            merges: Figure::Is(merges),
            ticks_ms: Figure::Is(ticks),
            in_queue_ms: fields.whole(),
            util_percent: fields.float(),
            ..DiskUse::default()
        };
        disk = Some(DiskReport { name, counters, below: None });
    }
    let job = JobReport {
        name,
        group,
        description: fields.0.next().map(str::to_owned),
        io: Io::Separate(Split { read, write, trim }),
        runtime_ms,
        cpu: CpuReport { user_ns, system_ns, context_switches, major_faults, minor_faults },
        depths: Depths { level: Figure::Is(level), ..Depths::default() },
        latency_shares: BucketShares { us, ms, ..BucketShares::default() },
        ..JobReport::default()
    };
    assert!(fields.0.next().is_none(), "fields are left over");
    Line { job, version: fio, disk }
}

#[test]
fn terse_of_fio_is_printed_again_to_the_byte() {
    for (version, golden) in VERSIONS {
        // In version 2 a description is on a line of its own, which begins with a separator.
        let joined = golden.replace("\n;", ";");
        let lines: Vec<Line> = joined.lines().map(|text| line(text, version)).collect();
        let report = Report {
            idleness: None,
            version: lines[0].version.clone(),
            at: ReportTime::default(),
            global_options: Vec::new(),
            disks: Some(lines.iter().filter_map(|line| line.disk.clone()).take(1).collect()),
            jobs: lines.into_iter().map(|line| line.job).collect(),
            compat: Compat::Strict,
        };
        let printed = terse(&report, version);
        for (ours, fios) in printed.split([';', '\n']).zip(golden.split([';', '\n'])) {
            assert_eq!(ours, fios, "{version:?}");
        }
        assert_eq!(printed, golden, "{version:?}");
    }
}

/// Field counts that fio documents: 131 fields in version 3 with one disk and a description, and so on.
#[test]
fn a_line_has_the_fields_of_its_version() {
    for ((version, golden), fields) in VERSIONS.into_iter().zip([161, 131, 172, 190]) {
        let first = golden.replace("\n;", ";").lines().next().unwrap().split(';').count();
        assert_eq!(first, if version == TerseVersion::V2 { fields + 1 } else { fields }, "{version:?}");
    }
}
