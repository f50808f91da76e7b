//! Rules for file names, and for `PostMark` runs, which name files too.

use super::Checker;
use plumb_workload::files::Names;
use plumb_workload::program::Postmark;

/// Maximum number of numbered files, the same limit as for PostMark.
const NAMES_MAX: u64 = 1 << 27;

/// Checks the names of files.
pub(super) fn names(check: &mut Checker, names: &Names) {
    match names {
        Names::Given(paths) | Names::Made(paths) if paths.is_empty() => {
            check.problem(["names", "said"], "the list of files is empty", "name at least one");
        }
        Names::Numbered { count: 0, .. } => {
            check.problem(["names", "numbered", "count"], "the list of files is empty", "use at least 1");
        }
        Names::Numbered { count, .. } if u64::from(*count) > NAMES_MAX => check.problem(
            ["names", "numbered", "count"],
            format!("{count} files are too many for their state to be held in memory"),
            format!("use at most {NAMES_MAX}"),
        ),
        Names::Numbered { path, count, .. } if *count > 1 && !path.to_string_lossy().contains("{}") => {
            check.problem(
                ["names", "numbered", "path"],
                format!("{count} files would have the same name `{}`", path.display()),
                "put `{}` where the file's number should go",
            );
        }
        Names::Postmark(run) => check.nested(&["names", "postmark"], |check| postmark(check, run)),
        Names::Trees(names) => {
            if let Some((key, message, help)) = names.problem() {
                check.problem(["names", "trees", key], message, help);
            }
        }
        Names::Given(_) | Names::Made(_) | Names::Numbered { .. } => {}
    }
}

/// Checks the settings of a PostMark run.
pub(super) fn postmark(check: &mut Checker, run: &Postmark) {
    for problem in run.problems() {
        check.problem([problem.key], problem.message, problem.help);
    }
}
