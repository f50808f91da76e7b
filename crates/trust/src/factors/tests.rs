use super::*;
use crate::comparison::SideRecord;
use crate::fixture::{GIB, MIB, Scene};

fn between(one: &Scene, other: &Scene) -> Vec<Difference> {
    let record = SideRecord::default();
    differences(&one.side("A", 6, &record), &other.side("B", 6, &record))
}

fn facts(differences: &[Difference]) -> Vec<(&str, &str)> {
    differences.iter().map(|one| (one.fact.as_str(), one.factor.as_str())).collect()
}

#[test]
fn a_set_up_does_not_differ_from_itself() {
    assert_eq!(between(&Scene::reading(MIB), &Scene::reading(MIB)), []);
}

/// Names, mount points, UUIDs and free bytes differ between any two instances.
#[test]
fn two_instances_of_one_kind_do_not_differ() {
    let (mut one, mut other) = (Scene::reading(MIB).on_loop(), Scene::reading(MIB).on_loop());
    one.relabel("loop0", "/mnt/a", "aaaa");
    other.relabel("loop7", "/mnt/b", "bbbb");
    assert_eq!(between(&one, &other), []);
}

#[test]
fn every_fact_of_the_environment_and_the_storage_counts() {
    let base = Scene::reading(MIB);
    for (other, fact, factor) in [
        (Scene::reading(MIB).kernel("6.12.0"), "environment.kernel", "kernel"),
        (Scene::reading(MIB).filesystem("xfs"), "target.data.filesystem.kind", "fs"),
        (Scene::reading(MIB).mount_option("data=journal"), "target.data.filesystem.options", "mount"),
        (Scene::reading(MIB).scheduler("bfq"), "target.data.stack.disk.0.scheduler", "scheduler"),
        (Scene::reading(MIB).serial("0123"), "target.data.stack.disk.0.serial", "device"),
        (Scene::reading(MIB).free(0.1), "target.data.filesystem.free", "fullness"),
        (Scene::reading(MIB).cgroup_memory(GIB), "environment.cgroup.memory_bytes", "limits"),
        (Scene::reading(MIB).sysctl("vm.dirty_ratio", "5"), "environment.facts.vm.dirty_ratio", "sysctl"),
        (Scene::reading(MIB).partition(MIB, 4096), "target.data.stack.partition.0", "layout"),
        (Scene::reading(MIB).simulated("sim:hdd"), "target.data.stack.sim.0", "sim"),
    ] {
        let found = between(&base, &other);
        assert!(facts(&found).contains(&(fact, factor)), "{fact}: {found:?}");
    }
}

#[test]
fn simulated_devices_differ_as_such() {
    let found = between(&Scene::reading(MIB).simulated("sim:hdd"), &Scene::reading(MIB).simulated("sim:hdd?slow=0.05"));
    assert_eq!(facts(&found), [("target.data.stack.sim.0.model", "sim")]);
}

#[test]
fn only_the_options_that_differ_are_shown() {
    let found = between(&Scene::reading(MIB), &Scene::reading(MIB).mount_option("data=journal"));
    assert_eq!((found[0].baseline.as_str(), found[0].candidate.as_str()), ("none", "data=journal"));
}

#[test]
fn another_disk_without_a_serial_is_another_disk() {
    let mut other = Scene::reading(MIB);
    other.rename_leaf("vdb");
    assert_eq!(facts(&between(&Scene::reading(MIB), &other)), [("target.data.leaves", "device")]);
}

#[test]
fn differences_outside_the_declared_factor_confound() {
    let fs = factor("fs").unwrap();
    let xfs = between(&Scene::reading(MIB), &Scene::reading(MIB).filesystem("xfs"));
    let more = between(&Scene::reading(MIB), &Scene::reading(MIB).filesystem("xfs").scheduler("bfq"));
    assert!(!confounded(&xfs, Some(fs), 1));
    assert!(confounded(&more, Some(fs), 1));
    assert!(confounded(&xfs, Some(factor("mount").unwrap()), 1));
    assert!(!confounded(&more, None, 1));
}

/// A single disk per side may be the better one; with several of a kind, disks are part of the spread between plots.
#[test]
fn the_particular_disk_confounds_only_a_single_provisioning() {
    let other = between(&Scene::reading(MIB), &Scene::reading(MIB).filesystem("xfs").serial("0123"));
    let fs = factor("fs").unwrap();
    assert!(confounded(&other, Some(fs), 1));
    assert!(!confounded(&other, Some(fs), 2));
}

/// Options that mean the same everywhere are not the file system's own.
#[test]
fn noatime_on_one_side_confounds_a_comparison_of_file_systems() {
    let found = between(&Scene::reading(MIB), &Scene::reading(MIB).filesystem("xfs").mount_option("noatime"));
    assert!(confounded(&found, Some(factor("fs").unwrap()), 1));
}

#[test]
fn every_factor_of_the_table_of_facts_can_be_declared() {
    for (path, word) in FACTS {
        if let Some(word) = word {
            assert!(factor(word).is_ok(), "{path:?}: {word}");
        }
    }
    assert!(FACTORS.iter().flat_map(|factor| factor.implies).all(|word| factor(word).is_ok()));
    assert!(factor("weather").unwrap_err().to_string().contains("scheduler"));
}
