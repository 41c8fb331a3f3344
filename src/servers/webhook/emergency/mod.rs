//! The emergency switch, `roster disable` and `roster enable`: sets the failure policies of Roster's own webhook
//! configurations to `Ignore`, and back.
//!
//! [`plan_switch`] decides, [`switch`] writes. An annotation of the configuration itself stores the previous values, so
//! that they can be restored from anywhere. Nothing else is written, and nothing over a concurrent write.

mod configuration_switch;
mod switch_plan;

pub use configuration_switch::{ConfigurationOutcome, SwitchError, SwitchOrder, switch};
pub use switch_plan::{ANNOTATION, AnnotationError, Direction, FailurePolicyChange, SwitchPlan, plan_switch};
