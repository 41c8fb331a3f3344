//! Kubernetes objects from JSON and YAML, what they say of a cluster together, and a linter of Services and their pods.
//!
//! ```text
//! bytes ─ decode ─► inventory ─┬─► Index      the state of each Service: plan, explain, view
//!                              └─► Snapshot   what the rules of admission ask of a cluster
//! files ─ lint ─► what is a manifest, what kustomize would change of it, which findings to report
//! cases: users' own expectations, and whether they hold
//! ```
//!
//! ```
//! use roster_engine::{Controller, Options, compare, plan};
//! use roster_manifests::{decode::{self, Source}, inventory::Inventory};
//!
//! let yaml = "
//! apiVersion: v1
//! kind: Service
//! metadata: {name: web, namespace: shop}
//! spec: {selector: {app: web}, ipFamilies: [IPv4], ports: [{port: 80}]}
//! ";
//! let mut inventory = Inventory::default();
//! decode::read(yaml.as_bytes(), &Source::file("web.yaml"), &mut inventory)?;
//! let index = inventory.index();
//! let state = index.state(&index.entries()[0]);
//! let plan = plan(&state, &Controller::ALL, &Options::default());
//! // No pod has the label: the controllers would write empty Endpoints and an empty slice.
//! assert_eq!(compare::changes(&state, &plan, false).len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod cases;
pub mod decode;
pub mod inventory;
pub mod lint;
pub mod parallel;
pub mod units;
