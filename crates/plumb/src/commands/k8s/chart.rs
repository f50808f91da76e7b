//! A Helm chart: each value is an expression over `values.yaml`, which has the settings that were given.

use super::settings::Settings;
use super::{COMPARED, NO_ACCOUNT, ROOT, Template, UNPRIVILEGED, ephemeral};
use plumb_cli::exit::Stopped;
use plumb_engine::guard::OutputFile;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Writes the chart into a directory, and returns its files.
pub(super) fn write(settings: &Settings, directory: &Path) -> Result<Vec<PathBuf>, Stopped> {
    let templates = directory.join("templates");
    std::fs::create_dir_all(&templates)
        .map_err(|error| Stopped::io(format!("cannot create {}: {error}", templates.display())))?;
    let mut files =
        vec![(directory.join("Chart.yaml"), description(settings)), (directory.join("values.yaml"), values(settings))];
    for template in Template::ALL {
        let text = format!("{{{{- if {} }}}}\n{}{{{{- end }}}}\n", condition(template), template.fill(expression));
        files.push((templates.join(template.file()), text));
    }
    for (path, text) in &files {
        OutputFile::named("--chart", path).replace(text.as_bytes())?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

fn description(settings: &Settings) -> String {
    format!(
        "# Made by `plumb k8s render --chart`.\napiVersion: v2\nname: {}\ndescription: Measures storage classes with Plumb\n\
         type: application\nversion: {1}\nappVersion: \"{1}\"\n",
        settings.name,
        env!("CARGO_PKG_VERSION")
    )
}

fn values(settings: &Settings) -> String {
    format!(
        "# Prefix of the names of all objects.\nname: {}\nimage: {}\n# Pods that measure together.\nhosts: {}\n\
         # None for the cluster's default, one, or two to compare.\nstorageClasses: {}\nsize: {}\n\
         # One volume for all hosts, which needs a class with ReadWriteMany.\nshared: {}\nworkload: {}\n\
         # Further words of `plumb run`, or of `plumb compare` with two classes.\nwords: {}\n# Address of a team's database, for `plumb push`; null prints the result.\npushTo: {}\n\
         # Secret whose key `password` is that of the database.\npushSecret: {}\n",
        json!(settings.name),
        json!(settings.image),
        settings.hosts,
        json!(settings.classes),
        json!(settings.size),
        settings.is_shared,
        json!(settings.workload),
        json!(settings.words),
        json!(settings.push_to),
        json!(settings.secret),
    )
}

/// Returns the condition under which the objects of a template exist.
fn condition(template: Template) -> &'static str {
    match template {
        Template::Claim => ".Values.shared",
        Template::Account | Template::Agents => SEVERAL,
        Template::Run => "true",
    }
}

const SEVERAL: &str = "gt (int .Values.hosts) 1";
const COMPARISON: &str = "gt (len .Values.storageClasses) 1";

/// Returns the expression of a key.
fn expression(key: &str) -> String {
    let json = |expression: &str| format!("{{{{ {expression} | toJson }}}}");
    let class = |at: usize| match at {
        0 => json("first .Values.storageClasses"),
        at => json(&format!("index .Values.storageClasses {at}")),
    };
    let size = json(".Values.size");
    // Without the line's own indent, which the template has before the key.
    let item = |indent: usize, text: &str| format!("{:indent$}- {text}", "");
    match key {
        "name" => "{{ .Values.name }}".to_owned(),
        "agent" => "{{ .Values.name }}-agent".to_owned(),
        "run" => "{{ .Values.name }}-run".to_owned(),
        "namespace" => json(".Release.Namespace"),
        "image" => json(".Values.image"),
        "hosts" => "{{ int .Values.hosts }}".to_owned(),
        "account" => choose(SEVERAL, "serviceAccountName: {{ .Values.name }}-run", NO_ACCOUNT),
        "user" => choose(SEVERAL, ROOT, UNPRIVILEGED),
        "class" => class(0),
        "size" => size,
        "secret" => "{{ .Values.pushSecret }}".to_owned(),
        "volume" => choose(
            ".Values.shared",
            "{name: data, persistentVolumeClaim: {claimName: {{ .Values.name }}}}",
            &ephemeral("data", &class(0), &size),
        ),
        "measure" => by_case(
            &json("concat (list \"plumb\" \"compare\" \"/one\" \"/other\" \"--for\" .Values.workload) .Values.words"),
            &json(MEASURE_WITH_HOSTS),
            &json("concat (list \"plumb\" \"run\" .Values.workload \"--at\" \"/data\") .Values.words"),
        ),
        "result" => choose(
            ".Values.pushTo",
            &json("list \"plumb\" \"push\" \"--to\" .Values.pushTo"),
            &json("list \"plumb\" \"export\""),
        ),
        "mounts" => by_case(
            &COMPARED.map(|(name, path)| item(12, &format!("{{name: {name}, mountPath: {path}}}"))).join("\n"),
            &item(12, "{name: keys, mountPath: /keys, readOnly: true}"),
            &item(12, "{name: data, mountPath: /data}"),
        ),
        "volumes" => by_case(
            &[0, 1].map(|at| item(8, &ephemeral(COMPARED[at].0, &class(at), &size))).join("\n"),
            &item(8, "{name: keys, secret: {secretName: {{ .Values.name }}-client, defaultMode: 0400}}"),
            &item(8, &ephemeral("data", &class(0), &size)),
        ),
        other => unreachable!("the templates have no key {other}"),
    }
}

fn choose(condition: &str, yes: &str, no: &str) -> String {
    format!("{{{{ if {condition} }}}}{yes}{{{{ else }}}}{no}{{{{ end }}}}")
}

/// Chooses between a comparison, several hosts, and one pod.
fn by_case(comparison: &str, several: &str, one: &str) -> String {
    choose(COMPARISON, comparison, &choose(SEVERAL, several, one))
}

const MEASURE_WITH_HOSTS: &str = "concat (list \"plumb\" \"run\" .Values.workload \"--at\" \"/data\" \"--hosts\" \
                                  (printf \"k8s:%d:app=%s-agent\" (int .Values.hosts) .Values.name) \
                                  \"--hosts-keys\" \"/keys/client.keys\") .Values.words";

#[cfg(test)]
mod tests {
    use super::*;

    // Protects the chart: every key of the templates has an expression, and every expression is whole.
    #[test]
    fn every_key_has_a_whole_expression() {
        for template in Template::ALL {
            let text = template.fill(expression);
            // Braces of YAML stand next to those of expressions, so that only the sum of each kind is known.
            assert_eq!(text.matches('{').count(), text.matches('}').count(), "{text}");
            assert_eq!(text.matches("{{ if ").count(), text.matches("{{ end }}").count());
            assert!(!text.contains("@{"));
        }
    }
}
