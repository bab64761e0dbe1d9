import type { Platform } from '@postern/core'
import { parseBoundedJson } from '@postern/http'
import { EvidenceFault } from '../format/fault.ts'
import { documentRequest } from '../format/limits.ts'

/** Times in ms. A key that is removed from its document is invalid after `maxAge`. */
const documentTimes = {
  maxAge: 5 * 60_000,
  /** An unknown key causes a new fetch, but not more often than this. */
  cooldown: 30_000,
  /** After a failure there is no request for this long. */
  pause: 5_000,
} as const

export type DocumentPlatform = Pick<Platform, 'fetch' | 'now' | 'log'>

interface Held {
  readonly document: unknown
  readonly at: number
}

/** The key documents of issuers. Each trusted issuer has one, so their number is bounded. */
export interface DocumentCache {
  /** The result of `pick` in the document. If there is none, it reads a new document. @throws EvidenceFault `key-unavailable` */
  find<Found>(url: string, pick: (document: unknown) => Found | undefined): Promise<Found | undefined>
}

export function createDocumentCache({ fetch, now, log }: DocumentPlatform): DocumentCache {
  const held = new Map<string, Held>()
  const failedAt = new Map<string, number>()
  const pending = new Map<string, Promise<Held>>()

  async function load(url: string): Promise<Held> {
    if (now() - (failedAt.get(url) ?? Number.NEGATIVE_INFINITY) < documentTimes.pause) throw unavailable()
    try {
      const { status, body } = await fetch(url, documentRequest)
      if (status !== 200) throw new Error(`the host of the document answered ${status}`)
      const loaded = { document: parseBoundedJson(body, { maxDepth: 16, what: 'key document' }), at: now() }
      held.set(url, loaded)
      return loaded
    } catch (error) {
      failedAt.set(url, now())
      log.warn({ url, err: error }, 'keys of an issuer of identities could not be read')
      throw unavailable(error)
    }
  }

  function refresh(url: string): Promise<Held> {
    const running = pending.get(url) ?? load(url).finally(() => pending.delete(url))
    pending.set(url, running)
    return running
  }

  const ageOf = ({ at }: Held) => now() - at

  return {
    async find(url, pick) {
      const known = held.get(url)
      const current = known && ageOf(known) < documentTimes.maxAge ? known : await refresh(url)
      const found = pick(current.document)
      if (found !== undefined || ageOf(current) < documentTimes.cooldown) return found
      return pick((await refresh(url)).document)
    },
  }
}

function unavailable(cause?: unknown): EvidenceFault {
  return new EvidenceFault('key-unavailable', 'the keys of its issuer cannot be had', { cause })
}
