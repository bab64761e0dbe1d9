import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SimWorld } from '@postern/sim'
import { openSimWorld } from '@postern/sim'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decide, findActionPath, shopkeeper } from './demand-steps.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { createGatewayProcess, findFreePort } from './gateway-process.ts'
import { describeTestConfig, eventually, intakeSecret, operatorToken, origin } from './house.ts'

// kill -9 between a decision and what follows from it: nothing is lost, and nothing happens twice.

const rounds = 8

let world: SimWorld
let gateway: GatewayProcess
let url: string

beforeAll(async () => {
  world = await openSimWorld()
  const directory = mkdtempSync(join(tmpdir(), 'postern-demand-crash-'))
  const port = await findFreePort()
  const overrides = {
    listen: { port },
    agents: { shop: shopkeeper },
    email: { listen: { port: 0, protocol: 'smtp' } },
    log: { level: 'error' },
  }
  const configPath = join(directory, 'postern.config.json')
  writeFileSync(configPath, JSON.stringify(describeTestConfig(world, directory, overrides)))
  gateway = createGatewayProcess(configPath)
  await gateway.start()
  url = `http://127.0.0.1:${port}`
  world.connectGateway({ origin, port, intakeSecret })
})
afterAll(async () => {
  await gateway.kill()
  await world.close()
})

/** What a person does whose browser got no answer: he tries again until he is told that it is decided. */
async function insist(path: string): Promise<number> {
  return eventually(async () => {
    const answer = await decide({ url: () => url }, path, 'grant').catch(() => undefined)
    return answer && [200, 409].includes(answer.status) && answer.status
  }, 60_000)
}

interface Listed {
  readonly messages: readonly { readonly id: string; readonly state: string }[]
}

async function listMessages(): Promise<Listed['messages']> {
  const headers = { authorization: `Bearer ${operatorToken}` }
  const answer = await fetch(`${url}/operator/api/messages?limit=500`, { headers })
  return ((await answer.json()) as Listed).messages
}

const answersTo = (objectId: string) =>
  world.fediverse.received.filter(({ activity: { object } }) => {
    const note = object as { inReplyTo?: string; content?: string } | undefined
    return note?.inReplyTo === objectId && note.content?.includes('decided: consent_required granted by link, my state')
  })

test('a gateway that is killed while a demand is decided decides it once, and the agent is told once', {
  timeout: 240_000,
}, async () => {
  const asked: string[] = []
  for (let round = 0; round < rounds; round += 1) {
    const text = 'consent please'
    const { objectId } = await world.fediverse.deliver({ to: '@shop@agents.test', text, visibility: 'direct' })
    const { activity } = await world.fediverse.awaitReply(objectId, 30_000)
    const path = findActionPath(JSON.stringify(activity.object))
    asked.push(objectId)
    const decided = decide({ url: () => url }, path, 'grant').catch(() => undefined)
    // From before the request is read to after the agent has answered.
    await new Promise(resolve => setTimeout(resolve, round * 6))
    await gateway.kill()
    await decided
    await gateway.start()
    await insist(path)
    expect((await decide({ url: () => url }, path, 'decline')).status).toBe(409)
  }
  for (const objectId of asked) {
    await eventually(async () => answersTo(objectId).length > 0, 30_000)
    expect(new Set(answersTo(objectId).map(({ activity: { id } }) => id)).size).toBe(1)
  }
  const resolutions = (await listMessages()).filter(({ id }) => id.startsWith('urn:postern:resolution:'))
  expect(resolutions).toHaveLength(rounds)
  expect(resolutions.every(({ state }) => state === 'answered')).toBe(true)
})
