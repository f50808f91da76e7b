use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::text::{count, short};
use plumb_result::Remedy;
use plumb_result::conditions::Heat;

pub(crate) static CHECK: Check = Check {
    code: "C7",
    title: "Device temperature",
    what: "Whether a disk was above its warning temperature, or throttled itself because of heat.",
    why: "An NVMe drive halves its rate within seconds of a thermal transition, and sustained writes bring most of \
          them there without airflow. NVM Express Base Specification, \"Host Controlled Thermal Management\".",
    how: "Temperatures and limits of the hwmon devices nvme and drivetemp before and after the phase; the counters of \
          thermal transitions and of time above the warning temperature in the NVMe health log, where it may be read.",
    threshold: "above the warning temperature, an alarm of the device, or any thermal transition during the phase fails",
    settled: "Nothing to settle: the limits are the device's own.",
    fix: &[Remedy::words(
        "Cool the device and let it rest, then measure again; for a sustained rate, measure until it is steady.",
    )],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.is_virtual_time() || !matches!(view.ground, Ground::Device) {
        return Outcome::NotApplicable;
    }
    let (before, after) = (&view.seen.conditions.before, &view.seen.conditions.after);
    let mut pass: Vec<String> = Vec::new();
    let mut unseen: Option<String> = None;
    for leaf in view.leaves() {
        let name = leaf.name.as_str();
        let delta = |pick: fn(&plumb_result::conditions::DeviceHealth) -> Option<u64>| {
            let at = |seen: &plumb_result::conditions::Conditions| pick(seen.health.get(name)?.value()?);
            Some(at(after)?.saturating_sub(at(before)?))
        };
        let throttled = delta(|health| health.thermal_throttles);
        if let Some(times) = throttled.filter(|times| *times > 0) {
            let observed = format!("{name} slowed down {}", count(times, "time"));
            return Outcome::fail(
                observed,
                format!("{name} throttled itself {} because of heat.", count(times, "time")),
            );
        }
        let hot = delta(|health| health.hot_minutes);
        if let Some(minutes) = hot.filter(|minutes| *minutes > 0) {
            let minutes = count(minutes, "minute");
            return Outcome::fail(
                format!("{name} too hot for {minutes}"),
                format!("{name} was above its warning temperature for {minutes} of the phase."),
            );
        }
        let readings: Vec<&Heat> = [before, after].iter().filter_map(|seen| seen.heat.get(name)?.value()).collect();
        let too_hot =
            readings.iter().find(|heat| heat.alarm || heat.warning_celsius.is_some_and(|at| heat.celsius > at));
        if let Some(heat) = too_hot {
            let limit = match heat.warning_celsius {
                Some(limit) => format!("it warns at {} °C", short(limit)),
                None => "it raises an alarm".to_owned(),
            };
            let observed = format!("{name} at {} °C", short(heat.celsius));
            return Outcome::fail(observed.clone(), format!("{observed} is too hot: {limit}."));
        }
        let hottest = readings.iter().max_by(|one, other| one.celsius.total_cmp(&other.celsius));
        match (hottest, throttled) {
            (Some(heat), _) => pass.push(format!("{name} at {} °C", short(heat.celsius))),
            (None, Some(_)) => pass.push(format!("{name} did not slow down")),
            (None, None) => {
                let reason = before
                    .heat
                    .get(name)
                    .map_or(Err("the temperature was not read"), |heat| heat.as_result().map(|_| ()));
                unseen.get_or_insert_with(|| reason.err().unwrap_or("the temperature was not read").to_owned());
            }
        }
    }
    match unseen {
        Some(reason) => Outcome::skipped(reason),
        None => Outcome::pass(pass.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Moment, Scene};
    use plumb_result::Level;
    use plumb_result::conditions::Heat;

    fn degrees(celsius: f64) -> Heat {
        Heat { celsius, warning_celsius: Some(70.0), critical_celsius: Some(80.0), alarm: false }
    }

    #[test]
    fn above_the_warning_temperature_fails() {
        assert_eq!(Scene::reading(MIB).level("C7"), Some(Level::Pass));
        assert_eq!(Scene::reading(MIB).heat(Moment::After, degrees(70.0)).level("C7"), Some(Level::Pass));
        let finding = Scene::reading(MIB).heat(Moment::After, degrees(71.5)).finding("C7").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert_eq!(finding.message, "vda at 71.5 °C is too hot: it warns at 70 °C.");
        let alarm = Heat { alarm: true, warning_celsius: None, ..degrees(50.0) };
        assert_eq!(Scene::reading(MIB).heat(Moment::Before, alarm).level("C7"), Some(Level::Fail));
    }

    /// A drive that cooled down again before the second reading has still slowed down.
    #[test]
    fn a_thermal_transition_fails() {
        let slowed = Scene::reading(MIB).health_after(|health| health.thermal_throttles = Some(5));
        assert_eq!(slowed.level("C7"), Some(Level::Fail));
        let hot = Scene::reading(MIB).health_after(|health| health.hot_minutes = Some(10));
        assert_eq!(hot.level("C7"), Some(Level::Fail));
    }

    #[test]
    fn a_disk_without_a_sensor_is_skipped() {
        assert_eq!(Scene::reading(MIB).unseen_drive("vda has no temperature").level("C7"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).unseen_conditions().level("C7"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).virtual_time().level("C7"), None);
        assert_eq!(Scene::reading(MIB).in_memory().level("C7"), None);
    }
}
