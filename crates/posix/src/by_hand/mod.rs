//! Hand-written cases, which no table generates.

mod case;
mod dirs;
mod full;
mod locks;
mod names;
mod notify;
mod open;
mod owner;
mod ranges;
mod renames;
mod shared;
mod sizes;
mod times;
mod unlinked;
mod xattr;

pub(crate) use case::Hand;
pub(crate) use xattr::acl_bytes;

/// All hand-written cases, by subject.
pub(crate) const HANDS: &[&[Hand]] = &[
    names::CASES,
    open::CASES,
    owner::CASES,
    sizes::CASES,
    renames::CASES,
    unlinked::CASES,
    times::CASES,
    dirs::CASES,
    notify::CASES,
    shared::CASES,
    locks::CASES,
    ranges::CASES,
    xattr::CASES,
    full::CASES,
];
