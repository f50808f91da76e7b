//! One fault for each rule: a table makes a fault of its own for every generated case, on a file system
//! that is otherwise right. Errors that FUSE cannot get wrong, because the kernel answers before it asks,
//! are listed with the reason.

use super::broken::{DEFECTS, is_failure};
use super::fuse::faults::{AttributeFault, Fault, Faults, Field, Seen, Values};
use super::fuse::{self, Defect};
use crate::access::{ACCESSES, CLASSES, Class};
use crate::ctx::{A, B};
use crate::effects::EFFECTS;
use crate::run::{Report, Request, run};
use crate::sticky::StickyOp;
use crate::{Case, CaseKind, Outcome, cases, errors, selects};
use std::collections::{HashMap, HashSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Cases that no server can get wrong, by pattern, with the reason. A test fails if one of them is caught after
/// all, or another is not.
const ANSWERED_BY_THE_KERNEL: &[(&str, &str)] = &[
    ("*.erofs*", "a read-only mount is refused by the kernel"),
    ("open.read-only-fs", "a read-only mount is refused by the kernel"),
    ("flags.erofs", "a read-only mount is refused by the kernel"),
    ("*.enoent-empty", "an empty path is refused before anything is looked up"),
    ("*.enoent-empty.from", "an empty path is refused before anything is looked up"),
    ("*.enametoolong-path", "a path of 4096 bytes is refused before anything is looked up"),
    ("*.enametoolong-path.from", "a path of 4096 bytes is refused before anything is looked up"),
    ("*.efault", "the path is read by the kernel"),
    ("*.efault.from", "the path is read by the kernel"),
];

/// Operations whose cases query the server before the call: that query already fails.
const ASKS_BEFORE: &str = "chdir";

/// Cases decided by the earlier probe, which no fault of the case changes.
const PROBED: &[(&str, &str)] = &[("names.symlink-max", "the longest target is found by the probe")];

/// Cases that cannot be tested on FUSE, or on this file system, with the reason.
const NOT_HERE: &[(&str, &str)] = &[
    ("exec.noexec", "it is not mounted so"),
    ("chown.clears-suid-directory", "Linux breaks it everywhere"),
    ("unlink.directory-eperm", "Linux breaks it everywhere"),
    ("*tmpfile*", "no O_TMPFILE: kernels before 6.1 do not ask for it"),
    ("statx.attributes", "the protocol has no flags of statx"),
    ("flags.sets", "the server opens files without O_APPEND, which the flag refuses"),
    ("access-write.eperm-immutable", "the kernel decides on permissions, and does not know the flag"),
    ("statx.btime", "the protocol has no time of birth"),
    ("fallocate.collapse", "the kernel does not pass this mode on"),
    ("fallocate.insert", "the kernel does not pass this mode on"),
    ("clone.*", "the protocol has no FICLONE"),
    ("acl.grants", "lists are kept, and not enforced"),
    ("acl.groups", "lists are kept, and not enforced"),
    ("acl.mode-is-mask", "lists are kept, and not enforced"),
    ("acl.inherits", "lists are kept, and not enforced"),
    ("link.emlink", "no second file system"),
    ("*enospc*", "no second file system"),
    ("*edquot*", "no second file system"),
    ("quota", "no second file system"),
    ("rename.works-when-full", "no second file system"),
];

/// A mounted file system whose cases have faults.
struct Mounted {
    base: tempfile::TempDir,
    faults: Arc<Mutex<Faults>>,
    rounds: usize,
}

impl Mounted {
    /// Returns `None` if it cannot be mounted.
    fn new() -> Option<Mounted> {
        let base = tempfile::tempdir().unwrap();
        let faults = Arc::new(Mutex::new(Faults::default()));
        let [source, place] = ["source", "mounted"].map(|name| base.path().join(name));
        for path in [&source, &place] {
            std::fs::create_dir(path).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        std::fs::set_permissions(base.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let defect = Arc::new(AtomicUsize::new(0));
        fuse::serve(&source, &place, defect, &[Defect::Nothing], ",default_permissions", Some(faults.clone())).ok()?;
        Some(Mounted { base, faults, rounds: 0 })
    }

    fn place(&self) -> PathBuf {
        self.base.path().join("mounted")
    }

    /// Runs the cases with these faults, each with its own.
    fn run(&mut self, all: &[Case], faults: HashMap<usize, Vec<Fault>>, only: &[usize]) -> Report {
        // Without faults nothing hangs, however busy the machine is.
        let limit = Duration::from_secs(if faults.is_empty() { 120 } else { 5 });
        self.faults.lock().unwrap().of_case = faults;
        let directory = self.place().join(format!("round-{}", self.rounds));
        self.rounds += 1;
        std::fs::create_dir(&directory).unwrap();
        std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755)).unwrap();
        let only: Vec<String> = only.iter().map(|case| all[*case].id.clone()).collect();
        run(Request {
            directory: &directory,
            // One after another: the server distinguishes cases by their order.
            jobs: 1,
            only: &only,
            without: &[],
            limit,
            with_calls: false,
            repeat: false,
            in_user_namespace: false,
            progress: &mut |_, _| {},
            stop: &|| false,
        })
        .unwrap()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        fuse::stop(&self.place());
    }
}

/// A defect: the faults to try as alternatives, and a part of the message that the case must give.
struct Planned {
    case: usize,
    name: String,
    tries: Vec<Fault>,
    expected: ExpectedMessage,
}

/// Message that a case must give when it has found the fault.
enum ExpectedMessage {
    /// It fails with any message.
    Anything,
    Checked(String),
    /// Text of the expected value.
    Expected(&'static str),
}

impl Planned {
    fn is_caught(&self, report: &Report) -> bool {
        let Some(done) = report.done.iter().find(|done| done.case == self.case) else { return false };
        match (&done.outcome, &self.expected) {
            (outcome, ExpectedMessage::Anything) => is_failure(outcome),
            (Outcome::Fail(failures, _), ExpectedMessage::Checked(what)) => {
                failures.iter().any(|one| one.what.contains(what))
            }
            (Outcome::Fail(failures, _), ExpectedMessage::Expected(what)) => {
                failures.iter().any(|one| one.expected.contains(what))
            }
            _ => false,
        }
    }
}

/// Maximum number of answers to try: those with the rule's errno first, then the last of each kind of request, then
/// from the last to the first. Requests are counted by kind, since those of a concurrent process vary.
const TRIES_MAX: usize = 80;

/// Maximum for a case that is listed as answered by the kernel.
const LISTED_TRIES: usize = 12;

fn answers(faults: &Faults, case: usize, errno: Option<i32>) -> Vec<Fault> {
    let seen = faults.seen.get(&case).map_or(&[][..], Vec::as_slice);
    let mut counts: HashMap<u32, usize> = HashMap::new();
    let mut found = Vec::new();
    for Seen { opcode, errno: right } in seen {
        let nth = counts.entry(*opcode).or_default();
        let fault = Fault::Answer { opcode: *opcode, nth: *nth, right: *right, errno: errno.unwrap_or(libc::ENOSYS) };
        found.push((*opcode, Some(*right) == errno, fault));
        *nth += 1;
    }
    found.reverse();
    let (of_rule, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, is_of_rule, _)| *is_of_rule);
    let mut kinds = HashSet::new();
    let (last_of_kind, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|(kind, ..)| kinds.insert(*kind));
    let all = of_rule.into_iter().chain(last_of_kind).chain(others);
    all.take(TRIES_MAX).map(|(.., fault)| fault).collect()
}

/// Returns wrong attributes for every file that a case saw: in the last answers, and in all.
fn attributes(faults: &Faults, case: usize) -> Vec<Fault> {
    let mut seen: Vec<_> = faults.values.get(&case).into_iter().flatten().collect();
    seen.sort_by(|one, other| one.0.cmp(other.0));
    let from = |answers: usize| [answers.saturating_sub(1), answers.saturating_sub(2), 0];
    let of_file = |((name, field), values): (&(Vec<u8>, Field), &Values)| {
        from(values.answers).map(|from| Fault::Attribute {
            name: name.clone(),
            field: *field,
            how: AttributeFault::Shifted { from },
        })
    };
    seen.into_iter().flat_map(of_file).collect()
}

/// Returns the number of an errno by its name.
fn number(name: &str) -> Option<i32> {
    (1..134).find(|number| crate::errno::name(*number) == name)
}

/// Returns the defects of a case, all of which must be found.
fn planned(case: usize, of: &Case, faults: &Faults, counts_subdirectories: bool) -> Vec<Planned> {
    let one = |name: String, tries: Vec<Fault>, expected: ExpectedMessage| Planned { case, name, tries, expected };
    match of.what {
        CaseKind::Error { rule, .. } => {
            let errno = errors::RULES[rule].errno;
            let expected = match errno {
                "none" => ExpectedMessage::Anything,
                _ if of.id == "bind.eexist" => ExpectedMessage::Expected("EADDRINUSE"),
                errno => ExpectedMessage::Expected(errno),
            };
            let mut tries = answers(faults, case, number(errno));
            if is_listed(ANSWERED_BY_THE_KERNEL, &of.id) {
                tries.truncate(LISTED_TRIES);
            }
            vec![one(of.id.clone(), tries, expected)]
        }
        CaseKind::Hand(_) => {
            let mut tries = answers(faults, case, None);
            tries.extend(attributes(faults, case));
            vec![one(of.id.clone(), tries, ExpectedMessage::Anything)]
        }
        CaseKind::Effect { row, .. } => effects(case, of, &EFFECTS[row], faults, counts_subdirectories),
        CaseKind::Access { row, class } => (0..8)
            .map(|bits| {
                let access = &ACCESSES[row];
                let (class, shift) = match CLASSES[class].0 {
                    Class::Owner => (Class::Owner, 6),
                    Class::Other => (Class::Other, 0),
                    class => (class, 3),
                };
                let mode = (0..3).fold(0, |mode, of| mode | if of * 3 == shift { bits } else { !bits & 7 } << (of * 3));
                let is_owner = class == Class::Owner && access.owner_may;
                let allowed = bits & access.needs == access.needs || is_owner;
                let (answered, owner) = if allowed { (0, is_owner.then_some(B.uid)) } else { (0o777, None) };
                let fault = Fault::Mode { user: A.uid, mode, answered, owner };
                one(
                    format!("{} with mode {mode:04o}", of.id),
                    vec![fault],
                    ExpectedMessage::Checked(format!("of mode {mode:04o}")),
                )
            })
            .collect(),
        CaseKind::Sticky(op) => sticky(case, of, op),
    }
}

fn sticky(case: usize, of: &Case, _: StickyOp) -> Vec<Planned> {
    let owners = [(A.uid, "the user's"), (0, "root's"), (B.uid, "another user's")];
    let pairs = owners.iter().flat_map(|directory| owners.iter().map(move |file| (*directory, *file)));
    pairs
        .map(|((directory, of_directory), (file, of_file))| {
            let allowed = directory == A.uid || file == A.uid;
            let answered = if allowed { [B.uid, B.uid] } else { [directory, A.uid] };
            Planned {
                case,
                name: format!("{} with {of_directory} directory and {of_file} file", of.id),
                tries: vec![Fault::Owners { user: A.uid, have: [directory, file], answered }],
                expected: ExpectedMessage::Checked(format!("the directory is {of_directory}, the file {of_file}")),
            }
        })
        .collect()
}

/// Returns a defect for each letter of an effect: a required change is missing, or a forbidden one happens.
fn effects(case: usize, of: &Case, effect: &crate::effects::Effect, faults: &Faults, counted: bool) -> Vec<Planned> {
    let mut all = Vec::new();
    let files = [("t", "the file"), ("p", "its directory"), ("q", "the other directory")];
    for (changes, (name, called)) in effect.changes.iter().zip(files) {
        for letter in changes.chars().filter(|letter| counted || !"sr".contains(*letter)) {
            let (field, what) = match letter.to_ascii_lowercase() {
                'm' => (Field::Modification, format!("time of modification of {called}")),
                'c' => (Field::Change, format!("time of change of {called}")),
                _ => (Field::Links, format!("link count of {called}")),
            };
            let values = faults.values.get(&case).and_then(|values| values.get(&(name.as_bytes().to_vec(), field)));
            let (distinct, answers) = values.map_or((0, 0), |values| (values.distinct.len(), values.answers));
            let tries = match letter {
                'M' | 'C' | '+' | '-' | 's' | 'r' => vec![AttributeFault::Frozen { values: distinct }],
                // From the last answer, which may belong to the search for another file, to earlier ones.
                _ => (1..=12.min(answers)).map(|back| AttributeFault::Shifted { from: answers - back }).collect(),
            };
            all.push(Planned {
                case,
                name: format!("{}: {what} ({letter})", of.id),
                tries: tries.into_iter().map(|how| Fault::Attribute { name: name.into(), field, how }).collect(),
                expected: ExpectedMessage::Checked(what),
            });
        }
    }
    if ["mkdir", "mkfifo", "mknod", "symlink", "open-create"].contains(&effect.name) {
        for (field, what) in
            [(Field::Access, "access"), (Field::Modification, "modification"), (Field::Change, "change")]
        {
            let what = format!("time of {what} of the new file");
            let fault = Fault::Attribute { name: b"n".to_vec(), field, how: AttributeFault::Early };
            all.push(Planned {
                case,
                name: format!("{}: {what}", of.id),
                tries: vec![fault],
                expected: ExpectedMessage::Checked(what),
            });
        }
    }
    all
}

/// Number of faults of a case in one run: a case keeps that many failures.
const TOGETHER: usize = 6;

/// Results for the defects of some cases.
#[derive(Default)]
struct DefectResults {
    /// Cases that do not pass without a fault, with their outcome.
    untested: Vec<(usize, Outcome)>,
    planned: usize,
    /// Defects that no try revealed.
    not_found: Vec<(usize, String)>,
}

/// Tries every defect of these cases; `None` if the file system cannot be mounted.
fn every_defect(all: &[Case], chosen: &[usize]) -> Option<DefectResults> {
    let mut mounted = Mounted::new()?;
    let right = mounted.run(all, HashMap::new(), chosen);
    let mut found = DefectResults::default();
    let mut open: Vec<Planned> = Vec::new();
    for done in right.done {
        if done.outcome == Outcome::Pass {
            let faults = mounted.faults.lock().unwrap();
            open.extend(planned(done.case, &all[done.case], &faults, right.facts.counts_subdirectories));
        } else {
            found.untested.push((done.case, done.outcome));
        }
    }
    found.planned = open.len();
    while !open.is_empty() {
        let mut faults: HashMap<usize, Vec<Fault>> = HashMap::new();
        let mut tried = Vec::new();
        for one in &open {
            let of_case = faults.entry(one.case).or_default();
            // One wrong answer changes all later ones.
            let is_alone = |fault: &Fault| matches!(fault, Fault::Answer { .. });
            let has_room = of_case.len() < TOGETHER && !of_case.iter().any(is_alone);
            let next = one.tries.first().filter(|_| has_room).cloned();
            tried.push(next.is_some());
            of_case.extend(next);
        }
        faults.retain(|_, of_case| !of_case.is_empty());
        let cases: Vec<usize> = faults.keys().copied().collect();
        let report = (!cases.is_empty()).then(|| mounted.run(all, faults, &cases));
        let mut next = Vec::new();
        for (mut one, tried) in open.into_iter().zip(tried) {
            if tried && report.as_ref().is_some_and(|report| one.is_caught(report)) {
                continue;
            }
            if tried {
                one.tries.remove(0);
            }
            match one.tries.is_empty() {
                true => found.not_found.push((one.case, one.name)),
                false => next.push(one),
            }
        }
        open = next;
    }
    Some(found)
}

/// Whether a case is in a list of patterns.
fn is_listed(list: &[(&str, &str)], id: &str) -> bool {
    list.iter().any(|(pattern, _)| selects(pattern, id))
}

#[test]
fn root_each_rule_is_caught_by_its_case() {
    let all = cases();
    // All take minutes; neighbours in the list are much alike.
    let is_lab = std::env::var_os("PLUMB_TEST_LAB").is_some();
    let step = if is_lab { 1 } else { 10 };
    if !is_lab {
        eprintln!("every tenth case; `cargo xtask test --lab` tests all");
    }
    // Two halves at a time.
    let halves = [0, 1].map(|half| (0..all.len()).step_by(step).filter(|case| case / step % 2 == half).collect());
    let halves: [Vec<usize>; 2] = halves;
    let found: Option<Vec<DefectResults>> = std::thread::scope(|scope| {
        let running = halves.each_ref().map(|half| scope.spawn(|| every_defect(&all, half)));
        running.into_iter().map(|half| half.join().unwrap()).collect()
    });
    let Some(found) = found else {
        assert!(std::env::var_os("CI").is_none(), "FUSE cannot be mounted");
        return eprintln!("SKIPPED: FUSE cannot be mounted here: it needs root and /dev/fuse");
    };
    let planned: usize = found.iter().map(|found| found.planned).sum();
    let not_found: Vec<&(usize, String)> = found.iter().flat_map(|found| &found.not_found).collect();
    let untested: Vec<&(usize, Outcome)> = found.iter().flat_map(|found| &found.untested).collect();
    eprintln!("{planned} defects, {} found; {} cases cannot be tested", planned - not_found.len(), untested.len());
    let mut wrong = Vec::new();
    for (case, name) in &not_found {
        let id = all[*case].id.as_str();
        let has_own = DEFECTS.iter().any(|(_, ids)| ids.contains(&id));
        if !has_own && !is_listed(ANSWERED_BY_THE_KERNEL, id) && !is_listed(PROBED, id) {
            wrong.push(format!("not found: {name}"));
        }
    }
    for (case, outcome) in &untested {
        if !is_listed(NOT_HERE, &all[*case].id) {
            wrong.push(format!("without a fault: {}: {outcome:?}", all[*case].id));
        }
    }
    // The lists must be minimal.
    for (case, of) in all.iter().enumerate().step_by(step) {
        let is_tested = !untested.iter().any(|(open, _)| *open == case);
        let is_answered = is_listed(ANSWERED_BY_THE_KERNEL, &of.id) && !selects(ASKS_BEFORE, &of.id);
        if is_tested && is_answered && !not_found.iter().any(|(open, _)| *open == case) {
            wrong.push(format!("is found, and listed as answered by the kernel: {}", of.id));
        }
        if is_tested && is_listed(NOT_HERE, &of.id) {
            wrong.push(format!("passes, and is listed as not testable: {}", of.id));
        }
    }
    assert!(planned > 2_500 / step, "{planned} defects");
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
