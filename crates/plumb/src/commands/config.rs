//! `plumb config`: the configuration file, each value, and where it came from.

use crate::help::manual;
use plumb_cli::common::Common;
use plumb_cli::config::{Config, ConfigFile};
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use serde::Serialize;

/// Output of `plumb config --json`.
#[derive(Debug, Serialize)]
struct ConfigReport {
    /// Path of the configuration file; absent for a user without a home directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// State of the file, such as `read` or `does not exist`.
    state: String,
    values: Vec<Value>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Value {
    name: String,
    value: String,
    /// Origin: the file, an option, a variable, or `default`.
    from: String,
}

impl Value {
    fn new(name: &str, value: impl Into<String>, from: impl Into<String>) -> Value {
        Value { name: name.to_owned(), value: value.into(), from: from.into() }
    }
}

/// Variables whose value is secret, or may contain a password by mistake.
const HIDDEN: [&str; 2] = ["PLUMB_STREAM_TOKEN", "PLUMB_PUSH_TO"];

pub(crate) fn run(common: &Common) -> Result<End, Stopped> {
    let (file, config) = Config::with_file()?;
    let shown = file.path().map(|path| path.display().to_string());
    let report = ConfigReport {
        state: file.to_string(),
        values: values(config, shown.as_deref().unwrap_or_default(), common)?,
        file: shown,
    };
    if common.json {
        session::print_json(&report)?;
    } else {
        output::print(&page(&report, matches!(file, ConfigFile::Absent { .. })));
    }
    Ok(End::Done)
}

fn values(config: &Config, file: &str, common: &Common) -> Result<Vec<Value>, Stopped> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let database = match session::shared_address(common) {
        Some(address) => super::share::shown(address),
        None => session::database(common)?.display().to_string(),
    };
    let mut values = vec![match (&common.db, variable("PLUMB_DB")) {
        (None, _) => Value::new("database", database, "default"),
        (Some(path), Some(set)) if path.as_os_str() == set.as_str() => Value::new("database", database, "PLUMB_DB"),
        (Some(_), _) => Value::new("database", database, "--db"),
    }];
    let typed = common.plumb_allow.as_deref().map(|text| match variable("PLUMB_ALLOW") {
        Some(set) if set == text => (text, "PLUMB_ALLOW"),
        _ => (text, "--plumb-allow"),
    });
    let typed = typed.into_iter().flat_map(|(text, from)| entries(text).map(move |entry| (entry, from.to_owned())));
    let serials = common.destroy.iter().map(|serial| (serial.clone(), "--destroy".to_owned()));
    let of_file = |texts: Vec<String>| texts.into_iter().map(|text| (text, file.to_owned()));
    add(&mut values, "allow", of_file(config.allowed()).chain(typed).chain(serials));
    let fill = variable("PLUMB_FILL").unwrap_or_default();
    let fill = entries(&fill).map(|entry| (entry, "PLUMB_FILL".to_owned())).collect::<Vec<_>>();
    let of_config = config.fill().map(|path| path.display().to_string()).collect();
    add(&mut values, "fill", of_file(of_config).chain(fill));
    let shown = ["PLUMB_DB", "PLUMB_ALLOW", "PLUMB_FILL"];
    for name in manual::variables().filter(|name| !shown.contains(name)) {
        if let Some(value) = variable(name) {
            let value = if HIDDEN.contains(&name) { "(set, not shown)".to_owned() } else { value };
            values.push(Value::new(name, value, "environment"));
        }
    }
    Ok(values)
}

fn entries(text: &str) -> impl Iterator<Item = String> {
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_owned)
}

/// Adds each entry of a list, or `(nothing)` for an empty list.
fn add(values: &mut Vec<Value>, name: &str, entries: impl Iterator<Item = (String, String)>) {
    let before = values.len();
    values.extend(entries.map(|(value, from)| Value::new(name, value, from)));
    if values.len() == before {
        values.push(Value::new(name, "(nothing)", "default"));
    }
}

fn page(report: &ConfigReport, is_absent: bool) -> String {
    let file = report.file.as_deref().unwrap_or("(no home directory)");
    let mut text = format!("file      {file} ({})\n\n", report.state);
    let width = |of: fn(&Value) -> &str| report.values.iter().map(|value| of(value).chars().count()).max().unwrap_or(0);
    let (names, shown) = (width(|value| &value.name), width(|value| &value.value));
    for Value { name, value, from } in &report.values {
        text.push_str(&format!("{name:<names$}  {value:<shown$}  {from}\n"));
    }
    if is_absent {
        text.push_str(
            "\nThe file says what may be overwritten for good: allow = [\"/path\", \"serial\"]. See docs/config.md.\n",
        );
    }
    text
}
