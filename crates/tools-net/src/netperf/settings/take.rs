//! Options of netperf, by group of settings.

use super::{
    ControlOptions, DataOptions, Direct, Form, NetperfSettings, NetperfUsageError, OutputOptions, Pair,
    RepetitionOptions, SocketSettings, TestOptions, Unit,
};
use crate::netperf::exchange::{Direction, Length};
use crate::netperf::selectors::list;
use crate::netperf::words::{Value, pair};

/// Largest CPU number in an affinity mask.
pub const PROCESSOR_MAX: u32 = 1023;

/// Name of the test that sends a file.
const SENDFILE: &str = "TCP_SENDFILE";

/// Name of the test that opens and closes connections.
pub(super) const CONNECT_CLOSE: &str = "TCP_CC";

const TESTS: [(&str, Direction, bool, bool); 8] = [
    ("TCP_STREAM", Direction::ToServer, false, false),
    ("TCP_MAERTS", Direction::ToClient, false, false),
    ("TCP_RR", Direction::RoundTrips, false, false),
    ("TCP_CRR", Direction::RoundTrips, false, true),
    (CONNECT_CLOSE, Direction::RoundTrips, false, true),
    ("UDP_STREAM", Direction::ToServer, true, false),
    (SENDFILE, Direction::ToServer, false, false),
    ("UDP_RR", Direction::RoundTrips, true, false),
];

/// The repetitions without `-i` and `-I`.
const ONCE: (u32, u32) = (1, 1);

impl NetperfSettings {
    /// Sets an option before `--`.
    pub(super) fn take_global(&mut self, value: &Value<'_>) -> Result<(), NetperfUsageError> {
        match value.0 {
            'b' => self.notice(value, "Packet burst size is not compiled in. \n"),
            'w' => self.notice(value, "Packet rate control is not compiled in.\n"),
            't' => self.take_name(value)?,
            'T' => self.processor = processors(value)?,
            'Y' => {
                let Pair { local, remote } = pair(value.1);
                let of = |text: Option<&str>| text.map(|text| value.service(text)).transpose();
                self.socket.service = Pair { local: of(local)?, remote: of(remote)? };
            }
            // The server's file, after a comma, has no effect, because the server does not send.
            'F' => self.test.file = value.1.split(',').next().filter(|name| !name.is_empty()).map(str::to_owned),
            'l' => self.test.length = length(value)?,
            _ => {
                self.control.take(value)?;
                self.repetition.take(value)?;
                self.output.take(value)?;
            }
        }
        Ok(())
    }

    /// Sets an option after `--`.
    pub(super) fn take_of_test(&mut self, value: &Value<'_>) -> Result<(), NetperfUsageError> {
        self.test.take(value)?;
        self.data.take(value)?;
        self.socket.take(value)?;
        self.output.take_of_test(value)
    }

    /// Keeps netperf's notice about an option of builds with intervals, unless only the server's value is given.
    fn notice(&mut self, value: &Value<'_>, notice: &'static str) {
        if !value.1.is_empty() && !value.1.starts_with(',') {
            self.notices.push(notice);
            self.ignored.retain(|ignored| ignored.0 != value.0);
        }
    }

    /// Sets the test by its name.
    fn take_name(&mut self, value: &Value<'_>) -> Result<(), NetperfUsageError> {
        let name = value.1.to_ascii_uppercase();
        if name == "OMNI" {
            self.test.is_omni = true;
            self.output.form = Form::Columns(Vec::new());
            return Ok(());
        }
        let found = TESTS.iter().find(|test| test.0 == name);
        let found = found.ok_or_else(|| NetperfUsageError::Test(value.1.to_owned()))?;
        (self.test.direction, self.test.udp, self.test.connects) = (found.1, found.2, found.3);
        self.test.sendfile = name == SENDFILE;
        self.test.only_connects = name == CONNECT_CLOSE;
        Ok(())
    }
}

impl ControlOptions {
    fn take(&mut self, value: &Value<'_>) -> Result<(), NetperfUsageError> {
        match value.0 {
            '4' | '6' => self.is_v6 = Some(value.0 == '6'),
            'H' => {
                if let Some(host) = value.host(&mut self.is_v6)? {
                    self.host = host;
                }
            }
            'L' => self.local = value.host(&mut self.is_v6)?.or(self.local.take()),
            'N' => self.direct = Some(Direct::Named),
            'p' => {
                let (port, local) = value.1.split_once(',').unwrap_or((value.1, ""));
                if !port.is_empty() {
                    self.port = value.small(port, "a port")?;
                }
                if !local.is_empty() {
                    self.local_port = value.small(local, "a port")?;
                }
            }
            's' => self.wait_s = value.small(value.1, "seconds")?,
            'Z' => self.passphrase = Some(value.1.to_owned()),
            _ => {}
        }
        Ok(())
    }
}

impl RepetitionOptions {
    fn take(&mut self, value: &Value<'_>) -> Result<(), NetperfUsageError> {
        match value.0 {
            'D' => {
                let seconds = value.seconds(value.1.split(',').next().unwrap_or_default())?.abs();
                self.interim_s = Some(if seconds > 0.0 { seconds.max(0.001) } else { 1.0 });
            }
            'i' => {
                let Pair { local, remote } = pair(value.1);
                let of = |text: Option<&str>| text.map(|text| value.small::<u32>(text, "how often")).transpose();
                let (most, least) = (of(local)?.unwrap_or(10).clamp(3, 30), of(remote)?.unwrap_or(3).clamp(3, 30));
                self.times = (least.min(most), most.max(least));
                self.confidence = self.confidence.or(Some((99, 5.0)));
            }
            'I' => {
                let (level, width) = value.1.split_once(',').unwrap_or((value.1, "5"));
                let level = value.small::<u32>(level, "95 or 99").ok().filter(|level| [95, 99].contains(level));
                let width = value.seconds(width).ok().filter(|width| *width > 0.0);
                self.confidence = level.zip(width);
                self.confidence.ok_or_else(|| value.invalid("95 or 99, and the width in percent: 99,5"))?;
                if self.times == ONCE {
                    self.times = (3, 10);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl OutputOptions {
    fn take(&mut self, value: &Value<'_>) -> Result<(), NetperfUsageError> {
        let text = value.1;
        match value.0 {
            'B' => text.clone_into(&mut self.brand),
            'c' => self.cpu.local = true,
            'C' => self.cpu.remote = true,
            'f' => {
                let letter = text.chars().next().filter(|&letter| text.len() == 1 && "GMKBgmkbx".contains(letter));
                let letter = letter.ok_or_else(|| value.invalid("one of G M K B g m k b x"))?;
                self.unit = if letter == 'x' { Unit::OfTest } else { Unit::Letter(letter) };
            }
            'P' => self.headers = value.whole(text)? != 0,
            'r' => self.result_only = true,
            'v' => self.verbosity = value.small(text, "a level")?,
            _ => {}
        }
        Ok(())
    }

    fn take_of_test(&mut self, value: &Value<'_>) -> Result<(), NetperfUsageError> {
        match value.0 {
            'k' | 'o' | 'O' => {
                let names = list(value.1).map_err(NetperfUsageError::Selector)?;
                self.form = match value.0 {
                    'k' => Form::Keys(names),
                    'o' => Form::Csv(names),
                    _ => Form::Columns(names),
                };
            }
            'u' => self.uuid = Some(value.1.to_owned()),
            _ => {}
        }
        Ok(())
    }
}

impl TestOptions {
    fn take(&mut self, value: &Value<'_>) -> Result<(), NetperfUsageError> {
        match value.0 {
            'c' => {
                self.connects = true;
                self.direction = Direction::RoundTrips;
            }
            'd' => self.direction = direction(value)?,
            'b' => self.burst = value.small(value.1, "a number of requests")?,
            't' | 'T' => {
                self.udp = match value.1.to_ascii_lowercase().trim_start_matches("sock_") {
                    "stream" | "tcp" => false,
                    "dgram" | "udp" => true,
                    _ => return Err(value.invalid("stream, dgram, tcp or udp")),
                };
            }
            // Responses over UDP always count as lost after 1 s.
            'e' => _ = value.seconds(value.1)?,
            _ => {}
        }
        Ok(())
    }
}

impl DataOptions {
    fn take(&mut self, value: &Value<'_>) -> Result<(), NetperfUsageError> {
        match value.0 {
            '4' | '6' => self.is_v6 = Some(value.0 == '6'),
            'H' => self.hosts.remote = value.host(&mut self.is_v6)?,
            'L' => self.hosts.local = value.host(&mut self.is_v6)?,
            'm' => self.send = value.byte_pair()?,
            'M' => self.receive = value.byte_pair()?,
            'P' => {
                let Pair { local, remote } = pair(value.1);
                let of = |text: Option<&str>| text.map_or(Ok(0), |text| value.small(text, "a port"));
                self.ports = Pair { local: of(local)?, remote: of(remote)? };
            }
            'r' => {
                let Pair { local, remote } = value.byte_pair()?;
                self.trip = [local.unwrap_or(self.trip[0]), remote.unwrap_or(self.trip[1])];
            }
            _ => {}
        }
        Ok(())
    }
}

impl SocketSettings {
    fn take(&mut self, value: &Value<'_>) -> Result<(), NetperfUsageError> {
        match value.0 {
            'D' => {
                let Pair { local, remote } = pair(value.1);
                let is = |text: Option<&str>| text.is_some_and(|text| text != "0");
                self.no_delay = if value.1.is_empty() {
                    Pair { local: true, remote: true }
                } else {
                    Pair { local: is(local), remote: is(remote) }
                };
            }
            'G' => self.segment = Some(value.bytes(value.1)?),
            'K' => {
                let Pair { local, remote } = pair(value.1);
                self.congestion = Pair { local: local.map(str::to_owned), remote: remote.map(str::to_owned) };
            }
            'R' => self.routed = value.whole(value.1)? != 0,
            's' | 'S' => {
                let Pair { local, remote } = value.byte_pair()?;
                let end = if value.0 == 's' { &mut self.buffers.local } else { &mut self.buffers.remote };
                *end = [local, remote];
            }
            _ => {}
        }
        Ok(())
    }
}

fn length(value: &Value<'_>) -> Result<Length, NetperfUsageError> {
    match value.small::<i32>(value.1, "seconds, or a number below 0")? {
        seconds @ 1..=86400 => Ok(Length::Seconds(seconds as u32)),
        count if count < 0 => Ok(Length::Count(count.unsigned_abs().min(i32::MAX as u32))),
        0 => Ok(Length::Seconds(10)),
        _ => Err(value.invalid("at most 86400 seconds")),
    }
}

fn processors(value: &Value<'_>) -> Result<Pair<Option<u32>>, NetperfUsageError> {
    let Pair { local, remote } = pair(value.1);
    let of = |text: Option<&str>| {
        let number = text.map(|text| value.small::<u32>(text, "a processor")).transpose()?;
        match number {
            Some(number) if number > PROCESSOR_MAX => Err(value.invalid("a processor, from 0 to 1023")),
            number => Ok(number),
        }
    };
    Ok(Pair { local: of(local)?, remote: of(remote)? })
}

fn direction(value: &Value<'_>) -> Result<Direction, NetperfUsageError> {
    let mut bits = 0;
    for part in value.1.to_ascii_lowercase().split('|') {
        bits |= match part {
            "send" | "stream" | "xmit" | "transmit" => 2,
            "recv" | "receive" | "maerts" => 4,
            "rr" => 6,
            number => value.small::<u32>(number, "send, recv, rr, or a number")?,
        };
    }
    match bits {
        2 => Ok(Direction::ToServer),
        4 => Ok(Direction::ToClient),
        6 => Ok(Direction::RoundTrips),
        _ => Err(value.invalid("2, 4 or 6")),
    }
}
