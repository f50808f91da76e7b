//! An OCI image of the static programs, from scratch, for all machines that were built.
//!
//! Source: OCI Image Format Specification 1.1: image layout, index, manifest, configuration.

use super::debug::Split;
use super::machine::Machine;
use super::stage;
use super::tarball::{Compression, archive};
use super::{Built, sums, version, work_directory};
use anyhow::Result;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Returns the name of the archive.
pub(super) fn name() -> String {
    format!("plumb-{}-oci.tar", version())
}

const DESCRIPTION: &str = "A storage benchmark that says what it measured. Static: without MPI, because a static program cannot \
                           open libmpi at run time.";

/// Writes the image as an archive of its layout, for `podman load`, `docker load` and `skopeo`.
pub(super) fn write(out: &Path, built: &[Built]) -> Result<()> {
    let layout = work_directory().join("stage-oci");
    let _ = std::fs::remove_dir_all(&layout);
    let blobs = Blobs { dir: layout.join("blobs/sha256") };
    std::fs::create_dir_all(&blobs.dir)?;
    let mut manifests = Vec::new();
    for Built { machine, fixed, .. } in built {
        let mut manifest = blobs.manifest(*machine, fixed)?;
        manifest["platform"] = json!({ "architecture": machine.debian(), "os": "linux" });
        manifests.push(manifest);
    }
    // Loaders take the name from the entry of `index.json`, which therefore points to one index of all machines.
    let mut index = blobs.add_json("application/vnd.oci.image.index.v1+json", &index_of(&manifests))?;
    index["annotations"] = json!({
        "org.opencontainers.image.ref.name": version(),
        "io.containerd.image.name": format!("docker.io/library/plumb:{}", version()),
    });
    std::fs::write(layout.join("index.json"), serde_json::to_vec(&index_of(&[index]))?)?;
    std::fs::write(layout.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#)?;
    archive(&layout, &["blobs", "index.json", "oci-layout"], &out.join(name()), Compression::None)
}

fn index_of(manifests: &[Value]) -> Value {
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": manifests,
    })
}

/// Files that are named by their content.
struct Blobs {
    dir: PathBuf,
}

impl Blobs {
    /// Adds a file and returns its descriptor.
    fn add(&self, media_type: &str, bytes: &[u8]) -> Result<Value> {
        let digest = sums::hash_hex(bytes);
        std::fs::write(self.dir.join(&digest), bytes)?;
        Ok(json!({ "mediaType": media_type, "digest": format!("sha256:{digest}"), "size": bytes.len() }))
    }

    fn add_json(&self, media_type: &str, value: &Value) -> Result<Value> {
        self.add(media_type, &serde_json::to_vec(value)?)
    }

    /// Adds the image of one machine: one layer with the programs, licences and an empty /tmp.
    fn manifest(&self, machine: Machine, fixed: &[Split]) -> Result<Value> {
        let root = stage::image_root(machine, fixed)?;
        let plain = root.with_extension("layer");
        archive(&root, &["usr", "tmp"], &plain, Compression::None)?;
        let diff_id = sums::hash_hex(&std::fs::read(&plain)?);
        let packed = root.with_extension("layer.gz");
        archive(&root, &["usr", "tmp"], &packed, Compression::Gzip)?;
        let layer = self.add("application/vnd.oci.image.layer.v1.tar+gzip", &std::fs::read(&packed)?)?;
        let labels = json!({
            "org.opencontainers.image.title": "plumb",
            "org.opencontainers.image.version": version(),
            "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            "org.opencontainers.image.description": DESCRIPTION,
        });
        let config = json!({
            "architecture": machine.debian(),
            "os": "linux",
            "config": {
                "Entrypoint": ["/usr/bin/plumb"],
                "Cmd": ["--help"],
                "Env": ["PATH=/usr/bin", "HOME=/tmp"],
                "WorkingDir": "/tmp",
                "Labels": labels,
            },
            "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{diff_id}")] },
            "history": [{ "created_by": "cargo xtask dist" }],
        });
        let config = self.add_json("application/vnd.oci.image.config.v1+json", &config)?;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": config,
            "layers": [layer],
            "annotations": labels,
        });
        self.add_json("application/vnd.oci.image.manifest.v1+json", &manifest)
    }
}
