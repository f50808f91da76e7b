//! `--anonymise`: replaces names of hosts, users and paths in the output.

use plumb_cli::exit::Stopped;
use plumb_cli::output::error_line;
use plumb_report::full::FullReport;
use plumb_result::Anonymiser;
use plumb_result::tidy::TidyTable;
use plumb_store::{ResultStore, StoreError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Replaces the names in one output; passes everything through without `--anonymise`.
pub(crate) struct Names(Option<Anonymiser>);

impl Names {
    pub(crate) fn new(is_anonymous: bool) -> Names {
        Names(is_anonymous.then(|| {
            let mut anonymiser = Anonymiser::new();
            // Free text in a run may name this host even if no field does.
            anonymiser.learn_host(&rustix::system::uname().nodename().to_string_lossy());
            anonymiser
        }))
    }

    pub(crate) fn are_replaced(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn learn<T: Serialize + DeserializeOwned>(&mut self, value: &T) -> Result<(), Stopped> {
        match &mut self.0 {
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
        match &mut self.0 {
            Some(anonymiser) => anonymiser.anonymous(&value).map_err(Stopped::io),
            None => Ok(value),
        }
    }

    pub(crate) fn text(&mut self, text: String) -> String {
        match &mut self.0 {
            Some(anonymiser) => anonymiser.text(&text),
            None => text,
        }
    }

    pub(crate) fn replace_in_numbers(&mut self, numbers: &mut TidyTable) {
        if let Some(anonymiser) = &mut self.0 {
            numbers.map_texts(&mut |text| anonymiser.text(text));
        }
    }

    pub(crate) fn replace_in_report(&mut self, report: &mut FullReport) {
        if let Some(anonymiser) = &mut self.0 {
            report.map_texts(&mut |text| anonymiser.text(text));
        }
    }

    pub(crate) fn report(&self) {
        if let Some(anonymiser) = &self.0 {
            error_line!("{}", anonymiser.summary());
        }
    }
}
