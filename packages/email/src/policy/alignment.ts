// Aligns signing domains with author domains by the Public Suffix List if there is no DMARC record.
import { createRequire } from 'node:module'
import { lazy } from '@postern/message/lazy'

const require = createRequire(import.meta.url)

/** Loads the library on demand, because the Public Suffix List takes more memory than all of the mail code. */
const loadSuffixList = lazy(() => require('tldts') as typeof import('tldts'))

/**
 * Returns true if a signing domain speaks for an author's domain that has no DMARC record. Without a record, nobody
 * knows which domains belong to the organization. A domain speaks for itself and for the domains below it, because the
 * owner of a zone controls them. It never speaks for a sibling or a parent. Public suffixes (`co.uk`, `github.io`),
 * under which anybody can register, have no such owner.
 */
export function alignsWithoutPolicy(signingDomain: string, authorDomain: string): boolean {
  if (signingDomain === authorDomain) return true
  return authorDomain.endsWith(`.${signingDomain}`) && !isPublicSuffix(signingDomain)
}

function isPublicSuffix(domain: string): boolean {
  return loadSuffixList().getPublicSuffix(domain, { allowPrivateDomains: true }) === domain
}
