//! Authentication from the files that the command line names: a server's users, and a client's token.

use jiff::Timestamp;
use plumb_tools_net::iperf3::{Claim, Client, Gate, Padding, PrivateKey, PublicKey, Server, Users};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, Read, Write};
use zeroize::Zeroizing;

/// Limit of files with keys or users, bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Limit of a password, bytes.
const PASSWORD_BYTES_MAX: usize = 256;

/// Error from setting up authentication.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UsersError {
    /// A file cannot be used.
    #[error("{path}: {why}")]
    File { path: String, why: String },
    /// There is neither a terminal nor an environment variable.
    #[error("no password: set IPERF3_PASSWORD ({0})")]
    Password(io::Error),
    /// Name and password exceed a block of the key.
    #[error("name and password are too long for the key of the server")]
    Long,
}

/// Reads a file that may hold a key. The returned text is zeroed on drop.
fn text(path: &str) -> Result<Zeroizing<String>, UsersError> {
    let file = File::open(path).map_err(|error| file_error(path, &error))?;
    let length = file.metadata().map_or(0, |found| found.len()).min(FILE_BYTES_MAX);
    // Reserve the full size: growing would free a buffer that still holds part of the key.
    let mut text = Zeroizing::new(String::with_capacity(length as usize + 1));
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(|error| file_error(path, &error))?;
    Ok(text)
}

fn file_error(path: &str, why: &dyn std::fmt::Display) -> UsersError {
    UsersError::File { path: path.to_owned(), why: why.to_string() }
}

/// Returns the gate that admits users, if the command line requests one.
pub(super) fn gate(server: &Server, padding: Padding) -> Result<Option<Gate>, UsersError> {
    let (Some(key), Some(users)) = (&server.key, &server.users) else { return Ok(None) };
    let known = Users::read(&text(users)?)
        .map_err(|line| file_error(users, &format!("line {line} is not NAME,SHA-256 of {{NAME}}PASSWORD")))?;
    let key = PrivateKey::read(&text(key)?).map_err(|error| file_error(key, &error))?;
    Ok(Some(Gate::new(key, known, padding, server.skew_s)))
}

/// Returns the token of a client, if the command line requests one.
pub(super) fn token(client: &Client, padding: Padding) -> Result<Option<String>, UsersError> {
    let (Some(user), Some(path)) = (&client.user, &client.key) else { return Ok(None) };
    let key = PublicKey::read(&text(path)?).map_err(|error| file_error(path, &error))?;
    let password = match std::env::var("IPERF3_PASSWORD") {
        Ok(password) => Zeroizing::new(password),
        Err(_) => ask().map_err(UsersError::Password)?,
    };
    let claim = Claim { user: user.clone(), password, at: Timestamp::now().as_second() };
    claim.token(&key, padding).ok_or(UsersError::Long).map(Some)
}

/// Asks for the password on the terminal, without echo.
fn ask() -> io::Result<Zeroizing<String>> {
    let mut terminal = plumb_engine::guard::open_channel("/dev/tty")?;
    terminal.write_all(b"Password: ")?;
    let before = tcgetattr(&terminal)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
    let mut line = Zeroizing::new(Vec::with_capacity(PASSWORD_BYTES_MAX));
    let mut byte = [0];
    let read = loop {
        match terminal.read(&mut byte) {
            Ok(0) => break Ok(()),
            Ok(_) if byte[0] == b'\n' || line.len() == PASSWORD_BYTES_MAX => break Ok(()),
            Ok(_) => line.push(byte[0]),
            Err(error) => break Err(error),
        }
    };
    tcsetattr(&terminal, OptionalActions::Flush, &before)?;
    terminal.write_all(b"\n")?;
    read?;
    let text = std::str::from_utf8(&line).map_err(|_| io::ErrorKind::InvalidData)?;
    Ok(Zeroizing::new(text.to_owned()))
}
