//! Healthy devices perform like the real devices that they model.

use super::*;

/// Returns a device of nominal speed.
fn nominal(model: &str) -> String {
    format!("sim:{model}?cv=0")
}

fn assert_within(value: f64, range: std::ops::Range<f64>, what: &str) {
    assert!(range.contains(&value), "{what}: {value:.0}, expected {range:?}");
}

#[test]
fn a_disk_seeks_a_hundred_times_a_second_and_streams_200_megabytes() {
    let hdd = nominal("hdd");
    let random = rate(&measure(&hdd, 60, TestSource::random(4096), 1));
    assert_within(random, 70.0..120.0, "random 4 KiB reads");
    let queued = rate(&measure(&hdd, 60, TestSource::random(4096), 32));
    assert_within(queued / random, 2.0..3.5, "gain of depth 32 by reordering");
    assert_within(bandwidth(&measure(&hdd, 10, TestSource::sequential(1 << 17), 1)), 190e6..215e6, "stream read");
    assert_within(bandwidth(&measure(&hdd, 60, TestSource::sequential(1 << 20).writing(), 1)), 190e6..215e6, "write");
}

#[test]
fn a_disk_with_a_smaller_file_seeks_within_the_file_only() {
    let near = TestSource { size: GIB / 4, ..TestSource::random(4096) };
    let near = rate(&measure(&nominal("hdd"), 60, near, 1));
    assert_within(near, 140.0..220.0, "random reads within 1/256 of the disk");
}

#[test]
fn writes_to_a_disk_are_fast_until_its_cache_is_full_and_a_flush_pays_for_them() {
    let hdd = nominal("hdd");
    let burst = Limit { ops: Some(40), ..Limit::default() };
    let few = SimWorker { limit: burst, ..worker(TestSource::random(4096).writing(), 1) };
    let few = simulate(&hdd, 0, &phase(60), vec![few]).measurement;
    assert!(service(&few, OpKind::Write).max() < Some(1_000_000), "40 writes fit into the cache");
    assert!(few.end.flush_ns > Some(100_000_000), "40 writes need 40 seeks: {:?}", few.end.flush_ns);
    assert_eq!(few.wall_ns, few.workers[0].wall_ns + few.end.flush_ns.unwrap());
    let many = rate(&measure(&hdd, 60, TestSource::random(4096).writing(), 1));
    assert_within(many, 150.0..300.0, "random writes, sustained");
}

#[test]
fn a_flush_of_a_disk_costs_a_rotation() {
    let source = TestSource { fsync_every: 1, ..TestSource::sequential(4096).writing() };
    let log = measure(&nominal("hdd"), 10, source, 1);
    let flush_ms = service(&log, OpKind::Fsync).mean().unwrap() / 1e6;
    assert_within(flush_ms * 1000.0, 8_000.0..9_500.0, "fsync, µs");
}

#[test]
fn an_ssd_scales_with_depth_up_to_its_link() {
    let ssd = nominal("ssd");
    assert_within(rate(&measure(&ssd, 5, TestSource::random(4096), 1)), 11_500.0..13_000.0, "depth 1");
    assert_within(rate(&measure(&ssd, 5, TestSource::random(4096), 4)), 45_000.0..52_000.0, "depth 4");
    assert_within(rate(&measure(&ssd, 5, TestSource::random(4096), 32)), 90_000.0..100_000.0, "depth 32");
    assert_within(rate(&measure(&ssd, 5, TestSource::random(4096).writing(), 1)), 30_000.0..36_000.0, "writes");
    assert_within(bandwidth(&measure(&ssd, 5, TestSource::sequential(1 << 20), 8)), 530e6..551e6, "stream read");
}

#[test]
fn an_nvme_drive_has_64_channels_and_3500_megabytes() {
    let nvme = nominal("nvme");
    assert_within(rate(&measure(&nvme, 2, TestSource::random(4096), 1)), 13_500.0..15_000.0, "depth 1");
    let deep = rate(&measure(&nvme, 1, TestSource::random(4096), 64));
    assert_within(deep, 420_000.0..480_000.0, "depth 64");
    assert_within(bandwidth(&measure(&nvme, 2, TestSource::sequential(1 << 20), 16)), 3.3e9..3.51e9, "stream read");
}

#[test]
fn channels_limit_what_the_link_would_allow() {
    // 256 readers of 512 bytes: the link would carry 860,000 a second, and 64 channels of 68 µs would do 940,000.
    let nvme = rate(&measure(&nominal("nvme"), 1, TestSource::random(512), 256));
    assert_within(nvme, 800_000.0..945_000.0, "512-byte reads");
    // 16 channels of 790 ns.
    let ram = rate(&measure(&nominal("ram"), 1, TestSource::random(512), 64));
    assert!(ram < 16.0 * 1e9 / 790.0 * 1.01, "{ram}");
}

#[test]
fn memory_completes_in_a_microsecond() {
    let ram = measure(&nominal("ram"), 1, TestSource::random(4096), 1);
    assert_within(service(&ram, OpKind::Read).mean().unwrap(), 950.0..1_050.0, "read, ns");
}

#[test]
fn metadata_has_service_times_and_writes_a_journal() {
    let source = Steps::from_kinds(&[OpKind::Create, OpKind::Stat, OpKind::Unlink]);
    let outcome = simulate(&nominal("ssd"), 0, &phase(1), vec![worker(source, 1)]);
    let create = service(&outcome.measurement, OpKind::Create).mean().unwrap();
    let stat = service(&outcome.measurement, OpKind::Stat).mean().unwrap();
    assert!(create > 3.0 * stat, "{create} {stat}");
    let device = outcome.observations.after.devices["sim0"].value().unwrap();
    assert!(device.writes > 0 && device.reads == 0, "the journal was written: {device:?}");
    assert_eq!(outcome.measurement.transactions, Some(outcome.measurement.count().div_euclid(3)));
    let own = outcome.observations.after.own.value().unwrap();
    assert_eq!(own.write_bytes, device.write_bytes, "nothing else wrote");
}

#[test]
fn an_fsync_after_creates_commits_the_journal() {
    let bare = simulate(&nominal("ssd"), 0, &phase(1), vec![worker(Steps::from_kinds(&[OpKind::Fsync]), 1)]);
    let creating =
        simulate(&nominal("ssd"), 0, &phase(1), vec![worker(Steps::from_kinds(&[OpKind::Create, OpKind::Fsync]), 1)]);
    let mean = |outcome: &SimPhaseOutcome| service(&outcome.measurement, OpKind::Fsync).mean().unwrap();
    assert!(mean(&creating) > 1.8 * mean(&bare), "{} {}", mean(&creating), mean(&bare));
}
