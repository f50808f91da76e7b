//! File sets: computes the names, paths and sizes of a tree's files from a file's number.
//!
//! Nothing here is a table. Any worker on any machine computes the path, the size and the initial existence of file `n`
//! from the tree's shape and seed, in constant memory.
//!
//! Every directory has `width` subdirectories down to `depth` levels, and only the directories of the last level
//! contain files (the *leaves*; with depth 0 the root is the only leaf). Files are numbered through the leaves: the
//! first leaf holds the first `files / leaves` numbers (one more in each of the first `files % leaves` leaves), and so
//! on. Contiguous ranges of numbers are therefore ranges of directories too: workers share a directory only if there
//! are fewer leaves than workers.

pub(crate) mod layout;
mod path;
mod shape;
mod sizes;

pub use layout::{LayoutError, TreeLayout, layout, make_directories, make_files};
pub(crate) use path::write_number;
pub use path::{PathBuffer, PathWriter};
pub use shape::{ExtraDirectory, FileId, MAX_DEPTH, MAX_FILES, MAX_LEAVES, TreeError, TreeShape};
pub(crate) use sizes::gamma;
pub use sizes::{SizesError, TreeSizes};

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::{Bytes, Content, Distribution, TreeTarget};
    use std::collections::BTreeMap;
    use std::collections::BTreeSet;

    fn target(files: u64, width: u32, depth: u32) -> TreeTarget {
        TreeTarget {
            path: "tree".into(),
            files,
            width,
            depth,
            size: Distribution::Gamma { mean: Bytes(16384), shape: 1.5 },
            preallocated_percent: 80,
            directories: 0,
            content: Content::Zero,
        }
    }

    fn shape(files: u64, width: u32, depth: u32) -> TreeShape {
        TreeShape::new(&target(files, width, depth), 42).unwrap()
    }

    fn path(shape: &TreeShape, file: u64) -> String {
        let mut buffer = PathBuffer::new();
        shape.write_path(FileId(file), &mut buffer);
        buffer.as_path().to_str().unwrap().to_owned()
    }

    #[test]
    fn paths_match_the_documentation() {
        assert_eq!(path(&shape(2000, 20, 2), 1234), "d12/d06/f00001234");
        assert_eq!(path(&shape(10, 1, 0), 9), "f00000009");
        assert_eq!(path(&shape(10, 1, 3), 9), "d00/d00/d00/f00000009");
        let mut buffer = PathBuffer::new();
        shape(2000, 20, 2).write_link(FileId(7), &mut buffer);
        assert_eq!(buffer.as_path().to_str(), Some("../../d00/d01/f00000007"));
        shape(2000, 20, 2).write_extra(ExtraDirectory { owner: 2, number: 41 }, &mut buffer);
        assert_eq!(buffer.as_path().to_str(), Some("d02/d03/x0002.00000041"));
        shape(2000, 20, 0).write_leaf(0, &mut buffer);
        assert_eq!(buffer.as_path().to_str(), Some("."));
    }

    #[test]
    fn every_file_has_its_own_path_and_leaves_are_even() {
        for (files, width, depth) in [(1000, 3, 3), (5, 4, 2), (100, 10, 1), (17, 2, 4), (64, 4, 3), (0, 2, 2)] {
            let shape = shape(files, width, depth);
            let paths: BTreeSet<String> = (0..files).map(|file| path(&shape, file)).collect();
            assert_eq!(paths.len() as u64, files);
            let mut held: BTreeMap<u64, u64> = BTreeMap::new();
            for file in 0..files {
                *held.entry(shape.leaf_of(FileId(file))).or_default() += 1;
            }
            assert!(held.keys().all(|leaf| *leaf < shape.leaves()));
            for file in 0..files {
                assert!(shape.files_of(shape.leaf_of(FileId(file))).contains(&file), "{file} of {files}");
            }
            let all: u64 = (0..shape.leaves()).map(|leaf| shape.files_of(leaf).count() as u64).sum();
            assert_eq!(all, files);
            assert!(
                held.values().all(|count| *count == files / shape.leaves() || *count == files / shape.leaves() + 1)
            );
        }
    }

    #[test]
    fn the_longest_paths_fit() {
        let mut buffer = PathBuffer::new();
        for (width, depth) in [(1, 32), (2, 24), (16_777_216, 1), (4096, 2), (256, 3)] {
            let shape = shape(MAX_FILES, width, depth);
            shape.write_link(FileId(MAX_FILES - 1), &mut buffer);
            shape.write_extra(ExtraDirectory { owner: u32::MAX, number: u32::MAX }, &mut buffer);
            shape.write_leaf(shape.leaves() - 1, &mut buffer);
        }
    }

    #[test]
    fn preallocation_is_spread_evenly() {
        let shape = shape(1000, 10, 1);
        assert_eq!(shape.preallocated(), 800);
        for leaf in 0..10 {
            let made = (leaf * 100..leaf * 100 + 100).filter(|file| shape.is_preallocated(FileId(*file))).count();
            assert_eq!(made, 80);
        }
    }

    #[test]
    fn sizes_depend_on_seed_and_number_only() {
        let first: Vec<u64> = (0..4).map(|file| shape(1000, 10, 1).size_of(FileId(file))).collect();
        assert_eq!(first, (0..4).map(|file| shape(9999, 3, 2).size_of(FileId(file))).collect::<Vec<_>>());
        let other = TreeShape::new(&target(1000, 10, 1), 43).unwrap();
        assert_ne!(first, (0..4).map(|file| other.size_of(FileId(file))).collect::<Vec<_>>());
        let mean = (0..50_000).map(|file| shape(1, 1, 0).size_of(FileId(file)) as f64).sum::<f64>() / 50_000.0;
        assert!((mean / 16384.0 - 1.0).abs() < 0.02, "{mean}");
    }

    #[test]
    fn impossible_trees_are_refused_with_the_way_out() {
        assert!(matches!(TreeShape::new(&target(1, 0, 1), 0), Err(TreeError::NoWidth { .. })));
        assert!(matches!(TreeShape::new(&target(1, 1, 33), 0), Err(TreeError::TooDeep { .. })));
        assert!(matches!(TreeShape::new(&target(1, 1000, 3), 0), Err(TreeError::TooManyLeaves { .. })));
        assert!(matches!(TreeShape::new(&target(1, u32::MAX, 32), 0), Err(TreeError::TooManyLeaves { .. })));
        assert!(matches!(TreeShape::new(&target(u64::MAX, 1, 1), 0), Err(TreeError::TooManyFiles { .. })));
        let percent = TreeTarget { preallocated_percent: 101, ..target(1, 1, 1) };
        assert!(matches!(TreeShape::new(&percent, 0), Err(TreeError::Percent { .. })));
    }
}
