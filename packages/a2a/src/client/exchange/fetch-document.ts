import type { FetchRequest, Platform } from '@postern/core'
import { isJsonObject, Unavailable } from '@postern/core'
import { parseBoundedJson, parseRetryAfter } from '@postern/http'
import { refuseAgent } from './refusals.ts'

interface DocumentRequest {
  readonly what: string
  readonly accept: string
  readonly signal: AbortSignal | undefined
  /** Number of redirects; default none. */
  readonly redirects?: FetchRequest['redirects']
}

const bounds = { timeoutMs: 10_000, maxBytes: 256 * 1024 } as const
const maxDepth = 32

/** Fetches a JSON object of a stranger, with a size limit and without redirects by default. @throws Unavailable, Undeliverable */
export async function fetchDocument(
  url: string,
  { fetch, now }: Pick<Platform, 'fetch' | 'now'>,
  { what, accept, signal, redirects = 0 }: DocumentRequest,
): Promise<Readonly<Record<string, unknown>>> {
  // Servers that also speak 0.3 have two cards at one address. They give the old one to clients that name no version.
  const headers = { accept, 'a2a-version': '1.0' }
  const answer = await fetch(url, { ...bounds, redirects, headers, ...(signal && { signal }) })
  const { status, body } = answer
  if (status === 429 || status >= 500) {
    const retryAfter = parseRetryAfter(answer.headers.get('retry-after'), now())
    throw new Unavailable(`Cannot call agent: ${what} was answered with ${status}`, {
      ...(retryAfter !== undefined && { retryAfter }),
    })
  }
  if (status !== 200) throw refuseAgent(`${what} was answered with ${status}`)
  return readPeerObject(body, what)
}

/** @throws Undeliverable */
export function readPeerObject(bytes: Uint8Array, what: string): Readonly<Record<string, unknown>> {
  const document = readJson(bytes, what)
  if (!isJsonObject(document)) throw refuseAgent(`${what} is not an object`)
  return document
}

function readJson(bytes: Uint8Array, what: string): unknown {
  try {
    return parseBoundedJson(bytes, { maxDepth, what })
  } catch (cause) {
    throw refuseAgent(`${what} is not JSON as it should be`, cause)
  }
}
