import type { FetchAnswer, Platform } from '@postern/core'
import { Rejection } from '@postern/core'
import { createExpiringMap } from '@postern/limits'
import { activityAccept, findHost } from '../format/document.ts'
import type { FetchDocumentBy } from './document-fetch.ts'
import {
  documentMs,
  maxDocumentBytes,
  NotShown,
  readFetched,
  refuseBlocked,
  walkWithinOrigin,
} from './document-fetch.ts'
import type { IsBlocked } from './known-peers.ts'
import type { FetchedDocument, SignerDocuments } from './look-ups.ts'
import { limitLookUps } from './look-ups.ts'

interface SignerDocumentDeps {
  readonly platform: Pick<Platform, 'now' | 'fetch'>
  readonly fetchSigned: FetchDocumentBy
  readonly isBlocked: IsBlocked
}

const maxHosts = 5_000
const keptMs = 86_400_000
/** Statuses that ask for a signature (GoToSocial, Mastodon's secure mode, Akkoma, Sharkey: 401). */
const wantStatuses: ReadonlySet<number> = new Set([401, 403])
/** Questions a minute whether a host hides from everybody what it shows to us. None is known to; forged names must not make us sign. */
const askAgain = { perHost: 3, inAll: 30 } as const

export function createSignerDocuments({ platform, fetchSigned, isBlocked }: SignerDocumentDeps): SignerDocuments {
  const now = () => platform.now()
  const fetchOpenly = createOpenFetch(platform)
  const strict = createExpiringMap<true>(maxHosts, now)
  const open = createExpiringMap<true>(maxHosts, now)
  const countAgain = limitLookUps(askAgain, now)

  function learn(host: string, isOpen: boolean): void {
    const [kept, dropped] = isOpen ? [open, strict] : [strict, open]
    kept.set(host, true, keptMs)
    dropped.delete(host)
  }

  /** A host that shows something only to us is strict, however it puts off the others. */
  async function ask(iri: string, host: string, deadline: number): Promise<FetchedDocument> {
    const fetched = await fetchSigned(iri, deadline)
    if (fetched.state === 'found') learn(host, false)
    return fetched
  }

  function mayAskAgain(host: string): boolean {
    if (open.get(host)) return false
    try {
      countAgain(host)
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

/** What a host shows to everybody; undefined when it wants a signature. */
function createOpenFetch(platform: SignerDocumentDeps['platform']) {
  function get(url: string, timeoutMs: number): Promise<FetchAnswer> {
    return platform.fetch(url, { headers: { accept: activityAccept }, timeoutMs, maxBytes: maxDocumentBytes })
  }

  return async (iri: string, deadline: number): Promise<FetchedDocument | NotShown | undefined> => {
    try {
      const answer = await walkWithinOrigin(iri, { get, now: () => platform.now(), deadline })
      return wantStatuses.has(answer.status) ? undefined : readFetched(answer, platform.now())
    } catch (error) {
      if (error instanceof NotShown) return error
      throw error
    }
  }
}
