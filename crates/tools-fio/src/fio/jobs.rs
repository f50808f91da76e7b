//! From sections to jobs: names are looked up, values read, globals applied.

use super::engines;
use super::error::{FioError, Warning, WordLocation};
use super::job::{FioJob, JobSection, SaidOption};
use super::jobfile::{OptionLine, Section, SectionKind};
use super::options::job::NAME;
use super::options::queue::IOENGINE;
use super::options::stats::KB_BASE;
use super::options::{self, OptionSpec, Precedence, Setting, Support};
use super::value::{Compat, Doubt, ValueReading};
use std::sync::Arc;

/// fio's default engine.
pub(super) const DEFAULT_ENGINE: &str = "psync";

/// What was read.
pub(super) struct Jobs {
    pub jobs: Vec<FioJob>,
    pub globals: Vec<SaidOption>,
}

/// An option with its value.
#[derive(Debug)]
struct Taken {
    said: SaidOption,
    setting: Setting,
}

/// A job's engine.
#[derive(Debug, Clone)]
struct Engine {
    name: String,
    /// Where it was said, unless it is the default.
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
    let mut said: Arc<[SaidOption]> = Arc::default();
    let mut jobs: Vec<FioJob> = Vec::new();
    for section in sections {
        match section.kind {
            SectionKind::Global => {
                let errors_before = reader.errors.len();
                let (taken, unknown) = reader.section(section.lines, &section.place, &globals);
                let engine = engine(&globals, &taken);
                reader.unknown(unknown, &engine, errors_before);
                globals.extend(taken);
                said = globals.iter().map(|taken| taken.said.clone()).collect();
            }
            SectionKind::Job => {
                let job = reader.job(section, Globals { taken: &globals, said: &said }, jobs.last());
                jobs.extend(job);
            }
        }
    }
    reader.of_no_job(&globals, &jobs);
    Jobs { jobs, globals: globals.into_iter().map(|taken| taken.said).collect() }
}

/// What global sections said so far.
#[derive(Clone, Copy)]
struct Globals<'a> {
    taken: &'a [Taken],
    said: &'a Arc<[SaidOption]>,
}

struct JobsReader<'a> {
    compat: Compat,
    errors: &'a mut Vec<FioError>,
    warnings: &'a mut Vec<Warning>,
    /// Places where an engine was already refused, so that it is not reported for every job below a global section.
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
            for Taken { said, .. } in &taken {
                self.known_to(said, &engine);
            }
            for Taken { said, .. } in globals.taken.iter().filter(|taken| taken.said.option.known_to(&engine.name)) {
                self.supported(said, &engine);
            }
        }
        if !is_engine || self.errors.len() > errors_before {
            return None;
        }
        let named = taken.iter().rev().find(|taken| NAME.is(taken.said.option));
        let name = named.and_then(|taken| taken.said.text.clone()).unwrap_or_else(|| section.name.clone());
        let text = JobSection {
            name: section.name,
            opens_file: section.opens_file,
            from_global: Arc::clone(globals.said),
            said: Vec::new(),
        };
        let mut job = FioJob::unsaid(name, section.place, text);
        for Taken { said, setting } in globals.taken.iter().chain(&taken) {
            // Options of other engines in a global section do not concern this job.
            if said.option.known_to(&engine.name) {
                setting.apply(&mut job);
            }
        }
        job.section.said = taken.into_iter().map(|taken| taken.said).collect();
        if job.section.opens_file {
            Arc::make_mut(&mut job.identity).stonewall = true;
        }
        if let Some(before) = before {
            job.share_with(before);
        }
        Some(job)
    }

    /// The options of a section with their values in the order of the section, and lines whose names are not known.
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
        // On a command line each option takes effect when it is said.
        if matches!(place, WordLocation::File { .. }) {
            known.sort_by_key(|(option, _)| option.order);
        }
        debug_assert!(Precedence::First < Precedence::AsSaid && Precedence::AsSaid < Precedence::Last);
        let said = globals.iter().rev().find(|taken| KB_BASE.is(taken.said.option));
        let mut kb_base = said.map_or(1_024, |taken| self.kb_base(taken.said.text.as_deref()));
        let mut all = Vec::with_capacity(known.len());
        for (option, line) in known {
            let Some(taken) = self.option(option, line, kb_base) else { continue };
            if KB_BASE.is(option) {
                kb_base = self.kb_base(taken.said.text.as_deref());
            }
            all.push(taken);
        }
        (all, unknown)
    }

    /// Returns the meaning of `k` for the options after a `kb_base`, which could be read before.
    fn kb_base(&self, text: Option<&str>) -> u64 {
        let mut reading = ValueReading { compat: self.compat, kb_base: 1_024, doubts: &mut Vec::new() };
        KB_BASE.value(text, &mut reading).map_or(1_024, u64::from)
    }

    fn option(&mut self, option: &'static OptionSpec, line: OptionLine, kb_base: u64) -> Option<Taken> {
        let OptionLine { name, text, place } = line;
        match option.support {
            // A value that equals the default asks for nothing.
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
            // Reported if the engine is known to accept it.
            Support::NotYet(_) | Support::Never(_) => {}
        }
        let mut doubts: Vec<Doubt> = Vec::new();
        let mut reading = ValueReading { compat: self.compat, kb_base, doubts: &mut doubts };
        match option.read(text.as_deref(), &mut reading) {
            Ok(setting) => {
                let misread = |doubt| Warning::Misread { place: place.clone(), option: option.name, doubt };
                self.warnings.extend(doubts.into_iter().map(misread));
                let said = SaidOption { option, name: option.as_named(&name), text, place };
                Some(Taken { said, setting })
            }
            Err(reason) => {
                let text = text.unwrap_or_default();
                let wants = option.kind().words();
                self.errors.push(FioError::BadValue { place, option: option.name, text, reason, wants });
                None
            }
        }
    }

    /// Reports lines with unknown option names. If the engine is unknown, only that is reported, because they may be
    /// its options.
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

    fn known_to(&mut self, said: &SaidOption, engine: &Engine) {
        let place = said.place.clone();
        let option = said.option;
        if !option.known_to(&engine.name) {
            self.errors.push(FioError::OtherEngine {
                place,
                option: option.name,
                engine: engine.name.clone(),
                engines: option.engines,
            });
            return;
        }
        self.supported(said, engine);
    }

    /// Reports options of an engine that no following job uses.
    fn of_no_job(&mut self, globals: &[Taken], jobs: &[FioJob]) {
        if jobs.is_empty() {
            return;
        }
        for Taken { said, .. } in globals.iter().filter(|taken| !taken.said.option.engines.is_empty()) {
            let name = |job: &FioJob| match job.queue.ioengine.as_str() {
                "" => DEFAULT_ENGINE,
                said => engines::find(said).map_or("external", |spec| spec.name),
            };
            if !jobs.iter().any(|job| said.option.known_to(name(job))) {
                let engine = Engine { name: jobs.first().map(name).unwrap_or(DEFAULT_ENGINE).to_owned(), place: None };
                self.known_to(said, &engine);
            }
        }
    }

    fn supported(&mut self, said: &SaidOption, engine: &Engine) {
        let place = said.place.clone();
        let option = said.option;
        // What is so anyway, is not a wish.
        let is_default = said.text.as_deref().map(str::trim) == option.default;
        // Options of an unsupported engine are kept as given.
        let engine_runs = engines::find(&engine.name).is_some_and(|spec| spec.support == Support::Works);
        match option.support {
            Support::Works | Support::Ignored(_) => {}
            Support::NotYet(_) | Support::Never(_) if !engine_runs || is_default => {}
            Support::NotYet(why) => {
                self.once(FioError::OptionNotYet { place, option: said.name.to_owned(), why });
            }
            Support::Never(why) => {
                self.once(FioError::OptionNever { place, option: said.name.to_owned(), why });
            }
        }
    }

    /// All jobs below a global section would repeat it.
    fn once(&mut self, error: FioError) {
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }
}

/// Whether the engine exists. Unsupported engines are read too: their jobs can be translated, and are refused only when
/// run.
fn is_known(engine: &Engine) -> bool {
    engines::find(&engine.name).is_some()
}

/// The engine that was said last.
fn engine(globals: &[Taken], own: &[Taken]) -> Engine {
    let said = own.iter().rev().chain(globals.iter().rev()).find(|taken| IOENGINE.is(taken.said.option));
    match said {
        Some(Taken { said, .. }) => {
            let text = said.text.as_deref().unwrap_or_default().trim();
            let name = match text.split_once(':') {
                Some(("external", _)) => "external",
                _ => engines::find(text).map_or(text, |spec| spec.name),
            };
            Engine { name: name.to_owned(), place: Some(said.place.clone()) }
        }
        None => Engine { name: DEFAULT_ENGINE.to_owned(), place: None },
    }
}
