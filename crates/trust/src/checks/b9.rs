use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::text::count;
use plumb_result::Remedy;

pub(crate) static CHECK: Check = Check {
    code: "B9",
    title: "Errors",
    what: "Whether any op failed, any verified block held something other than what was written, or the kernel logged \
           errors, resets or timeouts of the storage during the phase.",
    why: "A drive that retries and remaps answers late, and a run with errors measures the error path. A lost or \
          misplaced write makes every number of that storage worthless.",
    how: "Error number of every op and the outcome of every verification; lines of the kernel's log since the phase \
          began.",
    threshold: "any failed op, any wrong block and any log line about a device of the stack fails; a line about other \
                storage is noted, and warns where the stack is not known",
    settled: "Nothing to settle: one failed op or one wrong byte is one too many.",
    fix: &[Remedy::words("Check the cable, the drive's health and the free space, then run again.")],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    let faults = view.measured.fault_count.max(view.measured.faults.len() as u64);
    if faults > 0 {
        let message = match view.measured.faults.first() {
            Some(fault) => format!(
                "{} failed, the first a {} of {} at offset {}: {}.",
                count(faults, "op"),
                fault.op.name(),
                plumb_result::path_text(&fault.path),
                fault.offset,
                fault.message.trim_end_matches('.')
            ),
            None => format!("{} failed.", count(faults, "op")),
        };
        return Outcome::fail(count(faults, "error"), message);
    }
    if matches!(view.ground, Ground::Nothing | Ground::Memory) || view.is_virtual_time() {
        return Outcome::pass("no op failed");
    }
    let lines = match view.seen.kernel_log.as_result() {
        Ok(lines) => lines,
        Err(reason) => {
            return Outcome::skipped(format!("no op failed, but the kernel's log cannot be read ({reason})"));
        }
    };
    let Some(first) = lines.first() else { return Outcome::pass("no op failed; nothing in the kernel's log") };
    let names: Vec<&str> = view.layers().map(|layer| layer.name.as_str()).collect();
    let observed = count(lines.len() as u64, "line");
    match lines.iter().find(|line| names.iter().any(|name| names_device(line, name))) {
        Some(line) => Outcome::fail(observed, format!("The kernel reported trouble with this storage: {line}")),
        // If the storage's devices are unknown, any line may be about them.
        None if names.is_empty() => {
            Outcome::warn(observed, format!("The kernel reported trouble during the phase: {first}"))
                .remedy("Check whether the line is about this storage.")
        }
        None => Outcome::note(observed, format!("The kernel reported trouble with other storage: {first}"))
            .remedies(Vec::new()),
    }
}

/// Returns `true` if the line names the device itself (`sda`, or its partition `sda1`), not one
/// with a similar name (`sdab`).
fn names_device(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + name.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphabetic)
    })
}

#[cfg(test)]
mod tests {
    use super::names_device;
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;

    #[test]
    fn one_failed_op_fails_the_run_and_is_named() {
        assert_eq!(Scene::reading(MIB).level("B9"), Some(Level::Pass));
        let finding = Scene::reading(MIB).fault("Input/output error").finding("B9").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.contains("offset 4096: Input/output error"), "{}", finding.message);
    }

    #[test]
    fn the_kernels_line_is_shown() {
        let scene = |line| Scene::reading(MIB).kernel_log(line);
        let finding = scene("I/O error, dev vda, sector 2048").finding("B9").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.contains("sector 2048"), "{}", finding.message);
        assert_eq!(scene("I/O error, dev sdq, sector 2048").level("B9"), Some(Level::Note), "another disk");
        let remote = scene("nfs: server far not responding").remote();
        assert_eq!(remote.level("B9"), Some(Level::Warn), "it may be about this storage");
    }

    #[test]
    fn an_unseen_log_is_not_a_pass() {
        assert_eq!(Scene::reading(MIB).unseen_kernel_log("EPERM").level("B9"), Some(Level::Skipped));
    }

    #[test]
    fn a_name_is_not_a_prefix() {
        assert!(names_device("error on sda1", "sda"));
        assert!(!names_device("error on sdab", "sda"));
    }
}
