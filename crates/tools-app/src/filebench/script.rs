//! A script as it is written: commands in order, each with its place.

use super::lex::Place;

/// A value as it is written.
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

/// An attribute; `true` where it has no value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attribute {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) value: Value,
}

/// Attributes of something, whose word stands at `place`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attributes {
    pub(super) place: Place,
    pub(super) all: Vec<Attribute>,
}

impl Attributes {
    /// The last one of a name counts.
    pub(super) fn get(&self, name: &str) -> Option<&Attribute> {
        self.all.iter().rev().find(|attribute| attribute.name == name)
    }
}

/// A local variable of a composite flowop, or what it is bound to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Local {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) value: Option<Value>,
}

/// A flowop of a thread or of a composite flowop.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Flowop {
    /// The type: built in, or the name of a composite flowop.
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

/// What a variable is set to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    Value(Value),
    /// Two values and `+ - * /` between them: the 1.4 style.
    Calculation(Value, char, Value),
    /// `randvar(…)`.
    Random(Attributes, Vec<Row>),
    /// `cvar(…)`.
    Custom(Attributes),
}

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QuitMode {
    /// When its time is over.
    #[default]
    Timeout,
    /// When the first thread is done.
    FirstDone,
    /// When all threads are done.
    AllDone,
}

/// How long to run, and how often to print meanwhile.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct RunCommand {
    /// Seconds.
    pub(super) time: Option<Value>,
    /// Seconds between two snapshots; negative where each begins again from 0.
    pub(super) period: Option<i64>,
}

/// A command with its place.
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
    /// A script that is read in its place: the 1.4 style.
    Load(String),
    /// The commands once for each value: the 1.4 style.
    ForEach {
        name: String,
        values: Vec<Value>,
        commands: Vec<Command>,
    },
    /// It has no effect, for this reason.
    Nothing {
        word: String,
        why: &'static str,
    },
}

/// A piece of what is printed: text, in which variables stand by their names, or a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Text {
    Quoted(String),
    Value(Value),
}
