import { afterEach, expect, test } from 'vitest'
import type { TestPeer } from '../setup/peer.ts'
import { agentMessage, openAgentPeer } from '../setup/peer.ts'

let peer: TestPeer
afterEach(() => peer.close())

const peerConfig = { withinMs: 60_000, streams: false }

/** Calls a peer whose first response to the message is `firstResponse`, and whose second one is valid. */
async function callTwice(firstResponse: object) {
  peer = await openAgentPeer()
  peer.system.speedUpClock(20)
  const calls: string[] = []
  peer.answerRpc(({ body }) => {
    calls.push(String(body.method))
    return calls.length === 1 ? firstResponse : agentMessage({ text: 'done' })
  })
  const answer = await peer.call('pay', { peer: peerConfig }).catch((error: Error) => error.message)
  return { calls, answer }
}

test.each([
  ['500', { status: 500 }],
  ['502', { status: 502 }],
  ['504', { status: 504 }],
  ['an error of JSON-RPC with the code 503', { json: { jsonrpc: '2.0', id: 1, error: { code: 503, message: 'no' } } }],
])('the gateway does not repeat a call after %s, because the peer may have acted', async (_case, firstResponse) => {
  const { calls, answer } = await callTwice(firstResponse)
  expect(answer).toEqual(expect.stringMatching(/^Cannot call agent/))
  expect(calls).toHaveLength(1)
})

test.each([429, 503])('the gateway repeats a call after %i, because the peer has not begun', async status => {
  const { calls, answer } = await callTwice({ status })
  expect(answer).toMatchObject({ parts: [{ content: 'done' }] })
  expect(calls).toHaveLength(2)
})
