//! Reasons why a selector does not become hosts.

use super::PODS_MAX;
use plumb_document::json;
use plumb_text::visible::visible_letters;
use serde::Deserialize;
use std::fmt;

/// Maximum number of characters of the server's own words in an error.
const MESSAGE_CHARACTERS_MAX: usize = 300;
/// Maximum number of pods that an error lists.
const LISTED_MAX: usize = 3;

/// Error from finding the pods that a selector means.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PodsError {
    /// The selector is empty or has other characters than a selector.
    #[error(
        "`k8s:{text}` does not name pods\n\
         Write a label selector, as for `kubectl -l`: `k8s:app=plumb-agent`, or `k8s:NAMESPACE/app=plumb-agent`."
    )]
    Selector { text: String },
    /// The number of pods is not one that a command leads.
    #[error("`k8s:{text}:…`: expected a number of pods from 1 to {PODS_MAX}, such as `k8s:4:app=plumb-agent`")]
    Count { text: String },
    /// This process does not run in a pod.
    #[error(
        "`k8s:` means pods that the cluster of this pod knows, and this process is in none (KUBERNETES_SERVICE_HOST is not set)\n\
         Run it in a pod: `plumb k8s render --hosts 4` prints such a job. Elsewhere, name the addresses in --hosts."
    )]
    NotInCluster,
    /// A variable of the environment has an unusable value.
    #[error("{variable}={value:?}: expected {expected}")]
    Variable { variable: &'static str, value: String, expected: &'static str },
    /// A file of the service account cannot be read or used.
    #[error(
        "cannot use the service account of this pod: {file}: {reason}\n\
         A pod with `automountServiceAccountToken: false` has none; PLUMB_KUBERNETES_ACCOUNT names another directory."
    )]
    Account { file: String, reason: String },
    /// The server does not accept the connection.
    #[error("cannot reach the API server at {server}: {reason}; does a NetworkPolicy forbid it?")]
    Unreachable { server: String, reason: String },
    /// The connection is not encrypted as expected, or the server is another one.
    #[error("the API server at {server} is not the one of the service account's ca.crt: {reason}")]
    Untrusted { server: String, reason: String },
    /// No answer came in time.
    #[error("the API server at {server} did not answer within {seconds} s")]
    Slow { server: String, seconds: u64 },
    /// HTTP 401: the token is not accepted.
    #[error(
        "the API server does not accept the token of this pod's service account (401): {message}\n\
         The token is of another cluster, or it has expired because nothing renews its file."
    )]
    Unauthorised { message: String },
    /// HTTP 403: the account may not list pods.
    #[error(
        "this pod may not list pods in namespace {namespace} (403): {message}\n\
         Its service account needs a RoleBinding there, to a Role with `apiGroups: [\"\"], resources: [pods], verbs: [get, list]`; \
         `plumb k8s render --hosts 4` prints both."
    )]
    Forbidden { namespace: String, message: String },
    /// HTTP 410: the list has changed too much since its first page.
    #[error("the list of pods changed {tries} times while it was read; try again")]
    Expired { tries: u32 },
    /// HTTP status that has no error of its own here.
    #[error("the API server answered {status}: {message}")]
    Status { status: u16, message: String },
    /// The answer is not a list of pods.
    #[error("the API server's answer is not a list of pods: {reason}")]
    Malformed { reason: String },
    /// The selector matches no pod that runs.
    #[error(
        "no pod with `{selector}` runs in namespace {namespace}\n\
         `kubectl get pods -n {namespace} -l '{selector}'` lists them; another namespace is written `k8s:NAMESPACE/…`."
    )]
    NoPod { namespace: String, selector: String },
    /// Some of the pods are not ready.
    #[error("{0}")]
    NotReady(Box<NotReady>),
    /// The selector matches more pods than one command leads.
    #[error(
        "more than {PODS_MAX} pods match `{selector}` in namespace {namespace}, which is the limit of one command\n\
         Choose some of them with another label, or with `k8s:COUNT:…`."
    )]
    TooMany { namespace: String, selector: String },
}

/// Pods that are not ready, out of those that a command needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotReady {
    pub namespace: String,
    pub selector: String,
    pub ready: usize,
    pub wanted: usize,
    /// Name of each other pod, with the reason as the server gives it.
    pub others: Vec<(String, String)>,
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotReady { namespace, selector, ready, wanted, others } = self;
        write!(f, "{ready} of {wanted} pods with `{selector}` in namespace {namespace} are ready")?;
        for (at, (name, reason)) in others.iter().take(LISTED_MAX).enumerate() {
            write!(f, "{}{name} ({reason})", if at == 0 { "; not ready: " } else { ", " })?;
        }
        if others.len() > LISTED_MAX {
            write!(f, ", and {} more", others.len() - LISTED_MAX)?;
        }
        write!(
            f,
            "\n`kubectl describe pods -n {namespace} -l '{selector}'` says why; PLUMB_KUBERNETES_WAIT is the time to wait, in seconds."
        )
    }
}

impl PodsError {
    /// Returns `true` for a state that passes once more pods are ready.
    pub fn is_early(&self) -> bool {
        matches!(self, PodsError::NotReady(_))
    }

    /// Reads an answer whose HTTP status is not 200.
    pub fn of_status(status: u16, body: &[u8], namespace: &str) -> PodsError {
        let message = message_of(body);
        match status {
            401 => PodsError::Unauthorised { message },
            403 => PodsError::Forbidden { namespace: namespace.to_owned(), message },
            410 => PodsError::Expired { tries: 1 },
            status => PodsError::Status { status, message },
        }
    }
}

/// Returns the server's own words: the message of a `Status`, or the first line of anything else.
fn message_of(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Status {
        message: String,
    }
    let message = match json::from_slice::<Status>(body) {
        Ok(status) => status.message,
        Err(_) => String::from_utf8_lossy(body).lines().next().unwrap_or_default().to_owned(),
    };
    let message = bounded(&message);
    if message.is_empty() { "no reason given".to_owned() } else { message }
}

/// Shortens a text of the server, and makes it one line without control characters.
pub(super) fn bounded(text: &str) -> String {
    let text: String = text.trim().chars().take(MESSAGE_CHARACTERS_MAX).collect();
    visible_letters(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a refusal names the missing right in the server's words, and the page of a proxy becomes one short line.
    #[test]
    fn a_refusal_has_the_servers_words() {
        let status = |message: &str| format!("{{\"kind\":\"Status\",\"message\":{message:?},\"code\":403}}");
        let said = "pods is forbidden: User \"system:serviceaccount:bench:default\" cannot list resource \"pods\"";
        let error = PodsError::of_status(403, status(said).as_bytes(), "bench").to_string();
        assert!(
            error.contains(said) && error.contains("verbs: [get, list]") && error.contains("namespace bench"),
            "{error}"
        );
        assert!(PodsError::of_status(401, b"", "x").to_string().contains("(401): no reason given"));
        assert_eq!(PodsError::of_status(410, b"{}", "x"), PodsError::Expired { tries: 1 });
        let html = PodsError::of_status(502, b"<html>\x1b[31m\nsecond line", "x").to_string();
        assert!(html.starts_with("the API server answered 502: <html>") && !html.contains(['\x1b', '\n']), "{html}");
        let long = PodsError::of_status(500, "é".repeat(10_000).as_bytes(), "x").to_string();
        assert!(long.chars().count() < 400, "{long}");
        for error in [PodsError::of_status(403, status(said).as_bytes(), "bench"), PodsError::NotInCluster] {
            assert!(error.to_string().lines().count() <= 3, "{error}");
        }
    }
}
