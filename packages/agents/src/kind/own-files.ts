// Fetches the files that an agent names at its own origin, because such an address is often reachable only from the gateway.

import { checkFetchUrl, nameStatus, parseMediaType } from '@postern/http'
import type { ArtifactPart, FilePart, GuardedFetch, NormalizedMessage, Part, PartialResponse } from '@postern/message'
import { isFilePart, Undeliverable } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'
import { checkPassingStatus } from './passing-status.ts'

/** The maximum number of files of one answer, and the maximum size of all of them, bytes. */
const maxFiles = 16
const maxBytes = 25 * 1024 * 1024
const redirects = 3

export interface OwnFilesDeps {
  /** An address of the agent; its origin is the agent's own. */
  readonly url: string
  /** Fetches from the agent's origin. */
  readonly fetch: GuardedFetch
  readonly timeoutMs: number
  now(): number
}

/** The files of one answer. */
export class OwnFiles {
  readonly #deps: OwnFilesDeps
  readonly #origin: string
  readonly #turn: Pick<AgentContext, 'signal' | 'log'>
  readonly #foreign: ReadonlySet<string>
  #count = 0
  #bytes = 0

  /** Needs the message that the agent answers. An agent that repeats a peer's address may lose the mark of it. */
  constructor(
    deps: OwnFilesDeps,
    turn: Pick<AgentContext, 'signal' | 'log'>,
    { parts, history = [] }: Pick<NormalizedMessage, 'parts' | 'history'>,
  ) {
    this.#deps = deps
    this.#foreign = new Set([parts, ...history.map(past => past.parts)].flatMap(listForeign))
    this.#origin = new URL(deps.url).origin
    this.#turn = turn
  }

  /** Returns a piece of the answer with the bytes of its files. @throws Unavailable @throws Undeliverable naming the size and the limit */
  async attach(piece: PartialResponse): Promise<PartialResponse> {
    const { parts, acts } = piece
    return {
      ...piece,
      ...(parts && { parts: await this.attachAll(parts) }),
      ...(acts && { acts: await this.#attachToActs(acts) }),
    }
  }

  /** Attaches the files of parts, as `attach` does for a response. */
  async attachAll(parts: readonly Part[]): Promise<Part[]> {
    const attached: Part[] = []
    // Files are fetched one after the other, because concurrent fetches would exceed the limit before it is noticed.
    for (const part of parts) {
      const url = isFilePart(part) ? this.#findAddress(part) : undefined
      attached.push(url && isFilePart(part) ? await this.#attachOrLink(part, url) : part)
    }
    return attached
  }

  async #attachToActs(acts: NonNullable<PartialResponse['acts']>): Promise<typeof acts> {
    const attached: typeof acts = []
    for (const act of acts) attached.push('parts' in act ? { ...act, parts: await this.attachAll(act.parts) } : act)
    return attached
  }

  /** Finds the agent's own address in a file. The address of anybody else stays as it is. */
  #findAddress({ bytes_ref }: FilePart | ArtifactPart): URL | undefined {
    if (bytes_ref.kind !== 'url' || bytes_ref.foreign) return undefined
    const url = URL.parse(bytes_ref.url)
    return url?.origin === this.#origin && !this.#foreign.has(url.href) ? url : undefined
  }

  /** Attaches a file. If its bytes cannot be fetched, it stays a link if people can reach the address. */
  async #attachOrLink<Some extends FilePart | ArtifactPart>(part: Some, url: URL): Promise<Some> {
    const { signal, log } = this.#turn
    try {
      return await this.#fetch(part, url)
    } catch (error) {
      signal.throwIfAborted()
      if (!isPublic(url)) throw error
      log.warn({ err: error, url: url.origin }, 'a file of an agent is linked, because it cannot be attached')
      return part
    }
  }

  async #fetch<Some extends FilePart | ArtifactPart>(part: Some, url: URL): Promise<Some> {
    const { name = nameOf(url), mime } = part
    this.#count += 1
    if (this.#count > maxFiles) throw refuse(name, `the answer has more than ${maxFiles} files`)
    const { fetch, timeoutMs, now } = this.#deps
    const request = { signal: this.#turn.signal, timeoutMs, maxBytes, redirects }
    const answer = await fetch(url.href, request).catch(error => {
      throw error instanceof Undeliverable ? refuse(name, error.message, error) : error
    })
    checkPassingStatus({ who: `server of the file "${name}"`, url: answer.url }, answer, now())
    const { status, headers, body } = answer
    if (status !== 200) throw refuse(name, `its server answered ${nameStatus(answer.url, answer)}`)
    this.#bytes += body.byteLength
    if (this.#bytes > maxBytes)
      throw refuse(name, `the files of the answer have ${this.#bytes} bytes, more than ${maxBytes}`)
    const { type = 'application/octet-stream' } = parseMediaType(headers.get('content-type')) ?? {}
    const bytes_ref = { kind: 'inline' as const, data_base64: Buffer.from(body).toString('base64') }
    return { ...part, name, mime: mime ?? type, size: body.byteLength, bytes_ref }
  }
}

function listForeign(parts: readonly Part[]): readonly string[] {
  return parts.flatMap(part => {
    if (!isFilePart(part) || part.bytes_ref.kind !== 'url' || !part.bytes_ref.foreign) return []
    return URL.parse(part.bytes_ref.url)?.href ?? []
  })
}

function refuse(name: string, problem: string, cause?: Error): Undeliverable {
  return new Undeliverable(`Cannot attach the file "${name}": ${problem}`, { cause })
}

function isPublic({ href }: URL): boolean {
  try {
    checkFetchUrl(href)
    return true
  } catch {
    return false
  }
}

function nameOf({ pathname }: URL): string {
  const last = pathname.split('/').at(-1) || 'file'
  try {
    return decodeURIComponent(last)
  } catch {
    return last
  }
}
