import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PendingAction } from '@postern/transcript'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { decide, findActionPath } from './demand-steps.ts'
import { eventually, operatorToken } from './house.ts'
import type { SwarmHouse } from './swarm-house.ts'
import { call, describeSwarm, openSwarmHouse, say } from './swarm-house.ts'

// Tools that wait for an operator, by a swarm (`desk`) and by a single model (`shop`), whoever they are called for.

let swarm: SwarmHouse
const till = join(mkdtempSync(join(tmpdir(), 'postern-till-')), 'till')
const rings = () => {
  try {
    return readFileSync(till, 'utf8').trim().split('\n')
  } catch {
    return []
  }
}
let before = 0
const newRings = () => rings().slice(before)
const eve = 'eve@alice.test'

beforeAll(async () => {
  process.env.TILL = till
  swarm = await openSwarmHouse(
    (member, last, { body }) => {
      // Braces would look like the insides of a call.
      if (body.messages.at(-1)?.role === 'tool') return say(`The till says ${last.replace(/[{}"]/g, '')}`)
      if (member === 'triage') return call('navigate_to_refunds', {})
      return last.includes('please') ? call('refund', { order: '17' }) : say('How can I help?')
    },
    { email: { listen: { port: 0, protocol: 'smtp' }, write_to: [eve] } },
  )
  const { baseUrl } = swarm.model
  const tool_policies = { refund: { policy: 'preview', approve: 'operator', notify: eve } }
  const tools = { tools: './agents/till.ts', tool_policies }
  const refunds = { prompt: 'I am refunds.', ...tools, navigates_to: ['triage'] }
  const agents = {
    desk: describeSwarm(baseUrl, { refunds }),
    shop: { use: 'openai', base_url: baseUrl, model: 'stub', prompt: 'I am shop.', ...tools },
  }
  await swarm.house.restart({ agents })
})
afterAll(async () => {
  process.env.TILL = ''
  await swarm.close()
})
beforeEach(() => {
  before = rings().length
})

interface Waiting {
  readonly id: string
  readonly agent: string
  readonly approver: string
  readonly status: string
  readonly address: string
  readonly resolver?: object
  readonly resolved_at?: string
  readonly call?: { readonly tool_call_id: string; readonly arguments: unknown; readonly summary: string }
}

const agents = ['shop', 'desk'] as const
type AgentName = (typeof agents)[number]

/** Somebody of the fediverse asks for his money; what waits for an operator then. */
async function askForRefund(agent: AgentName, how: 'direct' | 'public' = 'direct') {
  const { fediverse } = swarm.house.world
  const sent = await fediverse.deliver({ to: `@${agent}@agents.test`, text: 'My money back, please', visibility: how })
  let { activity } = await fediverse.awaitReply(sent.objectId, 10_000)
  if (agent === 'desk' && !JSON.stringify(activity).includes('has to allow this first')) {
    throw new Error(JSON.stringify(activity))
  }
  activity = JSON.parse(JSON.stringify(activity))
  const { demands } = await swarm.operate<{ demands: readonly Waiting[] }>('/demands?status=open&approver=operator')
  const listed = demands.find(each => each.agent === agent)
  if (!listed) throw new Error('nothing waits')
  const waiting = await swarm.operate<Waiting>(`/demands/${listed.id}`)
  return { objectId: sent.objectId, told: JSON.stringify(activity), waiting }
}

async function word(id: string, body: object) {
  const answer = await fetch(`${swarm.house.url()}/operator/api/demands/${id}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: answer.status, body: (await answer.json()) as Waiting & { readonly detail?: string } }
}

/** What of the fediverse answers a post, newest last. */
function answersTo(objectId: string): readonly string[] {
  return swarm.house.world.fediverse.received.flatMap(({ activity: { object } }) => {
    const note = object as { inReplyTo?: string; content?: string } | undefined
    return note?.inReplyTo === objectId ? [JSON.stringify(note)] : []
  })
}

async function readAction(agent: AgentName): Promise<PendingAction> {
  const shelf = (swarm.house.gateway().desk as unknown as { shelf: { list: (...of: unknown[]) => Promise<never> } })
    .shelf
  const [newest] = (await shelf.list('pending-action', `agent:${agent}`)) as { readonly value: PendingAction }[]
  if (!newest) throw new Error('there is no action')
  return newest.value
}

test.each(agents)(
  'E-38, E-39: an operator changes what the tool of %s runs with; it runs once, with that, and the asker is answered where he asked',
  async agent => {
    const { objectId, told, waiting } = await askForRefund(agent, 'public')
    expect(told).toContain('A person has to allow this first.')
    expect(told).not.toMatch(/actions\/|Give 20\.00/)
    expect(waiting).toMatchObject({
      approver: 'operator',
      status: 'open',
      address: '@alice@mastodon.test',
      call: { tool: 'refund', arguments: { order: '17' }, summary: 'Give 20.00 back for order 17?' },
    })
    expect(newRings()).toEqual([])

    const wrong = await word(waiting.id, { outcome: 'granted', arguments: { order: 18 } })
    expect([wrong.status, wrong.body.detail]).toEqual([
      400,
      expect.stringContaining('Cannot decide: the arguments are not those of "refund": order: '),
    ])
    expect(newRings()).toEqual([])
    const words = await Promise.all([
      word(waiting.id, { outcome: 'granted', arguments: { order: '18' } }),
      word(waiting.id, { outcome: 'granted', arguments: { order: '18' } }),
    ])
    expect(words.map(({ status }) => status).sort()).toEqual([200, 403])
    expect(words.find(({ status }) => status === 403)?.body.detail).toBe('Cannot decide: This has been used already.')
    const answer = await eventually(async () => answersTo(objectId).find(each => each.includes('refunded:18')))
    expect(answer).toContain('@alice')
    expect(newRings()).toEqual(['begun 18', 'done 18'])
    expect(await readAction(agent)).toMatchObject({
      status: 'accepted',
      resolver: 'operator',
      resolved_at: expect.stringMatching(/Z$/),
      apply_input: { args: { order: '17' } },
      resolution_metadata: { edited_args: { order: '18' } },
      resolution_result: { result: { refunded: '18' } },
    })
  },
)

test.each(agents)('E-39: a no of an operator never runs the tool of %s; the asker hears of it', async agent => {
  const { objectId, waiting } = await askForRefund(agent)
  expect((await word(waiting.id, { outcome: 'declined' })).body).toMatchObject({ status: 'declined' })
  await eventually(async () => answersTo(objectId).find(each => each.includes('It was not allowed.')))
  expect(newRings()).toEqual([])
  expect(await readAction(agent)).toMatchObject({ status: 'rejected', resolver: 'operator' })
})

test.each(agents)(
  'one wait of %s, wherever it is decided: the mailed page shows all of it, GET decides nothing, and it is over everywhere',
  async agent => {
    const mailsBefore = swarm.house.world.mail.received.length
    const { objectId, waiting } = await askForRefund(agent)
    const mail = await eventually(async () =>
      swarm.house.world.mail.received.slice(mailsBefore).find(({ envelope }) => envelope.to.includes(eve)),
    )
    expect(mail.text).not.toMatch(/17|alice@mastodon/)
    const path = findActionPath(mail.text ?? '')
    const page = await (await fetch(swarm.house.url() + path)).text()
    expect(page).toContain('Give 20.00 back for order 17?')
    expect(page).toContain('@alice@mastodon.test')
    expect(page).toContain('&quot;order&quot;: &quot;17&quot;')
    expect((await swarm.operate<Waiting>(`/demands/${waiting.id}`)).status).toBe('open')

    const send = (order: unknown) =>
      fetch(swarm.house.url() + path, {
        method: 'POST',
        body: new URLSearchParams({ decision: 'grant', arguments: JSON.stringify({ order }) }),
      })
    const wrong = await send(18)
    expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining('the arguments are not those of')])
    expect((await send('19')).status).toBe(200)
    await eventually(async () => answersTo(objectId).find(each => each.includes('refunded:19')))
    expect(newRings()).toEqual(['begun 19', 'done 19'])
    expect((await decide(swarm.house, path, 'decline')).status).toBe(409)
    const late = await word(waiting.id, { outcome: 'declined' })
    expect([late.status, late.body.detail]).toEqual([403, 'Cannot decide: This has been used already.'])
    expect(await readAction(agent)).toMatchObject({ resolver: 'link' })
  },
)

test('what an operator decides is nobody else’s, and what is a person’s is not the operator’s to change', async () => {
  const { waiting } = await askForRefund('shop')
  const { policy } = (await swarm.operate<{ policy: object }>(`/demands/${waiting.id}`)) as { policy: object }
  expect(JSON.stringify(policy)).not.toMatch(/"state"|\/actions\//)
  const other = await word(waiting.id, { outcome: 'granted', arguments: { order: '1' }, more: 1 })
  expect([other.status, other.body.detail]).toEqual([400, 'Cannot decide: say "outcome", "granted" or "declined"'])
  expect((await word('0'.repeat(32), { outcome: 'granted' })).status).toBe(404)
  expect(newRings()).toEqual([])
  await word(waiting.id, { outcome: 'declined' })
})
