// Records refused requests, so that the operator sees them.

import { isoTime, parseIfJson, rejectionCodes } from '@postern/message'
import type { IntakeStore, Refusal, RefusalCode } from '@postern/pipeline'
import { codeRefusal, hasRefusal } from '@postern/pipeline'
import type { Context } from 'hono'
import { matchedRoutes } from 'hono/route'
import type { FindRouteOwner } from './route-owners.ts'
import { ownRoutes } from './route-owners.ts'

interface RefusedAnswersDeps {
  readonly findOwner: FindRouteOwner
  readonly store: Pick<IntakeStore, 'refuse'>
  readonly now: () => number
  addressOf(context: Context): string
}

/** Paths that monitoring polls every few seconds. Their failures are reported elsewhere. */
const watchedPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

/** The console forwards these requests to a channel, which records its own refusals. */
const chatPrefix = '/operator/chat/'

/**
 * Records refused requests to channels, and requests to any route that failed through no fault of the peer. Skips refusals that a channel has
 * already recorded with more detail.
 */
export function createRefusalRecorder({ findOwner, store, now, addressOf }: RefusedAnswersDeps) {
  return async function recordRefusal(context: Context): Promise<void> {
    if (hasRefusal(context.req.raw)) return
    const { status } = context.res
    const { method } = context.req
    const matchedRouterRoutes = matchedRoutes(context)
    const owner = findOwner(context)
    const via = owner?.channel
    if (!(isOurFault(status) || (via !== undefined && isWriting(method, status)))) return
    const path = owner?.path ?? matchedRouterRoutes.find(route => route.method !== 'ALL')?.path ?? '*'
    if (watchedPaths.has(path) || path.startsWith(chatPrefix)) return
    const request = { via: via ?? ownRoutes, endpoint: `${method} ${path}`, agent: findAgent(path, context.req.path) }
    const problem = context.error ? codeRefusal(context.error) : await readProblem(context.res)
    store.refuse({ at: isoTime(now()), from: addressOf(context), status, ...request, ...problem })
  }
}

const writingMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])

/** Returns true if a refused request tried to write. Refused reads are not recorded, because peers ask for missing documents all day. */
function isWriting(method: string, status: number): boolean {
  return writingMethods.has(method) && status !== 405
}

function isOurFault(status: number): boolean {
  return status >= 500 || status === 451
}

/** Returns the agent that a path names at the position of `:agent` in its route pattern. */
function findAgent(pattern: string, path: string): string | undefined {
  const agentIndex = pattern.split('/').indexOf(':agent')
  const name = agentIndex < 0 ? undefined : path.split('/')[agentIndex]
  return name?.toLowerCase()
}

const ownCodes: ReadonlySet<unknown> = new Set(rejectionCodes)
const codesByStatus: Readonly<Record<number, RefusalCode>> = {
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
  const fallback = codesByStatus[status] ?? (status >= 500 ? 'internal' : 'malformed')
  const reason = [detail, fault, title].find(text => typeof text === 'string') ?? `answered ${status}`
  return { code: ownCodes.has(code) ? (code as RefusalCode) : fallback, reason: String(reason) }
}
