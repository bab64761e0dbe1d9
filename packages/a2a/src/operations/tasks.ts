// Creates the operations by which callers get, list, cancel and subscribe to their tasks.
import { canonicalizeJson } from '@postern/message'
import type { TaskFilter, TaskRecord } from '@postern/pipeline'
import type { Call } from '../endpoint/call.ts'
import { listenerKeyOf } from '../endpoint/call.ts'
import { A2aRejection } from '../format/errors.ts'
import type { WireTask } from '../format/wire.ts'
import { countTaskChars, fromWireState, isTerminal, zeroStates } from '../format/wire.ts'
import { convertStream, convertTask } from '../forms/output-conversion.ts'
import { showTask } from '../render.ts'
import type { WalkPosition } from '../tasks/own-tasks.ts'
import { findOwnTask } from '../tasks/own-tasks.ts'
import { listOpenMessages } from '../tasks/task-waiter.ts'
import { expectWorkerExit } from '../tasks/worker-exit.ts'
import type { ParamsOf } from '../validate/params.ts'
import { checkParams } from '../validate/params.ts'
import { createCancelEvent } from './cancel-event.ts'
import type { A2aOperation, A2aOperationDeps } from './operation.ts'

/** The number of history messages that a caller gets by default. The server chooses it (A2A §3.2.4). */
const defaultHistoryLength = 100

/** Creates GetTask (A2A §3.1.3). */
export function createGetTask({ tasks, outputModes }: A2aOperationDeps): A2aOperation {
  return async call => {
    const { id, historyLength } = checkParams('GetTask', call.params)
    const record = await findOwnTask(id, call, tasks)
    const view = { historyLength: historyLength ?? defaultHistoryLength, includeArtifacts: true }
    return convertTask(await showTask(tasks, record, view), outputModes.find(record))
  }
}

const defaultPageSize = 50

/** Creates ListTasks (A2A §3.1.4), which lists the caller's own tasks with this agent, newest status first. */
export function createListTasks({ tasks, cursors, outputModes }: A2aOperationDeps): A2aOperation {
  return async call => {
    const params = checkParams('ListTasks', call.params)
    const pageSize = params.pageSize || defaultPageSize
    const filter = toFilter(params, call)
    const scope = canonicalizeJson(filter ?? null)
    const walkPosition = params.pageToken ? await cursors.readToken(params.pageToken, scope) : undefined
    const isSecondPass = walkPosition !== undefined && walkPosition.newestAt === undefined
    const listTasks = async (filterChanges: Partial<TaskFilter>) =>
      filter ? tasks.listTasks({ ...filter, limit: pageSize + 1, ...filterChanges }) : { tasks: [], total: 0 }
    // The filter of the state does not apply to tasks that changed during the walk, because they may have matched it before.
    const listChangedTasks: typeof listTasks = async filterChanges =>
      listTasks({ ...filterChanges, order: 'rising', state: undefined })
    const page = await (isSecondPass ? listChangedTasks({ after: walkPosition }) : listTasks({ after: walkPosition }))
    const view = { historyLength: params.historyLength ?? 0, includeArtifacts: params.includeArtifacts ?? false }
    const renderRecord = async (record: TaskRecord) =>
      convertTask(await showTask(tasks, record, view), outputModes.find(record))
    const wireTasks = await showFittingTasks(page.tasks.slice(0, pageSize), renderRecord)
    const nextPosition = await findNextPosition(page.tasks, {
      shownCount: wireTasks.length,
      after: walkPosition,
      readChanged: listChangedTasks,
    })
    return {
      tasks: isSecondPass ? wireTasks.toReversed() : wireTasks,
      nextPageToken: nextPosition ? await cursors.createToken(nextPosition, scope) : '',
      pageSize,
      totalSize: isSecondPass ? (await listTasks({ limit: 1 })).total : page.total,
    }
  }
}

interface PageContext {
  /** The number of tasks of the page that fit the answer. */
  readonly shownCount: number
  readonly after: WalkPosition | undefined
  /** Reads tasks in the order of their last change, the oldest first. */
  readChanged(filterChanges: Partial<TaskFilter>): Promise<{ readonly tasks: readonly TaskRecord[] }>
}

/**
 * Finds the position from which a walk continues. A task that changes during the walk moves to the top of the list, above the position of the
 * caller. Such tasks follow at the end of the walk, so that it lists every task at least once.
 */
async function findNextPosition(
  records: readonly TaskRecord[],
  { shownCount, after, readChanged }: PageContext,
): Promise<WalkPosition | undefined> {
  const lastRecord = records[shownCount - 1]
  const isSecondPass = after !== undefined && after.newestAt === undefined
  const newestAt = isSecondPass ? undefined : (after?.newestAt ?? records[0]?.updatedAt)
  if (lastRecord && records.length > shownCount) return { updatedAt: lastRecord.updatedAt, id: lastRecord.id, newestAt }
  if (newestAt === undefined || after === undefined) return undefined
  const changedPosition = { updatedAt: newestAt + 1, id: '' }
  const { tasks } = await readChanged({ after: changedPosition, limit: 1 })
  return tasks.length > 0 ? changedPosition : undefined
}

type Filter = Omit<TaskFilter, 'limit' | 'after'>

/** Converts the parameters to a filter. Returns undefined if nothing can match, because callers without credentials see no list. */
function toFilter(params: ParamsOf<'ListTasks'>, { caller, agent }: Call): Filter | undefined {
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

/** The approximate characters of one page. A page has at least one task, regardless of its size. */
const maxPageChars = 16 * 1024 * 1024

/** Renders the tasks that fit one answer. A page may be smaller than requested (A2A §3.1.4), which limits the memory. */
async function showFittingTasks(
  records: readonly TaskRecord[],
  show: (record: TaskRecord) => Promise<WireTask>,
): Promise<readonly WireTask[]> {
  const tasks: WireTask[] = []
  let chars = 0
  for (const record of records) {
    const task = await show(record)
    chars += countTaskChars(task)
    if (chars > maxPageChars && tasks.length > 0) break
    tasks.push(task)
  }
  return tasks
}

/**
 * Creates CancelTask (A2A §3.1.5). The store updates the task atomically, so exactly one of several concurrent calls succeeds. An agent that has asked a
 * question receives the cancellation.
 */
export function createCancelTask({ gateway, tasks }: A2aOperationDeps): A2aOperation {
  const { store, system } = gateway
  return async call => {
    const openTask = await findOwnTask(checkParams('CancelTask', call.params).id, call, tasks)
    const { id, owner } = openTask
    const workerExit = expectWorkerExit(openTask, { tasks, system })
    const isCanceled = await store.cancelTask({ owner, id }, createCancelEvent(call, openTask, gateway))
    await workerExit.end(isCanceled)
    if (!isCanceled) throw new A2aRejection('taskNotCancelable', 'Cannot CancelTask: the task has ended')
    const canceledTask = await findOwnTask(id, call, tasks)
    return showTask(tasks, canceledTask, { historyLength: defaultHistoryLength, includeArtifacts: true })
  }
}

/** Creates SubscribeToTask (A2A §3.1.6), which streams the present task, then its updates until it has ended. */
export function createSubscribeToTask({ tasks, feeds, outputModes }: A2aOperationDeps): A2aOperation {
  return async call => {
    const record = await findOwnTask(checkParams('SubscribeToTask', call.params).id, call, tasks)
    const { owner, id } = record
    const canResume =
      call.canReplay && call.lastEventId !== undefined && feeds.hasEventsAfter({ owner, id }, call.lastEventId)
    if (isTerminal(record.state) && !canResume) {
      throw new A2aRejection('unsupportedOperation', 'Cannot SubscribeToTask: the task has ended')
    }
    const stream = feeds.open({
      key: { owner, id },
      listenerKey: listenerKeyOf(call),
      endsAt: call.caller.endsAt,
      canReplay: call.canReplay,
      messages: listOpenMessages(record),
      lastEventId: call.canReplay ? call.lastEventId : undefined,
      view: { historyLength: defaultHistoryLength, includeArtifacts: true },
    })
    return convertStream(stream, outputModes.find(record))
  }
}
