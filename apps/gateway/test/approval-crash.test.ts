import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ModelServer } from '@postern/agents/test-model-server'
import { openModelServer } from '@postern/agents/test-model-server'
import type { SimWorld } from '@postern/sim'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decide, findActionPath, insist } from './demand-steps.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { eventually } from './house.ts'
import type { KilledHouse } from './killed-house.ts'
import { openKilledHouse } from './killed-house.ts'
import { call, lastOf, say } from './swarm-house.ts'

// kill -9 between a yes and the end of the tool that it allowed: the tool has begun once at most, and the model is told what is known.

const rounds = 8
const toolMs = 40

let house: KilledHouse
let world: SimWorld
let model: ModelServer
let gateway: GatewayProcess
let url: string
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
  process.env.TILL_WAIT = String(toolMs)
  const tools = fileURLToPath(new URL('./agents/till.ts', import.meta.url))
  const shop = { use: 'openai', base_url: model.baseUrl, model: 'stub', tools, tool_policies: { refund: 'preview' } }
  house = await openKilledHouse({ overrides: { agents: { shop } }, directory })
  ;({ world, gateway, url } = house)
})
afterAll(async () => {
  delete process.env.TILL
  delete process.env.TILL_WAIT
  await house.close()
  await model.close()
})

function answersTo(objectId: string): readonly string[] {
  return world.fediverse.received.flatMap(({ activity: { object } }) => {
    const note = object as { inReplyTo?: string; content?: string } | undefined
    return note?.inReplyTo === objectId && note.content?.includes('The till says') ? [note.content] : []
  })
}

test('E-39: a gateway that is killed while an allowed tool begins or runs has run it once at most, and says so', {
  timeout: 240_000,
}, async () => {
  const heard: string[] = []
  for (let round = 0; round < rounds; round += 1) {
    const order = String(100 + round)
    const text = `please refund ${order}`
    const { objectId } = await world.fediverse.deliver({ to: '@shop@agents.test', text, visibility: 'direct' })
    const { activity } = await world.fediverse.awaitReply(objectId, 30_000)
    const path = findActionPath(JSON.stringify(activity.object))
    const decided = decide({ url: () => url }, path, 'grant').catch(() => undefined)
    // From before the decision is durable to after the tool has ended.
    await new Promise(resolve => setTimeout(resolve, round * 12))
    await gateway.kill()
    await decided
    await gateway.start()
    await insist(url, path)
    await eventually(async () => answersTo(objectId).length > 0, 30_000)
    const rings = readFileSync(till, 'utf8').split('\n')
    const begun = rings.filter(line => line === `begun ${order}`).length
    const isDone = rings.includes(`done ${order}`)
    const [answer = ''] = answersTo(objectId)
    expect(begun).toBeLessThanOrEqual(1)
    if (answer.includes('refunded')) expect([begun, isDone]).toEqual([1, true])
    else expect(answer).toContain('Whether it took effect is not known.')
    heard.push(answer.includes('refunded') ? 'made' : 'unknown')
  }
  expect(heard).toContain('made')
})
