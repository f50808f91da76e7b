use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, RunView};
use crate::text::count;
use plumb_result::conditions::{Conditions, DeviceHealth};
use plumb_result::{Level, Remedy, Seen};

/// Above this share of its rated life, percent, a drive is near its end.
const WORN_PERCENT: u64 = 80;

pub(crate) static CHECK: Check = Check {
    code: "C8",
    title: "Device health",
    what: "Whether a disk counted new errors during the run, reports a warning, or is nearly worn out.",
    why: "A disk with pending sectors retries reads for seconds, and a bad cable repeats transfers: both look like \
          slow storage. Bairavasundaram et al., \"An Analysis of Latent Sector Errors in Disk Drives\", SIGMETRICS \
          2007.",
    how: "NVMe SMART / Health log (02h): critical warning, media errors, percentage used; SATA SMART attributes 5, \
          197, 198, 199 (errors) and 231, 233 (life left). Before and after; only root may read them.",
    threshold: "any error counted during the run, or read-only mode, fails; any other warning of the drive warns; wear \
                beyond 80 % is noted",
    settled: "Nothing to settle for errors: one during a run is one too many. 80 % of the rated life is a convention, \
              and only noted.",
    fix: &[Remedy::words("Check `smartctl -a`, cables and cooling, and do not measure on a failing disk.")],
    judges: &[Judge::Run(examine)],
};

fn examine(view: &RunView<'_>) -> Outcome {
    let on_devices = view.phases.iter().any(|phase| matches!(phase.ground, Ground::Device) && !phase.is_virtual_time());
    if !on_devices {
        return Outcome::NotApplicable;
    }
    // Observations in time order; one that was not made does not count.
    let observations: Vec<&Conditions> = view
        .phases
        .iter()
        .flat_map(|phase| [&phase.seen.conditions.before, &phase.seen.conditions.after])
        .filter(|observation| observation.at_unix_s.is_some())
        .collect();
    let Some((first, last)) = observations.first().zip(observations.last()) else {
        return Outcome::skipped("the devices' health was not read");
    };
    let mut worst: Option<Outcome> = None;
    let mut healthy: Vec<String> = Vec::new();
    let mut unseen: Option<&str> = None;
    for (name, before) in &first.health {
        match (before, last.health.get(name)) {
            (Seen::Yes(before), Some(Seen::Yes(after))) => match of_device(name, before, after) {
                Outcome::Pass { observed } => healthy.push(observed),
                found => worst = Some(worse(worst, found)),
            },
            (Seen::No(reason), _) | (_, Some(Seen::No(reason))) => unseen = unseen.or(Some(reason)),
            (_, None) => unseen = unseen.or(Some("a device went away")),
        }
    }
    match (worst, unseen) {
        (Some(worst), _) => worst,
        (None, Some(reason)) => Outcome::skipped(reason),
        (None, None) if healthy.is_empty() => Outcome::NotApplicable,
        (None, None) => Outcome::pass(healthy.join(", ")),
    }
}

fn of_device(name: &str, before: &DeviceHealth, after: &DeviceHealth) -> Outcome {
    let grown: Vec<String> = after
        .errors
        .iter()
        .filter_map(|(what, now)| {
            let more = now.saturating_sub(before.errors.get(what).copied().unwrap_or(*now));
            (more > 0).then(|| format!("{more} more {what}"))
        })
        .collect();
    if !grown.is_empty() {
        let list = grown.join(", ");
        return Outcome::fail(format!("{name}: {list}"), format!("{name} counted {list} during the run."));
    }
    if !after.warnings.is_empty() {
        let list = after.warnings.join(", ");
        let level = if list.contains("read-only") { Level::Fail } else { Level::Warn };
        return Outcome::found(level, format!("{name}: {list}"), format!("{name} reports: {list}."));
    }
    if let Some(wear) = after.wear_percent.filter(|wear| *wear > WORN_PERCENT) {
        let message = format!("{name} has used {wear} % of its rated life.");
        return Outcome::note(format!("{name} worn to {wear} %"), message)
            .remedy("Do not take these rates for those of a new drive.");
    }
    let standing: u64 = after.errors.values().sum();
    Outcome::pass(format!("{name} counted no new errors ({} in its life)", count(standing, "error")))
}

fn level(outcome: &Outcome) -> Level {
    match outcome {
        Outcome::Found(found) => found.level,
        Outcome::NotApplicable | Outcome::Skipped { .. } | Outcome::Pass { .. } => Level::Pass,
    }
}

fn worse(known: Option<Outcome>, other: Outcome) -> Outcome {
    match known {
        Some(known) if level(&known) >= level(&other) => known,
        _ => other,
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;

    #[test]
    fn errors_that_grow_fail_and_old_ones_do_not() {
        assert_eq!(Scene::reading(MIB).level("C8"), Some(Level::Pass));
        let grown = Scene::reading(MIB).health_after(|health| {
            health.errors.insert("pending sectors".to_owned(), 3);
        });
        let finding = grown.finding("C8").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert_eq!(finding.message, "vda counted 1 more pending sectors during the run.");
    }

    #[test]
    fn warnings_of_the_drive_and_wear_are_graded() {
        let warns = |word: &'static str| {
            Scene::reading(MIB).health(|health| health.warnings = vec![word.to_owned()]).level("C8")
        };
        assert_eq!(warns("reliability degraded"), Some(Level::Warn));
        assert_eq!(warns("read-only"), Some(Level::Fail));
        let worn = |percent| Scene::reading(MIB).health(|health| health.wear_percent = Some(percent)).level("C8");
        assert_eq!((worn(80), worn(81)), (Some(Level::Pass), Some(Level::Note)));
    }

    /// An error between two phases is an error of the run.
    #[test]
    fn the_first_observation_is_compared_with_the_last() {
        let mut scene = Scene::reading(MIB).after_itself_at(1.0);
        for (position, pending) in [2, 2, 3, 3].into_iter().enumerate() {
            let seen = &mut scene.observations.phases[position / 2].conditions;
            let observation = if position % 2 == 0 { &mut seen.before } else { &mut seen.after };
            if let Some(plumb_result::Seen::Yes(health)) = observation.health.get_mut("vda") {
                health.errors.insert("pending sectors".to_owned(), pending);
            }
        }
        assert_eq!(scene.level("C8"), Some(Level::Fail));
    }

    #[test]
    fn a_disk_without_health_data_is_skipped() {
        assert_eq!(Scene::reading(MIB).unseen_drive("only root may read it").level("C8"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).unseen_conditions().level("C8"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).in_memory().level("C8"), None);
        assert_eq!(Scene::reading(MIB).virtual_time().level("C8"), None);
    }
}
