//! The smallest plugin that is worth reading.
use kube::CustomResource;
use pilothouse_sdk::{Context, Error, Outcome, Reconciler};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// x
#[derive(CustomResource, Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[kube(group = "hello.pilothouse.dev", version = "v1alpha1", kind = "Hello", namespaced, status = "HelloStatus")]
pub struct HelloSpec { greeting: String }
/// y
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, Default)]
pub struct HelloStatus { url: Option<String> }
struct R;
impl Reconciler for R { type Resource = Hello;
 fn reconcile(&self, ctx: &Context, o: &Hello) -> Result<Outcome, Error> { pilothouse_sdk::info!(ctx, a = 3, "hi {}", o.spec.greeting);
 let _x = ctx.kube().get::<k8s_openapi::api::apps::v1::Deployment>("a", "b")?;
 let _y = ctx.kube().list::<k8s_openapi::api::core::v1::Node>(None).labels("").all()?;
 Ok(Outcome::ready()) } }
pilothouse_sdk::export!(R);
