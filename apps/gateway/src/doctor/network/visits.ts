import { randomBytes } from 'node:crypto'
import { Rejection } from '@postern/core'
import { peerAddress, readBody, sseHeaders } from '@postern/http'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { stream } from 'hono/streaming'

/** How a request of ours came back to us. */
export interface SelfVisit {
  /** Of the socket: a proxy's, where there is one. */
  readonly peer: string
  /** What the gateway takes for the client's address. */
  readonly client: string
  readonly isForwarded: boolean
  /** The `Host` field. */
  readonly host: string
  readonly bodyBytes: number
}

/** A visit that is expected: nobody else knows its path. */
export interface ExpectedVisit {
  /** Below the origin. */
  readonly path: string
  /** Undefined while nobody came. */
  seen(): SelfVisit | undefined
  /** Lets a stream go on that waits after its first event. */
  release(): void
  end(): void
}

/** A place where the gateway visits itself from outside, to see what proxies make of its requests. */
export interface SelfVisits {
  expect(): ExpectedVisit
  readonly routes: Hono
}

const folder = '/.well-known/postern-visit'
/** Of more at a time the oldest is forgotten. */
const mostExpected = 32
const maxBodyBytes = 4 * 1024 * 1024
/** A proxy that keeps the first event back has to get an end at last. */
const patienceMs = 4_000

interface Pending {
  visit?: SelfVisit
  readonly released: PromiseWithResolvers<void>
}

export function createSelfVisits(): SelfVisits {
  const pending = new Map<string, Pending>()

  function find(context: Context): Pending {
    const found = pending.get(context.req.param('nonce') ?? '')
    if (!found) throw new Rejection('no_recipient', 'Nothing is here')
    return found
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
        const late = setTimeout(released.resolve, patienceMs)
        await released.promise
        clearTimeout(late)
        await output.write('data: last\n\n')
      })
    })

  return {
    routes,
    expect() {
      const nonce = randomBytes(18).toString('base64url')
      const expected: Pending = { released: Promise.withResolvers<void>() }
      pending.set(nonce, expected)
      const [oldest = ''] = pending.keys()
      if (pending.size > mostExpected) pending.delete(oldest)
      return {
        path: `${folder}/${nonce}`,
        seen: () => expected.visit,
        release: () => expected.released.resolve(),
        end() {
          expected.released.resolve()
          pending.delete(nonce)
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

/** Without what the gateway has made of it. */
function socketAddress(env: unknown): string {
  const { clientAddress: _, ...rest } = (env ?? {}) as { readonly clientAddress?: unknown }
  return peerAddress(rest)
}
