//! Pages, as a browser gets them.

#![allow(clippy::disallowed_methods)] // tests write files

mod common;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use common::{EXT4, GATE, HOST, HOSTILE, SCRIPT, Site, TMPFS, conformance, gate, hostile, result};
use plumb_result::RunResult;
use plumb_store::{Mark, MarkKind, Store, TagChange};

/// A later run of the hostile work.
const AGAIN: &str = "018f0000-0000-7000-8000-00000000004e";

#[tokio::test]
async fn the_list_has_each_number_with_its_tier_and_the_verdict() {
    let site = Site::new();
    let page = site.get("/").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.body.contains("<b>3 runs</b>"), "{}", page.body);
    assert!(page.body.contains(&format!("/runs/{EXT4}")));
    assert!(page.body.contains("<span class=\"mark good\">device</span>"), "{}", page.body);
    assert!(page.body.contains("<span class=\"mark bad\">cache</span>"), "{}", page.body);
}

#[tokio::test]
async fn filters_and_words_select_runs() {
    let site = Site::new();
    for (query, count, id) in
        [("fs=tmpfs", "1 run", TMPFS), ("q=tmpfs", "1 run", TMPFS), ("from=2024-05-03", "1 run", HOSTILE)]
    {
        let page = site.get(&format!("/runs?{query}")).await.body;
        assert!(
            page.contains(&format!("<b>{count}</b> match")) && page.contains(&format!("/runs/{id}")),
            "{query}: {page}"
        );
    }
    let none = site.get("/runs?q=nowhere").await;
    assert_eq!(none.status, StatusCode::OK);
    assert!(none.body.contains("No run matches."));
    assert_eq!(site.get("/runs?verdict=good").await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn lists_go_on_where_the_page_before_ended() {
    let site = Site::with(|store| {
        for i in 0..60 {
            let id = format!("018f0000-0000-7000-8000-0000000000{i:02x}");
            store.import(&result("run-mail", &id, &format!("2024-05-01T12:00:{i:02}Z"))).unwrap();
        }
    });
    let first = site.get("/runs?workload=mail&fs=").await.body;
    let address = first.split("<a href=\"").find(|part| part.starts_with("/runs?") && part.contains("rel=\"next\""));
    let address =
        address.expect("a link to older runs").split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&");
    let second = site.get(&address).await.body;
    let runs = |page: &str| page.matches("name=\"run\"").count();
    assert_eq!((runs(&first), runs(&second)), (50, 10), "{address}");
}

// Protects a link in a forum: it names a run for as long as the run is stored.
#[tokio::test]
async fn a_run_has_a_permanent_address_and_short_ones_lead_to_it() {
    let site = Site::new();
    let page = site.get(&format!("/runs/{EXT4}")).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.body.contains("<svg"), "the report has its charts");
    for short in ["00000000000a", "last~2"] {
        let short = site.get(&format!("/runs/{short}")).await;
        assert_eq!(short.status, StatusCode::TEMPORARY_REDIRECT);
        assert_eq!(short.headers["location"], format!("/runs/{EXT4}"));
    }
    let nothing = site.get("/runs/ffff").await;
    assert_eq!(nothing.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn two_selected_runs_are_compared_as_the_command_does() {
    let site = Site::new();
    let page = site.get(&format!("/compare?run={TMPFS}&run={EXT4}")).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.body.contains(&format!("value=\"{EXT4}\"")), "the older run is the baseline: {}", page.body);
    assert!(page.body.contains("exploratory") || page.body.contains("one after the other"), "{}", page.body);
    let one = site.get(&format!("/compare?run={TMPFS}")).await.body;
    assert!(one.contains("1 runs are selected") || one.contains("select two"), "{one}");
    let wrong = site.get("/compare?a=nowhere&b=tag:x").await;
    assert_eq!(wrong.status, StatusCode::OK);
    assert!(wrong.body.contains("neither a tag nor a run"), "{}", wrong.body);
}

// Protects readers of a wrong run: what was said of it, by whom and when, is on its page, and hostile texts are escaped.
#[tokio::test]
async fn remarks_on_a_run_are_on_its_page() {
    let site = Site::new();
    let mut store = Store::open(&site.database).unwrap();
    for (number, kind, reason) in [(1, MarkKind::Note, "new firmware"), (2, MarkKind::Retraction, SCRIPT)] {
        let id = format!("018f0000-0000-7000-8000-00000000007{number}");
        let mark =
            Mark { id, kind, reason: reason.to_owned(), at: 1_714_564_800_000_000_000, author: "ann@n1".to_owned() };
        store.mark(EXT4, &mark).unwrap();
    }
    let page = site.get(&format!("/runs/{EXT4}")).await.body;
    assert!(page.contains("<dt>Note</dt><dd>new firmware (ann@n1, 2024-05-01 12:00)"), "{page}");
    assert!(page.contains("<dt>Retracted</dt>") && page.contains("<span class=\"mark bad\">retracted"));
    assert!(!page.contains("<script"), "{page}");
}

// Protects a team that looks at its gates: each answer is there in words and in order, and leads to its evidence.
#[tokio::test]
async fn gates_are_shown_over_time() {
    let empty = Site::new();
    assert!(empty.get("/gates").await.body.contains("No gate is stored yet"));
    let site = Site::with(|store| {
        store.import(&result("try-ext4", EXT4, "2024-05-01T12:00:00Z")).unwrap();
        for (number, answer) in ["pass", "regression", "cannot-tell"].into_iter().enumerate() {
            store.save_gate(&format!("018f0000-0000-7000-8000-00000000006{number}"), &gate(answer)).unwrap();
        }
    });
    let page = site.get("/gates").await.body;
    let signs: Vec<&str> =
        page.split("aria-label=\"").skip(1).filter_map(|rest| rest.split([',', '"']).next()).collect();
    let answers = ["pass", "regression", "cannot tell"];
    assert_eq!(
        signs.iter().filter(|sign| answers.contains(sign)).collect::<Vec<_>>(),
        answers.iter().collect::<Vec<_>>()
    );
    assert!(page.contains("1 regression") && page.contains("0.90×"), "{page}");
    let passes = site.get("/gates?answer=pass").await.body;
    assert_eq!(passes.matches("<span class=\"mark").count(), 1, "{passes}");
    let one = site.get("/gates/018f0000-0000-7000-8000-000000000061").await;
    assert_eq!(one.status, StatusCode::OK);
    assert!(one.body.contains("0.88") && one.body.contains("2 runs"), "{}", one.body);
    assert_eq!(site.get("/gates/none").await.status, StatusCode::NOT_FOUND);
    assert_eq!(site.get("/gates?answer=maybe").await.status, StatusCode::BAD_REQUEST);
}

// Protects the server from statements of strangers, which may read for as long as they like.
#[tokio::test]
async fn sql_is_refused() {
    let site = Site::new();
    for statement in ["SELECT id FROM run", " with x as (select 1) select id from run"] {
        let words: String = form_urlencoded::byte_serialize(statement.as_bytes()).collect();
        let page = site.get(&format!("/compare?a={words}&b=last")).await.body;
        assert!(page.contains("SQL selects runs only on the command line"), "{page}");
    }
}

// Protects visitors from names in imported files.
#[tokio::test]
async fn hostile_names_are_escaped_on_every_page() {
    let site = Site::new();
    let mut store = Store::open(&site.database).unwrap();
    store.tag(HOSTILE, "b-x", TagChange::Add).unwrap();
    let again = RunResult { id: AGAIN.to_owned(), started_at: "2024-05-04T12:00:00Z".to_owned(), ..hostile() };
    store.import(&again).unwrap();
    store.save_conformance(&conformance()).unwrap();
    store.save_gate(GATE, &gate("regression")).unwrap();
    let encoded: String = form_urlencoded::byte_serialize(SCRIPT.as_bytes()).collect();
    for address in [
        "/runs".to_owned(),
        format!("/runs?q={encoded}"),
        format!("/runs?host={encoded}"),
        format!("/runs?workload={encoded}&tag={encoded}"),
        format!("/runs/{HOSTILE}"),
        format!("/runs/{encoded}"),
        format!("/compare?run={HOSTILE}&run={EXT4}"),
        format!("/compare?a={encoded}&b={encoded}&metrics={encoded}"),
        format!("/comparisons/{encoded}"),
        "/history".to_owned(),
        format!("/history?workload={encoded}&path={encoded}&host={encoded}"),
        "/machines".to_owned(),
        format!("/changes?a={HOSTILE}&b={EXT4}"),
        "/studies".to_owned(),
        format!("/studies/{encoded}"),
        "/gates".to_owned(),
        format!("/gates/{GATE}"),
        format!("/gates?answer={encoded}"),
        "/conformance".to_owned(),
        "/conformance/last".to_owned(),
        format!("/{encoded}"),
    ] {
        let page = site.get(&address).await.body;
        assert!(!page.contains("<script"), "{address}: {page}");
        assert!(!page.contains("alert(1)</"), "{address}: {page}");
    }
}

// Protects the pages' own promise: no script, no style and no handler in the page, so that the policy can forbid them.
#[tokio::test]
async fn pages_need_nothing_inline() {
    let site = Site::new();
    for address in ["/runs", &format!("/runs/{EXT4}"), &format!("/compare?run={EXT4}&run={TMPFS}"), "/nowhere"] {
        let page = site.get(address).await;
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(page.headers["x-content-type-options"], "nosniff");
        assert_eq!(page.headers["referrer-policy"], "same-origin");
        for inline in ["<style", " style=", "<script", " onclick=", "javascript:"] {
            assert!(!page.body.contains(inline), "{address} has {inline}");
        }
    }
}

// Protects results from a site whose name its owner rebinds to this machine's address.
#[tokio::test]
async fn another_hosts_name_gets_nothing() {
    let site = Site::new();
    let request = |host: &str| Request::get("/runs").header("host", host).body(Body::empty()).unwrap();
    for host in ["evil.example:8780", "evil.example", "127.0.0.1", "127.0.0.1:80", ""] {
        let answer = site.send(request(host)).await;
        assert_eq!(answer.status, StatusCode::MISDIRECTED_REQUEST, "{host}");
        assert!(!answer.body.contains("ext4") && !answer.body.contains("/runs/0"), "{}", answer.body);
    }
    for host in [HOST, "localhost:8780", "LOCALHOST:8780", "[::1]:8780"] {
        assert_eq!(site.send(request(host)).await.status, StatusCode::OK, "{host}");
    }
    let without = Request::get("/runs").body(Body::empty()).unwrap();
    assert_eq!(site.send(without).await.status, StatusCode::MISDIRECTED_REQUEST);
}

// Protects the machine: an error page must not say where the database is.
#[tokio::test]
async fn errors_name_no_path() {
    let site = Site::new();
    let directory = site.database.parent().unwrap().to_str().unwrap().to_owned();
    for address in ["/runs/ffff", "/runs/0", "/comparisons/ffff", "/compare?a=x&b=y", "/runs?after=z", "/x"] {
        let page = site.get(address).await.body;
        assert!(!page.contains(&directory) && !page.contains("plumb.db"), "{address}: {page}");
    }
    // The file goes before the server opens it; a connection that is open keeps it.
    let site = Site::new();
    let directory = site.database.parent().unwrap().to_str().unwrap().to_owned();
    for ending in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{ending}", site.database.display()));
    }
    let page = site.get("/runs").await;
    assert_eq!(page.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(!page.body.contains(&directory) && page.body.contains("the server&#39;s log"), "{}", page.body);
}

#[tokio::test]
async fn only_get_is_taken_and_large_bodies_are_refused() {
    let site = Site::new();
    let post = |body: Body| Request::post("/runs").header("host", HOST).body(body).unwrap();
    assert_eq!(site.send(post(Body::empty())).await.status, StatusCode::METHOD_NOT_ALLOWED);
    let large = Request::post("/runs").header("host", HOST).header("content-length", "1000000000").body(Body::empty());
    assert_eq!(site.send(large.unwrap()).await.status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn the_style_sheet_is_kept_and_an_empty_store_says_what_to_do() {
    let site = Site::with(|_| {});
    let page = site.get("/").await.body;
    assert!(page.contains("plumb try"), "{page}");
    let address = page.split('"').find(|part| part.starts_with("/assets/plumb-")).unwrap().to_owned();
    let sheet = site.get(&address).await;
    assert_eq!(sheet.headers["content-type"], "text/css; charset=utf-8");
    assert!(sheet.headers["cache-control"].to_str().unwrap().contains("immutable"));
    assert_eq!(site.get("/assets/plumb.css").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_history_has_the_runs_of_a_place_in_order() {
    let site = Site::with(|store| {
        for i in 0..12 {
            let id = format!("018f0000-0000-7000-8000-0000000000{i:02x}");
            store.import(&result("run-mail", &id, &format!("2024-05-01T12:00:{i:02}Z"))).unwrap();
        }
    });
    let list = site.get("/history").await.body;
    assert!(list.contains("12 runs"), "{list}");
    let address =
        list.split('"').find(|part| part.starts_with("/history?")).unwrap().replace("&#38;", "&").replace("&amp;", "&");
    let page = site.get(&address).await;
    assert_eq!(page.status, StatusCode::OK, "{address}: {}", page.body);
    assert!(page.body.contains("<svg") && page.body.contains("12 runs. A change of level needs"), "{}", page.body);
    assert_eq!(site.get("/history?workload=nothing").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn machines_and_changes_name_hardware_and_settings() {
    let site = Site::new();
    let machines = site.get("/machines").await;
    assert_eq!(machines.status, StatusCode::OK);
    assert!(machines.body.contains("ext4") && machines.body.contains("processor"), "{}", machines.body);
    let changes = site.get(&format!("/changes?a={EXT4}&b={TMPFS}")).await;
    assert_eq!(changes.status, StatusCode::OK);
    assert!(changes.body.contains("<h2>Storage</h2>"), "{}", changes.body);
    assert_eq!(site.get("/changes?a=last").await.status, StatusCode::BAD_REQUEST);
    let run = site.get(&format!("/runs/{EXT4}")).await.body;
    assert!(run.contains("their history here"), "{run}");
}
