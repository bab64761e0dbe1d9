// Judges the Mentionable agent card (MN-1.4).
import type { Verdict } from '../../checks/finding.ts'
import { failure, ok, warning } from '../../checks/finding.ts'
import type { FetchedObject } from '../view/fetched.ts'
import { asFetchedObject, asList, asText, isHttps, quote } from '../view/fetched.ts'
import type { PeerView } from '../view/peer.ts'
import type { Row } from './row.ts'
import { judgeAnswer } from './row.ts'

const publish = 'Serve the agent card there, without a redirect.'
const transports: ReadonlySet<unknown> = new Set(['https+json', 'https+sse', 'https+jsonrpc'])
const schemes: ReadonlySet<unknown> = new Set(['none', 'oauth2', 'bearer-jwt'])
const semver = /^\d+\.\d+\.\d+([-+].+)?$/

type JudgeCard = (card: FetchedObject, view: PeerView) => Verdict | undefined
type JudgeA2a = (a2a: FetchedObject, view: PeerView) => Verdict | undefined

const ofCard =
  (judge: JudgeCard): Row['judge'] =>
  view =>
    view.card?.document && judge(view.card.document, view)
const ofA2a = (judge: JudgeA2a): Row['judge'] => ofCard(({ a2a }, view) => judge(asFetchedObject(a2a) ?? {}, view))

export const cardRows: readonly Row[] = [
  { id: 'card.answer', section: '§1.4', judge: ({ card }) => card && judgeAnswer(card, 'the agent card', publish) },
  { id: 'card.location', section: '§1.4', judge: ofCard(judgeLocation) },
  { id: 'card.type', section: '§1.4', judge: ofCard(judgeType) },
  { id: 'card.address', section: '§1.4', judge: ofCard(judgeAddress) },
  { id: 'card.protocol_version', section: '§1.4', judge: ofCard(judgeVersion) },
  { id: 'card.names', section: '§1.4', judge: ofCard(judgeNames) },
  { id: 'card.a2a', section: '§1.4', judge: ofCard(judgeSection) },
  { id: 'card.endpoint', section: '§1.4', judge: ofA2a(judgeEndpoint) },
  { id: 'card.transport', section: '§1.4', judge: ofA2a(judgeTransport) },
  { id: 'card.extensions', section: '§1.4, §1.6', judge: ofA2a(judgeExtensions) },
  { id: 'card.modes', section: '§1.4', judge: ofA2a(judgeModes) },
  { id: 'card.auth', section: '§1.4', judge: ofA2a(judgeAuth) },
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

function judgeAddress({ address }: FetchedObject, { address: asked }: PeerView): Verdict {
  const expected = `@${asked.local}@${asked.domain}`
  return asText(address)?.toLowerCase() === expected
    ? ok(`the card belongs to ${expected}`)
    : failure(`the card belongs to ${quote(address)}, not to ${expected}`, `Set "address" to "${expected}".`)
}

function judgeVersion({ protocol_version: version }: FetchedObject): Verdict {
  return version === '0.1'
    ? ok('protocol version 0.1')
    : failure(`"protocol_version" is ${quote(version)}`, 'Set it to "0.1".')
}

function judgeNames({ name, version }: FetchedObject): Verdict {
  if (!asText(name)) return failure('the card has no "name"', 'Set "name" to what people call the agent.')
  return semver.test(asText(version) ?? '')
    ? ok(`it calls itself ${quote(name)}, version ${version}`)
    : warning(`"version" is ${quote(version)}, which is not a semantic version`, 'Write it as "1.0.0".')
}

function judgeSection({ a2a }: FetchedObject): Verdict | undefined {
  return asFetchedObject(a2a)
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
  const listed = asFetchedObject(capabilities)?.extensions
  const uris = asList(listed).map(entry => asFetchedObject(entry)?.uri)
  const wrong = uris.filter(uri => !isHttps(uri))
  if ((listed !== undefined && !Array.isArray(listed)) || wrong.length > 0)
    return failure(
      `extensions without an absolute https "uri": ${wrong.map(quote).join(', ') || quote(listed)}`,
      'Give each extension its URI.',
    )
  const old = uris.filter(uri => String(uri).includes('mentionable.dev/spec/'))
  if (old.length > 0)
    return warning(`extensions by their old names: ${old.map(quote).join(', ')}`, 'Write /ns/ for /spec/.')
  const unknown = uris.filter(uri => !extensionUris.has(String(uri)))
  const note = unknown.length > 0 ? `; unknown to this gateway: ${unknown.map(quote).join(', ')}` : ''
  return ok(`${uris.length} extensions${note}`)
}

function judgeModes({ skills, input_modes: input, output_modes: output }: FetchedObject): Verdict {
  const missing = Object.entries({ skills, input_modes: input, output_modes: output }).filter(
    ([, list]) => !Array.isArray(list),
  )
  return missing.length === 0
    ? ok('skills and modes are listed')
    : warning(`no list: ${missing.map(([name]) => `"a2a.${name}"`).join(', ')}`, 'Add what is missing.')
}

function judgeAuth({ auth }: FetchedObject): Verdict {
  const { scheme, issuer, token_endpoint: tokens } = asFetchedObject(auth) ?? {}
  if (!schemes.has(scheme))
    return failure(`"a2a.auth.scheme" is ${quote(scheme)}`, 'It is one of none, bearer-jwt and oauth2.')
  if (scheme === 'oauth2' && !(isHttps(issuer) && isHttps(tokens)))
    return failure('callers must use OAuth, but "issuer" or "token_endpoint" is not an https address', 'Set both.')
  return ok(scheme === 'none' ? 'callers need no credential' : `callers authenticate by ${scheme}`)
}
