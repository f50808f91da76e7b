//! Checked settings of a rendering.

use crate::args::RenderArguments;
use crate::commands::compare::works;
use plumb_cli::exit::Stopped;

/// Longest name: Kubernetes allows 63 characters, and adds the number of a pod.
const NAME_MAX: usize = 40;

/// Options of `plumb compare` that `--set` may give.
const COMPARE_OPTIONS: [&str; 5] = ["size", "time", "budget", "blocks", "settle"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    pub name: String,
    pub namespace: Option<String>,
    pub image: String,
    pub hosts: u32,
    /// None for the cluster's default, one, or two to compare.
    pub classes: Vec<String>,
    pub size: String,
    pub is_shared: bool,
    pub workload: String,
    /// Further words of the command that measures.
    pub words: Vec<String>,
    pub push_to: Option<String>,
    pub secret: String,
}

impl Settings {
    /// Reads the arguments, and refuses what a cluster or Plumb would refuse later.
    ///
    /// # Errors
    /// Names the option and the value that Kubernetes or Plumb would refuse later.
    pub(super) fn new(arguments: &RenderArguments) -> Result<Settings, Stopped> {
        let RenderArguments { name, namespace, image, hosts, storage_class, size, shared, workload, set, .. } =
            arguments;
        label("--name", name)?;
        namespace.iter().try_for_each(|namespace| label("--namespace", namespace))?;
        label("--push-secret", &arguments.push_secret)?;
        storage_class
            .iter()
            .try_for_each(|class| class.split('.').try_for_each(|part| label("--storage-class", part)))?;
        if !is_quantity(size) {
            return Err(Stopped::usage(format!("--size {size}: expected a size of Kubernetes, such as 20Gi")));
        }
        if image.is_empty() || image.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(Stopped::usage(format!("--image {image:?} is not the name of an image")));
        }
        let (hosts, is_comparison) = (*hosts, storage_class.len() > 1);
        match storage_class.len() {
            0..=2 => {}
            count => return Err(Stopped::usage(format!("--storage-class is given {count} times; two are compared"))),
        }
        if is_comparison && (hosts > 1 || *shared) {
            return Err(Stopped::usage("two storage classes are compared in one pod; leave out --hosts and --shared"));
        }
        if *shared && hosts < 2 {
            return Err(Stopped::usage("--shared is one volume for several hosts; add --hosts 4, for example"));
        }
        if works(workload)?.len() != 1 {
            return Err(Stopped::usage(format!("--for {workload}: name one workload; `plumb workloads` lists them")));
        }
        Ok(Settings {
            name: name.clone(),
            namespace: namespace.clone(),
            image: image.clone(),
            hosts,
            classes: storage_class.clone(),
            size: size.clone(),
            is_shared: *shared,
            workload: workload.clone(),
            words: set.iter().map(|pair| words(pair, is_comparison)).collect::<Result<Vec<_>, _>>()?.concat(),
            push_to: arguments.push_to.clone(),
            secret: arguments.push_secret.clone(),
        })
    }
}

/// Returns the words that a `KEY=VALUE` of `--set` becomes. `plumb compare` has options instead of keys.
fn words(pair: &str, is_comparison: bool) -> Result<[String; 2], Stopped> {
    let Some((key, value)) = pair.split_once('=') else {
        return Err(Stopped::usage(format!("--set {pair}: expected KEY=VALUE, such as size=4GiB")));
    };
    match is_comparison {
        false => Ok(["--set".to_owned(), pair.to_owned()]),
        true if COMPARE_OPTIONS.contains(&key) && !value.is_empty() => Ok([format!("--{key}"), value.to_owned()]),
        true => Err(Stopped::usage(format!(
            "--set {pair}: a comparison of two storage classes has the keys {}",
            COMPARE_OPTIONS.join(", ")
        ))),
    }
}

/// Requires a label. Source: RFC 1123, as in "Object Names and IDs" of Kubernetes.
fn label(option: &str, text: &str) -> Result<(), Stopped> {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_label = text.len() <= NAME_MAX
        && text.chars().all(is_inner)
        && !text.is_empty()
        && !text.starts_with('-')
        && !text.ends_with('-');
    match is_label {
        true => Ok(()),
        false => Err(Stopped::usage(format!(
            "{option} {text:?}: expected lower-case letters, digits and dashes, at most {NAME_MAX}, such as fast-disks"
        ))),
    }
}

/// Returns `true` for a whole number with a unit.
fn is_quantity(text: &str) -> bool {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()) && !digits.starts_with('0');
    is_number && ["Mi", "Gi", "Ti", "M", "G", "T"].contains(&&text[digits.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects a cluster from texts that would become other YAML than one value.
    #[test]
    fn only_names_and_sizes_of_kubernetes_are_accepted() {
        for good in ["plumb", "a", "fast-disks-2"] {
            label("--name", good).unwrap();
        }
        for wrong in ["", "-a", "a-", "A", "a.b", "a b", "a\n---", "ä", "x: y", &"a".repeat(41)] {
            assert!(label("--name", wrong).is_err(), "{wrong:?}");
        }
        for good in ["20Gi", "1T", "512Mi"] {
            assert!(is_quantity(good), "{good}");
        }
        for wrong in ["", "Gi", "20", "20GB", "0Gi", "-1Gi", "1.5Gi", "20Gi\n", "２Gi"] {
            assert!(!is_quantity(wrong), "{wrong:?}");
        }
    }
}
