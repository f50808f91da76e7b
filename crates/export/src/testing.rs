//! Results for tests of all formats.

use crate::flat::{FlatNumber, FlatResult, FlatRun, FlatSite, FlatStudy};
use plumb_result::RunVerdict;
use plumb_result::run::TierName;

pub(crate) fn number(phase: &str, metric: &str, value: f64) -> FlatNumber {
    FlatNumber {
        phase: phase.to_owned(),
        phase_seq: 1,
        metric: metric.parse().unwrap(),
        value,
        interval: None,
        n: Some(1_120_005),
        tier: Some(TierName::Device),
        device_share: Some(0.998),
    }
}

/// Returns a run of a study with all facts known, and two numbers.
pub(crate) fn nightly() -> FlatResult {
    let text = |text: &str| Some(text.to_owned());
    FlatResult {
        run: FlatRun {
            id: "019abf2e-7c00-7000-8000-000000000001".to_owned(),
            started_at: "2026-11-30T09:00:00.25Z".to_owned(),
            wall_ns: 10_000_000_000,
            tool: "plumb".to_owned(),
            workload: "random-read".to_owned(),
            verdict: RunVerdict::Pass,
            partial: false,
            site: FlatSite {
                host: text("db-1"),
                kernel: text("6.12.43+deb13-amd64"),
                place: text("/mnt/data"),
                filesystem: text("ext4"),
                device: text("ACME NVMe 960"),
            },
            tags: vec!["after upgrade".to_owned(), "nightly".to_owned()],
            study: Some(FlatStudy {
                name: "depths".to_owned(),
                plot: 2,
                repeat: 3,
                factors: [("depth".to_owned(), "32".to_owned())].into(),
            }),
        },
        numbers: vec![number("random-read", "read.iops", 112_000.5), number("random-read", "read.lat.p99", 412_000.0)],
    }
}

/// Returns a run whose every name is hostile, and whose facts are mostly unknown.
pub(crate) fn hostile() -> FlatResult {
    let names = [
        "say \"x\"\\".to_owned(),
        "two\nlines\r\n\u{2028}\0".to_owned(),
        "$'/mnt/d\\xff'".to_owned(),
        "é🦀".repeat(2000),
        "é🦀".repeat(2000) + "!",
        "{\"index\":{}}".to_owned(),
        "../../etc=%2F".to_owned(),
    ];
    let mut result = nightly();
    result.run.site = FlatSite { host: Some(names.concat()), ..FlatSite::default() };
    result.run.workload = String::new();
    result.run.tags = names.to_vec();
    result.run.study = None;
    result.numbers = (1..)
        .zip(&names)
        .map(|(seq, name)| FlatNumber {
            phase_seq: seq,
            n: None,
            tier: None,
            device_share: None,
            ..number(name, "fsync.lat.p99", f64::MAX)
        })
        .collect();
    result
}
