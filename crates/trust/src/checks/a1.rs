use crate::check::{Check, Judge, Outcome, grade};
use crate::client::{ClientTraffic, SERVER_UNSEEN};
use crate::evidence::{Ground, PhaseView, ReadSources};
use crate::shares::share;
use crate::text::{bytes, percent};
use plumb_result::observe::LayerKind;
use plumb_result::{Level, Remedy};
use plumb_workload::CachePolicy;

/// Above this share from memory, a cold or direct read misleads.
const WARN_SHARE: f64 = 0.02;
/// Above this share from memory, the device was not measured.
const FAIL_SHARE: f64 = 0.10;
/// Above this share of holes or of compressed extents, device bytes cannot be compared with file bytes.
const INCOMPARABLE_SHARE: f64 = 0.10;

pub(crate) static CHECK: Check = Check {
    code: "A1",
    title: "Read from the cache",
    what: "Whether the bytes that reads returned came from the device or from the page cache. The policy decides how \
           serious that is. A `cold` or `direct` read must come from the device. A read `as-is` or `warm` may come \
           from memory: this check then only notes it, and the rate carries the tier `cache`. A file system in memory \
           is reported once. What a phase reads back of its own writes warns at most. On NFS and Lustre it is the server \
           that must have answered, and not the memory of this client; what the server's own memory answered no client \
           can see.",
    why: "A cached read is memory speed under a disk's name: on one ext4 the same 128 MiB read at 8.3 GB/s from the \
          cache and 0.6 GB/s from the disk (measured on ext4 over virtio, Linux 6.18). Tarasov et al., \"Benchmarking \
          File System Benchmarking: It *IS* Rocket Science\", HotOS 2011: the simplest benchmark varies by orders of \
          magnitude with the cache.",
    how: "Bytes that reads returned, less `read_bytes` of /proc/self/io (what the kernel fetched for Plumb), checked \
          against the leaf devices' sectors in /proc/diskstats. The smaller of the two counts, because other \
          processes' reads inflate the device's counter. Over a loop device the finding names three shares: page \
          cache, cached backing file (A7) and device. They add up to 100 %, and the last one is the tier's. On NFS: bytes that \
          the server sent against bytes that programs read, of the mount in /proc/self/mountstats. On Lustre: \
          `read_bytes` of `osc.*.stats` (and `mdc`) against that of `llite.*.stats`, which only root may read. If \
          others use the mount so much that the share is not certain, the check is skipped.",
    threshold: "cold or direct: more than 2 % from memory warns, more than 10 % fails; otherwise noted",
    settled: "By reasoning: where memory is at least ten times as fast, a share s from memory makes a rate up to 1/(1 \
              − s) too high. 2 % is well inside the 5 % that comparisons treat as equal; 10 % is twice that. On \
              simulated devices, cached reads were found in 300 of 300 runs, and there was no false alarm in 1000 \
              clean ones (docs/calibration.md).",
    fix: &[
        Remedy::setting("cache", "cold", "Start with cold caches"),
        Remedy::setting("cache", "direct", "Go past the page cache"),
        Remedy::LargerFile { at_least_bytes: None },
    ],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    let app = view.traffic.app_read;
    if view.is_at_rest() && view.ground == Ground::Memory {
        return memory(view);
    }
    if app == 0 {
        return Outcome::NotApplicable;
    }
    match &view.ground {
        Ground::Nothing => return Outcome::NotApplicable,
        Ground::Memory => return memory(view),
        Ground::Remote => {
            return match &view.traffic.client {
                Ok(client) => over_network(view, client),
                Err(reason) => Outcome::skipped(reason.clone()),
            };
        }
        Ground::Unseen(reason) => return Outcome::skipped(reason.clone()),
        Ground::Device => {}
    }
    if view.blank_share().is_some_and(|blank| blank > INCOMPARABLE_SHARE) {
        return Outcome::skipped("much of the file was never written, so no device had it to read (see A4)");
    }
    if view.emptied().is_some() {
        return Outcome::skipped(
            "holes were made in the file while the clock ran, so no device had them to read (see A4)",
        );
    }
    if view.encoded_share().is_some_and(|encoded| encoded > INCOMPARABLE_SHARE) {
        return Outcome::skipped("the file is stored compressed, so device bytes cannot be compared with its bytes");
    }
    // A loop device has a second cache below it, that of its backing file; A7 covers it.
    if view.has_layer(LayerKind::Loop) {
        return match view.traffic.read_sources() {
            Ok(sources) => over_loop(view, sources),
            Err(reason) => Outcome::skipped(reason),
        };
    }
    let moved = match view.traffic.read_from_device() {
        Ok(moved) => moved,
        Err(reason) => return Outcome::skipped(reason),
    };
    let from_memory = share(app.saturating_sub(moved.bytes), app).unwrap_or(0.0);
    let observed = format!("{} from memory ({})", percent(from_memory), moved.witness);
    let message =
        format!("{} of the bytes read came from memory, not from {}", percent(from_memory), view.leaf_names());
    graded(view, from_memory, observed, &message)
}

/// Judges reads over a loop device, where there are two caches above the device. All three shares are reported, so
/// that this check, A7 and the tier agree.
fn over_loop(view: &PhaseView<'_>, sources: ReadSources) -> Outcome {
    let of_all = |bytes: u64| share(bytes, view.traffic.app_read).unwrap_or(0.0);
    let cached = of_all(sources.page_cache);
    let below_cache = match sources.below {
        0 => String::new(),
        below => format!(", {} from the cache of the loop device's backing file", percent(of_all(below))),
    };
    let device = format!("{} from {}", percent(of_all(sources.device)), view.leaf_names());
    let observed = format!("{} from the page cache{below_cache}, {device} ({})", percent(cached), sources.witness);
    let message = format!("{} of the bytes read came from the page cache{below_cache}, {device}", percent(cached));
    graded(view, cached, observed, &message)
}

/// Judges reads over a network. Bytes not sent by the server came from this client's memory (or from its disk,
/// under the mount option `fsc`).
fn over_network(view: &PhaseView<'_>, client: &ClientTraffic) -> Outcome {
    let app = view.traffic.app_read;
    let served = match client.of_reads(app) {
        Ok(served) => served,
        Err(reason) => return Outcome::skipped(reason),
    };
    let from_memory = served.from_cache;
    let observed =
        format!("the server sent {} of {} ({}); {SERVER_UNSEEN}", bytes(served.bytes), bytes(app), client.witness);
    let message =
        format!("{} of the bytes read came from this client's cache, not from the server", percent(from_memory));
    graded(view, from_memory, observed, &message)
}

/// Returns the level of a share from memory, by the requested cache policy.
fn graded(view: &PhaseView<'_>, from_memory: f64, observed: String, message: &str) -> Outcome {
    let Some(level) = grade(from_memory, WARN_SHARE, FAIL_SHARE) else { return Outcome::pass(observed) };
    let larger_than_memory = || Remedy::LargerFile {
        // Simulated devices have no cache of this size.
        at_least_bytes: Some(view.environment.ram_bytes).filter(|_| !view.is_virtual_time()),
    };
    match view.cache() {
        CachePolicy::AsIs => Outcome::note(observed, format!("{message}.")),
        CachePolicy::Warm => {
            Outcome::note(observed, format!("{message}; a warm cache was asked for.")).remedies(Vec::new())
        }
        CachePolicy::Cold if view.traffic.app_write > 0 => {
            Outcome::found(level.min(Level::Warn), observed, format!("{message}; the phase itself wrote them."))
                .remedy("Write and read in two phases, the second with `cache = \"cold\"`.")
        }
        CachePolicy::Cold => Outcome::found(level, observed, format!("{message}, despite `cache = \"cold\"`."))
            .remedies(vec![
                Remedy::setting("cache", "direct", "Go past the page cache"),
                Remedy::setting("pattern", "permutation", "Read each block once"),
                larger_than_memory(),
            ]),
        CachePolicy::Direct => Outcome::found(level, observed, format!("{message}, despite O_DIRECT.")).remedies(vec![
            Remedy::words("Check A4 for holes and unwritten blocks."),
            Remedy::setting(
                "cache",
                "cold",
                "If the file system serves O_DIRECT from its cache, start with cold caches",
            ),
        ]),
    }
}

fn memory(view: &PhaseView<'_>) -> Outcome {
    let observed = "no device below it";
    let level = if view.wants_device_reads() || view.is_at_rest() { Level::Warn } else { Level::Note };
    Outcome::found(level, observed, "This storage is memory: no read comes from a device.")
        .remedy("Name a path on the storage you want to measure.")
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_workload::CachePolicy;

    #[test]
    fn a_cold_read_from_the_device_passes_and_a_cached_one_fails() {
        assert_eq!(Scene::reading(1000 * MIB).level("A1"), Some(Level::Pass));
        let cached = Scene::reading(1000 * MIB).device_read(380 * MIB).own_read(380 * MIB);
        let finding = cached.finding("A1").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.starts_with("62 % of the bytes"), "{}", finding.message);
    }

    /// Blocks that were punched out during the run are not in memory; A4 reports them.
    #[test]
    fn holes_punched_during_the_run_are_not_memory() {
        let scene = || {
            let direct = Scene::reading(1000 * MIB).cache(CachePolicy::Direct);
            direct.device_read(380 * MIB).own_read(380 * MIB)
        };
        assert_eq!(scene().level("A1"), Some(Level::Fail));
        let punched = scene().punched(900 * MIB);
        assert_eq!(punched.level("A1"), Some(Level::Skipped));
        let finding = punched.finding("A4").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(
            finding.message.starts_with("90 % of the file became holes while the clock ran"),
            "{}",
            finding.message
        );
        assert_eq!(scene().punched(50 * MIB).level("A4"), Some(Level::Warn));
    }

    #[test]
    fn limits_are_exclusive() {
        for (moved, level) in [(980, Level::Pass), (979, Level::Warn), (900, Level::Warn), (899, Level::Fail)] {
            let scene = Scene::reading(1000 * MIB).device_read(moved * MIB).own_read(moved * MIB);
            assert_eq!(scene.level("A1"), Some(level), "{moved}");
        }
    }

    /// A neighbour's reads from the same disk must not make a cached read look real.
    #[test]
    fn reads_of_others_do_not_hide_a_cached_read() {
        let scene = Scene::reading(1000 * MIB).device_read(5000 * MIB).own_read(0);
        assert_eq!(scene.level("A1"), Some(Level::Fail));
    }

    #[test]
    fn a_requested_cache_gives_a_note() {
        for policy in [CachePolicy::AsIs, CachePolicy::Warm] {
            let scene = Scene::reading(1000 * MIB).cache(policy).device_read(0).own_read(0);
            assert_eq!(scene.level("A1"), Some(Level::Note), "{policy:?}");
        }
    }

    /// Over a cached loop device, bytes can come from three places. A1, A7 and the tier report the same shares.
    #[test]
    fn over_a_cached_loop_device_the_checks_and_the_tier_agree() {
        let scene =
            Scene::reading(1000 * MIB).cache(CachePolicy::AsIs).on_loop().own_read(610 * MIB).device_read(19 * MIB);
        let a1 = scene.finding("A1").unwrap();
        assert_eq!(a1.level, Level::Note);
        assert_eq!(
            a1.message,
            "39 % of the bytes read came from the page cache, 59 % from the cache of the loop device's backing file, \
             1.9 % from vda."
        );
        let a7 = scene.finding("A7").unwrap();
        assert_eq!(a7.level, Level::Note, "nobody asked for the device");
        assert!(a7.message.starts_with("59 % of the bytes read"), "{}", a7.message);
        let tier = scene.judge().tiers[0].tiers[&plumb_workload::OpKind::Read].clone();
        assert_eq!((tier.tier, tier.device_share), (plumb_result::Tier::Cache, Some(0.019)));
    }

    /// Before a run, assume that the device is wanted, as in most workloads.
    #[test]
    fn at_rest_memory_is_named() {
        assert_eq!(Scene::reading(MIB).in_memory().at_rest().level("A1"), Some(Level::Warn));
        assert_eq!(Scene::reading(MIB).at_rest().level("A1"), None);
    }

    #[test]
    fn memory_file_systems_are_named_and_not_rejected() {
        assert_eq!(Scene::reading(MIB).in_memory().cache(CachePolicy::Direct).level("A1"), Some(Level::Warn));
        assert_eq!(Scene::reading(MIB).in_memory().cache(CachePolicy::AsIs).level("A1"), Some(Level::Note));
    }

    /// The same limits on NFS, where the server takes the device's place: IOzone's and IOR's reads of their own fresh
    /// writes come from the client's memory, whatever the network could carry.
    #[test]
    fn on_a_network_file_system_the_server_must_have_sent_it() {
        let read = |sent: u64| Scene::reading(1000 * MIB).nfs().server_read(sent * MIB);
        for (sent, level) in [(1000, Level::Pass), (980, Level::Pass), (979, Level::Warn), (899, Level::Fail)] {
            assert_eq!(read(sent).level("A1"), Some(level), "{sent}");
        }
        let finding = read(380).finding("A1").unwrap();
        assert!(
            finding.message.starts_with("62 % of the bytes read came from this client's cache, not from the server")
        );
        assert!(finding.observed.contains("/proc/self/mountstats") && finding.observed.contains("cannot be seen"));
        assert_eq!(read(0).cache(CachePolicy::AsIs).level("A1"), Some(Level::Note));
        assert_eq!(read(2000).level("A1"), Some(Level::Pass), "readahead beyond what was asked for");
    }

    /// Others' reads through the same mount must neither make a cached read look as if the server sent it,
    /// nor the other way round.
    #[test]
    fn others_on_the_mount_leave_it_open_if_they_matter() {
        let shared = |others: u64, sent: u64| {
            Scene::reading(1000 * MIB).nfs().others_read(others * MIB).server_read(sent * MIB).finding("A1").unwrap()
        };
        let open = shared(1000, 1000);
        assert_eq!(open.level, Level::Skipped);
        assert!(open.message.contains("1000 MiB"), "{}", open.message);
        assert_eq!(shared(1000, 2000).level, Level::Pass, "all of both was sent");
        assert_eq!(shared(1000, 0).level, Level::Fail, "nothing was");
        assert_eq!(shared(20, 1000).level, Level::Pass, "a little does not matter");
    }

    #[test]
    fn a_client_that_does_not_count_is_skipped_with_its_name() {
        let finding = Scene::reading(MIB).remote().filesystem("cifs").finding("A1").unwrap();
        assert_eq!(finding.level, Level::Skipped);
        assert!(finding.message.contains("cifs"), "{}", finding.message);
        let refused = Scene::reading(MIB).nfs().unseen_client("permission denied").finding("A1").unwrap();
        assert!(refused.message.contains("permission denied"), "{}", refused.message);
    }

    #[test]
    fn without_any_witness_it_is_skipped() {
        let finding =
            Scene::reading(MIB).unseen_devices("no permission").unseen_own("no permission").finding("A1").unwrap();
        assert_eq!(finding.level, Level::Skipped);
        assert!(finding.message.contains("no permission"), "{}", finding.message);
    }

    #[test]
    fn a_write_is_not_a_read() {
        assert_eq!(Scene::writing(MIB).level("A1"), None);
    }
}
