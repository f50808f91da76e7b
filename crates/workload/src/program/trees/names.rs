//! Names of regular trees: made from their numbers when they are needed, so that 10⁹ of them take no memory.

use serde::{Deserialize, Serialize};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Names of regular trees of directories with numbered items, as metadata benchmarks make them. Below each place lie
/// `roots` directories; in each of them there is one tree for all owners, or one for each; in each directory of a tree,
/// or only in its leaves, every owner has `per-directory` items of each kind of name.
///
/// Directories of a tree are numbered breadth first: those in directory `d` are `d·branch + 1` to `d·branch + branch`. Item
/// `n` lies in directory `n / per-directory`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TreeNames {
    /// Directories in which all lies. An owner's is the one of its number, modulo how many there are.
    pub places: Vec<PathBuf>,
    /// The name of a root before its number.
    pub root: String,
    /// Roots in each place.
    pub roots: u32,
    /// The name of a tree's directory before its number.
    pub directory: String,
    /// Each owner has a tree of its own, whose directories bear its number before theirs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_trees: bool,
    /// Directories in each directory that is no leaf.
    pub branch: u32,
    /// Levels below a tree's top.
    pub depth: u32,
    /// How many owners.
    pub owners: u32,
    /// Kinds of names of items.
    pub items: Vec<ItemName>,
    /// An owner's items lie in the tree of the owner whose number is so much higher, modulo the owners.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub tree_shift: u32,
    /// Items of each owner and kind in a directory.
    pub per_directory: u64,
    /// Only the directories of the last level have items.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaves_only: bool,
    /// A root of each owner is its tree, of one directory: `OWNER root NUMBER`, in which the items lie. md-workbench's data sets are
    /// such.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flat: bool,
}

/// What items are called: `PREFIX OWNER . NUMBER SUFFIX`, and `PREFIX NUMBER SUFFIX` where owners share them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ItemName {
    /// Before the numbers.
    pub prefix: String,
    /// Behind them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suffix: String,
    /// The same items for all owners.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

/// What a name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeEntry {
    /// The place of this number.
    Place(u32),
    /// The root in the owner's place.
    Root,
    /// The directory of this number in the owner's tree.
    Directory(u64),
    /// The item of this kind and number.
    Item(u16, u64),
}

/// One name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeName {
    /// Number of the root.
    pub root: u32,
    /// Number of the owner.
    pub owner: u32,
    /// What it is of.
    pub entry: TreeEntry,
}

/// Places, roots and directories come before the kinds of items.
const KINDS_BEFORE_ITEMS: u64 = 3;

/// More owners, roots or kinds than this are a mistake.
const MANY: u32 = 1 << 24;

/// Levels of a tree: a path has at most 4096 bytes on Linux, and each level takes more than this part of it.
const LEVELS_MAX: u32 = 256;

impl TreeNames {
    /// Directories of one tree; `u64::MAX` where they are not to be counted.
    pub fn directories(&self) -> u64 {
        if self.branch == 1 {
            return u64::from(self.depth) + 1;
        }
        let mut sum: u64 = 1;
        let mut level: u64 = 1;
        for _ in 0..self.depth {
            level = level.saturating_mul(self.branch.into());
            sum = sum.saturating_add(level);
            if sum == u64::MAX || level == 0 {
                break;
            }
        }
        sum
    }

    /// Directories of its last level.
    pub fn leaves(&self) -> u64 {
        u64::from(self.branch).saturating_pow(self.depth)
    }

    /// Items of one owner and kind in one root.
    pub fn items_each(&self) -> u64 {
        let directories = if self.leaves_only { self.leaves() } else { self.directories() };
        directories.saturating_mul(self.per_directory)
    }

    /// Number of the first item that there is.
    pub fn first_item(&self) -> u64 {
        match self.leaves_only {
            true => (self.directories() - self.leaves()).saturating_mul(self.per_directory),
            false => 0,
        }
    }

    /// Numbers of one kind, owner and root.
    fn span(&self) -> u64 {
        let items = self.directories().saturating_mul(self.per_directory.max(1));
        items.max(self.places.len() as u64)
    }

    /// How many numbers there are; `None` where they are more than can be told apart.
    pub fn count(&self) -> Option<u64> {
        let kinds = KINDS_BEFORE_ITEMS + self.items.len() as u64;
        let all = kinds.checked_mul(self.roots.into())?.checked_mul(self.owners.into())?.checked_mul(self.span())?;
        (all < i64::MAX as u64).then_some(all)
    }

    /// The number of a name.
    pub fn number(&self, name: TreeName) -> u64 {
        let (kind, index) = match name.entry {
            TreeEntry::Place(place) => (0, place.into()),
            TreeEntry::Root => (1, 0),
            TreeEntry::Directory(number) => (2, number),
            TreeEntry::Item(kind, number) => (KINDS_BEFORE_ITEMS + u64::from(kind), number),
        };
        let block = (kind * u64::from(self.roots) + u64::from(name.root)) * u64::from(self.owners);
        (block + u64::from(name.owner)) * self.span() + index
    }

    /// The name of a number.
    pub fn name(&self, number: u64) -> TreeName {
        let (span, owners, roots) = (self.span().max(1), u64::from(self.owners.max(1)), u64::from(self.roots.max(1)));
        let (block, index) = (number / span, number % span);
        let (rest, owner) = (block / owners, (block % owners) as u32);
        let (kind, root) = (rest / roots, (rest % roots) as u32);
        let entry = match kind {
            0 => TreeEntry::Place(index as u32),
            1 => TreeEntry::Root,
            2 => TreeEntry::Directory(index),
            kind => TreeEntry::Item((kind - KINDS_BEFORE_ITEMS) as u16, index),
        };
        TreeName { root, owner, entry }
    }

    /// Writes a path behind what is there already. Returns how much of it all items of the same directory and owner
    /// have in common; nothing where it is no item's.
    pub fn write_path(&self, name: TreeName, path: &mut Vec<u8>) -> Option<usize> {
        let place = match name.entry {
            TreeEntry::Place(place) => place as usize,
            _ => name.owner as usize % self.places.len().max(1),
        };
        path.extend_from_slice(self.places.get(place).map(|place| place.as_os_str().as_bytes()).unwrap_or_default());
        if matches!(name.entry, TreeEntry::Place(_)) {
            return None;
        }
        if !path.is_empty() && !path.ends_with(b"/") {
            path.push(b'/');
        }
        if self.flat {
            put_number(name.owner.into(), path);
        }
        path.extend_from_slice(self.root.as_bytes());
        put_number(name.root.into(), path);
        match name.entry {
            TreeEntry::Place(_) | TreeEntry::Root => None,
            TreeEntry::Directory(number) => {
                self.write_directory(name.owner, number, path);
                None
            }
            TreeEntry::Item(kind, number) => {
                let shifted = u64::from(name.owner) + u64::from(self.tree_shift);
                let owner = (shifted % u64::from(self.owners.max(1))) as u32;
                self.write_directory(owner, number / self.per_directory.max(1), path);
                path.push(b'/');
                let item = self.items.get(usize::from(kind))?;
                path.extend_from_slice(item.prefix.as_bytes());
                if !item.shared {
                    put_number(name.owner.into(), path);
                    path.push(b'.');
                }
                let common = path.len();
                put_number(number, path);
                path.extend_from_slice(item.suffix.as_bytes());
                Some(common)
            }
        }
    }

    /// From below a root down to the directory.
    fn write_directory(&self, owner: u32, number: u64, path: &mut Vec<u8>) {
        if self.flat {
            return;
        }
        if number > 0 {
            self.write_directory(owner, (number - 1) / u64::from(self.branch.max(1)), path);
        }
        path.push(b'/');
        path.extend_from_slice(self.directory.as_bytes());
        if self.own_trees {
            put_number(owner.into(), path);
            path.push(b'.');
        }
        put_number(number, path);
    }

    /// The name of a root in its place; the owner is part of it in a flat tree only.
    pub fn root_name(&self, owner: u32, root: u32) -> String {
        if self.flat { format!("{owner}{}{root}", self.root) } else { format!("{}{root}", self.root) }
    }

    /// The path of a name.
    pub fn path(&self, name: TreeName) -> PathBuf {
        let mut path = Vec::new();
        self.write_path(name, &mut path);
        PathBuf::from(std::ffi::OsStr::from_bytes(&path))
    }

    /// The problem with them, where there is one: the key, what it is, and the way out.
    pub fn problem(&self) -> Option<(&'static str, String, &'static str)> {
        let problem = |key, message: &str, help| Some((key, message.to_owned(), help));
        if self.places.is_empty() {
            return problem("places", "there is no directory for the trees", "name at least one");
        }
        if self.owners == 0 || self.roots == 0 {
            let key = if self.owners == 0 { "owners" } else { "roots" };
            return problem(key, "the number is 0", "use at least 1");
        }
        if self.owners > MANY || self.roots > MANY || self.items.len() > usize::from(u16::MAX) {
            return problem("owners", "there are too many of them", "use at most 16 Mi owners and roots");
        }
        if self.depth > LEVELS_MAX {
            return problem("depth", "paths of so deep a tree are too long for every system", "use at most 256 levels");
        }
        if self.flat && (self.depth > 0 || self.tree_shift > 0) {
            return problem(
                "flat",
                "a flat tree has one directory, which is its owner's",
                "use a depth and shift of 0",
            );
        }
        if self.branch == 0 && self.depth > 0 {
            return problem("branch", "a tree with levels needs branches", "use at least 1");
        }
        if self.count().is_none() {
            let message = format!(
                "{} directories with {} items of each of {} owners are more than can be numbered",
                self.directories(),
                self.per_directory,
                self.owners
            );
            return Some(("depth", message, "use fewer levels, branches or items"));
        }
        None
    }
}

/// Writes a number in decimal.
#[inline]
pub fn put_number(number: u64, text: &mut Vec<u8>) {
    // Without a formatter: benchmarks make a path for each of their calls.
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(own_trees: bool, leaves_only: bool) -> TreeNames {
        TreeNames {
            places: vec!["out".into()],
            root: "test-dir.0-".to_owned(),
            roots: 2,
            directory: "mdtest_tree.".to_owned(),
            own_trees,
            branch: 2,
            depth: 2,
            owners: 3,
            items: vec![
                ItemName { prefix: "dir.mdtest.".to_owned(), suffix: String::new(), shared: false },
                ItemName { prefix: "file.mdtest.".to_owned(), suffix: "-XX".to_owned(), shared: false },
            ],
            tree_shift: 0,
            per_directory: 2,
            leaves_only,
            flat: false,
        }
    }

    fn path(names: &TreeNames, root: u32, owner: u32, entry: TreeEntry) -> String {
        names.path(TreeName { root, owner, entry }).display().to_string()
    }

    // Protects mdtest's layout: paths of the real tool's trees with -b 2 -z 2 -I 2, and with -u.
    #[test]
    fn paths_are_those_of_the_tree() {
        let shared = names(false, false);
        assert_eq!(path(&shared, 1, 0, TreeEntry::Place(0)), "out");
        assert_eq!(path(&shared, 1, 0, TreeEntry::Root), "out/test-dir.0-1");
        assert_eq!(path(&shared, 0, 2, TreeEntry::Directory(0)), "out/test-dir.0-0/mdtest_tree.0");
        let deep = "out/test-dir.0-0/mdtest_tree.0/mdtest_tree.2/mdtest_tree.5";
        assert_eq!(path(&shared, 0, 2, TreeEntry::Directory(5)), deep);
        assert_eq!(path(&shared, 0, 1, TreeEntry::Item(0, 11)), format!("{deep}/dir.mdtest.1.11"));
        let own = names(true, true);
        let tree = "out/test-dir.0-0/mdtest_tree.1.0";
        assert_eq!(path(&own, 0, 1, TreeEntry::Directory(0)), tree);
        assert_eq!((own.first_item(), own.items_each()), (6, 8));
        let shifted = TreeNames { tree_shift: 2, ..own.clone() };
        let in_another = "out/test-dir.0-0/mdtest_tree.0.0/mdtest_tree.0.1/mdtest_tree.0.3/dir.mdtest.1.6";
        assert_eq!(path(&shifted, 0, 1, TreeEntry::Item(0, 6)), in_another);
        let item = format!("{tree}/mdtest_tree.1.1/mdtest_tree.1.3/file.mdtest.1.6-XX");
        assert_eq!(path(&own, 0, 1, TreeEntry::Item(1, 6)), item);
    }

    // Protects md-workbench's layout: paths of the real tool with -D 2.
    #[test]
    fn flat_trees_have_their_items_in_their_roots() {
        let item = ItemName { prefix: "file-".to_owned(), suffix: String::new(), shared: true };
        let flat = TreeNames { root: "_".to_owned(), depth: 0, items: vec![item], flat: true, ..names(true, false) };
        assert_eq!(flat.problem(), None);
        assert_eq!(path(&flat, 1, 2, TreeEntry::Directory(0)), "out/2_1");
        assert_eq!(path(&flat, 1, 0, TreeEntry::Item(0, 1)), "out/0_1/file-1");
        assert_eq!(TreeNames { depth: 1, ..flat }.problem().unwrap().0, "flat");
    }

    // Protects every name from another's: each number is one name's, and leads back to it.
    #[test]
    fn numbers_and_names_are_one_to_one() {
        let names = names(true, false);
        let mut seen = std::collections::BTreeSet::new();
        for root in 0..2 {
            for owner in 0..3 {
                let directories = (0..7).map(TreeEntry::Directory);
                let items = (0..2).flat_map(|kind| (0..14).map(move |number| TreeEntry::Item(kind, number)));
                for entry in [TreeEntry::Place(0), TreeEntry::Root].into_iter().chain(directories).chain(items) {
                    let name = TreeName { root, owner, entry };
                    let number = names.number(name);
                    assert!(number < names.count().unwrap() && seen.insert(number), "{name:?}");
                    assert_eq!(names.name(number), name);
                }
            }
        }
    }

    // Protects from numbers that wrap around: more names than can be told apart are a problem that is said.
    #[test]
    fn too_many_names_are_a_problem() {
        assert_eq!(names(false, false).problem(), None);
        let huge = TreeNames { branch: 1000, depth: 200, ..names(false, false) };
        assert_eq!((huge.directories(), huge.count()), (u64::MAX, None));
        assert_eq!(huge.problem().unwrap().0, "depth");
        assert_eq!(TreeNames { branch: 1, depth: u32::MAX, ..names(false, false) }.problem().unwrap().0, "depth");
        assert_eq!(TreeNames { owners: 0, ..names(false, false) }.problem().unwrap().0, "owners");
        assert_eq!(TreeNames { branch: 0, ..names(false, false) }.problem().unwrap().0, "branch");
    }
}
