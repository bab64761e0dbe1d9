import type { TaskFilter, TaskRecord } from '@postern/core'
import type { Call } from '../endpoint/call.ts'
import { listenerKeyOf, toCanonicalJson } from '../endpoint/call.ts'
import { A2aRejection } from '../format/errors.ts'
import type { GetTaskParams, ListTasksParams, WireTask } from '../format/wire.ts'
import { countTaskChars, fromWireState, isTerminal, zeroStates } from '../format/wire.ts'
import { showTask } from '../render.ts'
import { listOpenMessages } from '../tasks/lifetime.ts'
import { findOwnTask } from '../tasks/own-tasks.ts'
import { checkParams } from '../validate/params.ts'
import type { A2aOperation, A2aOperationDeps } from './operation.ts'

/** How much history a caller gets by default; the server chooses it (A2A §3.2.4). */
const defaultHistoryLength = 100

/** GetTask (A2A §3.1.3). */
export function createGetTask({ tasks }: A2aOperationDeps): A2aOperation {
  return async call => {
    checkParams('GetTask', call.params)
    const { id, historyLength } = call.params as GetTaskParams
    const record = await findOwnTask(id, call, tasks)
    return showTask(tasks, record, { historyLength: historyLength ?? defaultHistoryLength, includeArtifacts: true })
  }
}

const defaultPageSize = 50

/** ListTasks (A2A §3.1.4): the caller's own tasks with this agent, newest status first. */
export function createListTasks({ tasks, cursors }: A2aOperationDeps): A2aOperation {
  return async call => {
    checkParams('ListTasks', call.params)
    const params = call.params as ListTasksParams
    const pageSize = params.pageSize || defaultPageSize
    const filter = toFilter(params, call)
    const scope = toCanonicalJson(filter ?? null)
    const after = params.pageToken ? await cursors.open(params.pageToken, scope) : undefined
    const page = filter ? await tasks.listTasks({ ...filter, limit: pageSize + 1, after }) : { tasks: [], total: 0 }
    const view = { historyLength: params.historyLength ?? 0, includeArtifacts: params.includeArtifacts ?? false }
    const shown = await showMost(page.tasks.slice(0, pageSize), record => showTask(tasks, record, view))
    const last = page.tasks[shown.length - 1]
    return {
      tasks: shown,
      nextPageToken: last && page.tasks.length > shown.length ? await cursors.seal(last, scope) : '',
      pageSize,
      totalSize: page.total,
    }
  }
}

type Filter = Omit<TaskFilter, 'limit' | 'after'>

/** Undefined if nothing can match: callers without credentials see no list. */
function toFilter(params: ListTasksParams, { caller, agent }: Call): Filter | undefined {
  const { contextId, statusTimestampAfter } = params
  const status = zeroStates.includes(params.status) ? undefined : params.status
  const state = status ? fromWireState(status) : undefined
  if (caller.isAnonymous && !contextId) return undefined
  return {
    owner: caller.owner,
    agent: agent.name,
    ...(contextId && { context: contextId }),
    ...(state && { state }),
    ...(statusTimestampAfter && { updatedSince: Date.parse(statusTimestampAfter) }),
  }
}

/** Approximate characters of one page. A page has at least one task, whatever its size. */
const pageChars = 16 * 1024 * 1024

/** The tasks that fit one answer. A page may be smaller than requested (A2A §3.1.4), which bounds the memory. */
async function showMost(
  records: readonly TaskRecord[],
  show: (record: TaskRecord) => Promise<WireTask>,
): Promise<readonly WireTask[]> {
  const tasks: WireTask[] = []
  let chars = 0
  for (const record of records) {
    const task = await show(record)
    chars += countTaskChars(task)
    if (chars > pageChars && tasks.length > 0) break
    tasks.push(task)
  }
  return tasks
}

/** CancelTask (A2A §3.1.5). The store compares and sets, so exactly one of several concurrent calls succeeds. */
export function createCancelTask({ gateway: { store }, tasks }: A2aOperationDeps): A2aOperation {
  return async call => {
    checkParams('CancelTask', call.params)
    const { id, owner } = await findOwnTask((call.params as GetTaskParams).id, call, tasks)
    if (!(await store.cancelTask({ owner, id }))) {
      throw new A2aRejection('taskNotCancelable', 'Cannot CancelTask: the task has ended')
    }
    const canceled = await findOwnTask(id, call, tasks)
    return showTask(tasks, canceled, { historyLength: defaultHistoryLength, includeArtifacts: true })
  }
}

/** SubscribeToTask (A2A §3.1.6): the present task, then its updates until it has ended. */
export function createSubscribeToTask({ tasks, feeds }: A2aOperationDeps): A2aOperation {
  return async call => {
    checkParams('SubscribeToTask', call.params)
    const record = await findOwnTask((call.params as GetTaskParams).id, call, tasks)
    const { owner, id } = record
    const canGoOn = call.canReplay && call.lastEventId !== undefined && feeds.knows({ owner, id }, call.lastEventId)
    if (isTerminal(record.state) && !canGoOn) {
      throw new A2aRejection('unsupportedOperation', 'Cannot SubscribeToTask: the task has ended')
    }
    return feeds.open({
      key: { owner, id },
      listenerKey: listenerKeyOf(call),
      canReplay: call.canReplay,
      messages: listOpenMessages(record),
      after: call.canReplay ? call.lastEventId : undefined,
      view: { historyLength: defaultHistoryLength, includeArtifacts: true },
    })
  }
}
