//! `plumb k8s render`: the objects of a measurement in Kubernetes, as manifests or as a Helm chart. Both come from the same templates, in
//! which `@{key}` stands for a value: a literal in manifests, and an expression in a chart.

mod chart;
mod manifests;
mod settings;

use crate::args::RenderArguments;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use settings::Settings;

/// Prints manifests, or writes a chart.
pub(crate) fn render(arguments: &RenderArguments) -> Result<End, Stopped> {
    let settings = Settings::new(arguments)?;
    match &arguments.chart {
        Some(directory) => {
            let written = chart::write(&settings, directory)?;
            output::print(&written.iter().map(|path| format!("{}\n", path.display())).collect::<String>());
        }
        None => output::print(&manifests::text(&settings)),
    }
    Ok(End::Done)
}

/// User of pods without keys, and the group that owns their volumes.
const UNPRIVILEGED: &str = "{runAsUser: 10001, runAsGroup: 10001, fsGroup: 10001, runAsNonRoot: true}";

/// User of pods with keys: the kubelet lets root alone read a secret, or else a group, too, and Plumb refuses a key that a group reads.
const ROOT: &str = "{runAsUser: 0}";

/// Pods that ask the API server nothing get no token for it.
const NO_ACCOUNT: &str = "automountServiceAccountToken: false";

/// The templates: each is a file with one or several objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Template {
    /// A claim that all hosts mount.
    Claim,
    /// The permission to list pods, for the run of several hosts.
    Account,
    /// A service and the agents of several hosts.
    Agents,
    /// The measurement and its result.
    Run,
}

impl Template {
    const ALL: [Template; 4] = [Template::Claim, Template::Account, Template::Agents, Template::Run];

    fn file(self) -> &'static str {
        match self {
            Template::Claim => "claim.yaml",
            Template::Account => "account.yaml",
            Template::Agents => "agents.yaml",
            Template::Run => "run.yaml",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Template::Claim => include_str!("claim.yaml"),
            Template::Account => include_str!("account.yaml"),
            Template::Agents => include_str!("agents.yaml"),
            Template::Run => include_str!("run.yaml"),
        }
    }

    /// Replaces each `@{key}`.
    fn fill(self, value: impl Fn(&str) -> String) -> String {
        let mut text = String::new();
        let mut rest = self.text();
        while let Some((before, after)) = rest.split_once("@{") {
            let (key, after) = after.split_once('}').unwrap_or((after, ""));
            text.push_str(before);
            text.push_str(&value(key));
            rest = after;
        }
        text + rest
    }
}

/// Places of the volumes of a comparison of two storage classes.
const COMPARED: [(&str, &str); 2] = [("one", "/one"), ("other", "/other")];

/// Returns the entry of a volume that lives as long as its pod, with values in the form of the caller. Flow style needs no indent.
fn ephemeral(name: &str, class: &str, size: &str) -> String {
    format!(
        "{{name: {name}, ephemeral: {{volumeClaimTemplate: {{spec: {{accessModes: [ReadWriteOnce], storageClassName: {class}, \
         resources: {{requests: {{storage: {size}}}}}}}}}}}}}"
    )
}
