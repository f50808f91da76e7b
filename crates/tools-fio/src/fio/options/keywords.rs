//! Options with a fixed list of values: each list exists once, for both the table and the type of the values.

use super::values::OptionValues;

/// The values of one option, as a type.
pub(in crate::fio) trait Word: Sized {
    /// The option, by its name in the table.
    const OPTION: &str;

    /// Its values, for the table.
    const WORDS: &[&str];

    /// The given value or the table's default; `None` if there is neither.
    fn maybe(values: &OptionValues) -> Option<Self>;

    /// The same for options that have a default.
    fn of(values: &OptionValues) -> Self {
        Self::maybe(values).unwrap_or_else(|| panic!("{} has no default", Self::OPTION))
    }
}

/// The type of an option's values: one of the workload's (`for`), or an enum declared here. The value after `nothing`
/// stands for no value.
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
