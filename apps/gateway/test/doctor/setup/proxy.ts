import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/** How a proxy in front of the gateway is configured, well or badly. */
export interface ProxyHabits {
  /** What it makes of the fields of a request; default: it adds the client to `X-Forwarded-For`. */
  changeHeaders?(headers: IncomingHttpHeaders): IncomingHttpHeaders
  /** Paths that it answers itself, with 404. */
  readonly hides?: RegExp
  /** What it answers itself, by path. */
  answer?(url: string): { readonly status: number; readonly body?: string } | undefined
  /** Larger bodies are refused with 413. */
  readonly maxBodyBytes?: number
  /** It keeps answers until they end. */
  readonly isBuffering?: boolean
  /** Fields that it sets in each answer; undefined removes one. */
  readonly answerHeaders?: Readonly<Record<string, string | undefined>>
}

export interface TestProxy {
  readonly port: number
  /** Where it passes requests on to. */
  aim(url: string): void
  /** How it does so from now on. */
  behave(habits: ProxyHabits): void
  close(): Promise<void>
}

const forward = (headers: IncomingHttpHeaders) => ({
  ...headers,
  'x-forwarded-for': [headers['x-forwarded-for'], '203.0.113.7'].filter(Boolean).join(', '),
})

/** The reverse proxy that ends TLS, without the TLS. */
export async function openProxy(): Promise<TestProxy> {
  let target = ''
  let habits: ProxyHabits = {}
  const server = createServer((incoming, outgoing) => {
    void pass(incoming, outgoing, { target, habits }).catch(() => outgoing.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    aim(url) {
      target = url
    },
    behave(changed) {
      habits = changed
    },
    close: () => new Promise<void>(resolve => server.close(() => resolve()).closeAllConnections()),
  }
}

interface Passing {
  readonly target: string
  readonly habits: ProxyHabits
}

async function pass(incoming: IncomingMessage, outgoing: ServerResponse, { target, habits }: Passing): Promise<void> {
  const { url = '/', method = 'GET' } = incoming
  const body = await readAll(incoming)
  const own = habits.answer?.(url)
  if (own) return void outgoing.writeHead(own.status, { 'content-type': 'application/json' }).end(own.body)
  if (habits.hides?.test(url)) return void outgoing.writeHead(404).end()
  if (body.length > (habits.maxBodyBytes ?? Number.POSITIVE_INFINITY)) return void outgoing.writeHead(413).end()
  const headers = (habits.changeHeaders ?? forward)(incoming.headers)
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const asked = request(`${target}${url}`, { method, headers, agent: false }, resolve)
    asked.once('error', reject)
    asked.end(body)
  })
  const answered = { ...answer.headers, ...habits.answerHeaders }
  const known = Object.entries(answered).filter(([, value]) => value !== undefined)
  const whole = habits.isBuffering ? await readAll(answer) : undefined
  outgoing.writeHead(answer.statusCode ?? 502, Object.fromEntries(known) as IncomingHttpHeaders)
  if (whole) outgoing.end(whole)
  else answer.pipe(outgoing)
}

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of stream) pieces.push(piece)
  return Buffer.concat(pieces)
}
