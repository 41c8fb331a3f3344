//! Selectors that ask for one pod of a StatefulSet, by its name or number.

use roster_engine::{
    model::{Labels, Text},
    reason::{Reason, Severity},
};

use super::{
    manifests::Manifests,
    matching::{POD_INDEX, POD_NAME, ordinal, workload_name},
    unmatched::SelectorFault,
};
use crate::inventory::workloads::workload::{Workload, WorkloadController};

/// A label of a selector that only one pod of a StatefulSet has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AskedPod<'a> {
    key: &'static str,
    value: &'a Text,
}

/// The pods that a StatefulSet makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NumberedPods {
    first: i64,
    count: i64,
    /// Whether these are the most that an autoscaler allows.
    is_scaled: bool,
    /// Whether the manifest says how many there are.
    is_written: bool,
}

impl<'a> AskedPod<'a> {
    /// The label of `selector` with the number of a pod that `workload` does not make. One that is scaled to 0 may be scaled up
    /// to any number.
    pub(super) fn missing(selector: &'a Labels, workload: &Workload, manifests: &Manifests<'_>) -> Option<Self> {
        let pods = NumberedPods::of(workload, manifests).filter(|pods| pods.count > 0)?;
        [POD_NAME, POD_INDEX].into_iter().find_map(|key| {
            let value = selector.get(key)?;
            let asked = if key == POD_NAME { workload.ordinal_of(value)? } else { ordinal(value)? };
            let makes = (pods.first..pods.first.saturating_add(pods.count)).contains(&i64::from(asked));
            (!makes).then_some(Self { key, value })
        })
    }

    /// What is wrong with a selector that asks for this pod of `workload`. How many pods a StatefulSet has is known only if its
    /// manifest says so.
    pub(super) fn fault(self, workload: &Workload, manifests: &Manifests<'_>) -> Option<SelectorFault> {
        let pods = NumberedPods::of(workload, manifests)?;
        let message = format!(
            "the selector matches no pod: {} makes {}, none with the label {}={}",
            workload_name(workload),
            pods.text(&workload.name),
            self.key,
            self.value
        );
        let fault = SelectorFault::new(Reason::SelectorMatchesNoTemplate, message);
        Some(if pods.is_written { fault } else { SelectorFault { severity: Severity::Info, ..fault } })
    }
}

impl NumberedPods {
    fn of(workload: &Workload, manifests: &Manifests<'_>) -> Option<Self> {
        let WorkloadController::StatefulSet { replicas, first_ordinal, .. } = &workload.controller else { return None };
        let most = manifests.most_replicas(workload);
        let written = replicas.unwrap_or(1);
        let count = most.filter(|_| written > 0).map_or(written, |most| most.max(written));
        Some(Self {
            first: i64::from(*first_ordinal),
            count: i64::from(count),
            is_scaled: most.is_some(),
            is_written: replicas.is_some() || most.is_some(),
        })
    }

    /// The names of the pods of the StatefulSet `name`.
    fn text(self, name: &str) -> String {
        let Self { first, count, .. } = self;
        let last = first.saturating_add(count - 1);
        let pods = match count {
            1 => format!("only the pod {name}-{first}"),
            2 => format!("the pods {name}-{first} and {name}-{last}"),
            _ => format!("the pods {name}-{first} to {name}-{last}"),
        };
        if self.is_scaled { format!("{pods} at most") } else { pods }
    }
}
