//! Services that run a benchmark together, and the part of the work that each of them does.

use super::paths::{PathsError, expand};
use std::net::Ipv6Addr;

/// Options that select the services.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostsSettings {
    /// List of hosts; empty if there are none.
    pub list: String,
    /// File with more hosts, one per line.
    pub file: Option<String>,
    /// Use only the first `count` hosts. `None`: all.
    pub count: Option<u32>,
    /// Number of places by which the hosts are rotated between phases.
    pub rotate: u32,
    /// Whether the hosts divide one data set. Otherwise each host works on a whole one.
    pub share_paths: bool,
    /// Default port of the hosts, and the port of a service.
    pub port: u16,
    /// Seconds to wait for the services.
    pub wait_s: u64,
    /// Options that only real elbencho services use.
    pub real: RealServiceOptions,
}

/// Options that Plumb's own services do not use, or use in one way only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RealServiceOptions {
    /// `--svcpwfile`: file whose first line is the secret that the services share.
    pub secret_file: Option<String>,
    /// `--svcupint`: longest interval between status requests, milliseconds.
    pub poll_ms: u64,
    /// `--blockvaralgo`: generator of block contents.
    pub block_algo: String,
    /// `--randalgo`: generator of random offsets; empty for elbencho's default.
    pub rand_algo: String,
    /// `--nofdsharing`: whether each thread opens its own file descriptors.
    pub no_fd_sharing: bool,
    /// `--nodiocheck`: whether the alignment check for direct I/O is skipped.
    pub no_direct_check: bool,
}

/// Error from reading the list of hosts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostsError {
    #[error("--hosts: {0}")]
    Brackets(#[from] PathsError),
    #[error("--hosts names no host; write HOST[:PORT], separated by commas")]
    Nobody,
    /// A host is listed twice.
    #[error("--hosts names {0} twice; services on one host need a port each")]
    Twice(String),
    /// More hosts than [`HOSTS_MAX`].
    #[error("--hosts names more than {HOSTS_MAX} hosts")]
    TooMany,
}

/// The limit of hosts that any Plumb command coordinates.
pub const HOSTS_MAX: usize = 1024;

impl HostsSettings {
    /// Returns `true` if services run the benchmark, rather than this process.
    pub fn are_given(&self) -> bool {
        self.count != Some(0) && (!self.list.is_empty() || self.file.is_some())
    }

    /// Returns the hosts with their ports: first those of the list, then those of the file, whose text is `lines`.
    ///
    /// # Errors
    /// No host is given, one is given twice, or a range is invalid.
    pub fn names(&self, lines: &str) -> Result<Vec<String>, HostsError> {
        let lines = lines.lines().filter(|line| !line.starts_with('#'));
        let lists = std::iter::once(self.list.as_str()).chain(lines);
        let mut names: Vec<String> = Vec::new();
        for word in lists.flat_map(words) {
            for host in expand(word)? {
                let host = self.with_port(host);
                if names.contains(&host) {
                    return Err(HostsError::Twice(host));
                }
                if names.len() >= HOSTS_MAX {
                    return Err(HostsError::TooMany);
                }
                names.push(host);
            }
        }
        if names.is_empty() {
            return Err(HostsError::Nobody);
        }
        names.truncate(self.count.map_or(usize::MAX, |count| count as usize));
        Ok(names)
    }

    fn with_port(&self, host: String) -> String {
        let port = self.port;
        if host.parse::<Ipv6Addr>().is_ok() {
            return format!("[{host}]:{port}");
        }
        let port_part = host.rfind(']').map_or(host.as_str(), |end| &host[end..]);
        if port_part.contains(':') { host } else { format!("{host}:{port}") }
    }
}

/// Splits a list into words. A comma within brackets belongs to a range.
fn words(list: &str) -> impl Iterator<Item = &str> {
    let mut is_inside = false;
    let separates = move |character: char| {
        match character {
            '[' => is_inside = true,
            ']' => is_inside = false,
            _ => {}
        }
        matches!(character, ' ' | '\n' | '\r') || character == ',' && !is_inside
    };
    list.split(separates).filter(|word| !word.is_empty())
}

/// The part of one host in a divided data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataSetPart {
    /// Index of the host, from 0.
    pub host: u32,
    pub hosts: u32,
}

impl DataSetPart {
    /// The whole data set, for a single host.
    pub const WHOLE: DataSetPart = DataSetPart { host: 0, hosts: 1 };
}

/// The threads of one host among all threads that divide a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartThreads {
    /// Threads of the hosts before this one.
    pub(super) first: u32,
    /// Threads of all hosts.
    pub(super) all: u32,
}

impl HostsSettings {
    /// Returns the threads of a part after `rotations` rotations of the hosts. Each host has `of_each` threads.
    pub(super) fn threads(&self, part: DataSetPart, of_each: u32, rotations: u32) -> PartThreads {
        let DataSetPart { host, hosts } = part;
        if !self.share_paths || hosts < 2 {
            return PartThreads { first: 0, all: of_each };
        }
        let by = u64::from(rotations) * u64::from(self.rotate) % u64::from(hosts);
        let place = (u64::from(host) + u64::from(hosts) - by) % u64::from(hosts);
        PartThreads { first: of_each.saturating_mul(place as u32), all: of_each.saturating_mul(hosts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hosts(list: &str) -> HostsSettings {
        HostsSettings { list: list.to_owned(), port: 1611, share_paths: true, ..HostsSettings::default() }
    }

    fn names(list: &str) -> Vec<String> {
        hosts(list).names("").unwrap()
    }

    // Protects: the hosts are those that elbencho would contact, in its order.
    #[test]
    fn hosts_are_in_elbenchos_order() {
        assert_eq!(names("a,b:99 c\nd"), ["a:1611", "b:99", "c:1611", "d:1611"]);
        assert_eq!(names("node00[1-2]"), ["node001:1611", "node002:1611"]);
        assert_eq!(names("10.0.0.[1,3]:7,x"), ["10.0.0.1:7", "10.0.0.3:7", "x:1611"]);
        assert_eq!(names("r[1-2]n[1-2]"), ["r1n1:1611", "r1n2:1611", "r2n1:1611", "r2n2:1611"]);
        assert_eq!(names("[::1],::2,[fe80::1]:5"), ["[::1]:1611", "[::2]:1611", "[fe80::1]:5"]);
        assert_eq!(names("localhost:[1611-1612]"), ["localhost:1611", "localhost:1612"]);
        let both = HostsSettings { file: Some("f".to_owned()), count: Some(2), ..hosts("a") };
        assert_eq!(both.names("# none\nb\n\nc, d\n").unwrap(), ["a:1611", "b:1611"]);
        assert!(both.are_given() && !HostsSettings { count: Some(0), ..both }.are_given());
    }

    #[test]
    fn an_invalid_list_is_an_error() {
        for (list, expected) in [
            (" ,\n", "names no host"),
            ("a,b,a:1611", "a:1611 twice"),
            ("a[1-2000]", "more than 1024"),
            ("a[2-]", "2-"),
        ] {
            let error = hosts(list).names("").unwrap_err().to_string();
            assert!(error.contains(expected), "{list}: {error}");
        }
    }

    proptest! {
        // Protects a coordinator from arbitrary lists: a list is refused, or each host has a port and occurs once.
        #[test]
        fn any_list_is_read_or_refused(list in "[a-c0-2,\\[\\]{}: \n.-]{0,24}", lines in "[a#,\n1-2]{0,12}") {
            if let Ok(names) = hosts(&list).names(&lines) {
                prop_assert!(!names.is_empty() && names.len() <= HOSTS_MAX);
                for (number, name) in names.iter().enumerate() {
                    prop_assert!(name.contains(':') && !name.contains([' ', '\n']), "{}", name);
                    prop_assert!(!names[..number].contains(name), "{}", name);
                }
            }
        }

        // Protects the data set: with any rotation, each thread of the whole belongs to exactly one host.
        #[test]
        fn parts_are_a_whole(hosts in 1u32..9, threads in 1u32..5, rotate in 0u32..20, rotations in 0u32..20) {
            let mut settings = super::super::tests::settings("-w -s 1m f");
            settings.threads = threads;
            settings.hosts.rotate = rotate;
            let mut firsts: Vec<u32> = (0..hosts).map(|host| {
                settings.part = DataSetPart { host, hosts };
                settings.hosts.threads(settings.part, settings.threads, rotations).first
            }).collect();
            firsts.sort_unstable();
            prop_assert_eq!(firsts, (0..hosts).map(|host| host * threads).collect::<Vec<_>>());
        }
    }
}
