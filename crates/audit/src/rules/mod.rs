//! The rules of an audit, in the order of their codes.

use crate::claims;
use crate::view::View;
use plumb_result::AuditFinding;
pub use rule::Rule;
pub(crate) use rule::{AppliedTo, Draft, listed, side_name};

mod admitted;
mod arithmetic;
mod below;
mod commands;
mod moved;
mod postmark;
mod rule;
mod sample;
mod sides;
mod unequal;

pub(crate) use sample::by_chance;

/// All rules, in the order of their codes.
pub static RULES: &[&Rule] = &[
    &moved::READ_FROM_MEMORY,
    &below::HOLES,
    &moved::NOT_FLUSHED,
    &commands::ONE_FLUSH,
    &claims::CACHE_REMAINS,
    &moved::IMPOSSIBLE_RATE,
    &moved::ZERO_BYTES,
    &moved::SQUEEZABLE,
    &commands::QUEUE_DEPTH,
    &commands::SOURCE,
    &moved::WORKING_SET,
    &claims::NOT_BEYOND_MEMORY,
    &below::DEVICE_CACHE,
    &commands::SAME_BLOCKS,
    &sides::ALIGNMENT,
    &commands::RESYNC,
    &commands::BUFFER,
    &sides::VIRTUAL,
    &below::HOST_CACHE,
    &unequal::UNEQUAL_COMMANDS,
    &unequal::UNEQUAL_SETUP,
    &unequal::UNEQUAL_AMOUNTS,
    &sides::CONFOUNDED,
    &sides::BRINGS_ALONG,
    &sides::BUILD,
    &sides::FLUSH_RULES,
    &sides::LAYERS,
    &sides::SIZES,
    &sides::VERSION_NOT_STATED,
    &postmark::DEFAULTS,
    &sample::FEW_RUNS,
    &sample::NO_SPREAD,
    &admitted::BARS,
    &claims::BELOW_NOISE,
    &claims::NOT_REPEATED,
    &moved::AVERAGE,
    &claims::AVERAGED_DIFFERENCE,
    &sample::ORDER,
    &commands::TOO_SHORT,
    &postmark::CLOCK,
    &sample::DRAWN_AS_ZERO,
    &sample::SELECTED,
    &admitted::BEST_OF,
    &sample::UNUSED,
    &arithmetic::UNIT,
    &arithmetic::MIXED_UNITS,
    &arithmetic::POINT_MOVED,
    &arithmetic::HEADING,
    &claims::DIRECTION,
    &postmark::WHOLE_RUN,
    &postmark::ONE_MEASUREMENT,
    &sides::TOOL_GENERATIONS,
    &arithmetic::RATE,
    &arithmetic::IOPS,
    &claims::DIFFERENCE,
    &arithmetic::QUOTED,
    &commands::DESTROYS,
    &commands::SWAPPED,
    &commands::IDLE_OPTION,
    &commands::MISREAD_OPTION,
    &commands::CANNOT_RUN,
    &postmark::PARAMETERS,
    &postmark::MOVED,
    &arithmetic::EXCHANGED,
    &claims::CONTRADICTED,
];

/// Applies the rules for a whole study.
pub(crate) fn findings(view: &View<'_>) -> Vec<AuditFinding> {
    let mut found: Vec<AuditFinding> = Vec::new();
    for rule in RULES {
        if let AppliedTo::Study(apply) = rule.stage {
            found.extend(apply(view).into_iter().map(|draft| rule.finding(draft)));
        }
    }
    found
}

impl Rule {
    pub(crate) fn finding(&self, draft: Draft) -> AuditFinding {
        let mut cells = draft.cells;
        let mut seen = std::collections::BTreeSet::new();
        cells.retain(|cell| seen.insert(cell.clone()));
        AuditFinding {
            code: self.code.to_owned(),
            rule: self.name.to_owned(),
            level: draft.level,
            cells,
            observed: draft.observed,
            message: draft.message,
            remedy: self.fix.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Protects: code and rule together identify a finding, in tests and in the JSON.
    #[test]
    fn every_rule_has_a_unique_name_and_its_texts() {
        let mut names = BTreeSet::new();
        for rule in RULES {
            assert!(names.insert((rule.code, rule.name)), "{} {} appears twice", rule.code, rule.name);
            for words in [rule.what, rule.fix] {
                assert!(words.ends_with('.') && !words.contains(". "), "{}: {words}", rule.name);
            }
        }
        let key = |rule: &&Rule| {
            let family = rule.code.as_bytes()[0];
            (family == b'P', family, rule.code[1..].parse::<u32>().unwrap())
        };
        assert!(RULES.is_sorted_by_key(key));
    }
}
