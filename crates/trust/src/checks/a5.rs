use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::text::{count, nanos};
use plumb_result::observe::Seen;
use plumb_result::{Histogram, Remedy};
use plumb_workload::{CachePolicy, Flush, OpKind};

/// A medium without power-loss protection cannot make a write durable faster than this.
const TOO_QUICK_NS: u64 = 20_000;
/// With fewer flushes than this, the median is meaningless.
const MIN_FLUSHES: u64 = 20;

pub(crate) static CHECK: Check = Check {
    code: "A5",
    title: "Flush that does nothing",
    what: "Whether fsync reached the medium: the kernel sent flushes to the device, no mount option suppresses them, \
           and they took as long as a medium takes.",
    why: "If a flush is dropped on the way (nobarrier, a hypervisor's cache mode, a lying drive), a database looks \
          fast until the power fails. Zheng et al., \"Understanding the Robustness of SSDs under Power Fault\", FAST \
          2013; Rajimwale et al., \"Coerced Cache Eviction\", DSN 2011.",
    how: "Flush requests completed by the leaf devices (field 16 of /proc/diskstats, Linux 5.5), their \
          `queue/write_cache`, mount options, and the median time of fsync and fdatasync.",
    threshold: "no flush request on a write-back device, `nobarrier`, or an fsync after each write with a median \
                below 20 µs warns",
    settled: "By reasoning: a call that never leaves the kernel takes a few µs, programming a flash page 100 µs or \
              more, a revolution of a disk 8 ms; 20 µs lies between. On simulated devices, a flush without effect was \
              found in 300 of 300 runs (docs/calibration.md).",
    fix: &[Remedy::words(
        "Mount with barriers and set the hypervisor's or controller's cache mode to write-through. Trust such fsync \
          rates only from drives with power-loss protection.",
    )],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    let asked = view.ops(OpKind::Fsync) + view.ops(OpKind::Fdatasync) + view.ops(OpKind::EndFsync);
    let at_end = view.measured.end.flush_ns.is_some()
        && view.measured.end.inside_clock
        && matches!(view.plan.end.flush, Flush::Fsync | Flush::Fdatasync);
    let wrote = view.traffic.app_write > 0 || view.ops(OpKind::Create) > 0;
    if view.is_at_rest() && view.ground == Ground::Device {
        return barriers_off(view).map_or(Outcome::NotApplicable, without_barriers);
    }
    if (asked == 0 && !at_end) || !wrote {
        return Outcome::NotApplicable;
    }
    match &view.ground {
        Ground::Memory | Ground::Nothing => return Outcome::NotApplicable,
        Ground::Remote => return Outcome::skipped("a client cannot see what a server does with a flush"),
        Ground::Unseen(reason) => return Outcome::skipped(reason.clone()),
        Ground::Device => {}
    }
    if let Some(option) = barriers_off(view) {
        return without_barriers(option);
    }
    if let Some(median) = too_quick(view) {
        return Outcome::warn(
            format!("median {}", nanos(median as f64)),
            format!(
                "fsync took {} (median): too fast for a medium without power-loss protection.",
                nanos(median as f64)
            ),
        );
    }
    let device = match &view.traffic.device {
        Ok(device) => device,
        Err(reason) => return Outcome::skipped(reason.clone()),
    };
    let caches: Vec<Option<&str>> = view.leaves().iter().map(|leaf| leaf.write_cache.as_deref()).collect();
    if !caches.is_empty() && caches.iter().all(|cache| *cache == Some("write through")) {
        let observed = "the device reports no volatile cache";
        return match &view.environment.virtualisation {
            Seen::Yes(name) if name != "none" => Outcome::note(
                observed,
                format!("The virtual disk reports no volatile cache; whether that is true depends on the {name} host."),
            )
            .remedy("Check the cache mode of the virtual disk on the host."),
            _ => Outcome::pass(observed),
        };
    }
    match device.flushes {
        None => Outcome::skipped("this kernel does not count flush requests (before Linux 5.5)"),
        Some(0) => {
            let calls = if asked > 0 { count(asked, "fsync") } else { "the flush at the end".to_owned() };
            Outcome::warn("no flush request", format!("No flush request reached the device, despite {calls}."))
        }
        Some(flushes) => Outcome::pass(count(flushes, "flush request")),
    }
}

fn without_barriers(option: &str) -> Outcome {
    let message = format!("Mounted with {option}: fsync does not flush the device's cache.");
    Outcome::warn(format!("mounted with {option}"), message)
}

fn barriers_off(view: &PhaseView<'_>) -> Option<&'static str> {
    const OFF: [&str; 2] = ["nobarrier", "barrier=0"];
    view.facts().filter_map(|facts| facts.filesystem.value()).find_map(|fs| {
        let mounted = OFF.into_iter().find(|off| fs.options.iter().any(|option| option == off));
        // ext4 lists the active options in /proc/fs, including those that no mount option shows.
        let in_force = fs.features.get("barrier").is_some_and(|value| value == "no" || value == "0");
        mounted.or(in_force.then_some("barriers off"))
    })
}

/// Returns the median of the flushes if each had something to write and yet it is too short. Writes that a device
/// cannot have taken in that time prove more than flush counters, because a lying layer answers flushes itself.
fn too_quick(view: &PhaseView<'_>) -> Option<u64> {
    let mut flushes = Histogram::new();
    for kind in [OpKind::Fsync, OpKind::Fdatasync] {
        if let Some(op) = view.measured.ops.get(&kind) {
            flushes.merge(&op.service);
        }
    }
    // Under O_DIRECT the write itself carried the data, so a following fsync may have nothing left to do.
    let each_after_a_write = view.ops(OpKind::Write) >= flushes.count() && view.cache() != CachePolicy::Direct;
    let median = flushes.quantile(0.5).filter(|_| flushes.count() >= MIN_FLUSHES && each_after_a_write)?;
    (median < TOO_QUICK_NS).then_some(median)
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;

    fn logging() -> Scene {
        Scene::writing(4 * MIB).fsyncs(1000, 800_000).flushes(1000)
    }

    #[test]
    fn flushes_that_reach_the_device_pass() {
        assert_eq!(logging().level("A5"), Some(Level::Pass));
    }

    #[test]
    fn no_flush_on_a_write_back_device_warns() {
        assert_eq!(logging().flushes(0).level("A5"), Some(Level::Warn));
        assert_eq!(logging().flushes(1).level("A5"), Some(Level::Pass));
    }

    /// The kernel sends no flush to a device without a volatile cache, and rightly so.
    #[test]
    fn a_write_through_device_needs_no_flush() {
        assert_eq!(logging().flushes(0).write_cache("write through").level("A5"), Some(Level::Pass));
        let virtual_disk = logging().flushes(0).write_cache("write through").virtualisation("kvm");
        assert_eq!(virtual_disk.level("A5"), Some(Level::Note));
    }

    #[test]
    fn an_impossible_median_warns() {
        assert_eq!(logging().fsyncs(1000, 19_000).level("A5"), Some(Level::Warn));
        assert_eq!(logging().fsyncs(1000, 21_000).level("A5"), Some(Level::Pass));
    }

    #[test]
    fn barriers_that_are_off_warn() {
        assert_eq!(logging().mount_option("nobarrier").level("A5"), Some(Level::Warn));
    }

    #[test]
    fn old_kernels_are_skipped_and_reads_have_no_flush() {
        assert_eq!(logging().flushes_uncounted().level("A5"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).level("A5"), None);
    }
}
