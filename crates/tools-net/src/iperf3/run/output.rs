//! Output of a test: lines as they come, one document at the end, or one event per line.

use jiff::Zoned;
use jiff::fmt::strtime;
use plumb_cli::output::{error_line, print};
use plumb_engine::guard::OutputFile;
use plumb_tools_net::iperf3::{Ending, Interval, Json, Output, Report, Start, before_start_json};
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Error from setting up the text output.
#[derive(Debug, thiserror::Error)]
pub enum PaperError {
    /// The file of `--logfile` cannot be opened.
    #[error("unable to open the log file {path}: {source}")]
    Log { path: String, source: std::io::Error },
    /// The format of `--timestamps` is invalid.
    #[error("`--timestamps={format}`: not a format of strftime(3): {source}")]
    Stamp { format: String, source: jiff::Error },
}

/// Time stamp at the start of lines, if requested.
#[derive(Debug, Clone, Default)]
pub struct Stamp(Option<Arc<str>>);

impl Stamp {
    /// Parses a format of strftime(3), interpreted as in the C locale.
    fn parse(format: &str) -> Result<Stamp, PaperError> {
        let mut plain = format.to_owned();
        for (short, long) in [("%c", "%a %b %e %T %Y"), ("%x", "%m/%d/%y"), ("%X", "%T"), ("%r", "%I:%M:%S %p")] {
            plain = plain.replace(short, long);
        }
        strtime::format(&plain, &Zoned::now())
            .map_err(|source| PaperError::Stamp { format: format.to_owned(), source })?;
        Ok(Stamp(Some(plain.into())))
    }

    /// Returns the text with time stamp and title before each line.
    pub fn before(&self, title: Option<&String>, text: &str) -> String {
        // The format was checked when it was parsed.
        let time =
            self.0.as_ref().and_then(|format| strtime::format(&**format, &Zoned::now()).ok()).unwrap_or_default();
        let title = title.map_or_else(String::new, |title| format!("{title}:  "));
        if time.is_empty() && title.is_empty() {
            return text.to_owned();
        }
        text.split_inclusive('\n').map(|line| format!("{time}{title}{line}")).collect()
    }
}

/// Standard output, or the file of `--logfile`.
#[derive(Debug, Clone, Default)]
pub struct Paper {
    file: Option<Arc<Mutex<File>>>,
    /// Time stamp at the start of lines.
    pub stamp: Stamp,
}

impl Paper {
    /// Opens the log file for appending, if a path is given.
    ///
    /// # Errors
    /// The file cannot be opened, or the format of time stamps is invalid.
    pub fn open(path: Option<&str>, stamp: Option<&str>) -> Result<Paper, PaperError> {
        let open = |path: &str| {
            let file = OutputFile::named("--logfile", path).append();
            file.map_err(|error| PaperError::Log { path: path.to_owned(), source: error.into() })
        };
        let file = path.map(open).transpose()?;
        let stamp = stamp.map(Stamp::parse).transpose()?.unwrap_or_default();
        Ok(Paper { file: file.map(|file| Arc::new(Mutex::new(file))), stamp })
    }

    /// Prints lines with the time stamp.
    pub fn lines(&self, text: &str) {
        self.write(&self.stamp.before(None, text));
    }

    pub fn write(&self, text: &str) {
        match &self.file {
            // A full disk must not end a measurement.
            Some(file) => {
                _ = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(plumb_text::visible(text).as_bytes());
            }
            None => print(text),
        }
    }

    pub fn complain(&self, text: &str) {
        match self.file {
            Some(_) => self.lines(&format!("{text}\n")),
            None => error_line!("{}", self.stamp.before(None, text)),
        }
    }
}

/// Limit of interval rows in a document on a server, which protects its memory from clients.
const SERVER_ROWS_MAX: usize = 50_000;

/// Limit of the text that a server keeps for its client, bytes.
const KEPT_TEXT_MAX: usize = 4 << 20;

/// The output of a test.
pub struct Out {
    form: Output,
    title: Option<String>,
    stamp: Stamp,
    /// Prints text as soon as that is allowed.
    sink: Box<dyn FnMut(&str) + Send>,
    is_server: bool,
    start: Json,
    intervals: Vec<Json>,
    rows: usize,
    first: bool,
    /// Printed text, for a client that requests it.
    pub kept: String,
}

impl Out {
    /// Creates an output that prints to a sink.
    pub fn new(form: Output, is_server: bool, system: &str, sink: Box<dyn FnMut(&str) + Send>) -> Out {
        let start = before_start_json(system, Vec::new());
        Out {
            form,
            title: None,
            stamp: Stamp::default(),
            sink,
            is_server,
            start,
            intervals: Vec::new(),
            rows: 0,
            first: true,
            kept: String::new(),
        }
    }

    /// Sets the prefix of all further lines.
    pub(crate) fn begin_lines(&mut self, title: Option<&String>, stamp: &Stamp) {
        (self.title, self.stamp) = (title.cloned(), stamp.clone());
    }

    /// Prints lines for people.
    pub fn text(&mut self, text: &str) {
        if self.kept.len() + text.len() <= KEPT_TEXT_MAX && self.is_server {
            self.kept += text;
        }
        if self.form != Output::Text {
            return;
        }
        (self.sink)(&self.stamp.before(self.title.as_ref(), text));
    }

    fn event(&mut self, name: &str, data: Json) {
        if self.form.streams() {
            let line = Json::map([("event", Json::text(name)), ("data", data)]).line();
            (self.sink)(&(line + "\n"));
        }
    }

    /// Prints that the streams are connected.
    pub fn opened(&mut self, report: &Report, start: &Start) {
        self.start = report.start_json(start);
        self.text(&report.opened());
        self.event("start", self.start.clone());
    }

    pub fn interval(&mut self, report: &Report, interval: &Interval) {
        let is_first = std::mem::take(&mut self.first);
        self.text(&report.interval(interval, is_first));
        self.rows += interval.rows.len();
        if self.form == Output::Text {
            return;
        }
        let json = report.interval_json(interval);
        self.event("interval", json.clone());
        if self.form.has_document() && (!self.is_server || self.rows <= SERVER_ROWS_MAX) {
            self.intervals.push(json);
        }
    }

    /// Returns the document so far.
    pub fn document(&self, end: Json) -> Json {
        let intervals = Json::List(self.intervals.clone());
        Json::map([("start", self.start.clone()), ("intervals", intervals), ("end", end)])
    }

    /// Prints the end of the test, or the error.
    pub fn end(&mut self, report: Option<&Report>, ending: Option<&Ending>, error: Option<&str>) {
        let end = match (report, ending) {
            (Some(report), Some(ending)) => report.end_json(ending),
            _ => Json::Map(Vec::new()),
        };
        let mut document = self.document(end.clone());
        if let Some(report) = report {
            for (key, text) in
                [("title", &report.params.report.title), ("extra_data", &report.params.report.extra_data)]
            {
                if let Some(text) = text {
                    document.push(key, Json::text(text));
                }
            }
        }
        if let Some(output) = ending.and_then(|ending| ending.output.clone()) {
            let is_text = matches!(output, Json::Text(_));
            let name = if is_text { "server_output_text" } else { "server_output_json" };
            self.event(name, output.clone());
            document.push(name, output);
        }
        if let Some(error) = error {
            self.event("error", Json::text(error));
            document.push("error", Json::text(error));
        }
        self.event("end", end);
        if self.form.has_document() {
            (self.sink)(&document.page());
        }
    }
}
