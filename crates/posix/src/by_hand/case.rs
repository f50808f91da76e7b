//! A case that is written by hand, and how binding it is.

use crate::ctx::{Ctx, Run};
use crate::{Level, Place};

/// A case.
pub(crate) struct Hand {
    /// Its id.
    pub id: &'static str,
    /// The page that says so.
    pub page: &'static str,
    /// How binding it is.
    pub level: Level,
    /// Where it is tested.
    pub place: Place,
    /// The rule in a sentence.
    pub text: &'static str,
    /// Tests it.
    pub run: fn(&mut Ctx<'_>) -> Run,
}

/// A case of this level, in the directory.
const fn case(
    level: Level,
    id: &'static str,
    page: &'static str,
    text: &'static str,
    run: fn(&mut Ctx<'_>) -> Run,
) -> Hand {
    Hand { id, page, level, place: Place::Here, text, run }
}

pub(super) const fn shall(
    id: &'static str,
    page: &'static str,
    text: &'static str,
    run: fn(&mut Ctx<'_>) -> Run,
) -> Hand {
    case(Level::Shall, id, page, text, run)
}

pub(super) const fn linux(
    id: &'static str,
    page: &'static str,
    text: &'static str,
    run: fn(&mut Ctx<'_>) -> Run,
) -> Hand {
    case(Level::Linux, id, page, text, run)
}

pub(super) const fn common(
    id: &'static str,
    page: &'static str,
    text: &'static str,
    run: fn(&mut Ctx<'_>) -> Run,
) -> Hand {
    case(Level::Common, id, page, text, run)
}

pub(super) const fn on(place: Place, hand: Hand) -> Hand {
    Hand { place, ..hand }
}
