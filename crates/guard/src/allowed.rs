//! Paths below the directories that an agent's owner allows its clients.

use std::path::{Component, Path, PathBuf};

/// Returns `true` if an absolute path is one of the allowed ones or below one, with links and `..` resolved. A missing
/// rest that contains `..` is never allowed.
pub fn is_below_any(allowed: &[PathBuf], path: &Path) -> bool {
    let Some(whole) = real(path) else { return false };
    // Every path starts with the empty one, so a directory that cannot be resolved must not become it.
    allowed.iter().filter_map(|allowed| real(allowed)).any(|allowed| whole.starts_with(allowed))
}

/// Resolves symbolic links and `..` in the part of a path that exists; `None` if the rest contains `..`.
fn real(path: &Path) -> Option<PathBuf> {
    for above in path.ancestors() {
        if let Ok(real) = above.canonicalize() {
            let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
            if rest.components().any(|part| part == Component::ParentDir) {
                return None;
            }
            return Some(real.join(rest));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects a host from its clients: neither `..` nor a link leads out of the allowed directory, and a directory that
    // cannot be resolved allows nothing.
    #[test]
    fn links_and_parents_do_not_lead_out() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
        for dir in [&inside, &outside] {
            std::fs::create_dir(dir).unwrap();
        }
        std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("missing"), inside.join("dangling")).unwrap();
        let allowed = [inside.clone()];
        for good in ["", "file", "new/dir", "../in/x"] {
            assert!(is_below_any(&allowed, &inside.join(good)), "{good}");
        }
        for bad in ["..", "../out", "link", "link/x", "new/../../out", "../inner"] {
            assert!(!is_below_any(&allowed, &inside.join(bad)), "{bad}");
        }
        assert!(!is_below_any(&[dir.path().join("missing/../in")], &inside));
        assert!(!is_below_any(&[], &inside));
    }
}
