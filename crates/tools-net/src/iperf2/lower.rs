//! Lowers a test to the work of a stream.

use super::settings::Test;
use super::wire::{bounce_head, burst_head, udp_head};
use plumb_workload::PerSecond;
use plumb_workload::net::{DatagramForm, Iperf2Form, NetOp, NetWork, Transport};

/// Returns the header form of datagrams. The wall clock is `ahead_us` ahead of the monotonic
/// clock, which is at `now_us`.
pub fn form(test: &Test, port: u16, ahead_us: u64, now_us: u64) -> DatagramForm {
    let head = udp_head(test, port, ahead_us.saturating_add(now_us));
    DatagramForm::Iperf2(Iperf2Form { ahead_us, head, bin_us: test.bin_us() })
}

/// Returns the header form of TCP blocks: with one-way latencies if the test requests them.
pub fn blocks(test: &Test, port: u16, ahead_us: u64, now_us: u64) -> DatagramForm {
    if !test.trip_times {
        return DatagramForm::Iperf3;
    }
    let head = burst_head(test, port, ahead_us.saturating_add(now_us));
    DatagramForm::Iperf2Bursts(Iperf2Form { ahead_us, head, bin_us: test.bin_us() })
}

/// Returns the work of one end of round trips, with messages of `bytes` bytes.
pub fn bounces(test: &Test, bytes: u32, op: NetOp, ahead_us: u64) -> NetWork {
    let rate = test.rate.filter(|_| op.leads()).map(PerSecond);
    let form = DatagramForm::Iperf2(Iperf2Form { ahead_us, head: bounce_head(bytes), bin_us: 0 });
    NetWork { rate, form, response: bytes, repeats: true, ..NetWork::stream(op, Transport::Tcp, bytes) }
}

/// Returns the work of a sending or a receiving end.
pub fn flow(test: &Test, sends: bool, form: DatagramForm) -> NetWork {
    let transport = if test.udp { Transport::Udp } else { Transport::Tcp };
    let op = if sends { NetOp::Send } else { NetOp::Receive };
    let rate = test.rate.filter(|_| sends).map(|bits| PerSecond(bits / 8.0));
    NetWork { rate, form, repeats: true, ..NetWork::stream(op, transport, test.block) }
}
