import type { EvidenceClaim, Platform } from '@postern/core'
import { parseBoundedJson } from '@postern/http'
import type { IdentityConfig } from '../config.ts'
import { documentRequest, EvidenceFault } from '../format/members.ts'
import type { ReadEvidence } from './trust.ts'
import { checkTrust, checkWindow } from './trust.ts'

export interface EvidenceDeps {
  readonly config: Pick<IdentityConfig, 'trusted_issuers'>
  readonly documents: DocumentCache
  readonly platform: Pick<Platform, 'now'>
}

/**
 * All checks but the use: issuer, binding, time, key, signature, time again (MN-6.5). Untrusted issuers, and evidence for other messages,
 * cause no fetch. @throws EvidenceFault
 */
export async function checkEvidence(
  evidence: ReadEvidence,
  claim: Pick<EvidenceClaim, 'audience' | 'messageId'>,
  { config, documents, platform }: EvidenceDeps,
): Promise<void> {
  checkTrust(evidence.assertion, config.trusted_issuers)
  checkBinding(evidence, claim)
  checkWindow(evidence.window, platform.now())
  const key = await documents.find(evidence.keysAt, document => evidence.findKey(document, platform.now()))
  if (!key) throw new EvidenceFault('invalid-signature', 'its issuer has no such key to assert with')
  if (!evidence.isSignedWith(key)) throw new EvidenceFault('invalid-signature', 'its signature does not fit it')
  // The fetch of the keys may have taken long.
  checkWindow(evidence.window, platform.now())
}

function checkBinding(
  { audiences, messageId }: ReadEvidence,
  claim: Pick<EvidenceClaim, 'audience' | 'messageId'>,
): void {
  if (!audiences.includes(claim.audience)) throw new EvidenceFault('wrong-domain', 'it is for another agent')
  if (messageId === undefined || messageId === claim.messageId) return
  throw new EvidenceFault('challenge-mismatch', 'it is for another message')
}

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
interface DocumentCache {
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
