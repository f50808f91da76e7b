//! `plumb site`: stored results as static pages.

use crate::common::{Home, needs};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Returns all files below a directory, relative to it.
fn files(directory: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => {
                    found.insert(path.strip_prefix(directory).unwrap().display().to_string());
                }
            }
        }
    }
    found
}

/// Returns the targets of a page's links.
fn links(html: &str) -> Vec<&str> {
    html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// Checks every page of a site: it runs nothing, fetches nothing, and each of its links leads to a file of the site.
fn is_a_site(directory: &Path) {
    for name in files(directory).into_iter().filter(|name| name.ends_with(".html")) {
        let page = directory.join(&name);
        let html = std::fs::read_to_string(&page).unwrap();
        let shown = html.split("<details>").next().unwrap();
        for foreign in ["<script", "src=", "@import", "url(", "href=\"/", "href=\"http", "onerror="] {
            assert!(!shown.contains(foreign), "{name}: {foreign}");
        }
        assert!(html.contains("prefers-color-scheme:dark") && html.contains("name=\"viewport\""), "{name}");
        for link in links(shown) {
            let target = page.parent().unwrap().join(link).canonicalize();
            let target = target.unwrap_or_else(|error| panic!("{name} links to {link}: {error}"));
            assert!(target.starts_with(directory.canonicalize().unwrap()), "{name}: {link}");
        }
    }
}

fn site(home: &Home) -> PathBuf {
    home.work().join("public")
}

fn read(home: &Home, name: &str) -> String {
    std::fs::read_to_string(site(home).join(name)).unwrap()
}

fn ids(home: &Home) -> Vec<String> {
    let rows = home.plumb("list -n 100 --json").expect(0).json();
    rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn runs_and_comparisons_become_pages_with_downloads() {
    let home = Home::new();
    home.plumb("key").expect(0);
    home.plumb("compare sim:ssd sim:ssd?slow=20% --for random-read --budget 20s").expect(0);
    home.plumb("run mail --at sim:ssd --set time=4s --name nightly").expect(0);
    home.plumb("site public --all --title Disks").expect(0).expect_stdout(&["public/index.html"]);
    let (runs, index) = (ids(&home), read(&home, "index.html"));
    is_a_site(&site(&home));
    for run in &runs {
        for ending in ["html", "json", "plumb"] {
            assert!(index.contains(&format!("href=\"runs/{run}.{ending}\"")), "{run}.{ending}");
        }
    }
    for wanted in ["<h1>Disks</h1>", "mail", "sim:ssd", "(device)", ">pass<", "<h2>Comparisons</h2>", "1 comparison"] {
        assert!(index.contains(wanted), "{wanted}");
    }
    // The downloads are what they say: the stored result, and a bundle that passes its checks.
    let newest = &runs[0];
    let json: Value = plumb_document::json::from_str(&read(&home, &format!("runs/{newest}.json"))).unwrap();
    assert_eq!(&json, &home.plumb("export last").expect(0).json()[0]);
    home.plumb(&format!("verify public/runs/{newest}.plumb")).expect(0).expect_stdout(&["your own key"]);
    let page = read(&home, &format!("runs/{newest}.html"));
    assert!(page.contains("All results") && page.contains("How far to trust it"), "it is the report's page");
    // A site of one tag has neither other runs nor the comparison of other runs; earlier pages go.
    home.plumb("site public tag:nightly").expect(0).expect_stderr(&["removed"]);
    is_a_site(&site(&home));
    let expected = ["html", "json", "plumb"].map(|ending| format!("runs/{newest}.{ending}"));
    let expected = expected.into_iter().chain(["index.html", "plumb-site.json"].map(str::to_owned)).collect();
    assert_eq!(files(&site(&home)), expected);
    home.plumb("site public").expect(2).expect_stderr(&["--all"]);
    home.plumb("site public tag:none").expect(2).expect_stderr(&["no run has the tag"]);
    home.plumb("site public last --json").expect(2);
}

// Protects files that the user put into the directory, or that a changed marker names.
#[test]
fn other_files_are_not_touched() {
    let home = Home::new();
    home.plumb("run mail --at sim:ssd --set time=1s").expect(0);
    std::fs::create_dir(site(&home)).unwrap();
    std::fs::write(site(&home).join("notes.txt"), "mine").unwrap();
    home.plumb("site public last").expect(5).expect_stderr(&["not empty, and not a site of Plumb"]);
    assert_eq!(files(&site(&home)), BTreeSet::from(["notes.txt".to_owned()]));
    std::fs::remove_file(site(&home).join("notes.txt")).unwrap();
    home.plumb("site public last").expect(0).expect_stderr(&["`plumb key` makes a key"]);
    assert!(!read(&home, "index.html").contains("bundle"));
    // Own files in a site stay, also those with the name of a page to come.
    std::fs::write(site(&home).join("CNAME"), "example.org").unwrap();
    home.plumb("site public last").expect(0);
    assert_eq!(read(&home, "CNAME"), "example.org");
    home.plumb("run mail --at sim:ssd --set time=1s").expect(0);
    let to_come = format!("runs/{}.html", ids(&home)[0]);
    std::fs::write(site(&home).join(&to_come), "mine").unwrap();
    let before = files(&site(&home));
    home.plumb("site public --all").expect(5).expect_stderr(&["was not made by `plumb site`"]);
    assert_eq!((read(&home, &to_come).as_str(), files(&site(&home))), ("mine", before));
    std::fs::remove_file(site(&home).join(&to_come)).unwrap();
    let outside = home.file("precious.html", "mine");
    let marker = site(&home).join("plumb-site.json");
    std::fs::write(&marker, r#"{"schema":"plumb.site/1","files":["runs/../../precious.html"]}"#).unwrap();
    home.plumb("site public last").expect(5).expect_stderr(&["is not the list of a site"]);
    assert!(outside.exists());
    let linked = home.work().join("linked");
    std::fs::create_dir(&linked).unwrap();
    std::os::unix::fs::symlink(home.work(), linked.join("runs")).unwrap();
    std::fs::write(linked.join("plumb-site.json"), r#"{"schema":"plumb.site/1","files":[]}"#).unwrap();
    home.plumb("site linked last").expect(5).expect_stderr(&["in the way"]);
}

// Protects readers of a site from markup in names, which anybody can import.
#[test]
fn names_are_escaped() {
    const SCRIPT: &str = "<script>alert(1)</script>\"'&";
    let home = Home::new();
    home.plumb("run mail --at sim:ssd --set time=1s").expect(0);
    let mut result = home.plumb("export last").expect(0).json()[0].take();
    result["id"] = "018f0000-0000-7000-8000-00000000000a".into();
    result["workload"]["name"] = SCRIPT.into();
    result["phases"][0]["name"] = SCRIPT.into();
    result["tool"]["version"] = SCRIPT.into();
    for target in result["target"].as_object_mut().unwrap().values_mut() {
        target["path"] = SCRIPT.into();
    }
    for check in result["checks"].as_array_mut().unwrap() {
        check["message"] = SCRIPT.into();
    }
    home.file("hostile.json", &result.to_string());
    home.plumb("import hostile.json").expect(0);
    home.plumb_args(["site", "public", "--all", "--title", SCRIPT]).expect(0);
    is_a_site(&site(&home));
    let index = read(&home, "index.html");
    assert!(index.contains("&lt;script&gt;") || index.contains("&#60;script&#62;"), "{index}");
    for page in ["index.html", "runs/018f0000-0000-7000-8000-00000000000a.html"] {
        assert!(!read(&home, page).contains("<script"), "{page}");
    }
}

// Protects people who publish: with `--anonymise`, no page and no download has a name, and the site does not list them.
#[test]
fn an_anonymous_site_has_no_names() {
    const NAMES: [&str; 4] = ["db7-acme", "alicecooper", "S4EVNX0M1234", "/srv/acme-data"];
    let home = Home::new();
    home.plumb("key").expect(0);
    home.plumb("run mail --at sim:ssd --set time=1s").expect(0);
    let mut result = home.plumb("export last").expect(0).json()[0].take();
    for (id, other) in
        [("018f0000-0000-7000-8000-00000000000a", ""), ("018f0000-0000-7000-8000-00000000000b", "db7-acme")]
    {
        result["id"] = id.into();
        result["environment"]["hostname"] = "db7-acme".into();
        let target = result["target"].as_object_mut().unwrap().values_mut().next().unwrap();
        target["path"] = "/home/alicecooper/bench".into();
        for layer in target["stack"].as_array_mut().unwrap() {
            layer["serial"] = "S4EVNX0M1234".into();
        }
        let checks = result["checks"].as_array_mut().unwrap();
        checks[0]["message"] = format!("alicecooper wrote /srv/acme-data/x.1 on {other}.").into();
        home.file("named.json", &result.to_string());
        home.plumb("import named.json").expect(0);
    }
    let said = home.plumb("site public --all --anonymise").expect(0);
    let said = said.expect_stderr(&["anonymised: ", ": db7-acme", ": S4EVNX0M1234"]);
    assert!(!said.out.contains("db7-acme"), "{}", said.out);
    is_a_site(&site(&home));
    for name in files(&site(&home)) {
        let text = String::from_utf8_lossy(&std::fs::read(site(&home).join(&name)).unwrap()).into_owned();
        for original in NAMES {
            assert!(!text.contains(original), "{name}: {original}");
        }
    }
    // One name has one word on all pages.
    let of = |id: &str| read(&home, &format!("runs/018f0000-0000-7000-8000-00000000000{id}.json"));
    let host = |id: &str| -> Value {
        plumb_document::json::from_str::<Value>(&of(id)).unwrap()["environment"]["hostname"].take()
    };
    assert_eq!(host("a"), host("b"));
    assert!(host("a").as_str().unwrap().starts_with("host-"), "{}", host("a"));
    for id in ["a", "b"] {
        home.plumb(&format!("verify public/runs/018f0000-0000-7000-8000-00000000000{id}.plumb"))
            .expect(0)
            .expect_stdout(&["names were replaced"]);
    }
}

// Protects readers: a browser shows the pages from file:// without an error.
#[test]
fn a_browser_shows_the_pages() {
    if !needs::tools(&["chromium"]) {
        return;
    }
    let home = Home::new();
    home.plumb("run mail --at sim:ssd --set time=4s").expect(0);
    home.plumb("site public last").expect(0);
    let address = format!("file://{}", site(&home).join("index.html").display());
    let output = std::process::Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", &address])
        .env("HOME", home.work())
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && dom.contains("Storage measurements") && dom.contains(">mail<"), "{output:?}");
}
