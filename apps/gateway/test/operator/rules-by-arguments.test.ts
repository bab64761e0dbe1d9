import { approvalViews } from '@postern/operator/views'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openOperatorClient } from '../../src/running/operator-client.ts'
import { writeRunFile } from '../../src/system/run/run-file.ts'
import { describeTestConfig, eventually } from '../setup/gateway.ts'
import type { OperatorGateway } from '../setup/operator-gateway.ts'
import { eve, openOperatorGateway, tillAgents } from '../setup/operator-gateway.ts'
import { findActionPath } from '../setup/requirement-steps.ts'
import { describeSwarm } from '../setup/swarm-gateway.ts'

// These tests use one tool whose arguments decide the outcome of a call: it runs, never runs, or waits for its sender or an operator.

type ShopConfig = Readonly<Record<string, unknown>>

const orderStartsWith = (prefix: string) => ({
  properties: { order: { type: 'string', pattern: `^${prefix}` } },
  required: ['order'],
})
const rules = [
  { when: orderStartsWith('f'), policy: 'forbidden' },
  { when: orderStartsWith('o'), policy: 'preview', approve: 'operator', notify: eve, expires_after_hours: 2 },
  { when: orderStartsWith('s'), policy: 'preview' },
  { when: orderStartsWith('t'), policy: 'preview' },
  { when: orderStartsWith('n'), policy: 'preview', remember: 'none' },
]

/** Describes both agents, with these rules for their tills. */
function describeAgents(shop: ShopConfig, refund: unknown = rules): ShopConfig {
  const tool_policies = { refund }
  const refunds = { prompt: 'I am refunds.', tools: shop.tools, tool_policies, navigates_to: ['triage'] }
  return { shop: { ...shop, tool_policies }, desk: describeSwarm(String(shop.base_url), { refunds }) }
}

let setup: OperatorGateway
let shopWithoutRules: ShopConfig = {}
beforeAll(async () => {
  const agents = (shop: ShopConfig) => {
    shopWithoutRules = shop
    return describeAgents(shop)
  }
  setup = await openOperatorGateway({ agents })
})
afterAll(() => setup.close())
beforeEach(() => void setup.readNewTillLines())

async function sendOrder(agent: string, order: string): Promise<string> {
  const { fediverse } = setup.swarm.gateway.simulation
  const plan = { to: `@${agent}@agents.test`, text: `order ${order}, please`, visibility: 'direct' } as const
  const { objectId } = await fediverse.deliver(plan)
  return JSON.stringify((await fediverse.awaitReply(objectId, 30_000)).activity)
}

async function listAtTerminal(agent: string): Promise<string> {
  const { gateway } = setup.swarm
  writeRunFile(gateway.dataDir, { url: gateway.url(), pid: process.pid, isSimulating: true })
  const config = describeTestConfig(gateway.simulation, gateway.dataDir)
  const openClient = () =>
    openOperatorClient({ tree: config, baseDir: gateway.dataDir, missingSettings: [], path: undefined })
  const lines: string[] = []
  await approvalViews.list({ openClient, json: false, print: text => void lines.push(text) }, { agent })
  return lines.join('\n')
}

async function readPage(path: string): Promise<string> {
  return (await fetch(setup.swarm.gateway.url() + path)).text()
}

test.each(tillAgents)(
  'the arguments of a call of %s decide whether it runs, never runs, or waits, and for whom (E-38)',
  async agent => {
    const { mail } = setup.swarm.gateway.simulation
    const mailsBefore = mail.received.length
    expect(await sendOrder(agent, '5')).toContain('refunded:5')
    expect(setup.readNewTillLines()).toEqual(['begun 5', 'done 5'])
    expect(await sendOrder(agent, 'f1')).toContain('arguments: a call with these is forbidden')
    expect(await sendOrder(agent, 's1')).toContain('/actions/')
    const { senderText, requirement } = await setup.askForRefund(agent, 'direct', 'o1')
    expect(senderText).toContain('A person has to allow this first.')
    expect(senderText).not.toContain('Allow refund')
    expect(Date.parse(requirement.expires_at) - Date.now()).toBeLessThanOrEqual(2 * 3_600_000)
    await eventually(async () => mail.received.slice(mailsBefore).some(({ envelope }) => envelope.to.includes(eve)))
    expect(setup.readNewTillLines()).toEqual([])
    await setup.decide(requirement.id, { outcome: 'declined' })
  },
)

test.each(tillAgents)(
  'an operator cannot change the arguments of %s so that the call is forbidden, or needs the sender’s consent',
  async agent => {
    const { objectId, requirement } = await setup.askForRefund(agent, 'direct', 'o2')
    const grant = async (order: string) => {
      const { status, body } = await setup.decide(requirement.id, { outcome: 'granted', arguments: { order } })
      return [status, body.detail]
    }
    const refusedText = 'Cannot decide: the arguments are not those of "refund": arguments: a call with these is'
    expect(await grant('f2')).toEqual([400, `${refusedText} forbidden`])
    expect(await grant('s2')).toEqual([400, `${refusedText} for the sender to allow, not for an operator`])
    expect(setup.readNewTillLines()).toEqual([])
    expect(await grant('6')).toEqual([200, undefined])
    await eventually(async () => setup.answersTo(objectId).find(text => text.includes('refunded:6')))
    expect(setup.readNewTillLines()).toEqual(['begun 6', 'done 6'])
  },
)

test.each(tillAgents)('a remembered approval of %s counts only for calls under the same rule (E-39)', async agent => {
  const path = findActionPath(await sendOrder(agent, 's3'))
  expect(await readPage(path)).toContain(
    '<code>refund</code> is not asked for again with arguments of this kind for 30 days',
  )
  const body = new URLSearchParams({ decision: 'grant', remember: 'always' })
  expect((await fetch(setup.swarm.gateway.url() + path, { method: 'POST', body })).status).toBe(200)
  await eventually(async () => setup.readNewTillLines().includes('done s3'))
  const { items } = await setup.swarm.requestOperator<{ items: readonly object[] }>(`/agents/${agent}/approvals`)
  expect(items).toMatchObject([{ tool: 'refund', calls: expect.stringMatching(/^[0-9a-f]{16}$/), policy: 'direct' }])
  expect(await readPage(path)).toContain('<code>refund</code> with arguments of this kind runs without asking')
  expect(await listAtTerminal(agent)).toMatch(/refund .*\(some arguments\) .*direct/)

  expect(await sendOrder(agent, 's4')).toContain('refunded:s4')
  expect(await readPage(findActionPath(await sendOrder(agent, 't1')))).toContain('name="remember"')
  expect(await readPage(findActionPath(await sendOrder(agent, 'n1')))).not.toContain('name="remember"')
  expect(setup.readNewTillLines()).toEqual(['begun s4', 'done s4'])
})

test.each([
  ['forbidden', [{ when: orderStartsWith('o'), policy: 'forbidden' }], 'forbidden'],
  ['for the sender to allow', 'preview', 'for the sender to allow, not for an operator'],
])('a call that is %s when an operator allows it does not run', async (_, change, message) => {
  const questions = await Promise.all(tillAgents.map(agent => setup.askForRefund(agent, 'direct', 'o3')))
  await setup.swarm.gateway.restart({ agents: describeAgents(shopWithoutRules, change) })
  for (const { objectId, requirement } of questions) {
    expect((await setup.decide(requirement.id, { outcome: 'granted' })).status).toBe(200)
    await eventually(async () =>
      setup.answersTo(objectId).find(text => text.includes(`a call with these is ${message}`)),
    )
  }
  expect(setup.readNewTillLines()).toEqual([])
  await setup.swarm.gateway.restart({ agents: describeAgents(shopWithoutRules) })
})
