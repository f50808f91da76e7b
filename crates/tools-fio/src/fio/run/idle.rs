//! `--idle-prof`: how idle processors were while the jobs ran. fio counts how much work of the lowest priority they get done;
//! here it is what the kernel counted, which keeps no processor busy.

use super::own_tests::unit_work;
use plumb_tools_fio::fio::invocation::IdleOf;
use plumb_tools_fio::fio::print::{Idleness, UnitWork};

/// Ticks of one processor since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct CpuTicks {
    idle: u64,
    all: u64,
}

/// Looks at the processors while jobs run.
#[derive(Debug)]
pub struct IdleWatch {
    of: IdleOf,
    unit: UnitWork,
    first: Option<Vec<CpuTicks>>,
    last: Vec<CpuTicks>,
}

impl IdleWatch {
    /// Begins with the unit work, which nothing may disturb.
    pub fn new(of: IdleOf) -> IdleWatch {
        IdleWatch { of, unit: unit_work(), first: None, last: Vec::new() }
    }

    /// Jobs begin to run.
    pub fn begins(&mut self) {
        self.first.get_or_insert_with(ticks_now);
    }

    /// Jobs came to their end.
    pub fn ends(&mut self) {
        self.last = ticks_now();
    }

    /// What it saw.
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

/// Idle ticks of all; 0 where there was none between.
fn percent(first: CpuTicks, last: CpuTicks) -> f64 {
    let all = last.all.saturating_sub(first.all);
    if all == 0 { 0.0 } else { last.idle.saturating_sub(first.idle) as f64 * 100.0 / all as f64 }
}

fn ticks_now() -> Vec<CpuTicks> {
    ticks(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
}

/// By processor. Source: proc(5): user, nice, system, idle, iowait, irq, softirq, steal; guests are counted in the first two.
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

    // Protects: waiting for I/O is idle, and the line of all processors is none of them.
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
