//! Plumb's own options among the words of a tool: the same for every tool that measures, and taken out before the tool's
//! parser sees its words.

use crate::exit::Stopped;
use crate::stream::StreamArguments;

const STREAM: &str = "--plumb-stream";
const TOKEN_FILE: &str = "--plumb-stream-token-file";

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
