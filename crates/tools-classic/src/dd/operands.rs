//! Parses and checks dd's command line.

use super::human;
use super::keywords::{CONVERSIONS, Conv, FLAGS, Flag, LEVELS, OPERANDS, Operand, Personality, Status, Word, find};
use super::number::{self, NotNumber, Number};
use super::quote::Marks;
use plumb_workload::limits::MAX_OP_BYTES;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Action {
    #[default]
    Run,
    Help,
    Version,
    /// Print the copy as a workload.
    Translate,
    /// Print the plan of the copy.
    Plan,
}

/// Whether to behave exactly like dd when Plumb could do better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    /// Do better if the copied data is the same.
    #[default]
    Right,
    Strict,
}

/// A parsed command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dd {
    pub action: Action,
    pub personality: Personality,
    pub compat: Compat,
    pub allow: Option<String>,
    pub input: Option<String>,
    pub output: Option<String>,
    /// Block size in bytes, from `bs`.
    pub block: Option<u64>,
    /// Input block size in bytes, from `ibs`.
    pub input_block: Option<u64>,
    /// Output block size in bytes, from `obs`.
    pub output_block: Option<u64>,
    /// Record length in bytes, from `cbs`.
    pub record: Option<u64>,
    pub count: Option<Number>,
    pub skip: Option<Number>,
    pub seek: Option<Number>,
    /// Padding byte, from `fillchar`.
    pub fill: Option<u8>,
    pub conversions: Vec<Conv>,
    pub input_flags: Vec<Flag>,
    pub output_flags: Vec<Flag>,
    pub status: Status,
    /// Messages to print first, without the program's name.
    pub warnings: Vec<String>,
}

/// An error in a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DdUsageError {
    /// dd's messages, without the program's name. A warning before an error is a separate line.
    pub lines: Vec<String>,
    /// Whether to refer to `--help`.
    pub hints_at_help: bool,
    /// Plumb's suggestion of the intended argument, after dd's message.
    pub meant: Option<String>,
}

impl DdUsageError {
    fn hinting(line: String) -> DdUsageError {
        DdUsageError { lines: vec![line], hints_at_help: true, meant: None }
    }

    fn plain(line: String) -> DdUsageError {
        DdUsageError { lines: vec![line], hints_at_help: false, meant: None }
    }

    fn meaning(self, meant: Option<String>) -> DdUsageError {
        DdUsageError { meant, ..self }
    }

    /// Returns everything that dd would print.
    pub fn text(&self, program: &str) -> String {
        let lines: String = self.lines.iter().map(|line| format!("{program}: {line}\n")).collect();
        if self.hints_at_help { format!("{lines}Try '{program} --help' for more information.\n") } else { lines }
    }
}

const TOO_LARGE: &str = "Value too large for defined data type";

/// Maximum block size that memory can hold.
const LARGEST_BLOCK_BYTES: u64 = MAX_OP_BYTES * 1024;

/// Maximum length of a file in bytes.
const LONGEST_FILE_BYTES: u64 = i64::MAX.unsigned_abs();

/// Returns a hint for a number that is valid for the BSDs but not for GNU.
fn meant_number(name: &str, value: &str) -> Option<String> {
    number::bsd(value).ok()?;
    let upper = value.to_ascii_uppercase();
    let gnu = number::gnu(&upper).is_ok().then(|| format!("use `{name}={upper}`, or "));
    let gnu = gnu.unwrap_or_default();
    Some(format!("`{name}={value}` is a size for FreeBSD's dd, not GNU's: {gnu}put `--as-version=freebsd` before it"))
}

/// Returns the operand that an unknown word probably means: another sign instead of `=`, a superfluous letter, or `fl`
/// lost as a ligature in print.
pub(super) fn meant_operand(word: &str, personality: Personality) -> Option<String> {
    let end = word.find(|mark: char| !mark.is_ascii_alphabetic())?;
    let (name, value) = (&word[..end], word[end..].trim_start_matches(|mark: char| !mark.is_alphanumeric()));
    let names = OPERANDS.iter().filter(|known| known.who.has(personality)).map(|known| known.name);
    let is_name = |known: &&str| *known == name || known.replace("fl", "") == name;
    let meant = names.clone().find(is_name).or_else(|| plumb_workload::suggest::nearest(name, names))?;
    Some(format!("{meant}={value}"))
}

/// Parses the arguments.
///
/// # Errors
///
/// The first argument that dd would refuse, with its message.
pub fn read(words: &[String], marks: Marks) -> Result<Dd, DdUsageError> {
    let mut dd = Dd::default();
    let mut operands = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            operands.extend(words.by_ref());
        } else if word.starts_with("--") {
            dd.option(word, &mut words, marks)?;
        } else if word.len() > 1 && word.starts_with('-') && !word.contains('=') {
            let letter = word.chars().nth(1).unwrap_or('-');
            return Err(DdUsageError::hinting(format!("invalid option -- '{letter}'")));
        } else {
            operands.push(word);
        }
    }
    if matches!(dd.action, Action::Help | Action::Version) {
        return Ok(dd);
    }
    let mut seen = Vec::new();
    for word in operands {
        dd.operand(word, marks, &mut seen).map_err(|mut error| {
            error.lines.splice(0..0, dd.warnings.drain(..));
            error
        })?;
    }
    dd.check()?;
    let appends = dd.output_flags.contains(&Flag::Append) && !dd.conversions.contains(&Conv::Notrunc);
    if appends && dd.personality == Personality::Gnu {
        dd.warnings.push("you probably want conv=notrunc with oflag=append".to_owned());
    }
    Ok(dd)
}

/// Plumb's own options; dd has the first two as well.
const OPTIONS: &[&str] = &["help", "version", "as-version", "compat", "plan", "plumb-allow", "translate"];

impl Dd {
    pub(super) fn option<'w>(
        &mut self,
        word: &str,
        words: &mut impl Iterator<Item = &'w String>,
        marks: Marks,
    ) -> Result<(), DdUsageError> {
        let unknown = || DdUsageError::hinting(format!("unrecognized option '{word}'"));
        let (name, joined) = match word[2..].split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (&word[2..], None),
        };
        // As in getopt_long, names can be abbreviated.
        let mut fitting = OPTIONS.iter().filter(|option| option.starts_with(name) && !name.is_empty());
        let option = match (OPTIONS.iter().find(|&&option| option == name), fitting.next(), fitting.next()) {
            (Some(option), _, _) | (None, Some(option), None) => *option,
            _ => return Err(unknown()),
        };
        let takes_value = matches!(option, "as-version" | "compat" | "plumb-allow");
        if !takes_value && joined.is_some() {
            return Err(DdUsageError::hinting(format!("option '--{option}' doesn't allow an argument")));
        }
        let value = match (takes_value, joined) {
            (false, _) => String::new(),
            (true, Some(value)) => value,
            (true, None) => words
                .next()
                .cloned()
                .ok_or_else(|| DdUsageError::hinting(format!("option '--{option}' requires an argument")))?,
        };
        match option {
            "help" => self.action = Action::Help,
            "version" => self.action = Action::Version,
            "translate" => self.action = Action::Translate,
            "plan" => self.action = Action::Plan,
            "plumb-allow" => self.allow = Some(value),
            "compat" if value == "strict" => self.compat = Compat::Strict,
            "compat" => {
                return Err(DdUsageError::hinting(format!("--compat={} is unknown; use strict", marks.quote(&value))));
            }
            "as-version" => {
                self.personality = Personality::from_name(&value).ok_or_else(|| {
                    DdUsageError::hinting(format!(
                        "--as-version={} is unknown; use gnu or freebsd",
                        marks.quote(&value)
                    ))
                })?;
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    pub(super) fn operand(&mut self, word: &str, marks: Marks, seen: &mut Vec<Operand>) -> Result<(), DdUsageError> {
        let is_bsd = self.personality == Personality::FreeBsd;
        let Some((name, value)) = word.split_once('=') else {
            return Err(self.unknown_operand(word, word, marks));
        };
        let Some(operand) = find(OPERANDS, name, self.personality).map(|operand| operand.means) else {
            return Err(self.unknown_operand(word, name, marks));
        };
        if is_bsd {
            if value.is_empty() {
                return Err(DdUsageError::plain(format!("no value specified for {name}")));
            }
            let is_again = seen.contains(&operand) && !matches!(operand, Operand::Conversions);
            let block = |one: &Operand| matches!(one, Operand::InputBlock | Operand::OutputBlock);
            let clashes = match operand {
                Operand::Block => seen.iter().any(block),
                Operand::InputBlock | Operand::OutputBlock => seen.contains(&Operand::Block),
                _ => false,
            };
            if is_again || clashes {
                return Err(DdUsageError::plain(format!("{name}: illegal argument combination or already set")));
            }
        }
        seen.push(operand);
        match operand {
            Operand::Input => self.input = Some(value.to_owned()),
            Operand::Output => self.output = Some(value.to_owned()),
            Operand::Conversions => {
                for name in value.split(',') {
                    let word = find(CONVERSIONS, name, self.personality).ok_or_else(|| match is_bsd {
                        true => DdUsageError::plain(format!("unknown conversion {name}")),
                        false => DdUsageError::hinting(format!("invalid conversion: {}", marks.quote(name))),
                    })?;
                    if word.means == Conv::NotHere {
                        return Err(DdUsageError::plain(format!("conv={name} is {}", word.help)));
                    }
                    self.conversions.push(word.means);
                }
            }
            Operand::InputFlags => {
                let flags = self.flags(value, marks, "input", |of| of.input)?;
                self.input_flags.extend(flags);
            }
            Operand::OutputFlags => {
                let flags = self.flags(value, marks, "output", |of| of.output)?;
                self.output_flags.extend(flags);
            }
            Operand::Status => {
                self.status = find(LEVELS, value, self.personality).map(|level| level.means).ok_or_else(|| {
                    match is_bsd {
                        true => DdUsageError::plain(format!("unknown status {value}")),
                        false => {
                            // Because of the way dd compares flags, it names the part before the comma, or everything.
                            let unknown = value.split(',').find(|part| find(LEVELS, part, self.personality).is_none());
                            DdUsageError::hinting(format!(
                                "invalid status level: {}",
                                marks.quote(unknown.unwrap_or(value))
                            ))
                        }
                    }
                })?;
            }
            Operand::Fill => self.fill = value.bytes().next(),
            Operand::Files => {
                return Err(DdUsageError::plain(
                    "files= is not supported: it is for tapes with several files".to_owned(),
                ));
            }
            Operand::Speed => {
                return Err(DdUsageError::plain(
                    "speed= is not supported: a throttled copy would measure the throttle".to_owned(),
                ));
            }
            Operand::Block => self.block = Some(self.block_size(name, value, marks)?),
            Operand::InputBlock => self.input_block = Some(self.block_size(name, value, marks)?),
            Operand::OutputBlock => self.output_block = Some(self.block_size(name, value, marks)?),
            Operand::Record => self.record = Some(self.size(name, value, marks)?),
            Operand::Count => self.count = Some(self.number(name, value, marks)?),
            Operand::Skip => self.skip = Some(self.number(name, value, marks)?),
            Operand::Seek => self.seek = Some(self.number(name, value, marks)?),
        }
        Ok(())
    }

    fn unknown_operand(&self, word: &str, name: &str, marks: Marks) -> DdUsageError {
        match self.personality {
            Personality::Gnu => DdUsageError::hinting(format!("unrecognized operand {}", marks.quote(word))).meaning(
                meant_operand(word, self.personality)
                    .map(|meant| format!("unknown operand `{word}`; did you mean `{meant}`?")),
            ),
            Personality::FreeBsd => DdUsageError::plain(format!("unknown operand {name}")),
        }
    }

    fn flags(
        &self,
        value: &str,
        marks: Marks,
        end: &str,
        allowed: impl Fn(&super::keywords::OfEnd) -> bool,
    ) -> Result<Vec<Flag>, DdUsageError> {
        let flag = |name: &str| -> Result<Flag, DdUsageError> {
            let word: Option<&'static Word<_>> = find(FLAGS, name, self.personality);
            word.filter(|word| allowed(&word.means)).map(|word| word.means.flag).ok_or_else(|| match self.personality {
                Personality::Gnu => DdUsageError::hinting(format!("invalid {end} flag: {}", marks.quote(name))),
                Personality::FreeBsd => DdUsageError::plain(format!("unknown open flag {name}")),
            })
        };
        value.split(',').map(flag).collect()
    }

    /// Parses a size, which must be positive.
    fn size(&mut self, name: &str, value: &str, marks: Marks) -> Result<u64, DdUsageError> {
        match (self.number(name, value, marks)?.value, self.personality) {
            (0, Personality::Gnu) => Err(DdUsageError::plain(format!("invalid number: {}", marks.quote(value)))),
            (0, Personality::FreeBsd) => Err(DdUsageError::plain(format!("{name} must be greater than zero"))),
            (size, _) => Ok(size),
        }
    }

    /// Parses a block size. The maximum is one byte less than for files.
    fn block_size(&mut self, name: &str, value: &str, marks: Marks) -> Result<u64, DdUsageError> {
        match (self.size(name, value, marks)?, self.personality) {
            (LONGEST_FILE_BYTES, Personality::Gnu) => {
                Err(DdUsageError::plain(format!("invalid number: {}: {TOO_LARGE}", marks.quote(value))))
            }
            (size, _) => Ok(size),
        }
    }

    fn number(&mut self, name: &str, value: &str, marks: Marks) -> Result<Number, DdUsageError> {
        match self.personality {
            Personality::Gnu => match number::gnu(value) {
                Ok(number) => {
                    if number.is_zero_multiplier {
                        self.warnings.push(format!(
                            "warning: {} is a zero multiplier; use {} if that is intended",
                            marks.quote("0x"),
                            marks.quote("00x")
                        ));
                    }
                    Ok(number)
                }
                Err(NotNumber::TooLarge) => {
                    Err(DdUsageError::plain(format!("invalid number: {}: {TOO_LARGE}", marks.quote(value))))
                }
                Err(_) => Err(DdUsageError::plain(format!("invalid number: {}", marks.quote(value)))
                    .meaning(meant_number(name, value))),
            },
            Personality::FreeBsd => number::bsd(value).map_err(|error| {
                DdUsageError::plain(match error {
                    NotNumber::NoDigits => format!("{name}: invalid numeric value"),
                    NotNumber::Invalid => format!("{name}: illegal numeric value"),
                    NotNumber::TooLarge => format!("{name}: Result too large"),
                })
            }),
        }
    }

    /// Rejects blocks that memory cannot hold.
    fn check_memory(&self) -> Result<(), DdUsageError> {
        let ends = [("input", self.block.or(self.input_block)), ("output", self.block.or(self.output_block))];
        match ends.into_iter().find_map(|(end, block)| Some((end, block.filter(|bytes| *bytes > LARGEST_BLOCK_BYTES)?)))
        {
            Some((end, bytes)) => Err(DdUsageError::plain(human::no_memory(end, bytes))),
            None => Ok(()),
        }
    }

    fn check(&self) -> Result<(), DdUsageError> {
        let has = |one: Conv| self.conversions.contains(&one);
        if self.personality == Personality::FreeBsd {
            let lines = [Conv::Block, Conv::Unblock, Conv::Ascii, Conv::Ebcdic, Conv::Ibm].into_iter().any(has);
            return match (self.record, lines) {
                (None, _) if has(Conv::Block) || has(Conv::Unblock) => {
                    Err(DdUsageError::plain("record operations require cbs".to_owned()))
                }
                (Some(_), false) => {
                    Err(DdUsageError::plain("cbs meaningless if not doing record operations".to_owned()))
                }
                _ => Ok(()),
            };
        }
        let several = |of: &[Conv]| of.iter().filter(|&&one| has(one)).count() > 1;
        // Showing lines includes showing counts.
        let to_records = [Conv::Block, Conv::Ebcdic, Conv::Ibm].into_iter().any(has);
        let from_records = [Conv::Unblock, Conv::Ascii].into_iter().any(has);
        let conflict = if several(&[Conv::Ascii, Conv::Ebcdic, Conv::Ibm]) {
            "cannot combine any two of {ascii,ebcdic,ibm}"
        } else if to_records && from_records && self.record.is_some() {
            "cannot combine block and unblock"
        } else if several(&[Conv::Lcase, Conv::Ucase]) {
            "cannot combine lcase and ucase"
        } else if several(&[Conv::Excl, Conv::Nocreat]) {
            "cannot combine excl and nocreat"
        } else if [&self.input_flags, &self.output_flags]
            .into_iter()
            .any(|flags| flags.contains(&Flag::Direct) && flags.contains(&Flag::Nocache))
        {
            "cannot combine direct and nocache"
        } else {
            return self.check_memory();
        };
        Err(DdUsageError::plain(conflict.to_owned()))
    }
}
