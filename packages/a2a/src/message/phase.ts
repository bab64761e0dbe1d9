import type { AgentCallOptions, NormalizedMessage } from '@postern/core'
import { isJsonObject } from '@postern/core'
import { A2aRejection } from '../format/errors.ts'
import type { WireMessage } from '../format/wire.ts'

/** The phase of the caller's plan that a message belongs to. A2A has no member for it, so it is in the family's namespace. */
export type Phase = Pick<NormalizedMessage, 'phase_id' | 'previous_phase_id'>

const members = ['phase_id', 'previous_phase_id'] as const

/** @throws A2aRejection `invalidParams` */
export function readPhase({ metadata }: WireMessage): Phase {
  const claimed = isJsonObject(metadata?.mentionable) ? metadata.mentionable : {}
  const read = members.flatMap(member => {
    const value = claimed[member]
    return value === undefined || value === null ? [] : [[member, checkPhase(value, member)] as const]
  })
  return Object.fromEntries(read)
}

function checkPhase(value: unknown, member: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number
  const field = `message.metadata.mentionable.${member}`
  const description = 'must be a whole number from 0 on'
  const violations = [{ field, description }]
  throw new A2aRejection('invalidParams', `Cannot SendMessage: ${field} ${description}`, { violations })
}

export function renderPhase({
  phaseId,
  previousPhaseId,
}: Pick<AgentCallOptions, 'phaseId' | 'previousPhaseId'>): Phase {
  return {
    ...(phaseId !== undefined && { phase_id: phaseId }),
    ...(previousPhaseId !== undefined && { previous_phase_id: previousPhaseId }),
  }
}
