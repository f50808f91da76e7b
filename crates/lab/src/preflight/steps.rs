//! Walks through the steps without building them and reports what would fail.

use super::ground::Driver;
use super::layout::{Layout, array_bytes, sum, volume_bytes};
use super::{Ground, Objection, ObjectionKind, PlannedBuild, WorkPlace, does_not_fit, mkfs, shell, usable_bytes};
use crate::command::check_line;
use crate::error::Cause;
use crate::names;
use crate::recipe::{self, dm, freebsd, lvm, mdadm};
use crate::step::{Cmd, DmTarget, Loop, LoopFill, LvmLayout, Partition, Step};
use std::path::Path;

const LOOP: Driver = Driver { device: "loop", what: "loop devices", module: "loop" };
const MD: Driver = Driver { device: "md", what: "md RAID", module: "md-mod" };
const MAPPER: Driver = Driver { device: "device-mapper", what: "device mapper", module: "dm-mod" };
const ZRAM: Driver = Driver { device: "zram", what: "zram", module: "zram" };

/// Returns the problems of builds, each objection once.
pub(crate) fn of_builds(builds: &[PlannedBuild], ground: &dyn Ground) -> Vec<Objection> {
    let mut found: Vec<Objection> = Vec::new();
    for build in builds {
        for objection in of_build(build, ground) {
            if !found.contains(&objection) {
                found.push(objection);
            }
        }
    }
    found
}

fn of_build(build: &PlannedBuild, ground: &dyn Ground) -> Vec<Objection> {
    let mut check = StepCheck { layout: Layout::on(ground), ground, found: Vec::new() };
    if !ground.is_root()
        && let Some((number, step)) = build.steps.iter().enumerate().find(|(_, step)| needs_root(step))
    {
        let text = format!("{} needs root, and this user is not", place(number, step));
        check.found.push(Objection::new(ObjectionKind::NeedsRoot, text));
    }
    for (number, step) in build.steps.iter().enumerate() {
        let place = place(number, step);
        let sizes = check.step(step, &place).unwrap_or_else(|cause| {
            check.found.push(Objection::of_cause(&place, &cause));
            // Check later steps as if this one had worked.
            vec![None; count_items(step)]
        });
        check.layout.add(step, sizes);
    }
    for work in &build.work {
        let (place, has, usable) = match &work.place {
            WorkPlace::Simulated => continue,
            WorkPlace::Device(name) => match check.layout.first_of(name) {
                Some(bytes) => (format!("@{name}"), bytes, bytes),
                None => continue,
            },
            WorkPlace::Directory(dir) => match check.layout.mount_above(Path::new(dir)) {
                Some((target, Some(bytes))) => {
                    (format!("what is mounted at {}", target.display()), bytes, usable_bytes(bytes))
                }
                Some((_, None)) => continue,
                None => match ground.directory_to_make(Path::new(dir)) {
                    Ok(Some(bytes)) => (format!("{dir} (free)"), bytes, usable_bytes(bytes)),
                    Ok(None) => continue,
                    Err(why) => {
                        let objection = Objection::new(ObjectionKind::Wrong, format!("{dir}: {why}"));
                        if !check.found.contains(&objection) {
                            check.found.push(objection);
                        }
                        continue;
                    }
                },
            },
        };
        if let Some(bytes) = work.bytes.filter(|bytes| *bytes > usable) {
            check.found.push(does_not_fit(work, bytes, &place, has));
        }
    }
    check.found
}

/// Returns the number of items that a step makes, as far as it specifies.
fn count_items(step: &Step) -> usize {
    let count = match step {
        Step::Loop(step) => step.count,
        Step::Zram(step) => step.count,
        Step::Partition(step) => return step.sizes.len().max(1),
        _ => None,
    };
    // Any other number is refused anyway.
    count.map_or(1, |count| count.0.min(64) as usize)
}

/// Names a step in the same form as build errors.
fn place(number: usize, step: &Step) -> String {
    format!("step {} ({})", number + 1, step.kind())
}

/// Whether only root can build the step. Users know best what their own commands need.
fn needs_root(step: &Step) -> bool {
    !matches!(step, Step::Cmd(_) | Step::Fill(_) | Step::Age(_))
}

struct StepCheck<'a> {
    layout: Layout<'a>,
    ground: &'a dyn Ground,
    found: Vec<Objection>,
}

impl StepCheck<'_> {
    /// Checks a step and returns the sizes of what it would make.
    fn step(&mut self, step: &Step, place: &str) -> Result<Vec<Option<u64>>, Cause> {
        if let Some(name) = step.name() {
            names::check(name, self.layout.has(name))?;
        }
        freebsd::need_system(step)?;
        recipe::check(step)?;
        for program in step.tools() {
            self.object(place, self.ground.lacks_program(program));
        }
        Ok(match step {
            Step::Loop(step) => self.loops(step, place),
            Step::Partition(step) => partitions(step, self.layout.device("device", &step.device)?)?,
            Step::Mdadm(step) => {
                self.driver(place, MD);
                let members = self.layout.devices(step.devices.as_slice())?;
                self.layout.devices(step.spares.as_ref().map_or(&[], |spares| spares.as_slice()))?;
                let level = mdadm::level(step)?;
                mdadm::check(step, level, members.len())?;
                self.driver(place, module(level.module));
                vec![array_bytes(step, level.name, &members)]
            }
            Step::Degrade(step) => {
                self.layout.device("array", &step.array)?;
                vec![]
            }
            Step::Rebuild(step) => {
                self.layout.device("array", &step.array)?;
                self.layout.device("member", &step.member)?;
                vec![]
            }
            Step::Lvm(step) => {
                self.driver(place, MAPPER);
                match step.layout {
                    LvmLayout::Mirror => self.driver(place, module("dm-raid")),
                    LvmLayout::Thin => self.driver(place, module("dm-thin-pool")),
                    LvmLayout::Linear | LvmLayout::Striped => {}
                }
                let devices = self.layout.devices(step.devices.as_slice())?;
                lvm::check_devices(step, devices.len())?;
                vec![volume_bytes(step.layout, step.size, &devices)]
            }
            Step::Dm(step) => {
                self.driver(place, MAPPER);
                match step.target {
                    DmTarget::Linear => {}
                    DmTarget::Delay => self.driver(place, module("dm-delay")),
                    DmTarget::Flakey => self.driver(place, module("dm-flakey")),
                    DmTarget::LogWrites => self.driver(place, module("dm-log-writes")),
                }
                let bytes = self.layout.device("device", &step.device)?;
                step.log.as_ref().map(|log| self.layout.device("log", log)).transpose()?;
                vec![match bytes {
                    Some(bytes) => Some(dm::mapped_bytes(step, &step.device, bytes)?),
                    None => step.size.map(|size| size.0),
                }]
            }
            Step::Zram(step) => {
                self.driver(place, ZRAM);
                vec![Some(step.size.0); step.count.map_or(1, |count| count.0) as usize]
            }
            Step::Mkfs(step) => {
                let bytes = self.layout.device("device", &step.device)?;
                if self.ground.has_tools_of_here() {
                    self.object(place, mkfs::refusal(step, bytes));
                }
                self.mounts(place, step.mount.as_deref(), &step.fs)?;
                vec![bytes]
            }
            Step::Btrfs(step) => {
                let sizes = self.layout.devices(step.devices.as_slice())?;
                if sizes.is_empty() {
                    return Err(Cause::field("devices", "(nothing)", "name a device or more"));
                }
                if self.ground.has_tools_of_here() {
                    self.object(place, mkfs::refusal_of_btrfs(step, &sizes));
                }
                self.mounts(place, step.mount.as_deref(), "btrfs")?;
                vec![sum(&sizes)]
            }
            Step::Mount(step) => {
                let bytes = self.layout.device("device", &step.device)?;
                self.mounts(place, Some(&step.mount), step.fs.as_deref().unwrap_or_default())?;
                vec![bytes]
            }
            Step::Tune(step) => {
                self.layout.device("device", &step.device)?;
                vec![]
            }
            Step::Overlay(step) => {
                for lower in step.lower.as_slice() {
                    let found = self.layout.directory(lower).err();
                    // The path is only read.
                    self.object(place, found.filter(|why| why.contains("no such")));
                }
                let bytes = self.directory(place, "directory", &step.directory);
                self.mounts(place, Some(&step.mount), "overlay")?;
                vec![bytes]
            }
            Step::Tmpfs(step) => {
                self.mounts(place, Some(&step.mount), "tmpfs")?;
                vec![Some(step.size.0)]
            }
            Step::Nfs(step) => {
                let bytes = self.directory(place, "directory", &step.directory);
                self.mounts(place, Some(&step.mount), "nfs")?;
                vec![bytes]
            }
            Step::Queue(step) => self.any_device(step.device.as_slice())?,
            Step::Readahead(step) => self.any_device(step.device.as_slice())?,
            Step::Sysctl(_) | Step::Link(_) => vec![],
            Step::Fill(step) => {
                self.directory(place, "directory", &step.directory);
                vec![]
            }
            Step::Age(step) => {
                self.directory(place, "directory", &step.directory);
                vec![]
            }
            Step::Precondition(step) => {
                self.layout.devices(step.device.as_slice())?;
                vec![]
            }
            Step::Cmd(step) => {
                self.command(step, place);
                vec![]
            }
            Step::Gmirror(step) => self.layout.devices(step.devices.as_slice())?.into_iter().take(1).collect(),
            Step::Newfs(step) => vec![self.layout.device("device", &step.device)?],
            Step::Zpool(step) => vec![sum(&self.layout.devices(step.devices.as_slice())?)],
        })
    }

    fn object(&mut self, place: &str, why: Option<String>) {
        if let Some(why) = why {
            self.found.push(Objection::new(ObjectionKind::Wrong, format!("{place}: {why}")));
        }
    }

    fn warn(&mut self, place: &str, why: String) {
        self.found.push(Objection::new(ObjectionKind::Doubtful, format!("{place}: {why}")));
    }

    fn driver(&mut self, place: &str, driver: Driver) {
        self.object(place, self.ground.lacks_driver(driver));
    }

    fn loops(&mut self, step: &Loop, place: &str) -> Vec<Option<u64>> {
        self.driver(place, LOOP);
        let count = step.count.map_or(1, |count| count.0);
        let all = step.size.0.saturating_mul(count);
        if let Some(free) = self.directory(place, "directory", &step.directory)
            && all > usable_bytes(free)
        {
            let (all, free) = (super::rounded(all), super::rounded(free));
            let why = format!("`directory` is `{}`: {free} are free, and the images may grow to {all}", step.directory);
            match step.fill {
                LoopFill::Filled => self.object(place, Some(format!("{why}; name another one"))),
                LoopFill::Sparse => self.warn(place, format!("{why}; writes fail when it is full")),
            }
        }
        vec![Some(step.size.0); count as usize]
    }

    /// Returns the free bytes of a directory that must exist.
    fn directory(&mut self, place: &str, field: &str, name: &str) -> Option<u64> {
        match self.layout.directory(name) {
            Ok(bytes) => bytes,
            Err(why) => {
                self.object(place, Some(format!("`{field}` is `{name}`: {why}")));
                None
            }
        }
    }

    /// Checks a mount; `fs` is empty if mount(8) detects it.
    fn mounts(&mut self, place: &str, target: Option<&str>, fs: &str) -> Result<(), Cause> {
        let Some(target) = target else { return Ok(()) };
        if !fs.is_empty() {
            self.object(place, self.ground.lacks_file_system(fs));
        }
        // A file system that an earlier step mounts is still empty.
        if self.layout.mount_above(Path::new(target)).is_none() {
            self.ground.mount_point(target)?;
        }
        Ok(())
    }

    /// Returns the sizes of devices whose settings change: any device may be named.
    fn any_device(&mut self, names: &[String]) -> Result<Vec<Option<u64>>, Cause> {
        let made: Vec<String> = names.iter().filter(|name| name.starts_with('@')).cloned().collect();
        self.layout.devices(&made)?;
        Ok(vec![])
    }

    fn command(&mut self, step: &Cmd, place: &str) {
        for line in [Some(&step.run), step.undo.as_ref()].into_iter().flatten() {
            if let Err(error) = check_line(line) {
                self.object(place, Some(format!("the shell rejects it: {error}")));
                continue;
            }
            for program in shell::programs(line) {
                if let Some(why) = self.ground.lacks_called(&program) {
                    self.warn(place, why);
                }
            }
        }
    }
}

/// Returns a driver that is a device-mapper target, which has no device number.
fn module(name: &'static str) -> Driver {
    Driver { device: "", what: name, module: name }
}

/// Returns the sizes of partitions, as far as they are specified.
fn partitions(step: &Partition, disk: Option<u64>) -> Result<Vec<Option<u64>>, Cause> {
    let Some(disk) = disk else { return Ok(vec![None; step.sizes.len().max(1)]) };
    Ok(recipe::partition::sizes(step, disk)?.into_iter().map(Some).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::{Here, PlannedWork, WorkPlace};
    use crate::step::Safety;

    /// Returns the problems on this machine, without those about this user's rights.
    fn problems(steps: &str, work: &[(&str, u64)]) -> Vec<(ObjectionKind, String)> {
        let work = work.iter().map(|(dir, bytes)| PlannedWork {
            name: "workload `w`".to_owned(),
            place: WorkPlace::Directory((*dir).to_owned()),
            bytes: Some(*bytes),
        });
        let build = PlannedBuild { steps: plumb_document::json::from_str(steps).unwrap(), work: work.collect() };
        let found = of_builds(&[build], &Here(&Safety::default()));
        let found = found.into_iter().filter(|objection| objection.kind != ObjectionKind::NeedsRoot);
        found.map(|objection| (objection.kind, objection.text)).collect()
    }

    #[track_caller]
    fn one(steps: &str, kind: ObjectionKind, parts: &[&str]) {
        let found = problems(steps, &[]);
        let [(of, text)] = found.as_slice() else { panic!("{steps}: {found:#?}") };
        assert!(*of == kind && parts.iter().all(|part| text.contains(part)), "{steps}: {text}");
    }

    // Protects: each step that cannot be built is reported with its number; a good one is not.
    #[test]
    fn steps_are_checked_without_being_built() {
        let temp = std::env::temp_dir();
        let temp = temp.display();
        let wrong = ObjectionKind::Wrong;
        assert_eq!(
            problems(r#"[{"kind": "cmd", "run": "true"}, {"kind": "sysctl", "set": {"vm.swappiness": 1}}]"#, &[]),
            []
        );
        one(
            r#"[{"kind": "fill", "directory": "/no/such", "to": "80%"}]"#,
            wrong,
            &["step 1 (fill)", "/no/such", "mkdir -p"],
        );
        one(r#"[{"kind": "fill", "directory": "/tmp", "to": "80"}]"#, wrong, &["step 1 (fill)", "1% to 100%"]);
        one(r#"[{"kind": "cmd", "run": "if true"}]"#, wrong, &["step 1 (cmd)", "the shell rejects it"]);
        one(
            r#"[{"kind": "cmd", "run": "no-such-program-here x"}]"#,
            ObjectionKind::Doubtful,
            &["no-such-program-here is not installed"],
        );
        one(r#"[{"kind": "queue", "device": "@nothing", "set": {"scheduler": "none"}}]"#, wrong, &["@nothing"]);
        one(r#"[{"kind": "gmirror", "name": "m", "devices": "@x"}]"#, wrong, &["step 1 (gmirror)", "FreeBSD"]);
        let huge =
            format!(r#"[{{"kind": "age", "directory": "{temp}", "files": 1, "size": [2, 1], "operations": 1}}]"#);
        one(&huge, wrong, &["step 1 (age)", "smallest first"]);
    }

    #[test]
    fn a_device_that_the_study_does_not_list_is_refused() {
        for steps in [
            r#"[{"kind": "mount", "device": "@expendable", "mount": "/mnt/plumb-steps"}]"#,
            r#"[{"kind": "mount", "device": "/dev/null", "mount": "/mnt/plumb-steps"}]"#,
        ] {
            let found = problems(steps, &[]);
            assert!(found.iter().any(|(_, text)| text.contains("step 1 (mount)")), "{steps}: {found:?}");
        }
    }

    // Protects: an error in one step hides neither an error in another nor data that do not fit.
    #[test]
    fn one_wrong_step_does_not_hide_another() {
        let steps = r#"[{"kind": "tmpfs", "name": "a b", "size": "1MiB", "mount": "/mnt/plumb-steps"},
                        {"kind": "fill", "directory": "/no/such", "to": "80%"}]"#;
        let found = problems(steps, &[("/mnt/plumb-steps/data", 2 << 20)]);
        let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(
            texts[0].contains("step 1 (tmpfs): `name` is `a b`") && texts[1].contains("step 2 (fill)"),
            "{texts:?}"
        );
        let found = problems(
            r#"[{"kind": "tmpfs", "size": "1MiB", "mount": "/mnt/plumb-steps"}]"#,
            &[("/mnt/plumb-steps/data", 2 << 20)],
        );
        assert!(
            matches!(found.as_slice(), [(ObjectionKind::Wrong, text)] if text.contains("2MiB") && text.contains("1MiB")),
            "{found:?}"
        );
    }
}
