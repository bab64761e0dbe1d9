import { acceptsType } from '@postern/http'
import { activityAccept, activityJson } from '../format/vocabulary.ts'

const [, ldJson = ''] = activityAccept.split(', ')
const activityTypes = [activityJson, ldJson, 'application/ld+json', 'text/html']

/**
 * Whether a request asks for a document of the network: it names such a type, and prefers it to HTML or likes it as
 * much (RFC 9110 §12.5.1).
 */
export function asksForActivity(accept: string | undefined): boolean {
  if (!accept || !/(activity|ld)\+json/i.test(accept)) return false
  return acceptsType(accept, activityTypes) !== 'text/html'
}

/**
 * Whether a page is the answer at the address of a post. Browsers name HTML. A request that does not accept HTML, or
 * names nothing, gets the document.
 */
export function wantsPage(accept: string | undefined): boolean {
  return Boolean(accept?.trim()) && !asksForActivity(accept) && acceptsType(accept, ['text/html']) !== undefined
}
