//! The service account of this pod: where the API server is, its authority, and the token.

use plumb_cluster::k8s::{PodChoice, PodsError, is_namespace};
use plumb_text::bounded;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::path::PathBuf;
use zeroize::Zeroizing;

/// Where Kubernetes mounts the files of a service account.
const DIRECTORY: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Environment variable that replaces [`DIRECTORY`]: a projected token may be mounted elsewhere.
const DIRECTORY_SETTING: &str = "PLUMB_KUBERNETES_ACCOUNT";
/// Variables that the kubelet sets in each container.
const HOST: &str = "KUBERNETES_SERVICE_HOST";
const PORT: &str = "KUBERNETES_SERVICE_PORT";
/// Longest token, and longest file of authorities. A Secret has at most 1 MiB.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A service account. Its files are read at each use, because the kubelet replaces them before the token expires.
pub(super) struct Account {
    pub host: String,
    pub port: u16,
    directory: PathBuf,
}

impl Account {
    /// Finds the service account of this process.
    pub(super) fn of_environment() -> Result<Account, PodsError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let host = variable(HOST).ok_or(PodsError::NotInCluster)?;
        // Other characters could change the request.
        if !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':')) {
            return Err(PodsError::Variable { variable: HOST, value: host, expected: "the API server's address" });
        }
        let port = variable(PORT).unwrap_or_else(|| "443".to_owned());
        let Some(number) = port.parse::<u16>().ok().filter(|&number| number > 0) else {
            return Err(PodsError::Variable { variable: PORT, value: port, expected: "the API server's port" });
        };
        let directory = variable(DIRECTORY_SETTING).map_or_else(|| PathBuf::from(DIRECTORY), PathBuf::from);
        Ok(Account { host, port: number, directory })
    }

    /// Returns the server's `HOST:PORT`, as URLs have it.
    pub(super) fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    /// Returns the namespace of a choice, by default that of the pod.
    pub(super) fn namespace(&self, choice: &PodChoice) -> Result<String, PodsError> {
        if let Some(namespace) = &choice.namespace {
            return Ok(namespace.clone());
        }
        let bytes = self.read("namespace")?;
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        match is_namespace(&text) {
            true => Ok(text),
            false => Err(self.failed("namespace", "it does not contain the name of a namespace")),
        }
    }

    /// Returns the token. It is a header's value, so that only visible characters are possible.
    pub(super) fn token(&self) -> Result<Zeroizing<String>, PodsError> {
        let bytes = Zeroizing::new(self.read("token")?);
        let token = Zeroizing::new(String::from_utf8_lossy(&bytes).trim().to_owned());
        match !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok(token),
            false => Err(self.failed("token", "it does not contain a token")),
        }
    }

    /// Returns the authorities that the server's certificate is checked with.
    pub(super) fn authorities(&self) -> Result<RootCertStore, PodsError> {
        const FILE: &str = "ca.crt";
        let text = self.read(FILE)?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&text) {
            let certificate = certificate.map_err(|error| self.failed(FILE, &error.to_string()))?;
            roots.add(certificate).map_err(|error| self.failed(FILE, &error.to_string()))?;
        }
        match roots.is_empty() {
            true => Err(self.failed(FILE, "it contains no certificate")),
            false => Ok(roots),
        }
    }

    fn read(&self, file: &str) -> Result<Vec<u8>, PodsError> {
        bounded::read_at_most(self.directory.join(file), FILE_BYTES_MAX)
            .map_err(|error| self.failed(file, &error.to_string()))
    }

    fn failed(&self, file: &str, reason: &str) -> PodsError {
        PodsError::Account { file: self.directory.join(file).display().to_string(), reason: reason.to_owned() }
    }
}
