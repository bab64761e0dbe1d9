// Sends HTTP requests that no client library would send.
import type { HttpCase } from '../cases/case.ts'
import type { FuzzAnswer } from './answer.ts'
import { sendBytes } from './send-bytes.ts'

/** Writes the request itself, because client libraries would refuse it. */
export async function sendHttp(
  port: number,
  { method, target, headers, body, isCut }: HttpCase,
  proof: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<FuzzAnswer> {
  const otherHeaders = headers.filter(([name]) => !(name in proof))
  const lines = [...otherHeaders, ...Object.entries(proof), ['connection', 'close']].map(([name, value]) => {
    // A line end would begin another header field, or end the header.
    return `${name}: ${Buffer.from(String(value))
      .toString('latin1')
      .replaceAll(/[\r\n]/g, ' ')}`
  })
  const line = `${method} ${Buffer.from(target)
    .toString('latin1')
    .replaceAll(/[\r\n]/g, '')} HTTP/1.1`
  const head = Buffer.from([line, ...lines, '', ''].join('\r\n'), 'latin1')
  const isComplete = (read: Buffer) => isStream(read)
  const receivedBytes = await sendBytes({
    port,
    bytes: Buffer.concat([head, body]),
    ends: isCut,
    isComplete,
    signal,
  })
  const status = readStatus(receivedBytes.toString('latin1'))
  const text = receivedBytes.toString()
  // JSON-RPC reports its own bugs with status 200.
  const isBug = status === 500 || /"error":\{"code":-32603/.test(text)
  return { status, text, ...(isBug && { fault: `it answered ${status}: ${text.slice(0, 500)}` }) }
}

/** Returns true once the header announces an event stream. The fuzzer reads no further, because a stream stays open. */
function isStream(receivedBytes: Buffer): boolean {
  const head = receivedBytes.subarray(0, 4_096).toString('latin1')
  return /^content-type: text\/event-stream/im.test(head) && head.includes('\r\n\r\n')
}

/** Reads the status of the last status line, because an interim one is not the answer yet. */
function readStatus(text: string): number | undefined {
  const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))
  return statuses.find(status => status >= 200)
}
