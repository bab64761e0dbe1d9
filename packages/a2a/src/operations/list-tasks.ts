import type { TaskFilter, TaskRecord } from '@postern/core'
import type { Call } from '../endpoint/call.ts'
import { countTaskChars } from '../format/count-chars.ts'
import type { ListTasksParams, WireTask } from '../format/wire.ts'
import { fromWireState, toCanonicalJson, zeroStates } from '../format/wire.ts'
import { showTask } from '../render.ts'
import type { TaskPosition } from '../tasks/cursor.ts'
import { checkParams } from '../validate/params.ts'
import type { A2aOperation, A2aOperationDeps } from './operation.ts'

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
      nextPageToken: last && page.tasks.length > shown.length ? await cursors.seal(placeOf(last), scope) : '',
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

function placeOf({ updatedAt, id }: TaskRecord): TaskPosition {
  return { updatedAt, id }
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
