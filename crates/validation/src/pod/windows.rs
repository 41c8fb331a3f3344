//! The Windows settings of pods and containers.

use crate::{
    faults::{Faults, quoted},
    field::{Field, FieldRule, Presence},
};

const MOST_SPEC_BYTES: usize = 64 * 1024;
const MOST_DOMAIN_BYTES: usize = 255;
const MOST_USER_BYTES: usize = 104;

/// Checks the settings of a pod with this spec. All containers are processes of the host, or none.
pub(super) fn check(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let security = spec.key("securityContext");
    let options = security.key("windowsOptions");
    check_options(&options, faults);
    let of_pod = options.key("hostProcess");
    let (mut all, mut of_host) = (0_usize, 0_usize);
    for list in ["containers", "initContainers"] {
        for container in spec.key(list).items() {
            let security = container.key("securityContext");
            let options = security.key("windowsOptions");
            let of_container = options.key("hostProcess");
            if of_pod.is_set() && of_container.is_set() && of_pod.is_true() != of_container.is_true() {
                of_container.refuse("it differs from that of the pod", faults);
            }
            all += 1;
            of_host += usize::from(if of_container.is_set() { of_container.is_true() } else { of_pod.is_true() });
        }
    }
    if of_host > 0 && of_host < all {
        spec.refuse("all containers are processes of the host, or none", faults);
    }
    if of_host > 0 && !spec.key("hostNetwork").is_true() {
        spec.key("hostNetwork").refuse("processes of the host need hostNetwork: true", faults);
    }
}

/// Checks the settings of a pod or of a container.
pub(super) fn check_options(options: &Field<'_, '_>, faults: &mut Faults<'_>) {
    FieldRule::Subdomain.check(&options.key("gmsaCredentialSpecName"), Presence::Nullable, faults);
    let spec = options.key("gmsaCredentialSpec");
    if spec.as_text() == Some("") {
        spec.require("it must not be empty", faults);
    } else if spec.text().len() > MOST_SPEC_BYTES {
        spec.refuse(format!("it has more than {MOST_SPEC_BYTES} bytes"), faults);
    }
    let user = options.key("runAsUserName");
    if user.as_text().is_some_and(|name| !is_user_name(name)) {
        user.refuse(format!("{} is not the name of a Windows user", quoted(user.text())), faults);
    }
}

/// Whether a text is the name of a user, with or without a domain before a backslash.
fn is_user_name(text: &str) -> bool {
    let (domain, user) = text.split_once('\\').map_or((None, text), |(domain, user)| (Some(domain), user));
    let is_domain = |domain: &str| domain.len() <= MOST_DOMAIN_BYTES && (is_net_bios(domain) || is_dns(domain));
    let has_only_dots = user.chars().all(|c| c == '.' || c == ' ');
    !text.chars().any(|c| c.is_ascii_control())
        && domain.is_none_or(is_domain)
        && user.len() <= MOST_USER_BYTES
        && !has_only_dots
        && !user.contains(['"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']'])
}

fn is_net_bios(domain: &str) -> bool {
    (1..=15).contains(&domain.chars().count())
        && !domain.starts_with('.')
        && !domain.contains(['\\', '/', ':', '*', '?', '"', '<', '>', '|'])
}

fn is_dns(domain: &str) -> bool {
    domain.split('.').all(|label| roster_engine::model::dns::is_label(label.to_ascii_lowercase().as_bytes()))
}
