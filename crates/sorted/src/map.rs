//! A map whose entries lie in one vector, in the order of their keys.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Index;
use std::{slice, vec};

/// A map of few entries, used as a [`BTreeMap`](std::collections::BTreeMap) is.
///
/// An entry behind all others is added in constant time, any other in time that grows with the map: a map that may have
/// tens of thousands of entries in any order is a `BTreeMap`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedMap<K, V> {
    entries: Vec<(K, V)>,
}

impl<K, V> SortedMap<K, V> {
    /// Without entries.
    pub const fn new() -> SortedMap<K, V> {
        SortedMap { entries: Vec::new() }
    }

    /// How many entries there are.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries, by their keys.
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { entries: self.entries.iter() }
    }

    /// The same; the values can be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut { entries: self.entries.iter_mut() }
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone + use<'_, K, V> {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone + use<'_, K, V> {
        self.entries.iter().map(|(_, value)| value)
    }

    /// The same; they can be changed.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator + use<'_, K, V> {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// The keys alone.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator + use<K, V> {
        self.entries.into_iter().map(|(key, _)| key)
    }

    /// The values alone.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator + use<K, V> {
        self.entries.into_iter().map(|(_, value)| value)
    }

    /// The entry with the least key.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.entries.first().map(|(key, value)| (key, value))
    }

    /// The entry with the greatest key.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.entries.last().map(|(key, value)| (key, value))
    }

    /// Keeps those entries of which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.entries.binary_search_by(|(known, _)| known.borrow().cmp(key))
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.get_key_value(key).map(|(_, value)| value)
    }

    /// The entry of a key.
    pub fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let (key, value) = self.entries.get(self.place(key).ok()?)?;
        Some((key, value))
    }

    /// The value of a key, which can be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        self.entries.get_mut(place).map(|(_, value)| value)
    }

    /// Whether a key has an entry.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// Sets the value of a key; the value that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place_to_insert(&key) {
            Ok(place) => Some(std::mem::replace(&mut self.entries[place].1, value)),
            Err(place) => {
                self.entries.insert(place, (key, value));
                None
            }
        }
    }

    /// Where an entry is, or belongs. Entries mostly come in order.
    fn place_to_insert(&self, key: &K) -> Result<usize, usize> {
        match self.entries.last() {
            Some((last, _)) if last >= key => self.place(key),
            _ => Err(self.entries.len()),
        }
    }

    /// Removes the entry of a key; its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.remove_entry(key).map(|(_, value)| value)
    }

    /// Removes the entry of a key.
    pub fn remove_entry<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|place| self.entries.remove(place))
    }

    /// The entry of a key, to be made or changed.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        Entry { found: self.place_to_insert(&key), entries: &mut self.entries, key }
    }
}

/// An entry that exists or not.
pub struct Entry<'a, K, V> {
    entries: &'a mut Vec<(K, V)>,
    key: K,
    found: Result<usize, usize>,
}

impl<'a, K, V> Entry<'a, K, V> {
    /// Its value, which `make` makes where there is none.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        let place = match self.found {
            Ok(place) => place,
            Err(place) => {
                self.entries.insert(place, (self.key, make()));
                place
            }
        };
        &mut self.entries[place].1
    }

    /// Its value, or this one.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// Its value, or the default one.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes its value where there is one.
    #[must_use]
    pub fn and_modify(self, change: impl FnOnce(&mut V)) -> Entry<'a, K, V> {
        if let Ok(place) = self.found {
            change(&mut self.entries[place].1);
        }
        self
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> SortedMap<K, V> {
        SortedMap::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Ord + Borrow<Q>, V, Q: Ord + ?Sized> Index<&Q> for SortedMap<K, V> {
    type Output = V;

    /// # Panics
    /// Where the key has no entry.
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key has an entry")
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, entries: T) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    /// Of two entries with one key, the later stays.
    fn from_iter<T: IntoIterator<Item = (K, V)>>(entries: T) -> SortedMap<K, V> {
        let mut map = SortedMap::new();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(entries: [(K, V); N]) -> SortedMap<K, V> {
        entries.into_iter().collect()
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = vec::IntoIter<(K, V)>;

    fn into_iter(self) -> vec::IntoIter<(K, V)> {
        self.entries.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut SortedMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> IterMut<'a, K, V> {
        self.iter_mut()
    }
}

/// The entries of a map.
pub struct Iter<'a, K, V> {
    entries: slice::Iter<'a, (K, V)>,
}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Iter { entries: self.entries.clone() }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<(&'a K, &'a V)> {
        self.entries.next().map(|(key, value)| (key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.entries.next_back().map(|(key, value)| (key, value))
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}

/// The entries of a map, whose values can be changed.
pub struct IterMut<'a, K, V> {
    entries: slice::IterMut<'a, (K, V)>,
}

impl<'a, K, V> Iterator for IterMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);

    fn next(&mut self) -> Option<(&'a K, &'a mut V)> {
        self.entries.next().map(|(key, value)| (&*key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl<K, V> ExactSizeIterator for IterMut<'_, K, V> {}

/// For the defaults in schemas.
#[cfg(feature = "schema")]
impl<K: serde::Serialize, V: serde::Serialize> serde::Serialize for SortedMap<K, V> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

#[cfg(feature = "schema")]
impl<K: schemars::JsonSchema, V: schemars::JsonSchema> schemars::JsonSchema for SortedMap<K, V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        std::collections::BTreeMap::<K, V>::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        std::collections::BTreeMap::<K, V>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// What is done to a map.
    #[derive(Debug, Clone)]
    enum Act {
        Insert(u8, u8),
        Remove(u8),
        Add(u8),
        Keep(u8),
    }

    fn act() -> impl Strategy<Value = Act> {
        prop_oneof![
            (0..9_u8, any::<u8>()).prop_map(|(key, value)| Act::Insert(key, value)),
            (0..9_u8).prop_map(Act::Remove),
            (0..9_u8).prop_map(Act::Add),
            any::<u8>().prop_map(Act::Keep),
        ]
    }

    proptest! {
        /// Whatever is done, it holds and answers what the standard library's map does.
        #[test]
        fn it_is_a_map(acts in prop::collection::vec(act(), 0..40)) {
            let (mut ours, mut theirs) = (SortedMap::new(), BTreeMap::new());
            for act in acts {
                match act {
                    Act::Insert(key, value) => prop_assert_eq!(ours.insert(key, value), theirs.insert(key, value)),
                    Act::Remove(key) => prop_assert_eq!(ours.remove(&key), theirs.remove(&key)),
                    Act::Add(key) => {
                        let of_ours = *ours.entry(key).and_modify(|value| *value ^= 1).or_insert(7);
                        prop_assert_eq!(of_ours, *theirs.entry(key).and_modify(|value| *value ^= 1).or_insert(7));
                    }
                    Act::Keep(least) => {
                        ours.retain(|_, value| *value >= least);
                        theirs.retain(|_, value| *value >= least);
                    }
                }
                prop_assert_eq!(ours.first_key_value(), theirs.first_key_value());
                prop_assert_eq!(ours.last_key_value(), theirs.last_key_value());
                for key in 0..9 {
                    prop_assert_eq!(ours.get(&key), theirs.get(&key));
                }
                prop_assert!(ours.iter().eq(&theirs) && ours.iter().rev().eq(theirs.iter().rev()));
            }
        }
    }

    #[test]
    fn of_two_with_one_key_the_later_stays() {
        let map = SortedMap::from([(2, 'a'), (1, 'b'), (2, 'c')]);
        assert_eq!(map.into_iter().collect::<Vec<_>>(), [(1, 'b'), (2, 'c')]);
    }
}
