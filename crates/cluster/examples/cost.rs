//! What ranks cost each other: the time of a roster, a barrier, a broadcast and a reduction, for docs/scale.md.
//!
//! ```text
//! cargo build --release -p plumb-cluster --example cost
//! mpirun -n 16 target/release/examples/cost [BYTES]
//! ```
//! `BYTES` is the length of each rank's report, 32768 by default.

use plumb_cluster::{
    Arrival, Cluster, ClusterError, Joined, Member, Reduction, Roster, clock_offset, start, wait_forever,
};
use std::time::Instant;

struct Longest(Vec<u8>);

impl Reduction for Longest {
    fn absorb(&mut self, _child: u32, sent: Result<Vec<u8>, ClusterError>) {
        if let Ok(sent) = sent
            && sent.len() > self.0.len()
        {
            self.0 = sent;
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        self.0.clone()
    }
}

/// The shortest and the median of some times of this, µs.
fn times_us(times: u32, mut once: impl FnMut()) -> String {
    let mut all: Vec<f64> = (0..times)
        .map(|_| {
            let start = Instant::now();
            once();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    all.sort_by(f64::total_cmp);
    format!("{:.0} µs (median {:.0})", all[0], all[all.len() / 2])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let length = std::env::args().nth(1).map_or(Ok(32_768), |text| text.parse())?;
    let begin = Instant::now();
    let Some(Joined { cluster, .. }) = start()? else { return Err("start it with mpirun -n 2 or more".into()) };
    let started = begin.elapsed().as_secs_f64() * 1e3;
    let cluster: &dyn Cluster = cluster.as_ref();
    let met = Instant::now();
    Roster::of_all(cluster, Member::this(), &wait_forever)?;
    let met = met.elapsed().as_secs_f64() * 1e3;
    let offset = Instant::now();
    clock_offset(cluster, &wait_forever)?;
    let offset = offset.elapsed().as_secs_f64() * 1e3;
    let report = vec![7_u8; length];
    let barrier = times_us(201, || drop(cluster.barrier(Arrival::Ready, &wait_forever)));
    let broadcast = times_us(51, || {
        drop(cluster.broadcast(report.clone(), &wait_forever));
        drop(cluster.reduce(&mut Longest(Vec::new()), &wait_forever));
    });
    let reduction = times_us(51, || {
        drop(cluster.reduce(&mut Longest(report.clone()), &wait_forever));
        drop(cluster.broadcast(Vec::new(), &wait_forever));
    });
    if cluster.rank() == 0 {
        println!(
            "{} ranks, {}: MPI start {started:.0} ms, roster {met:.2} ms, clocks {offset:.2} ms, barrier {barrier}, \
             broadcast of {length} B and back {broadcast}, reduction of {length} B and back {reduction}",
            cluster.size(),
            cluster.transport()
        );
    }
    cluster.leave(plumb_cluster::Leave::Together);
    Ok(())
}
