import type { Part, SendMessageResult } from '@a2a-js/sdk'
import { TaskState } from '@a2a-js/sdk'

interface ReadResult {
  readonly text: string
  /** `completed`, `working`, …; of a bare message always `completed`. */
  readonly state: string
  readonly contextId: string
  readonly taskId: string | undefined
}

/** The text and state of what `SendMessage` gave back: artifacts first, else the status message. */
export function readSendResult(result: SendMessageResult): ReadResult {
  if ('messageId' in result) {
    const { parts, contextId, taskId } = result
    return { text: readParts(parts), state: 'completed', contextId, taskId: taskId || undefined }
  }
  const { id, contextId, artifacts, status } = result
  const parts = artifacts.length > 0 ? artifacts.flatMap(artifact => artifact.parts) : (status?.message?.parts ?? [])
  const state = TaskState[status?.state ?? TaskState.TASK_STATE_UNSPECIFIED] ?? ''
  return { text: readParts(parts), state: state.replace('TASK_STATE_', '').toLowerCase(), contextId, taskId: id }
}

function readParts(parts: readonly Part[]): string {
  return parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : [])).join('\n\n')
}
