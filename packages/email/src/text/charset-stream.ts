import type { TransformCallback } from 'node:stream'
import { Transform } from 'node:stream'
import { decodeCharset } from './charsets.ts'

/** Decodes a body to UTF-8, as a decoder for mailparser (`Iconv`). */
export class CharsetStream extends Transform {
  readonly #charset: string
  readonly #chunks: Buffer[] = []

  constructor(charset: string) {
    super()
    this.#charset = charset
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#chunks.push(chunk)
    done()
  }

  override _flush(done: TransformCallback): void {
    done(null, Buffer.from(decodeCharset(Buffer.concat(this.#chunks), this.#charset)))
  }
}
