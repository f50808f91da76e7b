//! Tests of rounds and ladders of named workloads.

use plumb_workload::{BlockSize, Bytes, FullLoad, Ladder, Mix, Repeat, Workload};
use plumb_workload_text::named::{RunPlace, Scale, find};
use std::collections::BTreeSet;

fn workload(name: &str) -> Workload {
    find(name).unwrap().workload(&Scale::moderate(RunPlace::Directory))
}

// Protects the matrix: 56 cells, each with its mix and size, all sizes of a mix in sequence, largest first.
// Preconditioning is only in the first round.
#[test]
fn a_round_of_the_matrix_has_56_cells() {
    let named = workload("pts-iops-like");
    let Some(Repeat::Rounds(rounds)) = &named.repeat else { panic!("{:?}", named.repeat) };
    let (first, second) = (rounds.round(&named, 1), rounds.round(&named, 2));
    assert_eq!(first.phase[0].name, "conditioning");
    assert_eq!(first.phase[1..], second.phase[..]);
    assert_eq!((second.phase.len(), &second.repeat), (56, &None));
    let names: Vec<&str> = second.phase.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names[..3], ["random-r100-1MiB", "random-r100-128KiB", "random-r100-64KiB"]);
    assert_eq!(names[8], "random-r95-1MiB");
    assert!(names.contains(&"random-r0-4KiB") && names[55].starts_with("random-r0-512"), "{names:?}");
    let cell = second.phase.iter().find(|phase| phase.name == "random-r65-8KiB").unwrap();
    let blocks = cell.workers[0].work.blocks().unwrap();
    assert_eq!((&blocks.block, blocks.mix), (&BlockSize::Fixed(Bytes(8192)), Mix { read: 65, write: 35, trim: 0 }));
    let seeds: BTreeSet<u64> = (1..=25).map(|number| rounds.round(&named, number).seed).collect();
    assert_eq!(seeds.len(), 25, "each round has its own random offsets");
}

#[test]
fn a_step_of_a_ladder_scales_every_rate() {
    let asked = workload("spc1-like");
    let ladder = Ladder { of: FullLoad::Requested, percent: vec![50.0], again: Vec::new(), within: 0.05, limit: None };
    let rates = |workload: &Workload| -> Vec<f64> {
        workload.phase[0].workers.iter().filter_map(|group| Some(group.pace.open?.rate.0)).collect()
    };
    let half = ladder.step(&asked, 50.0, None);
    let expected: Vec<f64> = rates(&asked).iter().map(|rate| rate / 2.0).collect();
    assert_eq!((rates(&half).len(), rates(&half)), (8, expected));
    // Seven workers share the peak rate.
    let peak = ladder.step(&workload("nfs-mix-2008-like"), 50.0, Some(1400.0));
    assert_eq!((rates(&peak), peak.phase[0].workers[0].count), (vec![100.0], 7));
}
