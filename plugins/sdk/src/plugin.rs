//! The hooks an author writes, and the door through which they are called.

use std::{fmt, rc::Rc};

use crate::{Context, Error, Finalized, Gvk, Host, Outcome, Request, Resource};

/// Brings objects of one kind towards what they ask for.
///
/// The value lives as long as the plugin's instance: with the instance model `fresh` for one call, with `pooled` for
/// many, so what it keeps (in a `RefCell`, for one) is a cache and nothing else.
pub trait Reconciler: 'static {
    /// The type of the objects: a kind of its own, or [`Dynamic`](crate::Dynamic) for any.
    type Resource: Resource;

    /// Brings the world towards what the object asks for, or says how it should look.
    ///
    /// Level-triggered: called with the object as it is, never with a difference; may be called any number of times for
    /// the same state and must then change nothing. Never called twice at once for one object. It does not wait for
    /// the cluster: it says what it waits for and is called again.
    ///
    /// # Errors
    /// The host writes the error to the object's conditions and tries again as its class says.
    fn reconcile(&self, ctx: &Context, object: &Self::Resource) -> Result<Outcome, Error>;

    /// The same for an object that is being deleted. Only called for kinds whose finalizer stands in the manifest.
    ///
    /// # Errors
    /// As for [`reconcile`](Self::reconcile); the object stays until it is done.
    fn finalize(&self, ctx: &Context, object: &Self::Resource) -> Result<Finalized, Error> {
        let _ = (ctx, object);
        Ok(Finalized::Done)
    }
}

/// The reconcilers of a plugin behind one door: calls are handed to the one of the object's kind.
/// [`export!`](crate::export!) makes one.
#[derive(Default)]
pub struct Plugin {
    hooks: Vec<(Option<Gvk>, Box<dyn Hook>)>,
}

impl Plugin {
    /// A plugin without reconcilers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a reconciler. The first one of a kind wins; one of [`Dynamic`](crate::Dynamic) takes what no other does.
    #[must_use]
    pub fn with(mut self, reconciler: impl Reconciler) -> Self {
        self.hooks.push((gvk_of(&reconciler), Box::new(reconciler)));
        self
    }

    /// The kinds it has types for.
    pub fn kinds(&self) -> Vec<Gvk> {
        self.hooks.iter().filter_map(|(kind, _)| kind.clone()).collect()
    }

    /// Calls `reconcile` of the kind's reconciler.
    ///
    /// # Errors
    /// What the reconciler returned; permanent `InvalidObject`, `InvalidData` or `UnknownKind` from the SDK.
    pub fn reconcile(&self, host: Rc<dyn Host>, request: Request) -> Result<Outcome, Error> {
        let (hook, ctx, object) = self.open(host, request)?;
        hook.reconcile(&ctx, object)?.finish()
    }

    /// Calls `finalize` of the kind's reconciler.
    ///
    /// # Errors
    /// As for [`reconcile`](Self::reconcile).
    pub fn finalize(&self, host: Rc<dyn Host>, request: Request) -> Result<Finalized, Error> {
        let (hook, ctx, object) = self.open(host, request)?;
        match hook.finalize(&ctx, object)? {
            Finalized::Done => Ok(Finalized::Done),
            Finalized::Waiting(outcome) => outcome.finish().map(Finalized::waiting),
        }
    }

    fn open(&self, host: Rc<dyn Host>, request: Request) -> Result<(&dyn Hook, Context, String), Error> {
        let Request { kind, object, reasons, failures, deadline } = request;
        let exact = self.hooks.iter().find(|(own, _)| own.as_ref() == Some(&kind));
        let Some((_, hook)) = exact.or_else(|| self.hooks.iter().find(|(own, _)| own.is_none())) else {
            return Err(Error::permanent("UnknownKind", format!("this plugin has no reconciler for {kind}")));
        };
        Ok((hook.as_ref(), Context::new(host, kind, reasons, failures, deadline), object))
    }
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.hooks.iter().map(|(kind, _)| kind)).finish()
    }
}

fn gvk_of<R: Reconciler>(_: &R) -> Option<Gvk> {
    R::Resource::gvk()
}

/// A reconciler without its type.
trait Hook {
    fn reconcile(&self, ctx: &Context, object: String) -> Result<Outcome, Error>;
    fn finalize(&self, ctx: &Context, object: String) -> Result<Finalized, Error>;
}

impl<R: Reconciler> Hook for R {
    fn reconcile(&self, ctx: &Context, object: String) -> Result<Outcome, Error> {
        Reconciler::reconcile(self, ctx, &R::Resource::from_json(object)?)
    }

    fn finalize(&self, ctx: &Context, object: String) -> Result<Finalized, Error> {
        Reconciler::finalize(self, ctx, &R::Resource::from_json(object)?)
    }
}
