//! Authenticated and encrypted connections between two ends of Plumb: TLS 1.3. The client knows the
//! server by the fingerprint of its certificate, and both prove that they know a token, bound to this one session.
//!
//! Whoever serves makes an [`Identity`], stores it in a file of its own ([`Identity::save`]) and gives [`Identity::trust`] to
//! clients. Then [`Channel::accept`] and [`Channel::connect`] are the two ends of a connection, which reads and writes as a
//! socket does, until a deadline.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

mod certificate;
mod identity;
mod stream;
mod text;

pub use certificate::Fingerprint;
pub use identity::{Identity, KeyError, Trust};
pub use stream::{Channel, ChannelError, FIRST_BYTE, PATIENCE};

use subtle::ConstantTimeEq;

/// Fills a buffer from the kernel's random number generator. Waits until it is seeded. Source: getrandom(2).
///
/// # Errors
/// The kernel lacks this call, or a seccomp filter forbids it.
pub fn random(into: &mut [u8]) -> std::io::Result<()> {
    Ok(getrandom::fill(into)?)
}

/// Whether two secrets are the same, in the same time wherever they differ.
pub fn same(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}
