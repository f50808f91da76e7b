//! The page that states whether storage is good enough for a use: the answer, each limit with its source, and other numbers.

use crate::compare::{RejectedTogether, left_out};
use crate::format::{self, MISSING};
use crate::style::{Ink, Style};
use crate::table::{self, Align, Column};
use plumb_result::verdict::under_declared_load;
use plumb_result::{FitAnswer, FitFor, FitLimit, FitNumber, LoadDeclared};
use plumb_workload::named::{Use, WorkloadTitle};

/// Returns the answer as a sentence.
pub fn sentence(fit: &FitFor) -> String {
    let FitFor { use_name, path, .. } = fit;
    let decides = |answer: FitAnswer| fit.limits.iter().find(|limit| limit.answer == answer);
    match fit.answer {
        FitAnswer::Yes => match fit.limits.as_slice() {
            [only] => format!("Yes: {path} is good enough for {use_name}: {}.", compared(only)),
            all => format!("Yes: {path} is good enough for {use_name}: all {} limits hold.", all.len()),
        },
        FitAnswer::No => format!("No: {path} is not good enough for {use_name}: {}.", decided(decides(fit.answer))),
        FitAnswer::Borderline => {
            format!(
                "Borderline: {path} may or may not be good enough for {use_name}: {}.",
                decided(decides(fit.answer))
            )
        }
        FitAnswer::CannotTell => {
            let number = decides(fit.answer).map_or(String::new(), |limit| {
                format!(": the runs have too few operations for {}", name(&limit.number))
            });
            format!("Cannot tell whether {path} is good enough for {use_name}{number}.")
        }
        FitAnswer::NoLimit => format!("No limit is published for {use_name}: these are the numbers of {path}."),
        FitAnswer::Refused => format!("No answer for {use_name}: the numbers of {path} cannot be used."),
    }
}

fn decided(limit: Option<&FitLimit>) -> String {
    limit.map_or(String::new(), compared)
}

/// Returns a measured number and its limit: `wal fdatasync.lat.p99 is 4.00 ms, and must be below 10ms`.
fn compared(limit: &FitLimit) -> String {
    let number = &limit.number;
    let value = number.value.map_or(MISSING.to_owned(), |value| format::metric(value, number.metric));
    let which = match number.instead {
        Some(lower) => format!("{} {lower} already", number.phase),
        None => name(number),
    };
    let value = match (limit.answer, number.lo, number.hi) {
        (FitAnswer::Borderline, Some(lo), Some(hi)) => {
            format!("{} to {} (95 % CI)", format::metric(lo, number.metric), format::metric(hi, number.metric))
        }
        _ => value,
    };
    format!("{which} is {value}, and must be {}", required(limit))
}

/// Returns the limit in words: `below 10ms`.
fn required(limit: &FitLimit) -> String {
    let bound = bound(limit);
    let words = [("<=", "at most"), (">=", "at least"), ("<", "below"), (">", "above")];
    let worded = words.iter().find_map(|(sign, word)| Some(format!("{word} {}", bound.strip_prefix(sign)?.trim())));
    worded.unwrap_or_else(|| bound.to_owned())
}

/// Returns the condition without the name of its number: `< 10ms`.
fn bound(limit: &FitLimit) -> &str {
    limit.condition.find(['<', '>']).map_or(limit.condition.as_str(), |at| &limit.condition[at..])
}

fn name(number: &FitNumber) -> String {
    format!("{} {}", number.phase, number.metric).trim().to_owned()
}

/// Returns the whole page.
pub fn page(fit: &FitFor, style: &Style) -> String {
    let ink = match fit.answer {
        FitAnswer::Yes => Ink::Good,
        FitAnswer::No | FitAnswer::Refused => Ink::Bad,
        FitAnswer::Borderline | FitAnswer::CannotTell => Ink::Caution,
        FitAnswer::NoLimit => Ink::Strong,
    };
    let mut page = format!("{}\n", style.ink(ink, &style.wrap(&fit.answer_note, 0)));
    if let Some(load) = fit.under_load.as_deref().filter(|load| load.declared == LoadDeclared::Yes) {
        page.push_str(&format!("  {}\n", style.wrap(&under_declared_load(load), 2)));
    }
    for reason in &fit.refused_because {
        page.push_str(&format!("  {}\n", style.wrap(reason, 2)));
    }
    page.push('\n');
    page.push_str(&table_of(fit, style));
    for limit in &fit.limits {
        let line = format!("{}: {}", limit.condition, limit.source);
        page.push_str(&format!("  {}\n", style.ink(Ink::Faint, &style.wrap(&line, 4))));
    }
    page.push_str(&left_out(&fit.left_out, RejectedTogether::All, style));
    page.push_str(&crate::run::findings(&fit.checks, style));
    if !fit.note.is_empty() {
        page.push_str(&format!("{}\n", style.wrap(&fit.note, 0)));
    }
    let runs = fit.runs.len();
    let line = format!(
        "{runs} runs of {}; `plumb run {} --explain` says where its numbers come from",
        fit.workload, fit.workload
    );
    page.push_str(&format!("{}\n", style.ink(Ink::Faint, &style.wrap(&line, 0))));
    page
}

fn table_of(fit: &FitFor, style: &Style) -> String {
    let limits = fit.limits.iter().map(|limit| (&limit.number, Some(limit)));
    let rows: Vec<(&FitNumber, Option<&FitLimit>)> =
        limits.chain(fit.numbers.iter().map(|number| (number, None))).collect();
    let column = |title: &str, align, hide_order, cell: &dyn Fn(&FitNumber, Option<&FitLimit>) -> String| Column {
        title: title.to_owned(),
        cells: rows.iter().map(|(number, limit)| cell(number, *limit)).collect(),
        align,
        hide_order,
    };
    let columns = vec![
        column("", Align::Left, None, &|_, limit| limit.map_or(String::new(), |limit| limit.answer.name().to_owned())),
        column("", Align::Left, Some(2), &|number, _| number.phase.clone()),
        column("", Align::Left, None, &|number, _| number.instead.unwrap_or(number.metric).to_string()),
        column("measured", Align::Right, None, &|number, _| {
            number.value.map_or(MISSING.to_owned(), |value| format::metric(value, number.metric))
        }),
        column("95 % CI", Align::Left, Some(1), &|number, _| match (number.lo, number.hi) {
            (Some(lo), Some(hi)) => {
                format!("{} – {}", format::metric(lo, number.metric), format::metric(hi, number.metric))
            }
            _ => MISSING.to_owned(),
        }),
        column("limit", Align::Left, None, &|_, limit| limit.map_or(String::new(), |limit| bound(limit).to_owned())),
        column("tier", Align::Left, Some(0), &|number, _| number.tier.map_or("", |tier| tier.name()).to_owned()),
    ];
    let lines = table::set(columns, style.width);
    let mut text = format!("{}\n", style.ink(Ink::Faint, &lines.head));
    lines.rows.iter().for_each(|row| text.push_str(&format!("{row}\n")));
    text.push('\n');
    text
}

/// Lists the uses, each with its load and its limits. `workloads` describes the loads.
pub fn list(uses: &[Use], workloads: &[WorkloadTitle], style: &Style) -> String {
    let width = uses.iter().map(|one| one.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for one in uses {
        let limits: Vec<&str> = one.limits.iter().map(|limit| limit.condition).collect();
        let limits = if limits.is_empty() { "no published limit".to_owned() } else { limits.join(", ") };
        let about = workloads.iter().find(|title| title.name == one.load).map_or("", |title| title.about);
        let line = format!("{limits}   ({}: {about})", one.load);
        text.push_str(&format!("{:width$}  {}\n", one.name, style.wrap(&line, width + 2)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::FIT_FOR_SCHEMA;
    use plumb_result::run::TierName;
    use plumb_workload_text::named;

    fn fit(answer: FitAnswer, value: Option<f64>) -> FitFor {
        let metric = "fdatasync.lat.p99".parse().unwrap();
        let number = FitNumber {
            phase: "wal".to_owned(),
            metric,
            unit: metric.unit(),
            value,
            lo: value.map(|value| value * 0.9),
            hi: value.map(|value| value * 1.1),
            instead: None,
            tier: Some(TierName::Device),
        };
        let limit = FitLimit {
            condition: "wal/fdatasync.lat.p99 < 10ms".to_owned(),
            source: "somebody's page".to_owned(),
            limit: 1e7,
            answer,
            number,
        };
        let mut fit = FitFor {
            schema: FIT_FOR_SCHEMA.to_owned(),
            use_name: "etcd".to_owned(),
            workload: "etcd-wal".to_owned(),
            path: "/mnt".to_owned(),
            measured_at: String::new(),
            answer,
            answer_note: String::new(),
            limits: vec![limit],
            numbers: Vec::new(),
            note: String::new(),
            runs: vec!["a".to_owned(); 6],
            left_out: Vec::new(),
            checks: Vec::new(),
            refused_because: Vec::new(),
            under_load: None,
        };
        fit.answer_note = sentence(&fit);
        fit
    }

    // Protects: the answer comes first, with the number that decides it, its limit, and the publisher of the limit.
    #[test]
    fn the_answer_has_its_number_and_the_limit_its_source() {
        for (answer, head) in [
            (
                FitAnswer::Yes,
                "Yes: /mnt is good enough for etcd: wal fdatasync.lat.p99 is 4.00 ms, and must be below 10ms.",
            ),
            (FitAnswer::No, "No: /mnt is not good enough"),
            (FitAnswer::Borderline, "Borderline: /mnt may or may not"),
        ] {
            let page = page(&fit(answer, Some(4e6)), &Style { width: 200, ..Style::PLAIN });
            assert!(page.starts_with(head), "{page}");
            assert!(page.contains("3.60 ms – 4.40 ms") && page.contains("somebody's page"), "{page}");
        }
        let page = page(&fit(FitAnswer::CannotTell, None), &Style { width: 200, ..Style::PLAIN });
        assert!(page.contains("too few operations for wal fdatasync.lat.p99"), "{page}");
    }

    #[test]
    fn a_lower_percentile_is_named_as_what_it_is() {
        let mut found = fit(FitAnswer::No, Some(2e7));
        found.limits[0].number.instead = Some("fdatasync.lat.p50".parse().unwrap());
        assert!(sentence(&found).contains("wal fdatasync.lat.p50 already is 20.0 ms"), "{}", sentence(&found));
    }

    #[test]
    fn the_list_names_uses_without_a_limit() {
        let list = list(named::USES, &named::titles(), &Style::PLAIN);
        assert!(list.contains("etcd ") && list.contains("wal/fdatasync.lat.p99 < 10ms"), "{list}");
        assert!(list.contains("no published limit"), "{list}");
    }
}
