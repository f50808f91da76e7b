//! Values that a study file may write in several ways: interpolated ones (`"${level}"`) arrive as text.

use plumb_document::{Scalar, read_scalar};
#[cfg(feature = "schema")]
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
#[cfg(feature = "schema")]
use std::borrow::Cow;
use std::fmt;

/// A whole number, written as `4` or `"4"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u64);

/// A word: text, or a number or boolean as text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Word(pub String);

/// One or several names of devices or directories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected a name such as `@disks`, a path, or a list of them")]
pub enum Names {
    /// One name, which may refer to several devices (`@expendable`).
    One(String),
    /// A list of names.
    Several(Vec<String>),
}

impl Names {
    /// Returns each name as written.
    pub fn as_slice(&self) -> &[String] {
        match self {
            Names::One(name) => std::slice::from_ref(name),
            Names::Several(names) => names,
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Word {
    fn from(text: &str) -> Word {
        Word(text.to_owned())
    }
}

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Count, D::Error> {
        read_scalar(deserializer, "a whole number", |scalar| {
            let number = match scalar {
                Scalar::Integer(number) => u64::try_from(number).ok(),
                Scalar::Text(text) => text.trim().parse().ok(),
                Scalar::Bool(_) | Scalar::Float(_) => None,
            };
            Ok(number.map(Count))
        })
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
        read_scalar(deserializer, "a word or a number", |scalar| {
            Ok(Some(Word(match scalar {
                Scalar::Text(text) => text.to_owned(),
                Scalar::Integer(number) => number.to_string(),
                // Keep the decimal point: `1.0` is a version of a superblock, and `1` is a different word.
                Scalar::Float(number) => format!("{number:?}"),
                Scalar::Bool(is) => is.to_string(),
            })))
        })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Count {
    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"], "minimum": 0, "pattern": "^[0-9]+$" })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Word {
    fn schema_name() -> Cow<'static, str> {
        "Word".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolated_values_parse_like_written_ones() {
        assert_eq!(plumb_document::json::from_str::<Vec<Count>>(r#"[4, "4"]"#).unwrap(), [Count(4), Count(4)]);
        let words: Vec<Word> = plumb_document::json::from_str(r#"[4, "4", true, 0.5, 1.0]"#).unwrap();
        assert_eq!(words, ["4", "4", "true", "0.5", "1.0"].map(Word::from));
        assert!(plumb_document::json::from_str::<Count>("-1").is_err());
        assert!(
            plumb_document::json::from_str::<Count>("\"four\"").unwrap_err().to_string().contains("a whole number")
        );
    }

    #[test]
    fn one_name_or_several() {
        let names: Vec<Names> = plumb_document::json::from_str(r#"["@disks", ["/dev/a", "/dev/b"]]"#).unwrap();
        assert_eq!(names[0].as_slice(), ["@disks"]);
        assert_eq!(names[1].as_slice(), ["/dev/a", "/dev/b"]);
    }
}
