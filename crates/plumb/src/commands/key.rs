//! `plumb key`: the user's signing key, and the keys that the user trusts.

use crate::args::KeyArguments;
use plumb_bundle::{KeyError, NamedKey, PublicKey, SigningKey, trusted_keys};
use plumb_cli::common::Common;
use plumb_cli::config;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::{output, session};
use plumb_engine::guard::trusted_path::open_trusted_file;
use plumb_engine::guard::{OutputError, OutputFile};
use plumb_text::bounded;
use serde::Serialize;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Largest key file, in bytes.
const KEY_BYTES_MAX: u64 = 4096;

/// Largest file of trusted keys, in bytes.
const TRUSTED_BYTES_MAX: u64 = 1 << 20;

/// Owner that `plumb verify` names for the user's own key.
const OWN: &str = "this is your own key";

/// Output of `plumb key --json`.
#[derive(Debug, Serialize)]
struct KeyReport {
    public_key: String,
    fingerprint: String,
    file: String,
}

pub(crate) fn run(arguments: &KeyArguments, common: &Common) -> Result<End, Stopped> {
    let path = path()?;
    let (key, made) = match arguments.show {
        true => (load(&path)?, ""),
        false => (make(&path)?, "made "),
    };
    let public = key.public();
    let report = KeyReport {
        public_key: public.to_string(),
        fingerprint: public.fingerprint().to_string(),
        file: path.display().to_string(),
    };
    if common.json {
        session::print_json(&report)?;
        return Ok(End::Done);
    }
    output::print(&format!(
        "{made}{}\npublic key   {}\nfingerprint  {}\n",
        report.file, report.public_key, report.fingerprint
    ));
    if !arguments.show {
        output::print(
            "\nOnly you can read the file. Keep a copy in a safe place: a lost key cannot be made again.\n\
             Give the public key to those who check your bundles: plumb verify FILE --key KEY\n",
        );
    }
    Ok(End::Done)
}

/// Returns the user's signing key, for commands that sign.
pub(super) fn signing_key() -> Result<SigningKey, Stopped> {
    load(&path()?)
}

/// Returns whether the user has a signing key.
pub(super) fn exists() -> bool {
    path().is_ok_and(|path| path.exists())
}

/// Returns the keys that the user trusts: those of `trusted-keys`, and the user's own.
pub(super) fn trusted() -> Result<Vec<NamedKey>, Stopped> {
    let Some(directory) = config::directory() else { return Ok(Vec::new()) };
    let path = directory.join("trusted-keys");
    let mut keys = match open_trusted_file(&path, rustix::process::geteuid().as_raw()) {
        Ok(file) => read_keys(&path, file)?,
        Err(error) if error.io_kind() == Some(ErrorKind::NotFound) || path.symlink_metadata().is_err() => Vec::new(),
        Err(error) => {
            return Err(Stopped::io(format!(
                "{} is not used: {error}; only you and root may own it and its directories, and write to them",
                path.display()
            )));
        }
    };
    if let Ok(own) = signing_key() {
        keys.push(NamedKey { key: own.public(), name: OWN.to_owned() });
    }
    Ok(keys)
}

/// Parses the value of `--key`: a public key, or a file with one a line.
pub(super) fn expected(typed: &str) -> Result<Vec<NamedKey>, Stopped> {
    if let Ok(key) = PublicKey::parse(typed) {
        return Ok(vec![NamedKey { key, name: "the key of --key".to_owned() }]);
    }
    let path = Path::new(typed);
    let file = File::open(path).map_err(|error| {
        Stopped::usage(format!("--key {typed}: neither a public key nor a file that can be read: {error}"))
    })?;
    let keys = read_keys(path, file)?;
    match keys.is_empty() {
        true => Err(Stopped::usage(format!("--key {typed}: the file has no key"))),
        false => Ok(keys),
    }
}

fn read_keys(path: &Path, file: File) -> Result<Vec<NamedKey>, Stopped> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let bytes = bounded::bytes_of(file, TRUSTED_BYTES_MAX).map_err(|error| Stopped::io(failed(&error)))?;
    let text = String::from_utf8(bytes).map_err(|_| Stopped::usage(failed(&"not a text")))?;
    trusted_keys(&text).map_err(|error| Stopped::usage(failed(&error)))
}

/// Path of the private key.
fn path() -> Result<PathBuf, Stopped> {
    let directory = config::directory()
        .ok_or_else(|| Stopped::io("HOME is not set: set it to a directory of your own, in which the key is kept"))?;
    Ok(directory.join("signing.key"))
}

/// Makes a key in a new file that only this user can read.
fn make(path: &Path) -> Result<SigningKey, Stopped> {
    let key = SigningKey::generate().map_err(Stopped::io)?;
    if let Some(directory) = path.parent() {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.map_err(|error| Stopped::io(format!("cannot create {}: {error}", directory.display())))?;
    }
    let output = OutputFile::made_up("plumb key", path).private();
    let mut file = output.create_new().map_err(|error| match error {
        OutputError::Exists { .. } => Stopped {
            end: End::Refused,
            message: format!(
                "{} exists, and Plumb never overwrites a key\n`plumb key --show` prints it; for another one, move the file away first",
                path.display()
            ),
        },
        error => error.into(),
    })?;
    file.write_all(key.file().as_bytes()).and_then(|()| file.sync_all()).map_err(output.failed())?;
    Ok(key)
}

fn load(path: &Path) -> Result<SigningKey, Stopped> {
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => {
            Stopped::usage(format!("there is no signing key {}; `plumb key` makes one", path.display()))
        }
        _ => Stopped::io(format!("{}: {error}", path.display())),
    };
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.permissions().mode() & 0o077 != 0 {
        let path = path.display();
        return Err(Stopped::usage(format!("{path} may be read by others; run `chmod 600 {path}`")));
    }
    let bytes = Zeroizing::new(bounded::bytes_of(file, KEY_BYTES_MAX).map_err(failed)?);
    let text = std::str::from_utf8(&bytes).map_err(|_| KeyError::Private);
    text.and_then(SigningKey::parse).map_err(|error| Stopped::usage(format!("{}: {error}", path.display())))
}
