use crate::check::{Check, Judge, Outcome};
use crate::evidence::PhaseView;
use crate::text::count;
use plumb_result::conditions::{Conditions, Ext4Tables, LazyInit};

pub(crate) static CHECK: Check = Check {
    code: "C3",
    title: "Lazy initialisation",
    what: "Whether the kernel still zeroed inode tables of a fresh ext4 that the target stands on.",
    why: "mkfs.ext4 leaves the inode tables to a kernel thread that writes them after the first mount, for minutes to \
          hours: whoever makes a file system and measures at once measures both. mke2fs(8), \"lazy_itable_init\".",
    how: "The kernel's thread `ext4lazyinit` in /proc, which serves every ext4; whose tables are unfinished is read \
          from the block groups' descriptors, where the device may be read.",
    threshold: "the thread alive and unfinished tables under the target fail; tables that cannot be read warn, or are noted \
                where another ext4 explains the thread; they fail where there is no other",
    settled: "Nothing to settle: the thread lives and tables are unfinished, or not.",
    fix: "Make it with `mkfs.ext4 -E lazy_itable_init=0,lazy_journal_init=0`, or wait until `pgrep ext4lazyinit` finds \
          nothing.",
    judges: &[Judge::Phase(look)],
};

fn look(view: &PhaseView<'_>) -> Outcome {
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
        return Outcome::pass("ext4lazyinit is not at work");
    }
    let left = |tables: &&Ext4Tables| tables.groups.value().is_some_and(|groups| groups.uninitialised > 0);
    if let Some(tables) = before.filesystems.iter().find(left)
        && let Some(groups) = tables.groups.value()
    {
        let left = format!("{} of {} left", groups.uninitialised, count(groups.total, "inode table"));
        let message = format!(
            "The kernel still zeroed the inode tables of the fresh ext4 on {} (ext4lazyinit, {left}).",
            tables.device
        );
        return Outcome::fail(left, message);
    }
    let Some((tables, reason)) =
        before.filesystems.iter().find_map(|tables| Some((tables, tables.groups.as_result().err()?)))
    else {
        return Outcome::pass("ext4lazyinit works on another file system: all inode tables here are done");
    };
    let observed = "ext4lazyinit is at work";
    let looks = [&view.seen.conditions.before, &view.seen.conditions.after];
    let at_work: Vec<&LazyInit> =
        looks.iter().filter_map(|seen| seen.lazy_init.value()).filter(|lazy| lazy.thread_alive).collect();
    let mut elsewhere = at_work.iter().flat_map(|lazy| &lazy.elsewhere);
    // In one look alone, another file system may have gone between the thread and the list of what is mounted.
    let whole_phase = at_work.len() == looks.len();
    if whole_phase && elsewhere.clone().next().is_none() && before.filesystems.len() == 1 {
        let message = format!(
            "The kernel still zeroed the inode tables of the fresh ext4 on {} (ext4lazyinit): no other ext4 is mounted.",
            tables.device
        );
        return Outcome::fail(observed, message);
    }
    if let Some(other) = elsewhere.find(left) {
        let message = format!(
            "The kernel zeroed the inode tables of the ext4 on {}; whether also of the one on {} cannot be told: {reason}.",
            other.device, tables.device
        );
        return Outcome::note(observed, message);
    }
    let message = format!(
        "The kernel zeroed inode tables of an ext4 meanwhile, and whether it is the one on {} cannot be told: {reason}.",
        tables.device
    );
    Outcome::warn(observed, message)
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Look, MIB, Scene};
    use plumb_result::conditions::{Ext4Tables, GroupCount};
    use plumb_result::{Level, Seen};

    fn groups(uninitialised: u64) -> Seen<GroupCount> {
        Seen::Yes(GroupCount { total: 640, uninitialised })
    }

    #[test]
    fn a_fresh_ext4_fails_and_another_ones_tables_do_not() {
        let scene = || Scene::writing(MIB);
        assert_eq!(scene().level("C3"), Some(Level::Pass));
        let finding = scene().lazy_init(Look::Before, groups(312)).finding("C3").unwrap();
        assert_eq!(finding.level, Level::Fail);
        assert!(finding.message.contains("312 of 640 inode tables left"), "{}", finding.message);
        assert_eq!(scene().lazy_init(Look::Before, groups(0)).level("C3"), Some(Level::Pass));
    }

    /// An ordinary user cannot tell whose tables they are, and is warned.
    #[test]
    fn tables_that_cannot_be_read_warn() {
        let closed = || Seen::no("cannot read /dev/vda: permission denied");
        let level = |elsewhere: &[Seen<GroupCount>]| {
            let scene = Scene::writing(MIB).lazy_init(Look::Before, closed()).lazy_init(Look::After, closed());
            let scene = scene.conditions(|seen| {
                if let Seen::Yes(lazy) = &mut seen.before.lazy_init {
                    let other =
                        |groups: &Seen<GroupCount>| Ext4Tables { groups: groups.clone(), ..Ext4Tables::default() };
                    lazy.elsewhere = elsewhere.iter().map(other).collect();
                }
            });
            scene.level("C3")
        };
        assert_eq!(level(&[Seen::no("closed")]), Some(Level::Warn));
        assert_eq!(level(&[groups(0)]), Some(Level::Warn));
        assert_eq!(level(&[groups(0), groups(9)]), Some(Level::Note), "another one explains it");
        assert_eq!(level(&[]), Some(Level::Fail), "there is no other");
        let once = Scene::writing(MIB).lazy_init(Look::Before, closed()).lazy_init(Look::After, closed());
        let once = once.conditions(|seen| {
            if let Seen::Yes(lazy) = &mut seen.before.lazy_init {
                lazy.thread_alive = false;
            }
        });
        assert_eq!(once.level("C3"), Some(Level::Warn), "another may have gone since");
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
