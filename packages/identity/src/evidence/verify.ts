// Verifies identity evidence against the published keys of its issuer, which are cached for five minutes.

import { parseBoundedJson } from '@postern/http'
import type { System } from '@postern/message'
import type { EvidenceClaim } from '@postern/pipeline'
import type { IdentityConfig } from '../config.ts'
import { documentRequest, EvidenceFault } from '../format/members.ts'
import type { UnverifiedEvidence } from './trust.ts'
import { checkTrust, checkWindow } from './trust.ts'

export interface EvidenceDeps {
  readonly config: Pick<IdentityConfig, 'trusted_issuers'>
  readonly documents: DocumentCache
  readonly system: Pick<System, 'now'>
}

/**
 * Checks everything except the use: issuer, binding, time, key, signature, time again (MN-6.5). Untrusted issuers, and evidence for other
 * messages, cause no fetch. @throws EvidenceFault
 */
export async function checkEvidence(
  evidence: UnverifiedEvidence,
  claim: Pick<EvidenceClaim, 'audience' | 'messageId'>,
  { config, documents, system }: EvidenceDeps,
): Promise<void> {
  checkTrust(evidence.assertion, config.trusted_issuers)
  checkBinding(evidence, claim)
  checkWindow(evidence.window, system.now())
  const key = await documents.find(evidence.keysUrl, document => evidence.findKey(document, system.now()))
  if (!key) throw new EvidenceFault('invalid-signature', 'its issuer has no such key to assert with')
  if (!evidence.isSignedWith(key)) throw new EvidenceFault('invalid-signature', 'its signature does not fit it')
  // The fetch of the keys may have taken long, so the time is checked again.
  checkWindow(evidence.window, system.now())
}

function checkBinding(
  { audiences, messageId }: UnverifiedEvidence,
  claim: Pick<EvidenceClaim, 'audience' | 'messageId'>,
): void {
  if (!audiences.includes(claim.audience)) throw new EvidenceFault('wrong-domain', 'it is for another agent')
  if (messageId === undefined || messageId === claim.messageId) return
  throw new EvidenceFault('challenge-mismatch', 'it is for another message')
}

/** The times of the cache, ms. A key that is removed from its document becomes invalid after `maxAge` at the latest. */
const documentTimes = {
  maxAgeMs: 5 * 60_000,
  /** The shortest time between two fetches that unknown keys cause. */
  cooldownMs: 30_000,
  /** The time without requests after a failure. */
  pauseMs: 5_000,
} as const

export type DocumentSystem = Pick<System, 'fetch' | 'configured' | 'now' | 'log'>

interface CachedDocument {
  readonly document: unknown
  readonly fetchedAt: number
}

/** The key documents of issuers. Each trusted issuer has one, so their number is bounded. */
interface DocumentCache {
  /** Returns the result of `select` in the document. If there is none, it fetches the document again. @throws EvidenceFault `key-unavailable` */
  find<Found>(url: string, select: (document: unknown) => Found | undefined): Promise<Found | undefined>
}

export function createDocumentCache({ fetch, now, log }: DocumentSystem): DocumentCache {
  const cache = new Map<string, CachedDocument>()
  const failedAt = new Map<string, number>()
  const pending = new Map<string, Promise<CachedDocument>>()

  async function load(url: string): Promise<CachedDocument> {
    if (now() - (failedAt.get(url) ?? Number.NEGATIVE_INFINITY) < documentTimes.pauseMs) throw unavailable()
    try {
      const { status, body } = await fetch(url, documentRequest)
      if (status !== 200) throw new Error(`the host of the document answered ${status}`)
      const loadedDocument = {
        document: parseBoundedJson(body, { maxDepth: 16, label: 'key document' }),
        fetchedAt: now(),
      }
      cache.set(url, loadedDocument)
      return loadedDocument
    } catch (error) {
      failedAt.set(url, now())
      log.warn({ url, err: error }, 'keys of an issuer of identities could not be read')
      throw unavailable(error)
    }
  }

  function refresh(url: string): Promise<CachedDocument> {
    const running = pending.get(url) ?? load(url).finally(() => pending.delete(url))
    pending.set(url, running)
    return running
  }

  const ageOf = ({ fetchedAt: at }: CachedDocument) => now() - at

  return {
    async find(url, select) {
      const cachedDocument = cache.get(url)
      const current =
        cachedDocument && ageOf(cachedDocument) < documentTimes.maxAgeMs ? cachedDocument : await refresh(url)
      const selection = select(current.document)
      if (selection !== undefined || ageOf(current) < documentTimes.cooldownMs) return selection
      return select((await refresh(url)).document)
    },
  }
}

function unavailable(cause?: unknown): EvidenceFault {
  return new EvidenceFault('key-unavailable', 'the keys of its issuer cannot be had', { cause })
}
