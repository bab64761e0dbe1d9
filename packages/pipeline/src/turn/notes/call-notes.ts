// Records the calls of a turn to other agents, and their outcomes.
import type { Part } from '@postern/message'
import { Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { AgentCallAnswer } from '../../ports/agent/agent-call.ts'
import type { NoteContext } from '../../ports/records/note.ts'
import { clipNoteText, noteTextOf } from '../../ports/records/note.ts'

/** A call of one agent to another, as it is recorded before it is sent. */
export interface NotedCall {
  /** The name of the call in its turn. The same call of a retried turn has the same name. */
  readonly name: string
  /** The called agent. */
  readonly worker: string
  /** The text of the question. */
  readonly task: string
  /** True if every agent of the conversation sees the outcome. */
  readonly isBroadcast?: boolean | undefined
  /** The calling agent, if several agents share an address. */
  readonly agentKey?: string | undefined
}

/** Describes a call for the notes of its turn. `callKey` identifies the call in its turn. A call with another callee or text counts as another call. */
export function describeNotedCall(
  callKey: string,
  worker: string,
  parts: readonly Part[],
  options: Pick<NotedCall, 'isBroadcast' | 'agentKey'>,
): NotedCall {
  const task = noteTextOf(parts)
  return {
    ...options,
    name: `${callKey} ${computeShortHash(JSON.stringify([worker, task]))}`,
    worker: clipNoteText(worker),
    task,
  }
}

interface CallOutcome {
  readonly content: string
  readonly error?: NoteContext['error']
}

export function readCallAnswer({ parts, status }: AgentCallAnswer): CallOutcome {
  const answerText = noteTextOf(parts)
  if (status !== 'failed' && status !== 'rejected') return { content: answerText }
  const message = answerText || `The agent answered: ${status}`
  return { content: message, error: { message, code: status } }
}

/** Describes the failure of a call. The messages of our own error classes are safe to show; for other errors it only says that the call failed. */
export function describeCallFailure(error: unknown): CallOutcome {
  const isPresentable = error instanceof Rejection || error instanceof Unavailable || error instanceof Undeliverable
  const message = clipNoteText(isPresentable ? error.message : 'The call failed.')
  const code = error instanceof Rejection ? error.code : isPresentable ? error.name.toLowerCase() : 'failed'
  return { content: message, error: { message, code } }
}

const primes = [0x01000193, 0x85ebca6b] as const

/** Returns a short hash of a text, to distinguish texts. It is not cryptographic. */
function computeShortHash(text: string): string {
  return primes.map((prime, seed) => computeFnv1a(text, prime, seed).toString(16).padStart(8, '0')).join('')
}

/** Computes FNV-1a over UTF-16 code units, in 32 bits. */
function computeFnv1a(text: string, prime: number, seed: number): number {
  let hashValue = (0x811c9dc5 ^ seed) >>> 0
  for (let index = 0; index < text.length; index += 1) {
    hashValue = Math.imul(hashValue ^ text.charCodeAt(index), prime) >>> 0
  }
  return hashValue
}
