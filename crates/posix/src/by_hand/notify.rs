//! inotify: which events are reported for a change, to which watches, and how often. Source: inotify(7).

use super::case::{Hand, linux};
use crate::ctx::{Ctx, RDONLY, Run};
use crate::sys::{self, V, nr};

pub(super) const CASES: &[Hand] = &[
    linux(
        "notify.entries",
        "inotify(7)",
        "A directory reports each entry that is created in it or removed from it.",
        |cx| {
            cx.dir("d", 0o755)?;
            let fd = watch(cx, "d", ENTRIES)?;
            let made = cx.open_as("d/a", "O_CREAT | O_WRONLY", libc::O_CREAT | libc::O_WRONLY, 0o644);
            let made = cx.set_up("make.regular", "open", made)?;
            cx.close(made);
            let _ = cx.link("d/a", "d/b");
            let _ = cx.symlink("a", "d/l");
            let _ = cx.mkdir("d/s", 0o755);
            let _ = cx.unlink("d/b");
            let _ = cx.rmdir("d/s");
            reports(cx, fd, &["CREATE a", "CREATE b", "CREATE l", "CREATE|ISDIR s", "DELETE b", "DELETE|ISDIR s"]);
            Ok(())
        },
    ),
    linux(
        "notify.rename",
        "inotify(7)",
        "A rename causes two events with one cookie: from the old name, to the new one.",
        |cx| {
            cx.dir("d", 0o755)?;
            cx.dir("e", 0o755)?;
            cx.file("d/a", b"")?;
            let fd = watch(cx, "d", ENTRIES)?;
            add(cx, fd, "e", ENTRIES)?;
            let _ = cx.rename("d/a", "e/b");
            let events = events(cx, fd);
            let reported: Vec<&str> = events.iter().map(|event| event.reported.as_str()).collect();
            cx.that(
                reported == ["MOVED_FROM a", "MOVED_TO b"],
                "events",
                "MOVED_FROM a, MOVED_TO b",
                &reported.join(", "),
            );
            let cookies: Vec<u32> = events.iter().map(|event| event.cookie).collect();
            let are_one = matches!(cookies[..], [from, to] if from == to && from != 0);
            cx.that(are_one, "their cookies", "equal, and not 0", &format!("{cookies:?}"));
            Ok(())
        },
    ),
    linux("notify.replaced", "inotify(7)", "A file that loses its last name to a rename reports that.", |cx| {
        cx.file("a", b"")?;
        cx.file("b", b"")?;
        let fd = watch(cx, "b", ("IN_DELETE_SELF", libc::IN_DELETE_SELF))?;
        let _ = cx.rename("a", "b");
        reports(cx, fd, &["DELETE_SELF", "IGNORED"]);
        Ok(())
    }),
    linux(
        "notify.data",
        "inotify(7)",
        "A file reports that it is opened, written, read and closed, in this order.",
        |cx| {
            cx.file("f", b"old")?;
            let fd = watch(cx, "f", DATA)?;
            let open = cx.open_as("f", "O_WRONLY", libc::O_WRONLY, 0);
            let open = cx.set_up("make.regular", "open", open)?;
            let _ = cx.pwrite(open, b"new", 0);
            cx.close(open);
            let open = cx.open("f", RDONLY, 0);
            let open = cx.set_up("make.regular", "open", open)?;
            let _ = cx.pread(open, 3, 0);
            cx.close(open);
            let _ = cx.truncate("f", 1);
            reports(cx, fd, &["OPEN", "MODIFY", "CLOSE_WRITE", "OPEN", "ACCESS", "CLOSE_NOWRITE", "MODIFY"]);
            Ok(())
        },
    ),
    linux(
        "notify.attributes",
        "inotify(7)",
        "A file reports changes of its mode, its times and its link count.",
        |cx| {
            cx.file("f", b"")?;
            let fd = watch(cx, "f", ("IN_ATTRIB", libc::IN_ATTRIB))?;
            for what in ["chmod", "utimensat", "link", "unlink"] {
                let done = match what {
                    "chmod" => cx.chmod("f", 0o600),
                    "utimensat" => cx.utimens("f", (1, 0), (1, 0)),
                    "link" => cx.link("f", "g"),
                    _ => cx.unlink("g"),
                };
                cx.ok(what, done);
                let events = events(cx, fd);
                let reported: Vec<&str> = events.iter().map(|event| event.reported.as_str()).collect();
                cx.that(reported == ["ATTRIB"], &format!("events of {what}"), "ATTRIB", &reported.join(", "));
            }
            Ok(())
        },
    ),
    linux(
        "notify.removed",
        "inotify(7)",
        "A removed file reports its removal when it is closed, and its watch ends.",
        |cx| {
            cx.file("f", b"")?;
            let open = cx.open("f", RDONLY, 0);
            let open = cx.set_up("make.regular", "open", open)?;
            let fd = watch(cx, "f", ("IN_DELETE_SELF", libc::IN_DELETE_SELF))?;
            let _ = cx.unlink("f");
            reports(cx, fd, &[]);
            cx.close(open);
            reports(cx, fd, &["DELETE_SELF", "IGNORED"]);
            Ok(())
        },
    ),
    linux(
        "notify.moved",
        "inotify(7)",
        "A renamed file or directory reports that, and is watched under its new name.",
        |cx| {
            cx.dir("d", 0o755)?;
            let moved_or_made = ("IN_MOVE_SELF | IN_CREATE", libc::IN_MOVE_SELF | libc::IN_CREATE);
            let fd = watch(cx, "d", moved_or_made)?;
            let _ = cx.rename("d", "e");
            cx.file("e/new", b"")?;
            reports(cx, fd, &["MOVE_SELF", "CREATE new"]);
            Ok(())
        },
    ),
    linux("notify.oneshot", "inotify(7)", "A watch with IN_ONESHOT reports one event, and ends.", |cx| {
        cx.dir("d", 0o755)?;
        let fd = watch(cx, "d", ("IN_CREATE | IN_ONESHOT", libc::IN_CREATE | libc::IN_ONESHOT))?;
        cx.file("d/a", b"")?;
        cx.file("d/b", b"")?;
        reports(cx, fd, &["CREATE a", "IGNORED"]);
        Ok(())
    }),
    linux(
        "notify.flags",
        "inotify_add_watch(2)",
        "IN_ONLYDIR refuses a file, IN_MASK_CREATE refuses a watched file, IN_DONT_FOLLOW watches the link.",
        |cx| {
            cx.file("f", b"")?;
            let made = cx.symlink("f", "l");
            cx.set_up("make.symlink", "symlink", made)?;
            let fd = instance(cx)?;
            let refused = add_watch(cx, fd, "f", ("IN_CREATE | IN_ONLYDIR", libc::IN_CREATE | libc::IN_ONLYDIR));
            cx.answers("IN_ONLYDIR on a file", refused, &[libc::ENOTDIR]);
            let of_file = add_watch(cx, fd, "f", ("IN_OPEN", libc::IN_OPEN));
            cx.ok("a watch of the file", of_file.map(|_| 0));
            let again = add_watch(cx, fd, "f", ("IN_OPEN | IN_MASK_CREATE", libc::IN_OPEN | MASK_CREATE));
            cx.answers("IN_MASK_CREATE again", again, &[libc::EEXIST]);
            let through = add_watch(cx, fd, "l", ("IN_OPEN", libc::IN_OPEN));
            cx.that(through == of_file, "the watch through the link", "the file's", &format!("{through:?}"));
            let of_link = add_watch(cx, fd, "l", ("IN_OPEN | IN_DONT_FOLLOW", libc::IN_OPEN | libc::IN_DONT_FOLLOW));
            cx.that(of_link.is_ok() && of_link != of_file, "the watch of the link", "another", &format!("{of_link:?}"));
            Ok(())
        },
    ),
];

/// Events by their names in C, and as a mask.
type Mask = (&'static str, u32);

const ENTRIES: Mask = (
    "IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO",
    libc::IN_CREATE | libc::IN_DELETE | libc::IN_MOVED_FROM | libc::IN_MOVED_TO,
);
const DATA: Mask = (
    "IN_OPEN | IN_ACCESS | IN_MODIFY | IN_CLOSE_WRITE | IN_CLOSE_NOWRITE",
    libc::IN_OPEN | libc::IN_ACCESS | libc::IN_MODIFY | libc::IN_CLOSE_WRITE | libc::IN_CLOSE_NOWRITE,
);
/// `IN_MASK_CREATE` of linux/inotify.h.
const MASK_CREATE: u32 = 0x1000_0000;

/// The names of events, without `IN_`.
const NAMES: &[(&str, u32)] = &[
    ("ACCESS", libc::IN_ACCESS),
    ("MODIFY", libc::IN_MODIFY),
    ("ATTRIB", libc::IN_ATTRIB),
    ("CLOSE_WRITE", libc::IN_CLOSE_WRITE),
    ("CLOSE_NOWRITE", libc::IN_CLOSE_NOWRITE),
    ("OPEN", libc::IN_OPEN),
    ("MOVED_FROM", libc::IN_MOVED_FROM),
    ("MOVED_TO", libc::IN_MOVED_TO),
    ("CREATE", libc::IN_CREATE),
    ("DELETE", libc::IN_DELETE),
    ("DELETE_SELF", libc::IN_DELETE_SELF),
    ("MOVE_SELF", libc::IN_MOVE_SELF),
    ("UNMOUNT", libc::IN_UNMOUNT),
    ("Q_OVERFLOW", libc::IN_Q_OVERFLOW),
    ("IGNORED", libc::IN_IGNORED),
    ("ISDIR", libc::IN_ISDIR),
];

struct Event {
    /// Names of its mask, and that of the entry.
    reported: String,
    /// Ties the two events of a rename together.
    cookie: u32,
}

/// Creates an instance without watches. Reading from it does not block.
fn instance(cx: &mut Ctx<'_>) -> Result<i64, crate::ctx::Stop> {
    let fd = cx
        .call(nr!(inotify_init1), &[V::C("IN_NONBLOCK | IN_CLOEXEC", i64::from(libc::IN_NONBLOCK | libc::IN_CLOEXEC))]);
    cx.set_up("make.regular", "inotify_init1", fd)
}

fn add_watch(cx: &mut Ctx<'_>, fd: i64, path: &str, (name, mask): Mask) -> sys::R {
    cx.call(nr!(inotify_add_watch), &[V::Fd(fd as i32), V::P(path), V::C(name, i64::from(mask))])
}

fn add(cx: &mut Ctx<'_>, fd: i64, path: &str, mask: Mask) -> Run {
    let added = add_watch(cx, fd, path, mask);
    cx.set_up("make.regular", "inotify_add_watch", added).map(drop)
}

/// Creates an instance that watches one path.
fn watch(cx: &mut Ctx<'_>, path: &str, mask: Mask) -> Result<i64, crate::ctx::Stop> {
    let fd = instance(cx)?;
    add(cx, fd, path, mask)?;
    Ok(fd)
}

/// Returns all events since the last call.
fn events(cx: &mut Ctx<'_>, fd: i64) -> Vec<Event> {
    const HEAD: usize = 16;
    let mut bytes = [0_u8; 4096];
    let length = cx.call(nr!(read), &[V::Fd(fd as i32), V::W(sys::cells(&mut bytes)), V::N(4096)]).unwrap_or(0);
    let mut rest = &bytes[..length as usize];
    let mut all = Vec::new();
    while rest.len() >= HEAD {
        let word = |at: usize| u32::from_ne_bytes([rest[at], rest[at + 1], rest[at + 2], rest[at + 3]]);
        let (mask, cookie, name_bytes) = (word(4), word(8), word(12) as usize);
        let name = &rest[HEAD..(HEAD + name_bytes).min(rest.len())];
        let name = String::from_utf8_lossy(name.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned();
        let names: Vec<&str> = NAMES.iter().filter(|(_, bit)| mask & bit != 0).map(|(name, _)| *name).collect();
        let reported = format!("{} {name}", names.join("|")).trim_end().to_owned();
        all.push(Event { reported, cookie });
        rest = &rest[(HEAD + name_bytes).min(rest.len())..];
    }
    all
}

/// Checks that exactly these events were reported.
fn reports(cx: &mut Ctx<'_>, fd: i64, expected: &[&str]) {
    let events = events(cx, fd);
    let reported: Vec<&str> = events.iter().map(|event| event.reported.as_str()).collect();
    let or_none = |all: &[&str]| if all.is_empty() { "none".to_owned() } else { all.join(", ") };
    cx.that(reported == expected, "events", &or_none(expected), &or_none(&reported));
}
