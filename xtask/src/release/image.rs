//! The image: a layout of the OCI image specification in a tar archive, with a program for each architecture.
//!
//! ```text
//! index.json ─► index ─► manifest of amd64 ─► configuration, layer of files, layer of the program
//!                      └ manifest of arm64 ─► configuration, layer of files, layer of the program
//! ```
//!
//! The layer of files is the same for both.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

use super::pack::{Tar, gzip, sha256};
use super::{Architecture, Release, files, licenses};
use crate::paths;
use crate::steps::Outcome;

/// The user and group: the ones that images of the field call "nonroot".
const USER: &str = "65532:65532";
/// Where rustls looks for the roots of Debian. They count if a kubeconfig names no CA.
const ROOTS: &str = "etc/ssl/certs/ca-certificates.crt";
const PROGRAM: &str = "usr/bin/roster";

const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";
const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Writes the image.
pub(super) fn write(release: &Release) -> Result<Outcome> {
    let programs = release.read_programs()?;
    let license = fs::read(paths::root().join("LICENSE")).context("reading LICENSE")?;
    let documents = [("LICENSE", license), (licenses::FILE, release.read(licenses::FILE)?)];
    let image = layout(release, &about(release)?, &programs, &documents)?;
    let file = release.image();
    println!(
        "    {file}: {} bytes, {}",
        image.len(),
        release.programs.keys().map(|a| a.short()).collect::<Vec<_>>().join(", ")
    );
    release.write(&file, image)?;
    Ok(Outcome::Passed)
}

/// The layout of an image with these programs and documents.
fn layout(
    release: &Release,
    about: &Value,
    programs: &BTreeMap<Architecture, Vec<u8>>,
    documents: &[(&str, Vec<u8>)],
) -> Result<Vec<u8>> {
    let mut blobs = Blobs::default();
    let files = blobs.layer(&files(release.epoch, documents)?)?;
    let mut manifests = Vec::new();
    for (&architecture, program) in programs {
        let layers = [files.clone(), blobs.layer(&program_layer(release.epoch, program)?)?];
        let config = blobs.json(CONFIG_TYPE, &configuration(about, architecture, &layers))?;
        let layers = layers.map(|layer| layer.descriptor);
        let manifest = blobs.json(
            MANIFEST_TYPE,
            &json!({
                "schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": config, "layers": layers, "annotations": about,
            }),
        )?;
        manifests.push(with(manifest, "platform", platform(architecture)));
    }
    let index = blobs.json(
        INDEX_TYPE,
        &json!({ "schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": manifests, "annotations": about }),
    )?;
    let name = json!({ "org.opencontainers.image.ref.name": release.version });
    let index = json!({
        "schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [with(index, "annotations", name)],
    });
    let mut tar = Tar::new(release.epoch);
    tar.file("oci-layout", 0o644, br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    tar.file("index.json", 0o644, &serde_json::to_vec(&index)?)?;
    for folder in ["blobs", "blobs/sha256"] {
        tar.folder(folder)?;
    }
    for (digest, bytes) in &blobs.0 {
        tar.file(&format!("blobs/sha256/{digest}"), 0o644, bytes)?;
    }
    tar.finish()
}

/// The annotations of manifests and index, and the labels of the containers.
fn about(release: &Release) -> Result<Value> {
    let package = files::package()?;
    let readme = format!("{}/raw/v{}/README.md", files::repository()?, release.version);
    Ok(json!({
        // Artifact Hub shows this page.
        "io.artifacthub.package.readme-url": readme,
        "org.opencontainers.image.created": release.time()?,
        "org.opencontainers.image.description": package["description"],
        "org.opencontainers.image.documentation": package["documentation"],
        "org.opencontainers.image.licenses": package["license"],
        "org.opencontainers.image.revision": release.commit,
        "org.opencontainers.image.source": package["repository"],
        "org.opencontainers.image.title": "roster",
        "org.opencontainers.image.url": package["homepage"],
        "org.opencontainers.image.version": release.version,
    }))
}

fn configuration(about: &Value, architecture: Architecture, layers: &[Layer]) -> Value {
    let created = &about["org.opencontainers.image.created"];
    let history = ["CA certificates, licences", "roster"].map(|what| json!({ "created": created, "created_by": what }));
    let configuration = json!({
        "created": created,
        "config": {
            "User": USER,
            "Env": ["PATH=/usr/bin"],
            "Entrypoint": [format!("/{PROGRAM}")],
            "WorkingDir": "/",
            "Labels": about,
        },
        "rootfs": { "type": "layers", "diff_ids": layers.iter().map(|l| &l.diff_id).collect::<Vec<_>>() },
        "history": history,
    });
    let platform = platform(architecture);
    platform.as_object().into_iter().flatten().fold(configuration, |all, (key, value)| with(all, key, value.clone()))
}

fn platform(architecture: Architecture) -> Value {
    let platform = json!({ "architecture": architecture.short(), "os": "linux" });
    match architecture {
        Architecture::Aarch64 => with(platform, "variant", json!("v8")),
        Architecture::X86_64 => platform,
    }
}

/// The object with one more field.
fn with(mut object: Value, key: &str, value: Value) -> Value {
    object[key] = value;
    object
}

/// What both architectures have.
fn files(epoch: u64, documents: &[(&str, Vec<u8>)]) -> Result<Vec<u8>> {
    let mut tar = Tar::new(epoch);
    for folder in ["etc", "etc/ssl", "etc/ssl/certs"] {
        tar.folder(folder)?;
    }
    tar.file(ROOTS, 0o644, roots().as_bytes())?;
    for folder in ["usr", "usr/share", "usr/share/doc", "usr/share/doc/roster"] {
        tar.folder(folder)?;
    }
    for (name, text) in documents {
        tar.file(&format!("usr/share/doc/roster/{name}"), 0o644, text)?;
    }
    tar.finish()
}

fn program_layer(epoch: u64, program: &[u8]) -> Result<Vec<u8>> {
    let mut tar = Tar::new(epoch);
    for folder in ["usr", "usr/bin"] {
        tar.folder(folder)?;
    }
    tar.file(PROGRAM, 0o755, program)?;
    tar.finish()
}

/// Mozilla's roots for servers, in PEM.
fn roots() -> String {
    let mut text = String::new();
    for certificate in TLS_SERVER_ROOT_CERTS {
        text.push_str(concat!("-----", "BEGIN ", "CERTIFICATE-----\n"));
        let mut left = STANDARD.encode(certificate);
        while !left.is_empty() {
            let rest = left.split_off(left.len().min(64));
            text.extend([&left, "\n"]);
            left = rest;
        }
        text.push_str("-----END CERTIFICATE-----\n");
    }
    text
}

/// The blobs of a layout by their digests.
#[derive(Default)]
struct Blobs(BTreeMap<String, Vec<u8>>);

/// A layer that is a blob.
#[derive(Clone)]
struct Layer {
    descriptor: Value,
    /// The digest before compression.
    diff_id: String,
}

impl Blobs {
    /// Adds a blob and returns its descriptor.
    fn add(&mut self, media_type: &str, bytes: Vec<u8>) -> Value {
        let digest = sha256(&bytes);
        let descriptor = json!({ "mediaType": media_type, "digest": format!("sha256:{digest}"), "size": bytes.len() });
        self.0.insert(digest, bytes);
        descriptor
    }

    fn json(&mut self, media_type: &str, document: &Value) -> Result<Value> {
        Ok(self.add(media_type, serde_json::to_vec(document)?))
    }

    fn layer(&mut self, tar: &[u8]) -> Result<Layer> {
        Ok(Layer { descriptor: self.add(LAYER_TYPE, gzip(tar)?), diff_id: format!("sha256:{}", sha256(tar)) })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn image(program: &[u8]) -> Vec<u8> {
        let release = crate::release::example();
        let programs = Architecture::ALL.map(|a| (a, [program, a.short().as_bytes()].concat()));
        let about = json!({ "org.opencontainers.image.created": release.time().unwrap() });
        layout(&release, &about, &programs.into(), &[("LICENSE", b"mine".to_vec())]).unwrap()
    }

    fn unpack(tar: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(tar).entries().unwrap() {
            let mut entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.mtime().unwrap(), header.uid().unwrap(), header.gid().unwrap()), (1_700_000_000, 0, 0));
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            files.insert(entry.path().unwrap().display().to_string(), bytes);
        }
        files
    }

    /// The blob of a descriptor, whose digest and size must be right.
    fn blob(files: &BTreeMap<String, Vec<u8>>, descriptor: &Value) -> Vec<u8> {
        let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let bytes = files[&format!("blobs/sha256/{digest}")].clone();
        assert_eq!(
            (sha256(&bytes).as_str(), bytes.len()),
            (digest, usize::try_from(descriptor["size"].as_u64().unwrap()).unwrap())
        );
        bytes
    }

    #[test]
    fn an_image_is_the_same_each_time_and_its_digests_lead_to_the_programs() {
        let tar = image(b"program of ");
        assert!(tar == image(b"program of "), "two runs differ");
        assert!(tar != image(b"other program of "), "the program is not in the image");
        let files = unpack(&tar);
        let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
        let index = read(&blob(&files, &read(&files["index.json"])["manifests"][0]));
        let mut seen = 4; // oci-layout, index.json, two folders
        for (manifest, architecture) in index["manifests"].as_array().unwrap().iter().zip(Architecture::ALL) {
            assert_eq!(manifest["platform"]["architecture"], architecture.short());
            let manifest = read(&blob(&files, manifest));
            let config = read(&blob(&files, &manifest["config"]));
            assert_eq!(
                (&config["config"]["User"], &config["architecture"]),
                (&json!(USER), &json!(architecture.short()))
            );
            let mut root = BTreeMap::new();
            for (layer, diff_id) in manifest["layers"].as_array().unwrap().iter().zip(0..) {
                let mut tar = Vec::new();
                flate2::read::GzDecoder::new(&blob(&files, layer)[..]).read_to_end(&mut tar).unwrap();
                assert_eq!(config["rootfs"]["diff_ids"][diff_id], format!("sha256:{}", sha256(&tar)));
                root.extend(unpack(&tar));
            }
            assert_eq!(root[PROGRAM], [b"program of ", architecture.short().as_bytes()].concat());
            assert_eq!(root["usr/share/doc/roster/LICENSE"], b"mine");
            seen += 3; // manifest, configuration, layer of the program
        }
        assert_eq!(files.len(), seen + 2, "the index, and the layer that both have");
    }

    #[test]
    fn roots_are_certificates_in_pem() {
        let text = roots();
        let mut certificates = 0;
        for part in text.split_inclusive("-----END CERTIFICATE-----\n") {
            let lines: Vec<_> = part.lines().collect();
            let [head, body @ .., _] = &lines[..] else { panic!("{part}") };
            assert!(
                head.starts_with("-----BEGIN ") && body.iter().all(|line| !line.is_empty() && line.len() <= 64),
                "{part}"
            );
            let der = STANDARD.decode(body.concat()).unwrap();
            assert_eq!(der, TLS_SERVER_ROOT_CERTS[certificates].as_ref());
            certificates += 1;
        }
        assert!(certificates > 100, "{certificates}");
    }
}
