// Sends a hand-made JSON-RPC request to an A2A agent, with a chosen fault.
import { randomUUID } from 'node:crypto'
import type { Fault, TokenOnlyFault } from '../fault.ts'
import type { LoopbackAnswer, LoopbackFetch } from '../net/loopback-fetch.ts'
import type { SentPart } from '../sent-part.ts'
import { listSentParts, renderA2aPart } from '../sent-part.ts'
import { applyToUrl, encodeRequest, jsonFaults } from './json-fault.ts'
import type { TokenMint, TokenPlan } from './token.ts'
import { mintToken } from './token.ts'

export interface A2aDelivery extends Pick<TokenPlan, 'sub' | 'audience'> {
  /** The JSON-RPC address, such as `https://agents.test/agents/echo/a2a`. */
  readonly url: string
  readonly text: string
  /** Parts in addition to the text. */
  readonly parts?: readonly SentPart[] | undefined
  readonly messageId?: string | undefined
  readonly contextId?: string | undefined
  readonly taskId?: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly fault?: Fault | TokenOnlyFault | undefined
  /** The padding of the fault `oversized`, in bytes. Default: 16 MiB. */
  readonly oversizedBytes?: number | undefined
  /** The longest wait for the answer, ms. Default: 30 000. */
  readonly timeoutMs?: number | undefined
  /** The JSON-RPC method. Default: `SendMessage`. */
  readonly method?: string | undefined
}

export interface A2aReceipt extends LoopbackAnswer {
  readonly messageId: string
  /** The JSON-RPC members, if the answer is JSON. */
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown } | undefined
}

/** Posts one hand-made JSON-RPC request, for requests that the official client would not send, and for the bare HTTP answer. */
export async function deliverA2a(
  delivery: A2aDelivery,
  { mint, loopback }: { readonly mint: TokenMint; readonly loopback: LoopbackFetch },
): Promise<A2aReceipt> {
  const fault = delivery.fault ? jsonFaults[delivery.fault] : {}
  const messageId = delivery.messageId ?? randomUUID()
  const url = applyToUrl(delivery.url, fault)
  const { sub, audience, timeoutMs = 30_000 } = delivery
  const token = fault.omitsToken ? undefined : await mintToken({ sub, audience, fault: fault.tokenFault }, mint)
  const post = async (text: string): Promise<A2aReceipt> => {
    const body = encodeRequest(describeRequest({ ...delivery, text, messageId }), fault, delivery.oversizedBytes)
    const headers = {
      'content-type': 'application/json',
      'a2a-version': '1.0',
      ...(token && { authorization: `Bearer ${token}` }),
    }
    const answer = await loopback.request(url, { method: 'POST', headers, body, timeoutMs })
    return { messageId, ...answer, ...readRpc(answer.body) }
  }
  const firstAnswer = await post(delivery.text)
  return fault.repeatText ? post(fault.repeatText) : firstAnswer
}

function describeRequest(delivery: A2aDelivery): object {
  const { messageId, contextId, taskId, metadata, method = 'SendMessage' } = delivery
  const parts = delivery.parts ? listSentParts(delivery).map(renderA2aPart) : [{ text: delivery.text }]
  const message = { messageId, contextId, taskId, role: 'ROLE_USER', parts, metadata }
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
