// Describes the status of a response with its address, and the target of a redirect.
import type { FetchAnswer } from '@postern/message'

export type HttpResponseStatus = Pick<FetchAnswer, 'status' | 'headers'>

/**
 * Formats a status with the address that answered: `404 at https://desk.test/hook`. The text also names the target of a redirect, which is not
 * followed because the body and the credentials would go to an address that nobody chose. Queries and passwords are left out.
 */
export function formatStatus(url: string, { status, headers }: HttpResponseStatus): string {
  const location = status >= 300 && status < 400 ? headers.get('location') : null
  const target = location === null ? '' : `, a redirect to ${formatAddress(location, url)} that is not followed`
  return `${status} at ${formatAddress(url)}${target}`
}

function formatAddress(url: string, base?: string): string {
  const parsedUrl = URL.parse(url, base)
  return parsedUrl ? `${parsedUrl.origin}${parsedUrl.pathname}` : 'an address that is not valid'
}
