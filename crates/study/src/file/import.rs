//! `[import]`: published numbers, read when the study is planned.

use super::error::StudyError;
use super::factors::Combined;
use super::files::StudyFiles;
use super::form::ImportForm;
use super::levels;
use super::study::Study;
use crate::plan::{Import, ImportedClaim, Levels};
use plumb_result::{CellMetric, PublishedNumber};
use plumb_tools_classic::{bonnie, iozone};
use plumb_workload_text::native::read_form;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Audit,
    Iozone,
    Bonnie,
}

impl Dialect {
    /// All formats, each with a description for error messages.
    const ALL: [(Dialect, &str, &str); 3] = [
        (Dialect::Audit, "audit", "a file of `plumb audit`"),
        (Dialect::Iozone, "iozone", "its text, or the spreadsheet of `-b`"),
        (Dialect::Bonnie, "bonnie++", "its lines of values"),
    ];

    fn from_name(name: &str) -> Option<Dialect> {
        Dialect::ALL.iter().find(|(_, known, _)| *known == name).map(|(dialect, ..)| *dialect)
    }
}

/// Returns the kind of number that a claim names.
fn kind_of(name: &str) -> Option<CellMetric> {
    CellMetric::ALL.iter().copied().find(|kind| kind.name() == name)
}

impl Study<'_> {
    /// Reads the published numbers that the study names from their files.
    pub(super) fn imports(
        &mut self,
        combined: &[Combined],
        files: &mut dyn StudyFiles,
    ) -> Result<Vec<Import>, StudyError> {
        let mut found = Vec::new();
        for (label, form) in &self.form.import {
            let levels = form.levels.iter().map(|(factor, level)| (factor.clone(), level.to_string())).collect();
            let import = Import {
                label: label.clone(),
                file: form.file.clone(),
                dialect: form.dialect.clone(),
                levels,
                side: form.side.clone(),
                test: form.test.clone(),
                numbers: self.published(label, form, files)?,
            };
            // Another scale may lack the level, which is not an error.
            if !combined.iter().any(|cell| import.stands_for(&cell.levels)) {
                self.warnings
                    .push(format!("no cell has the levels of import `{label}`: its numbers are not compared with any"));
            }
            found.push(import);
        }
        Ok(found)
    }

    fn published(
        &self,
        label: &str,
        form: &ImportForm,
        files: &mut dyn StudyFiles,
    ) -> Result<Vec<PublishedNumber>, StudyError> {
        let place = |key: &str| self.place(&["import", label, key]);
        let Some(dialect) = Dialect::from_name(&form.dialect) else {
            let known: Vec<String> = Dialect::ALL.iter().map(|(_, name, what)| format!("`{name}` ({what})")).collect();
            return Err(self.failed(
                place("dialect"),
                format!("published numbers of `{}` cannot be read", form.dialect),
                format!("those of {} can", known.join(", ")),
            ));
        };
        let chosen = [("side", &form.side), ("test", &form.test)];
        if let Some((key, _)) = chosen.iter().find(|(_, name)| name.is_some())
            && dialect != Dialect::Audit
        {
            let message = format!("a file of `{}` has no {key} to choose", form.dialect);
            return Err(self.failed(place(key), message, "leave it out; `dialect = \"audit\"` has sides and tests"));
        }
        let bytes = files.bytes(Path::new(&form.file)).map_err(|reason| {
            let message = format!("cannot read `{}`: {reason}", form.file);
            self.failed(place("file"), message, "paths are relative to the study")
        })?;
        let read = match dialect {
            Dialect::Audit => return self.audited(label, form, &String::from_utf8_lossy(&bytes)),
            Dialect::Iozone => iozone::published(&bytes),
            Dialect::Bonnie => bonnie::published(&String::from_utf8_lossy(&bytes)),
        };
        read.map_err(|unread| self.failed(place("file"), format!("`{}`: {unread}", form.file), unread.help.clone()))
    }

    /// Reads the claims of the audited imports about which side is better, each once.
    pub(super) fn claims(
        &self,
        imports: &[Import],
        combined: &[Combined],
        files: &mut dyn StudyFiles,
    ) -> Result<Vec<ImportedClaim>, StudyError> {
        let audited: Vec<&Import> =
            imports.iter().filter(|import| Dialect::from_name(&import.dialect) == Some(Dialect::Audit)).collect();
        let by = self.compared_factor();
        let is_level = |(factor, level): &(&String, &String)| {
            **factor != by && combined.iter().any(|cell| cell.levels.get(*factor) == Some(*level))
        };
        let mut claims: Vec<ImportedClaim> = Vec::new();
        for import in &audited {
            if claims.iter().any(|claim| claim.file == import.file) {
                continue;
            }
            let Ok(bytes) = files.bytes(Path::new(&import.file)) else { continue };
            let study = read_form(&import.file, &String::from_utf8_lossy(&bytes), plumb_audit::problems)?;
            for claim in study.claim.iter().filter(|claim| claim.better.is_some()) {
                let tests: Vec<&str> = claim.on.iter().filter_map(|on| on.split('.').next()).collect();
                let is_of = |one: &&&Import| {
                    let test = one.test.as_deref();
                    one.file == import.file && (tests.is_empty() || test.is_none_or(|test| tests.contains(&test)))
                };
                let levels = audited.iter().filter(is_of).map(|one| one.levels.clone()).reduce(|mut all, one| {
                    all.retain(|factor, level| one.get(factor) == Some(level));
                    all
                });
                claims.push(ImportedClaim {
                    text: claim.text.clone(),
                    file: import.file.clone(),
                    kinds: claim.on.iter().filter_map(|on| kind_of(on.split_once('.')?.1)).collect(),
                    levels: levels.map(|levels| {
                        let kept =
                            levels.iter().filter(is_level).map(|(factor, level)| (factor.clone(), level.clone()));
                        Levels::from_iter(kept)
                    }),
                });
            }
        }
        Ok(claims)
    }

    /// Reads the numbers of one side of an audited study. Errors within that file have its own positions.
    fn audited(&self, label: &str, form: &ImportForm, text: &str) -> Result<Vec<PublishedNumber>, StudyError> {
        let study = read_form(&form.file, text, plumb_audit::problems)?;
        let sides = study.side.iter().map(|side| side.id.as_str());
        let Some(side) = &form.side else {
            let names: Vec<String> = sides.map(|side| format!("`{side}`")).collect();
            return Err(self.failed(
                self.place(&["import", label, "file"]),
                format!("`{}` has numbers of {} sides", form.file, names.len()),
                format!("say which with `side`: {}", names.join(", ")),
            ));
        };
        let tests = study.test.iter().map(|test| test.id.as_str());
        let unknown = |what: &str, name: &str, known: Vec<&str>| -> Option<StudyError> {
            let place = self.place(&["import", label, what]);
            let is_known = known.contains(&name);
            (!is_known)
                .then(|| self.document.failures(vec![levels::unknown(what, name, known.into_iter(), &place)]).into())
        };
        if let Some(error) = unknown("side", side, sides.collect()) {
            return Err(error);
        }
        if let Some(error) = form.test.as_ref().and_then(|test| unknown("test", test, tests.collect())) {
            return Err(error);
        }
        let numbers = plumb_audit::published(&study, side, form.test.as_deref());
        if numbers.is_empty() {
            let of_test = form.test.as_ref().map_or(String::new(), |test| format!(" in its test `{test}`"));
            return Err(self.failed(
                self.place(&["import", label, "side"]),
                format!("`{}` has no number of `{side}`{of_test}: it tells why", form.file),
                "leave the import out, or choose another side or test",
            ));
        }
        Ok(numbers)
    }
}
