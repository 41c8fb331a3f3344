//! The examples of the page: a small manifest for each reason code, in which the code appears.
//!
//! A file is what a team might have written. Its first line is the title, and the lines below say what is wrong, what to
//! change, which other codes appear with it, and the command that answers the same. A link of the page names an example:
//! `/#example=not-ready`.
//!
//! Some codes have no example, because manifests alone do not show them ([`WITHOUT`]):
//!
//! - a setting of a program decides, and not an object: SuperEdge's wrapper orders its keys, reports nodes as unhealthy
//!   or replaces the API server only with its flag
//! - the input would be too large to read: more than a thousand addresses by hand, or an answer of 64 MiB
//! - only a form of input shows it that the page does not have: the fields of a request, or a single file of `roster lint`

mod table;
#[cfg(test)]
mod tests;

use roster_engine::{profile::Minor, reason::Reason};

/// An example: a manifest in which a reason code appears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// The heading below which the page lists it.
    pub group: &'static str,
    /// The code, by which links name the example; `shop` is a whole cluster.
    pub code: &'static str,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// The file.
    pub text: &'static str,
    /// The release that shows the code; `None`: the newest.
    pub release: Option<&'static str>,
    /// The node from whose view the code shows; `None`: it shows without a view.
    pub node: Option<&'static str>,
    /// The program between kube-proxy and the API server of that node, as `--scheme` names it.
    pub scheme: Option<&'static str>,
}

impl Example {
    const fn new(group: &'static str, code: &'static str, title: &'static str, text: &'static str) -> Self {
        Self { group, code, title, text, release: None, node: None, scheme: None }
    }

    const fn at(self, release: &'static str) -> Self {
        Self { release: Some(release), ..self }
    }

    const fn seen_from(self, node: &'static str) -> Self {
        Self { node: Some(node), ..self }
    }

    const fn behind(self, scheme: &'static str) -> Self {
        Self { scheme: Some(scheme), ..self }
    }

    /// The release to act like.
    pub fn minor(&self) -> Minor {
        self.release.and_then(|release| release.parse().ok()).unwrap_or_default()
    }

    /// The file in the repository.
    pub fn path(&self) -> String {
        match self.code {
            SHOP => "examples/shop.yaml".to_owned(),
            code => format!("crates/page/examples/{code}.yaml"),
        }
    }

    /// The command that answers the same.
    pub fn command(&self) -> String {
        let flag = |name: &str, value: Option<&str>| value.map(|v| format!(" --{name} {v}")).unwrap_or_default();
        let verb = if self.node.is_some() { "view" } else { "explain" };
        let [node, scheme, release] = [("node", self.node), ("scheme", self.scheme), ("compat", self.release)]
            .map(|(name, value)| flag(name, value));
        format!("roster {verb} -f {}{node}{scheme}{release}", self.path())
    }
}

/// The code of the example that is a whole cluster.
const SHOP: &str = "shop";

/// All examples, in the order in which the page lists them: a whole cluster, the most frequent codes, then the others in groups.
pub fn all() -> &'static [Example] {
    table::ALL
}

/// The example of this code, if it has one.
pub fn of(code: &str) -> Option<&'static Example> {
    all().iter().find(|example| example.code == code)
}

/// The codes without an example, and why.
pub const WITHOUT: &[(Reason, &str)] = &[
    (Reason::PlanTooLarge, "it takes a Service whose objects would repeat more than 64 MiB"),
    (Reason::MirrorTooManyAddresses, "it takes more than 1000 addresses that are written by hand"),
    (Reason::MirrorRandomCut, "it takes more than 1000 addresses that are written by hand"),
    (Reason::TopologyFallback, "only SuperEdge's ordered mode has it (`roster view --topology-mode ordered`)"),
    (
        Reason::NodeUnhealthy,
        "SuperEdge's wrapper finds out about it, and no object shows it (`roster view --unhealthy NODE`)",
    ),
    (Reason::LocalApiServer, "only a flag of SuperEdge's wrapper does it (`roster view --substitute-local-apiserver`)"),
    (
        Reason::LocalApiServerInvalid,
        "only a flag of SuperEdge's wrapper does it (`roster view --substitute-local-apiserver`)",
    ),
    (Reason::ServiceUnknown, "only `POST /v1/view` and `roster edge` see objects without their Service"),
    (Reason::ForeignEndpoints, "only the fields of a request of the REST API can hold them"),
    (Reason::UnknownKind, "only `roster lint` checks kinds that the engine does not read"),
    (Reason::InvalidWaiver, "only `roster lint` reads waivers"),
    (Reason::UnusedWaiver, "only `roster lint` reads waivers"),
];
