//! Errors of questions about a study.

use plumb_workload::suggest::nearest;

/// The reason why a question does not fit a study.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuestionError {
    /// The plan has no such factor.
    #[error("{option} {name}: the study has no factor `{name}`{}", way_out(name, known, level_of.as_deref()))]
    Factor {
        /// `--by`, `--within`, `selection`.
        option: &'static str,
        name: String,
        known: Vec<String>,
        /// A factor that has a level of this name.
        level_of: Option<String>,
    },
    /// The factor has no such level.
    #[error("{option} {factor}={name}: `{factor}` has no level `{name}`{}", way_out(name, known, None))]
    Level {
        /// `--by`, `--within`, `selection`.
        option: &'static str,
        factor: String,
        name: String,
        known: Vec<String>,
    },
    /// A factor with a single level leaves nothing to compare.
    #[error("--by {factor}: the study has one level of it, `{level}`; a comparison needs two")]
    OneLevel { factor: String, level: String },
    /// The compared factor cannot also be reported separately.
    #[error("--within {factor}: `{factor}` is what is compared; name other factors, or another one with --by")]
    Compared { factor: String },
    /// No run measured the metric.
    #[error("--metrics {name}: no accepted run of the study has it{}", measured(name, known))]
    Metric { name: String, known: Vec<String> },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn way_out(name: &str, known: &[String], level_of: Option<&str>) -> String {
    if let Some(factor) = level_of {
        return format!("; it is a level of `{factor}`: `{factor}={name}`");
    }
    if known.is_empty() { "; it has none".to_owned() } else { format!("; there is {}", quoted(known)) }
}

fn measured(name: &str, known: &[String]) -> String {
    if known.is_empty() {
        return "; none has a result yet".to_owned();
    }
    let list = known.join(", ");
    match nearest(name, known.iter().map(String::as_str)) {
        Some(meant) => format!("; did you mean `{meant}`? Measured: {list}"),
        None => format!("; measured: {list}"),
    }
}
