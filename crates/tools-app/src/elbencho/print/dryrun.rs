//! Prints how much each phase would do.

use crate::elbencho::lower::{Lowered, LoweredPhase, PathType, PhaseKind};
use crate::elbencho::settings::ElbenchoSettings;

/// elbencho's order of phases in a dry run, which differs from the order of execution.
const ORDER: [PhaseKind; 6] =
    [PhaseKind::MkDirs, PhaseKind::RmDirs, PhaseKind::Write, PhaseKind::Read, PhaseKind::RmFiles, PhaseKind::Stat];

/// Formats all phases of one iteration.
pub fn phases(lowered: &Lowered, settings: &ElbenchoSettings) -> String {
    let of = |kind: PhaseKind| lowered.phases.iter().find(move |phase| phase.iteration == 0 && phase.kind == kind);
    ORDER.into_iter().filter_map(of).map(|phase| one(phase, lowered, settings)).collect()
}

fn one(phase: &LoweredPhase, lowered: &Lowered, settings: &ElbenchoSettings) -> String {
    let threads = u64::from(settings.threads.max(1));
    // Numbers are per thread, or per service with all its threads.
    let (units, threads_of_each, each) = match settings.hosts.are_given() {
        true => (u64::from(settings.part.hosts), threads, "service"),
        false => (threads, 1, "thread"),
    };
    let geometry = &lowered.geometry;
    // Threads share files that are named one by one. elbencho then counts each file for every thread, and an equal
    // part of the bytes, even if it ends inside a block.
    let (entries, bytes) = if geometry.path_type == PathType::Directory {
        (phase.entries_per_thread, phase.bytes_per_thread)
    } else {
        let files = settings.paths.len() as u64;
        let all = if settings.order.rand { geometry.random_bytes } else { files.saturating_mul(geometry.file_bytes) };
        (files, all / u64::from(settings.hosts.threads(settings.part, settings.threads, 0).all.max(1)))
    };
    let (entries, bytes) = (entries.saturating_mul(threads_of_each), bytes.saturating_mul(threads_of_each));
    let all = entries.saturating_mul(units);
    let name = &phase.name;
    let mut text = format!(
        "Phase: {name}\n* Entries per {each}: {entries} | {} K | {} M\n* Entries total:      {all} | {} K | {} M\n",
        entries / 1000,
        entries / 1_000_000,
        all / 1000,
        all / 1_000_000,
    );
    if phase.kind.moves_data() {
        let all = bytes.saturating_mul(units);
        text.push_str(&format!(
            "* Bytes per {each}:   {bytes} | {} MiB | {} GiB\n* Bytes total:        {all} | {} MiB | {} GiB\n",
            bytes >> 20,
            bytes >> 30,
            all >> 20,
            all >> 30,
        ));
    }
    text
}
