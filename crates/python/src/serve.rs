//! An HTTP server in a thread of this process: the native half of `wootz.llm.serve`.

use crate::errors::raise;
use parking_lot::Mutex;
use pyo3::prelude::*;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use wootz_server::{Offer, Server, ServerOptions, Shutdown};

/// A server that runs until it is closed.
#[pyclass(name = "_Server", module = "wootz._native", frozen)]
pub struct PyServer {
    address: SocketAddr,
    shutdown: Shutdown,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The address and access options, as given from Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Listening {
    host: String,
    port: u16,
    keys: Vec<String>,
    origins: Vec<String>,
}

impl PyServer {
    /// Starts a server; returns once it is listening.
    pub fn start(py: Python<'_>, offers: Vec<Offer>, listening: Listening) -> PyResult<PyServer> {
        let host: IpAddr = listening.host.parse().map_err(|_| {
            raise(
                "ArgumentError",
                format!("serve: '{}' is not an address of a network interface", listening.host),
            )
        })?;
        let options = ServerOptions {
            keys: listening.keys,
            origins: listening.origins,
            ..ServerOptions::new(SocketAddr::new(host, listening.port))
        };
        let (sender, receiver) = sync_channel(1);
        let work = move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return drop(sender.send(Err(error.to_string()))),
            };
            runtime.block_on(async {
                match Server::bind(offers, options).await {
                    Ok(server) => {
                        let _ = sender.send(Ok((server.address(), server.shutdown())));
                        server.run().await;
                    }
                    Err(why) => drop(sender.send(Err(why))),
                }
            });
        };
        let thread = std::thread::Builder::new().name("wootz-serve".into()).spawn(work);
        let thread = thread
            .map_err(|error| raise("ModelError", format!("cannot start the server thread: {error}")))?;
        let started = py.detach(move || receiver.recv());
        let started = started.unwrap_or_else(|_| Err("the server exited before it was listening".into()));
        let (address, shutdown) = started.map_err(|why| raise("ModelError", format!("serve: {why}")))?;
        Ok(PyServer { address, shutdown, thread: Mutex::new(Some(thread)) })
    }
}

#[pymethods]
impl PyServer {
    #[getter]
    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops the server, finishing running requests or aborting them.
    fn close(&self, py: Python<'_>, now: bool) {
        let Some(thread) = self.thread.lock().take() else { return };
        self.shutdown.ask();
        if now {
            self.shutdown.ask();
        }
        // A panic of the thread was printed when it happened.
        let _ = py.detach(|| thread.join());
    }
}

impl Drop for PyServer {
    fn drop(&mut self) {
        // Twice: dropping a server does not wait for its clients.
        self.shutdown.ask();
        self.shutdown.ask();
    }
}
