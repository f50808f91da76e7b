//! `plumb as pjdfstest`: installs files with pjdfstest's names for `prove`. Each file runs the cases that cover it.

use super::test::{Calls, Selection, cases_at};
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_engine::guard::OutputFile;
use plumb_posix::{Done, Outcome, PjdfstestFile};
use plumb_tools_run::ToolCall;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

const USAGE: &str = "\
usage: plumb as pjdfstest --install DIR
       plumb as pjdfstest FILE      such as chmod/00, in a directory of the file system to test

`--install` writes a file for each of pjdfstest's into DIR; then `prove -r DIR` works, in a directory of the file system to test.";

const LIMIT: Duration = Duration::from_secs(30);

/// Runs the command line that pjdfstest's files have.
pub(crate) fn run(call: &ToolCall<'_>) -> Result<End, Stopped> {
    let words: Vec<&str> = call.words.iter().map(String::as_str).collect();
    match words[..] {
        ["--install", directory] => install(Path::new(directory)),
        [file] if !file.starts_with('-') => test(file),
        ["-h" | "--help"] => {
            output::print(&format!("{USAGE}\n"));
            Ok(End::Done)
        }
        _ => Err(Stopped::usage(USAGE)),
    }
}

/// Writes the files. Keeps an existing file that Plumb did not write.
fn install(directory: &Path) -> Result<End, Stopped> {
    const MARK: &str = "# Written by `plumb as pjdfstest --install`.";
    let program = std::env::current_exe().map_err(Stopped::io)?;
    let program = program.display().to_string().replace('\'', "'\\''");
    let files = plumb_posix::pjdfstest();
    for file in &files {
        let path = directory.join(format!("{}.t", file.name));
        let failed = |error: std::io::Error| Stopped::io(format!("cannot write {}: {error}", path.display()));
        let is_foreign = std::fs::read_to_string(&path).is_ok_and(|text| !text.contains(MARK));
        if is_foreign {
            return Err(Stopped {
                end: End::Refused,
                message: format!("{} is there, and was not written by Plumb; name another directory", path.display()),
            });
        }
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        let text = format!("#!/bin/sh\n{MARK}\nexec '{program}' as pjdfstest {}\n", file.name);
        let output = OutputFile::made_up("--install", &path);
        output.replace(text.as_bytes())?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
    }
    output::print(&format!(
        "wrote {} files; in a directory of the file system to test: prove -r {}\n",
        files.len(),
        directory.display()
    ));
    Ok(End::Done)
}

/// Runs the cases that cover a file, and prints TAP.
fn test(name: &str) -> Result<End, Stopped> {
    let wanted = name.trim_end_matches(".t");
    let files = plumb_posix::pjdfstest();
    let Some(PjdfstestFile { covered, .. }) =
        files.iter().find(|file| wanted == file.name || wanted.ends_with(&format!("/{}", file.name)))
    else {
        return Err(Stopped::usage(format!("pjdfstest has no file `{name}`; expected one such as chmod/00")));
    };
    let patterns = match covered {
        Ok(patterns) => patterns.iter().map(|pattern| (*pattern).to_owned()).collect::<Vec<_>>(),
        Err(why) => {
            output::print(&format!("1..0 # SKIP {why}\n"));
            return Ok(End::Done);
        }
    };
    let selection = Selection { only: &patterns, without: &[] };
    let report = cases_at(Path::new("."), &selection, 1, LIMIT, Calls::OfFailures, false)?.report;
    let cases = plumb_posix::cases();
    let mut text = format!("1..{}\n", report.done.len());
    for (index, done) in report.done.iter().enumerate() {
        let id = &cases[done.case].id;
        let level = cases[done.case].level.name();
        text.push_str(&line(index + 1, id, level, done));
    }
    output::print(&text);
    Ok(End::Done)
}

/// Formats a line of TAP. Behaviour that POSIX leaves open is `TODO`, as in pjdfstest itself.
fn line(number: usize, id: &str, level: &str, done: &Done) -> String {
    let plain = |text: &str| text.replace(['\n', '#'], " ");
    match &done.outcome {
        Outcome::Pass => format!("ok {number} - {id}\n"),
        Outcome::Skip(kind, why) => format!("ok {number} - {id} # SKIP {}: {}\n", kind.name(), plain(why)),
        Outcome::Blocked { by, why } => format!("ok {number} - {id} # SKIP blocked by {by}: {}\n", plain(why)),
        Outcome::Fail(failures, _) => {
            let todo = match id {
                _ if level == "COMMON" => " # TODO not required by POSIX",
                // pjdfstest marks it the same on Linux.
                "unlink.directory-eperm" => " # TODO EISDIR on Linux",
                _ => "",
            };
            let detail = failures.iter().map(|failure| {
                format!(
                    "# {}: expected {}, got {}\n",
                    plain(&failure.what),
                    plain(&failure.expected),
                    plain(&failure.got)
                )
            });
            format!("not ok {number} - {id}{todo}\n{}", detail.collect::<String>())
        }
        Outcome::Timeout => format!("ok {number} - {id} # SKIP did not end in time: not judged\n"),
        Outcome::Broken(why) => format!("not ok {number} - {id}\n# {}\n", plain(why)),
    }
}
