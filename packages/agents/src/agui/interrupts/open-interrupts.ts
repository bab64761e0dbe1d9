// Asks the questions of a server one after the other, and stores each answer until all questions are answered.
import { hash } from 'node:crypto'
import type { Json, NormalizedMessage } from '@postern/message'
import { subjectOf } from '@postern/message'
import type { AgentChunk, AgentContext } from '@postern/pipeline'
import { readPayload } from './payload.ts'
import { formatQuestion } from './question.ts'
import type { ServerInterrupt } from './server-interrupts.ts'

export type InterruptAnswer = { readonly status: 'resolved'; readonly payload: Json } | { readonly status: 'cancelled' }

/** A server's question that stays open between two runs. */
export interface OpenInterrupt extends ServerInterrupt {
  readonly answer?: InterruptAnswer | undefined
  /** The keys of the only person who may answer. Absent in states of earlier releases. */
  readonly askedOf?: readonly string[] | undefined
}

/** The `code` of a consent that represents a question of a server; the members of its `data` identify the question. */
const consentCode = 'agent:interrupt'
const interruptIdKey = 'dev.postern.interrupt'
/** The member with the digest of the question. Some servers reuse an id, and consent to one question must not count for another. */
const questionDigestKey = 'dev.postern.question'

/** The person who writes the message of a turn. */
interface MessageAuthor {
  readonly sender: NormalizedMessage['sender']
  readonly person?: AgentContext['person'] | undefined
}

function listPersonKeys({ sender, person }: MessageAuthor): readonly string[] {
  return [hash('sha256', subjectOf(sender)).slice(0, 32), ...(person ? [person.id] : [])]
}

/** Returns true if the interrupt asks this person. In a conversation of several people, a message of anybody else answers nothing. */
export function mayAnswer({ askedOf }: OpenInterrupt, answerer: MessageAuthor): boolean {
  return askedOf === undefined || listPersonKeys(answerer).some(key => askedOf.includes(key))
}

/** Assigns the interrupts to the person who is asked. They stay with the person who was asked first as long as the server repeats one of them. */
export function assignInterrupts(
  serverInterrupts: readonly ServerInterrupt[],
  openInterrupts: readonly OpenInterrupt[],
  answerer: MessageAuthor,
): readonly OpenInterrupt[] {
  // Some servers give an open question a new id in each run.
  const repeatedIdsAndDigests = new Set(
    serverInterrupts.flatMap(interrupt => [interrupt.id, digestQuestion(interrupt)]),
  )
  const isKnown = (interrupt: OpenInterrupt) =>
    repeatedIdsAndDigests.has(interrupt.id) || repeatedIdsAndDigests.has(digestQuestion(interrupt))
  const askedOf =
    openInterrupts.find(interrupt => interrupt.askedOf && isKnown(interrupt))?.askedOf ?? listPersonKeys(answerer)
  return serverInterrupts.map(interrupt => ({ ...interrupt, askedOf }))
}

function digestQuestion({ question, schema, consent }: OpenInterrupt): string {
  return hash('sha256', JSON.stringify([question, schema, consent])).slice(0, 32)
}

/** Restores the open interrupts from the agent's state. An earlier release stored only their ids. */
export function restoreInterrupts(
  storedInterrupts: readonly (OpenInterrupt | string)[] = [],
): readonly OpenInterrupt[] {
  return storedInterrupts.map(interrupt =>
    typeof interrupt === 'string' ? { id: interrupt, question: formatQuestion({}), via: 'resume' } : interrupt,
  )
}

/** Returns true if the message decides a consent that represents a server's question. */
export function isDecision({ policy_resolution }: Pick<NormalizedMessage, 'policy_resolution'>): boolean {
  return policy_resolution?.code === consentCode
}

/** Returns the questions with the answer that a message gives; undefined if it answers none of them. */
export function answerInterrupts(
  openInterrupts: readonly OpenInterrupt[],
  message: NormalizedMessage,
  text: string,
  person?: AgentContext['person'],
): readonly OpenInterrupt[] | undefined {
  const data = message.policy_resolution?.data ?? {}
  const matchesDecision = (interrupt: OpenInterrupt) =>
    interrupt.id === data[interruptIdKey] && digestQuestion(interrupt) === data[questionDigestKey]
  const answerer = { sender: message.sender, person }
  const isAnsweredByMessage = (interrupt: OpenInterrupt) =>
    isDecision(message)
      ? matchesDecision(interrupt)
      : interrupt.answer === undefined && !interrupt.consent && mayAnswer(interrupt, answerer)
  const index = openInterrupts.findIndex(isAnsweredByMessage)
  const openInterrupt = openInterrupts[index]
  return (
    openInterrupt && openInterrupts.with(index, { ...openInterrupt, answer: readAnswer(openInterrupt, message, text) })
  )
}

/** Returns all questions as cancelled, with the answers so far, because nobody wants the actions that the earlier answers would allow. */
export function cancelInterrupts(openInterrupts: readonly OpenInterrupt[]): readonly OpenInterrupt[] {
  return openInterrupts.map(interrupt => ({ ...interrupt, answer: createCancelAnswer(interrupt) }))
}

/** Returns the answer for a question that is cancelled. Servers that accept only a yes or a no get a no. */
function createCancelAnswer({ consent }: OpenInterrupt): InterruptAnswer {
  return consent?.isStrict ? { status: 'resolved', payload: consent.declined } : { status: 'cancelled' }
}

function readAnswer(interrupt: OpenInterrupt, message: NormalizedMessage, text: string): InterruptAnswer {
  const { schema, consent } = interrupt
  const { policy_resolution: decision, kind } = message
  if (kind === 'cancel' || decision?.cancelled === true) return createCancelAnswer(interrupt)
  if (!consent) return { status: 'resolved', payload: readPayload(message, text, schema) }
  return {
    status: 'resolved',
    payload: decision?.outcome === 'granted' ? consent.granted : consent.declined,
  }
}

/** Finds the first question without an answer. */
export function findUnanswered(openInterrupts: readonly OpenInterrupt[]): OpenInterrupt | undefined {
  return openInterrupts.find(({ answer }) => answer === undefined)
}

/** Creates the chunk that asks a question. `introduction` is text that precedes the question. */
export function createQuestionChunk(
  interrupt: OpenInterrupt,
  { requireConsent }: Pick<AgentContext, 'requireConsent'>,
  { now, introduction }: { readonly now: number; readonly introduction?: string | undefined },
): AgentChunk {
  const { id, question, consent, expiresAt } = interrupt
  const content = [introduction, question].filter(Boolean).join('\n\n')
  if (!consent) return { status: 'input_required', parts: [{ kind: 'text', mime: 'text/markdown', content }] }
  const expiryMember = expiresAt === undefined ? {} : { expires_in: countSeconds(Date.parse(expiresAt) - now) }
  const data = { [interruptIdKey]: id, [questionDigestKey]: digestQuestion(interrupt) }
  return requireConsent({ message: content, code: consentCode, data, ...expiryMember })
}

/** Converts a time to seconds, within the limits of a requirement. */
function countSeconds(ms: number): number {
  return Math.min(30 * 86_400, Math.max(60, Math.round(ms / 1000)))
}
