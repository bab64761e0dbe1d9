import type { TaskFilter, TaskRecord } from '@postern/core'
import { toCanonicalJson } from '../canonical.ts'
import type { Place } from '../cursor.ts'
import { fromWireState } from '../states.ts'
import { showTask } from '../tasks.ts'
import { checkParams } from '../validate/params.ts'
import type { Call } from '../verify.ts'
import type { ListTasksParams } from '../wire.ts'
import type { Operation, Rooms } from './operation.ts'

const defaultPageSize = 50

/** ListTasks (A2A §3.1.4): the caller's own tasks with this agent, newest status first. */
export function createListTasks({ house: { desk }, cursors }: Rooms): Operation {
  return async call => {
    checkParams('ListTasks', call.params)
    const params = call.params as ListTasksParams
    const pageSize = params.pageSize ?? defaultPageSize
    const filter = toFilter(params, call)
    const scope = toCanonicalJson(filter ?? null)
    const after = params.pageToken ? await cursors.open(params.pageToken, scope) : undefined
    const page = filter ? await desk.listTasks({ ...filter, limit: pageSize + 1, after }) : { tasks: [], total: 0 }
    const records = page.tasks.slice(0, pageSize)
    const view = { historyLength: params.historyLength ?? 0, includeArtifacts: params.includeArtifacts ?? false }
    return {
      tasks: await Promise.all(records.map(record => showTask(desk, record, view))),
      nextPageToken: page.tasks.length > pageSize ? await cursors.seal(placeOf(records), scope) : '',
      pageSize,
      totalSize: page.total,
    }
  }
}

type Filter = Omit<TaskFilter, 'limit' | 'after'>

/** Undefined where nothing can match: a state none of ours is ever in, or the tasks of somebody who proves nothing. */
function toFilter(params: ListTasksParams, { caller, agent }: Call): Filter | undefined {
  const { contextId, status, statusTimestampAfter } = params
  const state = status ? fromWireState(status) : undefined
  if ((status && !state) || (caller.isAnonymous && !contextId)) return undefined
  return {
    owner: caller.owner,
    agent: agent.name,
    ...(contextId && { context: contextId }),
    ...(state && { state }),
    ...(statusTimestampAfter && { updatedSince: Date.parse(statusTimestampAfter) }),
  }
}

function placeOf(records: readonly TaskRecord[]): Place {
  const { updatedAt = 0, id = '' } = records.at(-1) ?? {}
  return { updatedAt, id }
}
