//! Lowers a test to the work of one end.

use super::exchange::{Direction, Length, Request};
use super::settings::NetperfSettings;
use plumb_workload::net::{BLOCK_BYTES_MAX, DATAGRAM_BYTES_MAX, NetOp, NetWork, Passing, Transport};
use std::net::IpAddr;

/// Returns the work of an end. `sizes` are its bytes per send and per receive.
pub fn flow(request: &Request, is_server: bool, sizes: [u32; 2]) -> NetWork {
    let transport = if request.udp { Transport::Udp } else { Transport::Tcp };
    let op = match (request.direction, request.connects && !request.udp) {
        (Direction::ToServer, _) => NetOp::Send,
        (Direction::ToClient, _) => NetOp::Receive,
        (Direction::RoundTrips, false) => NetOp::Request,
        (Direction::RoundTrips, true) => NetOp::Connect,
    };
    let op = if is_server { op.peer() } else { op };
    let most = if request.udp { DATAGRAM_BYTES_MAX } else { BLOCK_BYTES_MAX };
    let (block, response) = match op {
        NetOp::Send => (sizes[0], 1),
        NetOp::Receive => (sizes[1], 1),
        _ => (request.trip[0], request.trip[1]),
    };
    let work = NetWork::stream(op, transport, block.clamp(1, most));
    let passing = if request.sendfile && !is_server { Passing::SendFile } else { Passing::Copy };
    // netperf's sizes are those of calls.
    NetWork {
        response: response.clamp(1, most),
        bare: request.udp,
        apart: true,
        passing,
        only_connects: request.only_connects,
        ..work
    }
}

/// Returns the bytes of a request and of its response that move. `trip` holds the requested sizes.
pub fn trip_bytes(trip: [u32; 2], only_connects: bool) -> [u32; 2] {
    if only_connects { [0, 0] } else { trip }
}

/// Returns the number of ops after which the leading end is done; unlimited if time ends the test.
pub fn length_ops(length: Length, work: &NetWork) -> u64 {
    match (length, work.op) {
        (Length::Seconds(_), _) => u64::MAX,
        (Length::Count(bytes), NetOp::Send) => u64::from(bytes.div_ceil(work.block)),
        (Length::Count(count), _) => count.into(),
    }
}

impl NetperfSettings {
    /// Returns the request to the server. It contains addresses for data that differ from the control connection's.
    pub fn request(&self, client: (Option<IpAddr>, u16), server: Option<IpAddr>, is_v6: bool) -> Request {
        let to_client = self.test.direction == Direction::ToClient;
        Request {
            direction: self.test.direction,
            udp: self.test.udp,
            connects: self.test.connects,
            only_connects: self.test.only_connects,
            sendfile: self.test.sendfile,
            no_delay: self.socket.no_delay.remote,
            cpu: self.output.cpu.remote,
            routed: self.socket.routed,
            buffers: self.socket.buffers.remote,
            sizes: [self.data.send.remote.filter(|_| to_client), self.data.receive.remote.filter(|_| !to_client)],
            trip: self.data.trip,
            length: self.test.length,
            port: self.data.ports.remote,
            is_v6: Some(is_v6),
            client_port: client.1,
            client: client.0,
            server,
            service: self.socket.service.remote,
            congestion: self.socket.congestion.remote.clone(),
            processor: self.processor.remote,
        }
    }
}
