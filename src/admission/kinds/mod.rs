//! The table of kinds: which checks look at which kind, on which operations.
//!
//! It drives dispatch, webhook configurations, permissions and documentation.

use std::cell::OnceCell;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{
    Decision, Knowledge, Request, Rule, Settings, Stage,
    findings::{About, Findings},
    owner,
};
use crate::model::{
    Labels, Service,
    json::message::message,
    wire::{Present, nullable},
};

mod addresses;
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
    checks: fn(&Request<'_>, Stage, &Settings, &dyn Knowledge) -> Result<Decision, String>,
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
        checks: run::<Service>,
    },
    Kind {
        group: "",
        version: "v1",
        kind: "Endpoints",
        resource: "endpoints",
        operations: &[Operation::Create, Operation::Update],
        mutates: true,
        checks: run::<endpoints::Listed>,
    },
    Kind {
        group: "discovery.k8s.io",
        version: "v1",
        kind: "EndpointSlice",
        resource: "endpointslices",
        operations: &[Operation::Create, Operation::Update],
        mutates: false,
        checks: run::<slice::Listed>,
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

/// A kind of object, as far as the rules read it.
trait Checked: DeserializeOwned + 'static {
    /// All checks.
    const CHECKS: &'static [Check<Self>];

    /// Whether it is on its way out.
    fn deleting(&self) -> bool;

    /// Whether kube-controller-manager writes it: what is changed here, it would write again, for ever.
    fn is_owned(subject: &Subject<'_, Self>) -> bool;
}

/// A check, and the rules it is about.
struct Check<T> {
    rules: &'static [Rule],
    look: fn(&Subject<'_, T>, &mut Findings<'_>),
}

/// What a check sees.
struct Subject<'a, T> {
    /// The object as it will be stored.
    object: &'a T,
    /// Its raw text, for patches that depend on what is there.
    raw: &'a RawValue,
    /// The object as it is stored.
    stored: &'a Lazy<'a, T>,
    /// Namespace: that of the request, which an object may leave out.
    namespace: &'a str,
    /// Name, likewise.
    name: &'a str,
    /// What is known of the cluster.
    cluster: &'a dyn Knowledge,
}

/// The stored object, which is read when somebody asks for it: a review of Endpoints carries two long lists, and
/// mostly one of them is enough. One that cannot be read excuses nothing.
struct Lazy<'a, T> {
    raw: Option<&'a RawValue>,
    object: OnceCell<Option<T>>,
}

impl<T: DeserializeOwned> Lazy<'_, T> {
    fn get(&self) -> Option<&T> {
        self.object.get_or_init(|| self.raw.and_then(|raw| serde_json::from_str(raw.get()).ok())).as_ref()
    }
}

/// Metadata, as far as the rules read it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Head {
    #[serde(deserialize_with = "nullable")]
    labels: Labels,
    #[serde(deserialize_with = "nullable")]
    annotations: Labels,
    deletion_timestamp: Present,
}

impl Head {
    fn deleting(&self) -> bool {
        self.deletion_timestamp.0
    }
}

/// [`Rule::ManagedBy`]: a label that was there before is nobody's spoofing.
fn managed<T: Checked>(
    subject: &Subject<'_, T>,
    head: fn(&T) -> &Head,
    owner: (&str, &[&str]),
    findings: &mut Findings<'_>,
) {
    let Some(controller) = owner::managed_by(&head(subject.object).labels, owner) else { return };
    let before = subject.stored.get().and_then(|stored| owner::managed_by(&head(stored).labels, owner));
    if before != Some(controller) {
        findings.add(
            Rule::ManagedBy,
            About::Text(controller),
            format_args!("metadata.labels[{}]", owner.0),
            format_args!("{controller} is a built-in controller, and not who writes"),
        );
    }
}

fn run<T: Checked>(
    request: &Request<'_>,
    stage: Stage,
    settings: &Settings,
    cluster: &dyn Knowledge,
) -> Result<Decision, String> {
    let wanted = |check: &Check<T>| check.rules.iter().any(|r| stage.wants(settings, *r));
    let Some(raw) = request.object.filter(|_| T::CHECKS.iter().any(wanted)) else { return Ok(Decision::default()) };
    let object: T = serde_json::from_str(raw.get()).map_err(|error| message(&error))?;
    let stored = Lazy { raw: request.old_object, object: OnceCell::new() };
    let subject =
        Subject { object: &object, raw, stored: &stored, namespace: &request.namespace, name: &request.name, cluster };
    if stage == Stage::Mutate && (object.deleting() || T::is_owned(&subject)) {
        return Ok(Decision::default());
    }
    let look = |subject: &Subject<'_, T>, mut findings| {
        for check in T::CHECKS.iter().filter(|c| wanted(c)) {
            (check.look)(subject, &mut findings);
        }
        findings
    };
    let mut findings = look(&subject, Findings::new(settings, stage));
    // An API server does the same: what is stored may stay. Otherwise nobody could remove a finalizer, or mend one
    // of two faults.
    if stage == Stage::Validate
        && findings.refuse()
        && let Some(old) = stored.get()
        && let Some(raw) = stored.raw
    {
        let before = settings.before.as_deref().unwrap_or(settings);
        let before = look(&Subject { object: old, raw, ..subject }, Findings::looking_back(before));
        findings = look(&subject, before.of_successor(settings));
    }
    Ok(Decision::of(findings, stage))
}
