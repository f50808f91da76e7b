//! From parameters to the work of a stream.

use super::params::Params;
use plumb_workload::PerSecond;
use plumb_workload::net::{DatagramForm, NetOp, NetWork, Passing, Transport};

/// The work of an end that sends, or of one that receives. `trains`: both ends take datagrams in trains.
pub fn flow(params: &Params, sends: bool, trains: bool) -> NetWork {
    let transport = if params.udp { Transport::Udp } else { Transport::Tcp };
    let op = match (params.response > 0, params.connects) {
        (false, _) => NetOp::Send,
        (true, false) => NetOp::Request,
        (true, true) => NetOp::Connect,
    };
    let op = if sends { op } else { op.peer() };
    // Of round trips, the rate is their number.
    let unit = if params.response > 0 { 1.0 } else { 8.0 };
    let rate = params.rate.filter(|&rate| rate > 0).map(|rate| PerSecond(rate as f64 / unit));
    NetWork {
        rate,
        response: params.response.max(1),
        burst: params.burst,
        passing: match (params.lend && sends, params.drop && !sends) {
            (true, _) => Passing::Lend,
            (_, true) => Passing::Drop,
            _ if params.response > 0 => Passing::Copy,
            _ if sends => params.tx,
            _ => params.rx,
        },
        poll_us: params.poll_us,
        form: if params.wide { DatagramForm::Iperf3Wide } else { DatagramForm::Iperf3 },
        repeats: params.repeats,
        trains: params.trains || trains,
        ..NetWork::stream(op, transport, params.block)
    }
}
