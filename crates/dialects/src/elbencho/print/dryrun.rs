//! How much each phase would do.

use crate::elbencho::lower::LoweredPhase;

/// The lines of one phase.
pub fn phase(phase: &LoweredPhase, threads: u32) -> String {
    let each = phase.entries_per_thread;
    let all = each.saturating_mul(threads.into());
    let name = &phase.name;
    let mut text = format!(
        "Phase: {name}\n* Entries per thread: {each} | {} K | {} M\n* Entries total:      {all} | {} K | {} M\n",
        each / 1000,
        each / 1_000_000,
        all / 1000,
        all / 1_000_000,
    );
    if phase.kind.moves_data() {
        let each = phase.bytes_per_thread;
        let all = each.saturating_mul(threads.into());
        text.push_str(&format!(
            "* Bytes per thread:   {each} | {} MiB | {} GiB\n* Bytes total:        {all} | {} MiB | {} GiB\n",
            each >> 20,
            each >> 30,
            all >> 20,
            all >> 30,
        ));
    }
    text
}
