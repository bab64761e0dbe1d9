// Verifies identity evidence against the published keys of its issuer, which are cached for five minutes.

import { parseBoundedJson } from '@postern/http'
import type { System } from '@postern/message'
import type { EvidenceClaim } from '@postern/pipeline'
import type { IdentityConfig } from '../config.ts'
import { documentRequest, EvidenceError } from '../format/members.ts'
import type { UnverifiedEvidence } from './trust.ts'
import { checkTrust, checkWindow } from './trust.ts'

export interface EvidenceDeps {
  readonly config: Pick<IdentityConfig, 'trusted_issuers'>
  readonly documents: DocumentCache
  readonly system: Pick<System, 'now'>
}

/**
 * Checks the issuer, binding, time, key and signature of evidence, but not its single use (MN-6.5). Untrusted issuers, and evidence for other
 * messages, cause no fetch.
 * @throws EvidenceError
 */
export async function checkEvidence(
  evidence: UnverifiedEvidence,
  claim: Pick<EvidenceClaim, 'audience' | 'messageId'>,
  { config, documents, system }: EvidenceDeps,
): Promise<void> {
  checkTrust(evidence.assertion, config.trusted_issuers)
  checkBinding(evidence, claim)
  checkWindow(evidence.validity, system.now())
  const key = await documents.find(evidence.keysUrl, document => evidence.findKey(document, system.now()))
  if (!key) throw new EvidenceError('invalid-signature', 'its issuer has not published this key')
  if (!evidence.isSignedWith(key))
    throw new EvidenceError('invalid-signature', 'its signature does not match its content')
  // The fetch of the keys may have taken long, so the time is checked again.
  checkWindow(evidence.validity, system.now())
}

function checkBinding(
  { audiences, messageId }: UnverifiedEvidence,
  claim: Pick<EvidenceClaim, 'audience' | 'messageId'>,
): void {
  if (!audiences.includes(claim.audience)) throw new EvidenceError('wrong-domain', 'it is for another agent')
  if (messageId === undefined || messageId === claim.messageId) return
  throw new EvidenceError('challenge-mismatch', 'it is for another message')
}

/** The times of the cache, ms. A key that is removed from its document becomes invalid after `maxAgeMs` at the latest. */
const documentTimes = {
  maxAgeMs: 5 * 60_000,
  /** The shortest time between two fetches that unknown keys cause. */
  cooldownMs: 30_000,
  /** The pause after a failed fetch, during which no request is sent. */
  pauseMs: 5_000,
} as const

export type DocumentSystem = Pick<System, 'fetch' | 'configured' | 'now' | 'log'>

interface CachedDocument {
  readonly document: unknown
  readonly fetchedAt: number
}

/** The key documents of issuers. Each trusted issuer has one document, so their number is bounded. */
interface DocumentCache {
  /**
   * Returns the result of `select` for the document. If `select` finds nothing, the document is fetched again.
   * @throws EvidenceError `key-unavailable`
   */
  find<Found>(url: string, select: (document: unknown) => Found | undefined): Promise<Found | undefined>
}

export function createDocumentCache({ fetch, now, log }: DocumentSystem): DocumentCache {
  const cache = new Map<string, CachedDocument>()
  const failureTimes = new Map<string, number>()
  const pendingFetches = new Map<string, Promise<CachedDocument>>()

  async function load(url: string): Promise<CachedDocument> {
    if (now() - (failureTimes.get(url) ?? Number.NEGATIVE_INFINITY) < documentTimes.pauseMs)
      throw createUnavailableError()
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
      failureTimes.set(url, now())
      log.warn({ url, err: error }, 'keys of an issuer of identities could not be read')
      throw createUnavailableError(error)
    }
  }

  function refresh(url: string): Promise<CachedDocument> {
    const fetchInProgress = pendingFetches.get(url) ?? load(url).finally(() => pendingFetches.delete(url))
    pendingFetches.set(url, fetchInProgress)
    return fetchInProgress
  }

  const ageOf = ({ fetchedAt }: CachedDocument) => now() - fetchedAt

  return {
    async find(url, select) {
      const cachedDocument = cache.get(url)
      const currentDocument =
        cachedDocument && ageOf(cachedDocument) < documentTimes.maxAgeMs ? cachedDocument : await refresh(url)
      const foundKey = select(currentDocument.document)
      if (foundKey !== undefined || ageOf(currentDocument) < documentTimes.cooldownMs) return foundKey
      return select((await refresh(url)).document)
    },
  }
}

function createUnavailableError(cause?: unknown): EvidenceError {
  return new EvidenceError('key-unavailable', 'the keys of its issuer cannot be fetched', { cause })
}
