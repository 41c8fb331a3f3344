//! The pods of each label pair that a selector asks for.

use std::{collections::HashMap, sync::Arc};

use crate::model::{Labels, Pod, Service};

type Fast = foldhash::fast::FixedState;

/// An inverted index: for each label pair of a selector in a namespace, the pods that have it. A Service's candidates are the shortest list among the pairs of its selector, so that one
/// label that all pods share costs nothing.
#[derive(Debug, Default)]
pub(super) struct LabelPostings<'a> {
    namespaces: HashMap<&'a str, usize, Fast>,
    /// Position in `lists`, by namespace, key and value.
    pairs: HashMap<(usize, &'a str, &'a str), usize, Fast>,
    /// By namespace: the list of all its pods, if an empty selector asks for it.
    everything: Vec<Option<usize>>,
    lists: Vec<Vec<&'a Pod>>,
}

impl<'a> LabelPostings<'a> {
    pub(super) fn new(services: &[&'a Service], pods: &[&'a Pod]) -> Self {
        let mut this = Self::default();
        for service in services {
            if let Some(selector) = &service.selector {
                this.want(&service.meta.namespace, selector);
            }
        }
        this.fill(pods);
        this
    }

    /// Makes the lists that this selector may need.
    fn want(&mut self, namespace: &'a str, selector: &'a Labels) {
        let namespace = *self.namespaces.entry(namespace).or_insert_with(|| {
            self.everything.push(None);
            self.everything.len() - 1
        });
        let lists = &mut self.lists;
        let mut new_list = || {
            lists.push(Vec::new());
            lists.len() - 1
        };
        if selector.is_empty() {
            self.everything[namespace].get_or_insert_with(new_list);
            return;
        }
        for (key, value) in selector.iter() {
            self.pairs.entry((namespace, key, value)).or_insert_with(&mut new_list);
        }
    }

    fn fill(&mut self, pods: &[&'a Pod]) {
        let mut wanted: Vec<usize> = Vec::new();
        let mut before: Option<&Pod> = None;
        for pod in pods {
            // Neighbours are mostly replicas: they share namespace and labels.
            let alike = before.is_some_and(|b| Arc::ptr_eq(&b.labels, &pod.labels) && b.namespace() == pod.namespace());
            if !alike {
                wanted.clear();
                if let Some(&namespace) = self.namespaces.get(pod.namespace().as_str()) {
                    wanted.extend(self.everything[namespace]);
                    wanted.extend(pod.labels.iter().filter_map(|(k, v)| self.pairs.get(&(namespace, k, v))));
                }
                before = Some(pod);
            }
            for &list in &wanted {
                self.lists[list].push(pod);
            }
        }
    }

    pub(super) fn candidates(&self, service: &Service) -> &[&'a Pod] {
        let Some(selector) = &service.selector else { return &[] };
        let Some(&namespace) = self.namespaces.get(service.meta.namespace.as_str()) else { return &[] };
        let list = |i: &usize| self.lists[*i].as_slice();
        if selector.is_empty() {
            return self.everything[namespace].as_ref().map_or(&[], list);
        }
        let lists = selector.iter().filter_map(|(k, v)| self.pairs.get(&(namespace, k.as_str(), v.as_str()))).map(list);
        lists.min_by_key(|l| l.len()).unwrap_or_default()
    }
}
