//! Addresses of databases: `postgres://user@host:port/database?sslmode=…&sslrootcert=…`.

use percent_encoding::percent_decode_str;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

const PORT: u16 = 5432;

/// Longest address, in bytes.
const BYTES_MAX: usize = 4096;

/// Where a team's results are. It never holds a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub(crate) user: String,
    /// Name or address of the host, or the directory of its socket.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) database: String,
    pub(crate) tls: Tls,
    /// Certificates of the authorities to trust; `None` trusts the system's.
    pub(crate) root_certificates: Option<PathBuf>,
}

/// Whether the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tls {
    Off,
    /// Encrypted, and the server's certificate must be valid for its name.
    Verified,
}

/// Error in the text of an address. The text itself is not repeated, because it may contain a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("the address begins with `{found}`; write postgres://USER@HOST/DATABASE")]
    Scheme { found: String },
    #[error("the address contains a password, which other users can see; put it into ~/.pgpass or PGPASSWORD")]
    Password,
    #[error("the address names no {part}; write postgres://USER@HOST/DATABASE")]
    Missing { part: &'static str },
    #[error("the port `{found}` is not a number from 1 to 65535")]
    Port { found: String },
    #[error("the {part} of the address contains a control character, or is not UTF-8 after %-decoding")]
    Text { part: &'static str },
    #[error("the address has the unknown option `{found}`; it knows sslmode, sslrootcert, host and port")]
    Option { found: String },
    #[error(
        "sslmode `{found}` does not authenticate the server; use verify-full, or disable where the network is trusted"
    )]
    Mode { found: String },
    #[error("sslrootcert has no effect with sslmode=disable; leave one of them out")]
    UnusedCertificates,
    #[error("the address is longer than {BYTES_MAX} bytes")]
    Length,
}

impl Address {
    /// Parses an address. `user` is used where the address names none.
    ///
    /// # Errors
    /// Returns the first problem.
    pub fn parse(text: &str, user: Option<&str>) -> Result<Address, AddressError> {
        if text.len() > BYTES_MAX {
            return Err(AddressError::Length);
        }
        let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"));
        let rest = rest.ok_or_else(|| AddressError::Scheme {
            found: text.split("://").next().unwrap_or_default().chars().take(20).filter(|c| !c.is_control()).collect(),
        })?;
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (named_user, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        if named_user.contains(':') {
            return Err(AddressError::Password);
        }
        let (host, port) = split_port(place)?;
        let options = Options::parse(options)?;
        let host = options.host.unwrap_or(decoded(host, "host")?);
        let named_user = decoded(named_user, "user")?;
        let user = if named_user.is_empty() { user.unwrap_or_default().to_owned() } else { named_user };
        let database = decoded(database, "database")?;
        for (value, part) in [(&host, "host"), (&user, "user"), (&database, "database")] {
            if value.is_empty() {
                return Err(AddressError::Missing { part });
            }
        }
        let tls = options.tls.unwrap_or(if is_local(&host) { Tls::Off } else { Tls::Verified });
        if tls == Tls::Off && options.root_certificates.is_some() {
            return Err(AddressError::UnusedCertificates);
        }
        let port = options.port.or(port).unwrap_or(PORT);
        Ok(Address { user, host, port, database, tls, root_certificates: options.root_certificates })
    }

    /// Parses an address; PGUSER, or the name of this process's user, is used where it names none.
    ///
    /// # Errors
    /// Returns the first problem.
    pub fn from_env(text: &str) -> Result<Address, AddressError> {
        let user = ["PGUSER", "USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
        Address::parse(text, user.as_deref())
    }

    /// Returns host, port and database. Two users of one database push to the same destination.
    pub fn destination(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{host}:{}/{}", self.port, self.database)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.user, self.destination())
    }
}

#[derive(Default)]
struct Options {
    host: Option<String>,
    port: Option<u16>,
    tls: Option<Tls>,
    root_certificates: Option<PathBuf>,
}

impl Options {
    fn parse(text: &str) -> Result<Options, AddressError> {
        let mut options = Options::default();
        for option in text.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            match name {
                "sslmode" => {
                    options.tls = Some(match value {
                        "disable" => Tls::Off,
                        "verify-full" => Tls::Verified,
                        _ => return Err(AddressError::Mode { found: decoded(value, "sslmode")? }),
                    });
                }
                "sslrootcert" => options.root_certificates = Some(decoded(value, "sslrootcert")?.into()),
                "host" => options.host = Some(decoded(value, "host")?),
                "port" => options.port = Some(port(value)?),
                "password" => return Err(AddressError::Password),
                _ => return Err(AddressError::Option { found: decoded(name, "option")? }),
            }
        }
        Ok(options)
    }
}

/// Splits `host:port`, `[v6]:port`, or a host alone.
fn split_port(place: &str) -> Result<(&str, Option<u16>), AddressError> {
    if let Some((host, rest)) = place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return match rest.strip_prefix(':') {
            Some(text) => Ok((host, Some(port(text)?))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err(AddressError::Missing { part: "host" }),
        };
    }
    match place.split_once(':') {
        Some((host, text)) => Ok((host, Some(port(text)?))),
        None => Ok((place, None)),
    }
}

fn port(text: &str) -> Result<u16, AddressError> {
    let shown = || text.chars().take(20).filter(|c| !c.is_control()).collect();
    text.parse().ok().filter(|port| *port > 0).ok_or_else(|| AddressError::Port { found: shown() })
}

fn decoded(text: &str, part: &'static str) -> Result<String, AddressError> {
    let text = percent_decode_str(text).decode_utf8().map_err(|_| AddressError::Text { part })?;
    match text.chars().any(char::is_control) {
        true => Err(AddressError::Text { part }),
        false => Ok(text.into_owned()),
    }
}

/// Returns `true` if nothing leaves this machine on the way to the host.
fn is_local(host: &str) -> bool {
    host.starts_with('/') || host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Address, AddressError> {
        Address::parse(text, Some("me"))
    }

    // Protects: an address means what libpq's means, and the network gets verified TLS unless it is switched off.
    #[test]
    fn addresses_are_read() {
        let address = parsed("postgres://bench@db.example.org/results").unwrap();
        assert_eq!(address.destination(), "db.example.org:5432/results");
        assert_eq!((address.user.as_str(), address.tls), ("bench", Tls::Verified));
        let address = parsed("postgresql://localhost:5433/r?sslmode=verify-full&sslrootcert=%2Fca.pem").unwrap();
        assert_eq!((address.user.as_str(), address.port, address.tls), ("me", 5433, Tls::Verified));
        assert_eq!(address.root_certificates, Some("/ca.pem".into()));
        for (text, destination, tls) in [
            ("postgres://u@%2Frun%2Fpg/r", "/run/pg:5432/r", Tls::Off),
            ("postgres://u@/r?host=/run/pg&port=7", "/run/pg:7/r", Tls::Off),
            ("postgres://[::1]:9/r", "[::1]:9/r", Tls::Off),
            ("postgres://u@[2001:db8::1]/r", "[2001:db8::1]:5432/r", Tls::Verified),
            ("postgres://u@10.0.0.1/r?sslmode=disable", "10.0.0.1:5432/r", Tls::Off),
        ] {
            let address = parsed(text).unwrap();
            assert_eq!((address.destination().as_str(), address.tls), (destination, tls), "{text}");
        }
    }

    // Protects: a faulty address is refused, and its error repeats no password.
    #[test]
    fn faulty_addresses_are_refused() {
        for (text, says) in [
            ("", "begins with"),
            ("mysql://u@h/r", "`mysql`"),
            ("postgres://u:secret@h/r", "~/.pgpass"),
            ("postgres://u@h/r?password=secret", "~/.pgpass"),
            ("postgres://u@/r", "no host"),
            ("postgres://u@h", "no database"),
            ("postgres://u@h/", "no database"),
            ("postgres://u@h:0/r", "port `0`"),
            ("postgres://u@h:99999/r", "99999"),
            ("postgres://u@[::1/r", "port"),
            ("postgres://u@[::1]x/r", "host"),
            ("postgres://u@h/r?sslmode=require", "`require`"),
            ("postgres://u@h/r?sslmode=prefer", "verify-full"),
            ("postgres://u@h/r?sslmode=disable&sslrootcert=x", "leave one"),
            ("postgres://u@h/r?sslcert=x", "`sslcert`"),
            ("postgres://u@h/%ff", "UTF-8"),
            ("postgres://u@h%0a/r", "control"),
        ] {
            let message = parsed(text).unwrap_err().to_string();
            assert!(message.contains(says) && !message.contains("secret"), "{text}: {message}");
        }
        assert_eq!(Address::parse("postgres://h/r", None), Err(AddressError::Missing { part: "user" }));
        assert_eq!(parsed(&format!("postgres://h/{}", "r".repeat(BYTES_MAX))), Err(AddressError::Length));
    }
}
