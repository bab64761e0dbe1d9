import { isObject } from '../validate/shape.ts'

/** What names a status of a task, so that it is known when it comes again (A2A §4.1.2). */
export interface StatusName {
  readonly state: unknown
  readonly timestamp: unknown
  readonly messageId: unknown
}

export function nameStatus({ state, timestamp, message }: Readonly<Record<string, unknown>>): StatusName {
  return { state, timestamp, messageId: isObject(message) ? message.messageId : undefined }
}

/**
 * Whether a status is the one from before the message. Servers repeat the task as it was before they go on with it, some after they
 * have moved its question into the history.
 */
export function isSameStatus(now: StatusName, before: StatusName): boolean {
  const isMoved = now.messageId === undefined
  return (
    now.state === before.state && now.timestamp === before.timestamp && (isMoved || now.messageId === before.messageId)
  )
}
