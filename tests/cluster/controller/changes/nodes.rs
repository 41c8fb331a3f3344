//! What happens to nodes.

use serde_json::{Value, json};

use super::{Changes, NODES, ZONES};

const ZONE: &str = "topology.kubernetes.io/zone";

fn node(n: usize) -> Value {
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": format!("node-{n}") } })
}

fn conditions(is_ready: bool) -> Value {
    json!({ "conditions": [{ "type": "Ready", "status": if is_ready { "True" } else { "False" } }] })
}

impl Changes {
    fn node(&mut self) -> Value {
        node(self.rng.below(NODES))
    }

    /// All that are missing.
    pub(super) fn create_nodes(&mut self) -> u16 {
        let mut told = 409;
        for n in 0..NODES {
            let mut node = node(n);
            if self.read(&node).is_some() {
                continue;
            }
            node["metadata"]["labels"] = json!({ ZONE: format!("zone-{}", n % ZONES) });
            told = self.create(&node);
            let mut status = conditions(true);
            status["allocatable"] = json!({ "cpu": "4" });
            assert_eq!((told, self.patch_status(&node, &status)), (201, 200));
        }
        told
    }

    pub(super) fn delete_node(&mut self) -> u16 {
        let node = self.node();
        if self.read(&node).is_none() {
            return 404;
        }
        self.everywhere(|cluster| {
            cluster.delete(&node);
            200
        })
    }

    pub(super) fn change_zone(&mut self) -> u16 {
        let (n, has_none) = (self.rng.below(ZONES), self.rng.percent(8));
        let zone = if has_none { Value::Null } else { json!(format!("zone-{n}")) };
        let node = self.node();
        self.patch(&node, &json!({ "metadata": { "labels": { ZONE: zone } } }))
    }

    pub(super) fn flip_node(&mut self) -> u16 {
        let (node, is_ready) = (self.node(), self.rng.percent(70));
        self.patch_status(&node, &conditions(is_ready))
    }

    pub(super) fn change_cpu(&mut self) -> u16 {
        let (node, cpu) = (self.node(), self.rng.between(1, 8));
        self.patch_status(&node, &json!({ "allocatable": { "cpu": cpu.to_string() } }))
    }
}
