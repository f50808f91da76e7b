//! dd command lines from publications. Print loses letters and mixes up GNU's and FreeBSD's dd, but
//! a single wrong character can be corrected.

use super::keywords::Personality;
use super::operands::{Dd, meant_operand};
use super::quote::Marks;

/// A command line, parsed as far as possible.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrintedCommand {
    /// The intended command line, for GNU dd.
    pub dd: Dd,
    /// Arguments that no dd accepts, as printed.
    pub refused: Vec<String>,
    /// Arguments that only FreeBSD's dd accepts: `bs=1m`.
    pub only_bsd: Vec<String>,
}

/// Parses the arguments, continuing after those that dd would refuse.
pub fn read_printed(words: &[String]) -> PrintedCommand {
    let mut printed = PrintedCommand::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word.starts_with("--") && word.len() > 2 {
            if printed.dd.option(word, &mut rest, Marks::default()).is_err() {
                printed.refused.push(word.clone());
            }
        } else if word != "--" {
            printed.take(word);
        }
    }
    printed
}

impl PrintedCommand {
    fn take(&mut self, word: &str) {
        if self.is_taken(word) {
            return;
        }
        self.refused.push(word.to_owned());
        if let Some(meant) = meant_operand(word, Personality::Gnu) {
            // If this fails, the operand is lost.
            self.is_taken(&meant);
        }
    }

    fn is_taken(&mut self, word: &str) -> bool {
        if self.taken_by(Personality::Gnu, word) {
            return true;
        }
        let is_bsd = self.taken_by(Personality::FreeBsd, word);
        if is_bsd {
            self.only_bsd.push(word.to_owned());
        }
        is_bsd
    }

    /// Parses an operand like this personality, if it accepts it.
    fn taken_by(&mut self, personality: Personality, word: &str) -> bool {
        let mut dd = Dd { personality, ..self.dd.clone() };
        let taken = dd.operand(word, Marks::default(), &mut Vec::new()).is_ok();
        if taken {
            self.dd = Dd { personality: self.dd.personality, ..dd };
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dd::keywords::Flag;
    use proptest::prelude::*;

    fn printed(line: &str) -> PrintedCommand {
        read_printed(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    // Protects audits: a misprint is reported, and the rest of the command is still understood.
    #[test]
    fn arguments_after_a_misprint_are_understood() {
        let found = printed("if=/home/namn/test of=/dev/null bs=1m oflag/dsync test oag=direct");
        assert_eq!(
            (found.dd.input.as_deref(), found.dd.output.as_deref()),
            (Some("/home/namn/test"), Some("/dev/null"))
        );
        assert_eq!((found.dd.block, found.dd.output_flags), (Some(1 << 20), vec![Flag::Dsync, Flag::Direct]));
        assert_eq!(found.refused, ["oflag/dsync", "test", "oag=direct"]);
        assert_eq!(found.only_bsd, ["bs=1m"]);
    }

    // Protects: an operand that one dd accepts is accepted, and one that none accepts does not affect the rest.
    #[test]
    fn only_invalid_operands_are_refused() {
        let right = printed("if=a of=b bs=1M count=3 conv=fsync status=none");
        assert_eq!((right.refused.len(), right.only_bsd.len()), (0, 0));
        let command = printed("bs=0 bs=4k count=many -x --bad=1 count=2");
        assert_eq!(command.refused, ["bs=0", "count=many", "-x", "--bad=1"]);
        assert_eq!((command.dd.block, command.dd.count.map(|count| count.value)), (Some(4096), Some(2)));
    }

    proptest! {
        #[test]
        fn no_words_panic_or_loop(words in prop::collection::vec("[a-zé=/,0-9-]{0,12}", 0..6)) {
            let _ = read_printed(&words);
        }
    }
}
