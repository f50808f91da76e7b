//! `plumb k8s render`: kubectl's own types know every field, objects that refer to each other match, and the command lines measure.
//! No cluster runs here.

use crate::agents_lost::address;
use crate::common::{CommandOutput, Home, needs};
use crate::k8s_server::{ApiServer, listed};
use crate::recipes::{documents, has_yaml, kubectl_minor, measure_on_hosts, unknown_to_kubernetes, value_of, words};
use serde_json::{Value, json};
use std::process::Command;

/// Returns the documents of a rendering.
fn rendered(home: &Home, options: &str) -> Vec<Value> {
    documents(&home.plumb(&format!("k8s render --image registry/plumb:1 {options}")).expect(0).out)
}

fn pod(job: &Value) -> &Value {
    &job["spec"]["template"]["spec"]
}

/// Requires that every mount has a volume, and that kubectl knows every field.
fn assert_sound(all: &[Value]) {
    for job in all.iter().filter(|document| document["kind"] == "Job") {
        let pod = pod(job);
        let names: Vec<&str> =
            pod["volumes"].as_array().unwrap().iter().map(|volume| volume["name"].as_str().unwrap()).collect();
        for container in ["initContainers", "containers"].iter().filter_map(|kind| pod[*kind].as_array()).flatten() {
            for mount in container["volumeMounts"].as_array().unwrap() {
                assert!(names.contains(&mount["name"].as_str().unwrap()), "{mount} has no volume: {names:?}");
            }
        }
    }
    // Plumb refuses keys that a group may read, and an fsGroup adds that right to every file of a secret.
    for pod in all.iter().map(pod).filter(|pod| pod["volumes"].to_string().contains("secretName")) {
        let volumes = pod["volumes"].as_array().unwrap();
        let modes: Vec<&Value> = volumes.iter().filter(|volume| !volume["secret"].is_null()).collect();
        assert!(modes.iter().all(|volume| volume["secret"]["defaultMode"] == 0o400), "{modes:?}");
        assert!(pod["securityContext"]["fsGroup"].is_null(), "{}", pod["securityContext"]);
    }
    if !needs::tools(&["kubectl"]) {
        return;
    }
    // Debian's kubectl is older than the field; a namespace that is null is none.
    let newer: &[&str] = if kubectl_minor() < 21 { &[".spec.completionMode"] } else { &[] };
    for document in all {
        let unknown = unknown_to_kubernetes(document);
        let is_known = |path: &String| {
            newer.contains(&path.as_str()) || path == ".metadata.namespace" || path.ends_with(".storageClassName")
        };
        assert!(unknown.iter().all(is_known), "{unknown:?}");
    }
}

// Protects a measurement by several pods: names, ports, secrets and the service fit each other, and the printed commands measure.
#[test]
fn agents_of_several_hosts_are_found_and_measure() {
    if !has_yaml() {
        return;
    }
    let home = Home::new();
    let all = rendered(&home, "--hosts 3 --name fast --namespace bench --set depth=8");
    let [account, role, binding, service, agents, run] = all.as_slice() else { panic!("{} documents", all.len()) };
    let agent = words(&pod(agents)["containers"][0]["command"]);
    let measure = words(&pod(run)["initContainers"][0]["command"]);
    assert_eq!(value_of(&measure, "--hosts"), "k8s:3:app=fast-agent");
    assert_eq!(agents["spec"]["template"]["metadata"]["labels"], json!({"app": "fast-agent"}));
    // The run alone has a token, which lists pods and does nothing else.
    assert_eq!(role["rules"], json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]));
    assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
    let subject = json!([{"kind": "ServiceAccount", "name": account["metadata"]["name"]}]);
    assert_eq!(binding["subjects"], subject);
    assert_eq!(pod(run)["serviceAccountName"], account["metadata"]["name"]);
    assert_eq!(pod(agents)["automountServiceAccountToken"], false);
    assert_eq!((&agents["spec"]["completions"], &agents["metadata"]["name"]), (&json!(3), &json!("fast-agent")));
    assert_eq!((&pod(agents)["subdomain"], &service["metadata"]["name"]), (&json!("fast"), &json!("fast")));
    assert_eq!(service["spec"]["selector"], agents["spec"]["template"]["metadata"]["labels"]);
    assert!(all.iter().all(|document| document["metadata"]["namespace"] == "bench"));
    assert_sound(&all);
    let pods: Vec<Value> = (0..3)
        .map(|host| {
            json!({
                "metadata": {"name": format!("fast-agent-{host}-x"), "labels": agents["spec"]["template"]["metadata"]["labels"]},
                "spec": pod(agents),
                "status": {"phase": "Running", "podIP": address(host), "conditions": [{"type": "Ready", "status": "True"}]},
            })
        })
        .collect();
    measure_on_hosts(&agent, &measure, 3, |home, command| {
        let api = ApiServer::start(home, "bench", vec![(200, listed(&pods))]);
        api.surround(command);
        api
    });
    if !needs::tools(&["kubectl"]) {
        return;
    }
    let mut wrong = agents.clone();
    wrong["spec"]["template"]["spec"]["restartPolicyy"] = json!("Never");
    assert!(unknown_to_kubernetes(&wrong).iter().any(|path| path.ends_with(".restartPolicyy")));
    wrong = agents.clone();
    wrong["spec"]["parallelism"] = json!("four");
    assert!(unknown_to_kubernetes(&wrong)[0].contains("arallelism"));
    // The commands in its first lines make the secrets that the pods mount.
    home.plumb("agent --init keys").expect(0);
    let text = home.plumb("k8s render --image registry/plumb:1 --hosts 3 --name fast --namespace bench").expect(0).out;
    for (name, pod) in [("fast-agent", pod(agents)), ("fast-client", pod(run))] {
        let secret = text
            .lines()
            .find_map(|line| line.find("kubectl create").map(|at| &line[at..]).filter(|line| line.contains(name)));
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{} --dry-run=client -o json", secret.unwrap())]).current_dir(home.work());
        let made = CommandOutput::run(command).expect(0).json();
        assert_eq!((&made["kind"], &made["metadata"]["name"]), (&json!("Secret"), &json!(name)));
        assert_eq!(made["metadata"]["namespace"], "bench");
        let volumes = pod["volumes"].as_array().unwrap();
        assert!(volumes.iter().any(|volume| volume["secret"]["secretName"] == name), "{volumes:?}");
    }
}

// Protects the other forms: one volume, one volume for all, two classes against each other, and results that are pushed.
#[test]
fn one_pod_shared_volumes_and_two_classes_are_sound() {
    if !has_yaml() {
        return;
    }
    let home = Home::new();
    let one = rendered(&home, "--storage-class fast --size 50Gi --push-to postgres://ci@db/results");
    let [job] = one.as_slice() else { panic!("{} documents", one.len()) };
    assert_eq!(words(&pod(job)["initContainers"][0]["command"]).join(" "), "plumb run random-read --at /data");
    assert_eq!(words(&pod(job)["containers"][0]["command"]).join(" "), "plumb push --to postgres://ci@db/results");
    let claim = &pod(job)["volumes"][0]["ephemeral"]["volumeClaimTemplate"]["spec"];
    assert_eq!(
        (&claim["storageClassName"], &claim["resources"]["requests"]["storage"]),
        (&json!("fast"), &json!("50Gi"))
    );
    assert_eq!(pod(job)["automountServiceAccountToken"], false);
    let shared = rendered(&home, "--hosts 2 --shared");
    assert_eq!(shared[0]["kind"], "PersistentVolumeClaim");
    assert_eq!(pod(&shared[5])["volumes"][0]["persistentVolumeClaim"]["claimName"], shared[0]["metadata"]["name"]);
    let options = "--for random-write --set size=1MiB --set budget=2s";
    let two = rendered(&home, &format!("--storage-class fast,slow {options}"));
    assert_eq!(two, rendered(&home, &format!("--storage-class fast --storage-class slow {options}")));
    let compare = words(&pod(&two[0])["initContainers"][0]["command"]);
    assert_eq!(compare.join(" "), "plumb compare /one /other --for random-write --size 1MiB --budget 2s");
    let class =
        |at: usize| pod(&two[0])["volumes"][at]["ephemeral"]["volumeClaimTemplate"]["spec"]["storageClassName"].clone();
    assert_eq!([class(0), class(1)], [json!("fast"), json!("slow")]);
    for all in [&one, &shared, &two] {
        assert_sound(all);
    }
    // The printed comparison measures.
    for place in ["one", "other"] {
        std::fs::create_dir(home.work().join(place)).unwrap();
    }
    let here = compare[1..].iter().map(|word| word.trim_start_matches('/'));
    home.plumb_args(here).expect_measured();
}

// Protects a cluster from a wrong object, and the user from a late error: each wrong value is refused with its option.
#[test]
fn wrong_values_are_refused() {
    let home = Home::new();
    for (options, said) in [
        ("--name Plumb", "--name"),
        ("--namespace a/b", "--namespace"),
        ("--size 20GB", "--size"),
        ("--storage-class a,b,c", "3 times"),
        (
            "--storage-class a,b --set depth=8",
            "--set depth=8: a comparison of two storage classes has the keys size, time",
        ),
        ("--storage-class a,b --set size=", "--set size="),
        ("--storage-class a --storage-class b --hosts 2", "one pod"),
        ("--shared", "--hosts"),
        ("--for nothing", "nothing"),
        ("--for random-read,random-write", "one workload"),
        ("--set size", "KEY=VALUE"),
        ("--hosts 0", "--hosts"),
    ] {
        home.plumb(&format!("k8s render --image registry/plumb:1 {options}")).expect(2).expect_stderr(&[said]);
    }
    let text = home.plumb("k8s render --image registry/plumb:1 --set name=x\"}:--- --push-to 'a: b'");
    assert_eq!(text.code, 2, "{text:?}");
}

// Protects the chart: it has the same objects, and the values that were given.
#[test]
fn a_chart_has_the_same_objects() {
    if !has_yaml() {
        return;
    }
    let home = Home::new();
    home.plumb("k8s render --image registry/plumb:1 --hosts 2 --set size=1GiB --chart chart").expect(0);
    let read = |name: &str| std::fs::read_to_string(home.work().join("chart").join(name)).unwrap();
    let values = documents(&read("values.yaml"))[0].clone();
    assert_eq!((&values["hosts"], &values["words"]), (&json!(2), &json!(["--set", "size=1GiB"])));
    assert_eq!(documents(&read("Chart.yaml"))[0]["apiVersion"], "v2");
    let files = ["templates/account.yaml", "templates/agents.yaml", "templates/run.yaml", "templates/claim.yaml"];
    let used = files.map(read).concat();
    for key in values.as_object().unwrap().keys() {
        assert!(used.contains(&format!(".Values.{key}")), "no template uses {key}");
    }
}
