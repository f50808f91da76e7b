//! Races against a symbolic link: a directory is repeatedly exchanged with a link, while a run creates, writes and
//! removes files in it. Files in the link's target must stay untouched. Each test uses at least [`ROUNDS`] names.
//! Before directories were kept open, named files, trees, file sets and load files overwrote or removed the
//! target's files within a few rounds.

use super::common::*;
use super::jobs::{JobText, on_target};
use plumb_engine::guard::testing::{Swapping, Victim};
use plumb_engine::{Nobody, Observer};
use std::fs;
use std::path::Path;

/// Number of names that each test uses.
const ROUNDS: u64 = 2000;

/// Runs a workload until [`ROUNDS`] names were used; each run uses `names` of them.
#[track_caller]
fn survives(way: &str, place: &Place, text: &str, swapped: &Path, victim: &Victim, names: u64) {
    let swapping = Swapping::begin(swapped, &place.base().join("e"), victim);
    let mut used = 0;
    while used < ROUNDS {
        // The run may be refused, fail or succeed.
        let _ = place.try_run(text, &mut Nobody);
        used += names;
    }
    let swaps = swapping.end();
    victim.is_unharmed(way);
    assert!(swaps > 100, "{way}: only {swaps} exchanges");
}

fn scratch(names: &str, typed: &str, passes: u64, steps: &str) -> String {
    format!(
        "name = \"swaps\"\n[target.data.scratch]\nnames = {names}\ntyped = {typed}\n\
         [[phase]]\nname = \"write\"\nend.flush = \"none\"\n[[phase.workers]]\ntarget = \"data\"\non-error = \"continue\"\n\
         limit.passes = {passes}\n[phase.workers.work.script]\nsteps = [{steps}]\n"
    )
}

const WRITE: &str = "{ transfer = { record = 512, count = 1, does = \"write\" } }, \"close\"";

/// Files that the user named one by one: IOzone, IOR.
#[test]
fn named_files_are_not_written_elsewhere() {
    let place = Place::new();
    fs::create_dir(place.base().join("d")).unwrap();
    let victim = Victim::new(place.base(), &["f"]);
    let steps = format!(
        "{{ open = {{ write = true, create = true, truncate = true }} }}, {WRITE}, \
         {{ unlink = {{ file = {{ nth = 0 }}, missing = \"passes\" }} }}"
    );
    let text = scratch("{ said = [\"d/f\"] }", "[]", 10, &steps);
    survives("named files", &place, &text, &place.base().join("d"), &victim, 10);
}

/// Files in directories that the program creates: fs_mark, Bonnie++, PostMark, sysbench.
#[test]
fn files_in_created_directories_are_not_written_elsewhere() {
    let place = Place::new();
    fs::create_dir_all(place.base().join("d/s")).unwrap();
    let victim = Victim::new(place.base(), &["f", "g"]);
    let steps = format!(
        "{{ mkdir = {{ file = {{ nth = 1 }}, mode = 448, may-exist = true }} }}, \
         {{ open = {{ file = {{ nth = 2 }}, write = true, create = true, truncate = true }} }}, {WRITE}, \
         {{ unlink = {{ file = {{ nth = 2 }}, missing = \"passes\" }} }}, \
         {{ each = {{ first = 3, count = 1, steps = [{{ of-file = {{ does = \"make\", record = 512, lengths = [512] }} }}, \
         {{ of-file = {{ does = \"look\", record = 512 }} }}, {{ of-file = {{ does = \"remove\", record = 512 }} }}] }} }}"
    );
    let names = "{ made = [\"d\", \"d/s\", \"d/s/f\", \"d/s/g\"] }";
    let text = scratch(names, "[\"d\"]", 10, &steps);
    survives("own directories", &place, &text, &place.base().join("d/s"), &victim, 20);
}

/// Numbered trees: mdtest, md-workbench.
#[test]
fn trees_are_not_written_elsewhere() {
    let place = Place::new();
    fs::create_dir_all(place.base().join("out/r0/d0")).unwrap();
    let items: Vec<String> = (0..20).map(|item| format!("i.0.{item}")).collect();
    let victim = Victim::new(place.base(), &items);
    let tree = "[target.t.scratch.names.trees]\nplaces = [\"out\"]\nroot = \"r\"\nroots = 1\n\
                directory = \"d\"\nbranch = 1\ndepth = 0\nowners = 1\nitems = [{ prefix = \"i.\" }]\nper-directory = 20\n";
    let phase = |name: &str, steps: &str| {
        format!(
            "[[phase]]\nname = \"{name}\"\nend.flush = \"none\"\n[[phase.workers]]\ntarget = \"t\"\non-error = \"continue\"\n\
             work.program.steps = [{steps}]\n"
        )
    };
    let make = phase("make", "{ trees = { does = { make = { bytes = \"64\" } } } }, { trees = { does = \"stat\" } }");
    let remove = phase("remove", "{ trees = { does = \"unlink\" } }, { trees = { does = \"remove-directories\" } }");
    let again = phase("directories", "{ trees = { does = \"make-directories\" } }");
    let text = format!("name = \"swaps\"\n{tree}{make}{remove}{again}");
    survives("trees", &place, &text, &place.base().join("out/r0/d0"), &victim, 40);
}

fn blocks(target: &str) -> String {
    let job =
        JobText::writes("job").job("files.unlink = true").stream("ranges = [{ start = \"0\", length = \"4KiB\" }]");
    on_target(target, &[job])
}

/// Files of jobs, named by the user or by the tool: fio, vdbench, IOMeter, elbencho's data.
#[test]
fn job_files_are_not_written_elsewhere() {
    let typed_name = ("said = [\"d/f\"]", "[]", 1);
    // Links are followed in the part of a path that the user typed: here the parent directory.
    let generated = ("numbered = { path = \"d/f.{}\", count = 20 }", "[\".\"]", 20);
    for (names, typed, files) in [typed_name, generated] {
        let place = Place::new();
        fs::create_dir(place.base().join("d")).unwrap();
        let all: Vec<String> = (0..20).map(|file| format!("f.{file}")).chain(["f".to_owned()]).collect();
        let victim = Victim::new(place.base(), &all);
        let text = blocks(&format!("[target.data.job-files]\nnames.{names}\nlengths = [\"4KiB\"]\ntyped = {typed}\n"));
        // Each file is laid out, opened and removed.
        survives(names, &place, &text, &place.base().join("d"), &victim, 3 * files);
    }
}

/// Calls that take names: elbencho's directories and removal, fio's file engines.
#[test]
fn calls_on_names_do_not_go_elsewhere() {
    let place = Place::new();
    fs::create_dir_all(place.base().join("t/d0")).unwrap();
    let all: Vec<String> = (0..10).map(|file| format!("f{file}")).collect();
    let victim = Victim::new(place.base(), &all);
    let target = "[target.data.job-files]\nnames.numbered = { path = \"t/d{dir}/f{}\", count = 20, per-directory = 10 }\n\
                  lengths = [\"0\"]\ntyped = [\"t\"]\n";
    fs::create_dir_all(place.base().join("t/d1")).unwrap();
    let phase = |call: &str, kind: &str| {
        format!(
            "[[phase]]\nname = \"{call}\"\nend.flush = \"none\"\n[[phase.workers]]\ntarget = \"data\"\non-error = \"continue\"\n\
             backend.files = \"{call}\"\nfiles.prepare.later = true\nfiles.prepare.create = false\nfiles.drop-cached = false\n\
             [phase.workers.work.blocks.sweep]\nblock = 512\nworker-number = 1\nparts.files.lengths = [\"0\"]\n\
             does.call = {{ kind = \"{kind}\" }}\n"
        )
    };
    let phases = [phase("create", "create"), phase("stat", "stat"), phase("unlink", "unlink")].concat();
    let text = format!("name = \"swaps\"\n{target}{phases}");
    survives("calls on names", &place, &text, &place.base().join("t/d0"), &victim, 20);
}

/// File sets that all workers share: Filebench.
#[test]
fn shared_sets_are_not_written_elsewhere() {
    let place = Place::new();
    let all: Vec<String> = (1..=20).map(|file| format!("{file:08}")).collect();
    let victim = Victim::new(place.base(), &all);
    let step = |name: &str, does: &str| {
        format!("{{ shared = {{ name = \"{name}\", does = {does}, file = {{ set = \"set\" }} }} }}")
    };
    let steps = [
        step("remove", "\"remove\""),
        step("create", "\"create\""),
        step("close", "\"close\""),
        step("stat", "\"stat\""),
    ];
    let text = format!(
        "name = \"swaps\"\n[target.set.shared-tree]\npath = \"set\"\nfiles = 20\nsize = 512\nwidth = 1000\nexisting = \"reuse\"\n\
         preallocated-percent = 100\n[[phase]]\nname = \"change\"\nend.flush = \"none\"\nstop.time = \"20ms\"\n\
         [[phase.workers]]\ntarget = \"set\"\non-error = \"continue\"\nwork.program.steps = [{}]\n",
        steps.join(", ")
    );
    place.run(&text);
    survives("shared sets", &place, &text, &place.base().join("set/00000001"), &victim, 20);
}

/// Starts the exchanges once the file set is laid out, because the name of the test directory is unknown before. Stops
/// them before the test directory is removed.
struct SwapsLater<'a> {
    victim: &'a Victim,
    swapping: Option<Swapping>,
    swaps: u64,
}

impl Observer for SwapsLater<'_> {
    fn phase_begins(&mut self, _phase: &str, targets: &[plumb_engine::TargetView<'_>]) {
        let root = targets[0].path;
        let link = root.parent().unwrap().join("e");
        self.swapping = Some(Swapping::begin(&root.join("d00"), &link, self.victim));
    }

    fn clock_stopped(&mut self, _phase: &str, _targets: &[plumb_engine::TargetView<'_>], _processes: &[u32]) {
        self.swaps += self.swapping.take().map_or(0, Swapping::end);
    }
}

/// File sets of Plumb's own runs.
#[test]
fn file_sets_are_not_written_elsewhere() {
    let place = Place::new();
    let all: Vec<String> = (0..40).map(|file| format!("f{file:08}")).collect();
    let victim = Victim::new(place.base(), &all);
    let text = format!(
        "name = \"swaps\"\n[target.set.tree]\npath = \"set\"\nfiles = 40\nwidth = 1\ndepth = 1\nsize = \"512\"\n\
         preallocated-percent = 50\n[[phase]]\nname = \"change\"\nend.flush = \"none\"\n[[phase.workers]]\ntarget = \"set\"\n\
         on-error = \"continue\"\nlimit.passes = {}\nwork.flow.steps = [\"create\", \"close\", \
         {{ unlink = {{ file = \"random\" }} }}, {{ rename = {{ file = \"random\" }} }}]\n",
        ROUNDS / 4
    );
    let mut later = SwapsLater { victim: &victim, swapping: None, swaps: 0 };
    for _ in 0..4 {
        let _ = place.try_run(&text, &mut later);
    }
    victim.is_unharmed("file sets");
    assert!(later.swaps > 100, "only {} exchanges", later.swaps);
}

/// Clients that replay a load file: dbench.
#[test]
fn load_files_do_not_go_elsewhere() {
    let place = Place::new();
    let victim = Victim::new(place.base(), &["a", "b"]);
    fs::create_dir_all(place.base().join("clients/client0")).unwrap();
    let load: String = [
        "Mkdir \"\\clients\" NT_STATUS_OK",
        "Mkdir \"\\clients\\client1\" NT_STATUS_OK",
        "NTCreateX \"\\clients\\client1\\a\" 0x40 0x5 2 NT_STATUS_OK",
        "WriteX 2 0 512 512 NT_STATUS_OK",
        "Close 2 NT_STATUS_OK",
        "Rename \"\\clients\\client1\\a\" \"\\clients\\client1\\b\" NT_STATUS_OK",
        "Unlink \"\\clients\\client1\\b\" NT_STATUS_OK",
        "Deltree \"\\clients\\client1\" NT_STATUS_OK",
    ]
    .map(|line| format!("{line}\n"))
    .concat();
    fs::write(place.base().join("load"), load).unwrap();
    let text = "name = \"swaps\"\n[target.data.scratch]\nnames = { made = [\"clients\"] }\n[[phase]]\nname = \"load\"\n\
                end.flush = \"none\"\nstop.time = \"60ms\"\n[[phase.workers]]\ntarget = \"data\"\non-error = \"continue\"\n\
                work.program.steps = [{ load-file = { path = \"load\" } }]\n";
    survives("load files", &place, text, &place.base().join("clients/client0"), &victim, 100);
}
