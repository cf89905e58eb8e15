//! Connections: accepted within limits, and finished before the server exits.

use crate::ServerOptions;
use crate::app::App;
use crate::models::{Models, Offer};
use crate::routes::router;
use crate::stalled::Impatient;
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt;

/// Maximum size of a request head in bytes.
const HEAD_LIMIT: usize = 64 << 10;
/// Maximum number of headers.
const HEADERS: usize = 100;

/// What the system keeps for a client that does not read yet, in bytes; by default it would be megabytes, and a client
/// that has stopped reading noticed only after as many.
const SEND_BUFFER: usize = 64 << 10;

/// Progress of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Running,
    /// Accepted requests are finished.
    Draining,
    /// Everything is aborted.
    Now,
}

/// Shuts a server down from elsewhere: the first call finishes running requests, the second aborts them.
#[derive(Clone)]
pub struct Shutdown(Arc<watch::Sender<Phase>>);

impl Shutdown {
    /// Requests shutdown once more.
    pub fn ask(&self) {
        self.0.send_modify(|phase| {
            *phase = if *phase == Phase::Running { Phase::Draining } else { Phase::Now };
        });
    }

    /// Whether shutdown has been requested.
    pub fn is_asked(&self) -> bool {
        *self.0.borrow() != Phase::Running
    }
}

/// A server bound to its address.
pub struct Server {
    app: Arc<App>,
    models: Arc<Models>,
    listener: TcpListener,
    shutdown: Shutdown,
}

impl Server {
    /// Binds the address and loads the first model; the others are loaded on first request. Port 0 takes any free
    /// port.
    pub async fn bind(models: Vec<Offer>, options: ServerOptions) -> Result<Server, String> {
        let address = options.address;
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|error| format!("cannot listen on {address}: {error}"))?;
        let app = Arc::new(App::new(options));
        let models = Arc::new(Models::new(&app, models)?);
        models.open(None).await.map_err(|problem| problem.message)?;
        let shutdown = Shutdown(Arc::new(watch::channel(Phase::Running).0));
        Ok(Server { app, models, listener, shutdown })
    }

    /// The bound address.
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap_or(self.app.options.address)
    }

    /// The handle that shuts it down.
    pub fn shutdown(&self) -> Shutdown {
        self.shutdown.clone()
    }

    /// Its routes without its connections, for a service that brings its own.
    pub fn router(&self) -> Router {
        router(&self.app, &self.models)
    }

    /// Serves until it is asked to shut down, and everything accepted is answered.
    pub async fn run(self) {
        let router = self.router();
        let graceful = GracefulShutdown::new();
        let room = Arc::new(Semaphore::new(self.app.options.connections));
        let mut phase = self.shutdown.0.subscribe();
        loop {
            // Who finds no room waits in the system's queue.
            let accepted = async {
                let permit = room.clone().acquire_owned().await;
                self.listener.accept().await.map(|(stream, peer)| (stream, peer, permit))
            };
            let accepted = tokio::select! {
                accepted = accepted => accepted,
                _ = phase.wait_for(|phase| *phase != Phase::Running) => break,
            };
            let (stream, peer, permit) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Such as too many open files: others have to close theirs first.
                    tracing::warn!("cannot accept a connection: {error}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let connection = graceful.watch(connection(&self.app, router.clone(), stream, peer));
            tokio::spawn(async move {
                let _permit = permit;
                if let Err(error) = connection.await {
                    tracing::debug!("a connection ended: {error}");
                }
            });
        }
        drop(self.listener);
        self.models.hosts().iter().for_each(|host| host.engine.drain());
        tokio::select! {
            () = graceful.shutdown() => {}
            _ = phase.wait_for(|phase| *phase == Phase::Now) => {
                self.models.hosts().iter().for_each(|host| host.engine.stop());
            }
        }
    }
}

type Connection<S> = hyper::server::conn::http1::Connection<TokioIo<Impatient<TcpStream>>, S>;

/// HTTP on a connection, with limits on what a client may make us wait for and hold.
fn connection(
    app: &Arc<App>,
    router: Router,
    stream: TcpStream,
    peer: SocketAddr,
) -> Connection<
    impl hyper::service::Service<
        hyper::Request<Incoming>,
        Response = axum::response::Response,
        Error = std::convert::Infallible,
        Future: Send,
    > + use<>,
> {
    // Tokens are small, and nobody should wait for more of them.
    let _ = stream.set_nodelay(true);
    let _ = socket2::SockRef::from(&stream).set_send_buffer_size(SEND_BUFFER);
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(ConnectInfo(peer));
        router.clone().oneshot(request)
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(app.options.read_timeout)
        .max_headers(HEADERS)
        .max_buf_size(HEAD_LIMIT)
        .keep_alive(true);
    let stream = Impatient::new(stream, app.options.write_timeout);
    builder.serve_connection(TokioIo::new(stream), service)
}
