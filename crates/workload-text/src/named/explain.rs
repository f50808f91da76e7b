//! Where the numbers of a named workload come from: read from the comments of its file.
//!
//! The comment at the end of a line says the source of its number: a letter for what it rests on, a colon and the source.
//! The comments at the top of a file are its page: what is official, what is inferred and what deviates.

use super::NamedWorkload;

/// What a number rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// The owner's official text.
    Official,
    /// Public code or configuration.
    Code,
    /// A paper.
    Paper,
    /// A vendor's or journal's page.
    Vendor,
    /// Computed from others.
    Inferred,
    /// Known from memory, and not verified.
    Memory,
    /// Plumb's own choice.
    Own,
}

impl Evidence {
    const LETTERS: [(&'static str, Evidence); 7] = [
        ("S: ", Evidence::Official),
        ("C: ", Evidence::Code),
        ("P: ", Evidence::Paper),
        ("V: ", Evidence::Vendor),
        ("I: ", Evidence::Inferred),
        ("M: ", Evidence::Memory),
        ("own: ", Evidence::Own),
    ];

    /// As printed.
    pub const fn name(self) -> &'static str {
        match self {
            Evidence::Official => "official text",
            Evidence::Code => "public code",
            Evidence::Paper => "paper",
            Evidence::Vendor => "vendor's page",
            Evidence::Inferred => "inferred",
            Evidence::Memory => "not verified",
            Evidence::Own => "Plumb's choice",
        }
    }

    /// What a comment says: what it rests on, and the source.
    fn of(comment: &str) -> Option<(Evidence, &str)> {
        Evidence::LETTERS.iter().find_map(|(letter, evidence)| Some((*evidence, comment.strip_prefix(letter)?)))
    }
}

/// A named workload with the source of each number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// What users type.
    pub name: &'static str,
    /// One line for users.
    pub about: &'static str,
    /// Of what its numbers are no official result.
    pub banner: Option<&'static str>,
    /// What is official, what is inferred, what deviates: a paragraph each.
    pub notes: Vec<String>,
    /// Its settings, in the order of the file.
    pub settings: Vec<ExplainedSetting>,
}

/// A setting and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedSetting {
    /// Of which target or phase; empty for the whole workload.
    pub part: String,
    /// The setting and its value, as in the file.
    pub setting: String,
    /// What it rests on.
    pub evidence: Evidence,
    /// The source; empty for a choice of Plumb that needs no words.
    pub source: String,
}

impl Explanation {
    /// Of a native file.
    pub(super) fn of(named: &NamedWorkload, text: &str) -> Explanation {
        let NamedWorkload { name, about, banner, .. } = *named;
        let mut explanation = Explanation { name, about, banner, notes: Vec::new(), settings: Vec::new() };
        let mut part = String::new();
        let mut phase = String::new();
        // Lines within brackets that were opened above go on with a setting.
        let mut open = 0;
        let mut in_notes = true;
        for line in text.lines().map(str::trim) {
            if let Some(note) = line.strip_prefix('#').filter(|_| in_notes) {
                explanation.add_note(note.trim());
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
            if is_first_line && let Some(name) = setting.strip_prefix("name = ") {
                if part == "phase" {
                    phase = name.trim_matches('"').to_owned();
                    part = format!("phase {phase}");
                }
                continue;
            }
            let (evidence, source) = Evidence::of(comment).unwrap_or((Evidence::Own, comment));
            if (!is_first_line && source.is_empty())
                || setting.starts_with("path = ")
                || setting.starts_with("target = ")
            {
                continue;
            }
            explanation.settings.push(ExplainedSetting {
                part: part.clone(),
                setting: setting.trim_end_matches(',').to_owned(),
                evidence,
                source: source.to_owned(),
            });
        }
        explanation
    }

    /// A line of the file's first comment; an empty one ends a paragraph.
    fn add_note(&mut self, line: &str) {
        match self.notes.last_mut() {
            _ if line.is_empty() => self.notes.push(String::new()),
            Some(last) if !last.is_empty() => *last = format!("{last} {line}"),
            Some(last) => line.clone_into(last),
            None => self.notes.push(line.to_owned()),
        }
    }
}
