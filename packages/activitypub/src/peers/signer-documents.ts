// Fetches the documents of signers without a signature first, and signs if the host asks for that.
import { createExpiringMap } from '@postern/limits'
import type { FetchAnswer, System } from '@postern/message'
import { Rejection } from '@postern/message'
import type { IsBlocked } from '../domains/blocklist.ts'
import { findHost } from '../format/iri.ts'
import { activityAccept } from '../format/media-types.ts'
import type { FetchDocumentByDeadline } from './document-fetch.ts'
import {
  documentTimeoutMs,
  followRedirectsWithinOrigin,
  maxDocumentBytes,
  parseDocumentResponse,
  RefusedDocument,
  refuseBlocked,
} from './document-fetch.ts'
import { createFetchLimit } from './fetch-limits.ts'
import type { FetchedDocument, SignerDocuments } from './fetched-document.ts'

interface SignerDocumentDeps {
  readonly system: Pick<System, 'now' | 'fetch'>
  readonly fetchSigned: FetchDocumentByDeadline
  readonly isBlocked: IsBlocked
}

const maxHosts = 5_000
const hostModeTtlMs = 86_400_000
/** The statuses that request a signature (GoToSocial, Mastodon's secure mode, Akkoma, Sharkey: 401). */
const signatureRequiredStatuses: ReadonlySet<number> = new Set([401, 403])
/**
 * The limits, per minute, of the checks for hosts that show a document only to us. No host is known to do so, and forged names must not make us
 * sign.
 */
const rechecksPerMinute = { perHost: 3, total: 30 } as const

export function createSignerDocuments({ system, fetchSigned, isBlocked }: SignerDocumentDeps): SignerDocuments {
  const now = () => system.now()
  const fetchUnsigned = createUnsignedFetch(system)
  const signedOnlyHosts = createExpiringMap<true>(maxHosts, now)
  const publicHosts = createExpiringMap<true>(maxHosts, now)
  const recheckLimit = createFetchLimit(rechecksPerMinute, now)

  function recordHostMode(host: string, showsEverything: boolean): void {
    const [currentHosts, otherHosts] = showsEverything ? [publicHosts, signedOnlyHosts] : [signedOnlyHosts, publicHosts]
    currentHosts.set(host, true, hostModeTtlMs)
    otherHosts.delete(host)
  }

  /** Fetches a document with our signature. A host that shows it only with the signature counts as strict, whatever status it sends without one. */
  async function fetchSignedAndRecord(iri: string, host: string, deadlineAt: number): Promise<FetchedDocument> {
    const result = await fetchSigned(iri, deadlineAt)
    if (result.state === 'found') recordHostMode(host, false)
    return result
  }

  function mayRecheck(host: string): boolean {
    if (publicHosts.get(host)) return false
    try {
      recheckLimit.consume(host)
      return true
    } catch (error) {
      if (error instanceof Rejection) return false
      throw error
    }
  }

  return {
    async fetch(iri) {
      refuseBlocked(iri, isBlocked)
      const host = findHost(iri) ?? ''
      const deadlineAt = now() + documentTimeoutMs
      if (signedOnlyHosts.get(host)) return fetchSigned(iri, deadlineAt)
      const result = await fetchUnsigned(iri, deadlineAt)
      if (result === undefined) {
        recordHostMode(host, false)
        return fetchSigned(iri, deadlineAt)
      }
      if (!(result instanceof RefusedDocument) && result.state !== 'missing') return { ...result, isPublic: true }
      if (mayRecheck(host)) return fetchSignedAndRecord(iri, host, deadlineAt)
      if (result instanceof RefusedDocument) throw result
      return result
    },
    showsEverything: host => publicHosts.get(host) === true,
    recordHostMode,
  }
}

/** Creates the fetch of documents that a host shows to everybody. It returns undefined if the host requires a signature. */
function createUnsignedFetch(system: SignerDocumentDeps['system']) {
  function get(url: string, timeoutMs: number): Promise<FetchAnswer> {
    return system.fetch(url, { headers: { accept: activityAccept }, timeoutMs, maxBytes: maxDocumentBytes })
  }

  return async (iri: string, deadlineAt: number): Promise<FetchedDocument | RefusedDocument | undefined> => {
    try {
      const response = await followRedirectsWithinOrigin(iri, { get, now: () => system.now(), deadlineAt })
      return signatureRequiredStatuses.has(response.status) ? undefined : parseDocumentResponse(response, system.now())
    } catch (error) {
      if (error instanceof RefusedDocument) return error
      throw error
    }
  }
}
