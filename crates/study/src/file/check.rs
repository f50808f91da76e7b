//! Checks of a study file that need no resolved levels.

use super::agents;
use super::error::StudyError;
use super::form::{HostForm, RepeatForm};
use super::levels;
use super::make::effects;
use super::study::{LOCAL, Study, repeats};
use plumb_workload_text::native::LocatedFailure;
use std::ops::Range;

impl Study<'_> {
    /// Checks name, hosts, design and the names of factors, and reports all errors at once.
    pub(super) fn check(&self) -> Result<(), StudyError> {
        let mut failures = Vec::new();
        if self.form.experiment.name.is_empty() {
            let place = self.place(&["experiment", "name"]);
            failures.push(failure(place, "the study has an empty name", "give it one"));
        }
        self.check_hosts(&mut failures);
        self.check_design(&mut failures);
        self.check_conditions(&mut failures);
        self.check_factor_names(&mut failures);
        if failures.is_empty() { Ok(()) } else { Err(self.document.failures(failures).into()) }
    }

    fn check_hosts(&self, failures: &mut Vec<LocatedFailure>) {
        for (name, host) in &self.form.hosts {
            let place = self.place(&["hosts", name]);
            let mut fail = |message: String, help: &str| failures.push(failure(place.clone(), message, help));
            match host {
                _ if name == LOCAL => fail("`local` is this machine".to_owned(), "give the host another name"),
                HostForm { agents: Some(names), .. } => agents::check_agents(name, host, names, &mut fail),
                HostForm { agent: Some(agent), .. } if !agent.is_absolute() => fail(
                    format!("`agent` is `{}`", agent.display()),
                    "write the absolute path of a Plumb that was built for that host",
                ),
                HostForm { ssh: Some(_), vm: None, .. }
                | HostForm { ssh: None, vm: Some(_), boot: None, kernel: None, agent: None, agents: None } => {}
                HostForm { vm: Some(_), ssh: None, boot: Some(_), .. } => {
                    fail("a virtual machine is booted by the lab".to_owned(), "leave out `boot`");
                }
                HostForm { vm: Some(_), ssh: None, kernel: Some(_), .. } => {
                    fail("the kernel of a virtual machine belongs to `vm`".to_owned(), "vm = { kernel = \"…\" }");
                }
                HostForm { vm: Some(_), ssh: None, .. } => fail(
                    "`agent` is for hosts that are reached by ssh".to_owned(),
                    "leave it out; PLUMB_AGENT names what runs in a `root`",
                ),
                _ => fail(
                    format!("`{name}` needs exactly one of `ssh`, `vm`, `agents`"),
                    "give it `ssh = \"root@box\"`, `vm = { … }` or `agents = [\"node1\", \"node2\"]`",
                ),
            }
        }
    }

    fn check_design(&self, failures: &mut Vec<LocatedFailure>) {
        let design = &self.form.design;
        if let Some(RepeatForm::Range(range)) = design.repeat
            && range.min > range.max
        {
            let message = format!("the minimum {} is more than the maximum {}", range.min, range.max);
            failures.push(failure(self.place(&["design", "repeat"]), message, "swap them"));
        }
        let (least, _) = repeats(&self.form);
        if least == 0 || design.plots == Some(0) {
            let key = if least == 0 { "repeat" } else { "plots" };
            let message = format!("`{key}` of 0 measures nothing");
            failures.push(failure(self.place(&["design", key]), message, "use 1 or more"));
        }
    }

    /// Checks `exclude` and `when`.
    fn check_conditions(&self, failures: &mut Vec<LocatedFailure>) {
        let all = &self.factors.all;
        for when in &self.form.design.exclude {
            failures.extend(levels::unknown_names(when, all, &self.place(&["design", "exclude"])));
        }
        for workload in &self.workloads {
            failures.extend(levels::unknown_names(&workload.when, all, &workload.place));
        }
    }

    /// Checks the factors that `[compare]` and the imports name.
    fn check_factor_names(&self, failures: &mut Vec<LocatedFailure>) {
        let mut check = |name: &str, path: &[&str]| {
            let known = || self.factors.all.iter().map(|factor| factor.name.as_str());
            if !known().any(|known| known == name) {
                failures.push(levels::unknown("factor", name, known(), &self.place(path)));
            }
        };
        let compare = &self.form.compare;
        compare.by.iter().for_each(|name| check(name, &["compare", "by"]));
        compare.within.iter().for_each(|name| check(name, &["compare", "within"]));
        effects(&self.form).iter().for_each(|name| check(name, &["compare", "effects"]));
        for (label, import) in &self.form.import {
            import.levels.keys().for_each(|factor| check(factor, &["import", label, factor]));
        }
    }
}

fn failure(span: Range<usize>, message: impl Into<String>, help: &str) -> LocatedFailure {
    LocatedFailure { span, message: message.into(), help: help.to_owned() }
}
