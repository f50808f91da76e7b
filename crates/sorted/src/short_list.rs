//! Sorts short lists by code that exists once.

use std::cmp::Ordering;

/// Sorts; equal ones stay in their order.
pub fn sort_by<T>(list: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let mut order = order_of(list.len(), &mut |one, other| compare(&list[one], &list[other]));
    // Round by round: each takes the place of the one before it, and the first goes along to the end of its round.
    for start in 0..order.len() {
        let mut place = start;
        loop {
            let from = std::mem::replace(&mut order[place], place);
            if from == start {
                break;
            }
            list.swap(place, from);
            place = from;
        }
    }
}

/// Sorts by a key; equal ones stay in their order.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(list, |one, other| key(one).cmp(&key(other)));
}

/// Sorts; equal ones stay in their order.
pub fn sort<T: Ord>(list: &mut [T]) {
    sort_by(list, Ord::cmp);
}

/// The numbers up to `length` in the order of what they stand for.
fn order_of(length: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..length).collect();
    order.sort_by(|&one, &other| compare(one, other));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the standard library sorts, for every order of six with two that are equal.
    #[test]
    fn it_sorts_stably() {
        for seed in 0..6_usize.pow(6) {
            let mut list: Vec<(usize, usize)> =
                (0..6).map(|place| (seed / 6_usize.pow(place) % 6, place as usize)).collect();
            let mut expected = list.clone();
            expected.sort_by_key(|(key, _)| *key);
            sort_by_key(&mut list, |(key, _)| *key);
            assert_eq!(list, expected);
        }
    }
}
