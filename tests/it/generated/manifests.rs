//! `manifests/`: what `roster::deploy` says, as YAML.

use roster::deploy::{self, ManifestFile};

/// The files below `manifests/`.
pub(super) fn files() -> Vec<(String, String)> {
    deploy::files().into_iter().map(|file| (format!("manifests/{}", file.path), text(&file))).collect()
}

fn text(file: &ManifestFile) -> String {
    let documents: Vec<String> =
        file.documents.iter().map(|d| serde_saphyr::to_string(d).unwrap().trim_end().to_owned() + "\n").collect();
    "# Made by `cargo xtask manifests`.\n".to_owned() + &documents.join("---\n")
}
