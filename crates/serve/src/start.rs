//! Starts the server: checks that what is asked for is safe, opens the database, and listens.

use crate::admission::AllowedHosts;
use crate::app::{App, AppOptions, Rates, Visitors};
use crate::connections::{ConnectionLimits, serve_connections};
use crate::database::ServedDatabase;
use crate::routes::router;
use crate::tokens;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line};
use plumb_cli::serve::{ServeArguments, ServeCommand};
use plumb_store::ServedStore;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Carries out `plumb serve`: serves until SIGINT or SIGTERM, or changes tokens.
///
/// # Errors
/// The address cannot be used or is not safe, or the database cannot be opened.
pub fn run(arguments: &ServeArguments, common: &Common) -> Result<End, Stopped> {
    if let Some(ServeCommand::Token { command }) = &arguments.command {
        return tokens::run(command, common);
    }
    check(arguments)?;
    let tls = match (&arguments.certificate, &arguments.key) {
        (Some(certificate), Some(key)) => Some(acceptor(certificate, key)?),
        _ => None,
    };
    let database = ServedDatabase::find(common)?;
    let store = database.open_to_administer()?;
    if needs_token(arguments) {
        note_missing_token(&*store)?;
    } else {
        error_line!("Every user of this machine can read these results. Stop with Ctrl-C.");
    }
    drop(store);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(32)
        .enable_all()
        .build()
        .map_err(Stopped::io)?;
    runtime.block_on(listen(arguments, database, tls))
}

async fn listen(
    arguments: &ServeArguments,
    database: ServedDatabase,
    tls: Option<TlsAcceptor>,
) -> Result<End, Stopped> {
    let failed = |error| Stopped::io(format!("cannot listen on {}: {error}", arguments.listen));
    let listener = TcpListener::bind(arguments.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let app = Arc::new(App::new(database, options(arguments, address)));
    let scheme = if tls.is_some() { "https" } else { "http" };
    output::print(&format!("{scheme}://{address}/\n"));
    tokio::spawn(Arc::clone(&app).take_in_queued_runs());
    serve_connections(listener, router(app), ConnectionLimits::default(), tls, stop_signal()).await;
    Ok(End::Done)
}

/// Refuses to send results and tokens over a network in the clear.
fn check(arguments: &ServeArguments) -> Result<(), Stopped> {
    let listen = arguments.listen;
    let is_beyond = !listen.ip().is_loopback();
    if is_beyond && arguments.certificate.is_none() && !arguments.behind_proxy {
        return Err(Stopped::usage(format!(
            "--listen {listen}: other machines would read results and tokens in the clear\n\
             Give --certificate FILE --key FILE, or --behind-proxy if a proxy speaks HTTPS in front of it."
        )));
    }
    if listen.ip().is_unspecified() && arguments.host.is_empty() {
        return Err(Stopped::usage(format!(
            "--listen {listen}: the name that visitors use is unknown; add --host NAME, such as --host bench.example.org"
        )));
    }
    Ok(())
}

/// Returns `true` if visitors need a token: they come from other machines, or a proxy hides where they come from.
fn needs_token(arguments: &ServeArguments) -> bool {
    !arguments.listen.ip().is_loopback() || arguments.behind_proxy || arguments.require_token
}

fn note_missing_token(database: &dyn ServedStore) -> Result<(), Stopped> {
    if !database.tokens()?.iter().any(|token| token.revoked_at.is_none()) {
        error_line!("note: nobody has a token yet, so nobody can read; make one with: plumb serve token add NAME");
    }
    Ok(())
}

fn options(arguments: &ServeArguments, address: SocketAddr) -> AppOptions {
    let mut hosts = match address.ip().is_loopback() {
        true => AllowedHosts::loopback(address.port()),
        false => AllowedHosts::default(),
    };
    if !address.ip().is_unspecified() {
        hosts.add(&address.to_string());
    }
    for name in &arguments.host {
        hosts.add(name);
        hosts.add(&format!("{name}:{}", address.port()));
    }
    AppOptions {
        hosts,
        visitors: if needs_token(arguments) { Visitors::NeedToken } else { Visitors::Known },
        rates: if arguments.behind_proxy { Rates::ByProxy } else { Rates::Limited },
    }
}

/// Reads certificate and key, for TLS 1.3.
fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, Stopped> {
    let failed =
        |option: &str, path: &Path, error: String| Stopped::usage(format!("{option} {}: {error}", path.display()));
    let of_certificate = |error: String| failed("--certificate", certificate, error);
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| of_certificate(error.to_string()))?;
    if chain.is_empty() {
        return Err(of_certificate("it has no certificate in PEM".to_owned()));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| failed("--key", key, error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(Stopped::io)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| of_certificate(error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Waits for SIGINT or SIGTERM.
async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        serve: ServeArguments,
    }

    fn arguments(text: &str) -> ServeArguments {
        Words::try_parse_from(std::iter::once("plumb-serve").chain(text.split_whitespace())).unwrap().serve
    }

    // Protects results and tokens from other machines: nothing goes over a network in the clear, or without a token.
    #[test]
    fn beyond_this_machine_needs_https_and_tokens() {
        for safe in ["", "--listen 127.0.0.1:0", "--listen [::1]:0"] {
            assert!(check(&arguments(safe)).is_ok() && !needs_token(&arguments(safe)), "{safe}");
        }
        for refused in ["--listen 10.0.0.1:80", "--listen 0.0.0.0:80 --host x", "--listen [::]:80 --behind-proxy"] {
            assert!(check(&arguments(refused)).is_err(), "{refused}");
        }
        for with_token in [
            "--listen 10.0.0.1:80 --behind-proxy",
            "--listen 0.0.0.0:443 --certificate c --key k --host x",
            "--behind-proxy",
            "--require-token",
        ] {
            assert!(check(&arguments(with_token)).is_ok() && needs_token(&arguments(with_token)), "{with_token}");
        }
    }
}
