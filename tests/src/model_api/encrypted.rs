//! The server with certificates of the tests' own authority, which no system knows.

use std::sync::Arc;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use super::{Closed, ModelApi, respond};

impl ModelApi {
    /// Starts a server on a free port that speaks TLS. It shows `certificate`, whose key is `key`, and
    /// takes only clients whose certificate is of `clients`, if that is given; all in PEM.
    pub fn encrypted(certificate: &str, key: &str, clients: Option<&str>) -> Self {
        let acceptor = TlsAcceptor::from(Arc::new(config(certificate, key, clients)));
        Self::started("https", |listener, shared| async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    continue;
                };
                let (acceptor, shared) = (acceptor.clone(), Arc::clone(&shared));
                tokio::spawn(async move {
                    // Whoever does not agree on a certificate has nothing to say.
                    let Ok(stream) = acceptor.accept(stream).await else {
                        return;
                    };
                    let service = service_fn(|request| async {
                        respond(&shared, request).await.ok_or(Closed)
                    });
                    // How a connection ends is the script's doing or the client's.
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        })
    }
}

fn config(certificate: &str, key: &str, clients: Option<&str>) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the versions of the library");
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(authority) {
                roots.add(certificate).expect("an authority's certificate");
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().expect("one authority or more"))
        }
    };
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key in PEM");
    builder
        .with_single_cert(certificates(certificate), key)
        .expect("the key is the certificate's")
}

fn certificates(pem: &str) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .expect("certificates in PEM")
}
