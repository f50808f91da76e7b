//! The tables of the language: attributes, and types of flowops.

/// What an attribute is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    File,
    FileSet,
    Process,
    Thread,
    Flowop,
    Composite,
    Random,
    Custom,
    Positions,
}

impl Of {
    /// In words.
    pub(super) fn text(self) -> &'static str {
        match self {
            Of::File => "a file",
            Of::FileSet => "a file set",
            Of::Process => "a process",
            Of::Thread => "a thread",
            Of::Flowop => "a flowop",
            Of::Composite => "a composite flowop",
            Of::Random => "a random variable",
            Of::Custom => "a custom variable",
            Of::Positions => "a set of positions",
        }
    }
}

/// The attributes of each.
const fn attributes(of: Of) -> &'static [&'static str] {
    match of {
        Of::File => &[
            "name",
            "path",
            "size",
            "prealloc",
            "paralloc",
            "reuse",
            "trusttree",
            "readonly",
            "writeonly",
            "cached",
            "fstype",
            "namelength",
        ],
        Of::FileSet => &[
            "name",
            "path",
            "size",
            "entries",
            "prealloc",
            "paralloc",
            "reuse",
            "trusttree",
            "readonly",
            "writeonly",
            "dirwidth",
            "dirdepthrv",
            "dirgamma",
            "leafdirs",
            "cached",
            "filesizegamma",
            "fstype",
            "namelength",
        ],
        Of::Process => &["name", "instances", "nice"],
        Of::Thread => &["name", "instances", "memsize", "useism", "ioprio", "procname"],
        Of::Flowop => &[
            "name",
            "filesetname",
            "fd",
            "srcfd",
            "opennext",
            "iosize",
            "workingset",
            "random",
            "dsync",
            "directio",
            "noreadahead",
            "iters",
            "value",
            "target",
            "blocking",
            "highwater",
            "indexed",
            "possetname",
        ],
        Of::Composite => &["name", "iters"],
        Of::Random => &["name", "type", "seed", "gamma", "mean", "min", "round", "randsrc"],
        Of::Custom => &["type", "parameters", "min", "max", "round"],
        Of::Positions => &["name", "type", "seed", "max", "entries"],
    }
}

/// Names for the same.
const ALSO: [(&str, &str); 3] = [("filename", "filesetname"), ("filesize", "size"), ("rotatefd", "opennext")];

/// The one name of an attribute.
pub(super) fn attribute(of: Of, word: &str) -> Option<&'static str> {
    let one = ALSO.iter().find(|(also, _)| *also == word).map_or(word, |(_, name)| name);
    attributes(of).iter().copied().find(|name| *name == one)
}

/// The names of all attributes, for suggestions.
pub(super) fn names(of: Of) -> impl Iterator<Item = &'static str> {
    attributes(of).iter().copied()
}

/// Attributes of files, file sets and threads that have no effect; most are of older versions.
pub(super) const WITHOUT_EFFECT: [&str; 4] = ["fstype", "namelength", "procname", "useism"];

/// Attributes of random variables that have no effect.
pub(super) const RANDOM_WITHOUT_EFFECT: [&str; 2] = ["seed", "randsrc"];

/// What a flowop counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// It is in the summary, as a read, a write or neither.
    Io,
    /// It is not.
    Other,
}

/// The types that are built in, in the order in which `list flowop` names them.
pub(super) const FLOWOPS: [(&str, Class); 32] = [
    ("aiowait", Class::Io),
    ("aiowrite", Class::Io),
    ("testrandvar", Class::Other),
    ("print", Class::Other),
    ("writewholefile", Class::Io),
    ("deletefile", Class::Io),
    ("appendfilerand", Class::Io),
    ("appendfile", Class::Io),
    ("readwholefile", Class::Io),
    ("statfile", Class::Io),
    ("fsyncset", Class::Io),
    ("fsync", Class::Io),
    ("listdir", Class::Io),
    ("removedir", Class::Io),
    ("makedir", Class::Io),
    ("closefile", Class::Io),
    ("createfile", Class::Io),
    ("openfile", Class::Io),
    ("finishonbytes", Class::Other),
    ("finishoncount", Class::Other),
    ("opslimit", Class::Other),
    ("iopslimit", Class::Other),
    ("bwlimit", Class::Other),
    ("eventlimit", Class::Other),
    ("delay", Class::Other),
    ("hog", Class::Other),
    ("sempost", Class::Other),
    ("semblock", Class::Other),
    ("wakeup", Class::Other),
    ("block", Class::Other),
    ("read", Class::Io),
    ("write", Class::Io),
];
