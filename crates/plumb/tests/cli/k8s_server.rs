//! An API server of Kubernetes over TLS that gives prepared answers, and the service account of a pod that may ask it.

use crate::common::Home;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, PKCS_ED25519};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};

/// Token of the service account.
pub(crate) const TOKEN: &str = "header.payload.signature";

/// HTTP status and body.
pub(crate) type Answer = (u16, String);

/// A running server.
pub(crate) struct ApiServer {
    address: SocketAddr,
    /// Directory with the files of the service account.
    pub account: PathBuf,
    requests: Arc<Mutex<Vec<String>>>,
}

/// Returns a list of pods as the server sends it.
pub(crate) fn listed(pods: &[Value]) -> String {
    json!({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": pods}).to_string()
}

impl ApiServer {
    /// Starts a server on loopback. It gives the answers, a status and a body each, in their order, and then the last one again.
    /// Status 0 never answers.
    pub(crate) fn start(home: &Home, namespace: &str, answers: Vec<Answer>) -> ApiServer {
        ApiServer::listening(home, namespace, answers, TcpListener::bind("127.0.0.1:0").unwrap())
    }

    /// Like [`ApiServer::start`], at an address of IPv6.
    pub(crate) fn start_ipv6(home: &Home, namespace: &str, answers: Vec<Answer>) -> ApiServer {
        ApiServer::listening(home, namespace, answers, TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).unwrap())
    }

    fn listening(home: &Home, namespace: &str, answers: Vec<Answer>, listener: TcpListener) -> ApiServer {
        let address = listener.local_addr().unwrap();
        let account = home.work().join(format!("account-{}", address.port()));
        std::fs::create_dir(&account).unwrap();
        let tls = certified(&account, address);
        for (file, text) in [("token", TOKEN), ("namespace", namespace)] {
            std::fs::write(account.join(file), text).unwrap();
        }
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        // Ends with the process.
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming().flatten() {
                let Some(mut stream) = asked(stream, &tls, &seen) else { continue };
                let number = seen.lock().unwrap().len() - 1;
                match answers.get(number).or(answers.last()) {
                    Some((0, _)) | None => silent.push(stream),
                    Some((status, body)) => answer(&mut stream, *status, body),
                }
            }
        });
        ApiServer { address, account, requests }
    }

    /// Sets the environment that a container finds.
    pub(crate) fn surround(&self, command: &mut Command) {
        command
            .env("KUBERNETES_SERVICE_HOST", self.address.ip().to_string())
            .env("KUBERNETES_SERVICE_PORT", self.address.port().to_string())
            .env("PLUMB_KUBERNETES_ACCOUNT", &self.account);
    }

    /// Returns the heads of the requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Makes an authority, writes it as `ca.crt`, and returns the configuration of a server that it certifies.
fn certified(account: &std::path::Path, address: SocketAddr) -> Arc<ServerConfig> {
    let keys = || KeyPair::generate_for(&PKCS_ED25519).unwrap();
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_keys = keys();
    let certificate = authority.self_signed(&authority_keys).unwrap();
    let text = STANDARD.encode(certificate.der());
    std::fs::write(account.join("ca.crt"), format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n"))
        .unwrap();
    let issuer = Issuer::new(authority, authority_keys);
    let server_keys = keys();
    let server = CertificateParams::new(vec![address.ip().to_string()]).unwrap();
    let chain: Vec<CertificateDer<'static>> = vec![server.signed_by(&server_keys, &issuer).unwrap().der().clone()];
    let key = PrivateKeyDer::try_from(server_keys.serialize_der()).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    Arc::new(builder.with_single_cert(chain, key).unwrap())
}

/// Reads a request, and keeps its head. Returns `None` if the client does not accept the certificate.
fn asked(
    stream: TcpStream,
    tls: &Arc<ServerConfig>,
    seen: &Mutex<Vec<String>>,
) -> Option<StreamOwned<ServerConnection, TcpStream>> {
    let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(tls)).unwrap(), stream);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).ok()?;
        head.extend(byte);
    }
    seen.lock().unwrap().push(String::from_utf8(head).unwrap());
    Some(stream)
}

fn answer(stream: &mut StreamOwned<ServerConnection, TcpStream>, status: u16, body: &str) {
    let head = format!(
        "HTTP/1.1 {status} Prepared\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    // A client that refuses a long answer closes the connection.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
    stream.conn.send_close_notify();
    let _ = stream.flush();
}
