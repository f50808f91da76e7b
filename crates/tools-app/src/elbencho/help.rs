//! `--help` and `--help-all`, from the table of options.

use super::VERSION;
use super::options::OPTIONS;
use plumb_tools::Support;
use plumb_tools::options::Opt;

/// Options that most users need.
const FIRST: &[&str] = &[
    "block",
    "csvfile",
    "deldirs",
    "delfiles",
    "direct",
    "dirs",
    "files",
    "iodepth",
    "lat",
    "mkdirs",
    "rand",
    "read",
    "size",
    "stat",
    "threads",
    "timelimit",
    "verify",
    "write",
];

const USAGE: &str = "Usage: elbencho [OPTIONS] PATH [MORE_PATHS]\n\n";

/// Returns the help page of the most important options.
pub fn short() -> String {
    let chosen = OPTIONS.iter().filter(|option| FIRST.contains(&option.name));
    format!("{USAGE}{}\n--help-all prints all options.\n", lines(chosen))
}

/// Options shown by [`dist`].
const DIST: &[&str] = &[
    "foreground",
    "hosts",
    "hostsfile",
    "interrupt",
    "nosvcshare",
    "numhosts",
    "port",
    "quit",
    "rotatehosts",
    "service",
    "svcelapsed",
    "svcwait",
];

/// Returns the help page of the options for services.
pub fn dist() -> String {
    let chosen = OPTIONS.iter().filter(|option| DIST.contains(&option.name));
    format!(
        "Start a service on each host, then use them from anywhere:\n  elbencho --service\n  elbencho --hosts HOST,... \
         [OPTIONS] PATH [MORE_PATHS]\n  elbencho --hosts HOST,... --quit\n\n{}\nA service listens on loopback; beyond it, \
         PLUMB_AGENT_KEYS names its keys and PLUMB_HOSTS_KEYS those of\nwhoever leads it (plumb agent --init DIR makes \
         both). PLUMB_AGENT_ALLOW lists the paths that it may use.\n",
        lines(chosen)
    )
}

/// Returns the help page of all options. Unsupported ones show the reason.
pub fn all() -> String {
    let (works, not): (Vec<&Opt>, Vec<&Opt>) = OPTIONS.iter().partition(|option| option.support == Support::Works);
    let (s3, rest): (Vec<&Opt>, Vec<&Opt>) = not.into_iter().partition(|option| option.name.starts_with("s3"));
    let s3_names: Vec<String> = s3.iter().map(|option| format!("--{}", option.name)).collect();
    format!(
        "{USAGE}{}\nNot supported:\n{}\n  Object storage options:\n  {}\n",
        lines(works.into_iter()),
        lines(rest.into_iter()),
        s3_names.join(" "),
    )
}

/// Returns the version page, in the format that scripts expect from elbencho.
pub fn version() -> String {
    format!("elbencho\n * Version: {VERSION}\n * Command line of elbencho, run by Plumb\n")
}

fn lines<'a>(options: impl Iterator<Item = &'a Opt>) -> String {
    let mut text = String::new();
    for option in options {
        let letter = option.letter.map_or(String::new(), |letter| format!("-{letter} [ --{} ]", option.name));
        let name = if letter.is_empty() { format!("--{}", option.name) } else { letter };
        let value = if option.takes.is_flag() { "" } else { " VALUE" };
        let default = if option.default.is_empty() { String::new() } else { format!(" (Default: {})", option.default) };
        let why = match option.support {
            Support::Works => String::new(),
            Support::Ignored(why) => format!(" Has no effect: {why}."),
            Support::NotYet(why) => format!(" Not supported yet: {why}."),
            Support::Never(why) => format!(" Not supported: {why}."),
        };
        text.push_str(&format!("  {:<25} {}{default}{why}\n", format!("{name}{value}"), option.what));
    }
    text
}
