//! `plumb net`: what the network to another host can do, and the other end of it.
//!
//! It speaks iperf3's protocol, and round trips in addition where both ends are Plumb.

mod measure;
pub mod protocol;
mod series;

use super::dialect::iperf3::client::Place;
use super::dialect::iperf3::output::Paper;
use super::dialect::iperf3::{Local, TestError, server};
use crate::args::NetArguments;
use crate::common::Common;
use crate::exit::{End, Stopped};
use crate::output;
use crate::session;
use measure::Bench;
use plumb_dialects::iperf3::{End as Role, Server, Settings};
use plumb_engine::guard::Permissions;
use plumb_engine::signals;
use plumb_report::net::page;
use plumb_result::Network;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Serves, measures, or shows what was measured.
pub fn run(arguments: &NetArguments, common: &Common) -> Result<End, Stopped> {
    let stop = signals::install().map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
    if arguments.serve {
        let role = Role::Server(Server::default());
        let settings = Settings { port: arguments.port, interval_s: 0.0, ..Settings::new(role) };
        return server::serve(&settings, &Server::default(), arguments.bind, local(), &Paper::default(), stop);
    }
    let Some(host) = &arguments.host else {
        return Err(Stopped::usage("name a host, or use --serve for the other end"));
    };
    arguments.report.writable()?;
    if arguments.stored {
        return series::stored(host, arguments, common);
    }
    let place = Place {
        host: host.clone(),
        port: arguments.port,
        bind: arguments.bind,
        is_v6: None,
        client_port: None,
        timeout: Some(Duration::from_secs(10)),
        local: local(),
    };
    let bench = Bench {
        place,
        seconds: arguments.time,
        streams: arguments.parallel,
        datagram_rate: arguments.datagram_rate,
        stop,
        was_there: AtomicBool::new(false),
    };
    if !common.json {
        let seconds = arguments.time * 7;
        session::announce(&format!("{host}: about {seconds} s; the network is loaded as far as it goes"));
    }
    if let Some(every) = arguments.every {
        return series::measure(&bench, every, arguments, common);
    }
    let net = match bench.measure() {
        Ok(net) => net,
        Err(TestError::Interrupted(_)) => return Ok(End::Interrupted),
        Err(error) => return Err(Stopped::io(words(&error, &bench.place))),
    };
    match common.json {
        true => session::print_json(&net)?,
        false => output::print(&page(&net, &session::style())),
    }
    keep(&net, common)?;
    arguments.report.networks(std::slice::from_ref(&net))?;
    Ok(End::Done)
}

/// Why nothing was measured, and what to do.
fn words(error: &TestError, place: &Place) -> String {
    let Place { host, port, .. } = place;
    match error {
        TestError::Connect(error) => format!(
            "cannot connect to {host} port {port}: {error}\nstart `plumb net --serve --bind ADDRESS --port {port}` or \
             `iperf3 -s -p {port}` there"
        ),
        error => format!("{host} port {port}: {error}"),
    }
}

/// Stores a measurement.
fn keep(net: &Network, common: &Common) -> Result<(), Stopped> {
    if common.no_store {
        return Ok(());
    }
    session::store(common).and_then(|mut store| Ok(store.save_network(net)?)).map_err(|stopped| Stopped {
        message: format!("the measurement could not be stored: {}\nwithout storing it: --no-store", stopped.message),
        ..stopped
    })
}

/// Nothing of its own.
fn local() -> Local {
    Local::of(&Settings::new(Role::Server(Server::default())), &Permissions::none())
}
