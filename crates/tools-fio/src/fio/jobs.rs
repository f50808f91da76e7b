//! Turns sections into jobs: looks up option names, parses values and applies globals.

use super::engines;
use super::error::{FioError, Warning, WordLocation};
use super::job::{FioJob, InputOption, JobSection};
use super::jobfile::{OptionLine, Section, SectionKind};
use super::options::job::NAME;
use super::options::queue::IOENGINE;
use super::options::stats::KB_BASE;
use super::options::{self, OptionSpec, Precedence, Setting, Support};
use super::value::{Compat, Doubt, ValueReading};
use std::sync::Arc;

pub(super) const DEFAULT_ENGINE: &str = "psync";

pub(super) struct Jobs {
    pub jobs: Vec<FioJob>,
    pub globals: Vec<InputOption>,
}

/// An option with its value.
#[derive(Debug)]
struct Taken {
    given: InputOption,
    setting: Setting,
}

#[derive(Debug, Clone)]
struct Engine {
    name: String,
    /// Place in the input; `None` for a default.
    place: Option<WordLocation>,
}

/// Reads all sections in order.
pub(super) fn read(
    sections: Vec<Section>,
    compat: Compat,
    errors: &mut Vec<FioError>,
    warnings: &mut Vec<Warning>,
) -> Jobs {
    let mut reader = JobsReader { compat, errors, warnings, refused: Vec::new() };
    let mut globals: Vec<Taken> = Vec::new();
    let mut global_options: Arc<[InputOption]> = Arc::default();
    let mut jobs: Vec<FioJob> = Vec::new();
    for section in sections {
        match section.kind {
            SectionKind::Global => {
                let errors_before = reader.errors.len();
                let (taken, unknown) = reader.section(section.lines, &section.place, &globals);
                let engine = engine(&globals, &taken);
                reader.unknown(unknown, &engine, errors_before);
                globals.extend(taken);
                global_options = globals.iter().map(|taken| taken.given.clone()).collect();
            }
            SectionKind::Job => {
                let job = reader.job(section, Globals { taken: &globals, options: &global_options }, jobs.last());
                jobs.extend(job);
            }
        }
    }
    reader.unused_options(&globals, &jobs);
    Jobs { jobs, globals: globals.into_iter().map(|taken| taken.given).collect() }
}

/// Options of the global sections read so far.
#[derive(Clone, Copy)]
struct Globals<'a> {
    taken: &'a [Taken],
    options: &'a Arc<[InputOption]>,
}

struct JobsReader<'a> {
    compat: Compat,
    errors: &'a mut Vec<FioError>,
    warnings: &'a mut Vec<Warning>,
    /// Places where an engine was already refused. A global section would otherwise report it for each job below it.
    refused: Vec<WordLocation>,
}

impl JobsReader<'_> {
    fn job(&mut self, section: Section, globals: Globals<'_>, before: Option<&FioJob>) -> Option<FioJob> {
        let errors_before = self.errors.len();
        let (taken, unknown) = self.section(section.lines, &section.place, globals.taken);
        let engine = engine(globals.taken, &taken);
        let is_engine = is_known(&engine);
        self.unknown(unknown, &engine, errors_before);
        if is_engine {
            for Taken { given, .. } in &taken {
                self.known_to(given, &engine);
            }
            for Taken { given, .. } in globals.taken.iter().filter(|taken| taken.given.option.known_to(&engine.name)) {
                self.supported(given, &engine);
            }
        }
        if !is_engine || self.errors.len() > errors_before {
            return None;
        }
        let named = taken.iter().rev().find(|taken| NAME.is(taken.given.option));
        let name = named.and_then(|taken| taken.given.text.clone()).unwrap_or_else(|| section.name.clone());
        let text = JobSection {
            name: section.name,
            opens_file: section.opens_file,
            from_global: Arc::clone(globals.options),
            options: Vec::new(),
        };
        let mut job = FioJob::with_defaults(name, section.place, text);
        for Taken { given, setting } in globals.taken.iter().chain(&taken) {
            // Global options of other engines do not concern this job.
            if given.option.known_to(&engine.name) {
                setting.apply(&mut job);
            }
        }
        job.section.options = taken.into_iter().map(|taken| taken.given).collect();
        if job.section.opens_file {
            Arc::make_mut(&mut job.identity).stonewall = true;
        }
        if let Some(before) = before {
            job.share_with(before);
        }
        Some(job)
    }

    /// Returns the options of a section with their values, in order, and the lines with unknown names.
    fn section(
        &mut self,
        lines: Vec<OptionLine>,
        place: &WordLocation,
        globals: &[Taken],
    ) -> (Vec<Taken>, Vec<OptionLine>) {
        let mut unknown = Vec::new();
        let mut known: Vec<(&'static OptionSpec, OptionLine)> = Vec::with_capacity(lines.len());
        for line in lines {
            match options::find(&line.name) {
                Some(option) => known.push((option, line)),
                None => unknown.push(line),
            }
        }
        // On a command line, an option takes effect at its position.
        if matches!(place, WordLocation::File { .. }) {
            known.sort_by_key(|(option, _)| option.order);
        }
        debug_assert!(Precedence::First < Precedence::AsGiven && Precedence::AsGiven < Precedence::Last);
        let given = globals.iter().rev().find(|taken| KB_BASE.is(taken.given.option));
        let mut kb_base = given.map_or(1_024, |taken| self.kb_base(taken.given.text.as_deref()));
        let mut all = Vec::with_capacity(known.len());
        for (option, line) in known {
            let Some(taken) = self.option(option, line, kb_base) else { continue };
            if KB_BASE.is(option) {
                kb_base = self.kb_base(taken.given.text.as_deref());
            }
            all.push(taken);
        }
        (all, unknown)
    }

    /// Returns the value of `k` for the options after a `kb_base`. Options may come before it.
    fn kb_base(&self, text: Option<&str>) -> u64 {
        let mut reading = ValueReading { compat: self.compat, kb_base: 1_024, doubts: &mut Vec::new() };
        KB_BASE.value(text, &mut reading).map_or(1_024, u64::from)
    }

    fn option(&mut self, option: &'static OptionSpec, line: OptionLine, kb_base: u64) -> Option<Taken> {
        let OptionLine { name, text, place } = line;
        match option.support {
            // A value equal to the default has no effect, so it is not reported.
            Support::Ignored(why) if option.default.is_none() || text.as_deref() != option.default => {
                self.warnings.push(Warning::DoesNothing { place: place.clone(), option: option.name, why });
            }
            Support::Works | Support::Ignored(_) => {}
            Support::NotYet(why) if option.engines.is_empty() => {
                self.errors.push(FioError::OptionNotYet { place, option: name, why });
                return None;
            }
            Support::Never(why) if option.engines.is_empty() => {
                self.errors.push(FioError::OptionNever { place, option: name, why });
                return None;
            }
            // Reported only if the engine accepts the option.
            Support::NotYet(_) | Support::Never(_) => {}
        }
        let mut doubts: Vec<Doubt> = Vec::new();
        let mut reading = ValueReading { compat: self.compat, kb_base, doubts: &mut doubts };
        match option.read(text.as_deref(), &mut reading) {
            Ok(setting) => {
                let misread = |doubt| Warning::Misread { place: place.clone(), option: option.name, doubt };
                self.warnings.extend(doubts.into_iter().map(misread));
                let given = InputOption { option, name: option.as_named(&name), text, place };
                Some(Taken { given, setting })
            }
            Err(reason) => {
                let text = text.unwrap_or_default();
                let wants = option.kind().words();
                self.errors.push(FioError::BadValue { place, option: option.name, text, reason, wants });
                None
            }
        }
    }

    /// Reports lines with unknown option names. If the engine is unknown, reports only the engine,
    /// because the names may be its options.
    fn unknown(&mut self, lines: Vec<OptionLine>, engine: &Engine, errors_before: usize) {
        if is_known(engine) {
            self.errors.extend(lines.into_iter().map(|line| FioError::UnknownOption {
                nearest: options::nearest(&line.name),
                place: line.place,
                name: line.name,
            }));
            return;
        }
        self.errors.truncate(errors_before);
        let Some(place) = engine.place.clone() else { return };
        if !self.refused.contains(&place) {
            let nearest = engines::nearest(&engine.name);
            self.errors.push(FioError::UnknownEngine { place: place.clone(), engine: engine.name.clone(), nearest });
            self.refused.push(place);
        }
    }

    fn known_to(&mut self, given: &InputOption, engine: &Engine) {
        let place = given.place.clone();
        let option = given.option;
        if !option.known_to(&engine.name) {
            self.errors.push(FioError::OtherEngine {
                place,
                option: option.name,
                engine: engine.name.clone(),
                engines: option.engines,
            });
            return;
        }
        self.supported(given, engine);
    }

    /// Reports options of an engine that no following job uses.
    fn unused_options(&mut self, globals: &[Taken], jobs: &[FioJob]) {
        if jobs.is_empty() {
            return;
        }
        for Taken { given, .. } in globals.iter().filter(|taken| !taken.given.option.engines.is_empty()) {
            let name = |job: &FioJob| match job.queue.ioengine.as_str() {
                "" => DEFAULT_ENGINE,
                given => engines::find(given).map_or("external", |spec| spec.name),
            };
            if !jobs.iter().any(|job| given.option.known_to(name(job))) {
                let engine = Engine { name: jobs.first().map(name).unwrap_or(DEFAULT_ENGINE).to_owned(), place: None };
                self.known_to(given, &engine);
            }
        }
    }

    fn supported(&mut self, given: &InputOption, engine: &Engine) {
        let place = given.place.clone();
        let option = given.option;
        // A value equal to the default asks for nothing.
        let is_default = given.text.as_deref().map(str::trim) == option.default;
        // Options of an unsupported engine are kept as given.
        let engine_runs = engines::find(&engine.name).is_some_and(|spec| spec.support == Support::Works);
        match option.support {
            Support::Works | Support::Ignored(_) => {}
            Support::NotYet(_) | Support::Never(_) if !engine_runs || is_default => {}
            Support::NotYet(why) => {
                self.report_once(FioError::OptionNotYet { place, option: given.name.to_owned(), why });
            }
            Support::Never(why) => {
                self.report_once(FioError::OptionNever { place, option: given.name.to_owned(), why });
            }
        }
    }

    /// Reports an error once: all jobs below a global section would repeat it.
    fn report_once(&mut self, error: FioError) {
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }
}

/// Whether the engine exists. Jobs of unsupported engines are parsed too: they can be translated,
/// and are refused only at run time.
fn is_known(engine: &Engine) -> bool {
    engines::find(&engine.name).is_some()
}

/// Returns the engine that was given last.
fn engine(globals: &[Taken], own: &[Taken]) -> Engine {
    let last = own.iter().rev().chain(globals.iter().rev()).find(|taken| IOENGINE.is(taken.given.option));
    match last {
        Some(Taken { given, .. }) => {
            let text = given.text.as_deref().unwrap_or_default().trim();
            let name = match text.split_once(':') {
                Some(("external", _)) => "external",
                _ => engines::find(text).map_or(text, |spec| spec.name),
            };
            Engine { name: name.to_owned(), place: Some(given.place.clone()) }
        }
        None => Engine { name: DEFAULT_ENGINE.to_owned(), place: None },
    }
}
