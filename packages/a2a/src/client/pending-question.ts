import { isJsonObject } from '@postern/core'

/** Identifies a status of a task, so that a repetition is recognized (A2A §4.1.2). */
export interface StatusName {
  readonly state: unknown
  readonly timestamp: unknown
  readonly messageId: unknown
}

export function nameStatus({ state, timestamp, message }: Readonly<Record<string, unknown>>): StatusName {
  return { state, timestamp, messageId: isJsonObject(message) ? message.messageId : undefined }
}

/**
 * Whether a status is the one from before the message. Servers repeat the old status before they continue; some first move its question
 * into the history.
 */
export function isSameStatus(now: StatusName, before: StatusName): boolean {
  const isMoved = now.messageId === undefined
  return (
    now.state === before.state && now.timestamp === before.timestamp && (isMoved || now.messageId === before.messageId)
  )
}
