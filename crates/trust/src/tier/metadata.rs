//! The tier of ops that move no data of their own: flushes, and ops on names and inodes.
//!
//! It cannot be determined op by op which of them needed a device, only whether the device took part at all. A flush
//! is the device's if the device wrote or flushed. A look-up is the memory's if nothing was read. A change is in
//! memory until something makes it durable, and is the device's only if that counts in the clock.

use super::{Beyond, RateTier};
use crate::evidence::PhaseView;
use crate::text::bytes;
use plumb_result::Tier;
use plumb_workload::{ClockScope, Flush, OpKind};

/// Bytes read for one look-up if none of it is in memory: one block. It is an estimate, since a block holds many
/// names or inodes, so the share is of ops that *can* have needed the device.
const LOOKUP_BYTES: u64 = 4096;

pub(super) fn metadata_tier(view: &PhaseView<'_>, kind: OpKind) -> RateTier {
    match kind {
        OpKind::Fsync | OpKind::Fdatasync | OpKind::EndFsync => flush_tier(view),
        OpKind::Open | OpKind::Close | OpKind::Stat | OpKind::Readlink | OpKind::Readdir => lookup_tier(view, kind),
        _ => change_tier(view),
    }
}

/// Returns the tier on a network file system, whose client does not count names: it is unknown whether its own memory
/// answered a look-up. A flush is the server's if any traffic went there.
pub(super) fn server_tier(view: &PhaseView<'_>, kind: OpKind) -> RateTier {
    let is_flush = matches!(kind, OpKind::Fsync | OpKind::Fdatasync | OpKind::EndFsync);
    match &view.traffic.client {
        Err(reason) => RateTier::unknown(reason.clone()),
        Ok(_) if !is_flush => RateTier::unknown("which ops on names went to the server is not counted by op"),
        Ok(client) => {
            let (sent, commits) = (client.server_write_bytes(), client.commits().unwrap_or(0));
            let share = if sent == 0 && commits == 0 { 0.0 } else { 1.0 };
            let because = format!("{} went to the server, with {commits} requests to commit", bytes(sent));
            RateTier { device_share: None, ..RateTier::of_share_beyond(Beyond::Server, share, because) }
        }
    }
}

fn flush_tier(view: &PhaseView<'_>) -> RateTier {
    match &view.traffic.device {
        Err(reason) => RateTier::unknown(reason.clone()),
        Ok(device) if device.write_bytes == 0 && device.flushes.unwrap_or(0) == 0 => {
            RateTier::of_share(0.0, "the device neither wrote nor flushed anything".to_owned())
        }
        Ok(device) => RateTier {
            tier: Tier::Device,
            device_share: None,
            beyond: Beyond::Device,
            because: format!(
                "the device wrote {}{}",
                bytes(device.write_bytes),
                device.flushes.map_or(String::new(), |flushes| format!(" and flushed {flushes} times"))
            ),
        },
    }
}

fn lookup_tier(view: &PhaseView<'_>, kind: OpKind) -> RateTier {
    let lookups = view.measured.ops.get(&kind).map_or(0, |op| op.count);
    // Reads of data in the same phase would be mistaken for those of names and inodes.
    let data = view.traffic.app_read;
    match view.traffic.read_past_page_cache() {
        Err(reason) => RateTier::unknown(reason),
        Ok(moved) if moved.bytes == 0 => {
            RateTier::of_share(0.0, format!("nothing was read from the device ({})", moved.witness))
        }
        Ok(_) if data > 0 => RateTier::unknown("data was read in the same phase, so the two cannot be separated"),
        Ok(moved) => {
            let share = moved.bytes as f64 / (lookups.max(1) * LOOKUP_BYTES) as f64;
            RateTier::of_share(
                share.min(1.0),
                format!("{} read for {lookups} ops ({})", bytes(moved.bytes), moved.witness),
            )
        }
    }
}

fn change_tier(view: &PhaseView<'_>) -> RateTier {
    let end = view.plan.end;
    let durable = matches!(end.flush, Flush::Fsync | Flush::Fdatasync) && end.clock == ClockScope::Inside;
    match &view.traffic.device {
        Err(reason) => RateTier::unknown(reason.clone()),
        Ok(device) if durable && device.write_bytes > 0 => RateTier {
            tier: Tier::Device,
            device_share: None,
            beyond: Beyond::Device,
            because: format!("the clock waited until it was durable; the device wrote {}", bytes(device.write_bytes)),
        },
        Ok(_) if durable => {
            RateTier::of_share(0.0, "the clock waited for a flush, and the device wrote nothing".to_owned())
        }
        // A journal may have written some of it meanwhile, but no op waited for that.
        Ok(_) => RateTier::of_share(0.0, "nothing waited until it was durable".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{MIB, Scene};

    fn tier(scene: &Scene, kind: OpKind) -> Tier {
        scene.judge().tiers[0].tiers[&kind].tier
    }

    #[test]
    fn a_flush_is_the_devices_when_the_device_did_something() {
        let logging = || Scene::writing(4 * MIB).fsyncs(1000, 800_000);
        assert_eq!(tier(&logging().flushes(1000), OpKind::Fsync), Tier::Device);
        assert_eq!(tier(&logging().flushes(0).device_write(0), OpKind::Fsync), Tier::Cache);
        assert_eq!(tier(&logging().unseen_devices("closed"), OpKind::Fsync), Tier::Unknown);
    }

    #[test]
    fn looking_up_is_the_memorys_when_nothing_was_read() {
        assert_eq!(tier(&Scene::stats(1000).own_read(0), OpKind::Stat), Tier::Cache);
        let cold = 4096 * 1000;
        assert_eq!(tier(&Scene::stats(1000).own_read(cold).device_read(cold), OpKind::Stat), Tier::Device);
    }

    #[test]
    fn a_change_is_the_devices_only_when_the_clock_waited_for_it() {
        let creating = || Scene::stats(1000).op_kind(OpKind::Create).device_write(MIB);
        assert_eq!(tier(&creating(), OpKind::Create), Tier::Device);
        assert_eq!(tier(&creating().flush_clock(ClockScope::Outside), OpKind::Create), Tier::Cache);
        assert_eq!(tier(&creating().device_write(0), OpKind::Create), Tier::Cache);
    }
}
