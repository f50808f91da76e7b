//! A row of the table, and its binding to a field of a group of options.
//!
//! Each line of a group in [`options!`] declares the row, the field that it sets, the field's documentation and its
//! default. A row with a wrong field or type does not compile, and every field has a row. A group does not know the job
//! that contains it; [`HasGroup`] finds the group in a job.

use super::spec::{OptionSpec, Precedence, UsageTier};
use crate::fio::value::kind::Kind;
use crate::fio::value::syntax::Syntax;
use crate::fio::value::{Compat, Setter, ValueError, ValueReading};
use plumb_tools::support::Support;
use std::fmt;

/// The name of an option of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionName(&'static str);

impl OptionName {
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

/// Starts a row of the table.
pub(super) const fn row<S>(name: &'static str, tier: UsageTier, setter: S) -> Row<S> {
    Row {
        name,
        alias: None,
        default: None,
        tier,
        engines: &[],
        order: Precedence::AsGiven,
        support: Support::Works,
        doc: "",
        setter,
    }
}

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

    /// Binds the row to the parser of its text.
    pub(super) const fn bind<J>(self, reader: &'static dyn OptionReader<J>) -> OptionSpec<J> {
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
    pub const fn name(&self) -> OptionName {
        OptionName(self.name)
    }

    /// Whether this is the row of an option.
    pub fn is<J>(&self, option: &OptionSpec<J>) -> bool {
        self.name == option.name
    }

    /// Returns the field's value in a job that does not give the option.
    pub(super) fn initial(&self) -> S::Field {
        let mut field = self.setter.fallback();
        if let Some(text) = self.default {
            let mut doubts = Vec::new();
            let mut reading = ValueReading { compat: Compat::Meant, kb_base: 1_024, doubts: &mut doubts };
            let value = self.setter.syntax().read(Some(text), &mut reading);
            self.setter.set(&mut field, value.expect("a test reads every default of the table"));
        }
        field
    }

    /// Returns the field's value in a job that gives only this option, with this text.
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

/// A job that contains the option group `G`.
pub trait HasGroup<G>: 'static {
    /// Returns the group for changing.
    fn group_mut(&mut self) -> &mut G;
}

/// The parsed value of an option, to be applied to any number of jobs.
pub struct Setting<J>(Box<dyn Fn(&mut J) + Send + Sync>);

impl<J> Setting<J> {
    /// Sets the field in a job.
    pub fn apply(&self, job: &mut J) {
        (self.0)(job);
    }
}

impl<J> fmt::Debug for Setting<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Setting")
    }
}

/// A row and its field, with the type of their value erased.
pub(super) trait OptionReader<J>: Sync {
    /// Returns the kind of the value.
    fn kind(&self) -> Kind;

    /// Parses the text of an option.
    fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<Setting<J>, ValueError>;
}

/// A row that sets a field of the group `G`.
pub(super) struct Bound<S: Setter, G> {
    pub row: Row<S>,
    pub field: fn(&mut G) -> &mut S::Field,
}

impl<S: Setter, G: 'static, J: HasGroup<G>> OptionReader<J> for Bound<S, G> {
    fn kind(&self) -> Kind {
        self.row.setter.syntax().kind()
    }

    fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<Setting<J>, ValueError> {
        let (setter, field) = (self.row.setter, self.field);
        let value = setter.syntax().read(text, reading)?;
        Ok(Setting(Box::new(move |job: &mut J| setter.set(field(job.group_mut()), value.clone()))))
    }
}

/// A row that sets nothing: the option has no effect, is refused, or is handled elsewhere.
pub(super) struct Unbound<S>(pub Row<S>);

impl<S: Setter, J> OptionReader<J> for Unbound<S> {
    fn kind(&self) -> Kind {
        self.0.setter.syntax().kind()
    }

    fn read(&self, text: Option<&str>, reading: &mut ValueReading<'_>) -> Result<Setting<J>, ValueError> {
        self.0.setter.syntax().read(text, reading)?;
        Ok(Setting(Box::new(|_| {})))
    }
}

/// Declares rows that set nothing, for any type of job.
macro_rules! unbound {
    ($($row:expr),* $(,)?) => {
        const { &[$($row.bind(const { &$crate::fio::options::row::Unbound($row) })),*] }
    };
}

/// A group of options: the fields of a struct, each with its row of the table.
///
/// ```text
/// options! {
///     /// What the fields are about.
///     pub struct ThinkOptions {
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
        pub struct $name:ident {
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
            /// Returns the rows of the group, for a job that includes it.
            pub(super) const fn rows<J: $crate::fio::options::row::HasGroup<$name>>()
            -> &'static [$crate::fio::options::spec::OptionSpec<J>] {
                const {
                    &[
                        $($leading.bind(const { &$crate::fio::options::row::Unbound($leading) }),)*
                        $(
                            $row.doc(concat!($($doc),+)).bind(const {
                                &$crate::fio::options::row::Bound {
                                    row: $row,
                                    field: |group: &mut $name| &mut group.$field,
                                }
                            }),
                            $(
                                $other.doc(concat!($($other_doc),+)).bind(const {
                                    &$crate::fio::options::row::Bound {
                                        row: $other,
                                        field: |group: &mut $name| &mut group.$field,
                                    }
                                }),
                            )*
                            $($following.bind(const { &$crate::fio::options::row::Unbound($following) }),)*
                        )+
                    ]
                }
            }
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
