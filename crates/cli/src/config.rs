//! The configuration file: permanent permissions of the user.
//!
//! Path: `$XDG_CONFIG_HOME/plumb/config.toml`, or `~/.config/plumb/config.toml`. It grants rights, so it is ignored
//! unless only the user and root can write to it.

use crate::exit::Stopped;
use crate::output::error_line;
use plumb_engine::guard::trusted_path::{UntrustedPath, open_trusted_file};
use plumb_engine::guard::{Allow, Permissions};
use plumb_workload_text::native::Document;
use serde::Deserialize;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Contents of the file.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Paths and serials that may be overwritten.
    allow: Vec<Allowed>,
    /// Directories on file systems that other tools' tests may fill.
    fill: Vec<Place>,
}

/// State of the configuration file.
#[derive(Debug, PartialEq, Eq)]
pub enum ConfigFile {
    NoHome,
    /// The file is missing or unreadable, for an ordinary reason.
    Absent {
        path: PathBuf,
        /// Reason, such as `does not exist`.
        why: &'static str,
    },
    /// Other users could have written the file.
    Ignored {
        path: PathBuf,
        /// Which of its paths others can write to.
        why: String,
    },
    Read {
        path: PathBuf,
    },
}

impl ConfigFile {
    /// Path of the file; `None` without a home directory.
    pub fn path(&self) -> Option<&Path> {
        match self {
            ConfigFile::NoHome => None,
            ConfigFile::Absent { path, .. } | ConfigFile::Ignored { path, .. } | ConfigFile::Read { path } => {
                Some(path)
            }
        }
    }
}

impl fmt::Display for ConfigFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigFile::NoHome => "does not exist".fmt(f),
            ConfigFile::Absent { why, .. } => why.fmt(f),
            ConfigFile::Ignored { why, .. } => write!(f, "ignored: {why}"),
            ConfigFile::Read { .. } => "read".fmt(f),
        }
    }
}

/// An absolute path, or a device's serial.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Allowed(Allow);

#[derive(Debug, PartialEq, Eq, Deserialize)]
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
                Err(format!("`{text}` is not an absolute path; name a directory of the file system that may be filled"))
            }
        }
    }
}

impl Config {
    /// Returns the user's configuration; an empty one if the file is missing or not trusted. Warns once about the latter.
    ///
    /// # Errors
    /// The text is not a configuration. The message has its file and line.
    pub fn of_user() -> Result<&'static Config, Stopped> {
        Ok(Config::with_file()?.1)
    }

    /// Returns the user's configuration and the state of its file.
    ///
    /// # Errors
    /// The text is not a configuration. The message has its file and line.
    pub fn with_file() -> Result<(&'static ConfigFile, &'static Config), Stopped> {
        static OF_USER: OnceLock<(ConfigFile, Config)> = OnceLock::new();
        if OF_USER.get().is_none() {
            let read = match directory() {
                Some(directory) => Config::at(&directory.join("config.toml"), rustix::process::geteuid().as_raw())?,
                None => (ConfigFile::NoHome, Config::default()),
            };
            OF_USER.get_or_init(|| read);
        }
        let (file, config) = OF_USER.get_or_init(|| (ConfigFile::NoHome, Config::default()));
        Ok((file, config))
    }

    fn at(path: &Path, user: u32) -> Result<(ConfigFile, Config), Stopped> {
        let failed = |error: std::io::Error| Stopped::io(format!("{}: {error}", path.display()));
        let absent = |why: &'static str| (ConfigFile::Absent { path: path.to_owned(), why }, Config::default());
        let file = match open_trusted_file(path, user) {
            Ok(file) => file,
            Err(error) => match error.io_kind() {
                Some(ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(absent("does not exist")),
                // After a uid change the file may be unreadable.
                Some(ErrorKind::PermissionDenied) => return Ok(absent("this user may not read it")),
                // Do not warn about the directory if the file does not exist.
                _ if path.symlink_metadata().is_err() => return Ok(absent("does not exist")),
                _ if matches!(error, UntrustedPath::Io { .. }) => return Err(Stopped::io(error)),
                _ => {
                    error_line!(
                        "plumb: {} is ignored: {error}; only you and root may own it and its directories, and write to them",
                        path.display()
                    );
                    let why = error.to_string();
                    return Ok((ConfigFile::Ignored { path: path.to_owned(), why }, Config::default()));
                }
            },
        };
        let text = plumb_text::bounded::text_of(file).map_err(failed)?;
        let config = Config::parse(&path.display().to_string(), &text)?;
        Ok((ConfigFile::Read { path: path.to_owned() }, config))
    }

    fn parse(name: &str, text: &str) -> Result<Config, Stopped> {
        let document = Document::new(name, text, &[]);
        let config = document.tree().and_then(|tree| document.read_tree(&tree));
        config.map_err(Stopped::usage)
    }

    /// Returns the permissions of `allow`.
    pub fn permissions(&self) -> Permissions {
        let allow = self.allow.iter().map(|Allowed(allow)| allow.clone()).collect();
        Permissions { allow, ..Permissions::default() }
    }

    /// Entries of `allow`, as written in the file.
    pub fn allowed(&self) -> Vec<String> {
        let text = |allow: &Allow| match allow {
            Allow::Path(path) => path.display().to_string(),
            Allow::Serial(serial) | Allow::Named(serial) => serial.clone(),
        };
        self.allow.iter().map(|Allowed(allow)| text(allow)).collect()
    }

    /// Returns the directories whose file systems may be filled.
    pub fn fill(&self) -> impl Iterator<Item = PathBuf> {
        self.fill.iter().map(|Place(path)| path.clone())
    }
}

/// Returns the user's directory for settings and keys; `None` without a home directory.
pub fn directory() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let directory = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(directory.join("plumb"))
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
    fn paths_and_serials_are_distinguished_and_a_bare_word_is_a_serial() {
        let config = Config::parse("c", TEXT).unwrap();
        let serial = |name: &str| Allow::Serial(name.to_owned());
        let expected = [Allow::Path("/data/bench".into()), serial("S4EVNX0M1"), serial("loop:/x.img")];
        assert_eq!(config.permissions().allow, expected);
        assert_eq!(config.fill().collect::<Vec<_>>(), [Path::new("/data")]);
        assert_eq!(Config::parse("c", "").unwrap(), Config::default());
    }

    #[test]
    fn errors_name_file_and_line() {
        for (text, line, says) in [
            ("allow = [\n  \"/a\",\n  \"./b\",\n]\n", 3, "absolute path"),
            ("allow = [\"~/b\"]", 1, "absolute path"),
            ("\nfill = [\"b\"]", 2, "not an absolute path"),
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
    fn a_file_that_others_could_have_written_is_not_trusted() {
        let (dir, path) = written(TEXT);
        let trusted = |user| Config::at(&path, user).unwrap().1 != Config::default();
        assert!(trusted(me()));
        assert_eq!(trusted(me() + 1), me() == 0, "root's file is trusted by everyone");
        std::fs::set_permissions(&path, Mode::from_mode(0o664)).unwrap();
        assert!(!trusted(me()), "its group can write to it");
        std::fs::set_permissions(&path, Mode::from_mode(0o600)).unwrap();
        assert!(trusted(me()));
        std::fs::set_permissions(dir.path(), Mode::from_mode(0o777)).unwrap();
        assert!(!trusted(me()), "everyone can replace it");
        assert!(matches!(Config::at(&path, me()).unwrap().0, ConfigFile::Ignored { .. }));
        let (file, absent) = Config::at(&dir.path().join("absent"), me()).unwrap();
        assert_eq!((file.to_string().as_str(), absent), ("does not exist", Config::default()));
        if me() == 0 {
            std::fs::set_permissions(dir.path(), Mode::from_mode(0o755)).unwrap();
            std::os::unix::fs::chown(&path, Some(1234), None).unwrap();
            assert!(!trusted(0), "root trusts no other user's file");
        }
    }
}
