// Records refused requests, so that the operator sees them.

import { isoTime, parseIfJson, rejectionCodes } from '@postern/message'
import type { IntakeStore, Refusal, RefusalCode } from '@postern/pipeline'
import { classifyRefusal, hasRefusal } from '@postern/pipeline'
import type { RouterRoute } from 'hono/types'
import type { FindRouteOwner } from './route-owners.ts'
import { gatewayOwnerName } from './route-owners.ts'

interface RefusalRecorderDeps {
  readonly findOwner: FindRouteOwner
  readonly store: Pick<IntakeStore, 'refuse'>
  readonly now: () => number
}

/** A request with its answer. */
export interface RefusedRequest {
  readonly request: object
  readonly method: string
  readonly path: string
  /** The routes that the request has matched. */
  readonly routes: readonly RouterRoute[]
  /** The network address of the client. */
  readonly from: string
  readonly status: number
  /** The error that a route or a check has thrown. */
  readonly error?: unknown
  /** Returns the body of the answer if it is a problem document. */
  readProblem(): string | undefined | Promise<string>
}

/** The paths that monitoring polls every few seconds. Their failures are reported elsewhere. */
const monitoringPaths: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

/** The console forwards these requests to a channel, which records its own refusals. */
const chatPrefix = '/operator/chat/'

/**
 * Records refused requests to channels, and requests to any route that failed because of the gateway itself. Skips refusals that a channel has
 * already recorded with more detail.
 */
export function createRefusalRecorder({ findOwner, store, now }: RefusalRecorderDeps) {
  return async function recordRefusal(answered: RefusedRequest): Promise<void> {
    const { request, method, routes, status, error, from } = answered
    if (hasRefusal(request)) return
    const owner = findOwner(routes)
    const via = owner?.channel
    if (!(isGatewayFault(status) || (via !== undefined && isChangingRequest(method, status)))) return
    const path = owner?.pattern ?? routes.find(route => route.method !== 'ALL')?.path ?? '*'
    if (monitoringPaths.has(path) || path.startsWith(chatPrefix)) return
    const target = {
      via: via ?? gatewayOwnerName,
      endpoint: `${method} ${path}`,
      agent: findAgent(path, answered.path),
    }
    const refusal = error ? classifyRefusal(error) : classifyProblem(status, await answered.readProblem())
    store.refuse({ at: isoTime(now()), from, status, ...target, ...refusal })
  }
}

/** The methods of requests that change something. */
export const mutatingMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])

/** Returns true if a refused request tried to change something. Refused reads are not recorded, because peers ask for missing documents all day. */
function isChangingRequest(method: string, status: number): boolean {
  return mutatingMethods.has(method) && status !== 405
}

/** Returns true if the gateway itself caused the failure. It answers 451 if it could not reach a service that it needs. */
function isGatewayFault(status: number): boolean {
  return status >= 500 || status === 451
}

/** Returns the agent that a path names at the position of `:agent` in its route pattern. */
function findAgent(pattern: string, path: string): string | undefined {
  const agentIndex = pattern.split('/').indexOf(':agent')
  const name = agentIndex < 0 ? undefined : path.split('/')[agentIndex]
  return name?.toLowerCase()
}

const knownCodes: ReadonlySet<unknown> = new Set(rejectionCodes)
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

/** Returns true if an answer of this content type is a problem document. */
export function isProblemType(contentType: string | null | undefined): boolean {
  return contentType?.startsWith('application/problem+json') === true
}

function classifyProblem(status: number, problem: string | undefined): Pick<Refusal, 'code' | 'reason'> {
  const problemDetails = problem === undefined ? undefined : parseIfJson(problem)
  const { code, detail, title } = (problemDetails ?? {}) as Readonly<Record<string, unknown>>
  const internalReason = status === 500 ? 'a fault of the gateway: its log has it' : undefined
  const fallback = codesByStatus[status] ?? (status >= 500 ? 'internal' : 'malformed')
  const reason = [detail, internalReason, title].find(text => typeof text === 'string') ?? `answered ${status}`
  return { code: knownCodes.has(code) ? (code as RefusalCode) : fallback, reason: String(reason) }
}
