//! Differences between two runs.

use crate::{StoreError, canonical};
use plumb_result::RunResult;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A fact in which two runs differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FactDifference {
    /// Path of the fact, such as `target.data.filesystem.options`.
    pub fact: String,
    /// Value in the first run; `None` if the run does not have the fact.
    pub left: Option<String>,
    /// Value in the second run; `None` if the run does not have the fact.
    pub right: Option<String>,
}

/// Returns the facts in which two results differ, sorted.
pub(crate) fn of_results(left: &RunResult, right: &RunResult) -> Result<Vec<FactDifference>, StoreError> {
    Ok(differences(&leaves(left)?, &leaves(right)?))
}

fn differences(left: &BTreeMap<String, String>, right: &BTreeMap<String, String>) -> Vec<FactDifference> {
    let facts = BTreeSet::from_iter(left.keys().chain(right.keys()));
    facts
        .into_iter()
        .filter(|fact| left.get(*fact) != right.get(*fact))
        .map(|fact| FactDifference {
            fact: fact.clone(),
            left: left.get(fact).cloned(),
            right: right.get(fact).cloned(),
        })
        .collect()
}

fn leaves(result: &RunResult) -> Result<BTreeMap<String, String>, StoreError> {
    let mut value = canonical::value("the result", result)?;
    if let Some(fields) = value.as_object_mut() {
        // These differ between any two runs and are not facts about either. Checks only describe
        // values that are compared here.
        for field in ["id", "started_at", "schema", "checks"] {
            fields.remove(field);
        }
    }
    let mut found = BTreeMap::new();
    collect(&value, String::new(), &mut found);
    Ok(found)
}

/// Collects every leaf by its path. Named items of a list are keyed by name, so that one more disk in a stack is one
/// difference and does not shift all later ones. A list of plain values is one leaf.
fn collect(value: &Value, path: String, found: &mut BTreeMap<String, String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        // `Seen`: replace an observation by its value, and a missing one by its reason.
        Value::Object(fields) if fields.len() == 1 && fields.contains_key("yes") => {
            collect(&fields["yes"], path, found)
        }
        Value::Object(fields) if fields.len() == 1 && fields.get("no").is_some_and(Value::is_string) => {
            found.insert(path, format!("not seen: {}", plain(&fields["no"])));
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                collect(value, below(key), found);
            }
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            let mut names = BTreeMap::new();
            for (i, item) in items.iter().enumerate() {
                let name = item.get("name").and_then(Value::as_str).map_or_else(|| format!("{}", i + 1), str::to_owned);
                let times = names.entry(name.clone()).and_modify(|times| *times += 1).or_insert(1);
                let key = if *times == 1 { name } else { format!("{name}#{times}") };
                collect(item, below(&key), found);
            }
        }
        Value::Array(items) => {
            found.insert(path, items.iter().map(plain).collect::<Vec<_>>().join(", "));
        }
        Value::Null => {}
        leaf => {
            found.insert(path, plain(leaf));
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn diff(left: Value, right: Value) -> Vec<(String, Option<String>, Option<String>)> {
        let flat = |value: &Value| {
            let mut found = BTreeMap::new();
            collect(value, String::new(), &mut found);
            found
        };
        differences(&flat(&left), &flat(&right)).into_iter().map(|d| (d.fact, d.left, d.right)).collect()
    }

    #[test]
    fn one_more_disk_is_one_difference() {
        let disk = |name: &str| json!({"name": name, "rotational": false});
        let found = diff(
            json!({"stack": [disk("sdb"), disk("sdc")]}),
            json!({"stack": [disk("sda"), disk("sdb"), disk("sdc")]}),
        );
        assert_eq!(
            found,
            [
                ("stack.sda.name".to_owned(), None, Some("sda".to_owned())),
                ("stack.sda.rotational".to_owned(), None, Some("false".to_owned()))
            ]
        );
    }

    #[test]
    fn missing_observations_give_the_reason_and_options_are_one_leaf() {
        let found = diff(
            json!({"governor": {"yes": "powersave"}, "options": ["rw", "noatime"]}),
            json!({"governor": {"no": "no cpufreq"}, "options": ["rw"]}),
        );
        assert_eq!(
            found,
            [
                ("governor".to_owned(), Some("powersave".to_owned()), Some("not seen: no cpufreq".to_owned())),
                ("options".to_owned(), Some("rw, noatime".to_owned()), Some("rw".to_owned()))
            ]
        );
    }

    #[test]
    fn items_with_the_same_name_are_kept_apart() {
        let named = |size: u64| json!({"name": "x", "size": size});
        let found = diff(json!([named(1), named(2)]), json!([named(1), named(3)]));
        assert_eq!(found, [("x#2.size".to_owned(), Some("2".to_owned()), Some("3".to_owned()))]);
    }
}
