//! Attributes of several paths before and after a call: an operation that fails must leave everything unchanged.

use crate::ctx::{Ctx, Run, time};
use crate::sys::Stat;

/// Reads all attributes of these paths except access times.
pub(crate) fn snapshot(cx: &mut Ctx<'_>, paths: &[&str]) -> Vec<Result<Stat, i32>> {
    let paths = paths.iter().filter(|path| !path.is_empty());
    paths.map(|path| cx.lstat(path).map(|stat| Stat { atime: (0, 0), ..stat })).collect()
}

/// Checks that nothing has changed.
///
/// # Errors
/// Returns an error if files change here by themselves, which another case reports.
pub(crate) fn unchanged(cx: &mut Ctx<'_>, paths: &[&str], before: &[Result<Stat, i32>]) -> Run {
    let after = snapshot(cx, paths);
    let paths = paths.iter().filter(|path| !path.is_empty());
    let mut pairs = before.iter().zip(&after).zip(paths);
    let changed = pairs.find_map(|((before, after), path)| Some((difference(before, after)?, path)));
    if let Some((what, path)) = &changed {
        let stays = drift(cx).is_none();
        cx.premise(stays, "stat.stable", &format!("`{path}` changes by itself: {what}"))?;
    }
    let got = changed.map_or_else(String::new, |(what, path)| format!("`{path}`: {what}"));
    cx.that(got.is_empty(), "state after the failed call", "nothing changed", &got);
    Ok(())
}

/// Describes the difference between two readings of a file; `None` if there is none.
fn difference(before: &Result<Stat, i32>, after: &Result<Stat, i32>) -> Option<String> {
    let (one, other) = match (before, after) {
        (Ok(one), Ok(other)) => (one, other),
        (one, other) if one == other => return None,
        (Ok(_), Err(_)) => return Some("is gone".to_owned()),
        _ => return Some("is there".to_owned()),
    };
    let fields = [
        ("inode", one.ino.to_string(), other.ino.to_string()),
        ("mode", format!("{:o}", one.mode), format!("{:o}", other.mode)),
        ("owner", one.uid.to_string(), other.uid.to_string()),
        ("group", one.gid.to_string(), other.gid.to_string()),
        ("size", one.size.to_string(), other.size.to_string()),
        ("count of links", one.nlink.to_string(), other.nlink.to_string()),
        ("time of modification", time(one.mtime), time(other.mtime)),
        ("time of change", time(one.ctime), time(other.ctime)),
    ];
    let (name, one, other) = fields.into_iter().find(|(_, one, other)| one != other)?;
    Some(format!("{name} was {one} and is {other}"))
}

/// Describes changes of untouched directories; `None` if there are none.
pub(crate) fn drift(cx: &mut Ctx<'_>) -> Option<String> {
    (0..4).find_map(|_| {
        let name = cx.fresh();
        let _ = cx.mkdir(&name, 0o755);
        let before = cx.lstat(&name);
        cx.nap();
        let _ = cx.lstat(&format!("{name}/no"));
        let _ = cx.mkdir(&name, 0o755);
        let after = cx.lstat(&name);
        difference(&before, &after)
    })
}
