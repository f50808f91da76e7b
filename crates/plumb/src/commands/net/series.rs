//! Repeated and stored network measurements.

use super::measure::Bench;
use super::{keep, words};
use crate::args::NetArguments;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use plumb_report::net::{line, series};
use plumb_result::Network;
use plumb_tools_net_run::iperf3::TestError;
use plumb_tools_net_run::iperf3::client::Place;
use plumb_workload::Nanos;
use std::time::{Duration, Instant};

/// Poll interval for interrupts.
const INTERRUPT_POLL: Duration = Duration::from_millis(100);

/// Measures at an interval, from start to start, until the time is up or Ctrl-C. Keeps failed measurements,
/// too: availability is computed from them.
pub(super) fn measure(bench: &Bench, every: Nanos, arguments: &NetArguments, common: &Common) -> Result<End, Stopped> {
    let every = Duration::from_nanos(every.0);
    if every.is_zero() {
        return Err(Stopped::usage("--every must be longer than 0; for instance 1h"));
    }
    let began = Instant::now();
    let end = arguments.span.map(|span| began + Duration::from_nanos(span.0));
    let mut measured: Vec<Network> = Vec::new();
    let mut next = began;
    let interrupted = 'all: loop {
        let begun = bench.begun();
        let net = match bench.measure() {
            Ok(net) => net,
            Err(TestError::Interrupted(_)) => break true,
            Err(error) => Network { error: Some(words(&error, &bench.place)), ..begun },
        };
        show(&net, common)?;
        if let Err(stopped) = keep(&net, common) {
            // A later measurement may be stored again, and the report has all of them.
            output::error_line!("warning: {}", stopped.message);
        }
        measured.push(net);
        // Skips starts that fell into the measurement.
        while next <= Instant::now() {
            next += every;
        }
        if end.is_some_and(|end| next >= end) {
            break false;
        }
        while Instant::now() < next {
            if bench.stop.requested() {
                break 'all true;
            }
            std::thread::sleep(INTERRUPT_POLL.min(next.saturating_duration_since(Instant::now())));
        }
    };
    finish(&measured, arguments, common)?;
    // Without a time limit, Ctrl-C is the normal end.
    Ok(if interrupted && arguments.span.is_some() { End::Interrupted } else { End::Done })
}

pub(super) fn stored(place: &Place, arguments: &NetArguments, common: &Common) -> Result<End, Stopped> {
    let Place { host, port, .. } = place;
    let found = session::local_store_to_read(common)?.networks(host, *port)?;
    if found.is_empty() {
        return Err(Stopped::usage(format!(
            "no measurement of {host} port {port} is stored\nmeasure: plumb net {host}; list: plumb query \"SELECT DISTINCT host, port FROM network\""
        )));
    }
    found.iter().try_for_each(|net| show(net, common))?;
    finish(&found, arguments, common)?;
    Ok(End::Done)
}

fn show(net: &Network, common: &Common) -> Result<(), Stopped> {
    output::print(&match common.json {
        true => plumb_document::json::to_string(net).map_err(Stopped::io)? + "\n",
        false => line(net),
    });
    Ok(())
}

fn finish(all: &[Network], arguments: &NetArguments, common: &Common) -> Result<(), Stopped> {
    if !common.json && !all.is_empty() {
        output::print(&format!("\n{}", series(all, &session::style())));
    }
    arguments.report.networks(all)
}
