import { createRequire } from 'node:module'
import { lazy } from '@postern/core/lazy'

const require = createRequire(import.meta.url)

/** The Public Suffix List in memory is larger than all the mail code. */
const suffixes = lazy(() => require('tldts') as typeof import('tldts'))

/**
 * Without a DMARC record it is unknown where an organization begins. A signature speaks for the author's own domain and
 * the names below it, because the holder of a zone controls those. It never speaks for a sibling or a parent. Names
 * under which strangers register (`co.uk`, `github.io`: the Public Suffix List) have no such holder.
 */
export function alignsWithoutPolicy(signingDomain: string, authorDomain: string): boolean {
  if (signingDomain === authorDomain) return true
  return authorDomain.endsWith(`.${signingDomain}`) && !isPublicSuffix(signingDomain)
}

function isPublicSuffix(domain: string): boolean {
  return suffixes().getPublicSuffix(domain, { allowPrivateDomains: true }) === domain
}
