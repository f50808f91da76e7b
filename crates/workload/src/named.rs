//! Descriptions of named workloads and uses. Their content is in the crate `workload-text`.

/// The name of the survey of `plumb try`.
pub const SURVEY: &str = "try";

/// A named workload, as it is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkloadTitle {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line for users.
    pub about: &'static str,
}

/// A named workload with the source of each number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line for users.
    pub about: &'static str,
    /// The benchmark that its numbers are not official results of.
    pub banner: Option<&'static str>,
    /// A paragraph each on its official parts, its inferred parts and its deviations.
    pub notes: Vec<String>,
    /// Its settings, in the order of the file.
    pub settings: Vec<ExplainedSetting>,
}

/// A setting and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedSetting {
    /// Name of the target or phase; empty for the whole workload.
    pub part: String,
    /// The setting and its value, as in the file.
    pub setting: String,
    /// Kind of the source.
    pub evidence: Evidence,
    /// The source; empty for a choice of Plumb that needs no words.
    pub source: String,
}

/// Kind of source of a number.
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
    /// Name for users.
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

/// A use that storage may be good enough for, or not.
#[derive(Debug, Clone, Copy)]
pub struct Use {
    /// Name for users.
    pub name: &'static str,
    /// Name of its workload.
    pub load: &'static str,
    /// Limits that must hold.
    pub limits: &'static [PublishedLimit],
    /// Numbers to show, as `PHASE/METRIC`.
    pub numbers: &'static [&'static str],
    /// Reason why there is no limit, or aspects that the limits leave out.
    pub note: &'static str,
}

/// A limit that others have published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedLimit {
    /// The condition, in the words of `plumb run --assert`.
    pub condition: &'static str,
    /// Publisher and publication.
    pub source: &'static str,
}
