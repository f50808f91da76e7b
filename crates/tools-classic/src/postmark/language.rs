//! The command language.
//!
//! A line matches the first command of the table whose full name it starts with; the text after that name and one more
//! character is the value. So `set sizes 5 9` is `set size` with the value ` 5 9`.

use super::settings::{Location, PostmarkSettings, ReportForm};

/// A command of the table.
struct Command {
    name: &'static str,
    help: &'static str,
    does: fn(&mut PostmarkSettings, Option<&str>) -> Vec<Answer>,
}

/// An action that a line asks for, besides changing settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Print(String),
    /// Report an error, given without `Error: ` and the line end.
    Complain(String),
    /// Run; the report is appended to this file, or printed.
    Run(Option<String>),
    /// Show the settings; they are appended to this file, or printed.
    Show(Option<String>),
    /// Execute the commands of a file.
    Load(String),
    /// Run a shell command; without one, an interactive shell.
    Shell(Option<String>),
    Quit,
}

const COMMANDS: &[Command] = &[
    Command { name: "set size", help: "Sets low and high bounds of files", does: set_size },
    Command {
        name: "set number",
        help: "Sets number of simultaneous files",
        does: |settings, value| number(&mut settings.number, value, "invalid number of files"),
    },
    Command {
        name: "set seed",
        help: "Sets seed for random number generator",
        does: |settings, value| number(&mut settings.seed, value, "invalid seed for random numbers"),
    },
    Command {
        name: "set transactions",
        help: "Sets number of transactions",
        does: |settings, value| number(&mut settings.transactions, value, "no transactions specified"),
    },
    Command { name: "set location", help: "Sets location of working files", does: set_location },
    Command {
        name: "set subdirectories",
        help: "Sets number of subdirectories",
        does: |settings, value| number(&mut settings.subdirectories, value, "invalid number of subdirectories"),
    },
    Command {
        name: "set read",
        help: "Sets read block size",
        does: |settings, value| number(&mut settings.read_block, value, "invalid read block size"),
    },
    Command {
        name: "set write",
        help: "Sets write block size",
        does: |settings, value| number(&mut settings.write_block, value, "invalid write block size"),
    },
    Command { name: "set buffering", help: "Sets usage of buffered I/O", does: set_buffering },
    Command {
        name: "set bias read",
        help: "Sets the chance of choosing read over append",
        does: |settings, value| bias(&mut settings.bias_read, value),
    },
    Command {
        name: "set bias create",
        help: "Sets the chance of choosing create over delete",
        does: |settings, value| bias(&mut settings.bias_create, value),
    },
    Command { name: "set report", help: "Choose verbose or terse report format", does: set_report },
    Command { name: "run", help: "Runs one iteration of benchmark", does: |_, value| vec![Answer::Run(text(value))] },
    Command {
        name: "load",
        help: "Read configuration file",
        does: |_, value| match value {
            Some(path) => vec![Answer::Load(path.to_owned())],
            None => complain("no configuration file specified"),
        },
    },
    Command { name: "show", help: "Displays current configuration", does: |_, value| vec![Answer::Show(text(value))] },
    Command { name: "help", help: "Prints out available commands", does: |_, value| vec![Answer::Print(help(value))] },
    Command { name: "quit", help: "Exit program", does: |_, _| vec![Answer::Quit] },
];

/// Plumb's extensions. `help NAME` describes them.
const EXTENSIONS: &[Command] = &[Command {
    name: "set threads",
    help: "Sets number of threads, each with its own files (not in PostMark)",
    does: |settings, value| number(&mut settings.threads, value, "invalid number of threads"),
}];

/// Executes lines, one after another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Language {
    pub settings: PostmarkSettings,
}

impl Language {
    /// Executes a line of a file of commands, without its line end.
    pub fn obey(&mut self, line: &str) -> Vec<Answer> {
        if let Some(command) = line.strip_prefix('!') {
            return vec![Answer::Shell((!command.is_empty()).then(|| command.to_owned()))];
        }
        let all = COMMANDS.iter().chain(EXTENSIONS);
        match all.into_iter().find(|command| line.starts_with(command.name)) {
            Some(command) => (command.does)(&mut self.settings, value(&line[command.name.len()..])),
            None => vec![Answer::Print("Eh?\n".to_owned())],
        }
    }

    /// Returns the full name of the command in a line: `set size`.
    pub fn command(line: &str) -> Option<&'static str> {
        let all = COMMANDS.iter().chain(EXTENSIONS);
        all.into_iter().find(|command| line.starts_with(command.name)).map(|command| command.name)
    }

    /// Executes a typed line, which may also be `?` or `exit`.
    pub fn obey_typed(&mut self, line: &str) -> Vec<Answer> {
        self.obey(match line {
            "?" => "help",
            "exit" => "quit",
            other => other,
        })
    }
}

/// Returns the text after the command's name and one more character.
fn value(rest: &str) -> Option<&str> {
    let mut characters = rest.chars();
    characters.next().map(|_| characters.as_str())
}

fn text(value: Option<&str>) -> Option<String> {
    value.map(str::to_owned)
}

fn complain(what: impl Into<String>) -> Vec<Answer> {
    vec![Answer::Complain(what.into())]
}

/// Parses the number at the start like `atoi`; 0 if there is none. A number that does not fit an `int` is invalid.
fn leading_number(text: &str) -> i32 {
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let sign = text.len() - digits.len();
    text[..sign + end].trim_start_matches('+').parse().unwrap_or(0)
}

/// Parses a number of at least 1.
fn positive(text: &str) -> Option<u32> {
    u32::try_from(leading_number(text)).ok().filter(|number| *number > 0)
}

fn number(setting: &mut u32, value: Option<&str>, message: &str) -> Vec<Answer> {
    match value.and_then(positive) {
        Some(number) => *setting = number,
        None => return complain(message),
    }
    Vec::new()
}

fn set_size(settings: &mut PostmarkSettings, value: Option<&str>) -> Vec<Answer> {
    let Some((value, low)) = value.and_then(|value| Some((value, positive(value)?))) else {
        return complain("no file size low or high bounds specified");
    };
    let high = value.find(' ').and_then(|blank| positive(&value[blank..]));
    settings.low = low;
    settings.high = high.filter(|high| *high >= low).unwrap_or(low);
    Vec::new()
}

fn bias(setting: &mut i32, value: Option<&str>) -> Vec<Answer> {
    match value.map(leading_number) {
        Some(bias @ -1..=10) => *setting = bias,
        _ => return complain("no bias specified (0-10 for greater chance,-1 to disable)"),
    }
    Vec::new()
}

fn set_buffering(settings: &mut PostmarkSettings, value: Option<&str>) -> Vec<Answer> {
    match value {
        Some("true") => settings.buffered = true,
        Some("false") => settings.buffered = false,
        _ => return complain("no buffering mode (true/false) specified"),
    }
    Vec::new()
}

fn set_report(settings: &mut PostmarkSettings, value: Option<&str>) -> Vec<Answer> {
    match value {
        Some("verbose") => settings.report = ReportForm::Verbose,
        Some("terse") => settings.report = ReportForm::Terse,
        _ => return complain("either 'verbose' or 'terse' required"),
    }
    Vec::new()
}

fn set_location(settings: &mut PostmarkSettings, value: Option<&str>) -> Vec<Answer> {
    let locations = &mut settings.locations;
    let (sign, text) = match value {
        // Without a name, files would be created in the root directory.
        None | Some("" | "+" | "-") => return complain("no directory name specified"),
        Some(value) => match value.strip_prefix(['+', '-']) {
            Some(name) => (value.chars().next(), name),
            None => (None, value),
        },
    };
    if sign == Some('-') {
        match locations.iter().position(|location| location.path == text) {
            Some(place) => drop(locations.remove(place)),
            None => return complain(format!("cannot find location '{text}'")),
        }
        return Vec::new();
    }
    let (path, weight) = match text.rsplit_once(' ') {
        Some((path, weight)) => (path, Err(weight)),
        None => (text, Ok(1)),
    };
    let (weight, answers) = match weight {
        Ok(weight) => (weight, Vec::new()),
        Err(text) => match positive(text) {
            Some(weight) => (weight, Vec::new()),
            None => (1, complain(format!("ignoring invalid weight '{text}'"))),
        },
    };
    if path.is_empty() {
        return complain("no directory name specified");
    }
    if sign.is_none() {
        locations.clear();
    }
    locations.push(Location { path: path.to_owned(), weight });
    answers
}

/// Returns the help for all commands, or for those with this prefix.
fn help(value: Option<&str>) -> String {
    let line = |command: &Command| format!("{} - {}\n", command.name, command.help);
    let wanted = value.unwrap_or_default();
    let found: String = match wanted {
        "" => String::new(),
        _ => COMMANDS.iter().chain(EXTENSIONS).filter(|command| command.name.starts_with(wanted)).map(line).collect(),
    };
    if found.is_empty() { COMMANDS.iter().map(line).collect() } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lines: &[&str]) -> PostmarkSettings {
        let mut language = Language::default();
        for line in lines {
            assert_eq!(language.obey(line), [], "{line}");
        }
        language.settings
    }

    fn complaint(line: &str) -> String {
        match Language::default().obey(line).as_slice() {
            [Answer::Complain(text)] => text.clone(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn numbers_are_read_as_atoi_reads_them() {
        for (text, number) in [
            ("12", 12),
            (" \t+7x", 7),
            ("-3", -3),
            ("x", 0),
            ("", 0),
            ("4294967297", 0),
            ("2147483647", i32::MAX),
            ("+-5", 0),
            ("-2147483648", i32::MIN),
        ] {
            assert_eq!(leading_number(text), number, "{text:?}");
        }
    }

    #[test]
    fn every_setting_can_be_set() {
        let settings = after(&[
            "set size 10 20",
            "set number 3",
            "set seed 9",
            "set transactions 11",
            "set location +A 3",
            "set location +B 2",
            "set subdirectories 4",
            "set read 100",
            "set write 200",
            "set buffering false",
            "set bias read -1",
            "set bias create 10",
            "set report terse",
            "set threads 2",
        ]);
        let location = |path: &str, weight| Location { path: path.to_owned(), weight };
        let expected = PostmarkSettings {
            low: 10,
            high: 20,
            number: 3,
            seed: 9,
            transactions: 11,
            locations: vec![location("A", 3), location("B", 2)],
            subdirectories: 4,
            read_block: 100,
            write_block: 200,
            buffered: false,
            bias_read: -1,
            bias_create: 10,
            report: ReportForm::Terse,
            threads: 2,
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn a_lower_bound_alone_is_both() {
        assert_eq!([after(&["set size 7"]).low, after(&["set size 7"]).high], [7, 7]);
        assert_eq!(after(&["set size 7 3"]).high, 7);
        assert_eq!(after(&["set sizes 5 9"]).high, 5, "the blank before the first number is the first blank");
    }

    #[test]
    fn a_location_without_a_sign_is_the_only_one() {
        let names = |lines: &[&str]| -> Vec<String> {
            after(lines).locations.into_iter().map(|location| location.path).collect()
        };
        assert_eq!(names(&["set location +A 3", "set location +B", "set location C d 2"]), ["C d"]);
        assert_eq!(names(&["set location A", "set location +B", "set location -A"]), ["B"]);
        assert_eq!(complaint("set location -A"), "cannot find location 'A'");
        // PostMark would change to the root directory.
        assert_eq!(complaint("set location "), "no directory name specified");
        let mut language = Language::default();
        assert_eq!(language.obey("set location A x"), complain("ignoring invalid weight 'x'"));
        assert_eq!(language.settings.locations, [Location { path: "A".to_owned(), weight: 1 }]);
    }

    /// PostMark reads invalid text as 0 here, and scripts rely on that.
    #[test]
    fn a_bias_of_no_number_is_zero() {
        assert_eq!(after(&["set bias create x"]).bias_create, 0);
        assert!(complaint("set bias read 11").starts_with("no bias"));
    }

    #[test]
    fn actions_keep_their_order() {
        let orders = |line: &str| Language::default().obey(line);
        assert_eq!(orders("run"), [Answer::Run(None)]);
        assert_eq!(orders("run out.txt"), [Answer::Run(Some("out.txt".to_owned()))]);
        assert_eq!(orders("!ls -l"), [Answer::Shell(Some("ls -l".to_owned()))]);
        assert_eq!(orders("!"), [Answer::Shell(None)]);
        assert_eq!(orders("load f"), [Answer::Load("f".to_owned())]);
        assert_eq!(orders(""), [Answer::Print("Eh?\n".to_owned())]);
        assert_eq!(orders("exit"), [Answer::Print("Eh?\n".to_owned())], "only typed lines have other names");
        assert_eq!(Language::default().obey_typed("exit"), [Answer::Quit]);
        assert_eq!(orders("quitö"), [Answer::Quit]);
        assert_eq!(orders("show ö"), [Answer::Show(Some("ö".to_owned()))]);
    }

    #[test]
    fn a_line_is_the_first_command_that_it_begins_with() {
        assert_eq!(Language::command("set sizes 5 9"), Some("set size"));
        assert_eq!(Language::command("set bias create 3"), Some("set bias create"));
        assert_eq!(Language::command("set -e"), None);
    }

    #[test]
    fn help_takes_the_beginning_of_a_name() {
        assert_eq!(help(Some("set b")).lines().count(), 3);
        assert_eq!(help(Some("nothing")).lines().count(), 17);
        assert!(help(Some("set t")).contains("set threads"));
    }
}
