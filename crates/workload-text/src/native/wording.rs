//! Wording of errors and help.

use plumb_document::{LIST, Misfit, TABLE};
use plumb_workload::suggest::did_you_mean;

/// Returns the message for a TOML syntax error.
pub(super) fn syntax_message(message: &str) -> String {
    let first = message.lines().next().unwrap_or("not TOML");
    format!("this is not TOML: {}", first.trim_end_matches('.'))
}

/// Returns the message and help for an error of shape or type.
pub(super) fn misfit_message(misfit: &Misfit) -> (String, Option<String>) {
    match misfit {
        Misfit::UnknownKey { found, known } => {
            let help = did_you_mean(found, known).unwrap_or_else(|| "nothing can be set here".to_owned());
            (format!("unknown key `{found}`"), Some(help))
        }
        Misfit::UnknownChoice { found, known } => {
            (format!("`{found}` is not one of the choices"), did_you_mean(found, known))
        }
        Misfit::MissingKey(key) => (format!("`{key}` is missing"), Some(format!("add `{key} = …`"))),
        Misfit::DuplicateKey(key) => (format!("`{key}` is set twice"), Some("keep one of them".to_owned())),
        Misfit::Unexpected { found, expected } => {
            let help = (expected == LIST && found == TABLE)
                .then(|| "the sections of a list have two brackets, such as `[[phase]]`".to_owned());
            (misfit.to_string(), help)
        }
        Misfit::Other(message) => (message.clone(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misfits_have_a_message_and_help() {
        let unknown = |found: &str, known| misfit_message(&Misfit::UnknownKey { found: found.to_owned(), known });
        for ((found, way_out), message, help) in [
            (unknown("dpeth", &["depth", "work"]), "unknown key `dpeth`", "did you mean `depth`?"),
            (unknown("x", &["depth", "work"]), "unknown key `x`", "there are `depth` and `work`"),
            (unknown("x", &[]), "unknown key `x`", "nothing can be set here"),
            (
                misfit_message(&Misfit::UnknownChoice { found: "io_uring".to_owned(), known: &["psync", "io-uring"] }),
                "`io_uring` is not",
                "did you mean `io-uring`?",
            ),
            (misfit_message(&Misfit::MissingKey("workers")), "`workers` is missing", "add `workers = …`"),
        ] {
            assert!(found.starts_with(message), "{found}");
            assert_eq!(way_out.as_deref(), Some(help));
        }
        let unexpected = |found: &str, expected: &str| {
            misfit_message(&Misfit::Unexpected { found: found.to_owned(), expected: expected.to_owned() })
        };
        assert!(unexpected(TABLE, LIST).1.unwrap().contains("[[phase]]"));
        assert_eq!(misfit_message(&Misfit::Other("something else".to_owned())), ("something else".to_owned(), None));
    }
}
