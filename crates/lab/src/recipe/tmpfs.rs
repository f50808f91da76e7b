//! A file system in memory. Source: tmpfs(5).

use super::mount;
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::Tmpfs;
use std::path::Path;

pub(super) fn build(step: &Tmpfs, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    // Without a size, tmpfs takes half of the memory.
    if step.size.0 == 0 {
        return Err(Cause::field("size", step.size, "write a size above 0"));
    }
    let options = options(step);
    let request =
        mount::Request { source: Path::new("tmpfs"), fs: Some("tmpfs"), target: &step.mount, options: &options };
    mount::mount(&request, site)
}

fn options(step: &Tmpfs) -> Vec<String> {
    [format!("size={}", step.size.0)].into_iter().chain(step.mount_options.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_size_is_in_bytes() {
        let step: Tmpfs =
            plumb_document::json::from_str(r#"{"size": "1MiB", "mount": "/m", "options": ["huge=never"]}"#).unwrap();
        assert_eq!(options(&step), ["size=1048576", "huge=never"]);
    }
}
