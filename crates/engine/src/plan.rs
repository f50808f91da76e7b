//! Plans the workers of a phase. All errors of a plan are found here, before anything starts.

use crate::content::{Checksum, IntervalError};
use crate::math::gcd;
use crate::pacer::{FlowEntry, Pacing, flow_home};
use crate::rng::StreamId;
use crate::source::plumb::{PlanError, PlanRequest, PlumbPlan};
use crate::terms::{Budget, Handover, InFlight, Queue, Stamping};
use plumb_workload::pace::SteadyRule;
use plumb_workload::phase::{ErrorRules, WhenDone};
use plumb_workload::process::CommandPriority;
use plumb_workload::verify::StampLayout;
use plumb_workload::{Blocks, CachePolicy, Nanos, OnError, Phase, Stop, Work, WorkerGroup, Workload};
use std::collections::BTreeMap;

/// Alignment of offsets, lengths and memory for direct I/O. Source: open(2), NOTES on `O_DIRECT`.
pub(crate) const DIRECT_ALIGNMENT_BYTES: u64 = 512;

/// Error from planning a worker.
#[derive(Debug, thiserror::Error)]
#[error("phase `{phase}`, {group}: {reason}")]
pub struct WorkerPlanError {
    pub(crate) phase: String,
    pub(crate) group: String,
    pub(crate) reason: String,
}

/// A worker's limits, its error rules, and the data that it records.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkerRules {
    pub(crate) budget: Budget,
    pub(crate) on_error: OnError,
    /// Errors to ignore, regardless of `on_error`.
    pub(crate) errors: ErrorRules,
    /// Write until no space is left, which then counts as a normal end.
    pub(crate) fills: bool,
    pub(crate) keeps: Keeps,
}

/// Optional data that a worker records.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keeps {
    /// Record every op.
    pub(crate) ops: bool,
    /// Record the fill level and batches of its queue, which has this depth.
    pub(crate) queue: Option<u32>,
    /// Record the times of ops by priority, with priorities from these rules.
    pub(crate) priorities: Vec<CommandPriority>,
}

/// Start and end rules of a group, with the names of groups resolved to their numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GroupRun {
    pub(crate) delay_ns: u64,
    /// Groups that must be done before this one starts.
    pub(crate) after: Vec<usize>,
    pub(crate) ramp_ns: u64,
    /// Byte count that ends the ramp. If `ramp_ns` is not 0, the ramp ends then at the latest.
    pub(crate) ramp_until: Option<RampTogether>,
    /// Time limit, counted from the end of the worker's ramp.
    pub(crate) time_ns: Option<u64>,
    pub(crate) ends: Ends,
    /// Length of an interval in each worker's series.
    pub(crate) sample_ns: Option<u64>,
    /// Rule that detects a steady state, which ends the group.
    pub(crate) steady: Option<SteadyTogether>,
}

/// A ramp that ends once the workers of some groups have moved this many bytes together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RampTogether {
    pub(crate) bytes: u64,
    pub(crate) together: Vec<usize>,
}

/// A steady-state rule, and the groups that it judges together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SteadyTogether {
    pub(crate) rule: SteadyRule,
    pub(crate) together: Vec<usize>,
}

/// Effect of a worker's end on others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Ends {
    #[default]
    Itself,
    /// Stops all workers of these groups.
    Groups(Vec<usize>),
    /// Stops all workers of these groups if the worker failed.
    GroupsIfFailed(Vec<usize>),
    /// Stops the phase.
    Phase,
    /// Stops the phase if the worker failed.
    PhaseIfFailed,
    /// Stops the run.
    Run,
    /// Stops the run if the worker failed.
    RunIfFailed,
}

/// Returns the rules of all groups of a phase, then those of its companions. A name shared by several
/// groups means all of them.
pub(crate) fn group_runs(phase: &Phase) -> Result<Vec<GroupRun>, WorkerPlanError> {
    let name_of =
        |(number, group): (usize, &WorkerGroup)| group.name.clone().unwrap_or_else(|| format!("workers.{number}"));
    let of_companions = phase.companions.iter().map(|companion| companion.name.clone());
    let names: Vec<String> = phase.workers.iter().enumerate().map(name_of).chain(of_companions).collect();
    let mut numbers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, name) in names.iter().enumerate() {
        numbers.entry(name).or_default().push(number);
    }
    let error = |number: usize, reason: String| WorkerPlanError {
        phase: phase.name.clone(),
        group: names[number].clone(),
        reason,
    };
    let resolve = |number: usize, key: &str, names: &[String]| -> Result<Vec<usize>, WorkerPlanError> {
        let mut found = Vec::new();
        for name in names {
            let groups = numbers
                .get(name.as_str())
                .ok_or_else(|| error(number, format!("`{key}` names `{name}`, but this phase has no such group")))?;
            found.extend_from_slice(groups);
        }
        Ok(found)
    };
    let ends = |number: usize, when_done: &WhenDone| -> Result<Ends, WorkerPlanError> {
        Ok(match when_done {
            WhenDone::Itself => Ends::Itself,
            WhenDone::Groups(names) => Ends::Groups(resolve(number, "when-done", names)?),
            WhenDone::GroupsIfFailed(names) => Ends::GroupsIfFailed(resolve(number, "when-done", names)?),
            WhenDone::Phase => Ends::Phase,
            WhenDone::PhaseIfFailed => Ends::PhaseIfFailed,
            WhenDone::Run => Ends::Run,
            WhenDone::RunIfFailed => Ends::RunIfFailed,
        })
    };
    let mut groups = Vec::with_capacity(names.len());
    for (number, group) in phase.workers.iter().enumerate() {
        groups.push(GroupRun {
            delay_ns: group.start.delay.0,
            after: resolve(number, "start.after", &group.start.after)?,
            ramp_ns: group.ramp.0,
            ramp_until: match &group.ramp_until {
                None => None,
                Some(until) => {
                    let mut together = resolve(number, "ramp-until.together", &until.together)?;
                    if together.is_empty() {
                        together.push(number);
                    }
                    Some(RampTogether { bytes: until.bytes.0, together })
                }
            },
            time_ns: group.limit.time.map(|time| time.0),
            ends: ends(number, &group.when_done)?,
            steady: match &group.steady {
                None => None,
                Some(rule) => {
                    let mut together = resolve(number, "steady.together", &rule.together)?;
                    if together.is_empty() {
                        together.push(number);
                    }
                    Some(SteadyTogether { rule: rule.clone(), together })
                }
            },
            sample_ns: group.sample.map(|length| length.0).filter(|&length| length > 0),
        });
    }
    for (number, companion) in (phase.workers.len()..).zip(&phase.companions) {
        groups.push(GroupRun {
            delay_ns: companion.start.delay.0,
            after: resolve(number, "start.after", &companion.start.after)?,
            ramp_ns: companion.ramp.0,
            time_ns: companion.time.map(|time| time.0),
            ends: ends(number, &companion.when_done)?,
            ..GroupRun::default()
        });
    }
    // Mark groups that can start, assuming that all groups marked before them end.
    let mut starts = vec![false; groups.len()];
    while let Some(next) =
        (0..groups.len()).find(|&number| !starts[number] && groups[number].after.iter().all(|&other| starts[other]))
    {
        starts[next] = true;
    }
    match starts.iter().position(|starts| !starts) {
        None => Ok(groups),
        Some(number) => Err(error(number, "`start.after` forms a cycle, so these groups would never start".to_owned())),
    }
}

/// The place of a worker in its phase.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerSeat<'a> {
    pub(crate) phase: &'a Phase,
    pub(crate) phase_number: u32,
    pub(crate) group: &'a WorkerGroup,
    pub(crate) group_number: usize,
    /// Number within its group.
    pub(crate) number: u32,
    /// Number within the phase, over all groups.
    pub(crate) worker: u32,
}

impl WorkerSeat<'_> {
    /// Returns the name of the group, or `workers.N` if it has none.
    pub(crate) fn group_name(&self) -> String {
        self.group.name.clone().unwrap_or_else(|| format!("workers.{}", self.group_number))
    }

    /// Returns the name of the worker: that of its group, and its number.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.group_name(), self.number)
    }

    /// Returns the worker's random stream, which depends on the seed, the phase and the worker's number.
    pub(crate) fn stream(&self, seed: u64) -> StreamId {
        StreamId { seed, phase: self.phase_number, worker: self.worker }
    }

    /// Creates an error about this worker.
    pub(crate) fn error(&self, reason: impl ToString) -> WorkerPlanError {
        WorkerPlanError { phase: self.phase.name.clone(), group: self.group_name(), reason: reason.to_string() }
    }

    /// Returns the worker's own pass limit, or 1 for Plumb's block I/O that no other limit of the phase or the worker
    /// ends. The group's time limit does not count.
    pub(crate) fn passes(&self) -> Option<u64> {
        let Stop { time, bytes, ops, steady, .. } = &self.phase.stop;
        let limit = &self.group.limit;
        let phase_ends = time.is_some() || bytes.is_some() || ops.is_some() || steady.is_some();
        let worker_ends = limit.bytes.is_some() || limit.ops.is_some() || limit.time.is_some();
        match (limit.passes, &self.group.work) {
            (Some(passes), _) => Some(passes),
            (None, Work::Blocks(stream)) if stream.is_plumb() && !phase_ends && !worker_ends => Some(1),
            (None, _) => None,
        }
    }

    pub(crate) fn budget(&self) -> Budget {
        Budget {
            ops: self.group.limit.ops.unwrap_or(u64::MAX),
            bytes: self.group.limit.bytes.map_or(u64::MAX, |bytes| bytes.0),
            shares_limit: self.phase.stop.ops.is_some() || self.phase.stop.bytes.is_some(),
        }
    }

    /// Returns the worker's limits, its error rules, and the choice of data that it records.
    pub(crate) fn rules(&self) -> WorkerRules {
        WorkerRules {
            budget: self.budget(),
            on_error: self.group.on_error,
            errors: self.group.errors.clone(),
            fills: self.group.work.fio().is_some_and(|stream| stream.fill_device),
            keeps: Keeps {
                ops: self.group.log_ops || self.group.work.program().is_some_and(|program| program.log_ops),
                queue: self.group.work.foreign_stream().map(|_| self.group.depth),
                priorities: self.group.process.command_priorities.clone(),
            },
        }
    }

    /// Returns the queue rules of the worker, within its depth.
    pub(crate) fn queue(&self) -> Queue {
        let batch = self.group.batch;
        let depth = self.group.depth;
        let no_overlap = self.group.work.fio().is_some_and(|stream| stream.no_overlap_in_flight);
        Queue {
            depth,
            submit: if batch.submit == 0 { depth } else { batch.submit },
            complete: batch.complete.clamp(1, depth),
            refill_at: batch.refill_at.unwrap_or(depth).min(depth),
            most_completions: batch.most_completions.unwrap_or(depth).clamp(1, depth),
            in_flight: if no_overlap { InFlight::Apart } else { InFlight::Anything },
            handover: if self.group.time_submission { Handover::Timed } else { Handover::Plain },
        }
    }

    /// Returns the pacing rules. Their ramp is that of the phase plus that of the group.
    pub(crate) fn pacing(&self) -> Pacing {
        Pacing {
            pace: self.group.pace,
            depth: self.group.depth,
            group_count: self.group.count,
            ramp: Nanos(self.phase.ramp.0.saturating_add(self.group.ramp.0)),
            paces_all: self.group.work.foreign_stream().is_none(),
            flow_home: flow_home(&self.phase.workers, self.group_number),
            flow_entry: FlowEntry::for_group(self.group),
        }
    }

    /// Returns the CPU that the worker is bound to.
    pub(crate) fn cpu(&self) -> Option<u32> {
        let cpus = &self.group.cpus;
        (!cpus.is_empty()).then(|| cpus[self.number as usize % cpus.len()])
    }

    /// Plans its block I/O over files of these lengths.
    pub(crate) fn blocks(&self, blocks: &Blocks, lengths: &[u64], seed: u64) -> Result<PlumbPlan, WorkerPlanError> {
        let direct = self.phase.cache == CachePolicy::Direct;
        let request = PlanRequest {
            blocks,
            file_lengths: lengths,
            worker_in_group: self.number,
            stream: self.stream(seed),
            passes: self.passes(),
            io_alignment_bytes: if direct { DIRECT_ALIGNMENT_BYTES } else { 1 },
        };
        PlumbPlan::new(&request).map_err(|error: PlanError| self.error(error))
    }
}

/// The workers of a workload that this process runs. They keep the numbers, names and random choices that
/// they have in the whole workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    #[default]
    All,
    /// Group 0 of each phase belongs to process 0, group 1 to process 1, and so on in turn.
    Groups(Process),
    /// Like `Groups`, but for the workers of each group.
    Workers(Process),
}

/// One of several processes that run a workload together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Number of the process, from 0.
    pub number: u32,
    pub of: u32,
}

impl Part {
    fn has(self, seat: &WorkerSeat<'_>) -> bool {
        let (number, process) = match self {
            Part::All => return true,
            Part::Groups(process) => (seat.group_number as u64, process),
            Part::Workers(process) => (u64::from(seat.number), process),
        };
        number % u64::from(process.of.max(1)) == u64::from(process.number)
    }
}

/// Returns the workers of a phase that this process runs, in order.
pub(crate) fn seats_of(phase: &Phase, phase_number: u32, part: Part) -> impl Iterator<Item = WorkerSeat<'_>> {
    seats(phase, phase_number).filter(move |seat| part.has(seat))
}

/// Returns all workers of a phase, in order.
pub(crate) fn seats(phase: &Phase, phase_number: u32) -> impl Iterator<Item = WorkerSeat<'_>> {
    let groups = phase.workers.iter().enumerate();
    let all = groups.flat_map(move |(group_number, group)| {
        (0..group.count).map(move |number| WorkerSeat { phase, phase_number, group, group_number, number, worker: 0 })
    });
    (0..).zip(all).map(|(worker, seat)| WorkerSeat { worker, ..seat })
}

/// Returns the checksum of a group's headers; `None` if its blocks have no Plumb headers.
fn own_checksum(group: &WorkerGroup) -> Option<Checksum> {
    let verify = group.verify.as_ref().filter(|verify| verify.layout == StampLayout::Plumb)?;
    Checksum::for_method(verify.method)
}

/// Returns the stamping rules of a target. The interval fits the blocks of every worker whose `verify` uses Plumb's
/// layout; `None` if there is no such worker.
pub(crate) fn stamping(
    workload: &Workload,
    target: &str,
    lengths: &[u64],
    run_seed: u64,
) -> Result<Option<Stamping>, WorkerPlanError> {
    let mut checksum: Option<Checksum> = None;
    let mut interval_bytes = 0;
    for (number, phase) in workload.phase.iter().enumerate() {
        for seat in seats(phase, number as u32).filter(|seat| seat.group.target == target) {
            let (Some(blocks), Some(own)) = (seat.group.work.blocks(), own_checksum(seat.group)) else { continue };
            let plan = seat.blocks(blocks, lengths, workload.seed)?;
            interval_bytes = gcd(interval_bytes, plan.verify_interval_bytes());
            if checksum.is_some_and(|other| other != own) {
                return Err(seat.error("all workers that verify one target need the same `verify.method`"));
            }
            checksum = Some(own);
            crate::content::Verifier::new(interval_bytes, None).map_err(|error: IntervalError| seat.error(error))?;
        }
    }
    Ok(checksum.map(|checksum| Stamping { checksum, interval_bytes, seed: run_seed, first_sequence: 0 }))
}

/// A range of bytes that one worker touches. The ranges of one worker do not overlap.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Touched {
    target: String,
    file: u32,
    start: u64,
    end: u64,
    verifies: bool,
    writes: bool,
}

/// Finds verified reads of bytes that are written at the same time. Such a read may see half of a write, which is not
/// a fault of the storage.
#[derive(Debug, Default)]
pub(crate) struct Verifiable {
    touched: Vec<Touched>,
}

impl Verifiable {
    /// Adds a worker. Fails if it would conflict with itself.
    pub(crate) fn add(
        &mut self,
        seat: &WorkerSeat<'_>,
        blocks: &Blocks,
        plan: &PlumbPlan,
    ) -> Result<(), WorkerPlanError> {
        let verifies = seat.group.verify.is_some() && blocks.mix.read > 0;
        let writes = blocks.mix.write + blocks.mix.trim > 0;
        if verifies && writes && seat.group.depth > 1 && plan.repeats_itself() {
            return Err(seat.error(
                "at this depth a read may be in flight at the same time as a write of the same block, and cannot be verified; use \
                 `depth = 1`, a permutation, or a phase of its own for verifying",
            ));
        }
        if verifies || writes {
            self.touched.extend(plan.pieces.iter().map(|piece| Touched {
                target: seat.group.target.clone(),
                file: piece.file,
                start: piece.start,
                end: piece.start + piece.length,
                verifies,
                writes,
            }));
        }
        Ok(())
    }

    /// Rejects a phase in which one worker verifies the writes of another.
    pub(crate) fn check(mut self, phase: &Phase) -> Result<(), WorkerPlanError> {
        self.touched.sort();
        let mut place = None;
        // The furthest ends so far of verified and of written ranges.
        let (mut verified, mut written) = (0, 0);
        for touched in &self.touched {
            let here = Some((&touched.target, touched.file));
            if here != place {
                (place, verified, written) = (here, 0, 0);
            }
            if (touched.verifies && touched.start < written) || (touched.writes && touched.start < verified) {
                return Err(WorkerPlanError {
                    phase: phase.name.clone(),
                    group: format!("target `{}`", touched.target),
                    reason: format!(
                        "around byte {} one worker would verify what another writes, and may read half of a write; give \
                         each its own range (`offset-increment` with `span`), or verify in a phase of its own",
                        touched.start
                    ),
                });
            }
            if touched.verifies {
                verified = verified.max(touched.end);
            }
            if touched.writes {
                written = written.max(touched.end);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(groups: &str) -> Phase {
        let text =
            format!("name = \"plan\"\n[target.nothing.null]\nsize = \"1MiB\"\n[[phase]]\nname = \"only\"\n{groups}");
        plumb_workload_text::native::parse("plan.toml", &text).unwrap_or_else(|error| panic!("{error}")).phase.remove(0)
    }

    fn group(name: &str, more: &str) -> String {
        format!("[[phase.workers]]\nname = \"{name}\"\ntarget = \"nothing\"\nwork.blocks = {{}}\n{more}\n")
    }

    #[test]
    fn a_name_means_all_groups_with_it() {
        let text = group("a", "ramp = \"2s\"\nsample = \"500ms\"")
            + &group("b", "start = { delay = \"1s\", after = [\"a\"] }")
            + &group("c", "when-done = { groups = [\"a\", \"b\"] }\nlimit.time = \"3s\"");
        let groups = group_runs(&phase(&text)).unwrap();
        assert_eq!((groups[0].ramp_ns, groups[0].sample_ns), (2_000_000_000, Some(500_000_000)));
        assert_eq!((groups[1].delay_ns, groups[1].after.as_slice()), (1_000_000_000, [0].as_slice()));
        assert_eq!((&groups[2].ends, groups[2].time_ns), (&Ends::Groups(vec![0, 1]), Some(3_000_000_000)));
    }

    #[test]
    fn cycles_and_unknown_names_are_refused() {
        let circle = group("a", "start.after = [\"b\"]") + &group("b", "start.after = [\"a\"]");
        let error = group_runs(&phase(&circle)).unwrap_err().to_string();
        assert!(error.contains("cycle") && error.contains("`only`, a"), "{error}");
        let error = group_runs(&phase(&group("a", "start.after = [\"z\"]"))).unwrap_err().to_string();
        assert!(error.contains("`z`"), "{error}");
    }
}
