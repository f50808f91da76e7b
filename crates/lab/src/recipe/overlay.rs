//! A union of directories. Source: the kernel's `filesystems/overlayfs.rst`.

use super::mount;
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::Overlay;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn build(step: &Overlay, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    let lower = site.resolve(step.lower.as_slice())?;
    lower.iter().try_for_each(|lower| site.check_path("lower", lower))?;
    let parent = site.resolve_one("directory", &step.directory)?;
    let dir = site.own_dir("directory", &parent)?;
    let options = options(step, &lower, &dir)?;
    for name in ["upper", "work"] {
        fs::create_dir(dir.join(name)).map_err(Cause::io(format!("make {}", dir.join(name).display())))?;
    }
    let request =
        mount::Request { source: Path::new("overlay"), fs: Some("overlay"), target: &step.mount, options: &options };
    mount::mount(&request, site)
}

fn options(step: &Overlay, lower: &[PathBuf], dir: &Path) -> Result<Vec<String>, Cause> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    if let Some(path) =
        lower.iter().map(PathBuf::as_path).chain([dir]).find(|path| text(path).contains([':', ',', '\\']))
    {
        let expected = "a path with `:`, `,` or `\\` cannot be written among mount options; name another one";
        return Err(Cause::field("lower", path.display(), expected));
    }
    if let Some(path) = lower.iter().find(|path| !path.is_dir()) {
        return Err(Cause::field("lower", path.display(), "no such directory"));
    }
    let layers: Vec<String> = lower.iter().map(|path| text(path)).collect();
    let mut options = vec![
        format!("lowerdir={}", layers.join(":")),
        format!("upperdir={}", text(&dir.join("upper"))),
        format!("workdir={}", text(&dir.join("work"))),
    ];
    options.extend(step.mount_options.iter().cloned());
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uppermost_layer_comes_first() {
        let text = r#"{"lower": ["/usr", "/"], "directory": "/d", "mount": "/m", "options": ["metacopy=on"]}"#;
        let step: Overlay = plumb_document::json::from_str(text).unwrap();
        let options = super::options(&step, &["/usr".into(), "/".into()], Path::new("/d/x")).unwrap();
        assert_eq!(options, ["lowerdir=/usr:/", "upperdir=/d/x/upper", "workdir=/d/x/work", "metacopy=on"]);
        assert!(super::options(&step, &["/a:b".into()], Path::new("/d")).is_err());
        assert!(super::options(&step, &["/nowhere/at/all".into()], Path::new("/d")).is_err());
    }
}
