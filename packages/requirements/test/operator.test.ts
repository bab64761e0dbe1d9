import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RequirementsGateway } from './gateway.ts'
import { openRequirementsGateway } from './gateway.ts'

// Tests decisions of operators by their API, and on the page that a mail links to.

let gateway: RequirementsGateway
const evil = `</textarea><script>alert(1)</script>`

beforeAll(async () => {
  gateway = await openRequirementsGateway(undefined, async () => ({
    id: 'call-1',
    tool: 'refund',
    summary: evil,
    args: { order: evil, to: '\u202e71' },
    schema: { type: 'object' },
    findFault: args => (typeof args === 'object' && args !== null && 'order' in args ? undefined : 'order: is missing'),
  }))
})
afterAll(() => gateway.close())

const ask = () => gateway.requirement('consent_required', { approver: 'operator' })
const decide = (path: string, form: Record<string, string>) =>
  fetch(gateway.url + path, { method: 'POST', body: new URLSearchParams(form) })
const operator = { method: 'operator', isGranted: true } as const

async function find(id: string) {
  const approval = await gateway.requirements.approvals.find(id)
  if (!approval) throw new Error('there is none')
  return approval
}

test('the page shows all of a call as text', async () => {
  const { path } = await ask()
  const html = await (await fetch(gateway.url + path)).text()
  expect(html).toContain('&lt;script&gt;')
  expect(html).not.toContain('<script')
  // A character that would reverse the direction of the text is shown as its number.
  expect(html).toContain('\\u202e71')
  expect(html).not.toContain('\u202e')
})

test('the page shows arguments that are too long for a form, and the operator can still decide', async () => {
  const order = '好'.repeat(20_000)
  const call = { id: 'call-1', tool: 'refund', summary: 'May I?', args: { order }, schema: { type: 'object' } }
  const long = await openRequirementsGateway(undefined, async () => ({ ...call, findFault: () => 'never asked' }))
  try {
    const { path } = await long.requirement('consent_required', { approver: 'operator' })
    const html = await (await fetch(long.url + path)).text()
    expect(html).toContain(`<pre>{\n  &quot;order&quot;: &quot;${order}`)
    expect(html).not.toContain('<textarea')
    const body = new URLSearchParams({ decision: 'grant' })
    expect((await fetch(long.url + path, { method: 'POST', body })).status).toBe(200)
  } finally {
    await long.close()
  }
})

test('an operator cannot decide an expired approval, and the page says so (E-39)', async () => {
  const { path, planned } = await ask()
  const approval = await find(planned.id)
  gateway.advance(3_600_000)
  expect(await gateway.requirements.approvals.decide(approval, operator)).toMatchObject({
    outcome: 'refused',
    reason: 'expired',
  })
  for (const answer of [await fetch(gateway.url + path), await decide(path, { decision: 'grant' })]) {
    expect([answer.status, await answer.text()]).toEqual([410, expect.stringContaining('<h1>This is over</h1>')])
  }
  expect(
    (await gateway.requirements.approvals.list({ limit: 9 })).map(({ requirement }) => requirement.id),
  ).not.toContain(planned.id)
  expect(await gateway.countTurns()).toBe(0)
})

test('changed arguments must be short JSON that fits the tool, and the decision records the old ones', async () => {
  const { path, planned } = await ask()
  for (const [text, words] of [
    ['{', 'Cannot read arguments'],
    ['{}', 'Cannot decide: the arguments are not those of &quot;refund&quot;: order: is missing'],
    [JSON.stringify({ order: 'x'.repeat(70_000) }), 'Cannot decide: the arguments are too long'],
  ] as const) {
    const answer = await decide(path, { decision: 'grant', arguments: text })
    const page = await answer.text()
    expect(answer.status, words).toBe(text.length > 65_536 ? 413 : 400)
    if (text !== '{') expect(page).toContain(words)
  }
  const resolved = await gateway.requirements.approvals.decide(await find(planned.id), {
    ...operator,
    args: { order: '18' },
  })
  if (resolved.outcome !== 'resolved') throw new Error(resolved.reason)
  const decisionMessage = await gateway.store.findMessage(`#${resolved.message}`)
  expect(decisionMessage?.message.policy_resolution).toMatchObject({
    outcome: 'granted',
    approver: 'operator',
    args: { order: '18' },
  })
  await gateway.countTurns()
})

test('the page shows the longest waiting requirements first, however many follow', async () => {
  const first = await ask()
  for (let count = 0; count < 4; count += 1) await ask()
  const [shown] = await gateway.requirements.approvals.list({ limit: 1 })
  expect(shown?.requirement.id).toBe(first.planned.id)
  expect(await gateway.requirements.approvals.list({ limit: 9, agent: 'another' })).toEqual([])
})

test('an operator cannot consent for a sender, nor a sender decide for an operator', async () => {
  const { planned } = await gateway.requirement('consent_required')
  const requirement = await gateway.store.findRequirement({ id: planned.id })
  if (!requirement) throw new Error('there is none')
  await expect(
    gateway.requirements.decide(requirement, { method: 'operator', outcome: 'granted' }),
  ).rejects.toMatchObject({
    code: 'forbidden',
    message: 'Cannot decide: "consent_required" is not granted this way',
  })
  expect(await gateway.requirements.approvals.find(planned.id)).toBeUndefined()
  const ownRequirement = await gateway.store.findRequirement({ id: (await ask()).planned.id })
  if (!ownRequirement) throw new Error('there is none')
  await expect(
    gateway.requirements.decide(ownRequirement, { method: 'principal', outcome: 'granted' }),
  ).rejects.toMatchObject({
    code: 'forbidden',
    message: 'Cannot decide: "consent_required" is not granted this way',
  })
})
