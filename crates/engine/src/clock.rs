//! Clock readings in the hot loop. The source is the invariant time-stamp counter if the kernel
//! itself trusts it, otherwise `clock_gettime(CLOCK_MONOTONIC)`. Simulated devices use the
//! [virtual time](crate::virtual_time) of the thread.
//!
//! The loop keeps raw ticks and converts only differences, so one op costs two counter readings and one multiplication.
#![allow(unsafe_code)]

use crate::virtual_time;
use std::sync::OnceLock;
use std::time::Duration;

/// Ticks of a [`Clock`]. Only differences are meaningful.
pub type Ticks = u64;

/// Fraction bits of the tick length.
const SCALE_BITS: u32 = 32;

/// Minimum time to compare the counter with the system's clock. A pair of readings is accurate to about 30 ns, so
/// durations are then accurate to 0.002 %. Every later call of [`Clock::best`] has compared them for longer.
const CALIBRATION_NS: u64 = 2_000_000;

/// A clock shared by all workers.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    kind: ClockKind,
    /// Nanoseconds per tick, in units of 2^-32.
    ns_per_tick: u64,
    ticks_per_ns: f64,
}

/// Time source of a [`Clock`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockKind {
    /// The CPU's time-stamp counter.
    Tsc,
    Monotonic,
    /// The virtual time of a simulation, ns.
    Virtual,
}

impl ClockKind {
    /// Returns the name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            ClockKind::Tsc => "tsc",
            ClockKind::Monotonic => "clock_gettime",
            ClockKind::Virtual => "virtual",
        }
    }
}

/// Reads `CLOCK_MONOTONIC`, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: rdtsc has no precondition. Only prctl(PR_SET_TSC) can disable it for user mode, and the process would
    // have to call that itself.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: CNTVCT_EL0 is readable from user mode on every arm64 system that we support.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
    ticks
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn counter() -> u64 {
    monotonic_ns()
}

/// Returns `true` if the kernel uses the counter, which it does only if the counter is
/// invariant and synchronous across CPUs.
fn kernel_trusts_counter() -> bool {
    let trusted: &[&str] = if cfg!(target_arch = "x86_64") {
        &["tsc"]
    } else if cfg!(target_arch = "aarch64") {
        &["arch_sys_counter"]
    } else {
        return false;
    };
    std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .is_ok_and(|current| trusted.contains(&current.trim()))
}

/// Orders counter readings with the instructions before and after them.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn fence_counter() {
    // SAFETY: lfence is part of SSE2, which every x86-64 CPU has.
    unsafe { core::arch::x86_64::_mm_lfence() }
}

#[cfg(all(target_os = "linux", not(target_arch = "x86_64")))]
fn fence_counter() {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// Result of [`Clock::compare_processors`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessorsCompared {
    /// Number of readings on all CPUs.
    pub readings: u64,
    /// Number of readings earlier than the previous one, on another CPU.
    pub backwards: u64,
    /// Largest step back, in ticks.
    pub largest_step_back: Ticks,
}

/// Reads counter and system time together. Returns the closest of 16 pairs.
fn paired_reading() -> Paired {
    (0..16)
        .map(|_| {
            let before = counter();
            let ns = monotonic_ns();
            let after = counter();
            (after - before, Paired { ticks: before + (after - before) / 2, ns })
        })
        .min_by_key(|(spread, _)| *spread)
        .map(|(_, pair)| pair)
        .expect("the range is not empty")
}

#[derive(Debug, Clone, Copy)]
struct Paired {
    ticks: u64,
    ns: u64,
}

/// Reads the time with a function call, for sources without an instruction.
#[cold]
#[inline(never)]
fn called_now(kind: ClockKind) -> Ticks {
    match kind {
        ClockKind::Virtual => virtual_time::now(),
        ClockKind::Tsc | ClockKind::Monotonic => monotonic_ns(),
    }
}

/// The first pair of readings; `None` if the counter is not used.
static FIRST: OnceLock<Option<Paired>> = OnceLock::new();

fn first_reading() -> Option<Paired> {
    *FIRST.get_or_init(|| kernel_trusts_counter().then(paired_reading))
}

impl Clock {
    /// Starts to compare the counter with the system's clock. A program that calls this first can later
    /// create a clock without waiting.
    pub fn begin_calibration() {
        first_reading();
    }

    /// Returns the best clock of this machine. It is calibrated since the first such call or
    /// [`Clock::begin_calibration`]; if that was less than 2 ms ago, this waits for the rest.
    pub fn best() -> Clock {
        first_reading().map_or_else(Clock::monotonic, Clock::calibrated_since)
    }

    /// Returns a clock that calls `clock_gettime`.
    pub const fn monotonic() -> Clock {
        Clock { kind: ClockKind::Monotonic, ns_per_tick: 1 << SCALE_BITS, ticks_per_ns: 1.0 }
    }

    /// Returns a clock of the calling thread's virtual time.
    pub(crate) const fn virtual_time() -> Clock {
        Clock { kind: ClockKind::Virtual, ..Clock::monotonic() }
    }

    /// Returns `true` for the time of a simulation, in which only its devices take time.
    pub(crate) const fn is_virtual(&self) -> bool {
        matches!(self.kind, ClockKind::Virtual)
    }

    fn calibrated_since(first: Paired) -> Clock {
        while monotonic_ns() < first.ns + CALIBRATION_NS {
            std::hint::spin_loop();
        }
        let last = paired_reading();
        let ns_per_tick = (last.ns - first.ns) as f64 / (last.ticks - first.ticks) as f64;
        Clock {
            kind: ClockKind::Tsc,
            ns_per_tick: (ns_per_tick * (1u64 << SCALE_BITS) as f64).round() as u64,
            ticks_per_ns: 1.0 / ns_per_tick,
        }
    }

    pub const fn kind(&self) -> ClockKind {
        self.kind
    }

    /// Returns the current time in ticks.
    #[inline(always)]
    pub fn now(&self) -> Ticks {
        match self.kind {
            ClockKind::Tsc => counter(),
            // Passed by value: a clock whose address is taken is not kept in registers.
            kind => called_now(kind),
        }
    }

    pub(crate) fn sleep(&self, ns: u64) {
        match self.kind {
            ClockKind::Virtual => virtual_time::sleep_until(virtual_time::now().saturating_add(ns)),
            ClockKind::Tsc | ClockKind::Monotonic => std::thread::sleep(Duration::from_nanos(ns)),
        }
    }

    /// Returns the nanoseconds between two readings; 0 if a migration between CPUs made time run backwards.
    #[inline(always)]
    pub(crate) fn ns_between(&self, from: Ticks, to: Ticks) -> u64 {
        ((u128::from(to.saturating_sub(from)) * u128::from(self.ns_per_tick)) >> SCALE_BITS) as u64
    }

    /// Converts nanoseconds to ticks.
    pub fn ticks(&self, ns: u64) -> Ticks {
        (ns as f64 * self.ticks_per_ns) as u64
    }

    /// Converts nanoseconds, with fractions, to ticks.
    pub(crate) fn fractional_ticks(&self, ns: f64) -> f64 {
        ns * self.ticks_per_ns
    }

    /// Fails, because threads can be bound to CPUs only on Linux.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(target_os = "linux"))]
    pub fn compare_processors(&self, _cpus: &[u32], _time: Duration) -> std::io::Result<ProcessorsCompared> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    /// Reads the clock on each of these CPUs in turn until `time` has passed, and counts steps back.
    ///
    /// # Errors
    /// A thread cannot be bound to a CPU.
    #[cfg(target_os = "linux")]
    pub fn compare_processors(&self, cpus: &[u32], time: Duration) -> std::io::Result<ProcessorsCompared> {
        use std::sync::atomic::AtomicU64;
        use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
        /// Number of polls before the thread yields its CPU.
        const SPINS: u32 = 10_000;
        /// Value of `turn` after the end, set by the thread that notices it.
        const OVER: u64 = u64::MAX;
        let (turn, last) = (AtomicU64::new(0), AtomicU64::new(0));
        let until_ns = monotonic_ns().saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let count = cpus.len() as u64;
        let reads = |place: u64, cpu: u32| -> std::io::Result<(u64, u64, u64)> {
            let bound = rustix::thread::sched_setaffinity(None, &{
                let mut set = rustix::thread::CpuSet::new();
                set.set(cpu as usize);
                set
            });
            if let Err(error) = bound {
                turn.store(OVER, Release);
                return Err(error.into());
            }
            let (mut readings, mut backwards, mut largest) = (0, 0, 0);
            let mut spins = 0u32;
            loop {
                let now = turn.load(Acquire);
                if now == OVER {
                    return Ok((readings, backwards, largest));
                }
                if now % count != place {
                    spins = (spins + 1) % SPINS;
                    // The thread whose turn it is may need this CPU.
                    match spins {
                        0 => std::thread::yield_now(),
                        _ => std::hint::spin_loop(),
                    }
                    continue;
                }
                // The counter must not be read before the turn has arrived.
                fence_counter();
                let ticks = self.now();
                fence_counter();
                let before = last.swap(ticks, AcqRel);
                readings += 1;
                if ticks < before {
                    backwards += 1;
                    largest = largest.max(before - ticks);
                }
                let next = if monotonic_ns() >= until_ns { OVER } else { now + 1 };
                turn.store(next, Release);
            }
        };
        let found: std::io::Result<Vec<(u64, u64, u64)>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..).zip(cpus).map(|(place, &cpu)| scope.spawn(move || reads(place, cpu))).collect();
            threads.into_iter().map(|thread| thread.join().expect("it only reads a clock")).collect()
        });
        Ok(found?.into_iter().fold(ProcessorsCompared::default(), |sum, (readings, backwards, largest)| {
            ProcessorsCompared {
                readings: sum.readings + readings,
                backwards: sum.backwards + backwards,
                largest_step_back: sum.largest_step_back.max(largest),
            }
        }))
    }

    /// Returns the mean cost of a reading in ns, from the fastest of several series. Another program may preempt one of
    /// them, for a thousand times the length of a series.
    pub(crate) fn cost_ns(&self) -> f64 {
        fastest_series(|| self.now(), |first, last| self.ns_between(first, last))
    }
}

/// Returns the mean time of a reading in the fastest series.
fn fastest_series(mut now: impl FnMut() -> u64, ns_between: impl Fn(u64, u64) -> u64) -> f64 {
    const SERIES: u64 = 10;
    const READINGS: u64 = 100;
    let series = |_| {
        let first = now();
        let mut last = first;
        for _ in 0..READINGS {
            last = std::hint::black_box(now());
        }
        ns_between(first, last)
    };
    (0..SERIES).map(series).min().unwrap_or(0) as f64 / READINGS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects check C11: a program that preempts the measurement must not make the clock seem slow.
    #[test]
    fn an_interruption_does_not_make_the_clock_seem_slow() {
        let mut readings = 0;
        let mut time_ns = 0;
        let now = || {
            readings += 1;
            time_ns += if readings == 150 { 12_000_000 } else { 20 };
            time_ns
        };
        assert_eq!(fastest_series(now, |first, last| last - first), 20.0);
    }

    #[test]
    fn the_best_clock_agrees_with_the_system_within_a_part_in_a_thousand() {
        let clock = Clock::best();
        let (ticks, ns) = (clock.now(), monotonic_ns());
        std::thread::sleep(std::time::Duration::from_millis(50));
        let (by_clock, by_system) = (clock.ns_between(ticks, clock.now()), monotonic_ns() - ns);
        let ratio = by_clock as f64 / by_system as f64;
        assert!((0.99..1.01).contains(&ratio), "{by_clock} ns against {by_system} ns");
    }

    #[test]
    fn a_day_of_ticks_does_not_overflow() {
        let clock = Clock::best();
        let day = 86_400_000_000_000;
        let there_and_back = clock.ns_between(0, clock.ticks(day));
        assert!(there_and_back.abs_diff(day) < day / 1_000_000, "{there_and_back}");
    }

    // Protects the comparison: CPUs take turns, it ends in time, and a monotonic clock shows no steps back.
    #[cfg(target_os = "linux")]
    #[test]
    fn processors_read_the_clock_in_turn() {
        let cpus: Vec<u32> =
            (0..2).filter(|&cpu| cpu < std::thread::available_parallelism().unwrap().get() as u32).collect();
        // On a busy machine, a thread may not get a turn in time.
        let all_read = (0..10).any(|doubled| {
            let time = Duration::from_millis(5 << doubled);
            let found = Clock::monotonic().compare_processors(&cpus, time).unwrap();
            assert_eq!((found.backwards, found.largest_step_back), (0, 0));
            found.readings >= cpus.len() as u64
        });
        assert!(all_read);
        assert!(Clock::monotonic().compare_processors(&[0, 1_000], Duration::from_secs(60)).is_err());
    }

    #[test]
    fn time_running_backwards_counts_as_zero() {
        assert_eq!(Clock::best().ns_between(1000, 10), 0);
    }
}
