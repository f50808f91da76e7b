//! Rules about PostMark. Its settings fix what it transfers, so its run time follows from its printed rates.

use super::rule::{AppliedTo, Draft, Rule, distinct, ids, listed, side_name};
use crate::command::{CommandAction, PostmarkCommand};
use crate::numbers::{Base, PrintedNumber};
use crate::postmark::{Totals, replay};
use crate::view::{CellView, TestView, View};
use plumb_result::{CellMetric, Level};
use plumb_tools_classic::postmark::PostmarkSettings;
use plumb_trust::text::{bytes, bytes_decimal, percent};

pub(crate) static DEFAULTS: Rule = Rule {
    code: "D7",
    name: "defaults",
    what: "PostMark settings that are not stated and determine what it transfers.",
    fix: "State the version, seed, buffering and block sizes.",
    stage: AppliedTo::Study(defaults),
};

pub(crate) static CLOCK: Rule = Rule {
    code: "E8",
    name: "clock",
    what: "Results from a clock with a resolution of 1 s.",
    fix: "Run for at least several minutes, or use a tool with a finer clock.",
    stage: AppliedTo::Study(clock),
};

pub(crate) static WHOLE_RUN: Rule = Rule {
    code: "E12",
    name: "whole-run",
    what: "Rates called read and write that are bytes of the whole run divided by its whole time.",
    fix: "Call them what they are, or use transactions per second.",
    stage: AppliedTo::Study(whole_run),
};

pub(crate) static ONE_MEASUREMENT: Rule = Rule {
    code: "E12",
    name: "one-measurement",
    what: "Two metrics in a constant ratio: one measurement shown twice.",
    fix: "Show one of them.",
    stage: AppliedTo::Study(one_measurement),
};

pub(crate) static PARAMETERS: Rule = Rule {
    code: "P8",
    name: "parameters",
    what: "Rates that no run time explains, given what the stated settings transfer.",
    fix: "Copy the settings from the run itself.",
    stage: AppliedTo::Study(parameters),
};

pub(crate) static MOVED: Rule = Rule {
    code: "P8",
    name: "moved",
    what: "A stated total that does not match the settings.",
    fix: "Take totals from the tool's own report.",
    stage: AppliedTo::Study(moved),
};

fn postmark<'a>(test: &'a TestView<'_>) -> Option<&'a PostmarkCommand> {
    test.actions.iter().find_map(|action| match action {
        CommandAction::Postmark(postmark) => Some(postmark.as_ref()),
        _ => None,
    })
}

/// The read and the write cell of one side of a test.
struct Pair<'a, 'v> {
    side: &'v str,
    read: &'a CellView<'v>,
    write: &'a CellView<'v>,
}

fn pairs<'a, 'v>(view: &'a View<'v>, index: usize) -> Vec<Pair<'a, 'v>> {
    let find = |side: &str, metric| {
        view.of_test(index).find(|cell| cell.cell.side == side && cell.cell.metric == metric && cell.is_byte_rate())
    };
    view.study
        .side
        .iter()
        .filter_map(|side| {
            let (read, write) = (find(&side.id, CellMetric::Read)?, find(&side.id, CellMetric::Write)?);
            Some(Pair { side: &side.id, read, write })
        })
        .collect()
}

/// Returns the factor of a cell's unit; PostMark uses 1024.
fn factor(cell: &CellView<'_>) -> Option<f64> {
    cell.unit?.bytes_per_second(Base::Binary)
}

fn prints(cell: &CellView<'_>, bytes: u64, seconds: u64) -> bool {
    let Some((printed, factor)) = cell.cell.value.as_ref().zip(factor(cell)) else { return false };
    // PostMark adds bytes in single precision: allow an error of one in ten thousand.
    let exact = bytes as f64 / seconds as f64 / factor;
    [exact, exact * (1.0 - 1e-4), exact * (1.0 + 1e-4)].iter().any(|rate| rounds_to(printed, *rate))
}

fn rounds_to(printed: &PrintedNumber, exact: f64) -> bool {
    (exact - printed.value()).abs() <= printed.last_digit() / 2.0 * 1.000_001
}

/// Returns the whole seconds that explain both rates of a side.
fn seconds(pair: &Pair<'_, '_>, totals: &Totals) -> Vec<u64> {
    let Some(rate) = pair.write.cell.value.as_ref().zip(factor(pair.write)) else { return Vec::new() };
    let (printed, factor) = rate;
    let about = |rate: f64| totals.bytes_written as f64 / (rate * factor);
    let low = about(printed.value() + printed.last_digit()).floor();
    let high = about((printed.value() - printed.last_digit()).max(printed.last_digit() / 2.0)).ceil();
    // If the rate has few digits, many seconds fit and none can be recovered.
    const SPAN_MAX: f64 = 1e5;
    if !low.is_finite() || !high.is_finite() || high - low > SPAN_MAX {
        return Vec::new();
    }
    (low.max(1.0) as u64..=high as u64)
        .filter(|&seconds| {
            prints(pair.write, totals.bytes_written, seconds) && prints(pair.read, totals.bytes_read, seconds)
        })
        .collect()
}

fn range(seconds: &[u64]) -> Option<String> {
    match seconds {
        [] => None,
        [only] => Some(format!("{only} s")),
        [first, .., last] => Some(format!("{first} to {last} s")),
    }
}

fn defaults(view: &View<'_>) -> Vec<Draft> {
    let mut missing = Vec::new();
    let mut cells = Vec::new();
    let mut fit = 0;
    let mut tests = 0;
    for (index, test) in view.tests.iter().enumerate() {
        let Some(postmark) = postmark(test) else { continue };
        let names = ["seed", "buffering", "read", "write"];
        missing.extend(names.iter().filter(|name| !postmark.states(name)).copied());
        cells.extend(ids(view.of_test(index)));
        tests += 1;
        if let Some(totals) = test.totals {
            let pairs = pairs(view, index);
            fit += usize::from(!pairs.is_empty() && pairs.iter().all(|pair| !seconds(pair, &totals).is_empty()));
        }
    }
    let missing: Vec<String> = distinct(missing.into_iter().map(str::to_owned));
    if missing.is_empty() {
        return Vec::new();
    }
    let reproduced = if fit > 0 {
        format!("; with PostMark's defaults (seed 42) the bytes of {fit} of {tests} tests explain their rates")
    } else {
        String::new()
    };
    vec![Draft {
        level: Level::Note,
        cells,
        observed: format!("not stated: {}", listed(&missing)),
        message: format!("PostMark's settings {} are not stated{reproduced}.", listed(&missing)),
    }]
}

fn clock(view: &View<'_>) -> Vec<Draft> {
    const TICKS_MIN: u64 = 100;
    let mut found = Vec::new();
    for (index, test) in view.tests.iter().enumerate() {
        let Some(totals) = test.totals else { continue };
        for pair in pairs(view, index) {
            let fitting = seconds(&pair, &totals);
            if let (Some(text), Some(longest)) = (range(&fitting), fitting.last())
                && *longest < TICKS_MIN
            {
                found.push(Draft {
                    level: Level::Warn,
                    cells: vec![pair.read.id(), pair.write.id()],
                    observed: text.clone(),
                    message: format!(
                        "{} of {} took {text} by a clock that counts whole seconds, an error of up to {} by itself.",
                        test.test.id,
                        side_name(view.study, pair.side),
                        percent(1.0 / *longest as f64)
                    ),
                });
            }
        }
    }
    found
}

fn whole_run(view: &View<'_>) -> Vec<Draft> {
    let named = view.cells.iter().filter(|cell| {
        let of_bytes = cell.cell.metric.reads() || cell.cell.metric.writes();
        of_bytes && cell.actions.iter().any(|action| matches!(action, CommandAction::Postmark(_)))
    });
    let cells: Vec<&CellView<'_>> = named.collect();
    if cells.is_empty() {
        return Vec::new();
    }
    vec![Draft {
        level: Level::Warn,
        cells: ids(cells.iter().copied()),
        observed: "bytes of the whole run over the time of the whole run".to_owned(),
        message: "PostMark's read and write rates are all bytes divided by the whole time, with creating, \
                  deleting and the other one in it: neither is a speed of reading or of writing."
            .to_owned(),
    }]
}

fn one_measurement(view: &View<'_>) -> Vec<Draft> {
    let mut found = Vec::new();
    for (index, test) in view.tests.iter().enumerate() {
        let pairs = pairs(view, index);
        let is_postmark = postmark(test).is_some();
        // Two ratios of three digits may agree by chance, unless the tool divides both by one time.
        if pairs.len() < if is_postmark { 2 } else { 3 } {
            continue;
        }
        let bounds: Vec<(f64, f64)> = pairs.iter().filter_map(ratio_bounds).collect();
        let low = bounds.iter().map(|(low, _)| *low).fold(0.0, f64::max);
        let high = bounds.iter().map(|(_, high)| *high).fold(f64::INFINITY, f64::min);
        if bounds.len() < pairs.len() || low > high {
            continue;
        }
        let ratios: Vec<String> =
            pairs.iter().filter_map(|pair| Some(format!("{:.3}", pair.write.value? / pair.read.value?))).collect();
        let times: Option<Vec<String>> =
            test.totals.and_then(|totals| pairs.iter().map(|pair| range(&seconds(pair, &totals))).collect());
        let times = times.map(|times| format!(": {}", times.join(" against "))).unwrap_or_default();
        found.push(Draft {
            level: Level::Warn,
            cells: ids(pairs.iter().flat_map(|pair| [pair.read, pair.write])),
            observed: format!("write/read is {}{times}", listed(&ratios)),
            message: format!(
                "read and write of {} are one measurement shown twice, in the ratio {} on every side{}.",
                test.test.id,
                ratios.first().map_or("", String::as_str),
                if times.is_empty() { String::new() } else { format!("; the measurement is one time a side{times}") }
            ),
        });
    }
    found
}

/// Returns the range of the write-to-read ratio that the printed digits allow.
fn ratio_bounds(pair: &Pair<'_, '_>) -> Option<(f64, f64)> {
    let (read, write) = (pair.read.cell.value.as_ref()?, pair.write.cell.value.as_ref()?);
    let units = factor(pair.write)? / factor(pair.read)?;
    let (half_read, half_write) = (read.last_digit() / 2.0, write.last_digit() / 2.0);
    let smallest_read = read.value() - half_read;
    if smallest_read <= 0.0 {
        return None;
    }
    let low = (write.value() - half_write) / (read.value() + half_read) * units;
    Some((low, (write.value() + half_write) / smallest_read * units))
}

fn parameters(view: &View<'_>) -> Vec<Draft> {
    let mut found = Vec::new();
    for (index, test) in view.tests.iter().enumerate() {
        let (Some(postmark), Some(totals)) = (postmark(test), test.totals) else { continue };
        let pairs = pairs(view, index);
        let fits = |totals: &Totals| pairs.iter().all(|pair| !seconds(pair, totals).is_empty());
        if pairs.is_empty() || fits(&totals) {
            continue;
        }
        let expected = totals.bytes_written as f64 / totals.bytes_read as f64;
        let printed: Vec<String> =
            pairs.iter().filter_map(|pair| Some(format!("{:.4}", pair.write.value? / pair.read.value?))).collect();
        let others = view.tests.iter().filter_map(|test| Some(&self::postmark(test)?.settings));
        let fitting: Vec<String> = near(&postmark.settings, others)
            .into_iter()
            .filter_map(|changed| {
                let totals = replay(&changed.settings).ok().filter(|totals| fits(totals))?;
                let times: Vec<String> = pairs.iter().filter_map(|pair| range(&seconds(pair, &totals))).collect();
                let ratio = totals.bytes_written as f64 / totals.bytes_read as f64;
                Some(format!("{} fits, with {ratio:.4} and {}", changed.what, times.join(" against ")))
            })
            .collect();
        let instead = if fitting.is_empty() { String::new() } else { format!("; {}", fitting.join("; ")) };
        found.push(Draft {
            level: Level::Fail,
            cells: ids(pairs.iter().flat_map(|pair| [pair.read, pair.write])),
            observed: format!("write/read must be {expected:.4} and is {}", listed(&printed)),
            message: format!(
                "The rates of {} cannot come from its stated settings, whose writes are {expected:.4} times its reads, \
                 where the table has {}{instead}.",
                test.test.id,
                listed(&printed)
            ),
        });
    }
    found
}

/// PostMark settings with one change.
struct Changed {
    what: String,
    settings: PostmarkSettings,
}

/// Returns settings that differ in one number, as after a typing error: half, double, a tenth, tenfold, the
/// default, or that of another test.
fn near<'a>(stated: &PostmarkSettings, others: impl Iterator<Item = &'a PostmarkSettings>) -> Vec<Changed> {
    let default = PostmarkSettings::default();
    let others: Vec<&PostmarkSettings> = others.collect();
    let others: Vec<&PostmarkSettings> = others.into_iter().chain([&default]).collect();
    let mut found: Vec<Changed> = Vec::new();
    let mut add = |what: String, settings: PostmarkSettings| {
        if settings != *stated && !found.iter().any(|known| known.settings == settings) {
            found.push(Changed { what, settings });
        }
    };
    let around = |value: u32| [value / 2, value.saturating_mul(2), value / 10, value.saturating_mul(10)];
    for number in around(stated.number).into_iter().chain(others.iter().map(|other| other.number)) {
        add(format!("number = {number}"), PostmarkSettings { number, ..stated.clone() });
    }
    for transactions in around(stated.transactions).into_iter().chain(others.iter().map(|other| other.transactions)) {
        add(format!("transactions = {transactions}"), PostmarkSettings { transactions, ..stated.clone() });
    }
    for (low, high) in others.iter().map(|other| (other.low, other.high)) {
        add(format!("size = {low} to {high}"), PostmarkSettings { low, high, ..stated.clone() });
    }
    // A typing error does not turn a run of minutes into one of hours, and computing that would take as long.
    const WORK_MAX: u64 = 3_000_000;
    found.retain(|changed| {
        let settings = &changed.settings;
        [settings.number, settings.transactions, settings.high].into_iter().map(u64::from).sum::<u64>() <= WORK_MAX
    });
    found
}

fn moved(view: &View<'_>) -> Vec<Draft> {
    const OFF_MAX: f64 = 0.1;
    let mut found = Vec::new();
    for (index, test) in view.tests.iter().enumerate() {
        let (Some(stated), Some(totals)) = (test.test.moved.map(|moved| moved.0), test.totals) else { continue };
        let real = totals.bytes_read + totals.bytes_written;
        if stated == 0 || ((real as f64 / stated as f64) - 1.0).abs() <= OFF_MAX {
            continue;
        }
        // Use the units of the authors.
        let binary = stated % (1 << 20) == 0;
        let set = |size: u64| if binary { bytes(size) } else { bytes_decimal(size) };
        found.push(Draft {
            level: Level::Fail,
            cells: ids(view.of_test(index)),
            observed: format!("{} against {}", set(stated), set(real)),
            message: format!(
                "{} is stated to transfer {}, but its settings read {} and write {}, together {}.",
                test.test.id,
                set(stated),
                set(totals.bytes_read),
                set(totals.bytes_written),
                set(real)
            ),
        });
    }
    found
}
