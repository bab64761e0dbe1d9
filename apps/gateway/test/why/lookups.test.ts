import { randomUUID } from 'node:crypto'
import { printWhy } from '@postern/operator/views'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { gatewayOrigin, openTestGateway, operatorToken } from '../setup/gateway.ts'
import { askWhy, awaitReason, expectWellFormed, listFacts } from './ask-why.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await openTestGateway()
})
afterAll(() => gateway.close())

async function deliverMail(draft: { from?: string; text?: string; messageId?: string } = {}): Promise<string> {
  const receipt = await gateway.simulation.mail.deliver({ to: 'echo@agents.test', text: 'hello', ...draft })
  expect(receipt.answer).toBe(250)
  await awaitReason(gateway, receipt.mail.messageId, 'answered')
  return receipt.mail.messageId
}

describe('why finds a message', () => {
  test('by its number, with or without #, and by its Message-ID, with or without angle brackets', async () => {
    const id = await deliverMail()
    const messageNumber = (await askWhy(gateway, id)).explanations[0]?.message
    for (const query of [`${messageNumber}`, `#${messageNumber}`, id, `<${id}>`, ` ${id} `]) {
      expect((await askWhy(gateway, query)).explanations[0]).toMatchObject({ message: messageNumber, id })
    }
  })

  test('by the id of its answer, its delivery and its log line', async () => {
    const id = await deliverMail()
    const record = await gateway.readMessage(id)
    const queries = [record.response?.id ?? '', `d${record.deliveries[0]?.id}`, record.correlation_id]
    for (const query of queries) {
      expect((await askWhy(gateway, query)).explanations[0]).toMatchObject({ message: record.number })
    }
  })

  test('by the Message-ID of its answer as a mail program shows it, and so do other commands', async () => {
    const record = await gateway.readMessage(await deliverMail())
    const answer = record.response?.id ?? ''
    for (const query of [`<${answer}@agents.test>`, `${answer}@agents.test`, answer]) {
      expect((await askWhy(gateway, query)).explanations[0]).toMatchObject({ message: record.number })
      expect(await gateway.readMessage(query)).toMatchObject({ number: record.number })
    }
  })

  test('by the ids of an A2A message and of its task', async () => {
    const url = `${gatewayOrigin}/agents/echo/a2a`
    const { messageId, result } = await gateway.simulation.a2a.deliver({ url, text: 'hello' })
    const { task } = result as { task: { id: string } }
    const reason = await awaitReason(gateway, messageId, 'answered')
    expect(reason.sentence).toMatch(/^Answered at [\d :-]+ UTC to task:\S+$/)
    expect((await askWhy(gateway, task.id)).explanations[0]).toMatchObject({ message: reason.message, via: 'a2a' })
  })

  test('by the address of its sender or agent, newest first', async () => {
    const first = await deliverMail({ from: 'paula@nodmarc.test' })
    const second = await deliverMail({ from: 'paula@nodmarc.test' })
    for (const query of [
      '@paula@nodmarc.test',
      'paula@nodmarc.test',
      'mailto:Paula@NoDmarc.test',
      'acct:paula@nodmarc.test',
    ]) {
      const { found, explanations } = await askWhy(gateway, query)
      expect([found, explanations.map(({ id }) => id)]).toEqual(['address', [second, first]])
    }
    for (const query of ['@echo@agents.test', 'echo', 'echo@agents.test']) {
      const { found, explanations } = await askWhy(gateway, query)
      expect([found, explanations[0]?.id]).toEqual(['address', second])
      expect(explanations.length).toBeLessThanOrEqual(20)
    }
  })

  test('by an address with @, even if a peer used it as a message id', async () => {
    const quietMessageId = await deliverMail({ from: 'quiet@nodmarc.test' })
    const url = `${gatewayOrigin}/agents/echo/a2a`
    for (const messageId of ['@quiet@nodmarc.test', 'quiet@nodmarc.test']) {
      await gateway.simulation.a2a.deliver({ url, text: 'hello', messageId })
    }
    expect((await askWhy(gateway, '@quiet@nodmarc.test')).explanations.map(({ id }) => id)).toEqual([quietMessageId])
    expect((await awaitReason(gateway, 'quiet@nodmarc.test', 'answered')).via).toBe('a2a')
  })

  test('by a peer’s id, even if it is also one of our numbers', async () => {
    const id = '1'
    const url = `${gatewayOrigin}/agents/echo/a2a`
    await gateway.simulation.a2a.deliver({ url, text: 'hello', messageId: id })
    expect((await awaitReason(gateway, id, 'answered')).via).toBe('a2a')
    expect((await askWhy(gateway, '#1')).explanations[0]).toMatchObject({ message: 1, via: 'email' })
  })
})

describe('why', () => {
  test('distinguishes a repeated message from its original', async () => {
    const id = await deliverMail({ messageId: `${randomUUID()}@alice.test` })
    const composedMail = await gateway.simulation.mail.compose({ to: 'echo@agents.test', text: 'twice' })
    for (const _ of [1, 2, 3]) expect((await gateway.simulation.mail.sendSmtp(composedMail)).code).toBe(250)
    const reason = await awaitReason(gateway, composedMail.messageId, 'duplicate')
    expect(reason.sentence).toMatch(
      /^Answered once at [\d :-]+ UTC to alice@alice\.test; its peer sent it 2 more times, and copies get no further answer$/,
    )
    expect(listFacts(reason)).toContain('its peer sent it 2 more times')
    expectWellFormed(reason)
    expect((await askWhy(gateway, id)).explanations[0]?.code).toBe('answered')
  })

  test.each([
    ['an id', 'never-seen@nowhere.test'],
    ['an address', '@nobody@nowhere.test'],
    ['a number', '#999999'],
    ['a delivery', 'd999999'],
    ['hostile text', "'; DROP TABLE messages; -- \u001b[2J %\n"],
  ])('reports that the store knows nothing about %s', async (_, query) => {
    const { found, explanations } = await askWhy(gateway, query)
    expect([found, explanations.map(({ code }) => code)]).toEqual(['nothing', ['nothing_known']])
    const [first] = explanations
    if (!first) throw new Error('there is no explanation')
    expectWellFormed(first)
    expect(first.fix?.command).toBe('npx postern doctor')
  })

  test.each([
    ['too long', 'x'.repeat(2_049)],
    ['empty', ' '],
  ])('refuses what is %s', async (_, query) => {
    const response = await fetch(`${gateway.url()}/operator/api/why/${encodeURIComponent(query)}`, {
      headers: { authorization: `Bearer ${operatorToken}` },
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      detail: 'Cannot explain: give an id, a number or an address of at most 2048 characters',
    })
  })

  test('refuses a request without the token', async () => {
    expect((await fetch(`${gateway.url()}/operator/api/why/1`)).status).toBe(401)
  })
})

describe('the command "why"', () => {
  async function print(query: string, json = false): Promise<string> {
    const lines: string[] = []
    const client = {
      call: (_: unknown, { parameters }: { parameters: { id: string } }) => askWhy(gateway, parameters.id),
      close: async () => undefined,
    }
    await printWhy({ openClient: async () => client as never, json, print: text => lines.push(text) }, { id: query })
    return lines.join('\n')
  }

  test('prints reason, evidence and fix without cursor movements', async () => {
    const id = await deliverMail({ from: '"\u001b[2J\u009bEve" <eve@nodmarc.test>' })
    const output = await print(id)
    expect(output).toMatch(
      /^#\d+ email from @eve@nodmarc\.test to echo, \S+\nAnswered at [\d :-]+ UTC to eve@nodmarc\.test\.\n\n {2}2\S+Z {2}/,
    )
    expect(output).not.toMatch(/[^\P{Cc}\n]/u)
    expect(JSON.parse(await print(id, true))).toMatchObject({ found: 'id', explanations: [{ code: 'answered' }] })
    const record = await gateway.readMessage(id)
    const byDelivery = await print(`d${record.deliveries[0]?.id}`)
    expect(byDelivery).toMatch(/^d\d+ is the number of a delivery of this message:\n#/)
  })

  test('prints two lines for each message of an address', async () => {
    const lines = (await print('@echo@agents.test')).split('\n')
    expect(lines.length % 2).toBe(0)
    expect(lines[0]).toMatch(/^#\d+ /)
    expect(lines[1]).toMatch(/^ {2}Answered /)
  })

  test('exits with 1 for an unknown message', async () => {
    const exitCodeBefore = process.exitCode
    expect(await print('\u001b[2J@nowhere.test')).toMatch(
      /^The gateway has nothing about \\u\{1b\}\[2J@nowhere\.test: /,
    )
    expect(process.exitCode).toBe(1)
    process.exitCode = exitCodeBefore
  })
})
