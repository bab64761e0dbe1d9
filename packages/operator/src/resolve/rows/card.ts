// Judges the Mentionable agent card (MN-1.4).
import type { Verdict } from '../../checks/verdict.ts'
import { failure, ok, warning } from '../../checks/verdict.ts'
import type { PeerView } from '../view/peer.ts'
import type { FetchedObject } from '../view/peer-fetch.ts'
import { isHttps, listOrEmpty, objectOrUndefined, quote, textOrUndefined } from '../view/peer-fetch.ts'
import type { AddressCheck } from './row.ts'
import { judgeAvailability } from './row.ts'

const publishFix = 'Serve the agent card there, without a redirect.'
const transports: ReadonlySet<unknown> = new Set(['https+json', 'https+sse', 'https+jsonrpc'])
const authSchemes: ReadonlySet<unknown> = new Set(['none', 'oauth2', 'bearer-jwt'])
const semver = /^\d+\.\d+\.\d+([-+].+)?$/

type JudgeObject = (card: FetchedObject, view: PeerView) => Verdict | undefined

const withCard =
  (judge: JudgeObject): AddressCheck['judge'] =>
  view =>
    view.card?.document && judge(view.card.document, view)
const withA2aSection = (judge: JudgeObject): AddressCheck['judge'] =>
  withCard(({ a2a }, view) => judge(objectOrUndefined(a2a) ?? {}, view))

export const cardRows: readonly AddressCheck[] = [
  {
    id: 'card.answer',
    section: '§1.4',
    judge: ({ card }) => card && judgeAvailability(card, 'the agent card', publishFix),
  },
  { id: 'card.location', section: '§1.4', judge: withCard(judgeLocation) },
  { id: 'card.type', section: '§1.4', judge: withCard(judgeType) },
  { id: 'card.address', section: '§1.4', judge: withCard(judgeAddress) },
  { id: 'card.protocol_version', section: '§1.4', judge: withCard(judgeVersion) },
  { id: 'card.names', section: '§1.4', judge: withCard(judgeNames) },
  { id: 'card.a2a', section: '§1.4', judge: withCard(judgeA2aSection) },
  { id: 'card.endpoint', section: '§1.4', judge: withA2aSection(judgeEndpoint) },
  { id: 'card.transport', section: '§1.4', judge: withA2aSection(judgeTransport) },
  { id: 'card.extensions', section: '§1.4, §1.6', judge: withA2aSection(judgeExtensions) },
  { id: 'card.modes', section: '§1.4', judge: withA2aSection(judgeModes) },
  { id: 'card.auth', section: '§1.4', judge: withA2aSection(judgeAuth) },
]

function judgeLocation(_: FetchedObject, { card, address }: PeerView): Verdict | undefined {
  const path = card && URL.parse(card.url)?.pathname
  if (path?.toLowerCase() === `/.well-known/agent-card/${encodeURIComponent(address.local)}`) return undefined
  return warning(
    `the card is at ${quote(path)}, not at /.well-known/agent-card/${address.local}`,
    'Serve it at the well-known path, too, because some readers do not ask WebFinger.',
  )
}

function judgeType(_: FetchedObject, { card }: PeerView): Verdict | undefined {
  if (card?.type === 'application/json') return undefined
  return warning(`the content type of the card is ${quote(card?.type)}`, 'Serve it as application/json.')
}

function judgeAddress({ address }: FetchedObject, { address: requested }: PeerView): Verdict {
  const expected = `@${requested.local}@${requested.domain}`
  return textOrUndefined(address)?.toLowerCase() === expected
    ? ok(`the card belongs to ${expected}`)
    : failure(`the card belongs to ${quote(address)}, not to ${expected}`, `Set "address" to "${expected}".`)
}

function judgeVersion({ protocol_version: version }: FetchedObject): Verdict {
  return version === '0.1'
    ? ok('protocol version 0.1')
    : failure(`"protocol_version" is ${quote(version)}`, 'Set it to "0.1".')
}

function judgeNames({ name, version }: FetchedObject): Verdict {
  if (!textOrUndefined(name)) return failure('the card has no "name"', 'Set "name" to what people call the agent.')
  return semver.test(textOrUndefined(version) ?? '')
    ? ok(`it calls itself ${quote(name)}, version ${version}`)
    : warning(`"version" is ${quote(version)}, which is not a semantic version`, 'Write it as "1.0.0".')
}

function judgeA2aSection({ a2a }: FetchedObject): Verdict | undefined {
  return objectOrUndefined(a2a)
    ? undefined
    : failure('the card has no section "a2a"', 'Add it, with "endpoint" and "transport".')
}

function judgeEndpoint({ endpoint }: FetchedObject): Verdict {
  return isHttps(endpoint)
    ? ok(`the endpoint is ${endpoint}`)
    : failure(
        `the endpoint is ${quote(endpoint)}, which is not an https address`,
        'Set "a2a.endpoint" to an https address.',
      )
}

function judgeTransport({ transport }: FetchedObject): Verdict {
  return transports.has(transport)
    ? ok(`the transport is ${transport}`)
    : failure(`"a2a.transport" is ${quote(transport)}`, 'It is one of https+json, https+sse and https+jsonrpc.')
}

/** Judges the extensions. An unknown one is not a fault, but one without a valid URI is. */
function judgeExtensions({ capabilities }: FetchedObject, { extensionUris }: PeerView): Verdict {
  const listedExtensions = objectOrUndefined(capabilities)?.extensions
  const uris = listOrEmpty(listedExtensions).map(entry => objectOrUndefined(entry)?.uri)
  const invalidUris = uris.filter(uri => !isHttps(uri))
  if ((listedExtensions !== undefined && !Array.isArray(listedExtensions)) || invalidUris.length > 0)
    return failure(
      `extensions without an absolute https "uri": ${invalidUris.map(quote).join(', ') || quote(listedExtensions)}`,
      'Give each extension its URI.',
    )
  const formerUris = uris.filter(uri => String(uri).includes('mentionable.dev/spec/'))
  if (formerUris.length > 0)
    return warning(`extensions by their old names: ${formerUris.map(quote).join(', ')}`, 'Write /ns/ for /spec/.')
  const unknownUris = uris.filter(uri => !extensionUris.has(String(uri)))
  const note = unknownUris.length > 0 ? `; unknown to this gateway: ${unknownUris.map(quote).join(', ')}` : ''
  return ok(`${uris.length} extensions${note}`)
}

function judgeModes({ skills, input_modes: input, output_modes: output }: FetchedObject): Verdict {
  const missingLists = Object.entries({ skills, input_modes: input, output_modes: output }).filter(
    ([, list]) => !Array.isArray(list),
  )
  return missingLists.length === 0
    ? ok('skills and modes are listed')
    : warning(`no list: ${missingLists.map(([name]) => `"a2a.${name}"`).join(', ')}`, 'Add what is missing.')
}

function judgeAuth({ auth }: FetchedObject): Verdict {
  const { scheme, issuer, token_endpoint: tokenEndpoint } = objectOrUndefined(auth) ?? {}
  if (!authSchemes.has(scheme))
    return failure(`"a2a.auth.scheme" is ${quote(scheme)}`, 'It is one of none, bearer-jwt and oauth2.')
  if (scheme === 'oauth2' && !(isHttps(issuer) && isHttps(tokenEndpoint)))
    return failure('callers must use OAuth, but "issuer" or "token_endpoint" is not an https address', 'Set both.')
  return ok(scheme === 'none' ? 'callers need no credential' : `callers authenticate by ${scheme}`)
}
