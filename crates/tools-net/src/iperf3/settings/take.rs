//! Options of a command line, by group of settings.

use super::{Client, Iperf3Settings, Iperf3UsageError, Server};
use crate::iperf3::auth::Padding;
use crate::iperf3::format::{Unit, number};
use crate::iperf3::params::{
    FLOW_LABEL_MAX, FlowParams, PaceParams, Params, PassingParams, ReportParams, SocketParams, TestEnd,
};
use crate::iperf3::values::{at_device, byte_of, c_number, port, service_of};

/// Largest CPU number. Source: `CPU_SETSIZE` of sched.h.
const PROCESSOR_MAX: u32 = 1023;

/// An option and its value.
pub(super) struct Given<'a> {
    pub(super) name: &'static str,
    /// Empty for an option without a value.
    pub(super) value: &'a str,
    pub(super) is_server: bool,
}

impl Given<'_> {
    fn invalid(&self, expected: &'static str) -> Iperf3UsageError {
        Iperf3UsageError::Value { name: self.name, given: self.value.to_owned(), expected }
    }

    /// Parses a number up to `most`, whose suffixes are powers of `base`.
    fn ranged(&self, base: f64, most: f64, expected: &'static str) -> Result<f64, Iperf3UsageError> {
        number(self.value, base).filter(|&number| number <= most).ok_or_else(|| self.invalid(expected))
    }

    fn size(&self, most: u64, expected: &'static str) -> Result<u64, Iperf3UsageError> {
        self.ranged(1024.0, most as f64, expected).map(|number| number as u64)
    }

    /// Parses a host. Its interface name goes to `device`.
    pub(super) fn host(&self, device: &mut Option<String>) -> String {
        at_device(self.value, device)
    }

    /// Parses the CPU of this end, and that of the server.
    pub(super) fn processors(&self, own: &mut Option<u32>, far: &mut Option<u32>) -> Result<(), Iperf3UsageError> {
        let (here, there) =
            self.value.split_once([',', '/']).map_or((self.value, None), |(here, there)| (here, Some(there)));
        let processor = |text: &str| text.parse().ok().filter(|&number| number <= PROCESSOR_MAX);
        let expected = "a processor, such as 0, or two, such as 0,1";
        *own = Some(processor(here).ok_or_else(|| self.invalid(expected))?);
        *far = there.map(|there| processor(there).ok_or_else(|| self.invalid(expected))).transpose()?.or(*far);
        if there.is_some() && self.is_server {
            return Err(Iperf3UsageError::Parameter("some option you are trying to set is client only"));
        }
        Ok(())
    }
}

impl Iperf3Settings {
    /// Sets an option of both ends.
    pub(super) fn take(&mut self, given: &Given<'_>) -> Result<(), Iperf3UsageError> {
        match given.name {
            "port" => self.port = port(given.value).ok_or_else(|| given.invalid("a port is from 1 to 65535"))?,
            "format" => {
                self.unit =
                    Unit::from_letter(given.value).ok_or_else(|| given.invalid("use one of k, m, g, t, K, M, G, T"))?
            }
            "interval" => {
                let expected = "use 0, or from 0.1 to 60 seconds";
                self.interval_s = given.ranged(1.0, 60.0, expected)?;
                if self.interval_s > 0.0 && self.interval_s < 0.1 {
                    return Err(given.invalid(expected));
                }
            }
            "pidfile" => self.pid_file = Some(given.value.to_owned()),
            "bind" => self.bind = Some(given.host(&mut self.device)),
            "bind-dev" => self.device = Some(given.value.to_owned()),
            "file" => self.file = Some(given.value.to_owned()),
            "rcv-timeout" => {
                let expected = "milliseconds, from 100 to 86400000";
                self.receive_ms = given.ranged(1.0, 864e5, expected)? as u64;
                if self.receive_ms < 100 {
                    return Err(given.invalid(expected));
                }
            }
            "snd-timeout" => self.send_ms = Some(given.ranged(1.0, 864e5, "milliseconds, at most 86400000")? as u32),
            "cntl-ka" => {
                for (part, into) in given.value.split('/').zip(&mut self.keep_alive) {
                    let number = part.parse().ok().filter(|number| (1..=32767).contains(number));
                    *into = match part {
                        "" => None,
                        _ => Some(number.ok_or_else(|| given.invalid("idle/interval/count, such as 20/5/3"))?),
                    };
                }
            }
            "timestamps" => {
                self.stamp = Some(if given.value.is_empty() { "%c ".to_owned() } else { given.value.to_owned() })
            }
            "logfile" => self.log = Some(given.value.to_owned()),
            "version4" => self.is_v6 = Some(false),
            "version6" => self.is_v6 = Some(true),
            "use-pkcs1-padding" => self.padding = Padding::Pkcs1,
            _ => {}
        }
        Ok(())
    }
}

impl Server {
    /// Sets an option of the server.
    pub(super) fn take(&mut self, given: &Given<'_>) -> Result<(), Iperf3UsageError> {
        match given.name {
            "server-bitrate-limit" => {
                let (rate, seconds) = given.value.split_once('/').unwrap_or((given.value, "5"));
                let rate = number(rate, 1000.0).ok_or_else(|| given.invalid("bits per second, such as 1G"))?;
                let seconds = seconds.parse().ok().filter(|seconds| (1..=1000).contains(seconds));
                self.rate_seconds = seconds.ok_or_else(|| given.invalid("the mean is of 1 to 1000 seconds"))?;
                self.rate_limit = Some(rate as u64).filter(|&rate| rate > 0);
            }
            "server-max-duration" => {
                self.time_limit = Some(given.ranged(1.0, 86400.0, "at most 86400 seconds")? as u32);
            }
            "idle-timeout" => {
                self.idle_s =
                    Some(given.ranged(1.0, 86400.0, "at most 86400 seconds")? as u32).filter(|&idle| idle > 0);
            }
            "rsa-private-key-path" => self.key = Some(given.value.to_owned()),
            "authorized-users-path" => self.users = Some(given.value.to_owned()),
            "time-skew-threshold" => self.skew_s = given.ranged(1.0, 86400.0, "at most 86400 seconds")? as u64,
            _ => {}
        }
        Ok(())
    }
}

impl Client {
    /// Returns a client without any options.
    pub(super) fn new() -> Client {
        let params = Params::default();
        Client { host: String::new(), params, client_port: None, connect_ms: None, user: None, key: None }
    }

    /// Sets an option of the client.
    pub(super) fn take(&mut self, given: &Given<'_>) -> Result<(), Iperf3UsageError> {
        match given.name {
            "cport" => {
                self.client_port = Some(port(given.value).ok_or_else(|| given.invalid("a port is from 1 to 65535"))?);
            }
            "username" => self.user = Some(given.value.to_owned()),
            "rsa-public-key-path" => self.key = Some(given.value.to_owned()),
            // 0 means no limit, as in iperf3.
            "connect-timeout" => {
                self.connect_ms =
                    Some(given.ranged(1024.0, 1e9, "milliseconds")? as u64).filter(|milliseconds| *milliseconds > 0);
            }
            _ => self.params.take(given)?,
        }
        Ok(())
    }
}

impl Params {
    fn take(&mut self, given: &Given<'_>) -> Result<(), Iperf3UsageError> {
        if given.name == "mptcp" {
            self.transport.multipath = true;
        }
        self.end.take(given)?;
        self.flow.take(given, self.transport.udp)?;
        self.pace.take(given)?;
        self.socket.take(given)?;
        self.passing.take(given);
        self.report.take(given);
        Ok(())
    }
}

impl TestEnd {
    fn take(&mut self, given: &Given<'_>) -> Result<(), Iperf3UsageError> {
        match given.name {
            "time" => self.time_s = Some(given.ranged(1.0, 86400.0, "at most 86400 seconds")? as u32),
            "bytes" => self.bytes = given.size(u64::MAX >> 1, "bytes, such as 1G")?,
            "blockcount" => self.blocks = given.size(u64::MAX >> 1, "blocks, such as 1K")?,
            "omit" => self.omit_s = given.ranged(1.0, 600.0, "at most 600 seconds")? as u32,
            _ => {}
        }
        Ok(())
    }
}

impl FlowParams {
    fn take(&mut self, given: &Given<'_>, udp: bool) -> Result<(), Iperf3UsageError> {
        match given.name {
            "length" => {
                self.block = given.size(1 << 20, "at most 1M")? as u32;
                // 0 means the default: 128 KiB, or for UDP the segment size of the control connection.
                if udp && self.block > 0 && !(16..=65507).contains(&self.block) {
                    return Err(given.invalid("from 1 to 1M, and with -u from 16 to 65507"));
                }
            }
            "parallel" => {
                self.streams = given.ranged(1.0, 128.0, "from 1 to 128")? as u32;
                if self.streams == 0 {
                    return Err(given.invalid("from 1 to 128"));
                }
            }
            "reverse" => self.reverse = true,
            "bidir" => self.bidir = true,
            _ => {}
        }
        Ok(())
    }
}

impl PaceParams {
    fn take(&mut self, given: &Given<'_>) -> Result<(), Iperf3UsageError> {
        match given.name {
            "fq-rate" => {
                let rate = number(given.value, 1000.0).ok_or_else(|| given.invalid("bits per second, such as 100M"))?;
                self.kernel_rate = Some(rate as u64).filter(|&rate| rate > 0);
            }
            "bitrate" => {
                let (rate, burst) = given.value.split_once('/').unwrap_or((given.value, "1"));
                let rate = number(rate, 1000.0).ok_or_else(|| given.invalid("bits per second, such as 100M"))?;
                self.rate = Some(rate as u64);
                let burst = burst.parse().ok().filter(|burst| (1..=1000).contains(burst));
                self.burst = burst.ok_or_else(|| given.invalid("a burst is from 1 to 1000 blocks"))?;
            }
            _ => {}
        }
        Ok(())
    }
}

impl SocketParams {
    fn take(&mut self, given: &Given<'_>) -> Result<(), Iperf3UsageError> {
        match given.name {
            "window" => self.window = Some(given.size(512 << 20, "at most 512M")? as u32),
            "congestion" => self.congestion = Some(given.value.to_owned()),
            "set-mss" => self.segment = Some(given.ranged(1.0, 32767.0, "at most 32767")? as u32),
            "no-delay" => self.no_delay = true,
            "tos" => {
                self.service = byte_of(given.value).ok_or_else(|| given.invalid("from 0 to 255"))?;
            }
            "dscp" => {
                self.service =
                    service_of(given.value).ok_or_else(|| given.invalid("from 0 to 63, or a name such as ef"))?
            }
            "flowlabel" => {
                let label = c_number(given.value).filter(|label| (1..=FLOW_LABEL_MAX).contains(label));
                self.flow_label = Some(label.ok_or_else(|| given.invalid("from 1 to 1048575"))?);
            }
            "dont-fragment" => self.whole = true,
            _ => {}
        }
        Ok(())
    }
}

impl PassingParams {
    fn take(&mut self, given: &Given<'_>) {
        match given.name {
            "repeating-payload" => self.repeats = true,
            "zerocopy" => self.lend = true,
            "skip-rx-copy" => self.drop = true,
            "gsro" => self.trains = true,
            "udp-counters-64bit" => self.wide = true,
            _ => {}
        }
    }
}

impl ReportParams {
    fn take(&mut self, given: &Given<'_>) {
        match given.name {
            "title" => self.title = Some(given.value.to_owned()),
            "extra-data" => self.extra_data = Some(given.value.to_owned()),
            "get-server-output" => self.get_output = true,
            _ => {}
        }
    }
}
