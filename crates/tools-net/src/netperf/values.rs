//! Values of selectors, in netperf's format.

use super::exchange::Direction;
use super::print::{End, Report};
use super::settings::{Direct, Pair};
use plumb_result::Histogram;

impl Report<'_> {
    /// Returns the value of a selector; `None` if it is unknown. Values that netperf no longer
    /// measures have netperf's fixed text.
    pub(super) fn value(&self, name: &str) -> Option<String> {
        if let Some(rest) = name.strip_prefix("LOCAL_") {
            return Some(self.of_end(&self.local, 0, rest));
        }
        if let Some(rest) = name.strip_prefix("REMOTE_") {
            return Some(self.of_end(&self.remote, 1, rest));
        }
        let settings = self.settings;
        if let Some((which, rest)) = name.split_once("_SIZE").filter(|(which, _)| which.len() == 3) {
            let end = if which.starts_with('L') { &self.local } else { &self.remote };
            let direction = usize::from(which.ends_with('R'));
            let bytes = end.buffers[match rest {
                "_REQ" => 0,
                "_END" => 2,
                _ => 1,
            }][direction];
            return Some(bytes.map_or(-1, i64::from).to_string());
        }
        let confidence = self.confidence;
        let width = |at: usize| format!("{:.3}", confidence.map_or(-1.0, |confidence| confidence.widths[at]));
        let trip_rate = self.trips as f64 / self.seconds.max(1e-9);
        let trips = settings.is_trips();
        // If requests overlap, only the rate shows their duration.
        let is_timed = settings.test.burst == 0;
        let us = |ns: Option<u64>| ns.filter(|_| is_timed).map_or(-1, |ns| (ns / 1000) as i64).to_string();
        Some(match name {
            "SOCKET_TYPE" => if settings.test.udp { "Datagram" } else { "Stream" }.to_owned(),
            "PROTOCOL" => if settings.test.udp { "UDP" } else { "TCP" }.to_owned(),
            "DIRECTION" => match settings.test.direction {
                Direction::ToServer => "Send",
                Direction::ToClient => "Receive",
                Direction::RoundTrips if settings.test.connects => "Connect|Send|Recv",
                Direction::RoundTrips => "Send|Recv",
            }
            .to_owned(),
            "ELAPSED_TIME" => format!("{:.2}", self.seconds),
            "THROUGHPUT" => format!("{:.2}", self.throughput),
            "THROUGHPUT_UNITS" => settings.unit_text(),
            "REQUEST_SIZE" | "RESPONSE_SIZE" if !trips => "-1".to_owned(),
            "REQUEST_SIZE" => settings.data.trip[0].to_string(),
            "RESPONSE_SIZE" => settings.data.trip[1].to_string(),
            "SD_UNITS" => if trips { "usec/Tran" } else { "usec/KB" }.to_owned(),
            "CONFIDENCE_LEVEL" => confidence.map_or(0, |confidence| confidence.asked.0).to_string(),
            "CONFIDENCE_INTERVAL" => format!("{:.6}", confidence.map_or(-1.0, |confidence| confidence.asked.1)),
            "CONFIDENCE_ITERATION" => confidence.map_or(1, |confidence| confidence.times).to_string(),
            "THROUGHPUT_CONFID" => width(0),
            "TRANSACTION_RATE" => format!("{:.3}", if trips { trip_rate } else { 1.0 }),
            "RT_LATENCY" => format!("{:.3}", if trips { self.round_trip_us() } else { -1.0 }),
            "BURST_SIZE" => "0".to_owned(),
            "TRANSPORT_MSS" => self.segment.map_or(-1, i64::from).to_string(),
            "SOURCE_PORT" => self.source.1.to_string(),
            "SOURCE_ADDR" => self.source.0.clone(),
            "DEST_PORT" => match settings.control.direct {
                Some(Direct::Usual(name)) => name.to_owned(),
                _ => self.target.1.to_string(),
            },
            "DEST_ADDR" => self.target.0.clone(),
            "SOURCE_FAMILY" | "DEST_FAMILY" => if self.is_v6 { "10" } else { "2" }.to_owned(),
            "RESULT_BRAND" if settings.output.brand.is_empty() => return None,
            "RESULT_BRAND" => format!("\"{}\"", settings.output.brand),
            "UUID" => self.uuid.clone(),
            "MIN_LATENCY" => us(self.times.min()),
            "MAX_LATENCY" => us(self.times.max()),
            "P50_LATENCY" => us(self.times.quantile(0.5)),
            "P90_LATENCY" => us(self.times.quantile(0.9)),
            "P99_LATENCY" => us(self.times.quantile(0.99)),
            "MEAN_LATENCY" => format!("{:.2}", self.times.mean().filter(|_| is_timed).map_or(-1.0, |ns| ns / 1e3)),
            "STDDEV_LATENCY" => format!("{:.2}", if is_timed { deviation(&self.times) / 1e3 } else { -1.0 }),
            "COMMAND_LINE" => format!("\"{}\"", settings.words),
            _ => return None,
        })
    }

    fn of_end(&self, end: &End, number: usize, rest: &str) -> String {
        let settings = self.settings;
        let ([sends, receives], cpu) = (end.sizes, end.cpu.unwrap_or_default());
        let per =
            |(bytes, calls): (u64, u64)| format!("{:.2}", if calls > 0 { bytes as f64 / calls as f64 } else { 0.0 });
        let part = |at: usize| format!("{:.2}", cpu.parts[at]);
        let count = |value: Option<u64>| value.map_or(-1, |value| value as i64).to_string();
        match rest {
            "BYTES_XFERD" if end.is_silent => self.far_bytes().unwrap_or_default().to_string(),
            "SEND_ALIGN" | "RECV_ALIGN" | "SEND_OFFSET" | "RECV_OFFSET" | "NODELAY" if end.is_silent => "-1".to_owned(),
            "SEND_WIDTH" | "RECV_WIDTH" if end.is_silent => "0".to_owned(),
            "TRANSPORT_RETRANS" if end.is_silent => "-2".to_owned(),
            "SEND_SIZE" => sends.to_string(),
            "RECV_SIZE" => receives.to_string(),
            "CPU_UTIL" => format!("{:.2}", Self::busy(end).0),
            "CPU_PERCENT_USER" => part(0),
            "CPU_PERCENT_SYSTEM" => part(1),
            "CPU_PERCENT_IOWAIT" => part(2),
            "CPU_PERCENT_IRQ" => part(3),
            "CPU_PERCENT_SWINTR" => part(4),
            "CPU_METHOD" => Self::busy(end).1.to_string(),
            "CPU_COUNT" => cpu.count.to_string(),
            "CPU_PEAK_UTIL" => "-1.00".to_owned(),
            "CPU_BIND" => {
                let Pair { local, remote } = settings.processor;
                [local, remote][number].map_or(-1, i64::from).to_string()
            }
            "CPU_PEAK_ID" | "SOCKET_PRIO" => "-1".to_owned(),
            "SEND_DIRTY_COUNT" | "RECV_DIRTY_COUNT" | "RECV_CLEAN_COUNT" => "-1".to_owned(),
            "SD" => format!("{:.3}", self.demands()[number]),
            "CPU_CONFID" => format!("{:.3}", self.confidence.map_or(-1.0, |confidence| confidence.widths[number + 1])),
            "TRANSPORT_RETRANS" => count(end.retransmits),
            "SEND_THROUGHPUT" => format!("{:.2}", self.rate(end.sent.0)),
            "RECV_THROUGHPUT" => format!("{:.2}", self.rate(end.received.0)),
            "SEND_CALLS" => end.sent.1.to_string(),
            "RECV_CALLS" => end.received.1.to_string(),
            "BYTES_PER_RECV" => per(end.received),
            "BYTES_PER_SEND" => per(end.sent),
            "BYTES_SENT" => end.sent.0.to_string(),
            "BYTES_RECVD" => end.received.0.to_string(),
            "BYTES_XFERD" => (end.sent.0 + end.received.0).to_string(),
            "SEND_ALIGN" | "RECV_ALIGN" => "8".to_owned(),
            "SEND_WIDTH" | "RECV_WIDTH" => "1".to_owned(),
            "NODELAY" => u8::from(end.no_delay).to_string(),
            "SOCKET_TOS" => end.service.map_or_else(|| "0xffffffff".to_owned(), |tos| format!("0x{tos:02x}")),
            "CONG_CONTROL" if settings.test.udp => String::new(),
            "CONG_CONTROL" => end.congestion.clone(),
            "FILL_FILE" => String::new(),
            "INTERFACE_VENDOR" | "INTERFACE_DEVICE" | "INTERFACE_SUBVENDOR" | "INTERFACE_SUBDEVICE" => {
                "0xfffffffe".to_owned()
            }
            "CORK"
            | "SEND_OFFSET"
            | "RECV_OFFSET"
            | "CPU_FREQUENCY"
            | "INTERVAL_USECS"
            | "INTERVAL_BURST"
            | "SECURITY_TYPE_ID"
            | "SECURITY_ENABLED_NUM" => "0".to_owned(),
            _ => "Deprecated".to_owned(),
        }
    }
}

/// Returns the standard deviation, from the middles of the buckets.
fn deviation(times: &Histogram) -> f64 {
    let Some(mean) = times.mean() else { return -1.0 };
    let of = |bucket: plumb_result::histogram::Bucket| {
        let middle = (bucket.lowest as f64 + bucket.highest as f64) / 2.0;
        (middle - mean).powi(2) * bucket.count as f64
    };
    (times.buckets().map(of).sum::<f64>() / times.count().max(1) as f64).sqrt()
}
