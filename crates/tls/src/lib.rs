//! Authenticated and encrypted connections between two Plumb processes, over TLS 1.3. The client
//! identifies the server by the fingerprint of its certificate. Both prove that they know a token, and
//! the proof is bound to the session.
//!
//! A server makes an [`Identity`], stores it in a private file ([`Identity::save`]) and gives [`Identity::trust`] to
//! its clients. [`Channel::accept`] and [`Channel::connect`] then create the two ends of a connection. A channel
//! reads and writes like a socket, with an optional deadline.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

mod certificate;
mod identity;
mod invitation;
mod stream;
mod text;

pub use certificate::Fingerprint;
pub use identity::{Identity, KeyError, Trust};
pub use invitation::Invitation;
pub use stream::{Channel, ChannelError, FIRST_BYTE, PATIENCE};

use subtle::ConstantTimeEq;

/// Fills a buffer from the kernel's random number generator. Blocks until the
/// generator is seeded. Source: getrandom(2).
///
/// # Errors
/// Returns an error if the kernel lacks this call or a seccomp filter forbids it.
pub fn random(into: &mut [u8]) -> std::io::Result<()> {
    Ok(getrandom::fill(into)?)
}

/// Compares two secrets in constant time.
pub fn same(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}
