// Gives the routes of the web chat their dependencies, limits and parsed requests.
import { parseBoundedJson, readBody, toProblem, writeProblem } from '@postern/http'
import type { ScopeTable } from '@postern/http/tokens'
import type { ResponseSemaphore } from '@postern/limits'
import { createOpenCount } from '@postern/limits'
import { isJsonObject, Rejection } from '@postern/message'
import type { ChannelContext } from '@postern/pipeline'
import type { OwnerQuota, RecordQuota, RecordStore, ThreadAlias, ThreadKey, TranscriptStore } from '@postern/transcript'
import type { Context, MiddlewareHandler } from 'hono'
import type { WebAttachments } from './attachments/attachment-store.ts'
import type { WebConfig } from './config.ts'
import type { TurnPolls } from './polling/turn-polls.ts'
import type { VerifyOwner, WebOwner } from './verify.ts'

/** The dependencies of the routes of the web chat. */
export interface WebDeps {
  readonly config: WebConfig
  readonly gateway: ChannelContext
  readonly verifyOwner: VerifyOwner
  /** The configured names of the A2A scopes. */
  readonly scopes?: Partial<ScopeTable> | undefined
  /** The semaphore that is acquired before anything that may load many bytes. */
  readonly responseSemaphore: ResponseSemaphore
  readonly attachments: WebAttachments
  readonly transcript: BoundTranscript
  /** The same transcript, which refuses writes beyond `quota`. */
  readonly limitedTranscript: BoundTranscript
  readonly quota: OwnerQuota
  /** Deletes one chat. Returns false if there is none. */
  forgetChat(chat: { readonly owner: string; readonly agent: string; readonly key: string }): Promise<boolean>
  readonly records: RecordStore & RecordQuotas
  /** A signal that is aborted when the gateway stops, because a stream without an end would delay the stop. */
  readonly shutdownSignal: AbortSignal
  readonly turnPolls: TurnPolls
  /** Returns true if people may link their addresses for this agent. */
  isLinking(agent: string): boolean
}

/** The transcript, whose threads can be bound to conversations of the store. */
export interface BoundTranscript extends TranscriptStore {
  /** Finds the thread with this alias and the conversation that belongs to it, and writes nothing. */
  findBinding(
    owner: string,
    alias: ThreadAlias,
    conversation: StoreConversation,
  ): Promise<{ readonly thread: ThreadKey | undefined; readonly hasConversation: boolean }>
  /**
   * Opens a thread with a conversation of the store. If another thread has this alias already, binds the conversation to that thread. Returns undefined
   * if there is neither such a thread nor such a conversation.
   */
  openBound(owner: string, alias: ThreadAlias, conversation: StoreConversation): Promise<ThreadKey | undefined>
  /** Binds a conversation to a thread. With `reader`, it shows only messages of these principals and the answers to them. */
  bindStore(thread: ThreadKey, conversation: StoreConversation | number, reader?: readonly string[]): Promise<boolean>
  /** Reads the usage of an owner. Runs count as entries. */
  readUsage(owner: string): Promise<OwnerQuota>
  /**
   * Checks that the owner may add this much.
   * @throws Rejection too_large
   */
  checkQuota(owner: string, added: OwnerQuota, limits: OwnerQuota): Promise<void>
}

interface StoreConversation {
  readonly agent: string
  readonly via: string
  readonly scope: string
  readonly key: string
}

/** The part of the record store that counts the conversations of agents for one person. */
export interface RecordQuotas {
  readQuota(owner: string): Promise<RecordQuota>
}

/** Returns the transcript with a quota for each owner. A write beyond the quota changes nothing and is refused with `too_large`. */
export function limitTranscript(transcript: BoundTranscript, limits: OwnerQuota): BoundTranscript {
  return {
    ...transcript,
    openThread: (owner, alias) => transcript.openThread(owner, alias, limits),
    append: (thread, entries, request) => transcript.append(thread, entries, { ...request, quota: limits }),
    replace: (thread, entries, request) => transcript.replace(thread, entries, { ...request, quota: limits }),
  }
}

/** The path prefixes of the routes for the default agent and for an agent that the path names. */
export const agentPaths = ['/api/v1/agent', '/api/v1/agents/:agent'] as const

/** The maximum number of bytes of a thread that one read loads, so that a long conversation never fills the memory. */
export const maxThreadBytes = 16 * 1024 * 1024

/**
 * Creates the CORS middleware, which admits pages of these origins only (Fetch standard, CORS protocol). Credentials are bearer tokens, never
 * cookies.
 */
export function answerCors(origins: readonly string[]): MiddlewareHandler {
  const allowedOrigins = new Set(origins)
  return async (c, next) => {
    const origin = c.req.header('origin')
    const isAllowed = origin !== undefined && allowedOrigins.has(origin)
    if (c.req.method === 'OPTIONS' && isAllowed) {
      return c.body(null, 204, {
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'GET, POST, PUT, DELETE',
        // `*` covers every header except Authorization (Fetch standard), and older browsers do not know it.
        'access-control-allow-headers': 'authorization, dpop, content-type, accept, *',
        'access-control-max-age': '600',
        vary: 'Origin',
      })
    }
    await next()
    // `c.header` would build the answer again for each field.
    const { headers } = c.res
    headers.append('vary', 'Origin')
    if (isAllowed) {
      headers.set('access-control-allow-origin', origin)
      headers.set('access-control-expose-headers', 'retry-after, www-authenticate, dpop-nonce')
    }
    return undefined
  }
}

/**
 * Returns the name of the addressed agent, or of the default agent.
 * @throws Rejection no_recipient
 */
export function readAddressedAgent(agentName: string | undefined, { gateway }: Pick<WebDeps, 'gateway'>): string {
  const name = agentName ?? gateway.agents.defaultAgent
  const agent = name === undefined ? undefined : gateway.agents.find(name)
  if (!agent) throw new Rejection('no_recipient', 'Cannot run: there is no such agent')
  return agent.name
}

export type OwnerLimit = ReturnType<typeof createOpenCount>

/** Creates the limit on an owner's simultaneous runs, streams or uploads. The returned function throws a Rejection `rate_limited` beyond the limit. */
export function createOwnerLimit(maxOpen: number, refusal = 'Cannot run: too many runs are open'): OwnerLimit {
  return createOpenCount(maxOpen, () => new Rejection('rate_limited', refusal, { retryAfter: 5 }))
}

/** Returns true if the client accepts server-sent events. Wildcards and `application/json` count too. */
export function acceptsStream(accept = ''): boolean {
  return accept === '' || /text\/event-stream|text\/\*|\*\/\*|application\/json/i.test(accept)
}

/** The error for a run whose id is in use already, because no run is started twice. */
export class RepeatedRun extends Error {
  override readonly name = 'RepeatedRun'
}

/** Creates a route whose errors become problem details. */
export function withErrorResponses({ gateway }: Pick<WebDeps, 'gateway'>, handle: (c: Context) => Promise<Response>) {
  return async (c: Context): Promise<Response> => {
    try {
      return await handle(c)
    } catch (error) {
      if (!(error instanceof RepeatedRun)) return toProblem(error, gateway.system.log)
      return writeProblem(409, { code: 'run_repeated', detail: 'Cannot run: this run was started already' })
    }
  }
}

export const noStore = { 'cache-control': 'no-store' }

/** Creates a route for callers with a credential. It answers JSON, or 404 when `handle` finds nothing. */
export function answerOwner(
  deps: WebDeps,
  handle: (c: Context, owner: WebOwner, deps: WebDeps) => Promise<object | undefined>,
) {
  return withErrorResponses(deps, async c => {
    const owner = await deps.verifyOwner(c.req.raw)
    return deps.responseSemaphore.run(owner.owner, c.env, async () => {
      const body = await handle(c, owner, deps)
      if (!body) throw new Rejection('no_recipient', 'Cannot answer: you have no such resource')
      return c.json(body, 200, noStore)
    })
  })
}

/**
 * Reads the JSON of a body.
 * @throws Rejection malformed, too_large
 */
export async function readJson(c: Context, { config }: Pick<WebDeps, 'config'>, description: string): Promise<unknown> {
  return parseBoundedJson(await readBody(c.req.raw, config.limits.run_bytes), { label: description })
}

/**
 * Reads the JSON object of a body.
 * @throws Rejection malformed, too_large
 */
export async function readJsonBody(c: Context, deps: Pick<WebDeps, 'config'>): Promise<Record<string, unknown>> {
  const document = await readJson(c, deps, 'body')
  if (!isJsonObject(document)) throw new Rejection('malformed', 'Cannot read body: it is no JSON object')
  return document
}

/**
 * Reads a whole number of a query, or returns undefined if it is absent.
 * @throws Rejection malformed
 */
export function readNumberQuery(c: Context, name: string): number | undefined {
  const text = c.req.query(name)
  if (text === undefined) return undefined
  if (!/^\d{1,12}$/.test(text)) throw new Rejection('malformed', `Cannot read query: ${name} is not a whole number`)
  return Number(text)
}

/**
 * Reads a text member of a body, if it is present.
 * @throws Rejection malformed
 */
export function readTextMember(body: Record<string, unknown>, name: string): string | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string' || value.length > 1024) {
    throw new Rejection('malformed', `Cannot read body: ${name} is not a text`, {
      violations: [{ field: name, description: 'must be a text of at most 1024 characters' }],
    })
  }
  return value
}
