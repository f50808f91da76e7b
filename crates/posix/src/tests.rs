mod broken;
mod fuse;
mod rules;

use super::*;
use crate::run::{Request, run};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

const IDS: &str = include_str!("../ids.txt");

// Protects: an id is never lost or renamed by accident; expected failures and baselines refer to them.
#[test]
fn ids_are_those_of_the_list() {
    let mut ids: Vec<String> = cases().into_iter().map(|case| case.id).collect();
    ids.sort();
    let text: String = ids.iter().map(|id| format!("{id}\n")).collect();
    if std::env::var_os("PLUMB_BLESS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/ids.txt"), &text).unwrap();
    } else {
        assert_eq!(text, IDS, "PLUMB_BLESS=1 rewrites the list");
    }
    let before = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), before, "an id occurs twice");
}

// Protects: every rule has a source and a meaning, in text that can be printed on a line.
#[test]
fn every_case_is_explained() {
    for case in cases() {
        let (clause, text) = (case.clause(), case.text());
        assert!(
            clause.starts_with("POSIX.1-2017, ") || clause.starts_with("Linux man-pages, "),
            "{}: {clause}",
            case.id
        );
        assert!(text.ends_with('.') && text.len() > 15, "{}: {text}", case.id);
        assert!(
            case.id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-[],".contains(&byte)),
            "{}",
            case.id
        );
    }
}

// Protects: the reason for a blocked case is an existing case.
#[test]
fn blocking_ids_are_cases() {
    let ids: Vec<String> = cases().into_iter().map(|case| case.id).collect();
    for file in [
        include_str!("ctx.rs"),
        include_str!("errors.rs"),
        include_str!("access.rs"),
        include_str!("effects.rs"),
        include_str!("by_hand/open.rs"),
        include_str!("by_hand/names.rs"),
    ] {
        for (at, _) in file.match_indices("set_up(\"") {
            let id = file[at + 8..].split('"').next().unwrap();
            assert!(ids.iter().any(|known| known == id), "{id}");
        }
        for call in file.split("premise(").skip(1) {
            // The condition, then the id, or a variable and a text.
            let Some(id) = call.split(';').next().and_then(|call| call.split('"').nth(1)) else { continue };
            assert!(id.contains(' ') || ids.iter().any(|known| known == id), "{id}");
        }
    }
    for &kind in Kind::ALL {
        assert!(ids.iter().any(|known| known == kind.made_by()), "{}", kind.made_by());
    }
}

// Protects: each of pjdfstest's 238 files is covered by existing cases, or refused with a reason.
#[test]
fn every_file_of_pjdfstest_is_covered_or_refused() {
    let (files, cases) = (pjdfstest(), cases());
    assert_eq!(files.len(), 238);
    let mut refused = 0;
    for file in &files {
        match &file.covered {
            Ok(patterns) => {
                for pattern in patterns {
                    assert!(cases.iter().any(|case| selects(pattern, &case.id)), "{}: {pattern}", file.name);
                }
            }
            Err(why) => {
                refused += 1;
                assert!(why.len() > 20, "{}: {why}", file.name);
            }
        }
    }
    assert_eq!(refused, 18, "FreeBSD's flags, its lists of NFSv4, its locks of open, and setting the time of birth");
}

#[test]
fn patterns_select_by_parts_of_ids() {
    assert!(selects("rename.sticky-to", "rename.sticky-to[dir,dir]") && selects("rename", "rename.dots"));
    assert!(selects("*.erofs", "chmod.erofs") && selects("*sticky*dir*", "rename.sticky-to[dir,dir]"));
    assert!(
        !selects("rename", "rename-dir.erofs")
            && !selects("*.erofs", "chmod.erofs.from")
            && !selects("chmo", "chmod.sets")
    );
}

fn found(only: &[&str]) -> (Report, Vec<Case>) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let only: Vec<String> = only.iter().map(|pattern| (*pattern).to_owned()).collect();
    let request = Request {
        directory: directory.path(),
        jobs: 2,
        only: &only,
        without: &[],
        limit: Duration::from_secs(20),
        with_calls: false,
        repeat: true,
        in_user_namespace: false,
        progress: &mut |_, _| {},
        stop: &|| false,
    };
    let report = run(request).unwrap();
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    (report, cases())
}

// Protects: on this machine's file system, of any kind, the simplest cases hold, and no file stays,
// not even an immutable one.
#[test]
fn plain_cases_hold_and_leave_nothing() {
    let (report, cases) = found(&["make.regular", "chmod", "rename.replaces", "*.eperm-immutable", "*.enoent"]);
    assert!(report.done.len() > 30);
    for done in &report.done {
        let is_well = matches!(done.outcome, Outcome::Pass | Outcome::Skip(..));
        assert!(is_well, "{}: {:?}", cases[done.case].id, done.outcome);
        assert!(done.checks > 0 || done.outcome != Outcome::Pass);
    }
}

// Protects: a rule that Linux is known to break is reported as broken, with the calls that show
// it: the cases can fail.
#[test]
fn a_known_defect_is_found_with_its_calls() {
    let (report, _) = found(&["unlink.directory-eperm"]);
    let [done] = &report.done[..] else { panic!("{}", report.done.len()) };
    let Outcome::Fail(failures, 1) = &done.outcome else { panic!("{:?}", done.outcome) };
    assert_eq!((failures[0].expected.as_str(), failures[0].got.as_str()), ("EPERM", "EISDIR"));
    assert!(done.calls.iter().any(|call| call.contains("SYS_unlinkat, AT_FDCWD, \"d\"")), "{:?}", done.calls);
}

// Protects: one cause is one failure. A case blocked by a failed one stays blocked. One blocked by a
// passing case has failed, once.
#[test]
fn one_cause_is_one_failure() {
    let all = cases();
    let index = |id: &str| all.iter().position(|case| case.id == id).unwrap();
    let done = |id: &str, outcome| Done { case: index(id), outcome, checks: 1, flaky: false, calls: vec![], micros: 1 };
    let blocked = |by: &str| Outcome::Blocked { by: by.to_owned(), why: "x".to_owned() };
    let mut report = vec![
        done("make.link", Outcome::Fail(vec![], 1)),
        done("link.kinds", blocked("make.link")),
        done("stat.stable", Outcome::Pass),
        done("mkdir.eexist", blocked("stat.stable")),
        done("mkfifo.eexist", blocked("stat.stable")),
    ];
    crate::run::resolve(&mut report, &all);
    let kinds: Vec<&str> = report
        .iter()
        .map(|done| match &done.outcome {
            Outcome::Fail(..) => "fail",
            Outcome::Blocked { by, .. } => by,
            _ => "",
        })
        .collect();
    assert_eq!(kinds, ["fail", "make.link", "", "fail", "mkdir.eexist"]);
}

#[test]
fn nothing_selected_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let only = ["nonsense".to_owned()];
    let request = Request {
        directory: directory.path(),
        jobs: 1,
        only: &only,
        without: &[],
        limit: Duration::from_secs(1),
        with_calls: false,
        repeat: true,
        in_user_namespace: false,
        progress: &mut |_, _| {},
        stop: &|| false,
    };
    assert!(matches!(run(request), Err(RunError::Nothing(_))));
}
