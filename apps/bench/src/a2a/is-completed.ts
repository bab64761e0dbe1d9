// Checks whether an A2A answer reports a completed task.
import type { HttpAnswer } from '../http/message.ts'

/** Returns true for an answer with the end of a task. */
export function isCompleted({ status, body }: HttpAnswer): boolean {
  return status === 200 && body.includes('TASK_STATE_COMPLETED')
}
