//! Drawings that are committed, so that a change of them can be seen.

use crate::cli::{roster, roster_with};

const SHOP: &str = "examples/shop.yaml";

/// The picture of the documentation.
pub(super) fn catalog() -> String {
    roster(&["explain", "-f", SHOP, "shop/catalog", "-o", "svg"]).out
}

/// A selector that misses its pods by a label, and a route.
pub(super) fn cart() -> String {
    roster(&["explain", "-f", SHOP, "-f", "tests/data/cli/routes.yaml", "shop/cart", "-o", "svg"]).out
}

/// Hints.
pub(super) fn web() -> String {
    roster(&["explain", "-f", SHOP, "shop/web", "-o", "svg"]).out
}

/// All Services as trees.
pub(super) fn trees() -> String {
    let routes = "tests/data/cli/routes.yaml";
    roster_with(&["explain", "-f", SHOP, "-f", routes, "-o", "tree"], &[("COLUMNS", "110")], "").out
}

/// All nodes and Services.
pub(super) fn matrix() -> String {
    roster(&["view", "-f", SHOP, "--all-nodes", "-o", "svg"]).out
}
