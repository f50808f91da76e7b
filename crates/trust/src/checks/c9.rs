use crate::check::{Check, Judge, Outcome};
use crate::evidence::PhaseView;
use crate::text::{bytes, count, percent};
use plumb_result::{Level, Remedy};

/// Above this share of time in which some task waited for memory, it is noted.
const STALL_SHARE: f64 = 0.10;
/// Pages that any living system swaps now and then: 1 MiB of pages of 4 KiB.
const TOLERATED_PAGES: u64 = 256;

pub(crate) static CHECK: Check = Check {
    code: "C9",
    title: "Memory pressure",
    what: "Whether the machine swapped during the phase, and above all whether Plumb itself was swapped out.",
    why: "A published comparison used `dd bs=1g` in a guest of 1 GiB: its buffer alone is as large as memory, and dd \
          reached half of the other tool's rate. Swap may be on the very disk under test.",
    how: "`pswpin` and `pswpout` of /proc/vmstat, `VmSwap` of Plumb's own processes, and the pressure stall \
          information of memory.",
    threshold: "any of Plumb's own memory swapped out during the phase, or in swap while the machine swapped in, \
                fails; any other swapping of more than 256 pages warns, and less is noted; tasks waiting for memory more \
                than 10 % of the time is noted",
    settled: "256 pages are 1 MiB, as much as C1 tolerates of others' I/O. Stalls: a tenth of the time is twice the margin of comparisons, and only \
              noted, since another process may be the one that waited.",
    fix: &[Remedy::words(
        "Use smaller blocks, fewer workers or less depth; stop what uses the memory; or turn swap off (`swapoff -a`).",
    )],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.is_virtual_time() {
        return Outcome::NotApplicable;
    }
    let (before, after) = match (view.seen.before.memory.as_result(), view.seen.after.memory.as_result()) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(reason), _) | (_, Err(reason)) => return Outcome::skipped(reason),
    };
    let own = after.own_swap_bytes.saturating_sub(before.own_swap_bytes);
    if own > 0 {
        return Outcome::fail(
            format!("{} of Plumb swapped out", bytes(own)),
            format!("{} of Plumb's own memory was swapped out during the phase.", bytes(own)),
        );
    }
    // Pages already swapped out when the clock started come in and go out again, and may be fewer at the end.
    let swapped_in = after.swap_in_pages.saturating_sub(before.swap_in_pages);
    let own = before.own_swap_bytes.max(after.own_swap_bytes);
    if own > 0 && swapped_in > 0 {
        return Outcome::fail(
            format!("{} of Plumb in swap, {} swapped in", bytes(own), count(swapped_in, "page")),
            format!(
                "{} of Plumb's own memory was in swap, and the machine swapped in {} during the phase.",
                bytes(own),
                count(swapped_in, "page")
            ),
        );
    }
    let swapped_pages = swapped_in + after.swap_out_pages.saturating_sub(before.swap_out_pages);
    if swapped_pages > 0 {
        let level = if swapped_pages > TOLERATED_PAGES { Level::Warn } else { Level::Note };
        let pages = count(swapped_pages, "page");
        let message = format!("The machine swapped {pages} during the phase.");
        let outcome = Outcome::found(level, format!("{pages} swapped"), message);
        return if level == Level::Note { outcome.remedy("") } else { outcome };
    }
    let elapsed_ns = view.seen.after.at_ns.saturating_sub(view.seen.before.at_ns);
    let stalled = match (before.stall_us, after.stall_us) {
        (Some(before), Some(after)) if elapsed_ns > 0 => after.saturating_sub(before) as f64 * 1e3 / elapsed_ns as f64,
        _ => return Outcome::pass("no swapping"),
    };
    let observed = format!("no swapping; tasks waited for memory {} of the time", percent(stalled));
    if stalled > STALL_SHARE {
        let message = format!("Tasks waited for memory {} of the time.", percent(stalled));
        Outcome::note(observed, message)
    } else {
        Outcome::pass(observed)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;

    #[test]
    fn swapping_is_graded_by_its_owner() {
        assert_eq!(Scene::reading(MIB).level("C9"), Some(Level::Pass));
        assert_eq!(Scene::reading(MIB).swapped_pages(8).level("C9"), Some(Level::Note), "8 pages slow nothing down");
        assert_eq!(Scene::reading(MIB).swapped_pages(257).level("C9"), Some(Level::Warn));
        assert_eq!(Scene::reading(MIB).own_swap(4096).level("C9"), Some(Level::Fail));
    }

    /// A load that thrashes has most of its buffers swapped out before the clock starts, and often fewer at its end.
    #[test]
    fn own_memory_that_was_out_already_fails_where_the_machine_swaps_in() {
        let out = |swapped_in| Scene::reading(MIB).own_swap_from(40 * MIB, 8 * MIB, swapped_in);
        assert_eq!(out(0).level("C9"), Some(Level::Pass), "idle pages in swap do no harm");
        let finding = out(9000).finding("C9").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.starts_with("40 MiB of Plumb's own memory was in swap"), "{}", finding.message);
    }

    #[test]
    fn waiting_for_memory_is_noted() {
        assert_eq!(Scene::reading(MIB).memory_stall(0.10).level("C9"), Some(Level::Pass));
        assert_eq!(Scene::reading(MIB).memory_stall(0.11).level("C9"), Some(Level::Note));
    }

    #[test]
    fn unseen_is_skipped() {
        assert_eq!(Scene::reading(MIB).unseen_memory("no /proc").level("C9"), Some(Level::Skipped));
    }
}
