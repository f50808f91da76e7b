//! Tables of the language: attributes, and types of flowops.

/// An entity with attributes.
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
    /// Returns the name for messages.
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

/// Returns the attributes that an entity may have.
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

/// Aliases of attributes.
const ALSO: [(&str, &str); 3] = [("filename", "filesetname"), ("filesize", "size"), ("rotatefd", "opennext")];

/// Returns the canonical name of an attribute.
pub(super) fn attribute(of: Of, word: &str) -> Option<&'static str> {
    let one = ALSO.iter().find(|(also, _)| *also == word).map_or(word, |(_, name)| name);
    attributes(of).iter().copied().find(|name| *name == one)
}

/// Returns the names of all attributes, for suggestions.
pub(super) fn names(of: Of) -> impl Iterator<Item = &'static str> {
    attributes(of).iter().copied()
}

/// Attributes of files, file sets and threads that have no effect; most are from older versions.
pub(super) const WITHOUT_EFFECT: [&str; 4] = ["fstype", "namelength", "procname", "useism"];

/// Attributes of random variables that have no effect.
pub(super) const RANDOM_WITHOUT_EFFECT: [&str; 2] = ["seed", "randsrc"];

/// How the summary counts a flowop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Counted as a read, a write or another op.
    Io,
    /// Not counted.
    Other,
}

/// Built-in types, in the order of `list flowop`.
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
