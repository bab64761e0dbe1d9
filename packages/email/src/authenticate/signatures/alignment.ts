import { getPublicSuffix } from 'tldts'

/**
 * Without a DMARC record nobody says where an organization begins. A signature speaks for the author's domain itself and for
 * the names below it, because whoever holds a zone decides about those anyway; never for a sibling or a parent. Nobody holds a zone under whose
 * names strangers register theirs (`co.uk`, `github.io`: the Public Suffix List).
 */
export function alignsWithoutPolicy(signingDomain: string, authorDomain: string): boolean {
  if (signingDomain === authorDomain) return true
  return authorDomain.endsWith(`.${signingDomain}`) && !isPublicSuffix(signingDomain)
}

function isPublicSuffix(domain: string): boolean {
  return getPublicSuffix(domain, { allowPrivateDomains: true }) === domain
}

/** Might the two turn out to be of one organization? Cheap, and wrong only in saying yes. */
export function couldAlign(domain: string, authorDomain: string): boolean {
  return domain === authorDomain || lastLabels(domain) === lastLabels(authorDomain)
}

function lastLabels(domain: string): string {
  return domain.split('.').slice(-2).join('.')
}
