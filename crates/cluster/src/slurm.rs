//! Nodes of a Slurm job: the list in the job's environment, and the choice that a user makes among them.
//!
//! Slurm writes `n[1-4,07-09],gpu1` for `n1 n2 n3 n4 n07 n08 n09 gpu1`. Source: the manual page of scontrol, `show hostnames`.

use crate::star::RANKS_MAX;
use std::net::IpAddr;

/// Variable with the nodes of the job, in a batch script, in the shell of `salloc` and in steps.
const NODES: &str = "SLURM_JOB_NODELIST";

/// Maximum length of a node's name, which DNS has too.
const NAME_BYTES_MAX: usize = 255;

/// Maximum digits of a number in brackets, so that it fits into 64 bits.
const DIGITS_MAX: usize = 18;

/// Error from parsing a list of nodes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostlistError {
    /// A bracket has no partner, or is inside another one.
    #[error("`{list}` is not a list of nodes: a bracket is missing")]
    Bracket { list: String },
    /// The text in brackets is neither a number nor a range.
    #[error("`{list}` is not a list of nodes: `{range}` is not a range such as 1-4")]
    Range { list: String, range: String },
    /// A name is empty, too long, or has characters that no host name has.
    #[error("`{list}` is not a list of nodes: `{name}` is not the name of a node")]
    Name { list: String, name: String },
    /// The list has more nodes than one command leads.
    #[error("`{list}` has more than {} nodes, which is the limit of one command", RANKS_MAX - 1)]
    TooMany { list: String },
}

/// Error from choosing nodes of the job that this process belongs to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodesError {
    /// This process does not run in a job.
    #[error(
        "`slurm:` means the nodes of a Slurm job, and this is none (SLURM_JOB_NODELIST is not set)\n\
         Make one first: `salloc -N 4 plumb …`, or `sbatch -N 4` with a script."
    )]
    NoJob,
    /// The list of the job, or the choice, cannot be read.
    #[error(transparent)]
    List(#[from] HostlistError),
    /// The job has fewer nodes than the user wants.
    #[error("`slurm:{wanted}` needs {wanted} nodes, and the job has {found}: ask for more with `-N {wanted}`")]
    TooFew { wanted: usize, found: usize },
    /// A chosen node is not in the job.
    #[error("node {node} is not in the job, which has {}", .nodes.join(", "))]
    Elsewhere { node: String, nodes: Vec<String> },
}

/// A task of a step, as its environment describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub rank: u32,
    /// Number of tasks in the step.
    pub size: u32,
    /// Name that all tasks of this launch share: job, restarts of the job, and step.
    pub step: String,
}

impl Task {
    /// Returns the task that this process is; `None` outside of steps with several tasks.
    pub fn of_environment() -> Option<Task> {
        Task::read(|name| std::env::var(name).ok())
    }

    fn read(variable: impl Fn(&str) -> Option<String>) -> Option<Task> {
        let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
        let (rank, size) = (number("SLURM_PROCID")?, number("SLURM_STEP_NUM_TASKS")?);
        let (job, step) = (number("SLURM_JOB_ID")?, number("SLURM_STEP_ID")?);
        let restarts = number("SLURM_RESTART_COUNT").unwrap_or(0);
        (size > 1 && rank < size).then(|| Task { rank, size, step: format!("{job}-{restarts}-{step}") })
    }
}

/// Name of this node in Slurm, in a task.
pub fn own_node() -> Option<String> {
    std::env::var("SLURMD_NODENAME").ok().filter(|name| is_name(name))
}

/// Address of the host whose `srun` started this task, as tasks reach it.
pub fn launcher_address() -> Option<IpAddr> {
    std::env::var("SLURM_LAUNCH_NODE_IPADDR").ok()?.trim().parse().ok()
}

/// Returns the nodes of this process's job that `choice` selects: all of them if it is empty, the first N if it is a
/// number, or those of a list such as `n[1-2]`.
///
/// # Errors
/// Returns an error if there is no job, or it lacks a chosen node.
pub fn nodes(choice: &str) -> Result<Vec<String>, NodesError> {
    let list = std::env::var(NODES).unwrap_or_default();
    chosen(choice, list.trim())
}

fn chosen(choice: &str, list: &str) -> Result<Vec<String>, NodesError> {
    if list.is_empty() {
        return Err(NodesError::NoJob);
    }
    let nodes = expand(list)?;
    if choice.is_empty() {
        return Ok(nodes);
    }
    if let Ok(wanted) = choice.parse::<usize>() {
        return match nodes.get(..wanted) {
            Some(first) if wanted > 0 => Ok(first.to_vec()),
            _ => Err(NodesError::TooFew { wanted, found: nodes.len() }),
        };
    }
    let chosen = expand(choice)?;
    match chosen.iter().find(|node| !nodes.contains(node)) {
        Some(node) => Err(NodesError::Elsewhere { node: node.clone(), nodes }),
        None => Ok(chosen),
    }
}

/// Expands a list of nodes in Slurm's notation, in its order.
///
/// # Errors
/// Returns an error if the text is not such a list, or has more nodes than one command leads.
pub fn expand(list: &str) -> Result<Vec<String>, HostlistError> {
    let mut all = Vec::new();
    for word in words(list)? {
        let mut names = vec![String::new()];
        let mut rest = word;
        while let Some((before, from_bracket)) = rest.split_once('[') {
            let bracket = || HostlistError::Bracket { list: list.to_owned() };
            let (ranges, after) = from_bracket.split_once(']').ok_or_else(bracket)?;
            names = appended(&names, before, &numbers(list, ranges)?, list)?;
            rest = after;
        }
        names.iter_mut().for_each(|name| name.push_str(rest));
        all.append(&mut names);
        if all.len() >= RANKS_MAX as usize {
            return Err(HostlistError::TooMany { list: list.to_owned() });
        }
    }
    match all.iter().find(|name| !is_name(name)) {
        Some(name) => Err(HostlistError::Name { list: list.to_owned(), name: name.clone() }),
        None => Ok(all),
    }
}

/// Appends `before` and each number to each of the names.
fn appended(names: &[String], before: &str, numbers: &[String], list: &str) -> Result<Vec<String>, HostlistError> {
    if names.len().saturating_mul(numbers.len()) >= RANKS_MAX as usize {
        return Err(HostlistError::TooMany { list: list.to_owned() });
    }
    Ok(names.iter().flat_map(|name| numbers.iter().map(move |number| format!("{name}{before}{number}"))).collect())
}

/// Splits a list at the commas outside of brackets.
fn words(list: &str) -> Result<Vec<&str>, HostlistError> {
    let (mut words, mut start, mut is_inside) = (Vec::new(), 0, false);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'[' | b']' if is_inside == (byte == b'[') => {
                return Err(HostlistError::Bracket { list: list.to_owned() });
            }
            b'[' | b']' => is_inside = byte == b'[',
            b',' if !is_inside => {
                words.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&list[start..]);
    if is_inside { Err(HostlistError::Bracket { list: list.to_owned() }) } else { Ok(words) }
}

/// Expands the text between brackets. A range keeps the leading zeros of its first number.
fn numbers(list: &str, ranges: &str) -> Result<Vec<String>, HostlistError> {
    let mut all = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let wrong = || HostlistError::Range { list: list.to_owned(), range: range.to_owned() };
        let (low, high) = (number(first).ok_or_else(wrong)?, number(last).ok_or_else(wrong)?);
        if low > high {
            return Err(wrong());
        }
        if high - low >= u64::from(RANKS_MAX) || all.len() >= RANKS_MAX as usize {
            return Err(HostlistError::TooMany { list: list.to_owned() });
        }
        let width = first.len();
        all.extend((low..=high).map(|number| format!("{number:0width$}")));
    }
    Ok(all)
}

fn number(text: &str) -> Option<u64> {
    let is_number = (1..=DIGITS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.starts_with('-') && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expanded(list: &str) -> String {
        expand(list).map_or_else(|error| format!("error: {error}"), |names| names.join(" "))
    }

    // Protects: the same names in the same order as `scontrol show hostnames` prints, which a test with a real Slurm
    // compares too.
    #[test]
    fn lists_expand_as_slurm_expands_them() {
        assert_eq!(expanded("n1"), "n1");
        assert_eq!(expanded("n[1-4,7]"), "n1 n2 n3 n4 n7");
        assert_eq!(
            expanded("n[1-2],gpu[008-010]-ib,login.example.org"),
            "n1 n2 gpu008-ib gpu009-ib gpu010-ib login.example.org"
        );
        assert_eq!(expanded("r[1-2]n[1,3]"), "r1n1 r1n3 r2n1 r2n3");
        assert_eq!(expanded("n[9-10]"), "n9 n10");
        assert_eq!(expanded("n[01-01]"), "n01");
    }

    // Protects: malformed text is an error, never a panic, an option of srun, or an endless list.
    #[test]
    fn other_text_is_refused() {
        for list in ["n[1-4", "n1]", "n[[1]]", "n[1-4]]", "]n[", "["] {
            assert!(matches!(expand(list), Err(HostlistError::Bracket { .. })), "{list}");
        }
        for list in ["n[]", "n[a]", "n[4-1]", "n[1-]", "n[-1]", "n[1-2-3]", "n[1:2]", "n[+1]", "n[1234567890123456789]"]
        {
            assert!(matches!(expand(list), Err(HostlistError::Range { .. })), "{list}");
        }
        for list in ["", "n1,", ",", "n 1", "n1;reboot", "-w", "--chdir=/", "n\u{e9}", "n\n1", &"x".repeat(256)] {
            assert!(matches!(expand(list), Err(HostlistError::Name { .. })), "{list}");
        }
        for list in ["n[1-1025]", "n[0-999999999999999999]", "a[1-99]b[1-99]c[1-99]d[1-99]", "n[1-1024],m"] {
            assert!(matches!(expand(list), Err(HostlistError::TooMany { .. })), "{list}");
        }
        assert_eq!(expand("n[1-1024]").unwrap().len(), 1024);
    }

    // Protects: `slurm:` chooses among the job's nodes only, and says what to do where it cannot.
    #[test]
    fn a_choice_is_of_the_jobs_nodes() {
        let chosen = |choice: &str| chosen(choice, "n[1-4]").map_err(|error| error.to_string());
        assert_eq!(chosen("").unwrap().len(), 4);
        assert_eq!(chosen("2").unwrap(), ["n1", "n2"]);
        assert_eq!(chosen("n[2,4]").unwrap(), ["n2", "n4"]);
        assert!(chosen("0").unwrap_err().contains("the job has 4"));
        assert!(chosen("5").unwrap_err().contains("-N 5"));
        assert!(chosen("n[4-5]").unwrap_err().contains("node n5 is not in the job, which has n1, n2"));
        assert!(super::chosen("", "").unwrap_err().to_string().contains("salloc -N 4"));
    }

    // Protects: only a task of a step with several is one, and a requeued job does not meet files of its first start.
    #[test]
    fn tasks_are_known_by_their_variables() {
        let all =
            [("SLURM_PROCID", "3"), ("SLURM_STEP_NUM_TASKS", "4"), ("SLURM_JOB_ID", "17"), ("SLURM_STEP_ID", "0")];
        let of = |variables: &[(&str, &str)]| {
            Task::read(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(of(&all), Some(Task { rank: 3, size: 4, step: "17-0-0".to_owned() }));
        let again = [all.as_slice(), &[("SLURM_RESTART_COUNT", "2")]].concat();
        assert_eq!(of(&again).unwrap().step, "17-2-0");
        for (variable, value) in [("SLURM_PROCID", "4"), ("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_JOB_ID", "../x")] {
            assert_eq!(of(&[&[(variable, value)], all.as_slice()].concat()), None, "{variable}={value}");
        }
        assert_eq!(of(&all[1..]), None);
    }

    proptest! {
        // Protects: any bytes end in names that are safe on srun's command line, or in an error.
        #[test]
        fn any_text_is_a_list_or_an_error(list in "[-n0-9a,\\[\\]. ]{0,40}|.{0,40}") {
            if let Ok(names) = expand(&list) {
                prop_assert!(names.len() < RANKS_MAX as usize && names.iter().all(|name| is_name(name)));
            }
        }

        // Protects: a list that Slurm's own notation makes of numbers has exactly these.
        #[test]
        fn every_range_has_all_its_numbers(first in 0_u64..2_000, count in 1_u64..500, width in 1_usize..8) {
            let (low, last) = (format!("{first:0width$}"), first + count - 1);
            let names = expand(&format!("x[{low}-{last:0width$}]y")).unwrap();
            prop_assert_eq!(names.len() as u64, count);
            prop_assert_eq!(names.first().cloned(), Some(format!("x{low}y")));
            prop_assert_eq!(names.last().cloned(), Some(format!("x{last:0width$}y")));
        }
    }
}
