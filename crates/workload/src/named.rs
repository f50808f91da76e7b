//! Descriptions of named workloads and uses. Their content is in the crate `workload-text`.

/// Name of the survey that `plumb try` runs.
pub const SURVEY: &str = "try";

/// Name and summary of a named workload, for lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkloadTitle {
    /// Name on the command line.
    pub name: &'static str,
    pub about: &'static str,
}

/// A named workload with the source of each number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Name on the command line.
    pub name: &'static str,
    pub about: &'static str,
    /// Benchmark of which these numbers are not official results.
    pub banner: Option<&'static str>,
    /// One paragraph each on the official parts, the inferred parts and the deviations.
    pub notes: Vec<String>,
    /// Settings in the order of the file.
    pub settings: Vec<ExplainedSetting>,
}

/// A setting and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedSetting {
    /// Name of the target or phase; empty for the workload itself.
    pub part: String,
    /// Key and value as in the file.
    pub setting: String,
    pub evidence: Evidence,
    /// Source; empty for a choice of Plumb's that needs no explanation.
    pub source: String,
}

/// Kind of source for a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Official text of the benchmark's owner.
    Official,
    /// Public source code or configuration.
    Code,
    Paper,
    /// Page of a vendor or a journal.
    Vendor,
    Inferred,
    /// From memory, not verified.
    Memory,
    Own,
}

impl Evidence {
    /// Returns the name to show to users.
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

/// A use that storage may or may not be good enough for.
#[derive(Debug, Clone, Copy)]
pub struct Use {
    /// Name to show to users.
    pub name: &'static str,
    /// Name of the workload that measures it.
    pub load: &'static str,
    /// Limits that must all hold.
    pub limits: &'static [PublishedLimit],
    /// Numbers to show, as `PHASE/METRIC`.
    pub numbers: &'static [&'static str],
    /// Reason for the lack of limits, or aspects that the limits leave out.
    pub note: &'static str,
}

/// A limit published by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedLimit {
    /// Condition in the syntax of `plumb run --assert`.
    pub condition: &'static str,
    /// Publisher and title of the publication.
    pub source: &'static str,
}
