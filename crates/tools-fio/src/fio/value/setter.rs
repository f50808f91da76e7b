//! Setters, which store parsed values in the fields of a job. A later value replaces an earlier
//! one, unless the types here say otherwise.

use super::slots::Scalar;
use super::syntax::{Choice, Floats, OneOf, Plain, Range, SomeOf, Syntax, ThreeRanges, ThreeSlots, TwoSlots, Word};
use super::{Between, PerDirection, ReadWrite};

/// The value that a [`Setter`] parses.
pub type ValueOf<S> = <<S as Setter>::Syntax as Syntax>::Value;

/// Sets a field to the value of an option.
pub trait Setter: Copy + Send + Sync + 'static {
    type Syntax: Syntax;
    type Field: 'static;

    fn syntax(&self) -> Self::Syntax;

    /// Returns the field's value if neither the job nor the table gives one.
    fn fallback(&self) -> Self::Field;

    fn set(&self, field: &mut Self::Field, value: ValueOf<Self>);
}

/// A syntax whose value is stored as it is.
pub(crate) trait HasFallback: Syntax {
    /// Returns the value if neither the job nor the table gives one.
    fn fallback(&self) -> Self::Value;
}

impl<S: HasFallback> Setter for S {
    type Syntax = S;
    type Field = S::Value;

    fn syntax(&self) -> S {
        *self
    }

    fn fallback(&self) -> S::Value {
        HasFallback::fallback(self)
    }

    fn set(&self, field: &mut S::Value, value: S::Value) {
        *field = value;
    }
}

impl<S: Scalar> HasFallback for S {
    fn fallback(&self) -> S::Value {
        S::Value::default()
    }
}

impl<S: Scalar> HasFallback for Range<S> {
    fn fallback(&self) -> Between<S::Value> {
        Between { low: S::Value::default(), high: S::Value::default() }
    }
}

impl HasFallback for Floats {
    fn fallback(&self) -> Vec<f64> {
        Vec::new()
    }
}

impl HasFallback for OneOf {
    fn fallback(&self) -> &'static str {
        self.0.first().copied().unwrap_or_default()
    }
}

impl HasFallback for SomeOf {
    fn fallback(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

impl<W: Word> HasFallback for Choice<W> {
    fn fallback(&self) -> W {
        W::FIRST
    }
}

impl<T: Clone + Default + Send + Sync + 'static> HasFallback for Plain<T> {
    fn fallback(&self) -> T {
        T::default()
    }
}

/// `None` until the option is given.
#[derive(Clone, Copy)]
pub struct Maybe<S>(pub S);

impl<S: Syntax> Setter for Maybe<S> {
    type Syntax = S;
    type Field = Option<S::Value>;

    fn syntax(&self) -> S {
        self.0
    }

    fn fallback(&self) -> Option<S::Value> {
        None
    }

    fn set(&self, field: &mut Option<S::Value>, value: S::Value) {
        *field = Some(value);
    }
}

/// `None` until the option is given; 0 means `None`.
#[derive(Clone, Copy)]
pub struct UnlessZero<S>(pub S);

impl<S: Syntax<Value: Default + PartialEq>> Setter for UnlessZero<S> {
    type Syntax = S;
    type Field = Option<S::Value>;

    fn syntax(&self) -> S {
        self.0
    }

    fn fallback(&self) -> Option<S::Value> {
        None
    }

    fn set(&self, field: &mut Option<S::Value>, value: S::Value) {
        *field = unless_zero(value);
    }
}

fn unless_zero<T: Default + PartialEq>(value: T) -> Option<T> {
    Some(value).filter(|value| *value != T::default())
}

/// Stores the result of a function of the value.
pub struct Map<S: Syntax, T>(pub S, pub fn(S::Value) -> T);

impl<S: Syntax, T> Clone for Map<S, T> {
    fn clone(&self) -> Map<S, T> {
        *self
    }
}

impl<S: Syntax, T> Copy for Map<S, T> {}

impl<S: HasFallback, T: 'static> Setter for Map<S, T> {
    type Syntax = S;
    type Field = T;

    fn syntax(&self) -> S {
        self.0
    }

    fn fallback(&self) -> T {
        (self.1)(HasFallback::fallback(&self.0))
    }

    fn set(&self, field: &mut T, value: S::Value) {
        *field = (self.1)(value);
    }
}

/// Values for reads, writes and trims; slots that a text leaves open keep their value.
#[derive(Clone, Copy)]
pub struct Each<S>(pub S);

impl<S: Scalar> Setter for Each<S> {
    type Syntax = ThreeSlots<S>;
    type Field = PerDirection<S::Value>;

    fn syntax(&self) -> ThreeSlots<S> {
        ThreeSlots(self.0)
    }

    fn fallback(&self) -> PerDirection<S::Value> {
        PerDirection::default()
    }

    fn set(&self, field: &mut PerDirection<S::Value>, value: PerDirection<Option<S::Value>>) {
        *field = value.or(*field);
    }
}

/// Like [`Each`]; a slot is `None` until it is given, and 0 means `None`.
#[derive(Clone, Copy)]
pub struct EachUnlessZero<S>(pub S);

impl<S: Scalar> Setter for EachUnlessZero<S> {
    type Syntax = ThreeSlots<S>;
    type Field = PerDirection<Option<S::Value>>;

    fn syntax(&self) -> ThreeSlots<S> {
        ThreeSlots(self.0)
    }

    fn fallback(&self) -> PerDirection<Option<S::Value>> {
        PerDirection::default()
    }

    fn set(&self, field: &mut PerDirection<Option<S::Value>>, value: PerDirection<Option<S::Value>>) {
        *field = value.map(|slot| slot.map(unless_zero)).or(*field);
    }
}

/// Ranges of bytes for reads, writes and trims; slots that a text leaves open keep their value.
#[derive(Clone, Copy)]
pub struct EachRange;

impl Setter for EachRange {
    type Syntax = ThreeRanges;
    type Field = PerDirection<Option<Between<u64>>>;

    fn syntax(&self) -> ThreeRanges {
        ThreeRanges
    }

    fn fallback(&self) -> PerDirection<Option<Between<u64>>> {
        PerDirection::default()
    }

    fn set(&self, field: &mut PerDirection<Option<Between<u64>>>, value: PerDirection<Option<Between<u64>>>) {
        *field = value.map(|slot| slot.map(Some)).or(*field);
    }
}

/// A value for reads and one for writes; a slot that a text leaves open keeps its value.
#[derive(Clone, Copy)]
pub struct Pair<S>(pub S);

impl<S: Scalar> Setter for Pair<S> {
    type Syntax = TwoSlots<S>;
    type Field = ReadWrite<Option<S::Value>>;

    fn syntax(&self) -> TwoSlots<S> {
        TwoSlots(self.0)
    }

    fn fallback(&self) -> ReadWrite<Option<S::Value>> {
        ReadWrite::default()
    }

    fn set(&self, field: &mut ReadWrite<Option<S::Value>>, value: ReadWrite<Option<S::Value>>) {
        *field = ReadWrite { read: value.read.or(field.read), write: value.write.or(field.write) };
    }
}
