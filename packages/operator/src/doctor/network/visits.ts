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

const basePath = '/.well-known/postern-visit'
/** The maximum number of expected requests. Beyond it, the oldest one is dropped. */
const maxPendingVisits = 32
const maxBodyBytes = 4 * 1024 * 1024
/** The time after which the stream ends, so that a buffering proxy delivers it, ms. */
const maxStreamMs = 4_000

interface PendingVisit {
  visit?: SelfVisit
  readonly release: PromiseWithResolvers<void>
}

export function createSelfVisits(): SelfVisits {
  const pendingVisits = new Map<string, PendingVisit>()

  function findVisit(context: Context): PendingVisit {
    const pendingVisit = pendingVisits.get(context.req.param('nonce') ?? '')
    if (!pendingVisit) throw new Rejection('no_recipient', 'Nothing is here')
    return pendingVisit
  }

  const routes = new Hono()
    .get(`${basePath}/:nonce`, context => {
      findVisit(context).visit = describeVisit(context, 0)
      return context.body(null, 204, { 'cache-control': 'no-store' })
    })
    .post(`${basePath}/:nonce`, async context => {
      const pendingVisit = findVisit(context)
      const { length } = await readBody(context.req.raw, maxBodyBytes)
      pendingVisit.visit = describeVisit(context, length)
      return context.body(null, 204)
    })
    .get(`${basePath}/:nonce/stream`, context => {
      const { release } = findVisit(context)
      for (const [name, value] of Object.entries(sseHeaders)) context.header(name, value)
      return stream(context, async output => {
        await output.write('data: first\n\n')
        const timer = setTimeout(release.resolve, maxStreamMs)
        await release.promise
        clearTimeout(timer)
        await output.write('data: last\n\n')
      })
    })

  return {
    routes,
    expect() {
      const nonce = randomBytes(18).toString('base64url')
      const pendingVisit: PendingVisit = { release: Promise.withResolvers<void>() }
      pendingVisits.set(nonce, pendingVisit)
      const [oldest = ''] = pendingVisits.keys()
      if (pendingVisits.size > maxPendingVisits) pendingVisits.delete(oldest)
      return {
        path: `${basePath}/${nonce}`,
        findRequest: () => pendingVisit.visit,
        release: () => pendingVisit.release.resolve(),
        end() {
          pendingVisit.release.resolve()
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
