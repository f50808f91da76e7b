//! Splits options like the C library's getopt(3), using lexopt. `-+` is an option of getopt(3) whose value is the rest
//! of a name: `-+u`, `-+ u`. The value of that name is always the next word.

use super::IozoneUsageError;
use super::options::find;
use lexopt::{Arg, Parser};
use plumb_tools::options::text;

/// An option and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadOption {
    pub name: &'static str,
    /// `None` if the option takes no value.
    pub value: Option<String>,
}

/// Splits a command line; `-F` takes the rest of it.
pub(crate) struct Words(Parser);

impl Words {
    pub(crate) fn new(words: &[String]) -> Words {
        let mut parser = Parser::from_args(words.to_vec());
        parser.set_short_equals(false);
        Words(parser)
    }

    /// Returns the next `count` arguments, for `-F`.
    pub(crate) fn take(&mut self, count: usize) -> Vec<String> {
        self.0.try_raw_args().into_iter().flatten().take(count).map(text).collect()
    }

    /// Returns the next option.
    ///
    /// # Errors
    ///
    /// An unknown option, or a missing argument.
    pub(crate) fn next(&mut self) -> Result<Option<ReadOption>, IozoneUsageError> {
        loop {
            match self.0.next() {
                Ok(Some(Arg::Short(letter))) => return self.option(letter).map(Some),
                // getopt(3) reads this as the letter `-`.
                Ok(Some(Arg::Long(_))) => return self.option('-').map(Some),
                // Operands are ignored.
                Ok(Some(Arg::Value(_))) => {}
                Ok(None) | Err(_) => return Ok(None),
            }
        }
    }

    fn option(&mut self, letter: char) -> Result<ReadOption, IozoneUsageError> {
        if letter == '+' {
            let operand = self.0.value().map(text).map_err(|_| missing('+'))?;
            let name: String = std::iter::once('+').chain(operand.chars().take(1)).collect();
            let row = find(&name)
                .ok_or_else(|| IozoneUsageError::say(255, format!("Unsupported Plus option -> {operand} <-\n")))?;
            let value = if row.takes.is_flag() { None } else { self.take(1).pop() };
            if value.is_none() && row.takes.needs_value() {
                return Err(IozoneUsageError::say(200, format!("-{name} takes an operand !!\n")));
            }
            return Ok(ReadOption { name: row.name, value });
        }
        let Some(row) = find(letter.encode_utf8(&mut [0; 4])) else {
            return Err(IozoneUsageError {
                out: "Unsupported option -> (null) <-\n".to_owned(),
                err: format!("iozone: invalid option -- '{letter}'\n"),
                code: 255,
            });
        };
        let value = match row.takes.needs_value() {
            true => Some(self.0.value().map(text).map_err(|_| missing(letter))?),
            false => None,
        };
        Ok(ReadOption { name: row.name, value })
    }
}

fn missing(letter: char) -> IozoneUsageError {
    IozoneUsageError {
        out: "Unsupported option -> (null) <-\n".to_owned(),
        err: format!("iozone: option requires an argument -- '{letter}'\n"),
        code: 255,
    }
}
