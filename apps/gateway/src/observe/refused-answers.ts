import type { Channel, IntakeStore, Refusal, RefusalCode } from '@postern/core'
import { hasRefusal, isoTime, parseIfJson, rejectionCodes } from '@postern/core'
import type { Context, Hono } from 'hono'
import { matchedRoutes } from 'hono/route'

interface RefusedAnswersDeps {
  readonly channels: readonly Pick<Channel<Hono>, 'descriptor' | 'routes'>[]
  readonly store: Pick<IntakeStore, 'refuse'>
  readonly now: () => number
  addressOf(context: Context): string
}

/** What is no channel's: pages, discovery, files, the operator's API. */
const gatewayPlace = 'gateway'
/** Asked every few seconds by what watches the gateway: what it says stands elsewhere. */
const watched: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

/** Goes on to a channel, which answers and is remembered. */
const forwarded = '/operator/chat/'

/**
 * Remembers every request to a channel that was refused, and every one that failed for no fault of the peer's, wherever it went: those the
 * channels have remembered themselves, with more about them, are left out.
 */
export function createRefusedAnswers({ channels, store, now, addressOf }: RefusedAnswersDeps) {
  const owners = new Map(
    channels.flatMap(({ descriptor, routes }) => routes.routes.map(({ path }) => [path, descriptor.name] as const)),
  )
  return async function rememberAnswer(context: Context): Promise<void> {
    if (hasRefusal(context.req.raw)) return
    const { status } = context.res
    const { method } = context.req
    const matched = matchedRoutes(context)
    const found = matched.findLast(({ path }) => owners.has(path))
    const via = found && owners.get(found.path)
    if (!(isOurFault(status) || (via !== undefined && isWriting(method, status)))) return
    const path = found?.path ?? matched.find(each => each.method !== 'ALL')?.path ?? '*'
    if (watched.has(path) || path.startsWith(forwarded)) return
    const place = { via: via ?? gatewayPlace, endpoint: `${method} ${path}`, agent: findAgent(path, context.req.path) }
    const told = await readProblem(context.res)
    store.refuse({ at: isoTime(now()), from: addressOf(context), status, ...place, ...told })
  }
}

const writing: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])

/** Documents that are not there are asked for all day. */
function isWriting(method: string, status: number): boolean {
  return writing.has(method) && status !== 405
}

function isOurFault(status: number): boolean {
  return status >= 500 || status === 451
}

/** The agent that stands in an address. */
function findAgent(pattern: string, path: string): string | undefined {
  const at = pattern.split('/').indexOf(':agent')
  const name = at < 0 ? undefined : path.split('/')[at]
  return name?.toLowerCase()
}

const known: ReadonlySet<unknown> = new Set(rejectionCodes)
const codes: Readonly<Record<number, RefusalCode>> = {
  401: 'unsigned',
  403: 'forbidden',
  404: 'no_recipient',
  413: 'too_large',
  415: 'unsupported',
  429: 'rate_limited',
  451: 'unavailable',
  503: 'unavailable',
}

async function readProblem(answer: Response): Promise<Pick<Refusal, 'code' | 'reason'>> {
  const { status } = answer
  const isProblem = answer.headers.get('content-type')?.startsWith('application/problem+json') === true
  const problem = isProblem ? parseIfJson(await answer.clone().text()) : undefined
  const { code, detail, title } = (problem ?? {}) as Readonly<Record<string, unknown>>
  const fault = status === 500 ? 'a fault of the gateway: its log has it' : undefined
  const fallback = codes[status] ?? (status >= 500 ? 'internal' : 'malformed')
  const reason = [detail, fault, title].find(text => typeof text === 'string') ?? `answered ${status}`
  return { code: known.has(code) ? (code as RefusalCode) : fallback, reason: String(reason) }
}
