//! Scripts on real files.

use super::common::*;
use plumb_engine::Nobody;
use plumb_workload::OpKind;

const RECORD: u64 = 4096;
const COUNT: u64 = 16;

fn workload(names: &str, phases: &[(&str, &str)]) -> String {
    let mut text = format!("name = \"scripts\"\n[target.data.scratch]\nnames = {names}\n");
    for (name, script) in phases {
        text.push_str(&format!(
            "[[phase]]\nname = \"{name}\"\n[[phase.workers]]\ntarget = \"data\"\n[phase.workers.work.script]\n{script}\n"
        ));
    }
    text
}

const OPEN: &str = "{ open = { read = true, write = true, create = true } }";

fn transfer(rest: &str) -> String {
    format!("{{ transfer = {{ record = {RECORD}, count = {COUNT}, {rest} }} }}")
}

/// Protects: records written in any way can be read in every other way, in any order.
#[test]
fn what_one_way_writes_another_reads() {
    let ways = [
        ("plain", "", ""),
        ("positioned", "", ""),
        ("stdio", ", stream = { bytes = 4096 }", ""),
        ("{ mapped = {} }", "", "{ map = { length = 65536, write = true } }, "),
        ("{ mapped = { sync = true } }", "", "{ map = { length = 65536, write = true } }, "),
        ("{ posix-aio = { depth = 4, copies = true } }", "", ""),
        ("{ posix-aio = { depth = 3 } }", "", ""),
        ("{ kernel-aio = { depth = 4, batch = 3 } }", "", ""),
    ];
    let orders = ["forward", "backward", "{ shuffled = \"iozone\" }", "{ strided = { records = 3 } }"];
    for content in ["{ words = { byte = 95, every = 4096 } }", "{ told = { seed = 7 } }"] {
        for (via, stream, map) in ways {
            for order in orders {
                let quoted = |word: &str| if word.starts_with('{') { word.to_owned() } else { format!("\"{word}\"") };
                let (via, order) = (quoted(via), quoted(order));
                let open = format!("{{ open = {{ read = true, write = true, create = true{stream} }} }}");
                let moves =
                    |does: &str, order: &str| transfer(&format!("does = \"{does}\", via = {via}, order = {order}"));
                let write = format!(
                    "before = [{open}, {map}]\nsteps = [{}, {{ fsync = {{}} }}]\nafter = [\"close\"]\ncontent = {content}",
                    moves("write", "\"forward\"")
                );
                let read = format!(
                    "before = [{open}, {map}]\nsteps = [{}]\nafter = [\"close\", \"unlink\"]\ncontent = {content}\nchecks = true",
                    moves("read", &order)
                );
                let place = Place::new();
                let measured = place.run(&workload("{ said = [\"f\"] }", &[("write", &write), ("read", &read)]));
                let of = |phase: usize, kind: OpKind| measured.phases[phase].ops[&kind].bytes;
                assert_eq!((of(0, OpKind::Write), of(1, OpKind::Read)), (RECORD * COUNT, RECORD * COUNT), "{via}");
                assert_eq!(measured.phases[1].fault_count, 0, "{via} {order}: {:?}", measured.phases[1].faults);
                assert!(!place.base().join("f").exists(), "the script removes its file");
            }
        }
    }
}

/// Protects from losses after an op: a failed request is an error of the close, which waits for it,
/// and the message names its offset.
#[test]
fn a_failed_request_is_an_error_of_the_close() {
    let place = Place::new();
    let read = transfer("does = \"read\", via = { kernel-aio = { depth = 64, batch = 64 } }");
    let measured =
        place.run(&workload("{ said = [\"f\"] }", &[("read", &format!("steps = [{OPEN}, {read}, \"close\"]"))]));
    let phase = &measured.phases[0];
    assert_eq!(phase.ops[&OpKind::Read].count, COUNT, "reads are over once they are prepared");
    let fault = &phase.faults[0];
    assert_eq!((fault.op, fault.errno), (OpKind::Close, Some(5)), "{fault:?}");
    assert_eq!(fault.message, "the read at byte 0 moved 0 of 4096 bytes; is the file long enough?");
}

/// Protects: a check fails on data that was not written by it. A check that finds nothing would pass anything.
#[test]
fn unexpected_data_is_found() {
    let place = Place::new();
    let write = format!(
        "before = [{OPEN}]\nsteps = [{}]\nafter = [\"close\"]\ncontent = {{ words = {{ byte = 1, every = 4096 }} }}",
        transfer("does = \"write\"")
    );
    let read = format!(
        "before = [{{ open = {{ read = true }} }}]\nsteps = [{}]\nafter = [\"close\"]\nchecks = true\n\
         content = {{ words = {{ byte = 2, every = 4096 }} }}",
        transfer("does = \"read\"")
    );
    let measured = place.run(&workload("{ said = [\"f\"] }", &[("write", &write), ("read", &read)]));
    assert!(measured.phases[1].fault_count > 0);
    let message = &measured.phases[1].faults[0].message;
    assert!(message.contains("expected 0202020202020202"), "{message}");
}

/// Protects: ops that share a clock reading are each counted and checked, and report no more time than has passed.
#[test]
fn short_ops_are_each_counted_and_checked() {
    use std::os::unix::fs::FileExt;
    const SHORT: u64 = 512;
    const MANY: u64 = 20_000;
    const BEHIND: u64 = 7;
    let place = Place::new();
    let script = |flags: &str, does: &str, count: u64| {
        format!(
            "before = [{{ open = {{ {flags} }} }}]\nafter = [\"close\"]\nchecks = true\n\
             steps = [{{ transfer = {{ record = {SHORT}, count = {count}, does = \"{does}\" }} }}]\n\
             content = {{ words = {{ byte = 7, every = {SHORT} }} }}"
        )
    };
    let write = script("write = true, create = true", "write", MANY);
    let written = place.phase(&workload("{ said = [\"f\"] }", &[("write", &write)]));
    assert_eq!(written.ops[&OpKind::Write].bytes, MANY * SHORT);
    let wrong_at = 12_345 * SHORT;
    let file = std::fs::File::options().write(true).open(place.base().join("f")).unwrap();
    file.write_all_at(b"x", wrong_at).unwrap();
    let read = workload("{ said = [\"f\"] }", &[("read", &script("read = true", "read", MANY + BEHIND))]);
    let phase = place.phase(&read.replace("target = \"data\"", "target = \"data\"\non-error = \"continue\""));
    let op = &phase.ops[&OpKind::Read];
    assert_eq!((op.count, op.bytes, phase.short_count), (MANY + BEHIND, MANY * SHORT, BEHIND));
    assert_eq!(op.service.count(), MANY + BEHIND);
    assert!(op.service.sum() <= u128::from(phase.wall_ns), "{} of {}", op.service.sum(), phase.wall_ns);
    assert_eq!(phase.faults.iter().map(|fault| fault.offset).collect::<Vec<_>>(), [wrong_at]);
}

#[test]
fn calls_on_names_go_in_order() {
    let place = Place::new();
    let script = "steps = [\
        { mkdir = { file = { nth = 0 } } },\
        { each = { first = 1, count = 3, steps = [\
            { open = { write = true, create = true, exclusive = true } }, \"close\", \"stat\", \"access\" ] } },\
        { link = { to = { nth = 1 }, file = { nth = 4 } } },\
        { symlink = { to = { nth = 1 }, file = { nth = 5 } } },\
        { each = { first = 1, count = 5, order = \"backward\", steps = [\"unlink\"] } },\
        { rmdir = { file = { nth = 0 } } } ]";
    let names = "{ made = [\"d\", \"d/1\", \"d/2\", \"d/3\", \"d/hard\", \"d/soft\"] }";
    let phase = place.phase(&workload(names, &[("names", script)]));
    assert_eq!(phase.fault_count, 0, "{:?}", phase.faults);
    let count = |kind: OpKind| phase.ops.get(&kind).map_or(0, |op| op.count);
    let kinds = [OpKind::Mkdir, OpKind::Create, OpKind::Close, OpKind::Stat, OpKind::Access, OpKind::Link];
    assert_eq!(kinds.map(count), [1, 3, 3, 3, 3, 1]);
    assert_eq!([OpKind::Symlink, OpKind::Unlink, OpKind::Rmdir].map(count), [1, 5, 1]);
    assert_eq!(std::fs::read_dir(place.base()).unwrap().count(), 0);
}

/// A user's file is kept; a file that an earlier script made under the same name is reused.
#[test]
fn a_users_file_is_refused() {
    let place = Place::new();
    let path = place.base().join("f");
    std::fs::write(&path, "do not lose").unwrap();
    let script = "steps = [{ open = { write = true, create = true, truncate = true } }, \"close\"]";
    let text = workload("{ said = [\"f\"] }", &[("write", script)]);
    let error = place.try_run(&text, &mut Nobody).expect_err("expected a refusal: the file is not test data");
    assert!(error.refusal().is_some(), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "do not lose");
    std::fs::remove_file(&path).unwrap();
    place.run(&text);
    place.run(&text);
    assert!(path.exists(), "only steps remove files");
}

/// The first worker's end ends all; the others continue writing, and that is not counted.
#[test]
fn stopped_writers_continue_uncounted() {
    for run_as in ["thread", "process"] {
        let place = Place::new();
        let text = format!(
            "name = \"scripts\"\n[target.data.scratch]\nnames = {{ numbered = {{ path = \"f.{{}}\", count = 2 }} }}\n\
             [[phase]]\nname = \"write\"\nstop = {{ when = \"first-done\" }}\n\
             [[phase.workers]]\nname = \"short\"\ntarget = \"data\"\nrun-as = \"{run_as}\"\n\
             work.script = {{ before = [{OPEN}], steps = [{{ pause = {{ time = \"2ms\" }} }}], after = [\"close\"] }}\n\
             [[phase.workers]]\nname = \"long\"\ntarget = \"data\"\nrun-as = \"{run_as}\"\n\
             [phase.workers.work.script]\nrest = \"all\"\n\
             before = [{{ open = {{ file = {{ nth = 1 }}, write = true, create = true, promise = \"dsync\" }} }}]\n\
             steps = [{{ transfer = {{ does = \"write\", record = 4096, count = 3000 }} }}]\nafter = [\"close\"]\n"
        );
        let phase = place.phase(&text);
        assert_eq!(phase.fault_count, 0, "{:?}", phase.faults);
        let counted = phase.ops.get(&OpKind::Write).map_or(0, |op| op.bytes);
        let written = place.base().join("f.1").metadata().unwrap().len();
        assert_eq!(written, 3000 * 4096, "{run_as}");
        assert!(counted < written, "{run_as}: {counted}");
    }
}

/// Files as one op each: created with their lengths, read in directory order, and removed.
#[test]
fn files_are_one_op_each() {
    for flush in ["", ", flush = true"] {
        let place = Place::new();
        let hold = "{ hold-directories = { first = 0, count = 1, first-file = 1, per-directory = 4 } }";
        let mkdir = "{ mkdir = { file = { nth = 0 }, mode = 448 } }";
        let work = |does: &str, more: &str| {
            format!(
                "{{ each = {{ first = 1, count = 4, steps = [{{ of-file = {{ does = \"{does}\", record = 4096{more} }} }}] }} }}"
            )
        };
        let make = format!(
            "before = [{mkdir}, {hold}]\nsteps = [{}]",
            work("make", &format!(", lengths = [0, 1, 5000]{flush}"))
        );
        let list = |does: &str, more: &str| {
            format!(
                "{{ list = {{ file = {{ nth = 0 }} }} }}, {}, \"end-list\"",
                work(does, &format!(", listed = true{more}"))
            )
        };
        let look = format!("steps = [{}]", list("look", ""));
        let again = format!("steps = [{}]", work("look", ""));
        let remove =
            format!("before = [{hold}]\nsteps = [{}, {{ rmdir = {{ file = {{ nth = 0 }} }} }}]", list("remove", flush));
        let names = "{ made = [\"d\", \"d/a\", \"d/b\", \"d/c\", \"d/e\"] }";
        let phases = [("make", make.as_str()), ("look", &look), ("again", &again), ("remove", &remove)];
        let measured = place.run(&workload(names, &phases));
        let kinds = [OpKind::Create, OpKind::Stat, OpKind::Stat, OpKind::Unlink];
        for (phase, kind) in measured.phases.iter().zip(kinds) {
            assert_eq!(phase.fault_count, 0, "{}: {:?}", phase.name, phase.faults);
            // The last length applies to all further files.
            let bytes = if kind == OpKind::Unlink { 0 } else { 1 + 5000 + 5000 };
            assert_eq!((phase.ops[&kind].count, phase.ops[&kind].bytes), (4, bytes), "{}", phase.name);
        }
        assert_eq!(std::fs::read_dir(place.base()).unwrap().count(), 0);
    }
}

/// Byte by byte takes one call per byte, and the data encodes its position. All calls
/// for one record are reported together.
#[test]
fn single_bytes_and_changed_records() {
    let place = Place::new();
    let write = format!(
        "before = [{OPEN}]\nsteps = [{}]\nafter = [\"close\"]\ncontent = \"ascending\"",
        transfer("does = \"write\", via = \"bytes\"")
    );
    let change = format!(
        "before = [{OPEN}]\nsteps = [{}]\nafter = [\"close\"]\ncontent = \"counted\"",
        transfer("does = \"rewrite\", flushes = true")
    );
    let some = "before = [{ open = { read = true, write = true } }]\n\
                steps = [{ transfer = { does = \"read\", record = 4096, count = 16, order = { listed = [\
                { offset = 8192, length = 4096 }, { offset = 4096, length = 4096, does = \"rewrite\" }] } } }]\nafter = [\"close\"]";
    let phases = [("write", write.as_str()), ("change", &change), ("some", some)];
    let measured = place.run(&workload("{ said = [\"f\"] }", &phases));
    let counts = |phase: usize| {
        let ops = &measured.phases[phase].ops;
        [OpKind::Read, OpKind::Write, OpKind::Fsync].map(|kind| ops.get(&kind).map_or(0, |op| op.count))
    };
    assert_eq!([counts(0), counts(1), counts(2)], [[0, COUNT, 0], [COUNT, COUNT, COUNT], [2, 1, 0]]);
    let longest = |phase: usize| measured.phases[phase].workers[0].longest_record_ns;
    assert_eq!(longest(0), None, "each record takes one op");
    let flush_ns = measured.phases[1].ops[&OpKind::Fsync].service.min().unwrap();
    assert!(longest(1).is_some_and(|longest_ns| longest_ns > flush_ns), "all calls of a record are reported together");
    let written = std::fs::read(place.base().join("f")).unwrap();
    let first_of = |record: usize| &written[record * RECORD as usize..][..4];
    assert_eq!(
        (first_of(0), first_of(3)),
        (&[1, 1, 2, 3][..], &[0, 1, 2, 4][..]),
        "one byte of each record changes, the next byte in the next record"
    );
}
