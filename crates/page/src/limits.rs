//! What one answer may cost, however large or strange its input is.

/// The longest text of objects as YAML: a byte of it takes about ten times as long to read as one of JSON.
pub const MAX_YAML: usize = 8 << 20;
/// The longest object that is reviewed before it is written, in any format. An API server stores 1.5 MiB.
pub const MAX_OBJECT: usize = 2 << 20;
/// The length from which a text of YAML is worth a conversion to JSON.
pub(crate) const LONG_YAML: usize = 100_000;
/// Most pods that are assumed of workloads, as in other requests.
pub(crate) const MAX_ASSUMED_PODS: usize = 10_000;
/// Most pod ports of all Services together that one answer explains. A pod counts for each Service that may select it: of
/// 1 000 Services that select the same 1 000 pods, the list says of the last ones that nobody looked.
pub(crate) const MAX_POD_PORTS: usize = 500_000;
/// Most endpoints and pod ports of all Services together that one answer views from a node. Of Services without slices, those that
/// the controllers would write are in memory.
pub(crate) const MAX_NODE_VIEWS: usize = 100_000;
/// Most Services in the list; a filter finds the others.
pub(crate) const MAX_SERVICES: usize = 500;
/// Most rows of a table of pods or endpoints.
pub(crate) const MAX_ROWS: usize = 200;
/// Most choices that a field suggests.
pub(crate) const MAX_CHOICES: usize = 500;
/// Most choices of a list that shows them all.
pub(crate) const MAX_OPTIONS: usize = 50;
/// Most findings in a list.
pub(crate) const MAX_FINDINGS: usize = 100;
/// Most changes of a what-if.
pub(crate) const MAX_CHANGES: usize = 50;
