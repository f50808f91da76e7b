//! Messages of `TCP_CC`. Like `TCP_SENDFILE`, this test still has its own messages in netperf. Source: captures of
//! 2.7.0.

use super::exchange::{BYTES_MAX, Cpu, Direction, Length, Refused, Request, Response, Results, SECONDS_MAX};
use super::message::{Kind, Message};
use super::sendfile::{is_v6, number, size, with};
use plumb_workload::net::BLOCK_BYTES_MAX;

pub(super) fn request(request: &Request) -> Message {
    let length = match request.length {
        Length::Seconds(seconds) => seconds as i32,
        Length::Count(count) => -(count as i32),
    };
    let words = [
        (8, size(request.buffers[1])),
        (12, size(request.buffers[0])),
        (16, 8),
        (24, 8),
        (32, request.trip[0] as i32),
        (36, request.trip[1] as i32),
        (40, request.no_delay.into()),
        (44, request.cpu.into()),
        (52, length),
        (64, request.port.into()),
        (68, request.is_v6.map_or(0, |six| if six { 6 } else { 4 })),
    ];
    with(Kind::Connects, request.processor.map_or(-1, |number| number as i32), &words)
}

pub(super) fn read_request(message: &Message) -> Result<Request, Refused> {
    let number = |at, most, name| number(message, at, most, name);
    let size = |at: usize| number(at, BLOCK_BYTES_MAX, "a size").map(|size| size.unwrap_or(1));
    Ok(Request {
        direction: Direction::RoundTrips,
        udp: false,
        connects: true,
        only_connects: true,
        sendfile: false,
        no_delay: message.word(40) != 0,
        cpu: message.word(44) != 0,
        routed: true,
        buffers: [number(12, BYTES_MAX, "a buffer")?, number(8, BYTES_MAX, "a buffer")?],
        sizes: [None, None],
        trip: [size(32)?, size(36)?],
        length: match message.int(52) {
            seconds @ 1..=SECONDS_MAX => Length::Seconds(seconds as u32),
            count if count < 0 => Length::Count(count.unsigned_abs().min(i32::MAX as u32)),
            _ => return Err(Refused::Range("the length of the test")),
        },
        port: u16::try_from(message.word(64)).map_err(|_| Refused::Range("a port"))?,
        is_v6: is_v6(message, 68)?,
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
        (12, response.no_delay.into()),
        (24, response.buffers[0] as i32),
        (28, response.port.into()),
    ];
    with(Kind::ConnectsResponse, 0, &words)
}

pub(super) fn read_response(message: &Message) -> Result<Response, Refused> {
    let port = u16::try_from(message.word(28)).ok().filter(|&port| port > 0);
    let size = |at: usize| u32::try_from(message.int(at)).unwrap_or(0);
    Ok(Response {
        buffers: [size(24), size(8)],
        sizes: [None, None],
        port: port.ok_or(Refused::Range("the port for data"))?,
        service: None,
        no_delay: message.word(12) != 0,
    })
}

pub(super) fn results(results: &Results) -> Message {
    let mut message = Message::new(Kind::ConnectsResponse, 0);
    message.set(16, u32::try_from(results.trips).unwrap_or(u32::MAX));
    message.set_float(20, results.seconds);
    if let Some(cpu) = results.cpu {
        message.set_float(24, cpu.busy);
        message.set(36, cpu.count);
    }
    message
}

pub(super) fn read_results(message: &Message) -> Results {
    let cpu = Cpu { busy: message.float(24), count: message.word(36), ..Cpu::default() };
    Results {
        trips: message.word(16).into(),
        seconds: message.float(20),
        // A server that was not asked to measure its CPUs reports 0 of them.
        cpu: (cpu.count > 0).then_some(cpu),
        ..Results::default()
    }
}
