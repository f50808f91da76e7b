//! `--anonymise`: replaces names of hosts, users and paths in the output.

use plumb_cli::exit::Stopped;
use plumb_cli::output::error_line;
use plumb_document::{Node, Value};
use plumb_report::full::FullReport;
use plumb_result::Anonymiser;
use plumb_result::anonymise::NameKind;
use plumb_result::tidy::TidyTable;
use plumb_store::{ResultStore, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// Replaces the names in one output; passes everything through without `--anonymise`.
pub(crate) struct Names {
    anonymiser: Option<Anonymiser>,
    /// Replacements, with the names that whole fields held.
    replaced: BTreeMap<String, String>,
}

impl Names {
    pub(crate) fn new(is_anonymous: bool) -> Names {
        let anonymiser = is_anonymous.then(|| {
            let mut anonymiser = Anonymiser::new();
            // Free text in a run may name this host even if no field does.
            anonymiser.learn_host(&rustix::system::uname().nodename().to_string_lossy());
            anonymiser
        });
        Names { anonymiser, replaced: BTreeMap::new() }
    }

    pub(crate) fn are_replaced(&self) -> bool {
        self.anonymiser.is_some()
    }

    pub(crate) fn learn<T: Serialize + DeserializeOwned>(&mut self, value: &T) -> Result<(), Stopped> {
        match &mut self.anonymiser {
            Some(anonymiser) => anonymiser.learn(value).map_err(Stopped::io),
            None => Ok(()),
        }
    }

    /// Collects the names in stored runs. Skips runs without a result.
    pub(crate) fn learn_runs(&mut self, store: &dyn ResultStore, runs: &[String]) -> Result<(), Stopped> {
        let runs = if self.are_replaced() { runs } else { &[] };
        for run in runs {
            match store.get(run) {
                Ok(result) => self.learn(&result)?,
                Err(StoreError::NoResult { .. } | StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    pub(crate) fn shown<T: Serialize + DeserializeOwned>(&mut self, value: T) -> Result<T, Stopped> {
        match &mut self.anonymiser {
            Some(anonymiser) => {
                let changed = anonymiser.anonymous(&value).map_err(Stopped::io)?;
                let [before, after] = [&value, &changed].map(plumb_document::write);
                note(&before.map_err(Stopped::io)?, &after.map_err(Stopped::io)?, &mut self.replaced);
                Ok(changed)
            }
            None => Ok(value),
        }
    }

    pub(crate) fn text(&mut self, text: String) -> String {
        match &mut self.anonymiser {
            Some(anonymiser) => anonymiser.text(&text),
            None => text,
        }
    }

    pub(crate) fn replace_in_numbers(&mut self, numbers: &mut TidyTable) {
        if let Some(anonymiser) = &mut self.anonymiser {
            numbers.map_texts(&mut |text| anonymiser.text(text));
        }
    }

    pub(crate) fn replace_in_report(&mut self, report: &mut FullReport) {
        if let Some(anonymiser) = &mut self.anonymiser {
            report.map_texts(&mut |text| anonymiser.text(text));
        }
    }

    /// Prints on standard error each replacement with its name. Names that only occurred inside longer texts are in the summary
    /// alone.
    pub(crate) fn report_each(&self) {
        for (replacement, name) in &self.replaced {
            error_line!("  {replacement}: {name}");
        }
    }

    pub(crate) fn report(&self) {
        if let Some(anonymiser) = &self.anonymiser {
            error_line!("{}", anonymiser.summary());
        }
    }
}

const KINDS: [NameKind; 6] =
    [NameKind::Host, NameKind::Serial, NameKind::User, NameKind::Path, NameKind::Address, NameKind::Uuid];

/// Collects the replacements in fields that held one name and nothing else. Both documents have the same fields in the same order.
fn note(before: &Node, after: &Node, replaced: &mut BTreeMap<String, String>) {
    let is_replacement = |word: &str| {
        let number = KINDS.iter().find_map(|kind| word.strip_prefix(kind.name())?.strip_prefix('-'));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    match (before.get_ref(), after.get_ref()) {
        (Value::Text(name), Value::Text(word)) if name != word && is_replacement(word) => {
            replaced.insert(word.clone(), name.clone());
        }
        (Value::List(before), Value::List(after)) => {
            before.iter().zip(after).for_each(|(before, after)| note(before, after, replaced));
        }
        (Value::Table(before), Value::Table(after)) => {
            before.iter().zip(after.iter()).for_each(|((_, before), (_, after))| note(before, after, replaced));
        }
        _ => {}
    }
}
