//! Sets the field of an option to its value: a later value replaces an earlier one, unless the types here say otherwise.

use super::slots::Scalar;
use super::syntax::{Choice, Floats, OneOf, Plain, Range, SomeOf, Syntax, ThreeRanges, ThreeSlots, TwoSlots, Word};
use super::{Between, PerDirection, ReadWrite};

/// The value that a [`Setter`] reads.
pub type ValueOf<S> = <<S as Setter>::Syntax as Syntax>::Value;

/// Sets a field to the value of an option.
pub trait Setter: Copy + Send + Sync + 'static {
    /// The syntax of the option.
    type Syntax: Syntax;
    /// The type of the field.
    type Field: 'static;

    /// The syntax of the option.
    fn syntax(&self) -> Self::Syntax;

    /// The field if nothing is said and the table names no default.
    fn unsaid(&self) -> Self::Field;

    /// Sets the field.
    fn set(&self, field: &mut Self::Field, value: ValueOf<Self>);
}

/// A syntax whose value is the field itself.
pub(crate) trait Unsaid: Syntax {
    /// The value if nothing is said and the table names no default.
    fn unsaid(&self) -> Self::Value;
}

impl<S: Unsaid> Setter for S {
    type Syntax = S;
    type Field = S::Value;

    fn syntax(&self) -> S {
        *self
    }

    fn unsaid(&self) -> S::Value {
        Unsaid::unsaid(self)
    }

    fn set(&self, field: &mut S::Value, value: S::Value) {
        *field = value;
    }
}

impl<S: Scalar> Unsaid for S {
    fn unsaid(&self) -> S::Value {
        S::Value::default()
    }
}

impl<S: Scalar> Unsaid for Range<S> {
    fn unsaid(&self) -> Between<S::Value> {
        Between { low: S::Value::default(), high: S::Value::default() }
    }
}

impl Unsaid for Floats {
    fn unsaid(&self) -> Vec<f64> {
        Vec::new()
    }
}

impl Unsaid for OneOf {
    fn unsaid(&self) -> &'static str {
        self.0.first().copied().unwrap_or_default()
    }
}

impl Unsaid for SomeOf {
    fn unsaid(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

impl<W: Word> Unsaid for Choice<W> {
    fn unsaid(&self) -> W {
        W::FIRST
    }
}

impl<T: Clone + Default + Send + Sync + 'static> Unsaid for Plain<T> {
    fn unsaid(&self) -> T {
        T::default()
    }
}

/// `None` until it is said.
#[derive(Clone, Copy)]
pub struct Maybe<S>(pub S);

impl<S: Syntax> Setter for Maybe<S> {
    type Syntax = S;
    type Field = Option<S::Value>;

    fn syntax(&self) -> S {
        self.0
    }

    fn unsaid(&self) -> Option<S::Value> {
        None
    }

    fn set(&self, field: &mut Option<S::Value>, value: S::Value) {
        *field = Some(value);
    }
}

/// `None` at 0, which means nothing.
#[derive(Clone, Copy)]
pub struct UnlessZero<S>(pub S);

impl<S: Syntax<Value: Default + PartialEq>> Setter for UnlessZero<S> {
    type Syntax = S;
    type Field = Option<S::Value>;

    fn syntax(&self) -> S {
        self.0
    }

    fn unsaid(&self) -> Option<S::Value> {
        None
    }

    fn set(&self, field: &mut Option<S::Value>, value: S::Value) {
        *field = unless_zero(value);
    }
}

fn unless_zero<T: Default + PartialEq>(value: T) -> Option<T> {
    Some(value).filter(|value| *value != T::default())
}

/// Something that follows from the value.
pub struct Map<S: Syntax, T>(pub S, pub fn(S::Value) -> T);

impl<S: Syntax, T> Clone for Map<S, T> {
    fn clone(&self) -> Map<S, T> {
        *self
    }
}

impl<S: Syntax, T> Copy for Map<S, T> {}

impl<S: Unsaid, T: 'static> Setter for Map<S, T> {
    type Syntax = S;
    type Field = T;

    fn syntax(&self) -> S {
        self.0
    }

    fn unsaid(&self) -> T {
        (self.1)(Unsaid::unsaid(&self.0))
    }

    fn set(&self, field: &mut T, value: S::Value) {
        *field = (self.1)(value);
    }
}

/// Values for reads, writes and trims; slots that a text leaves open keep what they have.
#[derive(Clone, Copy)]
pub struct Each<S>(pub S);

impl<S: Scalar> Setter for Each<S> {
    type Syntax = ThreeSlots<S>;
    type Field = PerDirection<S::Value>;

    fn syntax(&self) -> ThreeSlots<S> {
        ThreeSlots(self.0)
    }

    fn unsaid(&self) -> PerDirection<S::Value> {
        PerDirection::default()
    }

    fn set(&self, field: &mut PerDirection<S::Value>, value: PerDirection<Option<S::Value>>) {
        *field = value.or(*field);
    }
}

/// The same; a slot is `None` until it is said, and at 0, which means nothing.
#[derive(Clone, Copy)]
pub struct EachUnlessZero<S>(pub S);

impl<S: Scalar> Setter for EachUnlessZero<S> {
    type Syntax = ThreeSlots<S>;
    type Field = PerDirection<Option<S::Value>>;

    fn syntax(&self) -> ThreeSlots<S> {
        ThreeSlots(self.0)
    }

    fn unsaid(&self) -> PerDirection<Option<S::Value>> {
        PerDirection::default()
    }

    fn set(&self, field: &mut PerDirection<Option<S::Value>>, value: PerDirection<Option<S::Value>>) {
        *field = value.map(|slot| slot.map(unless_zero)).or(*field);
    }
}

/// Ranges of bytes for reads, writes and trims; slots that a text leaves open keep what they have.
#[derive(Clone, Copy)]
pub struct EachRange;

impl Setter for EachRange {
    type Syntax = ThreeRanges;
    type Field = PerDirection<Option<Between<u64>>>;

    fn syntax(&self) -> ThreeRanges {
        ThreeRanges
    }

    fn unsaid(&self) -> PerDirection<Option<Between<u64>>> {
        PerDirection::default()
    }

    fn set(&self, field: &mut PerDirection<Option<Between<u64>>>, value: PerDirection<Option<Between<u64>>>) {
        *field = value.map(|slot| slot.map(Some)).or(*field);
    }
}

/// A value for reads and one for writes; a slot that a text leaves open keeps what it has.
#[derive(Clone, Copy)]
pub struct Pair<S>(pub S);

impl<S: Scalar> Setter for Pair<S> {
    type Syntax = TwoSlots<S>;
    type Field = ReadWrite<Option<S::Value>>;

    fn syntax(&self) -> TwoSlots<S> {
        TwoSlots(self.0)
    }

    fn unsaid(&self) -> ReadWrite<Option<S::Value>> {
        ReadWrite::default()
    }

    fn set(&self, field: &mut ReadWrite<Option<S::Value>>, value: ReadWrite<Option<S::Value>>) {
        *field = ReadWrite { read: value.read.or(field.read), write: value.write.or(field.write) };
    }
}
