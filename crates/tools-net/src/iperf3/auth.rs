//! Authentication of iperf3. The parameters contain a token: a user's name, password and time, encrypted with the
//! server's RSA key. An eavesdropper can send a token again while its time is close; this server accepts each only
//! once.
//!
//! A server that decrypts strangers' tokens must not reveal which check failed (RUSTSEC-2023-0071, Bleichenbacher's
//! attack). So every refused token costs the same steps, whether it cannot be decrypted, its user is unknown or its
//! password is wrong: one decryption, one comparison with all users, one hash. The answer is always the same, at a
//! time that [`answer_at`] rounds up.

mod key;

pub use key::{KeyWrong, PrivateKey, PublicKey};

use base64::prelude::{BASE64_STANDARD, Engine};
use sha2::{Digest, Sha256};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

/// Limit of remembered tokens. Further tokens within their validity period are refused.
const TOKENS_MAX: usize = 10_000;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Limit of a token's base64 length, for a key of 8192 bits.
const TOKEN_BYTES_MAX: usize = 2048;

/// Padding of a token to the length of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    /// OAEP with SHA-1, since 3.17.
    Oaep,
    /// PKCS#1 v1.5: before, and with `--use-pkcs1-padding`.
    Pkcs1,
}

/// A client's claim of its identity.
#[derive(Clone, PartialEq, Eq)]
pub struct Claim {
    pub user: String,
    /// Password, zeroed on drop.
    pub password: Zeroizing<String>,
    /// Time of the claim, seconds since the epoch.
    pub at: i64,
}

impl std::fmt::Debug for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Claim({}, {})", self.user, self.at)
    }
}

impl Claim {
    /// Returns the text to encrypt.
    fn text(&self) -> Zeroizing<String> {
        let Claim { user, password, at } = self;
        let password = password.as_str();
        Zeroizing::new(format!("user: {user}\npwd:  {password}\nts:   {at}"))
    }

    fn read(text: &[u8]) -> Option<Claim> {
        let text = std::str::from_utf8(text).ok()?.strip_prefix("user: ")?;
        // The time is last, because a password may contain any text.
        let (user, rest) = text.split_once("\npwd:  ")?;
        let (password, at) = rest.rsplit_once("\nts:   ")?;
        let at = at.trim_end_matches('\0').parse().ok()?;
        Some(Claim { user: user.to_owned(), password: Zeroizing::new(password.to_owned()), at })
    }

    /// Returns a claim that matches no user, checked in place of an unreadable one.
    fn of_no_one() -> Claim {
        Claim { user: String::new(), password: Zeroizing::new(String::new()), at: 0 }
    }

    /// Encrypts the claim; `None` if it is too long for the key.
    pub fn token(&self, key: &PublicKey, padding: Padding) -> Option<String> {
        Some(BASE64_STANDARD.encode(key.encrypt(self.text().as_bytes(), padding)?))
    }
}

/// Users that are admitted: a line `NAME,HASH` each, where HASH is the SHA-256 of
/// `{NAME}PASSWORD` in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Users(Vec<(String, [u8; 64])>);

impl Users {
    /// Parses a file. The error is the number of a malformed line.
    pub fn read(text: &str) -> Result<Users, usize> {
        let mut users = Vec::new();
        for (line, number) in text.lines().map(str::trim).zip(1..) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, hash) = line.split_once(',').ok_or(number)?;
            let hash = hash.trim().to_ascii_lowercase();
            let hash: [u8; 64] = hash.into_bytes().try_into().map_err(|_| number)?;
            if !hash.iter().all(u8::is_ascii_hexdigit) {
                return Err(number);
            }
            users.push((name.trim().to_owned(), hash));
        }
        Ok(Users(users))
    }

    /// Returns `true` if name and password match. In constant time: compares the name with all users, and the password
    /// of an unknown name with a hash that no password has.
    fn knows(&self, claim: &Claim) -> bool {
        let Claim { user, password, .. } = claim;
        step("users");
        let mut expected = [b'-'; 64];
        // The first of equal names counts.
        for (name, hash) in self.0.iter().rev() {
            let is_it = name.as_bytes().ct_eq(user.as_bytes());
            expected.iter_mut().zip(hash).for_each(|(byte, of_user)| byte.conditional_assign(of_user, is_it));
        }
        step("hash");
        let text = Zeroizing::new(format!("{{{user}}}{}", password.as_str()));
        let mut actual = [0; 64];
        for (pair, byte) in actual.chunks_exact_mut(2).zip(Sha256::digest(text.as_bytes())) {
            pair.copy_from_slice(&[byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]));
        }
        expected.ct_eq(&actual).into()
    }
}

/// Reason for refusing a client, for the server's log only. The client learns only that it was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    #[error("the client sent no token")]
    NoToken,
    /// The token was encrypted with another key or padding, or is not a token.
    #[error("the token of the client cannot be decrypted: another key, or another padding (--use-pkcs1-padding)")]
    Unreadable,
    /// The token is too old, or from the future.
    #[error("the time of {user}'s token is {off} s from the server's; --time-skew-threshold allows {most} s")]
    Skew {
        /// The user that the token names.
        user: String,
        /// Difference between the two clocks, seconds.
        off: u64,
        /// Largest difference allowed, seconds.
        most: u64,
    },
    /// The user does not exist, or the password differs.
    #[error("the user or the password of the client is wrong")]
    Wrong,
    /// The token was used before.
    #[error("the token of {0} was used before")]
    Replayed(String),
    /// There are too many tokens within their validity period.
    #[error("more than {TOKENS_MAX} tests within the time in which a token is good")]
    Many,
}

/// Answers to refused tokens are sent at multiples of this time.
const ANSWER_STEP: Duration = Duration::from_millis(250);

/// Returns the time from the arrival of a token to its refusal, if the examination took `elapsed`: the next multiple of
/// 250 ms, which hides differences of microseconds.
pub fn answer_at(elapsed: Duration) -> Duration {
    let steps = elapsed.as_nanos() / ANSWER_STEP.as_nanos() + 1;
    ANSWER_STEP * u32::try_from(steps).unwrap_or(u32::MAX)
}

/// A server's key, its users, and the tokens that it has accepted.
#[derive(Debug)]
pub struct Gate {
    pub key: PrivateKey,
    pub users: Users,
    /// Padding that clients must use for tokens.
    pub padding: Padding,
    /// Largest difference between a client's clock and this one's, seconds.
    pub skew_s: u64,
    /// Hashes of accepted tokens, and the time at which each expires.
    taken: Mutex<Vec<([u8; 32], i64)>>,
}

impl Gate {
    /// Creates a gate that has not accepted any token yet.
    pub fn new(key: PrivateKey, users: Users, padding: Padding, skew_s: u64) -> Gate {
        Gate { key, users, padding, skew_s, taken: Mutex::default() }
    }

    /// Returns the user of a token. Tokens of several clients are examined concurrently.
    ///
    /// # Errors
    /// The reason for the refusal, for the log.
    pub fn admit(&self, token: Option<&str>, now: i64) -> Result<String, Denied> {
        let token = token.ok_or(Denied::NoToken)?;
        let bytes = Some(token).filter(|token| token.len() <= TOKEN_BYTES_MAX);
        let bytes = bytes.and_then(|token| BASE64_STANDARD.decode(token).ok()).unwrap_or_default();
        // Every step runs, even if an earlier one failed.
        let claim = self.key.decrypt(&bytes, self.padding).and_then(|text| Claim::read(&text));
        let is_readable = claim.is_some();
        let claim = claim.unwrap_or_else(Claim::of_no_one);
        let is_known = self.users.knows(&claim);
        match (is_readable, is_known) {
            (false, _) => return Err(Denied::Unreadable),
            (true, false) => return Err(Denied::Wrong),
            (true, true) => {}
        }
        let Claim { user, at, .. } = claim;
        let off = at.abs_diff(now);
        if off > self.skew_s {
            return Err(Denied::Skew { user, off, most: self.skew_s });
        }
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|(_, until)| *until >= now);
        // Hash the decoded bytes, because base64 can encode the same bytes in several ways.
        let hash = Sha256::digest(&bytes).into();
        if taken.iter().any(|(taken, _)| *taken == hash) {
            return Err(Denied::Replayed(user));
        }
        if taken.len() >= TOKENS_MAX {
            return Err(Denied::Many);
        }
        taken.push((hash, at.saturating_add_unsigned(self.skew_s)));
        Ok(user)
    }
}

/// Counts a step of an examination, for the test that all tokens cost the same steps.
#[cfg(not(test))]
fn step(_: &'static str) {}

#[cfg(test)]
fn step(name: &'static str) {
    tests::STEPS.with_borrow_mut(|steps| steps.push(name));
}

#[cfg(test)]
mod tests;
