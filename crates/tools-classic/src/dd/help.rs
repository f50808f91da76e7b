//! `dd --help` and `--version`, made from the tables.

use super::keywords::{CONVERSIONS, FLAGS, OPERANDS, Personality, Word};
use std::fmt::Write as _;

/// The emulated version of GNU dd, in the format that scripts expect.
pub const VERSION: &str = concat!("dd (coreutils) 9.1\nPlumb ", env!("CARGO_PKG_VERSION"), ", dd-compatible\n");

/// Formats all operands of a personality.
pub fn help(program: &str, personality: Personality) -> String {
    let mut text = format!(
        "Usage: {program} [OPERAND]...\n  or:  {program} OPTION\nCopies and converts a file, and reports how fast.\n\n"
    );
    list(&mut text, OPERANDS, personality, "=");
    text.push_str("\nConversions (conv):\n");
    list(&mut text, CONVERSIONS, personality, "");
    text.push_str("\nFlags (iflag, oflag):\n");
    list(&mut text, FLAGS, personality, "");
    text.push_str(match personality {
        Personality::Gnu => {
            "\nNumbers take the suffixes c=1, w=2, b=512, kB=1000, K=1024, MB=1000*1000, M=1024*1024, xM=M, GB, G, \
             and so on for\n\
             T, P, E, Z, Y; KiB=K, MiB=M, and so on; B counts bytes instead of blocks; x multiplies.\n"
        }
        Personality::FreeBsd => {
            "\nNumbers take the suffixes b=512, k=1024, m, g, t, p and w=4, in either case; x or * multiplies.\n"
        }
    });
    text.push_str(
        "\nSIGUSR1 prints progress.\n\nOptions:\n      --help                    print this help\n      \
         --version                 print the version\n      --as-version=gnu|freebsd  which dd to follow (gnu)\n      \
         --compat=strict           one call per block, even where the kernel could copy by itself\n      \
         --plan                    print what would be done\n      --translate               print the copy as a \
         Plumb workload\n",
    );
    text
}

fn list<T>(text: &mut String, words: &'static [Word<T>], personality: Personality, suffix: &str) {
    for word in words.iter().filter(|word| word.who.has(personality) && !word.help.is_empty()) {
        let _ = writeln!(text, "  {:<12} {}", format!("{}{suffix}", word.name), word.help);
    }
}
