import { parseUrl } from '../../format/web-url.ts'

/** The host that a delivery to `to` connects to; undefined where many places share one way out (mail, handed to a smarthost). */
export function findDestinationHost(to: string): string | undefined {
  return /^https?:/i.test(to) ? parseUrl(to)?.host : undefined
}
