// Reads an HTTP/1.1 response from the bytes of a connection, strictly and within limits (RFC 9112).
import { Unavailable } from '@postern/message'
import { refuseFetch } from '../address/refuse-fetch.ts'
import { joinBytes } from '../request/join-bytes.ts'

export interface ResponseLimits {
  /** False after HEAD, whose headers describe a body that is not sent. */
  readonly hasBody: boolean
  readonly maxBytes: number
}

/** The maximum number of bytes of a response's head, and of the trailers of a chunked body. */
export const maxHeaderSize = 32 * 1024
/** The maximum number of bytes of the line before a chunk. Nobody uses its extensions. */
const maxChunkLineSize = 1024

const headEnd = '\r\n\r\n'
const headStart = 'HTTP/1.'
const statusLinePattern = /^HTTP\/1\.([01]) (\d{3})(?: [\t\x20-\x7e\x80-\xff]*)?$/
const fieldPattern = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/
const chunkLinePattern = /^([0-9a-fA-F]{1,8})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/

/**
 * Reads one response. It takes the bytes as they arrive, and throws Undeliverable for a response that exceeds a limit, and Unavailable for bytes that are
 * not HTTP.
 */
export class ResponseReader {
  readonly #limits: ResponseLimits
  /** Reads the next part of the response, and returns the bytes behind this part. */
  #readPart: (bytes: Buffer) => Buffer
  /** The beginning of a head that arrives in several pieces. */
  #pendingHead: Buffer | undefined
  #pendingHeadSize = 0
  #pendingLine = ''
  /** The bytes that are left of the body or of the chunk. */
  #remainingBytes = 0
  #trailerSize = 0
  #chunks: Uint8Array[] = []
  #size = 0
  #hasSurplus = false
  #isHttp10 = false
  #status = 0
  #headers: Headers | undefined
  #isComplete = false

  constructor(limits: ResponseLimits) {
    this.#limits = limits
    this.#readPart = this.#readHead
  }

  /** True after the last byte of the response. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** True after the end of the head. */
  get hasHead(): boolean {
    return this.#headers !== undefined
  }

  /** Takes the bytes that have arrived. @throws Undeliverable, Unavailable */
  read(bytes: Buffer): void {
    let rest = bytes
    while (rest.length > 0 && !this.#isComplete) rest = this.#readPart(rest)
    this.#hasSurplus ||= rest.length > 0
  }

  /** Takes the end of the connection, which ends a body without a length. */
  end(): void {
    if (this.#readPart === this.#readUntilClose) this.#isComplete = true
  }

  /** Returns the complete response. */
  finish(): { readonly status: number; readonly headers: Headers; readonly body: Uint8Array } {
    return { status: this.#status, headers: this.#headers ?? new Headers(), body: joinBytes(this.#chunks, this.#size) }
  }

  /** Returns how long the server keeps the connection open for another exchange, in ms; 0 if it does not. */
  countIdleMs(maxMs: number): number {
    if (this.#hasSurplus || !this.#headers || this.#readPart === this.#readUntilClose) return 0
    const options = (this.#headers.get('connection') ?? '').toLowerCase()
    if (options.includes('close') || (this.#isHttp10 && !options.includes('keep-alive'))) return 0
    const announced = /timeout=(\d{1,9})/i.exec(this.#headers.get('keep-alive') ?? '')?.[1]
    // The last second is left out, because a request that is under way when the server closes would be lost.
    return announced === undefined ? maxMs : Math.max(0, Math.min(maxMs, (Number(announced) - 1) * 1_000))
  }

  #readHead(bytes: Buffer): Buffer {
    const end = this.#pendingHead ? -1 : bytes.indexOf(headEnd)
    if (end < 0) return this.#collectHead(bytes)
    if (end > maxHeaderSize) throw refuseHead()
    this.#parseHead(bytes.toString('latin1', 0, end))
    return bytes.subarray(end + headEnd.length)
  }

  /** Collects a head that arrives in pieces. Each byte is copied and searched only once, even if the pieces are single bytes. */
  #collectHead(bytes: Buffer): Buffer {
    this.#pendingHead ??= Buffer.allocUnsafe(maxHeaderSize + headEnd.length)
    const copied = bytes.copy(this.#pendingHead, this.#pendingHeadSize)
    const searchFrom = Math.max(0, this.#pendingHeadSize - headEnd.length + 1)
    const size = this.#pendingHeadSize + copied
    const end = this.#pendingHead.subarray(0, size).indexOf(headEnd, searchFrom)
    if (end < 0) {
      if (!headStart.startsWith(this.#pendingHead.toString('latin1', 0, Math.min(size, headStart.length))))
        throw refuseBytes()
      if (size > maxHeaderSize) throw refuseHead()
      this.#pendingHeadSize = size
      return bytes.subarray(copied)
    }
    const rest = bytes.subarray(end + headEnd.length - this.#pendingHeadSize)
    this.#parseHead(this.#pendingHead.toString('latin1', 0, end))
    this.#pendingHead = undefined
    this.#pendingHeadSize = 0
    return rest
  }

  #parseHead(head: string): void {
    // A line that begins with white space continues the one before it (RFC 9112 §5.2).
    const [statusLine = '', ...lines] = head.replaceAll(/\r\n[\t ]+/g, ' ').split('\r\n')
    const [, minorVersion, status] = statusLinePattern.exec(statusLine) ?? []
    if (status === undefined) throw refuseBytes()
    const headers = new Headers()
    for (const line of lines) {
      const [, name, value] = fieldPattern.exec(line) ?? []
      if (name === undefined || value === undefined) throw refuseBytes()
      headers.append(name, value)
    }
    // The final response follows an interim one (RFC 9110 §15.2). Nobody asked to switch protocols.
    if (status.startsWith('1') && status !== '101') return
    this.#status = checkStatus(Number(status))
    this.#isHttp10 = minorVersion === '0'
    this.#headers = headers
    this.#beginBody(headers)
  }

  /** Finds out where the body ends (RFC 9112 §6.3). */
  #beginBody(headers: Headers): void {
    const { hasBody, maxBytes } = this.#limits
    if (!hasBody || this.#status === 204 || this.#status === 304) {
      this.#isComplete = true
      return
    }
    const length = headers.get('content-length')
    if (length !== null && (headers.has('transfer-encoding') || !/^\d{1,15}$/.test(length))) throw refuseBytes()
    checkResponseHead(headers, maxBytes)
    if (headers.has('transfer-encoding')) this.#readPart = this.#readChunkLine
    else if (length === null) this.#readPart = this.#readUntilClose
    else {
      this.#remainingBytes = Number(length)
      this.#readPart = this.#readDeclared
      if (this.#remainingBytes === 0) this.#isComplete = true
    }
  }

  #keep(bytes: Buffer): void {
    const { maxBytes } = this.#limits
    this.#size += bytes.length
    if (this.#size > maxBytes) throw refuseFetch(`answer is too large: more than ${maxBytes} bytes`)
    this.#chunks.push(bytes)
  }

  #readUntilClose(bytes: Buffer): Buffer {
    this.#keep(bytes)
    return bytes.subarray(bytes.length)
  }

  /** Reads bytes whose number is known. */
  #readRemaining(bytes: Buffer): Buffer {
    const body = bytes.subarray(0, this.#remainingBytes)
    this.#keep(body)
    this.#remainingBytes -= body.length
    return bytes.subarray(body.length)
  }

  #readDeclared(bytes: Buffer): Buffer {
    const rest = this.#readRemaining(bytes)
    if (this.#remainingBytes === 0) this.#isComplete = true
    return rest
  }

  #readChunk(bytes: Buffer): Buffer {
    const rest = this.#readRemaining(bytes)
    if (this.#remainingBytes === 0) this.#readPart = this.#readChunkEnd
    return rest
  }

  #readChunkLine(bytes: Buffer): Buffer {
    return this.#readLine(bytes, maxChunkLineSize, line => {
      const size = chunkLinePattern.exec(line)?.[1]
      if (size === undefined) throw refuseBytes()
      this.#remainingBytes = Number.parseInt(size, 16)
      this.#readPart = this.#remainingBytes === 0 ? this.#readTrailer : this.#readChunk
    })
  }

  #readChunkEnd(bytes: Buffer): Buffer {
    return this.#readLine(bytes, 0, () => {
      this.#readPart = this.#readChunkLine
    })
  }

  /** Reads the fields behind a chunked body, which nobody uses, up to the empty line. */
  #readTrailer(bytes: Buffer): Buffer {
    return this.#readLine(bytes, maxHeaderSize - this.#trailerSize, line => {
      this.#trailerSize += line.length + 2
      if (line === '') this.#isComplete = true
      else if (!fieldPattern.test(line)) throw refuseBytes()
    })
  }

  /** Reads to the end of a line. `onLine` gets the line without its end once it is complete. */
  #readLine(bytes: Buffer, maxSize: number, onLine: (line: string) => void): Buffer {
    const end = bytes.indexOf(0x0a)
    this.#pendingLine += bytes.toString('latin1', 0, end < 0 ? bytes.length : end + 1)
    if (this.#pendingLine.length > maxSize + 2) throw refuseBytes()
    if (end < 0) return bytes.subarray(bytes.length)
    const line = this.#pendingLine
    this.#pendingLine = ''
    if (!line.endsWith('\r\n')) throw refuseBytes()
    onLine(line.slice(0, -2))
    return bytes.subarray(end + 1)
  }
}

function refuseBytes(): Unavailable {
  return new Unavailable('Cannot fetch: answer is not HTTP')
}

function refuseHead(): Error {
  return refuseFetch('answer headers are too large')
}

/**
 * Returns the status of a response.
 * @throws Unavailable if it is not valid
 */
export function checkStatus(status: number): number {
  if (status >= 200 && status <= 599) return status
  throw new Unavailable('Cannot fetch: answer has no valid status')
}

/**
 * Checks the headers of a response against the limits.
 * @throws Undeliverable if they exceed a limit
 */
export function checkResponseHead(headers: Headers, maxBytes: number): void {
  const contentCoding = headers.get('content-encoding') ?? 'identity'
  const transferCoding = headers.get('transfer-encoding') ?? 'chunked'
  if (contentCoding.trim().toLowerCase() !== 'identity' || transferCoding.trim().toLowerCase() !== 'chunked') {
    throw refuseFetch('answer is encoded although identity was asked for')
  }
  const declaredBytes = Number(headers.get('content-length') ?? 0)
  if (declaredBytes > maxBytes) throw refuseFetch(`answer is too large: ${declaredBytes} bytes, more than ${maxBytes}`)
}
