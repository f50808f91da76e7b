//! `plumb as TOOL`: another tool's language, read by its own rules.

pub mod bonnie;
pub mod dd;
pub mod elbencho;
mod findings;
pub mod fio;
pub mod iostat;
pub mod iozone;
pub mod postmark;

use crate::args::Common;
use crate::exit::{End, Stopped};
use std::ffi::OsString;

/// The tools whose language is spoken.
const TOOLS: &[&str] = &[
    "bon_csv2html",
    "bon_csv2txt",
    "bonnie++",
    "dd",
    "elbencho",
    "fio",
    "getc_putc",
    "iostat",
    "iozone",
    "postmark",
    "zcav",
];

/// Runs the words as the tool would: the first one names it.
pub fn run(words: &[OsString], common: &Common) -> Result<End, Stopped> {
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let tool = words.next().unwrap_or_default();
    match tool.as_str() {
        "dd" => dd::as_dd("dd", &words.collect::<Vec<_>>(), common),
        "bon_csv2html" => bonnie::as_csv2html(&words.collect::<Vec<_>>()),
        "bon_csv2txt" => bonnie::as_csv2txt(),
        "bonnie++" => bonnie::as_bonnie("bonnie++", &words.collect::<Vec<_>>(), common),
        "getc_putc" => bonnie::as_getc_putc("getc_putc", &words.collect::<Vec<_>>(), common),
        "elbencho" => elbencho::as_elbencho("elbencho", &words.collect::<Vec<_>>(), common),
        "iozone" => iozone::as_iozone("iozone", &words.collect::<Vec<_>>(), common),
        "fio" => fio::as_fio(&words.collect::<Vec<_>>(), common),
        "iostat" => iostat::as_iostat(&words.collect::<Vec<_>>()),
        "postmark" => postmark::as_postmark(&words.collect::<Vec<_>>(), common),
        "zcav" => bonnie::as_zcav("zcav", &words.collect::<Vec<_>>(), common),
        other => {
            let hint = plumb_workload::suggest::nearest(other, TOOLS.iter().copied());
            let hint = hint.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            Err(Stopped::usage(format!(
                "`{other}` is no tool whose language is spoken here, only {} are{hint}",
                TOOLS.join(", ")
            )))
        }
    }
}
