//! The I/O of each disk in RAID 4 and 5, compared with the arithmetic of parity.

use super::vm::{kernel, spec};
use super::{Site, alone, job, silent, steps};
use crate::common::needs;
use plumb_lab::protocol::{DeviceCounts, HostWork};
use plumb_lab::step::Safety;
use plumb_lab::{Host, Vm};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const DISKS: u64 = 3;
const CHUNK: u64 = 256 << 10;
/// Bytes of data in a stripe: the chunks of all disks but one.
const STRIPE: u64 = CHUNK * (DISKS - 1);
/// md reads and writes parity page by page.
const PAGE: u64 = 4096;
const STRIPES: u64 = 32;

/// Bytes that each disk should read and write.
type Expected = [DeviceCounts; DISKS as usize];

/// Returns the disks of a stripe's parity and of its two data chunks. RAID 4 has parity on the last disk. RAID 5 moves
/// it from the last disk to the first, with data after it: `left-symmetric`, md's default. Source: mdadm(8),
/// `--layout`.
fn places(level: u64, stripe: u64) -> (usize, [usize; 2]) {
    let parity = if level == 4 { DISKS - 1 } else { DISKS - 1 - stripe % DISKS };
    let data = |chunk: u64| if level == 4 { chunk } else { (parity + 1 + chunk) % DISKS };
    (parity as usize, [data(0) as usize, data(1) as usize])
}

/// Computes the I/O of parity, page by page of a stripe. If all data is written, parity follows from it and nothing is
/// read. If one of two chunks is written, the other is read (one page, instead of two for the overwritten data and the
/// old parity), and data and parity are written. No stripe may be written twice, because md caches the last ones.
fn expected(level: u64, writes: &[(u64, u64)]) -> Expected {
    let mut found = Expected::default();
    let mut rows: BTreeMap<(u64, u64), BTreeSet<usize>> = BTreeMap::new();
    for &(offset, length) in writes {
        for at in (offset..offset + length).step_by(PAGE as usize) {
            let (stripe, inside) = (at / STRIPE, at % STRIPE);
            let is_new = rows.entry((stripe, inside % CHUNK)).or_default().insert((inside / CHUNK) as usize);
            assert!(is_new, "written twice: {at}");
        }
    }
    for ((stripe, _), written) in rows {
        let (parity, data) = places(level, stripe);
        for (chunk, disk) in data.into_iter().enumerate() {
            if written.contains(&chunk) {
                found[disk].written_bytes += PAGE;
            } else {
                found[disk].read_bytes += PAGE;
            }
        }
        found[parity].written_bytes += PAGE;
    }
    found
}

/// Returns writes of this size at these offsets of the array, one after another.
fn writes(offsets: &[u64], block: u64) -> HostWork {
    let list = offsets.iter().map(|offset| format!("\"{offset}\"")).collect::<Vec<_>>().join(", ");
    let toml = format!(
        "name = \"writes\"\n\n[target.array.device]\npath = \"/${{made.r}}\"\n\n[[phase]]\nname = \"write\"\ncache = \"direct\"\nstop.ops = {}\n\n\
         [[phase.workers]]\ntarget = \"array\"\nwork.blocks.pattern = {{ list = [{list}] }}\n\
         work.blocks.block = \"{block}\"\nwork.blocks.mix.write = 100\n",
        offsets.len()
    );
    HostWork::Native { toml }
}

/// Returns offsets of one page in each stripe, in a fixed pseudorandom order.
fn scattered() -> Vec<u64> {
    let mut state = 7u64;
    let mut next = |below: u64| {
        // Knuth's MMIX generator; its high bits.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut offsets: Vec<u64> = (0..STRIPES).map(|stripe| stripe * STRIPE + next(STRIPE / PAGE) * PAGE).collect();
    for place in (1..offsets.len()).rev() {
        offsets.swap(place, next(place as u64 + 1) as usize);
    }
    offsets
}

fn agrees(level: u64) {
    if !kernel("6.1") || !needs::tools(&["mdadm"]) {
        return;
    }
    let _alone = alone();
    let site = Site::new();
    let mut vm = Vm::boot(&spec("6.1", &["32MiB", "32MiB", "32MiB"]), &site.surroundings()).unwrap();
    let full: Vec<u64> = (0..STRIPES).map(|stripe| stripe * STRIPE).collect();
    // Alternately the first and the second chunk.
    let part: Vec<u64> = (0..STRIPES).map(|stripe| stripe * STRIPE + stripe % 2 * CHUNK).collect();
    for (what, offsets, block) in
        [("full stripes", full, STRIPE), ("partial stripes", part, 64 << 10), ("small writes", scattered(), PAGE)]
    {
        // Rebuilt, because md must not have cached stripes of earlier measurements.
        let array = json!([
            { "kind": "mdadm", "name": "r", "level": level, "devices": "@disks", "chunk": "256KiB", "safe-mode-delay": 0 },
        ]);
        vm.build("parity", &steps(array), &Safety::default(), &mut silent()).unwrap();
        // The first write marks the array as in use in the superblocks.
        let first = job(writes(&[STRIPES * STRIPE], STRIPE), Path::new("/tmp"), 120);
        assert_eq!(vm.run(&first, &mut silent()).unwrap().exit_code & !3, 0);
        let answer = vm.run(&job(writes(&offsets, block), Path::new("/tmp"), 120), &mut silent()).unwrap();
        assert!(answer.result.is_some(), "{answer:?}");
        let expected = expected(level, &offsets.iter().map(|&offset| (offset, block)).collect::<Vec<_>>());
        for (disk, expected) in ["vda", "vdb", "vdc"].into_iter().zip(expected) {
            let found = answer.devices[disk].counts;
            assert_eq!(
                (found.read_bytes, found.written_bytes),
                (expected.read_bytes, expected.written_bytes),
                "RAID {level}, {what}, {disk}: {:#?}",
                answer.devices
            );
        }
        vm.undo(&mut silent()).unwrap();
    }
    Box::new(vm).close().unwrap();
}

/// Exact bytes that each disk of a RAID 4 reads and writes.
#[test]
#[ignore = "lab tier: boots a virtual machine"]
fn of_raid_4() {
    agrees(4);
}

/// The same for RAID 5, whose parity moves from disk to disk.
#[test]
#[ignore = "lab tier: boots a virtual machine"]
fn of_raid_5() {
    agrees(5);
}
