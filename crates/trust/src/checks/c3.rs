use crate::check::{Check, Judge, Outcome};
use crate::evidence::PhaseView;
use crate::text::count;
use plumb_result::Remedy;
use plumb_result::conditions::{Conditions, Ext4Tables, LazyInit};

pub(crate) static CHECK: Check = Check {
    code: "C3",
    title: "Lazy initialisation",
    what: "Whether the kernel was still zeroing inode tables of a new ext4 below the target.",
    why: "mkfs.ext4 leaves the inode tables to a kernel thread that writes them after the first mount, for minutes to \
          hours. Measuring right after mkfs measures both. mke2fs(8), \"lazy_itable_init\".",
    how: "The kernel's thread `ext4lazyinit` in /proc, which serves every ext4, and whether it ran (its context switches); \
          whose tables are unfinished is read from the block group descriptors, where the device may be read.",
    threshold: "the thread alive and unfinished tables below the target fails, and so does one that may have run where no \
                other ext4 is mounted; tables that cannot be read are noted",
    settled: "Nothing to settle: the thread is active and tables are unfinished, or not. Where that cannot be read, \
              nothing shows that this file system is concerned, so it is only noted.",
    fix: &[Remedy::words(
        "Wait until `pgrep ext4lazyinit` finds nothing, or use `mkfs.ext4 -E lazy_itable_init=0,lazy_journal_init=0`.",
    )],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    let on_ext4 = view.facts().any(|facts| facts.filesystem.value().is_some_and(|fs| fs.kind == "ext4"));
    if view.is_virtual_time() {
        return Outcome::NotApplicable;
    }
    let before = match view.seen.conditions.before.lazy_init.as_result() {
        Ok(before) => before,
        Err(reason) if on_ext4 => return Outcome::skipped(reason),
        Err(_) => return Outcome::NotApplicable,
    };
    if before.filesystems.is_empty() {
        return Outcome::NotApplicable;
    }
    let alive = |seen: &Conditions| seen.lazy_init.value().is_some_and(|lazy| lazy.thread_alive);
    if !alive(&view.seen.conditions.before) && !alive(&view.seen.conditions.after) {
        return Outcome::pass("ext4lazyinit is not active");
    }
    let left = |tables: &&Ext4Tables| tables.groups.value().is_some_and(|groups| groups.uninitialised > 0);
    if let Some(tables) = before.filesystems.iter().find(left)
        && let Some(groups) = tables.groups.value()
    {
        let left = format!("{} of {} left", groups.uninitialised, count(groups.total, "inode table"));
        let message = format!("The kernel is still zeroing inode tables of {} (ext4lazyinit, {left}).", tables.device);
        return Outcome::fail(left, message);
    }
    let Some((tables, reason)) =
        before.filesystems.iter().find_map(|tables| Some((tables, tables.groups.as_result().err()?)))
    else {
        return Outcome::pass("ext4lazyinit is active on another file system; all inode tables here are done");
    };
    let observed = "ext4lazyinit is active";
    let looks = [&view.seen.conditions.before, &view.seen.conditions.after];
    let at_work: Vec<&LazyInit> =
        looks.iter().filter_map(|seen| seen.lazy_init.value()).filter(|lazy| lazy.thread_alive).collect();
    // After the last file system, the thread sleeps for some seconds before it ends.
    if let [before, after] = at_work[..]
        && before.turns.is_some()
        && before.turns == after.turns
    {
        return Outcome::pass("ext4lazyinit is alive and did not run");
    }
    let mut elsewhere = at_work.iter().flat_map(|lazy| &lazy.elsewhere);
    // With a single observation, another file system may have been unmounted between the thread
    // list and the mount list.
    let whole_phase = at_work.len() == looks.len();
    if whole_phase && elsewhere.clone().next().is_none() && before.filesystems.len() == 1 {
        let message = format!(
            "The kernel is still zeroing inode tables of {}: ext4lazyinit is active and no other ext4 is mounted.",
            tables.device
        );
        return Outcome::fail(observed, message);
    }
    // It may be this one, but there is no evidence.
    let who = match elsewhere.find(left) {
        Some(other) => format!("The kernel is zeroing inode tables of {}", other.device),
        None => "The kernel is zeroing inode tables of some ext4".to_owned(),
    };
    Outcome::note(observed, format!("{who}; whether also of {} is not known ({reason}).", tables.device))
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Moment, Scene};
    use plumb_result::conditions::{Ext4Tables, GroupCount, ThreadTurns};
    use plumb_result::{Level, Seen};

    fn groups(uninitialised: u64) -> Seen<GroupCount> {
        Seen::Yes(GroupCount { total: 640, uninitialised })
    }

    #[test]
    fn a_fresh_ext4_fails_and_another_ones_tables_do_not() {
        let scene = || Scene::writing(MIB);
        assert_eq!(scene().level("C3"), Some(Level::Pass));
        let finding = scene().lazy_init(Moment::Before, groups(312)).finding("C3").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.contains("312 of 640 inode tables left"), "{}", finding.message);
        assert_eq!(scene().lazy_init(Moment::Before, groups(0)).level("C3"), Some(Level::Pass));
    }

    /// If the tables cannot be read, their owner is unknown: not a reason for a warning, unless
    /// there is no other ext4.
    #[test]
    fn tables_that_cannot_be_read_are_noted() {
        let closed = || Seen::no("cannot read /dev/vda: permission denied");
        let level = |elsewhere: &[Seen<GroupCount>]| {
            let scene = Scene::writing(MIB).lazy_init(Moment::Before, closed()).lazy_init(Moment::After, closed());
            let scene = scene.conditions(|seen| {
                if let Seen::Yes(lazy) = &mut seen.before.lazy_init {
                    let other =
                        |groups: &Seen<GroupCount>| Ext4Tables { groups: groups.clone(), ..Ext4Tables::default() };
                    lazy.elsewhere = elsewhere.iter().map(other).collect();
                }
            });
            scene.level("C3")
        };
        assert_eq!(level(&[Seen::no("closed")]), Some(Level::Note));
        assert_eq!(level(&[groups(0)]), Some(Level::Note));
        assert_eq!(level(&[groups(0), groups(9)]), Some(Level::Note), "another one explains it");
        assert_eq!(level(&[]), Some(Level::Fail), "there is no other");
        let once = Scene::writing(MIB).lazy_init(Moment::Before, closed()).lazy_init(Moment::After, closed());
        let once = once.conditions(|seen| {
            if let Seen::Yes(lazy) = &mut seen.before.lazy_init {
                lazy.thread_alive = false;
            }
        });
        assert_eq!(once.level("C3"), Some(Level::Note), "another may have gone since");
    }

    /// The thread sleeps for seconds after another file system is gone: nothing was written in this phase.
    #[test]
    fn a_thread_that_did_not_run_disturbed_nothing() {
        let closed = || Seen::no("cannot read /dev/vda: operation not permitted");
        let level = |turns: [Option<ThreadTurns>; 2]| {
            let scene = Scene::writing(MIB).lazy_init(Moment::Before, closed()).lazy_init(Moment::After, closed());
            let scene = scene.conditions(|seen| {
                for (look, turns) in [&mut seen.before, &mut seen.after].into_iter().zip(turns) {
                    if let Seen::Yes(lazy) = &mut look.lazy_init {
                        lazy.turns = turns;
                    }
                }
            });
            scene.level("C3")
        };
        let turns = |pid, switches| Some(ThreadTurns { pid, switches });
        assert_eq!(level([turns(7, 36), turns(7, 36)]), Some(Level::Pass));
        assert_eq!(level([turns(7, 36), turns(7, 37)]), Some(Level::Fail), "it ran");
        assert_eq!(level([turns(7, 36), turns(9, 36)]), Some(Level::Fail), "another thread");
        assert_eq!(level([None, None]), Some(Level::Fail), "nobody knows whether it ran");
    }

    /// A loop device's own ext4 is finished and readable; the one with its backing file is not readable.
    #[test]
    fn a_finished_ext4_over_an_unreadable_one_does_not_warn() {
        let scene = Scene::writing(MIB).lazy_init(Moment::Before, groups(0)).lazy_init(Moment::After, groups(0));
        let scene = scene.conditions(|seen| {
            for look in [&mut seen.before, &mut seen.after] {
                if let Seen::Yes(lazy) = &mut look.lazy_init {
                    let groups = Seen::no("cannot read /dev/vdb: operation not permitted");
                    lazy.filesystems.push(Ext4Tables { device: "vdb".to_owned(), groups, created_unix_s: None });
                }
            }
        });
        assert_eq!(scene.level("C3"), Some(Level::Note));
    }

    #[test]
    fn the_question_is_about_ext4_and_real_time() {
        assert_eq!(Scene::writing(MIB).unseen_conditions().level("C3"), Some(Level::Skipped));
        assert_eq!(Scene::writing(MIB).virtual_time().level("C3"), None);
        let elsewhere = Scene::writing(MIB).conditions(|seen| {
            seen.before.lazy_init = Seen::Yes(Default::default());
        });
        assert_eq!(elsewhere.level("C3"), None);
    }
}
