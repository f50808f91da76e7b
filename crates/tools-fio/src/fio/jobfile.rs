//! Job files: sections, options, comments, includes. Only `${NAME}`, `$ncpus` and the like are expanded here.

use super::error::{FioError, Warning, WordLocation};
use super::machine::{Files, Machine};
use super::value::arithmetic::{Flavour, Letter, evaluate};
use std::sync::Arc;

/// Longest line in bytes, excluding the terminating NUL of fio's buffer.
const LONGEST_LINE: usize = 8_191;
const DEEPEST_INCLUDE: usize = 16;
/// Name prefix of sections that apply to all following jobs.
const GLOBAL: &str = "global";

/// An option line as written in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionLine {
    pub name: String,
    /// Text after `=`; `None` without `=`.
    pub text: Option<String>,
    pub place: WordLocation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionKind {
    /// Applies to all jobs that follow.
    Global,
    Job,
}

/// A section of a job file or of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub kind: SectionKind,
    pub name: String,
    pub lines: Vec<OptionLine>,
    pub place: WordLocation,
    /// Whether a new file begins here, so that the section waits for the jobs of earlier files.
    pub opens_file: bool,
}

/// Returns the kind of section that a name introduces.
pub fn kind_of(name: &str) -> SectionKind {
    if name.starts_with(GLOBAL) { SectionKind::Global } else { SectionKind::Job }
}

/// Reads a sequence of job files.
pub(crate) struct JobFileReader<'a> {
    pub machine: &'a Machine,
    pub files: &'a mut dyn Files,
    /// Job sections to read, besides all global ones; empty for all.
    pub wanted: &'a [String],
    pub errors: &'a mut Vec<FioError>,
    pub warnings: &'a mut Vec<Warning>,
}

impl JobFileReader<'_> {
    /// Parses the text of a file into sections.
    pub(crate) fn sections(&mut self, path: &str, text: &str) -> Vec<Section> {
        let path: Arc<str> = path.into();
        let mut sections: Vec<Section> = Vec::new();
        let mut inside = Inside::Nothing;
        for (number, raw) in (1..).zip(text.split('\n')) {
            let place = WordLocation::File { path: Arc::clone(&path), line: number };
            let Some(line) = self.stripped(raw, &place) else { continue };
            if line.starts_with('[') {
                inside = match section_name(line) {
                    Some(name) => {
                        let kind = kind_of(name);
                        let unwanted = !self.wanted.is_empty() && !self.wanted.iter().any(|wanted| wanted == name);
                        if kind == SectionKind::Job && unwanted {
                            Inside::Skipped
                        } else {
                            let section =
                                Section { kind, name: name.to_owned(), lines: Vec::new(), place, opens_file: false };
                            sections.push(section);
                            Inside::Section
                        }
                    }
                    None => {
                        self.errors.push(FioError::OpenSection { place, text: line.to_owned() });
                        Inside::Skipped
                    }
                };
                continue;
            }
            match (inside, sections.last_mut()) {
                (Inside::Skipped, _) => {}
                (Inside::Section, Some(section)) => self.line(line, place, &path, 0, &mut section.lines),
                (Inside::Nothing | Inside::Section, _) => {
                    self.errors.push(FioError::BeforeSection { place, text: line.to_owned() });
                    // The lines after this one would repeat the error.
                    inside = Inside::Skipped;
                }
            }
        }
        sections
    }

    /// Returns the line without blanks and comments, or `None` if nothing is left.
    fn stripped<'t>(&mut self, raw: &'t str, place: &WordLocation) -> Option<&'t str> {
        if raw.len() > LONGEST_LINE {
            self.errors.push(FioError::LineTooLong { place: place.clone(), most: LONGEST_LINE });
            return None;
        }
        let line = raw.trim_start_matches(is_blank);
        let cut = line.find([';', '#']).unwrap_or(line.len());
        let kept = line[..cut].trim_end_matches(is_blank);
        if cut < line.len() && kept.contains('=') && !line[..cut].ends_with(is_blank) {
            let lost = line[cut..].trim_end_matches(is_blank).to_owned();
            self.warnings.push(Warning::CutByComment { place: place.clone(), kept: kept.to_owned(), lost });
        }
        (!kept.is_empty()).then_some(kept)
    }

    fn line(&mut self, line: &str, place: WordLocation, path: &str, depth: usize, lines: &mut Vec<OptionLine>) {
        let included = line.strip_prefix("include").filter(|rest| rest.starts_with(|c| is_blank(c) || c == '='));
        match included {
            Some(rest) => self.include(rest[1..].trim_matches(is_blank), place, path, depth + 1, lines),
            None => {
                let text = self.substituted(line);
                let (name, value) = match text.split_once('=') {
                    Some((name, value)) => (name, Some(value.trim_matches(is_blank).to_owned())),
                    None => (text.as_str(), None),
                };
                lines.push(OptionLine { name: name.trim_matches(is_blank).to_owned(), text: value, place });
            }
        }
    }

    fn include(
        &mut self,
        named: &str,
        place: WordLocation,
        including: &str,
        depth: usize,
        lines: &mut Vec<OptionLine>,
    ) {
        if depth > DEEPEST_INCLUDE {
            self.errors.push(FioError::IncludeTooDeep { place, most: DEEPEST_INCLUDE });
            return;
        }
        let beside = including.rfind('/').map(|slash| format!("{}{named}", &including[..=slash]));
        let mut found = self.files.read(named).map(|text| (named.to_owned(), text));
        if let (Err(_), Some(beside)) = (&found, beside)
            && let Ok(text) = self.files.read(&beside)
        {
            found = Ok((beside, text));
        }
        let (path, text) = match found {
            Ok(found) => found,
            Err(missing) => {
                let reason = missing.reason;
                self.errors.push(FioError::Unreadable { place: Some(place), path: named.to_owned(), reason });
                return;
            }
        };
        let shared: Arc<str> = path.as_str().into();
        for (number, raw) in (1..).zip(text.split('\n')) {
            let place = WordLocation::File { path: Arc::clone(&shared), line: number };
            let Some(line) = self.stripped(raw, &place) else { continue };
            if line.starts_with('[') {
                self.errors.push(FioError::SectionInInclude { place, text: line.to_owned() });
                return;
            }
            self.line(line, place, &path, depth, lines);
        }
    }

    /// Expands `${NAME}`, `$ncpus`, `$pagesize` and `$mb_memory`, then evaluates the result if it is an expression.
    fn substituted(&self, line: &str) -> String {
        let mut text = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(start) = rest.find("${") {
            let Some(length) = rest[start..].find('}') else { break };
            text.push_str(&rest[..start]);
            let name = &rest[start + 2..start + length];
            text.push_str(self.machine.environment.get(name).map_or("", String::as_str));
            rest = &rest[start + length + 1..];
        }
        text.push_str(rest);
        let keywords = [
            ("$pagesize", self.machine.page_bytes),
            ("$mb_memory", self.machine.memory_mib),
            ("$ncpus", u64::from(self.machine.cpus)),
        ];
        let mut replaced = false;
        for (keyword, value) in keywords {
            if text.contains(keyword) {
                text = text.replace(keyword, &value.to_string());
                replaced = true;
            }
        }
        // fio runs `bc` here. A value that is not an expression, such as a path, stays unchanged.
        if replaced
            && !text.contains('\'')
            && let Some((name, value)) = text.split_once('=')
            && value.contains(['+', '-', '*', '/'])
            && let Some(sum) = evaluate(value.trim(), Letter::Mebi, Flavour::Meant, 1)
        {
            return format!("{name}={}", sum.rounded());
        }
        text
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    Section,
    Skipped,
}

fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c.is_ascii_control()
}

/// Returns the text in the brackets: up to the last closing one, at most 255 bytes.
fn section_name(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('[')?;
    let name = &inner[..inner.rfind(']')?];
    let end = (0..=name.len().min(255)).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    Some(&name[..end])
}
