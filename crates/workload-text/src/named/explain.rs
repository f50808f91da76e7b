//! Sources of a named workload's numbers, read from the comments of its file.
//!
//! The comment at the end of a line gives the source of its number: a letter for the kind of evidence, a colon, and
//! the source. The comments at the top of a file describe the official parts, the inferred parts and the deviations.

use super::NamedWorkload;
use plumb_workload::named::{Evidence, ExplainedSetting, Explanation};

/// Letters that begin a comment, with the kind of evidence that each stands for.
const LETTERS: [(&str, Evidence); 7] = [
    ("S: ", Evidence::Official),
    ("C: ", Evidence::Code),
    ("P: ", Evidence::Paper),
    ("V: ", Evidence::Vendor),
    ("I: ", Evidence::Inferred),
    ("M: ", Evidence::Memory),
    ("own: ", Evidence::Own),
];

/// Splits a comment into the kind of evidence and the source.
fn evidence_of(comment: &str) -> Option<(Evidence, &str)> {
    LETTERS.iter().find_map(|(letter, evidence)| Some((*evidence, comment.strip_prefix(letter)?)))
}

/// Reads the sources from the comments of a native file.
pub(super) fn explain(named: &NamedWorkload, text: &str) -> Explanation {
    let NamedWorkload { name, about, banner, .. } = *named;
    let mut explanation = Explanation { name, about, banner, notes: Vec::new(), settings: Vec::new() };
    let mut part = String::new();
    let mut phase = String::new();
    // Lines inside open brackets continue a setting.
    let mut open = 0;
    let mut whole = String::new();
    let mut first_row = None;
    let mut in_notes = true;
    for line in text.lines().map(str::trim) {
        if let Some(note) = line.strip_prefix('#').filter(|_| in_notes) {
            add_note(&mut explanation.notes, note.trim());
            continue;
        }
        in_notes &= line.is_empty();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(header) = line.strip_prefix('[').filter(|_| open == 0) {
            let header = header.trim_matches(['[', ']']);
            part = match header {
                "phase.workers" => format!("phase {phase}, workers"),
                other => other.replace('.', " "),
            };
            continue;
        }
        let (setting, comment) =
            line.split_once(" # ").map_or((line, ""), |(line, comment)| (line.trim_end(), comment));
        let is_first_line = open == 0;
        let depth = |opening: char, closing: char| {
            setting.matches(opening).count() as i64 - setting.matches(closing).count() as i64
        };
        open += depth('[', ']') + depth('{', '}');
        if is_first_line {
            whole.clear();
            first_row = None;
        } else {
            whole.push(' ');
        }
        whole.push_str(setting);
        if is_first_line && let Some(name) = setting.strip_prefix("name = ") {
            if part == "phase" {
                phase = name.trim_matches('"').to_owned();
                part = format!("phase {phase}");
            }
            continue;
        }
        let (evidence, source) = evidence_of(comment).unwrap_or((Evidence::Own, comment));
        let is_left_out =
            (!is_first_line && source.is_empty()) || setting.starts_with("path = ") || setting.starts_with("target = ");
        if !is_left_out {
            if is_first_line && open > 0 {
                first_row = Some(explanation.settings.len());
            }
            explanation.settings.push(ExplainedSetting {
                part: part.clone(),
                setting: setting.trim_end_matches(',').to_owned(),
                evidence,
                source: source.to_owned(),
            });
        }
        if open == 0
            && let Some(first) = first_row.take()
        {
            complete(&mut explanation.settings[first..], &whole);
        }
    }
    explanation
}

/// Completes the first row of a list that spans several lines: the whole list, or `[…]` if its items have rows of their
/// own.
fn complete(rows: &mut [ExplainedSetting], whole: &str) {
    match rows {
        [only] => only.setting = whole.replace("[ ", "[").replace(", ]", "]").replace(" ]", "]"),
        [first, ..] => {
            let tables = first.setting.matches('{').count() - first.setting.matches('}').count();
            first.setting.push_str(&format!("…]{}", " }".repeat(tables)));
        }
        [] => {}
    }
}

/// Adds a line of the file's first comment. An empty line ends a paragraph.
fn add_note(notes: &mut Vec<String>, line: &str) {
    match notes.last_mut() {
        _ if line.is_empty() => notes.push(String::new()),
        Some(last) if !last.is_empty() => *last = format!("{last} {line}"),
        Some(last) => line.clone_into(last),
        None => notes.push(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LOADS, NAMED};

    // Protects: `--explain` prints no line that ends in an open bracket.
    #[test]
    fn lists_of_several_lines_are_complete() {
        let mut steps = Vec::new();
        for named in NAMED.iter().chain(LOADS) {
            for row in named.explanation().settings {
                let count = |bracket: char| row.setting.matches(bracket).count();
                assert_eq!((count('['), count('{')), (count(']'), count('}')), "{}: {}", named.name, row.setting);
                let is_steps = named.name == "mail" && row.setting.starts_with("work.program.steps");
                steps.extend(is_steps.then_some(row.setting));
            }
        }
        assert_eq!(steps.len(), 1, "{steps:?}");
        assert!(steps[0].contains("fsync") && steps[0].ends_with(']'), "{steps:?}");
    }
}
