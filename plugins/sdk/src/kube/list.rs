//! Lists, page by page.

use std::{marker::PhantomData, vec};

use serde::de::DeserializeOwned;

use super::access::read;
use crate::{Gvk, Kube, KubeError, Query};

/// A list that is about to be made. Iterate over it, or take [`all`](Self::all) at once; each page is one host call.
#[derive(Debug)]
#[must_use]
pub struct List<T> {
    kube: Kube,
    query: Query,
    result: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> List<T> {
    pub(super) fn new(kube: Kube, kind: Gvk, namespace: Option<&str>) -> Self {
        let query = Query {
            kind,
            namespace: namespace.map(str::to_owned),
            label_selector: String::new(),
            field_selector: String::new(),
            limit: 0,
            from: None,
        };
        Self { kube, query, result: PhantomData }
    }

    /// Only objects with these labels: `app=web,tier in (a, b),!canary`.
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.query.label_selector = selector.into();
        self
    }

    /// Only objects with these fields, of those the API server can select by: `metadata.name=web`.
    pub fn fields(mut self, selector: impl Into<String>) -> Self {
        self.query.field_selector = selector.into();
        self
    }

    /// At most so many objects in a page; 0 leaves it to the host.
    pub fn page_size(mut self, limit: u32) -> Self {
        self.query.limit = limit;
        self
    }

    /// All objects.
    ///
    /// # Errors
    /// The first page that fails, or the first object that does not have the type's shape.
    pub fn all(self) -> Result<Vec<T>, KubeError> {
        self.into_iter().collect()
    }
}

impl<T: DeserializeOwned> IntoIterator for List<T> {
    type Item = Result<T, KubeError>;
    type IntoIter = Pages<T>;

    fn into_iter(self) -> Pages<T> {
        Pages { list: self, items: Vec::new().into_iter(), done: false }
    }
}

/// The objects of a list; asks for the next page when one is used up, and ends after an error.
#[derive(Debug)]
pub struct Pages<T> {
    list: List<T>,
    items: vec::IntoIter<String>,
    done: bool,
}

impl<T: DeserializeOwned> Iterator for Pages<T> {
    type Item = Result<T, KubeError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(text) = self.items.next() {
                let object = read(&text, || format!("an object of the list of {}", self.list.query.kind));
                if object.is_err() {
                    self.items = Vec::new().into_iter();
                    self.done = true;
                }
                return Some(object);
            }
            if self.done {
                return None;
            }
            let kube = &self.list.kube;
            match kube.host.list(&self.list.query, &kube.options) {
                Ok(page) => {
                    self.done = page.next.is_none();
                    self.list.query.from = page.next;
                    self.items = page.items.into_iter();
                }
                Err(error) => {
                    self.done = true;
                    return Some(Err(error));
                }
            }
        }
    }
}
