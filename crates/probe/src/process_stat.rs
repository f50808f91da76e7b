//! Parses `/proc/PID/stat`. Source: proc_pid_stat(5).

/// `PF_KTHREAD` of `include/linux/sched.h`.
pub(crate) const KERNEL_THREAD: u64 = 0x0020_0000;

/// A process or thread, from the kernel's one-line description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub(crate) command: String,
    pub(crate) parent: u32,
    pub(crate) is_kernel_thread: bool,
    /// Page faults of reaped children. Every program has some, so they reveal reaped children.
    pub(crate) child_faults: u64,
    /// Processor time, in ticks.
    pub(crate) cpu_ticks: u64,
    /// Processor time of reaped children, in ticks.
    pub(crate) children_ticks: u64,
    pub(crate) threads: u64,
    /// Start, in ticks since boot.
    pub(crate) start_ticks: u64,
    /// The processor that it ran on last.
    pub(crate) processor: Option<u32>,
}

/// Parses `pid (command) state ppid …`. The command may contain spaces and parentheses, so it ends at the last
/// parenthesis. Numbers in comments are those of the manual page.
pub(crate) fn parse(text: &str) -> Option<ProcessStat> {
    let (head, rest) = text.rsplit_once(')')?;
    let command = head.split_once('(')?.1.to_owned();
    // From 4 on.
    let mut fields = rest.split_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    // 5 to 8 are the groups and the terminal.
    let mut number = |skipped: usize| -> Option<u64> { fields.nth(skipped)?.parse().ok() };
    let flags = number(4)?; // 9
    let child_faults = number(1)?; // 11
    let cpu_ticks = number(2)?.saturating_add(number(0)?); // 14 and 15
    // Signed in the manual, and never below 0.
    let children_ticks = number(0)?.saturating_add(number(0)?); // 16 and 17
    let threads = number(2)?; // 20
    let start_ticks = number(1)?; // 22
    let processor = number(16).and_then(|processor| u32::try_from(processor).ok()); // 39
    Some(ProcessStat {
        command,
        parent,
        is_kernel_thread: flags & KERNEL_THREAD != 0,
        child_faults,
        cpu_ticks,
        children_ticks,
        threads,
        start_ticks,
        processor,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = "22684 (a) b (c) R 22678 22684 22684 0 -1 4194304 102 7 1 2 13 14 15 16 20 0 3 0 92211407 \
                        5853184 467 18446744073709551615 1 2 3 4 5 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

    // Protects: the positions of the fields, which the kernel does not name.
    #[test]
    fn a_line_of_a_kernel() {
        let stat = parse(REAL).unwrap();
        assert_eq!((stat.command.as_str(), stat.parent, stat.is_kernel_thread), ("a) b (c", 22678, false));
        assert_eq!((stat.child_faults, stat.cpu_ticks, stat.children_ticks), (7, 27, 31));
        assert_eq!((stat.threads, stat.start_ticks, stat.processor), (3, 92_211_407, Some(1)));
    }

    // Protects: old kernels' lines end before the processor; a line that is truncated or contains words is rejected.
    #[test]
    fn short_and_hostile_lines() {
        let cut = REAL.split(' ').take(26).collect::<Vec<_>>().join(" ");
        assert_eq!(parse(&cut).unwrap().processor, None);
        for wrong in ["", "1 (a", "1 a) S", "1 (a) S x", &REAL.replace(" 13 ", " -13 "), &REAL[..60]] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }

    // Protects: this process can be read.
    #[test]
    #[cfg(target_os = "linux")]
    fn this_process() {
        let text = crate::sysroot::Sysroot::real().read("/proc/self/stat").unwrap();
        let stat = parse(&text).unwrap();
        assert!(stat.threads >= 1 && stat.processor.is_some() && !stat.is_kernel_thread);
    }
}
