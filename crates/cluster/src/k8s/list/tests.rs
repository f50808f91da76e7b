use super::*;
use proptest::prelude::*;

const PORT: u16 = 8766;

fn choice(count: Option<usize>) -> PodChoice {
    PodChoice { count, namespace: None, selector: "app=x".to_owned() }
}

fn page(items: &str) -> Result<Page, PodsError> {
    Page::parse(format!("{{\"kind\":\"PodList\",\"metadata\":{{}},\"items\":[{items}]}}").as_bytes(), PORT)
}

/// Returns a ready pod as JSON, with more members of its metadata.
fn ready(name: &str, more: &str, ip: &str, port: i64) -> String {
    format!(
        "{{\"metadata\":{{\"name\":\"{name}\"{more}}},\"spec\":{{\"containers\":[{{\"ports\":[{{\"containerPort\":1}},\
         {{\"name\":\"agent\",\"containerPort\":{port}}}]}}]}},\"status\":{{\"phase\":\"Running\",\"podIP\":\"{ip}\",\
         \"conditions\":[{{\"type\":\"Ready\",\"status\":\"True\"}}]}}}}"
    )
}

fn waiting(name: &str, status: &str) -> String {
    format!("{{\"metadata\":{{\"name\":\"{name}\"}},\"status\":{{{status}}}}}")
}

fn chosen(items: &[String], count: Option<usize>) -> Result<Vec<String>, String> {
    let pods = page(&items.join(",")).map_err(|error| error.to_string())?.pods;
    let ready = choose(pods, &choice(count), "bench").map_err(|error| error.to_string())?;
    Ok(ready.into_iter().map(|pod| format!("{} {}", pod.name, pod.address)).collect())
}

// Protects: hosts are numbered as the Job numbers its pods, not as the server happens to list them, and each has its own port.
#[test]
fn ready_pods_are_hosts_in_the_order_of_their_numbers() {
    let job = |index: u32| format!(",\"annotations\":{{\"batch.kubernetes.io/job-completion-index\":\"{index}\"}}");
    let set = ",\"labels\":{\"apps.kubernetes.io/pod-index\":\"2\",\"app\":\"x\"}";
    let items = [
        ready("z", "", "10.0.0.9", 8766),
        ready("a-10-x", &job(10), "10.0.0.10", 9000),
        ready("b-2", set, "fd00::2", 9001),
        ready("a-9-y", &job(9), "10.0.0.1", 8766),
        ready("m", "", "10.0.0.8", 8766),
    ];
    let expected =
        ["b-2 [fd00::2]:9001", "a-9-y 10.0.0.1:8766", "a-10-x 10.0.0.10:9000", "m 10.0.0.8:8766", "z 10.0.0.9:8766"];
    assert_eq!(chosen(&items, None).unwrap(), expected);
    assert_eq!(chosen(&items, Some(2)).unwrap(), expected[..2]);
}

// Protects: what Kubernetes' own encoders write is read in full, also in pages.
#[test]
fn answers_of_kubernetes_are_read() {
    let read = |name: &str| {
        let path = format!("{}/fixtures/kubernetes/{name}.json", env!("CARGO_MANIFEST_DIR"));
        Page::parse(&std::fs::read(path).unwrap(), 1).unwrap()
    };
    let named = |pods: Vec<Pod>| {
        let ready = choose(pods, &choice(None), "bench").unwrap();
        ready.into_iter().map(|pod| format!("{} {}", pod.name, pod.address)).collect::<Vec<_>>()
    };
    let expected = [
        "plumb-agent-0-x7k2p 127.0.0.11:8766",
        "plumb-agent-1-4m9qz 127.0.0.12:8766",
        "plumb-agent-2-c8w5t 127.0.0.13:8766",
    ];
    assert_eq!(named(read("ready").pods), expected);
    let (first, second) = (read("page1"), read("page2"));
    assert!(first.next.is_some() && second.next.is_none());
    assert_eq!(named([first.pods, second.pods].concat()), expected);
    assert_eq!(read("none"), Page { pods: Vec::new(), next: None });
    let error = choose(read("not-ready").pods, &choice(None), "bench").unwrap_err().to_string();
    assert!(error.contains("2 of 3 pods") && error.contains("plumb-agent-2-c8w5t (running, not ready)"), "{error}");
}

// Protects: a run never begins with fewer hosts than the user expects, and the error names the pods that are missing.
#[test]
fn pods_that_are_not_ready_are_named() {
    let good = ready("a", "", "10.0.0.1", 8766);
    let unready = waiting(
        "b",
        "\"phase\":\"Running\",\"podIP\":\"10.0.0.2\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]",
    );
    let pulling = waiting(
        "c",
        "\"phase\":\"Pending\",\"containerStatuses\":[{\"state\":{\"running\":null}},{\"state\":{\"waiting\":{\"reason\":\"ImagePullBackOff\"}}}]",
    );
    let homeless = waiting(
        "d",
        "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\"}]",
    );
    let failed = waiting("e", "\"phase\":\"Failed\"");
    let all = [good.clone(), unready, pulling, homeless, failed.clone(), waiting("f", "\"phase\":\"Pending\"")];
    let error = chosen(&all, None).unwrap_err();
    assert!(
        error.starts_with(
            "1 of 5 pods with `app=x` in namespace bench are ready; not ready: b (running, not ready), \
                               c (ImagePullBackOff), d (Unschedulable), and 1 more\n"
        ),
        "{error}"
    );
    // A pod that ended counts for nothing, but explains why one is missing.
    assert_eq!(chosen(&[good.clone(), failed.clone()], None).unwrap(), ["a 10.0.0.1:8766"]);
    assert!(
        chosen(&[good.clone(), failed.clone()], Some(2))
            .unwrap_err()
            .contains("1 of 2 pods with `app=x` in namespace bench are ready; not ready: e (Failed)")
    );
    assert!(chosen(&[], Some(2)).unwrap_err().contains("0 of 2"));
    for nothing in [
        Vec::new(),
        vec![failed],
        vec![good.replace("\"name\":\"a\"", "\"name\":\"a\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"")],
    ] {
        assert!(
            chosen(&nothing, None).unwrap_err().contains("no pod with `app=x` runs in namespace bench"),
            "{nothing:?}"
        );
    }
    let many: Vec<String> = (0..=PODS_MAX).map(|number| ready(&format!("p{number}"), "", "10.0.0.1", 1)).collect();
    assert!(chosen(&many, None).unwrap_err().contains("more than 1024 pods match"));
    assert_eq!(chosen(&many[1..], None).unwrap().len(), PODS_MAX);
    assert_eq!(chosen(&many, Some(3)).unwrap().len(), 3);
}

// Protects: an answer of another program, or of a hostile one, is an error and never a host, a panic or a control character.
#[test]
fn hostile_answers_are_refused() {
    for body in [
        "",
        "null",
        "[]",
        "{}",
        "\"PodList\"",
        "<html>",
        "{\"kind\":\"Status\",\"items\":[]}",
        "{\"kind\":\"PodList\",\"items\":{}}",
        "{\"kind\":\"PodList\",\"items\":[null]}",
        "{\"kind\":\"PodList\",\"items\":[{}]}",
        "{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":7}}]}",
        "{\"kind\":\"PodList\",\"items\":[",
    ] {
        assert!(matches!(Page::parse(body.as_bytes(), PORT), Err(PodsError::Malformed { .. })), "{body}");
    }
    assert!(matches!(Page::parse("[".repeat(100_000).as_bytes(), PORT), Err(PodsError::Malformed { .. })));
    for name in ["", "-a", "A", "a b", "a,b", "a/b", "\\u001b[2J", "a\\n", "ä", &"a".repeat(254)] {
        let error = page(&ready(name, "", "10.0.0.1", 1)).unwrap_err().to_string();
        assert!(!error.contains(['\u{1b}', '\n']), "{error}");
    }
    for ip in ["", "host", "10.0.0.1:80", "10.0.0.1/8", "fe80::1%eth0", "256.0.0.1"] {
        assert!(page(&ready("a", "", ip, 1)).is_err(), "{ip}");
    }
    for port in [0, -1, 65_536, i64::MAX] {
        assert!(page(&ready("a", "", "10.0.0.1", port)).is_err(), "{port}");
    }
    let next = |text: &str| {
        Page::parse(
            format!("{{\"kind\":\"PodList\",\"metadata\":{{\"continue\":\"{text}\"}},\"items\":null}}").as_bytes(),
            PORT,
        )
    };
    assert_eq!(next("abc").unwrap(), Page { pods: Vec::new(), next: Some("abc".to_owned()) });
    assert_eq!(next("").unwrap().next, None);
    assert!(next(&"a".repeat(NEXT_BYTES_MAX + 1)).is_err());
}

proptest! {
    // Protects: any bytes are pods with addresses, or an error of one line.
    #[test]
    fn any_bytes_are_a_page_or_an_error(body in "(\\{\"kind\":\"PodList\",\"items\":\\[)?.{0,200}") {
        if let Err(error) = Page::parse(body.as_bytes(), PORT) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}
