import { deepStrictEqual, match, ok } from 'node:assert/strict'
import type { MessageRecord } from '@postern/core'
import { waitUntil } from './eventually.ts'
import { ourHost } from './names.ts'
import type { OurGateway } from './our-gateway.ts'
import type { Snac, SnacDocument } from './snac.ts'

export interface Stage {
  readonly snac: Snac
  readonly gateway: OurGateway
}

export interface Step {
  readonly name: string
  /** Our gateway cannot do this yet: failing here is shown and does not fail the exam. */
  readonly isPending?: boolean | undefined
  run(stage: Stage): Promise<void>
}

const agent = `@echo@${ourHost}`

/** What two servers that have never met do to each other, in this order. */
export const steps: readonly Step[] = [
  { name: 'snac finds the agent by its address', run: findAgent },
  { name: 'alice follows the agent, which accepts', run: follow, isPending: true },
  { name: 'alice mentions the agent and has its answer in her timeline', run: mention },
  { name: 'alice answers the answer: one thread, one history', run: goOn },
  { name: 'what is said in private is answered in private', run: mentionInPrivate },
  { name: 'alice likes and boosts the answer', run: react, isPending: true },
  { name: 'alice edits her post', run: edit, isPending: true },
  { name: 'alice deletes her post', run: remove, isPending: true },
  { name: 'alice takes her follow back', run: unfollow, isPending: true },
  { name: 'nothing that snac sent was refused', run: checkRefusals },
  { name: 'snac blocks us: the answer is given up, not repeated', run: block },
]

async function findAgent({ snac, gateway }: Stage): Promise<void> {
  ok((await snac.run('webfinger', agent)).includes(gateway.actor))
}

async function follow({ snac, gateway }: Stage): Promise<void> {
  await snac.run('follow', 'alice', gateway.actor)
  await waitUntil('the Accept is confirmed by snac', () => snac.isFollowing(gateway.actor) || undefined)
  deepStrictEqual(await gateway.followerCount(), 1)
}

async function mention(stage: Stage): Promise<void> {
  const { post, answer } = await say(stage, 'note', `${agent} hello from another house`)
  match(String(answer.content), /hello from another house/)
  const message = await findMessage(stage, post)
  deepStrictEqual(message.message.sender.address, '@alice@snac.test')
  deepStrictEqual(message.message.sender.verified, true)
  deepStrictEqual(
    message.deliveries.map(({ state }) => state),
    ['sent'],
  )
}

async function goOn(stage: Stage): Promise<void> {
  const answer = findAnswers(stage)[0]
  const before = ownPosts(stage).map(({ id }) => id)
  await stage.snac.press('note', { content: `${agent} and again`, in_reply_to: answer?.id ?? '' })
  const post = await waitUntil('snac has the post', () => ownPosts(stage).find(({ id }) => !before.includes(id)))
  await findAnswerTo(stage, post)
  const { message } = await findMessage(stage, post)
  deepStrictEqual(
    message.history?.map(({ role }) => role),
    ['user', 'assistant'],
  )
}

async function mentionInPrivate(stage: Stage): Promise<void> {
  const { answer } = await say(stage, 'note_mention', `${agent} between us`)
  deepStrictEqual([answer.to, answer.cc].flat(), [stage.snac.actor])
}

async function react(stage: Stage): Promise<void> {
  const [answer] = findAnswers(stage)
  await stage.snac.press('action', { id: answer?.id ?? '', action: 'Like' })
  await stage.snac.run('boost', 'alice', answer?.id ?? '')
  await waitUntil('two reactions have come', async () => (await countKind(stage, 'reaction')) === 2 || undefined)
}

async function edit(stage: Stage): Promise<void> {
  const post = ownPosts(stage)[0]
  await stage.snac.press('note', { content: `${agent} hello, edited`, edit_id: post?.id ?? '' })
  const edited = await waitUntil('the edit has come', async () =>
    (await stage.gateway.messages()).find(({ message }) => message.kind === 'edit'),
  )
  match(JSON.stringify(edited.message.parts), /hello, edited/)
}

async function remove(stage: Stage): Promise<void> {
  const post = ownPosts(stage)[0]
  stage.snac.enterFollower(stage.gateway.actor)
  await stage.snac.press('action', { id: post?.id ?? '', action: 'Delete' })
  await waitUntil('the deletion has come', async () => (await countKind(stage, 'delete')) === 1 || undefined)
}

async function unfollow({ snac, gateway }: Stage): Promise<void> {
  const before = await gateway.followerCount()
  await snac.run('unfollow', 'alice', gateway.actor)
  deepStrictEqual(before, 1)
  await waitUntil('nobody follows', async () => (await gateway.followerCount()) === 0 || undefined)
}

async function checkRefusals({ gateway }: Stage): Promise<void> {
  deepStrictEqual(await gateway.refusals(), [])
}

/** What it sends to those it blocks is lost, too: so the block comes while the agent is still thinking. */
async function block(stage: Stage): Promise<void> {
  const post = await publish(stage, 'note', `@patient@${ourHost} can you hear me?`)
  await waitUntil('the message is there', () => lookUp(stage, post))
  await stage.snac.run('block', `https://${ourHost}`)
  const { deliveries } = await waitUntil('the delivery has ended', async () => {
    const record = await lookUp(stage, post)
    return record?.deliveries.some(({ state }) => state === 'dead') ? record : undefined
  })
  match(deliveries[0]?.last_error ?? '', /403/)
}

interface Exchange {
  readonly post: SnacDocument
  readonly answer: SnacDocument
}

async function say(stage: Stage, command: string, text: string): Promise<Exchange> {
  const post = await publish(stage, command, text)
  return { post, answer: await findAnswerTo(stage, post) }
}

async function publish(stage: Stage, command: string, text: string): Promise<SnacDocument> {
  const before = ownPosts(stage).map(({ id }) => id)
  await stage.snac.run(command, 'alice', text)
  return waitUntil('snac has the post', () => ownPosts(stage).find(({ id }) => !before.includes(id)))
}

function ownPosts({ snac }: Stage): readonly SnacDocument[] {
  return snac
    .documents()
    .filter(({ type, attributedTo }) => type === 'Note' && attributedTo === snac.actor)
    .sort((left, right) => String(left.published).localeCompare(String(right.published)))
}

function findAnswers({ snac, gateway }: Stage): readonly SnacDocument[] {
  return snac.documents().filter(({ attributedTo }) => attributedTo === gateway.actor)
}

function findAnswerTo(stage: Stage, post: SnacDocument): Promise<SnacDocument> {
  return waitUntil('the answer is in the timeline', () =>
    findAnswers(stage).find(({ inReplyTo }) => inReplyTo === post.id),
  )
}

async function lookUp({ gateway }: Stage, post: SnacDocument): Promise<MessageRecord | undefined> {
  return (await gateway.messages()).find(({ message }) => message.id.startsWith(post.id))
}

async function findMessage(stage: Stage, post: SnacDocument): Promise<MessageRecord> {
  return waitUntil('the operator sees the message answered', async () => {
    const record = await lookUp(stage, post)
    return record?.deliveries.every(({ state }) => state === 'sent') ? record : undefined
  })
}

async function countKind({ gateway }: Stage, kind: string): Promise<number> {
  return (await gateway.messages()).filter(({ message }) => message.kind === kind).length
}
