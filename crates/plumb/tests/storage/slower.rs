//! A slower target is found to be slower, with the reason.

use crate::alone;
use crate::common::disks::{Loop, Mounted};
use crate::common::groups::{Controller, Group};
use crate::common::{Home, needs};
use serde_json::Value;

const MIB: u64 = 1 << 20;

fn contrast<'a>(comparison: &'a Value, metric: &str) -> &'a Value {
    let contrasts = comparison["contrasts"].as_array().unwrap();
    contrasts
        .iter()
        .find(|contrast| contrast["metric"] == metric)
        .unwrap_or_else(|| panic!("no {metric} in {comparison:#}"))
}

#[test]
#[ignore = "lab tier: takes minutes"]
fn a_throttled_device_is_found_slower() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let [free, held] = [(); 2].map(|()| Mounted::on(Loop::in_memory(512 * MIB), "ext4", ""));
    let throttle =
        match Group::new(Controller::Io).and_then(|group| group.limit_reads(held.disk.as_ref().unwrap(), 500)) {
            Ok(throttle) => throttle,
            Err(why) => return needs::skip(&why),
        };
    let home = Home::new();
    let compare = |a: &Mounted, b: &Mounted| {
        let (a, b) = (a.as_str(), b.as_str());
        let line = format!("compare {a} {b} --for random-read --budget 25s --time 500ms --size 16MiB --json");
        throttle.plumb(&home, &line).json()
    };
    let comparison = compare(&free, &held);
    eprintln!("{}", comparison["verdict_note"]);
    let rate = contrast(&comparison, "read.iops");
    assert_eq!(rate["verdict"], "slower", "{comparison:#}");
    assert!(rate["hi"].as_f64().unwrap() < 0.95);
    let had = rate["candidate_value"].as_f64().unwrap();
    assert!(had < 1000.0, "500 a second are allowed, and {had} were had");
    // Swapped, the other one is faster.
    assert_eq!(contrast(&compare(&held, &free), "read.iops")["verdict"], "faster");
}

#[test]
#[ignore = "lab tier: takes minutes"]
fn a_journal_of_data_and_synchronous_writes_are_found_slower() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let plain = Mounted::on(Loop::in_memory(1024 * MIB), "ext4", "");
    let slow = Mounted::on(Loop::in_memory(1024 * MIB), "ext4", "data=journal,sync");
    let home = Home::new();
    let (a, b) = (plain.as_str(), slow.as_str());
    // Streams leave dirty pages to the next run, which E15 finds; files that are created one by one do not.
    let line = format!("compare {a} {b} --for small-files --budget 90s --time 1s --size 64MiB");
    let comparison = home.plumb(&format!("{line} --json")).json();
    eprintln!("{}\n{:#}", comparison["verdict_note"], comparison["differences"]);
    // The difference between them is named.
    let differences = comparison["differences"].as_array().unwrap();
    assert!(differences.iter().any(|one| one["fact"].as_str().unwrap().contains("options")), "{differences:#?}");
    assert!(
        differences.iter().any(|one| one["factor"] == "mount" && one["candidate"] == "journal"),
        "{differences:#?}"
    );
    // A tenth of the speed is obvious on any machine.
    assert_eq!(contrast(&comparison, "create.ops")["verdict"], "slower", "{comparison:#}");
}
