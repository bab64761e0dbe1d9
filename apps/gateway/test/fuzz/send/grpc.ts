// Sends gRPC calls with unchecked bytes.
import { connect } from 'node:http2'
import type { GrpcCase } from '../cases/case.ts'
import type { FuzzAnswer } from './answer.ts'

/** Codes by which a gRPC server reports its own bugs: UNKNOWN and INTERNAL. */
const bugs: ReadonlySet<number> = new Set([2, 13])

/** Makes one call on a new connection, with its bytes unchanged. */
export function sendGrpc(
  port: number,
  { endpoint, headers, body }: GrpcCase,
  proof: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<FuzzAnswer> {
  return new Promise((resolve, reject) => {
    const session = connect(`http://127.0.0.1:${port}`)
    let status: number | undefined
    let text = ''
    const finish = () => {
      session.destroy()
      const isBug = status !== undefined && bugs.has(status)
      resolve({ status, text, ...(isBug && { fault: `it answered ${status}: ${text}` }) })
    }
    const readHeaders = (fields: Readonly<Record<string, unknown>>) => {
      if (fields['grpc-status'] === undefined) return
      status = Number(fields['grpc-status'])
      text = decodeURIComponent(String(fields['grpc-message'] ?? ''))
    }
    session.on('error', finish)
    const stream = session.request({
      ':method': 'POST',
      ':path': endpoint,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
      ...proof,
    })
    stream.on('response', readHeaders)
    stream.on('trailers', readHeaders)
    stream.on('error', finish)
    stream.on('close', finish)
    // The first message of a stream is answer enough.
    stream.once('data', () => endpoint.includes('Subscribe') && finish())
    stream.resume()
    stream.end(body)
    signal.addEventListener('abort', () => {
      session.destroy()
      reject(new Error('no answer'))
    })
  })
}
