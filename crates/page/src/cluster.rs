//! The objects of a request, read as the command line reads those of a file.

use roster_engine::{
    explain::{DiagnosedCause, Diagnosis, Explanation, ServedTotals},
    model::Service,
    picture::{PictureReason, Route, RouteFault},
    reason::Finding,
    state::Options,
};
use roster_lint::RoutesByService;
use roster_manifests::{
    decode::{self, DecodeError, DecodeReason, Document, Source},
    inventory::{Entry, Index, Inventory, ServiceExplainer, ServiceFindings},
};

use crate::{PageFault, limits::MAX_ASSUMED_PODS, picture};

/// Reads the objects of a text.
pub(crate) fn read(text: &str, source: &Source<'_>) -> Result<Inventory, PageFault> {
    let mut inventory = Inventory::default();
    decode::read_text(text, source, &mut inventory).map_err(|error| fault_of(text, error))?;
    complete(inventory, source)
}

/// Reads the same objects, but those for which `change` has another text as that.
pub(crate) fn read_changed(
    text: &str,
    source: &Source<'_>,
    change: impl FnMut(&Document<'_>) -> Option<String>,
) -> Result<Inventory, PageFault> {
    let mut inventory = Inventory::default();
    decode::read_changed(text, source, &mut inventory, change)?;
    complete(inventory, source)
}

/// Adds what follows from all objects together.
fn complete(mut inventory: Inventory, source: &Source<'_>) -> Result<Inventory, PageFault> {
    source.interrupt.check()?;
    inventory.label_pods(&source.defaults);
    inventory.assume_pods(&source.defaults, &[], MAX_ASSUMED_PODS);
    inventory.report_refused_objects();
    Ok(inventory)
}

/// Why objects cannot be read. A text that does not even begin like JSON is not wrong JSON.
fn fault_of(text: &str, error: DecodeError) -> PageFault {
    let is_like_json = text.trim_start().starts_with(['{', '[']);
    match error.reason {
        DecodeReason::Json(_) if !is_like_json => PageFault::NotObjects,
        _ => PageFault::Objects(error),
    }
}

/// The index of objects that may be a part of a cluster.
pub(crate) fn index(inventory: &Inventory) -> Index<'_> {
    let mut index = inventory.index_of_part();
    index.refuse_values();
    index.retain_known();
    index
}

/// The explanation of a Service.
#[derive(Clone, Debug)]
pub(crate) struct Explained {
    pub(crate) explanation: Explanation,
    /// For a Service without pods, what its picture says instead of how many are served.
    pub(crate) title: Option<String>,
    /// The routes that name it.
    pub(crate) routes: Vec<Route>,
    /// Clients get the addresses of its pods from DNS, and kube-proxy ignores it.
    pub(crate) is_headless: bool,
}

impl Explained {
    /// What is wrong with the Service and its routes, the worst first: what its picture says.
    pub(crate) fn reasons(&self) -> Vec<PictureReason> {
        PictureReason::of_service(&self.explanation, &self.routes)
    }

    /// The same, and what else keeps pods from traffic without being wrong.
    pub(crate) fn all_reasons(&self) -> Vec<PictureReason> {
        let others = Diagnosis::of(&self.explanation).others.into_iter();
        let reason = |cause: DiagnosedCause| PictureReason {
            code: cause.code.code(),
            severity: cause.severity,
            detail: cause.detail,
            fix: "",
        };
        self.reasons().into_iter().chain(others.map(reason)).collect()
    }

    /// The first route that does not reach the Service, and why.
    pub(crate) fn broken_route(&self) -> Option<(&Route, &RouteFault)> {
        let faults = self.routes.iter().filter_map(|route| Some((route, route.fault.as_ref()?)));
        // The first one of the worst.
        faults.rev().max_by_key(|(_, fault)| fault.severity)
    }
}

/// The Services of an input, and how they are explained.
pub(crate) struct Cluster<'a> {
    pub(crate) objects: &'a Inventory,
    pub(crate) index: &'a Index<'a>,
    pub(crate) options: Options,
    pub(crate) source: &'a Source<'a>,
    explainer: ServiceExplainer<'a>,
    routes: RoutesByService<'a>,
}

impl<'a> Cluster<'a> {
    pub(crate) fn new(
        inventory: &'a Inventory,
        index: &'a Index<'a>,
        options: Options,
        source: &'a Source<'a>,
    ) -> Self {
        let (explainer, routes) = (ServiceExplainer::new(index, &inventory.pods), RoutesByService::of(inventory));
        Self { objects: inventory, index, options, source, explainer, routes }
    }

    /// Explains one Service.
    pub(crate) fn explain(&self, entry: &Entry<'_>) -> Explained {
        let explanation = self.explainer.explain(entry, &self.options, self.source.interrupt);
        let has_pods = ServedTotals::of(&explanation).pod_ports > 0;
        let title = (!has_pods).then(|| picture::of(self, entry, &explanation, None).title);
        let is_headless = entry.service.is_some_and(Service::declared_headless);
        Explained { explanation, title, routes: self.routes(entry), is_headless }
    }

    /// The routes that name a Service.
    pub(crate) fn routes(&self, entry: &Entry<'_>) -> Vec<Route> {
        self.routes.to(entry.namespace, entry.name, entry.service)
    }

    /// The Service of this namespace and name, joined by a slash.
    pub(crate) fn service(&self, title: &str) -> Option<&'a Entry<'a>> {
        let (namespace, name) = title.split_once('/')?;
        self.index.get(namespace, name)
    }

    /// The findings about the input that are not shown with a Service.
    pub(crate) fn other_findings(&self) -> Vec<Finding> {
        let is_shown = |finding: &Finding| {
            let entry = self.index.get(&finding.object.namespace, &finding.object.name);
            entry.is_some_and(|entry| ServiceFindings::is_of(entry, finding))
        };
        self.index.problems().iter().filter(|finding| !is_shown(finding)).cloned().collect()
    }
}
