// Finds attachments within the raw bytes of their message, so that they need no second copy.
import { setImmediate as nextTick } from 'node:timers/promises'
import type { Blob } from '@postern/pipeline'

/** Position and encoding of an attachment's bytes within raw bytes. */
export interface RawPart {
  readonly encoding: 'base64' | 'identity'
  readonly start: number
  readonly end: number
}

/** Bytes of a message. With `part` they are stored only in its raw bytes. */
export interface LocatedBlob extends Blob {
  readonly part?: RawPart | undefined
}

/**
 * The size from which attachments are looked for in the raw bytes. For smaller ones the search costs more than it saves, so they are stored apart.
 */
const minSearchedBytes = 8 * 1024
/** The maximum number of attachments that may be missing in the raw bytes until the search stops. Each of them costs a scan of all raw bytes. */
const maxMisses = 8
/** The number of bytes to scan before other work gets its turn. */
const chunkSize = 1024 * 1024
/**
 * The bytes at the beginning of an attachment that are looked for first. Their 60 letters fit into one line of a mail (RFC 2045 §6.8 allows 76), and
 * into a JSON text.
 */
const sampleBytes = 45

/**
 * Finds the attachments that `raw` contains in base64 or unencoded. A position counts only if decoding from there yields exactly the attachment's
 * bytes, so nothing is lost, whatever wrote the raw bytes.
 */
export async function locateInRaw(raw: Uint8Array, blobs: readonly Blob[]): Promise<readonly LocatedBlob[]> {
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const locatedBlobs: LocatedBlob[] = []
  let [fromIndex, misses] = [0, 0]
  for (const blob of blobs) {
    const isSought = blob.bytes.byteLength >= minSearchedBytes && misses < maxMisses
    const part = isSought ? await findPart(text, blob.bytes, fromIndex) : undefined
    if (isSought && !part) misses += 1
    // Attachments usually follow each other in their order.
    if (part) fromIndex = part.end
    locatedBlobs.push(part ? { ...blob, part } : blob)
  }
  return locatedBlobs
}

/** Decodes a part of raw bytes. `encodedBytes`: the raw bytes from the part's start to its end. */
export function readPart(encodedBytes: Uint8Array, encoding: RawPart['encoding']): Uint8Array {
  if (encoding === 'identity') return encodedBytes
  return Buffer.from(
    Buffer.from(encodedBytes.buffer, encodedBytes.byteOffset, encodedBytes.byteLength).toString('latin1'),
    'base64',
  )
}

async function findPart(raw: Buffer, bytes: Uint8Array, from: number): Promise<RawPart | undefined> {
  const sample = Buffer.from(bytes.buffer, bytes.byteOffset, sampleBytes)
  const base64Start = raw.indexOf(sample.toString('base64'), from, 'latin1')
  if (base64Start >= 0) {
    const end = await endOfBase64(raw, bytes, base64Start)
    if (end !== undefined) return { encoding: 'base64', start: base64Start, end }
  }
  const start = raw.indexOf(sample, from)
  const end = start + bytes.byteLength
  return start >= 0 && raw.subarray(start, end).equals(bytes) ? { encoding: 'identity', start, end } : undefined
}

/** Returns the end of the base64 that begins at `start`, if it encodes exactly `bytes`; otherwise undefined. */
async function endOfBase64(raw: Buffer, bytes: Uint8Array, start: number): Promise<number | undefined> {
  let [position, compared, partialGroup] = [start, 0, '']
  while (compared < bytes.byteLength) {
    const chunk = raw.toString('latin1', position, position + chunkSize)
    if (chunk === '') return undefined
    const needed = Math.ceil(((bytes.byteLength - compared) * 4) / 3)
    const letters = partialGroup + chunk.replace(/[\r\n]+/g, '')
    if (letters.length >= needed) {
      const end = position + endOfLetters(chunk, needed - partialGroup.length)
      return isSame(letters.slice(0, needed), bytes.subarray(compared)) ? end : undefined
    }
    const completeChars = letters.length - (letters.length % 4)
    const nextCompared = compared + (completeChars / 4) * 3
    if (!isSame(letters.slice(0, completeChars), bytes.subarray(compared, nextCompared))) return undefined
    ;[position, compared, partialGroup] = [position + chunkSize, nextCompared, letters.slice(completeChars)]
    await nextTick()
  }
  return position
}

function isSame(letters: string, bytes: Uint8Array): boolean {
  return Buffer.from(letters, 'base64').equals(bytes)
}

/** Returns the position after this number of letters. Line ends do not count. */
function endOfLetters(text: string, count: number): number {
  let remaining = count
  for (let position = 0; position < text.length; position += 1) {
    if (remaining === 0) return position
    const letter = text.charCodeAt(position)
    if (letter !== 13 && letter !== 10) remaining -= 1
  }
  return text.length
}
