// Receives requests that the gateway sends to its own public address.
import { randomBytes } from 'node:crypto'
import { peerAddress, readBody, sseHeaders } from '@postern/http'
import { Rejection } from '@postern/message'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { stream } from 'hono/streaming'

/** The gateway’s own request, as it arrived. */
export interface SelfVisit {
  /** The address of the socket, which is the proxy’s if there is one. */
  readonly peer: string
  /** The client’s address, as the gateway determines it. */
  readonly client: string
  readonly isForwarded: boolean
  /** The `Host` field. */
  readonly host: string
  readonly bodyBytes: number
}

/** An expected request, whose path nobody else knows. */
export interface ExpectedVisit {
  /** The path below the origin. */
  readonly path: string
  /** Returns the request; undefined before it arrives. */
  findRequest(): SelfVisit | undefined
  /** Lets a stream continue that waits after its first event. */
  release(): void
  end(): void
}

/** Routes by which the gateway sees how proxies change its requests. */
export interface SelfVisits {
  expect(): ExpectedVisit
  readonly routes: Hono
}

const folder = '/.well-known/postern-visit'
/** The maximum number of expected requests. Beyond it, the oldest one is dropped. */
const maxExpected = 32
const maxBodyBytes = 4 * 1024 * 1024
/** The time after which the stream ends, so that a buffering proxy delivers it, ms. */
const maxHoldMs = 4_000

interface PendingVisit {
  visit?: SelfVisit
  readonly released: PromiseWithResolvers<void>
}

export function createSelfVisits(): SelfVisits {
  const pendingVisits = new Map<string, PendingVisit>()

  function find(context: Context): PendingVisit {
    const visit = pendingVisits.get(context.req.param('nonce') ?? '')
    if (!visit) throw new Rejection('no_recipient', 'Nothing is here')
    return visit
  }

  const routes = new Hono()
    .get(`${folder}/:nonce`, context => {
      find(context).visit = describeVisit(context, 0)
      return context.body(null, 204, { 'cache-control': 'no-store' })
    })
    .post(`${folder}/:nonce`, async context => {
      const expected = find(context)
      const { length } = await readBody(context.req.raw, maxBodyBytes)
      expected.visit = describeVisit(context, length)
      return context.body(null, 204)
    })
    .get(`${folder}/:nonce/stream`, context => {
      const { released } = find(context)
      for (const [name, value] of Object.entries(sseHeaders)) context.header(name, value)
      return stream(context, async output => {
        await output.write('data: first\n\n')
        const timer = setTimeout(released.resolve, maxHoldMs)
        await released.promise
        clearTimeout(timer)
        await output.write('data: last\n\n')
      })
    })

  return {
    routes,
    expect() {
      const nonce = randomBytes(18).toString('base64url')
      const expected: PendingVisit = { released: Promise.withResolvers<void>() }
      pendingVisits.set(nonce, expected)
      const [oldest = ''] = pendingVisits.keys()
      if (pendingVisits.size > maxExpected) pendingVisits.delete(oldest)
      return {
        path: `${folder}/${nonce}`,
        findRequest: () => expected.visit,
        release: () => expected.released.resolve(),
        end() {
          expected.released.resolve()
          pendingVisits.delete(nonce)
        },
      }
    },
  }
}

function describeVisit({ env, req }: Context, bodyBytes: number): SelfVisit {
  const peer = socketAddress(env)
  return {
    peer,
    client: peerAddress(env),
    isForwarded: req.header('x-forwarded-for') !== undefined || req.header('forwarded') !== undefined,
    host: (req.header('host') ?? '').toLowerCase(),
    bodyBytes,
  }
}

/** Returns the address of the socket, without the client address that the gateway determined. */
function socketAddress(env: unknown): string {
  const { clientAddress: _, ...socketEnv } = (env ?? {}) as { readonly clientAddress?: unknown }
  return peerAddress(socketEnv)
}
