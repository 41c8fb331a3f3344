//! Tests of the files of the state: what is known after an end at any moment, and after damage.
#![expect(clippy::disallowed_methods, reason = "the state of the node proxy is a file of the shell")]

use std::{fs, path::Path};

use roster_engine::{model::Resource, view::KeyOrder};
use serde_json::{Value, json};

use super::{
    journal::Journal,
    saved_state::SavedState,
    state_files::{LoadedState, StateFiles},
    state_record::StateRecord,
};
use crate::servers::edge::{
    access::{access_table::AccessQuestion, caller::CallerDigest},
    cache::{
        node_state::NodeState,
        node_state_tests::{OWN, node, read},
        raw_object::ObjectName,
        scheme::EdgeScheme,
    },
    upstream::upstream_event::{UpstreamEvent, UpstreamObject},
};

const NODE: &str = "edge-1";

fn files(dir: &Path) -> StateFiles {
    StateFiles::new(dir.join("edge.state"), NODE)
}

fn put(name: &str, text: &str) -> StateRecord {
    let object = json!({ "metadata": { "name": name, "namespace": "n" }, "text": text });
    StateRecord::Put(UpstreamObject::read(Resource::Service, &object.to_string(), NODE).unwrap())
}

fn delete(name: &str) -> StateRecord {
    StateRecord::Delete(Resource::Service, ObjectName::new("n", name))
}

const LISTED: StateRecord = StateRecord::Listed(Resource::Service);

/// What was known: `name=text` of each object; or why nothing is, or what follows is lost.
fn known(loaded: &mut LoadedState) -> (Option<Vec<String>>, bool) {
    let objects = loaded.state.take().map(|state| {
        let lists = state.into_lists().into_iter().flat_map(|list| match list {
            UpstreamEvent::Replace(_, objects) => objects,
            other => panic!("{other:?}"),
        });
        lists
            .map(|object| {
                let text: Value = serde_json::from_str(&object.text()).unwrap();
                format!("{}={}", object.name.name, text["text"].as_str().unwrap())
            })
            .collect()
    });
    (objects, loaded.damage.is_some())
}

fn load(dir: &Path) -> (Option<Vec<String>>, bool) {
    known(&mut files(dir).load())
}

fn begin(dir: &Path) -> Journal {
    let LoadedState { base, next, damage, .. } = files(dir).load();
    Journal::new(files(dir), base, next, damage.is_some())
}

#[expect(clippy::unnecessary_wraps, reason = "what is compared may be nothing")]
fn some(all: &[&str]) -> Option<Vec<String>> {
    Some(all.iter().map(ToString::to_string).collect())
}

#[test]
fn a15_l8_what_was_appended_is_known_after_an_end_at_any_moment() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    assert_eq!(load(dir), (None, false));
    let mut journal = begin(dir);
    journal.append(&[put("a", "1"), put("b", "1"), LISTED]);
    assert_eq!(load(dir), (some(&["a=1", "b=1"]), false));
    journal.append(&[put("a", "2"), delete("b")]);
    assert_eq!(load(dir), (some(&["a=2"]), false));
    // The next start.
    let mut journal = begin(dir);
    journal.append(&[put("c", "1")]);
    assert_eq!(load(dir), (some(&["a=2", "c=1"]), false));
    // A snapshot begins: until it is written, what changes follows the journals before.
    let generation = journal.rotate();
    journal.append(&[put("d", "1")]);
    assert_eq!(load(dir), (some(&["a=2", "c=1", "d=1"]), false));
    let size = files(dir).write_snapshot(generation, [put("a", "2"), put("c", "1"), LISTED]).unwrap();
    journal.end_snapshot(Some(size));
    assert_eq!(load(dir), (some(&["a=2", "c=1", "d=1"]), false));
    journal.append(&[delete("a")]);
    assert_eq!(load(dir), (some(&["c=1", "d=1"]), false));
    let left: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "the snapshot and one journal: {left:?}");
}

#[test]
fn a_journal_that_is_cut_has_what_came_before() {
    let dir = tempfile::tempdir().unwrap();
    begin(dir.path()).append(&[LISTED, put("a", "1"), put("a", "2")]);
    let path = files(dir.path()).journal(0);
    let whole = fs::read_to_string(&path).unwrap();
    let ends: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at + 1).collect();
    for end in 0..whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        let want = match end {
            _ if end < ends[2] => some(&[]),
            _ if end < ends[3] => some(&["a=1"]),
            _ => some(&["a=2"]),
        };
        assert_eq!(load(dir.path()), (want, false), "{end}");
        // The cut line was removed: another journal can follow.
        begin(dir.path()).append(&[put("b", "1")]);
        assert_eq!(files(dir.path()).load().damage, None, "{end}");
        fs::remove_file(files(dir.path()).journal(1)).unwrap();
    }
}

#[test]
fn what_follows_damage_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut journal = begin(dir);
    journal.append(&[LISTED, put("a", "1")]);
    let generation = journal.rotate();
    journal.append(&[put("b", "1")]);
    let snapshot = || files(dir).write_snapshot(generation, [LISTED, put("a", "1")]).map(|_| ());
    let (zero, one) = (files(dir).journal(0), files(dir).journal(generation));
    let change = |path: &Path, from: &str, to: &str| {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains(from), "{from}");
        fs::write(path, text.replace(from, to)).unwrap();
    };
    // A change in the middle of a journal: the next one does not fit.
    change(&zero, "\"a\"", "\"x\"");
    assert_eq!(load(dir), (some(&[]), true));
    change(&zero, "\"x\"", "\"a\"");
    fs::rename(&zero, dir.join("away")).unwrap();
    assert_eq!(load(dir), (None, true), "the first journal is missing");
    snapshot().unwrap();
    assert_eq!(load(dir), (some(&["a=1", "b=1"]), false));
    let path = dir.join("edge.state.objects");
    let whole = fs::read(&path).unwrap();
    for end in 0..whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        assert_eq!(load(dir), (None, true), "a snapshot that is cut at {end}");
    }
    fs::write(&path, &whole).unwrap();
    let of_other = StateFiles::new(dir.join("edge.state"), "edge-2").load();
    assert!(of_other.state.is_none() && of_other.damage.unwrap().ends_with("it is of another node"));
    fs::write(&one, [0xff, b'\n']).unwrap();
    assert_eq!(load(dir), (some(&["a=1"]), true), "a journal that is not a text");
}

#[test]
fn a_change_that_cannot_be_written_leaves_a_gap_until_the_next_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut journal = begin(dir);
    journal.append(&[LISTED, put("a", "1")]);
    assert!(!journal.is_snapshot_due());
    // A folder in place of the next journal: it cannot be written.
    let blocked = files(dir).journal(1);
    fs::create_dir(&blocked).unwrap();
    assert_eq!(journal.rotate(), 1);
    journal.append(&[put("b", "1")]);
    assert!(journal.is_snapshot_due());
    fs::remove_dir(&blocked).unwrap();
    journal.append(&[put("c", "1")]);
    assert_eq!(load(dir), (some(&["a=1"]), true), "what is missing is noticed");
    // The snapshot fails: what came after its begin does not fit either.
    journal.rotate();
    journal.append(&[put("d", "1")]);
    journal.end_snapshot(None);
    assert!(journal.is_snapshot_due());
    assert_eq!(load(dir), (some(&["a=1"]), true));
    let generation = journal.rotate();
    journal.append(&[put("e", "1")]);
    let all = [put("a", "1"), put("b", "1"), put("c", "1"), put("d", "1"), LISTED];
    journal.end_snapshot(files(dir).write_snapshot(generation, all).ok());
    assert!(!journal.is_snapshot_due());
    assert_eq!(load(dir), (some(&["a=1", "b=1", "c=1", "d=1", "e=1"]), false));
    let left: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "the snapshot and one journal: {left:?}");
}

/// The verbs of the permissions that count after a restart.
fn permitted(dir: &Path) -> Vec<&'static str> {
    let state = files(dir).load().state.unwrap_or_default();
    state.permissions.into_keys().map(|question| question.verb).collect()
}

#[test]
fn a_refusal_that_cannot_be_written_leaves_no_permission() {
    let question = |verb| AccessQuestion {
        caller: CallerDigest::from_hex(&"0f".repeat(32)).unwrap(),
        verb,
        resource: Resource::Service,
        object: ObjectName::default(),
    };
    let allowed = || [StateRecord::Access(question("get"), 1), StateRecord::Access(question("list"), 1)];
    let refused = || [StateRecord::AccessEnded(question("get"), 1)];
    for is_refused in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let mut journal = begin(dir);
        journal.append(&[LISTED]);
        journal.append(&allowed());
        assert_eq!(permitted(dir), ["get", "list"]);
        // A folder in place of the next journal: it cannot be written.
        fs::create_dir(files(dir).journal(1)).unwrap();
        journal.rotate();
        journal.append(&[put("a", "1")]);
        if is_refused {
            journal.append(&refused());
        }
        assert_eq!(permitted(dir), if is_refused { &[][..] } else { &["get", "list"] });
        // Its snapshot has what the journals lack.
        fs::remove_dir(files(dir).journal(1)).unwrap();
        let generation = journal.rotate();
        let size = files(dir).write_snapshot(generation, [LISTED, StateRecord::Access(question("list"), 1)]).unwrap();
        journal.end_snapshot(Some(size));
        assert_eq!(permitted(dir), ["list"]);
    }
    // Refusals may be missing in what is damaged.
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    begin(dir).append(&allowed());
    let path = files(dir).journal(0);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.clone() + "damaged\n").unwrap();
    assert_eq!(permitted(dir), [""; 0]);
    // A line that is cut was not acted upon.
    fs::write(&path, text + "cut").unwrap();
    assert_eq!(permitted(dir), ["get", "list"]);
}

#[test]
fn journals_without_changes_leave_no_gap() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut journal = begin(dir);
    journal.append(&[LISTED, put("a", "1")]);
    // Snapshots that fail, with nothing to lose.
    for _ in 0..3 {
        journal.rotate();
        journal.end_snapshot(None);
    }
    journal.append(&[put("b", "1")]);
    assert_eq!(load(dir), (some(&["a=1", "b=1"]), false));
}

#[test]
fn the_same_state_is_built_again_from_its_records() {
    let service = |keys: &str| json!({"kind": "Service", "metadata": {"name": "web", "namespace": "default", "annotations": {"topologyKeys": keys}}});
    let slice = |ips: &[&str]| {
        let endpoints: Vec<Value> = ips.iter().map(|ip| json!({"addresses": [ip], "nodeName": OWN})).collect();
        json!({"kind": "EndpointSlice", "addressType": "IPv4", "endpoints": endpoints, "metadata": {"name": "web-1",
            "namespace": "default", "labels": {"kubernetes.io/service-name": "web"}}})
    };
    let events = [
        UpstreamEvent::Replace(Resource::Service, vec![read(&service("[]"))]),
        UpstreamEvent::Replace(Resource::Node, vec![read(&node(OWN, &[("a", "b")])), read(&node("far", &[]))]),
        UpstreamEvent::Replace(Resource::EndpointSlice, vec![read(&slice(&["10.0.0.1"]))]),
        UpstreamEvent::Apply(read(&slice(&["10.0.0.2"]))),
        UpstreamEvent::Replace(Resource::Endpoints, vec![]),
        UpstreamEvent::Apply(read(&slice(&["10.0.0.2"]))),
        UpstreamEvent::Replace(Resource::Namespace, vec![]),
        UpstreamEvent::Apply(read(&node("far", &[("a", "c")]))),
        UpstreamEvent::Delete(Resource::Node, ObjectName::new("", "far")),
        UpstreamEvent::Delete(Resource::Node, ObjectName::new("", "far")),
        UpstreamEvent::Replace(Resource::Service, vec![read(&service("[\"a\"]"))]),
    ];
    let mut state = NodeState::new(OWN.into(), EdgeScheme::SuperEdge, KeyOrder::AnyKey);
    let mut saved = SavedState::default();
    let mut counts = Vec::new();
    for event in events {
        let held = state.apply(vec![event]).held;
        counts.push(held.len());
        for record in state.records_of(&held) {
            saved.take(record);
        }
    }
    // The record that a resource was listed comes with its first list, and what stays as it is makes none.
    assert_eq!(counts, [2, 3, 2, 1, 1, 0, 1, 1, 1, 0, 1]);
    let lines = |state: &NodeState| {
        let mut all: Vec<String> = state
            .records()
            .iter()
            .map(|record| {
                let mut text = String::new();
                record.write(&mut text);
                text
            })
            .collect();
        all.sort();
        all
    };
    let mut again = NodeState::new(OWN.into(), EdgeScheme::SuperEdge, KeyOrder::AnyKey);
    for list in saved.into_lists() {
        again.apply(vec![list]);
    }
    assert_eq!(lines(&again), lines(&state));
    assert_eq!(again.awaited().count(), 0);
}
