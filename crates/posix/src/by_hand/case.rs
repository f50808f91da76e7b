//! A hand-written case.

use crate::ctx::{Ctx, Run};
use crate::{Level, Place};

pub(crate) struct Hand {
    pub id: &'static str,
    pub page: &'static str,
    /// Level of obligation of the rule.
    pub level: Level,
    /// Place where it is tested.
    pub place: Place,
    /// The rule in one sentence.
    pub text: &'static str,
    pub run: fn(&mut Ctx<'_>) -> Run,
}

/// Creates a case of this level in its own directory.
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
