// Fetches files of messages from the gateway.
import { createHash } from 'node:crypto'

/** A file that the gateway serves. */
interface ServedFile {
  readonly url: string
  /** The SHA-256 of the file's bytes, in lower-case hexadecimal. */
  readonly digest: string
}

/** The size limit of one file in bytes, larger than any channel of the gateway accepts. */
const maxBytes = 64 * 1024 * 1024
const timeoutMs = 60_000

/**
 * Fetches a file without redirects, up to the size limit.
 * @throws Error when the response is not this file
 */
export async function fetchServedFile({ url, digest }: ServedFile): Promise<Buffer> {
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
  if (!response.ok || !response.body) throw new Error(`Cannot fetch the file: the gateway answered ${response.status}`)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body) {
    size += chunk.length
    if (size > maxBytes) throw new Error(`Cannot fetch the file: it has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  if (createHash('sha256').update(bytes).digest('hex') !== digest)
    throw new Error('Cannot fetch the file: its bytes do not have its digest')
  return bytes
}
