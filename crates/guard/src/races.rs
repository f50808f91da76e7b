//! Exchanges a directory with a symbolic link while files in it are opened and removed: 2,000 rounds for each door.

use crate::testing::{Swapping, Victim, guard};
use crate::{Create, Naming, OutputOpening, Permissions, Pinning, Remover, Roots, WrittenContent};
use rustix::fs::OFlags;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

const ROUNDS: usize = 2000;

/// Runs the rounds while the directory `d` is being exchanged, then checks that the victim's files are unharmed.
fn survives(way: &str, mut round: impl FnMut(&Path)) {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("d");
    fs::create_dir(&directory).unwrap();
    let victim = Victim::new(place.path(), &["f"]);
    let swapping = Swapping::begin(&directory, &place.path().join("e"), &victim);
    for _ in 0..ROUNDS {
        round(&directory.join("f"));
    }
    let swaps = swapping.end();
    victim.is_unharmed(way);
    assert!(swaps > 100, "{way}: only {swaps} exchanges");
}

#[test]
fn doors_open_and_remove_nothing_elsewhere() {
    let unnamed = guard(Permissions::none());
    for naming in [Naming::Typed, Naming::Generated] {
        survives(&format!("{naming:?}"), |path| {
            // Generated names are below the typed directory. A path that the user typed may lead through links, so
            // its own directory is the root.
            let typed = match naming {
                Naming::Typed => path.parent().unwrap(),
                Naming::Generated => path.parent().unwrap().parent().unwrap(),
            };
            let roots = Arc::new(Roots::new(&[typed.to_owned()], [], Pinning::Pinned));
            let mut first = unnamed.door(naming).with_roots(Arc::clone(&roots));
            let _ = first.open(path, Create::Never);
            let mut second = unnamed.door(naming).with_roots(roots);
            if let Ok(mut passed) = second.open(path, Create::IfMissing) {
                let _ = passed.file.write_all(b"x");
            }
            let _ = second.admit_removal(path);
            let _ = second.remove(path);
        });
    }
}

#[test]
fn outputs_of_copies_go_nowhere_else() {
    let unnamed = guard(Permissions::none());
    let opening = OutputOpening {
        creates: true,
        is_new: false,
        cut_to_bytes: Some(0),
        empty_input: None,
        content: WrittenContent::Users,
        copy_of: None,
        stream_flags: OFlags::empty(),
    };
    survives("dd", |path| {
        if let Ok(mut output) = unnamed.open_output(path, opening) {
            let _ = output.write_all(b"x");
        }
    });
}

#[test]
fn nothing_is_cleaned_up_elsewhere() {
    survives("clean-up", |path| {
        let remover = Remover::new(&[], [path.to_owned()]);
        let _ = remover.remove_file(path);
        let _ = remover.remove_tree(path.parent().unwrap());
    });
}
