//! From a request to its answer.

use roster_engine::{
    phrase::counted,
    profile::Minor,
    reason::{Reason, Severity},
    shown_text::printable,
    state::Options,
};
use roster_manifests::{
    decode::{self, Source},
    inventory::Inventory,
    parallel::both,
};

use crate::{
    PageAnswer, PageFault, advice,
    cluster::{self, Cluster},
    examples::{self, Example},
    fault::NO_SERVICE,
    html::Html,
    limits::{LONG_YAML, MAX_CHANGES, MAX_OBJECT},
    node_tab::NodeTab,
    patch::Patch,
    picture,
    plain_words::PlainWords,
    reasons::{self, Lead},
    remedy,
    request::{Look, PageRequest, Tab},
    review_tab::{PageReview, ReviewTexts},
    service_line::ServiceLine,
    services,
    what_if::{self, After, Before},
};

/// Answers a request of the page: `body` is its JSON, and `source` says how its objects are read.
///
/// # Errors
///
/// The request or its objects cannot be read, or a limit of `source`.
pub fn answer(body: &str, source: &Source<'_>) -> Result<PageAnswer, PageFault> {
    let request: PageRequest<'_> = serde_json::from_str(body)?;
    let example = example(&request)?;
    let text = example.map(|example| example.text).or(request.text.as_deref());
    if text.is_some_and(|text| text.trim().is_empty()) {
        return Err(PageFault::Empty);
    }
    let text = text.unwrap_or_default();
    if request.object.len() > MAX_OBJECT {
        return Err(PageFault::ObjectTooLong);
    }
    if request.changes.len() > MAX_CHANGES {
        return Err(PageFault::TooManyChanges(MAX_CHANGES));
    }
    let look = Look::of(&request, example);
    let mut answer = PageAnswer {
        tab: look.tab,
        release: look.release,
        scheme: look.scheme,
        text: example.map(|example| example.text),
        examples: Html::of(write_examples),
        ..PageAnswer::default()
    };
    if text.is_empty() {
        return Ok(answer);
    }
    let texts = (look.tab == Tab::Review).then(|| ReviewTexts::of(text, look.object, source));
    let (inventory, review) = match &texts {
        None => (cluster::read(text, source), None),
        // Each needs the objects in a form of its own.
        Some(texts) => {
            let (inventory, review) = both(source.threads, || cluster::read(text, source), || texts.review());
            (inventory, Some(review))
        }
    };
    let (inventory, review) = (inventory?, review.transpose()?);
    answer.objects = objects_as_json(text, &inventory, source)?;
    let index = cluster::index(&inventory);
    let options = Options { compat: look.release, ..Options::default() };
    let cluster = Cluster::new(&inventory, &index, options, source);
    Answering { text, look: &look, objects: &inventory, cluster: &cluster, review }.fill(&mut answer)?;
    source.interrupt.check()?;
    Ok(answer)
}

/// A long YAML as JSON, which takes a tenth of the time to read: the script sends it with the next requests. Each token stays in
/// its line. `None` if the text is short or JSON, or if it says something as YAML that JSON cannot say.
fn objects_as_json(text: &str, inventory: &Inventory, source: &Source<'_>) -> Result<Option<String>, PageFault> {
    let is_mixed = || inventory.problems.iter().any(|finding| finding.code == Reason::MissingSeparator);
    if text.len() < LONG_YAML || is_json(text) || is_mixed() {
        return Ok(None);
    }
    Ok(Some(decode::yaml_as_json(text, source)?))
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// The example that a request names, if it has no text.
fn example(request: &PageRequest<'_>) -> Result<Option<&'static Example>, PageFault> {
    if request.example.is_empty() || request.text.as_ref().is_some_and(|text| !text.is_empty()) {
        return Ok(None);
    }
    examples::of(&request.example).map(Some).ok_or_else(|| PageFault::NoExample(request.example.clone()))
}

/// The examples in their groups.
fn write_examples(html: &mut Html) {
    for group in examples::all().chunk_by(|a, b| a.group == b.group) {
        html.element("li", &[], |html| {
            html.leaf("h3", &[], group[0].group);
            html.element("ul", &[], |html| {
                for example in group {
                    let patch = Patch::one("example", example.code.into()).to_string();
                    html.element("li", &[], |html| {
                        html.element("button", &[("type", "button"), ("data-start", &patch)], |html| {
                            html.leaf("code", &[], example.code);
                            html.text(" ");
                            html.text(example.title);
                        });
                    });
                }
            });
        });
    }
}

/// A request with objects, while it is answered.
struct Answering<'a, 'c> {
    text: &'a str,
    look: &'a Look<'a>,
    objects: &'a Inventory,
    cluster: &'a Cluster<'c>,
    /// What the tab `Review` shows, if it is the one.
    review: Option<PageReview<'a>>,
}

impl Answering<'_, '_> {
    fn fill(&self, answer: &mut PageAnswer) -> Result<(), PageFault> {
        let (look, cluster) = (self.look, self.cluster);
        answer.has_objects = true;
        let lines = services::lines(cluster);
        cluster.source.interrupt.check()?;
        answer.summary = Html::of(|html| self.summary(html, &lines));
        answer.services = Html::of(|html| services::write(html, &lines, look.filter));
        let Some(entry) = cluster.service(look.service).or_else(|| cluster.service(&lines.first()?.title())) else {
            return self.without_service(answer);
        };
        let title = format!("{}/{}", entry.namespace, entry.name);
        answer.service.clone_from(&title);
        let explained = cluster.explain(entry);
        let (objects, explanation) = (self.objects, &explained.explanation);
        let mut after = None;
        match look.tab {
            Tab::Picture => picture::write(&mut answer.panel, &picture::of(cluster, entry, explanation, None)),
            Tab::WhatIf => {
                let before = Before { text: self.text, objects, cluster, entry, explained: &explained, lines: &lines };
                let outcome = what_if::write(&mut answer.panel, &before, look.changes, look.against)?;
                answer.changes = outcome.kept;
                after = outcome.after;
            }
            Tab::Review => self.write_review(&mut answer.panel, &title),
            Tab::Node => {
                let tab = NodeTab { cluster, entry, explanation, lines: &lines, scheme: look.scheme };
                tab.write(&mut answer.panel, &look.node);
            }
        }
        let title = if after.is_some() { format!("{title}, after the change") } else { title };
        let (words, findings) = (PlainWords::of(&explained), cluster.other_findings());
        let (lead, findings) = if let Some(After { explained, why, other_findings }) = &after {
            let account = PlainWords::of(explained).account;
            (Lead { title: &title, explained, account, why, advice: None, remedy: None }, other_findings)
        } else {
            let advice = advice::of(cluster, entry, &explained);
            let remedy = remedy::of(cluster, entry, &explained);
            let (account, why) = (words.account, words.why.as_slice());
            (Lead { title: &title, explained: &explained, account, why, advice, remedy }, &findings)
        };
        let announcement = format!("{title}: {}", lead.account);
        answer.announcement = printable(&announcement).into_owned();
        answer.lead = Html::of(|html| reasons::write_lead(html, &lead));
        answer.reasons = Html::of(|html| reasons::write(html, &lead, findings));
        Ok(())
    }

    fn write_review(&self, html: &mut Html, service: &str) {
        self.review.iter().for_each(|review| review.write(html, self.look.object, service));
    }

    /// Shows what is wrong with objects that have no Service. If nothing is, there is nothing to show.
    fn without_service(&self, answer: &mut PageAnswer) -> Result<(), PageFault> {
        let findings = self.cluster.other_findings();
        if self.review.is_some() {
            self.write_review(&mut answer.panel, "");
        } else if findings.iter().all(|finding| finding.severity == Severity::Info) {
            return Err(PageFault::NoService);
        } else {
            answer.lead = Html::of(|html| html.leaf("p", &[("class", "account")], NO_SERVICE));
            answer.panel = Html::of(|html| html.leaf("p", &[("class", "empty")], NO_SERVICE));
        }
        NO_SERVICE.clone_into(&mut answer.announcement);
        answer.reasons = Html::of(|html| reasons::findings(html, &findings));
        Ok(())
    }

    /// What the input has, in a line, and the release to act like.
    fn summary(&self, html: &mut Html, lines: &[ServiceLine]) {
        let pods = counted(self.objects.pods.len(), "pod");
        let nodes = counted(self.objects.nodes.len(), "node");
        html.leaf("span", &[], format_args!("{}; {pods}, {nodes}", services::in_short(lines)));
        html.element("label", &[], |html| {
            html.text("as Kubernetes ");
            html.element("select", &[("id", "release"), ("data-field", "release")], |html| {
                for minor in Minor::all().rev() {
                    what_if::option(html, &minor.to_string(), minor, minor == self.look.release);
                }
            });
        });
    }
}
