import type { FetchAnswer, Platform } from '@postern/core'
import { parseUrl, Unavailable, Undeliverable } from '@postern/core'
import { parseBoundedJson, parseMediaType } from '@postern/http'

export type FetchedObject = Readonly<Record<string, unknown>>

/** What one address on the web answered, with nothing decided about it yet. */
export interface Fetched {
  readonly url: string
  /** Where the redirects led, in order. */
  readonly hops: readonly string[]
  readonly status?: number | undefined
  readonly type?: string | undefined
  readonly text?: string | undefined
  /** The body, where it is one JSON object. */
  readonly document?: FetchedObject | undefined
  /** Why there is no answer, or none that a peer would take. */
  readonly error?: string | undefined
}

export interface Look {
  readonly accept: string
  /** How many a peer follows; default none. */
  readonly redirects?: number
}

const bounds = { timeoutMs: 10_000, maxBytes: 512 * 1024 } as const
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Fetches as a careful peer does; whatever comes is a finding and no error. */
export async function lookAt(
  url: string,
  { accept, redirects = 0 }: Look,
  platform: Pick<Platform, 'fetch'>,
): Promise<Fetched> {
  const hops: string[] = []
  let at = url
  try {
    for (;;) {
      const answer = await platform.fetch(at, { ...bounds, headers: { accept } })
      const location = redirectStatuses.has(answer.status) ? answer.headers.get('location') : null
      if (location === null) return { url, hops, ...readAnswer(answer) }
      const next = parseUrl(location, at)
      const refusal = checkHop(next, hops.length, redirects)
      if (!next || refusal) return { url, hops: [...hops, location], status: answer.status, error: refusal }
      at = next.href
      hops.push(at)
    }
  } catch (error) {
    return { url, hops, error: describeFault(error) }
  }
}

/** MN-1.3: at most one redirect, and to https only. */
function checkHop(next: URL | undefined, count: number, most: number): string | undefined {
  if (!next) return 'it redirects to what is no address'
  if (next.protocol !== 'https:') return 'it redirects to an address without https'
  if (count >= most)
    return most === 0
      ? 'it redirects, which peers do not follow here'
      : `it redirects more than ${most === 1 ? 'once' : `${most} times`}`
  return undefined
}

function readAnswer({ status, headers, body }: FetchAnswer): Partial<Fetched> {
  const type = parseMediaType(headers.get('content-type') ?? '')?.type
  const text = Buffer.from(body).toString()
  return { status, type, text, document: status === 200 ? readDocument(body) : undefined }
}

function readDocument(bytes: Uint8Array): FetchedObject | undefined {
  try {
    return asFetchedObject(parseBoundedJson(bytes, { maxDepth: 32 }))
  } catch {
    return undefined
  }
}

/** @throws whatever is no fault of the far side */
export function describeFault(error: unknown): string {
  if (error instanceof Unavailable || error instanceof Undeliverable) return error.message
  throw error
}

export function asFetchedObject(value: unknown): FetchedObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as FetchedObject) : undefined
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, 64) : []
}

export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function isHttps(value: unknown): value is string {
  return typeof value === 'string' && parseUrl(value)?.protocol === 'https:'
}

/** Of a stranger's words so much as a line holds. */
export function quote(value: unknown): string {
  const text = typeof value === 'string' ? `"${value}"` : (JSON.stringify(value) ?? 'nothing')
  return text.length > 120 ? `${text.slice(0, 119)}…` : text
}

export interface ResolvePlatform extends Pick<Platform, 'fetch' | 'resolveDns' | 'now'> {
  /** DKIM records that are known to belong to a domain: its own, where it is ours. */
  dkimRecordsOf?(domain: string): Promise<readonly { readonly name: string; readonly key: string }[]>
}
