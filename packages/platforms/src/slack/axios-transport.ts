// Sends the requests of Slack's client through the gateway's guarded fetch.
import type { GuardedFetch } from '@postern/message'

/** A request of axios, as far as Slack's client sets its members. */
interface AxiosRequest {
  readonly baseURL?: string
  readonly url?: string
  readonly headers: object
  readonly data?: unknown
}

/** The headers that the fetch sets itself. */
const ownHeaders: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'host',
  'user-agent',
])
const timeoutMs = 10_000
const maxBytes = 4 * 1024 * 1024

/**
 * Creates the function that axios calls instead of its own transport (`adapter`). So Slack's client reaches only what the gateway may reach.
 */
export function createAxiosTransport(fetch: GuardedFetch) {
  return async (config: AxiosRequest) => {
    const { baseURL, url = '', headers, data } = config
    if (typeof data !== 'string') throw new Error('Cannot call Slack: the body of the request is not a text')
    const target = new URL(url, baseURL)
    const answer = await fetch(target.href, {
      method: 'POST',
      headers: readHeaders(headers),
      body: data,
      timeoutMs,
      maxBytes,
    })
    const text = new TextDecoder().decode(answer.body)
    const { status } = answer
    // Slack's client reads the path of the request from its answer.
    const request = { path: target.pathname }
    return { status, statusText: '', headers: Object.fromEntries(answer.headers), data: text, config, request }
  }
}

function readHeaders(headers: object): Readonly<Record<string, string>> {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const)
  return Object.fromEntries(entries.filter(([name]) => !ownHeaders.has(name)))
}
