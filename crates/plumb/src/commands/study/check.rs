//! Checks a study before its first run.

use super::hosts::LabHosts;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::error_line;
use plumb_cli::session;
use plumb_engine::signals::StopFlag;
use plumb_lab::LabError;
use plumb_lab::host::Listener;
use plumb_lab::step::Safety;
use plumb_study::plan::Plan;
use plumb_study::preflight::{Checked, Depth, Preflight, Problem, ProblemKind, preflight};
use std::path::Path;

/// Directories that sudo(8) usually searches for programs.
const SUDO_FINDS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

pub(super) struct CheckRequest<'a> {
    pub plan: &'a Plan,
    /// Paths and serials that the command line allows to be destroyed, in addition to the file's.
    pub typed: &'a str,
    pub depth: Depth,
    pub stop: StopFlag,
}

impl CheckRequest<'_> {
    /// Checks everything that the open plots need. Takes down leftovers of killed processes first, since they would be in the way.
    pub(super) fn answer(
        &self,
        is_open: impl Fn(u32) -> bool,
        hosts: &mut LabHosts,
        listener: Listener<'_>,
    ) -> Preflight {
        if let Err(error) = hosts.recover(&mut *listener) {
            match error {
                // Progress appears on terminals only; print this warning in any case.
                LabError::UntrustedJournals { .. } => error_line!("warning: {error}"),
                error => listener(&format!("warning: {error}")),
            }
        }
        let safety = Safety { typed: self.typed.to_owned(), ..self.plan.safety.clone() };
        let plan = Plan { safety, ..self.plan.clone() };
        preflight(&plan, is_open, hosts, self.depth, self.stop, listener)
    }
}

pub(super) fn warn(found: &Preflight, plan: &Plan) {
    for warning in &plan.warnings {
        error_line!("warning: {warning}");
    }
    for warning in &found.warnings {
        error_line!("warning: {}", line(warning));
    }
}

pub(super) fn refuse(found: &Preflight) -> Result<(), Stopped> {
    if found.is_good() {
        return Ok(());
    }
    let end = if found.is_refused() { End::Refused } else { End::Usage };
    Err(Stopped { end, message: refusal(found) })
}

/// Lists all problems, one per line, and the remedies of those that have one.
fn refusal(found: &Preflight) -> String {
    let count = plumb_trust::text::count(found.problems.len() as u64, "problem");
    let mut lines = vec![format!("{count} found before the first run; nothing was measured:")];
    lines.extend(found.problems.iter().map(|problem| format!("  {}", line(problem))));
    let needs_root: Vec<&Problem> =
        found.problems.iter().filter(|problem| problem.kind == ProblemKind::NeedsRoot).collect();
    if needs_root.iter().any(|problem| problem.hosts.iter().any(|host| host == "local")) {
        lines.push(format!("Run it as root: {}", as_root()));
    }
    if needs_root.iter().any(|problem| problem.hosts.iter().any(|host| host != "local")) {
        lines.push("Reach the host as root: ssh = \"root@HOST\".".to_owned());
    }
    lines.join("\n")
}

/// Formats a problem: `vm: step 1 (lvm): …`.
fn line(problem: &Problem) -> String {
    format!("{}: {}", problem.hosts.join(", "), problem.text)
}

/// Returns the typed command line with sudo.
fn as_root() -> String {
    let typed = session::command_line();
    let words = typed.split_once(' ').map_or("", |(_, words)| words);
    let program = std::env::current_exe().ok().filter(|path| {
        let dir = path.parent().unwrap_or(Path::new("/"));
        !SUDO_FINDS.iter().any(|known| dir == Path::new(known))
    });
    let program = program.map_or_else(|| "plumb".to_owned(), |path| path.display().to_string());
    format!("sudo {program} {words}")
}

pub(super) fn page(found: &Preflight) -> String {
    let mut lines = vec!["Check".to_owned()];
    let width = found.checked.iter().map(|host| host.host.chars().count()).max().unwrap_or(0);
    for host in &found.checked {
        lines.push(format!("  {:width$}  {}", host.host, describe_host(host)));
    }
    lines.extend(found.unchecked.iter().map(|text| format!("  not checked: {text}")));
    lines.extend(found.warnings.iter().map(|warning| format!("  warning: {}", line(warning))));
    if found.is_good() {
        lines.push("  No problem found.".to_owned());
    }
    lines.join("\n") + "\n"
}

fn describe_host(host: &Checked) -> String {
    let Checked { what, provisionings, built, .. } = host;
    let all = plumb_trust::text::count(*provisionings as u64, "plot");
    let how = match built {
        0 => format!("{all} checked, none built"),
        built if built == provisionings => format!("{all} built and taken down"),
        built => format!("{built} of {all} built and taken down"),
    };
    if what.is_empty() { how } else { format!("{what}: {how}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(hosts: &[&str], text: &str, kind: ProblemKind) -> Problem {
        Problem { hosts: hosts.iter().map(|host| (*host).to_owned()).collect(), text: text.to_owned(), kind }
    }

    // Protects: all problems are printed at once, one per line, with the command to run as root.
    #[test]
    fn all_problems_are_printed_at_once() {
        let found = Preflight {
            problems: vec![
                problem(&["local"], "step 1 (loop) needs root, and this user is not", ProblemKind::NeedsRoot),
                problem(&["a", "b"], "step 2 (mkfs): mkfs.xfs is not installed", ProblemKind::Wrong),
            ],
            ..Preflight::default()
        };
        let message = refusal(&found);
        assert!(message.starts_with("2 problems found before the first run"), "{message}");
        assert!(message.contains("\n  a, b: step 2 (mkfs): mkfs.xfs is not installed\n"), "{message}");
        assert!(message.contains("\nRun it as root: sudo /") && !message.contains("Reach the host"), "{message}");
        assert!(!found.is_refused());
    }
}
