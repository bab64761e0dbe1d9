// Represents a request of node:http by the few members that hot routes read.
import type { IncomingMessage } from 'node:http'
import type { ByteReservation } from '@postern/message'

/** The header fields of a request. A repeated field has one value, joined with commas. */
export type HeaderFields = Pick<Headers, 'get' | 'has'>

/** A request from Hono, or straight from the socket. */
export type IncomingRequest = Request | SocketRequest

/** A request that was not converted to the objects of the Fetch standard. Its server joins repeated header fields (`joinDuplicateHeaders`). */
export class SocketRequest {
  readonly incoming: IncomingMessage
  readonly headers: HeaderFields
  /** The reservation that counts the bytes of the body. */
  hold: ByteReservation | undefined

  constructor(incoming: IncomingMessage) {
    this.incoming = incoming
    this.headers = new SocketHeaders(incoming.headers)
  }

  get method(): string {
    return this.incoming.method ?? ''
  }

  get url(): string {
    return `http://${this.incoming.headers.host}${this.incoming.url}`
  }
}

class SocketHeaders implements HeaderFields {
  readonly #fields: IncomingMessage['headers']

  constructor(fields: IncomingMessage['headers']) {
    this.#fields = fields
  }

  get(name: string): string | null {
    const key = name.toLowerCase()
    const value = Object.hasOwn(this.#fields, key) ? this.#fields[key] : undefined
    return (typeof value === 'object' ? value.join(', ') : value) ?? null
  }

  has(name: string): boolean {
    return this.get(name) !== null
  }
}
