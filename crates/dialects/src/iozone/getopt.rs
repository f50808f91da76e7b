//! Splits options as the C library's getopt(3) does.

use super::Wrong;
use super::options::{Takes, find};

/// An option and what follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOption {
    /// As in the table.
    pub name: &'static str,
    /// What follows it; none if the arguments end before.
    pub words: Vec<String>,
}

/// Parts a command line; `-F` takes what is left of it, and the reader gives back what it does not want.
pub struct Words<'a> {
    words: &'a [String],
    at: usize,
    /// Within a cluster.
    letter: usize,
}

impl<'a> Words<'a> {
    pub fn new(words: &'a [String]) -> Words<'a> {
        Words { words, at: 0, letter: 0 }
    }

    /// The next N arguments, as for `-F`.
    pub fn take(&mut self, count: usize) -> Vec<String> {
        let taken: Vec<String> = self.words[self.at..].iter().take(count).cloned().collect();
        self.at += taken.len();
        taken
    }

    /// The next option.
    ///
    /// # Errors
    /// An unknown option, or a missing argument.
    pub fn next(&mut self) -> Result<Option<ReadOption>, Wrong> {
        loop {
            let Some(word) = self.words.get(self.at) else { return Ok(None) };
            if self.letter == 0 {
                // What is not an option is passed over, and `--` ends them.
                if word == "--" {
                    return Ok(None);
                }
                if !word.starts_with('-') || word.len() < 2 {
                    self.at += 1;
                    continue;
                }
                self.letter = 1;
            }
            let rest = &word[self.letter..];
            let Some(letter) = rest.chars().next() else {
                self.at += 1;
                self.letter = 0;
                continue;
            };
            self.letter += letter.len_utf8();
            return self.option(letter).map(Some);
        }
    }

    fn option(&mut self, letter: char) -> Result<ReadOption, Wrong> {
        if letter == '+' {
            let operand = self.operand().ok_or_else(|| missing('+'))?;
            let name: String = std::iter::once('+').chain(operand.chars().take(1)).collect();
            let row =
                find(&name).ok_or_else(|| Wrong::say(255, format!("Unsupported Plus option -> {operand} <-\n")))?;
            let words = match row.takes {
                Takes::Nothing => Vec::new(),
                // The next argument, whatever follows the letter directly.
                Takes::Word(_) | Takes::Words(_) => self.take(1),
            };
            if row.takes != Takes::Nothing && words.is_empty() {
                return Err(Wrong::say(200, format!("-{name} takes an operand !!\n")));
            }
            return Ok(ReadOption { name: row.name, words });
        }
        let name = letter.to_string();
        let Some(row) = find(&name) else {
            return Err(Wrong {
                out: "Unsupported option -> (null) <-\n".to_owned(),
                err: format!("iozone: invalid option -- '{letter}'\n"),
                code: 255,
            });
        };
        let words = match row.takes {
            Takes::Nothing => Vec::new(),
            Takes::Word(_) | Takes::Words(_) => vec![self.operand().ok_or_else(|| missing(letter))?],
        };
        Ok(ReadOption { name: row.name, words })
    }

    /// The rest of the word at hand, or the next one.
    fn operand(&mut self) -> Option<String> {
        let rest = &self.words[self.at][self.letter..];
        self.letter = 0;
        self.at += 1;
        if !rest.is_empty() {
            return Some(rest.to_owned());
        }
        let next = self.words.get(self.at)?;
        self.at += 1;
        Some(next.clone())
    }
}

fn missing(letter: char) -> Wrong {
    Wrong {
        out: "Unsupported option -> (null) <-\n".to_owned(),
        err: format!("iozone: option requires an argument -- '{letter}'\n"),
        code: 255,
    }
}
