//! `plumb as dd`.

mod run;

use crate::args::Common;
use crate::exit::{End, Stopped};
use crate::session;
use plumb_dialects::dd::{self, Action, Marks, help, lower};
use plumb_workload::native;

/// As dd: what is wrong goes to standard error, and the code is then 1. `called` is the program's own name.
pub fn as_dd(called: &str, words: &[String], common: &Common) -> Result<End, Stopped> {
    let marks = Marks::of_locale(|name| std::env::var(name).ok());
    let dd = match dd::read(words, marks) {
        Ok(dd) => dd,
        Err(wrong) => {
            eprint!("{}", wrong.text(called));
            if let Some(meant) = &wrong.meant {
                eprintln!("plumb: {meant}");
            }
            return Ok(End::DialectFailed);
        }
    };
    for warning in &dd.warnings {
        eprintln!("{called}: {warning}");
    }
    match dd.action {
        Action::Help => say(&help::help(called, dd.personality)),
        Action::Version => say(help::VERSION),
        Action::Plan => say(&lower::plan(&dd)),
        Action::Translate => match native::to_toml(&lower::lower(&dd)) {
            Ok(text) => say(&format!("# Translated from operands of dd.\n{text}")),
            Err(error) => {
                eprintln!("{called}: {error}");
                Ok(End::DialectFailed)
            }
        },
        Action::Run => run::run(&dd, called, common),
    }
}

fn say(text: &str) -> Result<End, Stopped> {
    session::print(text)?;
    Ok(End::Done)
}
