//! Errors of the shared database.

use crate::AddressError;
use postgres::error::SqlState;
use std::error::Error;
use std::path::PathBuf;

/// Error of a push or a pull. None of these errors loses a result of the local store.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error("the password file {}: {reason}", path.display())]
    Password { path: PathBuf, reason: String },
    #[error("the certificates of sslrootcert {}: {reason}", path.display())]
    Certificates { path: PathBuf, reason: String },
    #[error(
        "this system has no certificate authorities; install ca-certificates, or add sslrootcert=FILE to the address"
    )]
    NoAuthorities,
    #[error("TLS cannot be set up: {reason}")]
    Tls { reason: String },
    /// The server does not answer, or refuses the user.
    #[error("cannot connect to {destination}: {reason}")]
    Connect { destination: String, reason: String },
    /// The connection broke, or a statement failed.
    #[error("{destination}: {doing} failed: {reason}")]
    Server { destination: String, doing: &'static str, reason: String, cause: Cause },
    /// The schema was made by a later version.
    #[error(
        "{destination} has schema {found}, made by a newer Plumb; this one supports up to {known}. Install the version of \
         your team; until then the runs stay in the local store"
    )]
    Newer {
        destination: String,
        found: i32,
        /// Latest version that this program supports.
        known: i32,
    },
    /// The schema is older or absent, and this user may not change it.
    #[error(
        "{destination} has schema {found}, and this Plumb needs {known}; the owner of the database runs `plumb push` of \
         this version once (docs/team.md)"
    )]
    Older { destination: String, found: i32, known: i32 },
    /// The database has another result under the same id.
    #[error(
        "run {id} is already in {destination} with a different result, which was not changed (blake3 here {here}, there \
         {there})"
    )]
    OtherResult { destination: String, id: String, here: String, there: String },
    /// The database has another document of this kind under the same id.
    #[error("{destination} has another {kind} {id}, which was not changed")]
    OtherDocument {
        destination: String,
        /// Such as `study`.
        kind: &'static str,
        id: String,
    },
    /// Writers add results, and never delete them.
    #[error("only the owner of {destination} may delete runs (docs/team.md)")]
    NotOwner { destination: String },
    /// A result of the database cannot be read.
    #[error("{destination}: the result of run {id} cannot be read: {reason}")]
    Unreadable { destination: String, id: String, reason: String },
}

/// Kind of a server's error, by its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The data of this run: other runs can still be pushed.
    Run,
    /// A conflict with another transaction: the same statement may succeed now.
    Conflict,
    /// The user lacks a right.
    Rights,
    /// The connection, the schema or the server.
    Database,
}

impl ShareError {
    /// Returns `true` if the error concerns one run, and others can still be pushed or pulled.
    pub fn is_of_one_run(&self) -> bool {
        matches!(
            self,
            ShareError::OtherResult { .. }
                | ShareError::OtherDocument { .. }
                | ShareError::Unreadable { .. }
                | ShareError::Server { cause: Cause::Run, .. }
        )
    }

    /// Returns `true` if the user lacks a right.
    pub fn is_of_rights(&self) -> bool {
        matches!(self, ShareError::Server { cause: Cause::Rights, .. })
    }

    /// Returns `true` if the same operation may succeed at once.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, ShareError::Server { cause: Cause::Conflict, .. })
    }

    pub(crate) fn connect(destination: &str, error: &postgres::Error) -> ShareError {
        ShareError::Connect { destination: destination.to_owned(), reason: reason(error) }
    }

    pub(crate) fn server(destination: &str, doing: &'static str, error: &postgres::Error) -> ShareError {
        let cause = error.code().map_or(Cause::Database, |code| cause(code.code()));
        ShareError::Server { destination: destination.to_owned(), doing, reason: reason(error), cause }
    }
}

/// Returns the kind of an SQLSTATE. Source: PostgreSQL 15, Appendix A.
fn cause(code: &str) -> Cause {
    match code.get(..2) {
        // Data exception, integrity constraint violation, PL/pgSQL (RAISE), program limit exceeded.
        Some("22" | "23" | "P0" | "54") => Cause::Run,
        Some("40") => Cause::Conflict,
        Some("42") if code == SqlState::INSUFFICIENT_PRIVILEGE.code() => Cause::Rights,
        _ => Cause::Database,
    }
}

/// Returns the server's message with its hint, or the chain of causes without one. Control characters of a foreign
/// server do not reach the terminal.
fn reason(error: &postgres::Error) -> String {
    let text = match error.as_db_error() {
        Some(error) => {
            let hint = error.hint().map_or(String::new(), |hint| format!(". {hint}"));
            let rights = match *error.code() == SqlState::INSUFFICIENT_PRIVILEGE && hint.is_empty() {
                true => "; the owner of the database grants plumb_writer (push) or plumb_reader (pull) to this user",
                false => "",
            };
            format!("{}{hint}{rights}", error.message())
        }
        None => {
            let mut text = error.to_string();
            let mut source = error.source();
            while let Some(cause) = source {
                let cause_text = cause.to_string();
                if !text.contains(&cause_text) {
                    text = format!("{text}: {cause_text}");
                }
                source = cause.source();
            }
            text
        }
    };
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a bad run does not stop the others, and a lost connection or a missing right does.
    #[test]
    fn errors_of_one_run_are_distinguished() {
        for (code, expected) in [
            ("22P05", Cause::Run),
            ("23505", Cause::Run),
            ("P0001", Cause::Run),
            ("40P01", Cause::Conflict),
            ("42501", Cause::Rights),
            ("57P01", Cause::Database),
            ("", Cause::Database),
        ] {
            assert_eq!(cause(code), expected, "{code}");
        }
    }
}
