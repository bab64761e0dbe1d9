import type { Simulation } from '@postern/simulation'
import { drawDelays } from '@postern/testing/scale'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, operatorToken } from '../setup/gateway.ts'
import type { GatewayProcess } from '../setup/gateway-process.ts'
import type { KilledGateway } from '../setup/killed-gateway.ts'
import { openKilledGateway } from '../setup/killed-gateway.ts'
import { decide, findActionPath, insist, shopkeeper } from '../setup/requirement-steps.ts'

// These tests run kill -9 between a decision and its consequences: nothing is lost, and nothing happens twice.

const delays = drawDelays({ quick: 2, long: 8, lastMs: 42 })

let setup: KilledGateway
let simulation: Simulation
let gateway: GatewayProcess
let url: string

beforeAll(async () => {
  setup = await openKilledGateway({ overrides: { agents: { shop: shopkeeper } } })
  ;({ simulation, gateway, url } = setup)
})
afterAll(() => setup.close())

interface MessagePage {
  readonly items: readonly { readonly id: string; readonly state: string }[]
}

async function listMessages(): Promise<MessagePage['items']> {
  const headers = { authorization: `Bearer ${operatorToken}` }
  const response = await fetch(`${url}/operator/api/messages?limit=500`, { headers })
  return ((await response.json()) as MessagePage).items
}

const answersTo = (objectId: string) =>
  simulation.fediverse.received.filter(({ activity: { object } }) => {
    const note = object as { inReplyTo?: string; content?: string } | undefined
    return note?.inReplyTo === objectId && note.content?.includes('decided: consent_required granted by link, my state')
  })

test('a gateway that dies during a decision makes it once, and the agent learns of it once (MN-7.2)', {
  timeout: 240_000,
}, async () => {
  const objectIds: string[] = []
  for (const delayMs of delays) {
    const text = 'consent please'
    const { objectId } = await simulation.fediverse.deliver({ to: '@shop@agents.test', text, visibility: 'direct' })
    const { activity } = await simulation.fediverse.awaitReply(objectId, 30_000)
    const path = findActionPath(JSON.stringify(activity.object))
    objectIds.push(objectId)
    const pendingResponse = decide({ url: () => url }, path, 'grant').catch(() => undefined)
    // The delays range from before the request is read to after the agent has answered.
    await new Promise(resolve => setTimeout(resolve, delayMs))
    await gateway.kill()
    await pendingResponse
    await gateway.start()
    await insist(url, path)
    expect((await decide({ url: () => url }, path, 'decline')).status).toBe(409)
  }
  for (const objectId of objectIds) {
    await eventually(async () => answersTo(objectId).length > 0, 30_000)
    expect(new Set(answersTo(objectId).map(({ activity: { id } }) => id)).size).toBe(1)
  }
  const resolutions = (await listMessages()).filter(({ id }) => id.startsWith('urn:postern:resolution:'))
  expect(resolutions).toHaveLength(delays.length)
  expect(resolutions.every(({ state }) => state === 'answered')).toBe(true)
})
