//! The four traps of storage benchmarks, each identified correctly.

use crate::alone;
use crate::common::disks::Mounted;
use crate::common::{Home, assert_found, findings, metric, needs};
use std::path::Path;

/// Returns a read of 64 MiB, once, in 1 MiB requests.
fn reading(prepare: &str, cache: &str) -> String {
    format!(
        "name = \"trap\"\n[target.data.file]\npath = \"data\"\nsize = \"64MiB\"\nprepare = \"{prepare}\"\n[[phase]]\n\
         name = \"trap\"\ncache = \"{cache}\"\n[[phase.workers]]\ntarget = \"data\"\nwork.blocks.block = \"1MiB\"\n"
    )
}

/// Returns a write of 64 MiB, once, in 1 MiB requests.
fn writing(end: &str) -> String {
    format!(
        "name = \"trap\"\n[target.data.file]\npath = \"data\"\nsize = \"64MiB\"\nprepare = \"nothing\"\n[[phase]]\n\
         name = \"trap\"\n{end}\n[[phase.workers]]\ntarget = \"data\"\nwork.blocks.block = \"1MiB\"\nwork.blocks.mix.write = 100\n"
    )
}

fn all_traps(path: &Path) {
    let home = Home::new();
    let place = path.to_str().unwrap();
    let run = |text: &str| {
        home.file("trap.toml", text);
        home.plumb(&format!("run trap.toml --at {place} --json"))
    };
    let tier =
        |result: &serde_json::Value, name: &str| metric(result, "trap", name)["tier"].as_str().unwrap().to_owned();

    // Direct reads of a hole and of a block that was never written: fast, but meaningless.
    for (prepare, called) in [("sparse", "holes"), ("allocate", "never written")] {
        for cache in ["direct", "cold"] {
            let output = run(&reading(prepare, cache)).expect(3);
            let result = output.json();
            assert_eq!(result["verdict"], "reject");
            assert_found(&result, "A4", "fail", called);
            assert_ne!(tier(&result, "read.bw"), "device", "{prepare} {cache}");
        }
    }

    // A cached read is at the cache's rate, which is fine if it was requested.
    let warm = run(&reading("write", "warm")).json();
    assert_eq!(tier(&warm, "read.bw"), "cache");
    assert_eq!(findings(&warm, "A1", "fail").len(), 0);
    assert_found(&warm, "A1", "note", "of the bytes read came from");
    // Without preparation: just written, so in memory.
    let as_is = run(&reading("write", "as-is")).json();
    assert_eq!(tier(&as_is, "read.bw"), "cache");
    assert_found(&as_is, "A1", "note", "of the bytes read came from");
    // Two passes over a cold file: the second one is served from memory, although a cold read was requested.
    let twice = run(&format!("{}limit.passes = 4\n", reading("write", "cold"))).expect(3).json();
    assert_found(&twice, "A1", "fail", "despite `cache = \"cold\"`");
    assert_ne!(tier(&twice, "read.bw"), "device");
    // Really cold, it is at the device's rate.
    let cold = run(&reading("write", "cold")).json();
    assert_eq!(findings(&cold, "A1", "fail").len() + findings(&cold, "A4", "fail").len(), 0, "{:#}", cold["checks"]);
    assert_eq!(tier(&cold, "read.bw"), "device");

    // A write that is not waited for.
    let outside = run(&writing("end = { flush = \"fsync\", clock = \"outside\" }")).expect(3).json();
    assert_found(&outside, "A3", "fail", "still in memory when the clock stopped");
    assert_ne!(tier(&outside, "write.bw"), "device");
    let declared = run(&writing("end.flush = \"none\"")).json();
    assert_found(&declared, "A3", "note", "by design");
    assert_ne!(tier(&declared, "write.bw"), "device");
    assert_eq!(findings(&declared, "A3", "fail").len(), 0);
    let durable = run(&writing("end.flush = \"fsync\"")).json();
    assert_eq!(findings(&durable, "A3", "fail").len(), 0, "{:#}", durable["checks"]);
    assert_eq!(tier(&durable, "write.bw"), "device");
}

#[test]
fn each_trap_is_called_what_it_is_on_a_loop_device() {
    let _alone = alone();
    if needs::root_and(&["losetup", "mkfs.ext4"]) {
        all_traps(Mounted::on_loop("ext4", 512 << 20, "").path());
    }
}

#[test]
fn each_trap_is_called_what_it_is_where_the_build_lies() {
    let _alone = alone();
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let kind = Home::new().plumb(&format!("check {} --json", place.display())).json();
    let filesystem = &kind["target"]["filesystem"]["yes"];
    if filesystem["in_memory"] == true || filesystem["remote"] == true || filesystem["kind"] == "overlay" {
        return needs::skip("the build lies on storage without a device of its own");
    }
    all_traps(place);
}
