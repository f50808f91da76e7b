//! Time that the calling thread waited for a CPU. Source: Documentation/scheduler/sched-stats.rst; sched_info_arrive()
//! of kernel/sched/stats.h, which adds the wait when the thread gets its CPU.

use plumb_result::RunQueue;
use std::fs::File;
use std::io::Read;

/// Three numbers of up to 20 digits, two spaces and a newline.
const LONGEST: usize = 64;

/// Reads the wait since the thread began; `None` if the kernel does not count it, or `/proc` is not available.
pub(crate) fn now() -> Option<RunQueue> {
    let mut text = [0; LONGEST];
    let length = File::open("/proc/thread-self/schedstat").ok()?.read(&mut text).ok()?;
    parse(std::str::from_utf8(&text[..length]).ok()?)
}

/// Parses `RUNNING WAITED TURNS`, times in ns. A thread that reads this has had a turn, so 0 turns
/// means that nothing is counted.
fn parse(text: &str) -> Option<RunQueue> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
    let (_running, waited, turns) = (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
    (turns > 0).then_some(RunQueue { waited_ns: waited, turns })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects the report: kernels that do not count print zeros, which must not mean "never waited".
    #[test]
    fn only_three_counted_numbers_are_accepted() {
        assert_eq!(parse("1020396 229508 2\n"), Some(RunQueue { waited_ns: 229_508, turns: 2 }));
        for invalid in ["", "0 0 0\n", "1 2\n", "1 -2 3\n", "1 x 3\n", "99999999999999999999999 1 1\n"] {
            assert_eq!(parse(invalid), None, "{invalid:?}");
        }
    }
}
