//! One scene for each limiter, and the closest scene that must not be attributed to it.

use crate::fixture::{MIB, Scene};
use plumb_result::observe::LayerKind;
use plumb_result::{Bound, Limiter};
use plumb_workload::{Arrival, CachePolicy, Nanos, NullTarget, OpKind, Pace, PerSecond, Target};

fn limiter(scene: &Scene) -> Limiter {
    let judged = scene.judge();
    judged.limiters.last().expect("a scene has a phase").clone()
}

fn find_bound(scene: &Scene) -> Bound {
    let limiter = limiter(scene);
    assert!(!limiter.text.is_empty() && !limiter.text.ends_with('.'), "{}", limiter.text);
    assert!(limiter.utilisation.is_none_or(|share| (0.0..=1.0).contains(&share)), "{limiter:?}");
    limiter.what
}

/// 1000 MiB from the disk in 10 s, on two processors that are half idle.
fn reading() -> Scene {
    Scene::reading(1000 * MIB).machine(2, 0.2)
}

fn cached() -> Scene {
    reading().cache(CachePolicy::Warm).device_read(0).own_read(0)
}

#[test]
fn a_spinning_disk_is_full_when_it_is_busy() {
    let scene = reading().disk_kind(LayerKind::Disk, true).device_used(0.97, 1.0, 4096);
    assert_eq!(find_bound(&scene), Bound::Device);
    assert!(limiter(&scene).text.contains("busy 97 % of the time"));
    assert_eq!(limiter(&scene).utilisation, Some(0.97));
    let near = reading().disk_kind(LayerKind::Disk, true).device_used(0.89, 1.0, 4096);
    assert_eq!(find_bound(&near), Bound::Depth);
}

/// Busy means "at least one request"; flash that is busy with a single one has most of its channels idle.
#[test]
fn a_parallel_device_is_full_only_with_a_lot_in_flight() {
    let flash = || reading().disk_kind(LayerKind::Disk, false).depth(32, 31.0);
    let deep = flash().device_used(1.0, 30.8, 4096);
    assert_eq!(find_bound(&deep), Bound::Device);
    assert!(limiter(&deep).text.contains("vda busy 100 %, 30.8 in flight (123 KiB)"), "{}", limiter(&deep).text);
    assert_eq!(find_bound(&flash().device_used(1.0, 7.9, 4096)), Bound::Depth);
    // A few large requests stripe over all channels.
    assert_eq!(find_bound(&flash().device_used(1.0, 4.0, MIB)), Bound::Device);
}

/// A virtio disk reports `rotational 1` on any storage.
#[test]
fn the_reported_rotation_of_a_virtual_disk_does_not_count() {
    let scene = reading().disk_kind(LayerKind::Disk, true).device_used(1.0, 1.0, 4096).virtualisation("kvm");
    assert_eq!(find_bound(&scene), Bound::Depth);
}

#[test]
fn a_link_that_is_full() {
    let scene = |link: u64| reading().link(link);
    assert_eq!(find_bound(&scene(105 * MIB)), Bound::Link);
    assert_ne!(find_bound(&scene(106 * MIB)), Bound::Link);
}

#[test]
fn copying_in_the_kernel_is_memory() {
    let scene = cached().cpu(0.1, 0.88);
    assert_eq!(find_bound(&scene), Bound::Cache);
    assert_eq!(limiter(&scene).utilisation, Some(0.98));
    assert_eq!(find_bound(&reading().in_memory().cpu(0.1, 0.88)), Bound::Cache);
    // Plumb's own computing is not memory, nor is a device with requests.
    assert_eq!(find_bound(&cached().cpu(0.6, 0.38)), Bound::WorkerCpu);
    assert_eq!(find_bound(&reading().cpu(0.1, 0.88)), Bound::WorkerCpu);
}

#[test]
fn one_workers_processor() {
    let scene = reading().cpu(0.3, 0.69);
    assert_eq!(find_bound(&scene), Bound::WorkerCpu);
    assert!(limiter(&scene).text.contains("workers.0/0 used 99 %"), "{}", limiter(&scene).text);
    assert_ne!(find_bound(&reading().cpu(0.3, 0.59)), Bound::WorkerCpu);
    // Simulated time does not show processors, and an open load waits by spinning.
    assert_ne!(find_bound(&reading().cpu(0.3, 0.69).virtual_time()), Bound::WorkerCpu);
    let open = Pace::open(PerSecond(1e9), Arrival::Fixed, false);
    assert_ne!(find_bound(&reading().cpu(0.3, 0.69).pace(open)), Bound::WorkerCpu);
}

#[test]
fn all_processors() {
    let scene = || reading().busy_workers(4, 0.2, 0.25);
    assert_eq!(find_bound(&scene().machine(2, 0.97)), Bound::AllCpus);
    assert_ne!(find_bound(&scene().machine(2, 0.90)), Bound::AllCpus);
    // A worker that never slept lacked a processor, whichever program had it.
    let crowded = || cached().cpu(0.2, 0.3).machine(2, 0.99);
    assert_eq!(find_bound(&crowded().sleeps(100)), Bound::AllCpus);
    assert_ne!(find_bound(&crowded().sleeps(25_600 * 10)), Bound::AllCpus);
    assert_ne!(find_bound(&crowded().sleeps(100).depth(32, 31.0)), Bound::AllCpus);
    assert_ne!(find_bound(&crowded().sleeps(100).machine(2, 0.5)), Bound::AllCpus);
    // Another program's load on all processors need not limit this load.
    assert_ne!(find_bound(&reading().cpu(0.1, 0.1).machine(2, 0.99)), Bound::AllCpus);
}

#[test]
fn workers_that_wait_for_each_other() {
    let scene = || Scene::stats(100_000).in_memory().machine(4, 0.4).busy_workers(4, 0.05, 0.25).sleeps(40_000);
    assert_eq!(find_bound(&scene()), Bound::Lock);
    assert!(limiter(&scene()).text.contains("4 workers waited 70 % of their time"), "{}", limiter(&scene()).text);
    // Without sleeps there is no sign of it, and on a full machine they waited for a processor.
    assert_ne!(find_bound(&scene().sleeps(100)), Bound::Lock);
    assert_ne!(find_bound(&scene().machine(4, 0.93)), Bound::Lock);
    // A device that held their ops, or a flush, explains the wait.
    let on_disk = || Scene::stats(100_000).machine(4, 0.4).busy_workers(4, 0.05, 0.25).sleeps(40_000);
    assert_eq!(find_bound(&on_disk().device_used(0.2, 0.2, 4096)), Bound::Lock);
    assert_ne!(find_bound(&on_disk().device_used(0.8, 2.5, 4096)), Bound::Lock);
    assert_ne!(find_bound(&on_disk().fsyncs(10_000, 2_800_000)), Bound::Lock);
}

#[test]
fn against_the_null_target_only_the_generator_limits() {
    let mut scene = reading().cpu(0.9, 0.05);
    scene.workload.target.insert("data".to_owned(), Target::Null(NullTarget::with_size(plumb_workload::Bytes(MIB))));
    assert_eq!(find_bound(&scene), Bound::Generator);
    // 25 600 ops/s.
    assert_eq!(find_bound(&reading().null_ceiling(32_000.0)), Bound::Generator);
    assert_ne!(find_bound(&reading().null_ceiling(32_100.0)), Bound::Generator);
    assert_ne!(find_bound(&reading().null_ceiling(1.0)), Bound::Generator, "measured on a disturbed machine");
}

#[test]
fn a_cpu_quota_that_held_back() {
    let scene = reading().cpu(0.1, 0.39).quota(0.5, 0.96);
    assert_eq!(find_bound(&scene), Bound::CpuLimit);
    assert!(limiter(&scene).text.starts_with("Plumb used 0.49 of 0.5 allowed processors"), "{}", limiter(&scene).text);
    assert_ne!(find_bound(&reading().cpu(0.1, 0.39).quota(0.5, 0.49)), Bound::CpuLimit);
}

#[test]
fn an_io_limit_that_was_reached() {
    for line in
        ["io.max 8:0 rbps=106000000 wbps=max riops=max wiops=max", "blkio.throttle.read_bps_device 8:0 106000000"]
    {
        let scene = reading().io_limit(line);
        assert_eq!(find_bound(&scene), Bound::IoLimit, "{line}");
        assert!(limiter(&scene).text.contains("of the 106 MB/s that "), "{}", limiter(&scene).text);
    }
    assert_eq!(find_bound(&reading().device_used(0.1, 0.1, MIB).io_limit("io.max 8:0 riops=100")), Bound::IoLimit);
    for line in [
        "io.max 8:0 rbps=120000000 wbps=max",
        "io.max 8:16 rbps=106000000 wbps=max",
        "io.max 8:0 wbps=106000000",
        "io.max 8:0 rbps=50000000",
        "io.max 8:0 rbps=max",
        "io.max",
    ] {
        assert_ne!(find_bound(&reading().io_limit(line)), Bound::IoLimit, "{line}");
    }
}

#[test]
fn a_network_link_that_is_full() {
    let remote = |received| Scene::reading(1000 * MIB).remote().received(received, Some(125e6));
    assert_eq!(find_bound(&remote(1_180_000_000)), Bound::Network);
    assert_ne!(find_bound(&remote(1_100_000_000)), Bound::Network);
    let unknown_speed = Scene::reading(1000 * MIB).remote().received(1_180_000_000, None);
    assert_ne!(find_bound(&unknown_speed), Bound::Network);
    // A full network link does not affect a local disk.
    assert_ne!(find_bound(&reading().received(1_180_000_000, Some(125e6))), Bound::Network);
}

#[test]
fn the_asked_pace() {
    let open = |rate| Pace::open(PerSecond(rate), Arrival::Poisson, false);
    // 25 600 ops/s were completed.
    assert_eq!(find_bound(&reading().pace(open(25_700.0))), Bound::Pace);
    assert_ne!(find_bound(&reading().pace(open(27_000.0))), Bound::Pace);
    let think = |ns| Pace::think(1, Nanos(ns));
    // 25 600 pauses of 30 µs per second are 77 % of it.
    assert_eq!(find_bound(&reading().pace(think(30_000))), Bound::Pace);
    assert_ne!(find_bound(&reading().pace(think(15_000))), Bound::Pace);
}

#[test]
fn one_op_at_a_time() {
    let scene = reading().disk_kind(LayerKind::Disk, false).device_used(0.85, 0.85, 4096);
    assert_eq!(find_bound(&scene), Bound::Depth);
    assert!(limiter(&scene).text.starts_with("one op at a time, 39.1 µs each"), "{}", limiter(&scene).text);
    assert_eq!(find_bound(&reading().depth(32, 10.0)), Bound::Unknown);
    // A worker that hardly sleeps does not wait for its ops.
    assert_eq!(find_bound(&cached().cpu(0.2, 0.3).sleeps(100)), Bound::Unknown);
}

#[test]
fn a_flush_is_named_if_it_takes_the_time() {
    let scene = Scene::writing(MIB).op_time(1000).fsyncs(256, 38_000_000).device_used(0.1, 0.1, 4096);
    assert!(limiter(&scene).text.contains("of it in fsync"), "{}", limiter(&scene).text);
}

#[test]
fn nothing_is_claimed_if_no_limit_was_reached() {
    let idle = reading().depth(8, 2.0).device_used(0.4, 0.6, 4096);
    let idle_limiter = limiter(&idle);
    assert_eq!((idle_limiter.what, idle_limiter.utilisation), (Bound::Unknown, None));
    assert!(
        idle_limiter.text.contains("vda busy 40 %") && idle_limiter.text.contains("15 % of a processor"),
        "{}",
        idle_limiter.text
    );
    assert_eq!(find_bound(&Scene::reading(MIB).no_ops()), Bound::Unknown);
    let mut unseen = reading();
    unseen.observations.targets.clear();
    assert_eq!(find_bound(&unseen), Bound::Unknown);
    assert_eq!(find_bound(&reading().op_kind(OpKind::Read).unseen_devices("EPERM").depth(4, 1.0)), Bound::Unknown);
}
