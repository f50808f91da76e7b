//! The configuration file: what the user allows for good.
//!
//! `$XDG_CONFIG_HOME/plumb/config.toml`, or `~/.config/plumb/config.toml`. It gives rights away, so that it is believed only
//! where nobody but the user and root can write to it.

use crate::exit::Stopped;
use crate::output::error_line;
use plumb_document::FromDocument;
use plumb_engine::guard::trusted_path::{UntrustedPath, open_trusted_file};
use plumb_engine::guard::{Allow, Permissions};
use plumb_workload::native::Document;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What it says.
#[derive(Debug, Default, PartialEq, Eq, FromDocument)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What may be overwritten.
    allow: Vec<Allowed>,
    /// Directories on file systems that other tools' tests may fill.
    fill: Vec<Place>,
}

/// An absolute path, or a device's serial.
#[derive(Debug, PartialEq, Eq, FromDocument)]
#[serde(try_from = "String")]
struct Allowed(Allow);

/// An absolute path.
#[derive(Debug, PartialEq, Eq, FromDocument)]
#[serde(try_from = "String")]
struct Place(PathBuf);

impl TryFrom<String> for Allowed {
    type Error = String;

    fn try_from(text: String) -> Result<Allowed, String> {
        let is_relative = ["./", "../", "~"].iter().any(|start| text.starts_with(start));
        match text.trim() {
            "" => Err("an empty name allows nothing; write an absolute path, or the serial of a device".to_owned()),
            _ if is_relative => Err(format!(
                "`{text}` means another file in each directory; write an absolute path, or the serial of a device"
            )),
            path if path.starts_with('/') => Ok(Allowed(Allow::Path(path.into()))),
            serial => Ok(Allowed(Allow::Serial(serial.to_owned()))),
        }
    }
}

impl TryFrom<String> for Place {
    type Error = String;

    fn try_from(text: String) -> Result<Place, String> {
        match Path::new(&text).is_absolute() {
            true => Ok(Place(text.into())),
            false => {
                Err(format!("`{text}` is no absolute path; name a directory of the file system that may be filled"))
            }
        }
    }
}

impl Config {
    /// The user's own; an empty one where there is none, or where it cannot be believed, which is said once.
    ///
    /// # Errors
    /// Text that is no configuration, with its file and line.
    pub fn of_user() -> Result<&'static Config, Stopped> {
        static OF_USER: OnceLock<Config> = OnceLock::new();
        if let Some(config) = OF_USER.get() {
            return Ok(config);
        }
        let config = match path() {
            Some(path) => Config::at(&path, rustix::process::geteuid().as_raw())?,
            None => Config::default(),
        };
        Ok(OF_USER.get_or_init(|| config))
    }

    fn at(path: &Path, user: u32) -> Result<Config, Stopped> {
        let failed = |error: std::io::Error| Stopped::io(format!("{}: {error}", path.display()));
        let file = match open_trusted_file(path, user) {
            Ok(file) => file,
            // After a uid change the file may be unreadable.
            Err(error)
                if error.io_kind().is_some_and(|kind| {
                    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied)
                }) =>
            {
                return Ok(Config::default());
            }
            // Do not warn about the directory if the file does not exist.
            Err(_) if path.symlink_metadata().is_err() => return Ok(Config::default()),
            Err(error @ UntrustedPath::Io { .. }) => return Err(Stopped::io(error)),
            Err(why) => {
                error_line!(
                    "plumb: {} is ignored: {why}; only you and root may own it and its directories, and write to them",
                    path.display()
                );
                return Ok(Config::default());
            }
        };
        let text = plumb_text::bounded::text_of(file).map_err(failed)?;
        Config::parse(&path.display().to_string(), &text)
    }

    fn parse(name: &str, text: &str) -> Result<Config, Stopped> {
        let document = Document::new(name, text, &[]);
        let config = document.tree().and_then(|tree| document.read_tree(&tree));
        config.map_err(Stopped::usage)
    }

    /// What may be overwritten.
    pub fn permissions(&self) -> Permissions {
        let allow = self.allow.iter().map(|Allowed(allow)| allow.clone()).collect();
        Permissions { allow, ..Permissions::default() }
    }

    /// Where file systems may be filled.
    pub fn fill(&self) -> impl Iterator<Item = PathBuf> {
        self.fill.iter().map(|Place(path)| path.clone())
    }
}

/// Where it lies: nowhere for a user without a home.
fn path() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let directory = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(directory.join("plumb/config.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions as Mode;
    use std::os::unix::fs::PermissionsExt;

    fn me() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, Mode::from_mode(0o644)).unwrap();
        (dir, path)
    }

    const TEXT: &str = "allow = [\"/data/bench\", \"S4EVNX0M1\", \"loop:/x.img\"]\nfill = [\"/data\"]\n";

    #[test]
    fn paths_and_serials_are_told_apart_and_a_bare_word_is_no_file_of_whatever_directory() {
        let config = Config::parse("c", TEXT).unwrap();
        let serial = |name: &str| Allow::Serial(name.to_owned());
        let expected = [Allow::Path("/data/bench".into()), serial("S4EVNX0M1"), serial("loop:/x.img")];
        assert_eq!(config.permissions().allow, expected);
        assert_eq!(config.fill().collect::<Vec<_>>(), [Path::new("/data")]);
        assert_eq!(Config::parse("c", "").unwrap(), Config::default());
    }

    #[test]
    fn what_is_wrong_has_a_file_and_a_line() {
        for (text, line, says) in [
            ("allow = [\n  \"/a\",\n  \"./b\",\n]\n", 3, "absolute path"),
            ("allow = [\"~/b\"]", 1, "absolute path"),
            ("\nfill = [\"b\"]", 2, "no absolute path"),
            ("allow = [\"\"]", 1, "empty name"),
            ("allow = \"/a\"", 1, "expected"),
            ("\n\nallows = []", 3, "allow"),
            ("allow = [", 1, ""),
        ] {
            let message = Config::parse("/home/me/config.toml", text).unwrap_err().message;
            assert!(message.contains(&format!("/home/me/config.toml:{line}")) && message.contains(says), "{message}");
        }
    }

    #[test]
    fn a_file_that_others_could_have_written_is_not_believed() {
        let (dir, path) = written(TEXT);
        let believed = |user| Config::at(&path, user).unwrap() != Config::default();
        assert!(believed(me()));
        assert_eq!(believed(me() + 1), me() == 0, "only root's is everybody's");
        std::fs::set_permissions(&path, Mode::from_mode(0o664)).unwrap();
        assert!(!believed(me()), "its group writes to it");
        std::fs::set_permissions(&path, Mode::from_mode(0o600)).unwrap();
        assert!(believed(me()));
        std::fs::set_permissions(dir.path(), Mode::from_mode(0o777)).unwrap();
        assert!(!believed(me()), "everybody can put another one in its place");
        assert_eq!(Config::at(&dir.path().join("absent"), me()).unwrap(), Config::default());
        if me() == 0 {
            std::fs::set_permissions(dir.path(), Mode::from_mode(0o755)).unwrap();
            std::os::unix::fs::chown(&path, Some(1234), None).unwrap();
            assert!(!believed(0), "root reads no one else's");
        }
    }
}
