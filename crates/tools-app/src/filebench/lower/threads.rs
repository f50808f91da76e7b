//! Lowers processes and threads to worker groups.

use super::flowops::Outer;
use super::names::free;
use super::{Lowering, Started};
use crate::filebench::FilebenchUsageError;
use crate::filebench::session::{Defined, ProcessDefinition};
use crate::filebench::variables::Locals;
use plumb_workload::phase::OnError;
use plumb_workload::process::{IoPriority, ProcessRules};
use plumb_workload::program::{Program, ProgramMemory, Step, Together, walk_shared};
use plumb_workload::{Bytes, Work, WorkerGroup};

impl Lowering<'_> {
    pub(super) fn process(
        &mut self,
        defined: &Defined<ProcessDefinition>,
        groups: &mut Vec<WorkerGroup>,
    ) -> Result<(), FilebenchUsageError> {
        let ProcessDefinition { attributes, threads } = &defined.it;
        let locals = Locals::new();
        let seen = self.seen(attributes, &locals);
        let (name, instances) = (seen.name()?, seen.narrow::<u32>("instances", 1)?);
        let nice = seen.narrow::<i32>("nice", 0)?;
        if instances == 0 {
            return Ok(());
        }
        let party = self.parties;
        self.parties = party
            .checked_add(instances)
            .ok_or_else(|| FilebenchUsageError::at(attributes.place, "too many processes"))?;
        self.plan.processes.push(Started { name: name.clone(), instances: instances.into() });
        for thread in threads {
            let seen = self.seen(&thread.attributes, &locals);
            let (own, members) = (seen.name()?, seen.narrow::<u32>("instances", 1)?);
            let place = thread.attributes.place;
            let count =
                members.checked_mul(instances).ok_or_else(|| FilebenchUsageError::at(place, "too many threads"))?;
            let memory = seen.integer("memsize", 0)?;
            let priority = seen.integer("ioprio", 8)?;
            if count == 0 {
                continue;
            }
            self.remark_idle(&thread.attributes, &defined.file);
            let group =
                free(&format!("{name}.{own}"), |name| groups.iter().any(|group| group.name.as_deref() == Some(name)));
            self.called.clear();
            let mut steps = Vec::new();
            for flowop in &thread.flowops {
                let step = self.flowop(flowop, &locals, Outer::default(), &group)?;
                steps.push(Step::Shared(Box::new(step)));
            }
            self.remarks_are_of(&defined.file);
            let target = self.plan.workload.target.keys().next().cloned().ok_or_else(|| {
                FilebenchUsageError::at(place, "there is no file set")
                    .help("define one above, even where no flowop uses it")
            })?;
            let mut used = None;
            for step in &steps {
                if let Step::Shared(step) = step {
                    walk_shared(step, &mut |step| used = used.or(step.file.set.as_ref()));
                }
            }
            let target = used.cloned().unwrap_or(target);
            let rate = match &self.definitions.rate {
                Some(rate) => self.definitions.variables.integer(rate, &locals)?,
                None => 0,
            };
            let program = Program {
                memory: ProgramMemory { spread: (memory > 0).then_some(Bytes(memory)), ..ProgramMemory::default() },
                together: Some(Together { events_per_second: (rate > 0).then_some(rate), members, first_party: party }),
                ..Program::new(steps)
            };
            groups.push(WorkerGroup {
                name: Some(group),
                count,
                on_error: OnError::Stop,
                process: ProcessRules {
                    nice: (nice != 0).then_some(nice),
                    io_priority: (priority < 8).then_some(IoPriority { class: 2, level: priority as _, hint: 0 }),
                    ..ProcessRules::default()
                },
                ..WorkerGroup::new(target, Work::Program(Box::new(program)))
            });
        }
        Ok(())
    }
}
