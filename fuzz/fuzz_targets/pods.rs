//! Lists of pods and selectors: any bytes become a limited number of hosts, or an error without control characters.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plumb_cluster::k8s::{PODS_MAX, Page, PodChoice, PodsError, choose};

fuzz_target!(|data: &[u8]| {
    let (choice, body) = data.split_at(data.iter().position(|&byte| byte == b'\n').unwrap_or(0));
    let selector = String::from_utf8_lossy(choice);
    let choice = PodChoice::parse(&selector)
        .unwrap_or(PodChoice { count: None, namespace: None, selector: "app=x".to_owned() });
    let said = match Page::parse(body, 8766).and_then(|page| choose(page.pods, &choice, "default")) {
        Ok(ready) => {
            assert!(!ready.is_empty() && ready.len() <= PODS_MAX);
            ready.iter().map(|pod| format!("{} {}\n", pod.name, pod.address)).collect()
        }
        Err(error) => error.to_string(),
    };
    let refused = PodsError::of_status(403, body, "default").to_string();
    for text in [said, refused] {
        assert!(!text.chars().any(|character| character.is_control() && character != '\n'), "{text:?}");
    }
});
