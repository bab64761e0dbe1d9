// Formats HTTP/1.1 requests and parses answers.

/** Formats one HTTP/1.1 request as bytes, ready for a socket. */
export function formatRequest(target: string, headers: Readonly<Record<string, string>>, body: Uint8Array): Uint8Array {
  const lines = Object.entries({ ...headers, 'content-length': String(body.length) }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return Buffer.concat([Buffer.from(`POST ${target} HTTP/1.1\r\n${lines.join('')}\r\n`), body])
}

export interface HttpAnswer {
  readonly status: number
  readonly body: Buffer
}

/** Parses the answer at the start of `bytes`, with its end; undefined while it is incomplete. */
export function parseAnswer(bytes: Buffer): (HttpAnswer & { readonly end: number }) | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const head = bytes.toString('latin1', 0, headEnd).toLowerCase()
  const status = Number(head.slice(9, 12))
  const bodyStart = headEnd + 4
  if (head.includes('transfer-encoding: chunked')) return parseChunked(bytes, bodyStart, status)
  const length = Number(/\r\ncontent-length: *(\d+)/.exec(head)?.[1] ?? 0)
  const bodyEnd = bodyStart + length
  return bytes.length < bodyEnd ? undefined : { status, body: bytes.subarray(bodyStart, bodyEnd), end: bodyEnd }
}

function parseChunked(bytes: Buffer, start: number, status: number): (HttpAnswer & { end: number }) | undefined {
  const chunks: Buffer[] = []
  let chunkStart = start
  while (true) {
    const lineEnd = bytes.indexOf('\r\n', chunkStart)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', chunkStart, lineEnd), 16)
    const next = lineEnd + 2 + size + 2
    if (bytes.length < next) return undefined
    if (size === 0) return { status, body: Buffer.concat(chunks), end: next }
    chunks.push(bytes.subarray(lineEnd + 2, next - 2))
    chunkStart = next
  }
}
