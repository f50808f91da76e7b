//! The table of checks. A check is a file: its texts, its threshold, its function and its tests.
//!
//! A: did the bytes really move? B: was the load the requested one? C: was the machine quiet? D: are the two sides
//! comparable? E: is the sample enough, and honestly shown?

use crate::check::Check;

mod a1;
mod a10;
mod a2;
mod a3;
mod a4;
mod a5;
mod a6;
mod a7;
mod a8;
mod a9;
mod b1;
mod b10;
pub(crate) mod b2;
mod b3;
mod b4;
mod b5;
mod b6;
mod b7;
mod b8;
mod b9;
pub(crate) mod c1;
mod c10;
mod c11;
mod c12;
mod c13;
mod c14;
pub(crate) mod c15;
mod c2;
mod c3;
mod c4;
pub(crate) mod c5;
mod c6;
mod c7;
mod c8;
mod c9;
pub(crate) mod d1;
mod d2;
mod d3;
mod d4;
mod d5;
mod d6;
mod d7;
mod d8;
pub(crate) mod e1;
mod e10;
mod e11;
mod e12;
mod e13;
pub(crate) mod e14;
pub(crate) mod e15;
mod e2;
mod e3;
pub(crate) mod e4;
mod e5;
mod e6;
mod e7;
pub(crate) mod e8;
mod e9;

pub use c1::others_can_matter;

/// Every check, in the order of the codes.
pub static CHECKS: &[&Check] = &[
    &a1::CHECK,
    &a2::CHECK,
    &a3::CHECK,
    &a4::CHECK,
    &a5::CHECK,
    &a6::CHECK,
    &a7::CHECK,
    &a8::CHECK,
    &a9::CHECK,
    &a10::CHECK,
    &b1::CHECK,
    &b2::CHECK,
    &b3::CHECK,
    &b4::CHECK,
    &b5::CHECK,
    &b6::CHECK,
    &b7::CHECK,
    &b8::CHECK,
    &b9::CHECK,
    &b10::CHECK,
    &c1::CHECK,
    &c2::CHECK,
    &c3::CHECK,
    &c4::CHECK,
    &c5::CHECK,
    &c6::CHECK,
    &c7::CHECK,
    &c8::CHECK,
    &c9::CHECK,
    &c10::CHECK,
    &c11::CHECK,
    &c12::CHECK,
    &c13::CHECK,
    &c14::CHECK,
    &c15::CHECK,
    &d1::CHECK,
    &d2::CHECK,
    &d3::CHECK,
    &d4::CHECK,
    &d5::CHECK,
    &d6::CHECK,
    &d7::CHECK,
    &d8::CHECK,
    &e1::CHECK,
    &e2::CHECK,
    &e3::CHECK,
    &e4::CHECK,
    &e5::CHECK,
    &e6::CHECK,
    &e7::CHECK,
    &e8::CHECK,
    &e9::CHECK,
    &e10::CHECK,
    &e11::CHECK,
    &e12::CHECK,
    &e13::CHECK,
    &e14::CHECK,
    &e15::CHECK,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Codes are a stable interface, and no check lacks its texts.
    #[test]
    fn every_check_has_its_own_code_and_all_its_texts() {
        let mut codes = BTreeSet::new();
        for check in CHECKS {
            assert!(codes.insert(check.code), "{} is there twice", check.code);
            let fix = check.fix_in_words();
            let words = [check.title, check.what, check.why, check.how, check.threshold, &fix];
            assert!(words.iter().all(|text| !text.trim().is_empty()), "{} lacks words", check.code);
            assert!(!check.judges.is_empty(), "{} decides nothing", check.code);
        }
    }

    #[test]
    fn the_table_is_in_the_order_of_the_codes() {
        let key = |check: &&Check| (check.code.as_bytes()[0], check.code[1..].parse::<u32>().unwrap());
        assert!(CHECKS.is_sorted_by_key(key));
    }
}
