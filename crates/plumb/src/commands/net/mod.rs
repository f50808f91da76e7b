//! `plumb net`: measures the network to another host, and serves as the other end.
//!
//! Speaks iperf3's protocol. Adds round trips if both ends are Plumb.

mod measure;
mod series;

use crate::args::NetArguments;
use measure::Bench;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use plumb_engine::net::LocalAddress;
use plumb_engine::signals;
use plumb_report::net::page;
use plumb_result::Network;
use plumb_tls::{Fingerprint, Identity, KeyError, Trust};
use plumb_tools_net::iperf3::{End as Role, Iperf3Settings, Server};
use plumb_tools_net_run::iperf3::client::Place;
use plumb_tools_net_run::iperf3::output::Paper;
use plumb_tools_net_run::iperf3::server::Bind;
use plumb_tools_net_run::iperf3::{TestError, server};
use plumb_tools_net_run::protocol::{self, local, words};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32};

pub(crate) fn run(arguments: &NetArguments, common: &Common) -> Result<End, Stopped> {
    let stop = signals::install().map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
    if let Some(dir) = &arguments.init {
        return init(dir);
    }
    if arguments.serve {
        let identity = arguments.keys.as_deref().map(Identity::load).transpose().map_err(no_keys)?;
        let own = server::Own { local: local(), identity, gate: None };
        let role = Role::Server(Server::default());
        let settings = Iperf3Settings {
            port: arguments.port.unwrap_or(protocol::PORT),
            interval_s: 0.0,
            ..Iperf3Settings::new(role)
        };
        let bind = match (&arguments.bind, arguments.bind.as_deref().and_then(LocalAddress::parse)) {
            (_, Some(address)) => Bind::Local(address.map_err(Stopped::usage)?),
            (address, None) => address.as_deref().map(ip_of).transpose()?.into(),
        };
        return server::serve(&settings, &Server::default(), bind, own, &Paper::default(), stop);
    }
    let Some(host) = &arguments.host else {
        return Err(Stopped::usage("name a host, or use --serve for the other end"));
    };
    arguments.report.writable()?;
    let place = protocol::place_with(host, arguments.port).map_err(Stopped::usage)?;
    if arguments.stored {
        return series::stored(&place, arguments, common);
    }
    let trust = arguments.keys.as_deref().map(Trust::load).transpose().map_err(no_keys)?;
    let bind = match place.local_address {
        Some(_) => None,
        None => arguments.bind.as_deref().map(ip_of).transpose()?,
    };
    let place = Place { bind, trust, ..place };
    if let Some(time) = arguments.busy_poll.filter(|time| time.0 > POLL_NS_MAX) {
        return Err(Stopped::usage(format!("--busy-poll {time} is too long; use at most 10ms")));
    }
    let bench = Bench {
        place,
        seconds: arguments.time,
        streams: arguments.parallel,
        datagram_rate: arguments.datagram_rate,
        busy_poll_us: arguments.busy_poll.map_or(0, |time| time.0.div_ceil(1000) as u32),
        tx: arguments.tx,
        rx: arguments.rx,
        multipath: arguments.mptcp,
        stop,
        was_there: AtomicBool::new(false),
        tried: AtomicU32::new(0),
        answered: AtomicU32::new(0),
    };
    if !common.json {
        let seconds = bench.whole_s();
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

pub(crate) struct MadeKeys {
    pub server: PathBuf,
    pub client: PathBuf,
    /// Fingerprint by which clients recognise the server.
    pub fingerprint: Fingerprint,
}

/// Creates the keys of both ends in a directory. Fails if they exist already.
pub(crate) fn make_keys(dir: &Path) -> Result<MadeKeys, Stopped> {
    std::fs::create_dir_all(dir).map_err(|error| Stopped::io(format!("{}: {error}", dir.display())))?;
    let (server, client) = (dir.join("server.keys"), dir.join("client.keys"));
    let identity = Identity::make().map_err(no_keys)?;
    identity.save(&server).and_then(|()| identity.trust().save(&client)).map_err(no_keys)?;
    Ok(MadeKeys { server, client, fingerprint: identity.trust().fingerprint })
}

fn init(dir: &Path) -> Result<End, Stopped> {
    let MadeKeys { server, client, fingerprint } = make_keys(dir)?;
    let (server, client) = (server.display(), client.display());
    output::print(&format!(
        "{server}: key and token of the server, whose certificate is\n  {}\n{client}: that fingerprint and the token, \
         to be copied to the hosts that may measure\n\nplumb net --serve --bind ADDRESS --keys {server}\nplumb net ADDRESS --keys \
         {client}\n",
        fingerprint
    ));
    Ok(End::Done)
}

fn no_keys(error: KeyError) -> Stopped {
    match error {
        KeyError::File { .. } | KeyError::Make(_) => Stopped::io(error.to_string()),
        _ => Stopped::usage(error.to_string()),
    }
}

/// Longest busy poll that is accepted: 10 ms, as it keeps a processor busy.
const POLL_NS_MAX: u64 = 10_000_000;

fn ip_of(text: &str) -> Result<IpAddr, Stopped> {
    text.parse().map_err(|_| {
        Stopped::usage(format!(
            "--bind {text} is not an address; use one such as 192.0.2.1, ::, unix:PATH or vsock::PORT"
        ))
    })
}

fn keep(net: &Network, common: &Common) -> Result<(), Stopped> {
    if common.no_store {
        return Ok(());
    }
    session::store(common).and_then(|mut store| Ok(store.save_network(net)?)).map_err(|stopped| Stopped {
        message: format!("the measurement could not be stored: {}\nwithout storing it: --no-store", stopped.message),
        ..stopped
    })
}
