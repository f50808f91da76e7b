use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::text::count;
use plumb_result::Remedy;
use plumb_result::conditions::TimerDue;

/// A job that started this many seconds before the phase may still be running.
const STILL_AT_WORK_S: u64 = 120;

/// Words in the names of timers whose work loads storage, with a description of it.
const HEAVY: &[(&str, &str)] = &[
    ("fstrim", "trims free blocks"),
    ("updatedb", "walks through all directories"),
    ("plocate", "walks through all directories"),
    ("mlocate", "walks through all directories"),
    ("mdcheck", "reads whole arrays"),
    ("raid-check", "reads whole arrays"),
    ("scrub", "reads all data"),
    ("btrfs-balance", "rewrites chunks"),
    ("btrfsmaintenance", "rewrites chunks"),
    ("snapper", "makes and removes snapshots"),
    ("logrotate", "compresses logs"),
    ("apt-daily", "fetches and installs packages"),
    ("dnf-", "fetches and installs packages"),
    ("unattended-upgrades", "fetches and installs packages"),
    ("man-db", "reads all manual pages"),
    ("backup", "reads what it backs up"),
    ("restic", "reads what it backs up"),
    ("borg", "reads what it backs up"),
];

pub(crate) static CHECK: Check = Check {
    code: "C4",
    title: "Scheduled jobs",
    what: "Whether the system's own jobs that load storage (trim, locate's database, RAID checks, scrubs, log \
           rotation, package updates, backups) started during the phase or shortly before.",
    why: "They run once a day or week, so one run of a series meets one and nobody finds out why. Cao et al., \"On the \
          Performance Variation in Modern Storage Stacks\", FAST 2017.",
    how: "`systemctl list-timers` once per run, compared with the time of the phase.",
    threshold: "a job that starts during the phase, or up to 2 minutes before, is noted",
    settled: "By reasoning: a trim or a log rotation takes about two minutes; C1 sees longer jobs at work, so this \
              only notes.",
    fix: &[Remedy::words(
        "Stop it for the run (`systemctl stop NAME.timer`, and start it afterwards), or measure at another time.",
    )],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.is_virtual_time() || matches!(view.ground, Ground::Nothing | Ground::Memory) {
        return Outcome::NotApplicable;
    }
    let seen = &view.seen.conditions;
    let timers = match seen.timers.as_result() {
        Ok(timers) => timers,
        Err(reason) => return Outcome::skipped(reason),
    };
    let Some(began) = seen.before.at_unix_s else { return Outcome::skipped("the time of the phase is not known") };
    let ended = seen.after.at_unix_s.unwrap_or(began).max(seen.matters_until_unix_s.unwrap_or(0));
    let since = began.saturating_sub(STILL_AT_WORK_S);
    let falls_in = |time: &u64| (since..=ended).contains(time);
    let due = |timer: &TimerDue| timer.next_unix_s.filter(falls_in).or(timer.last_unix_s.filter(falls_in));
    let mut firing: Vec<Firing<'_>> = timers
        .iter()
        .filter_map(|timer| {
            let (_, does) = HEAVY.iter().find(|(word, _)| timer.name.contains(word))?;
            Some(Firing { name: &timer.name, does, at: due(timer)? })
        })
        .collect();
    firing.sort_by_key(|one| one.at);
    if firing.is_empty() {
        return Outcome::pass(format!(
            "none of {} loads storage during the phase",
            count(timers.len() as u64, "timer")
        ));
    }
    let list = firing.iter().map(|one| one.words(began)).collect::<Vec<_>>().join("; ");
    let names = firing.iter().map(|one| one.name).collect::<Vec<_>>().join(", ");
    Outcome::note(names, format!("Scheduled jobs run at this time: {list}."))
}

/// A timer that fires during the phase.
struct Firing<'a> {
    name: &'a str,
    does: &'static str,
    at: u64,
}

impl Firing<'_> {
    fn words(&self, began: u64) -> String {
        let away = span(self.at.abs_diff(began));
        let side = if self.at < began { "before" } else { "after" };
        format!("{} ({}), {away} {side} the start", self.name, self.does)
    }
}

fn span(seconds: u64) -> String {
    if seconds < 120 { count(seconds, "second") } else { count(seconds / 60, "minute") }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{BEGAN_S, MIB, Scene};
    use plumb_result::Level;

    #[test]
    fn a_heavy_timer_within_the_phase_is_noted() {
        let level = |name: &str, at| Scene::reading(MIB).timer(name, at).level("C4");
        assert_eq!(level("fstrim.timer", BEGAN_S + 5), Some(Level::Note));
        assert_eq!(level("fstrim.timer", BEGAN_S - 100), Some(Level::Note));
        assert_eq!(level("fstrim.timer", BEGAN_S - 1000), Some(Level::Pass));
        assert_eq!(level("fstrim.timer", BEGAN_S + 11), Some(Level::Pass));
        assert_eq!(level("motd-news.timer", BEGAN_S + 5), Some(Level::Pass));
    }

    /// `plumb check` looks an hour ahead.
    #[test]
    fn jobs_due_soon_are_noted_if_they_matter() {
        let scene = Scene::reading(MIB).timer("raid-check.timer", BEGAN_S + 1200);
        let ahead = scene.conditions(|seen| seen.matters_until_unix_s = Some(BEGAN_S + 3600));
        let finding = ahead.finding("C4").unwrap();
        assert_eq!(finding.level, Level::Note);
        assert!(finding.message.contains("reads whole arrays), 20 minutes after"), "{}", finding.message);
    }

    #[test]
    fn without_systemd_nothing_is_claimed() {
        let scene = Scene::reading(MIB).unseen_timers("systemd does not run here");
        assert_eq!(scene.level("C4"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).virtual_time().level("C4"), None);
    }
}
