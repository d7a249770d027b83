//! The server at which Jobs hand objects over.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::AppError;
use crate::cli::run::RunArgs;
use crate::cluster::fence::Fence;
use crate::handover::authority::{Authority, of_this_pod};
use crate::handover::serve::serve;
use crate::handover::table::{Handovers, Metrics};
use crate::health::tls::TlsListener;
use crate::object::ObjectKey;
use crate::telemetry::SharedRegistry;

/// What is handed over, and whom to call when something has been.
pub(super) type Opened = (Option<Arc<Handovers>>, mpsc::UnboundedReceiver<Vec<ObjectKey>>);

const WHAT: &str = "handovers";
/// How long parts of objects may take to be taken back.
const GRACE: std::time::Duration = std::time::Duration::from_secs(5);

/// Serves them, where the flags say so.
pub(super) async fn handovers(
    args: &RunArgs,
    registry: &SharedRegistry,
    fence: &Fence,
    tasks: &mut JoinSet<AppError>,
) -> Result<Opened, AppError> {
    let failed = |source| AppError::Serve { what: WHAT, source };
    let Some(listener) = args.handover_bind_address.bind().await.map_err(failed)? else {
        // The sender is kept with the task that reads, which never ends.
        let (sender, called) = mpsc::unbounded_channel();
        tasks.spawn(async move {
            sender.closed().await;
            AppError::Ended(WHAT.to_owned())
        });
        return Ok((None, called));
    };
    let port = listener.local_addr().map_err(failed)?.port();
    let own = args.pod_ip.map(|address| of_this_pod(address, port));
    let unknown = || AppError::Config {
        path: "--handover-url".to_owned(),
        message: "say how Jobs reach the host: outside a pod it has no address of its own".to_owned(),
    };
    let url = args.handover_url.clone().or(own).ok_or_else(unknown)?;
    let wrong = |message: String| AppError::Config { path: "--handover-url".to_owned(), message };
    let (authority, certificate) = Authority::new(&url).map_err(|error| wrong(error.to_string()))?;
    let listener = TlsListener::new(listener, certificate).map_err(|error| wrong(error.to_string()))?;
    let (table, called) = Handovers::new(authority, fence.clone(), Metrics::register(registry));
    tracing::info!(url, "objects are handed over");
    tasks.spawn(super::named(WHAT, serve(listener, Arc::clone(&table))));
    Ok((Some(table), called))
}

/// Parts of objects cost money, so they are taken back before the host ends.
pub(super) async fn close(table: Option<&Arc<Handovers>>) {
    if let Some(table) = table
        && tokio::time::timeout(GRACE, table.close_all()).await.is_err()
    {
        tracing::warn!("objects under way were not taken back in time; the next writer of each does it");
    }
}
