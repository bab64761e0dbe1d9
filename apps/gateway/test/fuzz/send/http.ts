import type { HttpCase } from '../cases/case.ts'
import type { FuzzAnswer } from './answer.ts'
import { sendBytes } from './bytes.ts'

/** Writes the request by hand: no client would send such ones. */
export async function sendHttp(
  port: number,
  { method, target, headers, body, isCut }: HttpCase,
  proof: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<FuzzAnswer> {
  const own = headers.filter(([name]) => !(name in proof))
  const lines = [...own, ...Object.entries(proof), ['connection', 'close']].map(([name, value]) => {
    // Line ends would be a header of their own, or none at all.
    return `${name}: ${Buffer.from(String(value))
      .toString('latin1')
      .replaceAll(/[\r\n]/g, ' ')}`
  })
  const line = `${method} ${Buffer.from(target)
    .toString('latin1')
    .replaceAll(/[\r\n]/g, '')} HTTP/1.1`
  const head = Buffer.from([line, ...lines, '', ''].join('\r\n'), 'latin1')
  const isEnough = (read: Buffer) => isStream(read)
  const read = await sendBytes({ port, bytes: Buffer.concat([head, body]), ends: isCut, isEnough, signal })
  const status = readStatus(read.toString('latin1'))
  const text = read.toString()
  // JSON-RPC tells of its own bugs under 200.
  const isBug = status === 500 || /"error":\{"code":-32603/.test(text)
  return { status, text, ...(isBug && { fault: `it answered ${status}: ${text.slice(0, 500)}` }) }
}

/** Streams stay open as long as somebody listens: their beginning is answer enough. */
function isStream(read: Buffer): boolean {
  const head = read.subarray(0, 4_096).toString('latin1')
  return /^content-type: text\/event-stream/im.test(head) && head.includes('\r\n\r\n')
}

/** Of the last status line: an interim one is no answer yet. */
function readStatus(text: string): number | undefined {
  const found = [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))
  return found.find(status => status >= 200)
}
