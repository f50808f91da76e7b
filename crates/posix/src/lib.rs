//! POSIX conformance of a directory's file system: the tests, as tables of data, and their runner.
//!
//! - [`ops`] has a row for every operation on paths. The rules about errors ([`errors`]) are functions that run with
//!   each row they apply to. The effects of success ([`effects`]) have a row each.
//! - Two functions, [`access`] and [`sticky`], decide which accesses are permitted. The file
//!   system is compared with them.
//! - [`by_hand`] contains the cases that no table generates.
//! - [`facts`] probes the features to test. A case that cannot be tested here is skipped with a typed reason.
//! - [`run`] runs the cases in separate processes, each in its own directory. [`image`] makes a second file system of
//!   the same kind for tests that would harm the user's.
//!
//! A case has an id that never changes; `ids.txt` lists them all, and a test compares.

#![cfg(target_os = "linux")]
#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

mod access;
mod by_hand;
mod ctx;
mod effects;
mod errno;
mod errors;
mod facts;
mod fill;
mod image;
mod long_paths;
mod namespace;
mod ops;
mod outcome;
mod probe;
pub mod program;
mod quota;
mod run;
mod snapshot;
mod sticky;
mod sys;
mod tree;

pub use facts::{FALLOCATE, Facts, Kind};
pub use outcome::{Done, Failure, Outcome, SkipKind};
pub use run::{Report, Request, RunError, run};

use by_hand::{HANDS, Hand};
use sticky::StickyOp;

/// Level of obligation of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
pub enum Level {
    /// Required by POSIX ("shall").
    Shall,
    /// Documented in Linux's manual pages.
    Linux,
    /// Observed on common file systems of Linux.
    Common,
}

impl Level {
    /// Returns the name used in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Place where a case runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In its own directory.
    Here,
    /// In its own directory, with a mount in it.
    Mounts,
    /// On a second file system of the same kind.
    Image,
    /// On a full file system.
    Full,
    /// On a read-only file system.
    ReadOnly,
    /// On a file system where a user has used up its quota.
    Quota,
}

#[derive(Clone, Copy)]
enum CaseKind {
    Error { op: usize, rule: usize, slot: usize },
    Effect { row: usize, kind: Kind },
    Access { row: usize, class: usize },
    Sticky(StickyOp),
    Hand(&'static Hand),
}

pub struct Case {
    /// Id: words, dots and brackets.
    pub id: String,
    /// Level of obligation of its rule.
    pub level: Level,
    pub place: Place,
    what: CaseKind,
}

impl Case {
    /// Returns the page with its rule, such as `rename()` of POSIX or `rename(2)` of Linux's manual.
    pub fn page(&self) -> &'static str {
        match self.what {
            CaseKind::Error { op, rule, .. } if errors::RULES[rule].errno == "EDQUOT" => manual(ops::OPS[op].page),
            CaseKind::Error { op, .. } => ops::OPS[op].page,
            CaseKind::Effect { row, .. } => effects::EFFECTS[row].page,
            CaseKind::Access { row, .. } => access::ACCESSES[row].page,
            CaseKind::Sticky(StickyOp::Remove(Kind::Dir)) => "rmdir()",
            CaseKind::Sticky(StickyOp::Remove(_)) => "unlink()",
            CaseKind::Sticky(_) => "rename()",
            CaseKind::Hand(hand) => hand.page,
        }
    }

    /// Returns the clause with its rule: `POSIX.1-2017, rename(), ERRORS [ENOTDIR]`.
    pub fn clause(&self) -> String {
        let page = self.page();
        // Manual pages have a section; functions of POSIX have none.
        let is_manual = page.contains(|c: char| c.is_ascii_digit()) && page.contains('(') && !page.contains("XBD");
        let source = if is_manual { "Linux man-pages" } else { "POSIX.1-2017" };
        let part = match self.what {
            CaseKind::Error { rule, .. } if errors::RULES[rule].errno == "none" => ", ERRORS [ENAMETOOLONG]".to_owned(),
            CaseKind::Error { rule, .. } => format!(", ERRORS [{}]", errors::RULES[rule].errno),
            CaseKind::Effect { .. } => "; XBD 4.9 File Times Update".to_owned(),
            CaseKind::Access { .. } => ", ERRORS [EACCES]; XBD 4.5 File Access Permissions".to_owned(),
            CaseKind::Sticky(_) => ", ERRORS [EPERM] or [EACCES]; XBD 4.3 Directory Protection".to_owned(),
            CaseKind::Hand(_) => String::new(),
        };
        format!("{source}, {page}{part}")
    }

    /// Returns the rule in one sentence.
    pub fn text(&self) -> String {
        match self.what {
            CaseKind::Error { op, rule, slot } => {
                let (op, rule) = (&ops::OPS[op], &errors::RULES[rule]);
                let path = match op.slots[slot].name {
                    "" => String::new(),
                    name => format!(" (the path `{name}`)"),
                };
                format!("{}{path} fails with {} if {}.", op.name, rule.errno, rule.text)
                    .replace("fails with none if never for its length, if", "succeeds, if")
            }
            CaseKind::Effect { row, kind } => {
                let effect = &effects::EFFECTS[row];
                format!(
                    "A successful {} of a file of the type {} changes times and link counts of the file and its directory as specified, and no \
                     others.",
                    effect.name,
                    kind.name()
                )
            }
            CaseKind::Access { row, class } => {
                let access = &access::ACCESSES[row];
                let class = access::CLASSES[class].1;
                format!(
                    "{} of a {} is granted or denied by the bits of the class {class}, and by no others; EACCES.",
                    access.name,
                    access.kind.name()
                )
            }
            CaseKind::Sticky(_) => "In a directory with S_ISVTX a user removes, renames or replaces a file only if the file or the directory is \
                                the user's; EACCES or EPERM."
                .to_owned(),
            CaseKind::Hand(hand) => hand.text.to_owned(),
        }
    }

    pub(crate) fn execute(&self, cx: &mut ctx::Ctx<'_>) -> ctx::Run {
        match self.what {
            CaseKind::Error { op, rule, slot } => (errors::RULES[rule].run)(cx, &ops::OPS[op], slot),
            CaseKind::Effect { row, kind } => effects::run(cx, &effects::EFFECTS[row], kind),
            CaseKind::Access { row, class } => access::run(cx, &access::ACCESSES[row], access::CLASSES[class].0),
            CaseKind::Sticky(op) => sticky::run(cx, op),
            CaseKind::Hand(hand) => (hand.run)(cx),
        }
    }
}

/// Returns the page of Linux's manual for a function of POSIX: some errors are documented only there.
fn manual(page: &'static str) -> &'static str {
    match page {
        "open()" => "open(2)",
        "mkdir()" => "mkdir(2)",
        "mkfifo()" => "mkfifo(3)",
        "mknod()" => "mknod(2)",
        "symlink()" => "symlink(2)",
        "link()" => "link(2)",
        page => page,
    }
}

/// Returns all cases, in the order of the tables.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for hand in HANDS.iter().flat_map(|hands| hands.iter()) {
        cases.push(Case { id: hand.id.to_owned(), level: hand.level, place: hand.place, what: CaseKind::Hand(hand) });
    }
    for (op, rule, slot) in errors::pairs() {
        let (row, of) = (&ops::OPS[op], &errors::RULES[rule]);
        let name = row.slots[slot].name;
        let dot = if name.is_empty() { "" } else { "." };
        let id = format!("{}.{}{dot}{name}", row.name, of.name);
        // POSIX does not specify errors of functions that it does not have.
        let level = if row.page.contains(|c: char| c.is_ascii_digit()) { of.level.max(Level::Linux) } else { of.level };
        cases.push(Case { id, level, place: of.place, what: CaseKind::Error { op, rule, slot } });
    }
    for (row, effect) in effects::EFFECTS.iter().enumerate() {
        for kind in effect.kinds {
            let id = match effect.kinds {
                [_] => format!("{}.times", effect.name),
                _ => format!("{}.times[{}]", effect.name, kind.name()),
            };
            cases.push(Case {
                id,
                level: effect.level,
                place: Place::Here,
                what: CaseKind::Effect { row, kind: *kind },
            });
        }
    }
    for (row, access) in access::ACCESSES.iter().enumerate() {
        let level = if access.page.contains('2') { Level::Linux } else { Level::Shall };
        for (class, (_, name)) in access::CLASSES.iter().enumerate() {
            let id = format!("{}.permission[{name}]", access.name);
            cases.push(Case { id, level, place: Place::Here, what: CaseKind::Access { row, class } });
        }
    }
    for op in sticky::all() {
        cases.push(Case { id: op.id(), level: Level::Shall, place: Place::Here, what: CaseKind::Sticky(op) });
    }
    cases
}

/// A file of pjdfstest, and the cases that cover it.
pub struct PjdfstestFile {
    /// Name without the suffix, such as `chmod/00`.
    pub name: &'static str,
    /// Patterns of the covering cases, or the reason why there are none.
    pub covered: Result<Vec<&'static str>, &'static str>,
}

const MAPPED: &str = include_str!("../mapped/pjdfstest.txt");

/// Returns the files of pjdfstest.
pub fn pjdfstest() -> Vec<PjdfstestFile> {
    let rows = MAPPED.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &'static str| {
        let (name, rest) = line.split_once(' ')?;
        let covered = match rest.strip_prefix("! ") {
            Some(why) => Err(why),
            None => Ok(rest.split(' ').collect()),
        };
        Some(PjdfstestFile { name, covered })
    };
    rows.filter_map(row).collect()
}

/// Whether a pattern selects an id: a prefix of it that ends at a dot or bracket, the whole id, or a glob with `*`.
pub fn selects(pattern: &str, id: &str) -> bool {
    if pattern.contains('*') {
        return glob(pattern, id);
    }
    let rest = id.strip_prefix(pattern);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']) || pattern.ends_with('.'))
}

fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests;
