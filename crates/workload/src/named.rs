//! What users read about workloads and uses that have names. The names and the texts are in the crate `workload-text`.

/// The name of the survey of `plumb try`.
pub const SURVEY: &str = "try";

/// A named workload, as it is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkloadTitle {
    /// What users type.
    pub name: &'static str,
    /// One line for users.
    pub about: &'static str,
}

/// A named workload with the source of each number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// What users type.
    pub name: &'static str,
    /// One line for users.
    pub about: &'static str,
    /// Of what its numbers are no official result.
    pub banner: Option<&'static str>,
    /// What is official, what is inferred, what deviates: a paragraph each.
    pub notes: Vec<String>,
    /// Its settings, in the order of the file.
    pub settings: Vec<ExplainedSetting>,
}

/// A setting and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedSetting {
    /// Of which target or phase; empty for the whole workload.
    pub part: String,
    /// The setting and its value, as in the file.
    pub setting: String,
    /// What it rests on.
    pub evidence: Evidence,
    /// The source; empty for a choice of Plumb that needs no words.
    pub source: String,
}

/// What a number rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// The owner's official text.
    Official,
    /// Public code or configuration.
    Code,
    /// A paper.
    Paper,
    /// A vendor's or journal's page.
    Vendor,
    /// Computed from others.
    Inferred,
    /// Known from memory, and not verified.
    Memory,
    /// Plumb's own choice.
    Own,
}

impl Evidence {
    /// As printed.
    pub const fn name(self) -> &'static str {
        match self {
            Evidence::Official => "official text",
            Evidence::Code => "public code",
            Evidence::Paper => "paper",
            Evidence::Vendor => "vendor's page",
            Evidence::Inferred => "inferred",
            Evidence::Memory => "not verified",
            Evidence::Own => "Plumb's choice",
        }
    }
}

/// Something that storage is to be good enough for.
#[derive(Debug, Clone, Copy)]
pub struct Use {
    /// What users type.
    pub name: &'static str,
    /// The name of its load.
    pub load: &'static str,
    /// Limits that must hold.
    pub limits: &'static [PublishedLimit],
    /// Numbers that are shown, as `PHASE/METRIC`.
    pub numbers: &'static [&'static str],
    /// Why there is no limit, or what the limits leave out.
    pub note: &'static str,
}

/// A limit that others have published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedLimit {
    /// The condition, in the words of `plumb run --assert`.
    pub condition: &'static str,
    /// Who published it, and where.
    pub source: &'static str,
}
