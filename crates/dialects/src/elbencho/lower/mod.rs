//! Lowers settings to a workload: elbencho's phases in their fixed order, each with one worker group per thread.
//!
//! Files and directories have elbencho's own names, so that one command finds what another created:
//! `PATH/r<rank>/d<directory>/r<rank>-f<file>`. Actions between phases ([`Between`]) are left to the caller that runs
//! the workload.

mod geometry;
mod jobs;
mod lowered;
mod names;
mod places;
mod tree;

use super::settings::{Rwmix, Settings};
pub use geometry::{Geometry, PathType};
pub use lowered::{Between, Lowered, LoweredPhase, PhaseKind};
use places::error;
pub use places::{Found, LowerError, Places};
use plumb_sorted::SortedMap;
use plumb_workload::{CachePolicy, ClockScope, End, Flush, Limit, Nanos, OnError, Phase, Target, WhenDone, Workload};
use tree::CustomTree;
pub use tree::TreeCounts;

/// As elbencho prints a phase.
fn phase_name(settings: &Settings, geometry: &Geometry, kind: PhaseKind) -> String {
    let name = match (kind, settings.rwmix) {
        (PhaseKind::Write, Rwmix::Percent(percent)) => format!("RWMIX{percent}"),
        (PhaseKind::Write, Rwmix::Threads(threads)) => format!("MIX-T{threads}"),
        _ => kind.name().to_owned(),
    };
    let inline = |asked: bool, suffix| if asked && geometry.path_type == PathType::Directory { suffix } else { "" };
    let asked = inline(kind.moves_data() && settings.stat_inline, "+s");
    let read = inline(kind == PhaseKind::Write && settings.read_inline, "+r");
    format!("{name}{asked}{read}")
}

/// Lowers a command line.
///
/// # Errors
/// What elbencho would refuse once it checked its paths, and what cannot be done here.
pub fn lower(settings: &Settings, places: &mut dyn Places) -> Result<Lowered, LowerError> {
    let mut notes = Vec::new();
    let mut geometry = geometry::geometry(settings, places, &mut notes)?;
    let tree = tree::custom_tree(settings, places, &mut notes)?;
    geometry.tree = tree.as_ref().map(CustomTree::counts);
    let bindings = jobs::bindings(settings, places)?;
    if settings.infinite && settings.time_limit_s == 0 {
        notes.push("--infloop without --timelimit: press Ctrl-C to stop".to_owned());
    }
    let asked = settings.phases;
    let order = [
        (PhaseKind::MkDirs, asked.mkdirs),
        (PhaseKind::Write, asked.write),
        (PhaseKind::Stat, asked.stat),
        (PhaseKind::Read, asked.read),
        (PhaseKind::RmFiles, asked.delfiles),
        (PhaseKind::RmDirs, asked.deldirs),
    ];
    let kinds: Vec<PhaseKind> = order.into_iter().filter(|(_, asked)| *asked).map(|(kind, _)| kind).collect();
    let mut target = SortedMap::new();
    let mut phase = Vec::new();
    let mut phases = Vec::new();
    for iteration in 0..settings.iterations {
        for (place, &kind) in kinds.iter().enumerate() {
            let share = |thread| jobs::share(settings, &geometry, tree.as_ref(), kind, thread);
            let shares: Vec<jobs::Share> = (0..settings.threads).map(share).collect::<Result<_, _>>()?;
            let mut workers = Vec::new();
            for (share, thread) in shares.iter().zip(0..) {
                let Some(share_work) = &share.work else { continue };
                let name = format!("r{}", settings.rank_offset + thread);
                target
                    .entry(share_work.target_name.clone())
                    .or_insert_with(|| Target::JobFiles(share_work.files.clone()));
                let mut group = plumb_workload::WorkerGroup::new(&share_work.target_name, share_work.sweep.clone());
                group.files.clone_from(&share_work.rules);
                group.log_ops = share_work.log_ops;
                group.name = Some(name);
                group.backend = share_work.backend.clone();
                group.depth = share_work.depth;
                group.pace = share_work.pace;
                group.content.clone_from(&share_work.content);
                group.verify.clone_from(&share_work.verify);
                // elbencho submits each op with its own call.
                group.batch.submit = 1;
                group.on_error = OnError::Stop;
                group.when_done = WhenDone::RunIfFailed;
                group.limit = Limit {
                    time: (settings.time_limit_s > 0)
                        .then(|| Nanos(settings.time_limit_s.saturating_mul(1_000_000_000))),
                    ..Limit::default()
                };
                bindings.bind(thread, &mut group);
                workers.push(group);
            }
            if workers.is_empty() {
                continue;
            }
            let name = match iteration {
                0 => kind.name().to_owned(),
                _ => format!("{}-{}", kind.name(), iteration + 1),
            };
            phase.push(Phase {
                cache: if settings.direct && kind.moves_data() { CachePolicy::Direct } else { CachePolicy::AsIs },
                end: End { flush: Flush::None, clock: ClockScope::Outside },
                ..Phase::new(name, workers)
            });
            phases.push(LoweredPhase {
                kind,
                name: phase_name(settings, &geometry, kind),
                mixes: kind == PhaseKind::Write && settings.rwmix != Rwmix::None,
                // Of files that are named one by one, elbencho keeps none.
                times_entries: geometry.path_type == PathType::Directory,
                iteration,
                opens_iteration: place == 0,
                rank_dirs: shares.first().map_or(0, |share| share.rank_dirs),
                entries_per_thread: shares.first().map_or(0, |share| share.entries),
                bytes_per_thread: shares.first().map_or(0, |share| share.bytes),
                whole_files: match shares.iter().any(|share| share.whole_files.is_some()) {
                    true => shares.iter().map(|share| share.whole_files.unwrap_or(u32::MAX)).collect(),
                    false => Vec::new(),
                },
                reading_threads: match settings.rwmix {
                    Rwmix::Threads(threads) if kind == PhaseKind::Write => threads.min(settings.threads),
                    _ => 0,
                },
            });
        }
    }
    if kinds.is_empty() && !asked.sync && !asked.dropcache {
        return error(
            "no phase selected; use --mkdirs, --write, --stat, --read, --delfiles or --deldirs (-d -w --stat -r -F -D)",
        );
    }
    let workload = Workload {
        name: "elbencho".to_owned(),
        description: String::new(),
        seed: Workload::DEFAULT_SEED,
        target,
        phase,
        repeat: None,
    };
    let between = Between { sync: asked.sync, drop_caches: asked.dropcache, delay_s: settings.phase_delay_s };
    Ok(Lowered { workload, phases, between, geometry, notes })
}

#[cfg(test)]
mod tests;
