//! Where a test is printed: lines as they come, one document at the end, or an event a line.

use jiff::Zoned;
use jiff::fmt::strtime;
use plumb_cli::output::{error_line, print};
use plumb_engine::guard::OutputFile;
use plumb_tools_net::iperf3::{Ending, Interval, Json, Output, Report, Start, before_start_json};
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// A text output that cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum PaperError {
    /// `--logfile`.
    #[error("unable to open the log file {path}: {source}")]
    Log {
        /// As it was given.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// `--timestamps`.
    #[error("`--timestamps={format}`: not a format of strftime(3): {source}")]
    Stamp {
        /// As it was given.
        format: String,
        /// What is wrong with it.
        source: jiff::Error,
    },
}

/// The time at the start of lines, where one is asked for.
#[derive(Debug, Clone, Default)]
pub struct Stamp(Option<Arc<str>>);

impl Stamp {
    /// Of a format of strftime(3), as it is without a language.
    fn of(format: &str) -> Result<Stamp, PaperError> {
        let mut plain = format.to_owned();
        for (short, long) in [("%c", "%a %b %e %T %Y"), ("%x", "%m/%d/%y"), ("%X", "%T"), ("%r", "%I:%M:%S %p")] {
            plain = plain.replace(short, long);
        }
        strtime::format(&plain, &Zoned::now())
            .map_err(|source| PaperError::Stamp { format: format.to_owned(), source })?;
        Ok(Stamp(Some(plain.into())))
    }

    /// Each line of a text with the time and the title before it.
    pub fn before(&self, title: Option<&String>, text: &str) -> String {
        // Checked when it was read.
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
    /// What lines begin with.
    pub stamp: Stamp,
}

impl Paper {
    /// Appends to a file where one is given.
    ///
    /// # Errors
    /// The file cannot be opened, or the format of time stamps is none.
    pub fn open(path: Option<&str>, stamp: Option<&str>) -> Result<Paper, PaperError> {
        let open = |path: &str| {
            let file = OutputFile::named("--logfile", path).append();
            file.map_err(|error| PaperError::Log { path: path.to_owned(), source: error.into() })
        };
        let file = path.map(open).transpose()?;
        let stamp = stamp.map(Stamp::of).transpose()?.unwrap_or_default();
        Ok(Paper { file: file.map(|file| Arc::new(Mutex::new(file))), stamp })
    }

    /// Writes lines for people.
    pub fn lines(&self, text: &str) {
        self.write(&self.stamp.before(None, text));
    }

    /// Writes at once.
    pub fn write(&self, text: &str) {
        match &self.file {
            // A full disk must not end a measurement.
            Some(file) => {
                _ = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(plumb_text::visible(text).as_bytes());
            }
            None => print(text),
        }
    }

    /// Says what went wrong.
    pub fn complain(&self, text: &str) {
        match self.file {
            Some(_) => self.lines(&format!("{text}\n")),
            None => error_line!("{}", self.stamp.before(None, text)),
        }
    }
}

/// Rows of intervals that a document has at most on a server, whose memory is not its clients'.
const SERVER_ROWS_MAX: usize = 50_000;

/// Text that a server keeps for its client at most, bytes.
const KEPT_TEXT_MAX: usize = 4 << 20;

/// The output of a test.
pub struct Out {
    form: Output,
    title: Option<String>,
    stamp: Stamp,
    /// Takes text when it may be printed.
    sink: Box<dyn FnMut(&str) + Send>,
    is_server: bool,
    start: Json,
    intervals: Vec<Json>,
    rows: usize,
    first: bool,
    /// What was printed, for the client that wants it.
    pub kept: String,
}

impl Out {
    /// Printed to a sink.
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

    /// Each line begins with these from now on.
    pub(crate) fn begin_lines(&mut self, title: Option<&String>, stamp: &Stamp) {
        (self.title, self.stamp) = (title.cloned(), stamp.clone());
    }

    /// Lines for people.
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

    /// The streams are connected.
    pub fn opened(&mut self, report: &Report, start: &Start) {
        self.start = report.start_json(start);
        self.text(&report.opened());
        self.event("start", self.start.clone());
    }

    /// An interval is over.
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

    /// The document so far.
    pub fn document(&self, end: Json) -> Json {
        let intervals = Json::List(self.intervals.clone());
        Json::map([("start", self.start.clone()), ("intervals", intervals), ("end", end)])
    }

    /// The end, however it came.
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
