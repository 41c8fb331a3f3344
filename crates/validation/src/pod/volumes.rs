//! The volumes of a pod.

use std::collections::{BTreeMap, BTreeSet};

use roster_engine::model::dns;

use super::{
    paths::{check_backsteps, check_descending},
    projected,
    volume_files::{MODE, check_downward, check_items},
};
use crate::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, FieldRules, Presence, check_fields},
    labels, volume_claim,
};

/// The volumes of a pod: names and sources.
pub(super) type Volumes<'v> = BTreeMap<&'v str, &'v str>;

/// The source of a volume without one.
const EMPTY: &str = "emptyDir";
const CLAIM: &str = "persistentVolumeClaim";

const PARTITION: FieldRule = FieldRule::Range(0, 255);
const MOST_DRIVER_CHARACTERS: usize = 63;

/// The sources in the order in which an API server reads them, each with the fields that must have a value: it refuses
/// the sources after the first.
const SOURCES: &[(&str, &FieldRules)] = &[
    (EMPTY, &[]),
    ("hostPath", &[("path", Presence::Required, FieldRule::Text), ("type", Presence::Optional, HOST_PATH_TYPE)]),
    ("gitRepo", &[("repository", Presence::Required, FieldRule::Text)]),
    (
        "gcePersistentDisk",
        &[("pdName", Presence::Required, FieldRule::Text), ("partition", Presence::Optional, PARTITION)],
    ),
    (
        "awsElasticBlockStore",
        &[("volumeID", Presence::Required, FieldRule::Text), ("partition", Presence::Optional, PARTITION)],
    ),
    ("secret", &[("secretName", Presence::Required, FieldRule::Text), ("defaultMode", Presence::Optional, MODE)]),
    ("nfs", &[("server", Presence::Required, FieldRule::Text), ("path", Presence::Required, FieldRule::Text)]),
    (
        "iscsi",
        &[
            ("targetPortal", Presence::Required, FieldRule::Text),
            ("iqn", Presence::Required, FieldRule::Text),
            ("lun", Presence::Optional, PARTITION),
        ],
    ),
    ("glusterfs", &[("endpoints", Presence::Required, FieldRule::Text), ("path", Presence::Required, FieldRule::Text)]),
    ("flocker", &[]),
    (CLAIM, &[("claimName", Presence::Required, FieldRule::Text)]),
    ("rbd", &[("image", Presence::Required, FieldRule::Text)]),
    ("cinder", &[("volumeID", Presence::Required, FieldRule::Text)]),
    ("cephfs", &[]),
    ("quobyte", &[("registry", Presence::Required, FieldRule::Text), ("volume", Presence::Required, FieldRule::Text)]),
    ("downwardAPI", &[("defaultMode", Presence::Optional, MODE)]),
    ("fc", &[]),
    ("flexVolume", &[("driver", Presence::Required, FieldRule::Text)]),
    ("configMap", &[("name", Presence::Required, FieldRule::Text), ("defaultMode", Presence::Optional, MODE)]),
    (
        "azureFile",
        &[("secretName", Presence::Required, FieldRule::Text), ("shareName", Presence::Required, FieldRule::Text)],
    ),
    ("vsphereVolume", &[("volumePath", Presence::Required, FieldRule::Text)]),
    ("photonPersistentDisk", &[("pdID", Presence::Required, FieldRule::Text)]),
    ("portworxVolume", &[("volumeID", Presence::Required, FieldRule::Text)]),
    (
        "azureDisk",
        &[("diskName", Presence::Required, FieldRule::Text), ("diskURI", Presence::Required, FieldRule::Text)],
    ),
    ("storageos", &[]),
    ("projected", &[("defaultMode", Presence::Optional, MODE)]),
    ("scaleIO", &[("gateway", Presence::Required, FieldRule::Text), ("system", Presence::Required, FieldRule::Text)]),
    ("csi", &[("driver", Presence::Required, FieldRule::Text)]),
    ("ephemeral", &[]),
    ("image", &[("pullPolicy", Presence::Optional, FieldRule::OneOf(&["Always", "IfNotPresent", "Never"]))]),
];

const HOST_PATH_TYPE: FieldRule = FieldRule::OneOf(&[
    "DirectoryOrCreate",
    "Directory",
    "FileOrCreate",
    "File",
    "Socket",
    "CharDevice",
    "BlockDevice",
]);

/// Checks the volumes of a pod; their sources. Those with the names of `claims` are replaced by the controller.
pub(super) fn check<'v>(volumes: &Field<'v, '_>, claims: &BTreeSet<&'v str>, faults: &mut Faults<'_>) -> Volumes<'v> {
    let mut all: Volumes<'v> = claims.iter().map(|name| (*name, CLAIM)).collect();
    for volume in volumes.items().filter(|volume| !claims.contains(volume.key("name").text())) {
        let name = volume.key("name");
        FieldRule::Label.check(&name, Presence::Required, faults);
        let source = check_source(&volume, faults);
        if all.insert(name.text(), source).is_some() {
            name.refuse(format!("the volume name {} is repeated", quoted(name.text())), faults);
        }
    }
    all
}

/// Checks the source of a volume; its name.
fn check_source(volume: &Field<'_, '_>, faults: &mut Faults<'_>) -> &'static str {
    let mut given = SOURCES.iter().filter(|(name, _)| volume.key(name).is_set());
    let Some((name, rules)) = given.next() else { return EMPTY };
    for (more, _) in given {
        volume.key(more).refuse(format!("a volume has one source only, and this one has {name}"), faults);
    }
    let source = volume.key(name);
    check_fields(&source, rules, faults);
    match *name {
        EMPTY => check_not_negative(&source.key("sizeLimit"), faults),
        "hostPath" => check_backsteps(&source.key("path"), faults),
        "gitRepo" => check_descending(&source.key("directory"), faults),
        "nfs" => check_absolute(&source.key("path"), faults),
        "secret" | "configMap" => check_items(&source.key("items"), faults),
        "downwardAPI" => check_downward(&source.key("items"), faults),
        "projected" => projected::check(&source, faults),
        "csi" => check_driver(&source, faults),
        "ephemeral" => check_ephemeral(&source.key("volumeClaimTemplate"), faults),
        "image" => FieldRule::Text.check(&source.key("reference"), Presence::Required, faults),
        "rbd" | "cephfs" if source.key("monitors").is_empty() => {
            source.key("monitors").require("it needs a monitor", faults);
        }
        _ => {}
    }
    name
}

fn check_not_negative(quantity: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if quantity.quantity().is_some_and(|value| value < 0) {
        quantity.refuse(format!("{} is negative", quantity.plain()), faults);
    }
}

fn check_absolute(path: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if !path.text().is_empty() && !path.text().starts_with('/') {
        path.refuse("the path must be absolute", faults);
    }
}

fn check_driver(source: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let driver = source.key("driver");
    let name = driver.text().to_ascii_lowercase();
    if name.len() > MOST_DRIVER_CHARACTERS || !(name.is_empty() || dns::is_subdomain(name.as_bytes())) {
        driver.refuse(format!("{} is not the name of a CSI driver", quoted(driver.text())), faults);
    }
    let secret = source.key("nodePublishSecretRef");
    if secret.is_set() {
        FieldRule::Subdomain.check(&secret.key("name"), Presence::Required, faults);
    }
}

/// Checks the claim that is made with the pod, which has labels and annotations only.
fn check_ephemeral(template: &Field<'_, '_>, faults: &mut Faults<'_>) {
    if !template.is_set() {
        return template.require("an ephemeral volume needs it", faults);
    }
    let metadata = template.key("metadata");
    labels::check_labels(&metadata.key("labels"), faults);
    labels::check_annotations(&metadata.key("annotations"), faults);
    for (name, field) in metadata.entries() {
        let is_given = field.is_set() && !field.is_empty() && field.as_text() != Some("");
        if is_given && !matches!(name, "labels" | "annotations" | "creationTimestamp") {
            field.refuse("the claim of a pod has labels and annotations only", faults);
        }
    }
    volume_claim::check(&template.key("spec"), faults);
}
