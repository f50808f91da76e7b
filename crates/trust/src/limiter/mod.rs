//! Finds the limiter of a phase: Gregg's active benchmarking as a pure function. (Gregg, "Systems Performance", 2nd
//! edition, 12.3.2: analyse the system while the benchmark runs, and name the limiter before believing the number.)
//!
//! Candidates are tried from the outside in: imposed limits (a pace, a quota), then links, then processors, then
//! the storage, and last the load's own shape. The first one at its limit is reported, with its utilisation; if
//! none is, nothing is claimed.

mod used;

pub(crate) use used::busiest_worker;

use crate::checks::b2::POSSIBLE;
use crate::evidence::{Ground, PhaseView};
use crate::link;
use crate::plan;
use crate::text::{bytes, count, nanos, ops_rate, percent, rate, short};
use crate::tier::rate_tier;
use plumb_result::{Bound, Limiter, Tier};
use plumb_workload::OpKind;
use used::{IoLimit, LayerUse, WorkerCpu};

/// Above this use, a processor has nothing left to give (as in B2).
const FULL_CPU: f64 = 0.90;
/// All processors together reach a little less, since ticks are coarse.
const FULL_MACHINE: f64 = 0.95;
/// Above this use, a link or a limit is reached.
const REACHED: f64 = 0.95;
/// Beyond this share of a limit, it was not in force for this traffic.
const NOT_IN_FORCE: f64 = 1.15;
/// A quota that stopped the group in this share of its periods determined the rate.
const THROTTLED: f64 = 0.50;
/// Workers that reach this share of their rate against a null target are the limit.
const CEILING: f64 = 0.80;
/// A device that had a request in flight for this share of the time was busy.
const BUSY: f64 = 0.90;
/// This many requests in flight on average keep a parallel device busy inside too. A starting value: today's flash
/// has at least this many channels.
const DEEP: f64 = 8.0;
/// This many bytes in flight are striped over all channels, however few requests they are.
const DEEP_BYTES: f64 = 1_048_576.0;
/// Workers that spend more than this in think time and delays are paced by them.
const PACED: f64 = 0.50;
/// An unexplained wait must be at least this share of the workers' time before a lock is reported.
const UNEXPLAINED: f64 = 0.50;
/// Workers that sleep less often than this per op do not wait for storage.
const HARDLY_SLEEPS: f64 = 0.10;
/// If less than this share of the requested ops was in flight, the depth was not the limit.
const DEPTH_USED: f64 = 0.70;

/// Returns the limiter of a phase. Pure: equal evidence gives an equal answer.
pub fn limiter(view: &PhaseView<'_>) -> Limiter {
    if view.measured.count() == 0 || view.measured.wall_ns == 0 {
        return Limiter { what: Bound::Unknown, utilisation: None, text: "nothing completed".to_owned() };
    }
    let device = used::device(view);
    let looks: [&dyn Fn() -> Option<Limiter>; 10] = [
        &|| pace(view),
        &|| cpu_limit(view),
        &|| io_limit(view),
        &|| device_link(view),
        &|| network(view),
        &|| generator(view),
        &|| processors(view),
        &|| busy_device(device.as_ref()),
        &|| lock(view, device.as_ref()),
        &|| depth(view, device.as_ref()),
    ];
    looks.into_iter().find_map(|look| look()).unwrap_or_else(|| unknown(view, device.as_ref()))
}

fn bound(what: Bound, utilisation: f64, text: String) -> Option<Limiter> {
    Some(Limiter { what, utilisation: Some(utilisation), text })
}

/// Detects a pace: the requested rate was kept, or most of the time went into pauses.
fn pace(view: &PhaseView<'_>) -> Option<Limiter> {
    let seconds = view.measured.wall_ns as f64 / 1e9;
    if let Some(asked) = used::asked_rate(view.plan) {
        let done: u64 =
            view.measured.ops.iter().filter(|(kind, _)| **kind != OpKind::Delay).map(|(_, op)| op.count).sum();
        let reached = done as f64 / seconds;
        // Poisson arrivals vary by the root of their number.
        let slack = 0.03f64.max(3.0 / (asked * seconds).max(1.0).sqrt());
        let kept = reached >= asked * (1.0 - slack);
        let text = || {
            format!(
                "{} of the requested {} ({})",
                ops_rate(reached),
                ops_rate(asked),
                percent((reached / asked).min(1.0))
            )
        };
        return if kept { bound(Bound::Pace, (reached / asked).min(1.0), text()) } else { None };
    }
    let paused = used::paused_share(view)?;
    if paused < PACED {
        return None;
    }
    bound(Bound::Pace, paused, format!("workers paused {} of the time, as requested", percent(paused)))
}

fn cpu_limit(view: &PhaseView<'_>) -> Option<Limiter> {
    if view.is_virtual_time() {
        return None;
    }
    let quota = view.seen.limits.cpu_quota.value()?;
    let throttled = quota.throttled_periods as f64 / quota.periods.max(1) as f64;
    if quota.periods == 0 || throttled < THROTTLED {
        return None;
    }
    let held_back = format!("throttled in {} of the periods", percent(throttled));
    match view.environment.cgroup.cpus {
        Some(allowed) if allowed > 0.0 => {
            let used = used::own_cpus(view);
            let text = format!("Plumb used {} of {} allowed processors; {held_back}", cpus(used), cpus(allowed));
            bound(Bound::CpuLimit, (used / allowed).min(1.0), text)
        }
        _ => bound(Bound::CpuLimit, throttled, held_back),
    }
}

/// Formats a number of processors: `0.5`, `1.75`, `2`.
fn cpus(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn io_limit(view: &PhaseView<'_>) -> Option<Limiter> {
    let reached = used::io_limits(view).into_iter().map(|limit| (limit.used / limit.allowed, limit));
    let (share, limit) = reached
        .filter(|(share, _)| (REACHED..=NOT_IN_FORCE).contains(share))
        .max_by(|one, other| one.0.total_cmp(&other.0))?;
    let IoLimit { file, device, allowed, used, in_bytes } = limit;
    let amount = |value| if in_bytes { rate(value) } else { ops_rate(value) };
    let text = format!("{} of the {} that {file} allows on {device}", amount(used), amount(allowed));
    bound(Bound::IoLimit, share.min(1.0), text)
}

fn device_link(view: &PhaseView<'_>) -> Option<Limiter> {
    if view.ground != Ground::Device {
        return None;
    }
    let device = view.traffic.device.as_ref().ok()?;
    let seconds = used::counted_seconds(view)?;
    let links = view.leaves().into_iter().map(|leaf| link::bytes_per_second(leaf, view.is_virtual_machine()));
    let carried: f64 = links.sum::<Result<f64, crate::not_seen::NotSeen>>().ok().filter(|link| *link > 0.0)?;
    let moved = device.read_bytes.max(device.write_bytes) as f64 / seconds;
    let share = moved / carried;
    if share < REACHED {
        return None;
    }
    bound(Bound::Link, share.min(1.0), format!("{} of the {} it can carry", rate(moved), rate(carried)))
}

fn network(view: &PhaseView<'_>) -> Option<Limiter> {
    if view.ground != Ground::Remote {
        return None;
    }
    let seconds = used::counted_seconds(view)?;
    let share = |link: &plumb_result::NetworkLink| {
        let moved = link.received_bytes.max(link.sent_bytes) as f64 / seconds;
        Some((moved / link.bytes_per_second?, moved))
    };
    let links = view.seen.limits.network.value()?;
    let busiest = links.iter().filter_map(|link| Some((share(link)?, link)));
    let ((share, moved), link) = busiest.max_by(|one, other| one.0.0.total_cmp(&other.0.0))?;
    // Headers and gaps between frames take about 5 % of Ethernet's rate. Source: IEEE 802.3, frames of 1500 bytes.
    if share < 0.90 {
        return None;
    }
    let carried = rate(link.bytes_per_second?);
    bound(Bound::Network, share.min(1.0), format!("{} carried {} of {carried}", link.name, rate(moved)))
}

fn generator(view: &PhaseView<'_>) -> Option<Limiter> {
    if view.is_virtual_time() {
        return None;
    }
    if view.ground == Ground::Nothing {
        let busiest = busiest_worker(view)?;
        let text = format!("no storage; worker {} used {} of a processor", busiest.name, percent(busiest.total));
        return bound(Bound::Generator, busiest.total.min(1.0), text);
    }
    let ceiling = *view.seen.null_ceiling_ops.value()?;
    let result = view.measured.per_second(view.measured.count())?;
    let share = result / ceiling;
    // A ceiling far below the result was measured on a disturbed machine.
    if ceiling < POSSIBLE * result || share < CEILING {
        return None;
    }
    let text = format!("{} of the {} that Plumb's workers reach without storage", ops_rate(result), ops_rate(ceiling));
    bound(Bound::Generator, share.min(1.0), text)
}

fn processors(view: &PhaseView<'_>) -> Option<Limiter> {
    // A worker that waits by spinning is always busy, which means nothing.
    if view.is_virtual_time() || plan::spins(view.plan) {
        return None;
    }
    let busiest = busiest_worker(view)?;
    let machine = used::machine_cpu(view);
    let own_share = used::own_cpus(view) / f64::from(view.environment.cpus.max(1));
    if let Some(machine) = machine
        && machine >= FULL_MACHINE
        && view.environment.cpus > 1
        && (own_share >= 0.5 || hardly_sleeps(view))
    {
        let all = view.environment.cpus;
        let text = format!(
            "{all} of {all} busy {} of the time, {} of that for Plumb's workers ({})",
            percent(machine),
            percent((own_share / machine).min(1.0)),
            busiest.split()
        );
        return bound(Bound::AllCpus, machine.min(1.0), text);
    }
    if busiest.total < FULL_CPU {
        return None;
    }
    let used = busiest.total.min(1.0);
    if busiest.system > busiest.user && comes_from_memory(view) {
        let below = if view.ground == Ground::Remote { "server" } else { "device" };
        let text = format!(
            "no {below} was involved; worker {} used {} of a processor, {} of that copying in the kernel",
            busiest.name,
            percent(busiest.total),
            percent(busiest.system / busiest.total)
        );
        return bound(Bound::Cache, used, text);
    }
    let text = format!("worker {} used {} of a processor ({})", busiest.name, percent(busiest.total), busiest.split());
    bound(Bound::WorkerCpu, used, text)
}

/// Returns `true` if workers with one op at a time each hardly slept: then they lacked a processor. (With several ops
/// in flight, one sleep can wait for many.)
fn hardly_sleeps(view: &PhaseView<'_>) -> bool {
    let one_each = view.measured.io_workers().all(|worker| worker.depth_asked <= 1);
    let sleeps = view.measured.io_workers().map(|worker| worker.sleeps).sum::<Option<u64>>();
    one_each && sleeps.is_some_and(|sleeps| (sleeps as f64) < view.measured.count() as f64 * HARDLY_SLEEPS)
}

impl WorkerCpu {
    /// Formats the division of its time.
    fn split(&self) -> String {
        format!("{} in Plumb, {} in the kernel", percent(self.user / self.total), percent(self.system / self.total))
    }
}

/// Returns `true` if bytes moved, and every rate of them is that of memory.
fn comes_from_memory(view: &PhaseView<'_>) -> bool {
    let mut moving = view.measured.ops.iter().filter(|(kind, op)| kind.moves_bytes() && op.bytes > 0).peekable();
    let moved = moving.peek().is_some();
    moved && moving.all(|(kind, _)| rate_tier(view, *kind).tier == Tier::Cache)
}

impl LayerUse {
    fn describe(&self) -> String {
        format!("{} busy {}, {} in flight", self.name, percent(self.busy), short(self.in_flight))
    }
}

/// Detects a busy device. A disk that does one thing at a time is at its limit when it is busy. A parallel
/// device is only known to be when it is busy with many requests. Source: iostats.rst, field 10; Gregg,
/// "Systems Performance", 9.1.3 and 9.3.2.
fn busy_device(device: Option<&LayerUse>) -> Option<Limiter> {
    let device = device.filter(|device| device.busy >= BUSY)?;
    let LayerUse { name, busy, in_flight, bytes_in_flight, one_at_a_time } = device;
    if *one_at_a_time {
        return bound(Bound::Device, *busy, format!("{name}, a spinning disk, busy {} of the time", percent(*busy)));
    }
    if *in_flight < DEEP && *bytes_in_flight < DEEP_BYTES {
        return None;
    }
    let text = format!("{} ({})", device.describe(), bytes(*bytes_in_flight as u64));
    bound(Bound::Device, *busy, text)
}

/// Detects a lock: several workers slept most of the time, and neither a device, a flush nor
/// a missing processor explains it.
fn lock(view: &PhaseView<'_>, device: Option<&LayerUse>) -> Option<Limiter> {
    let workers = view.measured.io_workers().count();
    if workers < 2 || view.is_virtual_time() || !plan::is_closed(view.plan) {
        return None;
    }
    let in_flight = match (&view.ground, device) {
        (Ground::Memory, _) => 0.0,
        (Ground::Device, Some(device)) => device.in_flight,
        _ => return None,
    };
    // Without a count of sleeps per op there is no sign of contention; with as many requests as sleeps
    // the device was the cause.
    let sleeps = view.measured.io_workers().map(|worker| worker.sleeps).sum::<Option<u64>>()?;
    let requests = view.traffic.device.as_ref().map_or(0, |device| device.reads + device.writes);
    if sleeps <= requests.saturating_mul(2) || (sleeps as f64) < view.measured.count() as f64 * HARDLY_SLEEPS {
        return None;
    }
    let idle_machine = used::machine_cpu(view).is_some_and(|busy| busy < FULL_CPU);
    let waiting = used::waiting_workers(view)?;
    let unexplained = waiting - in_flight - used::flushing_workers(view);
    let share = unexplained / workers as f64;
    if !idle_machine || share < UNEXPLAINED {
        return None;
    }
    let text = format!(
        "{} waited {} of their time, for neither a device nor a processor, and slept {} times per op",
        count(workers as u64, "worker"),
        percent(share),
        short(sleeps as f64 / view.measured.count() as f64)
    );
    bound(Bound::Lock, share.min(1.0), text)
}

/// Detects the depth as the limit: all possible ops were in flight, and the processors had time. The rate is
/// the depth over the latency.
fn depth(view: &PhaseView<'_>, device: Option<&LayerUse>) -> Option<Limiter> {
    if !matches!(view.ground, Ground::Device | Ground::Remote | Ground::Memory) {
        return None;
    }
    let asked = view.depth_asked()?;
    let reached: f64 = view.measured.workers.iter().map(|worker| worker.in_flight_mean).sum();
    let used = reached / asked.max(1) as f64;
    if asked == 0 || used < DEPTH_USED || hardly_sleeps(view) {
        return None;
    }
    let each = used::mean_service_ns(view)?;
    let who = match asked {
        1 => "one op at a time".to_owned(),
        _ => format!("{} of {asked} ops in flight", short(reached)),
    };
    let slowest = used::dominant_op(view).map_or(String::new(), |(kind, share)| {
        if share < 0.995 && kind.moves_bytes() {
            String::new()
        } else {
            format!(", {} of it in {}", percent(share), kind.name())
        }
    });
    let behind = match (device, &view.ground) {
        (Some(device), _) => format!("; {}", device.describe()),
        (None, Ground::Remote) => server_answers(view),
        (None, _) => String::new(),
    };
    let crowded = match used::machine_cpu(view) {
        Some(machine) if machine >= FULL_MACHINE && !view.is_virtual_time() => {
            format!("; all CPUs were busy {} of the time, so part of this may be waiting for a CPU", percent(machine))
        }
        _ => String::new(),
    };
    bound(Bound::Depth, used.min(1.0), format!("{who}, {} each{slowest}{behind}{crowded}", nanos(each)))
}

/// Formats the time of server and network, if the client counts it.
fn server_answers(view: &PhaseView<'_>) -> String {
    let longest = view.measured.ops.iter().max_by_key(|(_, op)| op.service.sum());
    let client = view.traffic.client.as_ref().ok();
    match longest.zip(client).and_then(|((kind, _), client)| client.answered_ns(*kind)) {
        Some(ns) => format!("; the server and the network answered a request after {} on average", nanos(ns)),
        None => "; the rest of the time is the server's and the network's".to_owned(),
    }
}

/// Describes the observations if no limit was reached.
fn unknown(view: &PhaseView<'_>, device: Option<&LayerUse>) -> Limiter {
    let only_net = view.plan.workers.iter().all(|group| group.work.net().is_some()) && !view.plan.workers.is_empty();
    let mut facts = Vec::new();
    if let Some(device) = device {
        facts.push(device.describe());
    }
    if let Some(cpu) = busiest_worker(view).filter(|_| !plan::spins(view.plan) && !view.is_virtual_time()) {
        facts.push(format!("busiest worker {} of a processor", percent(cpu.total)));
        if hardly_sleeps(view) && !only_net {
            facts.push("the workers hardly ever waited for storage".to_owned());
        }
    }
    match &view.ground {
        _ if only_net => facts.push("neither the network nor the other end is seen from here".to_owned()),
        Ground::Unseen(reason) => facts.push(format!("the storage is unknown ({reason})")),
        Ground::Remote => facts.push("the server cannot be seen from here".to_owned()),
        _ => {}
    }
    let text = match facts.is_empty() {
        true => "no evidence".to_owned(),
        false => facts.join("; "),
    };
    Limiter { what: Bound::Unknown, utilisation: None, text }
}

#[cfg(test)]
mod tests;
