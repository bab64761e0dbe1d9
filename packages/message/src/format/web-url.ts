// Parses URLs that peers write, up to a limited length.

/** The longest URL, in UTF-16 code units. No honest address is longer, and each code unit costs time. */
export const maxUrlLength = 2_048

/** The longest DNS name, in octets (RFC 1035 §2.3.4). It has at most 127 labels. */
export const maxHostLength = 253

/** A parsed URL. Several callers may share the object, so nobody changes it. */
export type ParsedUrl = Readonly<Omit<URL, 'searchParams'>>

/** The number and the length of the URLs that are remembered. One message or delivery parses the same few URLs about ten times. */
const [maxRemembered, maxRememberedLength] = [512, 256] as const
const rememberedUrls = new Map<string, ParsedUrl>()

/**
 * Parses a URL of any scheme that a peer wrote, absolute or relative to `base`. Returns undefined for text that is not a URL, for more than
 * 2,048 characters as written or in normal form, and for a host of more than 253 octets.
 */
export function parseUrl(text: string, base?: string): ParsedUrl | undefined {
  if (base !== undefined || text.length > maxRememberedLength) return parseNew(text, base)
  const rememberedUrl = rememberedUrls.get(text)
  if (rememberedUrl) return rememberedUrl
  const url = parseNew(text)
  if (url) rememberUrl(text, url)
  return url
}

function parseNew(text: string, base?: string): ParsedUrl | undefined {
  if (text.length > maxUrlLength) return undefined
  const url = URL.parse(text, base)
  return url && isHostLength(url.hostname) && url.href.length <= maxUrlLength ? url : undefined
}

function rememberUrl(text: string, url: ParsedUrl): void {
  rememberedUrls.set(text, url)
  if (rememberedUrls.size > maxRemembered) rememberedUrls.delete(rememberedUrls.keys().next().value as string)
}

/** Returns true if a host name is short enough for DNS. A dot at its end does not count. */
export function isHostLength(host: string): boolean {
  return host.length <= (host.endsWith('.') ? maxHostLength + 1 : maxHostLength)
}
