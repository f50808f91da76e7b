//! Stores the results of real services as those of another tool.

use super::RealRun;
use plumb_cli::output::error_line;
use plumb_cli::session;
use plumb_import::ForeignFile;
use plumb_result::RunResult;
use plumb_tools_app::elbencho::protocol;
use plumb_tools_run::ToolCall;

impl RealRun<'_> {
    /// Stores the results, and says on standard error that Plumb measured nothing. Returns `false` if that fails.
    pub(super) fn store(&self, call: &ToolCall<'_>, names: &[String]) -> bool {
        if self.stored.is_empty() {
            return true;
        }
        if !call.verdicts.quiet {
            let stored = if call.common.no_store { "" } else { ", and the stored result says so" };
            error_line!(
                "plumb: unknown: real elbencho services measured this, Plumb observed nothing on their hosts{stored}; \
                 PLUMB_QUIET=1 silences this"
            );
        }
        if call.common.no_store {
            return true;
        }
        match self.results(names).and_then(|results| save(&results, call)) {
            Ok(()) => true,
            Err(error) => {
                error_line!("error: the result could not be stored: {error}");
                false
            }
        }
    }

    /// Returns the results, labelled with their source.
    fn results(&self, names: &[String]) -> Result<Vec<RunResult>, String> {
        let file = ForeignFile { name: "", bytes: self.stored.as_bytes(), changed_at: jiff::Timestamp::now() };
        let mut results = plumb_import::read(&file, Some("elbencho")).map_err(|error| error.to_string())?;
        let ended_early = self.failed || self.time_is_over || self.stop.requested();
        for result in &mut results {
            result.tool.version = format!("service, protocol {}", protocol::VERSION);
            result.partial = self.failed || self.stop.requested();
            if result.partial {
                result.error = Some("a service failed, or the run was interrupted".to_owned());
            }
            let Some(imported) = &mut result.imported else { continue };
            imported.form = "answers of services".to_owned();
            imported.file = match names {
                [first, others @ ..] if !others.is_empty() => format!("{first} and {} more", others.len()),
                names => names.concat(),
            };
            imported.notes.push(format!(
                "measured by real elbencho services, which Plumb led: {}. Plumb observed nothing on their hosts, so that \
                 neither the device nor the page cache is known to have answered",
                names.join(", ")
            ));
            imported.notes.push(format!(
                "the services say only the version of their protocol, {}, that of elbencho {}",
                protocol::VERSION,
                plumb_tools_app::elbencho::VERSION
            ));
            if ended_early {
                imported.notes.push("the run ended early; the last phase may be cut".to_owned());
            }
        }
        Ok(results)
    }
}

fn save(results: &[RunResult], call: &ToolCall<'_>) -> Result<(), String> {
    let mut store = session::store(call.common).map_err(|stopped| stopped.message)?;
    for result in results {
        store.import(result).map_err(|error| error.to_string())?;
    }
    Ok(())
}
