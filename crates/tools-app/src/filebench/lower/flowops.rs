//! Lowers flowops to steps.

use super::{Line, Lowering};
use crate::filebench::FilebenchUsageError;
use crate::filebench::script::{Attributes, Flowop, Value, ValueKind};
use crate::filebench::session::{CompositeDefinition, Defined};
use crate::filebench::table::{Class, FLOWOPS};
use crate::filebench::variables::Locals;
use plumb_workload::program::{Amount, SharedFile, SharedStep, SharedWork, shared_name};

/// Nesting limit of composite flowops.
const NESTING_MAX: usize = 24;

/// Limit of steps in a run.
const STEPS_MAX: usize = 100_000;

/// The composite flowops that contain a flowop.
#[derive(Clone, Copy, Default)]
pub(super) struct Outer<'a> {
    /// Printed names, as a prefix.
    printed: &'a str,
    /// Full name of the composite's step.
    step: &'a str,
    /// Number of composite flowops around this one.
    nesting: usize,
}

impl Lowering<'_> {
    pub(super) fn flowop(
        &mut self,
        flowop: &Flowop,
        locals: &Locals,
        outer: Outer<'_>,
        group: &str,
    ) -> Result<SharedStep, FilebenchUsageError> {
        let place = flowop.attributes.place;
        self.steps += 1;
        if outer.nesting > NESTING_MAX || self.steps > STEPS_MAX {
            return Err(FilebenchUsageError::at(place, "flowops are nested too deeply"));
        }
        let seen = self.seen(&flowop.attributes, locals);
        let (printed, times) = (seen.name()?, seen.amount("iters")?.unwrap_or(Amount::Fixed(1)));
        let (name, full) = self.step_name(&printed, outer.step);
        let printed = shared_name(outer.printed, &printed);
        let line = Line {
            name: printed.clone(),
            step: full.clone(),
            group: group.to_owned(),
            in_summary: false,
            is_composite: false,
            says: None,
        };
        let Some((_, class)) = FLOWOPS.iter().find(|(known, _)| *known == flowop.kind) else {
            let composites = &self.definitions.composites;
            let named = |defined: &&Defined<CompositeDefinition>| {
                let name = self.seen(&defined.it.attributes, &EMPTY).name();
                name.is_ok_and(|name| name == flowop.kind)
            };
            let Some(composite) = composites.iter().rev().find(named) else {
                return Err(unknown_flowop(flowop));
            };
            let inner = self.bound(&composite.it, flowop, locals)?;
            self.plan.lines.push(Line { is_composite: true, ..line });
            let own = self.seen(&composite.it.attributes, &inner).amount("iters")?;
            let times = match own {
                Some(own) if seen_none(&flowop.attributes, "iters") => own,
                _ => times,
            };
            let mut steps = Vec::new();
            for inside in &composite.it.flowops {
                let outer = Outer { printed: &printed, step: &full, nesting: outer.nesting + 1 };
                let step = self.flowop(inside, &inner, outer, group);
                steps.push(step.map_err(|error| error.of_file(&composite.file))?);
            }
            self.remarks_are_of(&composite.file);
            let does = SharedWork::Steps(steps);
            return Ok(SharedStep { name, does, file: SharedFile::default(), times });
        };
        let (file, does) = self.built_in(flowop, locals)?;
        let has_places =
            matches!(&does, SharedWork::Read(moves) | SharedWork::Write(moves) if !moves.places.is_empty());
        if let Some(idle) = flowop.attributes.get("possetname").filter(|_| !has_places) {
            let why = "`possetname` has no effect: it is for `read` and `write` with `random`";
            self.plan.remarks.push(FilebenchUsageError::at(idle.place, why));
        }
        let says = match &does {
            SharedWork::Note { text } => Some(text.clone()),
            _ => None,
        };
        self.plan.lines.push(Line { in_summary: *class == Class::Io, says, ..line });
        Ok(SharedStep { name, does, file, times })
    }

    /// Returns the name of a step and its full name, which statistics show. The name is the flowop's, with a number
    /// if another flowop of the thread has the same one.
    fn step_name(&mut self, called: &str, outer: &str) -> (String, String) {
        let full = shared_name(outer, called);
        let mut number = *self.called.entry(full.clone()).and_modify(|count| *count += 1).or_insert(1);
        if number == 1 {
            return (called.to_owned(), full);
        }
        loop {
            let (name, numbered) = (format!("{called}-{number}"), format!("{full}-{number}"));
            if !self.called.contains_key(&numbered) {
                self.called.insert(full, number);
                self.called.insert(numbered.clone(), 1);
                return (name, numbered);
            }
            number += 1;
        }
    }

    /// Returns the local variables of a composite flowop at the place where it is used.
    fn bound(
        &self,
        composite: &CompositeDefinition,
        flowop: &Flowop,
        outer: &Locals,
    ) -> Result<Locals, FilebenchUsageError> {
        let mut inner = Locals::new();
        let resolved = |value: &Value| match &value.kind {
            ValueKind::Variable(name) => outer.get(name).cloned().unwrap_or_else(|| value.clone()),
            _ => value.clone(),
        };
        for local in &composite.locals {
            let given = flowop.locals.iter().rev().find(|given| given.name == local.name);
            let value = given.and_then(|given| given.value.as_ref()).map(resolved).or_else(|| local.value.clone());
            if let Some(value) = value {
                inner.insert(local.name.clone(), value);
            }
        }
        for given in &flowop.locals {
            if !composite.locals.iter().any(|local| local.name == given.name) {
                let message = format!("`{}` has no local variable `${}`", flowop.kind, given.name);
                return Err(FilebenchUsageError::at(given.place, message));
            }
        }
        Ok(inner)
    }
}

pub(super) fn unknown_flowop(flowop: &Flowop) -> FilebenchUsageError {
    let names = FLOWOPS.iter().map(|(name, _)| *name);
    FilebenchUsageError::at(flowop.attributes.place, format!("unknown flowop `{}`", flowop.kind)).nearest(
        &flowop.kind,
        names,
        "`define flowop` it above, or use one that `list flowop` names",
    )
}

static EMPTY: Locals = Locals::new();

fn seen_none(attributes: &Attributes, name: &str) -> bool {
    attributes.get(name).is_none()
}
