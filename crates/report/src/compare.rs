//! The page of a comparison: the verdict as a sentence, the numbers that support it, and the differences between the sides.

use crate::format::{self, MISSING};
use crate::run::short_id;
use crate::style::{Ink, Style};
use crate::table::{self, Align, Column};
use plumb_result::compare::{
    Capped, Difference, LeftOut, Mode, Outlier, Replicate, RunCheck, StoredSide, typical_runs,
};
use plumb_result::run::TierName;
use plumb_result::{Comparison, Contrast, ContrastVerdict, Finding, Level, Metric, Tail};
use plumb_workload::named::WorkloadTitle;

/// Returns the whole page: the answer, the numbers as a table, remarks on them, warnings about the runs, and the differences
/// between the sides. It lists at most three warnings unless `verbose` is set. `workloads` describes the named workloads.
pub fn page(comparison: &Comparison, workloads: &[WorkloadTitle], verbose: bool, style: &Style) -> String {
    let mut page = style.ink(Ink::Strong, &style.wrap(&comparison.verdict_note, 0));
    page.push_str("\n\n");
    if !comparison.contrasts.is_empty() {
        page.push_str(&numbers(comparison, workloads, style));
    }
    page.push_str(&places(comparison, style));
    page.push_str(&stored(comparison, style));
    page.push_str(&notes(comparison, style));
    page.push_str(&left_out(
        &unexplained(&comparison.left_out, &comparison.run_checks),
        RejectedTogether::PerSide,
        style,
    ));
    page.push_str(&objections(comparison, if verbose { usize::MAX } else { WARNINGS_SHOWN }, style));
    page.push_str(&differences(comparison, verbose, style));
    page
}

/// Largest number of warnings about runs on a page.
const WARNINGS_SHOWN: usize = 3;

/// Returns the runs that were left out for a reason that is not among the findings.
pub(crate) fn unexplained(left_out: &[LeftOut], run_checks: &[RunCheck]) -> Vec<LeftOut> {
    let is_found = |run: &LeftOut| {
        let mut codes = run.reason.split(' ').filter(is_code).peekable();
        codes.peek().is_some()
            && codes.all(|code| {
                let failed = |check: &RunCheck| check.finding.level == Level::Fail && check.finding.code == code;
                run_checks.iter().any(|check| check.side.split("; ").any(|side| side == run.side) && failed(check))
            })
    };
    left_out.iter().filter(|run| !is_found(run)).cloned().collect()
}

/// Returns `true` if a word is the code of a check, such as `C1`.
fn is_code(word: &&str) -> bool {
    word.len() >= 2 && word.starts_with(char::is_uppercase) && word[1..].parse::<u32>().is_ok()
}

/// Returns all objections of the checks, worst first. Findings about runs come first: each check once, with its sides
/// and number of runs. Findings about both sides together follow.
fn objections(comparison: &Comparison, shown: usize, style: &Style) -> String {
    let of = |code: &str| comparison.run_checks.iter().filter(|one| one.finding.code == code).collect::<Vec<_>>();
    let worst = |code: &str| of(code).iter().map(|one| one.finding.level).max().unwrap_or(Level::Note);
    let mut codes: Vec<&str> = Vec::new();
    for check in &comparison.run_checks {
        if !codes.contains(&check.finding.code.as_str()) {
            codes.push(&check.finding.code);
        }
    }
    // Findings of only one side come first: they may explain a difference.
    codes.sort_by_key(|code| (std::cmp::Reverse(worst(code)), of(code).len()));
    let mut text = String::new();
    for code in codes.iter().take(shown) {
        text.push_str(&runs_text(&of(code), &comparison.verdict_note, style));
    }
    for finding in joint_findings(comparison) {
        text.push_str(&item(finding, &finding.message, style));
    }
    let more = codes.len().saturating_sub(shown);
    if more > 0 {
        text.push_str(&format!("  {}\n", style.ink(Ink::Faint, &style.wrap(&format!("{more} more warnings: -v"), 2))));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Returns the findings about both sides together. Leaves out that there are too few runs if the verdict already says
/// so, unless that finding overrode a claim or its remedy is something other than more runs. Also leaves it out if
/// the checks rejected the runs, because they say so themselves.
fn joint_findings(comparison: &Comparison) -> impl Iterator<Item = &Finding> {
    let contrasts = &comparison.contrasts;
    let is_rejected = !contrasts.is_empty() && contrasts.iter().all(|contrast| contrast.rejected);
    let is_stated = comparison.left_out.is_empty()
        && !contrasts.is_empty()
        && contrasts.iter().all(|contrast| contrast.capped.is_none() && contrast.blocks_needed.is_some());
    let checks = comparison.checks.iter().filter(|finding| finding.level >= Level::Warn);
    checks.filter(move |finding| finding.code != "E1" || !(is_stated || is_rejected))
}

/// Returns the line for one check of the runs, with its sides.
pub(crate) fn runs_text(checks: &[&RunCheck], verdict: &str, style: &Style) -> String {
    let level = checks.iter().map(|check| check.finding.level).max();
    let Some(worst) = checks.iter().find(|check| Some(check.finding.level) == level) else { return String::new() };
    let sides: Vec<String> =
        checks.iter().map(|one| format!("{} ({} of {} runs)", one.side, one.runs, one.of)).collect();
    let is_stated = verdict.contains(&format!("({}).", worst.finding.code));
    let what = if is_stated { String::new() } else { format!(": {}", worst.finding.message) };
    item(&worst.finding, &format!("{}{what}", sides.join(" and ")), style)
}

fn item(finding: &Finding, wording: &str, style: &Style) -> String {
    let head = format!("{} {}", finding.level.name(), finding.code);
    let ink = if finding.level == Level::Fail { Ink::Bad } else { Ink::Caution };
    let remedy = if finding.remedy.is_empty() { String::new() } else { format!(" → {}", finding.remedy) };
    format!("  {} {}\n", style.ink(ink, &head), style.wrap(&format!("{wording}{remedy}"), head.len() + 3))
}

fn numbers(comparison: &Comparison, workloads: &[WorkloadTitle], style: &Style) -> String {
    let contrasts = comparison.contrasts.as_slice();
    let titles = titles(contrasts, style);
    let lines = table::set(columns(contrasts, &titles), style.width);
    let mut text = format!("{}\n", style.ink(Ink::Faint, &lines.head));
    for (contrast, row) in contrasts.iter().zip(&lines.rows) {
        let verdict = verdict_word(contrast);
        let rest = row.trim_start().strip_prefix(verdict).unwrap_or(row);
        text.push_str(&format!("  {}{rest}\n", style.ink(ink(contrast), verdict)));
    }
    let legend = style.wrap(&legend(contrasts, &titles), 2);
    let legend: Vec<String> = legend.lines().map(|line| style.ink(Ink::Faint, line.trim_start())).collect();
    text.push_str(&format!("  {}\n", legend.join("\n  ")));
    // Stored runs may have settings other than those that the name stands for.
    if comparison.stored.is_none() {
        text.push_str(&works(contrasts.iter().filter_map(|one| one.workload.as_deref()), workloads, style));
    }
    text.push('\n');
    let wording = contrasts.iter().flat_map(|contrast| {
        let name = format!("{} {}", contrast.phase, contrast.metric);
        remarks(contrast, comparison).into_iter().map(move |remark| (name.clone(), remark))
    });
    let wording = remark_lines(wording.collect(), contrasts.len(), style);
    text.push_str(&wording);
    text.push_str(&tails(&comparison.tails, style));
    let typical = typical_runs(contrasts);
    if let Some(typical) = &typical {
        text.push_str(&format!("  {}\n", style.wrap(typical, 4)));
    }
    text.push_str(if wording.is_empty() && typical.is_none() { "" } else { "\n" });
    text
}

/// Formats the slowest ops of both sides, which rates and a p99 do not show, such as
/// `random-read read  p99.9 0.91 ms | 0.92 ms  slowest 2.1 ms | 200 ms`.
fn tails(tails: &[Tail], style: &Style) -> String {
    let column = |title: &str, align, hide_order, cell: &dyn Fn(&Tail) -> String| Column {
        title: title.to_owned(),
        cells: tails.iter().map(cell).collect(),
        align,
        hide_order,
    };
    let time = |ns: Option<f64>| ns.map_or(MISSING.to_owned(), format::time_brief);
    let columns = vec![
        column("slow ops (A | B)", Align::Left, None, &|tail| match tail.phase.as_str() {
            "" => tail.op.name().to_owned(),
            phase => format!("{phase} {}", tail.op.name()),
        }),
        column("p99.9", Align::Right, Some(0), &|tail| {
            format!("{} | {}", time(tail.baseline.p999_ns), time(tail.candidate.p999_ns))
        }),
        column("slowest", Align::Right, None, &|tail| {
            format!("{} | {}", time(Some(tail.baseline.max_ns)), time(Some(tail.candidate.max_ns)))
        }),
    ];
    if tails.is_empty() {
        return String::new();
    }
    let lines = table::set(columns, style.width);
    let mut text = format!("{}\n", style.ink(Ink::Faint, &lines.head));
    text.extend(lines.rows.iter().map(|row| format!("{row}\n")));
    text + "\n"
}

/// Returns the word in the verdict column.
fn verdict_word(contrast: &Contrast) -> &'static str {
    if contrast.rejected { "rejected" } else { contrast.verdict.name() }
}

fn ink(contrast: &Contrast) -> Ink {
    match contrast.verdict {
        _ if contrast.rejected => Ink::Bad,
        ContrastVerdict::Faster | ContrastVerdict::Equivalent => Ink::Good,
        ContrastVerdict::Slower => Ink::Bad,
        ContrastVerdict::CannotTell | ContrastVerdict::Fragile => Ink::Caution,
    }
}

/// Returns the value that all contrasts share; `None` if they differ.
fn common<T: PartialEq>(contrasts: &[Contrast], of: impl Fn(&Contrast) -> T) -> Option<T> {
    let first = of(contrasts.first()?);
    contrasts.iter().all(|contrast| of(contrast) == first).then_some(first)
}

/// Returns the titles of the two sides' columns: their names, or letters if names would displace columns of values.
fn titles(contrasts: &[Contrast], style: &Style) -> [String; 2] {
    let letters = || ["A".to_owned(), "B".to_owned()];
    let Some(first) = contrasts.first() else { return letters() };
    let names = [&first.baseline, &first.candidate].map(String::clone);
    let mut columns = columns(contrasts, &names);
    columns.retain(|column| column.hide_order.is_none_or(|order| order > P_HIDE_ORDER));
    if table::width_of(&columns) <= style.width { names } else { letters() }
}

/// Hide order of the p column. Columns hidden before it matter less than the sides' names.
const P_HIDE_ORDER: u32 = 2;

/// Hide order of the phase column if all numbers belong to one phase, which the legend then names.
const PHASE_HIDE_ORDER: u32 = 4;

fn columns(contrasts: &[Contrast], [a, b]: &[String; 2]) -> Vec<Column> {
    let column = |title: &str, align, hide_order, cell: &dyn Fn(&Contrast) -> String| Column {
        title: title.to_owned(),
        cells: contrasts.iter().map(cell).collect(),
        align,
        hide_order,
    };
    let value = |value: Option<f64>, modes: &[Mode], metric: Metric| match (value, modes.len()) {
        (Some(value), 0) => format::metric(value, metric),
        (None, 0) => MISSING.to_owned(),
        (_, speeds) => format!("{speeds} speeds"),
    };
    let one_phase = common(contrasts, |contrast| contrast.phase.clone()).is_some();
    let confidence = common(contrasts, |contrast| percent_of(contrast.confidence));
    let interval = |contrast: &Contrast| match (contrast.lo, contrast.hi) {
        (Some(lo), Some(hi)) => {
            let of = match confidence {
                Some(_) => String::new(),
                None => format!(" ({:.0} %)", contrast.confidence * 100.0),
            };
            format!("{}{of}", format::interval(lo, hi))
        }
        _ => MISSING.to_owned(),
    };
    let mut columns = vec![
        column("", Align::Left, None, &|contrast| verdict_word(contrast).to_owned()),
        column("", Align::Left, one_phase.then_some(PHASE_HIDE_ORDER), &|contrast| contrast.phase.clone()),
        column("", Align::Left, None, &|contrast| contrast.metric.to_string()),
        column(a, Align::Right, Some(6), &|contrast| {
            value(contrast.baseline_value, &contrast.baseline_modes, contrast.metric)
        }),
        column(b, Align::Right, Some(6), &|contrast| {
            value(contrast.candidate_value, &contrast.candidate_modes, contrast.metric)
        }),
        column("ratio", Align::Right, None, &|contrast| {
            contrast.ratio.map_or(MISSING.to_owned(), |ratio| format!("{}×", format::ratio(ratio)))
        }),
        column(confidence.as_deref().unwrap_or("CI"), Align::Left, Some(7), &interval),
        column("spread", Align::Right, Some(1), &|contrast| {
            let [a, b] = [contrast.baseline_cv, contrast.candidate_cv]
                .map(|cv| cv.map_or(MISSING.to_owned(), |cv| format!("{:.1}", cv * 100.0)));
            if contrast.baseline_cv.is_none() && contrast.candidate_cv.is_none() { a } else { format!("{a} | {b} %") }
        }),
    ];
    if common_tiers(contrasts).is_none() && contrasts.iter().any(|contrast| tiers(contrast) != MISSING) {
        columns.push(column("measured", Align::Left, Some(5), &tiers));
    }
    if is_corrected(contrasts) {
        columns.push(column("p", Align::Right, Some(P_HIDE_ORDER), &|contrast| {
            contrast.p_adjusted.map_or(MISSING.to_owned(), format::probability)
        }));
    }
    if contrasts.iter().any(|contrast| contrast.floor.is_some()) {
        columns.push(column("floor", Align::Right, Some(3), &|contrast| {
            contrast.floor.as_ref().map_or(MISSING.to_owned(), |floor| format::percent(floor.share))
        }));
    }
    if common(contrasts, |contrast| contrast.blocks).is_none() {
        columns.push(column("over", Align::Right, Some(0), &|contrast| count(contrast.blocks, contrast.unit, "")));
    }
    columns
}

/// Returns `true` if several numbers are tested, so that p is corrected.
fn is_corrected(contrasts: &[Contrast]) -> bool {
    contrasts.len() > 1 && contrasts.iter().any(|contrast| contrast.p_adjusted.is_some())
}

fn percent_of(confidence: f64) -> String {
    format!("{:.0} % CI", confidence * 100.0)
}

/// Returns the tiers shared by all numbers that have any; `None` if they differ or no number has a tier.
fn common_tiers(contrasts: &[Contrast]) -> Option<String> {
    let mut all = contrasts.iter().map(tiers).filter(|text| text != MISSING);
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

/// Returns the day on which the noise floor was measured.
fn floor_day(contrast: &Contrast) -> Option<&str> {
    contrast.floor.as_ref()?.measured_at.split('T').next()
}

/// Returns the tiers of both sides: `device`, or `cache | device`.
fn tiers(contrast: &Contrast) -> String {
    match (contrast.baseline_tier, contrast.candidate_tier) {
        (None, None) => MISSING.to_owned(),
        (a, b) if a == b => a.map_or(MISSING.to_owned(), |tier| tier.name().to_owned()),
        (a, b) => [a, b].map(|tier| tier.map_or(MISSING, TierName::name)).join(" | "),
    }
}

/// Describes each named workload of these numbers in a line: block size, depth, direct or buffered, flushed or not.
pub(crate) fn works<'a>(names: impl Iterator<Item = &'a str>, workloads: &[WorkloadTitle], style: &Style) -> String {
    let mut text = String::new();
    let mut printed: Vec<&str> = Vec::new();
    for name in names {
        let Some(title) = workloads.iter().find(|title| title.name == name && !printed.contains(&name)) else {
            continue;
        };
        printed.push(name);
        let line = style.wrap(&format!("{name}: {}", title.about), 4);
        text.push_str(&format!("  {}\n", style.ink(Ink::Faint, &line)));
    }
    text
}

/// Explains the table, once for all of its lines.
fn legend(contrasts: &[Contrast], [a, b]: &[String; 2]) -> String {
    let Some(first) = contrasts.first() else { return String::new() };
    let mut wording = Vec::new();
    if *a != first.baseline || *b != first.candidate {
        wording.push(format!("A: {}", first.baseline));
        wording.push(format!("B: {}", first.candidate));
    }
    wording.extend(common(contrasts, |contrast| contrast.phase.clone()));
    if let Some(blocks) = common(contrasts, |contrast| contrast.blocks) {
        wording.push(count(blocks, first.unit, ""));
    }
    wording.extend(common_tiers(contrasts).map(|tiers| format!("measured: {tiers}")));
    wording.push(format!("ratio above 1: {b} is better (higher rate or lower latency)"));
    if is_corrected(contrasts) {
        wording.push(format!("p corrected for {} comparisons (Holm)", contrasts.len()));
    }
    if let Some(day) = common(contrasts, |contrast| floor_day(contrast).map(str::to_owned)).flatten() {
        wording.push(format!("noise floor of {day}"));
    }
    wording.join(" · ")
}

/// Returns remarks on a number beyond its line in the table.
fn remarks(contrast: &Contrast, comparison: &Comparison) -> Vec<String> {
    let mut wording = Vec::new();
    // The findings below give the reason.
    let is_found = |capped: &&Capped| {
        comparison.checks.iter().any(|finding| finding.code == capped.code && finding.level >= Level::Warn)
    };
    match (&contrast.capped, &contrast.note) {
        (Some(capped), _) if is_found(&capped) => {
            wording.push(format!("if {} is ignored: {}", capped.code, capped.verdict.name()));
        }
        (Some(capped), _) => {
            wording.push(format!("{}: {} (otherwise {})", capped.code, capped.reason, capped.verdict.name()));
        }
        (None, Some(note)) if !contrast.rejected => wording.push(note.clone()),
        (None, _) => {}
    }
    let sides = [(&contrast.baseline, &contrast.baseline_modes), (&contrast.candidate, &contrast.candidate_modes)];
    for (name, modes) in sides.into_iter().filter(|(_, modes)| !modes.is_empty()) {
        wording.push(format!("{name} {}", speeds(modes, contrast.metric)));
    }
    if !contrast.outliers.is_empty() {
        wording.push(outliers_text(contrast));
    }
    let is_common = common(&comparison.contrasts, |contrast| floor_day(contrast).map(str::to_owned)).is_some();
    if let Some(day) = floor_day(contrast).filter(|_| !is_common) {
        wording.push(format!("noise floor of {day}"));
    }
    wording
}

/// Formats outliers: `1 outlier (kept): 76.1 k IOPS on A (01a1fd50-df8d); without its block 1.02× (0.99 – 1.05)`.
fn outliers_text(contrast: &Contrast) -> String {
    let one = |far: &Outlier| {
        format!("{} on {} ({})", format::metric(far.value, contrast.metric), far.side, short_id(&far.run))
    };
    let runs: Vec<String> = contrast.outliers.iter().map(one).collect();
    let head = match runs.len() {
        1 => "1 outlier (kept)".to_owned(),
        many => format!("{many} outliers (kept)"),
    };
    let without = contrast.without_outliers.map_or(String::new(), |left| {
        let [ratio, lo, hi] = [left.ratio, left.lo, left.hi].map(format::ratio);
        format!("; without {} {ratio}× ({lo} – {hi})", if runs.len() == 1 { "its block" } else { "their blocks" })
    });
    format!("{head}: {}{without}", runs.join(", "))
}

/// Formats remarks on numbers. Each remark is printed once with the numbers that it applies to, or without them if
/// it applies to all `of`.
pub(crate) fn remark_lines(wording: Vec<(String, String)>, of: usize, style: &Style) -> String {
    let mut by_remark: Vec<(String, Vec<String>)> = Vec::new();
    for (name, remark) in wording {
        match by_remark.iter_mut().find(|(known, _)| *known == remark) {
            Some((_, names)) => names.push(name),
            None => by_remark.push((remark, vec![name])),
        }
    }
    let line = |(remark, names): (String, Vec<String>)| {
        let whole = if names.len() == of { remark } else { format!("{}: {remark}", names.join(", ")) };
        format!("  {}\n", style.wrap(&whole, 4))
    };
    by_remark.into_iter().map(line).collect()
}

/// Formats several speeds, which no single mean describes: `95.5 k IOPS in 80 % of runs, 76.1 k IOPS in 20 %`.
pub(crate) fn speeds(modes: &[Mode], metric: Metric) -> String {
    let speed = |(position, mode): (usize, &Mode)| {
        let of = if position == 0 { " of runs" } else { "" };
        format!("{} in {}{of}", format::metric(mode.value, metric), format::percent(mode.share))
    };
    modes.iter().enumerate().map(speed).collect::<Vec<_>>().join(", ")
}

/// Formats a count: `1 block`, `8 blocks`, `2 more plots`.
pub(crate) fn count(count: u32, unit: Replicate, more: &str) -> String {
    let ending = match (count, unit) {
        (1, _) => "",
        (_, Replicate::Stretch) => "es",
        _ => "s",
    };
    format!("{count} {more}{}{ending}", unit.name())
}

fn places(comparison: &Comparison, style: &Style) -> String {
    let Some(plots) = &comparison.plots else { return String::new() };
    let line = format!("places: {} | {}", plots.baseline.join(", "), plots.candidate.join(", "));
    format!("  {}\n", style.ink(Ink::Faint, &style.wrap(&line, 4)))
}

/// Lists the stored runs that were compared, and when they were made.
fn stored(comparison: &Comparison, style: &Style) -> String {
    let Some(stored) = &comparison.stored else { return String::new() };
    let minute = |time: &str| time.get(..16).unwrap_or(time).replace('T', " ");
    let line = |(letter, side): (&str, &StoredSide)| {
        let runs = if side.runs == 1 { "1 run".to_owned() } else { format!("{} runs", side.runs) };
        let (first, last) = (minute(&side.first_at), minute(&side.last_at));
        let when = if first == last { first } else { format!("{first} to {last}") };
        let line = format!("{letter}: {} ({runs}, {when} UTC)", side.selection);
        format!("  {}\n", style.ink(Ink::Faint, &style.wrap(&line, 4)))
    };
    [("A", &stored.baseline), ("B", &stored.candidate)].into_iter().map(line).collect()
}

fn notes(comparison: &Comparison, style: &Style) -> String {
    comparison.notes.iter().map(|note| crate::run::not_possible(note, style)).collect()
}

/// Grouping of runs that the same checks rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RejectedTogether {
    /// Group the runs of each side.
    PerSide,
    /// Group all runs.
    All,
}

/// Lists the runs that were left out. Runs with the same reason share an entry with one reason in full.
pub(crate) fn left_out(all: &[LeftOut], together: RejectedTogether, style: &Style) -> String {
    let mut groups: Vec<(String, Vec<&LeftOut>)> = Vec::new();
    for run in all {
        let side = if together == RejectedTogether::PerSide { run.side.as_str() } else { "" };
        let codes: Vec<&str> = run.reason.split(' ').filter(is_code).collect();
        // Runs that no check rejected are grouped by their reason.
        let key =
            if codes.is_empty() { format!("{side} {}", run.reason) } else { format!("{side} {}", codes.join(" ")) };
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, runs)) => runs.push(run),
            None => groups.push((key, vec![run])),
        }
    }
    let mut text = String::new();
    for (_, runs) in &groups {
        let Some(first) = runs.first() else { continue };
        let (id, side) = (short_id(&first.run), &first.side);
        let which = match (runs.len(), together) {
            (1, RejectedTogether::PerSide) => format!("run {id} of {side}"),
            (1, RejectedTogether::All) => format!("run {id} at {side}"),
            (many, RejectedTogether::PerSide) => format!("{many} runs of {side}, such as {id}"),
            (many, RejectedTogether::All) => format!("{many} runs, such as {id} at {side}"),
        };
        let is_rejected = first.reason.split(' ').next().as_ref().is_some_and(is_code);
        let word = if is_rejected { "rejected" } else { "left out" };
        let line = format!("{word}: {which}: {}", first.reason);
        text.push_str(&format!("  {}\n", style.ink(Ink::Bad, &style.wrap(&line, 4))));
    }
    text
}

/// Factors in the order in which they are likely to matter.
const FACTORS: &[&str] = &[
    "limits",
    "sim",
    "fs",
    "device",
    "raid",
    "mount",
    "layout",
    "fullness",
    "host",
    "scheduler",
    "kernel",
    "os",
    "sysctl",
];

/// Largest number of differences of one factor on a page.
const DIFFERENCES_SHOWN: usize = 6;

/// Returns `true` for differences that rarely explain a difference in speed: names, sizes and queue settings.
fn is_minor(difference: &Difference) -> bool {
    const MINOR: &[&str] =
        &["read_ahead", "max_sectors", "nr_requests", "rq_affinity", "iostats", "name", "number", "uuid"];
    MINOR.iter().any(|word| difference.fact.contains(word))
}

fn differences(comparison: &Comparison, verbose: bool, style: &Style) -> String {
    if comparison.differences.is_empty() {
        let wording = match comparison.stored.as_ref().is_some_and(|stored| stored.imported > 0) {
            true => "What differs between the two set-ups was not recorded.",
            false => "No recorded fact differs between the two set-ups: file system, device, options, kernel.",
        };
        return format!("{}\n", style.wrap(wording, 0));
    }
    let as_they_are = comparison.varying.is_none() && comparison.plots.is_none() && comparison.stored.is_none();
    let head = if as_they_are {
        "The verdict is about these two places only. They differ in (A | B):"
    } else {
        "The sides differ in (A | B):"
    };
    let mut text = format!("{}\n", style.wrap(head, 0));
    let differences = comparison.distinct_differences();
    let mut factors: Vec<&str> = differences.iter().map(|difference| difference.factor.as_str()).collect();
    factors.sort_by_key(|factor| (FACTORS.iter().position(|known| known == factor).unwrap_or(FACTORS.len()), *factor));
    factors.dedup();
    let shown = if verbose { usize::MAX } else { DIFFERENCES_SHOWN };
    for factor in factors {
        let mut of_factor: Vec<_> = differences.iter().filter(|difference| difference.factor == factor).collect();
        of_factor.sort_by_key(|difference| is_minor(difference));
        for difference in of_factor.iter().take(shown) {
            let line = format!("{}: {} | {}", difference.short(), difference.baseline, difference.candidate);
            text.push_str(&format!("  {factor:10} {}\n", style.wrap(&line, 15)));
        }
        if of_factor.len() > shown {
            text.push_str(&format!("  {factor:10} … {} more: -v\n", of_factor.len() - shown));
        }
    }
    text
}
