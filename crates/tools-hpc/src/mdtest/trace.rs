//! mdtest's output with `-v -v -v`: every path that rank 0 touches, in mdtest's words and order.
//!
//! The lines are computed from the settings and the stonewall counts, with the names and orders of the workload. So
//! the measured loop prints nothing, and the lines of a test are available after it has ended.

use super::lower::{Facts, directory_order, file_order, names};
use super::result::{IterationResult, Test};
use super::settings::MdtestSettings;
use plumb_workload::program::{ItemOrder, TreeNames, put_number};

/// Smallest verbosity with a trace.
const VERBOSITY: u32 = 3;

/// Number of items between two of mdtest's progress lines.
const ITEMS_BETWEEN_COUNTS: u64 = 25_000;

/// Size of the pieces in which lines are printed, bytes.
const PIECE_BYTES: usize = 64 << 10;

/// Returns `true` if a trace is printed.
pub fn is_wanted(settings: &MdtestSettings) -> bool {
    settings.output.verbosity >= VERBOSITY
}

/// Returns the lines before and after those about the file system.
pub fn place(settings: &MdtestSettings) -> [String; 2] {
    let path = settings.tree.directories.first().map(String::as_str).unwrap_or_default();
    ["before", "after"].map(|when| match is_wanted(settings) {
        true => line(&format!("main ({when} display_freespace): o.testdirpath is '{path}'")),
        false => String::new(),
    })
}

fn line(text: &str) -> String {
    format!("V-3: Rank   0 Line     0 {text}\n")
}

/// A part of an iteration's trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Lines between the creation of trees and the tests.
    Names,
    /// Lines before the tests of files.
    Files,
    /// Lines before the removal of trees.
    Using,
    Of(Test),
}

/// Parts of an iteration, in order.
const PARTS: [Part; 14] = [
    Part::Of(Test::TreeCreation),
    Part::Names,
    Part::Of(Test::DirectoryCreation),
    Part::Of(Test::DirectoryStat),
    Part::Of(Test::DirectoryRead),
    Part::Of(Test::DirectoryRename),
    Part::Of(Test::DirectoryRemoval),
    Part::Files,
    Part::Of(Test::FileCreation),
    Part::Of(Test::FileStat),
    Part::Of(Test::FileRead),
    Part::Of(Test::FileRemoval),
    Part::Using,
    Part::Of(Test::TreeRemoval),
];

/// The trace of one iteration.
pub struct Trace<'a> {
    settings: &'a MdtestSettings,
    facts: Facts,
    names: TreeNames,
    /// Number of parts that were printed.
    printed: usize,
}

/// Operation on items, one directory after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Create,
    Remove,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Items {
    Directories,
    Files,
}

impl Items {
    fn name(self) -> &'static str {
        match self {
            Items::Directories => "dir",
            Items::Files => "file",
        }
    }
}

/// A walk through a tree: its owner, the owner of the items, and the range of items, counted over all directories.
#[derive(Debug, Clone, Copy)]
struct Walk {
    does: Does,
    items: Items,
    /// Whether rank 0 works for all ranks.
    for_all: bool,
    tree: u32,
    owner: u32,
    from: u64,
    to: u64,
}

/// Collects lines, and prints them in pieces.
struct Lines<'a> {
    text: String,
    print: &'a mut dyn FnMut(&str),
}

impl Lines<'_> {
    fn add(&mut self, words: &str, path: &str, after: &str) {
        self.text.push_str("V-3: Rank   0 Line     0 ");
        for part in [words, path, after, "\n"] {
            self.text.push_str(part);
        }
        if self.text.len() >= PIECE_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        (self.print)(&self.text);
        self.text.clear();
    }
}

impl<'a> Trace<'a> {
    /// Returns the trace of an iteration; `None` if it is not requested.
    pub fn new(settings: &'a MdtestSettings, facts: &Facts) -> Option<Trace<'a>> {
        let names = names(settings, facts.tasks, facts.iteration);
        is_wanted(settings).then(|| Trace { settings, facts: facts.clone(), names, printed: 0 })
    }

    /// Prints the lines up to those of the test that ended, or all remaining ones. `result` is the measurement.
    pub fn print(&mut self, ended: Option<Test>, result: &IterationResult, print: &mut dyn FnMut(&str)) {
        let upto = match ended {
            Some(test) => PARTS.iter().position(|part| *part == Part::Of(test)).map_or(0, |place| place + 1),
            None => PARTS.len(),
        };
        let mut lines = Lines { text: String::new(), print };
        for part in PARTS.iter().take(upto).skip(self.printed) {
            self.part(*part, &result.at_wall, &mut lines);
        }
        self.printed = self.printed.max(upto);
        lines.flush();
    }

    fn part(&self, part: Part, at_wall: &[u64], lines: &mut Lines<'_>) {
        let settings = self.settings;
        match part {
            Part::Names => {
                if !settings.order.unique {
                    lines.add("V-3: main: Using unique_mk_dir, '", "mdtest_tree.0", "'");
                } else {
                    lines.add(&format!("i {} nstride {}", self.facts.tasks, settings.order.stride), "", "");
                }
                lines.add("V-3: main: Copied unique_mk_dir, '", &self.top(0), "', to topdir");
            }
            Part::Files if settings.tree.files_too => {
                lines.add("will file_test on ", &self.top(0), "");
                lines.add("Entering file_test on ", &self.top(0), "");
            }
            Part::Using if !settings.order.unique => {
                let last = if self.touches_trees() { self.root(self.names.roots - 1) } else { String::new() };
                lines.add("main: Using o.testdir, '", &last, "'");
            }
            Part::Files | Part::Using => {}
            Part::Of(test) => self.test(test, at_wall, lines),
        }
    }

    /// Returns `true` if any test names a root. Before that, mdtest has none.
    fn touches_trees(&self) -> bool {
        let settings = self.settings;
        let renames = settings.phases.renames && settings.tree.directories_too && self.items_all() > 1;
        settings.phases.creates || settings.phases.stats || settings.phases.reads || settings.phases.removes || renames
    }

    fn test(&self, test: Test, at_wall: &[u64], lines: &mut Lines<'_>) {
        let settings = self.settings;
        let (directories, files) = (settings.tree.directories_too, settings.tree.files_too);
        match test {
            Test::TreeCreation if settings.phases.creates => self.trees(test, lines),
            Test::TreeRemoval if settings.phases.removes => self.trees(test, lines),
            Test::DirectoryCreation if directories && settings.phases.creates => {
                self.made_or_removed("directory_test: create path is '", Items::Directories, Does::Create, lines);
            }
            Test::DirectoryStat if directories && settings.phases.stats => {
                self.each_root("stat path is '", 1, lines, |lines, path| {
                    self.listed("mdtest_stat  dir: ", Items::Directories, 1, path, u64::MAX, lines);
                });
            }
            Test::DirectoryRead if directories && settings.phases.reads => {
                self.each_root("directory_test: read path is '", 2, lines, |_, _| {});
            }
            Test::DirectoryRename if directories && settings.phases.renames && self.items_all() > 1 => {
                self.each_root("rename path is '", 1, lines, |lines, path| {
                    self.renamed(path, lines);
                });
            }
            Test::DirectoryRemoval if directories && settings.phases.removes => {
                let words = "directory_test: remove directories path is '";
                self.made_or_removed(words, Items::Directories, Does::Remove, lines);
                let last = self.root(self.names.roots - 1);
                let top = if settings.order.unique { format!("{last}/") } else { format!("{last}/{}", self.top(0)) };
                lines.add("directory_test: remove unique directories path is '", &top, "'");
            }
            Test::FileCreation if files && settings.phases.creates => self.files_made(at_wall, lines),
            Test::FileStat if files && settings.phases.stats => {
                self.each_root("file_test: stat path is '", 1, lines, |lines, path| {
                    self.listed("mdtest_stat file: ", Items::Files, 1, path, self.limit(at_wall), lines);
                });
            }
            Test::FileRead if files && settings.phases.reads => {
                self.each_root("file_test: read path is '", 2, lines, |lines, path| {
                    self.listed("mdtest_read file: ", Items::Files, 2, path, self.limit(at_wall), lines);
                });
            }
            Test::FileRemoval if files && settings.phases.removes => self.files_removed(at_wall, lines),
            _ => {}
        }
    }

    /// Adds the creation or removal of directories in trees.
    fn trees(&self, test: Test, lines: &mut Lines<'_>) {
        let settings = self.settings;
        let creates = test == Test::TreeCreation;
        let what = if creates { "create" } else { "remove" };
        let (before, kind) = match (settings.order.unique, settings.order.collective, creates) {
            (false, _, true) => ("main", "!unque_dir_per_task"),
            (false, _, false) => ("V-3: main", "!unique_dir_per_task"),
            (true, true, _) => ("main", "collective"),
            (true, false, true) => ("main", "!collective_creates"),
            (true, false, false) => ("main", "!collective"),
        };
        let times = if settings.order.unique && settings.order.collective { self.facts.tasks } else { 1 };
        let words = format!(
            "{before} ({what} hierarchical directory loop-{kind}): Calling create_remove_directory_tree with '"
        );
        for root in 0..self.names.roots {
            for _ in 0..times {
                lines.add(&words, &self.root(root), "'");
            }
        }
    }

    /// Adds the creation or removal of directories in every root.
    fn made_or_removed(&self, words: &str, items: Items, does: Does, lines: &mut Lines<'_>) {
        let shifts = if does == Does::Create { 0 } else { 3 };
        for root in 0..self.names.roots {
            lines.add(words, &self.tree(root, self.tree_owner(shifts)), "'");
            self.go_through(root, self.walk(does, items, shifts), lines);
        }
    }

    /// Adds the items of rank 0, or of all ranks if it works for them.
    fn go_through(&self, root: u32, walk: Walk, lines: &mut Lines<'_>) {
        if !self.settings.order.collective {
            return self.directory(&self.tree(root, walk.tree), 0, 0, &mut walk.clone(), lines);
        }
        for task in 0..self.facts.tasks {
            if self.settings.order.unique {
                lines.add(
                    &format!("i {task} nstride {} ntasks {}", self.settings.order.stride, self.facts.tasks),
                    "",
                    "",
                );
            }
            let shifts = if walk.does == Does::Create { 0 } else { 3 };
            let own = self.owner_of(task, shifts);
            let path = self.tree(root, if self.settings.order.unique { task } else { 0 });
            lines.add("collective_create_remove (create_remove_items): temp is '", &path, "'");
            let mut of_task = Walk { for_all: true, tree: task, owner: own, ..walk };
            self.directory(&path, 0, 0, &mut of_task, lines);
        }
    }

    fn files_made(&self, at_wall: &[u64], lines: &mut Lines<'_>) {
        for root in 0..self.names.roots {
            let path = self.tree(root, self.tree_owner(0));
            lines.add("file_test: create path is '", &path, "'");
            let walk = self.walk(Does::Create, Items::Files, 0);
            if self.settings.order.collective {
                self.go_through(root, walk, lines);
            }
            // After a stonewall, ranks continue at their own position.
            let (own, most) = (at_wall.first().copied(), at_wall.iter().max().copied().unwrap_or(u64::MAX));
            let own = own.filter(|_| at_wall.iter().any(|&done| done < self.items_all()));
            self.directory(&path, 0, 0, &mut Walk { to: own.unwrap_or(most), ..walk }, lines);
            if let Some(own) = own {
                self.directory(&path, 0, 0, &mut Walk { from: own, to: most, ..walk }, lines);
            }
        }
    }

    fn files_removed(&self, at_wall: &[u64], lines: &mut Lines<'_>) {
        for root in 0..self.names.roots {
            let path = self.tree(root, self.tree_owner(3));
            lines.add("file_test: rm directories path is '", &path, "'");
            if !self.settings.order.collective {
                lines.add("gonna remove ", &path, "");
            }
            let walk = self.walk(Does::Remove, Items::Files, 3);
            self.go_through(root, Walk { to: self.limit(at_wall), ..walk }, lines);
        }
        let unique = format!("{}/", self.root(self.names.roots - 1));
        let top = if self.settings.order.unique { &unique } else { &self.top(0) };
        lines.add("file_test: rm unique directories path is '", top, "'");
    }

    /// Adds a test's line for every root. `after` adds the lines after it.
    fn each_root(&self, words: &str, shifts: u32, lines: &mut Lines<'_>, mut after: impl FnMut(&mut Lines<'_>, &str)) {
        for root in 0..self.names.roots {
            let path = self.tree(root, self.tree_owner(shifts));
            lines.add(words, &path, "'");
            after(lines, &path);
        }
    }

    fn walk(&self, does: Does, items: Items, shifts: u32) -> Walk {
        let tree = if self.settings.order.unique { self.tree_owner(shifts) } else { 0 };
        Walk { does, items, for_all: false, tree, owner: self.owner_of(0, shifts), from: 0, to: u64::MAX }
    }

    /// Adds the items of a directory and of those below. `number` is the directory's, `level`
    /// its depth below the top.
    fn directory(&self, path: &str, number: u64, level: u32, walk: &mut Walk, lines: &mut Lines<'_>) {
        let names = &self.names;
        lines.add("create_remove_items (start): temp_path is '", path, "'");
        if level == 0 {
            self.items_of(path, 0, 0, walk, lines);
            if names.depth > 0 {
                self.directory(path, 1, 1, walk, lines);
            }
            return;
        }
        if level > names.depth {
            return;
        }
        for number in number..number + u64::from(names.branch) {
            let below = format!("{path}/{}/", self.directory_name(walk.tree, number));
            lines.add("create_remove_items (for loop): temp_path is '", &below, "'");
            self.items_of(&below, number, level, walk, lines);
            self.directory(&below, number * u64::from(names.branch) + 1, level + 1, walk, lines);
        }
    }

    /// Adds the items of one directory, within the range of the walk.
    fn items_of(&self, path: &str, directory: u64, level: u32, walk: &mut Walk, lines: &mut Lines<'_>) {
        let names = &self.names;
        if names.leaves_only && level != names.depth {
            return;
        }
        let words = match (walk.items, walk.does, walk.for_all) {
            (Items::Directories, Does::Create, _) => "create_remove_items_helper (dirs create): curr_item is '",
            (Items::Directories, Does::Remove, _) => "create_remove_items_helper (dirs remove): curr_item is '",
            (Items::Files, _, true) => "create file: ",
            (Items::Files, Does::Create, _) => "create_remove_items_helper (non-dirs create): curr_item is '",
            (Items::Files, Does::Remove, _) => "create_remove_items_helper (non-dirs remove): curr_item is '",
        };
        let after = if walk.items == Items::Files && walk.for_all { "" } else { "'" };
        let mut item = format!("{path}/{}", self.prefix(walk.items, walk.owner));
        let common = item.len();
        let skipped = walk.from.min(names.per_directory);
        let there = names.per_directory.min(walk.to);
        for number in directory * names.per_directory + skipped..directory * names.per_directory + there {
            put(number, common, &mut item);
            if number > 0
                && number.is_multiple_of(ITEMS_BETWEEN_COUNTS)
                && !(walk.for_all && walk.items == Items::Files)
            {
                let what = match (walk.items, walk.does) {
                    (Items::Directories, _) => "dir: ",
                    (Items::Files, Does::Create) => "create file: ",
                    (Items::Files, Does::Remove) => "remove file: ",
                };
                lines.add(what, &item[common..], "");
            }
            lines.add(words, &item, after);
            if walk.items == Items::Files && walk.does == Does::Create && !walk.for_all {
                self.made(lines);
            }
        }
        walk.from -= skipped;
        walk.to -= there;
    }

    /// Adds the calls that create a file.
    fn made(&self, lines: &mut Lines<'_>) {
        let settings = self.settings;
        if settings.tree.makes_nodes {
            return lines.add("create_remove_items_helper : mknod...", "", "");
        }
        let how = if settings.order.collective { "(collective)" } else { "(non-collective, shared)" };
        lines.add("create_remove_items_helper ", how, ": open...");
        if settings.data.write_bytes > 0 {
            lines.add("create_remove_items_helper: write...", "", "");
        }
        lines.add("create_remove_items_helper: close...", "", "");
    }

    /// Adds the items of a stat or read test, in the order of the settings.
    fn listed(&self, words: &str, items: Items, shifts: u32, tree: &str, most: u64, lines: &mut Lines<'_>) {
        let (count, first) = (self.names.items_each().min(most), self.names.first_item());
        let owner = self.owner_of(0, shifts);
        let what = if words.starts_with("mdtest_read") { "read" } else { "stat" };
        let mut done: u64 = 0;
        let mut each = |number: u64| {
            if done > 0 && done.is_multiple_of(ITEMS_BETWEEN_COUNTS) {
                lines.add(&format!("{what} {}: {done}", items.name()), "", "");
            }
            done += 1;
            lines.add(words, &self.item(tree, items, owner, shifts, number), "");
        };
        match self.order(items) {
            ItemOrder::Numbered | ItemOrder::AcrossRoots => (first..first + count).for_each(each),
            // If memory was too short for the order, the run itself has reported that.
            ItemOrder::Shuffled { seed } => {
                ItemOrder::shuffled(count, seed)
                    .unwrap_or_default()
                    .into_iter()
                    .for_each(|number| each(first + number));
            }
            ItemOrder::DepthFirst => self.depth_first(0, 0, &mut count.clone(), &mut each),
        }
    }

    /// Visits the first `left` items of a directory and all directories below it.
    fn depth_first(&self, directory: u64, level: u32, left: &mut u64, each: &mut dyn FnMut(u64)) {
        let names = &self.names;
        if !names.leaves_only || level == names.depth {
            let there = names.per_directory.min(*left);
            *left -= there;
            (directory * names.per_directory..directory * names.per_directory + there).for_each(&mut *each);
        }
        if level < names.depth && *left > 0 {
            let branch = u64::from(names.branch);
            for below in directory * branch + 1..=directory * branch + branch {
                self.depth_first(below, level + 1, left, each);
            }
        }
    }

    /// Adds renames of directories, each to the next number.
    fn renamed(&self, tree: &str, lines: &mut Lines<'_>) {
        let (first, count) = (self.names.first_item(), self.names.items_each());
        if count == 1 {
            return;
        }
        for number in first..first + count {
            let item = self.item(tree, Items::Directories, self.owner_of(0, 1), 1, number);
            lines.add("mdtest_rename  dir: ", &item, "");
        }
    }

    fn order(&self, items: Items) -> ItemOrder {
        match items {
            Items::Directories => directory_order(self.settings, &self.facts),
            Items::Files => file_order(self.settings, &self.facts, &self.names),
        }
    }

    /// Returns the number of items of a rank in all roots.
    fn items_all(&self) -> u64 {
        self.settings.items_each(&self.names)
    }

    /// Returns the number of files per root before a stonewall, in this run or an earlier one.
    fn limit(&self, at_wall: &[u64]) -> u64 {
        let earlier = self.facts.items_at_wall.filter(|_| !self.settings.phases.creates);
        at_wall.iter().max().copied().or(earlier).unwrap_or(u64::MAX)
    }

    /// Returns the rank on whose items `rank` works: its own, shifted by `shifts` strides (`-N`).
    fn owner_of(&self, rank: u32, shifts: u32) -> u32 {
        let distance = u64::from(self.settings.order.stride) * u64::from(shifts);
        ((u64::from(rank) + distance) % u64::from(self.facts.tasks.max(1))) as u32
    }

    /// Returns the rank in whose tree rank 0 works after `shifts` strides. Its items are in
    /// the tree one stride further.
    fn tree_owner(&self, shifts: u32) -> u32 {
        if self.settings.order.unique { self.owner_of(0, shifts + 1) } else { 0 }
    }

    /// Returns the path of a root.
    fn root(&self, root: u32) -> String {
        let path = self.settings.tree.directories.first().map(String::as_str).unwrap_or_default();
        let slash = if path.ends_with('/') { "" } else { "/" };
        format!("{path}{slash}{}{root}", self.names.root)
    }

    /// Returns the name of a tree's top directory.
    fn top(&self, owner: u32) -> String {
        self.directory_name(owner, 0)
    }

    fn directory_name(&self, owner: u32, number: u64) -> String {
        match self.settings.order.unique {
            true => format!("{}{owner}.{number}", self.names.directory),
            false => format!("{}{number}", self.names.directory),
        }
    }

    /// Returns the path of a tree's top directory.
    fn tree(&self, root: u32, owner: u32) -> String {
        format!("{}/{}", self.root(root), self.top(owner))
    }

    /// Returns the prefix of an item's name, before the number.
    fn prefix(&self, items: Items, owner: u32) -> String {
        match self.settings.order.shared {
            true => format!("{}.mdtest.shared.", items.name()),
            false => format!("{}.mdtest.{owner}.", items.name()),
        }
    }

    /// Returns the path of an item, below its tree's top.
    fn item(&self, tree: &str, items: Items, owner: u32, shifts: u32, number: u64) -> String {
        let (mut directory, branch) = (number / self.names.per_directory.max(1), u64::from(self.names.branch.max(1)));
        let mut path = format!("{}{number}", self.prefix(items, owner));
        while directory > 0 {
            path = format!("{}/{path}", self.directory_name(self.tree_owner(shifts), directory));
            directory = (directory - 1) / branch;
        }
        format!("{tree}/{path}")
    }
}

/// Writes a number after the common part of a path.
fn put(number: u64, common: usize, path: &mut String) {
    path.truncate(common);
    let mut digits = Vec::with_capacity(20);
    put_number(number, &mut digits);
    path.push_str(&String::from_utf8_lossy(&digits));
}
