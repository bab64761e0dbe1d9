// Sends the new answer of a replay: as a change of the recorded one, or as a first answer.
import { hash } from 'node:crypto'
import type { AgentAction, NormalizedResponse } from '@postern/message'
import { isoTime, Rejection, threadSourceOf } from '@postern/message'
import type { Answer, Channel, Intake, MessageRecord, PublisherDeps } from '@postern/pipeline'
import { createSyntheticMessage, findChannel, performActions } from '@postern/pipeline'
import { nameAgent, turnOf } from './read-again.ts'
import type { QueuedAnswer } from './report.ts'

interface CommittedAnswer {
  readonly record: MessageRecord
  readonly intake: Intake
  readonly answer: Answer
  readonly response: NormalizedResponse
  readonly answersAgain?: boolean | undefined
}

/**
 * Replaces the recorded answer if its channel can change sent answers. A message without an answer gets its first one. Nobody gets two answers: an
 * answer that cannot be changed stays, unless it has failed and the operator wants another one.
 * @throws Rejection `unsupported`
 */
export async function commitAnswer(answer: CommittedAnswer, deps: PublisherDeps): Promise<QueuedAnswer> {
  const { record, response, answersAgain } = answer
  if (!record.response) return sendNewAnswer(answer, deps)
  if (answersAgain && record.response.status !== 'failed')
    return { kind: 'nothing', reason: 'the recorded answer has not failed' }
  if (answersAgain) return sendNewAnswer(answer, deps)
  const agent = nameAgent(record)
  const actingAgent = { agent, address: record.message.recipient }
  const edit: AgentAction = { act: 'edit', response: record.response.id, parts: [...response.parts] }
  try {
    await performActions([edit], actingAgent, deps)
  } catch (error) {
    if (!(error instanceof Rejection) || error.code !== 'unsupported') throw error
    const channel = findChannel(deps.channels, record.message.received_via)
    const isFailed = record.response.status === 'failed' && channel !== undefined && allowsAnotherAnswer(channel)
    const hint = isFailed ? '; --again sends another one' : ''
    const reason = `an answer by ${record.message.received_via} cannot be changed once it is sent${hint}`
    return { kind: 'nothing', reason }
  }
  return { kind: 'edit', response: record.response.id }
}

/** Returns the id of an answer by a replay. It depends on the message’s number, so that a second replay finds the first one’s answer. */
export function nameReplayAnswer(message: number, correlationId: string): string {
  return hash('sha256', `replay ${message} ${correlationId}`).slice(0, 32)
}

/** Sends a first answer, or another one after a failed one. */
async function sendNewAnswer(
  { record, intake, answer, response }: CommittedAnswer,
  { store, channels, system }: PublisherDeps,
): Promise<QueuedAnswer> {
  const id = nameReplayAnswer(record.number, record.correlation_id)
  if (await store.findResponse(id)) return { kind: 'nothing', reason: 'an earlier replay has answered the message' }
  const { message } = record
  const channel = findChannel(channels, message.received_via)
  if (!channel) return { kind: 'nothing', reason: `the channel "${message.received_via}" is not open` }
  const now = isoTime(system.now())
  if (record.response && !allowsAnotherAnswer(channel))
    return { kind: 'nothing', reason: 'the call has ended with its answer' }
  // The turn ran at the recorded time, but the answer is sent now.
  const datedResponse = { ...response, id, created_at: now }
  const turn = { ...turnOf(record), target: intake.target }
  const { deliveries, broadcasts, aliases, rendering, isListed } = channel.address({ turn, response: datedResponse })
  if (deliveries.length === 0)
    return { kind: 'nothing', reason: `nobody waits for an answer by ${turn.via} any longer` }
  const sender = { agent: turn.agent, address: message.recipient, channel: channel.descriptor }
  const syntheticMessage = createSyntheticMessage({
    ...sender,
    ...{ id: `replay:${id}`, threadSource: threadSourceOf(message), scope: intake.thread.scope, flag: 'replay' },
    at: now,
  })
  const plannedAnswer = {
    response: datedResponse,
    aliases,
    rendering,
    isListed,
    deliveries,
    broadcasts,
    blobs: answer.blobs,
  }
  const thread = { ...syntheticMessage.thread, references: [message.id] }
  await store.storeActions(
    [{ kind: 'post', syntheticMessage: { ...syntheticMessage, thread }, answer: plannedAnswer }],
    turn.correlationId,
  )
  return { kind: 'answer', response: id }
}

/** Returns true if a channel can send another answer. A call accepts only one answer, but a chat has a history that continues. */
function allowsAnotherAnswer({ descriptor: { answersCalls, speaker } }: Channel): boolean {
  return answersCalls !== true || speaker.isChat === true
}
