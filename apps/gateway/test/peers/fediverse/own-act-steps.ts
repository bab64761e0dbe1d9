// Lists the steps in which the agent acts unasked.
import { deepStrictEqual, ok } from 'node:assert/strict'
import { waitUntil } from '../eventually.ts'
import type { SnacDocument } from './snac.ts'
import type { SnacStage, SnacStep } from './stage.ts'
import { findAnswers, ownPosts, readDeliveredMessage } from './stage.ts'

/** The steps in which the agent acts without being asked. */
export const ownActSteps: readonly SnacStep[] = [
  { name: 'a post of the agent’s own is in its follower’s timeline', run: post },
  { name: 'the agent edits it, and snac shows the new words', run: reword },
  { name: 'the agent takes it back, and it is gone from the timeline', run: retract },
  { name: 'the agent likes and boosts a note of alice, and snac shows it', run: admire },
  { name: 'the agent takes both back', run: stopAdmiring },
]

async function post(stage: SnacStage): Promise<void> {
  await stage.gateway.postern('post', 'echo', 'good morning, **everybody**')
  const document = await waitUntil('the post is in the timeline', () => findOwnPost(stage))
  ok(String(document.content).includes('good morning, <strong>everybody</strong>'))
}

async function reword(stage: SnacStage): Promise<void> {
  await stage.gateway.postern('edit', 'echo', nameOwnPost(stage), 'good evening, everybody')
  const hasNewWords = () => String(findOwnPost(stage)?.content).includes('good evening') || undefined
  await waitUntil('snac has the new words', hasNewWords)
}

async function retract(stage: SnacStage): Promise<void> {
  await stage.gateway.postern('delete-post', 'echo', nameOwnPost(stage))
  await waitUntil('the post has left the timeline', () => findOwnPost(stage) === undefined || undefined)
  const storedDocuments = stage.snac.documents().filter(({ content }) => String(content).includes('good evening'))
  deepStrictEqual(storedDocuments, [])
}

async function admire(stage: SnacStage): Promise<void> {
  await doBoth(stage, ['like', 'boost'])
  await waitUntil('snac counts both', () => hasReactions(stage, ['like', 'boost']) || undefined)
}

async function stopAdmiring(stage: SnacStage): Promise<void> {
  await doBoth(stage, ['unlike', 'unboost'])
  // snac logs that the boost was undone, but continues to show it, and this is intended.
  await waitUntil('snac counts the boost alone', () => hasReactions(stage, ['boost']) || undefined)
  const unboosted = `Unboost for ${firstMention(stage).id}`
  await waitUntil('snac has heard of both', () => stage.snac.log().includes(unboosted) || undefined)
}

/** Finds the agent's only post that is not a reply. */
function findOwnPost(stage: SnacStage): SnacDocument | undefined {
  return findAnswers(stage).find(({ inReplyTo }) => !inReplyTo)
}

/** Returns the id by which operator commands name that post. */
function nameOwnPost(stage: SnacStage): string {
  return findOwnPost(stage)?.id.split('/').at(-1) ?? ''
}

async function doBoth(stage: SnacStage, acts: readonly string[]): Promise<void> {
  const { message } = await readDeliveredMessage(stage, firstMention(stage))
  await stage.gateway.act(acts.map(act => ({ act, message: message.id })))
}

function hasReactions(stage: SnacStage, wanted: readonly string[]): boolean {
  const reactions = stage.snac.reactionsOf(firstMention(stage).id, stage.gateway.actor)
  return JSON.stringify(reactions) === JSON.stringify(wanted)
}

function firstMention(stage: SnacStage): SnacDocument {
  const [first] = ownPosts(stage)
  ok(first)
  return first
}
