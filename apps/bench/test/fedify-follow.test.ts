import { Accept, Follow, Undo } from '@fedify/vocab'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FedifyStage } from './fedify-stage.ts'
import { fedifyAgent, openFedifyStage } from './fedify-stage.ts'

// These tests let a Fedify bot follow the agent, and stop following it.

let stage: FedifyStage

beforeAll(async () => {
  stage = await openFedifyStage()
})
afterAll(() => stage?.close())

const composeFollow = () => new Follow({ id: stage.nextId('follows'), actor: stage.bot.actor, object: fedifyAgent })

const waitForAccept = ({ id }: Follow) =>
  stage.bot.waitFor(async activity =>
    activity instanceof Accept && activity.objectId?.href === id?.href ? activity : undefined,
  )

const isFollowing = async () =>
  (await stage.gateway.store.findRelation({
    via: 'activitypub',
    agent: 'echo',
    relation: 'follower',
    peer: stage.bot.actor.href,
  })) !== undefined

async function countFollowers(): Promise<number> {
  const answer = await fetch(`${fedifyAgent.href}/followers`, { headers: { accept: 'application/activity+json' } })
  return ((await answer.json()) as { totalItems: number }).totalItems
}

test('a Fedify bot follows the agent, verifies the Accept, and becomes a follower', async () => {
  const follow = composeFollow()
  await stage.sendAsBot(follow)
  const accept = await waitForAccept(follow)
  expect(accept.actorId?.href).toBe(fedifyAgent.href)
  expect([await isFollowing(), await countFollowers()]).toEqual([true, 1])
})

test('the agent answers a follower’s message', async () => {
  const create = stage.composeCreate('<p>I follow you</p>')
  await stage.sendAsBot(create)
  const answer = await stage.waitForAnswer(create)
  const note = await answer.getObject({ documentLoader: stage.bot.loader, contextLoader: stage.bot.loader })
  expect(note?.content?.toString()).toContain('I follow you')
})

test('a second Follow of the same bot adds no follower', async () => {
  const secondFollow = composeFollow()
  await stage.sendAsBot(secondFollow)
  await waitForAccept(secondFollow)
  expect(await countFollowers()).toBe(1)
})

test('an Undo of the Follow removes the follower', async () => {
  const object = composeFollow()
  await stage.sendAsBot(object)
  await waitForAccept(object)
  await stage.sendAsBot(new Undo({ id: stage.nextId('undos'), actor: stage.bot.actor, object }))
  expect([await isFollowing(), await countFollowers()]).toEqual([false, 0])
})
