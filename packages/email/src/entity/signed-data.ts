// Reads the message inside an S/MIME signature (RFC 8551 §3.5.2). Reading needs no key, and does not verify the
// signature.

/** The deepest nesting of constructed octet strings. Programs write one level. */
const maxDepth = 8
const [octetStringTag, sequenceTag, objectIdTag, explicitContentTag] = [0x04, 0x30, 0x06, 0xa0]
/** The bit of a tag that marks a constructed element (X.690 §8.1.2.5). */
const constructedBit = 0x20

/** Object identifiers of content types (RFC 5652 §5.1, §6.1; RFC 5083 §2; RFC 3274 §1.1), as the hexadecimal digits of their encoding. */
const kindsByObjectId: ReadonlyMap<string, CmsKind> = new Map([
  ['2a864886f70d010702', 'signed-data'],
  ['2a864886f70d010703', 'enveloped-data'],
  ['2a864886f70d0109100117', 'authEnveloped-data'],
  ['2a864886f70d0109100109', 'compressed-data'],
])

type CmsKind = 'signed-data' | 'enveloped-data' | 'authEnveloped-data' | 'compressed-data'

/** A cryptographic message, as far as it is readable without a key. */
interface CmsContent {
  /** The kind, by its name in the parameter `smime-type` (RFC 8551 §3.2.2). */
  readonly kind: CmsKind
  /** The signed MIME entity. It is absent in a detached signature and in a list of certificates. */
  readonly content?: Buffer | undefined
}

/** Returns the content of a `ContentInfo` (RFC 5652 §3) in BER or DER. It returns undefined for other octets. */
export function readCms(octets: Buffer): CmsContent | undefined {
  const info = readElement(octets, 0, octets.length)
  const type = info?.tag === sequenceTag ? readElement(octets, info.start, info.limit) : undefined
  if (!info || type?.tag !== objectIdTag || type.end === undefined) return undefined
  const kind = kindsByObjectId.get(octets.toString('hex', type.start, type.end))
  if (kind !== 'signed-data') return kind && { kind }
  const explicitContent = readElement(octets, type.end, info.limit)
  const signedData =
    explicitContent?.tag === explicitContentTag
      ? readElement(octets, explicitContent.start, explicitContent.limit)
      : undefined
  return { kind, content: signedData?.tag === sequenceTag ? readSignedData(octets, signedData) : undefined }
}

/** Reads `SignedData` (RFC 5652 §5.1): a version, the digest algorithms, and then the signed content. */
function readSignedData(octets: Buffer, { start, limit }: BerElement): Buffer | undefined {
  const versionEnd = skipElement(octets, start, limit)
  const algorithmsEnd = versionEnd === undefined ? undefined : skipElement(octets, versionEnd, limit)
  const encapsulatedInfo = algorithmsEnd === undefined ? undefined : readElement(octets, algorithmsEnd, limit)
  if (encapsulatedInfo?.tag !== sequenceTag) return undefined
  const typeEnd = skipElement(octets, encapsulatedInfo.start, encapsulatedInfo.limit)
  const explicitContent = typeEnd === undefined ? undefined : readElement(octets, typeEnd, encapsulatedInfo.limit)
  return explicitContent?.tag === explicitContentTag
    ? joinOctets(octets, explicitContent.start, explicitContent.limit)
    : undefined
}

/** The beginning of an element: its tag and the position of its content. */
interface BerElement {
  readonly tag: number
  readonly start: number
  /** The end of the content. It is undefined if an end-of-contents element follows (X.690 §8.1.3.6). */
  readonly end: number | undefined
  /** The offset that the content cannot exceed. */
  readonly limit: number
}

function readElement(octets: Buffer, position: number, limit: number): BerElement | undefined {
  const [tag, lengthOctet] = [octets[position], octets[position + 1]]
  if (tag === undefined || lengthOctet === undefined || position + 2 > limit || (tag & 0x1f) === 0x1f) return undefined
  if (lengthOctet === 0x80)
    return tag & constructedBit ? { tag, start: position + 2, end: undefined, limit } : undefined
  const size = lengthOctet < 0x80 ? 0 : lengthOctet & 0x7f
  const start = position + 2 + size
  if (size > 4 || start > limit) return undefined
  const end = start + (size === 0 ? lengthOctet : octets.readUIntBE(position + 2, size))
  return end > limit ? undefined : { tag, start, end, limit: end }
}

/** Returns the offset after an element. It returns undefined if the element has no end. */
function skipElement(octets: Buffer, start: number, limit: number): number | undefined {
  let [position, openCount] = [start, 0]
  do {
    const element = readElement(octets, position, limit)
    if (!element) return undefined
    if (element.tag === 0) openCount -= 1
    else if (element.end === undefined) openCount += 1
    position = element.end ?? element.start
  } while (openCount > 0)
  return openCount < 0 ? undefined : position
}

/** Joins the octets of an octet string, which BER allows programs to split (X.690 §8.7.3). It returns undefined for other elements. */
function joinOctets(octets: Buffer, start: number, limit: number): Buffer | undefined {
  const pieces: Buffer[] = []
  /** The ends of the open strings, outermost first. */
  const openLimits: (number | undefined)[] = []
  let position = start
  do {
    const element = readElement(octets, position, limit)
    if (!element || openLimits.length > maxDepth) return undefined
    position = element.end ?? element.start
    if (element.tag === 0 && openLimits.length > 0 && openLimits.at(-1) === undefined) openLimits.pop()
    else if (element.tag === (octetStringTag | constructedBit)) {
      openLimits.push(element.end)
      position = element.start
    } else if (element.tag === octetStringTag) pieces.push(octets.subarray(element.start, position))
    else return undefined
    while (openLimits.length > 0 && openLimits.at(-1) === position) openLimits.pop()
  } while (openLimits.length > 0)
  return Buffer.concat(pieces)
}
