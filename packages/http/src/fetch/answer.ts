import type { IncomingMessage } from 'node:http'
import type { FetchAnswer } from '@postern/core'
import { Unavailable } from '@postern/core'
import { refuseFetch } from '../address/url.ts'
import { joinBytes } from '../bytes/body.ts'

interface AnswerOptions {
  readonly url: string
  /** False after HEAD: the headers describe a body that does not come. */
  readonly hasBody: boolean
  readonly maxBytes: number
}

/** Reads an answer to its end. @throws Undeliverable when it exceeds a limit, Unavailable when it is cut short */
export async function readFetchAnswer(incoming: IncomingMessage, options: AnswerOptions): Promise<FetchAnswer> {
  const { url, hasBody, maxBytes } = options
  const status = incoming.statusCode ?? 0
  if (status < 200 || status > 599) throw new Unavailable('Cannot fetch: answer has no valid status')
  if (hasBody) checkDeclared(incoming, maxBytes)
  const body = await collectBody(incoming, maxBytes)
  return { status, headers: toHeaders(incoming.rawHeaders), url, body }
}

/** @throws Undeliverable when the answer's headers exceed a limit */
export function checkDeclared({ headers }: IncomingMessage, maxBytes: number): void {
  const coding = headers['content-encoding'] ?? 'identity'
  const transfer = headers['transfer-encoding'] ?? 'chunked'
  if (coding.trim().toLowerCase() !== 'identity' || transfer.trim().toLowerCase() !== 'chunked') {
    throw refuseFetch('answer is encoded although identity was asked for')
  }
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw refuseFetch('answer is too large')
}

function collectBody(incoming: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let size = 0
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) reject(refuseFetch('answer is too large'))
      else chunks.push(chunk)
    })
    incoming.once('end', () => resolve(joinBytes(chunks, size)))
    incoming.once('error', cause => reject(new Unavailable('Cannot fetch: answer was cut short', { cause })))
  })
}

export function toHeaders(raw: readonly string[]): Headers {
  const headers = new Headers()
  for (let at = 0; at < raw.length; at += 2) headers.append(raw[at] ?? '', raw[at + 1] ?? '')
  return headers
}
