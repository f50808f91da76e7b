//! Rules of programs over file sets that all workers share.

/// The problems of two workers of one phase over two sets, with these steps; the second set's content may be another.
fn problems(first: &str, second: &str, content: &str) -> String {
    let text = format!(
        "name = \"shared\"\n\
         [target.mails.shared-tree]\npath = \"mails\"\nfiles = 10\nsize = 4096\nwidth = 10\n\
         [target.logs.shared-tree]\npath = \"logs\"\nfiles = 10\nsize = 4096\nwidth = 10\n{content}\n\
         [[phase]]\nname = \"deliver\"\nstop.time = \"1s\"\n\
         [[phase.workers]]\ntarget = \"mails\"\nwork.program.steps = [\n{first}\n]\n\
         [[phase.workers]]\ntarget = \"logs\"\nwork.program.steps = [\n{second}\n]\n"
    );
    crate::native::parse("shared.toml", &text).map_or_else(|error| error.to_string(), |_| String::new())
}

fn shared(name: &str, does: &str) -> String {
    format!("{{ shared = {{ name = \"{name}\", does = {does}, file = {{ set = \"mails\" }} }} }},\n")
}

const WAITS: &str = "{ shared = { name = \"outer\", does = { steps = [\
                     { name = \"sleep\", does = \"sleep\" }, \
                     { name = \"take\", does = { take = { credit = 1, ahead = 1 } } }] } } },";

/// Steps mean others of their phase by full names, and those must be what they are taken for.
#[test]
fn steps_mean_those_that_wait() {
    let stat = shared("stat", "\"stat\"");
    for does in [
        "{ wake = { step = \"outer.sleep\" } }",
        "{ give = { step = \"outer.take\", credit = 1, waits = true } }",
        "{ finish = { after = 5, unit = \"ops\", step = \"stat\" } }",
        "{ take-events = { unit = \"ops\", step = \"stat\" } }",
    ] {
        assert_eq!(problems(&(stat.clone() + &shared("it", does)), WAITS, ""), "", "{does}");
    }
    for (does, meant) in [
        ("{ wake = { step = \"sleep\" } }", "sleep"),
        ("{ wake = { step = \"outer.take\" } }", "outer.take"),
        ("{ wake = { step = \"stat\" } }", "stat"),
        ("{ give = { step = \"outer.sleep\", credit = 1, waits = true } }", "outer.sleep"),
        ("{ finish = { after = 5, unit = \"ops\", step = \"outer.sleep\" } }", "outer.sleep"),
        ("{ take-events = { unit = \"ops\", step = \"statt\" } }", "statt"),
    ] {
        let found = problems(&(stat.clone() + &shared("it", does)), WAITS, "");
        let says = format!("`it` means the step `{meant}`, and there is no such step");
        assert!(found.contains(&says), "{does}: {found}");
    }
}

/// One name has one line of statistics; handles and requests have limits; a worker writes one kind of content.
#[test]
fn names_limits_and_content() {
    let stat = shared("stat", "\"stat\"");
    let drawn = |more: &str| {
        let size = format!("{{ drawn = {{ draw = {{ gamma = {{ shape = 1.5 }} }}, times = 2e9{more} }} }}");
        shared("write", &format!("{{ write = {{ size = {size} }} }}"))
    };
    for (steps, content, says) in [
        (stat.clone() + &stat, "", "two steps have the name `stat`"),
        (shared("copy", "{ write-whole = { request = 4096, like = 2000 } }"), "", "the handle 2000 is too high"),
        (drawn(""), "", "bytes are too many for one call"),
        (stat.clone() + &shared("list", "\"list\"").replace("mails", "logs"), "content = \"zero\"", "unlike content"),
    ] {
        let found = problems(&steps, WAITS, content);
        assert!(found.contains(says), "{says}: {found}");
    }
    assert_eq!(problems(&drawn(", max = 1e6"), WAITS, ""), "");
}
