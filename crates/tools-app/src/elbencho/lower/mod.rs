//! Lowers settings to a workload: elbencho's phases in their fixed order, each with one worker group per thread.
//!
//! Files and directories have elbencho's names, so that one command finds the files that another created:
//! `PATH/r<rank>/d<directory>/r<rank>-f<file>`. The caller that runs the workload does the actions between phases
//! ([`Between`]).

mod geometry;
mod jobs;
mod lowered;
mod names;
mod places;
mod tree;

use super::hosts::DataSetPart;
use super::settings::{ElbenchoSettings, Rwmix};
pub use geometry::{Geometry, PathType, TreeCounts};
pub use lowered::{Between, Lowered, LoweredPhase, PhaseKind};
use places::error;
pub use places::{Found, LowerError, Places};
use plumb_workload::{CachePolicy, ClockScope, End, Flush, Limit, Nanos, OnError, Phase, Target, WhenDone, Workload};
use std::collections::BTreeMap;
use tree::CustomTree;

/// Returns the CPUs that `--zones` and `--cores` name together, on which a service's threads may run.
/// Empty if both are absent.
///
/// # Errors
/// A list is invalid, or a NUMA node does not exist.
pub fn bound_cpus(settings: &ElbenchoSettings, places: &mut dyn Places) -> Result<Vec<u32>, LowerError> {
    jobs::bindings(settings, places).map(|bindings| bindings.all_cpus())
}

/// Returns the phase name that elbencho prints.
pub fn phase_name(settings: &ElbenchoSettings, geometry: &Geometry, kind: PhaseKind) -> String {
    let name = match (kind, settings.mix.rwmix) {
        (PhaseKind::Write, Rwmix::Percent(percent)) => format!("RWMIX{percent}"),
        (PhaseKind::Write, Rwmix::Threads(threads)) => format!("MIX-T{threads}"),
        _ => kind.name().to_owned(),
    };
    let inline = |asked: bool, suffix| if asked && geometry.path_type == PathType::Directory { suffix } else { "" };
    let asked = inline(kind.moves_data() && settings.calls.stat_inline, "+s");
    let read = inline(kind == PhaseKind::Write && settings.content.read_inline, "+r");
    format!("{name}{asked}{read}")
}

/// Returns the worker group for a thread's work. Adds its target to the known targets.
fn group(
    settings: &ElbenchoSettings,
    work: &jobs::ShareWork,
    rank: u32,
    target: &mut BTreeMap<String, Target>,
) -> plumb_workload::WorkerGroup {
    target.entry(work.target_name.clone()).or_insert_with(|| Target::JobFiles(work.files.clone()));
    let mut group = plumb_workload::WorkerGroup::new(&work.target_name, work.sweep.clone());
    group.files.clone_from(&work.rules);
    group.log_ops = work.log_ops;
    group.name = Some(format!("r{rank}"));
    group.backend = work.backend.clone();
    group.depth = work.depth;
    group.pace = work.pace;
    group.content.clone_from(&work.content);
    group.verify.clone_from(&work.verify);
    // elbencho submits each op with its own call.
    group.batch.submit = 1;
    group.on_error = OnError::Stop;
    group.when_done = WhenDone::RunIfFailed;
    group.limit = Limit {
        time: (settings.schedule.time_limit_s > 0)
            .then(|| Nanos(settings.schedule.time_limit_s.saturating_mul(1_000_000_000))),
        ..Limit::default()
    };
    group
}

/// Lowers a command line.
///
/// # Errors
/// elbencho would reject the paths, or Plumb cannot run the command.
pub fn lower(settings: &ElbenchoSettings, places: &mut dyn Places) -> Result<Lowered, LowerError> {
    let mut notes = Vec::new();
    let mut geometry = geometry::geometry(settings, places, &mut notes)?;
    let tree = tree::custom_tree(settings, places, &mut notes)?;
    geometry.tree = tree.as_ref().map(CustomTree::counts);
    let bindings = jobs::bindings(settings, places)?;
    if settings.schedule.infinite && settings.schedule.time_limit_s == 0 {
        notes.push("--infloop without --timelimit: press Ctrl-C to stop".to_owned());
    }
    let asked = settings.phases;
    let kinds = PhaseKind::of(asked);
    let mut target = BTreeMap::new();
    let mut phase = Vec::new();
    let mut phases = Vec::new();
    for iteration in 0..settings.schedule.iterations {
        for (place, &kind) in kinds.iter().enumerate() {
            let rotations = iteration * (kinds.len() as u32 - 1) + place as u32;
            let part = settings.hosts.threads(settings.part, settings.threads, rotations);
            let first_rank = settings.placement.rank_offset.saturating_add(part.first);
            let share = |thread| jobs::share(settings, &geometry, tree.as_ref(), kind, (thread, part));
            let shares: Vec<jobs::Share> = (0..settings.threads).map(share).collect::<Result<_, _>>()?;
            let mut workers = Vec::new();
            for (share, thread) in shares.iter().zip(0..) {
                let Some(share_work) = &share.work else { continue };
                let mut group = group(settings, share_work, first_rank.saturating_add(thread), &mut target);
                bindings.bind(thread, &mut group);
                workers.push(group);
            }
            let is_idle = workers.is_empty();
            if is_idle {
                if settings.part == DataSetPart::WHOLE {
                    continue;
                }
                // Other hosts may have work in this phase, and all hosts count the same phases.
                workers.push(group(settings, &jobs::idle(settings, first_rank), first_rank, &mut target));
            }
            let name = match iteration {
                0 => kind.name().to_owned(),
                _ => format!("{}-{}", kind.name(), iteration + 1),
            };
            phase.push(Phase {
                cache: if settings.ops.direct && kind.moves_data() { CachePolicy::Direct } else { CachePolicy::AsIs },
                end: End { flush: Flush::None, clock: ClockScope::Outside },
                ..Phase::new(name, workers)
            });
            phases.push(LoweredPhase {
                kind,
                name: phase_name(settings, &geometry, kind),
                mixes: kind == PhaseKind::Write && settings.mix.rwmix != Rwmix::None,
                // elbencho measures no entry latency for files that are named one by one.
                times_entries: geometry.path_type == PathType::Directory,
                iteration,
                opens_iteration: place == 0,
                first_rank,
                is_idle,
                rank_dirs: shares.first().map_or(0, |share| share.rank_dirs),
                entries_per_thread: shares.first().map_or(0, |share| share.entries),
                bytes_per_thread: shares.first().map_or(0, |share| share.bytes),
                whole_files: match shares.iter().any(|share| share.whole_files.is_some()) {
                    true => shares.iter().map(|share| share.whole_files.unwrap_or(u32::MAX)).collect(),
                    false => Vec::new(),
                },
                reading_threads: match settings.mix.rwmix {
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
    let between = Between { sync: asked.sync, drop_caches: asked.dropcache, delay_s: settings.schedule.phase_delay_s };
    Ok(Lowered { workload, phases, between, geometry, notes })
}

#[cfg(test)]
mod tests;
