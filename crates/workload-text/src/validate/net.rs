//! Rules for network work and probes.

use super::Checker;
use plumb_workload::backend::Backend;
use plumb_workload::net::{
    BLOCK_BYTES_MAX, DATAGRAM_BYTES_MAX, DATAGRAM_BYTES_MIN, NetLoad, Passing, Probe, Protocol, TripLoad,
};
use plumb_workload::pace::Pace;
use plumb_workload::phase::{RunAs, WorkerGroup};
use plumb_workload::target::Target;

/// Longest time that an end may busy-poll.
const POLL_NS_MAX: u64 = 10_000_000;

/// Maximum number of streams per control connection. Source: iperf3.
const STREAMS_MAX: u32 = 128;

/// Checks a group that works over the network.
pub(super) fn check(check: &mut Checker, group: &WorkerGroup, load: &NetLoad, target: &Target) {
    let Target::Host(host) = target else {
        check.problem(
            ["target"],
            format!("`{}` is not a host, and streams and round trips go to one", group.target),
            "use a `[target.NAME.host]` with an `address`",
        );
        return;
    };
    if group.count > STREAMS_MAX {
        check.problem(
            ["count"],
            format!("{} connections of one group are too many", group.count),
            format!("use at most {STREAMS_MAX}, and more groups"),
        );
    }
    if group.run_as == RunAs::Process {
        check.problem(["run-as"], "the connections of a group belong to one process", "use run-as = \"thread\"");
    }
    if group.depth > 1 {
        check.problem(
            ["depth"],
            "a connection does one thing at a time",
            "use depth = 1, and more connections with `count`",
        );
    }
    if group.backend != Backend::Auto {
        check.problem(
            ["backend"],
            format!("network work cannot use the backend `{}`", group.backend.name()),
            "leave `backend` out; `tx` and `rx` of a stream select how bytes pass",
        );
    }
    if group.verify.is_some() {
        check.problem(["verify"], "network data cannot be verified", "leave `verify` out");
    }
    let protocol = load.protocol();
    address(check, protocol, &host.address, "target");
    check.nested(&["work", "net"], |check| match load {
        NetLoad::Stream(stream) => check.inside("stream", |check| {
            if let Some(block) = stream.block {
                size(check, "block", block.0, least(protocol), protocol);
            }
            for (key, passing, can) in [("tx", stream.tx, stream.tx.sends()), ("rx", stream.rx, stream.rx.receives())] {
                let (end, others) = match key {
                    "tx" => ("a sender", "copy, splice, sendfile, zerocopy or io-uring"),
                    _ => ("a receiver", "copy, truncate or io-uring"),
                };
                if !can {
                    check.problem(
                        [key],
                        format!("`{}` is not supported by {end}", passing.name()),
                        format!("use {others}"),
                    );
                } else if passing != Passing::Copy && protocol == Protocol::Udp {
                    check.problem([key], "datagrams are always copied", "leave it out");
                }
            }
        }),
        NetLoad::Rr(trips) => check.inside("rr", |check| self::trips(check, trips)),
        NetLoad::Crr(trips) => check.inside("crr", |check| {
            if !matches!(protocol, Protocol::Tcp | Protocol::Mptcp | Protocol::Sctp) {
                check.problem(
                    ["protocol"],
                    format!("round trips over new connections are not possible over {}", protocol.name()),
                    "use tcp or mptcp, or `rr`",
                );
            }
            self::trips(check, trips);
        }),
    });
    if let (NetLoad::Stream(stream), Pace { open: Some(_), .. }) = (load, &group.pace)
        && matches!(stream.direction, plumb_workload::net::Direction::Receive)
    {
        check.problem(
            ["pace"],
            "a receiver cannot pace what the host sends",
            "use `work.net.stream.rate`, in bytes per second",
        );
    }
}

/// Checks the probe of a phase.
pub(super) fn probe(check: &mut Checker, probe: &Probe) {
    check.inside("probe", |check| {
        address(check, probe.protocol, &probe.to, "to");
        if probe.rate.0 > 100_000.0 {
            check.problem(
                ["rate"],
                format!("{} round trips a second are a load, not a probe", probe.rate.0),
                "use at most `100k/s`; 200/s is usual",
            );
        }
    });
}

fn trips(check: &mut Checker, trips: &TripLoad) {
    size(check, "request", trips.request.0, least(trips.protocol), trips.protocol);
    size(check, "response", trips.response.0, 1, trips.protocol);
    if trips.protocol == Protocol::Udp && trips.response.0 > trips.request.0 {
        check.problem(
            ["response"],
            "a datagram is never answered by a longer one, which a forged sender could direct at others",
            "use a `request` as long as the `response`, or tcp",
        );
    }
    if trips.busy_poll.0 > POLL_NS_MAX {
        check.problem(["busy-poll"], format!("{} is too long for busy polling", trips.busy_poll), "use at most 10ms");
    }
}

fn least(protocol: Protocol) -> u64 {
    if protocol == Protocol::Udp { DATAGRAM_BYTES_MIN.into() } else { 1 }
}

fn size(check: &mut Checker, key: &str, bytes: u64, least: u64, protocol: Protocol) {
    let most = if protocol == Protocol::Udp { DATAGRAM_BYTES_MAX } else { BLOCK_BYTES_MAX };
    if !(least..=most.into()).contains(&bytes) {
        check.problem_at(
            &[key],
            format!("{bytes} bytes are not possible over {}", protocol.name()),
            format!("use {least} to {most} bytes"),
        );
    }
}

fn address(check: &mut Checker, protocol: Protocol, address: &str, key: &str) {
    let prefix = match protocol {
        Protocol::Unix => "unix:",
        Protocol::Vsock => "vsock:",
        _ => "",
    };
    if address.trim().is_empty() {
        check.problem_at(&[key], "no host is named", "give a name or an address, such as `192.0.2.1:5201`");
    } else if !address.starts_with(prefix) {
        check.problem_at(
            &[key],
            format!("`{address}` is not an address of {}", protocol.name()),
            format!("use `{prefix}{}`", if protocol == Protocol::Unix { "PATH" } else { "CID:PORT" }),
        );
    }
}
