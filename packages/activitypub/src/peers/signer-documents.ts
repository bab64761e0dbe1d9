// Fetches the documents of signers without a signature first, and signs if the host asks for that.
import { createExpiringMap } from '@postern/limits'
import type { FetchAnswer, System } from '@postern/message'
import { Rejection } from '@postern/message'
import type { IsBlocked } from '../domains/blocklist.ts'
import { findHost } from '../format/iri.ts'
import { activityAccept } from '../format/media-types.ts'
import type { FetchDocumentBefore } from './document-fetch.ts'
import {
  DocumentRefused,
  documentTimeoutMs,
  followRedirectsWithinOrigin,
  maxDocumentBytes,
  parseDocumentResponse,
  refuseBlocked,
} from './document-fetch.ts'
import { limitFetches } from './fetch-limits.ts'
import type { FetchedDocument, SignerDocuments } from './fetched-document.ts'

interface SignerDocumentDeps {
  readonly system: Pick<System, 'now' | 'fetch'>
  readonly fetchSigned: FetchDocumentBefore
  readonly isBlocked: IsBlocked
}

const maxHosts = 5_000
const hostModeTtlMs = 86_400_000
/** The statuses that request a signature (GoToSocial, Mastodon's secure mode, Akkoma, Sharkey: 401). */
const signatureRequiredStatuses: ReadonlySet<number> = new Set([401, 403])
/**
 * The most checks a minute whether a host hides from everybody what it shows to us. No host is known to do so, and forged names must not make us
 * sign.
 */
const recheckLimits = { perHost: 3, total: 30 } as const

export function createSignerDocuments({ system, fetchSigned, isBlocked }: SignerDocumentDeps): SignerDocuments {
  const now = () => system.now()
  const fetchOpenly = createOpenFetch(system)
  const signedOnlyHosts = createExpiringMap<true>(maxHosts, now)
  const openHosts = createExpiringMap<true>(maxHosts, now)
  const countRecheck = limitFetches(recheckLimits, now)

  function learn(host: string, isOpen: boolean): void {
    const [currentHosts, otherHosts] = isOpen ? [openHosts, signedOnlyHosts] : [signedOnlyHosts, openHosts]
    currentHosts.set(host, true, hostModeTtlMs)
    otherHosts.delete(host)
  }

  /** Fetches a document with our signature. A host that shows something only to us is strict, regardless of its response to others. */
  async function fetchSignedAndCompare(iri: string, host: string, deadlineAt: number): Promise<FetchedDocument> {
    const result = await fetchSigned(iri, deadlineAt)
    if (result.state === 'found') learn(host, false)
    return result
  }

  function mayRecheck(host: string): boolean {
    if (openHosts.get(host)) return false
    try {
      countRecheck.consume(host)
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
      const result = await fetchOpenly(iri, deadlineAt)
      if (result === undefined) {
        learn(host, false)
        return fetchSigned(iri, deadlineAt)
      }
      if (!(result instanceof DocumentRefused) && result.state !== 'missing') return { ...result, isForAll: true }
      if (mayRecheck(host)) return fetchSignedAndCompare(iri, host, deadlineAt)
      if (result instanceof DocumentRefused) throw result
      return result
    },
    isOpen: host => openHosts.get(host) === true,
    learn,
  }
}

/** Creates the fetch of documents that a host shows to everybody. It returns undefined if the host requires a signature. */
function createOpenFetch(system: SignerDocumentDeps['system']) {
  function get(url: string, timeoutMs: number): Promise<FetchAnswer> {
    return system.fetch(url, { headers: { accept: activityAccept }, timeoutMs, maxBytes: maxDocumentBytes })
  }

  return async (iri: string, deadlineAt: number): Promise<FetchedDocument | DocumentRefused | undefined> => {
    try {
      const response = await followRedirectsWithinOrigin(iri, { get, now: () => system.now(), deadlineAt })
      return signatureRequiredStatuses.has(response.status) ? undefined : parseDocumentResponse(response, system.now())
    } catch (error) {
      if (error instanceof DocumentRefused) return error
      throw error
    }
  }
}
