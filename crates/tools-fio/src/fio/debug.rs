//! `--debug`: which areas print lines while jobs are read and run, and what these lines look like.

use super::Fio;
use super::job::SaidOption;
use super::options::stop::STEADYSTATE;
use super::value::choice::SteadyLimit;
use super::value::{Compat, ValueReading};

/// fio's areas, in its order. The first that begins a word is the one that was meant.
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

/// What `--debug` asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Debug {
    /// Each op where it is complete.
    pub io: bool,
    /// The seeds of all streams of random numbers.
    pub random: bool,
    /// The options as they are read.
    pub parse: bool,
    /// What fio says about the areas, a line each.
    pub said: Vec<String>,
    /// Words that name no area.
    pub unknown: Vec<String>,
}

impl Debug {
    /// Adds a comma-separated list of areas.
    pub(super) fn add(&mut self, text: &str) {
        for word in text.split(',') {
            if word.starts_with("all") {
                self.said.push("fio: set all debug options".to_owned());
                (self.io, self.random, self.parse) = (true, true, true);
                continue;
            }
            let Some(area) = AREAS.into_iter().find(|area| word.starts_with(area)) else {
                self.unknown.push(word.to_owned());
                continue;
            };
            if area == "job" {
                match word.split_once(':') {
                    Some((_, number)) => self.said.push(format!("fio: set debug jobno {}", whole(number))),
                    None => self.unknown.push(word.to_owned()),
                }
                continue;
            }
            self.said.push(format!("fio: set debug option {word}"));
            match area {
                "io" => self.io = true,
                "random" => self.random = true,
                "parse" => self.parse = true,
                _ => {}
            }
        }
    }
}

/// The number that a text begins with, as `atoi` reads it.
fn whole(text: &str) -> u64 {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// What `--debug=help` prints.
pub fn areas() -> String {
    format!("fio: dumping debug options:{},all\n", AREAS.join(","))
}

/// A line of an area, as fio writes it.
pub fn line(area: &str, pid: u32, text: &str) -> String {
    format!("{area:<8} {pid:<5} {text}\n")
}

/// The lines of `--debug=parse`: each option, and the threshold that a steady state is judged by.
pub fn parsed(fio: &Fio, pid: u32) -> String {
    let of_jobs = fio.jobs.iter().flat_map(|job| &job.section.said);
    fio.globals.iter().chain(of_jobs).map(|said| parsed_option(said, fio.invocation.compat, pid)).collect()
}

fn parsed_option(said: &SaidOption, compat: Compat, pid: u32) -> String {
    let text = said.text.as_deref();
    let mut lines =
        line("parse", pid, &format!("handle_option={}, ptr={}", said.option.name, text.unwrap_or("(null)")));
    if !STEADYSTATE.is(said.option) {
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

    fn asked(text: &str) -> Debug {
        let mut debug = Debug::default();
        debug.add(text);
        debug
    }

    // Protects: areas are found as fio finds them, and an unknown one does not end the run.
    #[test]
    fn areas_are_those_of_fio() {
        let debug = asked("random,io");
        assert_eq!((debug.random, debug.io, debug.parse), (true, true, false));
        assert_eq!(debug.said, ["fio: set debug option random", "fio: set debug option io"]);
        assert_eq!(asked("nope,mem").unknown, ["nope"]);
        assert!(asked("all").parse);
        assert_eq!(asked("job:2").said, ["fio: set debug jobno 2"]);
        assert_eq!(
            areas(),
            "fio: dumping debug options:process,file,io,mem,blktrace,verify,random,parse,diskutil,job,mutex,profile,time,\
             net,rate,compress,steadystate,helperthread,zbd,all\n"
        );
        assert_eq!(line("random", 12, "x"), "random   12    x\n");
    }
}
