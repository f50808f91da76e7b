//! Completion of other tools' options, which the shells' scripts of Plumb itself cannot know: made from the table of options.

use clap_complete::Shell;
use plumb_dialects::fio::commandline::{Fate, PROGRAM_OPTIONS};
use plumb_dialects::fio::engines::ENGINES;
use plumb_dialects::fio::options::{self, Support};
use std::fmt::Write;

/// What is added to the script of a shell for `plumb as fio` and a link named `fio`; nothing for shells that are not
/// known to this.
pub fn of_fio(shell: Shell) -> String {
    match shell {
        Shell::Bash => bash(),
        Shell::Fish => fish(),
        _ => String::new(),
    }
}

/// A name that can be said, and its sentence.
struct Name {
    name: &'static str,
    doc: &'static str,
}

/// Everything that can be said with two dashes and is not refused.
fn names() -> Vec<Name> {
    let program = PROGRAM_OPTIONS
        .iter()
        .filter(|option| option.fate == Fate::Works)
        .map(|option| Name { name: option.name, doc: option.doc });
    let jobs = options::all()
        .filter(|option| option.support == Support::Works)
        .map(|option| Name { name: option.name, doc: option.doc });
    program.chain(jobs).collect()
}

/// Options of which only some words may be said, with these words.
fn choices() -> Vec<(&'static str, Vec<&'static str>)> {
    let engines = ENGINES.iter().filter(|engine| engine.support == Support::Works).map(|engine| engine.name);
    let mut all = vec![
        ("ioengine", engines.collect()),
        ("output-format", vec!["normal", "terse", "json", "json+"]),
        ("eta", vec!["always", "never", "auto"]),
        ("compat", vec!["meant", "strict"]),
    ];
    let known = options::all()
        .filter(|option| option.support == Support::Works && option.name != "ioengine")
        .map(|option| (option.name, option.kind.choices().to_vec()))
        .filter(|(_, words)| !words.is_empty());
    all.extend(known);
    all
}

/// bash: Plumb's own function stays in charge of all that is not fio's.
fn bash() -> String {
    let mut script = String::from(
        "
# Options of `plumb as fio`, and of a link named `fio` where `complete -F _plumb_fio fio` is said.
_plumb_fio() {
    local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\" option=\"\" words=\"\"
    if [[ \"$cur\" == \"=\" ]]; then
        option=\"$prev\" cur=\"\"
    elif [[ \"$prev\" == \"=\" ]]; then
        option=\"${COMP_WORDS[COMP_CWORD-2]}\"
    fi
    COMPREPLY=()
    if [[ -n \"$option\" ]]; then
        case \"${option#--}\" in
",
    );
    for (name, words) in choices() {
        let _ = writeln!(script, "            {name}) words=\"{}\" ;;", words.join(" "));
    }
    script.push_str("        esac\n");
    script.push_str("    elif [[ \"$cur\" == -* ]]; then\n        words=\"");
    let names: Vec<String> = names().iter().map(|one| format!("--{}", one.name)).collect();
    script.push_str(&names.join(" "));
    script.push_str(
        "\"
    fi
    if [[ -n \"$words\" ]]; then
        COMPREPLY=( $(compgen -W \"$words\" -- \"$cur\") )
    fi
    return 0
}

_plumb_or_fio() {
    local i
    for (( i = 1; i + 1 < COMP_CWORD; i++ )); do
        if [[ \"${COMP_WORDS[i]}\" == as && \"${COMP_WORDS[i+1]}\" == fio ]]; then
            _plumb_fio \"$@\"
            return
        fi
    done
    _plumb \"$@\"
}

complete -F _plumb_or_fio -o bashdefault -o default plumb
",
    );
    script
}

/// fish: its own rules, with a sentence for each option.
fn fish() -> String {
    let mut script = String::from(
        "
function __fish_plumb_as_fio
    string match -qr ' as fio ' -- (commandline -cp)
end
",
    );
    for one in names() {
        let doc = one.doc.replace('\\', "\\\\").replace('\'', "\\'");
        let _ = writeln!(script, "complete -c plumb -n __fish_plumb_as_fio -l {} -d '{doc}'", one.name);
    }
    script
}
