//! Manifests: each value is a literal.

use super::settings::Settings;
use super::{COMPARED, NO_ACCOUNT, ROOT, Template, UNPRIVILEGED, ephemeral};
use serde_json::{Value, json};

/// Returns the documents for `kubectl apply`.
pub(super) fn text(settings: &Settings) -> String {
    let is_used = |template: &Template| match template {
        Template::Claim => settings.is_shared,
        Template::Account | Template::Agents => settings.hosts > 1,
        Template::Run => true,
    };
    let used = Template::ALL.into_iter().filter(is_used);
    let documents: Vec<String> = used.map(|template| template.fill(|key| value(settings, key))).collect();
    let keys = match settings.hosts > 1 {
        true => format!(
            "# Keys first: plumb agent --init keys\n\
             #             kubectl create secret generic {0}-agent --from-file=server.keys=keys/server.keys{1}\n\
             #             kubectl create secret generic {0}-client --from-file=client.keys=keys/client.keys{1}\n",
            settings.name,
            settings.namespace.as_ref().map_or(String::new(), |namespace| format!(" --namespace {namespace}")),
        ),
        false => String::new(),
    };
    format!("# Made by `plumb k8s render`.\n{keys}{}", documents.join("---\n"))
}

fn value(settings: &Settings, key: &str) -> String {
    let class = |at: usize| literal(&json!(settings.classes.get(at)));
    let size = literal(&json!(settings.size));
    match key {
        "name" => settings.name.clone(),
        "agent" => format!("{}-agent", settings.name),
        "run" => format!("{}-run", settings.name),
        "namespace" => literal(&json!(settings.namespace)),
        "image" => literal(&json!(settings.image)),
        "hosts" => settings.hosts.to_string(),
        "account" => match settings.hosts > 1 {
            true => format!("serviceAccountName: {}-run", settings.name),
            false => NO_ACCOUNT.to_owned(),
        },
        "user" => if settings.hosts > 1 { ROOT } else { UNPRIVILEGED }.to_owned(),
        "class" => class(0),
        "size" => size,
        "secret" => settings.secret.clone(),
        "volume" => match settings.is_shared {
            true => format!("{{name: data, persistentVolumeClaim: {{claimName: {}}}}}", settings.name),
            false => ephemeral("data", &class(0), &size),
        },
        "measure" => literal(&json!(measure(settings))),
        "result" => literal(&match &settings.push_to {
            Some(address) => json!(["plumb", "push", "--to", address]),
            None => json!(["plumb", "export"]),
        }),
        "mounts" => lines(&mounts(settings), 12),
        "volumes" => lines(&volumes(settings, &class, &size), 8),
        other => unreachable!("the templates have no key {other}"),
    }
}

/// Returns JSON on one line, which is YAML.
fn literal(value: &Value) -> String {
    value.to_string()
}

/// Returns the items of a list, each on a line of its own.
fn lines(items: &[String], indent: usize) -> String {
    items.iter().map(|item| format!("{:indent$}- {item}", "")).collect::<Vec<_>>().join("\n")
}

fn measure(settings: &Settings) -> Vec<String> {
    let command = match (settings.classes.len(), settings.hosts) {
        (2.., _) => format!("plumb compare /one /other --for {}", settings.workload),
        (_, hosts @ 2..) => format!(
            "plumb run {} --at /data --hosts k8s:{hosts}:app={}-agent --hosts-keys /keys/client.keys",
            settings.workload, settings.name
        ),
        _ => format!("plumb run {} --at /data", settings.workload),
    };
    command.split(' ').map(str::to_owned).chain(settings.words.iter().cloned()).collect()
}

fn mounts(settings: &Settings) -> Vec<String> {
    let mount = |name: &str, path: &str| format!("{{name: {name}, mountPath: {path}}}");
    match (settings.classes.len(), settings.hosts) {
        (2.., _) => COMPARED.iter().map(|(name, path)| mount(name, path)).collect(),
        (_, 2..) => vec!["{name: keys, mountPath: /keys, readOnly: true}".to_owned()],
        _ => vec![mount("data", "/data")],
    }
}

fn volumes(settings: &Settings, class: &dyn Fn(usize) -> String, size: &str) -> Vec<String> {
    match (settings.classes.len(), settings.hosts) {
        (2.., _) => COMPARED.iter().enumerate().map(|(at, (name, _))| ephemeral(name, &class(at), size)).collect(),
        (_, 2..) => {
            vec![format!("{{name: keys, secret: {{secretName: {}-client, defaultMode: 0400}}}}", settings.name)]
        }
        _ => vec![ephemeral("data", &class(0), size)],
    }
}
