//! Checks of Services.

mod external;
mod labels;
mod pods;
mod tolerate;
mod topology;

use roster_engine::model::{Service, ServicePort, ServiceType, TargetPort, names, protocol_or_tcp};

pub use self::pods::POD_RULES;
use super::object_check::{CheckedObject, ObjectCheck};
use crate::{
    Rule,
    fault::{ObjectTraffic, Traffic, TrafficPort},
};

impl CheckedObject for Service {
    const CHECKS: &'static [ObjectCheck<Self>] = &[
        ObjectCheck { rules: &[Rule::TolerateUnready, Rule::TolerateUnreadyValue], check: tolerate::check },
        ObjectCheck { rules: &[Rule::ReservedLabel], check: labels::check },
        ObjectCheck { rules: &[Rule::TopologyMode], check: topology::check_mode },
        ObjectCheck { rules: &[Rule::TrafficDistribution], check: topology::check_distribution },
        ObjectCheck { rules: &[Rule::SuperedgeKeys], check: topology::check_superedge },
        ObjectCheck { rules: &[Rule::OpenyurtKeys], check: topology::check_openyurt },
        ObjectCheck { rules: &[Rule::ExternalIp, Rule::LoadBalancerIp], check: external::check },
        ObjectCheck { rules: POD_RULES, check: pods::check },
    ];

    fn deleting(&self) -> bool {
        self.meta.deleting()
    }

    /// All its ports, to the pods that it selects.
    fn traffic(&self) -> ObjectTraffic {
        let labels = &self.meta.labels;
        let ignored = labels.contains_key(names::HEADLESS) || labels.contains_key(names::PROXY_NAME);
        // An API server sets the number of the port where there is no target.
        let is_default = |port: &ServicePort| {
            port.target_port == TargetPort::default() || port.target_port == TargetPort::Number(port.port)
        };
        let ports = self.ports.iter().map(|port| TrafficPort {
            name: port.name.clone(),
            protocol: protocol_or_tcp(&port.protocol).into(),
            number: Some(port.port),
            target: (!is_default(port)).then(|| port.target_port.clone()),
        });
        // An API server drops an empty selector.
        let selector = self.selector.clone().unwrap_or_default();
        ObjectTraffic {
            is_proxied: !ignored && self.kind != ServiceType::ExternalName && !self.declared_headless(),
            all: vec![Traffic::to(ports).for_pods(selector)],
        }
    }
}
