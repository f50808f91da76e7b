//! A C program that repeats the calls of a case, short enough to read and to put into a report.

mod folded;
mod state;

use folded::fold;
use state::State;

/// Maximum lines of a program, unless all its calls are requested.
pub const LINES_MAX: usize = 60;

/// Selects which of a case's calls a program contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// As few as reproduce the finding, in at most [`LINES_MAX`] lines.
    Short,
    /// All calls, in any number of lines.
    Whole,
}

/// A recorded step of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    /// The call as C, or a comment.
    text: String,
    /// Recorded result; `None` for comments.
    recorded: Option<String>,
}

impl Step {
    fn parse(line: &str) -> Step {
        match line.strip_suffix(" */").and_then(|line| line.rsplit_once("; /* ")) {
            Some((call, recorded)) => Step { text: call.to_owned(), recorded: Some(recorded.to_owned()) },
            None => Step { text: line.to_owned(), recorded: None },
        }
    }

    /// Returns the name of the system call; empty for comments.
    fn name(&self) -> &str {
        let rest = self.text.split_once("SYS_").map_or("", |(_, rest)| rest);
        rest.split([',', ')']).next().unwrap_or_default()
    }

    fn has_failed(&self) -> bool {
        self.recorded.as_deref().is_some_and(|recorded| recorded.starts_with('E') && recorded != "0")
    }

    /// Whether it is a failed check.
    fn is_failed_check(&self) -> bool {
        self.recorded.is_none() && self.text.contains(": expected ") && self.text.contains(", got ")
    }
}

/// Includes, and the identifiers that need each.
const INCLUDES: [(&str, &[&str]); 7] = [
    ("linux/falloc.h", &["FALLOC_FL_"]),
    ("sys/file.h", &["LOCK_"]),
    ("sys/inotify.h", &["IN_"]),
    ("sys/ioctl.h", &["ioctl"]),
    ("sys/mman.h", &["MAP_", "MS_SYNC"]),
    ("sys/mount.h", &["MNT_", "MS_BIND"]),
    ("sys/socket.h", &["AF_", "SOCK_"]),
];

/// Constants of `linux/fs.h`, which conflicts with some of the headers above.
const DEFINED: [(&str, &str); 3] =
    [("FS_IOC_GETFLAGS", "0x80086601"), ("FS_IOC_SETFLAGS", "0x40086602"), ("FICLONE", "0x40049409")];

/// Returns the program of a case.
pub fn program(id: &str, calls: &[String], extent: Extent) -> String {
    let steps: Vec<Step> = calls.iter().map(|line| Step::parse(line)).collect();
    if extent == Extent::Whole {
        let body = steps.iter().map(line_of).collect::<Vec<_>>();
        return written(id, &body, "");
    }
    let all = fold(&without_cleaning(&steps));
    let room =
        |body: &[String], note: &str| LINES_MAX.saturating_sub(written(id, &[], note).lines().count() + extra(body));
    if all.len() <= room(&all, "") {
        return written(id, &all, "");
    }
    const NOTE: &str = "   Calls that undo each other are left out; `-v` prints all.\n";
    let fits = |body: &[String]| body.len() <= room(body, NOTE);
    let steps = without_cleaning(&steps);
    if let Some(body) = shortest(&steps, fits) {
        return written(id, &body, NOTE);
    }
    // The end alone would lack its prerequisites; the beginning does not.
    match steps.iter().position(Step::is_failed_check) {
        Some(failed) => {
            const PART: &str = "   Only the calls on the files of the check that failed; `-v` prints all.\n";
            let body = fold(&needed_for(&steps[..=failed]));
            let room = room(&body, PART);
            written(id, &body[body.len().saturating_sub(room)..], PART)
        }
        None => {
            const BEGINNING: &str = "   Only the beginning of a longer program, which `-v` prints.\n";
            let fits = (1..=all.len()).rev().find(|length| {
                let body = &all[..*length];
                let depth = body
                    .iter()
                    .filter(|line| line.trim_start().starts_with("for (long ") && line.ends_with('{'))
                    .count();
                let closed = body.iter().filter(|line| line.trim() == "}").count();
                depth == closed && *length <= room(body, BEGINNING)
            });
            written(id, &all[..fits.unwrap_or(0)], BEGINNING)
        }
    }
}

/// Number of calls directly before a check that belong to it.
const CHECKED: usize = 6;

/// Returns the calls that the last step depends on: those on the same files, and changes of the process.
fn needed_for(steps: &[Step]) -> Vec<Step> {
    let strings = |step: &Step| step.text.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let last = steps.len().saturating_sub(CHECKED);
    let mut names: Vec<String> = steps[last..].iter().flat_map(strings).collect();
    let mut process: Vec<String> = Vec::new();
    let mut kept: Vec<Step> = steps[last..].to_vec();
    for step in steps[..last].iter().rev() {
        let of_process = ["setresuid", "setresgid", "setgroups", "umask", "chdir", "fchdir"].contains(&step.name());
        let own = strings(step);
        let is_above = |name: &String| own.iter().any(|own| name == own || name.starts_with(&format!("{own}/")));
        let is_needed = match of_process {
            // Only the last one before counts.
            true => !process.contains(&step.name().to_owned()),
            false => {
                !step.has_failed()
                    && !State::is_read(step.name())
                    && step.recorded.is_some()
                    && names.iter().any(is_above)
            }
        };
        if of_process {
            process.push(step.name().to_owned());
        } else if is_needed {
            names.extend(own);
        }
        if is_needed {
            kept.push(step.clone());
        }
    }
    kept.rotate_left(steps.len() - last);
    let before = kept.len() - (steps.len() - last);
    kept[..before].reverse();
    kept
}

/// Counts the lines of the header that this body needs.
fn extra(body: &[String]) -> usize {
    let has = |word: &str| body.iter().any(|line| line.contains(word));
    let includes = INCLUDES.iter().filter(|(_, words)| words.iter().any(|word| has(word))).count();
    includes + DEFINED.iter().filter(|(name, _)| has(name)).count() + 2 * usize::from(has("N(0"))
}

/// Returns the steps up to the first failed check, without rounds that return to their initial state. If all checks
/// held, returns the longest such program that fits.
fn shortest(steps: &[Step], fits: impl Fn(&[String]) -> bool) -> Option<Vec<String>> {
    let failed = steps.iter().position(Step::is_failed_check);
    let mut kept: Vec<Step> = Vec::new();
    let mut states = vec![(State::default(), 0)];
    let mut best: Option<Vec<String>> = None;
    let mut consider = |kept: &[Step]| {
        let body = fold(kept);
        if fits(&body) && best.as_ref().is_none_or(|best| body.len() > best.len()) {
            best = Some(body);
        }
    };
    for step in &steps[..failed.map_or(steps.len(), |at| at + 1)] {
        let before = &states[states.len() - 1].0;
        let after = before.after(step);
        let is_changed = after != *before;
        kept.push(step.clone());
        if !is_changed {
            continue;
        }
        match states.iter().position(|(state, _)| *state == after) {
            Some(at) => {
                if failed.is_none() {
                    consider(&kept);
                }
                kept.truncate(states[at].1);
                states.truncate(at + 1);
            }
            None => states.push((after, kept.len())),
        }
    }
    consider(&kept);
    best
}

/// Drops calls that only make sure that a missing file does not exist.
fn without_cleaning(steps: &[Step]) -> Vec<Step> {
    let removes = |step: &Step| step.name() == "unlinkat" && step.has_failed();
    let path = |step: &Step| step.text.split('"').nth(1).map(str::to_owned);
    let mut kept = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let is_pair = steps.get(at + 1).is_some_and(|next| {
            let [first, second] = [&steps[at], next];
            let is_gone = first.recorded.as_deref() == Some("ENOENT") && second.recorded.as_deref() == Some("ENOENT");
            removes(first) && removes(second) && is_gone && path(first) == path(second)
        });
        if is_pair {
            at += 2;
        } else {
            kept.push(steps[at].clone());
            at += 1;
        }
    }
    kept
}

fn line_of(step: &Step) -> String {
    match &step.recorded {
        Some(recorded) => format!("    CALL({}, \"{recorded}\");", step.text),
        None => format!("    {}", step.text),
    }
}

/// Formats the whole program. `note` is a line of the comment at its top.
fn written(id: &str, body: &[String], note: &str) -> String {
    let has = |word: &str| body.iter().any(|line| line.contains(word));
    let mut text = format!(
        "/* The calls of {id}, in C. In an empty directory of the file system: cc -o case case.c && ./case\n{note}   Steps in \
         comments are not repeated. */\n#define _GNU_SOURCE\n"
    );
    let always = ["errno.h", "fcntl.h", "stdio.h", "string.h", "sys/stat.h", "sys/syscall.h", "unistd.h"];
    let needed = INCLUDES.iter().filter(|(_, words)| words.iter().any(|word| has(word))).map(|(file, _)| *file);
    for file in always.into_iter().chain(needed) {
        text.push_str(&format!("#include <{file}>\n"));
    }
    for (name, value) in DEFINED.iter().filter(|(name, _)| has(name)) {
        text.push_str(&format!("#define {name} {value}\n"));
    }
    text.push_str(
        "#define CALL(call, saw) do { errno = 0; long r = (long)(call); \\\n    printf(\"%-70.70s %ld %s (Plumb: %s)\\n\", #call, r, r \
         == -1 ? strerror(errno) : \"\", saw); } while (0)\n",
    );
    if has("N(0") {
        text.push_str("char names[4][8192];\n#define N(at, ...) (snprintf(names[at], sizeof names[at], __VA_ARGS__), names[at])\n");
    }
    if has("map = mmap(") {
        text.push_str("char *map;\n");
    }
    text.push_str("int fd[4096];\nchar buffer[1 << 17];\nstruct statx stx;\nint main(void)\n{\n    umask(0);\n");
    for line in body {
        text.push_str(line);
        text.push('\n');
    }
    text.push_str("    return 0;\n}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(lines: impl IntoIterator<Item = String>) -> Vec<String> {
        lines.into_iter().collect()
    }

    fn link(number: u32, recorded: &str) -> String {
        format!("syscall(SYS_linkat, AT_FDCWD, \"f\", AT_FDCWD, \"l{number}\", 0L); /* {recorded} */")
    }

    // Protects: link.emlink had 1,800 lines.
    #[test]
    fn repeated_calls_become_a_loop() {
        let last = [link(65_000, "EMLINK"), "/* one more: expected EMLINK, got 0 */".to_owned()];
        let text =
            program("link.emlink", &calls((0..65_000).map(|number| link(number, "0")).chain(last)), Extent::Short);
        assert!(text.lines().count() <= LINES_MAX, "{text}");
        assert!(text.contains("for (long i = 0; i < 65000; i++)"), "{text}");
        assert!(text.contains("N(0, \"l%ld\", 0 + i * 1)") && text.contains("\"l65000\", 0L), \"EMLINK\")"), "{text}");
    }

    // Protects: a case of many rounds shows the failed round with its prerequisites.
    #[test]
    fn rounds_before_the_failure_are_left_out() {
        let round = |mode: &str, fails: bool| {
            let mut lines = vec![
                "syscall(SYS_mkdirat, AT_FDCWD, \"d\", 0755); /* 0 */".to_owned(),
                format!("syscall(SYS_fchmodat, AT_FDCWD, \"d\", {mode}); /* 0 */"),
            ];
            if fails {
                lines.push("/* mode: expected 0700, got 0000 */".to_owned());
            }
            lines.push("syscall(SYS_unlinkat, AT_FDCWD, \"d\", AT_REMOVEDIR); /* 0 */".to_owned());
            lines.push("/* wait 3 µs */".to_owned());
            lines
        };
        let own = std::iter::once("syscall(SYS_mkdirat, AT_FDCWD, \"own\", 0700); /* 0 */".to_owned());
        let modes = (0..60).flat_map(|mode| round(&format!("0{:o}", mode * mode + 1), mode == 50));
        let text = program("chmod.x", &calls(own.chain(modes)), Extent::Short);
        assert!(text.lines().count() <= LINES_MAX, "{text}");
        assert_eq!(text.matches("fchmodat").count(), 1, "{text}");
        assert!(text.contains("04705") && text.contains("\"own\"") && text.contains("expected 0700"), "{text}");
    }

    // Protects: a long case shows only the calls on the files of the failed check, in order, and all calls with -v.
    #[test]
    fn a_long_case_shows_the_calls_on_the_files_that_failed() {
        let make = |number: u32| {
            let squared = number * number;
            let (path, mode) = (format!("d{squared}"), 0o700 + number % 7);
            [
                format!("syscall(SYS_mkdirat, AT_FDCWD, \"{path}\", 0755); /* 0 */"),
                format!("syscall(SYS_fchmodat, AT_FDCWD, \"{path}\", 0{mode:o}); /* 0 */"),
            ]
        };
        let user = std::iter::once("syscall(SYS_setresuid, 1L, 1L, -1L); /* 0 */".to_owned());
        let check = [
            "syscall(SYS_unlinkat, AT_FDCWD, \"d9/x\", 0L); /* ENOENT */".to_owned(),
            "/* it: expected 0, got ENOENT */".to_owned(),
        ];
        let lines = calls(user.chain((0..300).flat_map(make)).chain(check));
        let text = program("x", &lines, Extent::Short);
        assert!(text.lines().count() <= LINES_MAX && text.contains("Only the calls on the files"), "{text}");
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        assert!(at("setresuid") < at("mkdirat, AT_FDCWD, \"d9\"") && at("SYS_unlinkat") < at("got ENOENT"), "{text}");
        assert!(!text.contains("\"d16\""), "{text}");
        assert_eq!(program("x", &lines, Extent::Whole).matches("SYS_mkdirat").count(), 300);
    }

    // Protects: the short form of a long passing case is a working program.
    #[test]
    fn a_long_case_that_passes_shows_its_beginning() {
        let lines = calls(
            (0..300).map(|number| format!("syscall(SYS_mkdirat, AT_FDCWD, \"d{}\", 0755); /* 0 */", number * number)),
        );
        let text = program("x", &lines, Extent::Short);
        assert!(text.lines().count() <= LINES_MAX && text.contains("Only the beginning"), "{text}");
        assert!(text.contains("\"d0\"") && text.contains("\"d100\"") && !text.contains("\"d89401\""), "{text}");
    }
}
