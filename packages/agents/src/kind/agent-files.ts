// Fetches the files that an agent names at its own origin, because such an address is often reachable only from the gateway.

import { checkFetchUrl, formatStatus, parseMediaType } from '@postern/http'
import type { ArtifactPart, FilePart, GuardedFetch, NormalizedMessage, Part, PartialResponse } from '@postern/message'
import { isFilePart, Undeliverable } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'
import { throwIfTransient } from './transient-status.ts'

/** The maximum number of files of one answer, and the maximum size of all of them, bytes. */
const maxFiles = 16
const maxBytes = 25 * 1024 * 1024
const maxRedirects = 3

export interface AgentFileDeps {
  /** An address of the agent; its origin is the agent's own. */
  readonly url: string
  /** Fetches from the agent's origin. */
  readonly fetch: GuardedFetch
  readonly timeoutMs: number
  now(): number
}

/** The files of one answer. */
export class AgentFileFetcher {
  readonly #deps: AgentFileDeps
  readonly #origin: string
  readonly #context: Pick<AgentContext, 'signal' | 'log'>
  readonly #foreignUrls: ReadonlySet<string>
  #count = 0
  #bytes = 0

  /** Reads the addresses of peers from the answered message, because an agent that repeats such an address may drop its mark. */
  constructor(
    deps: AgentFileDeps,
    context: Pick<AgentContext, 'signal' | 'log'>,
    { parts, history = [] }: Pick<NormalizedMessage, 'parts' | 'history'>,
  ) {
    this.#deps = deps
    this.#foreignUrls = new Set([parts, ...history.map(turn => turn.parts)].flatMap(listForeignUrls))
    this.#origin = new URL(deps.url).origin
    this.#context = context
  }

  /** Returns a piece of the answer with the bytes of its files. @throws Unavailable @throws Undeliverable naming the size and the limit */
  async attachToResponse(piece: PartialResponse): Promise<PartialResponse> {
    const { parts, acts } = piece
    return {
      ...piece,
      ...(parts && { parts: await this.attachToParts(parts) }),
      ...(acts && { acts: await this.#attachToActions(acts) }),
    }
  }

  /** Attaches the files of parts, as `attachToResponse` does for a response. */
  async attachToParts(parts: readonly Part[]): Promise<Part[]> {
    const attachedParts: Part[] = []
    // Files are fetched one after the other, because concurrent fetches would exceed the limit before it is noticed.
    for (const part of parts) {
      const url = isFilePart(part) ? this.#findOwnUrl(part) : undefined
      attachedParts.push(url && isFilePart(part) ? await this.#attachOrLink(part, url) : part)
    }
    return attachedParts
  }

  async #attachToActions(acts: NonNullable<PartialResponse['acts']>): Promise<typeof acts> {
    const attachedActions: typeof acts = []
    for (const action of acts)
      attachedActions.push('parts' in action ? { ...action, parts: await this.attachToParts(action.parts) } : action)
    return attachedActions
  }

  /** Finds the agent's own address in a file. The address of anybody else stays as it is. */
  #findOwnUrl({ bytes_ref }: FilePart | ArtifactPart): URL | undefined {
    if (bytes_ref.kind !== 'url' || bytes_ref.foreign) return undefined
    const url = URL.parse(bytes_ref.url)
    return url?.origin === this.#origin && !this.#foreignUrls.has(url.href) ? url : undefined
  }

  /** Attaches a file. If its bytes cannot be fetched, it stays a link if people can reach the address. */
  async #attachOrLink<FileLike extends FilePart | ArtifactPart>(part: FileLike, url: URL): Promise<FileLike> {
    const { signal, log } = this.#context
    try {
      return await this.#fetch(part, url)
    } catch (error) {
      signal.throwIfAborted()
      if (!isPublic(url)) throw error
      log.warn({ err: error, url: url.origin }, 'a file of an agent is linked, because it cannot be attached')
      return part
    }
  }

  async #fetch<FileLike extends FilePart | ArtifactPart>(part: FileLike, url: URL): Promise<FileLike> {
    const { name = readFileName(url), mime } = part
    this.#count += 1
    if (this.#count > maxFiles) throw createAttachError(name, `the answer has more than ${maxFiles} files`)
    const { fetch, timeoutMs, now } = this.#deps
    const request = { signal: this.#context.signal, timeoutMs, maxBytes, redirects: maxRedirects }
    const response = await fetch(url.href, request).catch(error => {
      throw error instanceof Undeliverable ? createAttachError(name, error.message, error) : error
    })
    throwIfTransient({ serverName: `server of the file "${name}"`, url: response.url }, response, now())
    const { status, headers, body } = response
    if (status !== 200) throw createAttachError(name, `its server answered ${formatStatus(response.url, response)}`)
    this.#bytes += body.byteLength
    if (this.#bytes > maxBytes)
      throw createAttachError(name, `the files of the answer have ${this.#bytes} bytes, more than ${maxBytes}`)
    const { type = 'application/octet-stream' } = parseMediaType(headers.get('content-type')) ?? {}
    const bytes_ref = { kind: 'inline' as const, data_base64: Buffer.from(body).toString('base64') }
    return { ...part, name, mime: mime ?? type, size: body.byteLength, bytes_ref }
  }
}

function listForeignUrls(parts: readonly Part[]): readonly string[] {
  return parts.flatMap(part => {
    if (!isFilePart(part) || part.bytes_ref.kind !== 'url' || !part.bytes_ref.foreign) return []
    return URL.parse(part.bytes_ref.url)?.href ?? []
  })
}

function createAttachError(name: string, reason: string, cause?: Error): Undeliverable {
  return new Undeliverable(`Cannot attach the file "${name}": ${reason}`, { cause })
}

function isPublic({ href }: URL): boolean {
  try {
    checkFetchUrl(href)
    return true
  } catch {
    return false
  }
}

function readFileName({ pathname }: URL): string {
  const lastSegment = pathname.split('/').at(-1) || 'file'
  try {
    return decodeURIComponent(lastSegment)
  } catch {
    return lastSegment
  }
}
