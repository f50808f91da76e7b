//! The manual: one page for the program and one for each command.

use super::topics::{self, Topic};
use super::{below, built};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};
use std::io;

/// A manual page, in roff.
#[derive(Debug)]
pub(crate) struct Page {
    pub file: String,
    pub text: String,
}

/// Environment variables, and their meanings.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("PLUMB_DB", "The results database, where --db is not given."),
    (
        "PLUMB_PUSH_TO",
        "The team's database, where --to of plumb push or --from of plumb pull is not given: postgres://USER@HOST/DATABASE.",
    ),
    (
        "PLUMB_ALLOW",
        "What may be overwritten, where --plumb-allow is not given: files, directories (the files in and below them), paths \
         or serials of devices; separated by commas.",
    ),
    (
        "PLUMB_FILL",
        "Directories whose file systems plumb as may write to until nothing is left, separated by commas; never those of \
         /, /var and the results.",
    ),
    (
        "PLUMB_QUIET",
        "If set, not empty and not 0: plumb as prints no line about rejected runs, or runs that memory answered, on standard error.",
    ),
    ("PLUMB_STREAM", "Where seconds are sent, where --stream is not given: FORM:WHERE."),
    ("PLUMB_STREAM_TOKEN", "The token that scrapers must show, where --stream-token-file is not given."),
    (
        "PLUMB_MPI",
        "The MPI library of a job that mpirun, mpiexec or srun started [default: that of the launcher]; `off` runs each process alone.",
    ),
    ("PLUMB_MPI_PATIENCE", "Seconds after which a silent rank is taken for dead [default: 20]."),
    (
        "PLUMB_HOSTS_KEYS",
        "The client.keys of the agents that commands with --hosts and plumb as fio --client use, where --hosts-keys is not given.",
    ),
    ("PLUMB_HOSTS_PATIENCE", "Seconds after which a silent host is given up [default: 10]."),
    (
        "PLUMB_KUBERNETES_WAIT",
        "Seconds to wait until the pods of --hosts k8s: are ready [default: 60]; 0 does not wait.",
    ),
    (
        "PLUMB_KUBERNETES_ACCOUNT",
        "The directory with token, ca.crt and namespace for --hosts k8s:, such as that of a projected token [default: \
         /var/run/secrets/kubernetes.io/serviceaccount].",
    ),
    (
        "PLUMB_SLURM_DIR",
        "A directory that the nodes of a Slurm job share, where tasks of srun without MPI find each other [default: the state directory].",
    ),
    (
        "PLUMB_AGENT_KEYS",
        "The server.keys of plumb as fio --server and plumb as elbencho --service; without it, only this host is served.",
    ),
    (
        "PLUMB_AGENT_ALLOW",
        "What clients of plumb as fio --server and plumb as elbencho --service may use, separated by colons [default: its \
         working directory].",
    ),
    ("PLUMB_AGENT_ALLOW_EXEC", "If 1, plumb as fio --server runs the programs that jobs and --trigger-remote name."),
    ("PLUMB_SSH", "The ssh command with its options, for hosts of a study [default: ssh]."),
    (
        "PLUMB_AGENT",
        "The program that a study copies to other hosts and virtual machines, such as a static build for another \
         distribution [default: this program].",
    ),
    (
        "PLUMB_KERNELS",
        "Directories with kernels for virtual machines, separated by colons; each has boot/ and lib/modules/.",
    ),
    (
        "PLUMB_PANIC_WORKER",
        "For tests of Plumb: the worker of this name, or `main` for the coordinator, panics as the clock starts.",
    ),
    ("NO_COLOR", "If set and not empty: no colours."),
    ("TERM", "If `dumb`: no colours."),
    ("COLUMNS", "The width of help, where standard output is not a terminal."),
    (
        "XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME, XDG_CACHE_HOME",
        "Base directories of the files below [default: ~/.config, ~/.local/share, ~/.local/state and ~/.cache].",
    ),
    (
        "LC_ALL, LC_NUMERIC, POSIXLY_CORRECT, S_COLORS, S_TIME_FORMAT, SHELL",
        "Read by `plumb as` where the tool itself reads them.",
    ),
];

pub(crate) fn variables() -> impl Iterator<Item = &'static str> {
    ENVIRONMENT.iter().map(|(name, _)| *name).filter(|name| name.starts_with("PLUMB_"))
}

/// Files that Plumb keeps, and their meanings.
const FILES: &[(&str, &str)] = &[
    (
        "~/.config/plumb/config.toml",
        "What may be overwritten for good (allow = [\"/path\", \"serial\"]), and what may be filled (fill = [\"/path\"]). \
         Ignored if others than you and root can write to it. See plumb config and docs/config.md.",
    ),
    ("~/.config/plumb/signing.key", "The private key that signs bundles, in minisign's format. See plumb key."),
    (
        "~/.config/plumb/trusted-keys",
        "Public keys whose signatures plumb verify knows: one a line, and after a blank the owner's name.",
    ),
    ("~/.local/share/plumb/plumb.db", "Results, in SQLite. See plumb query and docs/store.md."),
    ("~/.local/share/plumb/testdirs/", "Which test directories exist, so that plumb clean finds them after a kill."),
    ("~/.local/share/plumb/kernels/, /var/lib/plumb/kernels/", "Unpacked kernels for virtual machines."),
    ("~/.local/state/plumb/", "Journals of what a study built; plumb clean takes down what they list."),
    ("~/.cache/plumb/", "Images of virtual machines."),
    ("plumb-test-*/", "Test data below the directory that is measured; removed when the run ends."),
];

/// Returns the page of a command, or of the program for no words. `None` if the command does not exist.
pub(crate) fn page(words: &[String]) -> io::Result<Option<Page>> {
    let path = words.join(" ");
    let pages = pages()?;
    let file = file_of(&path);
    Ok(pages.into_iter().find(|page| page.file == file))
}

/// Returns all pages.
pub(crate) fn pages() -> io::Result<Vec<Page>> {
    let command = built();
    let mut pages = Vec::new();
    add_pages(&command, "", &mut pages)?;
    Ok(pages)
}

fn add_pages(command: &Command, path: &str, pages: &mut Vec<Page>) -> io::Result<()> {
    pages.push(Page { file: file_of(path), text: text_of(command, path)? });
    for sub in visible_subcommands(command) {
        add_pages(sub, &below(path, sub.get_name()), pages)?;
    }
    Ok(())
}

/// Returns the subcommands without clap's `help` and without hidden ones.
fn visible_subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| sub.get_name() != "help" && !sub.is_hide_set())
}

/// Returns the page's name: `study run` becomes `plumb-study-run`.
fn name_of(path: &str) -> String {
    below("plumb", path).trim_end().replace(' ', "-")
}

fn file_of(path: &str) -> String {
    format!("{}.1", name_of(path))
}

fn text_of(command: &Command, path: &str) -> io::Result<String> {
    let name = name_of(path);
    let version = env!("CARGO_PKG_VERSION");
    // clap's own `help` has no page.
    let shown = command.clone().display_name(&name).bin_name(below("plumb", path).trim_end().to_owned());
    let man = Man::new(shown.disable_help_subcommand(true))
        .title(name.to_uppercase())
        .source(format!("plumb {version}"))
        .manual("User Commands");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    let mut roff = Roff::new();
    commands_section(&mut roff, command, path);
    if let Some(notes) = notes_of(command, path) {
        notes_section(&mut roff, &notes);
    }
    if let Some(topic) = topics::find_topic(path) {
        topic_sections(&mut roff, topic);
    }
    if path.is_empty() {
        table_section(&mut roff, "ENVIRONMENT", ENVIRONMENT);
        table_section(&mut roff, "FILES", FILES);
    }
    see_also_section(&mut roff, command, path);
    roff.to_writer(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn commands_section(roff: &mut Roff, command: &Command, path: &str) {
    if visible_subcommands(command).next().is_none() {
        return;
    }
    roff.control("SH", ["COMMANDS"]);
    for sub in visible_subcommands(command) {
        roff.control("TP", []);
        roff.text([bold(format!("{}(1)", name_of(&below(path, sub.get_name()))))]);
        roff.text([roman(sub.get_about().map(ToString::to_string).unwrap_or_default())]);
    }
}

/// Returns a command's own notes from its long help, without the examples.
fn notes_of(command: &Command, path: &str) -> Option<String> {
    let text = command.get_after_long_help()?.to_string();
    let end = topics::find_topic(path).and_then(|_| text.find("Examples:\n")).unwrap_or(text.len());
    Some(text[..end].trim_end().to_owned()).filter(|notes| !notes.is_empty())
}

fn notes_section(roff: &mut Roff, notes: &str) {
    roff.control("SH", ["NOTES"]);
    for paragraph in notes.split("\n\n") {
        roff.control("PP", []);
        // Keeps the layout of columns and indented lines.
        let is_set = paragraph.lines().any(|line| line.starts_with("  "));
        if is_set {
            roff.control("nf", []);
        }
        for line in paragraph.lines() {
            roff.text([roman(line)]);
        }
        if is_set {
            roff.control("fi", []);
        }
    }
}

fn topic_sections(roff: &mut Roff, topic: &Topic) {
    roff.control("SH", ["EXAMPLES"]);
    for example in topic.examples {
        roff.control("PP", []);
        roff.text([roman(format!("{}:", example.purpose))]);
        roff.control("PP", []);
        roff.control("RS", ["4"]);
        roff.control("nf", []);
        roff.text([bold(example.line)]);
        roff.control("fi", []);
        roff.control("RE", []);
    }
    roff.control("SH", ["EXIT STATUS"]);
    for exit in topic.exits {
        roff.control("TP", []);
        roff.text([bold(exit.code)]);
        roff.text([roman(exit.meaning)]);
    }
}

fn table_section(roff: &mut Roff, head: &str, rows: &[(&str, &str)]) {
    roff.control("SH", [head]);
    for (name, meaning) in rows {
        roff.control("TP", []);
        roff.text([italic(*name)]);
        roff.text([roman(*meaning)]);
    }
}

/// Lists the pages of the parent and of the subcommands, and for a subcommand those of its siblings.
fn see_also_section(roff: &mut Roff, command: &Command, path: &str) {
    let mut names: Vec<String> = Vec::new();
    if !path.is_empty() {
        names.push(name_of(""));
    }
    if let Some((above, _)) = path.rsplit_once(' ') {
        names.push(name_of(above));
    }
    names.extend(visible_subcommands(command).map(|sub| name_of(&below(path, sub.get_name()))));
    roff.control("SH", ["SEE ALSO"]);
    let last = names.len().saturating_sub(1);
    let mut line = Vec::new();
    for (index, name) in names.into_iter().enumerate() {
        line.push(bold(name));
        line.push(roman(if index == last { "(1)" } else { "(1), " }));
    }
    roff.text(line);
}
