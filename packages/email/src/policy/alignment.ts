// Aligns signing domains with author domains by the Public Suffix List if there is no DMARC record.
import { createRequire } from 'node:module'
import { lazy } from '@postern/message/lazy'

const require = createRequire(import.meta.url)

/** The library is loaded on demand, because the Public Suffix List takes more memory than all of the mail code. */
const loadSuffixList = lazy(() => require('tldts') as typeof import('tldts'))

/**
 * Returns true if a signing domain speaks for an author's domain that has no DMARC record. Without a record it is unknown
 * where an organization begins. A signature speaks for the author's own domain and the names below it, because the
 * holder of a zone controls them. It never speaks for a sibling or a parent. Names under which strangers register
 * (`co.uk`, `github.io`: the Public Suffix List) have no such holder.
 */
export function alignsWithoutPolicy(signingDomain: string, authorDomain: string): boolean {
  if (signingDomain === authorDomain) return true
  return authorDomain.endsWith(`.${signingDomain}`) && !isPublicSuffix(signingDomain)
}

function isPublicSuffix(domain: string): boolean {
  return loadSuffixList().getPublicSuffix(domain, { allowPrivateDomains: true }) === domain
}
