// Finds attachments within the raw bytes of their message, so that they need no second copy.
import { setImmediate as nextTick } from 'node:timers/promises'
import type { Blob } from '@postern/pipeline'

/** Position and encoding of an attachment's bytes within raw bytes. */
export interface RawPart {
  readonly encoding: 'base64' | 'identity'
  readonly start: number
  readonly end: number
}

/** A blob of a message. A blob with a `part` is stored only within the raw bytes of the message. */
export interface LocatedBlob extends Blob {
  readonly part?: RawPart | undefined
}

/**
 * The minimum size of attachments that are searched for in the raw bytes. For smaller attachments the search costs more than it saves.
 */
const minSearchedBytes = 8 * 1024
/** The number of missing attachments after which the search stops. Each missing attachment costs a scan of all raw bytes. */
const maxMisses = 8
/** The number of bytes to compare before the event loop may run other work. */
const chunkSize = 1024 * 1024
/**
 * The number of bytes at the beginning of an attachment that the search looks for first. Their 60 letters of base64 fit into one line of a mail, for
 * which RFC 2045 §6.8 allows 76.
 */
const sampleBytes = 45

/**
 * Finds the attachments that `raw` contains in base64 or unencoded. A position counts only if decoding from there yields exactly the attachment's
 * bytes, so nothing is lost, whatever wrote the raw bytes.
 */
export async function locateInRaw(raw: Uint8Array, blobs: readonly Blob[]): Promise<readonly LocatedBlob[]> {
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const locatedBlobs: LocatedBlob[] = []
  let [fromIndex, missCount] = [0, 0]
  for (const blob of blobs) {
    const isSought = blob.bytes.byteLength >= minSearchedBytes && missCount < maxMisses
    const part = isSought ? await findPart(text, blob.bytes, fromIndex) : undefined
    if (isSought && !part) missCount += 1
    // Attachments usually follow each other in their order.
    if (part) fromIndex = part.end
    locatedBlobs.push(part ? { ...blob, part } : blob)
  }
  return locatedBlobs
}

/** Decodes a part of raw bytes. `encodedBytes` are the raw bytes from the part's start to its end. */
export function decodePart(encodedBytes: Uint8Array, encoding: RawPart['encoding']): Uint8Array {
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
    const end = await findBase64End(raw, bytes, base64Start)
    if (end !== undefined) return { encoding: 'base64', start: base64Start, end }
  }
  const start = raw.indexOf(sample, from)
  const end = start + bytes.byteLength
  return start >= 0 && raw.subarray(start, end).equals(bytes) ? { encoding: 'identity', start, end } : undefined
}

/** Returns the end of the base64 text that begins at `start`, or undefined if the text does not encode exactly `bytes`. */
async function findBase64End(raw: Buffer, bytes: Uint8Array, start: number): Promise<number | undefined> {
  let [position, comparedBytes, partialGroup] = [start, 0, '']
  while (comparedBytes < bytes.byteLength) {
    const chunk = raw.toString('latin1', position, position + chunkSize)
    if (chunk === '') return undefined
    const neededLetters = Math.ceil(((bytes.byteLength - comparedBytes) * 4) / 3)
    const letters = partialGroup + chunk.replace(/[\r\n]+/g, '')
    if (letters.length >= neededLetters) {
      const end = position + findLettersEnd(chunk, neededLetters - partialGroup.length)
      return decodesTo(letters.slice(0, neededLetters), bytes.subarray(comparedBytes)) ? end : undefined
    }
    const completeChars = letters.length - (letters.length % 4)
    const nextComparedBytes = comparedBytes + (completeChars / 4) * 3
    if (!decodesTo(letters.slice(0, completeChars), bytes.subarray(comparedBytes, nextComparedBytes))) return undefined
    ;[position, comparedBytes, partialGroup] = [position + chunkSize, nextComparedBytes, letters.slice(completeChars)]
    await nextTick()
  }
  return position
}

function decodesTo(letters: string, bytes: Uint8Array): boolean {
  return Buffer.from(letters, 'base64').equals(bytes)
}

/** Returns the position after `count` letters. Line ends do not count as letters. */
function findLettersEnd(text: string, count: number): number {
  let remaining = count
  for (let position = 0; position < text.length; position += 1) {
    if (remaining === 0) return position
    const letter = text.charCodeAt(position)
    if (letter !== 13 && letter !== 10) remaining -= 1
  }
  return text.length
}
