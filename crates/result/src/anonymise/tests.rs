use super::*;
use proptest::prelude::*;
use serde::Deserialize;

fn knowing(names: &[(NameKind, &str)]) -> Anonymiser {
    let mut anonymiser = Anonymiser::new();
    names.iter().for_each(|(kind, name)| anonymiser.know(*kind, name));
    anonymiser.known.sort_by_key(|known| std::cmp::Reverse(known.text.len()));
    anonymiser
}

#[test]
fn names_are_replaced_everywhere() {
    let mut anonymiser = knowing(&[
        (NameKind::Host, "db7"),
        (NameKind::Path, "/mnt/acme data"),
        (NameKind::Path, "/mnt/acme"),
        (NameKind::Serial, "S4EVNX0M1234"),
        (NameKind::User, "alice"),
    ]);
    for (text, expected) in [
        ("on db7: alice@db7.acme.example ran it", "on host-1: user-1@host-2 ran it"),
        ("DB7, mydb7 and db70 are others", "host-1, mydb7 and db70 are others"),
        ("write to '/mnt/acme data/f.0' failed", "write to 'path-1' failed"),
        ("fio --filename=/mnt/acme --name=x", "fio --filename=path-2 --name=x"),
        ("/mnt/acme/f:/mnt/acme. /mnt/acmes", "path-3:path-2. path-4"),
        ("drive S4EVNX0M1234 (s4evnx0m1234)", "drive serial-1 (serial-1)"),
    ] {
        assert_eq!(anonymiser.text(text), expected, "{text}");
    }
}

#[test]
fn names_of_a_known_form_need_not_be_learned() {
    for (text, expected) in [
        ("addr=10.1.2.3,port", "addr=address-1,port"),
        ("fe80::1234:5678%eth0 [2001:db8::7]:5201", "address-1%eth0 [address-2]:5201"),
        ("link/ether 52:54:00:12:34:56 up", "link/ether address-1 up"),
        ("root=UUID=0a1b2c3d-1111-4222-8333-444455556666 ro", "root=UUID=uuid-1 ro"),
        ("naa.5000c500a1b2c3d4 wwn-0x5000c500a1b2c3d4", "serial-1 serial-2"),
        ("/dev/disk/by-id/ata-ACME_S1 ~/bench", "path-1 path-2"),
        ("cd /srv/acme; ls /srv/acme.", "cd path-1; ls path-1."),
    ] {
        assert_eq!(Anonymiser::new().text(text), expected, "{text}");
    }
}

// Protects reports: text that reveals nothing about its owner stays readable.
#[test]
fn other_text_is_unchanged() {
    for text in [
        "read/write 12 MB/s, 4 KiB/op; p99 3.1 ms at 12:34:56 on 2026-11-28",
        "/dev/nvme0n1 /proc/sys/vm/drop_caches /sys/block/sda / 127.0.0.1 ::1 0.0.0.0",
        "01a2091f-d406-7abc-8def-0123456789ab is a run, 6.1.0-35-amd64 a kernel, 259:2 a device",
        "</b> https://example.org/docs 0x5f 1.5×",
    ] {
        assert_eq!(Anonymiser::new().text(text), text);
    }
}

#[test]
fn the_summary_has_counts_and_words_but_no_names() {
    let mut anonymiser = knowing(&[(NameKind::Host, "db7")]);
    assert_eq!(anonymiser.summary(), "anonymised: nothing had to be replaced");
    anonymiser.text("db7 10.0.0.1 10.0.0.2 /a/b /c/d /e/f");
    assert_eq!(
        anonymiser.summary(),
        "anonymised: 1 host (host-1), 3 paths (path-1 to path-3), 2 addresses (address-1, address-2)"
    );
}

/// A stand-in for a stored result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Sample {
    hostname: String,
    kind: SampleKind,
    note: String,
    path: String,
    target: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SampleKind {
    Disk,
}

fn sample(hostname: &str) -> Sample {
    Sample {
        hostname: hostname.to_owned(),
        kind: SampleKind::Disk,
        note: format!("{hostname} has a disk at /home/alice/x, says alice"),
        path: "/home/alice/x".to_owned(),
        target: [(hostname.to_owned(), "data".to_owned())].into_iter().collect(),
    }
}

#[test]
fn documents_stay_documents() {
    let mut anonymiser = Anonymiser::new();
    let changed = anonymiser.anonymous(&sample("db7")).unwrap();
    assert_eq!((changed.hostname.as_str(), changed.path.as_str()), ("host-1", "path-1"));
    assert_eq!(changed.note, "host-1 has a disk at path-1, says user-1");
    assert_eq!(changed.target.get("host-1").map(String::as_str), Some("data"));
    assert_eq!(anonymiser.text("db7 and /home/alice/x"), "host-1 and path-1");
}

// Protects: a host name that is also a word of the format does not break the result, and is replaced in its own field.
#[test]
fn a_name_that_is_a_format_keyword_is_replaced_in_its_field() {
    let mut anonymiser = Anonymiser::new();
    let changed = anonymiser.anonymous(&sample("disk")).unwrap();
    assert_eq!((changed.hostname.as_str(), changed.kind), ("host-1", SampleKind::Disk));
    assert!(anonymiser.summary().contains("1 of them is also a word"), "{}", anonymiser.summary());
}

proptest! {
    // Protects publishers: no original name remains, regardless of its position in the text.
    #[test]
    fn no_original_is_left(before in "[ ,:=('\"]{0,3}", after in "[ ,:)'\"]{0,3}", word in "[a-z]{0,6}") {
        let names = ["db7", "/mnt/acme", "S4EVNX0M1234", "alice", "10.1.2.3", "0a1b2c3d-1111-4222-8333-444455556666"];
        let kinds = [NameKind::Host, NameKind::Path, NameKind::Serial, NameKind::User];
        let learned: Vec<(NameKind, &str)> = kinds.into_iter().zip(names).collect();
        for name in names {
            let mut anonymiser = knowing(&learned);
            let text = format!("{word} {before}{name}{after} {word}");
            let changed = anonymiser.text(&text);
            prop_assert!(!changed.contains(name), "{text} became {changed}");
            prop_assert_eq!(anonymiser.text(&text), changed);
        }
    }

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        knowing(&[(NameKind::Path, "/a/é"), (NameKind::Host, "ü1")]).text(&text);
    }
}
