//! `examples/agents/`: the target program parses each recipe, and its command lines run on hosts that are namespaces.

use crate::agents::Agent;
use crate::agents_lost::address;
use crate::common::needs::{self, PYTHON};
use crate::common::{CommandOutput, Home, wait_until};
use crate::mpi_hosts::Hosts;
use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn recipe(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents").join(name)
}

/// Returns the output of a program for this input.
fn given(program: &str, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// Returns the documents in a YAML text.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    const READ: &str = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))";
    let output = given(PYTHON, &["-c", READ], text);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

pub(crate) fn has_yaml() -> bool {
    needs::program(PYTHON, &["-c", "import yaml"])
}

pub(crate) fn words(command: &Value) -> Vec<String> {
    command.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

pub(crate) fn value_of<'a>(words: &'a [String], option: &str) -> &'a str {
    let place = words.iter().position(|word| word == option).unwrap_or_else(|| panic!("{option} in {words:?}"));
    &words[place + 1]
}

/// Runs the command lines of a recipe: an agent on each host, and then the measurement. Only directories, host names
/// and the duration differ.
pub(crate) fn measures(agent: &[String], run: &[String], expected: usize) {
    let mut run = run.to_vec();
    let place = run.iter().position(|word| word == "--hosts").unwrap();
    assert_eq!(run[place + 1].split(',').count(), expected);
    run[place + 1] = (0..expected).map(address).collect::<Vec<_>>().join(",");
    measure_on_hosts(agent, &run, expected, |_, _| ());
}

/// Like [`measures`], with the hosts of the recipe. `surround` sets what the measurement finds in its environment, and
/// returns what has to live as long.
pub(crate) fn measure_on_hosts<T>(
    agent: &[String],
    run: &[String],
    expected: usize,
    surround: impl FnOnce(&Home, &mut Command) -> T,
) {
    if !needs::root_and(&["ip"]) {
        return;
    }
    let (home, hosts) = (Home::new(), Hosts::new(expected));
    home.plumb("agent --init keys").expect(0);
    std::fs::create_dir(home.work().join("data")).unwrap();
    let here = |word: &String| match word.strip_prefix('/') {
        Some(path) => home.work().join(path).to_str().unwrap().to_owned(),
        None => word.clone(),
    };
    assert_eq!((agent[0].as_str(), run[0].as_str()), ("plumb", "plumb"));
    let agent: Vec<String> = agent[1..].iter().map(here).collect();
    let agent: Vec<&str> = agent.iter().map(String::as_str).collect();
    let start = |host| Agent::start(hosts.on(host, &home, &agent), &home.work().join(format!("log{host}")));
    let agents: Vec<Agent> = (0..expected).map(start).collect();
    let mut run: Vec<String> = run[1..].iter().map(here).collect();
    run.extend(["--set", "time=200ms", "--set", "size=1MiB", "--json"].map(str::to_owned));
    let mut command = home.command(&run);
    let _surroundings = surround(&home, &mut command);
    let result = CommandOutput::run(command).expect_measured().json();
    assert_eq!(result["ranks"]["count"], expected, "{}", result["ranks"]);
    wait_until("no process is left", || agents.iter().all(|agent| agent.sessions().is_empty()));
}

/// Returns the parts of a value that another one lacks, by path.
fn lacks(value: &Value, of: &Value, path: &str, found: &mut Vec<String>) {
    match (value, of) {
        (Value::Object(all), Value::Object(of)) => {
            for (key, value) in all {
                match of.get(key) {
                    Some(of) => lacks(value, of, &format!("{path}.{key}"), found),
                    None => found.push(format!("{path}.{key}")),
                }
            }
        }
        (Value::Array(all), Value::Array(of)) if all.len() <= of.len() => {
            all.iter().zip(of).enumerate().for_each(|(at, (one, of))| lacks(one, of, &format!("{path}.{at}"), found));
        }
        _ if value == of => {}
        _ => found.push(path.to_owned()),
    }
}

/// Returns the parts of a document that Kubernetes' own types do not know, or its error: kubectl parses and prints it.
/// That needs no cluster.
pub(crate) fn unknown_to_kubernetes(document: &Value) -> Vec<String> {
    let change: &[&str] = match document["kind"].as_str().unwrap() {
        "Service" | "PersistentVolumeClaim" | "ServiceAccount" | "Role" | "RoleBinding" => &["label", "checked=yes"],
        _ => &["set", "env", "PLUMB_CHECKED=1"],
    };
    let words = [change, &["--local", "-f", "-", "-o", "json"]].concat();
    let output = given("kubectl", &words, &document.to_string());
    if !output.status.success() {
        return vec![String::from_utf8_lossy(&output.stderr).into_owned()];
    }
    let mut found = Vec::new();
    lacks(document, &serde_json::from_slice(&output.stdout).unwrap(), "", &mut found);
    found
}

/// Returns the second number of kubectl's release.
pub(crate) fn kubectl_minor() -> u32 {
    let output = given("kubectl", &["version", "--client", "-o", "json"], "");
    let version: Value = serde_json::from_slice(&output.stdout).unwrap();
    let minor = version["clientVersion"]["minor"].as_str().unwrap();
    minor.trim_end_matches(|letter: char| !letter.is_ascii_digit()).parse().unwrap()
}

// Protects the Compose recipe: Compose itself parses it, services and hosts match, and its command lines measure.
#[test]
fn the_compose_recipe_is_read_and_measures() {
    let text = std::fs::read_to_string(recipe("compose.yaml")).unwrap();
    if !has_yaml() || !needs::tools(&["docker-compose"]) {
        return;
    }
    let home = Home::new();
    let config = |text: &str| {
        home.file("compose.yaml", text);
        let mut command = Command::new("docker-compose");
        command.args(["-f", "compose.yaml", "config"]).env_remove("IMAGE").current_dir(home.work());
        CommandOutput::run(command)
    };
    let read = &documents(&config(&text).expect(0).out)[0];
    let services = read["services"].as_object().unwrap();
    let agents: Vec<&String> = services.keys().filter(|name| *name != "run").collect();
    let run = words(&services["run"]["command"]);
    assert_eq!(value_of(&run, "--hosts").split(',').collect::<Vec<_>>(), agents);
    let commands: Vec<Vec<String>> = agents.iter().map(|name| words(&services[*name]["command"])).collect();
    assert!(commands.iter().all(|command| *command == commands[0]));
    for service in services.values() {
        let volumes = service["volumes"].to_string();
        assert!(volumes.contains("/keys/server.keys") != volumes.contains("/keys/client.keys"), "{volumes}");
    }
    measures(&commands[0], &run, agents.len());
    let wrong = config(&text.replace("depends_on", "depends_upon"));
    assert!(wrong.code != 0 && wrong.err.contains("depends_upon"), "{wrong:?}");
}

// Protects the inventory: Ansible itself parses it, and its command lines measure, through an ssh that stays on this
// machine.
#[test]
fn the_inventory_is_read_and_measures() {
    if !needs::tools(&["ansible-inventory", "jq"]) {
        return;
    }
    let text = std::fs::read_to_string(recipe("ansible.yaml")).unwrap();
    let home = Home::new();
    home.file("ansible.yaml", &text);
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#   ")).collect();
    let [hosts, run] = lines.as_slice() else { panic!("{lines:?}") };
    let mut command = Command::new("sh");
    command.args(["-c", hosts]).env("HOME", home.work()).current_dir(home.work());
    CommandOutput::run(command).expect(0);
    let named = std::fs::read_to_string(home.work().join("hosts")).unwrap();
    assert_eq!(named, "ssh:bench@node1\nssh:bench@node2.example.org\nssh:root@node3\n");
    std::fs::create_dir(home.work().join("data")).unwrap();
    let data = home.work().join("data");
    let run = run.strip_prefix("plumb ").unwrap().replace("/mnt/data", data.to_str().unwrap());
    let ssh = home.file("ssh", "#!/bin/sh\nfor last; do :; done\nexec sh -c \"$last\"\n");
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
    let words = format!("{run} --set time=200ms --set size=1MiB --json");
    let mut command = home.command(words.split_whitespace());
    command.env("PLUMB_SSH", &ssh);
    let result = CommandOutput::run(command).expect_measured().json();
    let found: Vec<&str> =
        result["ranks"]["hosts"].as_array().unwrap().iter().map(|host| host["name"].as_str().unwrap()).collect();
    assert_eq!(found, named.lines().collect::<Vec<_>>());
}
