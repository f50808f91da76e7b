//! Options with a fixed list of keywords. Each list exists once, for both the table and the enum.

/// Maps the keywords of an option to the variants of an enum: one of the workload crate (`for`), or one declared here.
/// The word after `nothing` means no value.
macro_rules! words {
    (for $name:ident $(, nothing $nothing:literal)?: $($variant:ident = $first:literal $(| $other:literal)*),+ $(,)?) => {
        words! { @impl $name $(, nothing $nothing)?: $($variant = $first $(| $other)*),+ }
    };
    (@impl $name:ident: $($variant:ident = $first:literal $(| $other:literal)*),+) => {
        impl Word for $name {
            const WORDS: &[&str] = &[$($first),+ $($(, $other)*)+];
            const FIRST: $name = [$($name::$variant),+][0];

            fn from_keyword(word: &str) -> Option<$name> {
                match word {
                    $($first $(| $other)* => Some($name::$variant),)+
                    _ => None,
                }
            }
        }
    };
    (@impl $name:ident, nothing $nothing:literal: $($variant:ident = $first:literal $(| $other:literal)*),+) => {
        impl Word for Option<$name> {
            const WORDS: &[&str] = &[$nothing, $($first),+ $($(, $other)*)+];
            const FIRST: Option<$name> = None;

            fn from_keyword(word: &str) -> Option<Option<$name>> {
                match word {
                    $nothing => Some(None),
                    $($first $(| $other)* => Some(Some($name::$variant)),)+
                    _ => None,
                }
            }
        }
    };
    ($(#[$doc:meta])* $name:ident:
     $($(#[$word_doc:meta])* $variant:ident = $first:literal $(| $other:literal)*),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[$word_doc])* $variant),+
        }

        words! { @impl $name: $($variant = $first $(| $other)*),+ }
    };
}

pub(super) use words;
