//! A set whose members lie in one vector, in order.

use std::borrow::Borrow;
use std::fmt;
use std::{slice, vec};

/// A set of few members, used as a [`BTreeSet`](std::collections::BTreeSet) is. What its operations cost is as for
/// [`SortedMap`](crate::SortedMap).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedSet<T> {
    members: Vec<T>,
}

impl<T> SortedSet<T> {
    /// Without members.
    pub const fn new() -> SortedSet<T> {
        SortedSet { members: Vec::new() }
    }

    /// How many members there are.
    pub const fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The members, in order.
    pub fn iter(&self) -> slice::Iter<'_, T> {
        self.members.iter()
    }

    /// The least member.
    pub fn first(&self) -> Option<&T> {
        self.members.first()
    }

    /// The greatest member.
    pub fn last(&self) -> Option<&T> {
        self.members.last()
    }

    /// Keeps those members of which `keep` says so.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.members.retain(keep);
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        self.members.clear();
    }
}

impl<T: Ord> SortedSet<T> {
    fn place<Q: Ord + ?Sized>(&self, member: &Q) -> Result<usize, usize>
    where
        T: Borrow<Q>,
    {
        self.members.binary_search_by(|known| known.borrow().cmp(member))
    }

    /// Whether it is a member.
    pub fn contains<Q: Ord + ?Sized>(&self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.place(member).is_ok()
    }

    /// Adds a member; whether it was none.
    pub fn insert(&mut self, member: T) -> bool {
        let place = match self.members.last() {
            Some(last) if *last >= member => self.place(&member),
            _ => Err(self.members.len()),
        };
        let Err(place) = place else { return false };
        self.members.insert(place, member);
        true
    }

    /// Removes a member; whether it was one.
    pub fn remove<Q: Ord + ?Sized>(&mut self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.place(member).map(|place| self.members.remove(place)).is_ok()
    }

    /// The members that are in both.
    pub fn intersection<'a>(&'a self, other: &'a SortedSet<T>) -> impl Iterator<Item = &'a T> {
        self.iter().filter(|member| other.contains(*member))
    }

    /// Whether no member is in both.
    pub fn is_disjoint(&self, other: &SortedSet<T>) -> bool {
        self.intersection(other).next().is_none()
    }
}

impl<T> Default for SortedSet<T> {
    fn default() -> SortedSet<T> {
        SortedSet::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for SortedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, members: I) {
        for member in members {
            self.insert(member);
        }
    }
}

impl<'a, T: Ord + Copy> Extend<&'a T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, members: I) {
        for member in members {
            self.insert(*member);
        }
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(members: I) -> SortedSet<T> {
        let mut set = SortedSet::new();
        set.extend(members);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(members: [T; N]) -> SortedSet<T> {
        members.into_iter().collect()
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> vec::IntoIter<T> {
        self.members.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> slice::Iter<'a, T> {
        self.members.iter()
    }
}

/// For the defaults in schemas.
#[cfg(feature = "schema")]
impl<T: serde::Serialize> serde::Serialize for SortedSet<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> schemars::JsonSchema for SortedSet<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        std::collections::BTreeSet::<T>::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        std::collections::BTreeSet::<T>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Whatever is added and removed, it holds and answers what the standard library's set does.
        #[test]
        fn it_is_a_set(acts in prop::collection::vec((any::<bool>(), 0..9_u8), 0..40), other in prop::collection::vec(0..9_u8, 0..4)) {
            let (mut ours, mut theirs) = (SortedSet::new(), BTreeSet::new());
            for (adds, member) in acts {
                match adds {
                    true => prop_assert_eq!(ours.insert(member), theirs.insert(member)),
                    false => prop_assert_eq!(ours.remove(&member), theirs.remove(&member)),
                }
                prop_assert_eq!(ours.first(), theirs.first());
                prop_assert_eq!(ours.last(), theirs.last());
                prop_assert!(ours.iter().eq(&theirs));
            }
            let (of_ours, of_theirs): (SortedSet<u8>, BTreeSet<u8>) = (other.iter().copied().collect(), other.into_iter().collect());
            prop_assert!(ours.intersection(&of_ours).eq(theirs.intersection(&of_theirs)));
            prop_assert_eq!(ours.is_disjoint(&of_ours), theirs.is_disjoint(&of_theirs));
        }
    }
}
