// Decodes the character sets that mail names.
import type { TransformCallback } from 'node:stream'
import { Transform } from 'node:stream'
import { decode } from 'libmime/lib/charset.js'
import { charsetOfMeta } from './charset-of-meta.ts'
import { statefulCharsets } from './stateful-charsets.ts'

/** Decodes octets in a charset that a mail names. Undecodable octets become U+FFFD. */
export function decodeCharset(octets: Buffer, charset: string): string {
  const name = charset.trim().toLowerCase()
  if (name === charsetOfMeta) return decodeHtml(octets)
  return statefulCharsets.get(name)?.(octets) ?? decode(octets, charset)
}

/** The number of octets in which browsers look for a charset (HTML §13.2.3.2). */
const maxPrescanOctets = 1024
const metaCharset = /<meta\s[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i

/**
 * Decodes HTML. It decodes UTF-8 if the HTML names no charset, or a charset that would decode plain ASCII to other
 * text.
 */
function decodeHtml(octets: Buffer): string {
  const name = metaCharset.exec(octets.toString('latin1', 0, maxPrescanOctets))?.[1] ?? 'utf-8'
  return decodeCharset(octets, /^(?:utf-?(?:7|16|32)|ucs|x-)/i.test(name) ? 'utf-8' : name)
}

/** Converts a body to UTF-8 for mailparser, in place of its `Iconv`. */
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
