//! Errors of reading a bundle and of using a key.

/// Error from reading or making a bundle. A bundle that can be read may still fail its checks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// The file is not a tar archive that begins with a manifest.
    #[error("not a bundle of Plumb: {0}")]
    Foreign(String),
    #[error("the bundle is cut off: {file} has {claimed} bytes by its header, and {left} are left")]
    CutOff {
        /// Name of the file in the archive.
        file: String,
        claimed: u64,
        left: u64,
    },
    /// The archive ends without its end mark, or with data after it.
    #[error("the bundle is damaged at its end: {0}")]
    End(&'static str),
    /// The manifest is not readable, or of a later version.
    #[error("the bundle's manifest is not readable: {0}")]
    Manifest(String),
    /// A file name that a bundle may not have, because unpacking it could write elsewhere.
    #[error(
        "the bundle names a file {0:?}; only relative names of lower-case letters, digits, `.`, `-` and `_` are allowed"
    )]
    Name(String),
    /// Two files of the manifest have one name.
    #[error("the bundle's manifest lists {0} twice")]
    Twice(String),
    /// A file of the archive is not the next one of the manifest.
    #[error("the bundle has {found:?} where its manifest lists {expected:?}")]
    Unexpected {
        found: String,
        /// Name in the manifest; empty after its last file.
        expected: String,
    },
    /// The bundle is larger than the limit.
    #[error("the bundle would take {bytes} bytes; the limit is {}; choose fewer runs", crate::BUNDLE_BYTES_MAX)]
    TooLarge { bytes: u64 },
    /// A file cannot be written to the archive.
    #[error("the bundle cannot be written: {0}")]
    Write(String),
}

/// Error from reading or making a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text is not a public key of minisign.
    #[error(
        "not a public key: a line of 56 characters that begins with RW is expected, as `plumb key --show` prints it"
    )]
    Public,
    /// A line of a file of trusted keys is not a public key.
    #[error("line {line}: not a public key; each line has one, and after a blank the name of its owner")]
    Line {
        /// Number of the line, from 1.
        line: usize,
    },
    /// The text is not a private key of minisign, or a damaged one.
    #[error("not a private key in the format of minisign, or a damaged one")]
    Private,
    /// The private key has a password.
    #[error(
        "the private key has a password, which Plumb cannot ask for; `plumb key` makes one without (minisign -G -W does, too)"
    )]
    Password,
    /// The system has no random numbers.
    #[error("cannot make a key: {0}")]
    Random(String),
}
