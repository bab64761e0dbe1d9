import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, openTestGateway } from '../setup/gateway.ts'
import { decide, findActionPath, shopkeeper } from '../setup/requirement-steps.ts'

// These tests cover consent over email: the mail, the reply with a link, the page, the agent's second turn and its answer.

let gateway: TestGateway

beforeAll(async () => {
  gateway = await openTestGateway(() => ({
    agents: { shop: shopkeeper },
    email: { reply_all: true, listen: { port: 0, protocol: 'smtp' } },
  }))
})
afterAll(() => gateway.close())

/** Sends a mail that makes the agent ask for consent. Returns the agent's mail and the target of its link. */
async function askByMail(plan: Partial<Parameters<TestGateway['simulation']['mail']['deliver']>[0]> = {}) {
  const { mail } = await gateway.simulation.mail.deliver({ to: 'shop@agents.test', text: 'consent please', ...plan })
  const reply = await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
  return { mail, reply, path: findActionPath(reply.text ?? '') }
}

/** Waits for the text that the shop mails after the decision. */
function awaitDecision(message: string): Promise<string> {
  return eventually(async () => gateway.simulation.mail.received.find(({ text }) => text?.includes(message))?.text)
}

test('a person consents to a mail on its page, and the agent continues by mail (MN-7, MN-7.2)', async () => {
  const { mail, reply, path } = await askByMail({ subject: 'A cake' })
  expect(reply.text).toContain('May I hand your order on to the <baker>?')
  expect(reply.text).toContain('Yes, hand it on: https://agents.test/actions/')
  expect(reply.html).toContain(`<a href="https://agents.test${path}">Yes, hand it on</a>`)

  const page = await fetch(gateway.url() + path)
  const shownText = await page.text()
  expect(page.status).toBe(200)
  expect(shownText).toContain('May I hand your order on to the &lt;baker&gt;?')
  expect(shownText).toContain('@shop@agents.test')
  expect(shownText).toContain('@alice@alice.test')

  const decisionResponse = await decide(gateway, path, 'grant')
  expect([decisionResponse.status, await decisionResponse.text()]).toEqual([200, expect.stringContaining('Agreed')])
  const message = await awaitDecision('decided: consent_required granted by link, my state, 7')
  expect(message).toContain('said: Agreed: Your order')

  const secondResponse = await decide(gateway, path, 'grant')
  expect([secondResponse.status, await secondResponse.text()]).toEqual([
    409,
    expect.stringContaining('decided already'),
  ])
  const secondMail = gateway.simulation.mail.received.find(({ text }) =>
    text?.includes('decided: consent_required granted'),
  )
  expect(secondMail?.inReplyTo).toBe(mail.messageId.replace(/[<>]/g, ''))
})

test('a request for the link decides nothing, with any method', async () => {
  const { path } = await askByMail()
  const countBefore = (await gateway.messages()).length
  for (const method of ['GET', 'HEAD', 'GET', 'OPTIONS']) {
    const { status } = await fetch(gateway.url() + path, { method, headers: { 'sec-purpose': 'prefetch' } })
    expect(status).toBe(method === 'OPTIONS' ? 404 : 200)
  }
  await fetch(`${gateway.url()}${path}?decision=grant`)
  await fetch(`${gateway.url()}${path}/receipt`)
  expect((await gateway.messages()).length).toBe(countBefore)
  expect((await decide(gateway, path, 'decline')).status).toBe(200)
  expect(await awaitDecision('decided: consent_required declined by link')).toContain('said: Not agreed: Your order')
})

test('one of two simultaneous decisions counts', async () => {
  const { mail, path } = await askByMail()
  const countBefore = (await gateway.messages()).length
  const answers = await Promise.all(['grant', 'decline', 'grant'].map(decision => decide(gateway, path, decision)))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
  const count = async () => {
    const listedSummaries = await gateway.messages()
    return listedSummaries.every(({ state }) => state === 'answered') && listedSummaries.length
  }
  expect(await eventually(count)).toBe(countBefore + 1)
  const ofThread = () =>
    gateway.simulation.mail.received.filter(({ inReplyTo }) => inReplyTo === mail.messageId.replace(/[<>]/g, ''))
  await eventually(async () => ofThread().length > 1)
  expect(ofThread()).toHaveLength(2)
})

test('neither the operator nor the agent’s history sees the state and link of a requirement', async () => {
  const { mail, path } = await askByMail()
  const state = path.slice('/actions/'.length)
  const record = await gateway.readMessage(mail.messageId.replace(/[<>]/g, ''))
  expect(JSON.stringify(record.response?.parts)).toContain('consent_required')
  const text = JSON.stringify([
    record,
    await gateway.requestOperator('/requirements'),
    await gateway.requestOperator('/deliveries'),
  ])
  expect(text).not.toContain(state)
  await decide(gateway, path, 'grant')
  await awaitDecision('decided: consent_required granted by link')
  const resolution = (await gateway.messages())[0]
  expect(resolution).toMatchObject({ sender: '@alice@alice.test', preview: 'Agreed: Your order' })
  const resolvedRecord = await gateway.readMessage(resolution?.id ?? '')
  expect(resolvedRecord.message.policy_resolution).toMatchObject({ kind: 'consent_required', outcome: 'granted' })
  expect(JSON.stringify(resolvedRecord)).not.toContain(state)
  expect(JSON.stringify(resolvedRecord.message.history)).toContain('consent_required')
})

test('a link goes only to the person who asked, and not to those in copy', async () => {
  const countBefore = gateway.simulation.mail.received.length
  const { mail, reply, path } = await askByMail({ cc: ['bob@nodmarc.test', 'shop@agents.test'] })
  expect(reply.envelope.to).toEqual(['alice@alice.test'])
  expect(reply.headers.get('cc')).toBeUndefined()
  const answers = gateway.simulation.mail.received.filter(
    ({ inReplyTo }) => inReplyTo === mail.messageId.replace(/[<>]/g, ''),
  )
  expect(answers.map(({ envelope }) => envelope.to)).toEqual([['alice@alice.test']])
  await decide(gateway, path, 'grant')
  await eventually(async () =>
    gateway.simulation.mail.received
      .slice(countBefore)
      .some(({ envelope }) => envelope.to.includes('bob@nodmarc.test')),
  )
})

test('a made-up requirement is unknown, whatever its form', async () => {
  const texts = await Promise.all(
    ['f'.repeat(43), 'short', 'a%2Fb', 'f'.repeat(4_000)].map(async state => {
      const response = await fetch(`${gateway.url()}/actions/${state}`)
      expect(response.status).toBe(404)
      expect((await decide(gateway, `/actions/${state}`, 'grant')).status).toBe(404)
      return response.text()
    }),
  )
  expect(new Set(texts).size).toBe(1)
})

test('an agent whose requirement leads to another origin fails, and the person gets no link (MN-7.1)', async () => {
  const { mail } = await gateway.simulation.mail.deliver({ to: 'shop@agents.test', text: 'elsewhere please' })
  const reply = await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
  expect(reply.text).toContain('Sorry, this could not be answered.')
  const record = await gateway.readMessage(mail.messageId.replace(/[<>]/g, ''))
  expect(record.error).toBe(
    'Cannot answer: the url of a policy part must be on https://agents.test, outside of /actions/, not on https://evil.test',
  )
})

test('the gateway replaces a state that an agent made up', async () => {
  const { mail } = await gateway.simulation.mail.deliver({ to: 'shop@agents.test', text: 'forged please' })
  const reply = await gateway.simulation.mail.awaitReply(mail.messageId, 30_000)
  expect(findActionPath(reply.text ?? '')).not.toContain('f'.repeat(43))
  expect((await decide(gateway, `/actions/${'f'.repeat(43)}`, 'grant')).status).toBe(404)
})
