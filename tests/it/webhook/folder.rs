//! A folder as a Secret volume lays it out: `tls.crt -> ..data/tls.crt`, `..data -> ..1`, swapped by one rename.

use std::{
    fs,
    os::unix::fs::symlink,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use roster::runtime::certificates::Material;

pub(crate) struct Folder {
    folder: tempfile::TempDir,
    version: AtomicU32,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), version: AtomicU32::new(0) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// As a kubelet does it: a new folder, and a rename of the symlink that all files go through.
    pub(crate) fn swap(&self, material: &Material) {
        let version = self.version.fetch_add(1, Ordering::Relaxed);
        let fresh = format!("..{version}");
        fs::create_dir(self.path(&fresh)).unwrap();
        self.write(&format!("{fresh}/tls.crt"), &material.certificate);
        self.write(&format!("{fresh}/tls.key"), &material.key);
        symlink(&fresh, self.path("..data_tmp")).unwrap();
        fs::rename(self.path("..data_tmp"), self.path("..data")).unwrap();
        if version == 0 {
            for name in ["tls.crt", "tls.key"] {
                symlink(format!("..data/{name}"), self.path(name)).unwrap();
            }
        } else {
            fs::remove_dir_all(self.path(&format!("..{}", version - 1))).unwrap();
        }
    }
}
