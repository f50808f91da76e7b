//! Loop devices over image files.

use super::content::write_random;
use crate::command::{Command, CommandError};
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::{Loop, LoopFill};
use crate::undo::Undo;
use plumb_engine::guard::OutputFile;
use plumb_engine::guard::space::Space;
use plumb_engine::rng::Rng;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Maximum number of devices: each is a file, a device and some kernel memory.
const COUNT_MAX: u64 = 64;

/// Attempts to attach to a free device: another program may take it between asking and attaching.
const ATTEMPTS: usize = 10;

pub(super) fn build(step: &Loop, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    check(step)?;
    let count = step.count.map_or(1, |count| count.0);
    let parent = site.resolve_one("directory", &step.directory)?;
    let dir = site.own_dir("directory", &parent)?;
    // A client of an agent could fill the host with images that are sparse now.
    if step.fill == LoopFill::Filled || site.policy.is_some() {
        let file = File::open(&dir).map_err(Cause::io("open the directory of the images"))?;
        let space = Space::read(&file).map_err(Cause::io("see how much space is free"))?;
        Space::admit(space, &dir, step.size.0.saturating_mul(count))?;
    }
    let mut devices = vec![];
    for number in 1..=count {
        let image = dir.join(format!("disk{number}.img"));
        make_image(&image, step, number, site)?;
        site.record_undo(Undo::Loop { image: image.clone() })?;
        let device = attach(&command(step, &image), site)?;
        site.own(&device);
        if let Some(limits) = &step.limits {
            super::limits::set(&device, limits, site)?;
        }
        devices.push(device);
    }
    Ok(devices)
}

/// Checks the step without building it.
pub(super) fn check(step: &Loop) -> Result<(), Cause> {
    let count = step.count.map_or(1, |count| count.0);
    if !(1..=COUNT_MAX).contains(&count) {
        return Err(Cause::field("count", count, format!("write 1 to {COUNT_MAX}")));
    }
    let sector = step.sector_size.map_or(512, |sector| sector.0);
    if !(512..=4096).contains(&sector) || !sector.is_power_of_two() {
        return Err(Cause::field("sector-size", sector, "write 512, 1024, 2048 or 4096"));
    }
    if step.size.0 == 0 || !step.size.0.is_multiple_of(sector) {
        let expected = format!("write a size above 0 that is a multiple of the sector size, {sector}");
        return Err(Cause::field("size", step.size, expected));
    }
    Ok(())
}

fn command(step: &Loop, image: &Path) -> Command {
    let mut command = Command::new("losetup", ["--find", "--show"]);
    if step.direct_io {
        command = command.arg("--direct-io=on");
    }
    if let Some(sector) = step.sector_size {
        command = command.args(["--sector-size", &sector.to_string()]);
    }
    command.arg(image.to_string_lossy())
}

fn attach(command: &Command, site: &mut Site<'_>) -> Result<PathBuf, Cause> {
    let mut attempt = 1;
    loop {
        match site.run(command) {
            Ok(device) => return Ok(PathBuf::from(device.trim())),
            Err(Cause::Command(CommandError::Failed { stderr, .. }))
                if attempt < ATTEMPTS && stderr.contains("busy") =>
            {
                attempt += 1;
            }
            Err(cause) => return Err(cause),
        }
    }
}

fn make_image(image: &Path, step: &Loop, number: u64, site: &mut Site<'_>) -> Result<(), Cause> {
    let action = |source: std::io::Error| Cause::io(format!("write the image {}", image.display()))(source);
    let mut file =
        OutputFile::made_up("the image", image).private().create_new().map_err(std::io::Error::from).map_err(action)?;
    file.set_len(step.size.0).map_err(action)?;
    if step.fill == LoopFill::Sparse {
        return Ok(());
    }
    site.say(&format!("writing {} of {}", step.size, image.display()));
    write_random(&mut file, step.size.0, Rng::new(number), site).map_err(|cause| match cause {
        Cause::Io { source, .. } => action(source),
        other => other,
    })?;
    file.flush().and_then(|()| file.sync_all()).map_err(action)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(more: &str) -> Loop {
        plumb_document::json::from_str(&format!(r#"{{"directory": "/d", "size": "64MiB"{more}}}"#)).unwrap()
    }

    #[test]
    fn an_image_is_attached_with_the_options_of_its_step() {
        let line = |more| command(&step(more), Path::new("/d/x.img")).to_string();
        assert_eq!(line(""), "losetup --find --show /d/x.img");
        assert_eq!(
            line(r#", "direct-io": true, "sector-size": 4096"#),
            "losetup --find --show --direct-io=on --sector-size 4096 /d/x.img"
        );
    }

    #[test]
    fn invalid_sizes_are_rejected() {
        for (more, field) in [
            (r#", "sector-size": 1000"#, "sector-size"),
            (r#", "sector-size": 8192"#, "sector-size"),
            (r#", "count": 0"#, "count"),
            (r#", "count": 65"#, "count"),
        ] {
            assert!(check(&step(more)).unwrap_err().to_string().contains(field), "{more}");
        }
        let odd: Loop = plumb_document::json::from_str(r#"{"directory": "/d", "size": 1000}"#).unwrap();
        assert!(check(&odd).unwrap_err().to_string().contains("512"));
        assert!(check(&step(r#", "count": "3""#)).is_ok());
    }
}
