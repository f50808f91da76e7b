use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::text::{bytes, short};
use plumb_result::observe::{BlockLayer, LayerKind};
use plumb_result::{Level, Remedy};
use plumb_workload::OpKind;

/// Writes of twice the capacity fill the drive's spare area, and start garbage collection. Source: SNIA Solid State
/// Storage Performance Test Specification, 3.3 "Workload Independent Preconditioning".
const CAPACITIES: f64 = 2.0;
/// A round of that specification; a shorter phase does not claim a sustained rate.
const SUSTAINED_S: f64 = 60.0;

pub(crate) static CHECK: Check = Check {
    code: "D3",
    title: "State of the SSD",
    what: "Whether an SSD had been written twice over before its write rate was measured.",
    why: "A fresh SSD writes into empty blocks, many times as fast as it does once it must collect garbage. SNIA Solid \
          State Storage Performance Test Specification: purge, precondition with twice the capacity, then measure \
          until the rounds are steady.",
    how: "What hosts wrote in the drive's life (NVMe data units written, the statistics log of ATA), plus what Plumb \
          wrote before in this run, against the drive's capacity. A purge or a trim since then cannot be seen.",
    threshold: "writes of a minute or longer with less than 2 capacities written before warn; shorter ones are noted",
    settled: "From the SNIA specification: twice the capacity, and rounds of a minute.",
    fix: &[Remedy::Precondition, Remedy::UntilSteady, Remedy::words("State that the rate is of a fresh drive.")],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.is_virtual_time() || !matches!(view.ground, Ground::Device) {
        return Outcome::NotApplicable;
    }
    let is_ssd =
        |leaf: &&BlockLayer| leaf.kind == LayerKind::Disk && leaf.rotational == Some(false) && leaf.size_bytes > 0;
    let ssds: Vec<&BlockLayer> = view.leaves().into_iter().filter(is_ssd).collect();
    // Without any op there is no claim yet: any later write is in question.
    let at_rest = view.measured.ops.is_empty();
    if ssds.is_empty() || (!at_rest && view.ops(OpKind::Write) == 0) {
        return Outcome::NotApplicable;
    }
    let seconds = view.measured.wall_ns as f64 / 1e9;
    let level = if !at_rest && seconds >= SUSTAINED_S { Level::Warn } else { Level::Note };
    let capacity: u64 = ssds.iter().map(|ssd| ssd.size_bytes).sum();
    let earlier = view.earlier.iter().filter_map(|phase| phase.ops.get(&OpKind::Write));
    let by_plumb: u64 = earlier.map(|op| op.bytes).sum();
    if by_plumb as f64 >= CAPACITIES * capacity as f64 {
        return Outcome::pass(format!("{} written before in this run", bytes(by_plumb)));
    }
    let mut least: Option<Written<'_>> = None;
    for ssd in ssds {
        let health = match view.seen.conditions.before.health.get(&ssd.name) {
            Some(health) => health.as_result(),
            None => Err("the drive's health was not read"),
        };
        let written = match health.map(|health| health.written_bytes) {
            Ok(Some(written)) => written,
            Ok(None) => return Outcome::skipped(format!("{} does not report how much was written to it", ssd.name)),
            Err(reason) => return Outcome::skipped(format!("how much was written to the SSD: {reason}")),
        };
        let this = Written { name: &ssd.name, bytes: written, capacity: ssd.size_bytes };
        if least.as_ref().is_none_or(|known| this.times() < known.times()) {
            least = Some(this);
        }
    }
    let Some(least) = least else { return Outcome::NotApplicable };
    let observed =
        format!("{} written to {} in its life ({} capacities)", bytes(least.bytes), least.name, short(least.times()));
    if least.times() >= CAPACITIES {
        return Outcome::pass(format!("{observed}; a purge or trim since cannot be seen"));
    }
    let claim = match (at_rest, level) {
        (true, _) => "expect the write rates of a fresh drive",
        (false, Level::Warn) => "not a sustained rate",
        (false, _) => "the rate of a short burst",
    };
    let message = format!(
        "{} is not preconditioned ({} written to {}): {claim}.",
        least.name,
        bytes(least.bytes),
        bytes(least.capacity)
    );
    Outcome::found(level, observed, message)
}

struct Written<'a> {
    name: &'a str,
    bytes: u64,
    capacity: u64,
}

impl Written<'_> {
    fn times(&self) -> f64 {
        self.bytes as f64 / self.capacity as f64
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{GIB, MIB, Scene};
    use plumb_result::Level;

    /// An SSD of 1000 GiB with `written_gib` GiB written, under a phase of `seconds` seconds.
    fn ssd(written_gib: u64, seconds: u64) -> Scene {
        let mut scene = Scene::writing(GIB).on_ssd().health(|health| health.written_bytes = Some(written_gib * GIB));
        scene.measured().wall_ns = seconds * 1_000_000_000;
        scene
    }

    #[test]
    fn a_sustained_claim_needs_two_capacities() {
        assert_eq!(ssd(2000, 120).level("D3"), Some(Level::Pass));
        assert_eq!(ssd(1999, 120).level("D3"), Some(Level::Warn));
        let burst = ssd(1999, 10).finding("D3").unwrap();
        assert_eq!(burst.level, Level::Note);
        assert!(burst.message.contains("not preconditioned (2 TiB"), "{}", burst.message);
    }

    /// Plumb's own earlier writes count, even if the drive reports nothing.
    #[test]
    fn writes_of_earlier_phases_precondition() {
        let mut scene = ssd(0, 120).after_itself_at(1.0).unseen_drive("only root may read it");
        assert_eq!(scene.level_last("D3"), Some(Level::Skipped));
        for op in scene.measurement.phases[0].ops.values_mut() {
            op.bytes = 2000 * GIB;
        }
        assert_eq!(scene.level_last("D3"), Some(Level::Pass));
    }

    #[test]
    fn the_question_is_about_writes_to_an_ssd() {
        assert_eq!(Scene::reading(GIB).on_ssd().health(|health| health.written_bytes = Some(0)).level("D3"), None);
        assert_eq!(ssd(0, 120).rotational(true).level("D3"), None);
        assert_eq!(ssd(0, 120).virtual_time().level("D3"), None);
        assert_eq!(ssd(0, 1).at_rest().level("D3"), Some(Level::Note));
        assert_eq!(Scene::writing(MIB).on_ssd().unseen_drive("closed").level("D3"), Some(Level::Skipped));
    }
}
