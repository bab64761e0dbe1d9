import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ModelServer } from '@postern/agents/test-model-server'
import { openModelServer } from '@postern/agents/test-model-server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, operatorToken } from './house.ts'
import type { KilledHouse } from './killed-house.ts'
import { openKilledHouse } from './killed-house.ts'
import { call, lastOf, say } from './swarm-house.ts'

// kill -9 between an operator's word and the last of what follows from it: the tool has begun once at most, with what he said; the asker is
// answered, and the copy to his mailbox is one mail.

const rounds = 6
let house: KilledHouse
let model: ModelServer
let till: string

beforeAll(async () => {
  model = await openModelServer(request => {
    const last = lastOf(request)
    if (request.body.messages.at(-1)?.role === 'tool') return say(`The till says ${last}`)
    return call('refund', { order: /please refund (\d+)/.exec(last)?.[1] ?? '' })
  })
  const directory = mkdtempSync(join(tmpdir(), 'postern-killed-'))
  till = join(directory, 'till')
  process.env.TILL = till
  process.env.TILL_WAIT = '40'
  const shop = {
    use: 'openai',
    base_url: model.baseUrl,
    model: 'stub',
    people: { link: true, mail: 'decided' },
    tools: fileURLToPath(new URL('./agents/till.ts', import.meta.url)),
    tool_policies: { refund: { policy: 'preview', approve: 'operator' } },
  }
  house = await openKilledHouse({ overrides: { agents: { shop } }, directory })
  await linkMailbox()
})
afterAll(async () => {
  delete process.env.TILL
  delete process.env.TILL_WAIT
  await house.close()
  await model.close()
})

const post = (text: string) => house.world.fediverse.deliver({ to: '@shop@agents.test', text, visibility: 'direct' })

async function linkMailbox(): Promise<void> {
  await post('link alice@alice.test')
  const code = await eventually(
    async () => house.world.mail.received.flatMap(({ text }) => /\b\w{5}-\w{5}\b/.exec(text ?? '') ?? [])[0],
  )
  const { objectId } = await post(`confirm ${code}`)
  await house.world.fediverse.awaitReply(objectId, 10_000)
}

async function operate<Answer>(path: string, body?: object): Promise<{ status: number; body: Answer }> {
  const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
  const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
  const answer = await fetch(`${house.url}/operator/api${path}`, init)
  return { status: answer.status, body: (await answer.json()) as Answer }
}

function answersTo(objectId: string): readonly string[] {
  return house.world.fediverse.received.flatMap(({ activity: { object } }) => {
    const note = object as { inReplyTo?: string; content?: string } | undefined
    return note?.inReplyTo === objectId && note.content?.includes('The till says') ? [note.content] : []
  })
}

test('E-39: a gateway that is killed over an operator’s decision runs what he said once at most, answers, and copies once', {
  timeout: 240_000,
}, async () => {
  const heard: string[] = []
  for (let round = 0; round < rounds; round += 1) {
    const [asked, changed] = [String(200 + round), String(1_200 + round)]
    const { objectId } = await post(`please refund ${asked}`)
    await house.world.fediverse.awaitReply(objectId, 30_000)
    const mailsBefore = house.world.mail.received.length
    const { demands } = (await operate<{ demands: { id: string }[] }>('/demands?status=open&approver=operator')).body
    const path = `/demands/${demands[0]?.id}`
    const word = { outcome: 'granted', arguments: { order: changed } }
    const decided = operate(path, word).catch(() => undefined)
    // From before the decision is durable to after the tool has ended.
    await new Promise(resolve => setTimeout(resolve, round * 16))
    await house.gateway.kill()
    await decided
    await house.gateway.start()
    await eventually(async () => [200, 403].includes((await operate(path, word).catch(() => undefined))?.status ?? 0))
    await eventually(async () => answersTo(objectId).length > 0, 30_000)
    const rings = readFileSync(till, 'utf8').split('\n')
    const [answer = ''] = answersTo(objectId)
    expect(rings).not.toContain(`begun ${asked}`)
    const begun = rings.filter(line => line === `begun ${changed}`).length
    expect(begun).toBeLessThanOrEqual(1)
    if (answer.includes('refunded')) expect([begun, rings.includes(`done ${changed}`)]).toEqual([1, true])
    else expect(answer).toContain('Whether it took effect is not known.')
    const copies = await eventually(async () => {
      const found = house.world.mail.received.slice(mailsBefore).filter(({ text }) => text?.includes('The till says'))
      return found.length > 0 && found
    })
    // Brought twice it is the same mail.
    expect(new Set(copies.map(({ messageId }) => messageId)).size).toBe(1)
    heard.push(answer.includes('refunded') ? 'made' : 'unknown')
  }
  expect(heard).toContain('made')
})
