//! One fault for each case, by tables: what goes wrong, and when, is data. The server knows which case runs by the directory that is made
//! for it, so that a whole run has another fault in each of its cases.

use crate::sys::Stat;
use std::collections::HashMap;

/// What goes wrong in a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A request is answered wrongly: an error with success or another error, success with an error. From then on, `errno` is not
    /// answered any more, but another.
    Answer {
        /// Of this kind,
        opcode: u32,
        /// which request of the case, from 0.
        nth: usize,
        /// The errno of its right answer, 0 for success.
        right: i32,
        /// What is not answered.
        errno: i32,
    },
    /// What a file's attributes say is wrong.
    Attribute {
        /// The file, by the first name that it had in the case.
        name: Vec<u8>,
        /// What of it.
        field: Field,
        /// How.
        how: Wrong,
    },
    /// Who is asked for as this user sees another mode of the file `f` where it has this one, and nobody's owner where that is in the way.
    Mode {
        /// The user.
        user: u32,
        /// The mode that it has.
        mode: u32,
        /// The mode that is answered.
        answered: u32,
        /// Another owner, where one is answered.
        owner: Option<u32>,
    },
    /// The user sees another owner of the directory `d` and of the file `f` in it where they have these.
    Owners {
        /// The user.
        user: u32,
        /// Of the directory, then of the file.
        have: [u32; 2],
        /// What is answered.
        answered: [u32; 2],
    },
}

/// A part of a file's attributes.
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
    /// All.
    pub(crate) const ALL: [Field; 7] =
        [Field::Access, Field::Modification, Field::Change, Field::Links, Field::Mode, Field::Owner, Field::Size];

    /// By how much it is wrong.
    fn step(self) -> i128 {
        match self {
            Field::Access | Field::Modification | Field::Change => 1_000_000_000,
            // S_ISVTX, which nothing here adds by itself.
            Field::Mode => 0o1000,
            Field::Links | Field::Owner | Field::Size => 1,
        }
    }
}

/// What is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// The last change of it is left out: so many values were seen in a run without faults.
    Frozen { values: usize },
    /// From this answer on it has changed although nothing changes it.
    Shifted { from: usize },
    /// It is long past from the start.
    Early,
}

/// A request of a case without faults: what was asked, and the errno of the answer, 0 for success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub opcode: u32,
    pub errno: i32,
}

/// Values of one part of a file's attributes in a case.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    /// Each as often as it changed.
    pub distinct: Vec<i128>,
    /// Answers that had it.
    pub answers: usize,
}

/// The case that runs.
struct Current {
    case: usize,
    name: Vec<u8>,
    /// Requests that were answered.
    count: usize,
    /// The same by kind.
    of_kind: HashMap<u32, usize>,
    /// An answer was wrong.
    is_wrong: bool,
    /// How often its directory was looked up: at its start, and at its end.
    lookups: u32,
    values: HashMap<(Vec<u8>, Field), Values>,
}

/// The faults of a run, and what was asked in it.
#[derive(Default)]
pub(crate) struct Faults {
    /// By case.
    pub of_case: HashMap<usize, Vec<Fault>>,
    /// What was asked, by case.
    pub seen: HashMap<usize, Vec<Seen>>,
    /// What was answered of files' attributes, by case.
    pub values: HashMap<usize, HashMap<(Vec<u8>, Field), Values>>,
    current: Option<Current>,
}

const LOOKUP: u32 = 1;
const MKDIR: u32 = 9;
/// Requests that come when the kernel likes: FORGET, RELEASE, FLUSH, RELEASEDIR, INTERRUPT, BATCH_FORGET.
const UNCOUNTED: [u32; 6] = [2, 18, 25, 29, 36, 42];
/// Requests whose answer has no content: UNLINK, RMDIR, RENAME, SETXATTR, REMOVEXATTR, ACCESS, FALLOCATE, RENAME2.
const BARE: [u32; 8] = [10, 11, 12, 21, 24, 34, 43, 45];

/// What is to be answered in place of what is right.
pub(crate) enum Instead {
    /// This, and nothing is done.
    Nothing(Result<Vec<u8>, i32>),
    /// What is right, but for this error.
    Not(i32),
    /// What is right.
    Right,
}

impl Faults {
    /// Before a request is answered.
    pub(crate) fn before(&mut self, opcode: u32, name: &[u8]) -> Instead {
        if opcode == LOOKUP
            && let Some(current) = &mut self.current
            && current.name == name
        {
            current.lookups += 1;
            if current.lookups == 2 {
                self.end();
            }
        }
        let Some(current) = &mut self.current else { return Instead::Right };
        if UNCOUNTED.contains(&opcode) {
            return Instead::Right;
        }
        let count = current.of_kind.get(&opcode).copied().unwrap_or(0);
        for fault in self.of_case.get(&current.case).into_iter().flatten() {
            let Fault::Answer { opcode: kind, nth, right, errno } = fault else { continue };
            if current.is_wrong {
                return Instead::Not(*errno);
            }
            if *kind == opcode && *nth == count {
                current.is_wrong = true;
                return Instead::Nothing(match right {
                    0 if opcode == LOOKUP => Err(libc::ENOENT),
                    0 => Err(libc::EIO),
                    _ if BARE.contains(&opcode) => Ok(Vec::new()),
                    _ => Err(libc::EIO),
                });
            }
        }
        Instead::Right
    }

    /// After it: a directory that is made for a case begins that case.
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
            // A case that is repeated is seen once.
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

    /// What is answered of a file: `parent` is what its directory is called, and `beside` the owners of that directory and of its file `f`.
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
                Some(Wrong::Frozen { values: all }) if values.distinct.len() >= all && all >= 2 => {
                    set(stat, field, values.distinct[all - 2]);
                }
                Some(Wrong::Shifted { from }) if values.answers > from => {
                    let wrong = if field == Field::Mode { right ^ field.step() } else { right + field.step() };
                    set(stat, field, wrong);
                }
                Some(Wrong::Early) => set(stat, field, right - 3_600_000_000_000),
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
