/**
 * The same bytes in memory of their own. Small buffers are cut from a common one, and a thread that is sent one of them is sent the whole of
 * that.
 */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const isOwn = bytes.byteLength === bytes.buffer.byteLength && bytes.buffer instanceof ArrayBuffer
  return isOwn ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes)
}
