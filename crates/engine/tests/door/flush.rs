//! Making writes durable at the end of a phase, inside or outside the clock.

use super::common::*;
use plumb_result::PhaseMeasurement;

fn text(end: &str, workers: &str) -> String {
    format!(
        r#"
        name = "flush"
        [target.data.file]
        path = "data"
        size = "2MiB"
        prepare = "sparse"
        content = {{ byte = 8 }}
        [[phase]]
        name = "only"
        end = {{ {end} }}
        [[phase.workers]]
        target = "data"
        work.blocks = {{ mix = {{ read = 0, write = 1 }}, block = "1000" }}
        {workers}
        "#
    )
}

fn load_ns(phase: &PhaseMeasurement) -> u64 {
    phase.workers.iter().map(|worker| worker.wall_ns).max().unwrap()
}

const MANNERS: &[&str] = &[
    "backend = \"psync\"",
    "depth = 8",
    "backend = \"mmap\"",
    "backend = \"stdio\"",
    "backend = \"stdio\"\nrun-as = \"process\"",
];

#[test]
fn the_flush_is_inside_the_clock_or_outside_of_it() {
    let place = Place::new();
    for manner in MANNERS {
        for flush in ["fsync", "fdatasync", "close"] {
            let inside = place.phase(&text(&format!("flush = \"{flush}\", clock = \"inside\""), manner));
            consistent(&inside);
            let flush_ns = inside.end.flush_ns.unwrap_or_else(|| panic!("{flush} {manner}"));
            assert!(inside.end.inside_clock);
            assert_eq!(inside.wall_ns, load_ns(&inside) + flush_ns, "{flush} {manner}");

            let outside = place.phase(&text(&format!("flush = \"{flush}\", clock = \"outside\""), manner));
            assert!(outside.end.flush_ns.is_some() && !outside.end.inside_clock, "{flush} {manner}");
            assert_eq!(outside.wall_ns, load_ns(&outside), "{flush} {manner}");
        }
        for clock in ["inside", "outside"] {
            let none = place.phase(&text(&format!("flush = \"none\", clock = \"{clock}\""), manner));
            assert_eq!((none.end.flush_ns, none.wall_ns), (None, load_ns(&none)), "{clock} {manner}");
        }
    }
}

#[test]
fn everything_is_written_before_the_flush() {
    // The C library buffers the last bytes of a stream; the worker writes them at its end, within its time.
    let place = Place::new();
    for manner in MANNERS {
        for end in ["flush = \"none\"", "flush = \"fsync\", clock = \"outside\""] {
            let mut content = Vec::new();
            let mut spy = Spy::at_end(|_, targets| content = std::fs::read(targets[0].path).unwrap());
            place.watch(&text(end, manner), &mut spy);
            drop(spy);
            assert_eq!(content.iter().filter(|byte| **byte == 8).count(), 2 << 20, "{manner} {end}");
        }
    }
}

#[test]
fn flushed_data_is_not_dirty() {
    let place = Place::new();
    for manner in MANNERS {
        let mut dirty_bytes = u64::MAX;
        let mut spy = Spy::at_end(|_, targets| {
            let seen = plumb_probe::residency::of_fd(targets[0].files[0]);
            let residency = seen.value().expect("the residency is visible to the owner");
            dirty_bytes = if residency.dirty_known { residency.dirty_bytes + residency.writeback_bytes } else { 0 };
        });
        place.watch(&text("flush = \"fsync\", clock = \"inside\"", manner), &mut spy);
        drop(spy);
        assert_eq!(dirty_bytes, 0, "{manner}");
    }
}

#[test]
fn only_written_files_are_flushed() {
    let place = Place::new();
    let phase = place.phase(
        r#"
        name = "readers"
        [target.data.file]
        path = "data"
        size = "1MiB"
        [[phase]]
        name = "only"
        end.flush = "fsync"
        [[phase.workers]]
        target = "data"
        work.blocks = {}
        "#,
    );
    assert_eq!(phase.end.flush_ns, None);
}
