//! `--debug`: the areas that print lines while jobs are read and run, and the format of these lines.

use super::Fio;
use super::job::InputOption;
use super::options::stop::STEADYSTATE;
use super::value::choice::SteadyLimit;
use super::value::{Compat, ValueReading};

/// fio's areas, in its order. A word selects the first area that it begins with.
const AREAS: [&str; 19] = [
    "process",
    "file",
    "io",
    "mem",
    "blktrace",
    "verify",
    "random",
    "parse",
    "diskutil",
    "job",
    "mutex",
    "profile",
    "time",
    "net",
    "rate",
    "compress",
    "steadystate",
    "helperthread",
    "zbd",
];

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Debug {
    /// Print each op when it completes.
    pub io: bool,
    /// Print the seeds of all random streams.
    pub random: bool,
    /// Print the options as they are parsed.
    pub parse: bool,
    /// fio's replies about the selected areas, one line each.
    pub replies: Vec<String>,
    /// Words that match no area.
    pub unknown: Vec<String>,
}

impl Debug {
    /// Adds a comma-separated list of areas.
    pub(super) fn add(&mut self, text: &str) {
        for word in text.split(',') {
            if word.starts_with("all") {
                self.replies.push("fio: set all debug options".to_owned());
                (self.io, self.random, self.parse) = (true, true, true);
                continue;
            }
            let Some(area) = AREAS.into_iter().find(|area| word.starts_with(area)) else {
                self.unknown.push(word.to_owned());
                continue;
            };
            if area == "job" {
                match word.split_once(':') {
                    Some((_, number)) => self.replies.push(format!("fio: set debug jobno {}", whole(number))),
                    None => self.unknown.push(word.to_owned()),
                }
                continue;
            }
            self.replies.push(format!("fio: set debug option {word}"));
            match area {
                "io" => self.io = true,
                "random" => self.random = true,
                "parse" => self.parse = true,
                _ => {}
            }
        }
    }
}

/// Returns the number at the start of a text, parsed as `atoi` does.
fn whole(text: &str) -> u64 {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// Returns the list that `--debug=help` prints.
pub fn areas() -> String {
    format!("fio: dumping debug options:{},all\n", AREAS.join(","))
}

/// Formats a debug line of an area as fio does.
pub fn line(area: &str, pid: u32, text: &str) -> String {
    format!("{area:<8} {pid:<5} {text}\n")
}

/// Returns the lines of `--debug=parse`: each option, and the steady-state threshold.
pub fn parsed(fio: &Fio, pid: u32) -> String {
    let of_jobs = fio.jobs.iter().flat_map(|job| &job.section.options);
    fio.globals.iter().chain(of_jobs).map(|given| parsed_option(given, fio.invocation.compat, pid)).collect()
}

fn parsed_option(given: &InputOption, compat: Compat, pid: u32) -> String {
    let text = given.text.as_deref();
    let mut lines =
        line("parse", pid, &format!("handle_option={}, ptr={}", given.option.name, text.unwrap_or("(null)")));
    if !STEADYSTATE.is(given.option) {
        return lines;
    }
    let mut doubts = Vec::new();
    let mut reading = ValueReading { compat, kb_base: 1_024, doubts: &mut doubts };
    if let Ok(Some(criterion)) = STEADYSTATE.value(text, &mut reading) {
        let threshold = match criterion.limit {
            SteadyLimit::Percent(percent) => format!("threshold to {percent:.6}%"),
            SteadyLimit::Iops(iops) => format!("IOPS threshold to {iops:.6}"),
            SteadyLimit::BytesPerSecond(bytes) => format!("BW threshold to {bytes}"),
            SteadyLimit::Time(time) => format!("latency threshold to {} nsec", time.0),
        };
        lines.push_str(&line("parse", pid, &format!("set steady state {threshold}")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Debug {
        let mut debug = Debug::default();
        debug.add(text);
        debug
    }

    // Protects: areas are matched as fio matches them, and an unknown area does not end the run.
    #[test]
    fn areas_are_those_of_fio() {
        let debug = parse("random,io");
        assert_eq!((debug.random, debug.io, debug.parse), (true, true, false));
        assert_eq!(debug.replies, ["fio: set debug option random", "fio: set debug option io"]);
        assert_eq!(parse("nope,mem").unknown, ["nope"]);
        assert!(parse("all").parse);
        assert_eq!(parse("job:2").replies, ["fio: set debug jobno 2"]);
        assert_eq!(
            areas(),
            "fio: dumping debug options:process,file,io,mem,blktrace,verify,random,parse,diskutil,job,mutex,profile,time,\
             net,rate,compress,steadystate,helperthread,zbd,all\n"
        );
        assert_eq!(line("random", 12, "x"), "random   12    x\n");
    }
}
