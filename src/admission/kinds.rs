//! The table of kinds: which checks look at which kind, on which operations.
//!
//! It drives dispatch, webhook configurations, permissions and documentation.

use std::borrow::Cow;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{Decision, Findings, Knowledge, Request, Settings, Stage, owner};
use crate::model::{EndpointSlice, Endpoints, ObjectMeta, Service};

mod endpoints;
mod service;
mod slice;

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// It is new.
    Create,
    /// It is replaced or patched.
    Update,
}

impl Operation {
    /// `CREATE` or `UPDATE`; others are not looked at.
    pub fn read(text: &str) -> Option<Self> {
        match text {
            "CREATE" => Some(Self::Create),
            "UPDATE" => Some(Self::Update),
            _ => None,
        }
    }
}

/// A row of the table.
#[derive(Debug)]
pub struct Kind {
    /// API group; empty for core.
    pub group: &'static str,
    /// Version that is asked for. With `matchPolicy: Equivalent` an API server converts others to it.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Resource.
    pub resource: &'static str,
    /// Operations.
    pub operations: &'static [Operation],
    /// Whether the mutating webhook is registered for it.
    pub mutates: bool,
    checks: fn(&Request<'_>, Stage, &Settings, &dyn Knowledge) -> Result<Decision, serde_json::Error>,
}

/// All kinds.
pub const KINDS: [Kind; 3] = [
    Kind {
        group: "",
        version: "v1",
        kind: "Service",
        resource: "services",
        operations: &[Operation::Create, Operation::Update],
        mutates: true,
        checks: |r, stage, s, k| run(service::CHECKS, r, stage, s, k, |s: &Service| &s.meta),
    },
    Kind {
        group: "",
        version: "v1",
        kind: "Endpoints",
        resource: "endpoints",
        operations: &[Operation::Create, Operation::Update],
        mutates: true,
        checks: |r, stage, s, k| run(endpoints::CHECKS, r, stage, s, k, |e: &Endpoints| &e.meta),
    },
    Kind {
        group: "discovery.k8s.io",
        version: "v1",
        kind: "EndpointSlice",
        resource: "endpointslices",
        operations: &[Operation::Create, Operation::Update],
        mutates: false,
        checks: |r, stage, s, k| run(slice::CHECKS, r, stage, s, k, |e: &EndpointSlice| &e.meta),
    },
];

impl Kind {
    /// The row of a request; `None` if no rule can have anything to say.
    pub fn of(request: &Request<'_>) -> Option<&'static Self> {
        let operation = request.operation?;
        if !request.sub_resource.is_empty() {
            return None;
        }
        KINDS.iter().find(|k| {
            k.group == request.group
                && k.kind == request.kind
                && k.version == request.version
                && k.operations.contains(&operation)
        })
    }

    pub(super) fn decide(
        &self,
        request: &Request<'_>,
        stage: Stage,
        settings: &Settings,
        cluster: &dyn Knowledge,
    ) -> Decision {
        match (self.checks)(request, stage, settings, cluster) {
            Ok(decision) => decision,
            // An API server has read it before us: this build is too old for it, or the request is not from one.
            Err(error) => Decision::unseen(&format!("the {} cannot be read: {error}", self.kind)),
        }
    }
}

/// What a check sees.
pub(super) struct Subject<'a, T> {
    /// The object as it will be stored.
    pub object: &'a T,
    /// The object as it is stored.
    pub old: Option<&'a T>,
    /// Its raw text, for patches that depend on what is there.
    pub raw: &'a RawValue,
    /// Namespace: that of the request, which an object may leave out.
    pub namespace: Cow<'a, str>,
    /// Which webhook is asked: rules that only refuse need not run in the mutating one.
    pub stage: Stage,
    /// What is known of the cluster.
    pub cluster: &'a dyn Knowledge,
}

/// A check: looks at an object, and notes what it finds.
pub(super) type Check<T> = fn(&Subject<'_, T>, &mut Findings<'_>);

fn run<T: DeserializeOwned>(
    checks: &[Check<T>],
    request: &Request<'_>,
    stage: Stage,
    settings: &Settings,
    cluster: &dyn Knowledge,
    meta: fn(&T) -> &ObjectMeta,
) -> Result<Decision, serde_json::Error> {
    let Some(raw) = request.object else { return Ok(Decision::default()) };
    let object: T = serde_json::from_str(raw.get())?;
    if stage == Stage::Mutate && owner::is_managed(&meta(&object).labels) {
        return Ok(Decision::default());
    }
    let old: Option<T> = request.old_object.map(|o| serde_json::from_str(o.get())).transpose()?;
    let subject =
        Subject { object: &object, old: old.as_ref(), raw, namespace: request.namespace.clone(), stage, cluster };
    let mut findings = Findings::new(settings);
    for check in checks {
        check(&subject, &mut findings);
    }
    Ok(Decision::of(findings, stage))
}
