//! Names of regular trees, generated from numbers on demand so that 10⁹ of them take no memory.

use serde::{Deserialize, Serialize};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Names of regular trees of directories with numbered items, as metadata benchmarks make them.
///
/// Each place contains `roots` directories. Each root contains one tree for all owners, or one for each owner. In each
/// directory of a tree, or only in its leaves, every owner has `per-directory` items of each kind of name.
///
/// Directories of a tree are numbered breadth first: the children of directory `d` are `d·branch + 1` to `d·branch +
/// branch`. Item `n` is in directory `n / per-directory`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TreeNames {
    /// Directories that contain the trees. An owner uses the place with its number, modulo the number of places.
    pub places: Vec<PathBuf>,
    /// Prefix of a root's name; its number follows.
    pub root: String,
    /// Number of roots per place.
    pub roots: u32,
    /// Prefix of the name of a tree's directory; its number follows.
    pub directory: String,
    /// Give each owner a separate tree, whose directory names contain the owner's number before their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_trees: bool,
    /// Subdirectories per directory that is not a leaf.
    pub branch: u32,
    /// Levels below a tree's top directory.
    pub depth: u32,
    /// Number of owners.
    pub owners: u32,
    /// Kinds of item names.
    pub items: Vec<ItemName>,
    /// Put the items of owner `n` into the tree of owner `n + tree-shift`, modulo the number of owners.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub tree_shift: u32,
    /// Items per directory for each owner and kind.
    pub per_directory: u64,
    /// Put items only into directories of the last level.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaves_only: bool,
    /// Give each owner one directory per root, named `OWNER root NUMBER` without spaces, that holds the items directly.
    /// md-workbench's data sets have this form.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flat: bool,
}

/// Name of an item: `PREFIX OWNER . NUMBER SUFFIX`, or `PREFIX NUMBER SUFFIX` if owners share items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ItemName {
    /// Text before the numbers.
    pub prefix: String,
    /// Text after the numbers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suffix: String,
    /// Let all owners use the same items.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

/// Entry of a tree that a name refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeEntry {
    /// The place with this number.
    Place(u32),
    /// The root in the owner's place.
    Root,
    /// The directory with this number in the owner's tree.
    Directory(u64),
    /// The item with this kind and number.
    Item(u16, u64),
}

/// One name in a set of trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeName {
    pub root: u32,
    pub owner: u32,
    pub entry: TreeEntry,
}

/// Kinds of entries that are numbered before the items: places, roots and directories.
const KINDS_BEFORE_ITEMS: u64 = 3;

/// Limit on owners and on roots; a larger number is taken for a mistake.
const OWNERS_MAX: u32 = 1 << 24;

/// Maximum depth of a tree. Deeper paths approach Linux's limit of 4096 bytes.
const LEVELS_MAX: u32 = 256;

impl TreeNames {
    /// Returns the number of directories of one tree; `u64::MAX` if they are too many to count.
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

    /// Returns the number of directories of the last level.
    pub fn leaves(&self) -> u64 {
        u64::from(self.branch).saturating_pow(self.depth)
    }

    /// Returns the number of items of one owner and kind in one root.
    pub fn items_each(&self) -> u64 {
        let directories = if self.leaves_only { self.leaves() } else { self.directories() };
        directories.saturating_mul(self.per_directory)
    }

    /// Returns the number of the first item.
    pub fn first_item(&self) -> u64 {
        match self.leaves_only {
            true => (self.directories() - self.leaves()).saturating_mul(self.per_directory),
            false => 0,
        }
    }

    /// Returns how many numbers are reserved per kind, owner and root.
    fn span(&self) -> u64 {
        let items = self.directories().saturating_mul(self.per_directory.max(1));
        items.max(self.places.len() as u64)
    }

    /// Returns how many numbers are reserved in all; `None` if `i64::MAX` or more.
    pub fn count(&self) -> Option<u64> {
        let kinds = KINDS_BEFORE_ITEMS + self.items.len() as u64;
        let all = kinds.checked_mul(self.roots.into())?.checked_mul(self.owners.into())?.checked_mul(self.span())?;
        (all < i64::MAX as u64).then_some(all)
    }

    /// Returns the number of a name.
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

    /// Returns the name with this number.
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

    /// Appends a path to `path`. Returns the length of the prefix that all items of the same directory, owner and kind
    /// share; `None` if the name is not an item.
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

    /// Appends the path of a directory relative to its root.
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

    /// Returns the name of a root in its place. Only flat trees put the owner's number into the name.
    pub fn root_name(&self, owner: u32, root: u32) -> String {
        if self.flat { format!("{owner}{}{root}", self.root) } else { format!("{}{root}", self.root) }
    }

    /// Returns the path of a name.
    pub fn path(&self, name: TreeName) -> PathBuf {
        let mut path = Vec::new();
        self.write_path(name, &mut path);
        PathBuf::from(std::ffi::OsStr::from_bytes(&path))
    }

    /// Returns the key of an invalid setting, the error and the fix; `None` if the settings are valid.
    pub fn problem(&self) -> Option<(&'static str, String, &'static str)> {
        let problem = |key, message: &str, help| Some((key, message.to_owned(), help));
        if self.places.is_empty() {
            return problem("places", "there is no directory for the trees", "name at least one");
        }
        if self.owners == 0 || self.roots == 0 {
            let key = if self.owners == 0 { "owners" } else { "roots" };
            return problem(key, "the number is 0", "use at least 1");
        }
        if self.owners > OWNERS_MAX || self.roots > OWNERS_MAX {
            let key = if self.owners > OWNERS_MAX { "owners" } else { "roots" };
            return problem(key, "there are too many owners or roots", "use at most 16 Mi owners and roots");
        }
        if self.items.len() > usize::from(u16::MAX) {
            return problem("items", "there are too many kinds of items", "use at most 65535 kinds");
        }
        if self.depth > LEVELS_MAX {
            return problem("depth", "the tree is too deep", "use at most 256 levels");
        }
        if self.flat && (self.depth > 0 || self.tree_shift > 0) {
            return problem("flat", "a flat tree has one directory per owner", "use a depth and shift of 0");
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

/// Appends a number in decimal.
#[inline]
pub fn put_number(number: u64, text: &mut Vec<u8>) {
    // Avoids the formatting machinery, because benchmarks build a path for each call.
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
    fn paths_match_mdtest() {
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

    // Protects the uniqueness of names: each number maps to one name, and back.
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

    // Protects against numbers that wrap around: too many names are reported as an error.
    #[test]
    fn too_many_names_are_a_problem() {
        assert_eq!(names(false, false).problem(), None);
        let huge = TreeNames { branch: 1000, depth: 200, ..names(false, false) };
        assert_eq!((huge.directories(), huge.count()), (u64::MAX, None));
        assert_eq!(huge.problem().unwrap().0, "depth");
        assert_eq!(TreeNames { branch: 1, depth: u32::MAX, ..names(false, false) }.problem().unwrap().0, "depth");
        assert_eq!(TreeNames { owners: 0, ..names(false, false) }.problem().unwrap().0, "owners");
        assert_eq!(TreeNames { owners: u32::MAX, ..names(false, false) }.problem().unwrap().0, "owners");
        assert_eq!(TreeNames { roots: u32::MAX, ..names(false, false) }.problem().unwrap().0, "roots");
        assert_eq!(TreeNames { branch: 0, ..names(false, false) }.problem().unwrap().0, "branch");
    }

    // Protects: the error for too many kinds of items names `items`, and not `owners`.
    #[test]
    fn too_many_kinds_of_items_are_a_problem() {
        let names = names(false, false);
        let with = |count: usize| TreeNames { items: vec![names.items[0].clone(); count], ..names.clone() }.problem();
        assert_eq!(with(65_535), None);
        let (key, message, _) = with(65_536).unwrap();
        assert_eq!((key, message.as_str()), ("items", "there are too many kinds of items"));
    }
}
