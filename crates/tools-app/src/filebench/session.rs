//! Executes the commands of a script, one after another, up to its run.

use super::lex::{Place, TokenKind, words};
use super::lower::{Plan, lower};
use super::parse::parse;
use super::positions;
use super::script::*;
use super::table::{FLOWOPS, RANDOM_WITHOUT_EFFECT};
use super::usage_error::FilebenchUsageError;
use super::variables::{Held, Locals, Piece, Variables, pieces};
use plumb_tools::FileError;
use plumb_workload::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

/// Reads a script by its path.
pub type ReadScript<'a> = dyn FnMut(&str) -> Result<String, FileError> + 'a;

/// Limit of scripts that load each other.
const LOADED_MAX: usize = 64;

/// Limit of loop values, over all loops.
const LOOPED_MAX: usize = 10_000;

/// A definition, with the script that contains it.
#[derive(Debug, Clone)]
pub(super) struct Defined<T> {
    pub(super) file: Rc<str>,
    pub(super) it: T,
}

#[derive(Debug, Clone)]
pub(super) struct SetDefinition {
    pub(super) attributes: Attributes,
    pub(super) single: bool,
}

#[derive(Debug, Clone)]
pub(super) struct ProcessDefinition {
    pub(super) attributes: Attributes,
    pub(super) threads: Vec<Thread>,
}

#[derive(Debug, Clone)]
pub(super) struct CompositeDefinition {
    pub(super) attributes: Attributes,
    pub(super) locals: Vec<Local>,
    pub(super) flowops: Vec<Flowop>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Definitions {
    pub(super) variables: Variables,
    pub(super) sets: Vec<Defined<SetDefinition>>,
    pub(super) processes: Vec<Defined<ProcessDefinition>>,
    pub(super) composites: Vec<Defined<CompositeDefinition>>,
    pub(super) mode: QuitMode,
    pub(super) histograms: bool,
    pub(super) rate: Option<Value>,
    /// Sets of positions by name, in bytes.
    pub(super) positions: BTreeMap<String, Vec<Bytes>>,
}

/// A command's request to the caller.
#[derive(Debug, Clone)]
pub enum Answer {
    Print(String),
    /// Report a command without effect.
    Remark(FilebenchUsageError),
    System {
        line: String,
        /// Place of the command, for messages.
        at: FilebenchUsageError,
    },
    Sleep(u64),
    Run(Box<Plan>),
    /// The script ended without a run.
    End,
}

/// A script that is being executed.
pub struct Session {
    waiting: VecDeque<(Rc<str>, Command)>,
    definitions: Definitions,
    loaded: usize,
    looped: usize,
    /// Duration of the run that is added if the script has none, s.
    run_s: Option<u64>,
}

impl Session {
    /// Parses a script.
    ///
    /// # Errors
    /// The script is invalid, or it has no variable that the command line sets. No command was executed
    /// then.
    pub fn new(
        file: &str,
        text: &str,
        settings: &[(String, String)],
        run_s: Option<u64>,
        read: &mut ReadScript<'_>,
    ) -> Result<Session, FilebenchUsageError> {
        let mut session =
            Session { waiting: VecDeque::new(), definitions: Definitions::default(), loaded: 0, looped: 0, run_s };
        session.load(file, text, read)?;
        for (name, value) in settings {
            let name = name.strip_prefix('$').unwrap_or(name);
            session.definitions.variables.fix(name, held(name, value)?);
        }
        session.refuse_unknown(file)?;
        Ok(session)
    }

    /// Puts the commands of a script in front of the waiting ones.
    fn load(&mut self, file: &str, text: &str, read: &mut ReadScript<'_>) -> Result<(), FilebenchUsageError> {
        self.loaded += 1;
        if self.loaded > LOADED_MAX {
            return Err(FilebenchUsageError::without_place("the scripts load each other endlessly").of_file(file));
        }
        let name: Rc<str> = file.into();
        let commands = parse(text).map_err(|error| error.of_file(file))?;
        let mut all = Vec::new();
        for command in commands {
            match &command.kind {
                CommandKind::Load(script) => {
                    let near = std::path::Path::new(file).with_file_name(format!("{script}.f"));
                    let path = near.to_string_lossy().into_owned();
                    let text = read(&path).map_err(|error| {
                        FilebenchUsageError::at(command.place, format!("cannot load `{script}`: {error}")).of_file(file)
                    })?;
                    let mut inner = Session { waiting: VecDeque::new(), definitions: Definitions::default(), ..*self };
                    inner.load(&path, &text, read)?;
                    self.loaded = inner.loaded;
                    all.extend(inner.waiting);
                }
                _ => all.push((Rc::clone(&name), command)),
            }
        }
        for command in all.into_iter().rev() {
            self.waiting.push_front(command);
        }
        Ok(())
    }

    /// Rejects variables of the command line that the script neither sets nor uses. They are probably misspelt.
    fn refuse_unknown(&self, file: &str) -> Result<(), FilebenchUsageError> {
        let mut known = BTreeSet::new();
        for (_, command) in &self.waiting {
            names_in(&command.kind, &mut known);
        }
        for name in self.definitions.variables.fixed_names() {
            if !known.contains(name) {
                let all = known.iter().copied().collect::<Vec<_>>().join(", ");
                let otherwise = if all.is_empty() { "it has none".to_owned() } else { format!("it has {all}") };
                let error =
                    FilebenchUsageError::without_place(format!("--set {name}: {file} has no variable `${name}`"));
                return Err(error.nearest(name, known.iter().copied(), &otherwise));
            }
        }
        Ok(())
    }

    /// Executes commands up to the next one with a request. Returns [`Answer::End`] after the last one.
    ///
    /// # Errors
    /// A command is invalid.
    pub fn answer(&mut self) -> Result<Answer, FilebenchUsageError> {
        while let Some((file, command)) = self.waiting.pop_front() {
            let place = command.place;
            if let Some(answer) = self.obey(&file, command).map_err(|error| {
                let error =
                    if error.place.is_none() { FilebenchUsageError { place: Some(place), ..error } } else { error };
                error.of_file(&file)
            })? {
                return Ok(match answer {
                    Answer::Remark(remark) => Answer::Remark(remark.of_file(&file)),
                    answer => answer,
                });
            }
        }
        match self.run_s.take() {
            Some(seconds) if !self.definitions.processes.is_empty() => {
                lower(&self.definitions, Some(seconds), None).map(|plan| Answer::Run(Box::new(plan)))
            }
            _ => Ok(Answer::End),
        }
    }

    fn obey(&mut self, file: &Rc<str>, command: Command) -> Result<Option<Answer>, FilebenchUsageError> {
        let Command { place, kind } = command;
        let variables = &mut self.definitions.variables;
        let none = Locals::new();
        match kind {
            CommandKind::Set { name, to } => {
                if let Expression::Random(attributes, _) = &to {
                    for Attribute { place, name, .. } in attributes.all.iter().rev() {
                        if RANDOM_WITHOUT_EFFECT.contains(&name.as_str()) {
                            let kind = CommandKind::Nothing { word: name.clone(), why: OWN_NUMBERS };
                            self.waiting.push_front((Rc::clone(file), Command { place: *place, kind }));
                        }
                    }
                }
                let held = variables.evaluated(to)?;
                variables.set(&name, held);
            }
            CommandKind::SetPart { name, part, value } => {
                let place = value.place;
                variables.set_part(&name, &part, value)?;
                let is_idle = RANDOM_WITHOUT_EFFECT.contains(&part.as_str());
                return Ok(is_idle.then(|| remark(place, &part, OWN_NUMBERS)));
            }
            CommandKind::SetMode(mode) => self.definitions.mode = mode,
            CommandKind::FileSet { attributes, single } => {
                self.definitions.sets.push(Defined { file: Rc::clone(file), it: SetDefinition { attributes, single } })
            }
            CommandKind::Process { attributes, threads } => self
                .definitions
                .processes
                .push(Defined { file: Rc::clone(file), it: ProcessDefinition { attributes, threads } }),
            CommandKind::Composite { attributes, locals, flowops } => self
                .definitions
                .composites
                .push(Defined { file: Rc::clone(file), it: CompositeDefinition { attributes, locals, flowops } }),
            CommandKind::Positions(attributes) => {
                let (name, drawn) = positions::draw(&attributes, variables)?;
                self.definitions.positions.insert(name, drawn);
            }
            // The run creates all files.
            CommandKind::CreateFiles => {}
            CommandKind::Debug(level) => {
                return Ok((level > 0).then(|| remark(place, "debug", "Plumb's own messages go to standard error")));
            }
            CommandKind::Histograms => {
                self.definitions.histograms = true;
                return Ok(Some(Answer::Print("Latency histogram enabled".to_owned())));
            }
            CommandKind::EventRate(value) => self.definitions.rate = Some(value),
            CommandKind::Sleep(value) => return Ok(Some(Answer::Sleep(variables.integer(&value, &none)?))),
            CommandKind::Echo(texts) => return Ok(Some(Answer::Print(variables.written(&texts)))),
            CommandKind::System(texts) => {
                let at = FilebenchUsageError::at(place, "").of_file(file);
                return Ok(Some(Answer::System { line: variables.written(&texts), at }));
            }
            CommandKind::ListSets => return self.listed_sets().map(Some),
            CommandKind::ListFlowops => {
                let names = FLOWOPS.iter().map(|(name, _)| format!("flowop-list {name}-0"));
                return Ok(Some(Answer::Print(names.collect::<Vec<_>>().join("\n"))));
            }
            CommandKind::Version => {
                return Ok(Some(Answer::Print(format!("Filebench Version: {}", super::VERSION))));
            }
            CommandKind::Quit => {
                self.run_s = None;
                self.waiting.clear();
            }
            CommandKind::Run(RunCommand { time, period }) => {
                let time = time.map(|time| variables.integer(&time, &none)).transpose()?;
                // Commands after the run are ignored.
                self.waiting.clear();
                let time = self.run_s.take().or(time);
                return lower(&self.definitions, time, period).map(|plan| Some(Answer::Run(Box::new(plan))));
            }
            // The script was loaded before the first command.
            CommandKind::Load(_) => {}
            CommandKind::ForEach { name, values, commands } => {
                self.looped = self.looped.saturating_add(values.len());
                if self.looped > LOOPED_MAX {
                    return Err(FilebenchUsageError::at(place, "the loops are too long"));
                }
                for value in values.into_iter().rev() {
                    let set = CommandKind::Set { name: name.clone(), to: Expression::Value(value) };
                    for command in commands.iter().rev() {
                        self.waiting.push_front((Rc::clone(file), command.clone()));
                    }
                    self.waiting.push_front((Rc::clone(file), Command { place, kind: set }));
                }
            }
            CommandKind::Nothing { word, why } => return Ok(Some(remark(place, &word, why))),
        }
        Ok(None)
    }

    fn listed_sets(&self) -> Result<Answer, FilebenchUsageError> {
        let mut text = format!("{:<30}{:>10}{:>12}{:>10}", "File or Fileset name", "file size", "dir width", "entries");
        for Defined { file, it } in &self.definitions.sets {
            let variables = &self.definitions.variables;
            let number = |name: &str| {
                let value = it.attributes.get(name).map(|attribute| &attribute.value);
                value.map_or(Ok(0), |value| variables.integer(value, &Locals::new()))
            };
            let words = |name: &str| {
                let value = it.attributes.get(name).map(|attribute| &attribute.value);
                value.map_or(Ok(String::new()), |value| variables.text(value, &Locals::new()))
            };
            let line = || -> Result<String, FilebenchUsageError> {
                Ok(format!(
                    "\n{}/{:<20}{:>10}{:>12}{:>10}",
                    words("path")?,
                    words("name")?,
                    number("size")?,
                    number("dirwidth")?,
                    number("entries")?
                ))
            };
            text.push_str(&line().map_err(|error| error.of_file(file))?);
        }
        Ok(Answer::Print(text))
    }
}

/// Reason why attributes for random numbers have no effect.
const OWN_NUMBERS: &str = "each thread draws its own numbers, the same ones in each run";

fn remark(place: Place, word: &str, why: &str) -> Answer {
    Answer::Remark(FilebenchUsageError::at(place, format!("`{word}` has no effect: {why}")))
}

/// Parses the value of `--set NAME=VALUE`.
fn held(name: &str, text: &str) -> Result<Held, FilebenchUsageError> {
    let invalid = || {
        FilebenchUsageError::without_place(format!("--set {name}={text}: this is not a value"))
            .help("use a number such as 50000 or 16k, `true`, `false` or a text")
    };
    let tokens = words(text);
    let single = match tokens.as_deref() {
        Ok([token]) => Some(&token.kind),
        _ => None,
    };
    match single {
        Some(TokenKind::Integer(number)) => Ok(Held::Integer(*number)),
        Some(TokenKind::Word(word)) if word == "true" => Ok(Held::Boolean(true)),
        Some(TokenKind::Word(word)) if word == "false" => Ok(Held::Boolean(false)),
        Some(TokenKind::Mark(_) | TokenKind::Variable(_)) => Err(invalid()),
        // The shell has removed the quotes of a path with blanks.
        _ if text.is_empty() || text.contains(['"', '\n']) => Err(invalid()),
        _ => Ok(Held::Text(text.to_owned())),
    }
}

/// Collects the variables that a command sets or uses.
fn names_in<'a>(kind: &'a CommandKind, to: &mut BTreeSet<&'a str>) {
    fn value<'a>(value: &'a Value, to: &mut BTreeSet<&'a str>) {
        if let ValueKind::Variable(name) = &value.kind {
            to.insert(name);
        }
    }
    fn attributes<'a>(all: &'a Attributes, to: &mut BTreeSet<&'a str>) {
        all.all.iter().for_each(|attribute| value(&attribute.value, to));
    }
    fn locals<'a>(all: &'a [Local], to: &mut BTreeSet<&'a str>) {
        all.iter().flat_map(|local| &local.value).for_each(|local| value(local, to));
    }
    fn flowops<'a>(all: &'a [Flowop], to: &mut BTreeSet<&'a str>) {
        for flowop in all {
            attributes(&flowop.attributes, to);
            locals(&flowop.locals, to);
        }
    }
    fn texts<'a>(all: &'a [Text], to: &mut BTreeSet<&'a str>) {
        for text in all {
            match text {
                Text::Value(one) => value(one, to),
                Text::Quoted(text) => to.extend(pieces(text).into_iter().filter_map(|piece| match piece {
                    Piece::Variable(name) => Some(name),
                    Piece::Plain(_) => None,
                })),
            }
        }
    }
    match kind {
        CommandKind::Set { name, to: expression } => {
            to.insert(name);
            match expression {
                Expression::Value(one) => value(one, to),
                Expression::Calculation(first, _, second) => [first, second].into_iter().for_each(|one| value(one, to)),
                Expression::Random(all, rows) => {
                    attributes(all, to);
                    rows.iter().flat_map(|row| &row.cells).for_each(|cell| value(cell, to));
                }
                Expression::Custom(all) => attributes(all, to),
            }
        }
        CommandKind::SetPart { name, value: part, .. } => {
            to.insert(name);
            value(part, to);
        }
        CommandKind::FileSet { attributes: all, .. } | CommandKind::Positions(all) => attributes(all, to),
        CommandKind::Process { attributes: all, threads } => {
            attributes(all, to);
            for thread in threads {
                attributes(&thread.attributes, to);
                flowops(&thread.flowops, to);
            }
        }
        CommandKind::Composite { attributes: own, locals: defaults, flowops: all } => {
            let mut inside = BTreeSet::new();
            flowops(all, &mut inside);
            attributes(own, &mut inside);
            // In the composite, local variables hide those of the script.
            defaults.iter().for_each(|local| _ = inside.remove(local.name.as_str()));
            locals(defaults, to);
            to.extend(inside);
        }
        CommandKind::Run(run) => run.time.iter().for_each(|time| value(time, to)),
        CommandKind::Sleep(one) | CommandKind::EventRate(one) => value(one, to),
        CommandKind::Echo(all) | CommandKind::System(all) => texts(all, to),
        CommandKind::ForEach { name, values, commands } => {
            to.insert(name);
            values.iter().for_each(|one| value(one, to));
            commands.iter().for_each(|command| names_in(&command.kind, to));
        }
        _ => {}
    }
}
