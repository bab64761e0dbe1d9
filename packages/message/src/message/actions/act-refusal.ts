// Says to an agent that something it wanted to do cannot be done.
import type { RejectionCode } from '../../format/errors.ts'

/** An act of an agent that cannot be done. The agent gets it in place of what the act would give, and nothing is sent. */
export interface ActRefusal {
  readonly refused: true
  readonly code: Extract<RejectionCode, 'forbidden' | 'malformed' | 'no_recipient' | 'unsupported'>
  /** Sentence with the act, the cause and the fix. */
  readonly message: string
  /** The key of the configuration that would allow it. */
  readonly key?: string | undefined
}

/** An act that was refused, for the record of its turn. */
export interface RefusedAct extends Omit<ActRefusal, 'refused'> {
  /** `post`, `edit`, `delete` or the reaction. */
  readonly act: string
  /** The channel, where the agent or the response names one. */
  readonly via?: string | undefined
}

/** Makes a refusal. As a text it is its sentence, so that an agent which shows what it got shows the reason. */
export function refuseAct(code: ActRefusal['code'], message: string, key?: string): ActRefusal {
  const refusal = { refused: true, code, message, ...(key !== undefined && { key }) } as const
  return Object.defineProperty(refusal, 'toString', { value: () => message })
}

/** Returns whether an act was refused. */
export function isActRefusal(value: unknown): value is ActRefusal {
  return typeof value === 'object' && value !== null && 'refused' in value && value.refused === true
}
