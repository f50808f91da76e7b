//! The syntax tree of a script: commands in order, each with its place.

use super::lex::Place;

/// A value as written in the script.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value {
    pub(super) place: Place,
    pub(super) kind: ValueKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ValueKind {
    Integer(u64),
    Boolean(bool),
    Text(String),
    Variable(String),
}

/// An attribute. Without a value, it is `true`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attribute {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) value: Value,
}

/// Attributes of an entity. `place` is the place of its keyword.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attributes {
    pub(super) place: Place,
    pub(super) all: Vec<Attribute>,
}

impl Attributes {
    /// Returns the attribute. The last one of a name counts.
    pub(super) fn get(&self, name: &str) -> Option<&Attribute> {
        self.all.iter().rev().find(|attribute| attribute.name == name)
    }
}

/// A local variable of a composite flowop, or its binding.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Local {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) value: Option<Value>,
}

/// A flowop of a thread or of a composite flowop.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Flowop {
    /// Type: built in, or the name of a composite flowop.
    pub(super) kind: String,
    pub(super) attributes: Attributes,
    pub(super) locals: Vec<Local>,
}

/// A thread of a process.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Thread {
    pub(super) attributes: Attributes,
    pub(super) flowops: Vec<Flowop>,
}

/// A row of a table: percent, smallest, largest.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) place: Place,
    pub(super) cells: [Value; 3],
}

/// The new value of a variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    Value(Value),
    /// Two values with `+ - * /` between them: the 1.4 style.
    Calculation(Value, char, Value),
    Random(Attributes, Vec<Row>),
    Custom(Attributes),
}

/// Condition that ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QuitMode {
    /// The run time is over.
    #[default]
    Timeout,
    /// The first thread is done.
    FirstDone,
    AllDone,
}

/// Run time, and interval between snapshots.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct RunCommand {
    /// Run time, seconds.
    pub(super) time: Option<Value>,
    /// Seconds between two snapshots. Negative: each snapshot starts again from 0.
    pub(super) period: Option<i64>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Command {
    pub(super) place: Place,
    pub(super) kind: CommandKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum CommandKind {
    Set {
        name: String,
        to: Expression,
    },
    SetMode(QuitMode),
    /// `set $x.mean = 5`: the 1.4 style.
    SetPart {
        name: String,
        part: String,
        value: Value,
    },
    FileSet {
        attributes: Attributes,
        single: bool,
    },
    Process {
        attributes: Attributes,
        threads: Vec<Thread>,
    },
    Composite {
        attributes: Attributes,
        locals: Vec<Local>,
        flowops: Vec<Flowop>,
    },
    /// `define posset`: the 1.4 style.
    Positions(Attributes),
    CreateFiles,
    Run(RunCommand),
    Sleep(Value),
    Echo(Vec<Text>),
    System(Vec<Text>),
    EventRate(Value),
    Debug(u64),
    Histograms,
    ListSets,
    ListFlowops,
    Version,
    Quit,
    /// Includes a script: the 1.4 style.
    Load(String),
    /// Repeats the commands for each value: the 1.4 style.
    ForEach {
        name: String,
        values: Vec<Value>,
        commands: Vec<Command>,
    },
    /// Has no effect, for this reason.
    Nothing {
        word: String,
        why: &'static str,
    },
}

/// A part of a printed text: quoted text, which may name variables, or a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Text {
    Quoted(String),
    Value(Value),
}
