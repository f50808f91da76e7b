//! `--anonymise`: output without the names of whoever measured.

use crate::exit::Stopped;
use crate::output::error_line;
use plumb_document::{FromDocument, ToDocument};
use plumb_report::full::FullReport;
use plumb_result::Anonymiser;
use plumb_result::tidy::TidyTable;
use plumb_store::{Store, StoreError};

/// The names in one output: as they are, or replaced.
pub struct Names(Option<Anonymiser>);

impl Names {
    /// Replaced under `--anonymise`.
    pub fn of(is_anonymous: bool) -> Names {
        Names(is_anonymous.then(|| {
            let mut anonymiser = Anonymiser::new();
            // Runs of this host may name it where no field does.
            anonymiser.learn_host(&rustix::system::uname().nodename().to_string_lossy());
            anonymiser
        }))
    }

    /// Whether they are replaced.
    pub fn are_replaced(&self) -> bool {
        self.0.is_some()
    }

    /// Collects the names in a value.
    pub fn learn<T: ToDocument + FromDocument>(&mut self, value: &T) -> Result<(), Stopped> {
        match &mut self.0 {
            Some(anonymiser) => anonymiser.learn(value).map_err(Stopped::io),
            None => Ok(()),
        }
    }

    /// Collects the names in stored runs. A run without a result has none.
    pub fn learn_runs(&mut self, store: &Store, runs: &[String]) -> Result<(), Stopped> {
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

    /// The value as it is printed.
    pub fn shown<T: ToDocument + FromDocument>(&mut self, value: T) -> Result<T, Stopped> {
        match &mut self.0 {
            Some(anonymiser) => anonymiser.anonymous(&value).map_err(Stopped::io),
            None => Ok(value),
        }
    }

    /// The text as it is printed.
    pub fn text(&mut self, text: String) -> String {
        match &mut self.0 {
            Some(anonymiser) => anonymiser.text(&text),
            None => text,
        }
    }

    /// Replaces them in numbers.
    pub fn replace_in_numbers(&mut self, numbers: &mut TidyTable) {
        if let Some(anonymiser) = &mut self.0 {
            numbers.map_texts(&mut |text| anonymiser.text(text));
        }
    }

    /// Replaces them in a report.
    pub fn replace_in_report(&mut self, report: &mut FullReport) {
        if let Some(anonymiser) = &mut self.0 {
            report.map_texts(&mut |text| anonymiser.text(text));
        }
    }

    /// Says on standard error what was replaced.
    pub fn report(&self) {
        if let Some(anonymiser) = &self.0 {
            error_line!("{}", anonymiser.summary());
        }
    }
}
