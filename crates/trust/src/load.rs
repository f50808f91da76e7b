//! The load of other processes: its record, and the effect of declaring it.

use crate::checks::c1::load_of;
use crate::checks::c5::taken_by_programs;
use crate::evidence::{PhaseView, RunView};
use crate::judgement::{Judgement, verdict, worst_first};
use plumb_result::verdict::LOAD;
use plumb_result::{Finding, Level, LoadDeclared, RunResult, RunVerdict, UnderLoad};

/// Returns the load in the phase in which others took most of the devices' and processors' time.
pub(crate) fn of_run(run: &RunView<'_>) -> Option<UnderLoad> {
    run.phases.iter().filter_map(of_phase).max_by(|one, other| size(one).total_cmp(&size(other)))
}

fn size(load: &UnderLoad) -> f64 {
    load.device_share + load.processor_share
}

fn of_phase(view: &PhaseView<'_>) -> Option<UnderLoad> {
    match (load_of(view), taken_by_programs(view)) {
        (Some(load), Some(taken)) => Some(UnderLoad { processor_share: taken.share, ..load }),
        (None, Some(taken)) => Some(UnderLoad {
            declared: LoadDeclared::No,
            phase: view.measured.name.clone(),
            device_share: 0.0,
            processor_share: taken.share,
            read_bytes_per_second: 0.0,
            write_bytes_per_second: 0.0,
            by: taken.by,
        }),
        (load, None) => load,
    }
}

impl Judgement {
    /// Treats the load of others as a part of the set-up, as declared by the user: it is noted,
    /// and no longer an objection.
    pub fn declare_load(&mut self) {
        self.verdict = declare(&mut self.findings, self.under_load.as_mut());
    }
}

/// Declares the load in a result that was judged without the declaration, as on a host that does not know of it.
pub fn declare_load_of(result: &mut RunResult) {
    if result.checks.iter().any(is_of_load) {
        result.verdict = declare(&mut result.checks, result.under_load.as_deref_mut());
    } else if let Some(load) = &mut result.under_load {
        load.declared = LoadDeclared::Yes;
    }
}

fn declare(findings: &mut [Finding], load: Option<&mut UnderLoad>) -> RunVerdict {
    for finding in findings.iter_mut().filter(|one| is_of_load(one)) {
        finding.level = Level::Note;
        finding.message.push_str(" It was declared as a part of the set-up.");
        finding.remedies.clear();
        finding.remedy.clear();
    }
    if let Some(load) = load {
        load.declared = LoadDeclared::Yes;
    }
    worst_first(findings);
    verdict(findings)
}

fn is_of_load(finding: &Finding) -> bool {
    LOAD.contains(&finding.code.as_str()) && finding.level > Level::Note
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{MIB, Scene};

    fn under_load() -> Scene {
        Scene::reading(1000 * MIB).device_read(1900 * MIB).other("dd", 900 * MIB, 0)
    }

    // Protects: a declared load leaves the run valid, and the result records it.
    #[test]
    fn a_declared_load_is_recorded_and_not_an_objection() {
        let mut judgement = under_load().judge();
        assert_eq!(judgement.verdict, RunVerdict::Reject);
        let load = judgement.under_load.clone().expect("a load");
        assert_eq!((load.declared, load.by.as_ref().map(|by| by.command.as_str())), (LoadDeclared::No, Some("dd")));
        assert!(load.device_share > 0.1 && load.bytes_per_second() > 0.0, "{load:?}");
        judgement.declare_load();
        assert_eq!(judgement.verdict, RunVerdict::Pass);
        assert_eq!(judgement.under_load.unwrap().declared, LoadDeclared::Yes);
        let c1 = judgement.findings.iter().find(|finding| finding.code == "C1").unwrap();
        assert_eq!((c1.level, c1.remedy.as_str()), (Level::Note, ""));
    }

    #[test]
    fn declaring_a_load_excuses_nothing_else() {
        let mut judgement = under_load().fault("EIO").judge();
        judgement.declare_load();
        assert_eq!(judgement.verdict, RunVerdict::Reject);
        assert_eq!(Scene::reading(1000 * MIB).judge().under_load, None);
    }
}
