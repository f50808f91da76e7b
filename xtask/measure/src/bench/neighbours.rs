//! CPU time that other guests on the same hardware take during a comparison.

use anyhow::{Context, Result};

/// If the hypervisor took more of the CPU time than this during a pair of runs, the pair says little.
const MOST_STOLEN: f64 = 0.01;

/// CPU time so far in ticks. Source: proc_stat(5).
#[derive(Clone, Copy)]
pub(super) struct Processors {
    total: u64,
    stolen: u64,
}

impl Processors {
    /// Reads the current values.
    ///
    /// # Errors
    ///
    /// `/proc/stat` is missing or invalid.
    pub(super) fn now() -> Result<Processors> {
        Processors::read(&std::fs::read_to_string("/proc/stat")?)
    }

    fn read(text: &str) -> Result<Processors> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu ")).context("/proc/stat has no line cpu")?;
        // User time already includes guests' time.
        let ticks: Vec<u64> = line.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>()?;
        let stolen = *ticks.get(7).context("/proc/stat does not tell stolen time")?;
        Ok(Processors { total: ticks.iter().sum(), stolen })
    }

    /// Whether too much was stolen since then.
    pub(super) fn were_taken_since(self, then: Processors) -> bool {
        let [stolen, total] = [self.stolen - then.stolen, self.total - then.total].map(|ticks| ticks as f64);
        stolen > total * MOST_STOLEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_seen() {
        let at = |user: u64, stolen: u64| {
            Processors::read(&format!("cpu  {user} 0 0 100 0 0 0 {stolen} 50 0\ncpu0 1 2\n")).unwrap()
        };
        assert!(!at(199, 1).were_taken_since(at(100, 0)), "1 of 100");
        assert!(at(198, 2).were_taken_since(at(100, 0)), "2 of 100");
        assert!(Processors::read("cpu 1 2 3 4\n").is_err());
    }
}
