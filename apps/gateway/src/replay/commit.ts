import { hash } from 'node:crypto'
import type { AgentAction, Answer, Intake, MessageRecord, NormalizedResponse, PublisherDeps } from '@postern/core'
import { createSyntheticMessage, findChannel, performActions, Rejection } from '@postern/core'
import { nameAgent, turnOf } from './read-again.ts'
import type { Queued } from './report.ts'

interface Committed {
  readonly record: MessageRecord
  readonly intake: Intake
  readonly answer: Answer
  readonly response: NormalizedResponse
}

/**
 * The new answer takes the place of the one that was given, where its channel can change what it sent; a message without an answer gets its first.
 * Nobody is answered twice: an answer that cannot be changed stays. @throws Rejection `unsupported`
 */
export async function commitAnswer(committed: Committed, deps: PublisherDeps): Promise<Queued> {
  const { record, response } = committed
  if (!record.response) return answerFirst(committed, deps)
  const agent = nameAgent(record)
  const acting = { agent, address: record.message.recipient }
  const edit: AgentAction = { act: 'edit', response: record.response.id, parts: [...response.parts] }
  try {
    await performActions([edit], acting, deps)
  } catch (error) {
    if (!(error instanceof Rejection) || error.code !== 'unsupported') throw error
    const reason = `an answer by ${record.message.received_via} cannot be changed once it is given`
    return { kind: 'nothing', reason }
  }
  return { kind: 'edit', response: record.response.id }
}

/** Id of the answer that a replay gives. Made from the message's number, so that a second replay finds the place taken. */
export function nameReplayAnswer(message: number, correlationId: string): string {
  return hash('sha256', `replay ${message} ${correlationId}`).slice(0, 32)
}

async function answerFirst(
  { record, intake, answer, response }: Committed,
  { store, channels, platform }: PublisherDeps,
): Promise<Queued> {
  const id = nameReplayAnswer(record.number, record.correlation_id)
  if (await store.findResponse(id)) return { kind: 'nothing', reason: 'an earlier replay has answered it' }
  const { message } = record
  const channel = findChannel(channels, message.received_via)
  if (!channel) return { kind: 'nothing', reason: `the channel "${message.received_via}" is not open` }
  const now = new Date(platform.now()).toISOString()
  // It was made at the clock of then, and is said today.
  const named = { ...response, id, created_at: now }
  const turn = { ...turnOf(record), target: intake.target }
  const { deliveries, broadcasts, aliases, rendering, isListed } = channel.address({ turn, response: named })
  if (deliveries.length === 0) return { kind: 'nothing', reason: `nobody waits for an answer by ${turn.via} any more` }
  const place = { agent: turn.agent, address: message.recipient, channel: channel.descriptor }
  const synthetic = createSyntheticMessage({
    ...place,
    ...{ id: `replay:${id}`, threadId: message.thread_id, scope: intake.thread.scope, flag: 'replay' },
    at: now,
  })
  const said = { response: named, aliases, rendering, isListed, deliveries, broadcasts, blobs: answer.blobs }
  const thread = { ...synthetic.thread, references: [message.id] }
  await store.act([{ kind: 'post', synthetic: { ...synthetic, thread }, answer: said }], turn.correlationId)
  return { kind: 'answer', response: id }
}
