//! The JSON Schema of study files.

use super::form::StudyForm;
use serde_json::{Value, json};

/// Returns the JSON Schema (2020-12) of a study file. Editors use it to complete and check TOML.
pub fn schema() -> Value {
    let mut schema = Value::from(schemars::schema_for!(StudyForm));
    if let Some(root) = schema.as_object_mut() {
        root.insert("title".to_owned(), json!("Plumb study"));
    }
    schema
}
