// Parses URLs that peers write, within bounds on their length.

/** Longest URL in UTF-16 code units. No honest address is longer, and each code unit costs time. */
export const maxUrlLength = 2_048

/** Longest DNS name in octets (RFC 1035 §2.3.4). At most 127 labels fit in. */
export const maxHostLength = 253

/**
 * Parses a URL of any scheme that a peer wrote, absolute or against `base`. Returns undefined for text that is no URL, for more than
 * 2,048 characters as written or in normal form, and for a host of more than 253 octets.
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  if (text.length > maxUrlLength) return undefined
  const url = URL.parse(text, base)
  return url && isHostLength(url.hostname) && url.href.length <= maxUrlLength ? url : undefined
}

/** Tells whether a host name is short enough for DNS; a dot at its end does not count. */
export function isHostLength(host: string): boolean {
  return host.length <= (host.endsWith('.') ? maxHostLength + 1 : maxHostLength)
}
