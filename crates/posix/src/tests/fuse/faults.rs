//! One fault for each case, by tables: the kind and the time of a fault are data. The server recognises the running
//! case by the directory that is made for it, so that a whole run has a different fault in each of its cases.

use crate::sys::Stat;
use std::collections::HashMap;

/// A fault in a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Answers a request wrongly: an error with success or another error, success with an error. From then on, the
    /// answer `errno` is replaced by another one.
    Answer {
        opcode: u32,
        /// Number of the request within its kind and case, from 0.
        nth: usize,
        /// Errno of its right answer; 0 for success.
        right: i32,
        /// The answer to avoid.
        errno: i32,
    },
    /// Reports a wrong attribute of a file.
    Attribute {
        /// The file, by its first name in the case.
        name: Vec<u8>,
        field: Field,
        /// The way in which it is wrong.
        how: AttributeFault,
    },
    /// Shows this user another mode of the file `f` while it has this one, and optionally another owner.
    Mode {
        /// User that sees the wrong mode.
        user: u32,
        /// Real mode of the file.
        mode: u32,
        /// Reported mode of the file.
        answered: u32,
        /// Reported owner, if it differs.
        owner: Option<u32>,
    },
    /// Shows the user other owners of the directory `d` and of the file `f` in it while they have these.
    Owners {
        /// User that sees the wrong owners.
        user: u32,
        /// Real owners of the directory and of the file.
        have: [u32; 2],
        /// Reported owners, in the same order.
        answered: [u32; 2],
    },
}

/// An attribute of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Field {
    Access,
    Modification,
    Change,
    Links,
    Mode,
    Owner,
    Size,
}

impl Field {
    pub(crate) const ALL: [Field; 7] =
        [Field::Access, Field::Modification, Field::Change, Field::Links, Field::Mode, Field::Owner, Field::Size];

    /// Returns the difference to the right value.
    fn step(self) -> i128 {
        match self {
            Field::Access | Field::Modification | Field::Change => 1_000_000_000,
            // S_ISVTX, which nothing here sets by itself.
            Field::Mode => 0o1000,
            Field::Links | Field::Owner | Field::Size => 1,
        }
    }
}

/// The way in which an attribute is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttributeFault {
    /// Its last change is missing. `values` is the number of distinct values in a run without faults.
    Frozen { values: usize },
    /// From this answer on it has changed, although nothing changes it.
    Shifted { from: usize },
    /// It is far in the past from the start.
    Early,
}

/// A request of a case without faults, and the errno of the answer; 0 for success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub opcode: u32,
    pub errno: i32,
}

/// Values of one attribute of a file in a case.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    /// Distinct values, in order of change.
    pub distinct: Vec<i128>,
    /// Number of answers that contained it.
    pub answers: usize,
}

struct Current {
    case: usize,
    name: Vec<u8>,
    count: usize,
    /// Number of answered requests by kind.
    of_kind: HashMap<u32, usize>,
    /// Whether an answer was wrong.
    is_wrong: bool,
    /// Number of lookups of its directory: at its start, and at its end.
    lookups: u32,
    values: HashMap<(Vec<u8>, Field), Values>,
}

/// The faults of a run, and the requests in it.
#[derive(Default)]
pub(crate) struct Faults {
    /// Faults by case.
    pub of_case: HashMap<usize, Vec<Fault>>,
    /// Requests by case.
    pub seen: HashMap<usize, Vec<Seen>>,
    /// Attributes in answers, by case.
    pub values: HashMap<usize, HashMap<(Vec<u8>, Field), Values>>,
    current: Option<Current>,
}

const LOOKUP: u32 = 1;
const MKDIR: u32 = 9;
/// Requests that arrive at arbitrary times: FORGET, RELEASE, FLUSH, RELEASEDIR, INTERRUPT, BATCH_FORGET.
const UNCOUNTED: [u32; 6] = [2, 18, 25, 29, 36, 42];
/// Requests whose answer has no content: UNLINK, RMDIR, RENAME, SETXATTR, REMOVEXATTR, ACCESS, FALLOCATE, RENAME2.
const BARE: [u32; 8] = [10, 11, 12, 21, 24, 34, 43, 45];

/// Replacement for a right answer.
pub(crate) enum WrongAnswer {
    /// Answer this without executing the request.
    Nothing(Result<Vec<u8>, i32>),
    /// Execute the request, but never answer this error.
    Not(i32),
    /// Answer correctly.
    Right,
}

impl Faults {
    /// Called before a request is answered.
    pub(crate) fn before(&mut self, opcode: u32, name: &[u8]) -> WrongAnswer {
        if opcode == LOOKUP
            && let Some(current) = &mut self.current
            && current.name == name
        {
            current.lookups += 1;
            if current.lookups == 2 {
                self.end();
            }
        }
        let Some(current) = &mut self.current else { return WrongAnswer::Right };
        if UNCOUNTED.contains(&opcode) {
            return WrongAnswer::Right;
        }
        let count = current.of_kind.get(&opcode).copied().unwrap_or(0);
        for fault in self.of_case.get(&current.case).into_iter().flatten() {
            let Fault::Answer { opcode: kind, nth, right, errno } = fault else { continue };
            if current.is_wrong {
                return WrongAnswer::Not(*errno);
            }
            if *kind == opcode && *nth == count {
                current.is_wrong = true;
                return WrongAnswer::Nothing(match right {
                    0 if opcode == LOOKUP => Err(libc::ENOENT),
                    0 => Err(libc::EIO),
                    _ if BARE.contains(&opcode) => Ok(Vec::new()),
                    _ => Err(libc::EIO),
                });
            }
        }
        WrongAnswer::Right
    }

    /// Called after a request: making a directory for a case begins that case.
    pub(crate) fn after(&mut self, opcode: u32, name: &[u8], answer: &Result<Vec<u8>, i32>) {
        let number = name.strip_prefix(b"case-").and_then(|number| std::str::from_utf8(number).ok());
        if opcode == MKDIR
            && answer.is_ok()
            && let Some(case) = number.and_then(|number| number.parse().ok())
        {
            self.end();
            self.current = Some(Current {
                case,
                name: name.to_vec(),
                count: 0,
                of_kind: HashMap::new(),
                is_wrong: false,
                lookups: 0,
                values: HashMap::new(),
            });
            return;
        }
        let Some(current) = &mut self.current else { return };
        if UNCOUNTED.contains(&opcode) {
            return;
        }
        current.count += 1;
        *current.of_kind.entry(opcode).or_default() += 1;
        if self.of_case.is_empty() {
            let seen = self.seen.entry(current.case).or_default();
            // A repeated case is recorded once.
            if seen.len() < current.count {
                seen.push(Seen { opcode, errno: answer.as_ref().err().copied().unwrap_or(0) });
            }
        }
    }

    fn end(&mut self) {
        if let Some(current) = self.current.take()
            && self.of_case.is_empty()
        {
            self.values.insert(current.case, current.values);
        }
    }

    /// Modifies the reported attributes of a file: `parent` is the name of its directory, and `owners` are the owners
    /// of that directory and of its file `f`.
    pub(crate) fn attributes(
        &mut self,
        stat: &mut Stat,
        uid: u32,
        name: &[u8],
        parent: &[u8],
        owners: Option<[u32; 2]>,
    ) {
        let Some(current) = &mut self.current else { return };
        let faults = self.of_case.get(&current.case).map_or(&[][..], Vec::as_slice);
        let right = *stat;
        for fault in faults {
            match fault {
                Fault::Mode { user, mode, answered, owner }
                    if uid == *user && name == b"f" && right.mode & 0o777 == *mode =>
                {
                    stat.mode = right.mode & !0o777 | answered;
                    stat.uid = owner.unwrap_or(right.uid);
                }
                Fault::Owners { user, have, answered } if uid == *user && owners == Some(*have) => match (name, parent)
                {
                    (b"d", _) => stat.uid = answered[0],
                    (b"f", b"d") => stat.uid = answered[1],
                    _ => {}
                },
                _ => {}
            }
        }
        for field in Field::ALL {
            let key = (name.to_vec(), field);
            let values = current.values.entry(key).or_default();
            let right = get(stat, field);
            if values.distinct.last() != Some(&right) {
                values.distinct.push(right);
            }
            values.answers += 1;
            let of_this = |fault: &Fault| match fault {
                Fault::Attribute { name: wrong, field: of, how } if wrong == name && *of == field => Some(*how),
                _ => None,
            };
            match faults.iter().find_map(of_this) {
                Some(AttributeFault::Frozen { values: all }) if values.distinct.len() >= all && all >= 2 => {
                    set(stat, field, values.distinct[all - 2]);
                }
                Some(AttributeFault::Shifted { from }) if values.answers > from => {
                    let wrong = if field == Field::Mode { right ^ field.step() } else { right + field.step() };
                    set(stat, field, wrong);
                }
                Some(AttributeFault::Early) => set(stat, field, right - 3_600_000_000_000),
                _ => {}
            }
        }
    }
}

fn get(stat: &Stat, field: Field) -> i128 {
    let of = |(seconds, nanos): (i64, u32)| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    match field {
        Field::Access => of(stat.atime),
        Field::Modification => of(stat.mtime),
        Field::Change => of(stat.ctime),
        Field::Links => i128::from(stat.nlink),
        Field::Mode => i128::from(stat.mode),
        Field::Owner => i128::from(stat.uid),
        Field::Size => i128::from(stat.size),
    }
}

fn set(stat: &mut Stat, field: Field, value: i128) {
    let time = (value.div_euclid(1_000_000_000) as i64, value.rem_euclid(1_000_000_000) as u32);
    match field {
        Field::Access => stat.atime = time,
        Field::Modification => stat.mtime = time,
        Field::Change => stat.ctime = time,
        Field::Links => stat.nlink = value as u32,
        Field::Mode => stat.mode = value as u32,
        Field::Owner => stat.uid = value as u32,
        Field::Size => stat.size = value as u64,
    }
}
