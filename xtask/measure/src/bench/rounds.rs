//! Alternating rounds, their ratios, and the table.

use anyhow::Result;
use plumb_stats::estimate::ConfidenceInterval;
use plumb_stats::quantiles::median_interval;
use std::fmt::Write;

#[derive(Debug, Clone, Copy)]
pub(super) struct Speed {
    /// Ops per second of wall time.
    pub ops_per_second: f64,
    /// User and system time per op in nanoseconds.
    pub cpu_ns: f64,
}

/// The program that Plumb is compared with.
pub(super) struct Peer<'a> {
    pub name: &'a str,
    /// Plumb's rate must be at least this many times the peer's.
    pub at_least: Bar,
    pub run: Box<dyn FnMut() -> Result<Speed> + 'a>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bar {
    /// Minimum ratio.
    AtLeast(f64),
    /// Maximum value.
    AtMost(f64),
    /// No bar: shown for comparison.
    Shown,
}

impl Bar {
    fn is_met(self, value: f64) -> bool {
        match self {
            Bar::AtLeast(bar) => value >= bar,
            Bar::AtMost(bar) => value <= bar,
            Bar::Shown => true,
        }
    }

    /// Formats the bar for a table, next to the value.
    pub(super) fn format(self, value: f64) -> String {
        self.format_in("", value)
    }

    /// Like [`Bar::format`], for a value with a unit such as ` ms`.
    fn format_in(self, unit: &str, value: f64) -> String {
        let word = if self.is_met(value) { "met" } else { "MISSED" };
        match self {
            Bar::AtLeast(bar) => format!("{word:7} (≥ {bar}{unit})"),
            Bar::AtMost(bar) => format!("{word:7} (≤ {bar}{unit})"),
            Bar::Shown => "-".to_owned(),
        }
    }

    /// Formats the bar and the result as a sentence.
    pub(super) fn sentence(self, what: &str, value: f64) -> Option<String> {
        self.sentence_in("", what, value)
    }

    fn sentence_in(self, unit: &str, what: &str, value: f64) -> Option<String> {
        let word = if self.is_met(value) { "met" } else { "missed" };
        let came = ratio_text(value);
        match self {
            Bar::AtLeast(bar) => Some(format!("{what}: {came}{unit}, expected at least {bar}{unit}: {word}.")),
            Bar::AtMost(bar) => Some(format!("{what}: {came}{unit}, expected at most {bar}{unit}: {word}.")),
            Bar::Shown => None,
        }
    }
}

/// Formats a ratio with enough digits to distinguish it from a bar close to 1.
fn ratio_text(ratio: f64) -> String {
    if ratio < 2.0 { format!("{ratio:.3}") } else { format!("{ratio:.2}") }
}

/// Speeds of one contender, by round.
pub(super) type Series = Vec<Speed>;

/// The unit of a row's values: ops or bytes per second, or milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Ops,
    Bytes,
    Milliseconds,
}

impl Unit {
    fn text(self, value: f64) -> String {
        match self {
            Unit::Ops => rate(value),
            Unit::Bytes if value >= 1e9 => format!("{:6.2} GB/s", value / 1e9),
            Unit::Bytes => format!("{:6.1} MB/s", value / 1e6),
            Unit::Milliseconds if value >= 1e3 => format!("{:6.2} s", value / 1e3),
            Unit::Milliseconds => format!("{value:6.2} ms"),
        }
    }

    /// Returns Plumb's speed over the other's, from values of this unit.
    fn ratio(self, own: f64, other: f64) -> f64 {
        match self {
            Unit::Ops | Unit::Bytes => own / other,
            Unit::Milliseconds => other / own,
        }
    }
}

/// Results of one comparison, as medians over the rounds.
pub(super) struct Row {
    case: String,
    peer: String,
    unit: Unit,
    plumb: f64,
    other: f64,
    /// Ratio of Plumb's speed to the peer's: the median of the rounds.
    ratio: f64,
    /// 95 % confidence interval of the ratio, if there are enough rounds.
    interval: Option<ConfidenceInterval>,
    /// Ratio of CPU times for the same work, by round. Neighbours on the machine disturb it less. NaN if unknown.
    cpu_ratio: f64,
    bar: Bar,
}

impl Row {
    /// Compares Plumb with a peer, round by round.
    pub(super) fn new(case: &str, peer: &str, plumb: &[Speed], other: &[Speed], bar: Bar) -> Row {
        let rates = |speeds: &[Speed]| -> Vec<f64> { speeds.iter().map(|speed| speed.ops_per_second).collect() };
        let cpu_ratios = plumb.iter().zip(other).map(|(own, other)| other.cpu_ns / own.cpu_ns);
        Row {
            cpu_ratio: median(cpu_ratios),
            ..Row::compare((case, peer), Unit::Ops, &rates(plumb), &rates(other), bar)
        }
    }

    /// Compares values of any unit, round by round.
    pub(super) fn compare((case, peer): (&str, &str), unit: Unit, plumb: &[f64], other: &[f64], bar: Bar) -> Row {
        let ratios: Vec<f64> = plumb.iter().zip(other).map(|(own, other)| unit.ratio(*own, *other)).collect();
        Row {
            case: case.to_owned(),
            peer: peer.to_owned(),
            unit,
            plumb: median(plumb.iter().copied()),
            other: median(other.iter().copied()),
            interval: median_interval(&ratios, 0.95).ok(),
            ratio: median(ratios.into_iter()),
            cpu_ratio: f64::NAN,
            bar,
        }
    }

    /// Adds the ratio of the processor times.
    pub(super) fn with_cpu_ratio(self, cpu_ratio: f64) -> Row {
        Row { cpu_ratio, ..self }
    }

    /// Whether the bar is met; `None` without a bar.
    pub(super) fn is_met(&self) -> Option<bool> {
        (self.bar != Bar::Shown).then(|| self.bar.is_met(self.judged()))
    }

    /// Returns the value that the bar judges: Plumb's own against a maximum, else the ratio.
    fn judged(&self) -> f64 {
        match self.bar {
            Bar::AtMost(_) => self.plumb,
            Bar::AtLeast(_) | Bar::Shown => self.ratio,
        }
    }

    fn bar_text(&self) -> String {
        self.bar.format_in(self.judged_unit(), self.judged())
    }

    /// Returns the unit of [`Row::judged`]; ratios have none.
    fn judged_unit(&self) -> &'static str {
        match (self.bar, self.unit) {
            (Bar::AtMost(_), Unit::Milliseconds) => " ms",
            _ => "",
        }
    }

    /// Returns whether the bar was met, as text. If the CPU time disagrees, neighbours on the machine were decisive.
    pub(super) fn sentence(&self) -> Option<String> {
        if let Bar::AtMost(_) = self.bar {
            return self.bar.sentence_in(self.judged_unit(), &self.case, self.plumb);
        }
        let mut sentence = self.bar.sentence(&format!("{} against {}", self.case, self.peer), self.ratio)?;
        if let Some(ConfidenceInterval { lo, hi, .. }) = self.interval
            && !self.bar.is_met(self.ratio)
            && (self.bar.is_met(lo) || self.bar.is_met(hi))
        {
            let _ = write!(sentence, " By less than the rounds differ: {} to {}.", ratio_text(lo), ratio_text(hi));
        }
        Some(match (self.bar.is_met(self.ratio), self.bar.is_met(self.cpu_ratio)) {
            // Unknown for whole commands.
            _ if self.cpu_ratio.is_nan() => sentence,
            (false, true) => {
                format!("{sentence} By processor time it is {}: met; the machine was busy.", ratio_text(self.cpu_ratio))
            }
            (true, false) => format!("{sentence} By processor time it is {}: missed.", ratio_text(self.cpu_ratio)),
            _ => sentence,
        })
    }
}

/// Runs Plumb and its peers in turn, reversing the order in every other round.
pub(super) fn alternate(
    case: &str,
    rounds: usize,
    mut plumb: impl FnMut() -> Result<Speed>,
    mut peers: Vec<Peer<'_>>,
) -> Result<Vec<Row>> {
    println!("\n{case}");
    let mut plumbs = Series::new();
    let mut others: Vec<Series> = peers.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        let plumb_first = round % 2 == 0;
        if plumb_first {
            plumbs.push(plumb()?);
            for (peer, speeds) in peers.iter_mut().zip(&mut others) {
                speeds.push((peer.run)()?);
            }
        } else {
            for (peer, speeds) in peers.iter_mut().zip(&mut others).rev() {
                speeds.push((peer.run)()?);
            }
            plumbs.push(plumb()?);
        }
        let own = plumbs[round];
        print!("  {}  plumb {}", round + 1, rate(own.ops_per_second));
        for (peer, speeds) in peers.iter().zip(&others) {
            let speed = speeds[round];
            print!(
                "   {} {} {:5.2}×",
                peer.name,
                rate(speed.ops_per_second),
                own.ops_per_second / speed.ops_per_second
            );
        }
        println!();
    }
    let rows = peers.iter().zip(&others);
    Ok(rows.map(|(peer, speeds)| Row::new(case, peer.name, &plumbs, speeds, peer.at_least)).collect())
}

pub(super) fn table(rows: &[Row]) {
    let width = |text: fn(&Row) -> &str| rows.iter().map(|row| text(row).chars().count()).max().unwrap_or(0);
    let (case, peer) = (width(|row| &row.case), width(|row| &row.peer));
    println!(
        "\n{:case$}  {:peer$}  {:>11}  {:>11}  {:>7}  {:13}  {:>9}  bar",
        "case", "peer", "plumb", "peer", "ratio", "(95 %)", "CPU ratio"
    );
    for row in rows {
        let interval = row.interval.map_or_else(
            || "-".to_owned(),
            |interval| format!("({}-{})", ratio_text(interval.lo), ratio_text(interval.hi)),
        );
        println!(
            "{:case$}  {:peer$}  {:>11}  {:>11}  {:>6}×  {interval:13}  {:>9}  {}",
            row.case,
            row.peer,
            row.unit.text(row.plumb),
            row.unit.text(row.other),
            ratio_text(row.ratio),
            if row.cpu_ratio.is_nan() { "-".to_owned() } else { format!("{}×", ratio_text(row.cpu_ratio)) },
            row.bar_text()
        );
    }
}

/// Formats a rate in ops/s.
pub(super) fn rate(ops_per_second: f64) -> String {
    match ops_per_second {
        ops if ops >= 1e6 => format!("{:6.2} M/s", ops / 1e6),
        // Whole commands per second.
        ops if ops < 100.0 => format!("{:6.2} /s", ops),
        ops => format!("{:6.1} k/s", ops / 1e3),
    }
}

/// Returns the middle value, or the mean of the two middle ones.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_of_the_ratios_not_the_ratio_of_the_medians() {
        let plumb = [10.0, 40.0, 20.0];
        let peer = [5.0, 10.0, 1.0];
        let mut round = 0;
        let mut other = 0;
        let speed = |ops| Ok(Speed { ops_per_second: ops, cpu_ns: 1.0 });
        let peers = vec![Peer {
            name: "peer",
            at_least: Bar::AtLeast(4.0),
            run: Box::new(|| {
                other += 1;
                speed(peer[other - 1])
            }),
        }];
        let own = || {
            round += 1;
            speed(plumb[round - 1])
        };
        let rows = alternate("case", 3, own, peers).unwrap();
        assert_eq!(rows[0].ratio, 4.0, "ratios 2, 4 and 20; the medians are 20 and 5, whose ratio happens to be 4 too");
        assert_eq!(rows[0].other, 5.0);
        assert_eq!(rows[0].bar.format(rows[0].ratio), "met     (≥ 4)");
    }

    #[test]
    fn a_missed_bar_is_reported_with_its_spread() {
        let speeds = |ops: [f64; 8]| ops.map(|ops| Speed { ops_per_second: ops, cpu_ns: f64::NAN });
        let row = |own: [f64; 8]| Row::new("case", "peer", &speeds(own), &speeds([100.0; 8]), Bar::AtLeast(1.0));
        let firm = row([97.0, 98.0, 98.0, 98.0, 99.0, 99.0, 99.0, 99.5]);
        let wide = row([97.0, 98.0, 98.0, 98.0, 99.0, 101.0, 102.0, 103.0]);
        assert_eq!([&firm, &wide].map(|row| row.bar.format(row.ratio)), ["MISSED  (≥ 1)", "MISSED  (≥ 1)"]);
        let sentence = |row: &Row| row.sentence().unwrap();
        assert!(sentence(&firm).ends_with("missed."), "{}", sentence(&firm));
        assert!(
            sentence(&wide).ends_with("missed. By less than the rounds differ: 0.970 to 1.030."),
            "{}",
            sentence(&wide)
        );
    }

    #[test]
    fn less_time_is_a_higher_ratio_and_a_most_judges_plumbs_own_value() {
        let row = |bar| Row::compare(("case", "peer"), Unit::Milliseconds, &[5.0, 4.0, 8.0], &[10.0, 10.0, 10.0], bar);
        assert_eq!(row(Bar::AtLeast(2.0)).ratio, 2.0);
        assert_eq!(row(Bar::AtLeast(2.1)).is_met(), Some(false));
        assert_eq!((row(Bar::AtMost(5.0)).is_met(), row(Bar::AtMost(4.9)).is_met()), (Some(true), Some(false)));
        assert_eq!(row(Bar::Shown).is_met(), None);
        assert_eq!(row(Bar::AtMost(4.0)).sentence().unwrap(), "case: 5.00 ms, expected at most 4 ms: missed.");
    }

    #[test]
    fn values_have_the_unit_of_their_row() {
        let texts = [(Unit::Bytes, 2.5e9), (Unit::Bytes, 1e8), (Unit::Milliseconds, 1500.0), (Unit::Milliseconds, 5.5)];
        let texts = texts.map(|(unit, value)| unit.text(value).trim().to_owned());
        assert_eq!(texts, ["2.50 GB/s", "100.0 MB/s", "1.50 s", "5.50 ms"]);
    }

    #[test]
    fn a_median_of_an_even_number_lies_between() {
        assert_eq!(median([4.0, 1.0, 3.0, 2.0].into_iter()), 2.5);
    }
}
