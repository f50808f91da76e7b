//! Authentication of iperf3: a user's name, password and time, encrypted with the server's RSA key, in the parameters. Whoever
//! sees a token can send it again while its time is near; this server takes each only once.

mod key;

pub use key::{KeyWrong, PrivateKey, PublicKey};

use base64::prelude::{BASE64_STANDARD, Engine};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Tokens that a server remembers. More within the time in which they are good are refused.
const TOKENS_MAX: usize = 10_000;

/// Longest token, base64: of a key of 8192 bits.
const TOKEN_BYTES_MAX: usize = 2048;

/// How a token is filled up to the length of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    /// OAEP with SHA-1, since 3.17.
    Oaep,
    /// PKCS#1 v1.5: before, and with `--use-pkcs1-padding`.
    Pkcs1,
}

/// Who a client says that it is.
#[derive(Clone, PartialEq, Eq)]
pub struct Claim {
    /// The name.
    pub user: String,
    /// The password.
    pub password: String,
    /// When it was said, seconds of the epoch.
    pub at: i64,
}

impl std::fmt::Debug for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Claim({}, {})", self.user, self.at)
    }
}

impl Claim {
    /// As it is encrypted.
    fn text(&self) -> String {
        let Claim { user, password, at } = self;
        format!("user: {user}\npwd:  {password}\nts:   {at}")
    }

    fn read(text: &[u8]) -> Option<Claim> {
        let text = std::str::from_utf8(text).ok()?.strip_prefix("user: ")?;
        // The time is last: a password may have anything in it.
        let (user, rest) = text.split_once("\npwd:  ")?;
        let (password, at) = rest.rsplit_once("\nts:   ")?;
        let at = at.trim_end_matches('\0').parse().ok()?;
        Some(Claim { user: user.to_owned(), password: password.to_owned(), at })
    }

    /// The token of it; `None` where it is too long for the key.
    pub fn token(&self, key: &PublicKey, padding: Padding) -> Option<String> {
        Some(BASE64_STANDARD.encode(key.encrypt(self.text().as_bytes(), padding)?))
    }
}

/// Who may be a client: a line `NAME,HASH` each, where HASH is the SHA-256 of `{NAME}PASSWORD` in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Users(Vec<(String, String)>);

impl Users {
    /// Of a file; `Err` has the number of a line that is malformed.
    pub fn read(text: &str) -> Result<Users, usize> {
        let mut users = Vec::new();
        for (line, number) in text.lines().map(str::trim).zip(1..) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, hash) = line.split_once(',').ok_or(number)?;
            let hash = hash.trim().to_ascii_lowercase();
            if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(number);
            }
            users.push((name.trim().to_owned(), hash));
        }
        Ok(Users(users))
    }

    /// Whether name and password belong together. An unknown name takes as long as a known one.
    fn knows(&self, claim: &Claim) -> bool {
        let Claim { user, password, .. } = claim;
        let said: String =
            Sha256::digest(format!("{{{user}}}{password}")).iter().map(|byte| format!("{byte:02x}")).collect();
        let hash = self.0.iter().find(|(name, _)| name == user).map(|(_, hash)| hash.as_str());
        let no_hash = "-".repeat(64);
        hash.unwrap_or(&no_hash).as_bytes().ct_eq(said.as_bytes()).into()
    }
}

/// Why a client is not let in. It is told none of these, only that it is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// It sent no token.
    #[error("the client sent no token")]
    NoToken,
    /// Not of this server's key, not of this padding, or nothing of the kind.
    #[error("the token of the client cannot be decrypted: another key, or another padding (--use-pkcs1-padding)")]
    Unreadable,
    /// Too old, or from the future.
    #[error("the time of {user}'s token is {off} s from the server's; --time-skew-threshold allows {most} s")]
    Skew {
        /// Who.
        user: String,
        /// So far.
        off: u64,
        /// So far may it be.
        most: u64,
    },
    /// No such user, or another password.
    #[error("the user or the password of the client is wrong")]
    Wrong,
    /// It came before.
    #[error("the token of {0} was used before")]
    Replayed(String),
    /// Too many tokens within the time in which they are good.
    #[error("more than {TOKENS_MAX} tests within the time in which a token is good")]
    Many,
}

/// What a server knows: its key, its users, and which tokens it has taken.
#[derive(Debug)]
pub struct Gate {
    /// Its key.
    pub key: PrivateKey,
    /// Its users.
    pub users: Users,
    /// How tokens are padded.
    pub padding: Padding,
    /// How far a client's clock may be from this one's, seconds.
    pub skew_s: u64,
    /// Hashes of tokens that were taken, and until when they would be good.
    taken: Vec<([u8; 32], i64)>,
}

impl Gate {
    /// A server that has taken none.
    pub fn new(key: PrivateKey, users: Users, padding: Padding, skew_s: u64) -> Gate {
        Gate { key, users, padding, skew_s, taken: Vec::new() }
    }

    /// The user whose token this is.
    ///
    /// # Errors
    /// Why it is not let in.
    pub fn admit(&mut self, token: Option<&str>, now: i64) -> Result<String, Denied> {
        let token = token.ok_or(Denied::NoToken)?;
        let bytes = Some(token).filter(|token| token.len() <= TOKEN_BYTES_MAX);
        let bytes = bytes.and_then(|token| BASE64_STANDARD.decode(token).ok()).ok_or(Denied::Unreadable)?;
        let text = self.key.decrypt(&bytes, self.padding).ok_or(Denied::Unreadable)?;
        let claim = Claim::read(&text).ok_or(Denied::Unreadable)?;
        if !self.users.knows(&claim) {
            return Err(Denied::Wrong);
        }
        let Claim { user, at, .. } = claim;
        let off = at.abs_diff(now);
        if off > self.skew_s {
            return Err(Denied::Skew { user, off, most: self.skew_s });
        }
        self.taken.retain(|(_, until)| *until >= now);
        // Of the bytes: the same ones can be spelled in several ways.
        let hash = Sha256::digest(&bytes).into();
        if self.taken.iter().any(|(taken, _)| *taken == hash) {
            return Err(Denied::Replayed(user));
        }
        if self.taken.len() >= TOKENS_MAX {
            return Err(Denied::Many);
        }
        self.taken.push((hash, at.saturating_add_unsigned(self.skew_s)));
        Ok(user)
    }
}

#[cfg(test)]
mod tests;
