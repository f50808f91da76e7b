//! What is wrong with a study before its first run.

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

/// Where programs lie that sudo(8) finds by their names, as a rule.
const SUDO_FINDS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// What is to be looked at.
pub(super) struct CheckRequest<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// What the user allowed to be destroyed beside the file.
    pub typed: &'a str,
    /// How much is tried.
    pub depth: Depth,
    /// Set by a signal.
    pub stop: StopFlag,
}

impl CheckRequest<'_> {
    /// Looks at all that the open plots need. What a killed process has left is taken down first: it would be in the way.
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

/// Says what may make runs fail, or be rejected.
pub(super) fn warn(found: &Preflight, plan: &Plan) {
    for warning in &plan.warnings {
        error_line!("warning: {warning}");
    }
    for warning in &found.warnings {
        error_line!("warning: {}", line(warning));
    }
}

/// Why the study cannot begin, if it cannot.
pub(super) fn refuse(found: &Preflight) -> Result<(), Stopped> {
    if found.is_good() {
        return Ok(());
    }
    let end = if found.is_refused() { End::Refused } else { End::Usage };
    Err(Stopped { end, message: refusal(found) })
}

/// All problems, a line each, and what to do about those that have one answer.
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

/// `vm: step 1 (lvm): …`.
fn line(problem: &Problem) -> String {
    format!("{}: {}", problem.hosts.join(", "), problem.text)
}

/// The command as typed, by root.
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

/// What was looked at, and what was not.
pub(super) fn page(found: &Preflight) -> String {
    let mut lines = vec!["Check".to_owned()];
    let width = found.checked.iter().map(|host| host.host.chars().count()).max().unwrap_or(0);
    for host in &found.checked {
        lines.push(format!("  {:width$}  {}", host.host, of_host(host)));
    }
    lines.extend(found.unchecked.iter().map(|text| format!("  not checked: {text}")));
    lines.extend(found.warnings.iter().map(|warning| format!("  warning: {}", line(warning))));
    if found.is_good() {
        lines.push("  No problem found.".to_owned());
    }
    lines.join("\n") + "\n"
}

fn of_host(host: &Checked) -> String {
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

    // Protects: everything is told at once, a line each, with the line that makes root of the user.
    #[test]
    fn problems_are_told_at_once() {
        let found = Preflight {
            problems: vec![
                problem(&["local"], "step 1 (loop) needs root, and this user is not", ProblemKind::NeedsRoot),
                problem(&["a", "b"], "step 2 (mkfs): mkfs.xfs is not installed", ProblemKind::Wrong),
            ],
            ..Preflight::default()
        };
        let said = refusal(&found);
        assert!(said.starts_with("2 problems found before the first run"), "{said}");
        assert!(said.contains("\n  a, b: step 2 (mkfs): mkfs.xfs is not installed\n"), "{said}");
        assert!(said.contains("\nRun it as root: sudo /") && !said.contains("Reach the host"), "{said}");
        assert!(!found.is_refused());
    }
}
