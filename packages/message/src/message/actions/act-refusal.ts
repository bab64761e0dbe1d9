// Describes the refusal that an agent gets for an impossible action.
import type { RejectionCode } from '../../format/errors.ts'

/** The refusal of an impossible action. The agent gets it in place of the action's usual result, and nothing is sent. */
export interface ActRefusal {
  readonly refused: true
  readonly code: Extract<RejectionCode, 'forbidden' | 'malformed' | 'no_recipient' | 'unsupported'>
  /** A sentence with the action, the cause and the fix. */
  readonly message: string
  /** The key of the configuration that would allow it. */
  readonly key?: string | undefined
}

/** A refused action, for the record of its turn. */
export interface RefusedAct extends Omit<ActRefusal, 'refused'> {
  /** `post`, `edit`, `delete` or the reaction. */
  readonly act: string
  /** The channel, if a post names one. */
  readonly via?: string | undefined
}

/** Creates a refusal. Its string form is its sentence, so that an agent that prints the result shows the reason. */
export function refuseAct(code: ActRefusal['code'], message: string, key?: string): ActRefusal {
  const refusal = { refused: true, code, message, ...(key !== undefined && { key }) } as const
  return Object.defineProperty(refusal, 'toString', { value: () => message })
}

/** Returns true if an action was refused. */
export function isActRefusal(value: unknown): value is ActRefusal {
  return typeof value === 'object' && value !== null && 'refused' in value && value.refused === true
}
