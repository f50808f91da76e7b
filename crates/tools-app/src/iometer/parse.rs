//! Parses a configuration file.
//!
//! Lines that begin with an apostrophe are headings. A heading and the line below it form a pair; further headings
//! directly below only describe columns. Surrounding blanks and letter case are ignored.

use super::builtin::{built_in, line as access_line};
use super::config::{Config, Cycle, Line, Record, Setup, Spec, TEST_TYPES, Worker};
use super::error::{IometerFileError, IometerFlaw};
use plumb_workload::Bytes;

/// Limit of lines in an access specification. Source: IOMeter, `MAX_ACCESS_SPECS`.
const SPEC_LINES_MAX: usize = 100;

/// Limits of access specifications, workers, targets per worker, and assigned specifications per worker.
const SPECS_MAX: usize = 10_000;
const WORKERS_MAX: usize = 128;
const TARGETS_MAX: usize = 2048;

/// Limit of the queue depth per target.
const DEPTH_MAX: u64 = 4096;

/// Files of versions before this one have access specifications in another form.
const NEW_FORM: u64 = 19_980_521;

const YEAR_S: u64 = 366 * 24 * 3600;

/// Result with an error at a line.
type Found<T> = Result<T, (usize, IometerFlaw)>;

/// A line without surrounding blanks, with its number from 1.
#[derive(Debug, Clone, Copy)]
struct At<'a> {
    line: usize,
    text: &'a str,
}

impl At<'_> {
    fn is_heading(self) -> bool {
        self.text.starts_with('\'')
    }

    fn is(self, heading: &str) -> bool {
        self.text.eq_ignore_ascii_case(heading)
    }

    fn begins(self, heading: &str) -> bool {
        self.text.get(..heading.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(heading))
    }

    /// Returns the fields of a row.
    fn fields(&self) -> Fields<'_> {
        Fields { at: *self, rest: self.text }
    }

    fn expected<T>(self, expected: &'static str) -> Found<T> {
        Err((self.line, IometerFlaw::Expected { found: self.text.to_owned(), expected }))
    }
}

/// The unread fields of a row. Source: IOMeter, `ICF_ifstream`: it writes some rows with commas and others in columns
/// padded with blanks, and reads both.
struct Fields<'a> {
    at: At<'a>,
    rest: &'a str,
}

impl<'a> Fields<'a> {
    /// Reads a name, which may contain blanks.
    fn name(&mut self) -> &'a str {
        let (name, rest) = self.rest.split_once(',').unwrap_or((self.rest, ""));
        self.rest = rest;
        name.trim()
    }

    /// Reads a number or a word.
    fn token(&mut self) -> &'a str {
        const BETWEEN: [char; 3] = [' ', '\t', ','];
        let begin = self.rest.trim_start_matches(BETWEEN);
        let (token, rest) = begin.split_at(begin.find(BETWEEN).unwrap_or(begin.len()));
        self.rest = rest;
        token
    }

    fn number(&mut self, what: &'static str, (least, most): (u64, u64)) -> Found<u64> {
        let text = self.token();
        let number = text.parse::<u64>().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| (self.at.line, IometerFlaw::Number { found: text.to_owned(), what, least, most }))
    }

    fn percent(&mut self, what: &'static str) -> Found<u8> {
        self.number(what, (0, 100)).map(|number| number as u8)
    }

    /// Reads a word of a list, or its number. Returns the index.
    fn word(&mut self, words: &[&str]) -> Found<usize> {
        let text = self.token();
        let place = words.iter().position(|word| text.eq_ignore_ascii_case(word));
        let place = place.or_else(|| text.parse().ok().filter(|number| *number < words.len()));
        place.ok_or_else(|| (self.at.line, IometerFlaw::Word { found: text.to_owned(), words: words.join(", ") }))
    }
}

/// The lines of a file.
struct Lines<'a> {
    lines: Vec<At<'a>>,
    next: usize,
}

impl<'a> Lines<'a> {
    /// Returns the next line that is not blank.
    fn take(&mut self) -> Option<At<'a>> {
        let line = self.peek();
        self.next += 1;
        line
    }

    /// Returns the next line that is not blank, without consuming it.
    fn peek(&mut self) -> Option<At<'a>> {
        while self.lines.get(self.next).is_some_and(|line| line.text.is_empty()) {
            self.next += 1;
        }
        self.lines.get(self.next).copied()
    }

    /// Reads the next heading and the line below it. An end heading has none. At the end of the file, reports that
    /// the section that began at `begin` has no end.
    fn pair(&mut self, begin: At<'_>, end: &'static str) -> Found<(At<'a>, At<'a>)> {
        let Some(key) = self.take() else { return Err((begin.line, IometerFlaw::NoEnd(end))) };
        if !key.is_heading() {
            return key.expected("a heading, which begins with '");
        }
        let nothing = At { line: key.line, text: "" };
        if key.begins("'End") {
            return Ok((key, nothing));
        }
        // The line below may be blank.
        while let Some(next) = self.lines.get(self.next).copied() {
            if next.begins("'End") {
                return Ok((key, nothing));
            }
            self.next += 1;
            if !next.is_heading() {
                return Ok((key, next));
            }
        }
        Err((begin.line, IometerFlaw::NoEnd(end)))
    }

    fn skip_to(&mut self, begin: At<'_>, end: &'static str) -> Found<()> {
        while let Some(line) = self.take() {
            if line.begins(end) {
                return Ok(());
            }
        }
        Err((begin.line, IometerFlaw::NoEnd(end)))
    }
}

/// The parts of a file that were read so far.
struct Reader {
    setup: Setup,
    specs: Vec<Spec>,
    manager: Option<String>,
    workers: Vec<Worker>,
    /// Names of each worker's assigned specifications, with line numbers. `None` means the default assignment.
    assigned: Vec<Option<Vec<(usize, String)>>>,
}

impl Config {
    /// Parses a configuration file. Errors call it `file`.
    ///
    /// # Errors
    /// The first invalid line.
    pub fn parse(file: &str, text: &str) -> Result<Config, IometerFileError> {
        read(text).map_err(|(line, flaw)| IometerFileError { file: file.to_owned(), line, flaw })
    }
}

fn version(line: At<'_>) -> Found<()> {
    let mut numbers = line.text.split(|letter: char| !letter.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let mut next = || numbers.next().and_then(|digits| digits.parse::<u64>().ok()).filter(|number| *number < 10_000);
    let (Some(major), Some(middle), Some(minor)) = (next(), next(), next()) else {
        return Err((line.line, IometerFlaw::NoVersion));
    };
    // Before version 1.1.0, versions were dates.
    let as_date = major * 10_000 + middle * 100 + minor;
    if major > 31 && as_date < NEW_FORM { Err((line.line, IometerFlaw::TooOld(as_date))) } else { Ok(()) }
}

fn read(text: &str) -> Found<Config> {
    let text = text.trim_start_matches('\u{feff}');
    let lines = (1..).zip(text.lines()).map(|(line, text)| At { line, text: text.trim() });
    let mut lines = Lines { lines: lines.collect(), next: 0 };
    version(lines.take().ok_or((1, IometerFlaw::NoVersion))?)?;
    let mut reader =
        Reader { setup: Setup::default(), specs: built_in(), manager: None, workers: Vec::new(), assigned: Vec::new() };
    let mut last = 1;
    while let Some(line) = lines.take() {
        last = line.line;
        if line.begins("'TEST SETUP") {
            reader.setup(&mut lines, line)?;
        } else if line.begins("'RESULTS DISPLAY") {
            lines.skip_to(line, "'END results display")?;
        } else if line.begins("'ACCESS SPECIFICATIONS") {
            reader.specs(&mut lines, line)?;
        } else if line.begins("'MANAGER LIST") {
            reader.managers(&mut lines, line)?;
        } else if !line.begins("'Version") && !line.begins("Version") {
            return Err((line.line, IometerFlaw::NoSection(line.text.to_owned())));
        }
    }
    reader.conclude(last)
}

const STEPS: [&str; 2] = ["LINEAR", "EXPONENTIAL"];

/// Limit of numbers in a cycle.
const CYCLE_MAX: u64 = 1 << 20;

fn cycle(fields: &mut Fields<'_>, has_end: bool) -> Found<(Cycle, u64)> {
    let start = fields.number("the start of a cycle", (1, CYCLE_MAX))?;
    let end = if has_end { fields.number("the end of a cycle", (1, CYCLE_MAX))? } else { 0 };
    let step = fields.number("the step of a cycle", (0, CYCLE_MAX))?;
    Ok((Cycle { start, step, is_exponential: fields.word(&STEPS)? == 1 }, end))
}

fn is_enabled(fields: &mut Fields<'_>) -> Found<bool> {
    Ok(fields.word(&["DISABLED", "ENABLED"])? == 1)
}

impl Reader {
    fn setup(&mut self, lines: &mut Lines<'_>, begin: At<'_>) -> Found<()> {
        loop {
            let (key, value) = lines.pair(begin, "'END test setup")?;
            let setup = &mut self.setup;
            let mut fields = value.fields();
            if key.is("'END test setup") {
                return Ok(());
            } else if key.is("'Test Description") {
                setup.description = value.text.to_owned();
            } else if key.is("'Run Time") {
                let mut number = || fields.token().parse::<u64>().ok().filter(|number| *number <= YEAR_S);
                let (Some(hours), Some(minutes), Some(seconds)) = (number(), number(), number()) else {
                    return value.expected("hours, minutes and seconds");
                };
                setup.run_s = hours * 3600 + minutes * 60 + seconds;
            } else if key.begins("'Ramp Up Time") {
                setup.ramp_s = fields.number("the ramp", (0, YEAR_S))?;
            } else if key.is("'Record Results") {
                let order = [Record::All, Record::NoTargets, Record::NoWorkers, Record::NoManagers, Record::None];
                setup.record = order[fields.word(&["ALL", "NO_TARGETS", "NO_WORKERS", "NO_MANAGERS", "NONE"])?];
            } else if key.is("'Worker Cycling") {
                setup.workers = cycle(&mut fields, false)?.0;
            } else if key.is("'Disk Cycling") {
                setup.targets = cycle(&mut fields, false)?.0;
            } else if key.is("'Queue Depth Cycling") {
                (setup.queue, setup.queue_end) = cycle(&mut fields, true)?;
                if setup.queue_end > DEPTH_MAX {
                    let found = value.text.to_owned();
                    let what = "the end of queue depths";
                    return Err((value.line, IometerFlaw::Number { found, what, least: 1, most: DEPTH_MAX }));
                }
            } else if key.is("'Test Type") {
                setup.test_type = TEST_TYPES[fields.word(&TEST_TYPES.map(|(word, _)| word))?].1;
            } else if !key.begins("'Default ") {
                let heading = key.text.to_owned();
                return Err((key.line, IometerFlaw::Unknown { heading, section: "the test setup" }));
            }
        }
    }

    fn specs(&mut self, lines: &mut Lines<'_>, begin: At<'_>) -> Found<()> {
        const HEADING: &str = "'Access specification name,default assignment";
        loop {
            let (key, value) = lines.pair(begin, "'END access specifications")?;
            if key.is("'END access specifications") {
                return Ok(());
            }
            if !key.is(HEADING) {
                let heading = key.text.to_owned();
                return Err((key.line, IometerFlaw::Unknown { heading, section: "the access specifications" }));
            }
            let mut fields = value.fields();
            let name = fields.name().to_owned();
            if name.is_empty() {
                return value.expected("the name of an access specification");
            }
            let assigned = fields.word(&["NONE", "ALL", "DISK", "NET"])? as u64;
            match lines.take() {
                Some(columns) if columns.is_heading() => {}
                Some(other) => return other.expected("a heading with the columns"),
                None => return Err((begin.line, IometerFlaw::NoEnd("'END access specifications"))),
            }
            let mut rows = Vec::new();
            while let Some(row) = lines.peek().filter(|row| !row.is_heading()) {
                lines.next += 1;
                rows.push(spec_line(row)?);
                if rows.len() > SPEC_LINES_MAX {
                    return Err((row.line, IometerFlaw::TooManyLines(name)));
                }
            }
            let sum = rows.iter().map(|line| u64::from(line.access.percent)).sum::<u64>();
            if sum != 100 {
                return Err((value.line, IometerFlaw::NotAll { name, sum }));
            }
            // A later specification replaces an earlier one of the same name.
            self.specs.retain(|spec| !spec.name.eq_ignore_ascii_case(&name));
            self.specs.push(Spec { name, assigned, lines: rows });
            if self.specs.len() > SPECS_MAX {
                return Err((value.line, IometerFlaw::TooMany { what: "access specifications", most: SPECS_MAX }));
            }
        }
    }

    fn managers(&mut self, lines: &mut Lines<'_>, begin: At<'_>) -> Found<()> {
        loop {
            let (key, value) = lines.pair(begin, "'END manager list")?;
            if key.is("'END manager list") {
                return Ok(());
            }
            if !key.is("'Manager ID, manager name") {
                return key.expected("'Manager ID, manager name");
            }
            if self.manager.is_some() {
                let instead = "run a file with one manager on each host";
                return Err((key.line, IometerFlaw::NotSupported { what: "a second manager", instead }));
            }
            let name = value.text.split_once(',').map_or(value.text, |(_, name)| name).trim();
            self.manager = Some(name.to_owned());
            loop {
                let (key, value) = lines.pair(key, "'End manager")?;
                if key.is("'End manager") {
                    break;
                } else if key.is("'Worker") {
                    self.worker(lines, key, value)?;
                } else if !key.is("'Manager network address") {
                    let heading = key.text.to_owned();
                    return Err((key.line, IometerFlaw::Unknown { heading, section: "a manager" }));
                }
            }
        }
    }

    fn worker(&mut self, lines: &mut Lines<'_>, begin: At<'_>, name: At<'_>) -> Found<()> {
        if self.workers.len() == WORKERS_MAX {
            return Err((begin.line, IometerFlaw::TooMany { what: "workers", most: WORKERS_MAX }));
        }
        let name =
            if name.text.is_empty() { format!("Worker {}", self.workers.len() + 1) } else { name.text.to_owned() };
        let mut worker = Worker {
            name,
            depth: 1,
            seed: None,
            sectors: 0,
            first_sector: 0,
            pattern: 0,
            specs: Vec::new(),
            targets: Vec::new(),
        };
        let mut assigned = None;
        loop {
            let Some(key) = lines.take() else { return Err((begin.line, IometerFlaw::NoEnd("'End worker"))) };
            if key.is("'End worker") {
                break;
            } else if key.is("'Worker type") {
                match lines.take() {
                    Some(kind) if kind.fields().token().eq_ignore_ascii_case("DISK") => {}
                    Some(kind) if kind.begins("NETWORK") => {
                        let instead = "use `plumb net`";
                        return Err((kind.line, IometerFlaw::NotSupported { what: "a network worker", instead }));
                    }
                    other => return other.unwrap_or(key).expected("DISK"),
                }
            } else if key.is("'Default target settings for worker") {
                worker_settings(&mut worker, lines, key)?;
            } else if key.is("'Assigned access specs") {
                assigned = Some(assigned_specs(lines, key)?);
            } else if key.is("'Target assignments") {
                targets(&mut worker, lines, key)?;
            } else {
                return Err((key.line, IometerFlaw::Unknown { heading: key.text.to_owned(), section: "a worker" }));
            }
        }
        self.workers.push(worker);
        self.assigned.push(assigned);
        Ok(())
    }

    /// Converts names of specifications to indexes.
    fn conclude(self, last: usize) -> Found<Config> {
        let Reader { setup, specs, manager, mut workers, assigned } = self;
        for (worker, assigned) in workers.iter_mut().zip(assigned) {
            worker.specs = match assigned {
                Some(names) => {
                    let number = |(line, name): (usize, String)| {
                        let place = specs.iter().position(|spec| spec.name.eq_ignore_ascii_case(&name));
                        place.ok_or_else(|| (line, IometerFlaw::NoSpec { worker: worker.name.clone(), spec: name }))
                    };
                    names.into_iter().map(number).collect::<Found<_>>()?
                }
                None => (0..specs.len()).filter(|&number| matches!(specs[number].assigned, 1 | 2)).collect(),
            };
        }
        let busy = |worker: &Worker| {
            !worker.targets.is_empty() && worker.specs.iter().any(|&number| !specs[number].lines.is_empty())
        };
        if !workers.iter().any(busy) {
            return Err((last, IometerFlaw::NothingToDo));
        }
        Ok(Config { setup, specs, manager: manager.unwrap_or_default(), workers })
    }
}

/// Parses a line of an access specification.
fn spec_line(row: At<'_>) -> Found<Line> {
    let most = u64::from(u32::MAX);
    let mut fields = row.fields();
    let size = fields.number("the size", (1, most))?;
    let percent = fields.percent("the share of size")?;
    let reads = fields.percent("the share of reads")?;
    let random = fields.percent("the share at random")?;
    let delay_ms = fields.number("the delay", (0, YEAR_S * 1000))?;
    let burst = fields.number("the burst", (1, most))?;
    let align = fields.number("the alignment", (0, most))?;
    let reply = fields.number("the reply", (0, most))?;
    let mut line = access_line(size, percent, reads, random, align);
    (line.access.burst, line.access.reply, line.delay_ms) = (burst as u32, Bytes(reply), delay_ms);
    Ok(line)
}

fn worker_settings(worker: &mut Worker, lines: &mut Lines<'_>, begin: At<'_>) -> Found<()> {
    const END: &str = "'End default target settings for worker";
    loop {
        let (key, value) = lines.pair(begin, END)?;
        let mut fields = value.fields();
        if key.is(END) {
            return Ok(());
        } else if key.begins("'Number of outstanding IOs,test connection rate,transactions per connection") {
            worker.depth = fields.number("the number of outstanding I/Os", (1, DEPTH_MAX))?;
            if is_enabled(&mut fields)? {
                let what = "closing targets between transactions (test connection rate)";
                return Err((value.line, IometerFlaw::NotSupported { what, instead: "set it to DISABLED" }));
            }
            fields.number("the number of transactions per connection", (0, u64::from(u32::MAX)))?;
            if key.begins("'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed")
            {
                let uses = is_enabled(&mut fields)?;
                let seed = fields.number("the seed", (0, u64::MAX))?;
                worker.seed = uses.then_some(seed);
            }
        } else if key.begins("'Disk maximum size,starting sector") {
            // Sectors have 512 bytes.
            let most = (i64::MAX / 1024) as u64;
            worker.sectors = fields.number("the maximum size in sectors", (0, most))?;
            worker.first_sector = fields.number("the starting sector", (0, most))?;
            if key.begins("'Disk maximum size,starting sector,Data pattern") {
                worker.pattern = fields.number("the data pattern", (0, 2))?;
            }
        } else {
            let heading = key.text.to_owned();
            return Err((key.line, IometerFlaw::Unknown { heading, section: "the settings of a worker" }));
        }
    }
}

fn assigned_specs(lines: &mut Lines<'_>, begin: At<'_>) -> Found<Vec<(usize, String)>> {
    const END: &str = "'End assigned access specs";
    let mut names = Vec::new();
    while let Some(line) = lines.take() {
        if line.is(END) {
            return Ok(names);
        }
        if line.is_heading() {
            return line.expected("the name of an access specification, or 'End assigned access specs");
        }
        names.push((line.line, line.text.to_owned()));
        if names.len() > SPECS_MAX {
            return Err((line.line, IometerFlaw::TooMany { what: "assigned access specs", most: SPECS_MAX }));
        }
    }
    Err((begin.line, IometerFlaw::NoEnd(END)))
}

fn targets(worker: &mut Worker, lines: &mut Lines<'_>, begin: At<'_>) -> Found<()> {
    const END: &str = "'End target assignments";
    loop {
        let (key, name) = lines.pair(begin, END)?;
        if key.is(END) {
            return Ok(());
        }
        if !key.is("'Target") || name.text.is_empty() {
            return key.expected("'Target, and its name below");
        }
        let (kind, value) = lines.pair(key, "'End target")?;
        if !kind.is("'Target type") || !value.fields().token().eq_ignore_ascii_case("DISK") {
            return value.expected("'Target type, and DISK below");
        }
        worker.targets.push(name.text.to_owned());
        if worker.targets.len() > TARGETS_MAX {
            return Err((key.line, IometerFlaw::TooMany { what: "targets of a worker", most: TARGETS_MAX }));
        }
        match lines.take() {
            Some(end) if end.is("'End target") => {}
            Some(other) => return other.expected("'End target"),
            None => return Err((key.line, IometerFlaw::NoEnd("'End target"))),
        }
    }
}
