import { randomUUID } from 'node:crypto'
import type { Fault, TokenOnlyFault } from '../fault.ts'
import type { LoopbackAnswer, LoopbackFetch } from '../net/loopback-fetch.ts'
import type { TokenFault, TokenMint, TokenPlan } from './token.ts'
import { mintToken } from './token.ts'

export interface A2aDelivery extends Pick<TokenPlan, 'sub' | 'audience'> {
  /** The JSON-RPC address, `https://agents.test/agents/echo/a2a`. */
  readonly url: string
  readonly text: string
  readonly messageId?: string | undefined
  readonly contextId?: string | undefined
  readonly taskId?: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly fault?: Fault | TokenOnlyFault | undefined
  /** Padding of the fault `oversized`; default 16 MiB. */
  readonly oversizedBytes?: number | undefined
  /** Default `SendMessage`. */
  readonly method?: string | undefined
}

export interface A2aReceipt extends LoopbackAnswer {
  readonly messageId: string
  /** The JSON-RPC members, when the answer is JSON. */
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown } | undefined
}

interface A2aFault {
  readonly token?: TokenFault | undefined
  readonly withoutToken?: boolean | undefined
  /** The same message id again, with another text; the second answer counts. */
  readonly againAs?: string | undefined
  readonly unknownRecipient?: boolean | undefined
  encode?(body: string, oversizedBytes: number): string
}

const a2aFaults: Readonly<Record<Fault | TokenOnlyFault, A2aFault>> = {
  unsigned: { withoutToken: true },
  tampered: { token: 'tampered' },
  forged: { token: 'forged' },
  expired: { token: 'expired' },
  replayed: { againAs: 'something else' },
  wrong_owner: { token: 'wrong_owner' },
  oversized: { encode: (body, bytes) => `${body.slice(0, -1)},"padding":"${'x'.repeat(bytes)}"}` },
  deep: { encode: body => `${body.slice(0, -1)},"nested":${'['.repeat(2_000)}${']'.repeat(2_000)}}` },
  malformed: { encode: body => body.slice(0, -1) },
  key_host_down: { token: 'key_host_down' },
  unknown_recipient: { unknownRecipient: true },
  not_yet: { token: 'not_yet' },
  wrong_issuer: { token: 'wrong_issuer' },
  alg_none: { token: 'alg_none' },
}

/** Posts one JSON-RPC request by hand: for what the official client would not send, and for the bare HTTP answer. */
export async function deliverA2a(
  delivery: A2aDelivery,
  { mint, loopback }: { readonly mint: TokenMint; readonly loopback: LoopbackFetch },
): Promise<A2aReceipt> {
  const fault: A2aFault = delivery.fault ? a2aFaults[delivery.fault] : {}
  const messageId = delivery.messageId ?? randomUUID()
  const url = fault.unknownRecipient ? inventAgentUrl(delivery.url) : delivery.url
  const { sub, audience } = delivery
  const token = fault.withoutToken ? undefined : await mintToken({ sub, audience, fault: fault.token }, mint)
  const post = async (text: string): Promise<A2aReceipt> => {
    const request = JSON.stringify(describeRequest({ ...delivery, text, messageId }))
    const body = fault.encode?.(request, delivery.oversizedBytes ?? 2 ** 24) ?? request
    const headers = {
      'content-type': 'application/json',
      'a2a-version': '1.0',
      ...(token && { authorization: `Bearer ${token}` }),
    }
    const answer = await loopback.request(url, { method: 'POST', headers, body, timeoutMs: 30_000 })
    return { messageId, ...answer, ...readRpc(answer.body) }
  }
  const first = await post(delivery.text)
  return fault.againAs ? post(fault.againAs) : first
}

function describeRequest(delivery: A2aDelivery): unknown {
  const { messageId, contextId, taskId, text, metadata, method = 'SendMessage' } = delivery
  const message = { messageId, contextId, taskId, role: 'ROLE_USER', parts: [{ text }], metadata }
  return { jsonrpc: '2.0', id: 1, method, params: { message } }
}

function readRpc(body: string): Pick<A2aReceipt, 'result' | 'error'> {
  try {
    const { result, error } = JSON.parse(body) as Pick<A2aReceipt, 'result' | 'error'>
    return { result, error }
  } catch {
    return {}
  }
}

function inventAgentUrl(url: string): string {
  const { origin, pathname } = new URL(url)
  const path = pathname.startsWith('/agents/') ? pathname : '/agents/any/a2a'
  return origin + path.replace(/^\/agents\/[^/]+/, '/agents/no-such-agent')
}
