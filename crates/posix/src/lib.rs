//! POSIX conformance of a directory's file system: what is tested, as tables of data, and what runs it.
//!
//! - [`ops`] has a row for every operation on paths. The rules about errors ([`errors`]) are functions that are tested with each row that they
//!   apply to; what success changes ([`effects`]) is a row each.
//! - Who may do what is decided by two functions, [`access`] and [`sticky`], with which the file system is compared.
//! - What no table generates is in [`by_hand`].
//! - [`facts`] probes what there is to test; a case that cannot be tested here is skipped with a typed reason.
//! - [`run`] runs the cases in processes of their own, each in a directory of its own; [`image`] makes a second file system of the same kind for
//!   what would harm the user's.
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

/// How binding a rule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
pub enum Level {
    /// POSIX says that it shall be so.
    Shall,
    /// Linux's manual pages say so.
    Linux,
    /// Common file systems of Linux do it.
    Common,
}

impl Level {
    /// As in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Where a case is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In a directory of its own.
    Here,
    /// There, with a mount in it.
    Mounts,
    /// On a second file system of the same kind.
    Image,
    /// On one that is full.
    Full,
    /// On one that is read-only.
    ReadOnly,
    /// On one where a user has used up its quota.
    Quota,
}

/// What a case tests.
#[derive(Clone, Copy)]
enum What {
    Error { op: usize, rule: usize, slot: usize },
    Effect { row: usize, kind: Kind },
    Access { row: usize, class: usize },
    Sticky(StickyOp),
    Hand(&'static Hand),
}

/// A case.
pub struct Case {
    /// Its id: words, dots and brackets.
    pub id: String,
    /// How binding its rule is.
    pub level: Level,
    /// Where it is run.
    pub place: Place,
    what: What,
}

impl Case {
    /// The page that its rule is on, such as `rename()` of POSIX or `rename(2)` of Linux's manual.
    pub fn page(&self) -> &'static str {
        match self.what {
            What::Error { op, rule, .. } if errors::RULES[rule].errno == "EDQUOT" => manual(ops::OPS[op].page),
            What::Error { op, .. } => ops::OPS[op].page,
            What::Effect { row, .. } => effects::EFFECTS[row].page,
            What::Access { row, .. } => access::ACCESSES[row].page,
            What::Sticky(StickyOp::Remove(Kind::Dir)) => "rmdir()",
            What::Sticky(StickyOp::Remove(_)) => "unlink()",
            What::Sticky(_) => "rename()",
            What::Hand(hand) => hand.page,
        }
    }

    /// Where the rule is written: `POSIX.1-2017, rename(), ERRORS [ENOTDIR]`.
    pub fn clause(&self) -> String {
        let page = self.page();
        // Manual pages have a section; functions of POSIX have none.
        let is_manual = page.contains(|c: char| c.is_ascii_digit()) && page.contains('(') && !page.contains("XBD");
        let source = if is_manual { "Linux man-pages" } else { "POSIX.1-2017" };
        let part = match self.what {
            What::Error { rule, .. } if errors::RULES[rule].errno == "none" => ", ERRORS [ENAMETOOLONG]".to_owned(),
            What::Error { rule, .. } => format!(", ERRORS [{}]", errors::RULES[rule].errno),
            What::Effect { .. } => "; XBD 4.9 File Times Update".to_owned(),
            What::Access { .. } => ", ERRORS [EACCES]; XBD 4.5 File Access Permissions".to_owned(),
            What::Sticky(_) => ", ERRORS [EPERM] or [EACCES]; XBD 4.3 Directory Protection".to_owned(),
            What::Hand(_) => String::new(),
        };
        format!("{source}, {page}{part}")
    }

    /// The rule in a sentence.
    pub fn text(&self) -> String {
        match self.what {
            What::Error { op, rule, slot } => {
                let (op, rule) = (&ops::OPS[op], &errors::RULES[rule]);
                let path = match op.slots[slot].name {
                    "" => String::new(),
                    name => format!(" (the path `{name}`)"),
                };
                format!("{}{path} fails with {} if {}.", op.name, rule.errno, rule.text)
                    .replace("fails with none if never for its length, if", "succeeds, if")
            }
            What::Effect { row, kind } => {
                let effect = &effects::EFFECTS[row];
                format!(
                    "A successful {} of a file of the type {} changes times and link counts of the file and its directory as specified, and no \
                     others.",
                    effect.name,
                    kind.name()
                )
            }
            What::Access { row, class } => {
                let access = &access::ACCESSES[row];
                let class = access::CLASSES[class].1;
                format!(
                    "{} of a {} is granted or denied by the bits of the class {class}, and by no others; EACCES.",
                    access.name,
                    access.kind.name()
                )
            }
            What::Sticky(_) => "In a directory with S_ISVTX a user removes, renames or replaces a file only if the file or the directory is \
                                the user's; EACCES or EPERM."
                .to_owned(),
            What::Hand(hand) => hand.text.to_owned(),
        }
    }

    pub(crate) fn execute(&self, cx: &mut ctx::Ctx<'_>) -> ctx::Run {
        match self.what {
            What::Error { op, rule, slot } => (errors::RULES[rule].run)(cx, &ops::OPS[op], slot),
            What::Effect { row, kind } => effects::run(cx, &effects::EFFECTS[row], kind),
            What::Access { row, class } => access::run(cx, &access::ACCESSES[row], access::CLASSES[class].0),
            What::Sticky(op) => sticky::run(cx, op),
            What::Hand(hand) => (hand.run)(cx),
        }
    }
}

/// The page of Linux's manual about a function of POSIX: some errors are only there.
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

/// All cases, in the order of the tables.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for hand in HANDS.iter().flat_map(|hands| hands.iter()) {
        cases.push(Case { id: hand.id.to_owned(), level: hand.level, place: hand.place, what: What::Hand(hand) });
    }
    for (op, rule, slot) in errors::pairs() {
        let (row, of) = (&ops::OPS[op], &errors::RULES[rule]);
        let name = row.slots[slot].name;
        let dot = if name.is_empty() { "" } else { "." };
        let id = format!("{}.{}{dot}{name}", row.name, of.name);
        // What POSIX does not have, it does not specify the errors of.
        let level = if row.page.contains(|c: char| c.is_ascii_digit()) { of.level.max(Level::Linux) } else { of.level };
        cases.push(Case { id, level, place: of.place, what: What::Error { op, rule, slot } });
    }
    for (row, effect) in effects::EFFECTS.iter().enumerate() {
        for kind in effect.kinds {
            let id = match effect.kinds {
                [_] => format!("{}.times", effect.name),
                _ => format!("{}.times[{}]", effect.name, kind.name()),
            };
            cases.push(Case { id, level: effect.level, place: Place::Here, what: What::Effect { row, kind: *kind } });
        }
    }
    for (row, access) in access::ACCESSES.iter().enumerate() {
        let level = if access.page.contains('2') { Level::Linux } else { Level::Shall };
        for (class, (_, name)) in access::CLASSES.iter().enumerate() {
            let id = format!("{}.permission[{name}]", access.name);
            cases.push(Case { id, level, place: Place::Here, what: What::Access { row, class } });
        }
    }
    for op in sticky::all() {
        cases.push(Case { id: op.id(), level: Level::Shall, place: Place::Here, what: What::Sticky(op) });
    }
    cases
}

/// A file of pjdfstest, and what covers it here.
pub struct PjdfstestFile {
    /// Its name without the suffix, such as `chmod/00`.
    pub name: &'static str,
    /// Patterns of the cases that cover it; or why there are none.
    pub covered: Result<Vec<&'static str>, &'static str>,
}

const MAPPED: &str = include_str!("../mapped/pjdfstest.txt");

/// The files of pjdfstest.
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

/// Whether a pattern selects an id: a prefix of it that ends at a dot or bracket, the whole of it, or a glob with `*`.
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
