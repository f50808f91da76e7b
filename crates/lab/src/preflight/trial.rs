//! Selects plots that can be built on trial: those that touch only what they make themselves.

use crate::step::{Loop, LoopFill, Mdadm, Names, Step, Wait};

/// Steps to build on trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    pub steps: Vec<Step>,
    /// Kinds of steps that are left out, because they write much and rarely fail.
    pub left_out: Vec<&'static str>,
}

/// A step touches something that the lab did not make, so its plot is not built on trial.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("step {number} ({kind}) {touches}")]
pub struct NoTrial {
    /// Number of the step, from 1.
    pub number: usize,
    pub kind: &'static str,
    /// The thing that it touches.
    touches: SideEffect,
}

/// Things that a step touches and that the lab did not make.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum SideEffect {
    #[error("destroys what is on {0}")]
    Device(String),
    #[error("runs a command of the study")]
    Command,
    #[error("changes settings of this machine")]
    Machine,
    #[error("changes settings of a device that is in use")]
    Settings,
    #[error("exports a directory of this machine")]
    Export,
}

/// Returns the steps for a trial, on a machine of the study's own (`disposable`) or on one that others use.
///
/// # Errors
/// Returns an error if a step would touch something that the lab did not make.
pub fn trial_of(steps: &[Step], disposable: bool) -> Result<Trial, NoTrial> {
    let mut trial = Trial { steps: Vec::new(), left_out: Vec::new() };
    let sync_is_needed = steps.iter().any(|step| matches!(step, Step::Degrade(_) | Step::Rebuild(_)));
    for (number, step) in steps.iter().enumerate() {
        if !disposable && let Some(touches) = touches(step) {
            return Err(NoTrial { number: number + 1, kind: step.kind(), touches });
        }
        trial.steps.push(match step {
            // Their time grows with the device.
            Step::Fill(_) | Step::Age(_) | Step::Precondition(_) => {
                trial.left_out.push(step.kind());
                continue;
            }
            Step::Loop(step) => Step::Loop(Loop { fill: LoopFill::Sparse, ..step.clone() }),
            // The time of a sync grows with the array, and a trial learns nothing from it.
            Step::Mdadm(step) if !sync_is_needed => Step::Mdadm(Mdadm { wait: Wait::None, ..step.clone() }),
            other => other.clone(),
        });
    }
    Ok(trial)
}

fn touches(step: &Step) -> Option<SideEffect> {
    let foreign = |names: &Names| {
        let mut foreign = names.as_slice().iter().filter(|name| {
            let name = name.strip_prefix('@').map(|name| name.split('.').next().unwrap_or_default());
            name.is_none_or(|name| ["expendable", "disks"].contains(&name))
        });
        foreign.next().map(|name| SideEffect::Device(name.clone()))
    };
    let one = |name: &String| foreign(&Names::One(name.clone()));
    match step {
        Step::Cmd(_) => Some(SideEffect::Command),
        Step::Sysctl(_) | Step::Link(_) => Some(SideEffect::Machine),
        Step::Queue(step) => foreign(&step.device).map(|_| SideEffect::Settings),
        Step::Readahead(step) => foreign(&step.device).map(|_| SideEffect::Settings),
        Step::Nfs(_) => Some(SideEffect::Export),
        Step::Partition(step) => one(&step.device),
        Step::Mdadm(step) => foreign(&step.devices).or_else(|| step.spares.as_ref().and_then(&foreign)),
        Step::Rebuild(step) => one(&step.member),
        Step::Lvm(step) => foreign(&step.devices),
        Step::Dm(step) => one(&step.device).or_else(|| step.log.as_ref().and_then(one)),
        Step::Mkfs(step) => one(&step.device),
        Step::Btrfs(step) => foreign(&step.devices),
        Step::Mount(step) => one(&step.device),
        Step::Tune(step) => one(&step.device),
        Step::Precondition(step) => foreign(&step.device),
        Step::Gmirror(step) => foreign(&step.devices),
        Step::Newfs(step) => one(&step.device),
        Step::Zpool(step) => foreign(&step.devices),
        Step::Loop(_)
        | Step::Degrade(_)
        | Step::Zram(_)
        | Step::Overlay(_)
        | Step::Tmpfs(_)
        | Step::Fill(_)
        | Step::Age(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Vec<Step> {
        plumb_document::json::from_str(text).unwrap()
    }

    // Protects: `plan --check` destroys and changes nothing on this machine.
    #[test]
    fn only_steps_on_the_labs_own_devices_are_built() {
        for (step, why) in [
            (r#"{"kind": "mkfs", "fs": "ext4", "device": "@expendable"}"#, "@expendable"),
            (r#"{"kind": "mkfs", "fs": "ext4", "device": "@disks.1"}"#, "@disks.1"),
            (r#"{"kind": "mdadm", "name": "a", "level": 1, "devices": ["@l", "/dev/sdb"]}"#, "/dev/sdb"),
            (r#"{"kind": "mdadm", "name": "a", "level": 1, "devices": "@l", "spares": "@expendable"}"#, "@expendable"),
            (r#"{"kind": "precondition", "device": "/dev/sdb"}"#, "/dev/sdb"),
            (r#"{"kind": "cmd", "run": "reboot"}"#, "command"),
            (r#"{"kind": "sysctl", "set": {"vm.swappiness": 1}}"#, "settings"),
            (r#"{"kind": "queue", "device": "/dev/sda", "set": {"scheduler": "none"}}"#, "settings"),
        ] {
            let steps = steps(&format!("[{step}]"));
            let message = trial_of(&steps, false).unwrap_err().to_string();
            assert!(message.starts_with("step 1 (") && message.contains(why), "{message}");
            assert!(trial_of(&steps, true).is_ok(), "a disposable machine may be changed: {step}");
        }
    }

    #[test]
    fn a_trial_does_not_write_for_hours() {
        let all = steps(
            r#"[{"kind": "loop", "name": "l", "directory": "/d", "size": "1GiB", "fill": "filled", "count": 3},
                {"kind": "mdadm", "name": "a", "level": 5, "devices": "@l", "wait": "sync"},
                {"kind": "precondition", "device": "@a"},
                {"kind": "mkfs", "fs": "ext4", "device": "@a", "mount": "/m"},
                {"kind": "fill", "directory": "/m", "to": "80%"}]"#,
        );
        let trial = trial_of(&all, false).unwrap();
        assert_eq!(trial.left_out, ["precondition", "fill"]);
        assert_eq!(trial.steps.iter().map(Step::kind).collect::<Vec<_>>(), ["loop", "mdadm", "mkfs"]);
        let written = plumb_document::json::to_string(&trial.steps).unwrap();
        assert!(written.contains("sparse") && written.contains(r#""wait":"none""#), "{written}");
        // A failed member is rebuilt from members in sync.
        let all = steps(
            r#"[{"kind": "loop", "name": "l", "directory": "/d", "size": "1GiB", "count": 2},
                {"kind": "mdadm", "name": "a", "level": 1, "devices": "@l"}, {"kind": "degrade", "array": "@a", "member": "@l.1"}]"#,
        );
        assert!(
            plumb_document::json::to_string(&trial_of(&all, false).unwrap().steps)
                .unwrap()
                .contains(r#""wait":"sync""#)
        );
    }
}
