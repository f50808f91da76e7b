//! Measures the cost of communication between ranks for docs/scale.md: a roster, a barrier,
//! a broadcast and a reduction.
//!
//! ```text
//! cargo build --release -p plumb-cluster --example cost
//! mpirun -n 16 target/release/examples/cost [BYTES]
//! ```
//! `BYTES` is the length of each rank's report, 32768 by default. `cost star HOSTS [BYTES]` runs the hosts as
//! threads, each with a loopback connection to the coordinator.

use plumb_cluster::star::{Greeting, Link, PATIENCE, Protocols, Star};
use plumb_cluster::{
    Arrival, Cluster, ClusterError, Joined, Member, Reduction, Roster, clock_offset, start, wait_forever,
};
use std::net::{TcpListener, TcpStream};
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

/// Returns the shortest and the median duration of some calls, in µs.
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

/// Runs hosts without MPI: rank 0 leads, and each other rank is a thread.
fn star(hosts: u32, length: usize) -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let link = |stream: TcpStream| -> std::io::Result<Link> {
        stream.set_nodelay(true)?;
        Ok(Link { reader: Box::new(stream.try_clone()?), writer: Box::new(stream) })
    };
    let begin = Instant::now();
    let (mut leads, mut others) = (Vec::new(), Vec::new());
    for rank in 1..=hosts {
        others.push((rank, link(TcpStream::connect(listener.local_addr()?)?)?));
        leads.push(link(listener.accept()?.0)?);
    }
    let size = hosts + 1;
    std::thread::scope(|scope| {
        for (rank, link) in others {
            let greeting =
                Greeting { protocols: Protocols::OWN, rank, size, patience: PATIENCE, name: format!("host{rank}") };
            scope.spawn(move || {
                let star = Star::follow(link, &greeting, "agents").expect("threads");
                measure(&star, 0.0, length)
            });
        }
        let star = Star::lead(leads, PATIENCE, "agents")?;
        measure(&star, begin.elapsed().as_secs_f64() * 1e3, length);
        Ok(())
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: usize| words.get(at).map_or(Ok(usual), |text| text.parse());
    if words.first().is_some_and(|word| word == "star") {
        return star(u32::try_from(number(1, 10)?)?, number(2, 32_768)?);
    }
    let begin = Instant::now();
    let Some(Joined { cluster, .. }) = start()? else { return Err("start it with mpirun -n 2 or more".into()) };
    measure(cluster.as_ref(), begin.elapsed().as_secs_f64() * 1e3, number(0, 32_768)?);
    Ok(())
}

/// Measures each step. Rank 0 prints the results.
fn measure(cluster: &dyn Cluster, started: f64, length: usize) {
    let met = Instant::now();
    let roster = Roster::of_all(cluster, Member::this(), &wait_forever);
    let met = met.elapsed().as_secs_f64() * 1e3;
    let offset = Instant::now();
    let clocks = clock_offset(cluster, &wait_forever);
    let offset = offset.elapsed().as_secs_f64() * 1e3;
    assert!(roster.is_ok() && clocks.is_ok(), "{roster:?}, {clocks:?}");
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
            "{} ranks, {}: start {started:.0} ms, roster {met:.2} ms, clocks {offset:.2} ms, barrier {barrier}, \
             broadcast of {length} B and back {broadcast}, reduction of {length} B and back {reduction}",
            cluster.size(),
            cluster.transport()
        );
    }
    cluster.leave(plumb_cluster::Leave::Together);
}
