//! From what is tested to the work of a stream.

use super::settings::Test;
use super::wire::{bounce_head, burst_head, udp_head};
use plumb_workload::PerSecond;
use plumb_workload::net::{DatagramForm, Iperf2Form, NetOp, NetWork, Transport};

/// How its datagrams begin. The wall clock is so far ahead of the monotonic one, which is at `now_us`.
pub fn form(test: &Test, port: u16, ahead_us: u64, now_us: u64) -> DatagramForm {
    let head = udp_head(test, port, ahead_us.saturating_add(now_us));
    DatagramForm::Iperf2(Iperf2Form { ahead_us, head, bin_us: test.bin_us() })
}

/// How blocks of a TCP stream begin, of which times on the way are asked for, and others.
pub fn blocks(test: &Test, port: u16, ahead_us: u64, now_us: u64) -> DatagramForm {
    if !test.trip_times {
        return DatagramForm::Iperf3;
    }
    let head = burst_head(test, port, ahead_us.saturating_add(now_us));
    DatagramForm::Iperf2Bursts(Iperf2Form { ahead_us, head, bin_us: test.bin_us() })
}

/// The work of one end of round trips with messages of `bytes`.
pub fn bounces(test: &Test, bytes: u32, op: NetOp, ahead_us: u64) -> NetWork {
    let rate = test.rate.filter(|_| op.leads()).map(PerSecond);
    let form = DatagramForm::Iperf2(Iperf2Form { ahead_us, head: bounce_head(bytes), bin_us: 0 });
    NetWork { rate, form, response: bytes, repeats: true, ..NetWork::stream(op, Transport::Tcp, bytes) }
}

/// The work of an end that sends, or of one that receives.
pub fn flow(test: &Test, sends: bool, form: DatagramForm) -> NetWork {
    let transport = if test.udp { Transport::Udp } else { Transport::Tcp };
    let op = if sends { NetOp::Send } else { NetOp::Receive };
    let rate = test.rate.filter(|_| sends).map(|bits| PerSecond(bits / 8.0));
    NetWork { rate, form, repeats: true, ..NetWork::stream(op, transport, test.block) }
}
