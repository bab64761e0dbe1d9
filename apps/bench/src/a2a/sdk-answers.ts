// Lists the answers that the agent of the official A2A SDK gives, for comparison.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Message, Task, TaskStatus } from '@a2a-js/sdk'
import { Role, TaskState } from '@a2a-js/sdk'
import type { AgentExecutionEvent, RequestContext } from '@a2a-js/sdk/server'
import { AgentEvent } from '@a2a-js/sdk/server'
import { slowAgentDelayMs } from '../orders/slow.ts'
import { sayPieces } from '../orders/stream.ts'

/**
 * The shape of an answer. `task`: a completed task; `slowTask`: the same after 20 ms; `updates`: a task, an artifact, and the status that ends
 * it; `pieces`: the same with an artifact in three pieces.
 */
export type SdkAnswer = 'task' | 'slowTask' | 'message' | 'updates' | 'pieces'

type Events = readonly AgentExecutionEvent[] | AsyncIterable<AgentExecutionEvent>

/** The events of each answer. */
export const sdkAnswers: Readonly<Record<SdkAnswer, (context: RequestContext) => Events>> = {
  task: context => [AgentEvent.task(completeTask(context))],
  async *slowTask(context) {
    await sleep(slowAgentDelayMs)
    yield AgentEvent.task(completeTask(context))
  },
  message: context => [AgentEvent.message(reply(context))],
  updates: context => [beginTask(context), addPiece(context, 'ok', 0), endTask(context)],
  async *pieces(context) {
    yield beginTask(context)
    let index = 0
    for await (const text of sayPieces()) yield addPiece(context, text, index++)
    yield endTask(context)
  },
}

function beginTask(context: RequestContext): AgentExecutionEvent {
  const status = { ...completedStatus(context), state: TaskState.TASK_STATE_WORKING }
  return AgentEvent.task({ ...completeTask(context), status })
}

function addPiece({ taskId, contextId }: RequestContext, text: string, index: number): AgentExecutionEvent {
  const noExtras = { metadata: undefined, extensions: [] }
  const artifact = { artifactId: 'answer', name: '', description: '', parts: [formatText(text)], ...noExtras }
  return AgentEvent.artifactUpdate({
    taskId,
    contextId,
    artifact,
    append: index > 0,
    lastChunk: false,
    metadata: undefined,
  })
}

function endTask(context: RequestContext): AgentExecutionEvent {
  const { taskId, contextId } = context
  return AgentEvent.statusUpdate({ taskId, contextId, status: completedStatus(context), metadata: undefined })
}

function formatText(value: string): Message['parts'][number] {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' }
}

function reply({ contextId, taskId }: RequestContext): Message {
  return {
    messageId: randomUUID(),
    contextId,
    taskId,
    role: Role.ROLE_AGENT,
    parts: [formatText('ok')],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  }
}

function completeTask(context: RequestContext): Task {
  return {
    id: context.taskId,
    contextId: context.contextId,
    status: completedStatus(context),
    artifacts: [],
    history: [context.userMessage],
    metadata: undefined,
  }
}

function completedStatus(context: RequestContext): TaskStatus {
  return { state: TaskState.TASK_STATE_COMPLETED, message: reply(context), timestamp: new Date().toISOString() }
}
