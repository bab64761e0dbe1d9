// Fetches the documents of signers without a signature first, and signs if the host asks for that.
import { createExpiringMap } from '@postern/limits'
import type { FetchAnswer, System } from '@postern/message'
import { Rejection } from '@postern/message'
import type { IsBlocked } from '../domains/blocklist.ts'
import { findHost } from '../format/iri.ts'
import { activityAccept } from '../format/media-types.ts'
import type { FetchDocumentBy } from './document-fetch.ts'
import {
  documentMs,
  maxDocumentBytes,
  NotShown,
  readFetched,
  refuseBlocked,
  walkWithinOrigin,
} from './document-fetch.ts'
import { limitFetches } from './fetch-limit.ts'
import type { FetchedDocument, SignerDocuments } from './fetched-document.ts'

interface SignerDocumentDeps {
  readonly system: Pick<System, 'now' | 'fetch'>
  readonly fetchSigned: FetchDocumentBy
  readonly isBlocked: IsBlocked
}

const maxHosts = 5_000
const keptMs = 86_400_000
/** The statuses that request a signature (GoToSocial, Mastodon's secure mode, Akkoma, Sharkey: 401). */
const wantStatuses: ReadonlySet<number> = new Set([401, 403])
/**
 * The most checks a minute whether a host hides from everybody what it shows to us. No host is known to do so, and forged names must not make us
 * sign.
 */
const askAgain = { perHost: 3, inAll: 30 } as const

export function createSignerDocuments({ system, fetchSigned, isBlocked }: SignerDocumentDeps): SignerDocuments {
  const now = () => system.now()
  const fetchOpenly = createOpenFetch(system)
  const strict = createExpiringMap<true>(maxHosts, now)
  const open = createExpiringMap<true>(maxHosts, now)
  const countAgain = limitFetches(askAgain, now)

  function learn(host: string, isOpen: boolean): void {
    const [kept, dropped] = isOpen ? [open, strict] : [strict, open]
    kept.set(host, true, keptMs)
    dropped.delete(host)
  }

  /** Fetches a document with our signature. A host that shows something only to us is strict, regardless of its response to others. */
  async function ask(iri: string, host: string, deadline: number): Promise<FetchedDocument> {
    const fetched = await fetchSigned(iri, deadline)
    if (fetched.state === 'found') learn(host, false)
    return fetched
  }

  function mayAskAgain(host: string): boolean {
    if (open.get(host)) return false
    try {
      countAgain.take(host)
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
      const deadline = now() + documentMs
      if (strict.get(host)) return fetchSigned(iri, deadline)
      const shown = await fetchOpenly(iri, deadline)
      if (shown === undefined) {
        learn(host, false)
        return fetchSigned(iri, deadline)
      }
      if (!(shown instanceof NotShown) && shown.state !== 'missing') return { ...shown, isForAll: true }
      if (mayAskAgain(host)) return ask(iri, host, deadline)
      if (shown instanceof NotShown) throw shown
      return shown
    },
    isOpen: host => open.get(host) === true,
    learn,
  }
}

/** Creates the fetch of documents that a host shows to everybody. It returns undefined if the host requires a signature. */
function createOpenFetch(system: SignerDocumentDeps['system']) {
  function get(url: string, timeoutMs: number): Promise<FetchAnswer> {
    return system.fetch(url, { headers: { accept: activityAccept }, timeoutMs, maxBytes: maxDocumentBytes })
  }

  return async (iri: string, deadline: number): Promise<FetchedDocument | NotShown | undefined> => {
    try {
      const answer = await walkWithinOrigin(iri, { get, now: () => system.now(), deadline })
      return wantStatuses.has(answer.status) ? undefined : readFetched(answer, system.now())
    } catch (error) {
      if (error instanceof NotShown) return error
      throw error
    }
  }
}
