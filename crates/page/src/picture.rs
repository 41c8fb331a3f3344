//! The picture of a Service.

use roster_engine::{
    explain::Explanation,
    picture::{NodeSight, Picture, SvgOptions},
    state::Controller,
};
use roster_manifests::inventory::{Entry, whole};

use crate::{cluster::Cluster, html::Html};

/// The picture of a Service, as a node sees it if one is given.
pub(crate) fn of(
    cluster: &Cluster<'_>,
    entry: &Entry<'_>,
    explanation: &Explanation,
    from: Option<NodeSight<'_>>,
) -> Picture {
    let plan = whole::plan_of(cluster.index, entry, &Controller::ALL, &cluster.options);
    let routes = cluster.routes(entry);
    Picture::of_plan(&cluster.index.state(entry), &plan, explanation, &cluster.options, &routes, from)
}

/// Writes a picture.
pub(crate) fn write(html: &mut Html, picture: &Picture) {
    let attributes =
        [("class", "picture"), ("tabindex", "0"), ("role", "group"), ("aria-label", "Picture; it scrolls sideways")];
    html.element("div", &attributes, |html| html.picture(&picture.svg(&SvgOptions { embedded: true })));
}
