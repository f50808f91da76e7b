//! Services that run a benchmark together: who they are, and which part of the work each of them does.

use super::paths::{PathsError, expand};
use std::net::Ipv6Addr;

/// The services that run a benchmark, as said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostsSettings {
    /// A list of them; empty for none.
    pub list: String,
    /// A file with more of them, one a line.
    pub file: Option<String>,
    /// Use only this many of them, from the first on; absent: all.
    pub count: Option<u32>,
    /// By how many they are rotated between phases.
    pub rotate: u32,
    /// Whether they divide one data set; else each works on all of its own.
    pub share_paths: bool,
    /// The port of those without one, and of a service.
    pub port: u16,
    /// Seconds to wait for them.
    pub wait_s: u64,
}

/// Why there is no list of hosts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostsError {
    /// Its brackets.
    #[error("--hosts: {0}")]
    Brackets(#[from] PathsError),
    /// The list is empty.
    #[error("--hosts names no host; write HOST[:PORT], separated by commas")]
    Nobody,
    /// It names one twice.
    #[error("--hosts names {0} twice; services on one host need a port each")]
    Twice(String),
    /// More than anybody has.
    #[error("--hosts names more than {HOSTS_MAX} hosts")]
    TooMany,
}

/// As many as a command of Plumb leads.
pub const HOSTS_MAX: usize = 1024;

impl HostsSettings {
    /// Whether services run the benchmark, rather than this process.
    pub fn are_given(&self) -> bool {
        self.count != Some(0) && (!self.list.is_empty() || self.file.is_some())
    }

    /// The hosts with their ports, those of the file behind those of the list; `lines` is what is in the file.
    ///
    /// # Errors
    /// There is none, one is named twice, or a range is invalid.
    pub fn names(&self, lines: &str) -> Result<Vec<String>, HostsError> {
        let lines = lines.lines().filter(|line| !line.starts_with('#'));
        let said = std::iter::once(self.list.as_str()).chain(lines);
        let mut names: Vec<String> = Vec::new();
        for word in said.flat_map(words) {
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
        let behind = host.rfind(']').map_or(host.as_str(), |end| &host[end..]);
        if behind.contains(':') { host } else { format!("{host}:{port}") }
    }
}

/// The words of a list: a comma within brackets belongs to a range.
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

/// Which of the hosts that divide a data set this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataSetPart {
    /// Its number, from 0.
    pub host: u32,
    /// How many there are.
    pub hosts: u32,
}

impl DataSetPart {
    /// All of it.
    pub const WHOLE: DataSetPart = DataSetPart { host: 0, hosts: 1 };
}

/// The threads of this host among those that divide a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartThreads {
    /// Those before them.
    pub(super) first: u32,
    /// Of all hosts.
    pub(super) all: u32,
}

impl HostsSettings {
    /// The threads of a part, after so many rotations of the hosts; each host has `of_each`.
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

    // Protects: hosts are those that elbencho would reach, in its order.
    #[test]
    fn hosts_are_listed_as_for_elbencho() {
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
    fn a_list_that_is_wrong_is_named() {
        for (list, told) in [
            (" ,\n", "names no host"),
            ("a,b,a:1611", "a:1611 twice"),
            ("a[1-2000]", "more than 1024"),
            ("a[2-]", "2-"),
        ] {
            let error = hosts(list).names("").unwrap_err().to_string();
            assert!(error.contains(told), "{list}: {error}");
        }
    }

    proptest! {
        // Protects a master from any list: it is refused, or each host has a port and stands there once.
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

        // Protects the data set: whatever rotates, each thread of the whole belongs to one host.
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
