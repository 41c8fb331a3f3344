//! The DNS settings of a pod.

use roster_engine::model::dns;

use crate::{
    addresses::check_ip,
    faults::{Faults, quoted},
    field::Field,
};

const MOST_SERVERS: usize = 3;
const MOST_SEARCHES: usize = 32;
const MOST_SEARCH_CHARACTERS: usize = 2048;

pub(super) fn check(spec: &Field<'_, '_>, faults: &mut Faults<'_>) {
    let config = spec.key("dnsConfig");
    let servers = config.key("nameservers");
    if spec.key("dnsPolicy").text() == "None" && servers.is_empty() {
        let lacking = if config.is_set() { servers } else { config };
        lacking.require("dnsPolicy: None needs a nameserver here", faults);
    }
    servers.check_len(MOST_SERVERS, "nameservers", faults);
    for server in servers.items() {
        check_ip(&server, faults);
    }
    let searches = config.key("searches");
    searches.check_len(MOST_SEARCHES, "search paths", faults);
    let characters: usize = searches.items().map(|path| path.text().len() + 1).sum();
    if characters > MOST_SEARCH_CHARACTERS + 1 {
        searches.refuse(format!("it has more than {MOST_SEARCH_CHARACTERS} characters"), faults);
    }
    for path in searches.items() {
        if !is_search_path(path.text()) {
            path.refuse(format!("{} is not a DNS name in lower case", quoted(path.text())), faults);
        }
    }
    for option in config.key("options").items() {
        let name = option.key("name");
        if name.text().is_empty() {
            name.require("an option needs a name", faults);
        }
    }
}

/// A subdomain, whose labels may have underscores.
fn is_search_path(path: &str) -> bool {
    path == "." || dns::is_subdomain(path.strip_suffix('.').unwrap_or(path).replace('_', "a").as_bytes())
}
