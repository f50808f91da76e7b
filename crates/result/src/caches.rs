//! Preparation of caches before a phase.

use serde::{Deserialize, Serialize};

/// Steps that Plumb took to bring caches into the state that a phase requires.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CachePreparation {
    /// Whether the targets' pages were dropped from the page cache.
    #[serde(default)]
    pub dropped_files: bool,
    /// Devices, such as `loop4`, whose local image files were dropped from the page cache.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped_images: Vec<String>,
    /// Whether the page cache of the whole machine was dropped, because pages of the target remained in it.
    #[serde(default)]
    pub dropped_all: bool,
    /// Whether the targets were read into the page cache.
    #[serde(default)]
    pub filled: bool,
}

impl CachePreparation {
    /// Adds the preparation of another target or rank.
    pub fn add(&mut self, other: CachePreparation) {
        self.dropped_files |= other.dropped_files;
        self.dropped_all |= other.dropped_all;
        self.filled |= other.filled;
        for image in other.dropped_images {
            if !self.dropped_images.contains(&image) {
                self.dropped_images.push(image);
            }
        }
    }

    /// Returns `true` if no cache was changed.
    pub fn is_nothing(&self) -> bool {
        *self == CachePreparation::default()
    }

    /// Describes the steps that other tools do not take: `dropped the image below loop4 from memory`.
    pub fn unusual(&self) -> Option<String> {
        let images = match self.dropped_images.as_slice() {
            [] => None,
            [image] => Some(format!("the image below {image}")),
            images => Some(format!("the images below {}", images.join(", "))),
        };
        let all = self.dropped_all.then(|| "the page cache of the whole machine".to_owned());
        let dropped: Vec<String> = images.into_iter().chain(all).collect();
        if dropped.is_empty() { None } else { Some(format!("dropped {} from memory", dropped.join(" and "))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a step that two targets need is printed once, and steps that every tool takes are not printed.
    #[test]
    fn preparations_of_targets_are_added() {
        let image = |name: &str| CachePreparation { dropped_images: vec![name.to_owned()], ..Default::default() };
        let mut all = CachePreparation { dropped_files: true, ..Default::default() };
        assert_eq!(all.unusual(), None);
        all.add(image("loop4"));
        all.add(image("loop4"));
        assert_eq!(all.unusual().unwrap(), "dropped the image below loop4 from memory");
        all.add(CachePreparation { dropped_all: true, ..image("loop5") });
        let steps = all.unusual().unwrap();
        assert_eq!(steps, "dropped the images below loop4, loop5 and the page cache of the whole machine from memory");
        assert!(all.dropped_files && CachePreparation::default().is_nothing());
    }
}
