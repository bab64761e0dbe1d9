// Lists the fields that identify a turn in the log.
import type { LogFields, NormalizedMessage } from '@postern/message'
import type { Turn } from '../../ports/records/work/turn.ts'

/** Returns the fields that all log lines of a turn share. */
export function logFieldsOf({
  correlationId,
  agent,
  content,
}: Pick<Turn, 'correlationId' | 'agent' | 'content'>): LogFields {
  return { correlation_id: correlationId, agent, ...callerFields(content) }
}

/** Returns the correlation id of the calling turn, so that one search in the log finds everything that a message caused. */
export function callerFields({ called_by }: Pick<NormalizedMessage, 'called_by'>): LogFields {
  return called_by ? { called_by: called_by.correlation_id } : {}
}
