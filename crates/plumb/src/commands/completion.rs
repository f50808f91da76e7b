//! Completion of other tools' options, generated from the option tables. clap's scripts know only Plumb's own options.

use clap_complete::Shell;
use plumb_tools::options::Opt;
use plumb_tools_classic::iostat;
use plumb_tools_fio::fio::commandline::{Fate, PROGRAM_OPTIONS};
use plumb_tools_fio::fio::engines::ENGINES;
use plumb_tools_fio::fio::options::{self, Support};
use std::fmt::Write;

/// Returns the addition to a shell's script for `plumb as fio`, `plumb as iostat` and links with
/// these names. Empty for other shells.
pub(crate) fn tool_completions(shell: Shell) -> String {
    match shell {
        Shell::Bash => bash(),
        Shell::Fish => fish(),
        _ => String::new(),
    }
}

struct Name {
    name: &'static str,
    doc: &'static str,
}

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

/// Returns options that have a fixed set of values, with the values.
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
        .map(|option| (option.name, option.kind().choices().to_vec()))
        .filter(|(_, words)| !words.is_empty());
    all.extend(known);
    all
}

/// Returns the bash addition. Plumb's own function completes everything else.
fn bash() -> String {
    let mut script = String::from(
        "
# Options of `plumb as fio`; for a link named `fio`, run `complete -F _plumb_fio fio`.
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

# Options and devices of `plumb as iostat`; for a link named `iostat`, run `complete -F _plumb_iostat iostat`.
_plumb_iostat() {
    local words=\"IOSTAT_WORDS\"
    if [[ -d /sys/class/block ]]; then
        words=\"$words $(ls /sys/class/block)\"
    fi
    COMPREPLY=( $(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\") )
    return 0
}

_plumb_or_fio() {
    local i
    for (( i = 1; i + 1 < COMP_CWORD; i++ )); do
        if [[ \"${COMP_WORDS[i]}\" == as && \"${COMP_WORDS[i+1]}\" == fio ]]; then
            _plumb_fio \"$@\"
            return
        fi
        if [[ \"${COMP_WORDS[i]}\" == as && \"${COMP_WORDS[i+1]}\" == iostat ]]; then
            _plumb_iostat \"$@\"
            return
        fi
    done
    _plumb \"$@\"
}

complete -F _plumb_or_fio -o bashdefault -o default plumb
",
    );
    let options: Vec<String> = iostat::OPTIONS.iter().map(Opt::written).collect();
    script.replace("IOSTAT_WORDS", &options.join(" "))
}

/// Returns the fish addition: one rule per option, with a description.
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
    script.push_str(
        "
function __fish_plumb_as_iostat
    string match -qr ' as iostat ' -- (commandline -cp)
end
complete -c plumb -n __fish_plumb_as_iostat -a '(command ls /sys/class/block)'
",
    );
    for option in iostat::OPTIONS {
        let doc = option.what.replace('\'', "\\'");
        let _ = writeln!(script, "complete -c plumb -n __fish_plumb_as_iostat -a '{}' -d '{doc}'", option.written());
    }
    script
}
