import { Accept, Follow, Undo } from '@fedify/vocab'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FedifySetup } from './fedify-setup.ts'
import { fedifyAgent, openFedifySetup } from './fedify-setup.ts'

// These tests let a Fedify bot follow the agent, and stop following it.

let setup: FedifySetup

beforeAll(async () => {
  setup = await openFedifySetup()
})
afterAll(() => setup?.close())

const composeFollow = () => new Follow({ id: setup.nextId('follows'), actor: setup.bot.actor, object: fedifyAgent })

const waitForAccept = ({ id }: Follow) =>
  setup.bot.waitFor(async activity =>
    activity instanceof Accept && activity.objectId?.href === id?.href ? activity : undefined,
  )

const isFollowing = async () =>
  (await setup.gateway.store.findRelation({
    via: 'activitypub',
    agent: 'echo',
    relation: 'follower',
    peer: setup.bot.actor.href,
  })) !== undefined

async function countFollowers(): Promise<number> {
  const response = await fetch(`${fedifyAgent.href}/followers`, { headers: { accept: 'application/activity+json' } })
  return ((await response.json()) as { totalItems: number }).totalItems
}

test('a Fedify bot follows the agent, verifies the Accept, and becomes a follower', async () => {
  const follow = composeFollow()
  await setup.sendAsBot(follow)
  const accept = await waitForAccept(follow)
  expect(accept.actorId?.href).toBe(fedifyAgent.href)
  expect([await isFollowing(), await countFollowers()]).toEqual([true, 1])
})

test('the agent answers a follower’s message', async () => {
  const create = setup.composeCreate('<p>I follow you</p>')
  await setup.sendAsBot(create)
  const answer = await setup.waitForAnswer(create)
  const note = await answer.getObject({ documentLoader: setup.bot.loader, contextLoader: setup.bot.loader })
  expect(note?.content?.toString()).toContain('I follow you')
})

test('a second Follow of the same bot adds no follower', async () => {
  const secondFollow = composeFollow()
  await setup.sendAsBot(secondFollow)
  await waitForAccept(secondFollow)
  expect(await countFollowers()).toBe(1)
})

test('an Undo of the Follow removes the follower', async () => {
  const object = composeFollow()
  await setup.sendAsBot(object)
  await waitForAccept(object)
  await setup.sendAsBot(new Undo({ id: setup.nextId('undos'), actor: setup.bot.actor, object }))
  expect([await isFollowing(), await countFollowers()]).toEqual([false, 0])
})
