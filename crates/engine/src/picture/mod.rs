//! The picture of a Service: from its routes to the pods that serve it, and in place those that do not, with the reason.
//!
//! ```text
//!   Scene ─► Picture: nodes and edges with states ─┬─► svg      a drawing
//!            (a value; as JSON it is the answer    ├─► tree     lines for a terminal
//!            of POST /v1/picture)                  └─► report   one HTML file for many Services
//! ```
//!
//! Nothing is decided here: the states and reasons are those of the [`Explanation`](crate::Explanation), and the endpoints those
//! of the plan's slices. A picture is bounded whatever the input: long lists are folded, and a node says how many objects it
//! stands for.

mod compose;
mod composer;
mod graph;
mod groups;

mod members;
mod node_account;
mod places_of_pods;
mod report;
mod scene;
mod service_side;
mod sight;
mod slice_ports;
mod svg;
#[cfg(test)]
mod tests;
mod tree;
mod verdict_of_pod;

pub use graph::{EdgeKind, NodeKind, Picture, PictureEdge, PictureNode, PictureReason, PictureState};

pub use node_account::NodeAccount;
pub use report::{OverviewRow, report_html};
pub use scene::{NodeSight, Route, RouteFault, Scene};
pub use svg::{
    SHEET, SvgOptions, begin as begin_svg, legend as svg_legend, mark as svg_mark, state_class as svg_class,
};
pub use tree::TreeLine;
