//! Lowers parameters to the work of a stream.

use super::params::Params;
use plumb_workload::PerSecond;
use plumb_workload::net::{DatagramForm, NetOp, NetWork, Passing, Transport};

/// Returns the work of a sending or a receiving end. `trains` states whether both ends support trains of datagrams.
pub fn flow(params: &Params, sends: bool, trains: bool) -> NetWork {
    let transport = if params.transport.udp { Transport::Udp } else { Transport::Tcp };
    let op = match (params.trips.response > 0, params.trips.connects) {
        (false, _) => NetOp::Send,
        (true, false) => NetOp::Request,
        (true, true) => NetOp::Connect,
    };
    let op = if sends { op } else { op.peer() };
    // The rate of round trips is their number per second.
    let unit = if params.trips.response > 0 { 1.0 } else { 8.0 };
    let rate = params.pace.rate.filter(|&rate| rate > 0).map(|rate| PerSecond(rate as f64 / unit));
    NetWork {
        rate,
        response: params.trips.response.max(1),
        burst: params.pace.burst,
        passing: match (params.passing.lend && sends, params.passing.drop && !sends) {
            (true, _) => Passing::Lend,
            (_, true) => Passing::Drop,
            _ if params.trips.response > 0 => Passing::Copy,
            _ if sends => params.passing.tx,
            _ => params.passing.rx,
        },
        poll_us: params.trips.poll_us,
        form: if params.passing.wide { DatagramForm::Iperf3Wide } else { DatagramForm::Iperf3 },
        repeats: params.passing.repeats,
        trains: params.passing.trains || trains,
        ..NetWork::stream(op, transport, params.flow.block)
    }
}
