// Lists the steps of the exam with snac.
import { deepStrictEqual, match, ok } from 'node:assert/strict'
import { waitUntil } from '../eventually.ts'
import { ourHost, snacOrigin } from '../names.ts'
import { conversationSteps } from './conversation-steps.ts'
import { rotationSteps, rotationWithoutFollowers } from './rotation-steps.ts'
import type { SnacSetup, SnacStep } from './snac-setup.ts'
import { countKind, echoAddress, findAnswers, findMessageRecord, ownPosts, publish } from './snac-setup.ts'
import { ownActSteps } from './unprompted-action-steps.ts'

/** The steps of two servers that have never met, in this order. */
export const steps: readonly SnacStep[] = [
  { name: 'snac finds the agent by its address', run: findAgent },
  { name: 'alice follows the agent, which accepts', run: follow },
  ...conversationSteps,
  ...ownActSteps,
  { name: 'alice likes and boosts the answer', run: react },
  { name: 'alice takes both back', run: takeBack },
  { name: 'an activity that snac invented is taken, and no agent is told', run: ping },
  { name: 'alice edits her post', run: edit },
  { name: 'alice deletes her post', run: remove },
  ...rotationSteps,
  { name: 'alice moves to bob, and the agent is told', run: move },
  { name: 'alice takes her follow back', run: unfollow },
  ...rotationWithoutFollowers,
  { name: 'only the Ping, which has nothing for an agent, is listed for the operator', run: checkRefusals },
  { name: 'snac blocks us: the answer is given up, not repeated', run: block },
]

async function findAgent({ snac, gateway }: SnacSetup): Promise<void> {
  ok((await snac.run('webfinger', echoAddress)).includes(gateway.actor))
}

async function follow({ snac, gateway }: SnacSetup): Promise<void> {
  await snac.run('follow', 'alice', gateway.actor)
  await waitUntil('the Accept is confirmed by snac', () => snac.isFollowing(gateway.actor) || undefined)
  deepStrictEqual(await gateway.followerCount(), 1)
}

async function react(setup: SnacSetup): Promise<void> {
  const id = findAnswers(setup)[0]?.id ?? ''
  await setup.snac.press('action', { id, action: 'Like' })
  await setup.snac.run('boost', 'alice', id)
  await waitUntil('two reactions have come', async () => (await countKind(setup, 'reaction')) === 2 || undefined)
}

async function takeBack(setup: SnacSetup): Promise<void> {
  const id = findAnswers(setup)[0]?.id ?? ''
  await setup.snac.press('action', { id, action: 'Unlike' })
  await setup.snac.run('unboost', 'alice', id)
  await waitUntil('both are taken back', async () => (await countKind(setup, 'reaction')) === 4 || undefined)
}

async function ping({ snac, gateway, capturedRequests }: SnacSetup): Promise<void> {
  const countBefore = (await gateway.messages()).length
  await snac.run('ping', 'alice', gateway.actor)
  const request = await waitUntil('the Ping has come', () =>
    capturedRequests.find(({ host, body }) => host === ourHost && body.includes('"type": "Ping"')),
  )
  deepStrictEqual([request.answer.status, (await gateway.messages()).length], [202, countBefore])
}

async function edit(setup: SnacSetup): Promise<void> {
  const post = ownPosts(setup)[0]
  await setup.snac.press('note', { content: `${echoAddress} hello, edited`, edit_id: post?.id ?? '' })
  const editedRecord = await waitUntil('the edit has come', async () =>
    (await setup.gateway.messages()).find(({ message }) => message.kind === 'edit'),
  )
  match(JSON.stringify(editedRecord.message.parts), /hello, edited/)
}

async function remove(setup: SnacSetup): Promise<void> {
  const post = ownPosts(setup)[0]
  setup.snac.enterFollower(setup.gateway.actor)
  await setup.snac.press('action', { id: post?.id ?? '', action: 'Delete' })
  await waitUntil('the deletion has come', async () => (await countKind(setup, 'delete')) === 1 || undefined)
}

async function unfollow({ snac, gateway }: SnacSetup): Promise<void> {
  const countBefore = await gateway.followerCount()
  await snac.run('unfollow', 'alice', gateway.actor)
  deepStrictEqual(countBefore, 1)
  await waitUntil('nobody follows', async () => (await gateway.followerCount()) === 0 || undefined)
}

async function move({ snac, gateway }: SnacSetup): Promise<void> {
  const bob = `${snacOrigin}/bob`
  await snac.run('adduser', 'bob')
  await snac.run('alias', 'bob', snac.actor)
  await snac.run('alias', 'alice', bob)
  await snac.run('migrate', 'alice')
  const record = await waitUntil('the Move has come', async () =>
    (await gateway.messages()).find(({ flags }) => flags.includes('moved')),
  )
  ok(JSON.stringify(record.message.parts).includes(bob))
}

async function checkRefusals({ gateway }: SnacSetup): Promise<void> {
  const refusals = (await gateway.refusals()).map(({ code, reason }) => ({ code, reason }))
  deepStrictEqual(refusals, [{ code: 'unsupported', reason: 'Cannot give activity to an agent: its type is "Ping"' }])
}

/** Blocks our host while the agent is still working. snac sends nothing to a blocked host, so the question comes first. */
async function block(setup: SnacSetup): Promise<void> {
  const post = await publish(setup, 'note', `@patient@${ourHost} can you hear me?`)
  await waitUntil('the message is there', () => findMessageRecord(setup, post))
  await setup.snac.run('block', `https://${ourHost}`)
  const { deliveries } = await waitUntil('the delivery has ended', async () => {
    const record = await findMessageRecord(setup, post)
    return record?.deliveries.some(({ state }) => state === 'dead') ? record : undefined
  })
  match(deliveries[0]?.last_error ?? '', /403/)
}
