//! `dd --help` and `--version`, made from the tables.

use super::keywords::{CONVERSIONS, FLAGS, OPERANDS, Personality, Word};
use std::fmt::Write as _;

/// The version that GNU's words follow, as scripts look for it.
pub const VERSION: &str = concat!("dd (coreutils) 9.1\nPlumb ", env!("CARGO_PKG_VERSION"), ", in the words of dd\n");

/// All operands of a personality.
pub fn help(program: &str, personality: Personality) -> String {
    let mut text = format!(
        "Usage: {program} [OPERAND]...\n  or:  {program} OPTION\nCopies a file, converts it on the way, and says how fast \
         that went.\n\n"
    );
    list(&mut text, OPERANDS, personality, "=");
    text.push_str("\nWords of conv:\n");
    list(&mut text, CONVERSIONS, personality, "");
    text.push_str("\nWords of iflag and oflag:\n");
    list(&mut text, FLAGS, personality, "");
    text.push_str(match personality {
        Personality::Gnu => {
            "\nNumbers may end in c=1, w=2, b=512, kB=1000, K=1024, MB=1000*1000, M=1024*1024, xM=M, GB, G, and so on for\n\
             T, P, E, Z, Y; KiB=K, MiB=M, and so on; in B for bytes rather than blocks; and be multiplied by x.\n"
        }
        Personality::FreeBsd => {
            "\nNumbers may end in b=512, k=1024, m, g, t, p and w=4, in either case, and be multiplied by x or *.\n"
        }
    });
    text.push_str(
        "\nSIGUSR1 makes it say how far it is.\n\nOptions:\n      --help                    this page\n      \
         --version                 the version\n      --as-version=gnu|freebsd  whose dd it is (gnu)\n      \
         --compat=strict           each block is a call, also where the kernel could copy by itself\n      \
         --plan                    what would be done\n      --translate               the copy as a workload of Plumb\n",
    );
    text
}

fn list<T>(text: &mut String, words: &'static [Word<T>], personality: Personality, behind: &str) {
    for word in words.iter().filter(|word| word.who.has(personality) && !word.help.is_empty()) {
        let _ = writeln!(text, "  {:<12} {}", format!("{}{behind}", word.name), word.help);
    }
}
