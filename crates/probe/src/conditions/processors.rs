//! Frequency of the processors, and throttling by heat. Sources: Documentation/admin-guide/pm/cpufreq.rst and
//! arch/x86/kernel/cpu/mce/therm_throt.c, whose counters are per core and per package.

use crate::sysroot::Sysroot;
use plumb_result::Seen;
use plumb_result::conditions::FrequencySpread;

const CPUS: &str = "/sys/devices/system/cpu";
const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";
/// Maximum number of frequency domains read per second: on old kernels a reading wakes the processor.
const DOMAINS_MAX: usize = 8;

/// Returns the throttling events since boot: of all cores, and of the package with the highest count. Each core
/// repeats the count of its package.
pub(super) fn throttles(sys: &Sysroot) -> Seen<u64> {
    let (mut cores, mut package, mut seen) = (0u64, 0u64, false);
    // Skip other files and directories next to the processors.
    let is_one = |name: &String| name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok());
    for name in sys.names(CPUS).into_iter().filter(is_one) {
        let count = |file: &str| sys.number::<u64>(format!("{CPUS}/{name}/thermal_throttle/{file}"));
        if let Some(core) = count("core_throttle_count") {
            cores = cores.saturating_add(core);
            seen = true;
        }
        package = package.max(count("package_throttle_count").unwrap_or(0));
    }
    if seen {
        Seen::Yes(cores.saturating_add(package))
    } else {
        Seen::no("this processor does not count its throttles")
    }
}

/// Collects the fastest processor's frequency each second, in constant memory (Welford 1962).
#[derive(Debug, Clone, Default)]
pub(super) struct Frequencies {
    samples: u32,
    mean: f64,
    squares: f64,
    lowest: f64,
    highest: f64,
}

impl Frequencies {
    pub(super) fn tick(&mut self, sys: &Sysroot) {
        let policies = sys.names(POLICIES);
        let domains = policies.iter().filter(|name| name.starts_with("policy")).take(DOMAINS_MAX);
        let khz = domains.filter_map(|name| sys.number::<u64>(format!("{POLICIES}/{name}/scaling_cur_freq"))).max();
        let Some(khz) = khz else { return };
        let hertz = khz as f64 * 1000.0;
        self.samples += 1;
        let off = hertz - self.mean;
        self.mean += off / f64::from(self.samples);
        self.squares += off * (hertz - self.mean);
        self.lowest = if self.samples == 1 { hertz } else { self.lowest.min(hertz) };
        self.highest = self.highest.max(hertz);
    }

    pub(super) fn spread(&self) -> Seen<FrequencySpread> {
        if self.samples < 2 {
            let reason = match self.samples {
                0 => "this kernel does not report processor frequencies, or the phase was shorter than a second",
                _ => "the phase was too short to read the processors' frequency twice",
            };
            return Seen::no(reason);
        }
        let deviation = (self.squares / f64::from(self.samples - 1)).sqrt();
        Seen::Yes(FrequencySpread {
            samples: self.samples,
            mean_hz: self.mean,
            cov: if self.mean > 0.0 { deviation / self.mean } else { 0.0 },
            lowest_hz: self.lowest,
            highest_hz: self.highest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;

    // Protects: cores are summed, a package is counted once, and a processor without counters gives no number.
    #[test]
    fn throttles_are_counted_once() {
        let tree = Tree::new();
        assert!(throttles(&tree.sys()).value().is_none());
        for (cpu, core) in [(0, 3), (1, 4)] {
            let at = format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle");
            tree.file(&format!("{at}/core_throttle_count"), &format!("{core}\n"))
                .file(&format!("{at}/package_throttle_count"), "10\n");
        }
        assert_eq!(throttles(&tree.sys()), Seen::Yes(17));
    }

    // Protects: the spread over seconds, of the fastest processor.
    #[test]
    fn frequencies_are_gathered() {
        let tree = Tree::new();
        let mut gathered = Frequencies::default();
        gathered.tick(&tree.sys());
        assert!(gathered.spread().as_result().unwrap_err().contains("does not report"));
        for khz in [3_000_000, 1_000_000] {
            tree.file("/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "800000\n")
                .file("/sys/devices/system/cpu/cpufreq/policy1/scaling_cur_freq", &format!("{khz}\n"));
            gathered.tick(&tree.sys());
        }
        let spread = *gathered.spread().value().unwrap();
        assert_eq!((spread.samples, spread.mean_hz), (2, 2e9));
        assert!((spread.cov - 2f64.sqrt() / 2.0).abs() < 1e-9, "{}", spread.cov);
        assert_eq!((spread.lowest_hz, spread.highest_hz), (1e9, 3e9));
    }
}
