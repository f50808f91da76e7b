//! Attributes, with the values that they have in a scope.

use crate::filebench::FilebenchUsageError;
use crate::filebench::lex::Place;
use crate::filebench::script::{Attributes, Value};
use crate::filebench::variables::{Locals, Variables};
use plumb_workload::program::Amount;

/// Attributes of an entity, and the variables that their values may name.
pub(super) struct ScopedAttributes<'a> {
    pub(super) attributes: &'a Attributes,
    pub(super) variables: &'a Variables,
    pub(super) locals: &'a Locals,
}

impl ScopedAttributes<'_> {
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.attributes.get(name).map(|attribute| &attribute.value)
    }

    pub(super) fn place(&self, name: &str) -> Place {
        self.attributes.get(name).map_or(self.attributes.place, |attribute| attribute.place)
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>, FilebenchUsageError> {
        self.value(name).map(|value| self.variables.text(value, self.locals)).transpose()
    }

    pub(super) fn name(&self) -> Result<String, FilebenchUsageError> {
        let name = self.text("name")?.filter(|name| !name.is_empty());
        name.ok_or_else(|| FilebenchUsageError::at(self.attributes.place, "it has no name").help("add `name=…`"))
    }

    pub(super) fn amount(&self, name: &str) -> Result<Option<Amount>, FilebenchUsageError> {
        self.value(name).map(|value| self.variables.amount(value, self.locals)).transpose()
    }

    pub(super) fn integer(&self, name: &str, usual: u64) -> Result<u64, FilebenchUsageError> {
        self.value(name).map_or(Ok(usual), |value| self.variables.integer(value, self.locals))
    }

    pub(super) fn boolean(&self, name: &str) -> Result<bool, FilebenchUsageError> {
        self.value(name).map_or(Ok(false), |value| self.variables.boolean(value, self.locals))
    }

    /// Returns a number that must fit the type.
    pub(super) fn narrow<T: TryFrom<u64>>(&self, name: &str, usual: u64) -> Result<T, FilebenchUsageError> {
        let number = self.integer(name, usual)?;
        T::try_from(number)
            .map_err(|_| FilebenchUsageError::at(self.place(name), format!("`{name}={number}` is too large")))
    }
}
