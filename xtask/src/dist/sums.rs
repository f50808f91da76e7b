//! The file `SHA256SUMS`.

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::{Path, PathBuf};

pub(super) const NAME: &str = "SHA256SUMS";

/// Returns the files of a release: every plain file of a directory, except the checksums themselves.
pub(super) fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|path| path.is_file() && !path.ends_with(NAME));
    files.sort();
    Ok(files)
}

/// Writes the checksums of a directory's files, for `sha256sum -c`.
pub(super) fn write(dir: &Path) -> Result<()> {
    let mut text = String::new();
    for file in files(dir)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = std::fs::read(&file).with_context(|| name.clone())?;
        let _ = writeln!(text, "{}  {name}", hash_hex(&bytes));
        println!("{:>6.1} MB  {name}", bytes.len() as f64 / 1e6);
    }
    std::fs::write(dir.join(NAME), text)?;
    Ok(())
}

pub(super) fn hash_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
