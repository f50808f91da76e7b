//! Prints IOzone's text before the first test and after the last, and returns its exit code.

use super::code_of;
use super::machine::edges;
use super::watching::{IozoneProgress, TestFailure};
use super::workbook::{self, Sheets};
use plumb_bench::RunError;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line, error_text};
use plumb_cli::session;
use plumb_engine::guard::OutputFile;
use plumb_engine::guard::{Guard, Refusal};
use plumb_report::style::Colour;
use plumb_tools_classic::iozone::lower::{Lowered, LoweredPhase, lower};
use plumb_tools_classic::iozone::print::heat::Colours;
use plumb_tools_classic::iozone::print::report::{Surface, surfaces, surfaces_until};
use plumb_tools_classic::iozone::print::throughput::ThroughputReport;
use plumb_tools_classic::iozone::print::{MeasuredPass, biff, head, heat, report, table};
use plumb_tools_classic::iozone::{IozoneSettings, Rate, TestMode};
use plumb_tools_run::report_files;
use plumb_tools_run::runner::{RunEnded, Step};
use plumb_tools_run::simulated;
use plumb_workload::Target;
use std::io::IsTerminal;
use std::path::Path;

mod code {
    /// The file cannot be created or written.
    pub(super) const CREATE: u8 = 44;
    /// The file to read does not exist.
    pub(super) const OPEN: u8 = 58;
    pub(super) const READ: u8 = 60;
    pub(super) const WRITE: u8 = 74;
    /// All other errors: files of results, mounting.
    pub(super) const OTHER: u8 = 1;
}

/// Prints the header, and lowers the settings.
pub(super) fn begin(settings: &IozoneSettings, command: &[String]) -> Step<Lowered> {
    for note in &settings.messages.notes {
        error_line!("iozone: {note}");
    }
    output::print(&head::banner(&report_files::ctime()));
    output::print(&head::settings(settings, command));
    let in_table = !matches!(settings.mode, TestMode::Throughput { .. });
    if let Some(trouble) = &settings.messages.trouble {
        if trouble.after_table_head {
            output::print(&(head::rest(settings) + &table::head(settings)));
        }
        output::print(&trouble.message);
        error_text!("{}", trouble.error);
        return Err(code_of(trouble.code).into());
    }
    output::print(&head::rest(settings));
    if in_table {
        output::print(&table::head(settings));
    }
    let lowered = lower(settings);
    if let Some(end) = missing(settings, &lowered)? {
        return Err(end.into());
    }
    if lowered.phases.is_empty() {
        return Err(nothing(settings)?.into());
    }
    Ok(lowered)
}

/// Skips the rows whose files do not fit on the disk, with a message. If no row is left, ends like a full disk.
pub(super) fn fit(settings: &IozoneSettings, lowered: &mut Lowered, guard: &Guard) -> Step<()> {
    let paths = lowered.paths();
    if paths.iter().any(|path| path.to_str().is_some_and(simulated::is_named)) {
        return Ok(());
    }
    for row in lowered.rows() {
        // Any other problem is reported when the file is opened.
        if let Err(refusal @ Refusal::Space { .. }) = guard.admit_files(&paths, row.writes_bytes) {
            let children = if row.children > 0 { format!(" by {} children", row.children) } else { String::new() };
            error_line!("iozone: {} kB{children} left out: {refusal}", row.file_kb);
            lowered.leave_out(&row);
        }
    }
    if lowered.phases.is_empty() {
        output::print(&format!("\nError writing block 0, {}\n", settings.files.file));
        error_line!("write: No space left on device");
        return Err(code_of(code::WRITE).into());
    }
    Ok(())
}

/// Prints the text after the last test.
pub(super) fn end(
    settings: &IozoneSettings,
    command: &[String],
    watching: IozoneProgress<'_>,
    ended: &RunEnded,
) -> Result<End, Stopped> {
    match &ended.result {
        Ok(_) => {}
        Err(RunError::EndedEarly { error, .. }) => {
            output::print("\n");
            error_line!("iozone: {error}");
            return Ok(code_of(code::CREATE));
        }
        Err(error) if matches!(error.refusal(), Some(Refusal::Space { .. })) => {
            error_line!("iozone: {error}");
            return Ok(code_of(code::WRITE));
        }
        Err(error) => {
            output::print(&format!("\nCan not open temp file: {}\n", settings.files.file));
            error_line!("open: {error}");
            return Ok(code_of(code::CREATE));
        }
    }
    if let Some(failure) = &watching.failure {
        return failed(failure);
    }
    if ended.signal.is_some() {
        interrupted(settings, command, watching)?;
        return Ok(End::Done);
    }
    finish(settings, command, &watching.measured)?;
    Ok(End::Done)
}

/// Acts like IOzone's signal handler: prints the report and the spreadsheets of the results so far, and removes its
/// files unless `-w` keeps them.
fn interrupted(settings: &IozoneSettings, command: &[String], watching: IozoneProgress<'_>) -> Result<(), Stopped> {
    output::print("\niozone: interrupted\n\n");
    let IozoneProgress { mut measured, begun, lowered, remover, .. } = watching;
    let sheets = match settings.mode {
        TestMode::Throughput { .. } => {
            // The current test has no rate yet.
            if let Some(phase) = begun
                && !measured.iter().any(|one| (one.pass, one.children) == (phase.pass, phase.children))
            {
                let LoweredPhase { pass, point, children, .. } = *phase;
                measured.push(MeasuredPass { pass, point, children, rounds: Vec::new() });
            }
            let report = ThroughputReport::new(settings, &measured);
            if settings.reports.report {
                output::print(&report.text());
            }
            Sheets { surfaces: Vec::new(), report: Some(report) }
        }
        TestMode::Single(_) | TestMode::Auto(_) => {
            let surfaces = surfaces_until(settings, &measured, begun.map(|phase| phase.point));
            if settings.reports.report {
                output::print(&report::text(&surfaces));
            }
            Sheets { surfaces, report: None }
        }
    };
    if begun.is_some() && !settings.files.keep {
        for target in lowered.workload.target.values() {
            let Target::Scratch(scratch) = target else { continue };
            for path in (0..scratch.names.count()).filter_map(|number| scratch.names.path(number)) {
                // A missing file has not been created yet.
                if let Err(refusal) = remover.remove_file(&path) {
                    error_line!("iozone: {refusal}");
                }
            }
        }
    }
    output::print("exiting iozone\n\n");
    save(settings, command, &sheets, &measured)
}

/// Checks that a file that is read before anything writes it exists.
fn missing(settings: &IozoneSettings, lowered: &Lowered) -> Result<Option<End>, Stopped> {
    let reads_first = lowered.phases.first().is_some_and(|phase| !phase.pass.writes() && phase.children == 0);
    if !reads_first || Path::new(&settings.files.file).exists() {
        return Ok(None);
    }
    let first = lowered.phases.first().map(|phase| phase.pass);
    let tests = settings.table().iter().take_while(|test| first.is_some_and(|pass| !test.passes().contains(&pass)));
    let blanks: String = tests.map(|test| table::columns(settings, *test, &|_| None)).collect();
    let point = report::sweep(settings).points().next();
    let begin = point.map(|point| table::begin(settings, point)).unwrap_or_default();
    output::print(&format!("{begin}{blanks}\nCan not open temporary file {} for read\n", settings.files.file));
    error_line!("open: No such file or directory");
    Ok(Some(code_of(code::OPEN)))
}

/// Handles a command line whose tests are all unavailable.
fn nothing(settings: &IozoneSettings) -> Result<End, Stopped> {
    let points: Vec<_> = report::sweep(settings).points().collect();
    if !matches!(settings.mode, TestMode::Throughput { .. }) {
        for point in points {
            output::print(&table::row(settings, point, &[], settings.reports.rate));
        }
    }
    output::print("\niozone test complete.\n");
    Ok(End::Done)
}

fn failed(failure: &TestFailure) -> Result<End, Stopped> {
    match failure {
        TestFailure::Op(pass, fault) => {
            let writes = pass.writes();
            let block = fault.offset.checked_div(fault.length).unwrap_or(0);
            let what = if writes { "writing" } else { "reading" };
            output::print(&format!("\nError {what} block {block}, {}\n", fault.path.display()));
            error_line!("{}: {}", fault.op.name(), fault.message);
            Ok(code_of(if writes { code::WRITE } else { code::READ }))
        }
        TestFailure::Other(reason) => {
            output::print("\n");
            error_line!("iozone: {reason}");
            Ok(code_of(code::OTHER))
        }
    }
}

/// Prints the report, spreadsheets and map after the last test.
fn finish(settings: &IozoneSettings, command: &[String], measured: &[MeasuredPass]) -> Result<(), Stopped> {
    const COMPLETE: &str = "\niozone test complete.\n";
    let sheets = match settings.mode {
        TestMode::Throughput { .. } => {
            let report = ThroughputReport::new(settings, measured);
            if settings.reports.report {
                output::print(&report.text());
            }
            output::print(COMPLETE);
            Sheets { surfaces: Vec::new(), report: Some(report) }
        }
        TestMode::Single(_) | TestMode::Auto(_) => {
            let surfaces = surfaces(settings, measured);
            output::print(COMPLETE);
            if settings.reports.report {
                output::print(&report::text(&surfaces));
            }
            Sheets { surfaces, report: None }
        }
    };
    save(settings, command, &sheets, measured)?;
    if std::io::stderr().is_terminal() {
        show_maps(settings, &sheets.surfaces);
    }
    Ok(())
}

/// Writes the requested spreadsheets.
fn save(
    settings: &IozoneSettings,
    command: &[String],
    sheets: &Sheets,
    measured: &[MeasuredPass],
) -> Result<(), Stopped> {
    let command = format!("{} ", command.join(" "));
    let is_workbook = |path: &str| path.to_ascii_lowercase().ends_with(".xlsx");
    let write = |path: &str, bytes: Vec<u8>| OutputFile::named("-b", path).replace(&bytes).map_err(Stopped::from);
    if let Some(path) = settings.reports.biff.as_deref().filter(|path| !is_workbook(path)) {
        let bytes = match &sheets.report {
            Some(report) => biff::throughput(&command, report),
            None => biff::surfaces(&command, &sheets.surfaces),
        };
        write(path, bytes)?;
    }
    let workbooks = settings.reports.biff.iter().filter(|path| is_workbook(path)).chain(&settings.reports.xlsx);
    for path in workbooks {
        let bytes = workbook::write(settings, &command, sheets, measured, edges())
            .map_err(|error| Stopped::io(format!("{path}: {error}")))?;
        write(path, bytes)?;
    }
    Ok(())
}

/// Prints maps of surfaces with more than one line.
fn show_maps(settings: &IozoneSettings, surfaces: &[Surface]) {
    let unit = match settings.reports.rate {
        Rate::Kb => "kB/s",
        Rate::Ops => "ops/s",
        Rate::Usec => "µs/op",
    };
    let colours = if session::error_style().colour == Colour::Ansi { Colours::Ansi256 } else { Colours::Never };
    let wide =
        surfaces.iter().filter(|surface| !surface.is_cpu && surface.rows.len() > 1 && surface.records_kb.len() > 1);
    for surface in wide {
        error_line!("\n{}", heat::map(surface, edges(), unit, colours));
    }
}
