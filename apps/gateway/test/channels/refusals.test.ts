import { once } from 'node:events'
import { connect } from 'node:net'
import type { Refusal } from '@postern/pipeline'
import type { Fault } from '@postern/simulation'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { gatewayOrigin, openTestGateway, operatorToken, testIntakeSecret } from '../setup/gateway.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await openTestGateway(({ a2a: { issuerConfig, deadIssuerConfig } }) => {
    const issuers = [issuerConfig, deadIssuerConfig].map(issuer => ({ ...issuer, audience: `${gatewayOrigin}/a2a` }))
    return { a2a: { auth: { issuers } } }
  })
})
afterAll(() => gateway.close())

const secretWords = 'words that must stay in the body'

/** The answer to each peer for each fault, and the code that the operator sees. */
const table: readonly (readonly [via: 'activitypub' | 'a2a' | 'email', fault: Fault, answer: number, code: string])[] =
  [
    ['activitypub', 'unsigned', 401, 'unsigned'],
    ['activitypub', 'tampered', 401, 'signature_invalid'],
    ['activitypub', 'forged', 401, 'signature_invalid'],
    ['activitypub', 'expired', 401, 'expired'],
    ['activitypub', 'wrong_owner', 401, 'signer_mismatch'],
    ['activitypub', 'oversized', 413, 'too_large'],
    ['activitypub', 'malformed', 400, 'malformed'],
    ['activitypub', 'unknown_recipient', 404, 'no_recipient'],
    ['a2a', 'unsigned', 401, 'unsigned'],
    ['a2a', 'tampered', 401, 'signature_invalid'],
    ['a2a', 'forged', 401, 'signature_invalid'],
    ['a2a', 'expired', 401, 'expired'],
    ['a2a', 'wrong_owner', 401, 'signature_invalid'],
    ['a2a', 'oversized', 413, 'too_large'],
    ['a2a', 'unknown_recipient', 404, 'no_recipient'],
    ['email', 'tampered', 550, 'forbidden'],
    ['email', 'forged', 550, 'forbidden'],
    ['email', 'expired', 550, 'forbidden'],
    ['email', 'wrong_owner', 550, 'forbidden'],
    ['email', 'malformed', 554, 'malformed'],
    ['email', 'unknown_recipient', 550, 'no_recipient'],
  ]

async function sendFaulty(via: string, fault: Fault): Promise<number> {
  const { fediverse, a2a, mail } = gateway.simulation
  if (via === 'activitypub')
    return (await fediverse.deliver({ to: '@echo@agents.test', text: secretWords, fault })).status
  if (via === 'a2a')
    return (await a2a.deliver({ url: `${gatewayOrigin}/agents/echo/a2a`, text: secretWords, fault })).status
  return (await mail.deliver({ to: 'echo@agents.test', text: secretWords, fault })).answer
}

describe('the table of answers, over real sockets', () => {
  test.each(table)('%s, %s: %i', async (via, fault, answer, code) => {
    const countBefore = (await gateway.messages()).length
    expect(await sendFaulty(via, fault)).toBe(answer)
    expect(await gateway.messages()).toHaveLength(countBefore)
    const listRefusals = async () => (await gateway.requestOperator<{ items: Refusal[] }>('/refusals?limit=500')).items
    // The record of a refused mail may be written after the answer.
    await expect.poll(async () => (await listRefusals())[0]).toMatchObject({ via, code })
    expect(JSON.stringify(await listRefusals())).not.toContain(secretWords)
  })

  test.each(['activitypub', 'a2a', 'email'] as const)(
    'a message by %s gets a temporary refusal while the host of its key does not answer',
    async via => {
      const countBefore = (await gateway.messages()).length
      expect(await sendFaulty(via, 'key_host_down')).toBe(via === 'email' ? 451 : 503)
      expect(await gateway.messages()).toHaveLength(countBefore)
    },
  )
})

describe('the endpoint', () => {
  test('refuses more header fields than an honest peer sends', async () => {
    const { hostname, port } = new URL(gateway.url())
    const socket = connect(Number(port), hostname)
    const fields = Array.from({ length: 150 }, (_, index) => `X-Field-${index}: 1\r\n`).join('')
    socket.write(`POST /inbox HTTP/1.1\r\nHost: agents.test\r\nContent-Length: 0\r\n${fields}\r\n`)
    const [head] = (await once(socket, 'data')) as [Buffer]
    socket.destroy()
    expect(head.toString()).toMatch(/^HTTP\/1\.1 431 /)
  })

  test('hides the operator API from everybody without the token', async () => {
    for (const authorization of ['', 'Bearer wrong', `Basic ${operatorToken}`, operatorToken]) {
      const response = await fetch(`${gateway.url()}/operator/api/messages`, { headers: { authorization } })
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toContain('Bearer')
    }
  })

  test('the mail intake accepts mail only with the secret', async () => {
    for (const authorization of ['', 'Bearer wrong', `Bearer ${testIntakeSecret}x`]) {
      const response = await fetch(`${gateway.url()}/email/inbound?to=echo@agents.test`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'message/rfc822' },
        body: 'From: a@b.test\r\n\r\nhello',
      })
      expect(response.status).toBe(401)
    }
  })

  test('answers unknown paths with a problem document without details', async () => {
    const response = await fetch(`${gateway.url()}/nowhere`)
    expect(response.status).toBe(404)
    expect(response.headers.get('content-type')).toContain('application/problem+json')
    expect(await response.json()).toEqual({
      title: 'Not Found',
      status: 404,
      detail: 'Nothing is here',
      code: 'no_recipient',
    })
  })

  test('serves health, readiness and metrics', async () => {
    expect(await (await fetch(`${gateway.url()}/healthz`)).json()).toEqual({ status: 'ok' })
    expect(await (await fetch(`${gateway.url()}/readyz`)).json()).toEqual({ status: 'ready' })
    expect(await (await fetch(`${gateway.url()}/metrics`)).text()).toMatch(
      /^postern_messages\{state="answered"\} \d+$/m,
    )
  })
})
