//! `plumb net`: what the network to another host can do, and the other end of it.
//!
//! It speaks iperf3's protocol, and round trips in addition where both ends are Plumb.

mod measure;
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
use plumb_channel::{ChannelError, Identity, KeyError, Trust};
use plumb_dialects::iperf3::{AUTHORIZATION_FAILED, End as Role, Server, Settings, error_text};
use plumb_engine::guard::Permissions;
use plumb_engine::signals;
use plumb_report::net::page;
use plumb_result::Network;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Serves, measures, or shows what was measured.
pub fn run(arguments: &NetArguments, common: &Common) -> Result<End, Stopped> {
    let stop = signals::install().map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
    if let Some(dir) = &arguments.init {
        return init(dir);
    }
    if arguments.serve {
        let identity = arguments.keys.as_deref().map(Identity::load).transpose().map_err(no_keys)?;
        let own = server::Own { local: local(), identity, gate: None };
        let role = Role::Server(Server::default());
        let settings = Settings { port: arguments.port, interval_s: 0.0, ..Settings::new(role) };
        return server::serve(&settings, &Server::default(), arguments.bind, own, &Paper::default(), stop);
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
        trust: arguments.keys.as_deref().map(Trust::load).transpose().map_err(no_keys)?,
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

/// Makes the keys of both ends.
fn init(dir: &Path) -> Result<End, Stopped> {
    std::fs::create_dir_all(dir).map_err(|error| Stopped::io(format!("{}: {error}", dir.display())))?;
    let (server, client) = (dir.join("server.keys"), dir.join("client.keys"));
    let identity = Identity::make().map_err(no_keys)?;
    identity.save(&server).and_then(|()| identity.trust().save(&client)).map_err(no_keys)?;
    let (server, client) = (server.display(), client.display());
    output::print(&format!(
        "{server}: key and token of the server, whose certificate is\n  {}\n{client}: that fingerprint and the token, \
         to be copied to who may measure\n\nplumb net --serve --bind ADDRESS --keys {server}\nplumb net ADDRESS --keys \
         {client}\n",
        identity.trust().fingerprint
    ));
    Ok(End::Done)
}

fn no_keys(error: KeyError) -> Stopped {
    match error {
        KeyError::File { .. } | KeyError::Make(_) => Stopped::io(error.to_string()),
        _ => Stopped::usage(error.to_string()),
    }
}

/// Why nothing was measured, and what to do.
fn words(error: &TestError, place: &Place) -> String {
    let Place { host, port, .. } = place;
    match error {
        TestError::Connect(error) => format!(
            "cannot connect to {host} port {port}: {error}\nstart `plumb net --serve --bind ADDRESS --port {port}` or \
             `iperf3 -s -p {port}` there"
        ),
        TestError::Channel(error @ (ChannelError::NotTls | ChannelError::Closed)) => {
            format!(
                "{host} port {port}: {error}\nstart `plumb net --serve --keys FILE` there, or leave --keys out here"
            )
        }
        TestError::Server(said) if error_text(AUTHORIZATION_FAILED).is_some_and(|text| text == said) => {
            format!("{host} port {port} serves only who has its token: use --keys FILE, which `plumb net --init` made")
        }
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
