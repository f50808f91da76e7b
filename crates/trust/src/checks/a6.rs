use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::link;
use crate::shares::{CACHE_SHARE, share};
use crate::text::{percent, rate};
use plumb_result::{Level, Remedy};
use plumb_workload::OpKind;

/// A rate above this share of the link is impossible.
const FAIL_SHARE: f64 = 1.0;
/// Above this share, the link is the limit.
const NOTE_SHARE: f64 = 0.95;

pub(crate) static CHECK: Check = Check {
    code: "A6",
    title: "Impossible rate",
    what: "Whether a rate is higher than the link to the device can carry. A rate with the tier `cache` did not cross \
           the link and is not checked.",
    why: "A published comparison showed reads of 342 to 1000 MB/s through a PCI slot that carries 133 MB/s. Nobody \
          noticed, because nobody compared the two numbers.",
    how: "Bytes per second of reads and of writes, each against the sum of the leaf devices' links (PCIe speed × \
          width, SATA generation).",
    threshold: "more than 100 % of the link fails, more than 95 % is noted",
    settled: "By reasoning: more than 100 % is impossible. A drive reaches less than its link (550 of SATA's 600 MB/s \
              are 92 %), so from 95 % on the link is close to being the limit. With links only as fast as the \
              simulated disks, every lucky run was called impossible; realistic SATA and PCIe links ended that \
              (docs/calibration.md).",
    fix: &[Remedy::words("Look for a cache above the link: A1, A3 and A7 name it.")],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.ground != Ground::Device {
        return Outcome::NotApplicable;
    }
    let crossed = [OpKind::Read, OpKind::Write].into_iter().filter_map(|kind| Some((kind, crossed(view, kind)?)));
    let fastest = crossed.max_by(|one, other| one.1.total_cmp(&other.1));
    let Some((kind, reached)) = fastest else { return Outcome::NotApplicable };
    let virtualised = view.is_virtual_machine();
    let links = view.leaves().into_iter().map(|leaf| link::bytes_per_second(leaf, virtualised));
    let link = match links.sum::<Result<f64, crate::not_seen::NotSeen>>() {
        Ok(link) if link > 0.0 => link,
        Ok(_) => return Outcome::skipped("the devices below are not known"),
        Err(reason) => return Outcome::skipped(reason),
    };
    let share = reached / link;
    let observed = format!("{} of {} ({})", rate(reached), rate(link), percent(share));
    if share > FAIL_SHARE {
        Outcome::found(
            Level::Fail,
            observed,
            format!("{} at {} through a link that carries {}.", doing(kind), rate(reached), rate(link)),
        )
    } else if share > NOTE_SHARE {
        Outcome::note(observed, format!("The link to the device is the limit: {} of {}.", rate(reached), rate(link)))
            .remedy("Use a faster link to measure the device itself.")
    } else {
        Outcome::pass(observed)
    }
}

/// Returns the bytes per second that crossed the link for a kind of op: those that the device moved, or all of them
/// if that is unknown. `None` if none crossed it.
fn crossed(view: &PhaseView<'_>, kind: OpKind) -> Option<f64> {
    let app = view.measured.ops.get(&kind)?.bytes;
    let moved = match kind {
        OpKind::Write => view.traffic.written_to_device(),
        _ => view.traffic.read_from_device().map(|moved| moved.bytes),
    };
    let moved = moved.map_or(app, |moved| moved.min(app));
    let from_memory = share(moved, app)? <= CACHE_SHARE;
    if from_memory { None } else { view.measured.per_second(moved) }
}

fn doing(kind: OpKind) -> &'static str {
    if kind == OpKind::Write { "Writing" } else { "Reading" }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;

    fn through(link: u64) -> Option<Level> {
        // 6000 MB in the scene's 10 s are 600 MB/s.
        Scene::reading(6_000_000_000).link(link).level("A6")
    }

    #[test]
    fn a_rate_that_the_link_cannot_carry_fails() {
        assert_eq!(through(598_000_000), Some(Level::Fail));
        assert_eq!(through(600_000_000), Some(Level::Note));
        assert_eq!(through(630_000_000), Some(Level::Note));
        assert_eq!(through(632_000_000), Some(Level::Pass));
    }

    #[test]
    fn bytes_from_memory_did_not_cross_the_link() {
        let scene = Scene::reading(1_000_000_000).link(1000).device_read(0).own_read(0);
        assert_eq!(scene.level("A6"), None);
    }

    /// Without counters, the link is the remaining evidence.
    #[test]
    fn without_counters_the_whole_rate_is_compared_with_the_link() {
        let scene = Scene::reading(6_000_000_000).link(100_000_000).unseen_devices("EPERM").unseen_own("EPERM");
        assert_eq!(scene.level("A6"), Some(Level::Fail));
    }

    #[test]
    fn an_unknown_link_is_skipped() {
        let virtual_disk = Scene::reading(1_000_000_000).link(1_000_000).virtualisation("kvm");
        assert_eq!(virtual_disk.level("A6"), Some(Level::Skipped), "a hypervisor's link is not a limit");
        assert_eq!(Scene::reading(MIB).level("A6"), Some(Level::Skipped));
    }
}
