//! Collects the problems of a workload.

use plumb_workload::Problem;
use plumb_workload::blocks::WeightedSize;
use plumb_workload::keypath::{KeyPath, Segment};
use plumb_workload::limits::{MAX_OFFSET_BYTES, MAX_OP_BYTES};
use plumb_workload::suggest::nearest;
use plumb_workload::target::Distribution;
use plumb_workload::units::{Bytes, Size};
use std::collections::BTreeSet;

/// Maximum number of problems to report, because nobody reads further.
pub(super) const PROBLEMS_MAX: usize = 100;

/// Collects problems and tracks the current position.
#[derive(Default)]
pub(super) struct Checker {
    path: KeyPath,
    pub(super) problems: Vec<Problem>,
}

impl Checker {
    /// Checks a child of the current position.
    pub(super) fn inside(&mut self, segment: impl Into<Segment>, check: impl FnOnce(&mut Checker)) {
        self.path.0.push(segment.into());
        check(self);
        self.path.0.pop();
    }

    /// Checks a value several keys below the current position.
    pub(super) fn nested(&mut self, keys: &[&str], check: impl FnOnce(&mut Checker)) {
        let depth = self.path.0.len();
        self.path.0.extend(keys.iter().map(|key| Segment::from(*key)));
        check(self);
        self.path.0.truncate(depth);
    }

    /// Reports a problem with the value at `keys`. Duplicates are dropped.
    pub(super) fn problem<const N: usize>(
        &mut self,
        keys: [&str; N],
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.problem_at(&keys, message, help);
    }

    /// Like [`problem`](Checker::problem), for a variable number of keys.
    pub(super) fn problem_at(&mut self, keys: &[&str], message: impl Into<String>, help: impl Into<String>) {
        let mut path = self.path.clone();
        path.0.extend(keys.iter().map(|key| Segment::from(*key)));
        let problem = Problem { path, message: message.into(), help: help.into() };
        if self.problems.len() < PROBLEMS_MAX && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Checks a name. Names label results and are typed in commands: letters and digits of any
    /// script, `-`, `_` and `.`.
    pub(super) fn name<const N: usize>(&mut self, keys: [&str; N], owner: &str, name: &str) {
        const LENGTH_MAX: usize = 64;
        let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() {
            self.problem(keys, format!("{owner} has an empty name"), "give it a name such as `random-read`");
        } else if let Some(bad) = name.chars().find(|c| !allowed(*c)) {
            self.problem(
                keys,
                format!("the name `{}` contains {bad:?}", name.escape_debug()),
                "use letters, digits, `-`, `_` and `.`",
            );
        } else if !name.starts_with(char::is_alphanumeric) {
            self.problem(
                keys,
                format!("the name `{name}` does not begin with a letter or a digit"),
                "begin it with a letter or a digit",
            );
        } else if name.chars().count() > LENGTH_MAX {
            self.problem(
                keys,
                format!("the name is {} characters long", name.chars().count()),
                format!("keep names to {LENGTH_MAX} characters"),
            );
        }
    }

    /// Checks that a name differs from those in `seen`.
    pub(super) fn unique<const N: usize>(
        &mut self,
        keys: [&str; N],
        what: &str,
        name: &str,
        seen: &mut BTreeSet<String>,
    ) {
        if !seen.insert(name.to_owned()) {
            self.problem(keys, format!("there are two {what} named `{name}`"), "give each its own name");
        }
    }

    /// Checks that a count, length or time is not 0.
    pub(super) fn positive<const N: usize>(&mut self, keys: [&str; N], what: &str, value: u64, help: &str) {
        if value == 0 {
            self.problem(keys, format!("{what} is 0"), help);
        }
    }

    /// Checks that an optional value is not 0.
    pub(super) fn positive_if_some<const N: usize>(&mut self, keys: [&str; N], what: &str, value: Option<u64>) {
        if value == Some(0) {
            self.problem(keys, format!("{what} is 0"), "leave it out, or make it positive");
        }
    }

    /// Checks a size, which may depend on the machine.
    pub(super) fn size<const N: usize>(&mut self, keys: [&str; N], size: Size) {
        match size {
            Size::Bytes(Bytes(bytes)) => self.length(keys, bytes),
            Size::Ram(factor) | Size::Free(factor) if !(factor > 0.0 && factor.is_finite()) => {
                self.problem(keys, format!("the size `{size}` is 0"), "use a factor above 0, such as `ram*2`");
            }
            Size::Free(factor) if factor > 1.0 => {
                self.problem(
                    keys,
                    format!("`{size}` is more than 100 % of the free space"),
                    "use a share of what is free, such as `free*10%`",
                );
            }
            Size::Ram(_) | Size::Free(_) => {}
        }
    }

    /// Checks the length of something that has offsets.
    pub(super) fn length<const N: usize>(&mut self, keys: [&str; N], bytes: u64) {
        if bytes == 0 {
            self.problem(keys, "the size is 0", "make it as large as the work needs");
        } else if bytes > MAX_OFFSET_BYTES {
            self.problem(
                keys,
                format!("{bytes} bytes exceed the largest file size"),
                format!("the largest offset is {MAX_OFFSET_BYTES}"),
            );
        }
    }

    /// Checks the length of one request.
    pub(super) fn request<const N: usize>(&mut self, keys: [&str; N], bytes: u64) {
        if bytes == 0 {
            self.problem(keys, "a request has 0 bytes", "use a size such as `4KiB`");
        } else if bytes > MAX_OP_BYTES {
            self.problem(
                keys,
                format!("{} is more than one request can move", Bytes(bytes)),
                format!("the kernel moves at most {MAX_OP_BYTES} bytes at once; use smaller requests"),
            );
        }
    }

    /// Checks that a number is finite and above 0.
    pub(super) fn above_zero<const N: usize>(&mut self, keys: [&str; N], what: &str, value: f64, help: &str) {
        if !(value > 0.0 && value.is_finite()) {
            self.problem(keys, format!("{what} is {value}; it must be above 0"), help);
        }
    }

    /// Checks a table of sizes with weights at the current position.
    pub(super) fn weighted(&mut self, table: &[WeightedSize], mut each: impl FnMut(&mut Checker, Bytes)) {
        if table.is_empty() {
            self.problem([], "the table is empty", "give at least one `{ size = \"4KiB\", weight = 1.0 }`");
        }
        for (index, entry) in table.iter().enumerate() {
            self.inside(index, |check| {
                check.above_zero(["weight"], "the weight", entry.weight, "leave out what should never be chosen");
                each(check, entry.size);
            });
        }
        self.sum(table.iter().map(|entry| entry.weight));
    }

    /// Checks that the sum of weights is finite, at the current position.
    pub(super) fn sum(&mut self, weights: impl Iterator<Item = f64> + Clone) {
        if weights.clone().all(f64::is_finite) && !weights.sum::<f64>().is_finite() {
            self.problem([], "the sum of the weights is too large", "use weights such as `1.0`");
        }
    }

    /// Checks a distribution of sizes at the current position. `each` checks a single size.
    pub(super) fn distribution(&mut self, sizes: &Distribution, each: fn(&mut Checker, [&str; 1], Bytes)) {
        match sizes {
            Distribution::Fixed(size) => each(self, ["fixed"], *size),
            Distribution::Uniform { min, max } => self.inside("uniform", |check| {
                each(check, ["min"], *min);
                each(check, ["max"], *max);
                if min > max {
                    check.problem(["min"], format!("`min` {min} is above `max` {max}"), "swap them");
                }
            }),
            Distribution::Gamma { mean, shape } => self.inside("gamma", |check| {
                each(check, ["mean"], *mean);
                check.positive(["mean"], "the mean", mean.0, "use a mean such as `16KiB`");
                check.above_zero(["shape"], "the shape", *shape, "1.5 is the usual shape of file sizes");
            }),
            Distribution::Weighted(table) => {
                self.inside("weighted", |check| check.weighted(table, |check, size| each(check, ["size"], size)));
            }
        }
    }
}

/// Returns `did you mean …`, or a list of the names.
pub(super) fn help_for_name<'a>(wanted: &str, names: impl Iterator<Item = &'a String> + Clone) -> String {
    match nearest(wanted, names.clone().map(String::as_str)) {
        Some(name) => format!("did you mean `{name}`?"),
        None => match names.cloned().collect::<Vec<_>>() {
            names if names.is_empty() => "add a `[target.NAME.file]`".to_owned(),
            names => format!("the targets are `{}`", names.join("`, `")),
        },
    }
}
