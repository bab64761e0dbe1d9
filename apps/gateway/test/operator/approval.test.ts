import { requirementViews } from '@postern/operator/views'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openOperatorClient } from '../../src/running/operator-client.ts'
import { writeRunFile } from '../../src/system/run/run-file.ts'
import { describeTestConfig, eventually } from '../setup/gateway.ts'
import type { OperatorGateway, WaitingRequirement } from '../setup/operator-gateway.ts'
import { eve, openOperatorGateway, tillAgents } from '../setup/operator-gateway.ts'
import { askShop, callShop, decide, findActionPath, readPolicy } from '../setup/requirement-steps.ts'
import { listTraces } from '../setup/traces.ts'

// These tests cover tools that wait for an operator, whoever they are called for: through the API, and through the page that the operator’s mail
// links to.

let setup: OperatorGateway
beforeAll(async () => {
  setup = await openOperatorGateway()
})
afterAll(() => setup.close())
beforeEach(() => void setup.readNewTillLines())

test.each(tillAgents)(
  'an operator changes the arguments of the tool of %s, which runs once with them, and its sender gets the answer (E-38, E-39)',
  async agent => {
    const { objectId, senderText, requirement } = await setup.askForRefund(agent, 'public')
    expect(senderText).toContain('A person has to allow this first.')
    expect(senderText).not.toMatch(/actions\/|Give 20\.00/)
    expect(requirement).toMatchObject({
      approver: 'operator',
      state: 'open',
      address: '@alice@mastodon.test',
      call: { tool: 'refund', arguments: { order: '17' }, summary: 'Give 20.00 back for order 17?' },
    })
    const invalidDecision = await setup.decide(requirement.id, { outcome: 'granted', arguments: { order: 18 } })
    expect([invalidDecision.status, invalidDecision.body.detail]).toEqual([
      400,
      expect.stringContaining('Cannot decide: the arguments are not those of "refund": order: '),
    ])
    expect(setup.readNewTillLines()).toEqual([])

    const grant = () => setup.decide(requirement.id, { outcome: 'granted', arguments: { order: '18' } })
    const grants = await Promise.all([grant(), grant()])
    expect(grants.map(({ status }) => status).sort()).toEqual([200, 403])
    expect(grants.find(({ status }) => status === 403)?.body.detail).toBe('Cannot decide: This has been used already.')
    const answer = await eventually(async () => setup.answersTo(objectId).find(text => text.includes('refunded:18')))
    expect(answer).toContain('@alice')
    expect(setup.readNewTillLines()).toEqual(['begun 18', 'done 18'])
    expect(await setup.readAction(agent)).toMatchObject({
      status: 'accepted',
      resolver: 'operator',
      resolved_at: expect.stringMatching(/Z$/),
      apply_input: { args: { order: '17' } },
      resolution_metadata: { edited_args: { order: '18' } },
      resolution_result: { result: { refunded: '18' } },
    })
  },
)

test.each(tillAgents)(
  'a tool of %s that an operator declines never runs, and the sender learns of it (E-39)',
  async agent => {
    const { objectId, requirement } = await setup.askForRefund(agent)
    expect((await setup.decide(requirement.id, { outcome: 'declined' })).body).toMatchObject({ state: 'declined' })
    await eventually(async () => setup.answersTo(objectId).find(text => text.includes('It was not allowed.')))
    expect(setup.readNewTillLines()).toEqual([])
    expect(await setup.readAction(agent)).toMatchObject({ status: 'rejected', resolver: 'operator' })
  },
)

test.each(tillAgents)(
  'a waiting call of %s appears whole on its page, where GET decides nothing, and ends in every channel at once',
  async agent => {
    const { gateway } = setup.swarm
    const mailsBefore = gateway.simulation.mail.received.length
    const { objectId, requirement } = await setup.askForRefund(agent)
    // The mail of an earlier wait may arrive as late as this.
    const { mail, path, page } = await eventually(async () => {
      const mails = gateway.simulation.mail.received.slice(mailsBefore)
      for (const mail of mails.filter(({ envelope }) => envelope.to.includes(eve))) {
        const path = findActionPath(mail.text ?? '')
        const page = await (await fetch(gateway.url() + path)).text()
        if (!page.includes('Decided at')) return { mail, path, page }
      }
      return undefined
    })
    // The random part of a link, and a time, may contain any digits.
    expect(mail.text?.replace(/https:\S+|\d{4}-\d\d-\d\d \d\d:\d\d/g, '')).not.toMatch(/17|alice@mastodon/)
    expect(page).toContain('Give 20.00 back for order 17?')
    expect(page).toContain('@alice@mastodon.test')
    expect(page).toContain('&quot;order&quot;: &quot;17&quot;')
    expect((await setup.findWaiting(agent)).state).toBe('open')

    const sendDecision = (order: unknown) =>
      fetch(gateway.url() + path, {
        method: 'POST',
        body: new URLSearchParams({ decision: 'grant', arguments: JSON.stringify({ order }) }),
      })
    const invalidResponse = await sendDecision(18)
    expect([invalidResponse.status, await invalidResponse.text()]).toEqual([
      400,
      expect.stringContaining('the arguments are not those of'),
    ])
    const body = new URLSearchParams({ decision: 'grant', arguments: '{"order":"19","__proto__":{"isAdmin":true}}' })
    const oddResponse = await fetch(gateway.url() + path, { method: 'POST', body })
    expect([oddResponse.status, await oddResponse.text()]).toEqual([
      400,
      expect.stringContaining('no argument may have this name'),
    ])
    expect((await sendDecision('19')).status).toBe(200)
    await eventually(async () => setup.answersTo(objectId).find(text => text.includes('refunded:19')))
    expect(setup.readNewTillLines()).toEqual(['begun 19', 'done 19'])
    expect((await decide(gateway, path, 'decline')).status).toBe(409)
    const lateDecision = await setup.decide(requirement.id, { outcome: 'declined' })
    expect([lateDecision.status, lateDecision.body.detail]).toEqual([403, 'Cannot decide: This has been used already.'])
    expect(await setup.readAction(agent)).toMatchObject({ resolver: 'link' })
  },
)

test('the page of an operator contains no state, and accepts only a decision', async () => {
  const { requirement } = await setup.askForRefund('shop')
  const { policy } = await setup.swarm.requestOperator<WaitingRequirement>(`/requirements/${requirement.id}`)
  expect(JSON.stringify(policy)).not.toMatch(/"state"|\/actions\//)
  const otherResponse = await setup.decide(requirement.id, { outcome: 'granted', arguments: { order: '1' }, more: 1 })
  expect([otherResponse.status, otherResponse.body.detail]).toEqual([
    400,
    'Cannot decide: there is no member "more"; use outcome, arguments, remember',
  ])
  const unknown = await setup.decide('0'.repeat(32), { outcome: 'granted' })
  expect([unknown.status, unknown.body.detail]).toEqual([404, 'Cannot decide: there is no such requirement'])
  expect(setup.readNewTillLines()).toEqual([])
  await setup.decide(requirement.id, { outcome: 'declined' })
})

test('an A2A caller learns that the call waits, but cannot decide it even with the state of a leaked mail', async () => {
  const { gateway } = setup.swarm
  const mailsBefore = gateway.simulation.mail.received.length
  const response = await askShop(gateway, 'My money, please')
  const policy = readPolicy(response)
  expect(response.task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  expect(policy).toMatchObject({ approver: 'operator', message: expect.stringContaining('A person has to allow this') })
  expect(JSON.stringify(response)).not.toMatch(/actions\/|"state":"[\w-]{43}"|Give 20|"17"/)
  const mail = await eventually(async () =>
    gateway.simulation.mail.received.slice(mailsBefore).find(({ envelope }) => envelope.to.includes(eve)),
  )
  const [, , state = ''] = findActionPath(mail.text ?? '').split('/')
  const claim = { in_reply_to_state: state, outcome: 'granted' }
  const claimed = await askShop(gateway, 'yes', { taskId: String(response.task?.id), resolution: claim })
  expect(claimed.error).toMatchObject({
    message: 'Cannot take policy_resolution: in_reply_to_state is not known',
    violations: [{ field: 'message.metadata.mentionable.policy_resolution.in_reply_to_state' }],
  })
  expect(setup.readNewTillLines()).toEqual([])
  const waiting = await setup.findWaiting('shop')
  await setup.decide(waiting.id, { outcome: 'granted' })
  await eventually(async () => {
    const { task } = await callShop(gateway, 'GetTask', { id: response.task?.id })
    return task?.status.state === 'TASK_STATE_COMPLETED'
  })
  expect(setup.readNewTillLines()).toEqual(['begun 17', 'done 17'])
})

test.each(tillAgents)('the gateway deletes a waiting call of %s when it forgets the sender', async agent => {
  const { gateway } = setup.swarm
  const { requirement } = await setup.askForRefund(agent)
  const editedDecision = { outcome: 'granted', arguments: { order: `durian${agent}` } }
  await setup.decide(requirement.id, editedDecision)
  await eventually(async () => setup.readNewTillLines().includes(`done durian${agent}`))
  const open = (await setup.askForRefund(agent)).requirement
  await eventually(async () => (await gateway.deliveries()).every(({ state }) => state === 'sent'))
  expect(listTraces(gateway.dataDir, `durian${agent}`)).not.toEqual([])
  await setup.swarm.requestOperator('/people/forget', { address: '@alice@mastodon.test' })
  expect(listTraces(gateway.dataDir, `durian${agent}`)).toEqual([])
  expect((await setup.decide(open.id, { outcome: 'granted' })).status).toBe(404)
  expect(setup.readNewTillLines()).toEqual([])
})

test('an operator lists waiting calls at a terminal, sees one whole, and allows it with changed arguments', async () => {
  const { gateway } = setup.swarm
  const { objectId, requirement } = await setup.askForRefund('shop')
  writeRunFile(gateway.dataDir, { url: gateway.url(), pid: process.pid, isSimulating: true })
  const config = describeTestConfig(gateway.simulation, gateway.dataDir)
  const openClient = () =>
    openOperatorClient({ tree: config, baseDir: gateway.dataDir, missingSettings: [], path: undefined })
  const lines: string[] = []
  const output = { openClient, json: false, print: (text: string) => void lines.push(text) }
  await requirementViews.list(output, { state: 'open', mine: true })
  expect(lines.join()).toMatch(new RegExp(`${requirement.id} .*operator .*Give 20.00 back for order 17\\?`))
  await requirementViews.show(output, { id: requirement.id })
  expect(lines.at(-1)).toContain('shop, talking to @alice@mastodon.test by activitypub; you decide')
  expect(lines.at(-1)).toContain('"order": "17"')
  const grant = (args: string) => requirementViews.grant(output, { id: requirement.id, arguments: args })
  await expect(grant('{')).rejects.toThrow('the arguments are not JSON')
  await expect(grant('{"order":1}')).rejects.toThrow('Cannot decide: the arguments are not those of "refund"')
  await grant('{"order":"23"}')
  await eventually(async () => setup.answersTo(objectId).find(text => text.includes('refunded:23')))
  expect(setup.readNewTillLines()).toEqual(['begun 23', 'done 23'])
})
