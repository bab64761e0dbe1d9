export { isPublicAddress } from './address/public-address.ts'
export type { ChannelModule, ConfigFilling, SimulatedPlaces } from './channel-module.ts'
export { isGuessableSecret } from './channel-module.ts'
export { parseRetryAfter, readReply } from './fetch/exchange.ts'
export { checkFetchUrl, createGuardedFetch } from './fetch/guarded-fetch.ts'
export { admitsMedia, detectMedia, findServedType } from './media/media-kind.ts'
export {
  acceptsType,
  checkDeclaredBody,
  countBodyIn,
  hasMoreMembers,
  matchesEtag,
  networkOf,
  parseBoundedJson,
  parseMediaType,
  peerAddress,
  readBody,
} from './request.ts'
export { problemStatusOf, sseHeaders, toProblem, toSseJson, writeProblem } from './response/answers.ts'
export type { PageMarkup } from './response/html-page.ts'
export { favicon, faviconPath, htmlPageHeaders, renderHtmlPage } from './response/html-page.ts'
