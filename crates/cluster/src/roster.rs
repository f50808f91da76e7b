//! The participants of a run: hosts, their ranks and their clocks.

use crate::cluster::{Cluster, Patience, Reduction};
use crate::error::ClusterError;
use std::collections::BTreeMap;

/// A rank that takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Name of the rank's host. Two hosts of one name count as one.
    pub host: String,
    /// Process ID of the rank.
    pub pid: u32,
    /// Identifier of the rank's clock, which ranks of one kernel and one time namespace share.
    pub clock: String,
}

impl Member {
    /// Describes this process.
    pub fn this() -> Member {
        let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        let time_namespace = std::fs::read_link("/proc/self/ns/time");
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let kernel = read("/proc/sys/kernel/random/boot_id");
        let clock = match kernel.as_str() {
            // Without a boot ID, only the host's name identifies the kernel.
            "" => host.clone(),
            kernel => format!("{kernel} {}", time_namespace.unwrap_or_default().display()),
        };
        Member { host, pid: std::process::id(), clock }
    }
}

/// A host and its ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    pub name: String,
    /// Ranks on the host, in order. The first speaks for the host.
    pub ranks: Vec<u32>,
}

/// A rank's partners when ranks read each other's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Rank whose files this rank reads.
    pub source: u32,
    /// Rank that reads this rank's files.
    pub reader: u32,
    /// Whether this rank sends before it receives. In each ring of ranks at least one does and one does not, so
    /// that the ring cannot deadlock.
    pub sends_first: bool,
    /// Whether the source is on another host. On a single host it is the next rank.
    pub between_hosts: bool,
}

/// All participants of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roster {
    members: BTreeMap<u32, Member>,
}

impl Roster {
    /// Collects all participants and their hosts, on every rank. Collective.
    ///
    /// # Errors
    /// Returns an error if a rank does not answer.
    pub fn of_all(cluster: &dyn Cluster, own: Member, patience: &Patience<'_>) -> Result<Roster, ClusterError> {
        let mut roster = Roster::new(cluster.rank(), own);
        cluster.reduce(&mut roster, patience)?;
        let bytes = if cluster.rank() == 0 { roster.bytes() } else { Vec::new() };
        let roster = Roster::read(&cluster.broadcast(bytes, patience)?);
        match roster.ranks() == cluster.size() as usize {
            true => Ok(roster),
            false => Err(ClusterError::Unexpected { rank: 0, what: "not all ranks reported their host" }),
        }
    }

    /// Creates a roster of one rank.
    pub(crate) fn new(rank: u32, member: Member) -> Roster {
        Roster { members: BTreeMap::from([(rank, member)]) }
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.members.len()
    }

    /// Returns the entry of a rank.
    pub fn member(&self, rank: u32) -> Option<&Member> {
        self.members.get(&rank)
    }

    /// Returns the name of a rank's host.
    pub fn host(&self, rank: u32) -> &str {
        self.members.get(&rank).map_or("", |member| &member.host)
    }

    /// Returns the hosts, in the order of their first ranks.
    pub fn hosts(&self) -> Vec<Host> {
        let mut hosts: Vec<Host> = Vec::new();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (&rank, member) in &self.members {
            let place = *places.entry(&member.host).or_insert_with(|| {
                hosts.push(Host { name: member.host.clone(), ranks: Vec::new() });
                hosts.len() - 1
            });
            hosts[place].ranks.push(rank);
        }
        hosts
    }

    /// Returns a rank's partners when ranks read each other's files. The source is on another host if no host has
    /// more than half of all ranks, and otherwise at least another rank. Exactly one rank reads each rank's files.
    /// Returns `None` for a single rank.
    pub fn exchange(&self, rank: u32) -> Option<Exchange> {
        let hosts = self.hosts();
        let order: Vec<u32> = hosts.iter().flat_map(|host| host.ranks.iter().copied()).collect();
        // Order the ranks by host and step by the size of the largest host: then no rank lands on its own host.
        let widest = hosts.iter().map(|host| host.ranks.len()).max()?;
        let between_hosts = hosts.len() > 1;
        let step = if between_hosts { widest } else { 1 };
        let place = order.iter().position(|&other| other == rank)?;
        let count = order.len();
        (count > 1).then(|| Exchange {
            source: order[(place + step) % count],
            reader: order[(place + count - step) % count],
            sends_first: (place / step).is_multiple_of(2),
            between_hosts,
        })
    }

    /// Returns a roster without this rank.
    pub fn without(&self, rank: u32) -> Roster {
        let mut others = self.clone();
        others.members.remove(&rank);
        others
    }

    /// Returns the processes of all ranks on this rank's host, including its own.
    pub fn processes_on_host_of(&self, rank: u32) -> Vec<u32> {
        let host = self.host(rank);
        self.members.values().filter(|member| member.host == host).map(|member| member.pid).collect()
    }

    /// Returns the processes of all ranks on this rank's kernel, regardless of their host names.
    pub fn processes_on_kernel_of(&self, rank: u32) -> Vec<u32> {
        let host = self.host(rank);
        let is_beside = |other: u32, member: &Member| member.host == host || self.same_clock(rank, other);
        self.members.iter().filter(|(other, member)| is_beside(**other, member)).map(|(_, member)| member.pid).collect()
    }

    /// Returns the rank that speaks for this rank's host: the first on it.
    pub fn speaker_of(&self, rank: u32) -> u32 {
        let host = self.host(rank);
        self.members.iter().find(|(_, member)| member.host == host).map_or(rank, |(&first, _)| first)
    }

    /// Returns `true` if two ranks read the same clock.
    pub fn same_clock(&self, one: u32, other: u32) -> bool {
        let clock = |rank| self.members.get(&rank).map(|member| &member.clock);
        clock(one).is_some() && clock(one) == clock(other)
    }

    /// Returns `true` if all ranks read the same clock.
    pub fn one_clock(&self) -> bool {
        self.members.keys().all(|&rank| self.same_clock(0, rank))
    }

    /// Encodes the roster as a message, one line per rank.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let lines = self.members.iter().map(|(rank, member)| {
            let Member { host, pid, clock } = member;
            format!("{rank}\t{pid}\t{host}\t{clock}\n")
        });
        lines.collect::<String>().into_bytes()
    }

    /// Decodes a message. A malformed line is skipped, and its rank is missing then.
    pub(crate) fn read(bytes: &[u8]) -> Roster {
        let text = String::from_utf8_lossy(bytes);
        let members = text.lines().filter_map(|line| -> Option<(u32, Member)> {
            let mut words = line.splitn(4, '\t');
            let rank = words.next()?.parse().ok()?;
            let pid = words.next()?.parse().ok()?;
            let host = words.next()?.to_owned();
            Some((rank, Member { host, pid, clock: words.next()?.to_owned() }))
        });
        let mut roster = Roster::default();
        // Insert one by one: `collect` sorts, which would instantiate more code.
        members.for_each(|(rank, member)| drop(roster.members.insert(rank, member)));
        roster
    }
}

impl Reduction for Roster {
    fn absorb(&mut self, _child: u32, sent: Result<Vec<u8>, ClusterError>) {
        // Missing ranks are detected by counting.
        if let Ok(bytes) = sent {
            self.members.extend(Roster::read(&bytes).members);
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        Roster::bytes(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roster(hosts: &[&str]) -> Roster {
        let member = |host: &&str| Member { host: (*host).to_owned(), pid: 7, clock: format!("clock of {host}") };
        Roster { members: (0..).zip(hosts.iter().map(member)).collect() }
    }

    #[test]
    fn hosts_are_named_in_the_order_of_their_first_ranks() {
        let roster = roster(&["z", "a", "z"]);
        let hosts: Vec<(String, Vec<u32>)> = roster.hosts().into_iter().map(|host| (host.name, host.ranks)).collect();
        assert_eq!(hosts, [("z".to_owned(), vec![0, 2]), ("a".to_owned(), vec![1])]);
        assert_eq!([0, 1, 2].map(|rank| roster.speaker_of(rank)), [0, 1, 0]);
        assert!(!roster.one_clock() && roster.same_clock(0, 2));
    }

    // Protects: exactly one other rank reads each rank's files, on another host wherever there are enough. No ring of
    // ranks all send or all receive first, which would deadlock.
    #[test]
    fn every_rank_reads_the_files_of_another_host() {
        for hosts in [
            &["a", "a"][..],
            &["a", "a", "a", "a", "a"],
            &["a", "a", "b", "b"],
            &["a", "b", "a", "b", "c", "c"],
            &["a", "b", "c"],
            &["a", "a", "a", "b", "c", "c"],
            &["a", "b", "b", "b", "b"],
        ] {
            let roster = roster(hosts);
            let all: Vec<Exchange> = (0..hosts.len() as u32).map(|rank| roster.exchange(rank).unwrap()).collect();
            let largest = hosts.iter().map(|one| hosts.iter().filter(|other| *other == one).count()).max().unwrap();
            for (rank, one) in all.iter().enumerate() {
                assert_eq!(all[one.source as usize].reader, rank as u32);
                assert_ne!(one.source, rank as u32);
                let is_elsewhere = hosts[one.source as usize] != hosts[rank];
                assert!(is_elsewhere || 2 * largest > hosts.len(), "{hosts:?}: {rank} of {}", one.source);
                let mut circle = vec![one.sends_first];
                let mut next = one.source;
                while next != rank as u32 {
                    circle.push(all[next as usize].sends_first);
                    next = all[next as usize].source;
                }
                assert!(circle.contains(&true) && circle.contains(&false), "{hosts:?}: {circle:?}");
            }
        }
        assert_eq!(roster(&["a"]).exchange(0), None);
    }

    #[test]
    fn a_sent_roster_arrives_unchanged() {
        let sent = roster(&["node with blanks", "b"]);
        assert_eq!(Roster::read(&sent.bytes()), sent);
        assert_eq!(Roster::read(b"not a line\n\xff\n1\t2\n").ranks(), 0);
    }
}
