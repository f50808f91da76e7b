//! Parses arguments by a table of options.

use super::{Opt, Table, Takes};
use lexopt::{Arg, Parser};
use std::ffi::OsString;

/// The effect of the argument `--`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DoubleDash {
    /// Only operands follow, as in getopt(3).
    EndsOptions,
    /// Parsing ends. Another table reads the rest.
    EndsWords,
    /// None: it is an unknown option.
    Unknown,
}

/// The parsing rules that differ between tools.
#[derive(Debug, Clone, Copy)]
pub struct Grammar {
    pub table: Table,
    /// Aliases: pairs of another name and the name in the table.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Whether an unambiguous prefix of a name is accepted, as in getopt_long(3).
    pub abbreviates: bool,
    /// Whether `-o=1` gives `-o` the value `1`, also for a flag. In getopt(3) the value is `=1`, and after a flag
    /// `=` is the next letter.
    pub short_equals: bool,
    pub double_dash: DoubleDash,
}

impl Grammar {
    pub const fn getopt(table: Table) -> Grammar {
        Grammar { table, aliases: &[], abbreviates: false, short_equals: false, double_dash: DoubleDash::EndsOptions }
    }

    /// Looks up a long name. The error lists the options that it may abbreviate.
    fn named(&self, name: &str) -> Result<&'static Opt, Vec<&'static Opt>> {
        let name = self.aliases.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
        if let Some(option) = self.table.named(name) {
            return Ok(option);
        }
        match self.table.beginning(name).as_slice() {
            _ if !self.abbreviates => Err(Vec::new()),
            [one] => Ok(one),
            several => Err(several.to_vec()),
        }
    }
}

/// A parsed argument, with the value that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// An option and its value. The value is `None` if it was left out, also at the end of the arguments.
    Option(&'static Opt, Option<String>),
    Operand(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownOption {
    /// The whole argument, with its dashes.
    pub word: String,
    /// The letter; `-` for a long name, as getopt(3) sees `--name`.
    pub letter: char,
    /// The long name, without dashes.
    pub name: Option<String>,
    /// The options that the name may abbreviate, if there are several.
    pub candidates: Vec<&'static Opt>,
}

/// An iterator over parsed arguments.
pub struct Words {
    grammar: Grammar,
    parser: Parser,
    /// The current argument, for errors.
    word: String,
    /// A letter read ahead, to see whether the flag before it has a value.
    next_letter: Option<char>,
}

impl Words {
    /// Parses `words`, which do not include the program's name.
    pub fn new(grammar: Grammar, words: &[String]) -> Words {
        let mut parser = Parser::from_args(words.to_vec());
        parser.set_short_equals(grammar.short_equals);
        Words { grammar, parser, word: String::new(), next_letter: None }
    }

    /// Returns the last argument that was read, with its dashes.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// Returns the number of unread arguments.
    pub fn remaining(&mut self) -> usize {
        self.parser.try_raw_args().map_or(0, |words| words.as_slice().len())
    }

    /// Returns `true` if more letters follow in the same argument.
    pub fn is_in_cluster(&mut self) -> bool {
        self.next_letter.is_some() || self.parser.try_raw_args().is_none()
    }

    fn letter(&mut self, letter: char) -> Result<Word, UnknownOption> {
        let option = self.grammar.table.lettered(letter);
        let word = || self.word.clone();
        let option =
            option.ok_or_else(|| UnknownOption { word: word(), letter, name: None, candidates: Vec::new() })?;
        let value = match option.takes {
            takes if takes.is_flag() => self.value_of_flag(),
            takes => self.value(takes),
        };
        Ok(Word::Option(option, value))
    }

    fn long(&mut self, name: &str) -> Result<Word, UnknownOption> {
        let option = self.grammar.named(name).map_err(|candidates| UnknownOption {
            word: self.word.clone(),
            letter: '-',
            name: Some(name.to_owned()),
            candidates,
        })?;
        // A flag, too, can have an attached value. Tools report that differently.
        let value = match option.takes {
            takes if takes.is_flag() => self.parser.optional_value().map(text),
            takes => self.value(takes),
        };
        Ok(Word::Option(option, value))
    }

    fn value(&mut self, takes: Takes) -> Option<String> {
        let value = match takes {
            Takes::Optional(_) => self.parser.optional_value(),
            Takes::OptionalWord(_) => self.parser.optional_value().or_else(|| {
                let mut words = self.parser.try_raw_args()?;
                words.next_if(|word| !word.as_encoded_bytes().starts_with(b"-"))
            }),
            _ => self.parser.value().ok(),
        };
        value.map(text)
    }

    /// Reads the value after `=` of a flag's letter, if the tool has such values.
    fn value_of_flag(&mut self) -> Option<String> {
        if !self.grammar.short_equals || !self.is_in_cluster() {
            return None;
        }
        match self.parser.next() {
            Err(lexopt::Error::UnexpectedValue { value, .. }) => Some(text(value)),
            Ok(Some(Arg::Short(letter))) => {
                self.next_letter = Some(letter);
                None
            }
            _ => None,
        }
    }
}

impl Iterator for Words {
    type Item = Result<Word, UnknownOption>;

    fn next(&mut self) -> Option<Result<Word, UnknownOption>> {
        if let Some(letter) = self.next_letter.take() {
            return Some(self.letter(letter));
        }
        if let Some(mut words) = self.parser.try_raw_args() {
            self.word = text(words.peek()?.to_owned());
            if self.word == "--" && self.grammar.double_dash != DoubleDash::EndsOptions {
                words.next();
                return match self.grammar.double_dash {
                    DoubleDash::EndsWords => None,
                    _ => Some(self.long("")),
                };
            }
        }
        match self.parser.next() {
            Ok(Some(Arg::Short(letter))) => Some(self.letter(letter)),
            Ok(Some(Arg::Long(name))) => {
                let name = name.to_owned();
                Some(self.long(&name))
            }
            Ok(Some(Arg::Value(word))) => Some(Ok(Word::Operand(text(word)))),
            Ok(None) => None,
            // lexopt keeps a value after `=` only if its letter was refused.
            Err(_) => self.next(),
        }
    }
}

/// Converts an argument back to the text that it was before lexopt.
pub fn text(word: OsString) -> String {
    word.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::{both, letter, long};
    use super::*;
    use proptest::prelude::*;

    const ROWS: &[Opt] = &[
        both('v', "verbose", Takes::Flag, ""),
        both('b', "block", Takes::Size, ""),
        both('é', "été", Takes::Nothing, ""),
        both('o', "optional", Takes::Optional("[N]"), ""),
        letter('w', Takes::OptionalWord("[WORD]"), ""),
        both('d', "debug", Takes::AfterEquals("[=N]"), ""),
        long("blocks", Takes::Text, ""),
        long("bandwidth", Takes::Text, ""),
    ];
    const GETOPT: Grammar = Grammar::getopt(Table(&[ROWS]));
    const BOOST: Grammar = Grammar { abbreviates: true, short_equals: true, ..GETOPT };

    fn split(line: &str) -> Vec<String> {
        line.split(' ').map(|word| if word == "''" { String::new() } else { word.to_owned() }).collect()
    }

    /// Formats everything up to the first error, as `OPTION:VALUE` and operands.
    fn read_words(grammar: Grammar, words: &[String]) -> String {
        let mut found = Vec::new();
        for word in Words::new(grammar, words) {
            let is_error = word.is_err();
            found.push(match word {
                Ok(Word::Option(option, None)) => option.written(),
                Ok(Word::Option(option, Some(value))) => format!("{}:{value}", option.written()),
                Ok(Word::Operand(word)) => format!("`{word}`"),
                Err(UnknownOption { word, name: Some(name), candidates, .. }) => {
                    format!("no {name} in {word} ({})", candidates.len())
                }
                Err(UnknownOption { word, letter, .. }) => format!("no {letter} in {word}"),
            });
            if is_error {
                break;
            }
        }
        found.join(" ")
    }

    fn read(grammar: Grammar, line: &str) -> String {
        read_words(grammar, &split(line))
    }

    // Protects the rules of getopt(3): values are attached or follow, even if they start with a dash, and include
    // `=`.
    #[test]
    fn words_are_parsed_like_getopt() {
        for (line, found) in [
            ("-vb4k -b 4k --block=4k --block 4k", "-v -b:4k -b:4k -b:4k -b:4k"),
            ("-b=4k -b -- -b -v -b '' x", "-b:=4k -b:-- -b:-v -b: `x`"),
            ("-v - '' x -- -v --", "-v `-` `` `x` `-v` `--`"),
            ("-é --été -vév", "-é -é -v -é -v"),
            ("-o1 -o 1 --optional --optional= --optional=1", "-o:1 -o `1` -o -o: -o:1"),
            ("-wx -w x -w -v -w", "-w:x -w:x -w -v -w"),
            ("--verbose=0", "-v:0"),
            ("-dv -d 1 --debug --debug=1 -d1", "-d -v -d `1` -d -d:1 -d no 1 in -d1"),
            ("-vb", "-v -b"),
            ("--block", "-b"),
            ("-v=0", "-v no = in -v=0"),
            ("-vx", "-v no x in -vx"),
            ("-v-", "-v no - in -v-"),
            ("-ü", "no ü in -ü"),
            ("--bloc", "no bloc in --bloc (0)"),
            ("--=x", "no  in --=x (0)"),
            ("---", "no - in --- (0)"),
        ] {
            assert_eq!(read(GETOPT, line), found, "{line}");
        }
    }

    // Protects the rules of boost's program_options, which elbencho uses.
    #[test]
    fn words_are_parsed_like_boost() {
        for (line, found) in [
            ("-b=4k -b= -b=a=b", "-b:4k -b: -b:a=b"),
            ("-v=0 -év=1 -vé x", "-v:0 -é -v:1 -v -é `x`"),
            ("-v= -vb=4k", "-v: -v -b:4k"),
            ("--verb --bloc=1", "-v no bloc in --bloc=1 (2)"),
            ("--block=1 --band 2", "-b:1 --bandwidth:2"),
            ("--nothing", "no nothing in --nothing (0)"),
            ("-=", "no = in -="),
        ] {
            assert_eq!(read(BOOST, line), found, "{line}");
        }
    }

    // Protects netperf's two argument lists, iperf's rejection of `--`, and tools without long options.
    #[test]
    fn two_dashes_follow_the_grammar() {
        let parts = Grammar { double_dash: DoubleDash::EndsWords, ..GETOPT };
        let mut words = Words::new(parts, &split("-v -b -- -- -b x"));
        assert_eq!(words.by_ref().count(), 2);
        assert_eq!(words.remaining(), 2);
        let unknown = Grammar { double_dash: DoubleDash::Unknown, ..GETOPT };
        assert_eq!(read(unknown, "-v --"), "-v no  in -- (0)");
        let unknown = Words::new(GETOPT, &split("--x")).next().unwrap().unwrap_err();
        assert_eq!(unknown.letter, '-');
        let aliased = Grammar { aliases: &[("rate", "bandwidth")], ..GETOPT };
        assert_eq!(read(aliased, "--rate=3"), "--bandwidth:3");
    }

    /// Generates an option of the table with a value, in one of its possible forms.
    fn form() -> impl Strategy<Value = (String, Vec<String>)> {
        (0..5usize, "[a-z=-]{1,4}").prop_map(|(form, value)| {
            let found = format!("-b:{value}");
            match form {
                0 => (found, vec!["-b".to_owned(), value]),
                1 => (found, vec!["--block".to_owned(), value]),
                2 => (found, vec![format!("--block={value}")]),
                3 => (format!("-v -v {found}"), vec![format!("-vvb{value}")]),
                _ => (format!("-o:{value}"), vec![format!("--optional={value}")]),
            }
        })
    }

    proptest! {
        // Protects: every form of an option and its value parses.
        #[test]
        fn every_form_is_read_back(forms in proptest::collection::vec(form(), 0..6)) {
            let words: Vec<String> = forms.iter().flat_map(|(_, words)| words.clone()).collect();
            let found: Vec<&str> = forms.iter().map(|(found, _)| found.as_str()).collect();
            prop_assert_eq!(read_words(GETOPT, &words), found.join(" "));
        }

        // Protects against endless loops and panics: each argument and each of its letters is read once.
        #[test]
        fn parsing_any_words_ends(
            words in proptest::collection::vec("(-{0,3}[vbéowx=]{0,4}|--[a-z]{0,7}=?[\\PC]{0,2}|\\PC{0,4})", 0..8),
            abbreviates in any::<bool>(),
            short_equals in any::<bool>(),
            double_dash in prop_oneof![
                Just(DoubleDash::EndsOptions), Just(DoubleDash::EndsWords), Just(DoubleDash::Unknown)
            ],
        ) {
            let grammar = Grammar { abbreviates, short_equals, double_dash, ..GETOPT };
            let most: usize = words.iter().map(|word| word.chars().count().max(1)).sum();
            let mut read = Words::new(grammar, &words);
            let count = read.by_ref().count();
            prop_assert!(count <= most, "{count} of {most}");
            prop_assert!(read.remaining() == 0 || double_dash == DoubleDash::EndsWords);
        }
    }
}
