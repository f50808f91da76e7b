//! A row of the table, and its binding to a field of a job.
//!
//! [`options!`] takes the list of a group of options, and makes from each line the row, the field that it sets with the
//! row's sentence as its documentation, and the field's default. A row whose field does not exist, or is of another
//! type than the row's value, does not compile; a field without a row cannot be written.

use super::spec::{OptionSpec, Precedence, UsageTier};
use crate::fio::job::FioJob;
use crate::fio::value::kind::Kind;
use crate::fio::value::syntax::Syntax;
use crate::fio::value::{Compat, Setter, ValueError, ValueReading};
use plumb_tools::support::Support;
use std::fmt;

/// The name of an option of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionName(&'static str);

impl OptionName {
    /// The name as text.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for OptionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// A row of the table, before it is bound to a field.
#[derive(Clone, Copy)]
pub struct Row<S> {
    name: &'static str,
    alias: Option<&'static str>,
    default: Option<&'static str>,
    tier: UsageTier,
    engines: &'static [&'static str],
    order: Precedence,
    support: Support,
    doc: &'static str,
    setter: S,
}

/// A row of the table, to be completed.
pub(super) const fn row<S>(name: &'static str, tier: UsageTier, setter: S) -> Row<S> {
    Row {
        name,
        alias: None,
        default: None,
        tier,
        engines: &[],
        order: Precedence::AsSaid,
        support: Support::Works,
        doc: "",
        setter,
    }
}

/// Completes a row.
impl<S: Copy> Row<S> {
    pub(super) const fn or(mut self, alias: &'static str) -> Row<S> {
        self.alias = Some(alias);
        self
    }

    pub(super) const fn default(mut self, text: &'static str) -> Row<S> {
        self.default = Some(text);
        self
    }

    pub(super) const fn first(mut self) -> Row<S> {
        self.order = Precedence::First;
        self
    }

    pub(super) const fn last(mut self) -> Row<S> {
        self.order = Precedence::Last;
        self
    }

    pub(super) const fn only(mut self, engines: &'static [&'static str]) -> Row<S> {
        self.engines = engines;
        self
    }

    pub(super) const fn doc(mut self, sentence: &'static str) -> Row<S> {
        self.doc = sentence.trim_ascii_start();
        self
    }

    pub(super) const fn ignored(mut self, why: &'static str) -> Row<S> {
        self.support = Support::Ignored(why);
        self
    }

    pub(super) const fn not_yet(mut self, why: &'static str) -> Row<S> {
        self.support = Support::NotYet(why);
        self
    }

    pub(super) const fn never(mut self, why: &'static str) -> Row<S> {
        self.support = Support::Never(why);
        self
    }

    /// Binds the row to what reads its text and sets its field.
    pub(super) const fn bind(self, reader: &'static dyn OptionReader) -> OptionSpec {
        OptionSpec {
            name: self.name,
            alias: self.alias,
            default: self.default,
            tier: self.tier,
            engines: self.engines,
            order: self.order,
            support: self.support,
            doc: self.doc,
            reader,
        }
    }
}

impl<S: Setter> Row<S> {
    /// Its name.
    pub const fn name(&self) -> OptionName {
        OptionName(self.name)
    }

    /// Whether it is the row of this option.
    pub fn is(&self, option: &OptionSpec) -> bool {
        self.name == option.name
    }

    /// The field of a job that does not say the option.
    pub(super) fn initial(&self) -> S::Field {
        let mut field = self.setter.unsaid();
        if let Some(text) = self.default {
            let mut doubts = Vec::new();
            let mut reading = ValueReading { compat: Compat::Meant, kb_base: 1_024, doubts: &mut doubts };
            let value = self.setter.syntax().read(Some(text), &mut reading);
            self.setter.set(&mut field, value.expect("a test reads every default of the table"));
        }
        field
    }

    /// The field of a job that says the option with this text and nothing else.
    pub(in crate::fio) fn value(
        &self,
        text: Option<&str>,
        reading: &mut ValueReading<'_>,
    ) -> Result<S::Field, ValueError> {
        let value = self.setter.syntax().read(text, reading)?;
        let mut field = self.initial();
        self.setter.set(&mut field, value);
        Ok(field)
    }
}

/// The value of an option, read and ready to be set in any number of jobs.
pub struct Setting(Box<dyn Fn(&mut FioJob) + Send + Sync>);

impl Setting {
    /// Sets the field of a job.
    pub fn apply(&self, job: &mut FioJob) {
        (self.0)(job);
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Setting")
    }
}

/// A row and its field, whose types fit: the type of the value is no longer needed.
pub(super) trait OptionReader: Sync {
    /// The kind of value.
    fn kind(&self) -> Kind;

    /// Reads a text.
    fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<Setting, ValueError>;
}

/// A row that sets a field.
pub(super) struct Bound<S: Setter> {
    pub row: Row<S>,
    pub field: fn(&mut FioJob) -> &mut S::Field,
}

impl<S: Setter> OptionReader for Bound<S> {
    fn kind(&self) -> Kind {
        self.row.setter.syntax().kind()
    }

    fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<Setting, ValueError> {
        let (setter, field) = (self.row.setter, self.field);
        let value = setter.syntax().read(text, reading)?;
        Ok(Setting(Box::new(move |job| setter.set(field(job), value.clone()))))
    }
}

/// A row that sets nothing: the option has no effect, is refused, or is known by its text alone.
pub(super) struct Unbound<S>(pub Row<S>);

impl<S: Setter> OptionReader for Unbound<S> {
    fn kind(&self) -> Kind {
        self.0.setter.syntax().kind()
    }

    fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<Setting, ValueError> {
        self.0.setter.syntax().read(text, reading)?;
        Ok(Setting(Box::new(|_| {})))
    }
}

/// Rows that set nothing.
macro_rules! unbound {
    ($($row:expr),* $(,)?) => {
        &[$($row.bind(const { &$crate::fio::options::row::Unbound($row) })),*]
    };
}

/// A group of options: the fields of a struct, each with its row of the table.
///
/// ```text
/// options! {
///     /// What the fields are about.
///     pub struct ThinkOptions in pace.think {        // the place of the struct in a `FioJob`
///         /// Number of ops between pauses.           // the sentence of the option, and the field's documentation
///         blocks: u32 = row("thinktime_blocks", Two, Count(ANY)).default("1");
///
///         /// Percentage of reads.
///         read: u8 = row("reads", One, PERCENT),
///             or
///             /// Percentage of writes.            // another option that sets the same field
///             row("writes", One, Map(PERCENT, |writes| 100 - writes));
///
///         _ = row("old", Gone, FLAG).ignored("…");   // an option without a field
///     } with {
///         nested: NestedOptions,                     // another group, inside of this one
///     }
/// }
/// ```
macro_rules! options {
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident in $part:ident $(. $inside:ident)* {
            $(_ = $leading:expr;)*
            $(
                $(#[doc = $doc:literal])+
                $field:ident: $type:ty = $row:expr $(, or $(#[doc = $other_doc:literal])+ $other:expr)*;
                $(_ = $following:expr;)*
            )+
        } $(with {
            $($(#[doc = $nested_doc:literal])+ $nested:ident: $nested_type:ty,)+
        })?
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])+ $($(#[doc = $other_doc])+)* pub $field: $type,)+
            $($($(#[doc = $nested_doc])+ pub $nested: $nested_type,)+)?
        }

        impl $name {
            /// The struct of a job, for a setting to change.
            fn of_job(job: &mut $crate::fio::job::FioJob) -> &mut $name {
                let part = std::sync::Arc::make_mut(&mut job.$part);
                &mut (*part)$(.$inside)*
            }

            pub(super) const ROWS: &[$crate::fio::options::OptionSpec] = &[
                $($leading.bind(const { &$crate::fio::options::row::Unbound($leading) }),)*
                $(
                    $row.doc(concat!($($doc),+)).bind(const {
                        &$crate::fio::options::row::Bound { row: $row, field: |job| &mut $name::of_job(job).$field }
                    }),
                    $(
                        $other.doc(concat!($($other_doc),+)).bind(const {
                            &$crate::fio::options::row::Bound { row: $other, field: |job| &mut $name::of_job(job).$field }
                        }),
                    )*
                    $($following.bind(const { &$crate::fio::options::row::Unbound($following) }),)*
                )+
            ];
        }

        /// The defaults of the table.
        impl Default for $name {
            fn default() -> $name {
                $name {
                    $($field: $row.initial(),)+
                    $($($nested: <$nested_type>::default(),)+)?
                }
            }
        }
    };
}

pub(super) use {options, unbound};
