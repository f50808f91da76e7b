use crate::check::{Check, Judge, Outcome};
use crate::comparison::{ComparisonSide, ComparisonView};
use plumb_result::observe::{BlockLayer, LayerKind};
use plumb_result::{Level, Remedy};
use std::collections::BTreeSet;

pub(crate) static CHECK: Check = Check {
    code: "D4",
    title: "Drive settings",
    what: "Whether the drives of the two sides had the same firmware, write cache, block format and power policy.",
    why: "Firmware changes the flash translation layer, a write cache that is off costs a revolution per op, and a \
          drive of 4 KiB blocks formatted to 512 bytes may read before it writes. Each of these is larger than most \
          differences between file systems.",
    how: "sysfs: `firmware_rev`, `queue/write_cache`, `logical_block_size`, `physical_block_size`, `metadata_bytes`, \
          `link_power_management_policy`, `pm_qos_latency_tolerance_us`. Firmware is compared between drives of one model.",
    threshold: "any difference warns; where the device is what is compared, it is noted",
    settled: "Nothing to settle: settings are equal or not.",
    fix: &[Remedy::words(
        "Configure both sides alike: `hdparm -W`, `nvme format --lbaf`, the same firmware and power policy.",
    )],
    judges: &[Judge::Comparison(examine)],
};

/// A setting of a drive.
struct DriveSetting {
    name: &'static str,
    of: fn(&BlockLayer) -> Option<String>,
}

const SETTINGS: &[DriveSetting] = &[
    DriveSetting { name: "write cache", of: |drive| drive.write_cache.clone() },
    DriveSetting { name: "logical block", of: |drive| drive.logical_block_bytes.map(|bytes| format!("{bytes} bytes")) },
    DriveSetting {
        name: "physical block",
        of: |drive| drive.physical_block_bytes.map(|bytes| format!("{bytes} bytes")),
    },
    DriveSetting {
        name: "metadata of a block",
        of: |drive| Some(format!("{} bytes", drive.settings.get("metadata_bytes")?)),
    },
    DriveSetting { name: "link power policy", of: |drive| drive.settings.get("link_power_management_policy").cloned() },
    DriveSetting {
        name: "tolerated wake-up time",
        of: |drive| Some(format!("{} µs", drive.settings.get("apst_latency_tolerance_us")?)),
    },
];

fn drives<'a>(side: &ComparisonSide<'a>) -> Vec<&'a BlockLayer> {
    let layers = side.targets.values().flat_map(|facts| {
        facts.stack.iter().filter(|layer| layer.kind == LayerKind::Disk && facts.leaves.contains(&layer.name))
    });
    layers.collect()
}

/// Returns the distinct values of a setting over a side's drives.
fn values(drives: &[&BlockLayer], of: fn(&BlockLayer) -> Option<String>) -> BTreeSet<String> {
    BTreeSet::from_iter(drives.iter().filter_map(|drive| of(drive)))
}

fn examine(view: &ComparisonView<'_>) -> Outcome {
    let (one, other) = (drives(&view.baseline), drives(&view.candidate));
    if one.is_empty() || other.is_empty() {
        return Outcome::NotApplicable;
    }
    let model = |drive: &BlockLayer| drive.model.clone();
    let one_model = values(&one, model) == values(&other, model);
    let firmware = DriveSetting { name: "firmware", of: |drive| drive.firmware.clone() };
    let settings = SETTINGS.iter().chain(one_model.then_some(&firmware));
    let mut compared: Vec<&str> = Vec::new();
    let mut differ: Vec<String> = Vec::new();
    for setting in settings {
        let (first, second) = (values(&one, setting.of), values(&other, setting.of));
        // A value that one side does not report is not a difference.
        if first.is_empty() || second.is_empty() {
            continue;
        }
        compared.push(setting.name);
        if first != second {
            let list = |values: &BTreeSet<String>| values.iter().cloned().collect::<Vec<_>>().join(" and ");
            differ.push(format!(
                "{}: {} on {}, {} on {}",
                setting.name,
                list(&first),
                view.baseline.name,
                list(&second),
                view.candidate.name
            ));
        }
    }
    if compared.is_empty() {
        return Outcome::skipped("the drives report none of their settings");
    }
    if differ.is_empty() {
        return Outcome::pass(format!("alike in {}", compared.join(", ")));
    }
    let declared = view.varying.is_some_and(|factor| factor.name == "device" || factor.implies.contains(&"device"));
    let level = if declared { Level::Note } else { Level::Warn };
    let list = differ.join("; ");
    Outcome::found(level, list.clone(), format!("The sides' drives have different settings: {list}."))
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene, compare};
    use plumb_result::Level;
    use plumb_result::observe::BlockLayer;

    fn level(mutate: impl FnOnce(&mut BlockLayer), varying: Option<&str>) -> Option<Level> {
        let known = |disk: &mut BlockLayer| {
            disk.model = Some("M".to_owned());
            disk.firmware = Some("F1".to_owned());
        };
        let baseline = Scene::reading(MIB).leaf_layer(known);
        compare(&baseline, &baseline.clone().leaf_layer(mutate), 6, varying).level("D4")
    }

    #[test]
    fn drives_that_are_set_differently_warn() {
        assert_eq!(level(|_| {}, None), Some(Level::Pass));
        assert_eq!(level(|disk| disk.firmware = Some("F2".to_owned()), None), Some(Level::Warn));
        assert_eq!(level(|disk| disk.write_cache = Some("write through".to_owned()), None), Some(Level::Warn));
        assert_eq!(level(|disk| disk.logical_block_bytes = Some(4096), None), Some(Level::Warn));
        let link = |disk: &mut BlockLayer| {
            disk.settings.insert("metadata_bytes".to_owned(), "8".to_owned());
        };
        assert_eq!(level(link, None), Some(Level::Pass), "a value that one side does not report is not a difference");
    }

    #[test]
    fn it_is_noted_if_the_device_is_compared() {
        let other = |disk: &mut BlockLayer| disk.write_cache = Some("write through".to_owned());
        assert_eq!(level(other, Some("device")), Some(Level::Note));
        assert_eq!(level(other, Some("host")), Some(Level::Note));
        assert_eq!(level(other, Some("fs")), Some(Level::Warn));
    }

    /// Another model has another firmware, which means nothing.
    #[test]
    fn firmware_counts_within_one_model() {
        let other = |disk: &mut BlockLayer| {
            disk.model = Some("N".to_owned());
            disk.firmware = Some("F2".to_owned());
        };
        assert_eq!(level(other, None), Some(Level::Pass));
    }

    #[test]
    fn simulated_devices_have_no_settings_and_silent_ones_are_skipped() {
        let sim = Scene::reading(MIB).simulated("sim:hdd");
        assert_eq!(compare(&sim, &sim, 6, None).level("D4"), None);
        let silent = Scene::reading(MIB).leaf_layer(|disk| {
            disk.write_cache = None;
            disk.logical_block_bytes = None;
            disk.physical_block_bytes = None;
        });
        assert_eq!(compare(&silent, &silent, 6, None).level("D4"), Some(Level::Skipped));
    }
}
