//! Pods of a Kubernetes cluster as hosts: asks the API server for them, with the service account of this pod.

mod account;
mod server;

use crate::agent::PORT;
use crate::exit::{End, Stopped};
use crate::output::error_line;
use crate::session;
use account::Account;
use plumb_cluster::k8s::{PODS_MAX, Page, Pod, PodChoice, PodState, PodsError, ReadyPod, choose};
use std::time::{Duration, Instant};

/// Prefix of an address that names pods by a label selector.
pub(crate) const K8S: &str = "k8s:";

/// Environment variable that replaces [`WAIT`], in seconds.
const WAIT_SETTING: &str = "PLUMB_KUBERNETES_WAIT";
/// Time to wait until pods are ready.
const WAIT: Duration = Duration::from_secs(60);
/// Interval between two questions.
const AGAIN: Duration = Duration::from_secs(1);
/// Pods of one page. With a limit of 8 MiB for its text, each pod may have 80 KiB.
const PAGE_PODS: usize = 100;
/// Maximum number of pages, which bounds a list of pods that have mostly ended.
const PAGES_MAX: usize = 64;
/// Attempts to read a list that changes.
const LIST_TRIES: u32 = 3;

/// Returns the ready pods that a choice means. Waits until enough are ready.
///
/// # Errors
/// Names the reason and the way out: no cluster, no permission, no pod, too few that are ready, or an unusable answer.
pub(crate) fn pods(choice: &str) -> Result<Vec<ReadyPod>, Stopped> {
    let choice = PodChoice::parse(choice).map_err(stopped)?;
    let account = Account::of_environment().map_err(stopped)?;
    let wait = wait().map_err(stopped)?;
    let begun = Instant::now();
    let mut has_said = false;
    loop {
        let namespace = account.namespace(&choice).map_err(stopped)?;
        let error = match list(&account, &choice, &namespace).and_then(|pods| choose(pods, &choice, &namespace)) {
            Ok(ready) => return Ok(ready),
            Err(error) => error,
        };
        if !error.is_early() || begun.elapsed() >= wait {
            return Err(stopped(error));
        }
        if !std::mem::replace(&mut has_said, true) {
            let first = error.to_string();
            error_line!("note: {}; waiting for at most {} s", first.lines().next().unwrap_or_default(), wait.as_secs());
        }
        let stop = session::stop_flag()?;
        stop.sleep(AGAIN);
        if stop.requested() {
            return Err(Stopped { end: End::Interrupted, message: "interrupted while waiting for pods".to_owned() });
        }
    }
}

fn wait() -> Result<Duration, PodsError> {
    let Ok(value) = std::env::var(WAIT_SETTING) else { return Ok(WAIT) };
    match value.trim().parse::<u32>() {
        _ if value.is_empty() => Ok(WAIT),
        Ok(seconds) => Ok(Duration::from_secs(seconds.into())),
        Err(_) => Err(PodsError::Variable { variable: WAIT_SETTING, value, expected: "a whole number of seconds" }),
    }
}

/// Returns all pods with the labels, page by page. Begins again if the server has dropped the rest of the list.
fn list(account: &Account, choice: &PodChoice, namespace: &str) -> Result<Vec<Pod>, PodsError> {
    for _ in 0..LIST_TRIES {
        match pages(account, choice, namespace) {
            Err(PodsError::Expired { .. }) => {}
            read => return read,
        }
    }
    Err(PodsError::Expired { tries: LIST_TRIES })
}

fn pages(account: &Account, choice: &PodChoice, namespace: &str) -> Result<Vec<Pod>, PodsError> {
    let (mut all, mut next): (Vec<Pod>, Option<String>) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let body = server::pods(account, namespace, &choice.selector, PAGE_PODS, next.as_deref())?;
        let page = Page::parse(&body, PORT)?;
        all.extend(page.pods);
        let live = all.iter().filter(|pod| !matches!(pod.state, PodState::Gone { .. })).count();
        if live > PODS_MAX {
            return Err(PodsError::TooMany { namespace: namespace.to_owned(), selector: choice.selector.clone() });
        }
        match page.next {
            None => return Ok(all),
            next_page if next_page == next => {
                return Err(PodsError::Malformed { reason: "its pages repeat".to_owned() });
            }
            next_page => next = next_page,
        }
    }
    Err(PodsError::TooMany { namespace: namespace.to_owned(), selector: choice.selector.clone() })
}

/// Sorts an error by the exit code: a wrong choice or a missing permission is a matter of the command and its pod.
fn stopped(error: PodsError) -> Stopped {
    match error {
        // The server does not understand the selector.
        PodsError::Status { status: 400, .. } => Stopped::usage(error),
        PodsError::Unreachable { .. }
        | PodsError::Untrusted { .. }
        | PodsError::Slow { .. }
        | PodsError::Expired { .. }
        | PodsError::Status { .. }
        | PodsError::Malformed { .. }
        | PodsError::NotReady(_) => Stopped::io(error),
        error => Stopped::usage(error),
    }
}
