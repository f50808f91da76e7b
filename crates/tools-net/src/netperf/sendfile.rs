//! Messages of `TCP_SENDFILE`. This test still has its own messages in netperf. Source: captures of 2.7.0.

use super::exchange::{BYTES_MAX, Cpu, Direction, Length, METHOD, Refused, Request, Response, Results, SECONDS_MAX};
use super::message::{Kind, Message};
use plumb_workload::net::BLOCK_BYTES_MAX;

/// Encodes a size; -1 if it is not given.
pub(super) fn size(value: Option<u32>) -> i32 {
    value.map_or(-1, |value| value as i32)
}

/// Returns a message with these words, each at its offset.
pub(super) fn with(kind: Kind, second: i32, words: &[(usize, i32)]) -> Message {
    let mut message = Message::new(kind, second);
    for &(at, value) in words {
        message.set_int(at, value);
    }
    message
}

/// Reads a number of at most `most`; `None` if it is not given.
pub(super) fn number(message: &Message, at: usize, most: u32, name: &'static str) -> Result<Option<u32>, Refused> {
    match message.int(at) {
        value if value <= 0 => Ok(None),
        value if value as u32 <= most => Ok(Some(value as u32)),
        _ => Err(Refused::Range(name)),
    }
}

/// Reads whether the address family is IPv6; `None` if it is not given.
pub(super) fn is_v6(message: &Message, at: usize) -> Result<Option<bool>, Refused> {
    match message.word(at) {
        0 => Ok(None),
        4 => Ok(Some(false)),
        6 => Ok(Some(true)),
        _ => Err(Refused::Unsupported),
    }
}

pub(super) fn request(request: &Request) -> Message {
    let (Length::Seconds(length) | Length::Count(length)) = request.length;
    let words = [
        (8, size(request.buffers[0])),
        (12, size(request.buffers[1])),
        // 0: as many as the buffer has.
        (16, request.sizes[1].unwrap_or(0) as i32),
        (20, 8),
        (28, request.no_delay.into()),
        (32, request.cpu.into()),
        (40, length as i32),
        (60, request.port.into()),
        (64, request.is_v6.map_or(0, |six| if six { 6 } else { 4 })),
    ];
    with(Kind::Stream, request.processor.map_or(-1, |number| number as i32), &words)
}

/// Parses the request. The server receives until the client ends the test: the length
/// states neither seconds nor bytes.
pub(super) fn read_request(message: &Message) -> Result<Request, Refused> {
    let number = |at, most, name| number(message, at, most, name);
    Ok(Request {
        direction: Direction::ToServer,
        udp: false,
        connects: false,
        sendfile: true,
        no_delay: message.word(28) != 0,
        cpu: message.word(32) != 0,
        routed: true,
        buffers: [number(8, BYTES_MAX, "a buffer")?, number(12, BYTES_MAX, "a buffer")?],
        sizes: [None, number(16, BYTES_MAX, "a size")?.map(|size| size.min(BLOCK_BYTES_MAX))],
        trip: [1, 1],
        only_connects: false,
        length: Length::Seconds(SECONDS_MAX as u32),
        port: u16::try_from(message.word(60)).map_err(|_| Refused::Range("a port"))?,
        is_v6: is_v6(message, 64)?,
        client_port: 0,
        client: None,
        server: None,
        service: None,
        congestion: None,
        processor: message.processor(),
    })
}

pub(super) fn response(response: &Response) -> Message {
    let words = [
        (8, response.buffers[1] as i32),
        (12, response.sizes[1].unwrap_or(0) as i32),
        (16, response.no_delay.into()),
        (28, response.buffers[0] as i32),
        (32, response.port.into()),
    ];
    with(Kind::StreamResponse, 0, &words)
}

pub(super) fn read_response(message: &Message) -> Result<Response, Refused> {
    let port = u16::try_from(message.word(32)).ok().filter(|&port| port > 0);
    let size = |at: usize| u32::try_from(message.int(at)).ok();
    Ok(Response {
        buffers: [size(28).unwrap_or(0), size(8).unwrap_or(0)],
        sizes: [None, size(12)],
        port: port.ok_or(Refused::Range("the port for data"))?,
        service: None,
        no_delay: message.word(16) != 0,
    })
}

pub(super) fn results(results: &Results) -> Message {
    let mut message = Message::new(Kind::StreamResponse, 0);
    message.set_long(8, (results.received.0 as f64).to_bits());
    message.set(16, u32::try_from(results.received.1).unwrap_or(u32::MAX));
    message.set_float(20, results.seconds);
    if let Some(cpu) = results.cpu {
        message.set_float(24, cpu.busy);
        message.set(32, METHOD);
        message.set(36, cpu.count);
    }
    message
}

pub(super) fn read_results(message: &Message) -> Results {
    let bytes = f64::from_bits(message.long(8));
    let cpu = || Cpu { busy: message.float(24), count: message.word(36), ..Cpu::default() };
    Results {
        // NaN becomes 0.
        received: (bytes as u64, message.word(16).into()),
        seconds: message.float(20),
        cpu: (message.word(32) != 0).then(cpu),
        ..Results::default()
    }
}
