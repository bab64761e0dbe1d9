// Fetches the documents at an address as a careful peer does.
import { parseBoundedJson, parseMediaType } from '@postern/http'
import type { FetchAnswer, ParsedUrl, System } from '@postern/message'
import { parseUrl } from '@postern/message'
import type { CardReader } from './a2a.ts'
import { describeFetchError } from './fetch-error.ts'

export type FetchedObject = Readonly<Record<string, unknown>>

/** The response of one web address, before any check judges it. */
export interface FetchedFile {
  readonly url: string
  /** The targets of redirects, in order. */
  readonly redirectUrls: readonly string[]
  readonly status?: number | undefined
  readonly type?: string | undefined
  readonly text?: string | undefined
  /** The body, if it is one JSON object. */
  readonly document?: FetchedObject | undefined
  /** The reason why there is no answer that a peer would accept. */
  readonly error?: string | undefined
}

interface FetchRules {
  readonly accept: string
  /** The maximum number of redirects that are followed; default: none. */
  readonly redirects?: number
}

const bounds = { timeoutMs: 10_000, maxBytes: 512 * 1024 } as const
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Fetches as a careful peer does. It reports failures in the result and does not throw them. */
export async function fetchAsPeer(
  url: string,
  { accept, redirects = 0 }: FetchRules,
  system: Pick<System, 'fetch'>,
): Promise<FetchedFile> {
  const redirectUrls: string[] = []
  let currentUrl = url
  try {
    for (;;) {
      const response = await system.fetch(currentUrl, { ...bounds, headers: { accept } })
      const location = redirectStatuses.has(response.status) ? response.headers.get('location') : null
      if (location === null) return { url, redirectUrls, ...readResponse(response) }
      const nextUrl = parseUrl(location, currentUrl)
      const refusal = checkRedirect(nextUrl, redirectUrls.length, redirects)
      if (!nextUrl || refusal)
        return { url, redirectUrls: [...redirectUrls, location], status: response.status, error: refusal }
      currentUrl = nextUrl.href
      redirectUrls.push(currentUrl)
    }
  } catch (error) {
    return { url, redirectUrls, error: describeFetchError(error) }
  }
}

/** Checks a redirect. MN-1.3 allows only one, and only to https. */
function checkRedirect(nextUrl: ParsedUrl | undefined, count: number, maxHops: number): string | undefined {
  if (!nextUrl) return 'it redirects to an invalid address'
  if (nextUrl.protocol !== 'https:') return 'it redirects to an address without https'
  if (count >= maxHops)
    return maxHops === 0
      ? 'it redirects, but peers follow no redirect here'
      : `it redirects more than ${maxHops === 1 ? 'once' : `${maxHops} times`}`
  return undefined
}

function readResponse({ status, headers, body }: FetchAnswer): Partial<FetchedFile> {
  const type = parseMediaType(headers.get('content-type') ?? '')?.type
  const text = Buffer.from(body).toString()
  return { status, type, text, document: status === 200 ? readDocument(body) : undefined }
}

function readDocument(bytes: Uint8Array): FetchedObject | undefined {
  try {
    return objectOrUndefined(parseBoundedJson(bytes, { maxDepth: 32 }))
  } catch {
    return undefined
  }
}

export function objectOrUndefined(value: unknown): FetchedObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as FetchedObject) : undefined
}

export function listOrEmpty(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, 64) : []
}

export function textOrUndefined(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function isHttps(value: unknown): value is string {
  return typeof value === 'string' && parseUrl(value)?.protocol === 'https:'
}

/** Quotes a foreign value, cut to the length of a line. */
export function quote(value: unknown): string {
  const text = typeof value === 'string' ? `"${value}"` : (JSON.stringify(value) ?? 'nothing')
  return text.length > 120 ? `${text.slice(0, 119)}…` : text
}

export interface ResolveSystem extends Pick<System, 'fetch' | 'resolveDns' | 'now'> {
  readonly cards: CardReader
  /** The URIs of all extensions of agent cards that this release knows. */
  readonly extensionUris: ReadonlySet<string>
  /** Returns the gateway’s own DKIM records if the domain is its own. */
  dkimRecordsOf?(domain: string): Promise<readonly { readonly name: string; readonly key: string }[]>
}
