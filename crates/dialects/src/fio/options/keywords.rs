//! Options that take one word of a list: the words exist once, here for the table and for the type that they mean.

use super::values::OptionValues;

/// The words of one option, as a type.
pub(in crate::fio) trait Word: Sized {
    /// The option, by its name in the table.
    const OPTION: &str;

    /// The words that it takes, for the table.
    const WORDS: &[&str];

    /// What was said, or the table's default; nothing where there is neither.
    fn maybe(values: &OptionValues) -> Option<Self>;

    /// The same for options that have a default.
    fn of(values: &OptionValues) -> Self {
        Self::maybe(values).unwrap_or_else(|| panic!("{} has no default", Self::OPTION))
    }
}

/// What the words of one option mean: a type of the workload where it has one for them (`for`), else an enum that is
/// declared here. The word behind `nothing` means that there is no value.
macro_rules! words {
    (for $name:ident, $option:literal $(, nothing $nothing:literal)?:
     $($variant:ident = $first:literal $(| $other:literal)*),+ $(,)?) => {
        impl Word for $name {
            const OPTION: &str = $option;
            const WORDS: &[&str] = &[$($nothing,)? $($first),+ $($(, $other)*)+];

            fn maybe(values: &OptionValues) -> Option<$name> {
                match values.choice($option)? {
                    $($nothing => None,)?
                    $($first $(| $other)* => Some($name::$variant),)+
                    other => panic!("{other} is not a word of {}", $option),
                }
            }
        }
    };
    ($(#[$doc:meta])* $name:ident, $option:literal:
     $($(#[$word_doc:meta])* $variant:ident = $first:literal $(| $other:literal)*),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$word_doc])* $variant),+
        }

        words! { for $name, $option: $($variant = $first $(| $other)*),+ }
    };
}

pub(super) use words;
