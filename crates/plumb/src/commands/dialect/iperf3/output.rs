//! Where a test is printed: lines as they come, one document at the end, or an event a line.

use crate::output::{error_line, print};
use plumb_dialects::iperf3::{Ending, Interval, Json, Output, Report, Start, before_start_json};
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Standard output, or the file of `--logfile`.
#[derive(Debug, Clone, Default)]
pub struct Paper {
    file: Option<Arc<Mutex<File>>>,
}

impl Paper {
    /// Appends to a file where one is given.
    pub fn open(path: Option<&str>) -> std::io::Result<Paper> {
        let file = path.map(|path| File::options().create(true).append(true).open(path)).transpose()?;
        Ok(Paper { file: file.map(|file| Arc::new(Mutex::new(file))) })
    }

    /// Writes at once.
    pub fn write(&self, text: &str) {
        match &self.file {
            // A full disk must not end a measurement.
            Some(file) => {
                _ = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes());
            }
            None => print(text),
        }
    }

    /// Says what went wrong.
    pub fn complain(&self, text: &str) {
        match self.file {
            Some(_) => self.write(&format!("{text}\n")),
            None => error_line!("{text}"),
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
            sink,
            is_server,
            start,
            intervals: Vec::new(),
            rows: 0,
            first: true,
            kept: String::new(),
        }
    }

    /// Each line begins with this from now on.
    pub fn set_title(&mut self, title: Option<&String>) {
        self.title = title.cloned();
    }

    /// Lines for people.
    pub fn text(&mut self, text: &str) {
        if self.kept.len() + text.len() <= KEPT_TEXT_MAX && self.is_server {
            self.kept += text;
        }
        if self.form != Output::Text {
            return;
        }
        match &self.title {
            Some(title) => {
                let lines: String = text.split_inclusive('\n').map(|line| format!("{title}:  {line}")).collect();
                (self.sink)(&lines);
            }
            None => (self.sink)(text),
        }
    }

    fn event(&mut self, name: &str, data: Json) {
        if self.form == Output::JsonStream {
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
        if self.form != Output::JsonStream && (!self.is_server || self.rows <= SERVER_ROWS_MAX) {
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
            for (key, text) in [("title", &report.params.title), ("extra_data", &report.params.extra_data)] {
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
        if self.form == Output::Json {
            (self.sink)(&document.page());
        }
    }
}
