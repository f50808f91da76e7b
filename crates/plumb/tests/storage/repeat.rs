//! Repeated loads on real storage.

use crate::alone;
use crate::common::disks::Mounted;
use crate::common::{Home, needs};

const MIB: u64 = 1 << 20;

/// Protects: every named load of SNIA's method runs end to end on ext4, says whether it was steady, and leaves nothing
/// behind. Whether it becomes steady depends on the machine and its other users.
#[test]
fn rounds_run_on_a_real_file_system() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let (mounted, home) = (Mounted::on_loop("ext4", 256 * MIB, ""), Home::new());
    for (load, phases) in
        [("pts-iops-like", 56), ("pts-throughput-128k-like", 2), ("pts-throughput-1m-like", 2), ("pts-latency-like", 9)]
    {
        let settings = "--set size=16MiB --set time=20ms --set repeat.rounds.max-rounds=6";
        let line = format!("run {load} --at {} {settings} --report r.html --json", mounted.as_str());
        let output = home.plumb(&line);
        assert!([0, 1, 3].contains(&output.code), "{load}: {}\n{}", output.code, output.err);
        let rounds = output.json();
        let runs = rounds["runs"].as_array().unwrap().len();
        assert_eq!(rounds["phases"].as_array().unwrap().len(), phases, "{load}");
        let is_steady = rounds["tracked"].as_array().unwrap().iter().all(|one| one["is_steady"] == true);
        assert_eq!(rounds["steady"].is_null(), !is_steady, "{rounds:#}");
        assert!((5..=6).contains(&runs) && (is_steady || runs == 6), "{load}: {runs} rounds");
        let note = rounds["verdict_note"].as_str().unwrap();
        assert!(note.starts_with(if is_steady { "Steady: rounds" } else { "Not steady: no 5 rounds" }), "{note}");
        for phase in rounds["phases"].as_array().unwrap() {
            assert!(phase["figures"][0]["value"].as_f64().is_some_and(|value| value > 0.0), "{phase:#}");
        }
        let html = std::fs::read_to_string(home.work().join("r.html")).unwrap();
        assert!(html.contains("Steady-state window") && html.contains("This is not an official SNIA PTS result."));
    }
    nothing_is_left(&mounted);
}

/// Protects: stamped writes are read back intact on a real file system.
#[test]
fn what_was_written_persists() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let (mounted, home) = (Mounted::on_loop("ext4", 256 * MIB, ""), Home::new());
    let line =
        format!("run spc1-persistence-like --at {} --set size=32MiB --set phase.0.stop.time=1s", mounted.as_str());
    let output = home.plumb(&format!("{line} --json"));
    assert!([0, 3].contains(&output.code), "{}\n{}", output.code, output.err);
    let result = output.json();
    let bytes = |phase: usize, kind: &str| result["phases"][phase]["done"][kind]["bytes"].as_u64().unwrap();
    assert!(bytes(0, "write") > 0);
    assert_eq!(bytes(1, "read"), 32 * MIB, "every block is read back");
    let checks = result["checks"].as_array().unwrap();
    assert!(checks.iter().all(|finding| finding["code"] != "B9" || finding["level"] != "fail"), "{checks:#?}");
    nothing_is_left(&mounted);
}

fn nothing_is_left(mounted: &Mounted) {
    let left = std::fs::read_dir(mounted.as_str()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).filter(|name| name != "lost+found").collect();
    assert!(left.is_empty(), "{left:?}");
}
