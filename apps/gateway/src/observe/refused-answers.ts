import type { Channel, IntakeStore, Refusal, RefusalCode } from '@postern/core'
import { hasRefusal, isoTime, parseIfJson, rejectionCodes } from '@postern/core'
import type { Context, Hono, MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'

interface RefusedAnswersDeps {
  readonly channels: readonly Pick<Channel<Hono>, 'descriptor' | 'routes'>[]
  readonly store: Pick<IntakeStore, 'refuse'>
  readonly now: () => number
  addressOf(context: Context): string
}

/**
 * Remembers every request to a channel that was refused, and every one that failed for no fault of the peer's, wherever it went: those the
 * channels have remembered themselves, with more about them, are left out.
 */
export function rememberRefused({ channels, store, now, addressOf }: RefusedAnswersDeps): MiddlewareHandler {
  const owners = new Map(
    channels.flatMap(({ descriptor, routes }) => routes.routes.map(({ path }) => [path, descriptor.name] as const)),
  )
  return async function rememberAnswer(context, next) {
    await next()
    const { status } = context.res
    if (status < 400 || hasRefusal(context.req.raw)) return
    const found = matchedRoutes(context).findLast(({ path }) => owners.has(path))
    const via = found && owners.get(found.path)
    if (via === undefined || !isWorthKeeping(context.req.method, status)) return
    const endpoint = `${context.req.method} ${found?.path}`
    const told = await readProblem(context.res)
    store.refuse({ at: isoTime(now()), via, from: addressOf(context), endpoint, status, ...told })
  }
}

const writing: ReadonlySet<string> = new Set(['POST', 'PUT', 'DELETE'])

/** Documents that are not there are asked for all day. */
function isWorthKeeping(method: string, status: number): boolean {
  return status >= 500 || status === 451 || (writing.has(method) && status !== 405)
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
  const fallback = codes[status] ?? (status >= 500 ? 'internal' : 'malformed')
  const reason = [detail, title].find(text => typeof text === 'string') ?? `answered ${status}`
  return { code: known.has(code) ? (code as RefusalCode) : fallback, reason: String(reason) }
}
