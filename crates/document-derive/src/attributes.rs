//! What `#[serde(…)]` says.

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, ExprPath, LitStr, Result, Token, Type};

/// How keys and choices are spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Spelling {
    #[default]
    AsIs,
    Kebab,
    Snake,
    Lower,
}

impl Spelling {
    fn of(word: &LitStr) -> Result<Spelling> {
        match word.value().as_str() {
            "kebab-case" => Ok(Spelling::Kebab),
            "snake_case" => Ok(Spelling::Snake),
            "lowercase" => Ok(Spelling::Lower),
            _ => Err(syn::Error::new(word.span(), "known are `kebab-case`, `snake_case` and `lowercase`")),
        }
    }

    /// Of a field, which is written with underscores.
    pub(crate) fn field(self, name: &str) -> String {
        if self == Spelling::Kebab { name.replace('_', "-") } else { name.to_owned() }
    }

    /// Of a choice, which is written with capitals.
    pub(crate) fn choice(self, name: &str) -> String {
        let between = match self {
            Spelling::AsIs => return name.to_owned(),
            Spelling::Lower => return name.to_lowercase(),
            Spelling::Kebab => '-',
            Spelling::Snake => '_',
        };
        let mut spelled = String::new();
        for (index, letter) in name.char_indices() {
            if letter.is_uppercase() && index > 0 {
                spelled.push(between);
            }
            spelled.push(letter.to_ascii_lowercase());
        }
        spelled
    }
}

/// Of a type.
#[derive(Default)]
pub(crate) struct Container {
    pub(crate) rename: Option<String>,
    pub(crate) rename_all: Spelling,
    pub(crate) rename_all_fields: Spelling,
    pub(crate) deny_unknown_fields: bool,
    pub(crate) default: bool,
    pub(crate) untagged: bool,
    pub(crate) expecting: Option<String>,
    pub(crate) try_from: Option<Type>,
    pub(crate) into: Option<Type>,
}

/// How a choice is written: `plumb-document`'s page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Style {
    Named,
    Tagged(String),
    Short(String),
    Bare(String),
}

impl Style {
    pub(crate) fn of(rename: Option<&str>) -> Style {
        let after = |mark: char| rename.and_then(|name| name.strip_prefix(mark)).map(str::to_owned);
        None.or_else(|| after('@').map(Style::Tagged))
            .or_else(|| after('=').map(Style::Short))
            .or_else(|| after('~').map(Style::Bare))
            .unwrap_or(Style::Named)
    }

    /// As `plumb_document::Style` has it.
    pub(crate) fn tokens(&self) -> TokenStream {
        match self {
            Style::Named => quote!(Named),
            Style::Tagged(key) => quote!(Tagged([#key])),
            Style::Short(bare) => quote!(Short(#bare)),
            Style::Bare(bare) => quote!(Bare(#bare)),
        }
    }
}

/// Where the value of an absent field comes from.
#[derive(Default)]
pub(crate) enum Absent {
    /// It must be there, or is of a type that may be absent.
    #[default]
    Required,
    Default,
    Made(ExprPath),
}

/// Of a field, or of a choice.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) rename: Option<String>,
    pub(crate) aliases: Vec<String>,
    pub(crate) absent: Absent,
    pub(crate) flatten: bool,
    pub(crate) skip: bool,
    pub(crate) read_with: Option<ExprPath>,
    pub(crate) left_out_if: Option<ExprPath>,
    pub(crate) write_with: Option<ExprPath>,
}

fn word(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    meta.value()?.parse()
}

fn each(attributes: &[Attribute], mut take: impl FnMut(&ParseNestedMeta<'_>) -> Result<bool>) -> Result<()> {
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        attribute.parse_nested_meta(|meta| {
            if take(&meta)? {
                return Ok(());
            }
            Err(meta.error("documents do not know this attribute"))
        })?;
    }
    Ok(())
}

impl Container {
    pub(crate) fn of(attributes: &[Attribute]) -> Result<Container> {
        let mut said = Container::default();
        each(attributes, |meta| {
            let is = |name: &str| meta.path.is_ident(name);
            if is("rename") {
                said.rename = Some(word(meta)?.value());
            } else if is("rename_all") {
                said.rename_all = Spelling::of(&word(meta)?)?;
            } else if is("rename_all_fields") {
                said.rename_all_fields = Spelling::of(&word(meta)?)?;
            } else if is("deny_unknown_fields") {
                said.deny_unknown_fields = true;
            } else if is("default") && !meta.input.peek(Token![=]) {
                said.default = true;
            } else if is("untagged") {
                said.untagged = true;
            } else if is("expecting") {
                said.expecting = Some(word(meta)?.value());
            } else if is("try_from") {
                said.try_from = Some(word(meta)?.parse()?);
            } else if is("into") {
                said.into = Some(word(meta)?.parse()?);
            } else {
                return Ok(false);
            }
            Ok(true)
        })?;
        Ok(said)
    }
}

impl Part {
    pub(crate) fn of(attributes: &[Attribute]) -> Result<Part> {
        let mut said = Part::default();
        each(attributes, |meta| {
            let is = |name: &str| meta.path.is_ident(name);
            if is("rename") {
                said.rename = Some(word(meta)?.value());
            } else if is("alias") {
                said.aliases.push(word(meta)?.value());
            } else if is("default") && meta.input.peek(Token![=]) {
                said.absent = Absent::Made(word(meta)?.parse()?);
            } else if is("default") {
                said.absent = Absent::Default;
            } else if is("flatten") {
                said.flatten = true;
            } else if is("skip") {
                said.skip = true;
            } else if is("deserialize_with") {
                said.read_with = Some(word(meta)?.parse()?);
            } else if is("skip_serializing_if") {
                said.left_out_if = Some(word(meta)?.parse()?);
            } else if is("serialize_with") {
                said.write_with = Some(word(meta)?.parse()?);
            } else {
                return Ok(false);
            }
            Ok(true)
        })?;
        Ok(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: names are spelled as serde spells them when it writes.
    #[test]
    fn names_are_spelled_as_serde_spells_them() {
        assert_eq!(Spelling::Kebab.choice("ReadOnly"), "read-only");
        assert_eq!(Spelling::Snake.choice("ReadOnly"), "read_only");
        assert_eq!(Spelling::Lower.choice("ReadOnly"), "readonly");
        assert_eq!(Spelling::AsIs.choice("ReadOnly"), "ReadOnly");
        assert_eq!(Spelling::Kebab.choice("Raid10"), "raid10");
        assert_eq!(Spelling::Kebab.field("read_only"), "read-only");
        assert_eq!(Spelling::Lower.field("read_only"), "read_only");
    }
}
