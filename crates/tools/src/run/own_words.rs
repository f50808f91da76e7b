//! Plumb's own options among the words of a tool: the same for every tool, and taken out before the tool's parser sees its
//! words.

use plumb_cli::exit::Stopped;
use plumb_cli::stream::StreamArguments;

const STREAM: &str = "--plumb-stream";
const TOKEN_FILE: &str = "--plumb-stream-token-file";
/// Exits with 3 if a run is rejected. `docs/dialects/README.md` and fio's table of options name it too.
pub const STRICT: &str = "--plumb-strict";
const QUIET: &str = "--plumb-quiet";
/// The same, where the tool itself has no such option.
const SHORT_QUIET: &str = "-q";
/// Turns the line about the verdict off for every call.
const QUIET_VARIABLE: &str = "PLUMB_QUIET";

/// Options about the verdicts of a tool's runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerdictOptions {
    /// A rejected run makes the exit code 3.
    pub strict: bool,
    /// Nothing is printed about verdicts.
    pub quiet: bool,
}

impl VerdictOptions {
    /// Takes `--plumb-strict` and `--plumb-quiet` out of a tool's words, and `-q` unless the tool has an option of that name.
    /// PLUMB_QUIET, not empty and not `0`, is as `--plumb-quiet`.
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

/// A tool's words, and what was said to Plumb among them.
pub struct OwnWords {
    /// What is left for the tool.
    pub words: Vec<String>,
    /// Where seconds are sent.
    pub stream: StreamArguments,
}

impl OwnWords {
    /// Takes `--plumb-stream=FORM:WHERE` and `--plumb-stream-token-file=FILE` out; PLUMB_STREAM holds where the first is absent.
    ///
    /// # Errors
    /// A value is missing or wrong.
    pub fn of(all: &[String]) -> Result<OwnWords, Stopped> {
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
            let value = value.or_else(next).ok_or_else(|| Stopped::usage(format!("{name} lacks its value")))?;
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

    // Protects: the tool's own words stay as they are, in their order, whatever stands between them.
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
        let of = |text: &str| OwnWords::of(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let taken = of("--name=a --plumb-stream=ndjson:f --rw=read --plumb-stream influx:g x").unwrap();
        assert_eq!(taken.words, ["--name=a", "--rw=read", "x"]);
        assert_eq!(taken.stream.streams.iter().map(ToString::to_string).collect::<Vec<_>>(), ["ndjson:f", "influx:g"]);
        assert_eq!(of("--plumb-streams=x --plumb-allow=y").unwrap().words, ["--plumb-streams=x", "--plumb-allow=y"]);
        assert!(of("a --plumb-stream").err().unwrap().message.contains("--plumb-stream"));
        assert!(of("--plumb-stream=f").err().unwrap().message.contains("ndjson:FILE"));
    }
}
