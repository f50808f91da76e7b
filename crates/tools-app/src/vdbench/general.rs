//! Parameters before all definitions, and host definitions.

use super::parse::{Parameter, is_key, size};
use super::usage_error::Reason;
use super::values::{at_least_one, check_limits};

/// Limit of repetitions by `loop=`.
const LOOPS_MAX: u64 = 1000;

/// Parameters that affect neither the load nor its results: reports, messages,
/// and communication between vdbench's processes.
const WITHOUT_EFFECT: [&str; 12] = [
    "report",
    "report_run_totals",
    "histogram",
    "messagescan",
    "port",
    "formatxfersize",
    "fwd_thread_adjust",
    "ios_per_jvm",
    "abort_failed_skew",
    "compressionseed",
    "misc",
    "timeout",
];

/// Parameters with an effect other than on the load, each with its replacement.
const IGNORED: [(&str, &str); 6] = [
    ("data_errors", "the first error ends a run"),
    ("dataerrors", "the first error ends a run"),
    ("monitor", "stop a run by Ctrl-C"),
    ("showlba", "`plumb trace record` records a run"),
    ("auxreport", "`plumb report` draws a run"),
    ("heartbeat_error", "run the command yourself"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct General {
    /// `create_anchors=yes`: whether anchor directories are created.
    pub(super) makes_anchors: bool,
    /// Number of times that all runs are repeated.
    pub(super) repeats: u64,
}

impl Default for General {
    fn default() -> General {
        General { makes_anchors: false, repeats: 1 }
    }
}

fn is_yes(parameter: &Parameter) -> bool {
    parameter.values[0].to_ascii_lowercase().starts_with('y')
}

/// Returns `true` for a parameter's default value, if the default has no effect.
fn is_default(parameter: &Parameter) -> bool {
    let value = parameter.values[0].to_ascii_lowercase();
    match parameter.key.as_str() {
        key if is_key(key, &["compratio", "dedupratio"]) => value.parse::<f64>().is_ok_and(|ratio| ratio <= 1.0),
        key if is_key(key, &["validate", "journal", "formatsds", "concatenatesds"]) => value.starts_with('n'),
        _ => false,
    }
}

impl General {
    /// Sets a parameter. Returns a message if it is ignored.
    pub(super) fn set(&mut self, parameter: &Parameter) -> Result<Option<String>, Reason> {
        let key = parameter.key.as_str();
        if is_default(parameter) {
            return Ok(None);
        }
        if key == "loop" {
            let count = at_least_one(parameter, size(&parameter.values[0]))
                .map_err(|_| parameter.value("a number of repetitions; repeating for a time is not supported:"))?;
            self.repeats = check_limits(parameter, count, (1, LOOPS_MAX))?;
            return Ok(None);
        }
        if is_key(key, &["create_anchors"]) {
            self.makes_anchors = is_yes(parameter);
            return Ok(None);
        }
        if is_key(key, &WITHOUT_EFFECT) || matches!(key, "debug" | "pattern_buffer") {
            return Ok(None);
        }
        let ignored = IGNORED.iter().find(|(full, _)| is_key(key, &[full]));
        if let Some((full, instead)) = ignored {
            // A run ends at its first error, so a larger limit has no effect.
            let is_count = full.starts_with("data") && size(&parameter.values[0]).is_some();
            return Ok((!is_count).then(|| format!("`{key}` is ignored: {instead}")));
        }
        let way_out = match key {
            "startcmd" | "start_cmd" | "endcmd" | "end_cmd" => "run the command yourself",
            key if is_key(key, &["validate", "journal"]) => "use `plumb run` with `verify`",
            key if is_key(key, &["compratio", "pattern"]) || key.starts_with("dedup") => {
                "use `plumb run` with `content`"
            }
            key if is_key(key, &["formatsds"]) => "write the storage first, by a run with rdpct=0,seekpct=eof",
            key if is_key(key, &["concatenatesds"]) => "define one storage, such as a striped device",
            _ => "vdbench has no such parameter ahead of its definitions: check its spelling and its place",
        };
        Err(Reason::General { key: key.to_owned(), way_out })
    }
}

/// A host definition (HD).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Host {
    label: String,
    line: usize,
    /// Name or address of the host; `None` if the label is the name.
    system: Option<String>,
}

/// Names that always mean this host.
const HERE: [&str; 4] = ["localhost", "localhost.localdomain", "127.0.0.1", "::1"];

impl Host {
    pub(super) fn new(label: &str, line: usize) -> Host {
        Host { label: label.to_owned(), line, system: None }
    }

    pub(super) fn set(&mut self, parameter: &Parameter) -> Result<(), Reason> {
        let value = &parameter.values[0];
        match parameter.key.as_str() {
            key if is_key(key, &["system"]) => self.system = Some(value.clone()),
            // These parameters say how to reach a remote host, and how many processes share the threads there.
            key if is_key(key, &["vdbench", "shell", "user", "jvms"]) => {}
            key if is_key(key, &["clients"]) && value == "1" => {}
            key => {
                let way_out = match key {
                    key if is_key(key, &["clients"]) => "use `plumb run --hosts` with a host for each client",
                    key if is_key(key, &["mount"]) => "mount the file system yourself",
                    _ => "vdbench has no such parameter: check its spelling",
                };
                return Err(Reason::Key { key: key.to_owned(), definition: "host definition", way_out });
            }
        }
        Ok(())
    }

    /// Returns line and error if it is another host.
    pub(super) fn elsewhere(&self) -> Option<(usize, Reason)> {
        let name = self.system.as_deref().unwrap_or(&self.label);
        let is_here = HERE.iter().any(|here| here.eq_ignore_ascii_case(name));
        (!is_here).then(|| (self.line, Reason::OtherHost { host: name.to_owned() }))
    }
}

/// Checks that all hosts of a definition are this host, under any of its labels.
pub(super) fn on_hosts(parameter: &Parameter, hosts: &[Host]) -> Result<(), Reason> {
    let is_known = |name: &&String| {
        let name = name.as_str();
        name.ends_with('*') || HERE.contains(&name) || hosts.iter().any(|host| host.label == name)
    };
    match parameter.values.iter().find(|name| !is_known(name)) {
        Some(other) => Err(Reason::OtherHost { host: other.clone() }),
        None => Ok(()),
    }
}
