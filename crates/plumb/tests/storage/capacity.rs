//! `plumb verify-capacity` on fake devices, on honest ones, and on a file system.

use crate::alone;
use crate::common::disks::{Loop, Mounted};
use crate::common::{Home, needs};
use crate::liar::{Liar, Lie};

const MIB: u64 = 1 << 20;

// Protects buyers: the probe finds a device that claims more than it has, and ends with 1 and its real capacity.
#[test]
fn a_device_that_lies_is_found() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mount", "umount"]) {
        return;
    }
    let found = |lie: Lie, options: &str| {
        let (liar, home) = (Liar::new(256 * MIB, 48 * MIB, lie), Home::new());
        let output = home.plumb(&format!("verify-capacity {options} --json {}", liar.device.display())).expect(1);
        let report = output.json();
        (
            report["verdict"].as_str().unwrap().to_owned(),
            report["holds_bytes"].as_u64(),
            report["claimed_bytes"].as_u64(),
        )
    };
    for options in ["--quick", ""] {
        assert_eq!(found(Lie::Drops, options), ("ends early".to_owned(), Some(48 * MIB), Some(256 * MIB)), "{options}");
        assert_eq!(
            found(Lie::Wraps, options),
            ("wraps around".to_owned(), Some(48 * MIB), Some(256 * MIB)),
            "{options}"
        );
    }
}

// Protects: an honest device is accepted only after all of it was read back; a device with data is refused.
#[test]
fn an_honest_device_holds_what_it_claims() {
    let _alone = alone();
    if !needs::root_and(&["losetup"]) {
        return;
    }
    let (disk, home) = (Loop::uncached(130 * MIB), Home::new());
    let output = home.plumb(&format!("verify-capacity {}", disk.device())).expect(0);
    assert!(output.out.contains("It holds what it claims: all"), "{}", output.out);
    let output = home.plumb(&format!("verify-capacity --quick --json {}", disk.device())).expect(0);
    assert_eq!(output.json()["verdict"], "nothing found");
    std::fs::write(&disk.device, "precious").unwrap();
    home.plumb(&format!("verify-capacity {}", disk.device())).expect(5).expect_stderr(&["--destroy"]);
}

// Protects an existing file system: 5 % of it stay free, nothing is left behind, and the uncovered part is reported.
#[test]
fn a_directory_is_checked_within_the_reserve() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let (mounted, home) = (Mounted::on_loop("ext4", 256 * MIB, ""), Home::new());
    std::fs::write(mounted.path().join("precious"), "data").unwrap();
    let output = home.plumb(&format!("verify-capacity {}", mounted.path().display())).expect(0);
    assert!(output.out.contains("that could be written came back as written"), "{}", output.out);
    assert!(output.out.contains("Not covered:"), "{}", output.out);
    let left: Vec<_> = std::fs::read_dir(mounted.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| ["precious", "lost+found"].contains(&name.to_str().unwrap())), "{left:?}");
    // A directory in memory is not a device.
    home.plumb("verify-capacity /dev/shm").expect(2).expect_stderr(&["there is no device to check"]);
}
