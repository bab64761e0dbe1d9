// Makes A2A calls that were never made before.
import type { BenchCase } from '../harness/rounds.ts'
import { formatRequest } from '../http/message.ts'
import { gatewayHost } from '../ours/open.ts'
import type { Issuer } from './issuer.ts'
import { briefEndpoint } from './issuer.ts'

let serial = 0

/**
 * Creates a function that makes calls which were never made before; those of the variant `jwt` carry tokens of a few callers.
 * @param targetOf the endpoint of each call, by its number
 */
export function createCallMaker(
  { tokens }: Pick<Issuer, 'tokens'>,
  method: string,
  targetOf: (number: number) => string = () => briefEndpoint,
): BenchCase['prepare'] {
  const runId = process.pid.toString(36)
  return async (count, variant) =>
    Array.from({ length: count }, () => {
      const sequenceNumber = serial++
      const token = variant === 'jwt' ? tokens[sequenceNumber % tokens.length] : undefined
      return formatRequest(
        targetOf(sequenceNumber),
        formatHeaders(token),
        formatCall(method, `${runId}-${sequenceNumber}`),
      )
    })
}

function formatCall(method: string, id: string): Uint8Array {
  const message = {
    messageId: `message-${id}`,
    role: 'ROLE_USER',
    parts: [{ text: `When does the last train back from the coast leave on Sunday? (${id})` }],
  }
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params: { message } }))
}

function formatHeaders(token: string | undefined): Readonly<Record<string, string>> {
  return {
    host: gatewayHost,
    'content-type': 'application/json',
    'a2a-version': '1.0',
    ...(token && { authorization: `Bearer ${token}` }),
  }
}
