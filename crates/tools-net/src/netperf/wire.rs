//! Request, response and results of a test, in their wire format.

use super::exchange::{BYTES_MAX, Cpu, Direction, Length, METHOD, Refused, Request, Response, Results, SECONDS_MAX};
use super::message::{Kind, Message};
use super::{connects, sendfile};
use plumb_workload::net::{BLOCK_BYTES_MAX, DATAGRAM_BYTES_MAX};

pub const PORT: u16 = 12865;

const NO_DELAY: u32 = 1;
const CONNECTS: u32 = 4;
const MEASURE_CPU: u32 = 8;
const ROUTED: u32 = 0x20;
const SENDFILE: u32 = 2;

impl Request {
    /// Returns the kind of the server's messages.
    pub fn reply(&self) -> Kind {
        match self {
            Request { sendfile: true, .. } => Kind::StreamResponse,
            Request { only_connects: true, .. } => Kind::ConnectsResponse,
            _ => Kind::OmniResponse,
        }
    }

    /// Encodes the request.
    pub fn message(&self) -> Message {
        if self.sendfile {
            return sendfile::request(self);
        }
        if self.only_connects {
            return connects::request(self);
        }
        let mut message = Message::new(Kind::Omni, self.processor.map_or(-1, |number| number as i32));
        let size = |value: Option<u32>| value.map_or(-1, |value| value as i32);
        let is_trip = self.direction == Direction::RoundTrips;
        let trip = |value: u32| if is_trip { value as i32 } else { -1 };
        let length = match self.length {
            Length::Seconds(seconds) => seconds as i32,
            Length::Count(count) => -(count as i32),
        };
        let flags =
            [(self.no_delay, NO_DELAY), (self.connects, CONNECTS), (self.cpu, MEASURE_CPU), (self.routed, ROUTED)];
        let flags: u32 = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).sum();
        let family = self.is_v6.map_or(0, |six| if six { 6 } else { 4 });
        let words = [
            (8, size(self.buffers[0])),
            (12, size(self.sizes[0])),
            (16, 8),
            (24, 1),
            (28, trip(self.trip[0])),
            (32, size(self.buffers[1])),
            (36, size(self.sizes[1])),
            (40, 8),
            (48, 1),
            (52, trip(self.trip[1])),
            (56, flags as i32),
            (64, length),
            (76, -1),
            (80, -1),
            (84, -1),
            (88, self.port.into()),
            (92, family),
            (96, if self.udp { 2 } else { 1 }),
            (100, if self.udp { 17 } else { 6 }),
            (
                104,
                match self.direction {
                    Direction::ToClient => 2,
                    Direction::ToServer => 4,
                    Direction::RoundTrips => 6,
                },
            ),
            (108, self.client_port.into()),
            (152, -1),
            (156, self.service.map_or(-1, i32::from)),
        ];
        for (at, value) in words {
            message.set_int(at, value);
        }
        message.set_address(120, self.client);
        message.set_address(136, self.server);
        message.set_text(160, 16, self.congestion.as_deref().unwrap_or_default());
        message
    }

    /// Parses a request, within the limits of a server.
    ///
    /// # Errors
    /// The request is not supported, not allowed, or out of range.
    pub fn read(message: &Message) -> Result<Request, Refused> {
        match message.kind() {
            Some(Kind::Stream) => return sendfile::read_request(message),
            Some(Kind::Connects) => return connects::read_request(message),
            _ => {}
        }
        let (udp, direction) = match (message.word(96), message.word(100)) {
            (1, 0 | 6) => (false, message.word(104)),
            (2, 0 | 17) => (true, message.word(104)),
            _ => return Err(Refused::Unsupported),
        };
        let direction = match direction {
            2 => Direction::ToClient,
            4 => Direction::ToServer,
            6 => Direction::RoundTrips,
            _ => return Err(Refused::Unsupported),
        };
        let most = if udp { DATAGRAM_BYTES_MAX } else { BLOCK_BYTES_MAX };
        let number = |at, most, name| sendfile::number(message, at, most, name);
        let flags = message.word(56);
        let length = match message.int(64) {
            seconds @ 1..=SECONDS_MAX => Length::Seconds(seconds as u32),
            count if count < 0 => Length::Count(count.unsigned_abs().min(i32::MAX as u32)),
            _ => return Err(Refused::Range("the length of the test")),
        };
        let port = |at: usize| u16::try_from(message.word(at)).map_err(|_| Refused::Range("a port"));
        let is_v6 = sendfile::is_v6(message, 92)?;
        if flags & SENDFILE != 0 || message.0[176] != 0 {
            return Err(Refused::Forbidden("a file that a client names"));
        }
        if message.word(112) != 0 || message.word(116) != 0 {
            return Err(Refused::Unsupported);
        }
        Ok(Request {
            direction,
            udp,
            connects: flags & CONNECTS != 0,
            only_connects: false,
            sendfile: false,
            no_delay: flags & NO_DELAY != 0,
            cpu: flags & MEASURE_CPU != 0,
            routed: flags & ROUTED != 0,
            buffers: [number(8, BYTES_MAX, "a buffer")?, number(32, BYTES_MAX, "a buffer")?],
            sizes: [number(12, most, "a size")?, number(36, BYTES_MAX, "a size")?.map(|size| size.min(most))],
            trip: match direction {
                Direction::RoundTrips => {
                    [number(28, most, "a request")?.unwrap_or(1), number(52, most, "a response")?.unwrap_or(1)]
                }
                // Streams have none, whatever the message contains.
                Direction::ToServer | Direction::ToClient => [1, 1],
            },
            length,
            port: port(88)?,
            is_v6,
            client_port: port(108)?,
            client: message.address(120, is_v6 == Some(true)),
            server: message.address(136, is_v6 == Some(true)),
            service: u8::try_from(message.int(156)).ok(),
            processor: message.processor(),
            congestion: Some(message.text(160, 16)).filter(|name| !name.is_empty()),
        })
    }
}

impl Response {
    /// Encodes the response in a message of this kind.
    pub fn message(&self, kind: Kind) -> Message {
        match kind {
            Kind::StreamResponse => return sendfile::response(self),
            Kind::ConnectsResponse => return connects::response(self),
            _ => {}
        }
        let mut message = Message::new(Kind::OmniResponse, 0);
        let size = |value: Option<u32>| value.map_or(-1, |value| value as i32);
        let words = [
            (8, self.buffers[1] as i32),
            (12, size(self.sizes[1])),
            (16, 1),
            (20, self.buffers[0] as i32),
            (24, size(self.sizes[0])),
            (28, 1),
            (32, self.no_delay.into()),
            (52, self.port.into()),
            (72, -1),
            (76, self.service.map_or(-1, i32::from)),
        ];
        for (at, value) in words {
            message.set_int(at, value);
        }
        message
    }

    /// Parses a response.
    ///
    /// # Errors
    /// The port is invalid.
    pub fn read(message: &Message) -> Result<Response, Refused> {
        match message.kind() {
            Some(Kind::StreamResponse) => return sendfile::read_response(message),
            Some(Kind::ConnectsResponse) => return connects::read_response(message),
            _ => {}
        }
        let size = |at: usize| u32::try_from(message.int(at)).ok();
        let port = u16::try_from(message.word(52)).ok().filter(|&port| port > 0);
        Ok(Response {
            buffers: [size(20).unwrap_or(0), size(8).unwrap_or(0)],
            sizes: [size(24), size(12)],
            port: port.ok_or(Refused::Range("the port for data"))?,
            service: u8::try_from(message.int(76)).ok(),
            no_delay: message.word(32) & NO_DELAY != 0,
        })
    }
}

impl Results {
    /// Encodes the results in a message of this kind.
    pub fn message(&self, kind: Kind) -> Message {
        match kind {
            Kind::StreamResponse => return sendfile::results(self),
            Kind::ConnectsResponse => return connects::results(self),
            _ => {}
        }
        let mut message = Message::new(Kind::OmniResponse, 0);
        let few = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        message.set_long(8, self.received.0);
        message.set_long(24, self.sent.0);
        let words = [
            (16, few(self.received.1)),
            (20, self.buffers[1]),
            (32, few(self.sent.1)),
            (36, self.buffers[0]),
            (40, few(self.failed_sends)),
            (44, few(self.trips)),
            (112, self.retransmits.map_or(u32::MAX, few)),
        ];
        for (at, value) in words {
            message.set(at, value);
        }
        let cpu = self.cpu.unwrap_or_default();
        let floats = [self.seconds, if self.cpu.is_some() { cpu.busy } else { -1.0 }];
        for (number, value) in floats.into_iter().chain(cpu.parts).chain([-1.0]).enumerate() {
            message.set_float(48 + 4 * number, value);
        }
        message.set(80, if self.cpu.is_some() { METHOD } else { 0 });
        message.set(84, cpu.count);
        message.set_int(88, -1);
        message.set_float(92, -1.0);
        message.set_text(276, 16, &self.congestion);
        message
    }

    /// Parses the results of a message of this kind. The message's type is ignored, because netserver 2.7.0 sends
    /// its bytes in reverse order.
    pub fn read(message: &Message, kind: Kind) -> Results {
        match kind {
            Kind::StreamResponse => return sendfile::read_results(message),
            Kind::ConnectsResponse => return connects::read_results(message),
            _ => {}
        }
        let long = |at: usize| u64::from(message.word(at));
        let has_cpu = message.word(80) != 0;
        let cpu = || Cpu {
            busy: message.float(52),
            parts: [56, 60, 64, 68, 72].map(|at| message.float(at)),
            count: message.word(84),
        };
        Results {
            received: (message.long(8), long(16)),
            sent: (message.long(24), long(32)),
            failed_sends: long(40),
            trips: long(44),
            seconds: message.float(48),
            buffers: [message.word(36), message.word(20)],
            cpu: has_cpu.then(cpu),
            retransmits: u64::try_from(message.int(112)).ok(),
            congestion: message.text(276, 16),
        }
    }
}
