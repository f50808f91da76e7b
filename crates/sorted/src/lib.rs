//! Maps and sets of few entries and sorts of short lists, by little code.
//!
//! The standard library's maps and sorts are made for millions of elements and compiled anew for each type: 9 KB for each
//! map, 4 KB for each sort, of hundreds of types. Here a map or a set is a sorted vector, and one sort sorts everything.

mod map;
mod set;
pub mod short_list;

pub use map::{Entry, Iter, IterMut, SortedMap};
pub use set::SortedSet;
