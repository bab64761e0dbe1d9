// Writes the body of an answer piece by piece: straight to its socket, or as a Web stream without a socket.
import type { ServerResponse } from 'node:http'
import { joinBytes } from '../request/join-bytes.ts'

/** The receiver of a body that is written piece by piece. */
export interface BodyReceiver {
  /** The number of bytes that the client has not taken yet. */
  readonly waitingBytes: number
  /** False while the client should take what it has been sent before it gets more. */
  readonly isReady: boolean
  write(bytes: Uint8Array): void
  /** Ends the body once the client has taken everything. */
  end(): void
  /** Breaks the answer off, so that the client knows that it is incomplete. */
  abort(error: Error): void
}

/** The events of a receiver. */
interface BodyEvents {
  /** Called when the receiver has become ready. */
  onReady?(): void
  /** Called once, when the client has left or has taken the whole body. */
  onClose(): void
}

/** A body. It is opened once, with the receiver that it may write to from then on. */
export type StreamedBody = (receiver: BodyReceiver) => BodyEvents

/** The objects of the server for one request. */
interface StreamingEnv {
  readonly outgoing?: ServerResponse
  /** True if the server sends bodies by `sendStreamedBody`. */
  readonly sendsBodies?: boolean
}

const socketReceivers = new WeakMap<ServerResponse, SocketReceiver>()

/**
 * Answers with a body that is written piece by piece. It opens the body at once. `env` holds the server's own objects for the request: if the
 * server sends bodies by `sendStreamedBody`, the pieces need no Web stream.
 */
export function answerWithBody(env: unknown, body: StreamedBody, headers: Readonly<Record<string, string>>): Response {
  const { outgoing, sendsBodies } = (env ?? {}) as StreamingEnv
  if (!outgoing || !sendsBodies) return new Response(toWebStream(body), { headers })
  socketReceivers.set(outgoing, new SocketReceiver(outgoing, body))
  return new Response(null, { headers })
}

/**
 * Sends the head of an answer and lets its body follow, if a route has answered with `answerWithBody`. Returns false for any other answer, which the
 * server has to send.
 */
export function sendStreamedBody(env: unknown, response: Response): boolean {
  const { outgoing, sendsBodies } = (env ?? {}) as StreamingEnv
  const receiver = outgoing && sendsBodies ? socketReceivers.get(outgoing) : undefined
  if (!outgoing || !receiver) return false
  // Another answer may have replaced the one with the body, for example after an error.
  const isSent = response.status === 200 && response.body === null && outgoing.req.method !== 'HEAD'
  if (isSent) receiver.sendHead(Object.fromEntries(response.headers))
  else receiver.close()
  return isSent
}

/** Answers with a body that is written piece by piece, without Hono. */
export function sendBody(
  outgoing: ServerResponse,
  body: StreamedBody,
  headers: Readonly<Record<string, string>>,
): void {
  new SocketReceiver(outgoing, body).sendHead(headers)
}

/** A body whose events begin when it has been opened. */
class OpenBody {
  isClosed = false
  #events: BodyEvents | undefined

  open(body: StreamedBody, receiver: BodyReceiver): void {
    this.#events = body(receiver)
    if (this.isClosed) this.#events.onClose()
  }

  reportReady(): void {
    if (!this.isClosed) this.#events?.onReady?.()
  }

  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    this.#events?.onClose()
  }
}

/** The size up to which the pieces of one moment are copied into one chunk. Larger pieces may be shared with other clients. */
const maxCopiedBytes = 16 * 1024

/** Writes a body to the socket. Pieces of the same moment share a chunk. */
class SocketReceiver implements BodyReceiver {
  readonly #outgoing: ServerResponse
  readonly #body = new OpenBody()
  #pieces: Uint8Array[] = []
  #pendingBytes = 0
  #hasHead = false
  #isEnding = false
  #isScheduled = false

  constructor(outgoing: ServerResponse, body: StreamedBody) {
    this.#outgoing = outgoing
    this.#body.open(body, this)
  }

  get waitingBytes(): number {
    return this.#pendingBytes + this.#outgoing.writableLength
  }

  get isReady(): boolean {
    return this.#pendingBytes < maxCopiedBytes && !this.#outgoing.writableNeedDrain
  }

  write(bytes: Uint8Array): void {
    if (this.#body.isClosed || this.#isEnding) return
    this.#pieces.push(bytes)
    this.#pendingBytes += bytes.byteLength
    if (!this.#hasHead || this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#flush())
  }

  end(): void {
    this.#isEnding = true
    if (this.#hasHead) this.#flush()
  }

  abort(): void {
    this.#outgoing.destroy()
    this.close()
  }

  /** Sends the head of the answer and everything that was written so far. */
  sendHead(headers: Readonly<Record<string, string>>): void {
    const outgoing = this.#outgoing
    if (outgoing.destroyed) {
      this.close()
      return
    }
    outgoing.on('drain', () => this.#body.reportReady())
    outgoing.once('close', () => this.close())
    outgoing.writeHead(200, headers)
    this.#hasHead = true
    if (this.#pendingBytes === 0) outgoing.flushHeaders()
    this.#flush()
  }

  close(): void {
    this.#pieces = []
    this.#body.close()
  }

  #flush(): void {
    this.#isScheduled = false
    if (this.#body.isClosed || this.#outgoing.writableEnded) return
    const pieces = this.#pieces
    const size = this.#pendingBytes
    const isCopied = pieces.length > 1 && size <= maxCopiedBytes
    this.#pieces = []
    this.#pendingBytes = 0
    for (const piece of isCopied ? [joinBytes(pieces, size)] : pieces) this.#outgoing.write(piece)
    if (this.#isEnding) this.#outgoing.end()
    else if (this.isReady) this.#body.reportReady()
  }
}

const highWaterMark = 64 * 1024

function toWebStream(body: StreamedBody): ReadableStream<Uint8Array> {
  let receiver: StreamReceiver | undefined
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        receiver = new StreamReceiver(controller)
        receiver.open(body)
      },
      pull: () => receiver?.pull(),
      cancel: () => receiver?.close(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark }),
  )
}

/** Writes a body to the reader of a Web stream. */
class StreamReceiver implements BodyReceiver {
  readonly #controller: ReadableStreamDefaultController<Uint8Array>
  readonly #body = new OpenBody()
  #isEnding = false

  constructor(controller: ReadableStreamDefaultController<Uint8Array>) {
    this.#controller = controller
  }

  get waitingBytes(): number {
    return highWaterMark - (this.#controller.desiredSize ?? highWaterMark)
  }

  get isReady(): boolean {
    return this.waitingBytes < highWaterMark
  }

  open(body: StreamedBody): void {
    this.#body.open(body, this)
  }

  write(bytes: Uint8Array): void {
    if (!this.#body.isClosed && !this.#isEnding) this.#controller.enqueue(bytes)
  }

  end(): void {
    this.#isEnding = true
    this.#closeIfRead()
  }

  abort(error: Error): void {
    if (!this.#body.isClosed) this.#controller.error(error)
    this.close()
  }

  pull(): void {
    this.#closeIfRead()
    this.#body.reportReady()
  }

  close(): void {
    this.#body.close()
  }

  #closeIfRead(): void {
    if (!this.#isEnding || this.#body.isClosed || this.waitingBytes > 0) return
    this.#controller.close()
    this.close()
  }
}
