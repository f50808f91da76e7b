//! Plumb's own options among a tool's arguments. They are the same for every tool, and are removed before the tool's
//! parser runs.

use plumb_cli::exit::Stopped;
use plumb_cli::stream::StreamArguments;

const STREAM: &str = "--plumb-stream";
const TOKEN_FILE: &str = "--plumb-stream-token-file";
/// Exits with 3 if a run is rejected. `docs/dialects/verdicts.md` and fio's table of options name it too.
pub const STRICT: &str = "--plumb-strict";
const QUIET: &str = "--plumb-quiet";
/// Short form, for tools that do not have `-q` themselves.
const SHORT_QUIET: &str = "-q";
/// Environment variable that turns the verdict line off for every call.
const QUIET_VARIABLE: &str = "PLUMB_QUIET";

/// Options about verdicts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerdictOptions {
    /// A rejected run ends with exit code 3.
    pub strict: bool,
    /// No verdicts are printed.
    pub quiet: bool,
}

impl VerdictOptions {
    /// Removes `--plumb-strict` and `--plumb-quiet` from a tool's arguments, and `-q` unless the tool has an option
    /// of that name. PLUMB_QUIET works like `--plumb-quiet` unless it is empty or `0`.
    pub fn taken_from(words: &[String], has_q: bool) -> (Vec<String>, VerdictOptions) {
        let variable = std::env::var(QUIET_VARIABLE).unwrap_or_default();
        let mut options = VerdictOptions { strict: false, quiet: !matches!(variable.as_str(), "" | "0") };
        let is_for_tool = |word: &&String| match word.as_str() {
            STRICT => {
                options.strict = true;
                false
            }
            QUIET => {
                options.quiet = true;
                false
            }
            SHORT_QUIET if !has_q => {
                options.quiet = true;
                false
            }
            _ => true,
        };
        let words = words.iter().filter(is_for_tool).cloned().collect();
        (words, options)
    }
}

/// A tool's arguments, separated from Plumb's stream options.
pub struct OwnWords {
    /// The arguments left for the tool.
    pub words: Vec<String>,
    /// Destination of the stream of seconds.
    pub stream: StreamArguments,
}

impl OwnWords {
    /// Removes `--plumb-stream=FORM:WHERE` and `--plumb-stream-token-file=FILE`. PLUMB_STREAM applies
    /// if the first is absent.
    ///
    /// # Errors
    /// A value is missing or invalid.
    pub fn extract(all: &[String]) -> Result<OwnWords, Stopped> {
        let mut words = Vec::with_capacity(all.len());
        let mut stream = StreamArguments::default();
        let mut rest = all.iter();
        while let Some(word) = rest.next() {
            let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            if name != STREAM && name != TOKEN_FILE {
                words.push(word.clone());
                continue;
            }
            let next = || rest.next().map(String::as_str);
            let value = value.or_else(next).ok_or_else(|| Stopped::usage(format!("{name} needs a value")))?;
            if name == STREAM {
                stream.streams.push(value.parse().map_err(|error| Stopped::usage(format!("{STREAM}: {error}")))?);
            } else {
                stream.token_file = Some(value.into());
            }
        }
        if stream.streams.is_empty() {
            stream.streams = StreamArguments::of_environment()?.streams;
        }
        Ok(OwnWords { words, stream })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the tool's own arguments stay unchanged and in order, wherever Plumb's options are.
    #[test]
    fn options_of_verdicts_are_taken_out() {
        let of = |text: &str, has_q| {
            VerdictOptions::taken_from(&text.split(' ').map(str::to_owned).collect::<Vec<_>>(), has_q)
        };
        let (words, options) = of("if=a --plumb-strict -q of=b", false);
        assert_eq!((words.join(" ").as_str(), options), ("if=a of=b", VerdictOptions { strict: true, quiet: true }));
        let (words, options) = of("-a -q 64 --plumb-stricter --plumb-strict=1", true);
        assert_eq!(
            words.join(" "),
            "-a -q 64 --plumb-stricter --plumb-strict=1",
            "IOzone's own -q, and no option of ours"
        );
        assert_eq!(options, VerdictOptions::default());
        assert!(of("--plumb-quiet", true).1.quiet);
    }

    #[test]
    fn own_options_are_taken_out() {
        let of = |text: &str| OwnWords::extract(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let taken = of("--name=a --plumb-stream=ndjson:f --rw=read --plumb-stream influx:g x").unwrap();
        assert_eq!(taken.words, ["--name=a", "--rw=read", "x"]);
        assert_eq!(taken.stream.streams.iter().map(ToString::to_string).collect::<Vec<_>>(), ["ndjson:f", "influx:g"]);
        assert_eq!(of("--plumb-streams=x --plumb-allow=y").unwrap().words, ["--plumb-streams=x", "--plumb-allow=y"]);
        assert!(of("a --plumb-stream").err().unwrap().message.contains("--plumb-stream"));
        assert!(of("--plumb-stream=f").err().unwrap().message.contains("ndjson:FILE"));
    }
}
