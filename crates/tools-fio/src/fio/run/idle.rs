//! `--idle-prof`: idle time of the processors during the jobs. fio measures how much lowest-priority work they
//! complete. Plumb reads the kernel's counters, which keeps no processor busy.

use super::own_tests::unit_work;
use plumb_tools_fio::fio::invocation::IdleOf;
use plumb_tools_fio::fio::print::{Idleness, UnitWork};

/// Ticks of one processor since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct CpuTicks {
    idle: u64,
    all: u64,
}

/// Samples the processors before and after the jobs.
#[derive(Debug)]
pub struct IdleWatch {
    of: IdleOf,
    unit: UnitWork,
    first: Option<Vec<CpuTicks>>,
    last: Vec<CpuTicks>,
}

impl IdleWatch {
    /// Measures the unit of work first, while the machine is undisturbed.
    pub fn new(of: IdleOf) -> IdleWatch {
        IdleWatch { of, unit: unit_work(), first: None, last: Vec::new() }
    }

    pub fn begins(&mut self) {
        self.first.get_or_insert_with(ticks_now);
    }

    /// Records the counters at the end of the jobs.
    pub fn ends(&mut self) {
        self.last = ticks_now();
    }

    pub fn idleness(&self) -> Idleness {
        let first = self.first.as_deref().unwrap_or_default();
        let each: Vec<f64> = first.iter().zip(&self.last).map(|(first, last)| percent(*first, *last)).collect();
        Idleness {
            system_percent: if each.is_empty() { 0.0 } else { each.iter().sum::<f64>() / each.len() as f64 },
            each_percent: (self.of == IdleOf::Each).then_some(each),
            unit: self.unit,
        }
    }
}

/// Returns the share of idle ticks; 0 if no tick passed.
fn percent(first: CpuTicks, last: CpuTicks) -> f64 {
    let all = last.all.saturating_sub(first.all);
    if all == 0 { 0.0 } else { last.idle.saturating_sub(first.idle) as f64 * 100.0 / all as f64 }
}

fn ticks_now() -> Vec<CpuTicks> {
    ticks(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
}

/// Parses the ticks of each processor. Source: proc(5): user, nice, system, idle, iowait, irq, softirq, steal; guest
/// time is included in the first two.
fn ticks(stat: &str) -> Vec<CpuTicks> {
    let of_cpu = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let number = words.next()?.strip_prefix("cpu")?;
        number.parse::<u32>().ok()?;
        let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
        let at = |place: usize| ticks.get(place).copied().unwrap_or(0);
        Some(CpuTicks { idle: at(3) + at(4), all: ticks.iter().sum() })
    };
    stat.lines().filter_map(of_cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: waiting for I/O counts as idle, and the summary line of all processors is skipped.
    #[test]
    fn the_kernel_counts_by_processor() {
        let first =
            ticks("cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 10 100 20 0 0 0 0 0\ncpu1 1 2 3 4 5 6 7 8 9 10\nintr 5\n");
        assert_eq!(first[0], CpuTicks { idle: 120, all: 140 });
        assert_eq!((first.len(), first[1]), (2, CpuTicks { idle: 9, all: 36 }));
        let watch = IdleWatch {
            of: IdleOf::Each,
            unit: UnitWork::default(),
            first: Some(first),
            last: vec![CpuTicks { idle: 150, all: 180 }, CpuTicks { idle: 9, all: 36 }],
        };
        let idleness = watch.idleness();
        assert_eq!((idleness.system_percent, idleness.each_percent), (37.5, Some(vec![75.0, 0.0])));
    }
}
