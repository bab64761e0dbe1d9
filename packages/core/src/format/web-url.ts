/** UTF-16 code units. No honest address is longer, and each one costs its reader time. */
export const maxUrlLength = 2_048

/** Octets of a DNS name (RFC 1035 §2.3.4). At most 127 labels fit in. */
export const maxHostLength = 253

/**
 * Reads a URL that a peer wrote, absolute or against `base`. Undefined when it is none, when it has more than 2,048 characters as
 * written or in its normal form, or its host more than 253 octets. Any scheme.
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  if (text.length > maxUrlLength) return undefined
  const url = URL.parse(text, base)
  return url && isHostLength(url.hostname) && url.href.length <= maxUrlLength ? url : undefined
}

/** Whether a host is short enough to be one; a dot at its end does not count. */
export function isHostLength(host: string): boolean {
  return host.length <= (host.endsWith('.') ? maxHostLength + 1 : maxHostLength)
}
