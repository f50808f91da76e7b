//! `--hosts k8s:SELECTOR`: pods that the API server lists become hosts, and every refusal names the way out. The server here gives
//! prepared answers; those of `crates/cluster/fixtures` were made by Kubernetes' own packages.

use crate::agents::{Agent, WORKLOAD};
use crate::common::ports::free_port;
use crate::common::{CommandOutput, Home, wait_until};
use crate::k8s_server::{Answer, ApiServer, TOKEN, listed};
use serde_json::{Value, json};

/// Returns an answer that Kubernetes' own encoders made, with another port than 8766 for the agents.
fn kubernetes_answer(name: &str, port: u16) -> String {
    let path = format!("{}/../cluster/fixtures/kubernetes/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.replace("\"containerPort\":8766", &format!("\"containerPort\":{port}"))
}

fn pod(name: &str, ip: &str, port: u16, is_ready: bool) -> Value {
    let ready = if is_ready { "True" } else { "False" };
    json!({
        "metadata": {"name": name},
        "spec": {"containers": [{"ports": [{"name": "agent", "containerPort": port}]}]},
        "status": {"phase": "Running", "podIP": ip, "conditions": [{"type": "Ready", "status": ready}]},
    })
}

/// Runs a command in the environment of a pod.
fn run(home: &Home, api: &ApiServer, wait_s: u32, line: &str) -> CommandOutput {
    let mut command = home.command(line.split_whitespace());
    api.surround(&mut command);
    command.env("PLUMB_KUBERNETES_WAIT", wait_s.to_string());
    CommandOutput::run(command)
}

fn names(result: &Value) -> Vec<&str> {
    result["ranks"]["hosts"].as_array().unwrap().iter().map(|host| host["name"].as_str().unwrap()).collect()
}

/// Agents with keys at addresses of loopback, all at one port, as pods have it.
fn agents(home: &Home, port: u16, ips: &[&str]) -> Vec<Agent> {
    home.plumb("agent --init keys").expect(0);
    home.file("w.toml", WORKLOAD);
    let start = |ip: &&str| {
        let line = format!("agent --listen {ip}:{port} --keys keys/server.keys");
        Agent::start(home.command(line.split_whitespace()), &home.work().join(format!("agent-{ip}.log")))
    };
    ips.iter().map(start).collect()
}

// Protects the whole way: the pods that a real server listed are asked for with the token, become hosts in the order of their
// completion index, and have their own names in the result; a study gets them as well.
#[test]
fn ready_pods_make_the_run() {
    let (home, port) = (Home::new(), free_port());
    let _agents = agents(&home, port, &["127.0.0.11", "127.0.0.12", "127.0.0.13"]);
    let api = ApiServer::start(&home, "bench", vec![(200, kubernetes_answer("ready.json", port))]);
    let result =
        run(&home, &api, 0, "run w.toml --json --hosts k8s:3:app=plumb-agent,tier!=x --hosts-keys keys/client.keys");
    let result = result.expect_measured().json();
    assert_eq!(result["ranks"]["count"], 3);
    let found = names(&result);
    assert!((0..3).all(|index| found[index].starts_with(&format!("plumb-agent-{index}-"))), "{found:?}");
    let requests = api.requests();
    let expected =
        "GET /api/v1/namespaces/bench/pods?labelSelector=app%3Dplumb%2Dagent%2Ctier%21%3Dx&limit=100 HTTP/1.1\r\n";
    assert!(requests.len() == 1 && requests[0].starts_with(expected), "{requests:?}");
    assert!(requests[0].contains(&format!("authorization: Bearer {TOKEN}\r\n")), "{requests:?}");
    // Both pages of a list, and the namespace of the selector.
    let pages = ["page1.json", "page2.json"].map(|name| (200, kubernetes_answer(name, port)));
    let next: Value = serde_json::from_str(&pages[0].1).unwrap();
    let next = next["metadata"]["continue"].as_str().unwrap().to_owned();
    let api = ApiServer::start(&home, "other", pages.into());
    let paged =
        run(&home, &api, 0, "run w.toml --json --hosts k8s:bench/app=plumb-agent --hosts-keys keys/client.keys");
    assert_eq!(names(&paged.expect_measured().json()).len(), 3);
    let requests = api.requests();
    assert!(requests.iter().all(|request| request.starts_with("GET /api/v1/namespaces/bench/pods?")), "{requests:?}");
    assert!(requests[1].contains(&format!("&continue={next} HTTP")), "{requests:?}");
    // A study checks its hosts and makes its runs on them.
    home.file(
        "s.toml",
        &format!(
            "[experiment]\nname = \"pods\"\nquestion = \"Which?\"\n[[factor]]\nname = \"depth\"\nlevels = [1, 2]\n\
             [hosts]\npods = {{ agents = [\"k8s:app in (plumb-agent, x)\"] }}\n[target]\npath = \"{}\"\n\
             [workload]\nrandom-read = {{ size = \"1MiB\", cache = \"warm\", time = \"100ms\" }}\n\
             [design]\nplots = 1\nrepeat = 2\n[compare]\nby = \"depth\"\nmetrics = [\"read.iops\"]\n",
            home.work().display()
        ),
    );
    let api = ApiServer::start(&home, "bench", vec![(200, kubernetes_answer("ready.json", port))]);
    run(&home, &api, 0, "study plan s.toml --check --hosts-keys keys/client.keys")
        .expect(0)
        .expect_stdout(&["3 hosts by their agents"]);
}

// Protects: a run begins when its pods are ready, not before, and an agent that is gone is named by its pod.
#[test]
fn a_run_waits_for_its_pods() {
    let (home, port) = (Home::new(), free_port());
    let _agents = agents(&home, port, &["127.0.0.1"]);
    let early = listed(&[pod("a", "127.0.0.1", port, false)]);
    let late = listed(&[pod("a", "127.0.0.1", port, true)]);
    let api = ApiServer::start_ipv6(&home, "bench", vec![(200, listed(&[])), (200, early), (200, late)]);
    let line = "run w.toml --json --hosts k8s:1:app=x --hosts-keys keys/client.keys";
    let output = run(&home, &api, 100, line).expect_measured();
    assert_eq!((names(&output.json()), api.requests().len()), (vec!["a"], 3));
    assert!(
        output.err.contains("note: 0 of 1 pods with `app=x` in namespace bench are ready; waiting for at most 100 s"),
        "{output:?}"
    );
    let nobody = listed(&[pod("a", "127.0.0.1", free_port(), true)]);
    let api = ApiServer::start(&home, "bench", vec![(200, nobody)]);
    run(&home, &api, 0, line).expect(4).expect_stderr(&["host a: ", "is `plumb agent --listen` running there?"]);
    // Ctrl-C ends the wait.
    let api = ApiServer::start(&home, "bench", vec![(200, listed(&[]))]);
    let mut command = home.command(line.split_whitespace());
    api.surround(&mut command);
    let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    wait_until("it asks again", || api.requests().len() > 1);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

// Protects users of a cluster: each reason why there are no hosts is named, with what to do, and with its exit code.
#[test]
fn refusals_name_the_way_out() {
    let (home, port) = (Home::new(), free_port());
    home.file("w.toml", WORKLOAD);
    let line = "run w.toml --hosts k8s:app=plumb-agent";
    let many: Vec<Value> = (0..1025).map(|number| pod(&format!("p{number}"), "127.0.0.1", port, true)).collect();
    let next = |text: &str| json!({"kind": "PodList", "metadata": {"continue": text}, "items": []}).to_string();
    let cases: Vec<(Vec<Answer>, i32, &[&str])> = vec![
        (
            vec![(403, kubernetes_answer("forbidden.json", port))],
            2,
            &[
                "may not list pods in namespace bench (403)",
                "cannot list resource \"pods\"",
                "verbs: [get, list]",
                "plumb k8s render",
            ],
        ),
        (vec![(401, kubernetes_answer("unauthorized.json", port))], 2, &["does not accept the token", "(401)"]),
        (
            vec![(400, kubernetes_answer("bad-selector.json", port))],
            2,
            &["the API server answered 400: unable to parse"],
        ),
        (
            vec![(200, kubernetes_answer("none.json", port))],
            2,
            &["no pod with `app=plumb-agent` runs in namespace bench", "kubectl get pods -n bench"],
        ),
        (
            vec![(200, kubernetes_answer("not-ready.json", port))],
            4,
            &["2 of 3 pods", "not ready: plumb-agent-2-c8w5t (running, not ready)", "PLUMB_KUBERNETES_WAIT"],
        ),
        (vec![(200, listed(&many))], 2, &["more than 1024 pods"]),
        (vec![(200, next("x"))], 4, &["its pages repeat"]),
        (vec![(410, kubernetes_answer("expired.json", port))], 4, &["changed 3 times"]),
        (vec![(200, "<html>".to_owned())], 4, &["is not a list of pods"]),
        (vec![(200, format!("\"{}\"", "x".repeat(9 << 20)))], 4, &["it is longer than 8 MiB"]),
        (vec![(302, String::new())], 4, &["answered 302"]),
    ];
    for (answers, code, said) in cases {
        let api = ApiServer::start(&home, "bench", answers);
        run(&home, &api, 0, line).expect(code).expect_stderr(said);
    }
    // A list that has expired once is read again.
    let api = ApiServer::start(&home, "bench", vec![(200, next("x")), (410, String::new()), (200, listed(&[]))]);
    run(&home, &api, 0, line).expect(2).expect_stderr(&["no pod with"]);
    assert!(
        api.requests()[1].contains("&continue=x ") && !api.requests()[2].contains("continue"),
        "{:?}",
        api.requests()
    );
}

// Protects the token: it goes only to the server that the cluster's authority certifies, and a server that says nothing or is not
// there is named.
#[test]
fn the_token_goes_to_the_clusters_server_only() {
    let home = Home::new();
    home.file("w.toml", WORKLOAD);
    let line = "run w.toml --hosts k8s:app=plumb-agent";
    let (one, other) = (
        ApiServer::start(&home, "bench", vec![(0, String::new())]),
        ApiServer::start(&home, "bench", vec![(0, String::new())]),
    );
    let asked = |changes: &[(&str, &str)]| {
        let mut command = home.command(line.split_whitespace());
        one.surround(&mut command);
        command.env("PLUMB_HOSTS_PATIENCE", "1").envs(changes.iter().copied());
        CommandOutput::run(command)
    };
    asked(&[("PLUMB_KUBERNETES_ACCOUNT", other.account.to_str().unwrap())])
        .expect(4)
        .expect_stderr(&["is not the one of the service account's ca.crt", "invalid peer certificate"]);
    assert_eq!(one.requests(), Vec::<String>::new());
    asked(&[]).expect(4).expect_stderr(&["did not answer within 1 s"]);
    assert_eq!(one.requests().len(), 1);
    let nobody = free_port().to_string();
    asked(&[("KUBERNETES_SERVICE_PORT", &nobody)])
        .expect(4)
        .expect_stderr(&["cannot reach the API server at https://127.0.0.1:", "Connection refused"]);
    let outside = home.plumb(line).expect(2);
    outside.expect_stderr(&["KUBERNETES_SERVICE_HOST is not set", "plumb k8s render --hosts 4"]);
    for (name, value, said) in [
        ("KUBERNETES_SERVICE_PORT", "x", "KUBERNETES_SERVICE_PORT=\"x\""),
        ("KUBERNETES_SERVICE_HOST", "a/b", "KUBERNETES_SERVICE_HOST=\"a/b\""),
        ("PLUMB_KUBERNETES_WAIT", "soon", "PLUMB_KUBERNETES_WAIT=\"soon\""),
        ("PLUMB_KUBERNETES_ACCOUNT", "/nowhere", "/nowhere/namespace"),
    ] {
        asked(&[(name, value)]).expect(2).expect_stderr(&[said]);
    }
    for (file, text, said) in [
        ("token", "a b\r\nX-Other: c", "it does not contain a token"),
        ("ca.crt", "", "it contains no certificate"),
        ("namespace", "../x", "the name of a namespace"),
    ] {
        let path = one.account.join(file);
        let before = std::fs::read(&path).unwrap();
        std::fs::write(&path, text).unwrap();
        asked(&[]).expect(2).expect_stderr(&[said, "automountServiceAccountToken"]);
        std::fs::write(&path, before).unwrap();
    }
}
