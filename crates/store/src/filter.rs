//! Selection of runs, and its SQL for both databases.

use crate::rows::RunStatus;
use plumb_result::RunVerdict;

/// Largest number of words of a text that are searched for.
const WORDS_MAX: usize = 8;

/// Selection of runs; an empty filter selects all. Each field that is set must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Whole ids.
    pub ids: Option<Vec<String>>,
    pub tag: Option<String>,
    pub workload: Option<String>,
    pub status: Option<RunStatus>,
    pub verdict: Option<RunVerdict>,
    /// Name of the host that measured.
    pub host: Option<String>,
    /// Path of a target, as recorded.
    pub path: Option<String>,
    /// Type of a target's file system, such as `xfs`.
    pub filesystem: Option<String>,
    /// Model name of a disk below a target.
    pub model: Option<String>,
    pub kernel: Option<String>,
    /// The tool whose command line was used or whose file was imported, such as `fio`; `plumb` for Plumb's own.
    pub tool: Option<String>,
    /// Whole id of a study that the run belongs to.
    pub study: Option<String>,
    /// Words, each of which is part of a name, regardless of case: workload, command, tool, host, kernel, path, file system,
    /// disk model, tag or id. The first eight count.
    pub text: Option<String>,
    /// Earliest start, Unix nanoseconds.
    pub since_ns: Option<i64>,
    /// Start before which all runs began, Unix nanoseconds.
    pub until_ns: Option<i64>,
    /// The last run of the previous page: selects those that began before it.
    pub after: Option<PageEnd>,
    /// Largest number of runs; the newest are listed.
    pub limit: Option<u32>,
}

/// The last run of a page, from which the next page goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageEnd {
    /// Start of the run, Unix nanoseconds.
    pub started_ns: i64,
    /// Whole id of the run.
    pub id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlFamily {
    Sqlite,
    Postgres,
}

/// A value of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterValue {
    Text(String),
    Integer(i64),
}

/// A filter as SQL: conditions for `WHERE` on the table `run`, with numbered parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterSql {
    pub conditions: String,
    /// The values of the parameters, in order.
    pub values: Vec<FilterValue>,
}

impl Filter {
    /// Returns the conditions, without the limit.
    pub fn sql(&self, family: SqlFamily) -> FilterSql {
        let mut builder = SqlBuilder { family, conditions: Vec::new(), values: Vec::new() };
        builder.runs(self);
        builder.places(self);
        builder.words(self.text.as_deref().unwrap_or_default());
        let SqlBuilder { conditions, values, .. } = builder;
        let conditions = if conditions.is_empty() { "true".to_owned() } else { conditions.join(" AND ") };
        FilterSql { conditions, values }
    }
}

struct SqlBuilder {
    family: SqlFamily,
    conditions: Vec<String>,
    values: Vec<FilterValue>,
}

impl SqlBuilder {
    /// Adds a value, and returns its parameter.
    fn parameter(&mut self, value: FilterValue) -> String {
        self.values.push(value);
        let sign = if self.family == SqlFamily::Sqlite { '?' } else { '$' };
        format!("{sign}{}", self.values.len())
    }

    /// Adds a condition in which `@` stands for a text.
    fn text(&mut self, value: Option<&str>, condition: &str) {
        if let Some(value) = value {
            let parameter = self.parameter(FilterValue::Text(value.to_owned()));
            self.conditions.push(condition.replace('@', &parameter));
        }
    }

    fn integer(&mut self, value: Option<i64>, condition: &str) {
        if let Some(value) = value {
            let parameter = self.parameter(FilterValue::Integer(value));
            self.conditions.push(condition.replace('@', &parameter));
        }
    }

    /// Adds the conditions on the run itself.
    fn runs(&mut self, filter: &Filter) {
        let is_sqlite = self.family == SqlFamily::Sqlite;
        let ids = filter.ids.as_ref().map(|ids| serde_json::Value::from(ids.as_slice()).to_string());
        self.text(
            ids.as_deref(),
            match is_sqlite {
                true => "run.id IN (SELECT value FROM json_each(@))",
                false => "run.id = ANY (ARRAY(SELECT jsonb_array_elements_text(@::text::jsonb))::uuid[])",
            },
        );
        self.text(
            filter.tag.as_deref(),
            "EXISTS (SELECT 1 FROM run_tag WHERE run_tag.run_id = run.id AND run_tag.tag = @)",
        );
        self.text(filter.workload.as_deref(), "run.name = @");
        self.text(filter.status.map(RunStatus::name), "run.status = @");
        self.text(filter.verdict.map(RunVerdict::name), "run.verdict = @");
        self.text(filter.tool.as_deref(), &format!("coalesce(run.dialect, {}) = @", self.tool()));
        self.text(
            filter.study.as_deref(),
            match is_sqlite {
                true => {
                    "run.id IN (SELECT run_id FROM study_run WHERE study_id = @ AND run_id IS NOT NULL
                   UNION ALL SELECT run_id FROM study_rejected WHERE study_id = @)"
                }
                false => {
                    "run.id IN (SELECT unnest(document.runs) FROM document
                   WHERE document.kind = 'study' AND document.id = @::text::uuid)"
                }
            },
        );
        self.integer(filter.since_ns, "run.started_at >= @");
        self.integer(filter.until_ns, "run.started_at < @");
        if let Some(PageEnd { started_ns, id }) = &filter.after {
            let started = self.parameter(FilterValue::Integer(*started_ns));
            let id = self.parameter(FilterValue::Text(id.clone()));
            let id = if is_sqlite { id } else { format!("{id}::text::uuid") };
            self.conditions.push(format!("(run.started_at, run.id) < ({started}, {id})"));
        }
    }

    /// Adds the conditions on the machine and the storage.
    fn places(&mut self, filter: &Filter) {
        self.text(filter.host.as_deref(), &with_environment("machine.hostname = @"));
        self.text(filter.kernel.as_deref(), &with_environment("environment.kernel = @"));
        self.text(filter.path.as_deref(), &with_target("target.path = @"));
        self.text(filter.filesystem.as_deref(), &with_target("target.fs = @"));
        self.text(filter.model.as_deref(), &with_target(&self.has_model("= @")));
    }

    /// Adds the words, each of which must be part of a name.
    fn words(&mut self, text: &str) {
        let is = if self.family == SqlFamily::Sqlite { "LIKE @ ESCAPE '!'" } else { "ILIKE @ ESCAPE '!'" };
        let any =
            |columns: &[&str]| columns.iter().map(|column| format!("{column} {is}")).collect::<Vec<_>>().join(" OR ");
        let id = if self.family == SqlFamily::Sqlite { "run.id" } else { "run.id::text" };
        let condition = format!(
            "({} OR {} OR {} OR run.id IN (SELECT run_tag.run_id FROM run_tag WHERE {}))",
            any(&["run.name", "run.command", "run.dialect", self.tool(), id]),
            with_environment(&any(&["machine.hostname", "environment.kernel"])),
            with_target(&format!("{} OR {}", any(&["target.path", "target.fs"]), self.has_model(is))),
            any(&["run_tag.tag"]),
        );
        for word in text.split_whitespace().take(WORDS_MAX) {
            self.text(Some(&format!("%{}%", escaped(word))), &condition);
        }
    }

    /// Returns the name of the program that stored a run.
    fn tool(&self) -> &'static str {
        match self.family {
            SqlFamily::Sqlite => "(SELECT tool.name FROM tool WHERE tool.id = run.tool_id)",
            SqlFamily::Postgres => "run.tool_name",
        }
    }

    /// Returns a condition that a layer of a target's stack has a model that `is` selects.
    fn has_model(&self, is: &str) -> String {
        match self.family {
            SqlFamily::Sqlite => format!(
                "EXISTS (SELECT 1 FROM json_each(target.facts, '$.stack') AS layer
                   WHERE json_extract(layer.value, '$.model') {is})"
            ),
            SqlFamily::Postgres => format!(
                "EXISTS (SELECT 1 FROM jsonb_path_query(target.facts, '$.stack[*].model') AS model
                   WHERE model #>> '{{}}' {is})"
            ),
        }
    }
}

/// Returns the runs whose environment meets a condition. The database checks what many runs share once, not for each of them.
fn with_environment(condition: &str) -> String {
    format!(
        "run.environment_id IN (SELECT environment.id FROM environment
           JOIN machine ON machine.id = environment.machine_id WHERE {condition})"
    )
}

/// Returns the runs with a target that meets a condition.
fn with_target(condition: &str) -> String {
    format!(
        "run.id IN (SELECT run_target.run_id FROM run_target
           WHERE run_target.target_id IN (SELECT target.id FROM target WHERE {condition}))"
    )
}

/// Escapes the wildcards of `LIKE`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '%' | '_' | '!') {
            escaped.push('!');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: values are parameters and never part of a statement, and each has its number.
    #[test]
    fn values_are_parameters() {
        let filter = Filter {
            tag: Some("'; DROP TABLE run; --".to_owned()),
            since_ns: Some(1),
            text: Some("100%_! word".to_owned()),
            model: Some("@x".to_owned()),
            ..Filter::default()
        };
        for family in [SqlFamily::Sqlite, SqlFamily::Postgres] {
            let FilterSql { conditions, values } = filter.sql(family);
            assert!(!conditions.contains("DROP") && !conditions.contains("100"), "{conditions}");
            assert_eq!(values.len(), 5);
            assert_eq!(values[3], FilterValue::Text("%100!%!_!!%".to_owned()));
            for number in 1..=5 {
                let sign = if family == SqlFamily::Sqlite { '?' } else { '$' };
                assert!(conditions.contains(&format!("{sign}{number}")), "{conditions}");
            }
        }
        assert_eq!(Filter::default().sql(SqlFamily::Sqlite).conditions, "true");
    }
}
