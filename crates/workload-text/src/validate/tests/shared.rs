//! Tests of the rules for programs over file sets that all workers share.

/// Returns the problems of two workers in one phase over two sets, with these steps. `content` is
/// added to the second set.
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

/// Protects references between steps: full names must refer to steps of the right kind in the same phase.
#[test]
fn steps_refer_to_steps_that_wait() {
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
        let message = format!("`it` refers to the step `{meant}`, which does not exist");
        assert!(found.contains(&message), "{does}: {found}");
    }
}

/// Protects statistics, handles and requests against bad values, and programs against mixed content.
#[test]
fn names_limits_and_content() {
    let stat = shared("stat", "\"stat\"");
    let drawn = |more: &str| {
        let size = format!("{{ drawn = {{ draw = {{ gamma = {{ shape = 1.5 }} }}, times = 2e9{more} }} }}");
        shared("write", &format!("{{ write = {{ size = {size} }} }}"))
    };
    for (steps, content, message) in [
        (stat.clone() + &stat, "", "two steps are named `stat`"),
        (shared("copy", "{ write-whole = { request = 4096, like = 2000 } }"), "", "the handle 2000 is too high"),
        (drawn(""), "", "bytes are too many for one call"),
        (
            stat.clone() + &shared("list", "\"list\"").replace("mails", "logs"),
            "content = \"zero\"",
            "different content",
        ),
    ] {
        let found = problems(&steps, WAITS, content);
        assert!(found.contains(message), "{message}: {found}");
    }
    assert_eq!(problems(&drawn(", max = 1e6"), WAITS, ""), "");
}
