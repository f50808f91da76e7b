//! Brings the page cache of a phase's targets into the state that the phase asks for.

use super::{OpenFiles, OpenTarget, OpenTargets, OpenTree, TargetContext};
use crate::engine_error::EngineError;
use crate::guard::{IoMode, Refusal};
use crate::observer::Observer;
use crate::prepare::cache::refuse_in_memory;
use crate::prepare::{TargetFiles, evict, warm};
use crate::setting::Setting;
use crate::tree::{self, PathBuffer};
use plumb_probe::stack;
use plumb_result::caches::CachePreparation;
use plumb_workload::{CachePolicy, Phase};
use std::path::{Path, PathBuf};

/// Number of a tree's files that are open at once during eviction.
const TREE_BATCH: u64 = 256;

/// Changes made to caches, and those that failed, with their reasons.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    pub(crate) done: CachePreparation,
    pub(crate) fallbacks: Vec<String>,
}

impl OpenTargets {
    /// Refuses a phase with a cold cache policy on targets that live in memory.
    pub(crate) fn refuse_never_cold(&self, phase: &Phase) -> Result<(), EngineError> {
        if phase.cache != CachePolicy::Cold {
            return Ok(());
        }
        let not_cold = |source| EngineError::NotCold { phase: phase.name.clone(), source };
        for (name, target) in &self.targets {
            if let OpenTarget::Files(open) = target
                && phase.workers.iter().any(|group| group.target == *name)
            {
                refuse_in_memory(&open.files).map_err(not_cold)?;
            }
        }
        Ok(())
    }

    /// Brings the phase's targets into the requested cache state. Returns the changes made, and
    /// those that failed, with the reason.
    pub(crate) fn apply_cache_policy(
        &mut self,
        phase: &Phase,
        surroundings: &TargetContext<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Prepared, EngineError> {
        let mut prepared = Prepared::default();
        for (name, target) in &mut self.targets {
            if !phase.workers.iter().any(|group| group.target == *name) {
                continue;
            }
            match target {
                OpenTarget::Files(open) => apply_to_files(open, phase, surroundings, observer, &mut prepared)?,
                OpenTarget::Tree(tree) => {
                    let Some(state) = &tree.files.state else { continue };
                    let existing = |file: &u64| state.entry(tree::FileId(*file)).is_some();
                    let paths = (0..tree.files.shape.files()).filter(existing).map(|file| path_of(tree, file));
                    apply_to_tree(&mut { paths }, tree.root.path(), phase, surroundings, observer, &mut prepared)?;
                }
                OpenTarget::Recorded(files) => {
                    let mut paths = files.initial_files();
                    apply_to_tree(&mut paths, files.path(), phase, surroundings, observer, &mut prepared)?;
                }
                OpenTarget::Job(_)
                | OpenTarget::Shared(_)
                | OpenTarget::Copy { .. }
                | OpenTarget::Scratch(_)
                | OpenTarget::Null { .. }
                | OpenTarget::Sim(_) => {}
            }
        }
        Ok(prepared)
    }
}

fn apply_to_files(
    open: &mut OpenFiles,
    phase: &Phase,
    surroundings: &TargetContext<'_>,
    observer: &mut dyn Observer,
    prepared: &mut Prepared,
) -> Result<(), EngineError> {
    let setting = surroundings.setting;
    open.mode = if phase.cache == CachePolicy::Direct { IoMode::Direct } else { IoMode::Buffered };
    let mut policy = phase.cache;
    match open.files.set_mode(open.mode) {
        Ok(()) => {}
        Err(refusal @ Refusal::NoDirect { .. }) => {
            prepared.fallbacks.push(format!("direct: {refusal}; a cold page cache used instead"));
            policy = CachePolicy::Cold;
            open.mode = IoMode::Buffered;
        }
        Err(refusal) => return Err(refusal.into()),
    }
    let not_cold = |source| EngineError::NotCold { phase: phase.name.clone(), source };
    let first = open.files.iter().next().map(|file| file.path().to_owned());
    match policy {
        CachePolicy::AsIs => {}
        CachePolicy::Direct => {
            // Dirty pages would be written back during the phase.
            open.files.iter().try_for_each(|file| file.file().sync_data()).map_err(|source| {
                EngineError::plan(format!("phase `{}`: flushing before direct I/O: {source}", phase.name))
            })?;
            first.iter().for_each(|path| evict_images_under(path, setting, observer, &mut prepared.done));
        }
        CachePolicy::Cold => {
            observer.preparing(&format!("{}: dropping the page cache", phase.name));
            let proof = evict(&open.files, setting.drop_caches, setting.stop).map_err(not_cold)?;
            prepared.done.dropped_files = true;
            prepared.done.dropped_all |= proof.dropped_caches;
            first.iter().for_each(|path| evict_images_under(path, setting, observer, &mut prepared.done));
        }
        CachePolicy::Warm => {
            observer.preparing(&format!("{}: filling the page cache", phase.name));
            let warmth = warm(&open.files, setting.stop)
                .map_err(|source| EngineError::NotWarm { phase: phase.name.clone(), source: Box::new(source) })?;
            prepared.done.filled = true;
            if warmth.left_out_bytes > 0 {
                prepared.fallbacks.push(format!(
                    "warm: {} of {} bytes are not in the page cache, because memory is too small",
                    warmth.left_out_bytes,
                    open.files.total_bytes()
                ));
            }
        }
    }
    Ok(())
}

/// Evicts the images below a path on loop devices. A file on a loop device is cached twice, and both
/// copies must be cold. Failures (an image in memory, or in use by another program) are ignored: the
/// checks inspect the device's own statistics.
fn evict_images_under(path: &Path, setting: &Setting<'_>, observer: &mut dyn Observer, done: &mut CachePreparation) {
    let images = stack::of_path(path).stack.into_iter().filter_map(|layer| Some((layer.name, layer.backing_file?)));
    let (names, images): (Vec<String>, Vec<PathBuf>) = images.map(|(name, file)| (name, PathBuf::from(file))).unzip();
    if images.is_empty() {
        return;
    }
    observer.preparing("dropping the page cache of the image below");
    let Ok(images) = TargetFiles::open_read_only(images.iter().map(PathBuf::as_path)) else { return };
    if let Ok(proof) = evict(&images, setting.drop_caches, setting.stop) {
        let dropped_all = proof.dropped_caches;
        done.add(CachePreparation { dropped_images: names, dropped_all, ..CachePreparation::default() });
    }
}

fn apply_to_tree(
    paths: &mut dyn Iterator<Item = PathBuf>,
    root: &Path,
    phase: &Phase,
    surroundings: &TargetContext<'_>,
    observer: &mut dyn Observer,
    prepared: &mut Prepared,
) -> Result<(), EngineError> {
    let setting = surroundings.setting;
    match phase.cache {
        CachePolicy::AsIs => return Ok(()),
        CachePolicy::Direct => {
            prepared
                .fallbacks
                .push("direct: flows go through the page cache; a cold page cache used instead".to_owned());
        }
        CachePolicy::Cold | CachePolicy::Warm => {}
    }
    observer.preparing(&format!("{}: preparing the page cache of the file set", phase.name));
    loop {
        let paths: Vec<PathBuf> = paths.take(TREE_BATCH as usize).collect();
        if paths.is_empty() {
            break;
        }
        let batch = TargetFiles::open_read_only(paths.iter().map(PathBuf::as_path))?;
        if phase.cache == CachePolicy::Warm {
            warm(&batch, setting.stop)
                .map_err(|source| EngineError::NotWarm { phase: phase.name.clone(), source: Box::new(source) })?;
            prepared.done.filled = true;
        } else {
            let proof = evict(&batch, setting.drop_caches, setting.stop)
                .map_err(|source| EngineError::NotCold { phase: phase.name.clone(), source })?;
            prepared.done.dropped_files = true;
            prepared.done.dropped_all |= proof.dropped_caches;
        }
    }
    if phase.cache != CachePolicy::Warm {
        evict_images_under(root, setting, observer, &mut prepared.done);
        prepared.fallbacks.push("file data was evicted first; metadata may be cached".to_owned());
    }
    Ok(())
}

fn path_of(tree: &OpenTree, file: u64) -> PathBuf {
    let mut buffer = PathBuffer::new();
    tree.files.shape.write_path(tree::FileId(file), &mut buffer);
    tree.root.path().join(buffer.as_path())
}
