import type { AgentProfile, ChannelContext, IntakeSteps, RefusalPlace } from '@postern/core'
import { hasRefusal, isJsonObject, Rejection, recordRefusal } from '@postern/core'
import { hasMoreMembers, networkOf, parseBoundedJson, parseMediaType, readBody } from '@postern/http'
import { readClaimedSubject } from '@postern/http/tokens'
import type { A2aConfig } from '../config.ts'
import type { FaultName } from '../format/errors.ts'
import { A2aRejection, toFault } from '../format/errors.ts'
import type { ProtocolVersion } from '../format/wire.ts'
import type { Caller, VerifyCaller } from '../verify.ts'

/** One call of one operation. `caller` is proven; `params` is not checked yet. */
export interface Call {
  readonly caller: Caller
  readonly agent: AgentProfile
  /** The peer's network address. */
  readonly from: string
  readonly params: unknown
  /** The whole parsed request as it came (in JSON for gRPC). In JSON-RPC the parameters are one of its members. */
  readonly document: unknown
  readonly bytes: Uint8Array
  readonly binding: 'JSONRPC' | 'HTTP+JSON' | 'GRPC'
  /** The protocol version that the caller speaks. */
  readonly version: ProtocolVersion
  /** The last event that the caller received of an interrupted stream. */
  readonly lastEventId: string | undefined
  /** The caller has activated the replay of events. */
  readonly canReplay: boolean
  /** The checks so far. */
  readonly steps?: IntakeSteps | undefined
  /** The request that it came with. */
  readonly request?: object | undefined
}

export interface EndpointDeps {
  readonly config: A2aConfig
  readonly gateway: ChannelContext
  readonly verifyCaller: VerifyCaller
}

/** A request at the endpoint of an agent. */
export interface IncomingCall {
  readonly request: Request
  /** The agent in the path; undefined means the default agent. */
  readonly agent: string | undefined
  /** `A2A-Version` in the query. */
  readonly versionQuery: string | undefined
  readonly from: string
  /** The checks so far. */
  readonly steps: IntakeSteps
}

/** An admitted call and its operation. */
export interface EnteredCall {
  readonly name: string
  readonly call: Call
  /** Our extensions that the caller activated. */
  readonly extensions: readonly string[]
}

/** Callers without credentials share one owner. Their network tells them apart, because one caller may use many addresses of it. */
export function listenerKeyOf({ caller, from }: Call): string {
  return caller.isAnonymous ? `${caller.owner} ${networkOf(from)}` : caller.owner
}

/** @throws A2aRejection `notFound` */
export function findAddressee(name: string | undefined, { agents }: Pick<ChannelContext, 'agents'>): AgentProfile {
  const agent = agents.find(name ?? agents.defaultAgent ?? '')
  if (!agent) throw new A2aRejection('notFound', 'Agent not found')
  return agent
}

const jsonTypes: ReadonlySet<string> = new Set(['application/json', 'application/a2a+json'])

/** @throws A2aRejection `fault`; `parseError` for a charset that JSON cannot be in (RFC 8259 §8.1) */
export function checkContentType(header: string | null, fault: FaultName): void {
  if (header === 'application/json') return
  const media = parseMediaType(header)
  if (!media || !jsonTypes.has(media.type)) {
    throw new A2aRejection(fault, 'Cannot read request: content type must be application/json')
  }
  const charset = media.parameters.get('charset') ?? 'utf-8'
  if (!/^utf-?8$/i.test(charset)) throw new A2aRejection('parseError', 'Cannot read request: charset must be utf-8')
}

/** @throws Rejection; A2aRejection `mediaTypeNotSupported` for a content coding */
export async function readCallBody(request: Request, { config }: Pick<EndpointDeps, 'config'>): Promise<Uint8Array> {
  try {
    return await readBody(request, config.limits.body_bytes)
  } catch (error) {
    if (!(error instanceof Rejection) || error.code !== 'unsupported') throw error
    throw new A2aRejection('mediaTypeNotSupported', error.message, { cause: error })
  }
}

/**
 * Reads the body as JSON. If a key occurs twice, the last one counts. @throws A2aRejection `parseError`; `invalidParams` for JSON that is
 * too deep or has too many members
 */
export function parseCallBody(bytes: Uint8Array): unknown {
  if (hasMoreMembers(bytes, maxMembers)) {
    throw new A2aRejection('invalidParams', `Cannot read request: more than ${maxMembers} members and items`)
  }
  try {
    return parseBoundedJson(bytes, { maxDepth, what: 'request' })
  } catch (cause) {
    if (!(cause instanceof Rejection)) throw cause
    throw new A2aRejection(/nested deeper/.test(cause.message) ? 'invalidParams' : 'parseError', cause.message, {
      cause,
    })
  }
}

const maxDepth = 64

/** Members and items in all. A message of a thousand parts has far fewer. */
const maxMembers = 50_000

/** An extension of the card (A2A §4.4.4). */
export interface Extension {
  readonly uri: string
  readonly description?: string | undefined
  readonly required?: boolean | undefined
}

/** Events have ids, and an interrupted stream continues after `Last-Event-ID`. */
export const replayExtension = 'urn:postern:a2a:event-replay:v1'

/** Mentionable, PolicyParts v0.1. */
const policyExtension = 'https://mentionable.dev/ns/policy/v0.1'

/** Mentionable, A2A tool events v0.1. */
const toolEventsExtension = 'https://mentionable.dev/ns/a2a-tool-events/v0.1'

/** The extensions we understand. Others are ignored. */
export const supportedExtensions: readonly Extension[] = [
  {
    uri: replayExtension,
    description: 'Events of a stream bear ids; SubscribeToTask with Last-Event-ID goes on behind the one it names.',
  },
  {
    uri: toolEventsExtension,
    description: 'Tools that an agent ran are data parts of the types tool-call, tool-result and tool-error.',
  },
  {
    uri: policyExtension,
    description:
      'What an agent requires or refuses is a PolicyPart: a data part with metadata.mentionable.kind "policy".',
  },
]

/** All of these, with the enabled extensions of identity. */
export function listOfferedExtensions({ identity }: Pick<ChannelContext, 'identity'>): readonly Extension[] {
  return identity && identity.extensions.length > 0
    ? [...supportedExtensions, ...identity.extensions]
    : supportedExtensions
}

const maxHeader = 8 * 1024
const maxNamed = 64

/**
 * The extensions that the caller activated; the answer echoes them. Unknown ones, and those beyond the bounds, are ignored (A2A §4.6).
 * @throws A2aRejection `extensionSupportRequired`
 */
export function negotiateExtensions(
  header: string | null,
  supported: readonly Extension[] = supportedExtensions,
): readonly string[] {
  if (header === null && !supported.some(({ required }) => required)) return []
  const named = new Set(
    (header ?? '')
      .slice(0, maxHeader)
      .split(',', maxNamed)
      .map(uri => uri.trim()),
  )
  const missing = supported.find(({ uri, required }) => required && !named.has(uri))
  if (missing) {
    throw new A2aRejection('extensionSupportRequired', `Cannot take request: extension "${missing.uri}" is required`)
  }
  return supported.map(({ uri }) => uri).filter(uri => named.has(uri))
}

/** The header in which callers name extensions and the gateway names the active ones. */
export const extensionHeaders: Readonly<Record<ProtocolVersion, string>> = {
  '1.0': 'a2a-extensions',
  '0.3': 'x-a2a-extensions',
}

/** Where the interrupted caller continues, if it activated replay. */
export function readReplay(headers: Headers, extensions: readonly string[]): Pick<Call, 'lastEventId' | 'canReplay'> {
  const canReplay = extensions.includes(replayExtension)
  return { canReplay, lastEventId: canReplay ? (headers.get('last-event-id') ?? undefined) : undefined }
}

/** Where a call came in, as the operator's list names it. */
interface CallPlace {
  readonly from: string
  readonly binding: Call['binding']
  readonly steps: IntakeSteps
  /** One object for one call. */
  readonly request: object
}

const statusOf = (error: unknown) => toFault(error).row.http

/** What the operator's list keeps of a call that is not taken. */
export function placeOf({ from, binding, steps, request }: CallPlace): RefusalPlace {
  return { from, endpoint: `A2A ${binding}`, statusOf, request, ...steps.claims() }
}

/** Remembers what was refused before an operation began. */
export function recordCall(error: unknown, place: CallPlace, { store, platform }: ChannelContext): void {
  recordRefusal(error, 'a2a', { store, platform, ...placeOf(place) })
}

/** Remembers what failed for no fault of the caller's, unless it is remembered already. */
export function recordFailure(error: unknown, place: CallPlace, gateway: ChannelContext): void {
  if (statusOf(error) >= 500 && !hasRefusal(place.request)) recordCall(error, place, gateway)
}

/** Whom a call claims to be from, for whom it is, and of which trace. */
export function claimCall(steps: IntakeSteps, { headers }: { readonly headers: Headers }, agent?: string): void {
  const sender = readClaimedSubject(headers)
  steps.calledFrom(headers.get('traceparent') ?? undefined)
  steps.claim({ agent, ...(sender !== undefined && { claimed_sender: sender }) })
}

/** The caller's id of the message that a call brings. */
export function claimMessage(steps: IntakeSteps, params: unknown): void {
  const message = isJsonObject(params) ? params.message : undefined
  const id = isJsonObject(message) ? (message.messageId ?? message.message_id) : undefined
  if (typeof id === 'string') steps.claim({ peer_id: id })
}

/** The version of a caller that names none (A2A §3.6.2). */
const unnamedVersion = '0.3'

const majorMinor = /^(\d{1,3}\.\d{1,3})(\.\d{1,6})?$/

/** What the caller names, and what the endpoint offers. */
interface VersionOffer {
  readonly header: string | null
  readonly query: string | null | undefined
  readonly offered: readonly ProtocolVersion[]
}

/**
 * The version in the header or query, without its patch number. It never falls back silently (A2A §3.6). @throws A2aRejection
 * `versionNotSupported`
 */
export function negotiateVersion({ header, query, offered }: VersionOffer): ProtocolVersion {
  if (header === '1.0' && !query) return header
  const named = [header, query].filter(Boolean).map(text => majorMinor.exec((text as string).trim())?.[1])
  const wanted = named.length > 0 ? named[0] : unnamedVersion
  const version = offered.find(each => each === wanted)
  if (version !== undefined && named.every(other => other === version)) return version
  const problem = `${describeProblem(named)}; this agent speaks ${offered.join(', ')}`
  throw new A2aRejection('versionNotSupported', `Cannot take request: ${problem}`)
}

function describeProblem(named: readonly (string | undefined)[]): string {
  if (named.length === 0) return 'A2A-Version is absent, which means 0.3'
  return named.length > 1 && named[0] !== named[1] ? 'two A2A versions named' : 'A2A-Version is not supported'
}

/** JSON with sorted members: one text for one value, whatever the writer. */
export function toCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.keys(value)
    .sort()
    .map(name => `${JSON.stringify(name)}:${toCanonicalJson((value as Readonly<Record<string, unknown>>)[name])}`)
  return `{${members.join(',')}}`
}
