//! The tier of every rate: the part of the bytes that a device moved, or a server answered.

mod metadata;

use crate::client::SERVER_UNSEEN;
use crate::evidence::{Ground, PhaseView, RunView, ground_of_facts};
use crate::shares::{CACHE_SHARE, DEVICE_SHARE, share};
use crate::text::{bytes, percent};
use plumb_result::observe::{Counters, TargetFacts};
use plumb_result::{Interval, Measurement, Observations, Tier};
use plumb_workload::{OpKind, Workload};
use serde::Serialize;
use std::collections::BTreeMap;

/// The tier of a rate, with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateTier {
    /// Device, server, cache, mixed or unknown.
    pub tier: Tier,
    /// Share of the bytes that the device moved, or that went to the server of a network file
    /// system, 0–1; `None` if unknown.
    pub device_share: Option<f64>,
    /// Source of the bytes that did not come from this machine's memory.
    #[serde(skip)]
    pub(crate) beyond: Beyond,
    /// The evidence, or the reason why there is none, in words.
    pub because: String,
}

/// The source of bytes beyond this machine's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Beyond {
    /// A device whose counters are known.
    #[default]
    Device,
    /// A server, whose memory and storage cannot be distinguished from here.
    Server,
}

impl RateTier {
    pub(crate) fn unknown(because: impl Into<String>) -> RateTier {
        RateTier { tier: Tier::Unknown, device_share: None, beyond: Beyond::Device, because: because.into() }
    }

    pub(crate) fn of_share(share: f64, because: String) -> RateTier {
        RateTier::of_share_beyond(Beyond::Device, share, because)
    }

    pub(crate) fn of_share_beyond(beyond: Beyond, share: f64, because: String) -> RateTier {
        RateTier { tier: tier_of(beyond, share), device_share: Some(share), beyond, because }
    }
}

fn tier_of(beyond: Beyond, device_share: f64) -> Tier {
    if device_share >= DEVICE_SHARE {
        match beyond {
            Beyond::Device => Tier::Device,
            Beyond::Server => Tier::Server,
        }
    } else if device_share <= CACHE_SHARE {
        Tier::Cache
    } else {
        Tier::Mixed { device_share }
    }
}

/// Returns the tier of one second during a run, reads and writes together: the traffic of the leaf devices
/// between two readings, against that of the interval. It is an estimate for the live line; the tiers of
/// the result use more evidence.
pub fn live_tier<'a>(
    interval: &Interval,
    before: &Counters,
    after: &Counters,
    targets: impl IntoIterator<Item = &'a TargetFacts>,
) -> Tier {
    let mut leaves: Vec<&str> = Vec::new();
    let mut mounts: Vec<&str> = Vec::new();
    for target in targets {
        match ground_of_facts("target", target) {
            Ground::Memory => return Tier::Cache,
            Ground::Remote => mounts.extend(target.filesystem.value().map(|fs| fs.mount_point.as_str())),
            Ground::Unseen(_) if !target.leaves.is_empty() => return Tier::Unknown,
            Ground::Device | Ground::Nothing | Ground::Unseen(_) => {
                leaves.extend(target.leaves.iter().map(String::as_str))
            }
        }
    }
    leaves.sort();
    leaves.dedup();
    mounts.sort();
    mounts.dedup();
    let app: u64 = interval.ops.values().map(|ops| ops.bytes).sum();
    if let [mount] = mounts[..]
        && leaves.is_empty()
    {
        let moved = |counters: &Counters| {
            counters
                .clients
                .get(mount)?
                .value()
                .map(|client| client.server_read_bytes.saturating_add(client.server_write_bytes))
        };
        return match (moved(before), moved(after)) {
            (Some(before), Some(after)) if app > 0 => {
                tier_of(Beyond::Server, (after.saturating_sub(before) as f64 / app as f64).min(1.0))
            }
            _ => Tier::Unknown,
        };
    }
    let moved = |counters: &Counters| -> Option<u64> {
        leaves
            .iter()
            .map(|leaf| Some(counters.devices.get(*leaf)?.value()?).map(|d| d.read_bytes + d.write_bytes))
            .sum()
    };
    match (moved(before), moved(after)) {
        (Some(before), Some(after)) if app > 0 && !leaves.is_empty() && mounts.is_empty() => {
            tier_of(Beyond::Device, (after.saturating_sub(before) as f64 / app as f64).min(1.0))
        }
        _ => Tier::Unknown,
    }
}

/// The tiers of one phase: one entry for each kind of op that completed.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct PhaseTiers {
    pub phase: String,
    pub tiers: BTreeMap<OpKind, RateTier>,
}

/// Returns the tiers of every measured phase, in the order of the measurement.
pub fn tiers(workload: &Workload, measurement: &Measurement, observations: &Observations) -> Vec<PhaseTiers> {
    RunView::new(workload, measurement, observations).phases.iter().map(phase_tiers).collect()
}

pub(crate) fn phase_tiers(view: &PhaseView<'_>) -> PhaseTiers {
    let completed =
        view.measured.ops.iter().filter(|(kind, op)| if kind.moves_bytes() { op.bytes > 0 } else { op.count > 0 });
    let tiers = BTreeMap::from_iter(completed.map(|(kind, _)| (*kind, rate_tier(view, *kind))));
    PhaseTiers { phase: view.measured.name.clone(), tiers }
}

/// Returns the tier of one kind of op of a phase.
pub(crate) fn rate_tier(view: &PhaseView<'_>, kind: OpKind) -> RateTier {
    match &view.ground {
        Ground::Nothing => RateTier::unknown("a null target has no storage; this is Plumb's own speed"),
        Ground::Remote => match kind {
            OpKind::Read | OpKind::Write => server_tier(view, kind),
            OpKind::Trim => RateTier::unknown("what a server does to punch a hole cannot be seen from a client"),
            kind => metadata::server_tier(view, kind),
        },
        Ground::Unseen(reason) => RateTier::unknown(reason.clone()),
        Ground::Memory => RateTier {
            tier: Tier::Cache,
            device_share: Some(0.0),
            beyond: Beyond::Device,
            because: "this storage is memory; there is no device".to_owned(),
        },
        Ground::Device => match kind {
            OpKind::Read => read_tier(view),
            OpKind::Write => write_tier(view),
            OpKind::Trim => trim_tier(view),
            kind => metadata::metadata_tier(view, kind),
        },
    }
}

fn read_tier(view: &PhaseView<'_>) -> RateTier {
    let moved = match view.traffic.read_from_device() {
        Ok(moved) => moved,
        Err(reason) => return RateTier::unknown(reason),
    };
    let app = view.traffic.app_read;
    let Some(share) = share(moved.bytes.min(app), app) else { return RateTier::unknown("no byte was read") };
    let of_all = format!("the device moved {} of the {} read ({})", bytes(moved.bytes), bytes(app), moved.witness);
    if share > CACHE_SHARE && share < DEVICE_SHARE && view.encoded_share().is_some_and(|share| share > CACHE_SHARE) {
        return RateTier::unknown(format!(
            "{of_all}, but the file is stored compressed, so the two cannot be compared"
        ));
    }
    match view.blank_share() {
        Some(blank) if blank > CACHE_SHARE && share < DEVICE_SHARE => RateTier::of_share(
            share,
            format!("{of_all}: {} of the file is holes or blocks that were never written", percent(blank)),
        ),
        _ => RateTier::of_share(share, of_all),
    }
}

fn write_tier(view: &PhaseView<'_>) -> RateTier {
    let app = view.traffic.app_write;
    let written = match view.traffic.written_to_device() {
        Ok(written) => written,
        Err(reason) => return RateTier::unknown(reason),
    };
    // Dirty bytes have not been written, whatever other processes made the device write meanwhile.
    let dirty = view.dirty().map_or(0, |pages| (pages.dirty_bytes + pages.writeback_bytes).min(app));
    let Some(share) = share(written.min(app - dirty), app) else { return RateTier::unknown("no byte was written") };
    let mut because = format!("the device wrote {} of the {} written", bytes(written), bytes(app));
    if dirty > 0 {
        because.push_str(&format!("; {} was still in memory when the clock stopped", bytes(dirty)));
    }
    if share < DEVICE_SHARE && view.may_shrink() {
        return RateTier::unknown(format!("{because}, but the file system compresses, so the two cannot be compared"));
    }
    RateTier::of_share(share, because)
}

/// Returns the share that went to the server. The rest came from the client's memory, or was still in
/// it when the clock stopped.
fn server_tier(view: &PhaseView<'_>, kind: OpKind) -> RateTier {
    let client = match &view.traffic.client {
        Ok(client) => client,
        Err(reason) => return RateTier::unknown(reason.clone()),
    };
    let app = if kind == OpKind::Read { view.traffic.app_read } else { view.traffic.app_write };
    let served = if kind == OpKind::Read { client.of_reads(app) } else { client.of_writes(app) };
    let served = match served {
        Ok(served) => served,
        Err(reason) => return RateTier::unknown(reason),
    };
    let witness = client.witness;
    if kind == OpKind::Read {
        let because =
            format!("the server sent {} of the {} read ({witness}); {SERVER_UNSEEN}", bytes(served.bytes), bytes(app));
        return RateTier::of_share_beyond(Beyond::Server, served.share, because);
    }
    // Dirty bytes have not been sent, however often overwritten data was sent to the server.
    let dirty = view.dirty().map_or(0, |pages| (pages.dirty_bytes + pages.writeback_bytes).min(app));
    let sent = served.bytes.min(app - dirty);
    let mut because = format!("{} of the {} written went to the server ({witness})", bytes(sent), bytes(app));
    if dirty > 0 {
        because.push_str(&format!("; {} was still in this client's memory when the clock stopped", bytes(dirty)));
    }
    because.push_str("; whether it is in the server's memory or storage cannot be seen from a client");
    RateTier::of_share_beyond(Beyond::Server, share(sent, app).unwrap_or(0.0), because)
}

fn trim_tier(view: &PhaseView<'_>) -> RateTier {
    let device = match &view.traffic.device {
        Ok(device) => device,
        Err(reason) => return RateTier::unknown(reason.clone()),
    };
    match share(device.discard_bytes.min(view.traffic.app_trim), view.traffic.app_trim) {
        Some(share) if share >= DEVICE_SHARE => {
            RateTier::of_share(share, format!("the device discarded {}", bytes(device.discard_bytes)))
        }
        _ => RateTier::unknown("punching a hole in a file need not reach the device"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{MIB, Scene};
    use plumb_workload::Target;

    fn tier(scene: &Scene, kind: OpKind) -> Tier {
        scene.judge().tiers[0].tiers[&kind].tier
    }

    #[test]
    fn a_second_has_the_tier_of_the_leaves_traffic() {
        use plumb_result::OpCounts;
        use plumb_result::observe::DeviceCounters;
        let counters = |read_bytes: u64| Counters {
            devices: [("sda".to_owned(), plumb_result::Seen::Yes(DeviceCounters { read_bytes, ..Default::default() }))]
                .into(),
            ..Counters::default()
        };
        let targets = [TargetFacts { leaves: vec!["sda".to_owned()], ..TargetFacts::default() }];
        let ops = [(OpKind::Read, OpCounts { bytes: 1000, ..OpCounts::default() })].into();
        let interval = Interval { ops, ..Interval::default() };
        let tier = |moved: u64| live_tier(&interval, &counters(5), &counters(5 + moved), &targets);
        assert_eq!(tier(1000), Tier::Device);
        assert_eq!(tier(300), Tier::Mixed { device_share: 0.3 });
        assert_eq!(tier(0), Tier::Cache);
        assert_eq!(live_tier(&interval, &Counters::default(), &counters(9), &targets), Tier::Unknown);
    }

    /// A loop device counts its traffic, on any backing storage.
    #[test]
    fn a_second_over_memory_is_the_memorys_however_much_its_loop_device_moves() {
        use plumb_result::OpCounts;
        use plumb_result::observe::{BlockLayer, DeviceCounters, LayerKind};
        let counters = |read_bytes: u64| Counters {
            devices: [(
                "loop0".to_owned(),
                plumb_result::Seen::Yes(DeviceCounters { read_bytes, ..Default::default() }),
            )]
            .into(),
            ..Counters::default()
        };
        let ops = [(OpKind::Read, OpCounts { bytes: 1000, ..OpCounts::default() })].into();
        let interval = Interval { ops, ..Interval::default() };
        let on = |medium: &str| {
            let layer = BlockLayer {
                name: "loop0".to_owned(),
                kind: LayerKind::Loop,
                settings: [("medium".to_owned(), medium.to_owned())].into(),
                ..BlockLayer::default()
            };
            let targets =
                [TargetFacts { leaves: vec!["loop0".to_owned()], stack: vec![layer], ..TargetFacts::default() }];
            live_tier(&interval, &counters(0), &counters(1000), &targets)
        };
        assert_eq!((on("memory"), on("unknown")), (Tier::Cache, Tier::Unknown));
    }

    #[test]
    fn shares_make_tiers() {
        let read =
            |moved: u64| tier(&Scene::reading(1000 * MIB).device_read(moved * MIB).own_read(moved * MIB), OpKind::Read);
        assert_eq!(read(950), Tier::Device);
        assert_eq!(read(949), Tier::Mixed { device_share: 0.949 });
        assert_eq!(read(51), Tier::Mixed { device_share: 0.051 });
        assert_eq!(read(50), Tier::Cache);
    }

    #[test]
    fn a_journal_that_writes_more_than_was_given_is_the_device() {
        assert_eq!(tier(&Scene::writing(1000 * MIB).device_write(2500 * MIB), OpKind::Write), Tier::Device);
    }

    /// The same shares on NFS, where the tier is not `device`: a server may answer from its memory.
    #[test]
    fn answers_of_a_server_are_not_the_device() {
        let read = |sent: u64| tier(&Scene::reading(1000 * MIB).nfs().server_read(sent * MIB), OpKind::Read);
        assert_eq!(read(950), Tier::Server);
        assert_eq!(read(949), Tier::Mixed { device_share: 0.949 });
        assert_eq!(read(50), Tier::Cache);
        let wrote = || Scene::writing(1000 * MIB).nfs();
        assert_eq!(tier(&wrote(), OpKind::Write), Tier::Server);
        assert_eq!(tier(&wrote().dirty(600 * MIB), OpKind::Write), Tier::Mixed { device_share: 0.4 });
        assert_eq!(tier(&wrote().server_write(0).dirty(1000 * MIB), OpKind::Write), Tier::Cache);
        let judged = wrote().judge();
        assert!(judged.tiers[0].tiers[&OpKind::Write].because.contains("cannot be seen from a client"));
    }

    /// Requests to one file system through two mount points are counted once for each, and must not be added.
    #[test]
    fn one_file_system_at_two_mount_points_counts_once() {
        let mut scene = Scene::reading(1000 * MIB).nfs().server_read(500 * MIB);
        let (mut second, target) = (scene.observations.targets["data"].clone(), scene.workload.target["data"].clone());
        if let plumb_result::Seen::Yes(fs) = &mut second.filesystem {
            fs.mount_point = "/again".to_owned();
        }
        let seen = &mut scene.observations.phases[0];
        for counters in [&mut seen.before, &mut seen.after] {
            let first = counters.clients["/mnt"].clone();
            counters.clients.insert("/again".to_owned(), first);
        }
        scene.observations.targets.insert("again".to_owned(), second);
        scene.workload.target.insert("again".to_owned(), target);
        let mut group = scene.workload.phase[0].workers[0].clone();
        group.target = "again".to_owned();
        scene.workload.phase[0].workers.push(group);
        assert_eq!(tier(&scene, OpKind::Read), Tier::Mixed { device_share: 0.5 });
    }

    #[test]
    fn a_second_on_a_network_file_system_is_the_servers() {
        use plumb_result::OpCounts;
        use plumb_result::client::ClientCounters;
        use plumb_result::observe::FileSystem;
        let counters = |server_read_bytes: u64| Counters {
            clients: [(
                "/mnt".to_owned(),
                plumb_result::Seen::Yes(ClientCounters { server_read_bytes, ..ClientCounters::default() }),
            )]
            .into(),
            ..Counters::default()
        };
        let fs = FileSystem { mount_point: "/mnt".to_owned(), remote: true, ..FileSystem::default() };
        let targets = [TargetFacts { filesystem: plumb_result::Seen::Yes(fs), ..TargetFacts::default() }];
        let ops = [(OpKind::Read, OpCounts { bytes: 1000, ..OpCounts::default() })].into();
        let interval = Interval { ops, ..Interval::default() };
        let tier = |moved: u64| live_tier(&interval, &counters(5), &counters(5 + moved), &targets);
        assert_eq!((tier(1000), tier(0)), (Tier::Server, Tier::Cache));
        assert_eq!(live_tier(&interval, &Counters::default(), &counters(9), &targets), Tier::Unknown);
    }

    /// Other processes' writes must not make dirty pages look written.
    #[test]
    fn dirty_pages_are_not_written_whatever_the_device_did() {
        let scene = Scene::writing(1000 * MIB).device_write(5000 * MIB).dirty(600 * MIB);
        assert_eq!(tier(&scene, OpKind::Write), Tier::Mixed { device_share: 0.4 });
    }

    #[test]
    fn compressed_files_are_not_taken_for_cached_ones() {
        let scene = Scene::reading(1000 * MIB).encoded(1000 * MIB).device_read(300 * MIB).own_read(300 * MIB);
        assert_eq!(tier(&scene, OpKind::Read), Tier::Unknown);
    }

    #[test]
    fn storage_without_counters_is_unknown_with_the_reason() {
        for scene in [Scene::reading(MIB).remote(), Scene::reading(MIB).unseen_devices("EPERM").unseen_own("EPERM")] {
            let judged = scene.judge();
            let rate = &judged.tiers[0].tiers[&OpKind::Read];
            assert_eq!((rate.tier, rate.device_share), (Tier::Unknown, None));
            assert!(!rate.because.is_empty());
        }
    }

    #[test]
    fn a_null_target_measures_plumb() {
        let mut scene = Scene::reading(MIB);
        let size = plumb_workload::Bytes(MIB);
        scene.workload.target.insert("data".to_owned(), Target::Null(plumb_workload::NullTarget::with_size(size)));
        assert_eq!(tier(&scene, OpKind::Read), Tier::Unknown);
        assert_eq!(scene.level("A1"), None);
    }

    #[test]
    fn memory_is_the_cache_whatever_is_done_in_it() {
        assert_eq!(tier(&Scene::reading(MIB).in_memory(), OpKind::Read), Tier::Cache);
        assert_eq!(tier(&Scene::stats(1000).in_memory(), OpKind::Stat), Tier::Cache);
    }
}
