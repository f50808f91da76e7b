use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, RunView};
use plumb_result::Remedy;
use plumb_result::conditions::PowerSource;

/// Policies of a SATA link that never let it sleep.
const AWAKE: &[&str] = &["max_performance", "keep_firmware_settings"];

pub(crate) static CHECK: Check = Check {
    code: "C10",
    title: "Power saving",
    what: "Whether the machine ran on battery, and whether the SATA link or the NVMe drive may sleep between ops.",
    why: "A link in partial or slumber state wakes within microseconds to milliseconds, a drive in a low power state \
          within tens of milliseconds: at low depth that is most of the latency. Serial ATA specification, \"Interface \
          power states\"; NVM Express Base Specification, \"Autonomous Power State Transitions\".",
    how: "`/sys/class/power_supply`; `link_power_management_policy` of the SATA port; `pm_qos_latency_tolerance_us` of \
          the NVMe controller, where 0 means never.",
    threshold: "a battery, a link policy other than max_performance, or power state transitions are noted",
    settled: "Nothing to settle: there is no number in it.",
    fix: &[Remedy::words(
        "Plug the machine in; `echo max_performance > /sys/class/scsi_host/hostN/link_power_management_policy`; `echo \
          0 > /sys/class/nvme/nvmeN/power/pm_qos_latency_tolerance_us`.",
    )],
    judges: &[Judge::Run(examine)],
};

fn examine(view: &RunView<'_>) -> Outcome {
    let on_devices = || view.phases.iter().filter(|phase| !phase.is_virtual_time());
    if !on_devices().any(|phase| matches!(phase.ground, Ground::Device)) {
        return Outcome::NotApplicable;
    }
    let powers =
        || on_devices().flat_map(|phase| [&phase.seen.conditions.before.power, &phase.seen.conditions.after.power]);
    let mut saving: Vec<String> = Vec::new();
    if powers().any(|power| power.value() == Some(&PowerSource::Battery)) {
        saving.push("the machine ran on battery".to_owned());
    }
    let mut leaves: Vec<&str> = Vec::new();
    for leaf in on_devices().flat_map(|phase| phase.leaves()) {
        if leaves.contains(&leaf.name.as_str()) {
            continue;
        }
        leaves.push(&leaf.name);
        if let Some(policy) = leaf.settings.get("link_power_management_policy")
            && !AWAKE.contains(&policy.as_str())
        {
            saving.push(format!("the link of {} may sleep ({policy})", leaf.name));
        }
        if let Some(tolerance) = leaf.settings.get("apst_latency_tolerance_us")
            && tolerance != "0"
        {
            saving.push(format!("{} may enter a low power state (up to {tolerance} µs to wake)", leaf.name));
        }
    }
    if !saving.is_empty() {
        let list = saving.join("; ");
        let mut message = format!("{list}.");
        if let Some(first) = message.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        return Outcome::note(list, message);
    }
    match powers().find_map(|power| power.as_result().err()) {
        Some(reason) if !powers().any(|power| power.value().is_some()) => Outcome::skipped(reason),
        _ => Outcome::pass("mains power, and no device is known to sleep"),
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;

    #[test]
    fn a_battery_and_what_may_sleep_are_noted() {
        let scene = || Scene::reading(MIB);
        assert_eq!(scene().level("C10"), Some(Level::Pass));
        assert_eq!(scene().on_battery().level("C10"), Some(Level::Note));
        let link = |policy| scene().disk_setting("link_power_management_policy", policy).level("C10");
        assert_eq!(link("med_power_with_dipm"), Some(Level::Note));
        assert_eq!(link("max_performance"), Some(Level::Pass));
        let apst = |tolerance| scene().disk_setting("apst_latency_tolerance_us", tolerance).level("C10");
        assert_eq!((apst("0"), apst("100000")), (Some(Level::Pass), Some(Level::Note)));
    }

    #[test]
    fn sentences_begin_with_a_capital() {
        let message = Scene::reading(MIB).on_battery().finding("C10").unwrap().message;
        assert_eq!(message, "The machine ran on battery.");
    }

    #[test]
    fn unexamined_conditions_are_skipped() {
        assert_eq!(Scene::reading(MIB).unseen_conditions().level("C10"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).virtual_time().level("C10"), None);
        assert_eq!(Scene::reading(MIB).in_memory().level("C10"), None);
    }
}
