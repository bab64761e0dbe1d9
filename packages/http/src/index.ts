// Offers the HTTP of all channels: guarded fetches, bounded bodies, problem details and pages.
export { isLoopbackHost } from './address/loopback.ts'
export { isPublicAddress } from './address/public-address.ts'
export type {
  ByteStoreSystem,
  ChannelModule,
  ConfigDefault,
  DevCallers,
  SimulationAccess,
} from './channel-module.ts'
export { readReply } from './fetch/delivery-reply.ts'
export { createGuardedFetch } from './fetch/guarded-fetch.ts'
export type { HttpResponseStatus } from './fetch/response-status.ts'
export { formatStatus } from './fetch/response-status.ts'
export { parseRetryAfter } from './fetch/retry-after.ts'
export { checkFetchUrl } from './fetch/url-guard.ts'
export { isGuessableSecret } from './guessable-secret.ts'
export type { HotCall, HotHandler } from './hot-route.ts'
export { createHotRoute, findHotHandler } from './hot-route.ts'
export { admitsMedia, detectMedia, findServedType } from './media/media-kind.ts'
export { selectMediaType } from './request/accept.ts'
export { checkDeclaredBody, countBodyIn, readBody, sizeInMemory } from './request/body.ts'
export { hasMoreMembers, parseBoundedJson } from './request/bounded-json.ts'
export { matchesEtag } from './request/etag.ts'
export { parseMediaType } from './request/media-type.ts'
export { networkOf, peerAddress } from './request/peer-address.ts'
export type { HeaderFields, IncomingRequest } from './request/socket-request.ts'
export { SocketRequest } from './request/socket-request.ts'
export type { PageMarkup } from './response/html-page.ts'
export { favicon, faviconPath, htmlPageHeaders, renderHtmlPage } from './response/html-page.ts'
export type { PlainAnswer } from './response/plain-answer.ts'
export { toResponse } from './response/plain-answer.ts'
export { describeProblem, problemStatusOf, toProblem, writeProblem } from './response/problem.ts'
export { sseHeaders, toSseJson } from './response/sse.ts'
export type { BodyReceiver, StreamedBody } from './response/streamed-body.ts'
export { answerWithBody, sendBody, sendStreamedBody } from './response/streamed-body.ts'
