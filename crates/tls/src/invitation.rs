//! An invitation: where a server listens, and what its clients know it by. For a private pipe or file.

use crate::certificate::Fingerprint;
use crate::identity::{KeyError, Secret, Trust, write_secret};
use crate::text::{Hex, bytes_of};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use zeroize::Zeroizing;

/// Maximum number of addresses in an invitation.
const ADDRESSES_MAX: usize = 16;

/// Maximum length of an invitation's line, in bytes.
const LINE_BYTES_MAX: usize = 1 << 10;

/// Addresses of a server, and its clients' knowledge of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// Addresses to try, in this order.
    pub addresses: Vec<SocketAddr>,
    pub trust: Trust,
}

impl Invitation {
    /// Formats the invitation as a line without its end. It is a secret.
    pub fn line(&self) -> Zeroizing<String> {
        // Allocated at full size: a reallocation would leave a part of the token in freed memory.
        let mut line = Zeroizing::new(String::with_capacity(LINE_BYTES_MAX));
        for (place, address) in self.addresses.iter().take(ADDRESSES_MAX).enumerate() {
            let _ = write!(line, "{}{address}", if place > 0 { "," } else { "" });
        }
        let _ = write!(line, " {} {}", self.trust.fingerprint, Hex(&*self.trust.token));
        line
    }

    /// Parses a line; `None` if it is not an invitation.
    pub fn parse(line: &str) -> Option<Invitation> {
        let mut words = line.split_ascii_whitespace();
        let addresses = words.next()?.split(',').map(|address| address.parse().ok());
        let addresses: Vec<SocketAddr> = addresses.collect::<Option<_>>()?;
        let trust = Trust { fingerprint: Fingerprint::read(words.next()?)?, token: bytes_of(words.next()?)? };
        let is_whole = words.next().is_none() && addresses.len() <= ADDRESSES_MAX;
        is_whole.then_some(Invitation { addresses, trust })
    }

    /// Writes the invitation to a file that only this user can read, in the place of an earlier one. Readers find all of
    /// it or none. No other user may write to its directory.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), KeyError> {
        let part = path.with_extension("part");
        // The rest of a killed process.
        let _ = std::fs::remove_file(&part);
        write_secret(&part, format_args!("invitation = {}\n", self.line().as_str()))?;
        std::fs::rename(&part, path).map_err(|error| KeyError::File { path: path.to_owned(), error })
    }

    /// Reads a file that [`Invitation::save`] wrote.
    ///
    /// # Errors
    /// Returns an error if the file does not exist, is readable by other users, or is malformed.
    pub fn load(path: &Path) -> Result<Invitation, KeyError> {
        let secret = Secret::read(path)?;
        let found = secret.value("invitation").and_then(Invitation::parse);
        found.ok_or_else(|| secret.malformed("invitation", "addresses, a fingerprint and a token"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Identity;

    fn invitation() -> Invitation {
        let addresses = ["192.0.2.1:8766", "[2001:db8::1]:9"].map(|address| address.parse().unwrap()).to_vec();
        Invitation { addresses, trust: Identity::make().expect("keys").trust() }
    }

    // Protects: both ends read the same invitation from a pipe, and other lines are refused.
    #[test]
    fn lines_are_read_back_and_others_refused() {
        let made = invitation();
        let line = made.line();
        assert_eq!(Invitation::parse(&line), Some(made));
        assert_eq!(Invitation::parse(&format!("{}\n", line.as_str())).map(|read| read.addresses.len()), Some(2));
        let [addresses, fingerprint, token] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        for wrong in [
            String::new(),
            addresses.to_owned(),
            format!("{addresses} {fingerprint}"),
            format!("host:1 {fingerprint} {token}"),
            format!("{addresses} {fingerprint} {}", &token[1..]),
            format!("{addresses} {fingerprint} {token} more"),
            format!("{} {fingerprint} {token}", ["192.0.2.1:1"; 17].join(",")),
        ] {
            assert_eq!(Invitation::parse(&wrong), None, "{wrong}");
        }
    }

    // Protects: the file has its owner's rights only, and a file that others may read, or that holds something else, is refused.
    #[test]
    fn a_saved_invitation_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("7.0");
        let made = invitation();
        invitation().save(&path).expect("saved");
        made.save(&path).expect("saved again");
        assert_eq!(Invitation::load(&path).expect("loaded"), made);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Invitation::load(&path), Err(KeyError::Open { .. })));
        std::fs::write(dir.path().join("other"), "invitation = no\n").unwrap();
        std::fs::set_permissions(dir.path().join("other"), std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(matches!(Invitation::load(&dir.path().join("other")), Err(KeyError::Malformed { .. })));
    }
}
