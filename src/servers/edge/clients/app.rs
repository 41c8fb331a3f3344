//! The requests of clients: who answers, and what.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Request, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use roster_engine::model::Text;

use super::{
    accept::AcceptedForm,
    discovery::DiscoveryDocument,
    read_response::{self, JsonList, ListPieces},
    target::{CachedRead, ReadScope, RequestTarget},
    watch_stream::{WatchContext, WatchStream},
};
use crate::runtime::{
    allowed_hosts::AllowedHosts,
    net::{Exchange, Health},
    places::Places,
    status_error::StatusError,
    telemetry::traces::Span,
};
use crate::servers::edge::{
    access::{
        access_reviews::AccessReviews,
        access_table::AccessQuestion,
        caller::Caller,
        client_certificates::ClientCertificates,
        watch_permission::{StillValid, WatchPermission},
    },
    cache::{edge_cache::EdgeCache, scheme::EdgeScheme},
    encoding::{body_encoding::BodyEncoding, protobuf_list::ProtobufLists},
    metrics::EdgeMetrics,
    upstream::proxy::{ForwardError, Proxy, RETRY, too_many},
};

/// What the requests of a node proxy share.
#[derive(Debug)]
pub(crate) struct EdgeApp {
    pub(crate) node: Text,
    pub(crate) scheme: EdgeScheme,
    pub(crate) cache: Arc<EdgeCache>,
    pub(crate) proxy: Proxy,
    pub(crate) access: Arc<AccessReviews>,
    /// Knows clients by their certificates, if they may have some.
    pub(crate) certificates: Option<ClientCertificates>,
    pub(crate) slots: Places,
    pub(crate) protobuf_lists: Arc<ProtobufLists>,
    pub(crate) metrics: EdgeMetrics,
    pub(crate) health: Health,
    pub(crate) hosts: Option<AllowedHosts>,
}

/// Who makes the response to a read.
enum Responder {
    Cache(BodyEncoding),
    ApiServer,
    /// The API server, or the cache while it is away.
    ApiServerOrCache,
}

/// All paths.
pub(crate) fn router(app: Arc<EdgeApp>) -> Router {
    Router::new().fallback(respond).with_state(app)
}

async fn respond(State(app): State<Arc<EdgeApp>>, request: Request) -> Response {
    app.respond(request).await.unwrap_or_else(IntoResponse::into_response)
}

impl EdgeApp {
    async fn respond(&self, request: Request) -> Result<Response, StatusError> {
        if let Some(hosts) = &self.hosts {
            hosts
                .check(request.uri(), request.headers())
                .map_err(|error| StatusError::new(StatusCode::FORBIDDEN, "Forbidden", error.to_string()))?;
        }
        let target = RequestTarget::read(request.method(), request.uri(), &self.node)?;
        match target {
            RequestTarget::Live => return Ok("ok".into_response()),
            RequestTarget::Ready => return self.ready().map(|()| "ok".into_response()),
            _ => {}
        }
        Span::of(request.extensions()).rename(|| target.span_name());
        let exchange = Exchange::of(request.extensions());
        let certificates = self.certificates.as_ref().zip(exchange.client.as_ref());
        let user = certificates.map(|(certificates, client)| certificates.user(client)).transpose()?;
        let caller = Caller::of(request.headers(), user)?;
        match target {
            RequestTarget::Read(read) => match self.responder(&read, &request)? {
                Responder::Cache(encoding) => self.read(read, encoding, &caller, request.headers(), &exchange).await,
                Responder::ApiServer => self.forward_form(&caller, request).await,
                Responder::ApiServerOrCache => {
                    let headers = request.headers().clone();
                    match self.forward(&caller, request).await {
                        Err(ForwardError::OutOfReach(_)) => {
                            self.read(read, BodyEncoding::Json, &caller, &headers, &exchange).await
                        }
                        response => Ok(response?),
                    }
                }
            },
            RequestTarget::Discovery(document) => self.discover(document, &caller, request).await,
            _ => Ok(self.forward(&caller, request).await?),
        }
    }

    fn ready(&self) -> Result<(), StatusError> {
        self.synced()?;
        if self.health.is_running() { Ok(()) } else { Err(StatusError::busy("starting or stopping")) }
    }

    fn synced(&self) -> Result<(), StatusError> {
        self.cache.synced().map_err(|why| StatusError::busy(why).retry_after(RETRY))
    }

    /// Who answers a read: the forms that only the API server makes come from there. A CBOR or YAML client of a resource that
    /// is pruned gets none: the API server would send it everything.
    fn responder(&self, read: &CachedRead, request: &Request) -> Result<Responder, StatusError> {
        match AcceptedForm::of(request.headers()) {
            AcceptedForm::Json => Ok(Responder::Cache(BodyEncoding::Json)),
            AcceptedForm::Protobuf => Ok(Responder::Cache(BodyEncoding::Protobuf)),
            AcceptedForm::ApiServerFormOrJson => Ok(Responder::ApiServerOrCache),
            AcceptedForm::OtherEncoding if self.scheme.prunes(read.resource) => Err(not_acceptable()),
            AcceptedForm::ApiServerForm | AcceptedForm::OtherEncoding => Ok(Responder::ApiServer),
        }
    }

    /// Answers from the cache.
    async fn read(
        &self,
        read: CachedRead,
        encoding: BodyEncoding,
        caller: &Caller,
        headers: &axum::http::HeaderMap,
        exchange: &Exchange,
    ) -> Result<Response, StatusError> {
        self.access.check(caller, headers, &read, exchange).await?;
        exchange.credit();
        self.synced()?;
        let question = AccessQuestion::of(caller, &read)?;
        let CachedRead { resource, scope, options } = read;
        if let ReadScope::Object(name) = scope {
            let found = self.cache.get(resource, &name).ok_or_else(|| read_response::not_found(resource, &name))?;
            let response = read_response::object(resource, &found, encoding);
            return response.map_err(|error| self.metrics.unencodable.report(resource, &found, &error));
        }
        if !options.is_watch {
            let list = self.cache.list(resource, options.selection.namespace.as_ref());
            let list = list.selected(&options.selection).await;
            options.check_list_version(list.version)?;
            let pieces = match encoding {
                BodyEncoding::Json => ListPieces::Json(JsonList::new(resource, list)),
                BodyEncoding::Protobuf => {
                    ListPieces::Protobuf(self.protobuf_lists.begin(resource, list, caller.digest()?).await?)
                }
            };
            return Ok(read_response::list(pieces));
        }
        let Some(slot) = self.slots.take(Some(question.caller), ()) else {
            exchange.forfeit_credit();
            return Err(too_many("watches"));
        };
        let permission = WatchPermission::begin(&self.access, caller, question, self.still_valid(exchange))?;
        let context = WatchContext {
            encoding,
            cache: self.cache.clone(),
            stopping: Box::pin(self.health.stopping()),
            metrics: self.metrics.clone(),
            slot,
            permission,
        };
        Ok(WatchStream::begin(resource, options, context).await?.into_response())
    }

    /// Whether the client still has a certificate that counts, if it has shown one.
    fn still_valid(&self, exchange: &Exchange) -> StillValid {
        match self.certificates.clone().zip(exchange.client.clone()) {
            Some((certificates, client)) => Box::new(move || certificates.user(&client).is_ok()),
            None => Box::new(|| true),
        }
    }

    /// Passes a request on to the API server. A certificate cannot be passed on, and the proxy never lends its own identity.
    async fn forward(&self, caller: &Caller, request: Request) -> Result<Response, ForwardError> {
        match caller {
            Caller::Header(_) => self.proxy.forward(caller.digest().ok(), request).await,
            Caller::Certificate(_) => Err(ForwardError::OutOfReach(not_passed_on())),
        }
    }

    /// Asks the API server for a form that is not stored here.
    async fn forward_form(&self, caller: &Caller, request: Request) -> Result<Response, StatusError> {
        match self.forward(caller, request).await {
            Err(ForwardError::OutOfReach(_)) => Err(not_acceptable()),
            response => Ok(response?),
        }
    }

    /// Asks the API server for its resources; while it is away, those that are cached are known. Others are of no use to a
    /// client with a certificate.
    async fn discover(
        &self,
        document: DiscoveryDocument,
        caller: &Caller,
        request: Request,
    ) -> Result<Response, StatusError> {
        match self.forward(caller, request).await {
            Err(ForwardError::OutOfReach(_)) => Ok(Json(document.offline()).into_response()),
            response => Ok(response?),
        }
    }
}

fn not_passed_on() -> StatusError {
    let message = "a client certificate cannot be passed on to the API server: a client with one reads what is cached here, and \
                   nothing else; use a token for other requests";
    StatusError::new(StatusCode::FORBIDDEN, "Forbidden", message)
}

fn not_acceptable() -> StatusError {
    let message = format!(
        "only JSON and protobuf are served here; the header {} does not allow them as they are",
        header::ACCEPT
    );
    StatusError::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
}
