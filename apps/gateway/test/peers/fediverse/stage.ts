// Provides the actions of alice on her snac server.
import { setTimeout as delay } from 'node:timers/promises'
import type { MessageRecord } from '@postern/pipeline'
import type { CapturedRequest } from '../captured.ts'
import { waitUntil } from '../eventually.ts'
import { ourHost } from '../names.ts'
import type { OurGateway } from '../our-gateway.ts'
import type { ExamStep as NamedStep } from '../run-steps.ts'
import type { Snac, SnacDocument } from './snac.ts'

/** Both servers, and the requests between them. */
export interface SnacStage {
  readonly snac: Snac
  readonly gateway: OurGateway
  readonly seen: readonly CapturedRequest[]
}

export type SnacStep = NamedStep<SnacStage>

export const echoAddress = `@echo@${ourHost}`

interface AnsweredPost {
  readonly post: SnacDocument
  readonly answer: SnacDocument
}

/** Has alice write with one of snac's commands, and waits for the answer. */
export async function publishAnswered(stage: SnacStage, command: string, text: string): Promise<AnsweredPost> {
  const post = await publish(stage, command, text)
  return { post, answer: await findAnswerTo(stage, post) }
}

export function publish(stage: SnacStage, command: string, text: string): Promise<SnacDocument> {
  return findNewPost(stage, () => stage.snac.run(command, 'alice', text))
}

/** Has alice reply to a post. */
export function replyTo(stage: SnacStage, { id }: SnacDocument, content: string): Promise<SnacDocument> {
  return findNewPost(stage, () => stage.snac.press('note', { content, in_reply_to: id }))
}

async function findNewPost(stage: SnacStage, write: () => Promise<unknown>): Promise<SnacDocument> {
  const idsBefore = ownPosts(stage).map(({ id }) => id)
  await write()
  return waitUntil('snac has the post', () => ownPosts(stage).find(({ id }) => !idsBefore.includes(id)))
}

/** Returns alice's own posts, oldest first. */
export function ownPosts({ snac }: SnacStage): readonly SnacDocument[] {
  return inOrder(snac.documents().filter(({ type, attributedTo }) => type === 'Note' && attributedTo === snac.actor))
}

/** Returns the agent's posts in alice's timeline, oldest first. */
export function findAnswers({ snac, gateway }: SnacStage): readonly SnacDocument[] {
  return inOrder(snac.timeline().filter(({ attributedTo }) => attributedTo === gateway.actor))
}

function inOrder(posts: readonly SnacDocument[]): readonly SnacDocument[] {
  return posts.toSorted((left, right) => String(left.published).localeCompare(String(right.published)))
}

export function findAnswerTo(stage: SnacStage, post: SnacDocument): Promise<SnacDocument> {
  return waitUntil('the answer is in the timeline', () =>
    findAnswers(stage).find(({ inReplyTo }) => inReplyTo === post.id),
  )
}

export async function findMessageRecord(
  { gateway }: SnacStage,
  post: SnacDocument,
): Promise<MessageRecord | undefined> {
  return (await gateway.messages()).find(({ message }) => message.id.startsWith(post.id))
}

export async function readDeliveredMessage(stage: SnacStage, post: SnacDocument): Promise<MessageRecord> {
  return waitUntil('the operator sees the message answered', async () => {
    const record = await findMessageRecord(stage, post)
    return record?.deliveries.every(({ state }) => state === 'sent') ? record : undefined
  })
}

export async function countKind({ gateway }: SnacStage, kind: string): Promise<number> {
  return (await gateway.messages()).filter(({ message }) => message.kind === kind).length
}

/** Waits for snac, which polls its queue every three seconds: an event that has not happened by then will not happen. */
export function waitForSnac(): Promise<void> {
  return delay(7_000)
}
