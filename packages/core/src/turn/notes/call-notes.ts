import { Rejection, Unavailable, Undeliverable } from '../../format/errors.ts'
import type { Part } from '../../message/part.ts'
import type { AgentCallAnswer } from '../../ports/agent/agent-call.ts'
import type { NoteSetting } from '../../ports/records/note.ts'
import { clipNoteText, noteTextOf } from '../../ports/records/note.ts'

/** A call of one agent to another, as it is noted before it goes out. */
export interface NotedCall {
  /** The same for the same call of a turn that is tried again. */
  readonly name: string
  /** Whom it goes to. */
  readonly worker: string
  /** What is asked. */
  readonly task: string
  /** Whether every agent of the conversation is to see what comes of it. */
  readonly isBroadcast?: boolean | undefined
  /** Who asks, where several agents stand behind one address. */
  readonly agentKey?: string | undefined
}

/** `place`: which call of the turn it is. What asks somebody else, or something else, is another call. */
export function noteCall(
  place: string,
  worker: string,
  parts: readonly Part[],
  options: Pick<NotedCall, 'isBroadcast' | 'agentKey'>,
): NotedCall {
  const task = noteTextOf(parts)
  return {
    ...options,
    name: `${place} ${markText(JSON.stringify([worker, task]))}`,
    worker: clipNoteText(worker),
    task,
  }
}

interface CallOutcome {
  readonly content: string
  readonly error?: NoteSetting['error']
}

export function readCallAnswer({ parts, status }: AgentCallAnswer): CallOutcome {
  const said = noteTextOf(parts)
  if (status !== 'failed' && status !== 'rejected') return { content: said }
  const message = said || `The agent answered: ${status}`
  return { content: message, error: { message, code: status } }
}

/** The words of our own errors are safe to show; of others it is told that there was one. */
export function describeCallFailure(error: unknown): CallOutcome {
  const isPresentable = error instanceof Rejection || error instanceof Unavailable || error instanceof Undeliverable
  const message = clipNoteText(isPresentable ? error.message : 'The call failed.')
  const code = error instanceof Rejection ? error.code : isPresentable ? error.name.toLowerCase() : 'failed'
  return { content: message, error: { message, code } }
}

const primes = [0x01000193, 0x85ebca6b] as const

/** A short mark that distinguishes texts: the same for the same text. It proves nothing. */
function markText(text: string): string {
  return primes.map((prime, seed) => foldText(text, prime, seed).toString(16).padStart(8, '0')).join('')
}

/** FNV-1a over UTF-16 code units, 32 bits. */
function foldText(text: string, prime: number, seed: number): number {
  let folded = (0x811c9dc5 ^ seed) >>> 0
  for (let index = 0; index < text.length; index += 1) {
    folded = Math.imul(folded ^ text.charCodeAt(index), prime) >>> 0
  }
  return folded
}
