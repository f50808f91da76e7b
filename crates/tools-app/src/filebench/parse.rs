//! Parses tokens into commands. The parser accepts the syntax of 1.5-alpha3 and the additional syntax of 1.4.

use super::lex::{Place, Token, TokenKind, words};
use super::script::*;
use super::table::{self, Of};
use super::usage_error::FilebenchUsageError;

/// Nesting limit of command and flowop lists.
const NESTING_MAX: usize = 32;

/// Parses the commands of a script.
///
/// # Errors
/// The first error.
pub(super) fn parse(text: &str) -> Result<Vec<Command>, FilebenchUsageError> {
    let words = words(text)?;
    let end = words.last().map_or(Place { line: 1, column: 1 }, |word| word.place);
    let mut parser = Parser { words, at: 0, end, nesting: 0 };
    let mut commands = Vec::new();
    while parser.peek().is_some() {
        commands.push(parser.command()?);
    }
    Ok(commands)
}

struct Parser {
    words: Vec<Token>,
    at: usize,
    /// Place of the last token.
    end: Place,
    nesting: usize,
}

/// Reason why attributes for several clients have no effect.
const SEVERAL_CLIENTS: &str = "several clients are not supported";

const COMMANDS: &[&str] = &[
    "set",
    "define",
    "create",
    "run",
    "psrun",
    "sleep",
    "echo",
    "system",
    "eventgen",
    "debug",
    "enable",
    "domultisync",
    "list",
    "version",
    "quit",
    "load",
    "usage",
    "help",
    "vars",
    "log",
    "exit",
    "foreach",
    "warmup",
    "stats",
    "shutdown",
    "fscheck",
    "fsflush",
    "nousestats",
    "enable_osprof",
    "disable_osprof",
];

impl Parser {
    fn peek(&self) -> Option<&TokenKind> {
        self.words.get(self.at).map(|word| &word.kind)
    }

    fn place(&self) -> Place {
        self.words.get(self.at).map_or(self.end, |word| word.place)
    }

    fn unexpected<T>(&self, expected: &str) -> Result<T, FilebenchUsageError> {
        Err(match self.words.get(self.at) {
            Some(word) => {
                FilebenchUsageError::at(word.place, format!("expected {expected}, found `{}`", word.kind.text()))
            }
            None => FilebenchUsageError::at(self.end, format!("expected {expected}, found the end of the script")),
        })
    }

    fn is_mark(&self, mark: char) -> bool {
        self.peek() == Some(&TokenKind::Mark(mark))
    }

    fn accept(&mut self, mark: char) -> bool {
        let there = self.is_mark(mark);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, mark: char) -> Result<(), FilebenchUsageError> {
        if self.accept(mark) { Ok(()) } else { self.unexpected(&format!("`{mark}`")) }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Word(found)) if found == word)
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let there = self.is_word(word);
        self.at += usize::from(there);
        there
    }

    fn word(&mut self, expected: &str) -> Result<String, FilebenchUsageError> {
        match self.peek() {
            Some(TokenKind::Word(word)) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => self.unexpected(expected),
        }
    }

    fn variable(&mut self) -> Result<String, FilebenchUsageError> {
        match self.peek() {
            Some(TokenKind::Variable(name)) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => self.unexpected("a variable, such as `$name`"),
        }
    }

    fn integer(&mut self, expected: &str) -> Result<u64, FilebenchUsageError> {
        match self.peek() {
            Some(TokenKind::Integer(number)) => {
                let number = *number;
                self.at += 1;
                Ok(number)
            }
            _ => self.unexpected(expected),
        }
    }

    fn value(&mut self, expected: &str) -> Result<Value, FilebenchUsageError> {
        let place = self.place();
        let kind = match self.peek() {
            Some(TokenKind::Integer(number)) => ValueKind::Integer(*number),
            Some(TokenKind::Word(word)) if word == "true" => ValueKind::Boolean(true),
            Some(TokenKind::Word(word)) if word == "false" => ValueKind::Boolean(false),
            Some(TokenKind::Word(text)) => ValueKind::Text(text.clone()),
            Some(TokenKind::Quoted(text)) => ValueKind::Text(text.replace(super::lex::DOLLAR, "$")),
            Some(TokenKind::Variable(name)) => ValueKind::Variable(name.clone()),
            _ => return self.unexpected(expected),
        };
        self.at += 1;
        Ok(Value { place, kind })
    }

    /// Returns `true` if a number or variable follows. A command starts with a word.
    fn has_number(&self) -> bool {
        matches!(self.peek(), Some(TokenKind::Integer(_) | TokenKind::Variable(_)))
    }

    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Parser) -> Result<T, FilebenchUsageError>,
    ) -> Result<T, FilebenchUsageError> {
        self.nesting += 1;
        if self.nesting > NESTING_MAX {
            return Err(FilebenchUsageError::at(self.place(), "this is nested too deeply")
                .help(format!("use at most {NESTING_MAX} levels")));
        }
        let done = read(self);
        self.nesting -= 1;
        done
    }

    fn command(&mut self) -> Result<Command, FilebenchUsageError> {
        let place = self.place();
        let word = self.word("a command")?;
        let nothing = |word: &str, why| CommandKind::Nothing { word: word.to_owned(), why };
        let kind = match word.as_str() {
            "set" => self.set()?,
            "define" => self.define(place)?,
            "create" => {
                let what = self.word("`files`")?;
                match what.as_str() {
                    "files" | "filesets" | "fileset" => CommandKind::CreateFiles,
                    "processes" => nothing("create processes", "`run` starts them"),
                    _ => {
                        self.at -= 1;
                        return self.unexpected("`files`");
                    }
                }
            }
            "run" => {
                let time = if self.has_number() { Some(self.value("seconds")?) } else { None };
                CommandKind::Run(RunCommand { time, period: None })
            }
            "psrun" => self.psrun()?,
            "sleep" => CommandKind::Sleep(self.value("seconds")?),
            "echo" => CommandKind::Echo(self.texts()?),
            "usage" | "log" => {
                let texts = self.texts()?;
                if word == "log" { CommandKind::Echo(texts) } else { nothing("usage", "Plumb does not print it") }
            }
            "system" => CommandKind::System(self.texts()?),
            "eventgen" => {
                if !self.takes_word("rate") {
                    nothing("eventgen", "it names no rate")
                } else if self.accept('=') {
                    CommandKind::EventRate(self.value("events per second")?)
                } else {
                    CommandKind::EventRate(Value { place, kind: ValueKind::Integer(0) })
                }
            }
            "debug" => CommandKind::Debug(self.integer("a level from 0 to 10")?),
            "enable" => self.enable()?,
            "domultisync" => {
                self.attributes(None)?;
                nothing("domultisync", SEVERAL_CLIENTS)
            }
            "list" => {
                let what = self.word("`fileset` or `flowop`")?;
                match what.as_str() {
                    "fileset" | "filesets" => CommandKind::ListSets,
                    "flowop" | "flowops" => CommandKind::ListFlowops,
                    _ => {
                        self.at -= 1;
                        return self.unexpected("`fileset` or `flowop`");
                    }
                }
            }
            "version" => CommandKind::Version,
            "quit" | "exit" => CommandKind::Quit,
            "load" if self.nesting > 0 => {
                return Err(
                    FilebenchUsageError::at(place, "a loop cannot load a script").help("load it above the loop")
                );
            }
            "load" => CommandKind::Load(self.word("the name of a script")?),
            "foreach" => self.for_each()?,
            "warmup" => {
                self.value("seconds")?;
                nothing("warmup", "all of the run is measured")
            }
            "stats" => {
                let what = self.word("`snap` or `clear`")?;
                if matches!(what.as_str(), "directory" | "command" | "dump" | "xmldump" | "multidump") {
                    self.texts()?;
                }
                nothing("stats", "statistics are printed at the end, and stored")
            }
            "shutdown" => {
                self.takes_word("processes");
                self.takes_word("process");
                nothing("shutdown", "`run` does it")
            }
            "fscheck" | "fsflush" => {
                self.attributes(None)?;
                nothing(&word, "nothing is cached by Plumb")
            }
            "help" | "vars" | "nousestats" | "enable_osprof" | "disable_osprof" => {
                nothing(&word, "there is nothing to do")
            }
            _ => {
                let error = FilebenchUsageError::at(place, format!("unknown command `{word}`"));
                return Err(error.nearest(&word, COMMANDS.iter().copied(), ""));
            }
        };
        Ok(Command { place, kind })
    }

    fn psrun(&mut self) -> Result<CommandKind, FilebenchUsageError> {
        let negative = self.accept('-');
        let period = match self.peek() {
            Some(TokenKind::Integer(number)) => match i64::try_from(*number) {
                Ok(period) => Some(period),
                Err(_) => return self.unexpected("fewer seconds between two snapshots"),
            },
            // A minus right before its number is part of the word.
            Some(TokenKind::Word(word)) => word.strip_prefix('-').and_then(|word| word.parse().ok()).map(|n: i64| -n),
            _ => None,
        };
        self.at += usize::from(period.is_some());
        let period = period.map_or(10, |period| if negative { -period } else { period });
        let time = if self.has_number() { Some(self.value("seconds")?) } else { None };
        Ok(CommandKind::Run(RunCommand { time, period: Some(period) }))
    }

    fn texts(&mut self) -> Result<Vec<Text>, FilebenchUsageError> {
        let mut texts = Vec::new();
        loop {
            match self.peek() {
                Some(TokenKind::Quoted(text)) => {
                    texts.push(Text::Quoted(text.clone()));
                    self.at += 1;
                }
                Some(TokenKind::Variable(_)) => texts.push(Text::Value(self.value("a text")?)),
                _ if texts.is_empty() => return self.unexpected("a text in quotes"),
                _ => return Ok(texts),
            }
            self.accept(',');
        }
    }

    fn enable(&mut self) -> Result<CommandKind, FilebenchUsageError> {
        let what = self.word("`lathist` or `multi`")?;
        match what.as_str() {
            "lathist" => Ok(CommandKind::Histograms),
            "multi" => {
                self.attributes(None)?;
                Ok(CommandKind::Nothing { word: "enable multi".to_owned(), why: SEVERAL_CLIENTS })
            }
            _ => {
                self.at -= 1;
                self.unexpected("`lathist` or `multi`")
            }
        }
    }

    fn set(&mut self) -> Result<CommandKind, FilebenchUsageError> {
        if self.takes_word("mode") {
            return self.mode();
        }
        let name = self.variable()?;
        self.expect('=')?;
        if let Some((name, part)) = name.split_once('.') {
            let value = self.value("a value")?;
            return Ok(CommandKind::SetPart { name: name.to_owned(), part: part.to_owned(), value });
        }
        let place = self.place();
        let to = if self.takes_word("randvar") {
            self.expect('(')?;
            let (attributes, rows) = self.random(place)?;
            self.expect(')')?;
            Expression::Random(attributes, rows)
        } else if self.takes_word("cvar") {
            self.expect('(')?;
            let attributes = Attributes { place, all: self.attributes(Some(Of::Custom))? };
            self.expect(')')?;
            Expression::Custom(attributes)
        } else {
            let first = self.value("a value")?;
            match self.peek() {
                Some(&TokenKind::Mark(mark @ ('+' | '-' | '*' | '/'))) => {
                    self.at += 1;
                    Expression::Calculation(first, mark, self.value("a value")?)
                }
                _ => Expression::Value(first),
            }
        };
        Ok(CommandKind::Set { name, to })
    }

    fn mode(&mut self) -> Result<CommandKind, FilebenchUsageError> {
        if self.takes_word("nousestats") {
            return Ok(CommandKind::Nothing { word: "set mode nousestats".to_owned(), why: "there is nothing to do" });
        }
        if !self.takes_word("quit") {
            return self.unexpected("`quit` or `nousestats`");
        }
        let mode = match self.peek() {
            Some(TokenKind::Word(word)) if word == "timeout" => QuitMode::Timeout,
            Some(TokenKind::Word(word)) if word == "firstdone" => QuitMode::FirstDone,
            Some(TokenKind::Word(word)) if word == "alldone" => QuitMode::AllDone,
            _ => return self.unexpected("`timeout`, `firstdone` or `alldone`"),
        };
        self.at += 1;
        Ok(CommandKind::SetMode(mode))
    }

    fn define(&mut self, place: Place) -> Result<CommandKind, FilebenchUsageError> {
        let what = self.word("`fileset`, `file`, `process`, `flowop`, `posset` or `randvar`")?;
        match what.as_str() {
            "file" | "fileset" => {
                let single = what == "file";
                let all = self.attributes(Some(if single { Of::File } else { Of::FileSet }))?;
                Ok(CommandKind::FileSet { attributes: Attributes { place, all }, single })
            }
            "process" | "processes" => {
                let all = self.attributes(Some(Of::Process))?;
                self.expect('{')?;
                let mut threads = Vec::new();
                while !self.accept('}') {
                    threads.push(self.thread()?);
                }
                Ok(CommandKind::Process { attributes: Attributes { place, all }, threads })
            }
            "flowop" => {
                let (all, locals) = self.attributes_and_locals(Of::Composite)?;
                let flowops = self.flowops()?;
                Ok(CommandKind::Composite { attributes: Attributes { place, all }, locals, flowops })
            }
            // The 1.4 style of `set $x=randvar(…)`.
            "randvar" => {
                let (attributes, rows) = self.random(place)?;
                let name = match attributes.get("name").map(|attribute| &attribute.value.kind) {
                    Some(ValueKind::Variable(name)) => name.clone(),
                    _ => {
                        return Err(
                            FilebenchUsageError::at(place, "the random variable has no name").help("add `name=$x`")
                        );
                    }
                };
                Ok(CommandKind::Set { name, to: Expression::Random(attributes, rows) })
            }
            "posset" => {
                let all = self.attributes(Some(Of::Positions))?;
                Ok(CommandKind::Positions(Attributes { place, all }))
            }
            _ => {
                self.at -= 1;
                self.unexpected("`fileset`, `file`, `process`, `flowop`, `posset` or `randvar`")
            }
        }
    }

    fn thread(&mut self) -> Result<Thread, FilebenchUsageError> {
        let place = self.place();
        if !self.takes_word("thread") {
            return self.unexpected("`thread` or `}`");
        }
        let all = self.attributes(Some(Of::Thread))?;
        Ok(Thread { attributes: Attributes { place, all }, flowops: self.flowops()? })
    }

    fn flowops(&mut self) -> Result<Vec<Flowop>, FilebenchUsageError> {
        self.expect('{')?;
        let mut flowops = Vec::new();
        while !self.accept('}') {
            let place = self.place();
            if !self.takes_word("flowop") {
                return self.unexpected("`flowop` or `}`");
            }
            let kind = self.word("the type of a flowop")?;
            let (all, locals) = self.attributes_and_locals(Of::Flowop)?;
            flowops.push(Flowop { kind, attributes: Attributes { place, all }, locals });
        }
        Ok(flowops)
    }

    fn for_each(&mut self) -> Result<CommandKind, FilebenchUsageError> {
        let name = self.variable()?;
        if !self.takes_word("in") {
            return self.unexpected("`in`");
        }
        let mut values = vec![self.value("a value")?];
        while self.accept(',') {
            values.push(self.value("a value")?);
        }
        self.expect('{')?;
        let commands = self.nested(|parser| {
            let mut commands = Vec::new();
            while !parser.accept('}') {
                commands.push(parser.command()?);
            }
            Ok(commands)
        })?;
        Ok(CommandKind::ForEach { name, values, commands })
    }

    fn random(&mut self, place: Place) -> Result<(Attributes, Vec<Row>), FilebenchUsageError> {
        let (mut all, mut rows) = (Vec::new(), Vec::new());
        loop {
            if self.takes_word("randtable") {
                self.expect('=')?;
                self.expect('{')?;
                rows.push(self.row()?);
                while self.accept(',') {
                    rows.push(self.row()?);
                }
                self.expect('}')?;
            } else {
                all.push(self.attribute(Some(Of::Random))?);
            }
            if !self.accept(',') {
                return Ok((Attributes { place, all }, rows));
            }
        }
    }

    fn row(&mut self) -> Result<Row, FilebenchUsageError> {
        let place = self.place();
        self.expect('{')?;
        let percent = self.value("a percentage")?;
        self.expect(',')?;
        let low = self.value("a number")?;
        self.expect(',')?;
        let high = self.value("a number")?;
        self.expect('}')?;
        Ok(Row { place, cells: [percent, low, high] })
    }

    fn attributes(&mut self, of: Option<Of>) -> Result<Vec<Attribute>, FilebenchUsageError> {
        let mut all = Vec::new();
        let begins = |parser: &Parser| match parser.peek() {
            Some(TokenKind::Word(word)) => of.is_some() || !COMMANDS.contains(&word.as_str()),
            _ => false,
        };
        if !begins(self) {
            return Ok(all);
        }
        loop {
            all.push(self.attribute(of)?);
            if !self.accept(',') {
                return Ok(all);
            }
        }
    }

    fn attributes_and_locals(&mut self, of: Of) -> Result<(Vec<Attribute>, Vec<Local>), FilebenchUsageError> {
        let (mut all, mut locals) = (Vec::new(), Vec::new());
        loop {
            let place = self.place();
            if let Some(TokenKind::Variable(_)) = self.peek() {
                let name = self.variable()?;
                let value = if self.accept('=') { Some(self.value("a value")?) } else { None };
                locals.push(Local { place, name, value });
            } else {
                all.push(self.attribute(Some(of))?);
            }
            if !self.accept(',') {
                return Ok((all, locals));
            }
        }
    }

    /// Parses an attribute that the entity knows.
    fn attribute(&mut self, of: Option<Of>) -> Result<Attribute, FilebenchUsageError> {
        let place = self.place();
        let word = self.word("an attribute")?;
        let name = match of {
            None => word,
            Some(of) => match table::attribute(of, &word) {
                Some(name) => name.to_owned(),
                None => {
                    let error = FilebenchUsageError::at(place, format!("unknown attribute `{word}` of {}", of.text()));
                    return Err(error.nearest(&word, table::names(of), ""));
                }
            },
        };
        let value =
            if self.accept('=') { self.value("a value")? } else { Value { place, kind: ValueKind::Boolean(true) } };
        Ok(Attribute { place, name, value })
    }
}
