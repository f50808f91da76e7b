//! Trees of directories and their items, and workers that meet.

use super::common::*;
use plumb_workload::OpKind;

const WORKERS: usize = 2;

/// A workload over a tree without branches, with three items for each of the workers.
fn workload(phases: &[String]) -> String {
    let tree = "name = \"trees\"\n[target.t.scratch.names.trees]\nplaces = [\"out\"]\nroot = \"r\"\nroots = 1\n\
                directory = \"d\"\nbranch = 1\ndepth = 0\nowners = 2\nitems = [{ prefix = \"i.\" }]\nper-directory = 3\n";
    tree.to_owned() + &phases.concat()
}

fn phase(name: &str, program: &str, more: &str) -> String {
    format!("[[phase]]\nname = \"{name}\"\n[[phase.workers]]\ntarget = \"t\"\ncount = {WORKERS}\n{program}\n{more}\n")
}

/// Returns a phase in which one worker creates the directories.
fn directories() -> String {
    phase(
        "directories",
        "work.program.before = [{ trees = { does = \"make-places\" } }, { trees = { does = \"make-roots\" } }]\n\
         work.program.steps = [{ trees = { does = \"make-directories\" } }]",
        "",
    )
    .replace(&format!("count = {WORKERS}"), "count = 1")
}

/// Protects from phases that never end: companions do no I/O, so workers at a meeting must not wait for them. If
/// they did, this test would hang.
#[test]
fn workers_do_not_wait_for_companions() {
    let steps = [
        "{ trees = { does = { make = { bytes = \"0\" } } } }, { meet = {} }, { trees = { does = \"stat\" } }",
        "{ trees = { does = { make = { bytes = \"0\" } } } }, { trees = { does = \"stat\", wall = { after = \"1ns\" } } }",
    ];
    let companion = "[[phase.companions]]\nname = \"beside\"\n\
                     does.busy = { percent = 1, piece = \"1ms\", ends-with-others = true }";
    for steps in steps {
        let program = format!("work.program.steps = [{steps}]");
        let measured = Place::new().run(&workload(&[directories(), phase("meet", &program, companion)]));
        let met = &measured.phases[1];
        let count = |kind: OpKind| met.ops.get(&kind).map_or(0, |op| op.count);
        assert_eq!((count(OpKind::Create), met.fault_count), (6, 0), "{:?}", met.faults);
        assert!(count(OpKind::Stat) >= WORKERS as u64, "{steps}: {:?}", met.ops.keys().collect::<Vec<_>>());
    }
}

/// Protects data written after a read: it is the worker's own packet, and not the one that it read.
#[test]
fn items_hold_their_own_packets_after_a_read() {
    let program = "work.program.steps = [\
        { trees = { does = { make = { bytes = \"64\" } } } }, { meet = {} },\
        { trees = { does = { read = { bytes = \"64\" } }, shift = 1 } }, { meet = {} },\
        { trees = { does = { make = { bytes = \"64\", exists = true } } } } ]\n\
        work.program.content.packets = { kind = \"timestamp\", seed = 7 }";
    let place = Place::new();
    let measured = place.run(&workload(&[directories(), phase("write", program, "")]));
    assert_eq!(measured.phases[1].fault_count, 0, "{:?}", measured.phases[1].faults);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(place.base().join("out/r0/d0")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let owner = u64::from_ne_bytes(bytes[..8].try_into().unwrap()) >> 32;
        found.push((path.file_name().unwrap().to_str().unwrap().to_owned(), owner));
    }
    found.sort();
    let expected = (0..WORKERS as u64).flat_map(|owner| (0..3).map(move |item| (format!("i.{owner}.{item}"), owner)));
    assert_eq!(found, expected.collect::<Vec<_>>());
}
